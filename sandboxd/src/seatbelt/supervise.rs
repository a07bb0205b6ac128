//! Stays with a command that `sandbox-exec` runs: tells what became of it, passes signals on, and ends its group.
//!
//! `sandbox-exec` becomes the command, so its exit status is the command's, and what it says itself stands between the command's own
//! words. So what it could refuse is found out before: the profile by a trial with a program that does nothing, the command's
//! program by looking for it. Nothing is ever run without it.
//!
//! What macOS has no means for: a process that leaves the command's session is not ended with it, and nothing ends with this
//! process when that is killed.

use std::io::{self, Read as _};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus, Stdio};

use portcullis_proto::v1::{Enforcement, EnforcementStatus};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::command::Call;
use crate::launch::spec::{Event, Exited, NotExecuted, Refused, Running};

/// Most bytes that are told of what `sandbox-exec` says.
const MAX_SAID: usize = 500;

/// The step of the set-up that can fail here.
const STEP: &str = "seatbelt";

/// Runs the command to its end. `control` brings signal numbers, a byte each; its end means the command's. `report` hears the
/// same events in the same order as from the launcher of Linux. `filtered` = the network's filter serves it; `unheld` are limits
/// that are wanted and not held.
pub fn run(call: &Call, filtered: bool, unheld: Vec<String>, control: impl AsFd, report: &mut dyn FnMut(Event)) {
    match start(call, filtered, unheld, report) {
        Err(event) => report(event),
        Ok(child) => {
            report(Event::Running(Running {}));
            match accompany(child, control.as_fd()) {
                Ok(status) => report(Event::Exited(exited(status))),
                // Without a word how it ended it counts as ended from outside.
                Err(error) => tracing::error!(%error, "a command in the sandbox cannot be waited for"),
            }
        }
    }
}

/// Starts it, unless something stands against that.
fn start(
    call: &Call,
    filtered: bool,
    unheld_limits: Vec<String>,
    report: &mut dyn FnMut(Event),
) -> Result<Child, Event> {
    taken(call)?;
    let mechanisms = [Some("seatbelt"), filtered.then_some("network_filter")];
    report(Event::Ready(Enforcement {
        status: EnforcementStatus::Full.into(),
        mechanisms: mechanisms.into_iter().flatten().map(str::to_owned).collect(),
        unheld_limits,
        ..Enforcement::default()
    }));
    let program = call.program().map_err(|errno| {
        Event::NotExecuted(NotExecuted {
            errno: errno.raw_os_error(),
        })
    })?;
    call.command(program).spawn().map_err(|error| not_started(call, &error))
}

/// Whether the kernel takes the profile.
fn taken(call: &Call) -> Result<(), Event> {
    let mut trial = call.trial();
    let tried = trial.stderr(Stdio::piped()).output();
    let tried = tried.map_err(|error| not_started(call, &error))?;
    if tried.status.success() {
        return Ok(());
    }
    let said = tried.stderr.get(..MAX_SAID).unwrap_or(&tried.stderr);
    // It may quote the profile, and that the names of files.
    let said: String = String::from_utf8_lossy(said)
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    Err(refused(
        format!("the profile was not taken ({}): {}", tried.status, said.trim()),
        0,
    ))
}

fn not_started(call: &Call, error: &io::Error) -> Event {
    let program = call.programs.sandbox_exec.display();
    refused(
        format!("`{program}` cannot be started, and nothing runs without it: {error}"),
        error.raw_os_error().unwrap_or(0),
    )
}

fn refused(reason: String, errno: i32) -> Event {
    Event::Refused(Refused {
        step: STEP.to_owned(),
        reason,
        errno,
    })
}

/// Waits for the command's end, and ends what is left of its group. Whatever goes wrong here ends it, too.
fn accompany(mut child: Child, control: impl AsFd) -> io::Result<ExitStatus> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let group = group.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
    let waited = until_ended(group, control);
    // Not yet reaped, so that the number is nobody else's.
    let _ = kill_process_group(group, Signal::KILL);
    let status = child.wait();
    waited.and(status)
}

fn until_ended(command: Pid, control: impl AsFd) -> io::Result<()> {
    let (mut ended, end) = io::pipe()?;
    std::thread::spawn(move || {
        // It stays a zombie, which keeps its number.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(command), options), Err(rustix::io::Errno::INTR)) {}
        drop(end);
    });
    loop {
        let mut polled = [PollFd::new(&ended, PollFlags::IN), PollFd::new(&control, PollFlags::IN)];
        match poll(&mut polled, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [is_over, is_told] = polled.map(|fd| !fd.revents().is_empty());
        if is_over {
            return Ok(());
        }
        if is_told {
            let mut number = [0u8];
            match rustix::io::read(control.as_fd(), &mut number) {
                Ok(1) => pass_on(command, number[0]),
                Err(rustix::io::Errno::INTR) => {}
                // Whoever wanted the command is gone.
                _ => {
                    let _ = kill_process_group(command, Signal::KILL);
                    let _ = ended.read(&mut number);
                    return Ok(());
                }
            }
        }
    }
}

fn pass_on(group: Pid, number: u8) {
    let signal = match Signal::from_named_raw(i32::from(number)) {
        // A group without a terminal of its own is not stopped by the signal that a terminal sends.
        Some(Signal::TSTP) => Some(Signal::STOP),
        other => other,
    };
    if let Some(signal) = signal {
        let _ = kill_process_group(group, signal);
    }
}

fn exited(status: ExitStatus) -> Exited {
    let unsigned = |number: Option<i32>| number.and_then(|number| u32::try_from(number).ok()).unwrap_or(0);
    Exited {
        code: unsigned(status.code()),
        signal: unsigned(status.signal()),
    }
}
