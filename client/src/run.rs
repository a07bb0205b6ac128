//! A run in the sandbox: a stream of input to the command, and of its output back.
//!
//! Everything is bounded: at most eight messages of input are on their way, then the sender waits until the command has
//! taken one. Signals have their own queue and go first, and as no more input than that is ever under way, a command that
//! reads none can still be interrupted. Dropping a [`Running`] ends the command: sandboxd kills what nobody listens to any
//! more.

use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use portcullis_proto::v1::{
    self, run_request::Message, run_response::Message as Reply, sandbox_service_client::SandboxServiceClient,
};
use serde::Serialize;
use tokio::{
    sync::{Semaphore, mpsc, watch},
    time::timeout,
};
use tokio_stream::Stream;
use tonic::{Streaming, transport::Channel};

use crate::{CallError, Permit, audit::RefusalOf, connect::Link, host::Enforcement, terminal};

/// Messages of input that may be on their way: with 64 KiB each, half a megabyte. sandboxd lets twice as many wait.
const QUEUED: usize = 8;

/// Most bytes of input in one message.
pub const MAX_INPUT_BYTES: usize = 64 * 1024;

/// A command that runs, or is about to.
#[derive(Debug)]
pub struct Running {
    replies: Streaming<v1::RunResponse>,
    input: Input,
    signal_sent: watch::Sender<u32>,
    link: Link,
    ended: bool,
    terminal: Option<terminal::Coming>,
}

/// Which standard streams a command has that is not given them as messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Here {
    /// This program's own, as they are: its terminal, its files, its pipes.
    AsTheyAre,
    /// A terminal of its own, of which this program has the controlling side: see [`Running::take_terminal`].
    OwnTerminal,
}

/// The way to the command's standard input, and for signals. May be cloned.
#[derive(Clone, Debug)]
pub struct Input {
    data: mpsc::Sender<v1::RunRequest>,
    signals: mpsc::Sender<v1::RunRequest>,
    /// One permit per message of input that may be sent; closed when the run is over.
    window: Arc<Semaphore>,
    /// The number of the signal that sandboxd last passed on.
    passed_on: watch::Receiver<u32>,
}

/// The run is over: input goes nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the run has ended")]
pub struct RunEnded;

/// What comes back from a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The command runs now, in this sandbox.
    Started(Box<Started>),
    /// Bytes of its standard output.
    Stdout(Vec<u8>),
    /// Bytes of its standard error.
    Stderr(Vec<u8>),
    /// It ended. Nothing follows.
    Ended(Box<Outcome>),
}

/// The sandbox that a command runs in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Started {
    /// What it enforces.
    pub enforcement: Enforcement,
    /// Names of the caller's variables that were kept from it because they look like secrets.
    pub removed_variables: Vec<String>,
    /// Paths that may be written. This and the following lists are filled by [`crate::Host::run_here`] and kin only.
    pub writable_paths: Vec<String>,
    /// Paths that stay read-only inside them.
    pub protected_paths: Vec<String>,
    /// Paths that cannot be read.
    pub hidden_paths: Vec<String>,
    /// Paths that are left out of the lists, to keep them short.
    pub left_out: u32,
}

impl From<v1::RunStarted> for Started {
    fn from(wire: v1::RunStarted) -> Self {
        Self {
            enforcement: wire.enforcement.unwrap_or_default().into(),
            removed_variables: wire.removed_variables,
            writable_paths: wire.writable_paths,
            protected_paths: wire.protected_paths,
            hidden_paths: wire.hidden_paths,
            left_out: wire.left_out,
        }
    }
}

/// A host that a command wanted to reach and could not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RefusedHost {
    /// Its name or address, as the command meant it; empty for those that were too many to be listed.
    pub host: String,
    /// Its port.
    pub port: u32,
    /// Why.
    pub reason: String,
    /// How often.
    pub times: u64,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// What happened to the command.
    pub end: End,
    /// How long it ran.
    #[serde(rename = "duration_ms", serialize_with = "as_milliseconds")]
    pub duration: Duration,
    /// What was enforced; `None` if it did not say.
    pub enforcement: Option<Enforcement>,
    /// Why it was ended from outside (`timeout`, `disconnect`, `shutdown`); `None` if it ended by itself.
    pub ended_by: Option<String>,
    /// Of a command that never started because its program could not be executed: the kernel's error number.
    pub errno: Option<u32>,
    /// Bytes of standard output that were dropped, as they were more than may be passed on.
    pub dropped_stdout: u64,
    /// The same for standard error.
    pub dropped_stderr: u64,
    /// Hosts that it could not reach.
    pub refused_hosts: Vec<RefusedHost>,
    /// What the sandbox refused to it, hosts included, as far as that can be told.
    pub refusals: Vec<RefusalOf>,
}

/// What happened to a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// It exited with this status, 0 to 255.
    ExitCode(u32),
    /// This signal killed it.
    Signal(u32),
    /// It never started: why.
    NotStarted(String),
}

fn as_milliseconds<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

impl Outcome {
    pub(crate) fn from_wire(wire: v1::Outcome) -> Self {
        use v1::outcome::End as Wire;
        Self {
            end: match wire.end {
                Some(Wire::ExitCode(code)) => End::ExitCode(code),
                Some(Wire::Signal(number)) => End::Signal(number),
                Some(Wire::NotStarted(why)) => End::NotStarted(why),
                None => End::NotStarted("the host did not say what became of the command".to_owned()),
            },
            duration: wire.duration.and_then(|time| time.try_into().ok()).unwrap_or_default(),
            enforcement: wire.enforcement.map(Enforcement::from),
            ended_by: Some(wire.ended_by).filter(|why| !why.is_empty()),
            errno: Some(wire.errno).filter(|number| *number > 0),
            dropped_stdout: wire.dropped_stdout,
            dropped_stderr: wire.dropped_stderr,
            refused_hosts: wire
                .hosts
                .into_iter()
                .filter(|contact| !contact.refused.is_empty())
                .map(|contact| RefusedHost {
                    host: contact.host,
                    port: contact.port,
                    reason: contact.refused,
                    times: contact.times,
                })
                .collect(),
            refusals: wire.refusals.into_iter().map(RefusalOf::from).collect(),
        }
    }
}

impl Input {
    /// Sends bytes to the command's standard input; waits while it does not read. That it has read is learnt by
    /// [`Running::next`], which therefore has to be called meanwhile.
    ///
    /// # Errors
    /// If the run has ended.
    pub async fn write(&self, bytes: &[u8]) -> Result<(), RunEnded> {
        for part in bytes.chunks(MAX_INPUT_BYTES) {
            self.window.acquire().await.map_err(|_| RunEnded)?.forget();
            let message = Message::Stdin(part.to_vec());
            self.data.send(request(message)).await.map_err(|_| RunEnded)?;
        }
        Ok(())
    }

    /// Ends the command's standard input.
    ///
    /// # Errors
    /// If the run has ended.
    pub async fn close(&self) -> Result<(), RunEnded> {
        let message = Message::StdinClosed(v1::RunStdinClosed {});
        self.data.send(request(message)).await.map_err(|_| RunEnded)
    }

    /// Sends a signal: SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGSTOP, SIGCONT or SIGKILL, by number.
    ///
    /// # Errors
    /// If the run has ended.
    pub async fn signal(&self, number: u32) -> Result<(), RunEnded> {
        let message = Message::Signal(number);
        self.signals.send(request(message)).await.map_err(|_| RunEnded)
    }

    /// Sends a signal as [`Self::signal`] does, and waits until it is on its way to the command whatever becomes of this process;
    /// at most this long, as a host need not answer. Somebody has to call [`Running::next`] meanwhile.
    ///
    /// # Errors
    /// If the run has ended.
    pub async fn signal_surely(&self, number: u32, limit: Duration) -> Result<(), RunEnded> {
        let mut passed_on = self.passed_on.clone();
        passed_on.mark_unchanged();
        self.signal(number).await?;
        let answered = async {
            while passed_on.changed().await.is_ok() {
                if *passed_on.borrow_and_update() == number {
                    return;
                }
            }
        };
        // Late or lost, the signal may be under way all the same.
        let _ = timeout(limit, answered).await;
        Ok(())
    }
}

fn request(message: Message) -> v1::RunRequest {
    v1::RunRequest { message: Some(message) }
}

impl Running {
    pub(crate) async fn start(
        mut client: SandboxServiceClient<Channel>,
        link: Link,
        start: v1::RunStart,
    ) -> Result<Self, CallError> {
        let (data, data_queue) = mpsc::channel(QUEUED);
        let (signals, signal_queue) = mpsc::channel(QUEUED);
        let requests = Requests {
            start: Some(request(Message::Start(start))),
            signals: signal_queue,
            data: data_queue,
        };
        let request = link.unbounded_request(requests);
        let replies = link.answer(client.run(request)).await?;
        let (signal_sent, passed_on) = watch::channel(0);
        Ok(Self {
            replies,
            input: Input {
                data,
                signals,
                window: Arc::new(Semaphore::new(QUEUED)),
                passed_on,
            },
            signal_sent,
            link,
            ended: false,
            terminal: None,
        })
    }

    pub(crate) fn with_terminal(mut self, terminal: Option<terminal::Coming>) -> Self {
        self.terminal = terminal;
        self
    }

    /// The terminal that the command gets, once, if it gets one of its own ([`Here::OwnTerminal`]). The command starts when its
    /// controlling side has been taken and set up.
    pub fn take_terminal(&mut self) -> Option<terminal::Coming> {
        self.terminal.take()
    }

    /// The way to the command.
    #[must_use]
    pub fn input(&self) -> Input {
        self.input.clone()
    }

    /// Waits for what comes next; `None` after [`Event::Ended`]. Safe to cancel.
    ///
    /// # Errors
    /// If the stream breaks before the end was told.
    pub async fn next(&mut self) -> Result<Option<Event>, CallError> {
        if self.ended {
            return Ok(None);
        }
        loop {
            let reply = match self.replies.message().await {
                Ok(Some(reply)) => reply,
                Ok(None) => return Err(self.link.unusable("the run's stream ended before the command did")),
                Err(status) => return Err(self.link.error(&status)),
            };
            return Ok(Some(match reply.message {
                Some(Reply::Started(started)) => Event::Started(Box::new(started.into())),
                Some(Reply::Stdout(bytes)) => Event::Stdout(bytes),
                Some(Reply::Stderr(bytes)) => Event::Stderr(bytes),
                Some(Reply::Exit(outcome)) => {
                    self.ended = true;
                    self.input.window.close();
                    Event::Ended(Box::new(Outcome::from_wire(outcome)))
                }
                Some(Reply::StdinTaken(_)) => {
                    // Never more than at the start, whatever the other end claims.
                    if self.input.window.available_permits() < QUEUED {
                        self.input.window.add_permits(1);
                    }
                    continue;
                }
                Some(Reply::SignalSent(sent)) => {
                    self.signal_sent.send_replace(sent.number);
                    continue;
                }
                // A message of a later version.
                None => continue,
            }));
        }
    }

    /// Waits for the end, throwing output away, at most this long.
    ///
    /// # Errors
    /// If the stream breaks, or the time is over; the command is ended then.
    pub async fn wait(mut self, limit: Duration) -> Result<Outcome, CallError> {
        let end = async {
            loop {
                if let Some(Event::Ended(outcome)) = self.next().await? {
                    return Ok(*outcome);
                }
            }
        };
        match timeout(limit, end).await {
            Ok(result) => result,
            Err(_) => Err(CallError::Late {
                target: self.link.target.clone(),
                after: limit,
            }),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.input.window.close();
    }
}

/// What is sent to begin the run that a permit is for.
pub(crate) fn start(permit: Permit, environment: impl IntoIterator<Item = (OsString, OsString)>) -> v1::RunStart {
    v1::RunStart {
        environment: passed_on(&permit.profile.environment, environment),
        ticket: Some(permit.ticket),
        argv: permit.argv,
        cwd: permit.cwd,
        ..v1::RunStart::default()
    }
}

/// The variables whose names the permit lists, as `NAME=value`.
pub(crate) fn passed_on(names: &[String], environment: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<Vec<u8>> {
    let listed = |name: &[u8]| {
        names.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix.as_bytes()),
            None => name == pattern.as_bytes(),
        })
    };
    environment
        .into_iter()
        .filter(|(name, _)| listed(name.as_bytes()))
        .map(|(name, value)| [name.into_vec(), b"=".to_vec(), value.into_vec()].concat())
        .collect()
}

/// What goes to sandboxd: the start, then signals before input. Pending for ever once both queues are closed and empty:
/// ending the request stream would end the run.
struct Requests {
    start: Option<v1::RunRequest>,
    signals: mpsc::Receiver<v1::RunRequest>,
    data: mpsc::Receiver<v1::RunRequest>,
}

impl Stream for Requests {
    type Item = v1::RunRequest;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<v1::RunRequest>> {
        if let Some(start) = self.start.take() {
            return Poll::Ready(Some(start));
        }
        if let Poll::Ready(Some(signal)) = self.signals.poll_recv(context) {
            return Poll::Ready(Some(signal));
        }
        match self.data.poll_recv(context) {
            Poll::Ready(Some(data)) => Poll::Ready(Some(data)),
            // Both ends gone means that the `Running` was dropped, and with it the call.
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_variables_are_passed_on() {
        let names = ["PATH".to_owned(), "LC_*".to_owned()];
        let environment = ["PATH=/bin", "PATHS=x", "LC_ALL=C", "SECRET=s", "LC=1"]
            .map(|pair| pair.split_once('=').map(|(n, v)| (n.into(), v.into())).unwrap());
        assert_eq!(
            passed_on(&names, environment),
            [b"PATH=/bin".to_vec(), b"LC_ALL=C".to_vec()]
        );
    }

    #[test]
    fn an_outcome_that_says_nothing_is_no_success() {
        assert!(matches!(
            Outcome::from_wire(v1::Outcome::default()).end,
            End::NotStarted(_)
        ));
    }

    #[tokio::test]
    async fn signals_overtake_waiting_input() {
        use tokio_stream::StreamExt as _;
        let (data, data_queue) = mpsc::channel(QUEUED);
        let (signals, signal_queue) = mpsc::channel(QUEUED);
        let window = Arc::new(Semaphore::new(QUEUED));
        let (_sent, passed_on) = watch::channel(0);
        let input = Input {
            data,
            signals,
            window,
            passed_on,
        };
        input.write(b"x").await.unwrap();
        input.signal(2).await.unwrap();
        let mut requests = Requests {
            start: None,
            signals: signal_queue,
            data: data_queue,
        };
        let first = requests.next().await.unwrap().message;
        assert!(matches!(first, Some(Message::Signal(2))));
        let second = requests.next().await.unwrap().message;
        assert!(matches!(second, Some(Message::Stdin(bytes)) if bytes == b"x"));
    }
}
