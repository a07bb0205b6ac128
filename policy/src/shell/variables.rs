//! Variables that change what runs, and a few that do not.
//!
//! Everything between the two lists is neither: an allow rule for a command does not cover it with such an assignment,
//! a deny rule does.

/// Why a variable is dangerous is told by its group; each group is one way to make a known program run something else.
const DANGEROUS: &[&str] = &[
    // Which program a name means, and how words are split.
    "PATH",
    "CDPATH",
    "IFS",
    "GLOBIGNORE",
    // What is assigned is evaluated, and can hold a command.
    "RANDOM",
    "SRANDOM",
    "OPTIND",
    "LINENO",
    "HISTCMD",
    // What shells run by themselves.
    "BASH_ENV",
    "ENV",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "PROMPT_COMMAND",
    "SHELLOPTS",
    "BASHOPTS",
    "SHELL",
    "ZDOTDIR",
    "FPATH",
    "BASH_LOADABLES_PATH",
    "HISTFILE",
    "INPUTRC",
    // Helpers that programs start.
    "PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "LESSEDIT",
    "LESS",
    "LESSKEY",
    "TERMINFO",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "DISPLAY_ASKPASS",
    "RSYNC_RSH",
    "CVS_RSH",
    "TAR_OPTIONS",
    "GZIP",
    "MAKEFLAGS",
    "MAKEFILES",
    "MAKE",
    "RIPGREP_CONFIG_PATH",
    "FZF_DEFAULT_COMMAND",
    "FZF_DEFAULT_OPTS",
    "GREP_OPTIONS",
    "CURL_HOME",
    "WGETRC",
    "WGET_ASKPASS",
    "HOME",
    "XDG_CONFIG_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_DATA_DIRS",
    "MANOPT",
    "MANPATH",
    // What interpreters load.
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONBREAKPOINT",
    "PYTHONUSERBASE",
    "PYTHONWARNINGS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_REPL_EXTERNAL_MODULE",
    "PERL5OPT",
    "PERL5LIB",
    "PERLLIB",
    "PERL5DB",
    "RUBYOPT",
    "RUBYLIB",
    "GEM_HOME",
    "GEM_PATH",
    "LUA_INIT",
    "LUA_PATH",
    "LUA_CPATH",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "CLASSPATH",
    "JAVA_OPTS",
    "MAVEN_OPTS",
    "GRADLE_OPTS",
    "DOTNET_STARTUP_HOOKS",
    "CORECLR_PROFILER",
    "GOFLAGS",
    "GOPROXY",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTFLAGS",
    "RUSTDOC",
    "RUSTDOCFLAGS",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "CC",
    "CXX",
    "LD",
    "AR",
    "AS",
    "GCONV_PATH",
    "LOCPATH",
    "NLSPATH",
    "HOSTALIASES",
    "RESOLV_HOST_CONF",
    "MALLOC_CONF",
    "OPENSSL_CONF",
    "OPENSSL_MODULES",
    "OPENSSL_ENGINES",
    "BUN_OPTIONS",
    "DENO_DIR",
    "ELECTRON_RUN_AS_NODE",
    "DOCKER_HOST",
    "KUBECONFIG",
];

/// Beginnings of dangerous names.
const DANGEROUS_PREFIXES: &[(&str, &str)] = &[
    ("LD_", "the dynamic linker loads what they name"),
    ("DYLD_", "the same on macOS"),
    ("GIT_", "git runs many of them; those that run nothing are listed below"),
    ("BASH_FUNC_", "a function that bash imports"),
    ("npm_config_", "options of npm, script-shell among them"),
    ("NPM_CONFIG_", "the same"),
    ("CARGO_TARGET_", "linker and runner of a target"),
    ("CARGO_BUILD_", "rustc and its wrapper"),
    ("CARGO_ALIAS_", "what a subcommand means"),
    ("PORTCULLIS_", "our own configuration"),
];

/// Variables of git that neither run anything nor move the repository.
const HARMLESS_GIT: &[&str] = &[
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
    "GIT_TERMINAL_PROMPT",
    "GIT_OPTIONAL_LOCKS",
    "GIT_MERGE_VERBOSITY",
    "GIT_FLUSH",
];

/// Variables of git that only make it talk; a value that is a path makes it write, so they are neither.
const TALKING_GIT: &[&str] = &[
    "GIT_TRACE",
    "GIT_CURL_VERBOSE",
    "GIT_TRACE_PACKET",
    "GIT_TRACE_PERFORMANCE",
    "GIT_TRACE_SETUP",
];

/// Known variables that change how a program talks, not what it does.
const HARMLESS: &[&str] = &[
    "NODE_ENV",
    "LANG",
    "LANGUAGE",
    "CI",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TZ",
    "DEBUG",
    "VERBOSE",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONIOENCODING",
    "PYTHONUTF8",
    "CARGO_TERM_COLOR",
    "DEBIAN_FRONTEND",
    "TERM",
];

/// Whether setting it changes which program runs, or what a program loads or runs.
pub(super) fn is_dangerous(name: &str) -> bool {
    DANGEROUS.contains(&name)
        || (DANGEROUS_PREFIXES.iter().any(|(prefix, _)| name.starts_with(prefix))
            && !HARMLESS_GIT.contains(&name)
            && !TALKING_GIT.contains(&name))
}

/// Whether an allow for a command also holds with this variable set.
pub(super) fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name) || HARMLESS_GIT.contains(&name) || name.starts_with("LC_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_variable_is_both() {
        for name in HARMLESS.iter().chain(HARMLESS_GIT) {
            assert!(!is_dangerous(name), "{name}");
        }
    }

    #[test]
    fn what_git_runs_is_dangerous_and_what_it_prints_is_not() {
        for name in [
            "GIT_SSH",
            "GIT_SSH_COMMAND",
            "GIT_CONFIG_KEY_0",
            "GIT_EXTERNAL_DIFF",
            "GIT_DIR",
            "GIT_ASKPASS",
        ] {
            assert!(is_dangerous(name), "{name}");
        }
        assert!(!is_dangerous("GIT_AUTHOR_NAME") && !is_dangerous("GIT_TRACE") && !is_harmless("GIT_TRACE"));
        assert!(is_harmless("LC_ALL") && !is_harmless("AWS_PROFILE") && !is_dangerous("AWS_PROFILE"));
    }
}
