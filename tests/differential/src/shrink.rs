//! Cuts a line down to what still fails: pieces are left out, large ones first.

/// The shortest line found for which `fails` holds; it holds for `line`. Asks at most 600 times.
pub fn shrink(line: &str, mut fails: impl FnMut(&str) -> bool) -> String {
    let mut chars: Vec<char> = line.chars().collect();
    let mut left = 600;
    let mut size = chars.len() / 2;
    while size > 0 {
        let mut at = 0;
        let mut cut = false;
        while at < chars.len() && left > 0 {
            let mut shorter = chars.clone();
            shorter.drain(at..(at + size).min(chars.len()));
            left -= 1;
            if fails(&shorter.iter().collect::<String>()) {
                chars = shorter;
                cut = true;
            } else {
                at += size;
            }
        }
        if !(cut && size == 1) {
            size /= 2;
        }
    }
    chars.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_matters_stays() {
        assert_eq!(
            shrink("some words and X and more words Y", |line| line.contains('X')
                && line.contains('Y')),
            "XY"
        );
    }
}
