//! Claude Code: what its events carry, and how it wants to be answered.
//!
//! Three events permit something. `PreToolUse` and `PreSkillShellCommand` take allow, ask and deny; `PermissionRequest`
//! answers a question that a person is being asked, so an ask is told by leaving it to the person. All other events are
//! answered with `{}`. The answer must name its event, or Claude Code ignores it.

use portcullis_client::{Answer, Mode, Question, Verdict, question::Interactivity};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{Asking, Step, first_of, payload};

/// Events that permit nothing, or nothing that is decided here.
const NEUTRAL: [&str; 31] = [
    "PermissionDenied",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "SessionStart",
    "SessionEnd",
    "Setup",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "Notification",
    "TaskCreated",
    "TaskCompleted",
    "TeammateIdle",
    "Elicitation",
    "ElicitationResult",
    "ConfigChange",
    "InstructionsLoaded",
    "CwdChanged",
    "FileChanged",
    "DirectoryAdded",
    "WorktreeCreate",
    "WorktreeRemove",
    "MessageDisplay",
    "PreModelSwitch",
    "PostModelSwitch",
];

/// In which form an answer is told.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `PreToolUse` or `PreSkillShellCommand`.
    Gate(&'static str),
    /// `PermissionRequest`.
    Prompt,
}

#[derive(Deserialize)]
struct Event {
    hook_event_name: String,
}

#[derive(Deserialize)]
struct Call<'a> {
    session_id: Option<String>,
    cwd: Option<String>,
    permission_mode: Option<String>,
    tool_name: Option<String>,
    tool_use_id: Option<String>,
    #[serde(borrow)]
    tool_input: Option<&'a RawValue>,
}

/// Reads a payload.
pub(super) fn read(text: &str) -> Step {
    let event = match serde_json::from_str::<Event>(text) {
        Ok(event) => event.hook_event_name,
        Err(error) => return Step::Fail(format!("the payload cannot be read: {error}")),
    };
    let form = match event.as_str() {
        "PreToolUse" => Form::Gate("PreToolUse"),
        "PreSkillShellCommand" => Form::Gate("PreSkillShellCommand"),
        "PermissionRequest" => Form::Prompt,
        neutral if NEUTRAL.contains(&neutral) => return Step::Answer(json!({})),
        _ => return Step::Fail("the event is not known to this version".to_owned()),
    };
    match question(text) {
        Ok(question) => Step::Decide(Box::new(question), super::Form::Claude(form)),
        Err(reason) => Step::Fail(reason),
    }
}

fn question(text: &str) -> Result<Question, String> {
    let call: Call<'_> = serde_json::from_str(text).map_err(|error| format!("the payload cannot be read: {error}"))?;
    let tool = call
        .tool_name
        .filter(|name| !name.is_empty())
        .ok_or("the payload has no `tool_name`")?;
    let cwd = call
        .cwd
        .filter(|cwd| cwd.starts_with('/'))
        .ok_or("the payload's `cwd` is no absolute path")?;
    let mut input = payload::object(call.tool_input)?;
    payload::without_contents(&tool, &mut input);
    let mut question = Question::tool("claude", &cwd, &tool, input);
    question.session_id = call.session_id.unwrap_or_default();
    question.tool_use_id = call.tool_use_id.unwrap_or_default();
    // A mode that is not known here is judged as the default one: it asks.
    question.mode = call.permission_mode.and_then(|mode| mode.parse().ok());
    if question.mode == Some(Mode::DontAsk) {
        question.interactivity = Interactivity::Headless;
    }
    // Claude Code tells its hooks where the session was started; `cwd` follows the session around.
    if let Some(root) = std::env::var("CLAUDE_PROJECT_DIR")
        .ok()
        .filter(|root| root.starts_with('/'))
    {
        question.roots = vec![root];
    }
    Ok(question)
}

impl Form {
    pub(super) fn render(&self, answer: &Answer) -> Value {
        let (verdict, person) = effective(answer);
        let model = first_of(&[&answer.agent_message, &answer.user_message]);
        match (self, verdict) {
            (Self::Gate(event), Verdict::Allow) => gate(event, "allow", &person),
            (Self::Gate(event), Verdict::Ask) => gate(event, "ask", &person),
            // The reason of a denial is read by the model, which should learn what to do instead.
            (Self::Gate(event), Verdict::Deny) => gate(event, "deny", &model),
            (Self::Prompt, Verdict::Allow) => prompt(&json!({"behavior": "allow"})),
            (Self::Prompt, Verdict::Deny) => prompt(&json!({"behavior": "deny", "message": model})),
            (Self::Prompt, Verdict::Ask) => json!({}),
        }
    }
}

/// The verdict as far as it can be kept here, and the reason for the person: a hook cannot see to it that Claude Code runs
/// a command in our sandbox, so an allow that depends on it asks.
fn effective(answer: &Answer) -> (Verdict, String) {
    let person = first_of(&[&answer.user_message, &answer.agent_message]);
    if answer.verdict() == Verdict::Allow && answer.sandbox_only {
        return (
            Verdict::Ask,
            format!("{person} (allowed only in the sandbox: run it with `portcullis run -- …`)"),
        );
    }
    (answer.verdict(), person)
}

fn gate(event: &str, decision: &str, reason: &str) -> Value {
    json!({"hookSpecificOutput": {
        "hookEventName": event,
        "permissionDecision": decision,
        "permissionDecisionReason": reason,
    }})
}

fn prompt(decision: &Value) -> Value {
    json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}})
}

/// The answer when nothing could be decided: ask, or deny where nobody can be asked.
pub(super) fn failure(event: Option<&str>, asking: Asking, reason: &str) -> Value {
    match event {
        Some("PermissionRequest") if asking == Asking::Impossible => {
            prompt(&json!({"behavior": "deny", "message": reason}))
        }
        // The person is being asked already.
        Some("PermissionRequest") => json!({}),
        Some(neutral) if NEUTRAL.contains(&neutral) => json!({}),
        // An event of a later version is answered under its own name: under another one the answer would be ignored.
        event => gate(
            event.filter(|name| payload::is_name(name)).unwrap_or("PreToolUse"),
            if asking == Asking::Impossible { "deny" } else { "ask" },
            reason,
        ),
    }
}
