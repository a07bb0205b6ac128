//! Staying with a run to its end: its output and input, its signals, and what is said beside the command's own output.
//!
//! Standard input is read on a thread of its own, which is left behind when the command has ended, so a terminal or an open pipe
//! does not hold up the end. Where the command has this program's own streams, nothing passes through here but signals and what
//! the daemon has to say.

mod signals;
mod terminal;

use std::{
    io::{self, Read as _},
    sync::Arc,
    thread,
    time::Duration,
};

use portcullis_client::{
    Event, Running,
    run::{End, Here, Input, MAX_INPUT_BYTES, Outcome, Started},
};
use tokio::{io::AsyncWriteExt as _, sync::mpsc};

use self::terminal::{Driven, Terminal, Undriven};
use super::{
    failure::Failure,
    output::printable,
    run::{FAILED, NOT_ALLOWED},
};

pub(super) use self::{signals::Signals, terminal::terminals_may_be_given};

/// Exit code of a program that wrote to a pipe nobody reads.
const BROKEN_PIPE: u8 = 128 + 13;

/// Exit code: there is no such program.
const NO_SUCH_PROGRAM: u8 = 127;

/// How often it is looked whether this program has come to the foreground of its terminal.
const BEHIND: Duration = Duration::from_millis(100);

/// How the command's standard streams travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Streams {
    /// Through this program.
    AsMessages,
    /// Not at all: the command has this program's own.
    AsTheyAre,
    /// Through a terminal that the command has for itself.
    OwnTerminal,
}

impl From<Here> for Streams {
    fn from(here: Here) -> Self {
        match here {
            Here::AsTheyAre => Self::AsTheyAre,
            Here::OwnTerminal => Self::OwnTerminal,
        }
    }
}

/// Which streams a command gets that is not given them as messages.
///
/// # Errors
/// If it would get a terminal that is not this program's to give.
pub(super) fn here(own_terminal: bool) -> Result<Here, Failure> {
    if own_terminal {
        return Ok(Here::OwnTerminal);
    }
    terminals_may_be_given().map(|()| Here::AsTheyAre)
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
    let feeding = (streams == Streams::AsMessages).then(|| tokio::spawn(feed(read_stdin(|| {}), input.clone())));
    let (mut out, mut err) = (tokio::io::stdout(), tokio::io::stderr());
    let driven = running.take_terminal().map(|coming| (Arc::new(Driven::new()), coming));
    let own = driven.as_ref().map(|(own, _)| Arc::clone(own));
    // However this ends, the person's terminal is theirs again.
    let _back = own.clone().map(GivenBack);
    let mut driving = driven.map(|(own, coming)| {
        let foreground = Arc::clone(&own);
        let input = read_stdin(move || foreground.take_over());
        tokio::spawn(async move { own.drive(coming, input).await })
    });
    // Beside the loop, so that signals get through while nobody reads the output.
    let forwarding = tokio::spawn(signals::forward(signals, input, streams, own));
    let outcome = loop {
        let event = tokio::select! {
            event = running.next() => event?,
            lost = until_lost(&mut driving) => {
                if let Some(error) = lost {
                    return closed(&error).map(Err);
                }
                continue;
            }
        };
        match event {
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
    // What the command has written last is still under way, as long as somebody reads it; nothing of the run lives any more.
    if driving.is_some()
        && let Some(error) = until_lost(&mut driving).await
    {
        return closed(&error).map(Err);
    }
    forwarding.abort();
    if let Some(feeding) = feeding {
        feeding.abort();
    }
    drop(terminal);
    say(&outcome, streams);
    Ok(Ok(outcome))
}

/// Waits until a command's own terminal is driven no more; for ever if it is not driven. `Some` if what it wrote cannot be
/// written out.
async fn until_lost(driving: &mut Option<tokio::task::JoinHandle<Result<(), Undriven>>>) -> Option<io::Error> {
    let Some(task) = driving else {
        return std::future::pending().await;
    };
    let ended = task.await;
    *driving = None;
    match ended {
        Ok(Err(Undriven::Output(error))) => Some(error),
        // That no terminal came says the run itself.
        Ok(_) | Err(_) => None,
    }
}

/// Gives the person's terminal back when it is dropped.
struct GivenBack(Arc<Driven>);

impl Drop for GivenBack {
    fn drop(&mut self) {
        self.0.end();
    }
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

/// Standard input in parts, read by a thread of its own: a read from a terminal cannot be called off. An empty part is the
/// end.
///
/// From the background it does not read: the kernel would stop this program, and with it a command that needs no input. Where
/// this program gets there while it reads, the kernel says so by an error, as the signal that would stop it is kept from the thread.
/// `foreground` is called when it has got there.
fn read_stdin(foreground: impl Fn() + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (parts, queue) = mpsc::channel(1);
    let spawned = thread::Builder::new().spawn(move || {
        let mut behind = nix::sys::signal::SigSet::empty();
        behind.add(nix::sys::signal::Signal::SIGTTIN);
        let _ = behind.thread_block();
        let mut input = io::stdin().lock();
        let mut buffer = vec![0_u8; MAX_INPUT_BYTES];
        loop {
            if terminal::is_behind(&input) {
                while terminal::is_behind(&input) {
                    if parts.is_closed() {
                        return;
                    }
                    thread::sleep(BEHIND);
                }
                foreground();
            }
            let count = match input.read(&mut buffer) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) if terminal::is_behind(&input) => continue,
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
