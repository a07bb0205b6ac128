//! Puts the server together, lets it listen, and takes it down again.
//!
//! [`Server::start`] returns once it listens; [`Server::stop`] drains and closes. The order matters:
//!
//! 1. The data directory is locked before anything in it is read: nobody else writes there from now on.
//! 2. The port is bound before the database is opened: a port that is taken leaves no trace.
//! 3. The address file is written last, and removed first: whoever finds it finds a server.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use portcullis_proto::{
    FILE_DESCRIPTOR_SET, MAX_REQUEST_BYTES,
    v1::{
        audit_service_server::AuditServiceServer, decision_service_server::DecisionServiceServer,
        policy_service_server::PolicyServiceServer,
    },
};
use tokio::{
    net::TcpListener,
    task::{JoinHandle, spawn_blocking},
    time::{MissedTickBehavior, interval, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic::transport::{Identity, Server as Transport, ServerTlsConfig};
use tonic_health::server::HealthReporter;

use crate::{
    auth::layer::AuthLayer,
    bootstrap::{self, BootstrapError},
    classifier::{Classifier, NoneConfigured},
    config::{Config, Tls},
    datadir::{self, DataDir, DataDirError},
    decide::{DecideOptions, Decider, Evaluator, Judges},
    edge::EdgeLayer,
    grpc::{AuditGrpc, DecisionGrpc, PolicyGrpc},
    incoming::incoming,
    keys::{KeyError, Keys},
    policies::ActivePolicies,
    push::Pusher,
    store::{
        Store, StoreError,
        sqlite::{OpenError, SqliteOptions, SqliteStore},
    },
    tally::Tally,
};

/// Puts something in front of a store.
pub type WrapStore = Box<dyn FnOnce(Arc<dyn Store>) -> Arc<dyn Store> + Send>;

/// What tests put in the place of the real thing.
pub struct Seams {
    /// Evaluates requests.
    pub evaluator: Evaluator,
    /// Is asked in the automatic modes.
    pub classifier: Arc<dyn Classifier>,
    /// Wraps the store.
    pub wrap_store: WrapStore,
    /// Bounds the database, as a small disk would.
    pub max_pages: Option<u32>,
    /// The policy of a fresh server.
    pub starter: &'static str,
}

impl Default for Seams {
    fn default() -> Self {
        Self {
            evaluator: crate::decide::engine(),
            classifier: Arc::new(NoneConfigured),
            wrap_store: Box::new(|store| store),
            max_pages: None,
            starter: portcullis_policy::starter::TEAM,
        }
    }
}

/// The server cannot start, or did not end well.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The data directory cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// A key cannot be used.
    #[error(transparent)]
    Keys(#[from] KeyError),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        #[source]
        cause: io::Error,
    },
    /// A file for TLS cannot be read.
    #[error("cannot read `{path}` for TLS")]
    TlsFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: io::Error,
    },
    /// Certificate or key are not what they should be.
    #[error("cannot use `{certificate}` and `{key}` for TLS")]
    Tls {
        /// The certificate chain.
        certificate: PathBuf,
        /// The key.
        key: PathBuf,
        /// Why not.
        #[source]
        cause: tonic::transport::Error,
    },
    /// The database cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The database cannot be read.
    #[error("cannot read the team policies")]
    Policies(#[source] StoreError),
    /// A fresh server cannot be made ready.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    /// The reflection service cannot be built.
    #[error("cannot build the reflection service")]
    Reflection(#[source] tonic_reflection::server::Error),
    /// Serving failed.
    #[error("serving failed")]
    Transport(#[source] tonic::transport::Error),
    /// A task ended badly.
    #[error("a task of the server ended badly")]
    Task(#[from] tokio::task::JoinError),
}

/// A server that listens.
pub struct Server {
    address: SocketAddr,
    url: String,
    store: Arc<dyn Store>,
    sqlite: Arc<SqliteStore>,
    shutdown: CancellationToken,
    tasks: TaskTracker,
    transport: JoinHandle<Result<(), tonic::transport::Error>>,
    data: Arc<DataDir>,
    drain: Duration,
}

impl Server {
    /// Starts a server.
    ///
    /// # Errors
    /// If anything it needs cannot be had; then nothing of it stays behind.
    pub async fn start(config: &Config, seams: Seams) -> Result<Self, ServeError> {
        let root = config.data_dir.clone();
        let opened = spawn_blocking(move || -> Result<_, ServeError> {
            let data = DataDir::open(&root)?;
            let keys = Keys::load(&data)?;
            let database = data.database()?;
            // A server that was killed left its address behind; somebody else may listen there now.
            data.remove_address()?;
            Ok((Arc::new(data), Arc::new(keys), database))
        });
        let (data, keys, database) = opened.await??;
        let address = config.listen.address;
        let listener = TcpListener::bind(address)
            .await
            .map_err(|cause| ServeError::Listen { address, cause })?;
        let address = listener
            .local_addr()
            .map_err(|cause| ServeError::Listen { address, cause })?;
        let transport = transport(config).await?;

        let options = SqliteOptions {
            queue: config.store.queue,
            max_batch: config.store.batch,
            readers: config.store.readers,
            max_pages: seams.max_pages,
        };
        let sqlite = Arc::new(SqliteStore::open(&database, keys.trail().clone(), options).await?);
        let store = (seams.wrap_store)(sqlite.clone());
        let policies = Arc::new(ActivePolicies::load(&*store).await.map_err(ServeError::Policies)?);
        let (tasks, shutdown) = (TaskTracker::new(), CancellationToken::new());
        let write_limit = config.limits.call_time;
        let pusher = Pusher::new(store.clone(), policies.clone(), write_limit, tasks.clone());
        bootstrap::run(&data, &*store, &policies, &pusher, seams.starter).await?;

        let options = DecideOptions {
            deadline: config.decide.deadline,
            parallel: config.decide.parallel,
            cache_entries: config.decide.cache_entries,
            ticket_lifetime: config.decide.ticket_lifetime,
        };
        let tally = Arc::new(Tally::default());
        let decider = Decider::new(
            store.clone(),
            policies,
            keys,
            Judges {
                evaluator: seams.evaluator,
                classifier: seams.classifier,
            },
            options,
            tasks.clone(),
            tally.clone(),
        );
        let decisions = DecisionGrpc::new(Arc::new(decider), store.clone(), write_limit);
        let audit = AuditGrpc::new(store.clone(), config.limits.tails, shutdown.clone(), tasks.clone());
        let (health, health_service) = tonic_health::server::health_reporter();
        health.set_serving::<DecisionServiceServer<DecisionGrpc>>().await;
        health.set_serving::<PolicyServiceServer<PolicyGrpc>>().await;
        health.set_serving::<AuditServiceServer<AuditGrpc>>().await;

        let mut transport = transport
            .layer(EdgeLayer::new(config.limits.calls))
            .layer(AuthLayer::new(store.clone(), tally.clone()));
        let reflection = |build: fn(tonic_reflection::server::Builder<'static>) -> _| {
            let builder = tonic_reflection::server::Builder::configure();
            build(
                builder
                    .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
                    .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET),
            )
        };
        let reflection = if config.listen.reflection {
            Some(reflection(|builder| builder.build_v1()).map_err(ServeError::Reflection)?)
        } else {
            None
        };
        let router = transport
            .add_service(health_service)
            .add_optional_service(reflection)
            .add_service(DecisionServiceServer::new(decisions).max_decoding_message_size(MAX_REQUEST_BYTES))
            .add_service(
                PolicyServiceServer::new(PolicyGrpc::new(pusher, store.clone()))
                    .max_decoding_message_size(MAX_REQUEST_BYTES),
            )
            .add_service(AuditServiceServer::new(audit).max_decoding_message_size(MAX_REQUEST_BYTES));
        let incoming = incoming(listener, config.limits.connections);
        let stopping = shutdown.clone().cancelled_owned();
        let transport = tokio::spawn(router.serve_with_incoming_shutdown(incoming, stopping));
        tasks.spawn(keep_house(store.clone(), tally, health, shutdown.clone()));

        let url = url(address, config.listen.tls.is_some());
        let server = Self {
            address,
            url,
            store,
            sqlite,
            shutdown,
            tasks,
            transport,
            data,
            drain: config.listen.drain,
        };
        server.publish_address().await?;
        Ok(server)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address for clients on this machine.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The store beneath everything, for its counters.
    #[must_use]
    pub fn sqlite(&self) -> &SqliteStore {
        &self.sqlite
    }

    /// Takes no more connections, lets calls at work end, writes what waits, and closes.
    ///
    /// # Errors
    /// If serving had failed, or a file cannot be removed.
    pub async fn stop(self) -> Result<(), ServeError> {
        self.shutdown.cancel();
        let data = self.data.clone();
        spawn_blocking(move || data.remove_address()).await??;
        let abort = self.transport.abort_handle();
        let served = timeout(self.drain, self.transport).await;
        if served.is_err() {
            tracing::warn!(
                drain_ms = self.drain.as_millis(),
                "calls were still at work after the time to drain; they are broken off"
            );
            abort.abort();
        }
        self.tasks.close();
        if timeout(self.drain, self.tasks.wait()).await.is_err() {
            tracing::warn!("work was still under way after the time to drain");
        }
        if timeout(self.drain, self.store.close()).await.is_err() {
            tracing::error!("storage did not finish in time");
        }
        match served {
            Ok(ended) => ended?.map_err(ServeError::Transport),
            Err(_) => Ok(()),
        }
    }

    /// Waits until serving ends by itself, which it should not.
    pub async fn failed(&mut self) -> ServeError {
        match (&mut self.transport).await {
            Ok(Ok(())) => ServeError::Listen {
                address: self.address,
                cause: io::Error::other("the listener ended"),
            },
            Ok(Err(cause)) => ServeError::Transport(cause),
            Err(cause) => ServeError::Task(cause),
        }
    }

    async fn publish_address(&self) -> Result<(), ServeError> {
        let (path, line) = (self.data.address_file(), format!("{}\n", self.url));
        Ok(spawn_blocking(move || datadir::write_private(&path, line.as_bytes())).await??)
    }
}

/// HTTP/2 as we want it.
async fn transport(config: &Config) -> Result<Transport, ServeError> {
    let transport = Transport::builder()
        .timeout(config.limits.call_time)
        .max_concurrent_streams(config.limits.streams)
        // So a connection whose other end has vanished is found within half a minute.
        .http2_keepalive_interval(Some(Duration::from_secs(20)))
        .http2_keepalive_timeout(Some(Duration::from_secs(10)))
        // Tokens and trace headers; the default of 16 KiB stands, written down because it is a bound.
        .http2_max_header_list_size(16 * 1024);
    let Some(Tls { certificate, key }) = &config.listen.tls else {
        if !config.listen.address.ip().is_loopback() {
            tracing::warn!(
                address = %config.listen.address,
                "tokens and tool calls travel in plain text on this address (allow_plaintext)"
            );
        }
        return Ok(transport);
    };
    let read = |path: &PathBuf| {
        let path = path.clone();
        async move {
            tokio::fs::read(&path)
                .await
                .map_err(|cause| ServeError::TlsFile { path, cause })
        }
    };
    let identity = Identity::from_pem(read(certificate).await?, read(key).await?);
    let tls = ServerTlsConfig::new()
        .identity(identity)
        .timeout(Duration::from_secs(10));
    transport.tls_config(tls).map_err(|cause| ServeError::Tls {
        certificate: certificate.clone(),
        key: key.clone(),
        cause,
    })
}

fn url(address: SocketAddr, tls: bool) -> String {
    let ip = match address.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    let scheme = if tls { "https" } else { "http" };
    format!("{scheme}://{}", SocketAddr::new(ip, address.port()))
}

/// What has to be done now and then: sum up refused tokens, and tell the health service when storage has failed.
async fn keep_house(store: Arc<dyn Store>, tally: Arc<Tally>, health: HealthReporter, shutdown: CancellationToken) {
    let mut tick = interval(Duration::from_secs(1));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut seconds = 0_u32;
    loop {
        tokio::select! {
            () = shutdown.cancelled() => break,
            _ = tick.tick() => {}
        }
        seconds = (seconds + 1) % 10;
        if seconds == 0 {
            tally.report();
        }
        if store.failure().is_some() {
            health.set_not_serving::<DecisionServiceServer<DecisionGrpc>>().await;
            health.set_not_serving::<PolicyServiceServer<PolicyGrpc>>().await;
        }
    }
    tally.report();
    health.set_not_serving::<DecisionServiceServer<DecisionGrpc>>().await;
}
