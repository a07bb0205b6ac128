//! Hook payloads as the agents sent them, moved to the test's project, and what the answers mean.

use std::{fs, path::Path};

use serde_json::Value;

use crate::{Output, Stack};

/// The folder of the recorded payloads.
fn recorded(agent: &str, name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/hooks")
        .join(agent)
        .join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

/// Claude Code is about to run a command in the shell.
#[must_use]
pub fn claude_bash(stack: &Stack, command: &str) -> Value {
    let mut payload = recorded("claude", "PreToolUse.Bash.in.json");
    payload["cwd"] = stack.project().to_str().unwrap().into();
    payload["tool_input"]["command"] = command.into();
    payload
}

/// Cursor is about to run a command in the shell.
#[must_use]
pub fn cursor_shell(stack: &Stack, command: &str) -> Value {
    let mut payload = recorded("cursor", "beforeShellExecution.in.json");
    let project = stack.project().to_str().unwrap().to_owned();
    payload["cwd"] = project.as_str().into();
    payload["workspace_roots"] = Value::Array(vec![project.into()]);
    payload["command"] = command.into();
    payload
}

/// The `permissionDecision` of an answer to Claude Code: allow, ask or deny.
#[track_caller]
#[must_use]
pub fn claude_says(answer: &Output) -> String {
    assert_eq!(answer.code, 0, "{}", answer.text());
    let answer = answer.json();
    let specific = &answer["hookSpecificOutput"];
    assert_eq!(specific["hookEventName"], "PreToolUse", "{answer}");
    specific["permissionDecision"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
        .to_owned()
}

/// The `permission` of an answer to Cursor: allow, ask or deny.
#[track_caller]
#[must_use]
pub fn cursor_says(answer: &Output) -> String {
    assert_eq!(answer.code, 0, "{}", answer.text());
    let answer = answer.json();
    answer["permission"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
        .to_owned()
}

impl Stack {
    /// Feeds a payload to `portcullis hook AGENT`.
    #[must_use]
    pub fn hook(&self, agent: &str, payload: &Value) -> Output {
        self.portcullis(["hook", agent]).input(payload.to_string()).output()
    }
}
