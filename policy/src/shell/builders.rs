//! Programs that find by themselves a file of the project that says what they run: the data file `policy/data/builders.toml`.
//!
//! It looks at names of files, not where they lie, and not at what is in them. Nothing is allowed by it.

use std::{collections::HashSet, sync::LazyLock};

use serde::Deserialize;

use super::{
    Command, Word,
    data::{self, ByName},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    names: String,
    files: String,
    #[serde(default)]
    letters: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers; a test asks for it"))]
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raws {
    builder: Vec<Raw>,
}

/// What a builder reads.
struct Builder {
    files: &'static [&'static str],
    /// Letters of options behind which the name of a file may stand in the same word.
    letters: String,
}

const FILE: &str = include_str!("../../data/builders.toml");

static BUILDERS: LazyLock<ByName<Builder>> = LazyLock::new(|| {
    let raws: Raws = data::read("builders.toml", FILE);
    let mut entries = Vec::new();
    for raw in raws.builder {
        let builder: &'static Builder = data::keep(Builder {
            files: data::words(&raw.files),
            letters: raw.letters,
        });
        entries.extend(data::words(&raw.names).iter().map(|name| (*name, builder)));
    }
    ByName::new(entries)
});

/// Names of files that a line wrote.
#[derive(Debug, Default)]
pub(crate) struct Written<'a> {
    names: HashSet<&'a str>,
    /// What of the names stands behind their last dot.
    endings: HashSet<&'a str>,
}

impl<'a> Written<'a> {
    /// One more.
    pub(crate) fn note(&mut self, name: &'a str) {
        self.names.insert(name);
        self.endings.extend(name.rsplit_once('.').map(|(_, ending)| ending));
    }

    /// Whether a command is a builder that finds one of them, or that is told its name.
    pub(crate) fn is_found_by(&self, command: &Command) -> bool {
        let Some(program) = command.program_name().filter(|_| !self.names.is_empty()) else {
            return false;
        };
        let Some(builder) = BUILDERS.find(program) else {
            return false;
        };
        let is_one = |file: &&str| match file.strip_prefix("*.") {
            Some(ending) => self.endings.contains(ending),
            None => self.names.contains(file),
        };
        let named = |word: &str| {
            word.rsplit(['/', '='])
                .next()
                .is_some_and(|name| self.names.contains(name))
        };
        // `make -kfm`
        let attached = |word: &str| {
            let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
            letters.is_some_and(|letters| {
                let option = |c: char| builder.letters.contains(c);
                letters.split_once(option).is_some_and(|(_, name)| named(name))
            })
        };
        let mut words = command.words.iter().skip(1).filter_map(Word::literal);
        // What an image is made of runs in it.
        let told_what_runs = match program {
            "docker" | "podman" => words.clone().any(|word| word == "compose"),
            _ => program != "git",
        };
        builder.files.iter().any(is_one) || (told_what_runs && words.any(|word| named(word) || attached(word)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_has_names_and_a_reason() {
        let raws: Raws = data::read("builders.toml", FILE);
        for raw in &raws.builder {
            assert!(
                !raw.names.is_empty() && raw.why.split(' ').count() >= 3,
                "{}",
                raw.names
            );
        }
    }

    #[test]
    fn builders_find_their_own_files() {
        for (line, file, expected) in [
            ("make x", "Makefile", true),
            ("make x", "a.mk", true),
            ("make -f rules", "rules", true),
            ("make -kfrules x", "rules", true),
            ("make -kj4 x", "rules", false),
            ("docker compose -f a.yml up", "a.yml", true),
            ("docker build -f a .", "a", false),
            ("npm --prefix d run x", "package.json", true),
            ("just x", "justfile", true),
            ("git commit -m x", "pre-commit", true),
            ("docker compose up", "compose.yml", true),
            ("docker build .", "Dockerfile", false),
            ("git add Makefile", "Makefile", false),
            ("make x", "package.json", false),
            ("ls Makefile", "Makefile", false),
        ] {
            let words = line.split(' ').map(|word| Word::Literal(word.to_owned())).collect();
            let command = Command::of_words(line.to_owned(), words);
            let mut written = Written::default();
            written.note(file);
            assert_eq!(written.is_found_by(&command), expected, "{line} {file}");
        }
    }
}
