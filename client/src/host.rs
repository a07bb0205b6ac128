//! portcullis-sandboxd on this host: decisions, runs, and the host's own state.

use std::{path::PathBuf, time::Duration};

use portcullis_policy::decision::FailureVerdict;
use portcullis_proto::{
    MAX_REQUEST_BYTES,
    v1::{
        self, decision_service_client::DecisionServiceClient, host_service_client::HostServiceClient,
        sandbox_service_client::SandboxServiceClient,
    },
};
use serde::Serialize;
use tonic::transport::Channel;

use crate::{
    Answer, CallError, ConnectError, Permit, Places, Question, Running, Token,
    connect::{self, Link},
    run::{self, Here},
    streams, terminal,
};

/// How to reach portcullis-sandboxd.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// Its socket.
    pub socket: PathBuf,
    /// The file with the agent's token.
    pub token_file: PathBuf,
    /// Longest wait for the connection, and for each answer.
    pub deadline: Duration,
}

impl HostOptions {
    /// 5 seconds: sandboxd itself answers after 4 what the server has not answered by then.
    pub const DEADLINE: Duration = Duration::from_secs(5);

    /// As laid out in the data directory.
    #[must_use]
    pub fn new(places: &Places) -> Self {
        Self {
            socket: places.socket(),
            token_file: places.agent_token(),
            deadline: Self::DEADLINE,
        }
    }
}

/// A connection to portcullis-sandboxd. When it is lost, connect again.
#[derive(Clone, Debug)]
pub struct Host {
    link: Link,
    socket: PathBuf,
}

/// How the host is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostStatus {
    /// Version of portcullis-sandboxd.
    pub version: String,
    /// Fingerprint of the host's key.
    pub host_id: String,
    /// Address of the server.
    pub server: String,
    /// Why the server does not answer; `None` if it does.
    pub server_failure: Option<String>,
    /// What the sandbox enforces.
    pub enforcement: Enforcement,
    /// Commands that run now.
    pub running: u32,
    /// Outcomes not yet delivered to the server.
    pub undelivered_outcomes: u32,
}

/// How much of a sandbox a host enforces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Enforcement {
    /// Full, partial or none.
    pub status: EnforcementStatus,
    /// Mechanisms in force.
    pub mechanisms: Vec<String>,
    /// What is missing, with the reason.
    pub missing: Vec<String>,
    /// Landlock ABI of the kernel; 0 = none.
    pub landlock_abi: u32,
    /// Limits that are wanted and that this host does not hold, with the reason. They are no walls: the command runs.
    pub unheld_limits: Vec<String>,
    /// Which sandbox it is: `full`, `without_user_namespace`, `without_landlock`, `without_namespaces` or
    /// `none`.
    pub tier: &'static str,
}

/// Full, partial or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EnforcementStatus {
    /// Everything that was asked for.
    Full,
    /// Some of it.
    Partial,
    /// Nothing, or nothing that is known.
    None,
}

impl From<v1::Enforcement> for Enforcement {
    fn from(wire: v1::Enforcement) -> Self {
        Self {
            tier: match wire.tier() {
                v1::SandboxTier::Full => "full",
                v1::SandboxTier::WithoutLandlock => "without_landlock",
                v1::SandboxTier::WithoutUserNamespace => "without_user_namespace",
                v1::SandboxTier::WithoutNamespaces => "without_namespaces",
                v1::SandboxTier::None | v1::SandboxTier::Unspecified => "none",
            },
            status: match wire.status() {
                v1::EnforcementStatus::Full => EnforcementStatus::Full,
                v1::EnforcementStatus::Partial => EnforcementStatus::Partial,
                v1::EnforcementStatus::None | v1::EnforcementStatus::Unspecified => EnforcementStatus::None,
            },
            mechanisms: wire.mechanisms,
            missing: wire.missing,
            landlock_abi: wire.landlock_abi,
            unheld_limits: wire.unheld_limits,
        }
    }
}

/// One definition of an MCP server in an agent's configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct McpServer {
    /// Its configured name.
    pub name: String,
    /// The agents that read it.
    pub agents: Vec<String>,
    /// What it starts or where it is, redacted and shortened.
    pub launch: String,
    /// Who configured it.
    pub configured_in: McpPlace,
    /// The file.
    pub file: String,
    /// Whether it is approved.
    pub approval: McpApproval,
    /// What an approval is for; `None` if nobody can approve it, as it is not understood.
    pub digest: Option<String>,
}

/// Who configured an MCP server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum McpPlace {
    /// Whoever administers the host.
    Managed,
    /// This person, everywhere.
    User,
    /// This person, for this project.
    Local,
    /// The project, or somebody who is not known.
    Project,
}

/// What the person at the host said about a definition of an MCP server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum McpApproval {
    /// They approved it as it is.
    Given,
    /// They approved its name with another command or address.
    Changed,
    /// The agent's own settings switch it off.
    Disabled,
    /// Nothing.
    None,
}

impl From<v1::McpServerStatus> for McpServer {
    fn from(wire: v1::McpServerStatus) -> Self {
        Self {
            configured_in: match wire.configured_in() {
                v1::ConfiguredIn::Managed => McpPlace::Managed,
                v1::ConfiguredIn::User => McpPlace::User,
                v1::ConfiguredIn::Local => McpPlace::Local,
                v1::ConfiguredIn::Project | v1::ConfiguredIn::Unspecified => McpPlace::Project,
            },
            approval: match wire.approval() {
                v1::McpApproval::Given => McpApproval::Given,
                v1::McpApproval::Changed => McpApproval::Changed,
                v1::McpApproval::Disabled => McpApproval::Disabled,
                v1::McpApproval::Unspecified => McpApproval::None,
            },
            name: wire.name,
            agents: wire.agents,
            launch: wire.launch,
            file: wire.file,
            digest: Some(wire.digest).filter(|digest| !digest.is_empty()),
        }
    }
}

/// Why a command with this program's own streams did not begin.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The streams cannot be handed over.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// It was refused, or sandboxd did not begin in time.
    #[error(transparent)]
    Call(#[from] CallError),
    /// There is no socket for the command's terminal.
    #[error("cannot make a socket for the command's terminal")]
    Terminal(#[source] std::io::Error),
}

/// What a person can choose about the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxChoice {
    /// It stands for questions where the mode says so.
    Enabled,
    /// It stands for no question.
    Disabled,
}

/// What holds about the sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SandboxState {
    /// What the person has chosen; `None` = nothing.
    pub choice: Option<SandboxChoice>,
    /// How much of the workspace a command may change, in the words of `sandbox.json`; `insecure_none`: the sandbox stands for no
    /// question. `None` if it cannot be found out.
    pub r#type: Option<String>,
    /// What the team alone says about that; `None` = nothing.
    pub team_type: Option<String>,
    /// Whether policies may be tried; `None` if it cannot be found out.
    pub trials_allowed: Option<bool>,
    /// What could not be found out, and why.
    pub failure: Option<String>,
    /// What this host's sandbox enforces.
    pub enforcement: Enforcement,
    /// The file in which the choice is kept.
    pub file: String,
}

impl From<v1::GetSandboxResponse> for SandboxState {
    fn from(wire: v1::GetSandboxResponse) -> Self {
        let said = |text: String| Some(text).filter(|text| !text.is_empty());
        let choice = match wire.choice() {
            v1::SandboxChoice::Unspecified => None,
            v1::SandboxChoice::Enabled => Some(SandboxChoice::Enabled),
            v1::SandboxChoice::Disabled => Some(SandboxChoice::Disabled),
        };
        let trials_allowed = wire.in_force.as_ref().map(|in_force| in_force.trials_allowed);
        let in_force = wire.in_force.unwrap_or_default();
        Self {
            choice,
            r#type: said(in_force.r#type),
            team_type: said(in_force.team_type),
            trials_allowed,
            failure: said(wire.failure),
            enforcement: wire.enforcement.unwrap_or_default().into(),
            file: wire.file,
        }
    }
}

impl Host {
    /// Connects, after checking that the socket and who listens there belong to this user or root.
    ///
    /// # Errors
    /// If there is no token, nobody listens, or somebody else does.
    pub async fn connect(options: &HostOptions) -> Result<Self, ConnectError> {
        let token = Token::read(&options.token_file)?;
        let link = connect::unix(&options.socket, token, options.deadline).await?;
        Ok(Self {
            link,
            socket: options.socket.clone(),
        })
    }

    /// Asks for a decision, which is recorded before it is given.
    ///
    /// # Errors
    /// If there is no answer that can be used. A deny is an answer, not an error.
    pub async fn decide(&self, question: &Question) -> Result<Answer, CallError> {
        let request = self.link.request(question.to_wire());
        let wire = self
            .link
            .answer(async { self.decisions().decide(request).await })
            .await?;
        Answer::from_wire(wire, question).map_err(|fault| self.link.unusable(fault))
    }

    /// Asks for a decision; what goes wrong becomes the given answer, with the reason.
    pub async fn decide_or(&self, question: &Question, fail_mode: FailureVerdict) -> Answer {
        match self.decide(question).await {
            Ok(answer) => answer,
            Err(error) => Answer::failure(fail_mode, &crate::error::chain(&error)),
        }
    }

    /// Asks what the decision would be. Records nothing and grants nothing.
    ///
    /// # Errors
    /// If there is no answer that can be used.
    pub async fn explain(&self, question: &Question) -> Result<Answer, CallError> {
        let request = self.link.request(v1::ExplainRequest {
            request: Some(question.to_wire()),
        });
        let wire = self
            .link
            .answer(async { self.decisions().explain(request).await })
            .await?;
        Answer::from_explanation(wire).map_err(|fault| self.link.unusable(fault))
    }

    /// Runs the command that was allowed, in its sandbox. `environment` is what to pass on of the caller's variables;
    /// what the permit does not name stays behind.
    ///
    /// # Errors
    /// If the ticket is refused or sandboxd does not begin in time.
    pub async fn run(
        &self,
        permit: Permit,
        environment: impl IntoIterator<Item = (std::ffi::OsString, std::ffi::OsString)>,
    ) -> Result<Running, CallError> {
        let start = run::start(permit, environment);
        Running::start(self.sandbox(), self.link.clone(), start).await
    }

    /// Runs the command that was allowed with this program's own standard streams, or with a terminal of its own. Nothing of the
    /// command's output comes as an event, and no limit on output holds. With `describe`, [`run::Started`] lists paths.
    ///
    /// # Errors
    /// As [`Self::run`], and if the streams cannot be handed over.
    pub async fn run_here(
        &self,
        permit: Permit,
        environment: impl IntoIterator<Item = (std::ffi::OsString, std::ffi::OsString)>,
        describe: bool,
        here: Here,
    ) -> Result<Running, RunError> {
        let start = v1::RunStart {
            describe,
            ..run::start(permit, environment)
        };
        self.start_here(start, here).await
    }

    /// The same for the ticket with this handle, which must be for exactly this command in this folder.
    ///
    /// # Errors
    /// As [`Self::run_here`].
    pub async fn redeem(
        &self,
        handle: String,
        argv: Vec<String>,
        cwd: String,
        environment: impl IntoIterator<Item = (std::ffi::OsString, std::ffi::OsString)>,
        here: Here,
    ) -> Result<Running, RunError> {
        let start = v1::RunStart {
            handle,
            argv,
            cwd,
            // Which of them are passed on says the ticket, which is with the daemon.
            environment: run::passed_on(&["*".to_owned()], environment),
            ..v1::RunStart::default()
        };
        self.start_here(start, here).await
    }

    async fn start_here(&self, mut start: v1::RunStart, here: Here) -> Result<Running, RunError> {
        let (ours, theirs) = match here {
            Here::AsTheyAre => (None, None),
            Here::OwnTerminal => {
                let (ours, theirs) = terminal::Coming::pair().map_err(RunError::Terminal)?;
                (Some(ours), Some(theirs))
            }
        };
        start.terminal = ours.is_some();
        start.streams = streams::hand_over(&self.socket, self.link.deadline, theirs).await?;
        let running = Running::start(self.sandbox(), self.link.clone(), start).await?;
        Ok(running.with_terminal(ours))
    }

    fn sandbox(&self) -> SandboxServiceClient<Channel> {
        SandboxServiceClient::new(self.link.channel.clone()).max_decoding_message_size(MAX_REQUEST_BYTES)
    }

    /// What the person has chosen about the sandbox, and what holds in a project.
    ///
    /// # Errors
    /// If sandboxd does not answer.
    pub async fn sandbox_state(&self, root: &str) -> Result<SandboxState, CallError> {
        let request = self.link.request(v1::GetSandboxRequest { root: root.to_owned() });
        let answer = self
            .link
            .answer(async { self.hosts().get_sandbox(request).await })
            .await?;
        Ok(answer.into())
    }

    /// Keeps a choice about the sandbox; `None` takes it back. Says what holds in a project then.
    ///
    /// # Errors
    /// If the team does not allow it, or that cannot be found out, or sandboxd cannot keep it.
    pub async fn choose_sandbox(&self, choice: Option<SandboxChoice>, root: &str) -> Result<SandboxState, CallError> {
        let request = self.link.request(v1::ChooseSandboxRequest {
            choice: match choice {
                None => v1::SandboxChoice::Unspecified,
                Some(SandboxChoice::Enabled) => v1::SandboxChoice::Enabled,
                Some(SandboxChoice::Disabled) => v1::SandboxChoice::Disabled,
            }
            .into(),
            root: root.to_owned(),
        });
        let answer = self
            .link
            .answer(async { self.hosts().choose_sandbox(request).await })
            .await?;
        Ok(answer.state.unwrap_or_default().into())
    }

    /// How the host is doing.
    ///
    /// # Errors
    /// If it does not answer.
    pub async fn status(&self) -> Result<HostStatus, CallError> {
        let request = self.link.request(v1::StatusRequest {});
        let wire = self.link.answer(async { self.hosts().status(request).await }).await?;
        Ok(HostStatus {
            version: wire.version,
            host_id: wire.host_id,
            server: wire.server,
            server_failure: Some(wire.server_failure).filter(|failure| !failure.is_empty()),
            enforcement: wire.enforcement.unwrap_or_default().into(),
            running: wire.running,
            undelivered_outcomes: wire.undelivered_outcomes,
        })
    }

    /// Declares a project trustworthy. Returns the real path under which it is remembered.
    ///
    /// # Errors
    /// If it is no folder, or sandboxd cannot remember it.
    pub async fn trust_project(&self, root: &str) -> Result<String, CallError> {
        let request = self.link.request(v1::TrustProjectRequest { root: root.to_owned() });
        Ok(self
            .link
            .answer(async { self.hosts().trust_project(request).await })
            .await?
            .root)
    }

    /// Takes trust back. Returns whether there was any.
    ///
    /// # Errors
    /// If sandboxd cannot.
    pub async fn untrust_project(&self, root: &str) -> Result<bool, CallError> {
        let request = self.link.request(v1::UntrustProjectRequest { root: root.to_owned() });
        Ok(self
            .link
            .answer(async { self.hosts().untrust_project(request).await })
            .await?
            .was_trusted)
    }

    /// Real paths of the trusted projects, sorted.
    ///
    /// # Errors
    /// If sandboxd does not answer.
    pub async fn trusted_projects(&self) -> Result<Vec<String>, CallError> {
        let request = self.link.request(v1::ListTrustedProjectsRequest {});
        Ok(self
            .link
            .answer(async { self.hosts().list_trusted_projects(request).await })
            .await?
            .roots)
    }

    /// The MCP servers that agents would use in a project, and what could not be read, one line each.
    ///
    /// # Errors
    /// If sandboxd does not answer, or its list of approvals cannot be read.
    pub async fn mcp_servers(&self, root: &str) -> Result<(Vec<McpServer>, Vec<String>), CallError> {
        let request = self.link.request(v1::ListMcpServersRequest { root: root.to_owned() });
        let answer = self
            .link
            .answer(async { self.hosts().list_mcp_servers(request).await })
            .await?;
        Ok((
            answer.servers.into_iter().map(McpServer::from).collect(),
            answer.failures,
        ))
    }

    /// Approves MCP servers as they are listed, by their digests.
    ///
    /// # Errors
    /// If one has changed since, its project is not trusted, or sandboxd cannot remember it.
    pub async fn approve_mcp_servers(&self, root: &str, digests: Vec<String>) -> Result<(), CallError> {
        let request = self.link.request(v1::ApproveMcpServersRequest {
            root: root.to_owned(),
            digests,
        });
        self.link
            .answer(async { self.hosts().approve_mcp_servers(request).await })
            .await?;
        Ok(())
    }

    /// Takes all approvals of a server's name back. Returns how many there were.
    ///
    /// # Errors
    /// If sandboxd cannot.
    pub async fn revoke_mcp_server(&self, name: &str) -> Result<u32, CallError> {
        let request = self.link.request(v1::RevokeMcpServerRequest { name: name.to_owned() });
        Ok(self
            .link
            .answer(async { self.hosts().revoke_mcp_server(request).await })
            .await?
            .revoked)
    }

    fn decisions(&self) -> DecisionServiceClient<Channel> {
        DecisionServiceClient::new(self.link.channel.clone()).max_decoding_message_size(MAX_REQUEST_BYTES)
    }

    fn hosts(&self) -> HostServiceClient<Channel> {
        HostServiceClient::new(self.link.channel.clone())
    }
}
