//! `portcullis policy lint`: what it prints, and which exit code says what. It runs without server, data directory and
//! environment.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests may stop at the first surprise, as tests may"
)]

mod support;

use std::{fs, path::Path, process::Command};

use support::golden;

fn run(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_portcullis"))
        .args(["policy", "lint"])
        .args(args)
        .current_dir(folder)
        .env_clear()
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

const TEAM: &str = r#"{
    "permissions": {
        "deny": ["Bash(git push *)"],
        "allow": ["Bash(git * main)", "Read(/etc/hosts)"],
    },
}
"#;
const USER: &str = r#"{ "permissions": { "allow": ["Bash(git push origin *)", "Bash(make *)"] } }"#;

#[test]
fn findings_are_shown_where_they_stand_over_all_layers() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("team.jsonc"), TEAM).unwrap();
    fs::write(folder.path().join("user.jsonc"), USER).unwrap();
    let (code, out, err) = run(folder.path(), &["team.jsonc", "--user", "user.jsonc"]);
    golden(
        "policy-lint.txt",
        &format!("exit {}\n--- stdout\n{out}--- stderr\n{err}", code.unwrap()),
    );
    let (code, out, _) = run(
        folder.path(),
        &["--format", "json", "team.jsonc", "--user", "user.jsonc"],
    );
    let lines: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let codes: Vec<Option<&str>> = lines.iter().map(|line| line["code"].as_str()).collect();
    assert_eq!((code, codes), (Some(1), vec![Some("L0302"), Some("L0401"), None]));
    // The user's file alone contradicts nothing.
    assert_eq!(run(folder.path(), &["--user", "user.jsonc"]).0, Some(0));
}

#[test]
fn what_cannot_be_read_is_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("bad.jsonc"),
        "{ \"permissions\": { \"allow\": [\"bash(x)\"] } }",
    )
    .unwrap();
    let (code, _, err) = run(folder.path(), &["bad.jsonc"]);
    assert!(
        code == Some(2) && err.contains("bad.jsonc") && err.contains("write `Bash`"),
        "{err}"
    );
    assert_eq!(run(folder.path(), &["gone.jsonc"]).0, Some(2));
    assert_eq!(run(folder.path(), &[]).0, Some(2), "no file is wrong usage");
}
