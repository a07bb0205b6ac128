//! Names of MCP tools: server and tool in one word, joined differently by each agent.
//!
//! `mcp__server__tool` can be taken apart. With a single underscore or hyphen it can only if there is just one place to
//! cut: else a rule for the server `memo` might cover the tool of a server `memo_get`, and the tool stays unknown.

use crate::call::Action;

/// The MCP tool that a name stands for; `None` if it is none, or if it could be two.
pub(super) fn mcp_tool(agent: &str, name: &str) -> Option<Action> {
    let (server, tool) = if let Some(rest) = name.strip_prefix("mcp__") {
        rest.split_once("__")?
    } else {
        match agent {
            "gemini" | "qwen" => only_cut(name.strip_prefix("mcp_")?, '_')?,
            // In permission requests a slash; the server's own name may hold hyphens then.
            "copilot" if name.contains('/') => only_cut(name, '/')?,
            "copilot" => only_cut(name, '-')?,
            "kiro" => only_cut(name.strip_prefix('@')?, '/')?,
            _ => return None,
        }
    };
    if server.is_empty() || tool.is_empty() {
        return None;
    }
    Some(Action::Mcp {
        server: server.to_owned(),
        tool: tool.to_owned(),
    })
}

/// Both halves of a text in which the mark occurs once.
fn only_cut(text: &str, mark: char) -> Option<(&str, &str)> {
    let (before, after) = text.split_once(mark)?;
    (!after.contains(mark)).then_some((before, after))
}
