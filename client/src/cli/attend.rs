//! Staying with a run to its end: its output and input, its signals, and what is said beside the command's own output.
//!
//! Standard input is read on a thread of its own, which is left behind when the command has ended, so a terminal or an open pipe
//! does not hold up the end. Where the command has this program's own streams, nothing passes through here but signals and what
//! the daemon has to say.

use std::{
    io::{self, Read as _},
    os::fd::AsFd as _,
    thread,
    time::Duration,
};

use futures_util::FutureExt as _;
use portcullis_client::{
    Event, Running,
    run::{End, Input, MAX_INPUT_BYTES, Outcome, Started},
};
use rustix::{
    process::Signal as Number,
    termios::{self, Termios},
};
use tokio::{
    io::AsyncWriteExt as _,
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
};

use super::{
    failure::Failure,
    output::printable,
    run::{FAILED, NOT_ALLOWED},
};

/// Exit code of a program that wrote to a pipe nobody reads.
const BROKEN_PIPE: u8 = 128 + 13;

/// Exit code: there is no such program.
const NO_SUCH_PROGRAM: u8 = 127;

/// How many interrupts in a row mean that the person no longer wants to wait for the command to obey.
const IMPATIENT: u32 = 3;

/// Longest wait until a signal is surely on its way to the command. A host that does not answer it holds up no job of a shell
/// for longer.
const UNDER_WAY: Duration = Duration::from_secs(2);

/// Until a stop of this program has taken effect, or a shell has given it the terminal.
const SETTLED: Duration = Duration::from_millis(100);

/// How long a command that is stopped in the background and told to end may run to obey.
const TO_OBEY: Duration = Duration::from_secs(2);

/// How the command's standard streams travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Streams {
    /// Through this program.
    AsMessages,
    /// Not at all: the command has this program's own.
    AsTheyAre,
}

/// Stays with a run. The outcome, or the exit code for an end that has none because nobody reads the output any more.
pub(super) async fn to_the_end(
    mut running: Running,
    signals: Signals,
    streams: Streams,
    mut started: impl FnMut(&Started),
) -> Result<Result<Outcome, u8>, Failure> {
    let terminal = (streams == Streams::AsTheyAre).then(Terminal::remember);
    let input = running.input();
    let feeding = (streams == Streams::AsMessages).then(|| tokio::spawn(feed(read_stdin(), input.clone())));
    let (mut out, mut err) = (tokio::io::stdout(), tokio::io::stderr());
    // Beside the loop, so that signals get through while nobody reads the output.
    let forwarding = tokio::spawn(forward(signals, input, streams));
    let outcome = loop {
        match running.next().await? {
            Some(Event::Stdout(bytes)) => {
                if let Err(error) = pass(&mut out, &bytes).await {
                    return closed(&error).map(Err);
                }
            }
            // Nobody listening to diagnostics is no reason to stop.
            Some(Event::Stderr(bytes)) => {
                let _ = pass(&mut err, &bytes).await;
            }
            Some(Event::Started(what)) => started(&what),
            Some(Event::Ended(outcome)) => break *outcome,
            None => return Err(Failure::text("the run ended without an outcome")),
        }
    };
    forwarding.abort();
    if let Some(feeding) = feeding {
        feeding.abort();
    }
    drop(terminal);
    say(&outcome, streams);
    Ok(Ok(outcome))
}

/// What the person is told beside the command's own output: which limits this host does not hold. How much output was dropped the
/// daemon says itself. That nobody counts output which goes straight to this program's own streams is what was wanted.
fn say(outcome: &Outcome, streams: Streams) {
    let unheld = outcome
        .enforcement
        .iter()
        .flat_map(|enforcement| &enforcement.unheld_limits)
        .filter(|line| streams == Streams::AsMessages || !line.starts_with("output:"));
    for line in unheld {
        tell(&format!("not limited on this host: {line}"));
    }
}

/// What came of the command, as an exit code. Why it was ended from outside is told.
pub(super) fn code(outcome: &Outcome) -> u8 {
    if let Some(why) = &outcome.ended_by {
        tell(&format!("the command was ended: {why}"));
    }
    match &outcome.end {
        End::ExitCode(code) => u8::try_from(*code).unwrap_or(FAILED),
        End::Signal(number) => code_of_signal(*number),
        End::NotStarted(why) => {
            tell(&format!("the command did not start: {why}"));
            FAILED
        }
    }
}

/// The end of this program as that of the command: the same status, the same signal; for a program that could not be executed
/// what a shell answers.
pub(super) fn end_as(outcome: &Outcome) -> u8 {
    let number = match (&outcome.end, outcome.errno) {
        (End::NotStarted(_), Some(errno)) => {
            let _ = code(outcome);
            let absent = rustix::io::Errno::NOENT.raw_os_error().unsigned_abs();
            return if errno == absent { NO_SUCH_PROGRAM } else { NOT_ALLOWED };
        }
        (End::Signal(number), _) => *number,
        _ => return code(outcome),
    };
    let code = code(outcome);
    // No core of this program: it is the command that died.
    let none = rustix::process::Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
    if let Ok(number) = i32::try_from(number) {
        let _ = signal_hook::low_level::emulate_default_handler(number);
    }
    code
}

fn code_of_signal(number: u32) -> u8 {
    u8::try_from(number)
        .ok()
        .and_then(|number| number.checked_add(128))
        .unwrap_or(FAILED)
}

/// One line beside the command's own output.
pub(super) fn tell(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(anstream::stderr(), "portcullis: {}", printable(text));
}

async fn pass(to: &mut (impl tokio::io::AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes).await?;
    to.flush().await
}

/// The reader of our output is gone. Dropping the run ends the command, as a broken pipe would have.
fn closed(error: &io::Error) -> Result<u8, Failure> {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Ok(BROKEN_PIPE);
    }
    tell(&format!("cannot write the command's output: {error}"));
    Ok(FAILED)
}

/// Passes signals on. Whoever interrupts again and again no longer wants to wait: the end of this program ends the command.
/// A command that has the terminal itself decides that alone; when the terminal stops it, this program stops beside it.
async fn forward(mut signals: Signals, input: Input, streams: Streams) {
    let mut interrupts = 0;
    loop {
        let number = signals.next().await;
        if number == raw(Number::TSTP) {
            if !somebody_could_continue_us() {
                continue;
            }
            stand_still(&mut signals, &input, streams).await;
            continue;
        }
        if [2, 15].contains(&number) && streams == Streams::AsMessages {
            interrupts += 1;
        }
        if interrupts > IMPATIENT {
            std::process::exit(code_of_signal(number).into());
        }
        // The queue is full only if the host takes nothing any more; then one signal less makes no difference.
        let _ = input.signal(number).now_or_never();
    }
}

/// Stops the command and this program until somebody continues it; where the command has the terminal, until that is in the
/// foreground. A command that goes on in the background could read what the person types for others: it does not belong to this
/// terminal, so the kernel would not stop it. Only who ends it meanwhile (`kill %1`) makes it run for a while, so that it can obey.
async fn stand_still(signals: &mut Signals, input: &Input, streams: Streams) {
    loop {
        // A group without a shell ignores the terminal's own signal. Queued is not sent, and this program sends nothing while it
        // is stopped.
        let _ = input.signal_surely(raw(Number::STOP), UNDER_WAY).await;
        let _ = rustix::process::kill_process(rustix::process::getpid(), Number::STOP);
        // Another thread may take the signal first; and some shells continue a job before they give it the terminal.
        let ending = tokio::time::timeout(SETTLED, signals.ending()).await.ok();
        let ours = streams == Streams::AsMessages || has_terminals_to_itself();
        if let Some(number) = ending {
            let _ = input.signal(number).await;
        }
        if ours || ending.is_some() {
            let _ = input.signal(raw(Number::CONT)).await;
        }
        if ours {
            return;
        }
        if ending.is_some() {
            // Its end ends this program.
            tokio::time::sleep(TO_OBEY).await;
        }
    }
}

/// Refuses to give a command a terminal that is not this program's to give: one in whose foreground it is not.
///
/// # Errors
/// What to do about it.
pub(super) fn terminals_may_be_given() -> Result<(), Failure> {
    if has_terminals_to_itself() {
        return Ok(());
    }
    let text =
        "the command would have a terminal in whose foreground this program is not, and could read what is typed there";
    Err(Failure::text(text).with_help("bring it to the foreground, or redirect input and output"))
}

/// Whether this program is in the foreground of each terminal that is one of its standard streams.
fn has_terminals_to_itself() -> bool {
    let ours = nix::unistd::getpgrp();
    let (input, output, errors) = (io::stdin(), io::stdout(), io::stderr());
    [input.as_fd(), output.as_fd(), errors.as_fd()]
        .into_iter()
        .filter(|stream| termios::isatty(stream))
        .all(|terminal| termios::tcgetpgrp(terminal).is_ok_and(|group| group.as_raw_nonzero().get() == ours.as_raw()))
}

/// How the terminal was before a command had it.
struct Terminal(Option<Termios>);

impl Terminal {
    /// Looks at it, if all three standard streams are terminals: in a pipeline it may be another program, such as a pager, that
    /// changes it.
    fn remember() -> Self {
        let (input, output, errors) = (io::stdin(), io::stdout(), io::stderr());
        let all = [input.as_fd(), output.as_fd(), errors.as_fd()]
            .iter()
            .all(termios::isatty);
        Self(all.then(|| termios::tcgetattr(&input).ok()).flatten())
    }
}

impl Drop for Terminal {
    /// Makes it what it was: a command that was killed, or wanted it so, leaves no terminal without echo. In the background it is
    /// somebody else's.
    fn drop(&mut self) {
        if let Some(before) = &self.0
            && has_terminals_to_itself()
        {
            let _ = termios::tcsetattr(io::stdin(), termios::OptionalActions::Now, before);
        }
    }
}

/// Standard input in parts, read by a thread of its own: a read from a terminal cannot be called off. An empty part is the
/// end.
fn read_stdin() -> mpsc::Receiver<Vec<u8>> {
    let (parts, queue) = mpsc::channel(1);
    let spawned = thread::Builder::new().spawn(move || {
        let mut input = io::stdin().lock();
        let mut buffer = vec![0_u8; MAX_INPUT_BYTES];
        loop {
            let count = match input.read(&mut buffer) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => 0,
            };
            let part = buffer.get(..count).unwrap_or_default().to_vec();
            if parts.blocking_send(part).is_err() || count == 0 {
                return;
            }
        }
    });
    // Without the thread the queue is closed, which is the end of the input.
    drop(spawned);
    queue
}

async fn feed(mut parts: mpsc::Receiver<Vec<u8>>, input: Input) {
    while let Some(part) = parts.recv().await {
        if part.is_empty() {
            break;
        }
        if input.write(&part).await.is_err() {
            return;
        }
    }
    let _ = input.close().await;
}

/// The signals that are passed on.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    quit: Signal,
    window: Signal,
    first: Signal,
    second: Signal,
    stop: Signal,
}

impl Signals {
    /// Catches them from now on.
    ///
    /// # Errors
    /// If the system does not let it.
    pub(super) fn new() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|cause| Failure::io("cannot listen to signals", cause));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
            quit: listen(SignalKind::quit())?,
            window: listen(SignalKind::window_change())?,
            first: listen(SignalKind::user_defined1())?,
            second: listen(SignalKind::user_defined2())?,
            stop: listen(SignalKind::from_raw(Number::TSTP.as_raw()))?,
        })
    }

    /// The number of the next signal that asks a program to end. Others wait.
    async fn ending(&mut self) -> u32 {
        let kind = tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.hangup.recv() => SignalKind::hangup(),
            _ = self.quit.recv() => SignalKind::quit(),
        };
        number(kind)
    }

    /// The number of the next signal.
    async fn next(&mut self) -> u32 {
        let kind = tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.hangup.recv() => SignalKind::hangup(),
            _ = self.quit.recv() => SignalKind::quit(),
            _ = self.window.recv() => SignalKind::window_change(),
            _ = self.first.recv() => SignalKind::user_defined1(),
            _ = self.second.recv() => SignalKind::user_defined2(),
            _ = self.stop.recv() => SignalKind::from_raw(Number::TSTP.as_raw()),
        };
        number(kind)
    }
}

fn number(kind: SignalKind) -> u32 {
    u32::try_from(kind.as_raw_value()).unwrap_or_default()
}

/// Whether this process belongs to a job of a shell. Otherwise nobody would wake it up again, and it ignores a stop, as the kernel
/// would.
///
/// A session or group that began outside of this process namespace has the number 0, which rustix does not allow for. Two
/// zeros are the same one: who leaves it for another gets a number.
fn somebody_could_continue_us() -> bool {
    use nix::unistd::{getpgid, getpgrp, getppid, getsid};

    let parent = getppid();
    let same_session = getsid(Some(parent)).is_ok_and(|theirs| getsid(None).is_ok_and(|ours| theirs == ours));
    // Nobody's child: the parent is outside as well.
    let is_here = parent.as_raw() > 0;
    is_here && same_session && getpgid(Some(parent)).is_ok_and(|theirs| theirs != getpgrp())
}

fn raw(number: Number) -> u32 {
    number.as_raw().unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(end: End) -> Outcome {
        Outcome {
            end,
            duration: Duration::ZERO,
            enforcement: None,
            ended_by: None,
            errno: None,
            dropped_stdout: 0,
            dropped_stderr: 0,
            refused_hosts: Vec::new(),
            refusals: Vec::new(),
        }
    }

    #[test]
    fn exit_codes_follow_the_command() {
        assert_eq!(code(&outcome(End::ExitCode(0))), 0);
        assert_eq!(code(&outcome(End::ExitCode(255))), 255);
        assert_eq!(code(&outcome(End::Signal(15))), 143);
        assert_eq!(code(&outcome(End::NotStarted("why".into()))), 125);
        // Nothing a host may send becomes a success by overflow.
        assert_eq!(code(&outcome(End::ExitCode(256))), 125);
        assert_eq!(code(&outcome(End::Signal(200))), 125);
    }

    #[test]
    fn a_program_that_cannot_be_executed_ends_as_in_a_shell() {
        let not = |errno| Outcome {
            errno: Some(errno),
            ..outcome(End::NotStarted("why".into()))
        };
        assert_eq!([2, 13, 8].map(|errno| end_as(&not(errno))), [127, 126, 126]);
        assert_eq!(end_as(&outcome(End::NotStarted("why".into()))), 125);
        assert_eq!(end_as(&outcome(End::ExitCode(7))), 7);
    }
}
