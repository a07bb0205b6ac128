//! `DecisionService` on the host's socket: adds the host's facts and forwards to the server.
//!
//! What a client puts in as facts is dropped. When the server gives no answer, the answer is ask, or deny where nobody can
//! be asked, and says that it is not recorded.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portcullis_proto::metadata::AUTHORIZATION;
use portcullis_proto::v1::decision_service_server::DecisionService;
use portcullis_proto::v1::{
    Agent, DecideRequest, DecideResponse, DecidedBy, Effect, ExplainRequest, ExplainResponse, Interactivity,
    ListTicketKeysRequest, ListTicketKeysResponse, Mode, ReportOutcomeRequest, ReportOutcomeResponse, SandboxChoice,
    SandboxInForce, TicketClaims, ToolCall, Workspace,
};
use prost::Message as _;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::{Request, Response, Status};

use crate::choice;
use crate::daemon::{Daemon, peer_uid};
use crate::facts::{self, Gathered, Host};
use crate::seen::Seen;
use crate::upstream::UpstreamError;

/// Longest wait for the facts. What is missing then is said to be a failure, which is never an allow.
const FACTS_DEADLINE: Duration = Duration::from_millis(2500);

/// The service.
#[derive(Clone, Debug)]
pub struct Edge(pub Arc<Daemon>);

#[tonic::async_trait]
impl DecisionService for Edge {
    async fn decide(&self, request: Request<DecideRequest>) -> Result<Response<DecideResponse>, Status> {
        let (agent, uid) = caller(&request)?;
        let mut message = request.into_inner();
        let gathered = self.gather(&mut message, uid).await?;
        let nobody = nobody_can_be_asked(&message);
        let answer = self
            .0
            .upstream
            .call(message, Some(agent), |mut client, request| async move {
                client.decide(request).await
            })
            .await;
        match answer {
            Ok(answer) => {
                self.remember(&answer, gathered);
                Ok(Response::new(answer))
            }
            Err(UpstreamError::Caller(status)) => Err(status),
            Err(failure) => {
                tracing::warn!(%failure, "a call was decided without the server");
                Ok(Response::new(undecided(nobody, &failure)))
            }
        }
    }

    async fn explain(&self, request: Request<ExplainRequest>) -> Result<Response<ExplainResponse>, Status> {
        let (agent, uid) = caller(&request)?;
        let mut message = request
            .into_inner()
            .request
            .ok_or_else(|| Status::invalid_argument("invalid `request`: is missing"))?;
        self.gather(&mut message, uid).await?;
        let question = ExplainRequest { request: Some(message) };
        self.0
            .upstream
            .call(question, Some(agent), |mut client, request| async move {
                client.explain(request).await
            })
            .await
            .map(Response::new)
            .map_err(|error| match error {
                UpstreamError::Caller(status) => status,
                UpstreamError::OutOfReach(_) | UpstreamError::Failing(_) => Status::unavailable(error.to_string()),
            })
    }

    async fn report_outcome(
        &self,
        _request: Request<ReportOutcomeRequest>,
    ) -> Result<Response<ReportOutcomeResponse>, Status> {
        Err(Status::unimplemented("a host reports outcomes itself"))
    }

    async fn list_ticket_keys(
        &self,
        _request: Request<ListTicketKeysRequest>,
    ) -> Result<Response<ListTicketKeysResponse>, Status> {
        Err(Status::unimplemented("ticket keys are for hosts; ask the server"))
    }
}

impl Edge {
    /// What all documents come to about the sandbox in a project, with the person's choice as it would be. Asked as an
    /// explanation: it is recorded nowhere and grants nothing.
    ///
    /// # Errors
    /// If the server cannot say.
    pub async fn sandbox_in_force(
        &self,
        agent: MetadataValue<Ascii>,
        uid: u32,
        root: String,
        choice: SandboxChoice,
    ) -> Result<SandboxInForce, Status> {
        let mut message = DecideRequest {
            request_id: uuid::Uuid::now_v7().to_string(),
            agent: Some(Agent {
                name: "cli".to_owned(),
                version: String::new(),
            }),
            workspace: Some(Workspace {
                roots: vec![root.clone()],
                cwd: root,
                home: String::new(),
            }),
            call: Some(ToolCall {
                tool_name: "Bash".to_owned(),
                input_json: br#"{"command":"true"}"#.to_vec(),
                tool_use_id: String::new(),
            }),
            ..DecideRequest::default()
        };
        self.gather(&mut message, uid).await?;
        if let Some(facts) = &mut message.facts {
            choice::suppose(&self.0.places, choice, &mut facts.documents);
        }
        let question = ExplainRequest { request: Some(message) };
        let explained = self
            .0
            .upstream
            .call(question, Some(agent), |mut client, request| async move {
                client.explain(request).await
            })
            .await;
        let explained = explained.map_err(|error| match error {
            UpstreamError::Caller(status) => status,
            UpstreamError::OutOfReach(_) | UpstreamError::Failing(_) => Status::unavailable(error.to_string()),
        })?;
        explained
            .sandbox
            .ok_or_else(|| Status::unavailable("the server does not say what holds: the team's policy cannot be read"))
    }

    /// Replaces the facts of a message by this host's own.
    async fn gather(&self, message: &mut DecideRequest, uid: u32) -> Result<Option<Gathered>, Status> {
        message.facts = None;
        let sandbox = self.0.capability().await;
        let daemon = Arc::clone(&self.0);
        let question = message.clone();
        let for_thread = sandbox.clone();
        let work = async {
            let Ok(permit) = Arc::clone(&self.0.gathering).acquire_owned().await else {
                return Err("the daemon is ending".to_owned());
            };
            let gather = move || {
                let host = Host {
                    places: &daemon.places,
                    trust: &daemon.trust,
                    approvals: &daemon.approvals,
                    host_id: &daemon.host_id,
                    uid,
                    sandbox: for_thread,
                    search_path: &daemon.search_path,
                };
                let gathered = facts::gather(&question, &host);
                drop(permit); // Held by the thread, which may outlive the wait for it.
                gathered
            };
            tokio::task::spawn_blocking(gather)
                .await
                .map_err(|error| format!("the facts could not be gathered: {error}"))
        };
        let failure = match tokio::time::timeout(FACTS_DEADLINE, work).await {
            Ok(Ok(Ok(gathered))) => {
                message.facts = Some(gathered.facts.clone());
                return Ok(Some(gathered));
            }
            Ok(Ok(Err(invalid))) => return Err(invalid.into()),
            Ok(Err(failure)) => failure,
            Err(_) => "the facts about the call could not be gathered in time".to_owned(),
        };
        tracing::warn!(%failure, "facts are missing");
        message.facts = Some(portcullis_proto::v1::HostFacts {
            host_id: self.0.host_id.clone(),
            uid,
            failures: vec![failure],
            sandbox: Some(sandbox),
            ..Default::default()
        });
        Ok(None)
    }

    /// Remembers a ticket that goes out, and the facts that it rests on.
    fn remember(&self, answer: &DecideResponse, gathered: Option<Gathered>) {
        let Some(ticket) = &answer.ticket else {
            return;
        };
        let claims = TicketClaims::decode(ticket.claims.as_slice()).ok();
        let id = claims.and_then(|claims| claims.decision_id.parse().ok());
        if let (
            Some(id),
            Some(Gathered {
                cwd: Some(cwd),
                roots: Some(roots),
                ..
            }),
        ) = (id, gathered)
        {
            self.0.seen.remember(
                id,
                Seen {
                    at: Instant::now(),
                    cwd,
                    roots,
                },
                ticket,
            );
        }
    }
}

/// The agent's token, passed on as it is, and the caller's uid.
///
/// # Errors
/// If the caller is another user, or has no token.
pub fn caller<T>(request: &Request<T>) -> Result<(MetadataValue<Ascii>, u32), Status> {
    let uid = peer_uid(request)?;
    let token = request.metadata().get(AUTHORIZATION).cloned();
    let token = token.ok_or_else(|| Status::unauthenticated("no token: send `authorization: Bearer <agent token>`"))?;
    Ok((token, uid))
}

fn nobody_can_be_asked(message: &DecideRequest) -> bool {
    message.interactivity() == Interactivity::Headless || message.mode() == Mode::DontAsk
}

/// The answer where there is none. Never an allow.
fn undecided(nobody: bool, failure: &UpstreamError) -> DecideResponse {
    let effect = if nobody { Effect::Deny } else { Effect::Ask };
    DecideResponse {
        effect: effect.into(),
        decided_by: DecidedBy::Failure.into(),
        user_message: format!(
            "{failure}. This decision is not recorded. Start portcullis-server, or ask whoever runs it"
        ),
        agent_message: "No decision could be had, so the call is not allowed without a person. Do not retry in a loop"
            .to_owned(),
        ..DecideResponse::default()
    }
}
