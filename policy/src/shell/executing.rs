//! Options of build tools, test runners and package managers that run another program, or code from elsewhere: the data
//! file `policy/data/executing.toml`.
//!
//! A rule `Bash(cargo test *)` means tests of this project, with whatever arguments; these options bring something else. An
//! allow with a wildcard does not cover a command with one of them; one that names the whole command does. It says nothing
//! about files that such an option reads or writes: that is for the table of programs.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;

use super::{
    Command, Word,
    data::{self, ByName, Remarked},
    options::{self, Attached},
    programs,
};

/// What a program's options run.
struct Executing {
    /// These run something whatever their value.
    runs: &'static [Remarked],
    /// These do unless their value surely lies below the working directory.
    here: &'static [&'static str],
    /// Beginnings of values of `runs` with which nothing runs.
    free: &'static [&'static str],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    names: String,
    #[serde(default)]
    here: String,
    #[serde(default)]
    free: String,
    #[serde(default)]
    runs: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raws {
    program: Vec<Raw>,
}

const FILE: &str = include_str!("../../data/executing.toml");

static PROGRAMS: LazyLock<ByName<Executing>> = LazyLock::new(|| {
    let raws: Raws = data::read("executing.toml", FILE);
    let mut entries = Vec::new();
    for raw in raws.program {
        let program: &'static Executing = data::keep(Executing {
            runs: data::remarked(raw.runs),
            here: data::words(&raw.here),
            free: data::words(&raw.free),
        });
        entries.extend(data::words(&raw.names).iter().map(|name| (*name, program)));
    }
    ByName::new(entries)
});

/// Whether a file or folder, as a word names it, surely lies below the working directory.
fn is_below(place: &str) -> bool {
    // `-` is the input, whose text the line brings.
    !place.is_empty()
        && place != "-"
        && !place.starts_with(['/', '~'])
        && place.split('/').all(|segment| segment != "..")
}

/// The value of an option in a word, if the word is that option: `Some(None)` if it stands in the next word.
fn value<'w>(word: &'w str, option: &str) -> Option<Option<&'w str>> {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (word, None),
    };
    // Some tools take one dash or two before a long name.
    let long_with_one = !option.starts_with("--") && option.len() > 2 && name.strip_prefix('-') == Some(option);
    if name == option || long_with_one {
        return Some(value);
    }
    // `-r./x`.
    let attached = word
        .strip_prefix(option)
        .filter(|_| option.len() == 2 && !word.starts_with("--"));
    attached.filter(|rest| !rest.is_empty()).map(Some)
}

/// Short options of a command with their values, also where their letters are joined; a value that is not known is empty.
fn joined(name: &str, command: &Command) -> Vec<(String, String)> {
    let arguments = command.words.get(1..).unwrap_or_default();
    let Some(entry) = programs::find(name).filter(|entry| !entry.spec.one_dash) else {
        return Vec::new();
    };
    let parsed = options::parse(arguments, entry.spec);
    let short = parsed
        .options
        .into_iter()
        .filter(|found| found.name.len() == 2 && found.value != Attached::Nothing);
    short
        .map(|found| {
            let value = match found.value {
                Attached::Text(text) => text,
                Attached::Word(at) => arguments.get(at).and_then(Word::literal).unwrap_or_default().to_owned(),
                Attached::Nothing | Attached::Unknown => String::new(),
            };
            (found.name, value)
        })
        .collect()
}

/// The first option of a command that runs something; `None` if there is none that is known.
pub(super) fn option(command: &Command) -> Option<&'static str> {
    let name = command.program_name()?;
    let program = PROGRAMS.find(name)?;
    // What stands behind `--` is for the script or test. A word that is only known at run time is no option here.
    let words: Vec<&str> = command
        .words
        .iter()
        .skip(1)
        .map(|word| word.literal().unwrap_or_default())
        .take_while(|word| *word != "--")
        .collect();
    // Letters that are joined: `make -Bf-`. Which of them takes a value is for the table of programs.
    let joined = joined(name, command);
    words.iter().enumerate().find_map(|(at, word)| {
        let given = |option: &str| {
            if let Some(value) = value(word, option) {
                return Some(value.or_else(|| words.get(at + 1).copied()).unwrap_or_default());
            }
            let (_, value) = joined.iter().find(|(name, _)| at == 0 && name == option)?;
            Some(value.as_str())
        };
        let runs =
            program.runs.iter().map(|remarked| remarked.option).find(|option| {
                given(option).is_some_and(|value| !program.free.iter().any(|free| value.starts_with(free)))
            });
        runs.or_else(|| {
            let mut here = program.here.iter().copied();
            here.find(|option| given(option).is_some_and(|value| !is_below(value)))
        })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::{
        AbsPath,
        shell::{self, Limits, ShellContext},
    };

    #[test]
    fn each_program_stands_once_and_each_option_has_a_reason() {
        let raws: Raws = data::read("executing.toml", FILE);
        let mut seen = HashSet::new();
        for raw in &raws.program {
            for name in raw.names.split_whitespace() {
                assert!(seen.insert(name), "{name} twice");
            }
            let mut options = HashSet::new();
            let all = raw
                .runs
                .keys()
                .chain([&raw.here])
                .flat_map(|text| text.split_whitespace());
            for option in all {
                assert!(
                    option.starts_with('-') && options.insert(option),
                    "{}: {option}",
                    raw.names
                );
            }
            assert!(!options.is_empty(), "{}", raw.names);
            for why in raw.runs.values() {
                assert!(why.split(' ').count() >= 4, "{}: `{why}` says too little", raw.names);
            }
        }
    }

    #[test]
    fn options_are_found_in_each_spelling_and_not_behind_two_dashes() {
        let context = ShellContext {
            cwd: AbsPath::root(),
            home: None,
        };
        for (line, found) in [
            ("cargo test --config 'build.rustc-wrapper=\"x\"'", Some("--config")),
            ("cargo test --config=a.toml", Some("--config")),
            ("cargo test -- --config x", None),
            ("cargo test --configx", None),
            ("/usr/bin/cargo test --config x", Some("--config")),
            ("go test -exec ./x ./...", Some("-exec")),
            ("go test --exec=./x ./...", Some("-exec")),
            ("go build -toolexec=x", Some("-toolexec")),
            ("go test ./...", None),
            ("npm run lint --script-shell=/tmp/x", Some("--script-shell")),
            ("npm run lint -- -C x", None),
            ("npm --prefix web run build", None),
            ("npm --prefix=./web run build", None),
            ("npm --prefix ../web run build", Some("--prefix")),
            ("npm --prefix=/tmp/x test", Some("--prefix")),
            ("npm --prefix $X test", Some("--prefix")),
            ("pnpm -C a/../../b test", Some("-C")),
            ("pylint --init-hook='import x' a.py", Some("--init-hook")),
            ("pytest -k x", None),
            ("pytest -p x", Some("-p")),
            ("pytest -px", Some("-p")),
            ("pytest -p no:cacheprovider", None),
            ("pytest -c ci/pytest.ini", None),
            ("pytest -c /tmp/pytest.ini", Some("-c")),
            ("eslint src", None),
            ("eslint -c eslint.ci.js src", None),
            ("eslint -c ~/x.js src", Some("-c")),
            ("eslint -c", Some("-c")),
            ("rspec -r./x", Some("-r")),
            ("jest -c jest.ci.js", None),
            ("make -f -", Some("-f")),
            ("make -Bf-", Some("-f")),
            ("make -Bf - all", Some("-f")),
            ("make -BC/tmp/x", Some("-C")),
            ("make -BC sub -f a.mk", None),
            ("echo --config", None),
        ] {
            let analysis = shell::analyse(line, &context, Limits::default());
            assert_eq!(option(&analysis.commands[0]), found, "{line}");
        }
    }
}
