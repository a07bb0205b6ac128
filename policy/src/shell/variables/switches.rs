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
    pub(super) local: &'static [&'static str],
    pub(super) off: &'static [&'static str],
    pub(super) held: &'static [&'static str],
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
        return (is_word() && !weighs(value) && !is_host(value)) || is_local_address(value);
    }
    if switches.local.contains(&name) {
        return is_local_address(value);
    }
    let upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let number = !value.is_empty() && value.chars().all(|c| c.is_ascii_digit());
    // A short name says nothing of itself: `X`, `FOO`; not so `JOBS=4`.
    let speaks = name.contains('_') || name.len() >= SHORTEST_SPEAKING || (number && switches.about.contains(&name));
    if !speaks {
        return false;
    }
    let mut parts = name.split('_');
    if !name.chars().all(upper) || parts.any(|part| says_more(part) || is_compound(part)) {
        return false;
    }
    let lower = value.to_ascii_lowercase();
    let held = name.split('_').any(|part| switches.held.contains(&part));
    let other = |part: &str| switches.about.contains(&part) && !switches.held.contains(&part);
    if held && switches.off.contains(&lower.as_str()) && !name.split('_').any(other) {
        return false;
    }
    let about = || name.split('_').any(|part| switches.about.contains(&part));
    let worded = || {
        name.rsplit('_')
            .next()
            .is_some_and(|part| switches.worded.contains(&part))
    };
    let switched = number || switches.values.contains(&lower.as_str());
    (switched && about()) || (worded() && is_word() && !weighs(value))
}

/// Whether a part of a name says that more is done than to switch something.
fn says_more(part: &str) -> bool {
    let not = VARIABLES.switches.not;
    not.contains(&part) || not.iter().any(|word| word.len() >= LONG_ENOUGH && part.contains(word))
}

/// Letters of a word that is looked for within a part of a name, too.
const LONG_ENOUGH: usize = 6;

/// Whether a value, or a part of it, chooses what is in earnest: `production`, `prod-eu`, `test,prod2`.
fn weighs(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let mut parts = lower.split(|c: char| !c.is_ascii_alphabetic());
    parts.any(|part| VARIABLES.switches.weighty.contains(&part))
}

/// Whether a plain word reads as the name or the address of a host: `api.example`, `10.0.0.1`. Not a version: `1.2.3`.
fn is_host(word: &str) -> bool {
    let Some((before, last)) = word.rsplit_once('.') else {
        return false;
    };
    let named = last.len() > 1 && last.chars().all(|c| c.is_ascii_alphabetic());
    let numbers = || word.chars().all(|c| c.is_ascii_digit() || c == '.') && before.matches('.').count() == 2;
    named || numbers()
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
