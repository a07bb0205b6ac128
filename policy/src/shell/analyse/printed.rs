//! What a word as it is written may become, by its substitutions and variables: a number, one word, or several.
//!
//! For expressions and tests, which may run what several words hold. What programs print is known of few.

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

/// The command whose output alone a substitution is: the last one of a pipeline.
fn last_of_substitution(source: &str) -> Option<&str> {
    let source = source.trim_matches('"');
    let inside = match source.strip_prefix("$(") {
        Some(rest) => rest.strip_suffix(')')?,
        None => source.strip_prefix('`')?.strip_suffix('`')?,
    };
    // Each command of a list prints.
    if inside.replace(">&", ">").contains([';', '&', '\n', '(', '`']) {
        return None;
    }
    inside.rsplit('|').next().map(str::trim)
}

/// Whether a substitution prints a number.
pub(super) fn prints_number(source: &str) -> bool {
    let Some(last) = last_of_substitution(source) else {
        return false;
    };
    let mut words = last.split_whitespace();
    match words.next() {
        // With the name of a file it prints that, too.
        Some("wc") => {
            let (own, input) = last.split_once('<').unwrap_or((last, "x"));
            let letters = |word: &str| {
                word.strip_prefix('-')
                    .is_some_and(|rest| rest.chars().all(char::is_alphabetic))
            };
            input.split_whitespace().count() == 1 && own.split_whitespace().skip(1).all(letters)
        }
        Some("nproc") => true,
        Some("id") => matches!(words.next(), Some("-u" | "-g")) && words.next().is_none(),
        Some("date") => words.next() == Some("+%s"),
        // Of one file: of several it prints the names, too.
        Some("grep") => {
            let plain = |word: &str| !word.starts_with('-') && !word.contains(['*', '?', '[', '{', '$', '`']);
            words.next() == Some("-c") && words.clone().all(plain) && words.count() <= 2
        }
        Some("git") => last.starts_with("git rev-list --count "),
        Some("seq") => words.all(|word| word.chars().all(|c| c.is_ascii_digit() || c == '-')),
        _ => false,
    }
}

/// Whether a substitution prints a number, or one name that cannot hold blanks.
pub(super) fn prints_one_word(source: &str) -> bool {
    let name = |last: &str| {
        let mut words = last.split_whitespace();
        match words.next() {
            Some("uname") => words.all(|word| matches!(word, "-s" | "-m")),
            _ => last == "git branch --show-current",
        }
    };
    prints_number(source) || last_of_substitution(source).is_some_and(name)
}
