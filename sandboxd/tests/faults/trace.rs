//! Drives a launcher system call by system call, from outside, so that one of them can be made to fail, or somebody to die there.
//!
//! The launcher is the shipped program; nothing in it knows of this.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::sys::ptrace::{self, Event, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use portcullis_sandboxd::sys::process::inherit;

/// Which process of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Who {
    /// The launcher that the daemon starts.
    Supervisor,
    /// Process 1 inside.
    Init,
    /// What becomes the command.
    Command,
}

const ALL: [Who; 3] = [Who::Supervisor, Who::Init, Who::Command];

/// A place in a launch: the process, and the how-manieth system call of it.
pub(crate) type Place = (Who, usize);

/// What is done at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Nothing: it is only looked at.
    Nothing,
    /// The call is not made and fails with this number.
    Fail(i32),
    /// Everybody is let go, and the caller goes on.
    Stop,
}

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The numbers of the calls of each process up to the command's `execve`.
    pub(crate) calls: HashMap<Who, Vec<i64>>,
    /// Whether the act was done.
    pub(crate) acted: bool,
    /// Whether the command was executed.
    pub(crate) executed: bool,
    /// Process ids, in the order of [`Who`].
    pub(crate) pids: Vec<Pid>,
}

/// Starts a launcher that waits before it begins. Its descriptors from 3 on are these.
pub(crate) fn start(launcher: &Path, descriptors: Vec<OwnedFd>) -> io::Result<Child> {
    let mut command = Command::new("sh");
    command
        .args(["-c", "kill -STOP $$; exec \"$0\" run"])
        .arg(launcher)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    inherit(&mut command, descriptors);
    let child = command.spawn()?;
    drop(command);
    let pid = pid(&child);
    while !matches!(waitpid(pid, Some(WaitPidFlag::WUNTRACED)), Ok(WaitStatus::Stopped(..))) {}
    Ok(child)
}

pub(crate) fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed())
}

fn number_of(pid: Pid) -> i64 {
    ptrace::getregs(pid).map_or(-1, |registers| registers.orig_rax.cast_signed())
}

/// Goes through a launch up to the command's execution, or to the act [`Act::Stop`], and lets everybody go.
pub(crate) fn drive(child: &Child, place: Place, act: Act) -> Seen {
    let first = pid(child);
    let options = Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_EXITKILL;
    ptrace::seize(first, options).expect("tracing is permitted");
    let mut seen = Seen {
        pids: vec![first],
        ..Seen::default()
    };
    // Who is inside a call, and whose call was taken away and by what it is to fail.
    let mut inside: HashMap<Pid, Option<i32>> = HashMap::new();
    let mut launching = false;
    kill(first, Signal::SIGCONT).unwrap();
    loop {
        // Only what this thread traces: tests run beside each other.
        let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        let Ok(status) = waitpid(None, Some(flags)) else { break };
        let Some(who) = status.pid() else { continue };
        let role = seen.pids.iter().position(|pid| *pid == who).map(|at| ALL[at.min(2)]);
        let resume = |signal: Option<Signal>| {
            let _ = ptrace::syscall(who, signal);
        };
        match status {
            WaitStatus::PtraceSyscall(_) if !launching => resume(None),
            WaitStatus::PtraceSyscall(_) => {
                if let Some(failure) = inside.remove(&who) {
                    if let (Some(failure), Ok(mut registers)) = (failure, ptrace::getregs(who)) {
                        registers.rax = (-i64::from(failure)).cast_unsigned();
                        let _ = ptrace::setregs(who, registers);
                    }
                    resume(None);
                    continue;
                }
                let Some(role) = role else { continue };
                let calls = seen.calls.entry(role).or_default();
                let here = (role, calls.len()) == place;
                calls.push(number_of(who));
                let mut failure = None;
                if here && act != Act::Nothing {
                    seen.acted = true;
                    match act {
                        Act::Stop => {
                            let_all_go(&seen.pids, who);
                            return seen;
                        }
                        Act::Fail(number) => {
                            if let Ok(mut registers) = ptrace::getregs(who) {
                                registers.orig_rax = u64::MAX;
                                let _ = ptrace::setregs(who, registers);
                            }
                            failure = Some(number);
                        }
                        Act::Nothing => {}
                    }
                }
                inside.insert(who, failure);
                resume(None);
            }
            WaitStatus::PtraceEvent(_, _, event) if event == Event::PTRACE_EVENT_EXEC as i32 => {
                if role == Some(Who::Supervisor) {
                    launching = true;
                    // The end of the call that began before.
                    inside.insert(who, None);
                    resume(None);
                } else {
                    seen.executed = true;
                    let_all_go(&seen.pids, who);
                    return seen;
                }
            }
            WaitStatus::PtraceEvent(_, _, event)
                if [
                    Event::PTRACE_EVENT_CLONE as i32,
                    Event::PTRACE_EVENT_FORK as i32,
                    Event::PTRACE_EVENT_VFORK as i32,
                ]
                .contains(&event) =>
            {
                if let Ok(new) = ptrace::getevent(who) {
                    let new = Pid::from_raw(i32::try_from(new).unwrap());
                    if !seen.pids.contains(&new) {
                        seen.pids.push(new);
                    }
                }
                resume(None);
            }
            WaitStatus::PtraceEvent(..) => {
                // A new process at its beginning, which may be heard of before its parent says that it has made it.
                if role.is_none() {
                    seen.pids.push(who);
                }
                resume(None);
            }
            // The kernel kills a process 1 for this unless it is traced.
            WaitStatus::Stopped(_, Signal::SIGSEGV | Signal::SIGILL | Signal::SIGBUS) => {
                let _ = kill(who, Signal::SIGKILL);
            }
            WaitStatus::Stopped(_, signal) => resume(Some(signal)),
            // The end of one; when all have ended there is nobody to wait for.
            _ => {}
        }
    }
    seen
}

/// Lets all go on untraced. Only a stopped process can be let go; `stopped` is one.
fn let_all_go(pids: &[Pid], stopped: Pid) {
    for pid in pids {
        if *pid != stopped {
            if ptrace::interrupt(*pid).is_err() {
                continue;
            }
            let _ = waitpid(*pid, Some(WaitPidFlag::__WALL));
        }
        let _ = ptrace::detach(*pid, None);
    }
}
