//! `portcullis run`: decides, and runs what is allowed in the sandbox, as if it had been started here.
//!
//! Bytes pass through in both directions without being collected: a slow reader slows the command, a command that does not
//! read slows whoever writes to it. Standard input is read on a thread of its own, which is left behind when the command
//! has ended, so a terminal or an open pipe does not hold up the end.

use std::{
    io::{self, Read as _},
    thread,
};

use futures_util::FutureExt as _;
use portcullis_client::{
    Event, Host, HostOptions, Question,
    run::{End, Input, MAX_INPUT_BYTES, Outcome},
};
use tokio::{
    io::AsyncWriteExt as _,
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
};

use super::{
    args::{HostArgs, RunArgs},
    decide,
    failure::Failure,
    output::printable,
};

/// Exit code: the answer was ask or deny.
const NOT_ALLOWED: u8 = 126;

/// Exit code: it could not be run.
const FAILED: u8 = 125;

/// Exit code of a program that wrote to a pipe nobody reads.
const BROKEN_PIPE: u8 = 128 + 13;

/// How many interrupts in a row mean that the person no longer wants to wait for the command to obey.
const IMPATIENT: u32 = 3;

pub(crate) async fn main(command: &RunArgs, host: &HostArgs) -> Result<u8, Failure> {
    let argv = decide::words(&command.argv)?;
    let place = command.place.find()?;
    let shown = portcullis_policy::redact::text(&portcullis_policy::shell::quote(&argv));
    let mut question = Question::command("cli", &place.cwd, argv, command.timeout);
    question.roots = vec![place.root];
    command.session.apply(&mut question)?;
    let host = Host::connect(&host.options(HostOptions::DEADLINE)?).await?;
    let answer = host.decide(&question).await?;
    let permit = match answer.into_permit() {
        Ok(permit) => permit,
        Err(answer) => {
            use std::io::Write as _;
            let _ = anstream::stderr().write_all(decide::text(&answer, &shown).as_bytes());
            // Nobody decided: a script must be able to tell that from a refusal.
            return Ok(if decide::undecided(&answer) {
                FAILED
            } else {
                NOT_ALLOWED
            });
        }
    };
    // Signals are caught before the command starts, so that none ends this program and leaves the command behind.
    let signals = Signals::new()?;
    let mut running = host.run(permit, std::env::vars_os()).await?;
    let input = running.input();
    let reader = read_stdin();
    let feeding = tokio::spawn(feed(reader, input.clone()));
    let (mut out, mut err) = (tokio::io::stdout(), tokio::io::stderr());
    // Beside the loop, so that signals get through while nobody reads the output.
    let forwarding = tokio::spawn(forward(signals, input));
    let outcome = loop {
        match running.next().await? {
            Some(Event::Stdout(bytes)) => {
                if let Err(error) = pass(&mut out, &bytes).await {
                    return closed(&error);
                }
            }
            // Nobody listening to diagnostics is no reason to stop.
            Some(Event::Stderr(bytes)) => {
                let _ = pass(&mut err, &bytes).await;
            }
            Some(Event::Started(_)) => {}
            Some(Event::Ended(outcome)) => break outcome,
            None => return Err(Failure::text("the run ended without an outcome")),
        }
    };
    forwarding.abort();
    feeding.abort();
    Ok(code(&outcome))
}

/// What came of the command, as an exit code. Why it was ended from outside is told.
fn code(outcome: &Outcome) -> u8 {
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

fn code_of_signal(number: u32) -> u8 {
    u8::try_from(number)
        .ok()
        .and_then(|number| number.checked_add(128))
        .unwrap_or(FAILED)
}

fn tell(text: &str) {
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
async fn forward(mut signals: Signals, input: Input) {
    let mut interrupts = 0;
    loop {
        let number = signals.next().await;
        if [2, 15].contains(&number) {
            interrupts += 1;
        }
        if interrupts > IMPATIENT {
            std::process::exit(code_of_signal(number).into());
        }
        // The queue is full only if the host takes nothing any more; then one signal less makes no difference.
        let _ = input.signal(number).now_or_never();
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
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    quit: Signal,
    window: Signal,
}

impl Signals {
    fn new() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|cause| Failure::io("cannot listen to signals", cause));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
            quit: listen(SignalKind::quit())?,
            window: listen(SignalKind::window_change())?,
        })
    }

    /// The number of the next signal.
    async fn next(&mut self) -> u32 {
        let kind = tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.hangup.recv() => SignalKind::hangup(),
            _ = self.quit.recv() => SignalKind::quit(),
            _ = self.window.recv() => SignalKind::window_change(),
        };
        u32::try_from(kind.as_raw_value()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn outcome(end: End) -> Outcome {
        Outcome {
            end,
            duration: Duration::ZERO,
            enforcement: None,
            ended_by: None,
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
}
