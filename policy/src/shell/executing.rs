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
    class::base_name,
    data::{self, ByName, Remarked},
    options::{self, Attached},
    programs, wrappers,
};

/// What a program's options run.
struct Executing {
    /// These run something whatever their value.
    runs: &'static [Remarked],
    /// These do unless their value surely lies below the working directory.
    here: &'static [&'static str],
    /// The same, where a value that is only known at run time is free.
    loose: &'static [&'static str],
    /// Beginnings of values of `runs` with which nothing runs.
    free: &'static [&'static str],
    /// The operands are code that is run.
    code: bool,
    /// Options whose value is a text, and none of the operands.
    texts: &'static [&'static str],
    /// Letters of options without a value, behind which another option may stand in the same word.
    joined: &'static str,
    /// These run something where their value is the input: `docker compose -f -`.
    input: &'static [&'static str],
    /// A long option may have any number of dashes in front, and be cut short.
    dashes: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    names: String,
    #[serde(default)]
    here: String,
    #[serde(default)]
    loose: String,
    #[serde(default)]
    free: String,
    #[serde(default)]
    code: bool,
    #[serde(default)]
    texts: String,
    #[serde(default)]
    joined: String,
    #[serde(default)]
    input: String,
    #[serde(default)]
    dashes: bool,
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
            loose: data::words(&raw.loose),
            free: data::words(&raw.free),
            code: raw.code,
            texts: data::words(&raw.texts),
            joined: data::keep_text(&raw.joined),
            input: data::words(&raw.input),
            dashes: raw.dashes,
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
    let long = |text: &str| text.starts_with("--");
    // Some tools take one dash or two before a long name.
    let long_with_one = !option.starts_with("--") && option.len() > 2 && name.strip_prefix('-') == Some(option);
    if name == option || long_with_one {
        return Some(value);
    }
    // `-r./x`.
    let attached = word.strip_prefix(option).filter(|_| option.len() == 2 && !long(word));
    attached.filter(|rest| !rest.is_empty()).map(Some)
}

/// Short options of a command with their values, also where their letters are joined; a value that is not known is empty.
fn joined(name: &str, arguments: &[Word]) -> Vec<(String, String)> {
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

/// The program that a command runs, by its name, and the number of its first argument: `python3 -u -m pytest a` runs
/// `pytest`.
pub(super) fn behind_module(words: &[Word]) -> Option<(&str, usize)> {
    let name = base_name(words.first()?.literal()?);
    let python = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"));
    let python = python.or((name == "py").then_some(""));
    if !python.is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.')) {
        return Some((name, 1));
    }
    let mut at = 1;
    while let Some(text) = words.get(at).and_then(Word::literal) {
        match text.strip_prefix('-') {
            Some("W" | "X") => at += 2,
            // `-mpytest`, `-um pytest`; what stands before has no value.
            Some(letters)
                if !letters.starts_with(['-', 'W', 'X']) && letters.contains('m') && !letters.contains('c') =>
            {
                let (_, attached) = letters.split_once('m')?;
                return if attached.is_empty() {
                    Some((words.get(at + 1)?.literal()?, at + 2))
                } else {
                    Some((attached, at + 1))
                };
            }
            Some(letters) if !letters.is_empty() && !letters.starts_with('c') => at += 1,
            _ => break,
        }
    }
    Some((name, 1))
}

/// The operands of a command that are code it runs, and the files that it gives to a formatter behind `--`. Values of options
/// are among them where they hold a slash.
pub(super) fn code(command: &Command) -> Vec<&str> {
    let Some((name, from)) = behind_module(&command.words) else {
        return Vec::new();
    };
    let words = || {
        command
            .words
            .iter()
            .skip(from)
            .map(|word| word.literal().unwrap_or_default())
    };
    let operands = |word: &&str| !word.is_empty() && !word.starts_with('-');
    if name == "cargo" && words().any(|word| word == "fmt") {
        return words().skip_while(|word| *word != "--").filter(operands).collect();
    }
    let Some(program) = PROGRAMS.find(name).filter(|program| program.code) else {
        return Vec::new();
    };
    // `-k 'a/b'`: which tests; behind `--` it is no option.
    let end = words().position(|word| word == "--").unwrap_or(usize::MAX);
    let before = std::iter::once("").chain(words());
    // `tests/a.py::Case::test`
    words()
        .zip(before)
        .enumerate()
        .filter(|(at, (word, before))| operands(word) && (*at > end || !program.texts.contains(before)))
        .map(|(_, (word, _))| word)
        .map(|word| word.split("::").next().unwrap_or(word))
        .filter(|word| word.contains('/') || *word == "..")
        .collect()
}

/// The first option of a command that runs something; `None` if there is none that is known. `inside` says of a place that
/// is named from the root or the home folder whether it lies in the project.
pub(super) fn option(command: &Command, inside: &dyn Fn(&str) -> bool) -> Option<&'static str> {
    let own = option_among(&command.words, inside);
    own.or_else(|| option_among(&handed(&command.words)?, inside))
}

/// Options of `go run` with a value in the next word.
const GO_VALUES: &[&str] = &[
    "asmflags",
    "buildmode",
    "compiler",
    "covermode",
    "coverpkg",
    "exec",
    "gccgoflags",
    "gcflags",
    "installsuffix",
    "ldflags",
    "mod",
    "modfile",
    "o",
    "overlay",
    "p",
    "pgo",
    "pkgdir",
    "tags",
    "toolexec",
];

/// A command without the option in front of its subcommand that says in which folder it works: `go -C x`, `yarn --cwd x`.
pub(super) fn without_folder(words: &[Word]) -> Option<Vec<Word>> {
    let option = match base_name(words.first()?.literal()?) {
        "go" => "-C",
        "yarn" => "--cwd",
        _ => return None,
    };
    let first = words.get(1)?.literal()?;
    let from = match first.strip_prefix(option)? {
        "" => 3,
        rest if rest.starts_with('=') => 2,
        _ => return None,
    };
    let rest = words.get(from..)?.iter().cloned();
    Some(words.first().cloned().into_iter().chain(rest).collect())
}

/// The command that a program runs with words of its own line: what stands behind `--` of `cmake --build` is for make, of
/// `gh repo clone` for git, and what `npx` runs takes the words behind its name.
pub(super) fn handed(words: &[Word]) -> Option<Vec<Word>> {
    let trimmed = without_folder(words);
    let words = trimmed.as_deref().unwrap_or(words);
    let is = |at: usize, text: &str| words.get(at).and_then(Word::literal) == Some(text);
    let behind = || {
        let dashes = words.iter().position(|word| word.literal() == Some("--"))?;
        words.get(dashes + 1..)
    };
    let with = |program: &[&str], rest: &[Word]| -> Vec<Word> {
        let program = program.iter().map(|word| Word::Literal((*word).to_owned()));
        program.chain(rest.iter().cloned()).collect()
    };
    // The first word from a place on that is no option is the tool, with or without its version.
    let tool = |from: usize| {
        let mut at = from;
        while let Some(text) = words.get(at).and_then(Word::literal) {
            if !text.starts_with('-') {
                let version = text.get(1..).and_then(|rest| rest.find('@'));
                let name = version.and_then(|at| text.get(..=at)).unwrap_or(text);
                return Some(with(&[name], words.get(at + 1..).unwrap_or_default()));
            }
            at += if NPX_VALUES.contains(&text) { 2 } else { 1 };
        }
        None
    };
    match base_name(words.first()?.literal()?) {
        "cmake" if words.iter().any(|word| word.literal() == Some("--build")) => Some(with(&["make"], behind()?)),
        "gh" if is(1, "repo") && is(2, "clone") => Some(with(&["git", "clone"], behind()?)),
        "npx" | "pnpx" | "bunx" => tool(1),
        // npm takes the first `--` away, wherever it stands.
        "npm" if is(1, "exec") || is(1, "x") => tool(2).map(|mut words| {
            if let Some(dashes) = words.iter().position(|word| word.literal() == Some("--")) {
                words.remove(dashes);
            }
            words
        }),
        "go" if is(1, "tool") => tool(2),
        // `go run golang.org/x/tools/cmd/goimports@latest -w .`; of the project's own programs nobody knows what they do.
        "go" if is(1, "run") => {
            let mut at = 2;
            while let Some(text) = words
                .get(at)
                .and_then(Word::literal)
                .filter(|text| text.starts_with('-'))
            {
                let name = text.trim_start_matches('-');
                at += if GO_VALUES.contains(&name) { 2 } else { 1 };
            }
            let module = words.get(at)?.literal()?;
            let path = module.split('@').next().unwrap_or(module);
            let version = |name: &&str| name.strip_prefix('v').is_none_or(|rest| rest.parse::<u32>().is_err());
            let name = path
                .rsplit('/')
                .find(version)
                .filter(|_| path.contains('/') && !path.starts_with(['.', '/']))?;
            Some(with(&[name], words.get(at + 1..)?))
        }
        "yarn" if is(1, "workspace") => Some(with(&["yarn"], words.get(3..)?)),
        "yarn" if is(1, "workspaces") && is(2, "foreach") => {
            let mut at = 3;
            while let Some(text) = words
                .get(at)
                .and_then(Word::literal)
                .filter(|text| text.starts_with('-'))
            {
                let valued = matches!(text, "--include" | "--exclude" | "--from" | "-j" | "--jobs");
                at += if valued { 2 } else { 1 };
            }
            Some(with(&["yarn"], words.get(at..)?))
        }
        // What stands behind `--` is for ssh.
        "gh" if (is(1, "codespace") || is(1, "cs")) && is(2, "ssh") => Some(with(&["ssh", "codespace"], behind()?)),
        "pnpm" if is(1, "exec") || is(1, "dlx") => tool(2),
        "yarn" if is(1, "dlx") || is(1, "exec") || is(1, "run") => tool(2),
        "bun" if is(1, "x") || is(1, "run") => tool(2),
        // `yarn jest`, `pnpm jest`: a script of the project, or a tool.
        "yarn" | "pnpm" => tool(1),
        _ => None,
    }
}
/// Options of `npx` whose value is the next word.
const NPX_VALUES: &[&str] = &[
    "-p",
    "-w",
    "-c",
    "--package",
    "--workspace",
    "--call",
    "--userconfig",
    "--cache",
    "--registry",
];

/// A switch of MSBuild in one spelling: `/Property:X=y` and `--property:X=y` are `-p:X=y`.
fn msbuild(word: &str) -> String {
    let bare = word.trim_start_matches(['-', '/']);
    let dashes = word.len() - bare.len();
    let Some((name, value)) = bare.split_once(':').filter(|_| dashes > 0) else {
        return word.to_owned();
    };
    match name.to_ascii_lowercase().as_str() {
        // Several at once are no single harmless one.
        "p" | "property" if value.contains([';', ',']) => format!("-p:;{value}"),
        "p" | "property" => format!("-p:{value}"),
        "l" | "logger" | "dl" | "distributedlogger" => format!("--logger={value}"),
        _ => word.to_owned(),
    }
}

/// A long option in the spelling of the table: npm takes `-script-shell`, `---script-shell` and `--script-sh` for
/// `--script-shell`.
fn with_two_dashes(program: &Executing, word: &str) -> String {
    let bare = word.trim_start_matches('-');
    let (name, value) = match bare.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (bare, None),
    };
    if bare.len() == word.len() || name.len() < 2 {
        return word.to_owned();
    }
    let listed = program.runs.iter().map(|remarked| remarked.option);
    let mut listed = listed.chain(program.here.iter().chain(program.loose).copied());
    let means = |option: &&str| option.strip_prefix("--").is_some_and(|option| option.starts_with(name));
    match (listed.find(means), value) {
        (Some(option), Some(value)) => format!("{option}={value}"),
        (Some(option), None) => option.to_owned(),
        (None, _) => word.to_owned(),
    }
}

/// Whether a value is the input, whose text the line brings.
fn is_input(value: &str) -> bool {
    matches!(value, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}

/// The words of a command up to what it runs in a container or on another machine.
fn outside_container<'w>(name: &str, words: &'w [Word]) -> &'w [Word] {
    let own = wrappers::resolve(name, words)
        .filter(|(wrapper, _)| wrapper.remote)
        .map(|(wrapper, start)| wrappers::unwrap(wrapper, words, start))
        .filter(|found| found.unknown.is_none())
        .and_then(|found| found.program);
    own.and_then(|program| words.get(..program)).unwrap_or(words)
}

/// The words of `npx` up to the tool: what stands behind it is the tool's, which is looked at by itself. An option that is not
/// known may take the word for its value.
fn before_tool<'w>(name: &str, words: &'w [Word]) -> &'w [Word] {
    const SWITCHES: &[&str] = &["-y", "--yes", "--no", "--no-install", "-q", "--quiet", "-s", "--silent"];
    if name != "npx" {
        return words;
    }
    let switches = words
        .iter()
        .skip(1)
        .take_while(|word| word.literal().is_some_and(|text| SWITCHES.contains(&text)))
        .count();
    let tool = words.get(switches + 1).and_then(Word::literal);
    match tool.filter(|text| !text.starts_with('-')) {
        Some(_) => words.get(..switches + 2).unwrap_or(words),
        None => words,
    }
}

fn option_among(words: &[Word], inside: &dyn Fn(&str) -> bool) -> Option<&'static str> {
    let all = words;
    let (name, from) = behind_module(all)?;
    let program = PROGRAMS.find(name)?;
    // Options behind the image belong to what runs in the container.
    let all = outside_container(name, all);
    let all = before_tool(name, all);
    // What stands behind `--` is for the script or test. A word that is only known at run time is no option here.
    let words: Vec<String> = all
        .iter()
        .skip(from)
        .map(|word| match word {
            Word::Literal(text) => text.as_str(),
            // `-f <(…)`
            Word::Dynamic { source, .. } if source.starts_with("<(") => "-",
            Word::Dynamic { .. } => "",
        })
        .take_while(|word| *word != "--")
        .map(|word| {
            if program.dashes {
                return with_two_dashes(program, word);
            }
            if matches!(name, "dotnet" | "msbuild") {
                return msbuild(word);
            }
            let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
            let own = letters.map(|letters| letters.trim_start_matches(|c| program.joined.contains(c)));
            own.filter(|own| !own.is_empty())
                .map_or_else(|| word.to_owned(), |own| format!("-{own}"))
        })
        .collect();
    let is_below = |place: &str| {
        // The settings themselves instead of a file of them: `--config='{…}'`.
        if place.trim_start().starts_with('{') {
            return false;
        }
        is_below(place) || (place.starts_with(['/', '~']) && place.split('/').all(|name| name != "..") && inside(place))
    };
    let begun: Vec<&str> = all
        .iter()
        .skip(from)
        .filter_map(|word| match word {
            Word::Literal(_) => None,
            Word::Dynamic { source, .. } => options::begun_option(source.trim_start_matches(['"', '\''])),
        })
        .collect();
    if !begun.is_empty() {
        let runs = program.runs.iter().map(|remarked| remarked.option);
        let mut listed = runs
            .chain(program.here.iter().copied())
            .chain(program.loose.iter().copied());
        // `npm --script-sh$X` may name what runs.
        let may_be = |option: &&str| begun.iter().any(|begun| begun.len() > 2 && option.starts_with(begun));
        if let Some(option) = listed.find(may_be) {
            return Some(option);
        }
    }
    // A word behind `--` may still be the value of what stands in front of it.
    let ends_early = words.len() + from < all.len();
    // Letters that are joined: `make -Bf-`. Which of them takes a value is for the table of programs.
    let joined = joined(name, all.get(from..).unwrap_or_default());
    words.iter().enumerate().find_map(|(at, word)| {
        let given = |option: &str| {
            if let Some(value) = value(word, option) {
                return Some(
                    value
                        .or_else(|| words.get(at + 1).map(String::as_str))
                        .unwrap_or_default(),
                );
            }
            // They are looked through once, not for each word.
            let own: &[(String, String)] = if at == 0 { &joined } else { &[] };
            let (_, value) = own.iter().find(|(name, _)| name == option)?;
            Some(value.as_str())
        };
        let runs =
            program.runs.iter().map(|remarked| remarked.option).find(|option| {
                given(option).is_some_and(|value| !program.free.iter().any(|free| is_free(free, value)))
            });
        runs.or_else(|| {
            let mut here = program.here.iter().copied();
            // Without a value it names nothing: `rollup -c` takes the project's own file.
            let bare = |option: &str| words.last().is_some_and(|last| last == option) && !ends_early;
            here.find(|option| {
                given(option).is_some_and(|value| !(is_below(value) || value.is_empty() && bare(option)))
            })
        })
        .or_else(|| {
            let mut input = program.input.iter().copied();
            input.find(|option| given(option).is_some_and(is_input))
        })
        .or_else(|| {
            let mut loose = program.loose.iter().copied();
            loose.find(|option| given(option).is_some_and(|value| !value.is_empty() && !is_below(value)))
        })
    })
}

/// Whether a value is one of those with which nothing runs: by its beginning, as a whole where a `$` ends the entry, or but
/// for a version where a `#` does, or for letters and digits where a `%` does.
fn is_free(free: &str, value: &str) -> bool {
    if let Some(beginning) = free.strip_suffix('#') {
        let version = |rest: &str| {
            rest.starts_with(|c: char| c.is_ascii_digit()) && rest.chars().all(|c| c.is_ascii_digit() || c == '.')
        };
        return value.strip_prefix(beginning).is_some_and(version);
    }
    if let Some(beginning) = free.strip_suffix('%') {
        let plain = |rest: &str| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric());
        return value.strip_prefix(beginning).is_some_and(plain);
    }
    match free.strip_suffix('$') {
        Some(whole) => value.strip_prefix(':').unwrap_or(value) == whole,
        None => value.starts_with(free),
    }
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
                .chain([&raw.here, &raw.loose, &raw.input])
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
            ("pytest -vp x", Some("-p")),
            ("pytest -vs", None),
            ("python3 -m pytest -p x", Some("-p")),
            ("python3.12 -u -W ignore -mpytest -p x", Some("-p")),
            ("python3 -m pytest -k x", None),
            ("python3 a.py -m pytest -p x", None),
            ("cargo nextest run --config-file /tmp/x", Some("--config-file")),
            ("cargo nextest run --config-file a.toml", None),
            ("cargo test --target /tmp/evil.json", Some("--target")),
            ("cargo test --target x86_64-unknown-linux-gnu", None),
            ("npm run build --workspace=/tmp/evil", Some("--workspace")),
            ("npm run build --workspace=web", None),
            ("mypy --install-types", Some("--install-types")),
            ("just -c ./x", Some("-c")),
            ("pytest -p no:cacheprovider", None),
            ("pytest -c ci/pytest.ini", None),
            ("pytest -c /tmp/pytest.ini", Some("-c")),
            ("eslint src", None),
            ("eslint -c eslint.ci.js src", None),
            ("eslint -c ~/x.js src", Some("-c")),
            ("eslint -c", None),
            ("rollup -c", None),
            ("eslint -c -- x", Some("-c")),
            ("rspec -r./x", Some("-r")),
            ("jest -c jest.ci.js", None),
            ("make -f -", Some("-f")),
            ("make -Bf-", Some("-f")),
            ("make -Bf - all", Some("-f")),
            ("make -BC/tmp/x", Some("-C")),
            ("make -BC sub -f a.mk", None),
            ("npm --prefix /proj/web test", None),
            ("npm --prefix /proj/../x test", Some("--prefix")),
            ("npm --prefix=/works/web test", Some("--prefix")),
            ("make -C /proj/sub test", None),
            ("npm run x -script-shell ./x", Some("--script-shell")),
            ("npm run x ---script-sh=./x", Some("--script-shell")),
            ("npm run x -- -script-shell=./x", None),
            ("npm run x --prefer-offline -s -g", None),
            ("docker compose -f - up", Some("-f")),
            ("docker compose --file=- up", Some("--file")),
            ("docker compose -f <(echo x) up", Some("-f")),
            ("docker compose logs -f", None),
            ("docker compose -f a.yml up", None),
            ("npm --script-sh$X test", Some("--script-shell")),
            ("npm --script-shell\"$X\" test", Some("--script-shell")),
            ("npm --workspaces$X test", None),
            ("echo --config", None),
            ("cmake --build b -- -f /tmp/x", Some("-f")),
            ("cmake --build b -- -j4 all", None),
            ("npx -y jest@29 --globalSetup=/tmp/x", Some("--globalSetup")),
            ("npx jest src", None),
            ("pnpm exec jest --globalSetup=/tmp/x", Some("--globalSetup")),
            ("pnpm dlx jest@29 --globalSetup=/tmp/x", Some("--globalSetup")),
            ("npm exec -- jest --globalSetup=/tmp/x", Some("--globalSetup")),
            ("yarn dlx jest --globalSetup=/tmp/x", Some("--globalSetup")),
            ("yarn jest --globalSetup=/tmp/x", Some("--globalSetup")),
            ("pnpm exec jest src", None),
            ("yarn run test", None),
            ("jest --config='{\"globalSetup\":\"/tmp/x\"}'", Some("--config")),
            ("dotnet build /Property:PreBuildEvent=x", Some("-p")),
            ("dotnet build -p:Configuration=Release", None),
            ("dotnet build -p:Configuration=Release\\;PreBuildEvent=x", Some("-p")),
            ("dotnet build -logger:x.dll", Some("--logger")),
        ] {
            let analysis = shell::analyse(line, &context, Limits::default());
            assert_eq!(
                option(&analysis.commands[0], &|place| place.starts_with("/proj/")),
                found,
                "{line}"
            );
        }
    }
}
