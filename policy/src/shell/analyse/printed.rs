//! What a word as it is written may become, by its variables: one word, or several.
//!
//! For expressions and tests, which may run what several words hold.

use crate::shell::expand::State;

/// Whether a word as it is written is all parameters or all elements of an array, each a word of its own. A line that gave the
/// shell no parameters has none.
pub(super) fn is_many_words(source: &str, state: &State) -> bool {
    let source = source.trim_matches('"');
    let parameters = matches!(source, "$@" | "$*" | "${@}" | "${*}") && state.variables.contains_key("@");
    parameters || (source.starts_with("${") && (source.ends_with("[@]}") || source.ends_with("[*]}")))
}

/// The names of the variables whose values stand in a word without quotes. Of `${#x}`, which is a number, none.
pub(super) fn unquoted_names(source: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    source.char_indices().filter_map(move |(at, c)| {
        quoted ^= c == '"';
        if c != '$' || quoted {
            return None;
        }
        let behind = source.get(at + 1..)?;
        let behind = behind.strip_prefix('{').unwrap_or(behind);
        let digit = behind.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '@' | '*'));
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = if digit {
            1
        } else {
            behind.find(|c| !letter(c)).unwrap_or(behind.len())
        };
        behind.get(..end).filter(|name| !name.is_empty())
    })
}
