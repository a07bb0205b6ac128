//! Names out of a workspace in lines for a person: whoever makes a file chooses its name, and a terminal obeys what it is sent.

use std::borrow::Cow;
use std::path::Path;

/// The text as one line, with control characters, line breaks and what turns text around written out.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    let text = portcullis_policy::shell::visible(text);
    if !text.contains(['\n', '\t']) {
        return text;
    }
    Cow::Owned(text.replace('\n', "\\n").replace('\t', "\\t"))
}

/// The same of a path.
#[must_use]
pub fn path(path: &Path) -> String {
    printable(&path.to_string_lossy()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_written_out() {
        assert_eq!(
            printable("a\u{1b}]0;title\u{7}\nportcullis: b\tc\rd\u{202e}\u{9b}"),
            "a\\u{1b}]0;title\\u{7}\\nportcullis: b\\tc\\u{d}d\\u{202e}\\u{9b}"
        );
        assert!(matches!(printable("plain ä"), Cow::Borrowed(_)));
        assert_eq!(path(Path::new("/a\nb")), "/a\\nb");
    }
}
