//! Cursor: what its events carry, and how it wants to be answered.
//!
//! Cursor enforces an ask only at `beforeShellExecution` and `beforeMCPExecution`. At `preToolUse` for shell and MCP calls
//! an ask is therefore passed on, and the `before…` event that follows decides; everywhere else an ask becomes a deny that
//! says how to get approval. No answer holds a field that its event does not know.

use portcullis_client::{Answer, DecidedBy, Question, Verdict};
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::{Asking, Step, first_of, payload};

/// Events that permit nothing, or nothing that is decided here.
const NEUTRAL: [&str; 14] = [
    "sessionStart",
    "sessionEnd",
    "postToolUse",
    "postToolUseFailure",
    "subagentStop",
    "afterShellExecution",
    "afterMCPExecution",
    "afterFileEdit",
    "preCompact",
    "stop",
    "afterAgentResponse",
    "afterAgentThought",
    "afterTabFileEdit",
    "workspaceOpen",
];

/// In which form an answer is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// What becomes of an ask.
    ask: Ask,
    /// Which messages the event takes.
    messages: Messages,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ask {
    /// A person is asked.
    Enforced,
    /// Nobody is asked here, but by an event that follows.
    PassedOn,
    /// Nobody is asked: deny.
    Denied,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Messages {
    Both,
    User,
    None,
}

const BEFORE: Form = Form {
    ask: Ask::Enforced,
    messages: Messages::Both,
};
const TOOL_WITH_LATER_EVENT: Form = Form {
    ask: Ask::PassedOn,
    messages: Messages::Both,
};
const TOOL: Form = Form {
    ask: Ask::Denied,
    messages: Messages::Both,
};
const FILE: Form = Form {
    ask: Ask::Denied,
    messages: Messages::User,
};
const SILENT: Form = Form {
    ask: Ask::Denied,
    messages: Messages::None,
};

#[derive(Deserialize)]
struct Event {
    hook_event_name: String,
}

#[derive(Deserialize)]
struct Call<'a> {
    conversation_id: Option<String>,
    cursor_version: Option<String>,
    #[serde(default)]
    workspace_roots: Vec<String>,
    cwd: Option<String>,
    tool_name: Option<String>,
    #[serde(borrow)]
    tool_input: Option<&'a RawValue>,
    tool_use_id: Option<String>,
    tool_call_id: Option<String>,
    command: Option<String>,
    mcp_server_name: Option<String>,
    file_path: Option<String>,
    subagent_type: Option<String>,
    task: Option<String>,
}

/// Reads a payload.
pub(super) fn read(text: &str) -> Step {
    let event = match serde_json::from_str::<Event>(text) {
        Ok(event) => event.hook_event_name,
        Err(error) => return Step::Fail(format!("the payload cannot be read: {error}")),
    };
    if event == "beforeSubmitPrompt" {
        return Step::Answer(json!({"continue": true}));
    }
    if NEUTRAL.contains(&event.as_str()) {
        return Step::Answer(json!({}));
    }
    match question(&event, text) {
        Ok((question, form)) => Step::Decide(Box::new(question), super::Form::Cursor(form)),
        Err(Fault::Undecided(reason)) => Step::Fail(reason),
        Err(Fault::Refused(reason)) => Step::Answer(BEFORE.tell("deny", &reason, &reason)),
    }
}

/// Why there is no question.
enum Fault {
    /// The payload cannot be understood.
    Undecided(String),
    /// It cannot be told whose tool this is: denied, as the vendor advises, without asking anybody.
    Refused(String),
}

impl From<String> for Fault {
    fn from(reason: String) -> Self {
        Self::Undecided(reason)
    }
}

fn question(event: &str, text: &str) -> Result<(Question, Form), Fault> {
    let mut call: Call<'_> =
        serde_json::from_str(text).map_err(|error| format!("the payload cannot be read: {error}"))?;
    let (tool, mut input, form) = match event {
        "preToolUse" => {
            let tool = named(call.tool_name.take(), "tool_name")?;
            let form = tool_form(&tool);
            (tool, payload::object(call.tool_input)?, form)
        }
        "beforeShellExecution" => {
            let command = call
                .command
                .take()
                .ok_or_else(|| "the payload has no `command`".to_owned())?;
            ("Shell".to_owned(), fields([("command", command)]), BEFORE)
        }
        "beforeMCPExecution" => {
            let server = named(call.mcp_server_name.take(), "mcp_server_name").map_err(Fault::Refused)?;
            let tool = named(call.tool_name.take(), "tool_name")?;
            let name = mcp_name(&server, &tool).map_err(Fault::Refused)?;
            (name, mcp_input(call.tool_input)?, BEFORE)
        }
        // The content stays here: what is judged is the path.
        "beforeReadFile" => ("Read".to_owned(), file(call.file_path.take())?, FILE),
        "beforeTabFileRead" => ("Read".to_owned(), file(call.file_path.take())?, SILENT),
        "subagentStart" => {
            let kind = call.subagent_type.take().unwrap_or_default();
            let task = call.task.take().unwrap_or_default();
            (
                "Task".to_owned(),
                fields([("subagent_type", kind), ("prompt", task)]),
                SILENT,
            )
        }
        _ => return Err("the event is not known to this version".to_owned().into()),
    };
    payload::without_contents(&tool, &mut input);
    let mut question = Question::tool("cursor", &directory(&call, &input)?, &tool, input);
    question.roots = call.workspace_roots;
    question.session_id = call.conversation_id.unwrap_or_default();
    question.agent_version = call.cursor_version.unwrap_or_default();
    question.tool_use_id = call.tool_use_id.or(call.tool_call_id).unwrap_or_default();
    Ok((question, form))
}

/// In which form `preToolUse` is answered for a tool.
fn tool_form(tool: &str) -> Form {
    if tool == "Shell" || tool.starts_with("MCP:") {
        TOOL_WITH_LATER_EVENT
    } else {
        TOOL
    }
}

fn named(value: Option<String>, field: &str) -> Result<String, String> {
    value
        .filter(|name| !name.trim().is_empty())
        .ok_or_else(|| format!("the payload has no `{field}`"))
}

fn fields<const N: usize>(pairs: [(&str, String); N]) -> Map<String, Value> {
    pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect()
}

fn file(path: Option<String>) -> Result<Map<String, Value>, String> {
    Ok(fields([("file_path", named(path, "file_path")?)]))
}

/// `mcp__server__tool`, as rules name it. A server whose name holds the separator could pass for another one.
fn mcp_name(server: &str, tool: &str) -> Result<String, String> {
    if server.contains("__") || server.starts_with('_') || server.ends_with('_') {
        return Err(format!(
            "the name of the MCP server `{server}` cannot be told apart from another one's"
        ));
    }
    Ok(format!("mcp__{server}__{tool}"))
}

/// The input of an MCP tool: a string that holds JSON.
fn mcp_input(raw: Option<&RawValue>) -> Result<Map<String, Value>, String> {
    let raw = raw.ok_or("the payload has no `tool_input`")?;
    let fault = |error: serde_json::Error| format!("`tool_input` cannot be read: {error}");
    if raw.get().starts_with('{') {
        return serde_json::from_str(raw.get()).map_err(fault);
    }
    let text: String = serde_json::from_str(raw.get()).map_err(fault)?;
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_str(&text).map_err(fault)
}

/// The working directory: the tool's own, the event's, or the first folder of the workspace.
fn directory(call: &Call<'_>, input: &Map<String, Value>) -> Result<String, String> {
    let own = input
        .get("working_directory")
        .and_then(Value::as_str)
        .filter(|own| !own.is_empty());
    let base = call.cwd.as_deref().filter(|cwd| !cwd.is_empty());
    let base = base.or_else(|| call.workspace_roots.first().map(String::as_str));
    match (own, base) {
        (Some(own), _) if own.starts_with('/') => Ok(own.to_owned()),
        (Some(own), Some(base)) if base.starts_with('/') => Ok(format!("{base}/{own}")),
        (None, Some(base)) if base.starts_with('/') => Ok(base.to_owned()),
        _ => Err("the payload names no absolute working directory".to_owned()),
    }
}

impl Form {
    pub(super) fn render(self, answer: &Answer) -> Value {
        let user = first_of(&[&answer.user_message, &answer.agent_message]);
        let agent = first_of(&[&answer.agent_message, &answer.user_message]);
        match answer.verdict() {
            // A hook cannot see to it that Cursor runs a command in our sandbox.
            Verdict::Allow if answer.sandbox_only => {
                let note = "allowed only in the sandbox: run it with `portcullis run -- …`";
                self.ask(&format!("{user} ({note})"), &format!("{agent} ({note})"), answer)
            }
            Verdict::Allow => json!({"permission": "allow"}),
            Verdict::Ask => self.ask(&user, &agent, answer),
            Verdict::Deny => self.tell("deny", &user, &agent),
        }
    }

    fn ask(self, user: &str, agent: &str, answer: &Answer) -> Value {
        // An ask that nobody decided (the server is out of reach) is not left to an event that may not be hooked.
        let undecided = answer.decided_by == DecidedBy::Failure && answer.decision_id.is_none();
        match self.ask {
            Ask::Enforced => return self.tell("ask", user, agent),
            Ask::PassedOn if !undecided => return self.tell("ask", user, agent),
            Ask::PassedOn | Ask::Denied => {}
        }
        // What the agent is told about an ask ("wait for the answer") does not hold here.
        let reason = first_of(&[&answer.user_message, &answer.agent_message]);
        let way = match answer.suggested_rules.first() {
            Some(rule) => format!(
                "to approve it, a person adds the allow rule `{rule}` to .portcullis/local.jsonc in the project, and it is \
                 tried again"
            ),
            None => "a person does it, or allows it in the policy".to_owned(),
        };
        let text = format!("{reason}; Cursor cannot ask a person here: {way}");
        self.tell("deny", &text, &text)
    }

    fn tell(self, permission: &str, user: &str, agent: &str) -> Value {
        match self.messages {
            Messages::Both => json!({"permission": permission, "user_message": user, "agent_message": agent}),
            Messages::User => json!({"permission": permission, "user_message": user}),
            Messages::None => json!({"permission": permission}),
        }
    }
}

/// The answer when nothing could be decided: ask where Cursor enforces it and somebody is there, else deny.
pub(super) fn failure(event: Option<&str>, asking: Asking, reason: &str) -> Value {
    match event {
        Some("beforeSubmitPrompt") => json!({"continue": true}),
        Some(neutral) if NEUTRAL.contains(&neutral) => json!({}),
        Some("beforeShellExecution" | "beforeMCPExecution") => BEFORE.tell(
            if asking == Asking::Impossible { "deny" } else { "ask" },
            reason,
            reason,
        ),
        Some("beforeReadFile") => FILE.tell("deny", reason, reason),
        Some("beforeTabFileRead" | "subagentStart") => SILENT.tell("deny", reason, reason),
        _ => TOOL.tell("deny", reason, reason),
    }
}
