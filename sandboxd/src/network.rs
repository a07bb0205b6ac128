//! The network filter: lets a sandboxed command reach hosts by name, and nothing else.
//!
//! ```text
//! inside (no way out)                              outside, here
//!  getaddrinfo ──► names ── a made-up address ◄──── `names`      asks nobody
//!  connect ───────► waits ───────────────────────── `connects`   listens where the program is about to connect
//!  the connection ─► listener ───────────────────── `transparent`, `http`, `socks`
//!                                                       │ judge the name, look it up, judge each address
//!                                                       ▼
//!                                                   `gate` dials the address that was judged
//! ```
//!
//! The namespace inside has no way out (see [`crate::launch::network`]), so whatever goes wrong here leaves the command without
//! network, never with too much of it. A name is looked up once per connection, here, and only after a rule has let it
//! pass: no question of the command leaves the machine otherwise. What was allowed and refused is kept for the trail.
//!
//! It does not look into TLS beyond the name that the client asks for, and it does not stop what an allowed host passes on.

mod beginning;
mod connects;
mod gate;
mod hosts;
mod http;
mod names;
mod relay;
mod sockets;
mod socks;
pub mod standalone;
mod tls;
mod transparent;
mod wrapped;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portcullis_policy::network::NetworkRules;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::launch::filter::refused::Tally;

pub use gate::{Lookup, SystemLookup};
pub use hosts::{HostReport, Hosts};

use gate::Gate;
use hosts::Pool;

/// Variables in which programs look for a proxy; and for the hosts that they reach without it.
const THROUGH_PROXY: [&str; 6] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
];
const AROUND_PROXY: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// Variables that point programs to the proxy. Those of this machine are reached without it.
#[must_use]
pub fn environment() -> Vec<(&'static str, String)> {
    use crate::launch::network::{PROXY_PORT, SERVICE};
    proxied(&format!("{SERVICE}:{PROXY_PORT}"), "localhost,127.0.0.1,::1")
}

/// The variables for a proxy at an address and port. HTTP for all of them: clients that read `socks5h:` here often lack what it
/// takes and fail.
pub(crate) fn proxied(address: &str, around: &str) -> Vec<(&'static str, String)> {
    let through = THROUGH_PROXY.map(|name| (name, format!("http://{address}")));
    let around = AROUND_PROXY.map(|name| (name, around.to_owned()));
    through.into_iter().chain(around).collect()
}

/// What the caller of a run is told about a refused host: which, why, and what can be done. One line.
#[must_use]
pub fn refusal_line(report: &HostReport) -> Option<String> {
    let reason = report.refused.as_ref()?;
    let host = match (report.host.as_str(), report.port) {
        ("", _) => format!("{} connections", report.times),
        (host, 0) => host.to_owned(),
        (host, port) => format!("{host}:{port}"),
    };
    Some(format!(
        "portcullis: refused the connection to {host}: {reason}; ask to add it to `networkPolicy.allow`\n"
    ))
}

/// A filter that serves one run.
#[derive(Debug)]
pub struct Filter {
    stop: CancellationToken,
    closed: CancellationToken,
    tasks: TaskTracker,
    hosts: Arc<Hosts>,
    calls: Arc<Mutex<Tally>>,
}

/// What a filter has heard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// The hosts that the command wanted.
    pub hosts: Vec<HostReport>,
    /// System calls that it was refused.
    pub calls: Tally,
}

/// Connections that a command may have open to its filter at the same time; further ones wait. Each costs this process up
/// to three descriptors, and the command chooses how many it makes.
const MAX_CLIENTS: usize = 256;

/// What all parts of one filter share.
struct Shared {
    clients: Arc<Semaphore>,
    gate: Gate,
    pool: Mutex<Pool>,
    /// What else was refused: the filter hears of that, too.
    calls: Arc<Mutex<Tally>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Shared {
    fn calls(&self) -> MutexGuard<'_, Tally> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next connection of the command, when there is room for it; it counts until the permit is dropped.
    async fn client(&self, listener: &TcpListener) -> Option<(TcpStream, OwnedSemaphorePermit)> {
        let permit = Arc::clone(&self.clients).acquire_owned().await.ok()?;
        let (stream, _) = listener.accept().await.ok()?;
        Some((stream, permit))
    }

    /// Runs a task until the end of the run.
    fn spawn(self: &Arc<Self>, task: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = task => {}
            }
        });
    }
}

/// A pair of connected sockets: ours, and the one that the launcher inherits.
///
/// # Errors
/// As the kernel says.
pub fn pair() -> io::Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((UnixStream::from_std(ours)?, theirs.into()))
}

impl Filter {
    /// Waits for the launcher to hand over its sockets, and serves them until [`Self::finish`]. An end of `launcher` before
    /// that is no error: then there is nothing to serve.
    #[must_use]
    pub fn start(launcher: UnixStream, rules: NetworkRules, lookup: Arc<dyn Lookup>) -> Self {
        Self::begin(rules, lookup, |shared| async move {
            match sockets::take(&launcher).await {
                Ok(Some(handed)) => serve(&shared, handed, &launcher).await,
                Ok(None) => {}
                Err(error) => tracing::error!(%error, "the sockets of a sandbox cannot be served"),
            }
        })
    }

    /// Serves the proxy alone, on a socket of this host, until [`Self::finish`]: for a sandbox without a network of its own, which
    /// lets nothing else be reached. `holder` is closed by whoever started the command, when that has ended.
    #[must_use]
    pub fn at_loopback(
        holder: UnixStream,
        listener: TcpListener,
        rules: NetworkRules,
        lookup: Arc<dyn Lookup>,
    ) -> Self {
        Self::begin(rules, lookup, |shared| async move {
            shared.spawn(http::proxy(Arc::clone(&shared), listener));
            sockets::closed(&holder).await;
        })
    }

    fn begin<F>(rules: NetworkRules, lookup: Arc<dyn Lookup>, work: impl FnOnce(Arc<Shared>) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (stop, tasks, hosts) = (CancellationToken::new(), TaskTracker::new(), Arc::new(Hosts::default()));
        let calls = Arc::<Mutex<Tally>>::default();
        let shared = Arc::new(Shared {
            clients: Arc::new(Semaphore::new(MAX_CLIENTS)),
            gate: Gate::new(rules, lookup, Arc::clone(&hosts)),
            pool: Mutex::new(Pool::default()),
            calls: Arc::clone(&calls),
            tasks: tasks.clone(),
            stop: stop.clone(),
        });
        let closed = CancellationToken::new();
        let says = closed.clone();
        let work = work(Arc::clone(&shared));
        shared.spawn(async move {
            let _says = says.drop_guard();
            work.await;
        });
        Self {
            stop,
            closed,
            tasks,
            hosts,
            calls,
        }
    }

    /// Waits until the launcher has closed its end.
    pub async fn until_closed(&self) {
        self.closed.cancelled().await;
    }

    /// Ends it, and says which hosts the command wanted, and what it was refused.
    pub async fn finish(self) -> Heard {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        Heard {
            hosts: self.hosts.report(),
            calls: self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}

async fn serve(shared: &Arc<Shared>, handed: sockets::Handed, launcher: &UnixStream) {
    let sockets::Handed {
        listener,
        proxy,
        names_udp,
        names_tcp,
        spare,
    } = handed;
    shared.spawn(names::over_udp(Arc::clone(shared), names_udp));
    shared.spawn(names::over_tcp(Arc::clone(shared), names_tcp));
    shared.spawn(http::proxy(Arc::clone(shared), proxy));
    shared.spawn(connects::watch(Arc::clone(shared), listener, spare));
    // The command starts when this arrives.
    if let Err(error) = sockets::ready(launcher).await {
        tracing::error!(%error, "a sandbox was gone before its network was ready");
    }
    sockets::closed(launcher).await;
}
