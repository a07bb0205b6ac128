//! Variables that change what runs, and those that do not: the data file `policy/data/variables.toml`.
//!
//! Everything between the two is neither: an allow rule for a command does not cover it with such an assignment, a deny
//! rule does.

mod switches;

use std::sync::LazyLock;

use serde::Deserialize;

use switches::{Switches, only_switches};

use super::{
    Access, Word,
    class::base_name,
    data::{self, ByName},
};

/// What setting a variable does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Effect {
    /// Another program runs, or loads or runs something else.
    Dangerous,
    /// Only how a program talks changes.
    Harmless,
    /// Neither of the two.
    Neither,
}

/// What a program does with a folder that a variable names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Use {
    /// It looks for code there.
    Read,
    /// It puts there what it makes.
    Written,
    /// It loads what has that name, which is no folder: `app.settings`.
    Module,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    names: String,
    effect: Effect,
    /// Values with which it is harmless, whatever it is else; `''` is the empty one, `#` at the end any number.
    #[serde(default)]
    harmless_as: String,
    /// Words that a value may consist of and be harmless; `+` joins two that belong together.
    #[serde(default)]
    harmless_words: String,
    /// Letters that part these words, beside blanks.
    #[serde(default)]
    parted: String,
    /// Programs that run the project's own code anyway: for them a folder below the working directory is harmless.
    #[serde(default)]
    below_for: String,
    /// What these programs do with the folders.
    folder: Option<Use>,
    /// Subcommands of them that remove the folder.
    #[serde(default)]
    removed_by: String,
    /// For people only.
    #[cfg_attr(not(test), expect(dead_code, reason = "a remark for readers of the file"))]
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raws {
    variable: Vec<Raw>,
    switches: RawSwitches,
}

/// How names and values of variables that only switch something look.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSwitches {
    values: String,
    about: String,
    not: String,
    worded: String,
    weighty: String,
    local: String,
    off: String,
    held: String,
    data: String,
    #[expect(dead_code, reason = "a remark for readers of the file")]
    why: String,
}

const FILE: &str = include_str!("../../data/variables.toml");

/// Values with which a variable is harmless.
struct Tame {
    whole: &'static [&'static str],
    words: &'static [&'static str],
    parted: &'static str,
    below_for: &'static [&'static str],
    folder: Option<Use>,
    removed_by: &'static [&'static str],
}

struct Table {
    exact: ByName<Effect>,
    /// Beginnings, without their `*`.
    beginnings: ByName<Effect>,
    /// Endings, without their `*`.
    endings: Vec<(&'static str, Effect)>,
    /// Names with the values that make them harmless.
    tame: ByName<Tame>,
    /// The longest beginning, in bytes.
    longest: usize,
    switches: Switches,
}

static VARIABLES: LazyLock<Table> = LazyLock::new(|| {
    let raws: Raws = data::read("variables.toml", FILE);
    let (mut exact, mut beginnings, mut tame) = (Vec::new(), Vec::new(), Vec::new());
    let mut endings = Vec::new();
    for raw in raws.variable {
        let values: &'static Tame = data::keep(Tame {
            whole: data::words(&raw.harmless_as),
            words: data::words(&raw.harmless_words),
            parted: data::keep_text(&raw.parted),
            below_for: data::words(&raw.below_for),
            folder: raw.folder,
            removed_by: data::words(&raw.removed_by),
        });
        if !(values.whole.is_empty() && values.words.is_empty() && values.below_for.is_empty()) {
            tame.extend(data::words(&raw.names).iter().map(|name| (*name, values)));
        }
        let effect = data::keep(raw.effect);
        for name in data::words(&raw.names) {
            if let Some(ending) = name.strip_prefix('*') {
                endings.push((ending, raw.effect));
                continue;
            }
            match name.strip_suffix('*') {
                Some(beginning) => beginnings.push((beginning, effect)),
                None => exact.push((*name, effect)),
            }
        }
    }
    let longest = beginnings.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    Table {
        exact: ByName::new(exact),
        beginnings: ByName::new(beginnings),
        endings,
        tame: ByName::new(tame),
        longest,
        switches: Switches {
            values: data::words(&raws.switches.values),
            about: data::words(&raws.switches.about),
            not: data::words(&raws.switches.not),
            worded: data::words(&raws.switches.worded),
            weighty: data::words(&raws.switches.weighty),
            local: data::words(&raws.switches.local),
            off: data::words(&raws.switches.off),
            held: data::words(&raws.switches.held),
            data: data::words(&raws.switches.data),
        },
    }
});

fn effect(name: &str) -> Effect {
    listed(name).unwrap_or(Effect::Neither)
}

/// What the entries say of a name; `None` if there is none for it.
fn listed(name: &str) -> Option<Effect> {
    let table = &*VARIABLES;
    if let Some(effect) = table.exact.find(name) {
        return Some(*effect);
    }
    // The longest beginning counts.
    let lengths = (1..=name.len().min(table.longest)).rev();
    lengths
        .filter_map(|length| name.get(..length))
        .find_map(|beginning| table.beginnings.find(beginning).copied())
        .or_else(|| {
            let mut endings = table.endings.iter();
            endings
                .find(|(ending, _)| name.ends_with(ending))
                .map(|(_, effect)| *effect)
        })
}

/// Whether setting it changes which program runs, or what a program loads or runs.
pub(super) fn is_dangerous(name: &str) -> bool {
    effect(name) == Effect::Dangerous
}

/// Whether an allow for a command also holds with this variable set.
pub(super) fn is_harmless(name: &str) -> bool {
    effect(name) == Effect::Harmless
}

/// Whether a variable with this value only switches something in the programs that get it.
pub(super) fn is_switch(name: &str, value: &str) -> bool {
    only_switches(name, value)
}

/// A variable that is set for one command.
pub(super) struct Setting<'a> {
    pub(super) name: &'a str,
    /// Its value, if it is certain.
    pub(super) value: Option<&'a str>,
    /// The words of the command, at least the first three; none where its name may mean something else, such as a function.
    pub(super) words: &'a [Word],
    /// Whether the command only says something about itself, or removes what it made: [`runs_nothing`].
    pub(super) runs_nothing: bool,
    /// Whether the value names folders below the working directory and nothing else.
    pub(super) below: bool,
}

/// Whether an allow for a command also holds with this variable set to this value: `GIT_EDITOR=true`.
pub(super) fn is_harmless_as(setting: &Setting<'_>) -> bool {
    let tame = VARIABLES.tame.find(setting.name);
    if setting.below && tame.is_some_and(|tame| is_lent(tame, setting.words, setting.runs_nothing)) {
        return true;
    }
    let Some(value) = setting.value else {
        return false;
    };
    is_harmless(setting.name)
        || only_switches(setting.name, value)
        || tame.is_some_and(|tame| tame.whole.iter().any(|form| is_of_form(form, value)) || consists_of(tame, value))
}

fn is_lent(tame: &Tame, words: &[Word], runs_nothing: bool) -> bool {
    let own = || words.first().and_then(Word::literal).is_some_and(is_python) && runner_behind(words).is_none();
    (!runs_nothing || own()) && runs_project_code(tame.below_for, words)
}

/// What the folders of a variable are for the program that gets it; `None` if they are nothing to it, or the value names none.
pub(super) fn folder_access(name: &str, value: Option<&str>, words: &[Word]) -> Option<Access> {
    let tame = VARIABLES.tame.find(name)?;
    let program = words.first()?.literal().map(base_name)?;
    let known = tame.below_for.contains(&program);
    let free = value.is_some_and(|value| tame.whole.iter().any(|form| is_of_form(form, value)));
    let uses = tame.folder.filter(|_| known && !free)?;
    // A word that is not certain may be any subcommand.
    let removes = |word: &Word| word.literal().is_none_or(|word| tame.removed_by.contains(&word));
    let mut verbs = words.iter().skip(1).take(MOST_VERB_WORDS);
    match uses {
        Use::Read => Some(Access::Read),
        Use::Written if !tame.removed_by.is_empty() && verbs.any(removes) => Some(Access::DeleteTree),
        Use::Written => Some(Access::Write),
        Use::Module => None,
    }
}

/// Whether a variable can lend folders of the project to a program.
pub(super) fn lends(name: &str) -> bool {
    VARIABLES.tame.find(name).is_some_and(|tame| tame.folder.is_some())
}

/// Whether a variable names folders in which the program looks for code, or code that it loads.
pub(super) fn is_search_path(name: &str) -> bool {
    let tame = VARIABLES.tame.find(name);
    tame.is_some_and(|tame| matches!(tame.folder, Some(Use::Read | Use::Module)))
}

/// Most words in which a subcommand that removes is looked for; behind them any counts as one.
const MOST_VERB_WORDS: usize = 64;

/// Whether a command only says something about itself, or removes what was made: it runs no code of the project.
pub(super) fn runs_nothing<'w>(words: impl IntoIterator<Item = &'w Word>) -> bool {
    let mut own = words.into_iter().skip(1).map_while(|word| match word.literal() {
        Some("--") => None,
        text => Some(text.unwrap_or_default()),
    });
    own.any(|text| {
        matches!(
            text,
            "--version" | "--help" | "-V" | "-h" | "version" | "help" | "clean"
        )
    })
}

fn is_python(program: &str) -> bool {
    matches!(base_name(program), "python" | "python3")
}

/// The module that python is told to run, where that is a program of [`RUNNERS`].
fn runner_behind(words: &[Word]) -> Option<&str> {
    let module = words.get(2)?.literal()?;
    (words.get(1)?.literal() == Some("-m") && RUNNERS.contains(&module)).then_some(module)
}

/// Modules that run tests of the project whatever their words.
const RUNNERS: &[&str] = &["pytest", "tox", "unittest"];

/// The script or module of the project that a command with a search path of its own runs, as a rule has to leave it free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Chosen<'a> {
    /// Tests, or a build: whatever the project has.
    Any,
    /// A module.
    Module(&'a str),
    /// A script.
    Script(&'a str),
}

pub(super) fn chosen(words: &[Word]) -> Chosen<'_> {
    let python = words.first().and_then(Word::literal).is_some_and(is_python);
    if !python || runner_behind(words).is_some() {
        return Chosen::Any;
    }
    match (
        words.get(1).and_then(Word::literal),
        words.get(2).and_then(Word::literal),
    ) {
        (Some("-m"), module) => Chosen::Module(module.unwrap_or_default()),
        (script, _) => Chosen::Script(script.unwrap_or_default()),
    }
}

/// Whether a text is what a form of the table stands for.
pub(super) fn is_of_form(form: &str, text: &str) -> bool {
    if let Some(beginning) = form.strip_suffix('#') {
        let is_number = |rest: &str| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit());
        return text.strip_prefix(beginning).is_some_and(is_number);
    }
    if let Some(beginning) = form.strip_suffix('%') {
        let is_name = |rest: &str| {
            rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
                && rest
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '+'))
        };
        return text.strip_prefix(beginning).is_some_and(is_name);
    }
    form == text || (form == "''" && text.is_empty())
}

/// Whether a value is nothing but words of these forms.
fn consists_of(tame: &Tame, value: &str) -> bool {
    let forms = tame.words;
    let parts = |c: char| c == ' ' || tame.parted.contains(c);
    let words: Vec<&str> = value.split(parts).filter(|word| !word.is_empty()).collect();
    let mut rest = words.as_slice();
    while let Some((first, behind)) = rest.split_first() {
        let two = behind.first().is_some_and(|second| {
            let mut pairs = forms.iter().filter_map(|form| form.split_once('+'));
            pairs.any(|(one, two)| is_of_form(one, first) && is_of_form(two, second))
        });
        if two {
            rest = behind.get(1..).unwrap_or_default();
        } else if forms.iter().any(|form| !form.contains('+') && is_of_form(form, first)) {
            rest = behind;
        } else {
            return false;
        }
    }
    !words.is_empty()
}

/// Whether a command runs code of the project whatever a variable says: one of these programs; of an interpreter a module, or
/// a script below the working directory.
fn runs_project_code(programs: &[&str], words: &[Word]) -> bool {
    let Some((program, rest)) = words.split_first() else {
        return false;
    };
    let Some(name) = program.literal().map(base_name).filter(|name| programs.contains(name)) else {
        return false;
    };
    if !matches!(name, "python" | "python3") {
        return true;
    }
    match rest.first().and_then(Word::literal) {
        Some("-m") => rest.get(1).is_some_and(|module| module.literal().is_some()),
        Some(script) => is_below(script),
        None => false,
    }
}

/// Whether a path lies below the working directory by its words alone, and hides nowhere: no `..`, no name with a dot in front.
pub(super) fn is_below(path: &str) -> bool {
    let path = path.strip_prefix("./").unwrap_or(path);
    let segments = path.strip_suffix('/').unwrap_or(path).split('/');
    let plain = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
    };
    path == "." || segments.into_iter().all(plain)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_name_stands_once_and_each_entry_says_why() {
        let raws: Raws = data::read("variables.toml", FILE);
        let mut seen = HashSet::new();
        for raw in &raws.variable {
            assert!(
                raw.why.split(' ').count() >= 5,
                "{}: `{}` says too little",
                raw.names,
                raw.why
            );
            for name in raw.names.split_whitespace() {
                assert!(seen.insert(name), "{name} twice");
                let bare = name
                    .strip_prefix('*')
                    .or_else(|| name.strip_suffix('*'))
                    .unwrap_or(name);
                assert!(!bare.contains('*'), "{name}: `*` only at the end or the beginning");
            }
        }
    }

    #[test]
    fn a_longer_beginning_and_an_exact_name_go_first() {
        assert!(is_dangerous("GIT_SOMETHING") && !is_dangerous("GIT_TRACE_CURL") && !is_harmless("GIT_TRACE_CURL"));
        assert!(is_harmless("GIT_AUTHOR_NAME") && is_dangerous("GIT_AUTHOR_NAMES"));
    }

    fn harmless(name: &str, value: Option<&str>, line: &str, below: bool) -> bool {
        let words: Vec<Word> = line
            .split_whitespace()
            .map(|word| Word::Literal(word.to_owned()))
            .collect();
        is_harmless_as(&Setting {
            name,
            value,
            words: &words,
            runs_nothing: runs_nothing(&words),
            below,
        })
    }

    #[test]
    fn words_of_a_value_are_each_of_the_table() {
        for (name, value) in [
            ("RUSTFLAGS", "-D warnings"),
            ("RUSTFLAGS", "-Dwarnings -C target-cpu=native"),
            ("RUSTDOCFLAGS", "-D rustdoc::broken_intra_doc_links"),
            ("CFLAGS", "-O2  -g"),
            ("GOFLAGS", "-mod=mod -count=1"),
            ("JAVA_TOOL_OPTIONS", "-Xmx2g"),
            ("PYTEST_ADDOPTS", "-q --tb=short"),
            ("MAKEFLAGS", "-j8"),
        ] {
            assert!(harmless(name, Some(value), "x", false), "{name}={value}");
        }
        for (name, value) in [
            ("RUSTFLAGS", "-C linker=./x"),
            ("RUSTFLAGS", "-Clinker=./x"),
            ("RUSTFLAGS", "-D warnings -L x"),
            ("RUSTFLAGS", "-D @args"),
            ("RUSTFLAGS", "-D -L"),
            ("RUSTFLAGS", ""),
            ("CFLAGS", "-O2 x.c"),
            ("CFLAGS", "-Wl,-plugin,x.so"),
            ("CFLAGS", "-fplugin=./x.so"),
            ("CFLAGS", "$(shell id)"),
            ("CFLAGS", "-O2\t-B."),
            ("GOFLAGS", "-toolexec=./x"),
            ("GOFLAGS", "-mod=mod -exec=./x"),
            ("GOFLAGS", "-overlay=x"),
            ("JAVA_TOOL_OPTIONS", "-javaagent:x.jar"),
            ("JAVA_TOOL_OPTIONS", "-Xmx2g -XX:OnOutOfMemoryError=x"),
            ("PYTEST_ADDOPTS", "-p evil"),
            ("MAKEFLAGS", "-j8 -f x"),
            ("MAKEFLAGS", "-j8 SHELL=./x"),
            ("CC", "-O2"),
        ] {
            assert!(!harmless(name, Some(value), "make", true), "{name}={value}");
        }
    }

    #[test]
    fn folders_of_the_project_are_for_programs_that_run_its_code_anyway() {
        for (name, line) in [
            ("PYTHONPATH", "pytest -q"),
            ("PYTHONPATH", "python -m app"),
            ("PYTHONPATH", "python3 scripts/x.py"),
            ("PYTHONPATH", "python3 scripts/x.py --help"),
            ("CARGO_TARGET_DIR", "cargo build"),
            ("TMPDIR", "cargo test"),
        ] {
            assert!(harmless(name, Some("src"), line, true), "{name} {line}");
            assert!(!harmless(name, Some("src"), line, false), "{name} {line}");
        }
        for (name, line) in [
            ("PYTHONPATH", "aws s3 ls"),
            ("PYTHONPATH", "python /usr/bin/aws"),
            ("PYTHONPATH", "python ../x.py"),
            ("PYTHONPATH", "python -c 1"),
            ("PYTHONPATH", "python"),
            ("PYTHONPATH", "pytest --version"),
            ("PYTHONPATH", "python -m pytest -q --help"),
            ("PYTHONPATH", "tox --version"),
            ("CARGO_TARGET_DIR", "cargo clean"),
            ("TMPDIR", "make clean"),
            ("PYTHONPATH", ""),
            ("PYTHONSTARTUP", "pytest"),
            ("LD_LIBRARY_PATH", "pytest"),
            ("NODE_PATH", "npm test"),
            ("GIT_DIR", "git status"),
            ("KUBECONFIG", "kubectl get pods"),
            ("CARGO_HOME", "cargo build"),
        ] {
            assert!(!harmless(name, Some("src"), line, true), "{name} {line}");
        }
    }

    #[test]
    fn what_lies_below_is_told_by_the_words() {
        for path in ["src", "./src", "target/x", "src/", ".", "a-b/c_d.e"] {
            assert!(is_below(path), "{path}");
        }
        for path in [
            "",
            "/src",
            "../src",
            "src/../..",
            "~/x",
            ".git/hooks",
            "a//b",
            "a b",
            "$X",
            "a/.git",
            "x:y",
            "-x",
        ] {
            assert!(!is_below(path), "{path}");
        }
    }

    #[test]
    fn what_only_switches_is_told_by_name_and_value() {
        for (name, value) in [
            ("TESTING", "1"),
            ("SQLX_OFFLINE", "true"),
            ("SPRING_PROFILES_ACTIVE", "test"),
            ("PARALLEL_WORKERS", "4"),
            ("VITE_API_URL", "http://localhost:3000/v1"),
            ("TF_VAR_region", "us-east-1"),
        ] {
            assert!(harmless(name, Some(value), "x", false), "{name}={value}");
        }
        for (name, value) in [
            ("FOO", "1"),
            ("FOO", "cat"),
            ("FOO", ""),
            ("FOO", "./x"),
            ("FOO", "a=b"),
            ("foo", "1"),
            ("MY_EDITOR", "1"),
            ("TOOL_PATH", "1"),
            ("XYZFLAGS", "1"),
            ("DRY_RUN", "0"),
            ("FORCE", "1"),
            ("APP_STAGE_ENV", "production"),
            ("DEPLOY_ENV", "test"),
            ("VITE_API_URL", "http://evil.example"),
            ("VITE_API_URL", "http://localhost@evil.example"),
            ("VITE_API_URL", "http://localhost:3000@evil.example/"),
            ("TF_VAR_x", "/etc/passwd"),
            ("GIT_SOMETHING", "1"),
            ("GIT_TRACE", "1"),
            ("LD_X", "1"),
        ] {
            assert!(!harmless(name, Some(value), "x", false), "{name}={value}");
        }
    }

    #[test]
    fn values_make_a_variable_harmless_only_as_a_whole() {
        for (name, value) in [
            ("PAGER", "cat"),
            ("GIT_PAGER", ""),
            ("GIT_EDITOR", "true"),
            ("GIT_SEQUENCE_EDITOR", ":"),
            ("NODE_OPTIONS", "--max-old-space-size=4096"),
            ("RAILS_ENV", "test"),
            ("LANG", "anything"),
        ] {
            assert!(harmless(name, Some(value), "x", false), "{name}={value}");
            assert!(!harmless("FOO_CMD", Some(value), "x", false) && !harmless("GIT_SSH", Some(value), "x", false));
        }
        for (name, value) in [
            ("PAGER", Some("cat x")),
            ("PAGER", Some("./cat")),
            ("PAGER", None),
            ("GIT_EDITOR", Some("")),
            ("GIT_EDITOR", Some("true;id")),
            ("NODE_OPTIONS", Some("--max-old-space-size=4096 --require=./x.js")),
            ("NODE_OPTIONS", Some("--max-old-space-size=")),
            ("NODE_OPTIONS", Some("")),
            ("RAILS_ENV", Some("production")),
            ("GIT_SSH", Some("cat")),
        ] {
            assert!(!harmless(name, value, "x", false), "{name}={value:?}");
        }
    }

    #[test]
    fn what_programs_run_is_dangerous_and_what_they_print_is_not() {
        for name in [
            "PATH",
            "LD_PRELOAD",
            "DYLD_INSERT_LIBRARIES",
            "BASH_ENV",
            "BASH_FUNC_ls%%",
            "IFS",
            "PS4",
            "PROMPT_COMMAND",
            "GIT_SSH",
            "GIT_SSH_COMMAND",
            "GIT_CONFIG_KEY_0",
            "GIT_EXTERNAL_DIFF",
            "GIT_DIR",
            "GIT_ASKPASS",
            "GIT_PAGER",
            "PAGER",
            "MANPAGER",
            "LESSOPEN",
            "EDITOR",
            "VISUAL",
            "BROWSER",
            "NODE_OPTIONS",
            "NODE_PATH",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "PERL5LIB",
            "PERL5OPT",
            "RUBYOPT",
            "JAVA_TOOL_OPTIONS",
            "CLASSPATH",
            "RUSTC_WRAPPER",
            "CC",
            "MAKEFLAGS",
            "npm_config_script_shell",
            "PORTCULLIS_SOCKET",
            "DOCKER_HOST",
            "SSH_SK_PROVIDER",
            "GOPACKAGESDRIVER",
            "CONTAINERS_CONF",
            "APT_CONFIG",
            "COMPlus_StartupHooks",
            "JAVACMD",
            "VIMRUNTIME",
            "GNUPGHOME",
            "RCLONE_PASSWORD_COMMAND",
            "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES",
            "ASAN_SYMBOLIZER_PATH",
            "MIX_HOME",
        ] {
            assert!(is_dangerous(name), "{name}");
        }
        for name in [
            "LC_ALL",
            "LANG",
            "NO_COLOR",
            "CI",
            "NODE_ENV",
            "RUST_BACKTRACE",
            "DEBUG",
            "TZ",
            "CARGO_TERM_COLOR",
            "LOG_LEVEL",
            "PORT",
            "RUST_LOG",
            "FORCE_COLOR",
            "UV_THREADPOOL_SIZE",
        ] {
            assert!(is_harmless(name) && !is_dangerous(name), "{name}");
        }
        for name in [
            "FOO",
            "AWS_PROFILE",
            "PGPASSWORD",
            "GIT_TRACE",
            "HOST",
            "CFLAGS",
            "P",
            "",
            "HTTPS_PROXY",
            "TMPDIR",
        ] {
            assert!(!is_harmless(name) && !is_dangerous(name), "{name}");
        }
    }
}
