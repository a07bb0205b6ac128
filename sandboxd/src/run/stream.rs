//! A run from its launch to its outcome: bytes both ways with backpressure, signals, time, and the end of everything.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portcullis_proto::v1::{
    Enforcement, HostContact, Outcome, ReportOutcomeRequest, RunRequest, RunResponse, RunSignalSent, RunStarted,
    RunStdinTaken, outcome, run_request, run_response,
};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tonic::{Status, Streaming};

use super::Order;
use super::belongings::Belongings;
use crate::daemon::Daemon;
use crate::launch::filter::refused::Tally;
use crate::launch::spec::{Event, Exited};
use crate::network::{self, Filter, HostReport, SystemLookup};
use crate::process::{Control, Launched, Reports, launch};
use crate::protect::sweep::{self, Swept};
use crate::refusals::{self, Complaint, Complaints, Tree, Watch};
use crate::streams::Streams;

/// Largest piece of output in one message, in bytes.
const PIECE: usize = 32 * 1024;

/// Largest piece of standard input in one message, in bytes. More is a broken caller, and ends the run.
const MAX_INPUT: usize = 64 * 1024;

/// Pieces of standard input that wait for the command: twice as many as a caller may send before it hears that one was
/// taken, so that signals behind them are still heard.
const WAITING_INPUT: usize = 16;

/// Signals that wait for the command.
const WAITING_SIGNALS: usize = 16;

/// Longest wait for the launcher's end after its sandbox was told to end.
const END_DEADLINE: Duration = Duration::from_secs(10);

/// Longest wait for a caller to take the rest of the output.
const OUTPUT_DEADLINE: Duration = Duration::from_secs(600);

/// Signals that a caller may send.
const PERMITTED_SIGNALS: [i32; 10] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGWINCH,
    libc::SIGSTOP,
    libc::SIGCONT,
    libc::SIGKILL,
];

type ToCaller = mpsc::Sender<Result<RunResponse, Status>>;

/// A run that may start: its ticket is used up.
pub(super) struct Run {
    pub(super) daemon: Arc<Daemon>,
    pub(super) decision_id: String,
    pub(super) timeout: Option<Duration>,
    /// Most bytes of each output that are passed on; 0 = no limit.
    pub(super) output_bytes: u64,
    /// The caller's own standard streams, if it handed them over.
    pub(super) streams: Option<Streams>,
    /// What to say of the set-up when the command runs.
    pub(super) started: RunStarted,
    pub(super) order: Order,
}

/// What the reports came to.
#[derive(Default)]
struct Heard {
    running: bool,
    enforcement: Option<Enforcement>,
    not_started: Option<String>,
    /// Why the program could not be executed, as a number; 0 = that is not it.
    errno: u32,
    exited: Option<Exited>,
    /// Bytes of standard output and standard error that were not passed on.
    dropped: [u64; 2],
    /// What the output complains of.
    complaints: Complaints,
    /// System calls that were refused, if the init heard of them.
    calls: Tally,
}

/// What was found after a run.
#[derive(Default)]
struct Found {
    swept: Swept,
    /// What limits have done.
    limits: Vec<String>,
}

impl Run {
    pub(super) async fn drive(mut self, messages: Streaming<RunRequest>, to_caller: ToCaller) {
        let started = Instant::now();
        let launched = self.note().and_then(|note| {
            let launcher = self.daemon.places.launcher();
            let (filter, theirs) = self.filter()?.unzip();
            let streams = self.streams.take();
            launch(&launcher, &self.order.spec, theirs, Some(note), streams).map(|launched| (launched, filter))
        });
        let mut filtered = network::Heard::default();
        let (heard, ended_by, found) = match launched {
            Ok((launched, filter)) => {
                if let Some(note) = &self.order.note {
                    note.launched();
                }
                let accompanied = self.accompany(launched, messages, &to_caller).await;
                if let Some(filter) = filter {
                    filtered = filter.finish().await;
                }
                accompanied
            }
            Err(error) => {
                let heard = Heard {
                    not_started: Some(format!("the launcher cannot be started: {error}")),
                    ..Heard::default()
                };
                (heard, "", self.look_back().await)
            }
        };
        let hosts = filtered.hosts;
        let calls = if heard.calls.is_empty() {
            filtered.calls
        } else {
            heard.calls
        };
        let places = &self.daemon.places;
        let own = [places.own_folders(), places.own_files(), places.secret()].concat();
        let tree = Tree::of(&self.order.spec).keeping(places.home.clone(), own);
        let succeeded = matches!(heard.exited, Some(Exited { code: 0, signal: 0 }));
        // A command that succeeded has shrugged off what its output speaks of.
        let complaints = if succeeded {
            Complaints::default()
        } else {
            heard.complaints
        };
        // Much output against many hidden paths takes a while.
        let seen = hosts.clone();
        let work = move || refusals::all(&seen, &calls, &complaints, &tree);
        let refused = tokio::task::spawn_blocking(work).await.unwrap_or_default();
        let lines = refused.iter().filter(|_| !succeeded).filter_map(refusals::line);
        self.tell(found, heard.dropped, &hosts, lines.collect(), &to_caller)
            .await;
        let [dropped_stdout, dropped_stderr] = heard.dropped;
        let (running, errno) = (heard.running, heard.errno);
        let outcome = Outcome {
            duration: prost_types::Duration::try_from(started.elapsed()).ok(),
            enforcement: heard.enforcement,
            ended_by: ended_by.to_owned(),
            hosts: hosts.into_iter().map(contact).collect(),
            dropped_stdout,
            dropped_stderr,
            errno,
            refusals: refused,
            warnings: std::mem::take(&mut self.order.warnings),
            end: Some(match (heard.not_started, heard.exited) {
                (Some(reason), _) => outcome::End::NotStarted(reason),
                (None, Some(Exited { signal: 0, code })) => outcome::End::ExitCode(code),
                (None, Some(Exited { signal, .. })) => outcome::End::Signal(signal),
                (None, None) if !running => outcome::End::NotStarted(match ended_by {
                    "" => "the launcher ended without a report".to_owned(),
                    reason => format!("it was ended before it started ({reason})"),
                }),
                // Ended from outside, with everything in it.
                (None, None) => outcome::End::Signal(libc::SIGKILL.unsigned_abs()),
            }),
        };
        self.report(outcome.clone()).await;
        let exit = to_caller.send(Ok(message(run_response::Message::Exit(outcome))));
        let _ = tokio::time::timeout(OUTPUT_DEADLINE, exit).await;
    }

    /// The network filter and the launcher's end of the socket to it, if the network is filtered.
    fn filter(&self) -> std::io::Result<Option<(Filter, std::os::fd::OwnedFd)>> {
        let Some(rules) = self.order.network.clone() else {
            return Ok(None);
        };
        let (ours, theirs) = network::pair()?;
        Ok(Some((Filter::start(ours, rules, Arc::new(SystemLookup)), theirs)))
    }

    /// Stays with the launcher until nothing of the run is left.
    async fn accompany(
        &mut self,
        launched: Launched,
        messages: Streaming<RunRequest>,
        to_caller: &ToCaller,
    ) -> (Heard, &'static str, Found) {
        let Launched {
            mut child,
            mut reports,
            mut control,
            stdin,
            stdout,
            stderr,
        } = launched;
        let (signals, mut signals_in) = mpsc::channel(WAITING_SIGNALS);
        let gone = CancellationToken::new();
        let input = tokio::spawn(take_input(messages, stdin, signals, to_caller.clone(), gone.clone()));
        let most = self.output_bytes;
        let out = stdout.map(|pipe| {
            tokio::spawn(pass_output(
                pipe,
                most,
                to_caller.clone(),
                run_response::Message::Stdout,
            ))
        });
        let err = stderr.map(|pipe| {
            tokio::spawn(pass_output(
                pipe,
                most,
                to_caller.clone(),
                run_response::Message::Stderr,
            ))
        });

        let mut heard = Heard::default();
        let deadline = async {
            match self.timeout {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        let ended_by = tokio::select! {
            () = hear(&mut reports, &mut heard, &self.started, to_caller) => "",
            () = pass_signals(&mut signals_in, &mut control, to_caller) => "disconnect",
            () = deadline => "timeout",
            () = gone.cancelled() => "disconnect",
            () = to_caller.closed() => "disconnect",
            () = self.daemon.stop.cancelled() => "shutdown",
        };
        control.end();
        if !ended_by.is_empty() {
            // Both ways at once: the init ends at the closed lifeline, and dies with its launcher.
            let _ = child.start_kill();
        }
        // The launcher waits for its init, the init's end is the end of every process inside; killed, it takes the init with
        // it. The reports end when the last of both is gone, so what follows sees no process of the run any more.
        let rest = async {
            let _ = child.wait().await;
            while let Ok(Some(event)) = reports.next().await {
                heard.take(event);
            }
        };
        if tokio::time::timeout(END_DEADLINE, rest).await.is_err() {
            tracing::error!(decision = self.decision_id, "a sandbox did not end when told to");
        }
        input.abort();
        // Before the rest of the output: a caller that takes its time must not keep open what is to be put aside.
        let found = self.look_back().await;
        // All output was written; it is passed on unless nobody is there to take it.
        for (task, dropped) in [out, err].into_iter().zip(&mut heard.dropped) {
            let Some(task) = task else { continue };
            let abort = task.abort_handle();
            tokio::select! {
                counted = task => {
                    let (counted, complaints) = counted.unwrap_or_default();
                    *dropped = counted;
                    heard.complaints.0.extend(complaints);
                }
                () = to_caller.closed() => abort.abort(),
                () = self.daemon.stop.cancelled() => abort.abort(),
                () = tokio::time::sleep(OUTPUT_DEADLINE) => abort.abort(),
            }
        }
        (heard, ended_by, found)
    }

    /// The note of this run, for the launcher.
    fn note(&self) -> io::Result<File> {
        let note = self.order.note.as_ref();
        note.ok_or_else(|| io::Error::other("the run was not noted down"))?
            .for_launcher()
    }

    /// Puts aside what has appeared under protected names. No process of the run is left.
    async fn look_back(&mut self) -> Found {
        let plan = self.order.plan.clone();
        let belongings = self.order.belongings.take();
        let placeholders = self.order.placeholders.take();
        let work = move || {
            let limits = belongings.as_ref().map(Belongings::events).unwrap_or_default();
            drop(belongings);
            let swept = sweep::sweep(&plan);
            drop(placeholders);
            Found { swept, limits }
        };
        match tokio::task::spawn_blocking(work).await {
            Ok(found) => {
                if let Some(note) = self.order.note.take() {
                    note.done();
                }
                found
            }
            // The note stays, for the next daemon.
            Err(_) => Found {
                swept: Swept {
                    failures: vec!["the look back after the run was interrupted".to_owned()],
                    ..Swept::default()
                },
                ..Found::default()
            },
        }
    }

    /// Tells the caller what was put aside, what was limited, and which hosts were refused.
    async fn tell(
        &self,
        found: Found,
        dropped: [u64; 2],
        hosts: &[HostReport],
        refused: Vec<String>,
        to_caller: &ToCaller,
    ) {
        let Found { swept, limits } = found;
        let limits = limits.iter().map(|line| format!("portcullis: {line}\n"));
        let streams = ["standard output", "standard error"].into_iter().zip(dropped);
        let dropped = streams.filter(|(_, bytes)| *bytes > 0).map(|(stream, bytes)| {
            let most = self.output_bytes;
            format!("portcullis: {bytes} bytes of {stream} were dropped; {most} are passed on at most\n")
        });
        let put_aside = swept.put_aside.iter().map(|path| {
            format!(
                "portcullis: put aside `{}`: protected names may not appear in the sandbox\n",
                path.display()
            )
        });
        let failures = swept.failures.iter().map(|failure| format!("portcullis: {failure}\n"));
        let hosts = hosts.iter().filter_map(network::refusal_line);
        let refused = hosts.chain(refused);
        for line in put_aside.chain(failures).chain(limits).chain(dropped).chain(refused) {
            tracing::warn!(decision = self.decision_id, line = line.trim_end(), "after a run");
            let sent = to_caller.send(Ok(message(run_response::Message::Stderr(line.into_bytes()))));
            if tokio::time::timeout(OUTPUT_DEADLINE, sent).await.is_err() {
                break;
            }
        }
    }

    /// Puts the outcome where it survives a crash.
    async fn report(&self, outcome: Outcome) {
        let spool = Arc::clone(&self.daemon.spool);
        let report = ReportOutcomeRequest {
            decision_id: self.decision_id.clone(),
            outcome: Some(outcome),
        };
        match tokio::task::spawn_blocking(move || spool.put(&report)).await {
            Ok(Ok(())) => {
                if let Ok(id) = self.decision_id.parse() {
                    self.daemon.ledger.finish(id);
                }
            }
            Ok(Err(error)) => tracing::error!(decision = self.decision_id, %error, "an outcome cannot be kept"),
            Err(error) => tracing::error!(decision = self.decision_id, %error, "an outcome cannot be kept"),
        }
    }
}

impl Heard {
    fn take(&mut self, event: Event) {
        match event {
            Event::Ready(enforcement) => self.enforcement = Some(enforcement),
            Event::Running(_) => self.running = true,
            Event::Refused(refused) => self.not_started = Some(format!("{}: {}", refused.step, refused.reason)),
            Event::NotExecuted(not) => {
                let cause = std::io::Error::from_raw_os_error(not.errno);
                self.errno = not.errno.unsigned_abs();
                self.not_started = Some(format!("the program cannot be executed: {cause}"));
            }
            Event::RefusedCalls(refused) => {
                self.calls = refused.calls.iter().map(|call| (call.number, call.times)).collect();
            }
            Event::Exited(exited) => self.exited = Some(exited),
        }
    }
}

/// Hears the reports to their end.
async fn hear(reports: &mut Reports, heard: &mut Heard, started: &RunStarted, to_caller: &ToCaller) {
    loop {
        match reports.next().await {
            Ok(Some(event)) => {
                let running = matches!(event, Event::Running(_));
                heard.take(event);
                if running {
                    let started = RunStarted {
                        enforcement: heard.enforcement.clone(),
                        ..started.clone()
                    };
                    let _ = to_caller
                        .send(Ok(message(run_response::Message::Started(started))))
                        .await;
                }
            }
            Ok(None) => return,
            Err(error) => {
                tracing::error!(%error, "the launcher's report cannot be read");
                return;
            }
        }
    }
}

/// Passes signals on for as long as the caller can send some, and tells it so. Ends only when the caller is gone. A caller that
/// takes no answers is not waited for: the latest one waits for it.
async fn pass_signals(signals: &mut mpsc::Receiver<u8>, control: &mut Control, to_caller: &ToCaller) {
    let mut owed = None;
    loop {
        tokio::select! {
            biased;
            number = signals.recv() => {
                let Some(number) = number else { return };
                control.signal(number).await;
                owed = Some(number.into());
            }
            room = to_caller.reserve(), if owed.is_some() => {
                if let (Ok(room), Some(number)) = (room, owed.take()) {
                    room.send(Ok(message(run_response::Message::SignalSent(RunSignalSent { number }))));
                }
            }
        }
    }
}

/// Takes the caller's messages until the caller goes.
async fn take_input(
    mut messages: Streaming<RunRequest>,
    stdin: Option<tokio::process::ChildStdin>,
    signals: mpsc::Sender<u8>,
    to_caller: ToCaller,
    gone: CancellationToken,
) {
    let (pieces, mut waiting) = mpsc::channel::<Vec<u8>>(WAITING_INPUT);
    let taken = || Ok(message(run_response::Message::StdinTaken(RunStdinTaken {})));
    let tell = to_caller.clone();
    let writer = tokio::spawn(async move {
        let Some(mut stdin) = stdin else { return };
        while let Some(piece) = waiting.recv().await {
            // The command does not read any more: the rest is dropped, as a pipe would.
            let written = stdin.write_all(&piece).await;
            let _ = tell.send(taken()).await;
            if written.is_err() {
                break;
            }
        }
    });
    let mut pieces = Some(pieces);
    while let Ok(Some(request)) = messages.message().await {
        match request.message {
            Some(run_request::Message::Stdin(bytes)) if bytes.len() > MAX_INPUT => break,
            Some(run_request::Message::Stdin(bytes)) => {
                if let Some(open) = &pieces
                    && open.send(bytes).await.is_err()
                {
                    pieces = None;
                }
                if pieces.is_none() {
                    // Without a wait: a caller that reads nothing is to be heard all the same.
                    let _ = to_caller.try_send(taken());
                }
            }
            Some(run_request::Message::StdinClosed(_)) => pieces = None,
            Some(run_request::Message::Signal(number)) => {
                let permitted = i32::try_from(number).is_ok_and(|number| PERMITTED_SIGNALS.contains(&number));
                if let (true, Ok(number)) = (permitted, u8::try_from(number)) {
                    let _ = signals.send(number).await;
                }
            }
            Some(run_request::Message::Start(_)) | None => break,
        }
    }
    gone.cancel();
    writer.abort();
}

/// Passes output on, as fast as the caller takes it. What is beyond `most` bytes (0 = no limit) is read all the same, so that
/// the command goes on. Returns how much that was, and of what the output complains.
async fn pass_output(
    mut pipe: impl AsyncRead + Unpin,
    most: u64,
    to_caller: ToCaller,
    kind: fn(Vec<u8>) -> run_response::Message,
) -> (u64, Vec<Complaint>) {
    let mut piece = Vec::with_capacity(PIECE);
    let (mut left, mut dropped) = (if most == 0 { u64::MAX } else { most }, 0u64);
    let mut watch = Watch::default();
    loop {
        piece.clear();
        match pipe.read_buf(&mut piece).await {
            Ok(0) | Err(_) => return (dropped, watch.found()),
            Ok(read) => {
                watch.look(&piece);
                let kept = usize::try_from(left).map_or(read, |left| left.min(read));
                piece.truncate(kept);
                left -= kept as u64;
                dropped += (read - kept) as u64;
                if kept > 0 && to_caller.send(Ok(message(kind(piece.clone())))).await.is_err() {
                    return (dropped, watch.found());
                }
            }
        }
    }
}

fn contact(report: HostReport) -> HostContact {
    HostContact {
        host: report.host,
        port: report.port.into(),
        refused: report.refused.unwrap_or_default(),
        times: report.times,
    }
}

fn message(message: run_response::Message) -> RunResponse {
    RunResponse { message: Some(message) }
}
