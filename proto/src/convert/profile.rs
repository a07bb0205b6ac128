//! The sandbox profile that an allowed command gets.
//!
//! Pure data: it does not look whether the paths exist, and it enforces nothing.

use std::time::Duration;

use portcullis_policy::{
    AbsPath,
    network::HostRule,
    path::{DenialReading, DenialText},
    protected::sandbox_read_only_patterns,
    request::Workspace,
    sandbox::{EffectiveSandbox, PlacedPath, SandboxType},
};

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

/// What every profile limits. Generous: it is there for what runs away, not for what is large. Memory and processor time are
/// as much as there is, as no number fits both a laptop and a build machine.
const LIMITS: v1::SandboxLimits = v1::SandboxLimits {
    memory_bytes: 0,
    // Threads count. A parallel build takes hundreds, a test run of browsers thousands.
    processes: 16_384,
    // What watches large trees opens tens of thousands.
    open_files: 65_536,
    file_bytes: 0,
    cpu_percent: 0,
    // More than anybody reads, less than what fills an agent's disk.
    output_bytes: 64 * 1024 * 1024,
};

/// The profile for a workspace: what the documents say about the sandbox, protected paths read-only, secrets masked.
///
/// A document that wants no sandbox (`insecure_none`) gets the ordinary one: whoever runs a command in the sandbox runs it in
/// the sandbox.
#[must_use]
pub fn profile(
    workspace: &Workspace,
    sandbox: &EffectiveSandbox,
    masked_paths: &[String],
    timeout: Option<Duration>,
) -> v1::SandboxProfile {
    let paths = |list: &[PlacedPath]| -> Vec<String> {
        list.iter()
            .filter_map(|path| path.resolve(&workspace.root, workspace.home.as_ref()))
            .map(|path| path.to_string())
            .collect()
    };
    let filtered = !sandbox.network.reach_nothing();
    let hosts = |rules: &[HostRule]| rules.iter().map(ToString::to_string).collect();
    v1::SandboxProfile {
        workspace: match sandbox.kind {
            SandboxType::WorkspaceReadonly => v1::WorkspaceAccess::ReadOnly,
            SandboxType::WorkspaceReadwrite | SandboxType::InsecureNone => v1::WorkspaceAccess::ReadWrite,
        }
        .into(),
        roots: workspace.roots().map(ToString::to_string).collect(),
        read_write_paths: paths(&sandbox.read_write),
        read_only_patterns: sandbox_read_only_patterns().iter().map(ToString::to_string).collect(),
        masked_paths: masked_paths.to_vec(),
        network: if filtered {
            v1::NetworkAccess::Filtered
        } else {
            v1::NetworkAccess::None
        }
        .into(),
        environment: ENVIRONMENT.iter().map(ToString::to_string).collect(),
        timeout: timeout.map(duration_of),
        accept_partial: false,
        network_rules: filtered.then(|| v1::NetworkRules {
            default_allow: sandbox.network.default_allow,
            allow: hosts(&sandbox.network.allow),
            deny: hosts(&sandbox.network.deny),
        }),
        read_only_paths: paths(&sandbox.read_only),
        read_denials: read_denials(sandbox),
        temporary_folder: match (sandbox.disable_tmp_write, sandbox.share_tmp) {
            (true, _) => v1::TemporaryFolder::Closed,
            (false, true) => v1::TemporaryFolder::Shared,
            (false, false) => v1::TemporaryFolder::Private,
        }
        .into(),
        shared_build_cache: sandbox.shared_build_cache,
        refuse_root: !sandbox.allow_root_owner,
        accept_without_landlock: sandbox.accept_without_landlock,
        accept_without_namespaces: sandbox.accept_without_namespaces,
        unix_sockets: paths(&sandbox.unix_sockets),
        revealed_paths: paths(&sandbox.revealed),
        limits: Some(LIMITS),
    }
}

/// What cannot be read: entries of `denyRead`, and what rules and ignore lists keep.
fn read_denials(sandbox: &EffectiveSandbox) -> Vec<v1::ReadDenial> {
    let entries = sandbox.deny_read.iter().map(|entry| DenialText {
        reading: DenialReading::Entry,
        pattern: entry.text.clone(),
        folder: entry.folder.clone(),
        exceptions: Vec::new(),
    });
    let ruled_out = sandbox.ruled_out.iter().cloned();
    entries
        .chain(ruled_out)
        .map(|denial| v1::ReadDenial {
            pattern: denial.pattern,
            folder: denial.folder.map(|folder| folder.to_string()).unwrap_or_default(),
            exceptions: denial.exceptions,
            reading: match denial.reading {
                DenialReading::Rule => v1::DenialReading::Rule,
                DenialReading::CursorRule => v1::DenialReading::CursorRule,
                DenialReading::IgnoreFile => v1::DenialReading::IgnoreFile,
                DenialReading::IgnoreList => v1::DenialReading::IgnoreList,
                DenialReading::Entry => v1::DenialReading::Entry,
            }
            .into(),
        })
        .collect()
}

/// Reads a denial of a profile; `None` if it says nothing that is known.
#[must_use]
pub fn read_denial(denial: &v1::ReadDenial) -> Option<DenialText> {
    let reading = match denial.reading() {
        v1::DenialReading::Unspecified => return None,
        v1::DenialReading::Rule => DenialReading::Rule,
        v1::DenialReading::CursorRule => DenialReading::CursorRule,
        v1::DenialReading::IgnoreFile => DenialReading::IgnoreFile,
        v1::DenialReading::IgnoreList => DenialReading::IgnoreList,
        v1::DenialReading::Entry => DenialReading::Entry,
    };
    let folder = match denial.folder.as_str() {
        "" => None,
        folder => Some(AbsPath::parse(folder).ok()?),
    };
    Some(DenialText {
        reading,
        pattern: denial.pattern.clone(),
        folder,
        exceptions: denial.exceptions.clone(),
    })
}

#[cfg(test)]
mod tests {
    use portcullis_policy::{
        Layer,
        sandbox::{Said, SandboxSettings, merge},
    };

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
        let sandbox = merge(&[]);
        let profile = profile(
            &workspace,
            &sandbox,
            &["/d/tokens".into()],
            Some(Duration::from_secs(5)),
        );
        assert_eq!(profile.roots, ["/w", "/x"]);
        assert_eq!(profile.masked_paths, ["/d/tokens"]);
        assert!(profile.read_write_paths.is_empty() && !profile.accept_partial && !profile.refuse_root);
        assert!(!profile.accept_without_landlock && !profile.accept_without_namespaces);
        assert_eq!(profile.network(), v1::NetworkAccess::Filtered);
        assert!(!profile.network_rules.as_ref().unwrap().default_allow);
        assert_eq!(profile.temporary_folder(), v1::TemporaryFolder::Private);
        assert_eq!(profile.workspace(), v1::WorkspaceAccess::ReadWrite);
        assert_eq!(profile.timeout.unwrap().seconds, 5);
        let limits = profile.limits.unwrap();
        assert!(limits.processes > 0 && limits.open_files > 0 && limits.output_bytes > 0);
        assert_eq!(limits.memory_bytes, 0);
        for pattern in [".portcullis", ".git/hooks", ".git/config"] {
            assert!(profile.read_only_patterns.iter().any(|p| p == pattern), "{pattern}");
        }
    }

    #[test]
    fn documents_settle_what_the_profile_says() {
        let path = |text: &str| AbsPath::parse(text).unwrap();
        let workspace = Workspace {
            root: path("/w"),
            additional_roots: Vec::new(),
            cwd: path("/w"),
            home: Some(path("/home/ada")),
        };
        let text = r#"{
            "type": "workspace_readonly", "additionalReadwritePaths": ["out", "~/cache", "/data"], "denyRead": ["*.pem"],
            "additionalReadonlyPaths": ["~/keep"], "disableTmpWrite": true, "shareTmp": true, "enableSharedBuildCache": true,
            "allowRootOwner": false, "acceptWithoutLandlock": true, "acceptWithoutNamespaces": true, "networkMode": "sandbox_json_only",
            "allowUnixSockets": ["/run/docker.sock", "~/agent"],
            "networkPolicy": { "allow": ["*.example.com"], "deny": ["10.0.0.0/8"] }
        }"#;
        let of = |text: &str| {
            let settings = SandboxSettings::parse(text).unwrap();
            let said = Said {
                layer: Layer::User,
                widens: true,
                folder: None,
                settings: &settings,
            };
            profile(&workspace, &merge(&[said]), &[], None)
        };
        let all = of(text);
        assert_eq!(all.workspace(), v1::WorkspaceAccess::ReadOnly);
        assert_eq!(all.read_write_paths, ["/w/out", "/home/ada/cache", "/data"]);
        assert_eq!(all.read_only_paths, ["/home/ada/keep"]);
        assert_eq!(all.read_denials[0].pattern, "*.pem");
        let denial = read_denial(&all.read_denials[0]).unwrap();
        assert_eq!((denial.reading, denial.folder), (DenialReading::Entry, None));
        // Sockets that may be connected to are shown as sockets only: what else stands at such a path is none.
        assert_eq!(
            all.revealed_paths,
            ["/home/ada/keep", "/w/out", "/home/ada/cache", "/data"]
        );
        assert_eq!(all.unix_sockets, ["/run/docker.sock", "/home/ada/agent"]);
        assert_eq!(all.temporary_folder(), v1::TemporaryFolder::Closed);
        assert!(all.shared_build_cache && all.refuse_root);
        assert!(all.accept_without_landlock && all.accept_without_namespaces);
        let rules = all.network_rules.unwrap();
        assert_eq!(
            (rules.allow, rules.deny),
            (vec!["*.example.com".to_owned()], vec!["10.0.0.0/8".to_owned()])
        );

        let none = of(r#"{"networkMode": "sandbox_json_only", "shareTmp": true, "type": "insecure_none"}"#);
        assert_eq!((none.network(), none.network_rules), (v1::NetworkAccess::None, None));
        assert_eq!(none.temporary_folder, i32::from(v1::TemporaryFolder::Shared));
        assert_eq!(none.workspace, i32::from(v1::WorkspaceAccess::ReadWrite));
    }
}
