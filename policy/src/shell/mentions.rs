//! Words that name a denied program and are no call of it: the data file `policy/data/mentions.toml`.
//!
//! For programs of which nobody knows what they do with their words (decision 0051). It knows nothing of rules.

use std::{collections::HashSet, sync::LazyLock};

use serde::Deserialize;

use super::{Word, data};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(alias = "options")]
    names: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers; a test asks for it"))]
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raws {
    idle: Vec<Entry>,
    prose: Vec<Entry>,
    runs: Vec<Entry>,
}

struct Mentions {
    idle: HashSet<&'static str>,
    prose: HashSet<&'static str>,
    runs: HashSet<&'static str>,
}

const FILE: &str = include_str!("../../data/mentions.toml");

static MENTIONS: LazyLock<Mentions> = LazyLock::new(|| {
    let raws: Raws = data::read("mentions.toml", FILE);
    let all = |entries: &[Entry]| {
        entries
            .iter()
            .flat_map(|entry| data::words(&entry.names))
            .copied()
            .collect()
    };
    Mentions {
        idle: all(&raws.idle),
        prose: all(&raws.prose),
        runs: all(&raws.runs),
    }
});

/// Whether a word says that what follows it is run: `exec`, `--cmd`.
pub(crate) fn says_run(word: &str) -> bool {
    let name = word.trim_start_matches('-');
    let parts = || name.split(['-', ':', '_', '.']);
    name.is_empty() || parts().any(|part| MENTIONS.runs.contains(part))
}

/// Whether a program does nothing when it is called without any words.
pub(crate) fn is_idle(program: &str) -> bool {
    MENTIONS.idle.contains(program)
}

/// Whether a word of a command is a text for people or for a search: the value of such an option. A single word behind one may
/// be what follows an option without a value (`--name git push`).
pub(crate) fn is_prose(before: Option<&Word>, word: &Word) -> bool {
    let of_option = |text: &str| MENTIONS.prose.contains(text);
    let attached = word.literal().and_then(|text| text.split_once('='));
    let several = word.literal().is_some_and(|text| text.contains(char::is_whitespace));
    attached.is_some_and(|(option, _)| of_option(option))
        || (several && before.and_then(Word::literal).is_some_and(of_option))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_has_names_and_a_reason() {
        let raws: Raws = data::read("mentions.toml", FILE);
        for entry in raws.idle.iter().chain(&raws.prose).chain(&raws.runs) {
            assert!(!entry.names.is_empty() && entry.why.len() > 8, "{}", entry.names);
        }
        assert!(
            raws.prose
                .iter()
                .all(|entry| entry.names.split(' ').all(|name| name.starts_with("--")))
        );
    }

    #[test]
    fn shells_and_what_acts_at_once_are_not_idle() {
        for name in [
            "sh", "bash", "su", "reboot", "shutdown", "make", "psql", "env", "python3",
        ] {
            assert!(!is_idle(name), "{name}");
        }
        assert!(is_idle("curl"));
        assert!(says_run("--") && says_run("--cmd") && says_run("exec") && says_run("docker:run"));
        assert!(!says_run("--mode") && !says_run("test") && !says_run("make:job"));
    }

    #[test]
    fn prose_is_the_value_of_some_options() {
        let word = |text: &str| Word::Literal(text.to_owned());
        assert!(is_prose(Some(&word("--grep")), &word("ssh works")));
        assert!(is_prose(None, &word("--grep=ssh works")));
        assert!(!is_prose(Some(&word("-e")), &word("ssh works")));
        assert!(!is_prose(Some(&word("--exec")), &word("ssh works")));
        assert!(!is_prose(Some(&word("--name")), &word("git")));
    }
}
