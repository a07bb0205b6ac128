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
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers; a test asks for it"))]
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raws {
    builder: Vec<Raw>,
}

type Files = &'static [&'static str];

const FILE: &str = include_str!("../../data/builders.toml");

static BUILDERS: LazyLock<ByName<Files>> = LazyLock::new(|| {
    let raws: Raws = data::read("builders.toml", FILE);
    let mut entries = Vec::new();
    for raw in raws.builder {
        let files: &'static Files = data::keep(data::words(&raw.files));
        entries.extend(data::words(&raw.names).iter().map(|name| (*name, files)));
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
        let Some(files) = BUILDERS.find(program) else {
            return false;
        };
        let is_one = |file: &&str| match file.strip_prefix("*.") {
            Some(ending) => self.endings.contains(ending),
            None => self.names.contains(file),
        };
        let told = |word: &str| {
            word.rsplit(['/', '='])
                .next()
                .is_some_and(|name| self.names.contains(name))
        };
        // What an image is made of runs in it.
        let told_what_runs = !matches!(program, "git" | "docker" | "podman");
        let mut words = command.words.iter().skip(1).filter_map(Word::literal);
        files.iter().any(is_one) || (told_what_runs && words.any(told))
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
