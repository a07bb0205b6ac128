//! From an agent's words to an [`Action`](super::Action).

use super::{Action, ToolCall};

/// The input does not fit the tool it names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot understand the input of tool `{tool}`: {fault}")]
pub struct InvalidCall {
    /// The tool.
    pub tool: String,
    /// What is wrong, naming the field.
    pub fault: String,
}

/// Turns an agent's words into a [`ToolCall`].
///
/// `agent` is the agent's short name; it settles spellings that two agents use differently (`mcp_a_b_c`, `srv-tool`).
///
/// # Errors
/// If the tool is one we know and its input lacks the field that says what it acts on. An unknown tool is no error.
pub fn normalise(
    _agent: &str,
    tool_name: &str,
    input: serde_json::Map<String, serde_json::Value>,
) -> Result<ToolCall, InvalidCall> {
    let action = match (tool_name, input.get("command").and_then(serde_json::Value::as_str)) {
        ("Bash", Some(command)) => Action::Shell {
            command: command.to_owned(),
        },
        _ => Action::Other,
    };
    Ok(ToolCall {
        tool_name: tool_name.to_owned(),
        input,
        action,
    })
}
