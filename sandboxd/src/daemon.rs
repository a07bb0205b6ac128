//! Everything that the daemon's services share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portcullis_proto::v1::{Enforcement, EnforcementStatus, SandboxTier};
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;
use tonic::transport::server::UdsConnectInfo;
use tonic::{Request, Status};

use crate::approvals::Approvals;
use crate::keys::TicketKeys;
use crate::ledger::Ledger;
use crate::limits::cgroup::Delegated;
use crate::places::Places;
use crate::probe::{self, Conditions};
use crate::protect::placeholders::Registry;
use crate::seen::SeenTickets;
use crate::spool::Spool;
use crate::streams::HandedOver;
use crate::temporary::Sessions;
use crate::trust::Trust;
use crate::upstream::Upstream;

/// Most commands that run at the same time.
pub const MAX_RUNS: usize = 256;

/// Most calls whose facts are gathered at the same time; each keeps a thread.
pub const MAX_GATHERING: usize = 32;

/// Longest wait for the probe: half of what a client waits for a decision.
const PROBE_DEADLINE: Duration = Duration::from_millis(2500);

/// After a probe that failed, the next one waits this long.
const PROBE_AGAIN: Duration = Duration::from_secs(30);

/// Where programs are looked for if the daemon has no PATH.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The daemon's state.
#[derive(Debug)]
pub struct Daemon {
    /// Where things are.
    pub places: Places,
    /// Fingerprint of the host's key.
    pub host_id: String,
    /// The way to the server.
    pub upstream: Arc<Upstream>,
    /// Trusted projects.
    pub trust: Arc<Trust>,
    /// Approved MCP servers.
    pub approvals: Arc<Approvals>,
    /// Redeemed tickets.
    pub ledger: Ledger,
    /// Tickets that passed through.
    pub seen: SeenTickets,
    /// Standard streams that wait for their runs.
    pub streams: Arc<HandedOver>,
    /// Keys to verify them.
    pub keys: TicketKeys,
    /// Outcomes for the server.
    pub spool: Arc<Spool>,
    /// Temporary folders of sessions.
    pub sessions: Arc<Sessions>,
    /// Protected folders that exist only while runs go on.
    pub placeholders: Registry,
    /// The cgroup that runs' are made in, or why there is none.
    pub cgroup: Result<Delegated, String>,
    /// One permit per command that may run.
    pub runs: Arc<Semaphore>,
    /// One permit per call whose facts are gathered.
    pub gathering: Arc<Semaphore>,
    /// Cancelled when the daemon is to end.
    pub stop: CancellationToken,
    /// Where programs are looked for, by the facts and by sandboxed commands alike.
    pub search_path: String,
    /// How many files a process here may have open before it asks for more; commands begin with that. 0 = not known.
    pub open_files: u64,
    capability: Mutex<Option<Probed>>,
}

/// What a probe has found.
#[derive(Clone, Debug)]
struct Probed {
    at: Instant,
    under: Conditions,
    enforcement: Enforcement,
}

impl Daemon {
    /// Opens the state in the data directory.
    ///
    /// # Errors
    /// If something there cannot be read or written.
    pub fn open(places: Places, host_id: String, upstream: Upstream, ledger: Ledger) -> Self {
        let upstream = Arc::new(upstream);
        Self {
            trust: Arc::new(Trust::open(places.state().join("trust.json"))),
            approvals: Arc::new(Approvals::open(places.state().join("approvals.json"))),
            spool: Arc::new(Spool::new(places.spool())),
            sessions: Arc::new(Sessions::new(places.sessions())),
            placeholders: Registry::default(),
            cgroup: Err("nobody has looked for a cgroup".to_owned()),
            keys: TicketKeys::new(Arc::clone(&upstream)),
            host_id,
            upstream,
            ledger,
            seen: SeenTickets::default(),
            streams: Arc::default(),
            runs: Arc::new(Semaphore::new(MAX_RUNS)),
            gathering: Arc::new(Semaphore::new(MAX_GATHERING)),
            stop: CancellationToken::new(),
            search_path: std::env::var("PATH").unwrap_or_else(|_| DEFAULT_PATH.to_owned()),
            open_files: 0,
            capability: Mutex::default(),
            places,
        }
    }

    /// What this host's sandbox enforces: found out by setting one up. A sandbox that stood is tried again when the kernel, its
    /// settings or the launcher have changed; one that did not, or that has no namespaces, also after a while, as the reason may
    /// have gone.
    pub async fn capability(&self) -> Enforcement {
        let mut known = self.capability.lock().await;
        let under = Conditions::now(&self.places);
        if let Some(probed) = &*known
            && probed.under == under
            && (!may_improve(&probed.enforcement) || probed.at.elapsed() < PROBE_AGAIN)
        {
            return probed.enforcement.clone();
        }
        let enforcement = match tokio::time::timeout(PROBE_DEADLINE, probe::probe(&self.places)).await {
            Ok(Ok(enforcement)) => enforcement,
            Ok(Err(reason)) => none(reason),
            Err(_) => none(format!(
                "setting up a sandbox took longer than {} s",
                PROBE_DEADLINE.as_secs()
            )),
        };
        *known = Some(Probed {
            at: Instant::now(),
            under,
            enforcement: enforcement.clone(),
        });
        enforcement
    }
}

fn may_improve(enforcement: &Enforcement) -> bool {
    enforcement.status() == EnforcementStatus::None || enforcement.tier() == SandboxTier::WithoutNamespaces
}

fn none(reason: String) -> Enforcement {
    tracing::error!(%reason, "this host cannot run commands in a sandbox");
    Enforcement {
        status: EnforcementStatus::None.into(),
        tier: SandboxTier::None.into(),
        missing: vec![reason],
        ..Enforcement::default()
    }
}

/// The user at the other end of the socket.
///
/// # Errors
/// `PERMISSION_DENIED` if that is somebody else than the daemon's own user.
pub fn peer_uid<T>(request: &Request<T>) -> Result<u32, Status> {
    let own = rustix::process::geteuid().as_raw();
    let peer = request
        .extensions()
        .get::<UdsConnectInfo>()
        .and_then(|info| info.peer_cred);
    match peer {
        Some(peer) if peer.uid() == own => Ok(own),
        Some(peer) => Err(Status::permission_denied(format!(
            "this portcullis-sandboxd serves user {own}, not user {}; start one of your own",
            peer.uid()
        ))),
        None => Err(Status::permission_denied("the caller's user cannot be told")),
    }
}
