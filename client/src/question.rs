//! The question: one tool call of an agent, in its own words, and where it happens.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use portcullis_policy::{Mode, shell};
use portcullis_proto::{convert::mode_of, v1};
use serde_json::{Map, Value};

/// Whether a person can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Interactivity {
    /// Not known: judged as interactive, except in mode `dontAsk`.
    #[default]
    Unknown,
    /// A person is there.
    Interactive,
    /// Nobody is: an ask becomes a deny.
    Headless,
}

/// One tool call to be decided.
#[derive(Clone)]
pub struct Question {
    /// Short name of the agent, in lower case; 1 to 64 bytes.
    pub agent: String,
    /// Its version; empty if unknown.
    pub agent_version: String,
    /// The agent's session; empty if it has none.
    pub session_id: String,
    /// Its run mode; `None` if not known, which is judged as the default mode.
    pub mode: Option<Mode>,
    /// Absolute path of the file in which the agent keeps its plan; empty if it has none.
    pub plan_file: String,
    /// Whether a person can be asked.
    pub interactivity: Interactivity,
    /// Absolute paths of the folders it works in, the project's root first. Empty stands for the working directory.
    pub roots: Vec<String>,
    /// Absolute path of the working directory.
    pub cwd: String,
    /// Absolute path of the person's home folder; empty if unknown.
    pub home: String,
    /// The tool, as the agent spells it.
    pub tool_name: String,
    /// Its input.
    pub input: Map<String, Value>,
    /// The agent's id of the call; empty if it has none.
    pub tool_use_id: String,
    /// Allow rules from flags of the session.
    pub session_allow: Vec<String>,
    /// Deny rules from flags of the session.
    pub session_deny: Vec<String>,
    /// All configured MCP servers count as approved in this session.
    pub approve_mcp_servers: bool,
    /// Id of the decision by which the same call ran in the sandbox and failed because of it; empty if this is no retry. Never an
    /// allow: a person is asked, and told what the sandbox refused.
    pub retry_of: String,
    pub(crate) execution: Option<Execution>,
}

/// The command that portcullis-sandboxd is to run.
#[derive(Clone)]
pub(crate) struct Execution {
    pub(crate) argv: Vec<String>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) trial: bool,
}

impl Question {
    /// A call of a tool.
    #[must_use]
    pub fn tool(agent: &str, cwd: &str, tool_name: &str, input: Map<String, Value>) -> Self {
        Self {
            agent: agent.to_owned(),
            agent_version: String::new(),
            session_id: String::new(),
            mode: None,
            plan_file: String::new(),
            interactivity: Interactivity::Unknown,
            roots: Vec::new(),
            cwd: cwd.to_owned(),
            home: home(),
            tool_name: tool_name.to_owned(),
            input,
            tool_use_id: String::new(),
            session_allow: Vec::new(),
            session_deny: Vec::new(),
            approve_mcp_servers: false,
            retry_of: String::new(),
            execution: None,
        }
    }

    /// A shell line, understood as bash: a call of the agent's own tool for that.
    #[must_use]
    pub fn shell(agent: &str, cwd: &str, line: &str) -> Self {
        let input = Map::from_iter([("command".to_owned(), Value::from(line))]);
        Self::tool(agent, cwd, portcullis_policy::call::shell_tool(agent), input)
    }

    /// A command that is to be run by [`crate::Host::run`] if it is allowed: these words, not a shell line.
    #[must_use]
    pub fn command(agent: &str, cwd: &str, argv: Vec<String>, timeout: Option<Duration>) -> Self {
        let mut question = Self::shell(agent, cwd, &shell::quote(&argv));
        question.execution = Some(Execution {
            argv,
            timeout,
            trial: false,
        });
        question
    }

    /// The same call as a retry outside of the sandbox: see [`Question::retry_of`].
    #[must_use]
    pub fn retrying(mut self, decision_id: &str) -> Self {
        decision_id.clone_into(&mut self.retry_of);
        self
    }

    /// A command that is to be tried under a sandbox policy (the keys of `sandbox.json`) without being judged. The team may forbid
    /// it; it is recorded with the policy.
    #[must_use]
    pub fn trial(cwd: &str, argv: Vec<String>, timeout: Option<Duration>, policy: Map<String, Value>) -> Self {
        let mut question = Self::command("cli", cwd, argv, timeout);
        question.input.insert("sandbox".to_owned(), Value::Object(policy));
        if let Some(execution) = &mut question.execution {
            execution.trial = true;
        }
        question
    }

    pub(crate) fn to_wire(&self) -> v1::DecideRequest {
        let roots = if self.roots.is_empty() {
            vec![self.cwd.clone()]
        } else {
            self.roots.clone()
        };
        v1::DecideRequest {
            request_id: uuid::Uuid::now_v7().to_string(),
            agent: Some(v1::Agent {
                name: self.agent.clone(),
                version: self.agent_version.clone(),
            }),
            session_id: self.session_id.clone(),
            mode: mode_to_wire(self.mode).into(),
            plan_file: self.plan_file.clone(),
            interactivity: match self.interactivity {
                Interactivity::Unknown => v1::Interactivity::Unspecified,
                Interactivity::Interactive => v1::Interactivity::Interactive,
                Interactivity::Headless => v1::Interactivity::Headless,
            }
            .into(),
            workspace: Some(v1::Workspace {
                roots,
                cwd: self.cwd.clone(),
                home: self.home.clone(),
            }),
            call: Some(v1::ToolCall {
                tool_name: self.tool_name.clone(),
                input_json: Value::Object(self.input.clone()).to_string().into_bytes(),
                tool_use_id: self.tool_use_id.clone(),
            }),
            session_rules: (!self.session_allow.is_empty()
                || !self.session_deny.is_empty()
                || self.approve_mcp_servers)
                .then(|| v1::SessionRules {
                    allow: self.session_allow.clone(),
                    deny: self.session_deny.clone(),
                    approve_mcp_servers: self.approve_mcp_servers,
                }),
            execution: self.execution.as_ref().map(|execution| v1::Execution {
                argv: execution.argv.clone(),
                timeout: execution
                    .timeout
                    .and_then(|timeout| prost_types::Duration::try_from(timeout).ok()),
                trial: execution.trial,
            }),
            facts: None,
            retry_of: self.retry_of.clone(),
        }
    }
}

impl std::fmt::Debug for Question {
    /// Without the input, which may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Question")
            .field("agent", &self.agent)
            .field("cwd", &self.cwd)
            .field("tool_name", &self.tool_name)
            .finish_non_exhaustive()
    }
}

fn mode_to_wire(mode: Option<Mode>) -> v1::Mode {
    mode.map_or(v1::Mode::Unspecified, mode_of)
}

fn home() -> String {
    std::env::var("HOME")
        .ok()
        .filter(|home| Path::new(home).is_absolute())
        .unwrap_or_default()
}

/// The project around a folder: the nearest folder at or above it that holds `.git`, if that one belongs to this user
/// and is neither the home folder nor above it; else the folder itself.
///
/// Ownership counts because anybody may put a `.git` into `/tmp`, and a workspace is what a command may write.
#[must_use]
pub fn project_root(cwd: &Path) -> PathBuf {
    use std::os::unix::fs::MetadataExt as _;
    let me = rustix::process::geteuid().as_raw();
    let home = home();
    cwd.ancestors()
        .take_while(|folder| folder.parent().is_some() && !Path::new(&home).starts_with(folder))
        .find(|folder| {
            let mine = |path: &Path| std::fs::symlink_metadata(path).is_ok_and(|file| file.uid() == me);
            mine(&folder.join(".git")) && mine(folder)
        })
        .unwrap_or(cwd)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_asked_as_its_quoting() {
        let argv = vec!["echo".to_owned(), "a b".to_owned()];
        let wire = Question::command("cli", "/w", argv.clone(), Some(Duration::from_secs(2))).to_wire();
        let call = wire.call.unwrap();
        assert_eq!(call.tool_name, "Bash");
        assert_eq!(call.input_json, br#"{"command":"echo 'a b'"}"#);
        let execution = wire.execution.unwrap();
        assert_eq!(execution.argv, argv);
        assert_eq!(execution.timeout.unwrap().seconds, 2);
        assert_eq!(wire.workspace.unwrap().roots, ["/w"]);
        assert_eq!(wire.retry_of, "");
        let again = Question::shell("cli", "/w", "echo 'a b'").retrying("id").to_wire();
        assert_eq!(again.call.unwrap().input_json, br#"{"command":"echo 'a b'"}"#);
        assert_eq!(again.retry_of, "id");
    }

    #[test]
    fn a_shell_line_is_asked_with_the_agents_own_tool() {
        let tool = |agent: &str| Question::shell(agent, "/w", "ls").to_wire().call.unwrap().tool_name;
        assert_eq!(
            ["cli", "cursor", "gemini"].map(tool),
            ["Bash", "Shell", "run_shell_command"]
        );
    }

    #[test]
    fn the_project_is_the_nearest_repository_or_the_folder_itself() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        assert_eq!(project_root(&inner), inner);
        std::fs::create_dir(folder.path().join("a/.git")).unwrap();
        assert_eq!(project_root(&inner), folder.path().join("a"));
    }
}
