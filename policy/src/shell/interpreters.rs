//! Programs that act on texts, and those that run the command behind a verb: the data file `policy/data/interpreters.toml`.
//!
//! It says what a program is, by its name. What such a text holds, the evaluator looks for; no language is read here.

use std::sync::LazyLock;

use serde::Deserialize;

use super::data;

/// What a program does with texts that it is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Interpreter {
    /// A language whose programs stand in an argument, by this very name; [`is_language`] looks behind versions, too.
    pub(crate) language: bool,
    /// It runs or reads what its texts say, and is no language that a rule could be too wide for.
    pub(crate) console: bool,
    /// A shell of another language than bash's.
    pub(crate) foreign: bool,
    /// Its input can be a shell's.
    pub(crate) inside: bool,
    /// Its commands, given as one word, write and read files.
    pub(crate) editor: bool,
    /// The verbs behind which it runs a command, each as its words; no words where it does so at once.
    pub(crate) runs: Vec<&'static [&'static str]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    names: String,
    #[serde(default)]
    verbs: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers; a test asks for it"))]
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raws {
    language: Vec<Raw>,
    console: Vec<Raw>,
    foreign: Vec<Raw>,
    inside: Vec<Raw>,
    editor: Vec<Raw>,
    runner: Vec<Raw>,
}

const FILE: &str = include_str!("../../data/interpreters.toml");

static TABLE: LazyLock<data::Named<&'static str, Interpreter>> = LazyLock::new(|| {
    let raws: Raws = data::read("interpreters.toml", FILE);
    let mut table = data::Named::<&'static str, Interpreter>::default();
    let mut each = |list: &[Raw], say: &dyn Fn(&mut Interpreter, &Raw)| {
        for raw in list {
            for name in data::words(&raw.names) {
                say(table.entry(*name).or_default(), raw);
            }
        }
    };
    each(&raws.language, &|entry, _| entry.language = true);
    each(&raws.console, &|entry, _| entry.console = true);
    each(&raws.foreign, &|entry, _| entry.foreign = true);
    each(&raws.inside, &|entry, _| entry.inside = true);
    each(&raws.editor, &|entry, _| entry.editor = true);
    each(&raws.runner, &|entry, raw| {
        let verbs = raw.verbs.split_whitespace();
        entry
            .runs
            .extend(verbs.map(|verb| data::words(&verb.replace('+', " "))));
        if raw.verbs.is_empty() {
            entry.runs.push(&[]);
        }
    });
    table
});

static NOTHING: Interpreter = Interpreter {
    language: false,
    console: false,
    foreign: false,
    inside: false,
    editor: false,
    runs: Vec::new(),
};

/// What is known about a program, by its name without a folder.
pub(crate) fn about(program: &str) -> &'static Interpreter {
    TABLE.get(program).unwrap_or(&NOTHING)
}

/// Whether a program runs the text of its arguments or its input; a version behind its name is no part of it.
pub(crate) fn is_language(program: &str) -> bool {
    about(without_version(program)).language
}

/// Whether a program is a language or a console.
pub(crate) fn acts_on_texts(program: &str) -> bool {
    let known = about(program);
    let bare = without_version(program);
    known.language || known.console || (bare.len() < program.len() && about(bare).language)
}

fn without_version(program: &str) -> &str {
    program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}

/// The names of all languages.
pub(crate) fn languages() -> impl Iterator<Item = &'static str> {
    TABLE.iter().filter(|(_, entry)| entry.language).map(|(name, _)| *name)
}

/// The names of all programs that run the command behind a verb, or at once.
pub(crate) fn runners() -> impl Iterator<Item = &'static str> {
    TABLE
        .iter()
        .filter(|(_, entry)| !entry.runs.is_empty())
        .map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_entry_has_names_and_a_reason_and_no_name_twice() {
        let raws: Raws = data::read("interpreters.toml", FILE);
        for list in [
            &raws.language,
            &raws.console,
            &raws.foreign,
            &raws.inside,
            &raws.editor,
            &raws.runner,
        ] {
            let mut seen = HashSet::new();
            for raw in list {
                assert!(!raw.names.is_empty() && !raw.why.is_empty(), "{}", raw.names);
                let names = data::full_names(&raw.names, &raw.verbs);
                for name in names {
                    assert!(seen.insert(name.clone()), "{name} twice");
                }
            }
        }
    }

    #[test]
    fn what_programs_are() {
        assert!(is_language("python3.12") && is_language("node") && !is_language("nodemon") && !is_language("psql"));
        assert!(about("psql").console && about("fish").foreign && about("docker").inside && about("vim").editor);
        assert_eq!(
            about("git").runs,
            [&["bisect", "run"][..], &["rebase"], &["submodule", "foreach"]]
        );
        assert_eq!(about("npx").runs, [&[] as &[&str]]);
        assert_eq!(*about("ls"), Interpreter::default());
        assert!(runners().any(|name| name == "yarn") && languages().all(|name| about(name).language));
    }
}
