//! The permission files of the agents themselves: read live, as real files of a real home and project.

use std::fs;

use portcullis_tests::{
    Policy, Stack,
    hook::{claude_bash, claude_says, cursor_says, cursor_shell},
};
use serde_json::json;

fn stack() -> Stack {
    let stack = Stack::start();
    stack.push_team(&Policy::new());
    stack
}

fn write_home(stack: &Stack, name: &str, text: &str) {
    let file = stack.home().join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn claude(stack: &Stack, command: &str) -> String {
    claude_says(&stack.hook("claude", &claude_bash(stack, command)))
}

/// What Cursor is told; a version with a year is that of the program for the command line.
fn cursor(stack: &Stack, version: &str, command: &str) -> String {
    let mut payload = cursor_shell(stack, command);
    payload["cursor_version"] = version.into();
    cursor_says(&stack.hook("cursor", &payload))
}

#[test]
fn claudes_own_settings_count_for_claude_and_for_nobody_else() {
    let stack = stack();
    assert_eq!(claude(&stack, "make test"), "ask", "no rule yet");
    let settings = json!({"permissions": {
        "allow": ["Bash(make *)"], "ask": ["Bash(make install)"], "deny": ["Bash(make clean)"],
    }});
    write_home(&stack, ".claude/settings.json", &settings.to_string());
    assert_eq!(claude(&stack, "make test"), "allow");
    assert_eq!(claude(&stack, "make install"), "ask");
    assert_eq!(claude(&stack, "make clean"), "deny");
    assert_eq!(
        cursor(&stack, "3.18.25", "make clean"),
        "ask",
        "Cursor has files of its own"
    );
    stack.push_team(&Policy::new().deny("Bash(make test)"));
    assert_eq!(claude(&stack, "make test"), "deny", "the team stands above");
}

#[test]
fn a_projects_settings_allow_only_where_the_project_is_trusted() {
    let stack = stack();
    let settings = json!({"permissions": {"allow": ["Bash(make *)"], "deny": ["Bash(make clean)"]}});
    stack.write_project_file(".claude/settings.json", &settings.to_string());
    let local = json!({"permissions": {"allow": ["Bash(cargo *)"]}});
    stack.write_project_file(".claude/settings.local.json", &local.to_string());
    assert_eq!(claude(&stack, "make test"), "ask");
    assert_eq!(claude(&stack, "make clean"), "deny", "an untrusted project may narrow");
    stack.trust_project();
    assert_eq!(claude(&stack, "make test"), "allow");
    assert_eq!(claude(&stack, "cargo build"), "allow");
    assert_eq!(claude(&stack, "make clean"), "deny");
}

#[test]
fn an_entry_that_the_agent_would_ignore_allows_nothing_and_breaks_nothing() {
    let stack = stack();
    let settings = json!({"permissions": {"allow": ["bash(make *)", "Write(src/**)", "Bash(make test)"]}});
    write_home(&stack, ".claude/settings.json", &settings.to_string());
    assert_eq!(claude(&stack, "make test"), "allow");
    assert_eq!(claude(&stack, "make install"), "ask");
}

#[test]
fn a_file_that_cannot_be_read_allows_nothing_and_is_named() {
    let stack = stack();
    stack.push_team(&Policy::new().allow("Bash(make *)"));
    assert_eq!(claude(&stack, "make test"), "allow", "positive control");
    write_home(
        &stack,
        ".claude/settings.json",
        r#"{"permissions": {"deny": ["Bash(make cl"#,
    );
    let answer = stack.hook("claude", &claude_bash(&stack, "make test"));
    assert_eq!(claude_says(&answer), "ask");
    assert!(answer.stdout.contains(".claude/settings.json"), "{}", answer.stdout);
}

#[test]
fn cursors_two_programs_have_their_own_files() {
    let stack = stack();
    let cli = json!({"permissions": {"allow": ["Shell(make)"], "deny": ["Shell(make:clean*)"]}});
    write_home(&stack, ".cursor/cli-config.json", &cli.to_string());
    write_home(
        &stack,
        ".cursor/permissions.json",
        r#"{"terminalAllowlist": ["cargo test",], /* and no more */ }"#,
    );
    assert_eq!(cursor(&stack, "2026.09.18", "make test"), "allow");
    assert_eq!(cursor(&stack, "2026.09.18", "make clean"), "deny");
    assert_eq!(cursor(&stack, "3.18.25", "make test"), "ask");
    let desktop = |command: &str| {
        let answer = stack
            .portcullis(["hook", "--permission-mode", "allowlist", "cursor"])
            .input(cursor_shell(&stack, command).to_string())
            .output();
        cursor_says(&answer)
    };
    assert_eq!(desktop("cargo test --all"), "allow");
    assert_eq!(desktop("cargo build"), "ask");
    assert_eq!(desktop("ls"), "ask", "the list names all that runs");
}
