//! What an agent wants to do, as a closed set of actions.
//!
//! Every agent names its tools differently; rules are written once. This module turns an agent's own words (tool name and
//! JSON input) into an [`Action`]. What it does not know becomes [`Action::Other`], which no rule for something narrower
//! ever allows. It does not judge, and it does not look into shell lines: see [`crate::shell`].

mod normalise;

use std::fmt;

pub use normalise::{InvalidCall, normalise, shell_tool, working_directory};

/// A tool call: the agent's words and what they mean.
#[derive(Clone, PartialEq)]
pub struct ToolCall {
    /// The tool's name as the agent spells it.
    pub tool_name: String,
    /// The input as the agent sent it. Raw: never stored, never logged.
    pub input: serde_json::Map<String, serde_json::Value>,
    /// What it means.
    pub action: Action,
}

impl fmt::Debug for ToolCall {
    /// Without the input, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall")
            .field("tool_name", &self.tool_name)
            .finish_non_exhaustive()
    }
}

/// What a tool call does. Paths are as the agent wrote them, not yet anchored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Runs a shell line, understood as bash.
    Shell {
        /// The line.
        command: String,
    },
    /// Reads a file.
    Read {
        /// The file.
        path: String,
    },
    /// Creates or changes files.
    Edit {
        /// The files; never empty.
        paths: Vec<String>,
    },
    /// Deletes files.
    Delete {
        /// The files; never empty.
        paths: Vec<String>,
    },
    /// Fetches from the network.
    Fetch {
        /// The addresses; never empty.
        urls: Vec<String>,
    },
    /// Searches.
    Search(Search),
    /// Calls a tool of an MCP server.
    Mcp {
        /// The server's configured name.
        server: String,
        /// The tool's name there.
        tool: String,
    },
    /// Starts another agent.
    Agent {
        /// Its type; empty if none was named.
        kind: String,
    },
    /// Runs a skill.
    Skill {
        /// Its name.
        name: String,
        /// Its arguments; empty if none.
        arguments: String,
    },
    /// Drives a browser.
    Browser {
        /// Where it is sent; `None` for an act on the page that is open.
        url: Option<String>,
    },
    /// Leaves plan mode: always a person's choice.
    LeavePlan,
    /// Keeps to the agent itself (a list of things to do, entering plan mode): touches nothing.
    Internal,
    /// A tool we do not know.
    Other,
}

/// Where a search looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Search {
    /// In files.
    Files {
        /// The folder; `None` = the working directory.
        path: Option<String>,
        /// The file pattern, where the tool takes one: it may lead elsewhere (`/etc/*`, `../**`).
        pattern: Option<String>,
    },
    /// On the web.
    Web {
        /// The words.
        query: String,
    },
}
