//! A daemon in this process, a server made of answers, and a client on the socket.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "only tests use it"
)]
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file is a crate of its own and uses a part"
)]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ed25519_dalek::SigningKey;
use hyper_util::rt::TokioIo;
use portcullis_policy::protected::sandbox_read_only_patterns;
use portcullis_policy::shell::quote;
use portcullis_proto::convert::{Vouching, question};
use portcullis_proto::ticket::{command_digest, key_id, sign};
use portcullis_proto::v1::decision_service_client::DecisionServiceClient;
use portcullis_proto::v1::decision_service_server::{DecisionService, DecisionServiceServer};
use portcullis_proto::v1::host_service_client::HostServiceClient;
use portcullis_proto::v1::sandbox_service_client::SandboxServiceClient;
use portcullis_proto::v1::*;
use portcullis_sandboxd::daemon::Daemon;
use portcullis_sandboxd::places::Places;
use portcullis_sandboxd::serve::{Options, ServeError, bind};
use tokio::net::{TcpListener, UnixStream};
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, Endpoint, Server, Uri};
use tonic::{Request, Response, Status, Streaming};

/// Longer than anything here takes; only so that a broken test ends.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub const AGENT_TOKEN: &str = "Bearer agent";

/// How the server answers.
#[derive(Clone)]
pub struct Script {
    pub valid_for: Duration,
    pub timeout: Option<Duration>,
    pub refuse: Option<Status>,
    /// How the next outcome is refused.
    pub refuse_outcome: Option<Status>,
    /// Changes claims before they are signed.
    pub claims: fn(&mut TicketClaims),
    pub profile: fn(&mut SandboxProfile),
}

impl Default for Script {
    fn default() -> Self {
        Self {
            valid_for: PATIENCE,
            timeout: None,
            refuse: None,
            refuse_outcome: None,
            claims: |_| {},
            profile: |_| {},
        }
    }
}

/// A server that allows everything.
pub struct FakeServer {
    pub key: SigningKey,
    pub script: Mutex<Script>,
    pub asked: Mutex<Vec<(DecideRequest, tonic::metadata::MetadataMap)>>,
    pub outcomes: watch::Sender<Vec<ReportOutcomeRequest>>,
    /// What it says of itself, once it serves.
    pub health: Mutex<Option<tonic_health::server::HealthReporter>>,
}

#[derive(Clone)]
pub struct Handle(pub Arc<FakeServer>);

#[tonic::async_trait]
impl DecisionService for Handle {
    async fn decide(&self, request: Request<DecideRequest>) -> Result<Response<DecideResponse>, Status> {
        let metadata = request.metadata().clone();
        let message = request.into_inner();
        let script = self.0.script.lock().unwrap().clone();
        self.0.asked.lock().unwrap().push((message.clone(), metadata));
        if let Some(refusal) = script.refuse {
            return Err(refusal);
        }
        // As the real server reads it.
        question(message.clone(), Vouching::Host)?;
        let decision_id = uuid::Uuid::now_v7().to_string();
        let facts = message.facts.unwrap_or_default();
        let workspace = message.workspace.unwrap_or_default();
        let ticket = message.execution.map(|execution| {
            let mut profile = SandboxProfile {
                workspace: WorkspaceAccess::ReadWrite.into(),
                roots: workspace.roots.clone(),
                read_only_patterns: sandbox_read_only_patterns().iter().map(ToString::to_string).collect(),
                masked_paths: facts.own_secret_paths.clone(),
                network: NetworkAccess::None.into(),
                environment: vec!["HOME".to_owned()],
                timeout: script
                    .timeout
                    .map(|timeout| prost_types::Duration::try_from(timeout).unwrap()),
                temporary_folder: portcullis_proto::v1::TemporaryFolder::Private.into(),
                ..SandboxProfile::default()
            };
            (script.profile)(&mut profile);
            let mut claims = TicketClaims {
                decision_id: decision_id.clone(),
                command_digest: command_digest(&execution.argv).to_vec(),
                cwd: workspace.cwd.clone(),
                uid: facts.uid,
                host_id: facts.host_id.clone(),
                profile: Some(profile),
                valid_for: Some(prost_types::Duration::try_from(script.valid_for).unwrap()),
                ..TicketClaims::default()
            };
            (script.claims)(&mut claims);
            sign(&self.0.key, claims)
        });
        Ok(Response::new(DecideResponse {
            decision_id,
            effect: Effect::Allow.into(),
            ticket,
            ..DecideResponse::default()
        }))
    }

    async fn explain(&self, request: Request<ExplainRequest>) -> Result<Response<ExplainResponse>, Status> {
        let message = request.into_inner().request.unwrap_or_default();
        let user_message = message.facts.unwrap_or_default().host_id;
        Ok(Response::new(ExplainResponse {
            user_message,
            ..ExplainResponse::default()
        }))
    }

    async fn report_outcome(
        &self,
        request: Request<ReportOutcomeRequest>,
    ) -> Result<Response<ReportOutcomeResponse>, Status> {
        if let Some(refusal) = self.0.script.lock().unwrap().refuse_outcome.take() {
            return Err(refusal);
        }
        self.0
            .outcomes
            .send_modify(|outcomes| outcomes.push(request.into_inner()));
        Ok(Response::new(ReportOutcomeResponse { sequence: 1 }))
    }

    async fn list_ticket_keys(
        &self,
        _request: Request<ListTicketKeysRequest>,
    ) -> Result<Response<ListTicketKeysResponse>, Status> {
        let key = self.0.key.verifying_key();
        Ok(Response::new(ListTicketKeysResponse {
            keys: vec![TicketKey {
                key_id: key_id(&key),
                public_key: key.to_bytes().to_vec(),
            }],
        }))
    }
}

impl FakeServer {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            key: SigningKey::from_bytes(&[7; 32]),
            script: Mutex::default(),
            health: Mutex::default(),
            asked: Mutex::default(),
            outcomes: watch::channel(Vec::new()).0,
        })
    }

    /// Serves on a free port until the token is cancelled.
    pub async fn serve(self: &Arc<Self>) -> (String, CancellationToken) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let stop = CancellationToken::new();
        let service = DecisionServiceServer::new(Handle(Arc::clone(self)));
        let (health, health_service) = tonic_health::server::health_reporter();
        health.set_serving::<DecisionServiceServer<Handle>>().await;
        *self.health.lock().unwrap() = Some(health);
        let server = Server::builder().add_service(service).add_service(health_service);
        let stopped = stop.clone();
        tokio::spawn(async move {
            // Dropped at once, connections and all: as if killed.
            tokio::select! {
                _ = server.serve_with_incoming(TcpListenerStream::new(listener)) => {}
                () = stopped.cancelled() => {}
            }
        });
        (address, stop)
    }

    /// Waits for an outcome of a decision.
    pub async fn outcome(&self, decision_id: &str) -> Outcome {
        let mut outcomes = self.outcomes.subscribe();
        let found = outcomes.wait_for(|outcomes| outcomes.iter().any(|outcome| outcome.decision_id == decision_id));
        let found = tokio::time::timeout(PATIENCE, found)
            .await
            .expect("an outcome arrives")
            .unwrap();
        found
            .iter()
            .find(|outcome| outcome.decision_id == decision_id)
            .unwrap()
            .outcome
            .clone()
            .unwrap()
    }
}

/// The whole set-up.
pub struct Host {
    pub folder: tempfile::TempDir,
    pub places: Places,
    pub workspace: PathBuf,
    pub server: Arc<FakeServer>,
    pub server_stop: CancellationToken,
    pub daemon: Arc<Daemon>,
    serving: tokio::task::JoinHandle<Result<(), ServeError>>,
    pub channel: Channel,
}

impl Host {
    pub async fn start() -> Self {
        // Not below /tmp, which every sandbox covers: here it is to be seen that nothing outside can be written.
        Self::start_in(
            Path::new(env!("CARGO_TARGET_TMPDIR")),
            Path::new(env!("CARGO_BIN_EXE_portcullis-launch")),
        )
        .await
    }

    /// In a folder and with a launcher that another user can reach, too.
    pub async fn start_in(folder: &Path, launcher: &Path) -> Self {
        let folder = tempfile::tempdir_in(folder).unwrap();
        let root = folder.path().canonicalize().unwrap();
        let places = Places {
            data: root.join("data"),
            config: root.join("config"),
            home: Some(root.join("home")),
            system: root.join("etc"),
            programs: launcher.parent().unwrap().to_path_buf(),
        };
        let workspace = root.join("ws");
        std::fs::create_dir_all(&workspace).unwrap();
        std::fs::create_dir_all(root.join("data/tokens")).unwrap();
        std::fs::write(places.host_token(), "host\n").unwrap();
        let server = FakeServer::new();
        let (address, server_stop) = server.serve().await;
        write_address(&places, &address);
        let (daemon, serving, channel) = Self::daemon(&places).await;
        Self {
            folder,
            places,
            workspace,
            server,
            server_stop,
            daemon,
            serving,
            channel,
        }
    }

    async fn daemon(places: &Places) -> (Arc<Daemon>, tokio::task::JoinHandle<Result<(), ServeError>>, Channel) {
        let options = Options {
            ca_file: None,
            places: places.clone(),
            socket: None,
            server: None,
        };
        let bound = bind(options).await.unwrap();
        let daemon = Arc::clone(&bound.daemon);
        let serving = tokio::spawn(bound.serve());
        (daemon, serving, connect(places.socket()).await)
    }

    /// Ends the daemon and starts another one on the same data.
    pub async fn restart(&mut self) {
        self.stop().await;
        self.start_again().await;
    }

    /// Starts a daemon after the last one has ended.
    pub async fn start_again(&mut self) {
        let (daemon, serving, channel) = Self::daemon(&self.places).await;
        (self.daemon, self.serving, self.channel) = (daemon, serving, channel);
    }

    pub async fn stop(&mut self) {
        self.daemon.stop.cancel();
        tokio::time::timeout(PATIENCE, &mut self.serving)
            .await
            .unwrap()
            .unwrap()
            .unwrap();
    }

    pub fn decisions(&self) -> DecisionServiceClient<Channel> {
        DecisionServiceClient::new(self.channel.clone())
    }

    pub fn sandbox(&self) -> SandboxServiceClient<Channel> {
        SandboxServiceClient::new(self.channel.clone())
    }

    pub fn host(&self) -> HostServiceClient<Channel> {
        HostServiceClient::new(self.channel.clone())
    }

    pub fn question(&self, argv: &[&str]) -> DecideRequest {
        let argv: Vec<String> = argv.iter().map(ToString::to_string).collect();
        let path = self.workspace.to_str().unwrap().to_owned();
        DecideRequest {
            request_id: uuid::Uuid::now_v7().to_string(),
            agent: Some(Agent {
                name: "cli".to_owned(),
                version: String::new(),
            }),
            mode: Mode::Default.into(),
            workspace: Some(Workspace {
                roots: vec![path.clone()],
                cwd: path,
                home: String::new(),
            }),
            call: Some(ToolCall {
                tool_name: "Bash".to_owned(),
                input_json: serde_json::json!({ "command": quote(&argv) }).to_string().into_bytes(),
                tool_use_id: String::new(),
            }),
            execution: Some(Execution {
                argv,
                ..Execution::default()
            }),
            ..DecideRequest::default()
        }
    }

    pub async fn decide(&self, question: DecideRequest) -> Result<DecideResponse, Status> {
        self.decisions()
            .decide(with_token(question))
            .await
            .map(Response::into_inner)
    }

    /// Decides and builds what `Run` wants to see first.
    pub async fn start_for(&self, argv: &[&str]) -> (String, RunStart) {
        let answer = self.decide(self.question(argv)).await.unwrap();
        let start = RunStart {
            ticket: answer.ticket,
            argv: argv.iter().map(ToString::to_string).collect(),
            cwd: self.workspace.to_str().unwrap().to_owned(),
            environment: vec![b"HOME=/".to_vec(), b"SECRET=x".to_vec()],
            ..RunStart::default()
        };
        (answer.decision_id, start)
    }

    pub async fn launch(&self, start: RunStart) -> Result<Running, Status> {
        let (send, receive) = mpsc::channel(4);
        send.send(RunRequest {
            message: Some(run_request::Message::Start(start)),
        })
        .await
        .unwrap();
        let responses = self.sandbox().run(ReceiverStream::new(receive)).await?.into_inner();
        Ok(Running { send, responses })
    }

    /// Runs to the end.
    pub async fn run(&self, argv: &[&str]) -> Finished {
        let (decision_id, start) = self.start_for(argv).await;
        let mut finished = self.launch(start).await.unwrap().finish().await;
        finished.decision_id = decision_id;
        finished
    }

    /// Runs a line of bash to the end.
    pub async fn bash(&self, line: &str) -> Finished {
        self.run(&["bash", "-c", line]).await
    }

    pub fn script(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.server.script.lock().unwrap());
    }
}

pub fn write_address(places: &Places, address: &str) {
    std::fs::create_dir_all(places.data.join("server")).unwrap();
    std::fs::write(places.server_address(), format!("{address}\n")).unwrap();
}

pub fn with_token<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request
        .metadata_mut()
        .insert("authorization", AGENT_TOKEN.parse().unwrap());
    request
}

pub async fn connect(socket: PathBuf) -> Channel {
    Endpoint::from_static("http://sandboxd")
        .connect_with_connector(tower::service_fn(move |_: Uri| {
            let socket = socket.clone();
            async move { Ok::<_, std::io::Error>(TokioIo::new(UnixStream::connect(socket).await?)) }
        }))
        .await
        .unwrap()
}

/// A run that goes on.
pub struct Running {
    pub send: mpsc::Sender<RunRequest>,
    pub responses: Streaming<RunResponse>,
}

/// A run that has ended.
#[derive(Debug, Default)]
pub struct Finished {
    pub decision_id: String,
    pub started: Option<Enforcement>,
    /// Names of variables that were kept out.
    pub removed: Vec<String>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub outcome: Outcome,
}

impl Finished {
    pub fn code(&self) -> Option<u32> {
        match self.outcome.end {
            Some(outcome::End::ExitCode(code)) => Some(code),
            _ => None,
        }
    }

    pub fn stdout(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }
}

impl Running {
    pub async fn send(&self, message: run_request::Message) {
        let _ = self.send.send(RunRequest { message: Some(message) }).await;
    }

    pub async fn next(&mut self) -> Option<run_response::Message> {
        tokio::time::timeout(PATIENCE, self.responses.message())
            .await
            .expect("a message arrives")
            .unwrap()?
            .message
    }

    /// Reads to the end.
    pub async fn finish(&mut self) -> Finished {
        let mut finished = Finished::default();
        while let Some(message) = self.next().await {
            match message {
                run_response::Message::StdinTaken(_) | run_response::Message::SignalSent(_) => {}
                run_response::Message::Started(started) => {
                    finished.started = started.enforcement;
                    finished.removed = started.removed_variables;
                }
                run_response::Message::Stdout(bytes) => finished.stdout.extend(bytes),
                run_response::Message::Stderr(bytes) => finished.stderr.extend(bytes),
                run_response::Message::Exit(outcome) => {
                    finished.outcome = outcome;
                    return finished;
                }
            }
        }
        panic!("the stream ended without an outcome: {finished:?}");
    }
}

/// The same line without a sandbox: what a denial is compared with.
pub fn unsandboxed(line: &str, cwd: &Path) -> std::process::Output {
    std::process::Command::new("bash")
        .args(["-c", line])
        .current_dir(cwd)
        .output()
        .unwrap()
}
