//! The profiles for macOS: the text for every field of the policy, as it was reviewed, and what it lets happen.
//!
//! No Mac is needed, and none has run these. `UPDATE_GOLDEN=1` writes the files anew, to be read before they are kept.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "only tests are here"
)]

mod fields;
mod files;
mod launch;
mod reader;
mod runs;
mod system;

use std::path::{Path, PathBuf};

use portcullis_sandboxd::seatbelt::{Name, Network, Policy, Temporary, Unwritable, profile};
use proptest::prelude::*;
use reader::{Object, Order, Piece, Profile, read};

const WS: &str = "/Users/ada/shop";
const USERS_TMP: &str = "/private/var/folders/x1/ab/T";
const STATE: &str = "/Users/ada/.local/share/portcullis/sandboxd";

fn path(below: &str) -> PathBuf {
    Path::new(WS).join(below)
}

fn name(folder: &str, pattern: &str) -> Name {
    Name {
        folder: folder.into(),
        segments: pattern.split('/').map(str::to_owned).collect(),
    }
}

/// An everyday workspace with one repository.
fn everyday() -> Policy {
    Policy {
        read_write: vec![WS.into()],
        protected: vec![path(".git/hooks"), path(".git/config")],
        names: vec![
            name(&format!("{WS}/.git"), "hooks"),
            name(&format!("{WS}/.git"), "config.worktree"),
            name(WS, ".vscode"),
            name(WS, ".claude/*.json"),
            name(WS, "*.code-workspace"),
        ],
        masked: vec![
            "/Users/ada/.aws".into(),
            "/Users/ada/.ssh/id_ed25519".into(),
            path("conf/.env"),
            STATE.into(),
        ],
        temporary_folders: vec![USERS_TMP.into()],
        own_tmp: Some(format!("{STATE}/tmp/7").into()),
        ..Policy::default()
    }
}

/// Every field of the policy, by the name of its golden file.
fn fields() -> Vec<(&'static str, Policy)> {
    let with = |change: &dyn Fn(&mut Policy)| {
        let mut policy = everyday();
        change(&mut policy);
        policy
    };
    vec![
        ("workspace_readwrite", everyday()),
        (
            "workspace_readonly",
            with(&|policy| {
                policy.visible = policy.read_write.drain(..).collect();
                policy.names.clear();
                policy.protected.clear();
            }),
        ),
        (
            "additionalReadwritePaths",
            with(&|policy| policy.read_write.push("/Users/ada/notes/todo.md".into())),
        ),
        (
            "additionalReadonlyPaths",
            with(&|policy| {
                policy.protected.push(path("vendor"));
                policy.visible.push("/private/tmp/input".into());
            }),
        ),
        ("denyRead", with(&|policy| policy.masked.push(path("secrets")))),
        ("disableTmpWrite", with(&|policy| policy.temporary = Temporary::Closed)),
        (
            "shareTmp",
            with(&|policy| {
                policy.temporary = Temporary::Shared;
                policy.own_tmp = None;
                policy.read_write.extend(["/tmp".into(), USERS_TMP.into()]);
            }),
        ),
        (
            "enableSharedBuildCache",
            with(&|policy| policy.own_cache = Some("/Users/ada/.local/share/portcullis/cache/trusted".into())),
        ),
        ("networkMode", with(&|policy| policy.network = Network::Filtered(8123))),
        (
            "allowUnixSockets",
            with(&|policy| policy.sockets = vec!["/var/run/docker.sock".into()]),
        ),
        (
            "terminal",
            with(&|policy| policy.terminal = Some("/dev/ttys012".into())),
        ),
    ]
}

fn written(policy: &Policy) -> Profile {
    let text = profile(policy).unwrap();
    Profile::parse(&text).unwrap_or_else(|fault| panic!("{fault}\n{text}"))
}

fn of(field: &str) -> Profile {
    let (_, policy) = fields().into_iter().find(|(name, _)| *name == field).unwrap();
    written(&policy)
}

#[test]
fn every_field_has_its_reviewed_profile() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/seatbelt");
    for (name, policy) in fields() {
        let file = folder.join(format!("{name}.sb"));
        let text = profile(&policy).unwrap();
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&file, &text).unwrap();
        }
        assert_eq!(
            std::fs::read_to_string(&file).unwrap_or_default(),
            text,
            "{}",
            file.display()
        );
        Profile::parse(&text).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    }
}

#[test]
fn a_policy_that_cannot_be_written_down_is_refused() {
    let set = |change: &dyn Fn(&mut Policy)| {
        let mut policy = everyday();
        change(&mut policy);
        profile(&policy)
    };
    assert!(set(&|_| ()).is_ok());
    for bad in ["relative", "/a/../b", "/a\0b", ""] {
        let error = Err(Unwritable::Path(bad.into()));
        assert_eq!(set(&|policy| policy.read_write.push(bad.into())), error);
        assert_eq!(set(&|policy| policy.protected.push(bad.into())), error);
        assert_eq!(set(&|policy| policy.masked.push(bad.into())), error);
        assert_eq!(set(&|policy| policy.visible.push(bad.into())), error);
        assert_eq!(set(&|policy| policy.sockets.push(bad.into())), error);
        assert_eq!(set(&|policy| policy.names.push(name(bad, "x"))), error);
        assert_eq!(set(&|policy| policy.own_tmp = Some(bad.into())), error);
    }
    assert_eq!(
        set(&|policy| policy.read_write.push("/".into())),
        Err(Unwritable::Whole)
    );
    assert!(set(&|policy| policy.names.push(name(WS, ""))).is_err());
    let long = "x".repeat(4000);
    let many = |policy: &mut Policy| policy.masked.extend((0..1000).map(|at| path(&format!("{at}{long}"))));
    assert!(matches!(set(&many), Err(Unwritable::TooLong(_))));
}

#[test]
fn nothing_to_write_is_no_leave_to_write_everything() {
    let policy = Policy::default();
    let profile = written(&policy);
    assert!(!profile.writes("/Users/ada/x") && !profile.writes("/private/tmp/x"));
    assert!(!profile.connects("/private/var/run/docker.sock"));
    assert!(profile.reads("/usr/bin/true"));
}

#[test]
fn the_readers_own_checks_find_faults() {
    let head = "(version 1)(deny default)";
    assert!(Profile::parse(head).is_ok());
    for bad in [
        "(version 1)(allow default)".to_owned(),
        format!("{head}(allow file-write* (subpath \"/x\")"),
        format!("{head}(allow file-write* (subpath \"/x\")))"),
        format!("{head}(allow file-wrote* (subpath \"/x\"))"),
        format!("{head}(allow file-write* (subtree \"/x\"))"),
        format!("{head}(allow file-write* (subpath \"/tmp/x\"))"),
        format!("{head}(allow file-write* (regex #\"^(?:x)\"))"),
        format!("{head}(allow network-outbound (remote tcp \"example.com:1\"))"),
        format!("{head}(allow file-write* (subpath \"/x))"),
    ] {
        assert!(Profile::parse(&bad).is_err(), "{bad}");
    }
    // The three orders differ where one is leant on.
    let leaning = Profile::parse(&format!(
        "{head}(allow file-read-data (subpath \"/x\"))(deny file-read* (subpath \"/x/y\"))"
    ));
    let object = Object::Path {
        path: "/x/y",
        inside: false,
    };
    let answers = [Order::LastFits, Order::ExactFirst]
        .map(|order| leaning.as_ref().unwrap().allows_in(order, "file-read-data", object));
    assert_eq!(answers, [false, true]);
}

/// Names with everything that could end a string, a list or an expression.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\"".to_owned()),
        Just("\\".to_owned()),
        Just("\\\"".to_owned()),
        Just(")(allow file-write*)".to_owned()),
        Just("\n; ".to_owned()),
        Just("#\"".to_owned()),
        Just("\u{202e}é日\u{200b}".to_owned()),
        Just("\r\t\u{1}\u{7f}".to_owned()),
        "[ -~]{1,6}",
        "\\PC{1,4}",
    ];
    prop::collection::vec(piece, 1..6)
        .prop_map(|pieces| pieces.concat().replace(['/', '\0'], "_"))
        .prop_filter("a name", |name| name != "." && name != "..")
}

fn texts(pieces: &[Piece], found: &mut Vec<String>) {
    for piece in pieces {
        match piece {
            Piece::Text(text) => found.push(text.clone()),
            Piece::List(inner) => texts(inner, found),
            Piece::Word(_) | Piece::Expression(_) => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever a path holds, the profile names it and nothing else: the reader gets it back, and it opens nothing.
    #[test]
    fn any_path_is_read_back_as_it_was(names in prop::collection::vec(hostile(), 1..4), hidden in hostile()) {
        let ws = format!("/Users/{}", names.join("/"));
        let secret = format!("{ws}/{hidden}");
        let policy = Policy {
            read_write: vec![ws.clone().into()],
            protected: vec![format!("{ws}/kept{hidden}").into()],
            names: vec![name(&ws, ".git/hooks")],
            masked: vec![secret.clone().into()],
            sockets: vec![format!("/run/{hidden}").into()],
            ..Policy::default()
        };
        let text = profile(&policy).unwrap();
        let mut found = Vec::new();
        texts(&read(&text).unwrap(), &mut found);
        prop_assert!(found.contains(&ws) && found.contains(&secret));
        let profile = Profile::parse(&text).unwrap();
        let ws = ws.as_str();
        let written = format!("{ws}/a-name-of-nobody");
        prop_assert!(profile.writes(&written) && profile.reads(&written));
        prop_assert!(!profile.reads(&secret));
        let kept = format!("{ws}/kept{hidden}");
        let hooks = format!("{ws}/.git/hooks/x");
        let socket = format!("/run/{hidden}");
        prop_assert!(!profile.writes(&kept) && !profile.writes(&hooks));
        prop_assert!(profile.connects(&socket));
        prop_assert!(!profile.writes("/Users/x-of-nobody/y") && !profile.writes("/private/etc/hosts"));
    }
}
