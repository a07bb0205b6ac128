//! Variables that change what runs, and those that do not: the data file `policy/data/variables.toml`.
//!
//! Everything between the two is neither: an allow rule for a command does not cover it with such an assignment, a deny
//! rule does.

use std::sync::LazyLock;

use serde::Deserialize;

use super::data::{self, ByName};

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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    names: String,
    effect: Effect,
    /// Values with which it is harmless, whatever it is else; `''` is the empty one, `#` at the end any number.
    #[serde(default)]
    harmless_as: String,
    /// For people only.
    #[cfg_attr(not(test), expect(dead_code, reason = "a remark for readers of the file"))]
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raws {
    variable: Vec<Raw>,
}

const FILE: &str = include_str!("../../data/variables.toml");

struct Table {
    exact: ByName<Effect>,
    /// Beginnings, without their `*`.
    beginnings: ByName<Effect>,
    /// Endings, without their `*`.
    endings: Vec<(&'static str, Effect)>,
    /// Names with the values that make them harmless.
    tame: ByName<&'static [&'static str]>,
    /// The longest beginning, in bytes.
    longest: usize,
}

static VARIABLES: LazyLock<Table> = LazyLock::new(|| {
    let raws: Raws = data::read("variables.toml", FILE);
    let (mut exact, mut beginnings, mut tame) = (Vec::new(), Vec::new(), Vec::new());
    let mut endings = Vec::new();
    for raw in raws.variable {
        let values = data::words(&raw.harmless_as);
        if !values.is_empty() {
            let values: &'static &'static [&'static str] = data::keep(values);
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
    }
});

fn effect(name: &str) -> Effect {
    let table = &*VARIABLES;
    if let Some(effect) = table.exact.find(name) {
        return *effect;
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
        .unwrap_or(Effect::Neither)
}

/// Whether setting it changes which program runs, or what a program loads or runs.
pub(super) fn is_dangerous(name: &str) -> bool {
    effect(name) == Effect::Dangerous
}

/// Whether an allow for a command also holds with this variable set.
pub(super) fn is_harmless(name: &str) -> bool {
    effect(name) == Effect::Harmless
}

/// Whether an allow for a command also holds with this variable set to this value: `GIT_EDITOR=true`.
pub(super) fn is_harmless_as(name: &str, value: Option<&str>) -> bool {
    value.is_some_and(|value| {
        let is_number = |rest: &str| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit());
        let is_value = |known: &&str| match known.strip_suffix('#') {
            Some(beginning) => value.strip_prefix(beginning).is_some_and(is_number),
            None => *known == value || (*known == "''" && value.is_empty()),
        };
        is_harmless(name)
            || VARIABLES
                .tame
                .find(name)
                .is_some_and(|values| values.iter().any(is_value))
    })
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
            assert!(is_harmless_as(name, Some(value)), "{name}={value}");
            assert!(!is_harmless_as("FOO", Some(value)) && !is_harmless_as("GIT_SSH", Some(value)));
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
            assert!(!is_harmless_as(name, value), "{name}={value:?}");
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
