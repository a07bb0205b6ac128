//! From a profile that the server signed, and a real workspace, to what the command may do.

use portcullis_policy::protected::sandbox_read_only_patterns;
use portcullis_proto::v1::{NetworkAccess, NetworkRules, SandboxProfile, TemporaryFolder, WorkspaceAccess};
use portcullis_sandboxd::prepare::{Extras, prepare};
use portcullis_sandboxd::seatbelt::Host;

use super::*;

#[test]
fn a_prepared_run_becomes_a_profile() {
    let keep = tempfile::tempdir_in("/var/tmp").unwrap();
    let base = keep.path().canonicalize().unwrap();
    let ws = base.join("ws \"a\" (é)");
    for folder in [".git/objects", ".git/hooks", "sub/.git/objects", ".vscode"] {
        std::fs::create_dir_all(ws.join(folder)).unwrap();
    }
    for file in [".git/HEAD", ".git/config", "sub/.git/HEAD", "secret.txt"] {
        std::fs::write(ws.join(file), "").unwrap();
    }
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let _service = std::os::unix::net::UnixListener::bind(base.join("service")).unwrap();
    let signed = SandboxProfile {
        workspace: WorkspaceAccess::ReadWrite.into(),
        roots: vec![text(&ws)],
        unix_sockets: vec![text(&base.join("service"))],
        read_only_patterns: sandbox_read_only_patterns(),
        masked_paths: vec![text(&ws.join("secret.txt"))],
        network: NetworkAccess::Filtered.into(),
        network_rules: Some(NetworkRules::default()),
        temporary_folder: TemporaryFolder::Private.into(),
        ..SandboxProfile::default()
    };
    let prepared = prepare(&signed, &Extras::default()).unwrap();
    let mut host = Host::default();
    assert_eq!(Policy::of_run(&prepared, &signed, &host), Err(Unwritable::Port));
    host.filter_port = 8123;
    let profile = written(&Policy::of_run(&prepared, &signed, &host).unwrap());
    // As the kernel of a Mac would have it.
    let real = |below: &str| format!("/private{}", text(&ws.join(below)));
    for below in [
        "x",
        ".git/index",
        "sub/x",
        "sub/.git/index",
        ".claude/agents/x.md",
        "new/.git/hooks/x",
    ] {
        assert!(profile.writes(&real(below)), "{below}");
    }
    for below in [
        ".git/hooks/x",
        ".git/config",
        ".git/config.worktree",
        ".git/Hooks/x",
        "sub/.git/hooks/x",
        "sub/.git/config",
        ".vscode/tasks.json",
        ".mcp.json",
        "sub/.MCP.json",
        ".claude/a/settings.json",
        "secret.txt",
    ] {
        assert!(!profile.writes(&real(below)), "{below}");
    }
    assert!(!profile.reads(&real("secret.txt")) && profile.reads(&real("x")));
    assert!(!profile.file("file-write-unlink", &real("sub/.git")) && !profile.file("file-write-unlink", &real("sub")));
    let beside = |name: &str| format!("/private{}", text(&base.join(name)));
    assert!(profile.connects(&beside("service")) && !profile.connects(&beside("other")));
    let to = Object::Net {
        protocol: "tcp",
        address: "localhost:8123",
    };
    assert!(profile.allows("network-outbound", to));
}

#[test]
fn where_there_is_no_repository_one_can_be_made() {
    let keep = tempfile::tempdir_in("/var/tmp").unwrap();
    let ws = keep.path().canonicalize().unwrap();
    let signed = SandboxProfile {
        workspace: WorkspaceAccess::ReadWrite.into(),
        roots: vec![ws.to_str().unwrap().to_owned()],
        read_only_patterns: sandbox_read_only_patterns(),
        network: NetworkAccess::None.into(),
        temporary_folder: TemporaryFolder::Closed.into(),
        ..SandboxProfile::default()
    };
    let prepared = prepare(&signed, &Extras::default()).unwrap();
    let profile = written(&Policy::of_run(&prepared, &signed, &Host::default()).unwrap());
    let real = |below: &str| format!("/private{}/{below}", ws.display());
    assert!(profile.writes(&real(".git/config")) && profile.writes(&real(".git/hooks/x.sample")));
    assert!(!profile.writes(&real(".vscode/tasks.json")));
}
