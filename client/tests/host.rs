//! `portcullis trust`, `status`, and what needs no daemon.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "helpers of tests may stop at the first surprise, as tests may"
)]

mod support;

use std::{
    io::{Read as _, Write as _},
    process::{Command, Stdio},
    sync::Arc,
};

use portcullis_proto::v1;
use support::{Fake, feed, golden, shown, wait};

#[test]
fn trust_takes_a_terminal() {
    let fake = Fake::with(|_| {});
    let project = fake.data.path().join("project");
    std::fs::create_dir(&project).unwrap();
    let project = project.to_str().unwrap();
    let program = env!("CARGO_BIN_EXE_portcullis");
    let with_data = |mut command: Command| {
        command
            .env("PORTCULLIS_DATA_DIR", fake.data.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    };
    let mut detached = Command::new("setsid");
    detached.args(["--wait", program, "trust", project]);
    let told = feed(with_data(detached), b"yes\n");
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(told.err.contains("help: run it in a terminal"), "{told:?}");
    assert!(fake.seen.lock().unwrap().trusted.is_empty());
    // The control: with a terminal, and a person who says yes; and one who says no.
    for (word, trusted) in [("no\n", 0), ("yes\n", 1)] {
        at_a_terminal(&fake, &format!("{program} trust {project}"), word);
        assert_eq!(fake.seen.lock().unwrap().trusted.len(), trusted, "{word}");
    }
    assert_eq!(fake.run(&["trust", "--list"]).out, format!("{project}\n"));
    let told = fake.run(&["trust", "--remove", project]);
    assert_eq!((told.code, told.out.contains("no longer")), (Some(0), true));
    assert!(fake.seen.lock().unwrap().trusted.is_empty());
}

/// Runs a command line at a terminal, and answers its question. Returns what was shown before the answer.
fn at_a_terminal(fake: &Fake, line: &str, answer: &str) -> String {
    let mut terminal = Command::new("script");
    terminal
        .args(["-qec", line, "/dev/null"])
        .env("PORTCULLIS_DATA_DIR", fake.data.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = terminal.spawn().unwrap();
    let (mut typed, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    // A person answers what they see: what is typed earlier may be thrown away by the terminal.
    let mut seen = Vec::new();
    while !seen.ends_with(b"[yes/no] ") {
        let mut byte = [0];
        screen.read_exact(&mut byte).unwrap();
        seen.extend(byte);
    }
    typed.write_all(answer.as_bytes()).unwrap();
    std::io::copy(&mut screen, &mut std::io::sink()).unwrap();
    wait(child);
    String::from_utf8(seen).unwrap()
}

fn server(name: &str, place: v1::ConfiguredIn, approval: v1::McpApproval) -> v1::McpServerStatus {
    v1::McpServerStatus {
        name: name.into(),
        agents: vec!["claude".into()],
        launch: format!("command `mcp-{name}`"),
        configured_in: place.into(),
        file: "/home/dev/.claude.json".into(),
        approval: approval.into(),
        digest: format!("digest of {name}"),
    }
}

#[test]
fn approving_a_server_takes_a_terminal_and_approves_what_was_shown() {
    use v1::{ConfiguredIn as In, McpApproval as Is};
    let fake = Fake::with(|service| {
        service.mcp_servers = Arc::new(v1::ListMcpServersResponse {
            servers: vec![
                server("github", In::User, Is::Unspecified),
                server("linear", In::User, Is::Changed),
                server("done", In::User, Is::Given),
                server("off", In::User, Is::Disabled),
                server("theirs", In::Project, Is::Unspecified),
                v1::McpServerStatus {
                    digest: String::new(),
                    ..server("odd", In::User, Is::Unspecified)
                },
            ],
            failures: Vec::new(),
        });
    });
    let program = env!("CARGO_BIN_EXE_portcullis");
    let mut detached = Command::new("setsid");
    detached
        .args(["--wait", program, "mcp", "approve", "github"])
        .env("PORTCULLIS_DATA_DIR", fake.data.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let told = feed(detached, b"yes\n");
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(told.err.contains("help: run it in a terminal"), "{told:?}");
    let approved = || fake.seen.lock().unwrap().approved.clone();
    assert!(approved().is_empty());
    let shown = at_a_terminal(&fake, &format!("{program} mcp approve --mine"), "no\n");
    assert!(approved().is_empty());
    for (name, expected) in [
        ("github", true),
        ("linear", true),
        ("done", false),
        ("theirs", false),
        ("odd", false),
    ] {
        assert_eq!(shown.contains(&format!("mcp-{name}")), expected, "{name}: {shown}");
    }
    at_a_terminal(&fake, &format!("{program} mcp approve --mine"), "yes\n");
    assert_eq!(approved(), ["digest of github", "digest of linear"]);
    // A server that the project brings is no question as long as the project is not trusted.
    let told = fake.run(&["mcp", "approve", "theirs"]);
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(
        told.err.contains("is not trusted") && told.err.contains("`portcullis trust /"),
        "{told:?}"
    );
    fake.seen.lock().unwrap().trusted.push("/".to_owned());
    at_a_terminal(&fake, &format!("{program} mcp approve theirs"), "yes\n");
    assert_eq!(approved().last().unwrap(), "digest of theirs");
    // Nothing left to approve, and nothing of that name.
    assert_eq!(fake.run(&["mcp", "approve", "done"]).code, Some(0));
    let told = fake.run(&["mcp", "approve", "nobody"]);
    assert_eq!(
        (told.code, told.err.contains("no MCP server `nobody`")),
        (Some(1), true),
        "{told:?}"
    );
    assert!(
        fake.run(&["mcp", "revoke", "github"])
            .out
            .contains("no longer approved")
    );
    assert!(fake.run(&["mcp", "revoke", "x"]).out.contains("was not approved"));
    let told = fake.run(&["mcp", "list"]);
    assert!(
        told.out.contains("NOT approved: it has changed") && told.out.contains("switched off"),
        "{told:?}"
    );
    let json = fake.run(&["mcp", "list", "--format", "json"]);
    let first: serde_json::Value = serde_json::from_str(json.out.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["approval"], &first["configured_in"]),
        (&"none".into(), &"user".into())
    );
}

#[test]
fn that_no_server_is_configured_is_said() {
    let fake = Fake::with(|service| {
        service.mcp_servers = Arc::new(v1::ListMcpServersResponse::default());
    });
    let told = fake.run(&["mcp", "list", "--project", "/"]);
    assert_eq!((told.code, told.out.as_str()), (Some(0), ""), "{told:?}");
    assert_eq!(told.err, "note: no MCP server is configured for /\n");
}

#[test]
fn a_configuration_that_cannot_be_read_is_told() {
    let fake = Fake::with(|service| {
        service.mcp_servers = Arc::new(v1::ListMcpServersResponse {
            servers: Vec::new(),
            failures: vec!["cannot read the MCP configuration `/x`: it is no JSON".into()],
        });
    });
    let told = fake.run(&["mcp", "list"]);
    assert_eq!(
        (told.code, told.err.contains("it is no JSON")),
        (Some(1), true),
        "{told:?}"
    );
}

fn status(failure: &str, enforcement: v1::EnforcementStatus) -> Fake {
    Fake::with(|service| {
        service.status = Arc::new(v1::StatusResponse {
            version: "0.1.0".into(),
            host_id: "ab".repeat(32),
            server: "http://127.0.0.1:7451".into(),
            server_failure: failure.into(),
            enforcement: Some(v1::Enforcement {
                status: enforcement.into(),
                mechanisms: vec!["mount_namespace".into(), "landlock".into()],
                missing: Vec::new(),
                landlock_abi: 6,
                tier: v1::SandboxTier::Full.into(),
                unheld_limits: Vec::new(),
            }),
            running: 1,
            undelivered_outcomes: 0,
        });
    })
}

#[test]
fn status_is_zero_only_if_all_is_well() {
    let fake = status("", v1::EnforcementStatus::Full);
    golden("status.txt", &shown(&fake, &fake.run(&["status"])));
    let json = fake.run(&["status", "--format", "json"]).json();
    assert_eq!(json["enforcement"]["status"], "full");
    assert_eq!(
        status("connection refused", v1::EnforcementStatus::Full)
            .run(&["status"])
            .code,
        Some(1)
    );
    assert_eq!(
        status("", v1::EnforcementStatus::Partial).run(&["status"]).code,
        Some(1)
    );
    assert_eq!(
        status("", v1::EnforcementStatus::Unspecified).run(&["status"]).code,
        Some(1)
    );
    assert_eq!(Fake::absent().run(&["status"]).code, Some(5));
}

#[test]
fn the_doctor_is_content_only_with_a_sandbox_that_is_fully_enforced() {
    let well = status("", v1::EnforcementStatus::Full).run(&["doctor"]);
    assert_eq!(well.code, Some(0), "{well:?}");
    assert!(
        well.out.contains("sandbox: fully enforced: mount_namespace, landlock"),
        "{well:?}"
    );
    assert!(well.out.contains("server: http://127.0.0.1:7451 answers"), "{well:?}");

    // A server that is away is said, and is no fault of the sandbox.
    let alone = status("connection refused", v1::EnforcementStatus::Full).run(&["doctor"]);
    assert_eq!(
        (alone.code, alone.out.contains("connection refused")),
        (Some(0), true),
        "{alone:?}"
    );

    for enforcement in [
        v1::EnforcementStatus::Partial,
        v1::EnforcementStatus::None,
        v1::EnforcementStatus::Unspecified,
    ] {
        let told = status("", enforcement).run(&["doctor", "--format", "json"]);
        assert_eq!(
            (told.code, &told.json()["well"]),
            (Some(1), &serde_json::json!(false)),
            "{told:?}"
        );
    }
    let absent = Fake::absent().run(&["doctor"]);
    assert_eq!(absent.code, Some(1), "{absent:?}");
    assert!(
        absent.out.contains("does not answer") && absent.out.contains("start it"),
        "{absent:?}"
    );
}

#[test]
fn help_and_completions_need_no_daemon() {
    let fake = Fake::absent();
    for shell in ["bash", "zsh", "fish"] {
        let told = fake.run(&["completions", shell]);
        assert_eq!((told.code, told.out.contains("portcullis")), (Some(0), true));
    }
    for command in [
        &["--help"][..],
        &["hook", "--help"],
        &["decide", "--help"],
        &["run", "--help"],
        &["policy", "push", "--help"],
    ] {
        let told = fake.run(command);
        assert_eq!(told.code, Some(0));
        assert!(told.out.contains("Exit codes"), "{told:?}");
    }
}
