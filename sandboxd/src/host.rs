//! `HostService`: how this host is doing, which projects its user trusts, and which MCP servers they approved.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use portcullis_policy::facts::Launch;
use portcullis_policy::sandbox::SandboxType;
use portcullis_proto::v1::host_service_server::HostService;
use portcullis_proto::v1::{
    ApproveMcpServersRequest, ApproveMcpServersResponse, ChooseSandboxRequest, ChooseSandboxResponse,
    GetSandboxRequest, GetSandboxResponse, ListMcpServersRequest, ListMcpServersResponse, ListTicketKeysRequest,
    ListTrustedProjectsRequest, ListTrustedProjectsResponse, McpServerStatus, RevokeMcpServerRequest,
    RevokeMcpServerResponse, SandboxChoice, StatusRequest, StatusResponse, TrustProjectRequest, TrustProjectResponse,
    UntrustProjectRequest, UntrustProjectResponse,
};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::{Code, Request, Response, Status};

use crate::choice;
use crate::daemon::{Daemon, MAX_RUNS, peer_uid};
use crate::edge::{Edge, caller};
use crate::facts::mcp::{approval_on_wire, configured_in};
use crate::facts::repository;
use crate::mcp::{Configured, Place, configured};

/// Most servers that are approved at once.
const MAX_APPROVED: usize = 4096;

/// The service.
#[derive(Clone, Debug)]
pub struct Host(pub Arc<Daemon>);

#[tonic::async_trait]
impl HostService for Host {
    async fn status(&self, request: Request<StatusRequest>) -> Result<Response<StatusResponse>, Status> {
        peer_uid(&request)?;
        let daemon = &self.0;
        let server = daemon.upstream.address().await;
        let answers = daemon
            .upstream
            .call(ListTicketKeysRequest {}, None, |mut client, request| async move {
                client.list_ticket_keys(request).await
            })
            .await;
        let answers = match answers {
            Ok(_) => daemon.upstream.decides().await,
            Err(error) => Err(error),
        };
        let spool = Arc::clone(&daemon.spool);
        let waiting = blocking(move || spool.waiting().len()).await?;
        let running = MAX_RUNS.saturating_sub(daemon.runs.available_permits());
        Ok(Response::new(StatusResponse {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host_id: daemon.host_id.clone(),
            server: server.unwrap_or_default(),
            server_failure: answers.err().map(|error| error.to_string()).unwrap_or_default(),
            enforcement: Some(daemon.capability().await),
            running: u32::try_from(running).unwrap_or(u32::MAX),
            undelivered_outcomes: u32::try_from(waiting).unwrap_or(u32::MAX),
        }))
    }

    async fn trust_project(
        &self,
        request: Request<TrustProjectRequest>,
    ) -> Result<Response<TrustProjectResponse>, Status> {
        peer_uid(&request)?;
        let root = absolute(request.into_inner().root)?;
        let trust = Arc::clone(&self.0.trust);
        let real = blocking(move || {
            let real = Path::new(&root).canonicalize().map_err(|error| {
                Status::invalid_argument(format!("invalid `root`: cannot resolve `{root}`: {error}"))
            })?;
            if !real.is_dir() {
                return Err(Status::invalid_argument(format!(
                    "invalid `root`: `{root}` is not a folder"
                )));
            }
            // What is trusted is the project: the work tree around the folder, if there is one.
            let real = repository::project_root(&real).unwrap_or(real);
            let real = real
                .into_os_string()
                .into_string()
                .map_err(|_| Status::invalid_argument("invalid `root`: its real path is not UTF-8"))?;
            trust.set(&real, true).map_err(Status::internal)?;
            Ok(real)
        })
        .await??;
        Ok(Response::new(TrustProjectResponse { root: real }))
    }

    async fn untrust_project(
        &self,
        request: Request<UntrustProjectRequest>,
    ) -> Result<Response<UntrustProjectResponse>, Status> {
        peer_uid(&request)?;
        let root = absolute(request.into_inner().root)?;
        let trust = Arc::clone(&self.0.trust);
        let was_trusted = blocking(move || {
            // Both names: a project that is gone, or moved, must still be removable.
            let real =
                repository::project_root(Path::new(&root)).and_then(|real| real.into_os_string().into_string().ok());
            let by_name = trust.set(&root, false)?;
            let by_real = real.map_or(Ok(false), |real| trust.set(&real, false))?;
            Ok(by_name || by_real)
        })
        .await?
        .map_err(|failure: String| Status::internal(failure))?;
        Ok(Response::new(UntrustProjectResponse { was_trusted }))
    }

    async fn list_trusted_projects(
        &self,
        request: Request<ListTrustedProjectsRequest>,
    ) -> Result<Response<ListTrustedProjectsResponse>, Status> {
        peer_uid(&request)?;
        let roots = self.0.trust.all().map_err(Status::internal)?;
        Ok(Response::new(ListTrustedProjectsResponse { roots }))
    }

    async fn list_mcp_servers(
        &self,
        request: Request<ListMcpServersRequest>,
    ) -> Result<Response<ListMcpServersResponse>, Status> {
        peer_uid(&request)?;
        let root = absolute(request.into_inner().root)?;
        let daemon = Arc::clone(&self.0);
        let answer = blocking(move || {
            let (configured, trusted) = servers_of(&daemon, &root)?;
            let status = |definition: &crate::mcp::Definition| {
                let approval = daemon.approvals.of(definition, trusted).map_err(Status::internal)?;
                Ok(McpServerStatus {
                    name: definition.name.clone(),
                    agents: definition.agents.iter().map(ToString::to_string).collect(),
                    launch: definition.launch.shown(),
                    configured_in: configured_in(definition.place).into(),
                    file: definition.file.clone(),
                    approval: approval_on_wire(approval).into(),
                    digest: match definition.launch {
                        Launch::Unknown => String::new(),
                        _ => definition.digest.clone(),
                    },
                })
            };
            let servers: Result<Vec<_>, Status> = configured.definitions.iter().map(status).collect();
            let mut servers = servers?;
            servers.sort_by(|a, b| (&a.name, &a.file).cmp(&(&b.name, &b.file)));
            Ok::<_, Status>(ListMcpServersResponse {
                servers,
                failures: configured.failures,
            })
        })
        .await??;
        Ok(Response::new(answer))
    }

    async fn approve_mcp_servers(
        &self,
        request: Request<ApproveMcpServersRequest>,
    ) -> Result<Response<ApproveMcpServersResponse>, Status> {
        peer_uid(&request)?;
        let ApproveMcpServersRequest { root, digests } = request.into_inner();
        let root = absolute(root)?;
        if digests.is_empty() || digests.len() > MAX_APPROVED {
            return Err(Status::invalid_argument(format!(
                "invalid `digests`: has {} entries; 1 to {MAX_APPROVED} are read",
                digests.len()
            )));
        }
        let daemon = Arc::clone(&self.0);
        blocking(move || {
            let (configured, trusted) = servers_of(&daemon, &root)?;
            let mut approved = Vec::new();
            for digest in &digests {
                // What the person saw may have changed since: then it is not what they approve.
                let named = |definition: &&crate::mcp::Definition| {
                    definition.digest == *digest && definition.launch != Launch::Unknown
                };
                let Some(definition) = configured.definitions.iter().find(named) else {
                    return Err(Status::failed_precondition(
                        "a server's definition has changed meanwhile: list them again",
                    ));
                };
                if definition.place == portcullis_policy::facts::ConfiguredIn::Project && !trusted {
                    return Err(Status::failed_precondition(format!(
                        "the project that brings the MCP server `{}` is not trusted: `portcullis trust` comes first",
                        definition.name
                    )));
                }
                approved.push(definition);
            }
            daemon.approvals.approve(approved.into_iter()).map_err(Status::internal)
        })
        .await??;
        Ok(Response::new(ApproveMcpServersResponse {}))
    }

    async fn revoke_mcp_server(
        &self,
        request: Request<RevokeMcpServerRequest>,
    ) -> Result<Response<RevokeMcpServerResponse>, Status> {
        peer_uid(&request)?;
        let name = request.into_inner().name;
        let daemon = Arc::clone(&self.0);
        let revoked = blocking(move || daemon.approvals.revoke(&name))
            .await?
            .map_err(Status::internal)?;
        Ok(Response::new(RevokeMcpServerResponse {
            revoked: u32::try_from(revoked).unwrap_or(u32::MAX),
        }))
    }

    async fn get_sandbox(&self, request: Request<GetSandboxRequest>) -> Result<Response<GetSandboxResponse>, Status> {
        let (agent, uid) = caller(&request)?;
        let root = absolute(request.into_inner().root)?;
        self.sandbox(agent, uid, root).await.map(Response::new)
    }

    async fn choose_sandbox(
        &self,
        request: Request<ChooseSandboxRequest>,
    ) -> Result<Response<ChooseSandboxResponse>, Status> {
        let (agent, uid) = caller(&request)?;
        let message = request.into_inner();
        let choice = SandboxChoice::try_from(message.choice)
            .map_err(|_| Status::invalid_argument("invalid `choice`: is not known"))?;
        let root = absolute(message.root)?;
        if choice == SandboxChoice::Disabled {
            // In every decision the team's word counts anyway; here it is said, instead of keeping what has no effect.
            let edge = Edge(Arc::clone(&self.0));
            let then = edge.sandbox_in_force(agent.clone(), uid, root.clone(), choice).await?;
            let team = SandboxType::parse(&then.team_type);
            if !then.team_type.is_empty() && team != Some(SandboxType::InsecureNone) {
                return Err(Status::failed_precondition(format!(
                    "the team's policy keeps the sandbox on (`sandbox.type`: `{}`)",
                    then.team_type
                )));
            }
        }
        let daemon = Arc::clone(&self.0);
        blocking(move || choice::keep(&daemon.places, choice))
            .await?
            .map_err(|error| Status::internal(format!("the choice cannot be kept: {error}")))?;
        tracing::info!(choice = choice.as_str_name(), "the person has chosen about the sandbox");
        let state = self.sandbox(agent, uid, root).await?;
        Ok(Response::new(ChooseSandboxResponse { state: Some(state) }))
    }
}

impl Host {
    /// What the person has chosen, and what holds in a project. What cannot be found out is said.
    async fn sandbox(&self, agent: MetadataValue<Ascii>, uid: u32, root: String) -> Result<GetSandboxResponse, Status> {
        let daemon = Arc::clone(&self.0);
        let chosen = blocking(move || choice::read(&daemon.places)).await?;
        let choice = chosen.as_ref().copied().unwrap_or_default();
        let edge = Edge(Arc::clone(&self.0));
        let in_force = match edge.sandbox_in_force(agent, uid, root, choice).await {
            Err(status) if status.code() == Code::Unauthenticated => return Err(status),
            other => other.map_err(|status| status.message().to_owned()),
        };
        let failure = chosen.err().or_else(|| in_force.as_ref().err().cloned());
        Ok(GetSandboxResponse {
            choice: choice.into(),
            in_force: in_force.ok(),
            failure: failure.unwrap_or_default(),
            enforcement: Some(self.0.capability().await),
            file: choice::file(&self.0.places).to_string_lossy().into_owned(),
        })
    }
}

/// The servers that agents would use in a project, and whether it is trusted.
fn servers_of(daemon: &Daemon, root: &str) -> Result<(Configured, bool), Status> {
    let roots = [PathBuf::from(root)];
    let project = repository::project_root(Path::new(root));
    let trusted = match &project {
        Some(project) => daemon.trust.contains(project).map_err(Status::internal)?,
        None => false,
    };
    let place = Place {
        home: daemon.places.home.as_deref(),
        roots: &roots,
        project: project.as_deref(),
    };
    Ok((configured(None, &place), trusted))
}

fn absolute(root: String) -> Result<String, Status> {
    if Path::new(&root).is_absolute() {
        Ok(root)
    } else {
        Err(Status::invalid_argument(format!(
            "invalid `root`: `{root}` is not an absolute path"
        )))
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Status> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| Status::internal("the work was interrupted"))
}
