//! Signals of this program, which are the command's: passed on, and what it means to be stopped as a job of a shell.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use portcullis_client::run::Input;
use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{
    Streams, code_of_signal,
    terminal::{Driven, has_terminals_to_itself},
};
use crate::cli::failure::Failure;

/// How many interrupts in a row mean that the person no longer wants to wait for the command to obey.
const IMPATIENT: u32 = 3;

/// Longest wait until a signal is surely on its way to the command. A host that does not answer it holds up no job of a shell
/// for longer.
const UNDER_WAY: Duration = Duration::from_secs(2);

/// Until a stop of this program has taken effect, or a shell has given it the terminal.
const SETTLED: Duration = Duration::from_millis(100);

/// How long a command that is stopped in the background and told to end may run to obey.
const TO_OBEY: Duration = Duration::from_secs(2);

/// Passes signals on. Whoever interrupts again and again no longer wants to wait: the end of this program ends the command.
/// A command that has the terminal itself decides that alone; when the terminal stops it, this program stops beside it.
pub(super) async fn forward(mut signals: Signals, input: Input, streams: Streams, own: Option<Arc<Driven>>) {
    let mut interrupts = 0;
    loop {
        let number = signals.next().await;
        if number == raw(Number::TSTP) {
            if !somebody_could_continue_us() {
                continue;
            }
            stand_still(&mut signals, &input, streams, own.as_deref()).await;
            continue;
        }
        // The kernel tells a terminal's new size to who has it in the foreground.
        if let (true, Some(own)) = (number == raw(Number::WINCH), &own) {
            own.resize();
            continue;
        }
        // A hangup may mean to read the configuration again.
        if [2, 15].contains(&number) && streams != Streams::AsTheyAre {
            interrupts += 1;
        }
        if interrupts > IMPATIENT {
            if let Some(own) = &own {
                own.end();
            }
            std::process::exit(code_of_signal(number).into());
        }
        // The queue is full only if the host takes nothing any more; then one signal less makes no difference.
        let _ = input.signal(number).now_or_never();
    }
}

/// Stops the command and this program until somebody continues it; where the command has the terminal, until that is in the
/// foreground. A command that goes on in the background could read what the person types for others: it does not belong to this
/// terminal, so the kernel would not stop it. Only who ends it meanwhile (`kill %1`) makes it run for a while, so that it can obey.
async fn stand_still(signals: &mut Signals, input: &Input, streams: Streams, own: Option<&Driven>) {
    loop {
        // A group without a shell ignores the terminal's own signal. Queued is not sent, and this program sends nothing while it
        // is stopped.
        let _ = input.signal_surely(raw(Number::STOP), UNDER_WAY).await;
        if let Some(own) = own {
            own.give_back();
        }
        let _ = rustix::process::kill_process(rustix::process::getpid(), Number::STOP);
        // Another thread may take the signal first; and some shells continue a job before they give it the terminal.
        let ending = tokio::time::timeout(SETTLED, signals.ending()).await.ok();
        let ours = streams != Streams::AsTheyAre || has_terminals_to_itself();
        if let Some(number) = ending {
            let _ = input.signal(number).await;
        }
        if ours || ending.is_some() {
            let _ = input.signal(raw(Number::CONT)).await;
        }
        if ours {
            if let Some(own) = own {
                own.take_over();
            }
            return;
        }
        if ending.is_some() {
            // Its end ends this program.
            tokio::time::sleep(TO_OBEY).await;
        }
    }
}

/// The signals that are passed on.
pub(crate) struct Signals {
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
    pub(crate) fn new() -> Result<Self, Failure> {
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
