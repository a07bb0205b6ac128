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
    /// The longest beginning, in bytes.
    longest: usize,
}

static VARIABLES: LazyLock<Table> = LazyLock::new(|| {
    let raws: Raws = data::read("variables.toml", FILE);
    let (mut exact, mut beginnings) = (Vec::new(), Vec::new());
    for raw in raws.variable {
        let effect = data::keep(raw.effect);
        for name in data::words(&raw.names) {
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
        .find_map(|beginning| table.beginnings.find(beginning))
        .map_or(Effect::Neither, |effect| *effect)
}

/// Whether setting it changes which program runs, or what a program loads or runs.
pub(super) fn is_dangerous(name: &str) -> bool {
    effect(name) == Effect::Dangerous
}

/// Whether an allow for a command also holds with this variable set.
pub(super) fn is_harmless(name: &str) -> bool {
    effect(name) == Effect::Harmless
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
                assert!(!name.trim_end_matches('*').contains('*'), "{name}: `*` only at the end");
            }
        }
    }

    #[test]
    fn a_longer_beginning_and_an_exact_name_go_first() {
        assert!(is_dangerous("GIT_SOMETHING") && !is_dangerous("GIT_TRACE_CURL") && !is_harmless("GIT_TRACE_CURL"));
        assert!(is_harmless("GIT_AUTHOR_NAME") && is_dangerous("GIT_AUTHOR_NAMES"));
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
            "MIX_ENV",
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
