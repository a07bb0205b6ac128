//! Where a value ends that follows a name, an option or a header.
//!
//! By the rules of bash where it may be bash: `'x y'`, `"x y"`, `x\ y`, `x'y z'` are one word each. An open quote at the end
//! of the text is one that was cut off.

use std::ops::Range;

/// What stands before the value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    /// `=` without blanks, or a blank after an option: a word of the shell.
    Word,
    /// A colon, or `=` with blanks: a value of a file.
    Entry,
}

/// The value that begins at `start`. `outer` is the quote that is open there; a word ends where it closes.
pub(super) fn value_at(text: &str, start: usize, before: Before, outer: Option<char>) -> Range<usize> {
    let rest = text.get(start..).unwrap_or_default();
    if let Some(inner) = rest.strip_prefix("\\\"").or_else(|| rest.strip_prefix("\\'")) {
        // A quote inside of a quoted text. Its end looks like its beginning.
        let from = start + 2;
        let close = rest.get(..2).unwrap_or_default();
        return from..from + inner.find(close).unwrap_or(inner.len());
    }
    match rest.chars().next() {
        Some(quote @ ('"' | '\'')) if Some(quote) != outer => {
            let inner = rest.get(1..).unwrap_or_default();
            let length = quoted_length(inner, quote);
            let end = start + 1 + length;
            let after = text.get(end + 1..).and_then(|after| after.chars().next());
            let goes_on = before == Before::Word
                && after.is_some_and(|c| !ends_word(c) && Some(c) != outer && !",]}:)\\".contains(c));
            if goes_on {
                start..word_end(text, start, outer)
            } else {
                start + 1..end
            }
        }
        _ if before == Before::Word => start..word_end(text, start, outer),
        _ => {
            let length = rest
                .find(|c: char| c.is_whitespace() || "'\"`".contains(c))
                .unwrap_or(rest.len());
            let value = rest.get(..length).unwrap_or_default();
            start..start + value.trim_end_matches([',', ';', '}', ']', ')', '\\']).len()
        }
    }
}

/// Length of what stands in quotes, up to the closing one or the end.
fn quoted_length(inner: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in inner.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quote == '"' => escaped = true,
            _ if c == quote => return at,
            _ => {}
        }
    }
    inner.len()
}

/// Where a word of the shell ends.
fn word_end(text: &str, start: usize, outer: Option<char>) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let mut quote: Option<char> = None;
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        if escaped {
            escaped = false;
            continue;
        }
        match (quote, c) {
            (None, _) if Some(c) == outer || ends_word(c) => return start + at,
            (None | Some('"'), '\\') => escaped = true,
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if c == open => quote = None,
            _ => {}
        }
    }
    text.len()
}

/// What ends a word that is not quoted.
fn ends_word(c: char) -> bool {
    c.is_whitespace() || ";&|<>)`".contains(c)
}

/// Longest value that is taken for something else than a secret, in bytes. Whatever is longer is one: so a look at a
/// value in vain is short, and many of them stay linear.
const LONGEST_REFERENCE: usize = 256;

/// Whether a value is a value, and not the name of a variable or place that holds it.
pub(super) fn is_no_reference(value: &str) -> bool {
    if value.len() > LONGEST_REFERENCE {
        return true;
    }
    let name = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let variable = value.strip_prefix('$').is_some_and(|rest| {
        name(rest.strip_prefix("env:").unwrap_or(rest)) && !rest.starts_with(|c: char| c.is_ascii_digit())
            || rest.starts_with('(')
            || rest.starts_with("{{")
            || rest.starts_with('{') && rest.find('}').is_some_and(|end| end + 1 == rest.len())
    });
    let elsewhere = ["process.env", "os.environ", "os.getenv", "secrets.", "env.", "{{", "<%"]
        .iter()
        .any(|beginning| value.starts_with(beginning));
    let between = |open: char, close: char| {
        let inner = value.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        inner.is_some_and(|inner| inner.chars().all(|c| c.is_ascii_alphabetic() || "_ -".contains(c)))
    };
    let placeholder = value.chars().all(|c| c == '*' || c == '.' || c == '…') || between('<', '>');
    !(variable || elsewhere || placeholder)
}

/// The same for a value at its place: between apostrophes `$` is a character like others.
pub(super) fn is_secret_at(text: &str, range: &Range<usize>) -> bool {
    let before = text.get(..range.start).and_then(|head| head.chars().next_back());
    text.get(range.clone())
        .is_some_and(|value| before == Some('\'') && value.starts_with('$') || is_no_reference(value))
}

/// Whether an unquoted value looks made by chance rather than written: long, with a digit or a special character.
pub(super) fn looks_random(value: &str) -> bool {
    if value.len() > LONGEST_REFERENCE {
        return true;
    }
    let long = value.len() >= 8;
    long && value.bytes().any(|byte| byte.is_ascii_digit()) && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        || value.len() >= 24 && !value.contains(['.', '(', '/', ':'])
}
