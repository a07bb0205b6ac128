//! What the host read about an MCP server in the agent's own configuration.
//!
//! The name in a call says nothing about what runs under it: anybody who may write a configuration can put another
//! command behind a name that people trust. So the command, or the address, is read by the host, and approved as it stands.

use std::{collections::BTreeSet, fmt};

use crate::{redact, shell};

/// Most characters of a command or an address that a message shows.
const MAX_SHOWN: usize = 160;

/// One definition of a server. A name can have several, in several files; which one the agent takes is for it to decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServer {
    /// Its configured name.
    pub name: String,
    /// How it is started or reached.
    pub launch: Launch,
    /// Who configured it.
    pub place: ConfiguredIn,
    /// The file, for people.
    pub file: String,
    /// Its tools that are known to read only.
    pub read_only_tools: BTreeSet<String>,
    /// Whether the person at the host approved it.
    pub approval: Approval,
}

/// How a server is started or reached.
#[derive(Clone, PartialEq, Eq, Default)]
pub enum Launch {
    /// The definition says nothing that is understood.
    #[default]
    Unknown,
    /// A program of this host.
    Command {
        /// The program and its arguments. Raw: they may hold secrets.
        words: Vec<String>,
        /// Names of variables that its definition sets and that change what runs, such as `NODE_OPTIONS`.
        environment: Vec<String>,
    },
    /// An address. Raw: it may hold secrets.
    Url(String),
}

/// Who configured a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ConfiguredIn {
    /// The project, for everybody who works on it.
    Project,
    /// This person, for this project.
    Local,
    /// This person, everywhere.
    User,
    /// Whoever administers the host: a file that only root can write.
    Managed,
}

/// What the person at a host said about a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Approval {
    /// Nothing.
    #[default]
    None,
    /// They approved the name with another command or address.
    Changed,
    /// The agent's own settings switch the server off.
    Disabled,
    /// They approved it as it is.
    Given,
}

impl Launch {
    /// What people read: redacted and shortened.
    #[must_use]
    pub fn shown(&self) -> String {
        let whole = match self {
            Self::Unknown => return "an unknown command".to_owned(),
            Self::Command { words, .. } => {
                let words = words.iter().cloned().map(serde_json::Value::String).collect();
                let redacted = redact::json(&serde_json::Value::Array(words));
                let words: Vec<String> = redacted
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|word| word.as_str().map(str::to_owned))
                    .collect();
                format!("command `{}`", redact::text(&shell::quote(&words)))
            }
            Self::Url(url) => {
                let path = url.split(['?', '#']).next().unwrap_or_default();
                let (scheme, rest) = path.split_once("://").unwrap_or(("", path));
                let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
                format!("address `{}`", redact::text(&format!("{scheme}://{host}{path}")))
            }
        };
        let whole: String = whole.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        match whole.char_indices().nth(MAX_SHOWN) {
            Some((at, _)) => format!("{}…`", whole.get(..at).unwrap_or_default()),
            None => whole,
        }
    }
}

impl fmt::Debug for Launch {
    /// As people may read it: arguments hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

impl fmt::Display for ConfiguredIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Project => "project",
            Self::Local => "local",
            Self::User => "user",
            Self::Managed => "managed",
        })
    }
}

/// A name as it stands in a tool's name: agents replace what cannot stand there.
#[must_use]
pub fn plain_name(name: &str) -> String {
    name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_holds_no_secret() {
        for (launch, shown) in [
            (
                Launch::Command {
                    words: ["npx", "-y", "srv", "--token", "hunter2hunter2"]
                        .map(str::to_owned)
                        .to_vec(),
                    environment: Vec::new(),
                },
                "hunter2",
            ),
            (
                Launch::Url("https://me:hunter2@a.example/mcp?key=hunter2#hunter2".to_owned()),
                "hunter2",
            ),
        ] {
            let text = launch.shown();
            assert!(!text.contains(shown), "{text}");
            assert_eq!(format!("{launch:?}"), text);
        }
        let url = Launch::Url("https://me:pw@a.example:8443/mcp?key=x".to_owned());
        assert_eq!(url.shown(), "address `https://a.example:8443/mcp`");
        let long = Launch::Command {
            words: vec!["é".repeat(1000)],
            environment: Vec::new(),
        };
        assert!(long.shown().chars().count() < 200);
    }
}
