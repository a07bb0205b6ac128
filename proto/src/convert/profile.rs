//! The sandbox profile that an allowed command gets.
//!
//! Pure data: it does not look whether the paths exist, and it enforces nothing.

use std::time::Duration;

use portcullis_policy::{protected::sandbox_read_only_patterns, request::Workspace};

use super::time::duration_of;
use crate::v1;

/// Variables that are passed into the sandbox, with who needs them. All others stay outside: tokens of clouds and forges
/// are handed around in variables, and `LD_*`, `NODE_OPTIONS`, `PYTHONPATH`, `GIT_*`, `RUSTFLAGS`, `RUSTC_WRAPPER` and the
/// like make a known program run another.
const ENVIRONMENT: &[&str] = &[
    // Everything: where programs are.
    "PATH",
    // Everything: configuration and caches; what is secret there is masked, not hidden by an unset variable.
    "HOME",
    // git (author), shells, ssh: who runs it.
    "USER",
    "LOGNAME",
    // tmux, make, editors: the person's shell.
    "SHELL",
    // Anything that draws on a terminal.
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "COLUMNS",
    "LINES",
    // Character set, messages, sorting. A trailing `*` covers LC_ALL, LC_CTYPE, …
    "LANG",
    "LANGUAGE",
    "LC_*",
    // Dates.
    "TZ",
    // Shells: the logical working directory; the host sets it anew.
    "PWD",
    // Test runners and build tools: no prompts, no progress bars.
    "CI",
    // cargo and rustup: where toolchains are and which is meant. No other CARGO_*: CARGO_REGISTRY_TOKEN is a secret, and
    // CARGO_BUILD_RUSTC_WRAPPER runs a program.
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "CARGO_TERM_COLOR",
    "RUST_BACKTRACE",
    "RUST_LOG",
    // node programs: which kind of build. No NODE_*: NODE_OPTIONS and NODE_PATH load code, NODE_AUTH_TOKEN is a secret.
    "NODE_ENV",
    // Reproducible builds.
    "SOURCE_DATE_EPOCH",
    // Go: where modules and its toolchain are. No GOFLAGS: `-toolexec` runs a program.
    "GOPATH",
    "GOROOT",
    "GOMODCACHE",
    // Java: which one.
    "JAVA_HOME",
    // Python: which virtual environment is active; its programs are found through PATH.
    "VIRTUAL_ENV",
    // Programs that find their folders by the desktop's standard.
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

/// The profile for a workspace: read and write in its folders, protected paths read-only, secrets masked, no network.
#[must_use]
pub fn default_profile(
    workspace: &Workspace,
    masked_paths: &[String],
    timeout: Option<Duration>,
) -> v1::SandboxProfile {
    v1::SandboxProfile {
        workspace: v1::WorkspaceAccess::ReadWrite.into(),
        roots: workspace.roots().map(ToString::to_string).collect(),
        read_write_paths: Vec::new(),
        read_only_patterns: sandbox_read_only_patterns().iter().map(ToString::to_string).collect(),
        masked_paths: masked_paths.to_vec(),
        network: v1::NetworkAccess::None.into(),
        environment: ENVIRONMENT.iter().map(ToString::to_string).collect(),
        timeout: timeout.map(duration_of),
        accept_partial: false,
        network_rules: None,
    }
}

#[cfg(test)]
mod tests {
    use portcullis_policy::AbsPath;

    use super::*;

    fn passes(variable: &str) -> bool {
        ENVIRONMENT.iter().any(|entry| match entry.strip_suffix('*') {
            Some(beginning) => variable.starts_with(beginning),
            None => *entry == variable,
        })
    }

    #[test]
    fn no_variable_that_loads_code_or_holds_a_secret_is_passed_on() {
        for variable in [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "BASH_ENV",
            "ENV",
            "NODE_OPTIONS",
            "NODE_AUTH_TOKEN",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "PERL5OPT",
            "RUBYOPT",
            "RUSTC_WRAPPER",
            "CARGO_REGISTRY_TOKEN",
            "CARGO_BUILD_RUSTC_WRAPPER",
            "GIT_SSH_COMMAND",
            "GOFLAGS",
            "JAVA_TOOL_OPTIONS",
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "SSH_AUTH_SOCK",
            "DBUS_SESSION_BUS_ADDRESS",
            "XDG_RUNTIME_DIR",
            "DOCKER_HOST",
            "http_proxy",
        ] {
            assert!(!passes(variable), "{variable}");
        }
        for variable in ["PATH", "HOME", "LC_ALL", "CARGO_HOME"] {
            assert!(passes(variable), "{variable}");
        }
    }

    #[test]
    fn the_profile_covers_all_folders_and_opens_nothing_else() {
        let path = |text: &str| AbsPath::parse(text).unwrap();
        let workspace = Workspace {
            root: path("/w"),
            additional_roots: vec![path("/x")],
            cwd: path("/w/a"),
            home: None,
        };
        let profile = default_profile(&workspace, &["/d/tokens".into()], Some(Duration::from_secs(5)));
        assert_eq!(profile.roots, ["/w", "/x"]);
        assert_eq!(profile.masked_paths, ["/d/tokens"]);
        assert!(profile.read_write_paths.is_empty() && !profile.accept_partial);
        assert_eq!(profile.network(), v1::NetworkAccess::None);
        assert_eq!(profile.workspace(), v1::WorkspaceAccess::ReadWrite);
        assert_eq!(profile.timeout.unwrap().seconds, 5);
        for pattern in [".portcullis", ".git/hooks", ".git/config"] {
            assert!(profile.read_only_patterns.iter().any(|p| p == pattern), "{pattern}");
        }
    }
}
