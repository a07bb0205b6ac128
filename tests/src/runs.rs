//! Runs a command with a ticket through sandboxd's stream, as a client library would.

use tokio::sync::mpsc;
use tokio_stream::{StreamExt as _, wrappers::ReceiverStream};
use tonic::Status;

use crate::{
    Stack,
    grpc::Connection,
    v1::{self, DecideResponse, RunRequest, RunStart, run_request, run_response},
};

/// What a run came to.
#[derive(Debug, Default)]
pub struct Finished {
    /// What was enforced, as told at the start.
    pub enforcement: Option<v1::Enforcement>,
    /// All of its standard output.
    pub stdout: Vec<u8>,
    /// All of its standard error.
    pub stderr: Vec<u8>,
    /// How it ended.
    pub outcome: v1::Outcome,
}

/// Starts a run and waits for its end.
///
/// # Errors
/// What sandboxd answers if it refuses.
pub async fn run(connection: &Connection, start: RunStart) -> Result<Finished, Status> {
    let (requests, stream) = mpsc::channel(4);
    for message in [
        run_request::Message::Start(start),
        run_request::Message::StdinClosed(v1::RunStdinClosed {}),
    ] {
        requests.send(RunRequest { message: Some(message) }).await.unwrap();
    }
    let mut answers = connection
        .sandbox()
        .run(ReceiverStream::new(stream))
        .await?
        .into_inner();
    let mut finished = Finished::default();
    while let Some(answer) = answers.next().await {
        match answer?.message.unwrap() {
            run_response::Message::StdinTaken(_) | run_response::Message::SignalSent(_) => {}
            run_response::Message::Started(started) => finished.enforcement = started.enforcement,
            run_response::Message::Stdout(bytes) => finished.stdout.extend(bytes),
            run_response::Message::Stderr(bytes) => finished.stderr.extend(bytes),
            run_response::Message::Exit(outcome) => {
                // Closing the stream of requests earlier would end the run.
                drop(requests);
                finished.outcome = outcome;
                return Ok(finished);
            }
        }
    }
    Err(Status::data_loss("the stream ended without an outcome"))
}

impl Stack {
    /// Asks sandboxd whether it may run a program, and fails the test if the answer holds no ticket.
    pub async fn allowed(&self, connection: &Connection, argv: &[&str]) -> (DecideResponse, RunStart) {
        let answer = connection
            .decisions()
            .decide(self.execution(argv))
            .await
            .unwrap()
            .into_inner();
        assert_eq!(answer.effect(), v1::Effect::Allow, "{answer:?}");
        let start = RunStart {
            ticket: Some(
                answer
                    .ticket
                    .clone()
                    .expect("an allow with an execution carries a ticket"),
            ),
            argv: argv.iter().map(|word| (*word).to_owned()).collect(),
            cwd: self.project().to_str().unwrap().to_owned(),
            environment: Vec::new(),
            ..RunStart::default()
        };
        (answer, start)
    }
}
