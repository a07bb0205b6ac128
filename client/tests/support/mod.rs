//! A fake portcullis-sandboxd and a fake portcullis-server, and the real program run against them.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may stop at the first surprise, as tests may"
)]

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    pin::Pin,
    process::{Child, Command, Output, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use portcullis_proto::v1::{
    self, decision_service_server::DecisionServiceServer, host_service_server::HostServiceServer,
    sandbox_service_server::SandboxServiceServer,
};
use tokio::{net::UnixListener, runtime::Runtime};
use tokio_stream::{Stream, wrappers::UnixListenerStream};
use tonic::{Request, Response, Status, Streaming, transport::Server};

pub const TOKEN: &str = "pcl_agent_test";

/// What the fake daemon answers.
#[derive(Clone)]
pub enum Says {
    Answer(Box<v1::DecideResponse>),
    Status(tonic::Code, &'static str),
    /// Never answers.
    Hangs,
}

impl Says {
    pub fn effect(effect: v1::Effect) -> Self {
        Self::Answer(Box::new(answer(effect)))
    }
}

/// An answer as the real ones are.
pub fn answer(effect: v1::Effect) -> v1::DecideResponse {
    v1::DecideResponse {
        decision_id: "019374f0-0000-7000-8000-000000000001".into(),
        effect: effect.into(),
        decided_by: v1::DecidedBy::Rule.into(),
        rule: Some(v1::RuleRef {
            layer: v1::Layer::Team.into(),
            document: "team policy v3".into(),
            line: 14,
            column: 7,
            text: "Bash(git push --force *)".into(),
            name: String::new(),
            effect: effect.into(),
        }),
        user_message: "told to the person".into(),
        agent_message: "told to the agent".into(),
        policy_version: 3,
        ..Default::default()
    }
}

/// What the fake saw.
#[derive(Default)]
pub struct Seen {
    pub requests: Vec<v1::DecideRequest>,
    pub trusted: Vec<String>,
    pub approved: Vec<String>,
    pub run: Vec<String>,
}

#[derive(Clone)]
pub struct Service {
    pub says: Says,
    pub explanation: Arc<v1::ExplainResponse>,
    pub status: Arc<v1::StatusResponse>,
    pub mcp_servers: Arc<v1::ListMcpServersResponse>,
    pub seen: Arc<Mutex<Seen>>,
}

fn authorised<T>(request: &Request<T>) -> Result<(), Status> {
    match request
        .metadata()
        .get("authorization")
        .and_then(|value| value.to_str().ok())
    {
        Some(value) if value == format!("Bearer {TOKEN}") => Ok(()),
        _ => Err(Status::unauthenticated("the token is not known")),
    }
}

#[tonic::async_trait]
impl v1::decision_service_server::DecisionService for Service {
    async fn decide(&self, request: Request<v1::DecideRequest>) -> Result<Response<v1::DecideResponse>, Status> {
        authorised(&request)?;
        self.seen.lock().unwrap().requests.push(request.into_inner());
        match &self.says {
            Says::Answer(answer) => Ok(Response::new((**answer).clone())),
            Says::Status(code, message) => Err(Status::new(*code, *message)),
            Says::Hangs => std::future::pending().await,
        }
    }

    async fn explain(&self, request: Request<v1::ExplainRequest>) -> Result<Response<v1::ExplainResponse>, Status> {
        authorised(&request)?;
        let inner = request.into_inner().request.unwrap_or_default();
        self.seen.lock().unwrap().requests.push(inner);
        Ok(Response::new((*self.explanation).clone()))
    }

    async fn report_outcome(
        &self,
        _: Request<v1::ReportOutcomeRequest>,
    ) -> Result<Response<v1::ReportOutcomeResponse>, Status> {
        Err(Status::permission_denied("only a host may"))
    }

    async fn list_ticket_keys(
        &self,
        _: Request<v1::ListTicketKeysRequest>,
    ) -> Result<Response<v1::ListTicketKeysResponse>, Status> {
        Err(Status::permission_denied("only a host may"))
    }
}

#[tonic::async_trait]
impl v1::host_service_server::HostService for Service {
    async fn status(&self, request: Request<v1::StatusRequest>) -> Result<Response<v1::StatusResponse>, Status> {
        authorised(&request)?;
        Ok(Response::new((*self.status).clone()))
    }

    async fn trust_project(
        &self,
        request: Request<v1::TrustProjectRequest>,
    ) -> Result<Response<v1::TrustProjectResponse>, Status> {
        let root = request.into_inner().root;
        self.seen.lock().unwrap().trusted.push(root.clone());
        Ok(Response::new(v1::TrustProjectResponse { root }))
    }

    async fn untrust_project(
        &self,
        request: Request<v1::UntrustProjectRequest>,
    ) -> Result<Response<v1::UntrustProjectResponse>, Status> {
        let root = request.into_inner().root;
        let trusted = &mut self.seen.lock().unwrap().trusted;
        let before = trusted.len();
        trusted.retain(|known| *known != root);
        let was_trusted = trusted.len() < before;
        Ok(Response::new(v1::UntrustProjectResponse { was_trusted }))
    }

    async fn list_trusted_projects(
        &self,
        _: Request<v1::ListTrustedProjectsRequest>,
    ) -> Result<Response<v1::ListTrustedProjectsResponse>, Status> {
        let roots = self.seen.lock().unwrap().trusted.clone();
        Ok(Response::new(v1::ListTrustedProjectsResponse { roots }))
    }

    async fn list_mcp_servers(
        &self,
        _: Request<v1::ListMcpServersRequest>,
    ) -> Result<Response<v1::ListMcpServersResponse>, Status> {
        Ok(Response::new((*self.mcp_servers).clone()))
    }

    async fn approve_mcp_servers(
        &self,
        request: Request<v1::ApproveMcpServersRequest>,
    ) -> Result<Response<v1::ApproveMcpServersResponse>, Status> {
        self.seen.lock().unwrap().approved.extend(request.into_inner().digests);
        Ok(Response::new(v1::ApproveMcpServersResponse {}))
    }

    async fn revoke_mcp_server(
        &self,
        request: Request<v1::RevokeMcpServerRequest>,
    ) -> Result<Response<v1::RevokeMcpServerResponse>, Status> {
        let revoked = u32::from(request.into_inner().name == "github");
        Ok(Response::new(v1::RevokeMcpServerResponse { revoked }))
    }

    async fn get_sandbox(&self, _: Request<v1::GetSandboxRequest>) -> Result<Response<v1::GetSandboxResponse>, Status> {
        Err(Status::unimplemented("played against the real programs only"))
    }

    async fn choose_sandbox(
        &self,
        _: Request<v1::ChooseSandboxRequest>,
    ) -> Result<Response<v1::ChooseSandboxResponse>, Status> {
        Err(Status::unimplemented("played against the real programs only"))
    }
}

type Replies = Pin<Box<dyn Stream<Item = Result<v1::RunResponse, Status>> + Send>>;

fn reply(message: v1::run_response::Message) -> v1::RunResponse {
    v1::RunResponse { message: Some(message) }
}

/// Notes a signal; whether it was one.
fn note(seen: &Mutex<Seen>, message: &v1::RunRequest) -> bool {
    let Some(v1::run_request::Message::Signal(number)) = message.message else {
        return false;
    };
    seen.lock().unwrap().run.push(format!("signal {number}"));
    true
}

fn exit(end: v1::outcome::End) -> v1::run_response::Message {
    v1::run_response::Message::Exit(v1::Outcome {
        end: Some(end),
        ..Default::default()
    })
}

/// Plays the command by its name: `echo-stdin`, `count-stdin`, `exit N`, `wait-for-signal`, `flood`, `vanish`, `ignore-stdin`.
#[tonic::async_trait]
impl v1::sandbox_service_server::SandboxService for Service {
    type RunStream = Replies;

    async fn run(&self, request: Request<Streaming<v1::RunRequest>>) -> Result<Response<Replies>, Status> {
        use v1::{outcome::End, run_request::Message as In, run_response::Message as Out};
        authorised(&request)?;
        let mut input = request.into_inner();
        let Some(In::Start(start)) = input.message().await?.and_then(|first| first.message) else {
            return Err(Status::invalid_argument("`start` comes first"));
        };
        let environment = start
            .environment
            .iter()
            .map(|pair| String::from_utf8_lossy(pair).into_owned());
        self.seen.lock().unwrap().run.extend(environment);
        if start.argv[0] == "refused" {
            return Err(Status::failed_precondition("the ticket was redeemed before"));
        }
        let seen = Arc::clone(&self.seen);
        let (out, replies) = tokio::sync::mpsc::channel(2);
        tokio::spawn(async move {
            let send = async |message| out.send(Ok(reply(message))).await;
            let _ = send(Out::Started(v1::RunStarted::default())).await;
            let mut total = 0_usize;
            match start.argv[0].as_str() {
                "echo-stdin" | "count-stdin" => {
                    while let Ok(Some(message)) = input.message().await {
                        if matches!(message.message, Some(In::Stdin(_))) {
                            let _ = send(Out::StdinTaken(v1::RunStdinTaken {})).await;
                        }
                        match message.message {
                            Some(In::Stdin(bytes)) if start.argv[0] == "echo-stdin" => {
                                let _ = send(Out::Stdout(bytes)).await;
                            }
                            Some(In::Stdin(bytes)) => total += bytes.len(),
                            Some(In::StdinClosed(_)) => break,
                            _ => {}
                        }
                    }
                    if start.argv[0] == "count-stdin" {
                        let _ = send(Out::Stderr(format!("{total}\n").into_bytes())).await;
                    }
                    let _ = send(exit(End::ExitCode(0))).await;
                }
                "wait-for-signal" => {
                    let _ = send(Out::Stdout(b"ready\n".to_vec())).await;
                    while let Ok(Some(message)) = input.message().await {
                        if let Some(In::Signal(number)) = message.message {
                            let _ = send(exit(End::Signal(number))).await;
                            return;
                        }
                    }
                }
                "deaf" => {
                    let _ = send(Out::Stdout(b"ready\n".to_vec())).await;
                    while let Ok(Some(message)) = input.message().await {
                        note(&seen, &message);
                    }
                }
                "flood-until-signal" => loop {
                    tokio::select! {
                        sent = send(Out::Stdout(vec![b'y'; 32 * 1024])) => if sent.is_err() { return; },
                        message = input.message() => {
                            let signalled = matches!(message, Ok(Some(message)) if note(&seen, &message));
                            if signalled {
                                let _ = send(exit(End::Signal(15))).await;
                                return;
                            }
                        }
                    }
                },
                "flood" => while send(Out::Stdout(vec![b'y'; 32 * 1024])).await.is_ok() {},
                "vanish" => {
                    let _ = send(Out::Stdout(b"half".to_vec())).await;
                }
                "unlimited" => {
                    let _ = send(Out::Exit(v1::Outcome {
                        end: Some(End::ExitCode(0)),
                        enforcement: Some(v1::Enforcement {
                            unheld_limits: vec!["processes: nobody counts them".into()],
                            ..Default::default()
                        }),
                        ..Default::default()
                    }))
                    .await;
                }
                "not-started" => {
                    let _ = send(exit(End::NotStarted("no such program".into()))).await;
                }
                // Ends at once, whatever comes in.
                _ => {
                    let code = start.argv.get(1).and_then(|code| code.parse().ok()).unwrap_or(0);
                    let _ = send(exit(End::ExitCode(code))).await;
                }
            }
        });
        Ok(Response::new(Box::pin(tokio_stream::wrappers::ReceiverStream::new(
            replies,
        ))))
    }

    async fn capabilities(
        &self,
        _: Request<v1::CapabilitiesRequest>,
    ) -> Result<Response<v1::CapabilitiesResponse>, Status> {
        Ok(Response::new(v1::CapabilitiesResponse::default()))
    }
}

/// A data directory, with a fake daemon on its socket if there is one.
pub struct Fake {
    pub data: tempfile::TempDir,
    pub seen: Arc<Mutex<Seen>>,
    runtime: Option<Runtime>,
}

impl Fake {
    /// A data directory where nothing listens.
    pub fn absent() -> Self {
        let data = tempfile::tempdir().unwrap();
        for folder in ["tokens", "run", "server"] {
            std::fs::create_dir(data.path().join(folder)).unwrap();
        }
        for token in ["agent", "admin"] {
            std::fs::write(data.path().join(format!("tokens/{token}.token")), format!("{TOKEN}\n")).unwrap();
        }
        Self {
            data,
            seen: Arc::default(),
            runtime: None,
        }
    }

    pub fn says(says: Says) -> Self {
        Self::with(|service| service.says = says)
    }

    pub fn with(change: impl FnOnce(&mut Service)) -> Self {
        let mut fake = Self::absent();
        let mut service = Service {
            says: Says::effect(v1::Effect::Deny),
            explanation: Arc::default(),
            status: Arc::default(),
            mcp_servers: Arc::default(),
            seen: Arc::clone(&fake.seen),
        };
        change(&mut service);
        let socket = fake.socket();
        fake.serve(move || async move {
            let listener = UnixListener::bind(socket).unwrap();
            move || async move {
                Server::builder()
                    .add_service(DecisionServiceServer::new(service.clone()))
                    .add_service(SandboxServiceServer::new(service.clone()))
                    .add_service(HostServiceServer::new(service))
                    .serve_with_incoming(UnixListenerStream::new(listener))
                    .await
                    .unwrap();
            }
        });
        fake
    }

    /// Runs something on the fake's runtime: first what binds, then what serves.
    pub fn serve<Bind, Serve, Served>(&mut self, bind: impl FnOnce() -> Bind)
    where
        Bind: Future<Output = Serve>,
        Serve: FnOnce() -> Served,
        Served: Future<Output = ()> + Send + 'static,
    {
        let runtime = self.runtime.get_or_insert_with(|| {
            tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .enable_all()
                .build()
                .unwrap()
        });
        let serve = runtime.block_on(bind());
        let _guard = runtime.enter();
        runtime.spawn(serve());
    }

    pub fn socket(&self) -> PathBuf {
        self.data.path().join("run/sandboxd.sock")
    }

    /// Waits until the fake has seen something, but not for ever.
    pub fn until(&self, condition: impl Fn(&Seen) -> bool) {
        let begun = std::time::Instant::now();
        while !condition(&self.seen.lock().unwrap()) {
            assert!(begun.elapsed() < Duration::from_secs(30), "it did not come about");
            thread::yield_now();
        }
    }

    pub fn requests(&self) -> Vec<v1::DecideRequest> {
        self.seen.lock().unwrap().requests.clone()
    }

    /// The real program, with nothing of the caller's environment but PATH.
    pub fn program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis"));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", "/home/dev")
            .env("PORTCULLIS_DATA_DIR", self.data.path())
            .current_dir("/tmp")
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Told {
        Told::from(self.program(arguments).output().unwrap())
    }

    pub fn run_with(&self, arguments: &[&str], input: &[u8]) -> Told {
        feed(self.program(arguments), input)
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Runs a program with this input. The input is written beside, as the program need not read it.
pub fn feed(mut command: Command, input: &[u8]) -> Told {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = thread::scope(|scope| {
        scope.spawn(move || {
            let _ = stdin.write_all(input);
        });
        child.wait_with_output().unwrap()
    });
    Told::from(output)
}

/// What a program printed, and how it ended.
#[derive(Debug)]
pub struct Told {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Told {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Told {
    /// The one JSON object on stdout.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Waits for a child, but not for ever.
pub fn wait(mut child: Child) -> Option<i32> {
    let (done, result) = std::sync::mpsc::channel();
    let id = child.id();
    thread::spawn(move || done.send(child.wait()));
    match result.recv_timeout(Duration::from_secs(30)) {
        Ok(status) => status.unwrap().code(),
        Err(_) => panic!("process {id} does not end"),
    }
}

/// Compares with a golden file; `PORTCULLIS_BLESS=1` writes it.
pub fn golden(name: &str, actual: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("PORTCULLIS_BLESS").is_some() {
        std::fs::write(&file, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(actual, expected, "differs from {}", file.display());
}

pub fn fixtures(agent: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/fixtures/hooks")
        .join(agent);
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".in.json"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

pub fn fixture(agent: &str, name: &str) -> String {
    let (_, text) = fixtures(agent)
        .into_iter()
        .find(|(file, _)| *file == format!("{name}.in.json"))
        .unwrap();
    text
}

/// Exit code and both outputs, as one text to compare. Temporary paths are replaced.
pub fn shown(fake: &Fake, told: &Told) -> String {
    let data = fake.data.path().to_string_lossy().into_owned();
    let text = format!(
        "exit {:?}\n--- stdout\n{}--- stderr\n{}",
        told.code.unwrap(),
        told.out,
        told.err
    );
    text.replace(&data, "DATA")
}

pub fn part(subject: &str, through: &[&str], effect: v1::Effect, reason: &str) -> v1::TraceEntry {
    v1::TraceEntry {
        subject: subject.into(),
        seen_through: through.iter().map(|word| (*word).to_owned()).collect(),
        effect: effect.into(),
        decided_by: v1::DecidedBy::Mode.into(),
        rule: None,
        reason: reason.into(),
    }
}

pub fn denied() -> v1::DecideResponse {
    let mut denied = answer(v1::Effect::Deny);
    denied.user_message = "pushing over others' work is off in this team".into();
    denied.agent_message = "push with `--force-with-lease`, or open a pull request".into();
    denied.trace = vec![v1::TraceEntry {
        rule: denied.rule.clone(),
        decided_by: v1::DecidedBy::Rule.into(),
        ..part("git push --force", &[], v1::Effect::Deny, "")
    }];
    denied
}
