//! Where the contents of a file come from that a command writes: the data file `policy/data/origins.toml`.
//!
//! A line that runs a file which it wrote may have written any command into it. Some programs write nothing of the line into
//! a file: they change its mode, copy it, or compile source files. This says which; whether what they read is known, it does
//! not say.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{
    Command, Word, data,
    globals::{Front, front},
};

/// What a command does to the contents of what it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// They stay what they are.
    Kept,
    /// They are those of files that it reads.
    Copied,
    /// A compiler makes them from files that it reads.
    Made,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    names: String,
    #[serde(default)]
    verbs: String,
    #[serde(default)]
    unless: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers; a test asks for it"))]
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raws {
    kept: Vec<Entry>,
    copied: Vec<Entry>,
    made: Vec<Entry>,
}

const FILE: &str = include_str!("../../data/origins.toml");

static ORIGINS: LazyLock<Raws> = LazyLock::new(|| data::read("origins.toml", FILE));

fn holds(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|own| own == word)
}

/// Whether a word may be one of these options: long ones may be cut short, short ones stand among other letters.
pub(crate) fn is_one_of(word: &str, options: &str) -> bool {
    options.split_whitespace().any(|own| {
        let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        match own.strip_prefix('-').filter(|letter| !letter.starts_with('-')) {
            Some(letter) => letters.is_some_and(|letters| letters.contains(letter)),
            None => word.len() > 2 && word.starts_with("--") && own.starts_with(word),
        }
    })
}

/// What a command does to the contents of what it writes; `None`: nobody has said.
pub(crate) fn origin(command: &Command) -> Option<Origin> {
    // A program of the project under a known name need not be the known one.
    let name = command
        .program_name()
        .filter(|name| command.program() == Some(name) || lies_in_the_system(command))?;
    let verb = verb(name, command.words.get(1..).unwrap_or_default());
    let meets = |entry: &&Entry| {
        let told = |word: &Word| {
            let text = word.literal().unwrap_or_default();
            is_one_of(text.split('=').next().unwrap_or_default(), &entry.unless)
        };
        holds(&entry.names, name)
            && (entry.verbs.is_empty() || verb.is_some_and(|verb| holds(&entry.verbs, verb)))
            && !command.words.iter().any(told)
    };
    let lists = [
        (&ORIGINS.kept, Origin::Kept),
        (&ORIGINS.copied, Origin::Copied),
        (&ORIGINS.made, Origin::Made),
    ];
    lists
        .into_iter()
        .find_map(|(list, origin)| list.iter().find(meets).map(|_| origin))
}

fn lies_in_the_system(command: &Command) -> bool {
    let folder = command.program().and_then(|program| program.rsplit_once('/'));
    folder.is_some_and(|(folder, _)| matches!(folder, "/bin" | "/usr/bin" | "/usr/local/bin"))
}

/// The subcommand: the first word that is neither an option nor surely the value of one.
fn verb<'w>(name: &str, rest: &'w [Word]) -> Option<&'w str> {
    let mut at = 0;
    loop {
        let word = rest.get(at)?;
        match front(name, word) {
            Front::Word => return word.literal(),
            Front::Valued => at += 2,
            Front::Flag | Front::Either => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_has_names_and_a_reason() {
        for entry in [&ORIGINS.kept, &ORIGINS.copied, &ORIGINS.made].into_iter().flatten() {
            assert!(!entry.names.is_empty() && entry.why.len() > 8, "{}", entry.names);
        }
    }

    #[test]
    fn what_programs_do_to_contents() {
        for (line, expected) in [
            ("chmod +x a.sh", Some(Origin::Kept)),
            ("/bin/chmod +x a.sh", Some(Origin::Kept)),
            ("./chmod +x a.sh", None),
            ("cp a b", Some(Origin::Copied)),
            ("go build -o a", Some(Origin::Made)),
            ("go generate", None),
            ("git -C x mv a b", Some(Origin::Copied)),
            ("git apply x", None),
            ("install --strip-program=x a b", None),
            ("install --strip-p=x a b", None),
            ("ln -s a b", None),
            ("cp -al a b", None),
            ("cp -r a b", Some(Origin::Copied)),
            ("dos2unix -kn a b", None),
            ("strip -ob a", None),
            ("tee a", None),
        ] {
            let words = line.split(' ').map(|word| Word::Literal(word.to_owned())).collect();
            assert_eq!(origin(&Command::of_words(line.to_owned(), words)), expected, "{line}");
        }
    }
}
