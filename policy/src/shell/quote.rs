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
        if !needs_quotes(word, line.is_empty()) {
            line.push_str(word);
        } else {
            line.push('\'');
            line.push_str(&word.replace('\'', r"'\''"));
            line.push('\'');
        }
    }
    line
}

/// Whether bash would read a word as something else than its characters; the first word of a command also where bash would
/// take it for something else than a program: `A=1`, `if`, `time`.
pub(crate) fn needs_quotes(word: &str, first: bool) -> bool {
    let special = || first && (word.contains('=') || KEYWORDS.contains(&word));
    word.is_empty() || !word.bytes().all(is_plain) || special()
}

/// Whether a character is itself wherever it stands in a word behind the first.
pub(super) fn is_plain(byte: u8) -> bool {
    matches!(
        byte,
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'/' | b':' | b'=' | b'@' | b'%' | b'+' | b','
    )
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
