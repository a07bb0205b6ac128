//! Options that stand in front of the words a rule names: the data file `policy/data/globals.toml`.
//!
//! It tells options from words by their spelling alone, for comparing a command with denies and asks. What an option does is
//! for the tables of programs; an allow never looks here.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{
    Word,
    data::{self, ByName},
};

struct Globals {
    values: &'static [&'static str],
    flags: &'static [&'static str],
    words: &'static [&'static str],
    letters: &'static str,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    names: String,
    /// For people only; a test reads it.
    #[cfg_attr(not(test), expect(dead_code, reason = "a remark for readers of the file"))]
    why: String,
    #[serde(default)]
    values: String,
    #[serde(default)]
    flags: String,
    #[serde(default)]
    words: String,
    #[serde(default)]
    letters: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raws {
    program: Vec<Raw>,
}

const FILE: &str = include_str!("../../data/globals.toml");

static PROGRAMS: LazyLock<ByName<Globals>> = LazyLock::new(|| {
    let raws: Raws = data::read("globals.toml", FILE);
    let mut entries = Vec::new();
    for raw in raws.program {
        let globals: &'static Globals = data::keep(Globals {
            values: data::words(&raw.values),
            flags: data::words(&raw.flags),
            words: data::words(&raw.words),
            letters: data::keep_text(&raw.letters),
        });
        entries.extend(data::words(&raw.names).iter().map(|name| (*name, globals)));
    }
    ByName::new(entries)
});

/// What a word in front of others is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Front {
    /// A word.
    Word,
    /// An option alone.
    Flag,
    /// An option whose value is the next word.
    Valued,
    /// An option that is not listed: alone, or with the next word as its value.
    Either,
}

/// The letters of options of this program that have no value and may be joined in any order: `rm -rf` is `rm -f -r`.
pub(crate) fn letters(program: &str) -> &'static str {
    PROGRAMS.find(program).map_or("", |globals| globals.letters)
}

/// What a word of this program is, by its spelling.
pub(crate) fn front(program: &str, word: &Word) -> Front {
    let text = match word {
        Word::Literal(text) => text.as_str(),
        Word::Dynamic { source, .. } => source.trim_start_matches(['"', '\'']),
    };
    let globals = PROGRAMS.find(program);
    if globals.is_some_and(|globals| globals.words.iter().any(|beginning| text.starts_with(beginning))) {
        return Front::Flag;
    }
    if !text.starts_with('-') || text == "-" {
        return Front::Word;
    }
    let listed =
        |list: fn(&Globals) -> &'static [&'static str]| globals.is_some_and(|globals| list(globals).contains(&text));
    if text == "--" || text.contains('=') || listed(|globals| globals.flags) {
        Front::Flag
    } else if listed(|globals| globals.values) {
        Front::Valued
    } else {
        Front::Either
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_program_stands_once_with_a_remark_and_each_option_in_one_list() {
        let raws: Raws = data::read("globals.toml", FILE);
        let mut seen = HashSet::new();
        for raw in &raws.program {
            assert!(raw.why.len() > 8, "{}", raw.names);
            for name in raw.names.split_whitespace() {
                assert!(seen.insert(name), "{name} twice");
            }
            let mut options = HashSet::new();
            for option in raw.values.split_whitespace().chain(raw.flags.split_whitespace()) {
                assert!(
                    option.starts_with('-') && options.insert(option),
                    "{}: {option}",
                    raw.names
                );
            }
        }
    }

    #[test]
    fn words_are_told_apart() {
        for (program, word, is) in [
            ("npm", "publish", Front::Word),
            ("npm", "--silent", Front::Flag),
            ("npm", "--prefix", Front::Valued),
            ("npm", "--prefix=x", Front::Flag),
            ("npm", "--unheard-of", Front::Either),
            ("nobody", "-x", Front::Either),
            ("nobody", "-", Front::Word),
            ("cargo", "+nightly", Front::Flag),
            ("git", "+main", Front::Word),
            ("git", "--", Front::Flag),
        ] {
            assert_eq!(front(program, &Word::Literal(word.to_owned())), is, "{program} {word}");
        }
    }
}
