//! Commands that are known to change files of the project: the data file `policy/data/changes.toml`.
//!
//! Plan mode refuses them whatever a rule says. Of git `acts` says the same. Which files these are is not told, and what a
//! program of the project changes is not known here. Nothing is allowed by it.

use std::{collections::HashMap, sync::LazyLock};

use serde::Deserialize;

use super::{Command, Word, acts, class::base_name, data, executing, inert};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    names: String,
    #[serde(default)]
    verbs: String,
    #[serde(default)]
    only: String,
    #[serde(default)]
    unless: String,
    #[serde(default)]
    behind: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers; a test asks for it"))]
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raws {
    change: Vec<Raw>,
}

struct Change {
    verbs: &'static [&'static str],
    only: &'static [&'static str],
    unless: &'static [&'static str],
    behind: &'static [&'static str],
}

const FILE: &str = include_str!("../../data/changes.toml");

static CHANGES: LazyLock<HashMap<&'static str, Vec<&'static Change>>> = LazyLock::new(|| {
    let raws: Raws = data::read("changes.toml", FILE);
    let mut by_name = HashMap::<&'static str, Vec<&'static Change>>::new();
    for raw in raws.change {
        let change: &'static Change = data::keep(Change {
            verbs: data::words(&raw.verbs),
            only: data::words(&raw.only),
            unless: data::words(&raw.unless),
            behind: data::words(&raw.behind),
        });
        for name in data::words(&raw.names) {
            by_name.entry(name).or_default().push(change);
        }
    }
    by_name
});

/// Whether a command is known to change files: of the work tree, packages, manifests; or copies some from elsewhere.
pub(crate) fn changes_files(command: &Command) -> bool {
    if command.remote {
        return false;
    }
    acts::changes_work_tree(command)
        || brings_files(command)
        || is_listed(&command.words)
        || changes_modules(command)
        || executing::handed(&command.words).is_some_and(|words| is_listed(&words))
}

/// Whether go writes `go.mod` and `go.sum` as it builds: `-mod=mod`, also in `GOFLAGS`.
pub(crate) fn changes_modules(command: &Command) -> bool {
    if command.program_name() != Some("go") {
        return false;
    }
    let words = || command.words.iter().skip(1).filter_map(Word::literal);
    let flags = command
        .assignments
        .iter()
        .filter(|assignment| assignment.name == "GOFLAGS");
    let said = flags
        .filter_map(|flags| flags.value.literal())
        .flat_map(str::split_whitespace);
    let is = |word: &str| {
        word.strip_prefix('-')
            .is_some_and(|word| matches!(word, "mod=mod" | "-mod=mod"))
    };
    let apart = words()
        .zip(words().skip(1))
        .any(|(one, two)| matches!(one, "-mod" | "--mod") && two == "mod");
    apart || words().chain(said).any(is)
}

/// Whether a command that runs in a container is known to change files there: those of the project, where the container has its
/// folders.
pub(crate) fn changes_there(command: &Command) -> bool {
    let Some(name) = command.program_name() else {
        return false;
    };
    let here = Command {
        remote: false,
        ..command.clone()
    };
    CHANGES.contains_key(IN_CONTAINER) && is_of(IN_CONTAINER, name)
        || matches!(name, "sed" | "perl") && is_edited_in_place(name, &command.words)
        || name == "find" && command.words.iter().any(|word| word.literal() == Some("-delete"))
        || changes_files(&here)
}

/// The entry of programs that change the files they are given: where they run here the tables of files say so.
const IN_CONTAINER: &str = "(container)";

/// Whether a program is one of the verbs of an entry.
fn is_of(entry: &str, name: &str) -> bool {
    CHANGES
        .get(entry)
        .into_iter()
        .flatten()
        .any(|change| change.verbs.contains(&name))
}

/// `sed -i`, `perl -pi -e`: among joined letters, up to one whose value is the rest of the word.
fn is_edited_in_place(name: &str, words: &[Word]) -> bool {
    let valued = if name == "perl" { "CDEFIMemx" } else { "efl" };
    let texts = words.iter().skip(1).filter_map(Word::literal);
    let mut options = texts
        .take_while(|text| *text != "--")
        .filter_map(|text| text.strip_prefix('-'));
    options.any(|letters| match letters.strip_prefix('-') {
        Some(long) => long.len() > 1 && "in-place".starts_with(long.split('=').next().unwrap_or(long)),
        None => letters.chars().take_while(|c| !valued.contains(*c)).any(|c| c == 'i'),
    })
}

/// `docker cp web:/x a`, `aws s3 cp s3://x a`: the last operand is a place here.
fn brings_files(command: &Command) -> bool {
    let words = command.words.iter().skip(1);
    let mut operands = words.filter(|word| word.literal().is_none_or(|text| !text.starts_with('-')));
    acts::copies_here(command)
        && operands
            .next_back()
            .is_some_and(|word| word.literal().is_none_or(|text| !is_elsewhere(text)))
}

/// Whether a text is an address, or a place in a container: `s3://x`, `web:/x`. `-` is the output.
fn is_elsewhere(text: &str) -> bool {
    let named = |(name, _): (&str, &str)| !name.is_empty() && !name.contains('/');
    text == "-" || text.contains("://") || text.split_once(':').is_some_and(named)
}

/// Scripts that many projects have under the same name, as programs of their own.
const SCRIPTS: &[&str] = &["artisan", "manage.py"];

fn is_listed(words: &[Word]) -> bool {
    let trimmed = executing::without_folder(words);
    let words = trimmed.as_deref().unwrap_or(words);
    let Some((name, from)) = executing::behind_module(words) else {
        return false;
    };
    // `python manage.py makemigrations`, `php artisan make:model`.
    let script = words
        .get(from)
        .and_then(Word::literal)
        .map(base_name)
        .unwrap_or_default();
    let (name, from) = match SCRIPTS.contains(&script) && from == 1 {
        true => (script, 2),
        false => (name, from),
    };
    let Some(changes) = CHANGES.get(name) else {
        return false;
    };
    let rest = words.get(from..).unwrap_or_default();
    let dashes = rest.iter().position(|word| word.literal() == Some("--"));
    let (own, behind) = rest
        .split_at_checked(dashes.unwrap_or(rest.len()))
        .unwrap_or((rest, &[]));
    let given = |list: &[&str], words: &[Word]| {
        words.iter().filter_map(Word::literal).any(|text| {
            let option = text.split('=').next().unwrap_or(text);
            // Long options of go have one dash.
            list.contains(&option)
                || list.contains(&text)
                || text.strip_prefix('-').is_some_and(|rest| list.contains(&rest))
                || (name != "go" && is_among_letters(list, text))
        })
    };
    if given(&["--help"], own) {
        return false;
    }
    let verbs = inert::verbs(name, rest);
    let meant = |change: &&&'static Change| {
        let named = |verb: &&str| match *verb {
            "-" => verbs.is_empty(),
            verb => verbs.iter().any(|(one, two)| match verb.strip_suffix("+*") {
                // With an operand, whatever it is.
                Some(verb) => one == verb && two.len() > verb.len() + 1,
                None => one == verb || two == verb,
            }),
        };
        let unknown = own
            .iter()
            .any(|word| word.literal().is_none() && !is_list_of_packages(word));
        (change.verbs.is_empty() || change.verbs.iter().any(named))
            && (change.only.is_empty() || unknown || given(change.only, own))
            && !given(change.unless, own)
            && !given(change.behind, behind)
    };
    changes.iter().any(|change| meant(&change))
}

/// `$(go list ./... | grep -v x)`: what it prints are names of packages, and no option.
fn is_list_of_packages(word: &Word) -> bool {
    let Word::Dynamic { source, .. } = word else {
        return false;
    };
    let inner = source
        .trim_matches('"')
        .strip_prefix("$(")
        .and_then(|rest| rest.strip_suffix(')'));
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '/' | '.' | '-' | '_' | '|' | '*');
    let Some(inner) = inner.filter(|inner| inner.chars().all(plain)) else {
        return false;
    };
    let mut stages = inner.split('|').map(str::trim);
    let lists = stages.next().is_some_and(|first| {
        let mut words = first.split_whitespace();
        words.next() == Some("go") && words.next() == Some("list") && words.all(|word| !word.starts_with('-'))
    });
    lists && stages.all(|stage| stage.starts_with("grep "))
}

/// Whether a short option of a list stands among joined letters: `-i` in `-ri`.
fn is_among_letters(list: &[&str], word: &str) -> bool {
    let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    let letters = letters.filter(|letters| letters.chars().all(|c| c.is_ascii_alphabetic()));
    let short = list
        .iter()
        .filter_map(|option| option.strip_prefix('-').filter(|letter| letter.len() == 1));
    letters.is_some_and(|letters| letters.len() <= 4 && short.into_iter().any(|letter| letters.contains(letter)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        AbsPath,
        shell::{self, Limits, ShellContext},
    };

    #[test]
    fn each_entry_has_names_and_a_reason() {
        let raws: Raws = data::read("changes.toml", FILE);
        for raw in &raws.change {
            assert!(
                !raw.names.is_empty() && raw.why.split(' ').count() >= 3,
                "{}",
                raw.names
            );
        }
    }

    #[test]
    fn commands_that_change_files() {
        let context = ShellContext {
            cwd: AbsPath::root(),
            home: None,
        };
        let first = |line: &str| {
            let analysis = shell::analyse(line, &context, Limits::default());
            changes_files(&analysis.commands[0])
        };
        for line in [
            "cargo fmt",
            "cargo +nightly fmt --all",
            "cargo clippy --fix",
            "npm ci",
            "npm --prefix web install x",
            "yarn",
            "yarn prettier --write .",
            "npx prettier --write .",
            "prettier -w src",
            "python3 -m black src",
            "python3 -m pip install x",
            "ruff format .",
            "ruff check --fix",
            "gofmt -w a.go",
            "go mod tidy",
            "terraform fmt",
            "docker compose cp web:/x a",
            "aws s3 cp s3://b/x .",
            "git format-patch HEAD~1",
            "git subtree add --prefix x y z",
            "eslint $X",
            "npm exec prettier -- --write .",
            "go tool gofmt -w .",
            "go run golang.org/x/tools/cmd/goimports@latest -w .",
            "go run github.com/x/golangci-lint/v2@v2.1.0 run --fix",
            "yarn workspace x add y",
            "yarn workspaces foreach -A add y",
            "git reset --ha",
            "npx rimraf dist",
            "python -m venv x",
            "go test -c",
            "go build -mod=mod ./...",
            "go build -mod mod ./...",
            "GOFLAGS=-mod=mod go build ./...",
            "go -C sub run golang.org/x/tools/cmd/goimports -w .",
            "go run -tags x golang.org/x/tools/cmd/goimports@latest -w .",
            "yarn --cwd x workspace y add z",
            "yarn --cwd=x add z",
            "uv version 1.2.3",
            "uv version --bump minor",
            "python manage.py makemigrations",
            "go test $X",
        ] {
            assert!(
                first(line)
                    || shell::analyse(line, &context, Limits::default())
                        .commands
                        .iter()
                        .any(changes_files),
                "{line}"
            );
        }
        for line in [
            "cargo fmt --check",
            "cargo fmt -- --check",
            "cargo test",
            "cargo clippy",
            "cargo add --help",
            "npm test",
            "npm run build",
            "npm ls",
            "yarn test",
            "yarn --version",
            "prettier --check .",
            "eslint src",
            "python3 -m black --check src",
            "ruff check .",
            "ruff format --diff .",
            "gofmt -l .",
            "go test ./...",
            "terraform plan",
            "terraform fmt -check",
            "docker compose cp a web:/x",
            "aws s3 ls",
            "aws s3 cp a s3://b/x",
            "git log",
            "git format-patch --stdout HEAD~1",
            "npm exec prettier -- --check .",
            "go test -race -json ./...",
            "go run ./cmd/prettier --write .",
            "go tool cover -html=x",
            "yarn workspace x test",
            "git reset --soft HEAD~1",
            "git apply --check x",
            "go test $(go list ./... | grep -v e2e)",
            "go build -mod=readonly ./...",
            "uv version",
            "uv version --short",
            "python manage.py runserver",
            "go -C sub test ./...",
        ] {
            assert!(!first(line), "{line}");
        }
    }
}
