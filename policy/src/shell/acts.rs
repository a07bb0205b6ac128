//! What programs do with words that are neither files nor commands by their place: the data file `policy/data/acts.toml`.
//!
//! It says what a command may do beyond what the tables of programs and wrappers tell. The evaluator uses it to ask or to
//! deny, never to allow. It does not say which files these are: that needs the request.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{Command, Word, data, git};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Raws {
    console: Table,
    call: Vec<Call>,
    copier: Table,
    formatter: Table,
    sender: Table,
    teller: Table,
    work_tree: Vec<WorkTree>,
}

/// Entries by the names of their programs: every command of every line is looked up in most tables.
#[derive(Deserialize)]
#[serde(from = "Vec<Entry>")]
struct Table {
    entries: Vec<Entry>,
    by_name: data::Named<String, Vec<usize>>,
}

impl From<Vec<Entry>> for Table {
    fn from(entries: Vec<Entry>) -> Self {
        let mut by_name = data::Named::<String, Vec<usize>>::default();
        for (number, entry) in entries.iter().enumerate() {
            for name in entry.names.split_whitespace() {
                by_name.entry(name.to_owned()).or_default().push(number);
            }
        }
        Self { entries, by_name }
    }
}

impl Table {
    /// The entries about a program, in order.
    fn about(&self, program: &str) -> impl Iterator<Item = &Entry> {
        let numbers = self.by_name.get(program).into_iter().flatten();
        numbers.filter_map(|number| self.entries.get(*number))
    }
}

/// Programs, and words that have to be there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    names: String,
    #[serde(default, alias = "verbs", alias = "options")]
    words: String,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    texts: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers; a test asks for it"))]
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkTree {
    verbs: String,
    #[serde(default)]
    unless: String,
    #[serde(default)]
    only: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers; a test asks for it"))]
    why: String,
}

const FILE: &str = include_str!("../../data/acts.toml");

static ACTS: LazyLock<Raws> = LazyLock::new(|| data::read("acts.toml", FILE));

fn holds(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|own| own == word)
}

fn literals(command: &Command) -> impl Iterator<Item = &str> {
    command.words.iter().skip(1).filter_map(Word::literal)
}

/// Entries about the program of a command of which a word is among the first `places`; those without words always count.
fn met<'a>(table: &'a Table, command: &'a Command, places: usize) -> impl Iterator<Item = &'a Entry> + 'a {
    let program = command.program_name().unwrap_or_default();
    table.about(program).filter(move |entry| {
        let told = || literals(command).take(places).any(|word| holds(&entry.words, word));
        entry.words.is_empty() || told()
    })
}

/// Whether a program reads its own commands from its input.
pub(crate) fn is_console(command: &Command) -> bool {
    let program = command.program_name().unwrap_or_default();
    ACTS.console.about(program).next().is_some()
}

/// Whether a program obeys commands of its own language on its input and is allowed for that language, not for what the
/// language runs: an allow for `psql` is none for its `\!`. Interpreters and builders are none of these.
pub(super) fn obeys_input(name: &str) -> bool {
    ACTS.console
        .about(name)
        .any(|entry| entry.words.is_empty() || !holds(&entry.words, "runs"))
}

/// Why whoever may call a program by this name with any words may run others: it has a language of its own, which is not read
/// here. `None` for programs whose words are read, and for those that do what the project's own files say.
pub(crate) fn console_reason(name: &str) -> Option<&'static str> {
    let read = matches!(name, "sed" | "make" | "gmake");
    let entry = ACTS.console.about(name).next().filter(|_| !read)?;
    Some(&entry.why)
}

/// What a line given to a console runs, behind the word that says so.
pub(crate) fn console_call(line: &str) -> Option<&str> {
    let mut texts = ACTS.call.iter().flat_map(|call| &call.texts);
    texts.find_map(|text| line.strip_prefix(text.as_str()))
}

/// Whether a command copies from elsewhere to its last operand.
pub(crate) fn copies_here(command: &Command) -> bool {
    met(&ACTS.copier, command, 4).next().is_some()
}

/// Whether a command rewrites the files among its operands.
pub(crate) fn rewrites(command: &Command) -> bool {
    met(&ACTS.formatter, command, usize::MAX).next().is_some()
}

/// Whether a command sends whole folders among its operands elsewhere.
pub(crate) fn sends_folders(command: &Command) -> bool {
    met(&ACTS.sender, command, 4).next().is_some()
}

/// How many words behind the program say that it is told a command to be run later or elsewhere.
pub(crate) fn told_behind(command: &Command) -> Option<usize> {
    let program = command.program_name()?;
    let tellers = ACTS.teller.about(program);
    tellers
        .map(|entry| entry.words.split_whitespace())
        .find(|verbs| literals(command).take(verbs.clone().count()).eq(verbs.clone()))
        .map(Iterator::count)
}

/// The subcommand of a git command, and the words behind it.
pub(crate) fn git_verb(command: &Command) -> Option<(&str, &[Word])> {
    let words = command.words.get(1..)?;
    if command.program_name() != Some("git") {
        return None;
    }
    let split = git::split(words);
    Some((split.verb?, words.get(split.rest..).unwrap_or_default()))
}

/// Whether it is a git command that changes files of the work tree, or may be: its verb is not known.
pub(crate) fn changes_work_tree(command: &Command) -> bool {
    if command.remote {
        return false;
    }
    let words = command.words.get(1..).unwrap_or_default();
    let verb = match command.program_name() {
        Some("git") => git::split(words),
        // `git-stash`, as it lies in git's own folder.
        Some(name) => match name.strip_prefix("git-") {
            Some(verb) => git::Split {
                verb: Some(verb),
                ..git::Split::default()
            },
            None => return false,
        },
        None => return false,
    };
    let rest = words.get(verb.rest..).unwrap_or_default();
    let Some(name) = verb.verb else {
        return words.iter().any(|word| word.literal().is_none());
    };
    ACTS.work_tree
        .iter()
        .filter(|entry| holds(&entry.verbs, name))
        .any(|entry| {
            let said = |list: &str| {
                rest.iter()
                    .map_while(|word| word.literal().filter(|word| *word != "--"))
                    .any(|word| holds(list, word) || is_among_letters(list, word))
            };
            let unknown = rest.iter().any(|word| word.literal().is_none());
            // `restore --staged --worktree` changes both.
            let both = rest
                .iter()
                .filter_map(Word::literal)
                .any(|word| matches!(word, "--worktree" | "-W"));
            // git takes a long option cut short: `reset --ha`.
            let cut_short = rest
                .iter()
                .map_while(|word| word.literal().filter(|word| *word != "--"))
                .any(|word| {
                    word.len() > 3
                        && word.starts_with("--")
                        && entry.only.split_whitespace().any(|only| only.starts_with(word))
                });
            (entry.only.is_empty() || unknown || cut_short || said(&entry.only)) && (both || !said(&entry.unless))
        })
}

/// Whether a short option of a list stands among joined letters: `-n` in `-fdn`.
fn is_among_letters(list: &str, word: &str) -> bool {
    let letters = word
        .strip_prefix('-')
        .filter(|letters| !letters.starts_with('-'))
        .unwrap_or_default();
    list.split_whitespace()
        .filter_map(|option| option.strip_prefix('-').filter(|letter| letter.len() == 1))
        .any(|letter| letters.contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        AbsPath,
        shell::{self, Limits, ShellContext},
    };

    fn first(line: &str) -> Command {
        let context = ShellContext {
            cwd: AbsPath::root(),
            home: None,
        };
        shell::analyse(line, &context, Limits::default())
            .commands
            .into_iter()
            .next()
            .unwrap()
    }

    #[test]
    fn each_entry_has_names_and_a_reason() {
        let lists = [&ACTS.console, &ACTS.copier, &ACTS.formatter, &ACTS.sender, &ACTS.teller];
        for entry in lists.into_iter().flat_map(|table| &table.entries) {
            assert!(!entry.names.is_empty() && entry.why.len() > 5, "{}", entry.names);
        }
        assert!(
            ACTS.call
                .iter()
                .all(|call| !call.texts.is_empty() && call.why.len() > 3)
        );
        for entry in &ACTS.work_tree {
            assert!(!entry.verbs.is_empty() && entry.why.len() > 5, "{}", entry.verbs);
        }
    }

    #[test]
    fn git_changes_the_work_tree_by_some_of_its_commands() {
        for line in [
            "git stash",
            "git stash pop",
            "git -C x checkout y",
            "git switch -c z",
            "git restore a",
            "git restore -S -W a",
            "git reset --hard",
            "git clean -fd",
            "git apply x.patch",
            "git pull",
            "git rm a",
            "git mv a b",
            "git $X",
            "/usr/bin/git rebase main",
            "git-stash",
            "git reset $X",
        ] {
            assert!(changes_work_tree(&first(line)), "{line}");
        }
        for line in [
            "git status",
            "git stash list",
            "git restore --staged a",
            "git reset",
            "git reset --soft HEAD~1",
            "git clean -nd",
            "git apply --check x",
            "git rm --cached a",
            "git commit -m x",
            "git fetch",
            "git worktree list",
            "ls",
            "gitk",
        ] {
            assert!(!changes_work_tree(&first(line)), "{line}");
        }
    }
}
