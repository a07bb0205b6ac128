//! Secrets in a command reach nobody: not the database, not the logs, not the audit output.

use std::{fs, path::Path};

use portcullis_tests::{
    Policy, Stack,
    hook::{claude_bash, cursor_shell},
};

/// Made up, in the form that each issuer documents.
const CANARIES: [&str; 4] = [
    "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
    "pcl_agent_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG",
    "AKIAIOSFODNN7EXAMPLQ",
    "sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefghijk-AAAAAAAA",
];

/// Harmless words beside them: they must be found, or the search is worth nothing.
const MARK: &str = "harmless-mark-7451";

/// All files below a folder that contain these bytes.
fn files_with(folder: &Path, needle: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files_with(&entry.path(), needle));
        } else if kind.is_file() {
            let bytes = fs::read(entry.path()).unwrap();
            if bytes.windows(needle.len()).any(|window| window == needle.as_bytes()) {
                found.push(entry.path().display().to_string());
            }
        }
    }
    found
}

#[test]
fn a_secret_in_a_command_is_nowhere_afterwards() {
    let mut stack = Stack::start();
    stack.push_team(&Policy::new().allow("Bash(echo *)").deny("Bash(curl *)"));
    for secret in CANARIES {
        for command in [
            format!("echo {MARK} {secret}"),
            format!("curl -H 'Authorization: Bearer {secret}' https://{MARK}.example"),
            format!("{MARK} --token={secret}"),
            format!("TOKEN={secret} {MARK}"),
            // Not parsable: redaction must not depend on the parser.
            format!("{MARK} '{secret}"),
        ] {
            let _ = stack.hook("claude", &claude_bash(&stack, &command));
            let _ = stack.hook("cursor", &cursor_shell(&stack, &command));
        }
        let words = ["echo", MARK, secret];
        let _ = stack.portcullis(["decide", "--"]).args(words).output();
        let output = stack.portcullis(["run", "--"]).args(words).output().expect_code(0);
        assert_eq!(
            output.stdout,
            format!("{MARK} {secret}\n"),
            "the command itself gets the real words"
        );
    }

    let mut shown = String::new();
    for format in ["json", "text"] {
        let output = stack
            .portcullis(["audit", "query", "--since", "1h", "--format", format])
            .output();
        shown += &output.text();
    }
    assert!(
        shown.contains(MARK),
        "the audit output does not show the commands:\n{shown}"
    );
    // While everything still runs, so that the write-ahead log is there; then once more on what is left at the end.
    let while_running: Vec<String> = CANARIES
        .iter()
        .flat_map(|secret| files_with(&stack.data(), secret))
        .collect();
    assert!(
        !files_with(&stack.data(), MARK).is_empty(),
        "the search finds nothing at all"
    );
    stack.sandboxd().stop();
    stack.server().stop();
    for secret in CANARIES {
        assert!(!shown.contains(secret), "`{secret}` is in the audit output");
        assert!(!stack.logs().contains(secret), "`{secret}` is in the logs");
        assert_eq!(files_with(&stack.data(), secret), [""; 0], "`{secret}` is in files");
    }
    assert_eq!(while_running, [""; 0]);
}

#[test]
fn the_programs_do_not_log_their_own_tokens() {
    use portcullis_tests::Role;

    let stack = Stack::start();
    stack.push_team(&Policy::new().allow("Bash(echo *)"));
    let _ = stack.portcullis(["run", "--", "echo", "hello"]).output().expect_code(0);
    for role in [Role::Admin, Role::Agent, Role::Host] {
        let token = stack.token(role);
        assert!(token.len() > 40, "{role:?}");
        assert!(!stack.logs().contains(&token), "the {role:?} token is in the logs");
        let server = files_with(&stack.data().join("server"), &token);
        assert_eq!(server, [""; 0], "tokens are stored hashed");
    }
}
