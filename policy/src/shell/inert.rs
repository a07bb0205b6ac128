//! Programs that run none of their words: the data file `policy/data/inert.toml`.
//!
//! A word that names a denied program may be a call of it, if the program in front runs what its words say. Of most programs
//! somebody has said what they do with their words; this tells which. It knows nothing of rules, and nothing is allowed by it.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{
    Command, CommandClass, Word,
    class::base_name,
    data, executing,
    globals::{Front, front},
    programs, wrappers,
};

/// What is known about the words of a command as commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    /// It runs none of them.
    Inert,
    /// The table of programs says which of its options run something; its other words are none.
    Declared,
    /// It runs a program among them, which is a command of its own; what stands in front of that, up to this number, is not.
    Wrapper(usize),
    /// Nothing is known: it may run any of them.
    Unknown,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    names: String,
    words: Option<String>,
    #[serde(default)]
    but: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers; a test asks for it"))]
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raws {
    inert: Vec<Raw>,
}

struct Entry {
    /// Subcommands, `a+b` for two words; `None`: all.
    words: Option<&'static [&'static str]>,
    but: &'static [&'static str],
}

const FILE: &str = include_str!("../../data/inert.toml");

static INERT: LazyLock<data::Named<&'static str, Vec<&'static Entry>>> = LazyLock::new(|| {
    let raws: Raws = data::read("inert.toml", FILE);
    let mut by_name = data::Named::<&'static str, Vec<&'static Entry>>::default();
    for raw in raws.inert {
        let entry: &'static Entry = data::keep(Entry {
            words: raw.words.as_deref().map(data::words),
            but: data::words(&raw.but),
        });
        for name in data::words(&raw.names) {
            by_name.entry(name).or_default().push(entry);
        }
    }
    by_name
});

/// Most words in which a subcommand is looked for.
const MOST_WORDS: usize = 32;

/// What is known about the words of a command.
pub(crate) fn words(command: &Command) -> Words {
    match command.class {
        CommandClass::Other | CommandClass::Wrapper => {}
        _ => return Words::Inert,
    }
    let Some(written) = command.program() else {
        return Words::Inert;
    };
    let name = base_name(written);
    if let Some((wrapper, start)) = wrappers::resolve(name, &command.words) {
        let found = wrappers::unwrap(wrapper, &command.words, start);
        return Words::Wrapper(found.program.unwrap_or(command.words.len()));
    }
    if wrappers::SHELLS.contains(&name) || matches!(name, "eval" | "trap") {
        return Words::Wrapper(command.words.len());
    }
    // A program of the project under a known name need not be the known one.
    if !lies_among_programs(written) && !matches!(name, "gradlew" | "mvnw" | "configure") {
        return Words::Unknown;
    }
    // `python3 -m pip install x`
    let (name, rest) = match executing::behind_module(&command.words) {
        Some((module, from)) if module != name => (module, command.words.get(from..).unwrap_or_default()),
        _ => (name, command.words.get(1..).unwrap_or_default()),
    };
    // An option of it that runs something says what.
    if executing::option(command, &|_| false).is_some() {
        return Words::Unknown;
    }
    if let Some(entries) = INERT.get(name) {
        let verbs = verbs(name, rest);
        let among = |list: &[&str]| {
            verbs
                .iter()
                .any(|(one, two)| list.contains(&one.as_str()) || list.contains(&two.as_str()))
        };
        if entries.iter().any(|entry| among(entry.but)) {
            return Words::Unknown;
        }
        if entries.iter().any(|entry| entry.words.is_none_or(among)) {
            return Words::Inert;
        }
    }
    match programs::know(name, rest) {
        Some(known) if known.verb.is_some() || !programs::has_verbs(name) => Words::Declared,
        _ => Words::Unknown,
    }
}

/// Words in front of the program of a wrapper that may be it: some are left out where there is a default (`nvm exec x`), and
/// some need no `--` in front (`stack exec x`). None where it runs elsewhere: there they are names of machines.
pub(crate) fn operands_of_wrapper(command: &Command) -> Vec<usize> {
    let Some((wrapper, start)) = command
        .program_name()
        .and_then(|name| wrappers::resolve(name, &command.words))
        .filter(|(wrapper, _)| !wrapper.remote)
    else {
        return Vec::new();
    };
    let found = wrappers::unwrap(wrapper, &command.words, start);
    let may_be = wrapper.optional || (wrapper.dashes && found.program.is_none());
    if may_be { found.operands } else { Vec::new() }
}

/// Whether a program is named as those are that people install: by its bare name, or in a folder of programs.
fn lies_among_programs(written: &str) -> bool {
    match written.rsplit_once('/') {
        None => true,
        Some((folder, _)) => matches!(folder.rsplit('/').next(), Some("bin" | "sbin" | ".bin")),
    }
}

/// The words that may be the subcommand, each alone and with the next word: the first that is no option, and behind an option
/// that is not known the one behind, too.
pub(super) fn verbs(name: &str, rest: &[Word]) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let (mut at, mut either) = (0, false);
    while let Some(word) = rest.get(at).filter(|_| at < MOST_WORDS) {
        match front(name, word) {
            Front::Flag => at += 1,
            Front::Valued => at += 2,
            Front::Either => {
                either = true;
                at += 1;
            }
            Front::Word => {
                let one = word.literal().unwrap_or_default();
                let next = rest.iter().skip(at + 1).filter_map(Word::literal);
                let next = next.take(MOST_WORDS).find(|text| !text.starts_with('-'));
                let two = [one, "+", next.unwrap_or_default()].concat();
                out.push((one.to_owned(), two));
                if !std::mem::take(&mut either) {
                    break;
                }
                at += 1;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        AbsPath,
        shell::{self, Limits, ShellContext},
    };

    #[test]
    fn each_entry_has_names_and_a_reason_and_no_word_twice() {
        let raws: Raws = data::read("inert.toml", FILE);
        for raw in &raws.inert {
            assert!(
                !raw.names.is_empty() && raw.why.split(' ').count() >= 3,
                "{}",
                raw.names
            );
            let words = raw.words.as_deref().unwrap_or_default();
            for list in [raw.names.as_str(), words, raw.but.as_str()] {
                let mut seen = std::collections::HashSet::new();
                for word in list.split_whitespace() {
                    assert!(seen.insert(word), "{word} twice: {}", raw.names);
                }
            }
        }
    }

    #[test]
    fn what_is_known_about_words() {
        let context = ShellContext {
            cwd: AbsPath::root(),
            home: None,
        };
        for (line, known) in [
            ("grep curl x", Words::Inert),
            ("mkdir curl", Words::Inert),
            ("git commit -m 'use curl'", Words::Inert),
            ("git -C x commit -m curl", Words::Inert),
            ("git mine curl", Words::Unknown),
            ("docker rm curl", Words::Inert),
            ("docker service create x curl", Words::Unknown),
            ("docker run x curl", Words::Wrapper(3)),
            ("npm --prefix web install curl", Words::Inert),
            ("npm --unheard-of y install curl", Words::Inert),
            ("bun run curl", Words::Unknown),
            ("gh pr create -t curl", Words::Inert),
            ("gh mine curl", Words::Unknown),
            ("gcc curl.c", Words::Declared),
            ("cargo build curl", Words::Inert),
            ("cargo mine curl", Words::Unknown),
            ("python3 -m pip install curl", Words::Inert),
            ("python3 -m mine curl", Words::Unknown),
            ("timeout 5 curl", Words::Wrapper(2)),
            ("sh -c curl", Words::Wrapper(3)),
            ("mine curl", Words::Unknown),
            ("./make curl", Words::Unknown),
            ("node_modules/.bin/eslint curl", Words::Inert),
            ("./gradlew curl", Words::Inert),
        ] {
            let analysis = shell::analyse(line, &context, Limits::default());
            assert_eq!(words(&analysis.commands[0]), known, "{line}");
        }
    }
}
