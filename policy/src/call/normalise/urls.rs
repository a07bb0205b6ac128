//! Addresses in running text, for tools that take no other.
//!
//! What the tool will fetch is for it to find out; an address too many only makes the answer stricter.

/// Every `http://` and `https://` address of a text, in its order, each once.
pub(super) fn in_text(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        // ASCII only, so that places in both texts are the same.
        let lower = word.to_ascii_lowercase();
        let mut starts: Vec<usize> = lower.match_indices("http://").map(|(at, _)| at).collect();
        starts.extend(lower.match_indices("https://").map(|(at, _)| at));
        starts.sort_unstable();
        let ends = starts.iter().skip(1).copied().chain([word.len()]);
        for (start, end) in starts.iter().zip(ends) {
            let url = word.get(*start..end).unwrap_or_default();
            let url = url.trim_end_matches(|c: char| ".,;:!?)]}>\"'`".contains(c));
            if !found.iter().any(|known| known == url) {
                found.push(url.to_owned());
            }
        }
    }
    found
}
