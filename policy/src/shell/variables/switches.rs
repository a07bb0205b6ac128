//! Variables that no entry knows and that only switch something, told by their names and values (decision 0054).
//!
//! What the words are stands in `policy/data/variables.toml`. Whether an allow rule covers such a command is decided elsewhere.

use super::{VARIABLES, listed};

/// How names and values of variables that only switch something look.
pub(super) struct Switches {
    pub(super) values: &'static [&'static str],
    pub(super) about: &'static [&'static str],
    pub(super) not: &'static [&'static str],
    pub(super) worded: &'static [&'static str],
    pub(super) weighty: &'static [&'static str],
    pub(super) data: &'static [&'static str],
}

/// Whether a variable that is in no entry only switches something in the program that it is set for (decision 0054).
pub(super) fn only_switches(name: &str, value: &str) -> bool {
    let switches = &VARIABLES.switches;
    if listed(name).is_some() {
        return false;
    }
    let is_word = || {
        value.starts_with(|c: char| c.is_ascii_alphanumeric())
            && value
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ','))
    };
    let begins = |beginning: &&str| name.len() > beginning.len() && name.starts_with(beginning);
    if switches.data.iter().any(begins) {
        return is_word() || is_local_address(value);
    }
    let upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    // A short name says nothing of itself: `X`, `FOO`.
    if !name.contains('_') && name.len() < SHORTEST_SPEAKING {
        return false;
    }
    let mut parts = name.split('_');
    if !name.chars().all(upper) || parts.any(|part| switches.not.contains(&part) || is_compound(part)) {
        return false;
    }
    let about = || name.split('_').any(|part| switches.about.contains(&part));
    let number = !value.is_empty() && value.chars().all(|c| c.is_ascii_digit());
    let worded = || {
        name.rsplit('_')
            .next()
            .is_some_and(|part| switches.worded.contains(&part))
    };
    let weighs = || switches.weighty.contains(&value.to_ascii_lowercase().as_str());
    let switched = number || switches.values.contains(&value.to_ascii_lowercase().as_str());
    (switched && about()) || (worded() && is_word() && !weighs())
}

/// Letters of a name of one part that says what it switches: `TESTING`, `COVERAGE`.
const SHORTEST_SPEAKING: usize = 6;

/// Whether a part of a name ends in what tells of options, places or programs, without a `_` between: `CXXFLAGS`, `JAVAPATH`.
fn is_compound(part: &str) -> bool {
    const ENDS: &[&str] = &[
        "ARGS", "CMD", "COMMAND", "CONF", "CONFIG", "DIR", "EDITOR", "EXEC", "FILE", "FLAGS", "HOME", "LIB", "OPT",
        "OPTIONS", "OPTS", "PAGER", "PATH", "PRELOAD", "PROXY", "RC", "ROOT", "SHELL", "URL",
    ];
    ENDS.iter().any(|end| part.ends_with(end))
}

/// Whether a text is an address of a server on this machine, and nothing else: `http://localhost:3000/api`.
fn is_local_address(text: &str) -> bool {
    let rest = ["http://", "https://", "ws://", "wss://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme))
        .unwrap_or_default();
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (name, port) = host.split_once(':').unwrap_or((host, "0"));
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    matches!(name, "localhost" | "127.0.0.1") && port.chars().all(|c| c.is_ascii_digit()) && path.chars().all(plain)
}
