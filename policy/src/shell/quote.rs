//! From words to a line that bash reads as exactly these words.

use super::reader::KEYWORDS;

/// Quotes words for bash: `quote(["a", "b c"])` is `a 'b c'`.
///
/// INVARIANT: the analysis of the result has one command whose words are exactly the input.
#[must_use]
pub fn quote<S: AsRef<str>>(words: &[S]) -> String {
    let mut line = String::new();
    for word in words {
        let word = word.as_ref();
        if !line.is_empty() {
            line.push(' ');
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
        // The first word is quoted where bash would take it for something else than a program: `A=1`, `if`, `time`.
        let special = line.is_empty() && (word.contains('=') || KEYWORDS.contains(&word));
        if !word.is_empty() && word.chars().all(plain) && !special {
            line.push_str(word);
        } else {
            line.push('\'');
            line.push_str(&word.replace('\'', r"'\''"));
            line.push('\'');
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn only_what_needs_quotes_gets_them() {
        assert_eq!(quote(&["cargo", "--version"]), "cargo --version");
        assert_eq!(
            quote(&["echo", "", "it's", "$HOME", "a b"]),
            r"echo '' 'it'\''s' '$HOME' 'a b'"
        );
        assert_eq!(quote(&["A=1", "b=2"]), "'A=1' b=2");
        assert_eq!(quote(&["time", "if"]), "'time' if");
    }
}
