//! Texts on their way out: redacted, then shortened.
//!
//! In this order, because half a secret may no longer look like one.

use portcullis_policy::redact;

/// What is cut off before redaction, in bytes: enough that nothing of what is shown depends on the rest, little enough
/// that a line of a mebibyte in every part of a trace costs no time.
const LOOKED_AT: usize = 64 * 1024;

/// At most `max` bytes of a text after redaction, with a remark on how much is missing.
pub(super) fn clean(text: &str, max: usize) -> String {
    let mut head = up_to(text, LOOKED_AT);
    if head.len() < text.len() {
        // The last word may be a secret cut in half.
        head = head.rsplit_once(char::is_whitespace).map_or("", |(before, _)| before);
    }
    let redacted = redact::text(head);
    let cut = text.len().saturating_sub(head.len());
    let shown = up_to(&redacted, max);
    let missing = redacted.len().saturating_sub(shown.len()).saturating_add(cut);
    if missing == 0 {
        return redacted;
    }
    format!("{shown}… [{missing} bytes more]")
}

/// At most `max` bytes of a text that needs no redaction here.
pub(super) fn shorten(text: &str, max: usize) -> String {
    let shown = up_to(text, max);
    if shown.len() == text.len() {
        return text.to_owned();
    }
    format!("{shown}… [{} bytes more]", text.len().saturating_sub(shown.len()))
}

/// The longest beginning of at most `max` bytes that ends between characters.
fn up_to(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_not_cut() {
        assert_eq!(shorten("aéb", 2), "a… [3 bytes more]");
        assert_eq!(shorten("aéb", 4), "aéb");
        assert_eq!(clean("abc", 0), "… [3 bytes more]");
    }

    #[test]
    fn a_long_text_says_how_much_is_missing() {
        let long = "word ".repeat(100_000);
        let shown = clean(&long, 4096);
        assert!(shown.len() < 4200 && shown.ends_with("bytes more]"), "{shown}");
        assert_eq!(clean(&"x".repeat(1 << 20), 10), "… [1048576 bytes more]");
    }
}
