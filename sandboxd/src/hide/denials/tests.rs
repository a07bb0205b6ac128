//! Which files of a folder are hidden by which denials.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use portcullis_proto::v1::{DenialReading, ReadDenial as Wire};

use super::*;

/// A workspace with a home folder and another folder beside it.
struct Ground {
    _keep: tempfile::TempDir,
    base: PathBuf,
}

impl Ground {
    fn new(files: &[&str]) -> Self {
        let keep = tempfile::tempdir_in("/var/tmp").unwrap();
        let base = keep.path().canonicalize().unwrap();
        for file in files {
            let path = base.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "secret").unwrap();
        }
        fs::create_dir_all(base.join("ws")).unwrap();
        Self { _keep: keep, base }
    }

    fn find(&self, denials: &[Wire]) -> Result<Found, Unpreparable> {
        let roots = [self.base.join("ws")];
        let person = Person {
            home: Some(self.base.join("home")),
            ..Person::default()
        };
        super::super::hidden(
            &v1::SandboxProfile {
                read_denials: denials.to_vec(),
                ..v1::SandboxProfile::default()
            },
            &person,
            &roots,
            &roots,
            &[],
        )
    }

    /// What is hidden below the ground, as relative paths.
    fn hidden(&self, denials: &[Wire]) -> Vec<String> {
        let found = self.find(denials).unwrap();
        assert_eq!(found.missing, [""; 0]);
        let below = found
            .masked
            .iter()
            .filter_map(|path| path.strip_prefix(&self.base).ok());
        below.map(|path| path.to_str().unwrap().to_owned()).collect()
    }
}

fn denial(reading: DenialReading, pattern: &str, exceptions: &[&str]) -> Wire {
    Wire {
        pattern: pattern.to_owned(),
        folder: String::new(),
        exceptions: exceptions.iter().map(ToString::to_string).collect(),
        reading: reading.into(),
    }
}

#[test]
fn patterns_are_found_at_any_depth_and_near_misses_stay() {
    let ground = Ground::new(&[
        "ws/a.pem",
        "ws/x/y/b.pem",
        "ws/x/b.pems",
        "ws/x/public.pem",
        "ws/secrets/one/two",
        "ws/x/secrets/one",
        "ws/.git/objects/ab/c.pem",
        "ws/.git/objects/ab/d/e.pem",
        "other/a.pem",
    ]);
    let rule = |pattern, exceptions| ground.hidden(&[denial(DenialReading::Rule, pattern, exceptions)]);
    assert_eq!(
        rule("*.pem", &["public.pem"]),
        [
            "ws/.git/objects/ab/c.pem",
            "ws/.git/objects/ab/d/e.pem",
            "ws/a.pem",
            "ws/x/y/b.pem"
        ]
    );
    assert_eq!(rule("/secrets/**", &[]), ["ws/secrets"]);
    assert_eq!(rule("/x/secrets/*", &[]), ["ws/x/secrets/one"]);
    // A folder of which an exception frees a file is not hidden as a whole.
    assert_eq!(rule("/secrets/**", &["/secrets/one/two"]), [""; 0]);
    assert_eq!(
        ground.hidden(&[
            denial(DenialReading::IgnoreFile, "secrets/", &[]),
            denial(DenialReading::IgnoreList, "b.pem", &[]),
        ]),
        ["ws/secrets", "ws/x/secrets", "ws/x/y/b.pem"]
    );
    assert_eq!(
        ground
            .hidden(&[denial(
                DenialReading::IgnoreFile,
                "*.pem",
                &["!a.pem", "!c.pem", "!e.pem"]
            )])
            .len(),
        2
    );
    assert_eq!(
        ground.hidden(&[denial(DenialReading::CursorRule, "x/**", &[])]),
        ["ws/x"]
    );
}

#[test]
fn places_outside_are_hidden_where_their_words_end() {
    let ground = Ground::new(&["home/.ssh/id", "home/keys/a.key", "home/keys/b/a.key", "home/notes"]);
    symlink(ground.base.join("home/keys"), ground.base.join("link")).unwrap();
    let rule = |pattern: &str| ground.hidden(&[denial(DenialReading::Rule, pattern, &[])]);
    let base = ground.base.display();
    assert_eq!(rule("~/.ssh/**"), ["home/.ssh"]);
    assert_eq!(rule("~/keys/*.key"), ["home/keys/a.key"]);
    assert_eq!(rule("~/keys/**/*.key"), ["home/keys/a.key", "home/keys/b/a.key"]);
    assert_eq!(rule(&format!("/{base}/home/notes")), ["home/notes"]);
    assert_eq!(rule(&format!("/{base}/link/*.key")), ["home/keys/a.key"]);
    assert_eq!(rule(&format!("/{base}/nothing/*.key")), [""; 0]);
    let entry = |pattern: &str| ground.hidden(&[denial(DenialReading::Entry, pattern, &[])]);
    assert_eq!(entry(&format!("{base}/home/notes")), ["home/notes"]);
    assert_eq!(entry("~/notes"), ["home/notes"]);
    assert_eq!(entry("../home/notes"), ["home/notes"]);
}

#[test]
fn what_a_name_leads_to_is_hidden_and_what_leads_to_a_hidden_name() {
    let ground = Ground::new(&["other/plain", "other/deep/x.pem", "ws/.env", "ws/plain"]);
    symlink(ground.base.join("other/plain"), ground.base.join("ws/link.pem")).unwrap();
    symlink(ground.base.join("other/deep/x.pem"), ground.base.join("ws/innocent")).unwrap();
    symlink("/dev/null", ground.base.join("ws/null.pem")).unwrap();
    symlink("nowhere", ground.base.join("ws/lost.pem")).unwrap();
    assert_eq!(
        ground.hidden(&[denial(DenialReading::Rule, "*.pem", &[])]),
        ["other/plain"]
    );
    assert_eq!(
        ground.hidden(&[denial(DenialReading::IgnoreList, "*.pem", &[])]),
        ["other/deep/x.pem", "other/plain"]
    );
    fs::hard_link(ground.base.join("ws/.env"), ground.base.join("ws/second")).unwrap();
    assert_eq!(
        ground.hidden(&[denial(DenialReading::Entry, "./.env", &[])]),
        ["ws/.env", "ws/second"]
    );
}

#[test]
fn a_folder_that_cannot_be_looked_into_is_hidden() {
    if rustix::process::geteuid().is_root() {
        return; // Root lists every folder; the launcher's tests do this as an ordinary user.
    }
    let ground = Ground::new(&["ws/closed/.env", "ws/open/x"]);
    let closed = ground.base.join("ws/closed");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let hidden = ground.hidden(&[denial(DenialReading::Rule, ".env", &[])]);
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(hidden, ["ws/closed"]);
}

#[test]
fn what_is_not_understood_or_hides_the_workspace_runs_nothing() {
    let ground = Ground::new(&["ws/a"]);
    for wrong in [
        denial(DenialReading::Unspecified, "a", &[]),
        denial(DenialReading::Rule, "../a", &[]),
        denial(DenialReading::Entry, "!a", &[]),
        Wire {
            folder: "relative".to_owned(),
            ..denial(DenialReading::Rule, "a", &[])
        },
    ] {
        assert!(matches!(
            ground.find(&[wrong]),
            Err(Unpreparable::Unknown("read_denials"))
        ));
    }
    symlink(".", ground.base.join("ws/x.pem")).unwrap();
    for wide in ["**", "*.pem"] {
        let found = ground.find(&[denial(DenialReading::Rule, wide, &[])]);
        assert!(
            matches!(found, Err(Unpreparable::HiddenWorkspace(_))),
            "{wide}: {found:?}"
        );
    }
    assert_eq!(ground.hidden(&[denial(DenialReading::Rule, "a", &[])]), ["ws/a"]);
}

#[test]
fn more_than_can_be_hidden_is_said() {
    let ground = Ground::new(&[]);
    for number in 0..MAX_MASKS + 2 {
        fs::write(ground.base.join(format!("ws/{number}.pem")), "").unwrap();
    }
    let found = ground.find(&[denial(DenialReading::Rule, "*.pem", &[])]).unwrap();
    assert_eq!(found.masked.len(), MAX_MASKS);
    assert!(!found.missing.is_empty());
}

#[test]
fn a_single_writable_file_is_hidden_only_if_it_is_denied() {
    let ground = Ground::new(&["out/conf.json", "out/key.pem"]);
    let roots = [ground.base.join("ws")];
    let read_write: Vec<_> = ["ws", "out/conf.json", "out/key.pem"]
        .iter()
        .map(|path| ground.base.join(path))
        .collect();
    let profile = v1::SandboxProfile {
        // It may match anywhere, so that the writable folders are looked through.
        read_denials: vec![denial(DenialReading::Rule, "//**/*.pem", &[])],
        ..v1::SandboxProfile::default()
    };
    let found = super::super::hidden(&profile, &Person::default(), &roots, &read_write, &[]).unwrap();
    let of_ground: Vec<_> = found
        .masked
        .iter()
        .filter(|path| path.starts_with(&ground.base))
        .collect();
    assert_eq!(of_ground, [&ground.base.join("out/key.pem")]);
}

#[test]
fn both_home_folders_are_the_persons() {
    let ground = Ground::new(&["home/x/secret", "other/x/secret", "other/y", "third/x/secret"]);
    let person = Person {
        home: Some(ground.base.join("home")),
        other_home: Some(ground.base.join("other")),
        ..Person::default()
    };
    let roots = [ground.base.join("ws")];
    let profile = v1::SandboxProfile {
        read_denials: vec![denial(DenialReading::Entry, "~/x", &[])],
        ..v1::SandboxProfile::default()
    };
    let found = super::super::hidden(&profile, &person, &roots, &roots, &[]).unwrap();
    let of_ground = found
        .masked
        .iter()
        .filter_map(|path| path.strip_prefix(&ground.base).ok());
    let of_ground: Vec<_> = of_ground.map(|path| path.to_str().unwrap()).collect();
    assert_eq!(of_ground, ["home/x", "other/x"]);
}
