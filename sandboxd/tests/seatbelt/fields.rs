//! Every key of `sandbox.json`, from its text to what it changes in the profile: `sandbox_json.txt`, as it was reviewed.
//!
//! The profiles of `*.sb` are written of a policy that is made up; these come the whole way, with real folders.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use portcullis_policy::network::NetworkRules;
use portcullis_policy::request::Workspace;
use portcullis_policy::sandbox::{Said, SandboxSettings, merge};
use portcullis_policy::{AbsPath, Layer};
use portcullis_proto::convert::profile as of_documents;
use portcullis_proto::v1::{SandboxProfile, TemporaryFolder};
use portcullis_sandboxd::prepare::{Extras, Unpreparable, prepare};
use portcullis_sandboxd::seatbelt::Host;

use super::*;

/// A text for each key, and for each word that one can have.
const TEXTS: &[(&str, &str)] = &[
    ("type", r#"{"type": "workspace_readonly"}"#),
    ("type", r#"{"type": "workspace_readwrite"}"#),
    // Whoever runs a command in the sandbox runs it in the sandbox; `exec` refuses this word.
    ("type", r#"{"type": "insecure_none"}"#),
    (
        "additionalReadwritePaths",
        r#"{"additionalReadwritePaths": ["../notes", "~/todo.md"]}"#,
    ),
    (
        "additionalReadonlyPaths",
        r#"{"additionalReadonlyPaths": ["vendor", "../tmp/input"]}"#,
    ),
    ("denyRead", r#"{"denyRead": ["*.pem", "secrets/"]}"#),
    ("disableTmpWrite", r#"{"disableTmpWrite": true}"#),
    ("shareTmp", r#"{"shareTmp": true}"#),
    ("enableSharedBuildCache", r#"{"enableSharedBuildCache": true}"#),
    ("allowRootOwner", r#"{"allowRootOwner": false}"#),
    ("acceptWithoutLandlock", r#"{"acceptWithoutLandlock": true}"#),
    ("acceptWithoutNamespaces", r#"{"acceptWithoutNamespaces": true}"#),
    ("allowUnixSockets", r#"{"allowUnixSockets": ["BASE/service"]}"#),
    ("networkMode", r#"{"networkMode": "sandbox_json_only"}"#),
    ("networkMode", r#"{"networkMode": "sandbox_json_plus_defaults"}"#),
    ("networkMode", r#"{"networkMode": "allow_all"}"#),
    ("networkPolicy", r#"{"networkPolicy": {"default": "deny"}}"#),
    ("networkPolicy", r#"{"networkPolicy": {"default": "allow"}}"#),
    (
        "networkPolicy",
        r#"{"networkMode": "sandbox_json_only", "networkPolicy": {"allow": ["*.example.com", "192.0.2.0/24", "[2001:db8::1]"]}}"#,
    ),
    (
        "networkPolicy",
        r#"{"networkPolicy": {"default": "allow", "deny": ["10.0.0.0/8", "evil.example", "2001:db8::/32"]}}"#,
    ),
];

struct Place {
    _keep: tempfile::TempDir,
    base: PathBuf,
    _service: std::os::unix::net::UnixListener,
}

impl Place {
    fn new() -> Self {
        // Without a dot, which expressions spell in another way.
        let keep = tempfile::Builder::new()
            .prefix("seatbelt")
            .tempdir_in("/var/tmp")
            .unwrap();
        let base = keep.path().canonicalize().unwrap();
        for folder in ["ws/.git/hooks", "ws/vendor", "ws/secrets", "notes", "tmp/input", "home"] {
            std::fs::create_dir_all(base.join(folder)).unwrap();
        }
        for file in ["ws/.git/HEAD", "ws/.git/config", "ws/key.pem", "home/todo.md"] {
            std::fs::write(base.join(file), "").unwrap();
        }
        let service = std::os::unix::net::UnixListener::bind(base.join("service")).unwrap();
        Self {
            _keep: keep,
            base,
            _service: service,
        }
    }

    fn signed(&self, text: &str) -> SandboxProfile {
        let settings = SandboxSettings::parse(&text.replace("BASE", self.base.to_str().unwrap())).unwrap();
        let said = Said {
            layer: Layer::User,
            widens: true,
            folder: None,
            settings: &settings,
        };
        let path = |below: &str| AbsPath::parse(self.base.join(below).to_str().unwrap()).unwrap();
        let place = Workspace {
            root: path("ws"),
            additional_roots: Vec::new(),
            cwd: path("ws"),
            home: Some(path("home")),
        };
        of_documents(&place, &merge(&[said]), &[], None)
    }

    /// The profile's lines, each with the rule that it is in, and what the filter serves.
    fn written(&self, text: &str) -> (Vec<String>, Option<NetworkRules>) {
        let mut signed = self.signed(text);
        // Whoever runs the tests.
        signed.refuse_root = false;
        let prepared = prepare(&signed, &Extras::default()).unwrap();
        let state = self.base.join("state");
        let shared = signed.temporary_folder() == TemporaryFolder::Shared;
        let host = Host {
            temporary_folders: vec![self.base.join("tmp")],
            own_tmp: (!shared).then(|| state.join("files")),
            own_cache: Some(state.join(if signed.shared_build_cache { "shared" } else { "cache" })),
            filter_port: 8123,
            terminal: None,
        };
        let text = profile(&Policy::of_run(&prepared, &signed, &host).unwrap()).unwrap();
        Profile::parse(&text).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
        let text = text.replace(&format!("/private{}", self.base.display()), "/BASE");
        let mut rule = String::new();
        let mut lines = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with(';')) {
            if line.starts_with('(') {
                rule = line.to_owned();
            } else if line.starts_with(' ') && is_of_this_place(line) {
                // A protected name in any letters: which folder it is in is enough here, `names.rs` has tests of its own.
                let line = match line.split_once("[^ -~]*") {
                    Some((folder, _)) => format!("{folder}…"),
                    None => line.to_owned(),
                };
                lines.push(format!("{rule} {}", line.trim()));
            }
        }
        (lines, prepared.network)
    }
}

/// What lies elsewhere on the host is the same every time, but for sockets that others make and remove meanwhile.
fn is_of_this_place(line: &str) -> bool {
    let mut texts = line.split('"').skip(1).step_by(2);
    texts.all(|text| !text.starts_with('/') || text.starts_with("/BASE") || text == "/private/tmp")
}

fn counted(lines: &[String]) -> BTreeMap<&str, usize> {
    let mut counted = BTreeMap::new();
    for line in lines {
        *counted.entry(line.as_str()).or_default() += 1;
    }
    counted
}

fn served(network: &NetworkRules) -> String {
    let list = |rules: &[portcullis_policy::network::HostRule]| match rules.len() {
        0 => "nothing".to_owned(),
        1..10 => rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        _ => "where languages and tools fetch from".to_owned(),
    };
    format!(
        "filter: default {}, allow {}, deny {}",
        if network.default_allow { "allow" } else { "deny" },
        list(&network.allow),
        list(&network.deny)
    )
}

#[test]
fn every_key_of_a_policy_file_changes_the_profile_as_it_was_reviewed() {
    let place = Place::new();
    let base = r#"{"networkMode": "sandbox_json_only"}"#;
    let (before, none) = place.written(base);
    assert_eq!(none, None);
    let mut all = format!("; What each key changes in the profile of {base}: + a line more, - one less.\n");
    for (_, text) in TEXTS {
        // Beside the default of hosts nothing else of them would show.
        let text = if text.contains("network") {
            (*text).to_owned()
        } else {
            text.replacen('{', r#"{"networkMode": "sandbox_json_only", "#, 1)
        };
        let (after, network) = place.written(&text);
        let _ = write!(all, "\n{text}\n");
        if let Some(network) = &network {
            let _ = writeln!(all, "{}", served(network));
        }
        let (old, new) = (counted(&before), counted(&after));
        for (sign, these, others) in [('-', &old, &new), ('+', &new, &old)] {
            for (line, times) in these {
                if *times > others.get(line).copied().unwrap_or(0) {
                    let times = if *times > 1 {
                        format!(" ({times} times)")
                    } else {
                        String::new()
                    };
                    let _ = writeln!(all, "{sign} {line}{times}");
                }
            }
        }
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/seatbelt/sandbox_json.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, &all).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap_or_default(), all);
}

#[test]
fn no_key_of_a_policy_file_is_left_out() {
    // The reader itself says which keys it knows.
    let known = |text: &str| -> Vec<String> {
        let faults = SandboxSettings::parse(text).unwrap_err();
        let said = faults[0].hint.as_deref().unwrap_or_default();
        let keys = said.strip_prefix("known are ").unwrap().split(", ");
        keys.filter(|key| *key != "$schema").map(str::to_owned).collect()
    };
    let keys = known(r#"{"x": 1}"#);
    assert!(keys.len() > 10, "{keys:?}");
    for key in keys {
        let named = format!("\"{key}\"");
        assert!(
            TEXTS.iter().any(|(own, text)| *own == key && text.contains(&named)),
            "{key}"
        );
    }
    for key in known(r#"{"networkPolicy": {"x": 1}}"#) {
        let named = format!("\"{key}\"");
        assert!(TEXTS.iter().any(|(_, text)| text.contains(&named)), "{key}");
    }
}

#[test]
fn hosts_stand_in_the_filter_and_never_in_the_profile() {
    let place = Place::new();
    let (filtered, _) = place.written(r#"{"networkMode": "allow_all"}"#);
    for (_, text) in TEXTS.iter().filter(|(key, _)| *key == "networkPolicy") {
        let (lines, network) = place.written(text);
        assert_eq!(lines, filtered, "{text}");
        assert!(network.is_some());
    }
}

#[test]
fn root_is_refused_before_there_is_a_profile_if_policy_says_so() {
    let place = Place::new();
    let signed = place.signed(r#"{"allowRootOwner": false}"#);
    assert!(signed.refuse_root);
    let prepared = prepare(&signed, &Extras::default());
    if rustix::process::geteuid().is_root() {
        assert!(matches!(prepared, Err(Unpreparable::RootOwner)));
    } else {
        assert!(prepared.is_ok());
    }
    assert!(prepare(&place.signed("{}"), &Extras::default()).is_ok());
}
