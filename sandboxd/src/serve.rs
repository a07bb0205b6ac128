//! Serving: one daemon per data directory, one socket, an orderly end.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use portcullis_proto::MAX_REQUEST_BYTES;
use portcullis_proto::address::InvalidAddress;
use portcullis_proto::streams::socket_beside;
use portcullis_proto::v1::decision_service_server::DecisionServiceServer;
use portcullis_proto::v1::host_service_server::HostServiceServer;
use portcullis_proto::v1::sandbox_service_server::SandboxServiceServer;
use portcullis_proto::v1::{Outcome, ReportOutcomeRequest, outcome};
use tokio::net::{UnixListener, UnixStream};
use tokio_stream::wrappers::UnixListenerStream;
use tokio_stream::{Stream, StreamExt as _};
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;

use crate::daemon::Daemon;
use crate::edge::Edge;
use crate::host::Host;
use crate::identity::host_id;
use crate::ledger::Ledger;
use crate::limits::cgroup::Delegated;
use crate::places::{PlaceError, Places};
use crate::protect::note;
use crate::run::Sandbox;
use crate::upstream::Upstream;
use crate::{streams, temporary};

/// Longest wait for calls and runs to end.
const DRAIN: Duration = Duration::from_secs(10);

/// Most calls at the same time on one connection.
const CALLS_PER_CONNECTION: usize = 256;

/// Pause after a failure to accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Largest message of a run, in bytes: a command and an environment of the most that the kernel takes, and a ticket.
const MAX_RUN_MESSAGE: usize = 4 * 1024 * 1024;

/// Why the daemon does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A place cannot be had.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A file of its state cannot be used.
    #[error("cannot use `{}`", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The socket cannot be had.
    #[error("cannot listen on `{}`", path.display())]
    Socket {
        /// The socket.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The server's address, or the certificates to trust, cannot be used.
    #[error("cannot use the server's address `{address}`")]
    Server {
        /// The address.
        address: String,
        /// Why.
        #[source]
        fault: InvalidAddress,
    },
    /// The file with the certificates to trust cannot be read.
    #[error("cannot read the certificates to trust from `{}`", path.display())]
    Certificates {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The transport failed.
    #[error("serving failed")]
    Transport(#[from] tonic::transport::Error),
}

/// How to serve.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where things are.
    pub places: Places,
    /// The socket; `None` = the default one.
    pub socket: Option<PathBuf>,
    /// The server's address; `None` = the one it has written.
    pub server: Option<String>,
    /// PEM file with the certificates to trust for an `https` server; `None` = the system's.
    pub ca_file: Option<PathBuf>,
}

/// A daemon that listens and does not serve yet.
#[derive(Debug)]
pub struct Bound {
    /// Its state.
    pub daemon: Arc<Daemon>,
    /// Its socket.
    pub socket: PathBuf,
    listener: UnixListener,
    /// The socket for streams beside it.
    streams: UnixListener,
    /// Held while it lives: one daemon per data directory.
    _lock: File,
}

/// Opens the state and listens.
///
/// # Errors
/// If another daemon is there, or a place, a file or the socket cannot be used.
pub async fn bind(options: Options) -> Result<Bound, ServeError> {
    let Options {
        places,
        socket,
        server,
        ca_file,
    } = options;
    let ca = ca_file.map(certificates).transpose()?;
    if let Some(address) = &server {
        // One that could never be used is said now, not at the first decision.
        portcullis_proto::address::endpoint(address, ca.as_deref(), DRAIN).map_err(|fault| ServeError::Server {
            address: address.clone(),
            fault,
        })?;
    }
    places.make()?;
    let lock = lock(&places)?;
    let state = |name: &str| places.state().join(name);
    let failed = |path: PathBuf| move |source| ServeError::State { path, source };
    let host_id = host_id(&state("host.key")).map_err(failed(state("host.key")))?;
    let ledger = Ledger::open(&state("redeemed")).map_err(failed(state("redeemed")))?;
    // Before anything can run: what it makes would count as the earlier run's.
    let (notes, by_hand) = (places.notes(), places.notes_by_hand());
    let finish = move || {
        note::remove_ended(&by_hand);
        note::finish_all(&notes);
    };
    if let Err(error) = tokio::task::spawn_blocking(finish).await {
        tracing::error!(%error, "the look back at runs that an earlier daemon did not survive was not finished");
    }
    let upstream = Upstream::new(server, places.server_address(), places.host_token()).trusting(ca);
    let socket = socket.unwrap_or_else(|| places.socket());
    let listener = listen(&socket).await.map_err(|source| ServeError::Socket {
        path: socket.clone(),
        source,
    })?;
    let beside = socket_beside(&socket);
    let streams = listen(&beside)
        .await
        .map_err(|source| ServeError::Socket { path: beside, source })?;
    let mut daemon = Daemon::open(places, host_id, upstream, ledger);
    daemon.cgroup = tokio::task::spawn_blocking(Delegated::take)
        .await
        .unwrap_or_else(|error| Err(format!("looking for a cgroup was interrupted: {error}")));
    daemon.open_files = raise_open_files();
    let daemon = Arc::new(daemon);
    // After the look back: what a note still names may still run.
    if nothing_runs(&daemon.places) {
        clear_sessions(&daemon, Duration::ZERO).await;
    }
    report_interrupted(&daemon);
    Ok(Bound {
        daemon,
        socket,
        listener,
        streams,
        _lock: lock,
    })
}

impl Bound {
    /// Serves until `daemon.stop` is cancelled; then ends all runs and delivers what can be delivered.
    ///
    /// # Errors
    /// If the transport fails.
    pub async fn serve(self) -> Result<(), ServeError> {
        let Self {
            daemon,
            socket,
            listener,
            streams,
            _lock,
        } = self;
        let stop = daemon.stop.clone();
        // Ends after the runs, whose outcomes it still has to deliver.
        let delivered = CancellationToken::new();
        let delivery = Arc::clone(&daemon.spool).deliver(Arc::clone(&daemon.upstream), delivered.clone());
        let delivery = tokio::spawn(delivery);
        // Probed now, so that the first decision does not wait for it.
        let probing = Arc::clone(&daemon);
        let probe = tokio::spawn(async move { probing.capability().await });
        let receiving = tokio::spawn(streams::receive(streams, Arc::clone(&daemon.streams), stop.clone()));
        let unused = Arc::clone(&daemon);
        let clearing = tokio::spawn(async move {
            loop {
                tokio::time::sleep(temporary::LOOK_AGAIN).await;
                clear_sessions(&unused, temporary::KEPT_UNUSED).await;
            }
        });
        let decisions = DecisionServiceServer::new(Edge(Arc::clone(&daemon)))
            .max_decoding_message_size(MAX_REQUEST_BYTES)
            .max_encoding_message_size(MAX_REQUEST_BYTES);
        let runs = SandboxServiceServer::new(Sandbox(Arc::clone(&daemon))).max_decoding_message_size(MAX_RUN_MESSAGE);
        let serving = Server::builder()
            .concurrency_limit_per_connection(CALLS_PER_CONNECTION)
            .add_service(decisions)
            .add_service(runs)
            .add_service(HostServiceServer::new(Host(Arc::clone(&daemon))))
            .serve_with_incoming_shutdown(paced(UnixListenerStream::new(listener)), stop.clone().cancelled_owned());
        let ending = async {
            stop.cancelled().await;
            tokio::time::sleep(DRAIN).await;
        };
        let served = tokio::select! {
            served = serving => served,
            () = ending => Ok(()),
        };
        stop.cancel();
        clearing.abort();
        receiving.abort();
        // Every run holds a permit until its outcome is kept.
        let all = u32::try_from(crate::daemon::MAX_RUNS).unwrap_or(u32::MAX);
        let _ = tokio::time::timeout(DRAIN, daemon.runs.acquire_many(all)).await;
        probe.abort();
        // Not in the middle of starting a process, which would hold the lock for a moment longer than this one.
        let _ = probe.await;
        delivered.cancel();
        let _ = tokio::time::timeout(DRAIN, delivery).await;
        let _ = tokio::fs::remove_file(&socket).await;
        let _ = tokio::fs::remove_file(socket_beside(&socket)).await;
        served.map_err(ServeError::from)
    }
}

/// Lets this process have as many files open as it may: each run keeps some, one with a filtered network a hundred. Returns
/// how many it could have before.
fn raise_open_files() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: now.maximum,
        maximum: now.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "fewer commands can run at the same time: the limit of open files cannot be raised");
    }
    now.current.unwrap_or(0)
}

/// Largest file with certificates, in bytes: a bundle of all public authorities has a quarter of it.
const MAX_CERTIFICATES: u64 = 1 << 20;

fn certificates(path: PathBuf) -> Result<String, ServeError> {
    let mut text = String::new();
    let read = File::open(&path).and_then(|file| file.take(MAX_CERTIFICATES).read_to_string(&mut text));
    match read {
        Ok(_) => Ok(text),
        Err(source) => Err(ServeError::Certificates { path, source }),
    }
}

/// Whether no run of an earlier daemon can still be there. What cannot be told is a no.
fn nothing_runs(places: &Places) -> bool {
    std::fs::read_dir(places.notes()).is_ok_and(|mut notes| notes.next().is_none())
}

/// Puts aside the temporary folders of sessions that no run has used for so long; they are removed beside everything else.
async fn clear_sessions(daemon: &Daemon, unused: Duration) {
    let sessions = Arc::clone(&daemon.sessions);
    if let Ok(gone) = tokio::task::spawn_blocking(move || sessions.put_aside(unused)).await {
        tokio::task::spawn_blocking(move || temporary::remove_all(&gone));
    }
}

/// Tells what became of the commands that an earlier daemon did not survive: they died with it.
fn report_interrupted(daemon: &Daemon) {
    for id in daemon.ledger.unfinished() {
        let report = ReportOutcomeRequest {
            decision_id: id.to_string(),
            outcome: Some(Outcome {
                end: Some(outcome::End::Signal(libc::SIGKILL.unsigned_abs())),
                ended_by: "crash".to_owned(),
                ..Outcome::default()
            }),
        };
        match daemon.spool.put(&report) {
            Ok(()) => daemon.ledger.finish(id),
            Err(error) => tracing::error!(decision = %id, %error, "an outcome cannot be kept"),
        }
    }
}

/// Passes connections on. After a failure to accept (no open files left) it waits a moment: until something is closed, the
/// next attempt fails at once too.
fn paced<T>(accepted: impl Stream<Item = io::Result<T>>) -> impl Stream<Item = io::Result<T>> {
    accepted.then(|connection| async {
        if let Err(error) = &connection {
            tracing::warn!(%error, "cannot accept a connection");
            tokio::time::sleep(ACCEPT_PAUSE).await;
        }
        connection
    })
}

/// One daemon per data directory, or two would each redeem the same ticket.
fn lock(places: &Places) -> Result<File, ServeError> {
    let path = places.state().join("lock");
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(|source| ServeError::State { path, source })?;
    match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(_) => Err(PlaceError::Taken(places.data.clone()).into()),
    }
}

/// Listens on a socket. One that a dead process left behind is replaced; one that is listened on, or that is no socket, is
/// left alone.
async fn listen(path: &Path) -> io::Result<UnixListener> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
        Ok(found) if !found.file_type().is_socket() => {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "something else than a socket is there",
            ));
        }
        Ok(_) => match UnixStream::connect(path).await {
            Ok(_) => {
                return Err(io::Error::new(
                    io::ErrorKind::AddrInUse,
                    "another process listens there",
                ));
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path)?,
            Err(error) => return Err(error),
        },
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_failure_to_accept_is_waited_out_and_not_the_end() {
        let accepted = tokio_stream::iter([Ok(1), Err(io::Error::other("no open files")), Ok(2)]);
        let begun = std::time::Instant::now();
        let passed: Vec<_> = paced(accepted).map(|connection| connection.ok()).collect().await;
        assert_eq!(passed, [Some(1), None, Some(2)]);
        assert!(begun.elapsed() >= ACCEPT_PAUSE);
    }
}
