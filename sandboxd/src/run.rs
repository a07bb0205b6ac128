//! `SandboxService`: runs a command for which the server signed a ticket.
//!
//! ```text
//! start → checks (see `checks`) → prepare the file tree → redeem the ticket, on the disk → launch → stream → outcome
//! ```
//!
//! The outcome is on the disk before the caller hears of it. Whatever ends the run (its own end, its time, the caller's
//! going, the daemon's shutdown), all its processes are gone before it is reported.

mod belongings;
pub mod checks;
pub mod environment;
mod stream;

use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use portcullis_policy::network::NetworkRules;
use portcullis_proto::v1::sandbox_service_server::SandboxService;
use portcullis_proto::v1::{
    CapabilitiesRequest, CapabilitiesResponse, RunRequest, RunResponse, RunStart, RunStarted, run_request,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use crate::daemon::{Daemon, peer_uid};
use crate::hide::Person;
use crate::launch::spec::{Layout, Spec};
use crate::ledger::RedeemError;
use crate::prepare::{Extras, prepare};
use crate::protect::note::{Note, remove_ended};
use crate::protect::placeholders::Held;
use crate::seen::Gone;
use crate::spool::MAX_WAITING;
use belongings::Belongings;
use checks::Refusal;

/// Longest wait for the first message.
const START_DEADLINE: Duration = Duration::from_secs(10);

/// Messages to the caller that wait to be sent; each holds at most 32 KiB.
const WAITING_MESSAGES: usize = 16;

/// The service.
#[derive(Clone, Debug)]
pub struct Sandbox(pub Arc<Daemon>);

#[tonic::async_trait]
impl SandboxService for Sandbox {
    type RunStream = ReceiverStream<Result<RunResponse, Status>>;

    async fn run(&self, request: Request<Streaming<RunRequest>>) -> Result<Response<Self::RunStream>, Status> {
        let uid = peer_uid(&request)?;
        let daemon = &self.0;
        if daemon.stop.is_cancelled() {
            return Err(Status::unavailable("portcullis-sandboxd is ending"));
        }
        let permit = Arc::clone(&daemon.runs)
            .try_acquire_owned()
            .map_err(|_| Status::resource_exhausted("as many commands run as may run; try again when one has ended"))?;
        let mut messages = request.into_inner();
        let first = tokio::time::timeout(START_DEADLINE, messages.message())
            .await
            .map_err(|_| Status::deadline_exceeded("no `start` arrived"))??;
        let Some(run_request::Message::Start(start)) = first.and_then(|first| first.message) else {
            return Err(Status::invalid_argument("invalid `message`: the first must be `start`"));
        };
        let streams = match start.streams.as_slice() {
            [] => None,
            name => Some(daemon.streams.take(name).ok_or_else(|| {
                Status::failed_precondition("the standard streams of this run were not handed over, or too long ago")
            })?),
        };
        if start.terminal && streams.is_none() {
            let text = "invalid `terminal`: no socket was handed over for its controlling side";
            return Err(Status::invalid_argument(text));
        }
        let own_terminal = start.terminal;
        let (mut order, claims) = self.order(start, uid).await?;
        order.spec.own_terminal = own_terminal;
        let output_bytes = claims
            .profile
            .as_ref()
            .and_then(|profile| profile.limits)
            .map_or(0, |limits| limits.output_bytes);
        if streams.is_some() && output_bytes > 0 {
            let line = "output: it goes straight to the caller's own streams, uncounted";
            order.spec.unheld_limits.push(line.to_owned());
        }
        let run = stream::Run {
            streams,
            started: order.started.clone(),
            daemon: Arc::clone(daemon),
            decision_id: claims.decision_id.clone(),
            timeout: claims
                .profile
                .as_ref()
                .and_then(|profile| profile.timeout)
                .map(duration),
            output_bytes,
            order,
        };
        let (to_caller, responses) = mpsc::channel(WAITING_MESSAGES);
        tokio::spawn(async move {
            run.drive(messages, to_caller).await;
            drop(permit);
        });
        Ok(Response::new(ReceiverStream::new(responses)))
    }

    async fn capabilities(
        &self,
        request: Request<CapabilitiesRequest>,
    ) -> Result<Response<CapabilitiesResponse>, Status> {
        peer_uid(&request)?;
        Ok(Response::new(CapabilitiesResponse {
            enforcement: Some(self.0.capability().await),
            host_id: self.0.host_id.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }))
    }
}

/// What is to be launched.
#[derive(Debug)]
struct Order {
    spec: Spec,
    plan: crate::protect::Plan,
    network: Option<NetworkRules>,
    /// Given back when no process of the run is left, and before the note goes.
    placeholders: Option<Held>,
    note: Option<Note>,
    /// What to say of the set-up.
    started: RunStarted,
    belongings: Option<Belongings>,
    /// What a person should know about the run.
    warnings: Vec<String>,
}

impl Sandbox {
    /// Everything between the caller's wish and the launch. The ticket is used up when this returns.
    async fn order(
        &self,
        mut start: RunStart,
        uid: u32,
    ) -> Result<(Order, portcullis_proto::v1::TicketClaims), Status> {
        let daemon = Arc::clone(&self.0);
        let by_handle = !start.handle.is_empty();
        let signed = match (start.ticket.take(), by_handle) {
            (Some(signed), false) => signed,
            (None, true) => daemon.seen.of_handle(&start.handle).map_err(|gone| match gone {
                Gone::Unknown => Refusal::UnknownHandle,
                Gone::Used => Refusal::Replayed,
                Gone::Expired => Refusal::Expired,
            })?,
            (Some(_), true) => return Err(Status::invalid_argument("invalid `handle`: there is a `ticket` too")),
            (None, false) => return Err(Status::invalid_argument("invalid `ticket`: is missing")),
        };
        let claims = daemon.keys.verify(&signed).await.map_err(Refusal::from)?;
        if by_handle {
            checks::name_the_same_folder(&daemon, &claims, &mut start).await?;
        }
        let checked = checks::check(&daemon, &claims, &start, uid)?;
        let profile = claims.profile.clone().unwrap_or_default();
        let environment = environment::filtered(&start, &profile, &daemon.search_path)?;
        let describe = start.describe;
        let removed_variables = environment::removed(&start.environment);
        let permission = claims.clone();
        let work = move || -> Result<Order, Status> {
            // The way to the folders is followed again: nobody may have put a link there since the decision.
            checks::unmoved(&checked.seen, &start.cwd, &profile.roots)?;
            let extras = Extras {
                masked: daemon.places.secret(),
                own_folders: daemon.places.own_folders(),
                own_files: daemon.places.own_files(),
                person: Person {
                    home: daemon.places.home.clone(),
                    other_home: environment::home(&start.environment),
                    cwd: Some(PathBuf::from(&start.cwd)),
                    variables: Vec::new(),
                }
                .with_variables(environment::folders(&start.environment))
                .with_variables(environment::own_folders()),
                ..Extras::default()
            };
            remove_ended(&daemon.places.notes_by_hand());
            let mut prepared = prepare(&profile, &extras).map_err(|error| Refusal::Profile(error.to_string()))?;
            if daemon.spool.waiting().len() >= MAX_WAITING {
                return Err(Status::resource_exhausted(
                    "too many outcomes wait for the server to be recorded",
                ));
            }
            let belongings = Belongings::get(&daemon, &permission, &profile, &mut prepared.layout)?;
            // INVARIANT: from here on the ticket is used, whatever happens; the launch comes after.
            daemon.ledger.redeem(checked.id).map_err(|error| match error {
                RedeemError::Replayed => Status::from(Refusal::Replayed),
                RedeemError::Storage(cause) => {
                    Status::unavailable(format!("the ticket's use cannot be stored: {cause}"))
                }
            })?;
            daemon.seen.used(&signed);
            // A ticket is used once, so that no other note has its name.
            let noted = |cause| Status::unavailable(format!("the run cannot be noted down: {cause}"));
            let (notes, id) = (daemon.places.notes(), checked.id.to_string());
            let note = Note::write(&notes, &id, &prepared.plan, &prepared.wanted).map_err(noted)?;
            let (placeholders, told) = daemon.placeholders.hold(&prepared.wanted);
            note.add(&placeholders).map_err(noted)?;
            placeholders.say(&mut prepared);
            prepared.warnings.extend(told);
            let started = RunStarted {
                removed_variables,
                ..if describe {
                    described(&prepared.layout)
                } else {
                    RunStarted::default()
                }
            };
            let mut spec = Spec {
                argv: start.argv.into_iter().map(String::into_bytes).collect(),
                // Where it leads, so that no link on the way counts any more.
                cwd: checked.seen.cwd.into_os_string().into_vec(),
                environment: environment::with_network(environment, prepared.network.as_ref()),
                layout: Some(prepared.layout),
                accept_partial: profile.accept_partial,
                accept_without_landlock: profile.accept_without_landlock,
                accept_without_namespaces: profile.accept_without_namespaces,
                needs_namespaces: prepared.needs_namespaces,
                missing: prepared.plan.missing.clone(),
                keep_ignored_signals: false,
                filtered_network: prepared.network.is_some(),
                ..Spec::default()
            };
            belongings.say(&mut spec);
            Ok(Order {
                spec,
                plan: prepared.plan,
                network: prepared.network,
                placeholders: Some(placeholders),
                note: Some(note),
                started,
                belongings: Some(belongings),
                warnings: prepared.warnings,
            })
        };
        let order = tokio::task::spawn_blocking(work)
            .await
            .map_err(|_| Status::internal("the work was interrupted"))??;
        Ok((order, claims))
    }
}

/// Most paths of one kind that are told.
const MAX_TOLD: usize = 300;

/// What of the file tree is worth telling, in lists that stay short.
fn described(layout: &Layout) -> RunStarted {
    let mut left_out = 0;
    let mut told = |paths: &[Vec<u8>]| -> Vec<String> {
        left_out += paths.len().saturating_sub(MAX_TOLD);
        let paths = paths.iter().take(MAX_TOLD);
        paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect()
    };
    let (writable_paths, protected_paths, hidden_paths) =
        (told(&layout.read_write), told(&layout.protected), told(&layout.masked));
    RunStarted {
        writable_paths,
        protected_paths,
        hidden_paths,
        left_out: u32::try_from(left_out).unwrap_or(u32::MAX),
        ..RunStarted::default()
    }
}

fn duration(wire: prost_types::Duration) -> Duration {
    // A negative limit has passed already.
    Duration::try_from(wire).unwrap_or(Duration::ZERO)
}
