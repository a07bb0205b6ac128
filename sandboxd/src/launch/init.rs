//! The sandbox's init: process 1 inside. Sets the sandbox up, starts the command, reaps, and ends everything.
//!
//! It ends, and the kernel with it every process inside, when the command ends, when the supervisor dies, or when the
//! daemon closes its pipe. The command cannot kill it (the kernel drops signals to a process 1 that has no handler) nor look
//! into it (it is not dumpable).

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use portcullis_proto::v1::{Enforcement, EnforcementStatus, SandboxTier};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};

use super::filter::Reports;
use super::filter::refused::{self, Tally};
use super::spec::{Event, Exited, NotExecuted, Refused, RefusedCall, RefusedCalls, Running, Spec, write_report};
use super::{StepFailed, filter, identity, landlock, limits, mounts, network, streams, terminal};
use crate::sys::notify::{self, Answer};
use crate::sys::process::{Fork, exec, exit_now, fork_command};
use crate::sys::{fds, net, process, seccomp, signals};

/// What the init holds on to.
#[derive(Debug)]
pub struct Ends {
    /// Reports go here.
    pub status: OwnedFd,
    /// Signal numbers, a byte each, come from here; its end means the end.
    pub control: OwnedFd,
    /// One byte comes from here when the uid map is written; its end means the supervisor's end.
    pub alive: OwnedFd,
    /// To the filter outside, if the network is filtered.
    pub filter: Option<OwnedFd>,
    /// There is a user namespace for it.
    pub user_namespace: bool,
}

/// Runs as process 1 until the end. Never returns.
pub fn run(spec: &Spec, ends: Ends) -> ! {
    let status = File::from(ends.status);
    let mut keep = vec![status.as_raw_fd(), ends.control.as_raw_fd(), ends.alive.as_raw_fd()];
    keep.extend(ends.filter.as_ref().map(OwnedFd::as_raw_fd));
    if fds::close_all_but(&keep).is_err() {
        exit_now(1);
    }
    let outcome = set_up(spec, ends.alive.as_fd(), ends.filter, ends.user_namespace).and_then(|sandbox| {
        if !is_accepted(spec, &sandbox.enforcement) {
            let missing = sandbox.enforcement.missing.join("; ");
            return Err(StepFailed::new(
                "enforcement",
                format!("only part can be enforced ({missing})"),
                io::Error::new(io::ErrorKind::Unsupported, "the profile does not accept that"),
            ));
        }
        Ok(sandbox)
    });
    let sandbox = match outcome {
        Err(failed) => {
            let _ = write_report(&status, Event::Refused(failed.to_report()));
            exit_now(1);
        }
        // INVARIANT: the report leaves before the command is executed; nobody to report to, nothing to execute.
        Ok(sandbox) => {
            if write_report(&status, Event::Ready(sandbox.enforcement.clone())).is_err() {
                exit_now(1);
            }
            sandbox
        }
    };
    match start(spec, sandbox.enforcement.landlock_abi) {
        Err(failed) => {
            let _ = write_report(&status, Event::Refused(failed.to_report()));
        }
        Ok(Started::NotExecuted(errno)) => {
            let _ = write_report(&status, Event::NotExecuted(NotExecuted { errno }));
        }
        Ok(Started::Running(command)) => {
            let mut calls = Tally::default();
            if write_report(&status, Event::Running(Running {})).is_ok()
                && let Some(exited) = watch(
                    command,
                    None,
                    ends.control.as_fd(),
                    ends.alive.as_fd(),
                    sandbox.listener.as_ref(),
                    &mut calls,
                )
            {
                if !calls.is_empty() {
                    let _ = write_report(&status, Event::RefusedCalls(to_report(&calls)));
                }
                let _ = write_report(&status, Event::Exited(exited));
            }
        }
    }
    exit_now(0)
}

/// Whether what is enforced is enough: all of it, or what the profile names.
fn is_accepted(spec: &Spec, enforcement: &Enforcement) -> bool {
    let only_landlock = enforcement.tier() == SandboxTier::WithoutLandlock && enforcement.missing.len() == 1;
    enforcement.status() == EnforcementStatus::Full
        || spec.accept_partial
        || (spec.accept_without_landlock && only_landlock)
}

pub(super) fn to_report(calls: &Tally) -> RefusedCalls {
    RefusedCalls {
        calls: calls
            .iter()
            .map(|(number, times)| RefusedCall { number, times })
            .collect(),
    }
}

/// A sandbox that stands.
struct SetUp {
    enforcement: Enforcement,
    /// The listener of the system-call filter, if it is heard here.
    listener: Option<OwnedFd>,
    /// The command's terminal, if it has one of its own: held open until the end.
    _terminal: Option<OwnedFd>,
}

/// Everything up to the point where only the command is missing.
fn set_up(
    spec: &Spec,
    alive: impl AsFd,
    filter_outside: Option<OwnedFd>,
    user_namespace: bool,
) -> Result<SetUp, StepFailed> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| StepFailed::new("pid_namespace", "asking to die with the supervisor", error))?;
    let mut go = [0u8];
    if rustix::io::read(alive.as_fd(), &mut go) != Ok(1) {
        exit_now(1); // The supervisor is gone already.
    }
    let umask = rustix::process::umask(rustix::fs::Mode::empty());
    let layout = spec.layout.clone().unwrap_or_default();
    let writable = mounts::build(&layout)?;
    let _ = rustix::process::umask(umask);
    let terminal = spec.own_terminal.then(|| terminal::give(alive.as_fd())).transpose()?;
    streams::confine(&mounts::paths(&layout.read_write))?;
    let cwd = Path::new(OsStr::from_bytes(&spec.cwd));
    std::env::set_current_dir(cwd)
        .map_err(|error| StepFailed::new("working_directory", format!("entering `{}`", cwd.display()), error))?;
    net::bring_up_loopback().map_err(|error| StepFailed::new("network_namespace", "bringing up `lo`", error))?;
    let network = match (spec.filtered_network, filter_outside) {
        (false, _) => None,
        (true, Some(outside)) => Some((network::prepare()?, outside)),
        (true, None) => {
            let missing = io::Error::from(io::ErrorKind::NotConnected);
            return Err(StepFailed::new("network_filter", "finding the filter", missing));
        }
    };
    drop_capabilities()?;
    rustix::thread::set_no_new_privs(true).map_err(|error| StepFailed::new("no_new_privs", "setting it", error))?;

    let mut mechanisms: Vec<&str> = vec![
        "user_namespace",
        "mount_namespace",
        "pid_namespace",
        "ipc_namespace",
        "uts_namespace",
        "network_namespace",
        "cgroup_namespace",
        "no_new_privs",
        "seccomp",
    ];
    let mut missing = spec.missing.clone();
    let mut tier = SandboxTier::Full;
    if !user_namespace {
        mechanisms.retain(|mechanism| *mechanism != "user_namespace");
        tier = SandboxTier::WithoutUserNamespace;
    }
    let landlock_abi = match landlock::restrict(&writable, !rustix::process::getuid().is_root()) {
        Ok(abi) => {
            mechanisms.push("landlock");
            if abi < landlock::ENOUGH {
                tier = SandboxTier::WithoutLandlock;
                missing.push(format!(
                    "landlock: the kernel offers version {abi}, {} is needed",
                    landlock::ENOUGH
                ));
            }
            abi
        }
        Err(landlock::NotRestricted::Absent(reason)) => {
            tier = SandboxTier::WithoutLandlock;
            missing.push(format!("landlock: {reason}"));
            0
        }
        // The kernel has it, and something else went wrong: that is no host without Landlock, and no profile accepts it.
        Err(landlock::NotRestricted::Failed(reason)) => {
            return Err(StepFailed::new(
                "landlock",
                "restricting the command",
                io::Error::other(reason),
            ));
        }
    };
    let failed = |error| StepFailed::new("seccomp", "installing the filter", error);
    let listener = if let Some((sockets, outside)) = network {
        let program = filter::program(Reports::RefusalsAndConnects);
        let listener = seccomp::install_with_listener(&program).map_err(failed)?;
        network::hand_over(outside.as_fd(), &listener, &sockets)?;
        mechanisms.push("network_filter");
        None
    } else {
        match seccomp::install_with_listener(&filter::program(Reports::Refusals)) {
            Ok(listener) => Some(listener),
            // Somebody outside listens to this process already: what is refused cannot be told then.
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                seccomp::install(&filter::program(Reports::Nothing)).map_err(failed)?;
                None
            }
            Err(error) => return Err(failed(error)),
        }
    };
    let status = if missing.is_empty() {
        EnforcementStatus::Full
    } else {
        EnforcementStatus::Partial
    };
    let enforcement = Enforcement {
        status: status.into(),
        mechanisms: mechanisms.into_iter().map(str::to_owned).collect(),
        missing,
        landlock_abi,
        unheld_limits: spec.unheld_limits.clone(),
        tier: tier.into(),
    };
    Ok(SetUp {
        enforcement,
        listener,
        _terminal: terminal,
    })
}

/// No capability is left, none can come back: not by uid 0, not by a file, not by inheritance.
fn drop_capabilities() -> Result<(), StepFailed> {
    let failed = |what: &'static str| move |error: rustix::io::Errno| StepFailed::new("capabilities", what, error);
    rustix::thread::clear_ambient_capability_set().map_err(failed("clearing the ambient set"))?;
    for number in 0..64u32 {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            Err(rustix::io::Errno::INVAL) => break, // Beyond the last one the kernel knows.
            Err(error) => return Err(failed("emptying the bounding set")(error)),
        }
    }
    // Looked at once more: the end of the list and a refusal to change it have the same number.
    for number in 0..64u32 {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        match rustix::thread::capability_is_in_bounding_set(capability) {
            Ok(false) => {}
            Ok(true) => {
                return Err(failed("making sure that the bounding set is empty")(
                    rustix::io::Errno::PERM,
                ));
            }
            Err(rustix::io::Errno::INVAL) => break,
            Err(error) => return Err(failed("making sure that the bounding set is empty")(error)),
        }
    }
    let bits = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    rustix::thread::set_capabilities_secure_bits(bits).map_err(failed("locking the secure bits"))?;
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, none).map_err(failed("dropping all"))?;
    match rustix::thread::capabilities(None) {
        Ok(left) if left.permitted.is_empty() && left.effective.is_empty() && left.inheritable.is_empty() => Ok(()),
        Ok(_) => Err(failed("making sure that none is left")(rustix::io::Errno::PERM)),
        Err(error) => Err(failed("making sure that none is left")(error)),
    }
}

enum Started {
    Running(Pid),
    NotExecuted(i32),
}

fn start(spec: &Spec, landlock_abi: u32) -> Result<Started, StepFailed> {
    let failed = |what: &'static str| move |error: io::Error| StepFailed::new("command", what, error);
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|error| StepFailed::new("command", "making a pipe", error))?;
    let argv = c_strings(&spec.argv).map_err(failed("reading the arguments"))?;
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let environment = identity::with_identity(
        spec.environment.clone(),
        uid,
        gid,
        identity::landlock_status(landlock_abi),
    );
    let environment = c_strings(&environment).map_err(failed("reading the environment"))?;
    let programs = candidates(spec).map_err(failed("reading the program's name"))?;
    // Before there is a command: it may not trace this process, nor reach its descriptors (it could forge reports) or its
    // environment through `/proc/1`. Executing makes the command itself dumpable again.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .map_err(|error| StepFailed::new("command", "closing the init to the command", error))?;
    match fork_command().map_err(failed("forking"))? {
        Fork::Child => {
            let errno = become_command(&programs, &argv, &environment, spec);
            let _ = rustix::io::write(&write, &errno.to_ne_bytes());
            exit_now(127);
        }
        Fork::Parent(pid) => {
            drop(write);
            leave_standard_streams();
            let mut errno = Vec::new();
            File::from(read)
                .read_to_end(&mut errno)
                .map_err(failed("waiting for the program"))?;
            match errno.first_chunk::<4>() {
                Some(errno) => Ok(Started::NotExecuted(i32::from_ne_bytes(*errno))),
                None => Ok(Started::Running(pid)),
            }
        }
    }
}

/// Returns the error number if the command cannot be executed.
fn become_command(programs: &[CString], argv: &[CString], environment: &[CString], spec: &Spec) -> i32 {
    match settle(spec) {
        Ok(()) => execute(programs, argv, environment),
        Err(error) => error.raw_os_error().unwrap_or(libc::EIO),
    }
}

/// All that a process changes about itself before it becomes the command, whatever walls there are.
pub(super) fn settle(spec: &Spec) -> io::Result<()> {
    // A session of its own: one group to signal, and no controlling terminal to push input into but one of its own.
    rustix::process::setsid()?;
    if spec.own_terminal {
        rustix::process::ioctl_tiocsctty(std::io::stdin())?;
    }
    // No core files; and 1 rather than 0, as the kernel starts a handler outside the sandbox even at 0.
    let one = rustix::process::Rlimit {
        current: Some(1),
        maximum: Some(1),
    };
    rustix::process::setrlimit(rustix::process::Resource::Core, one)?;
    fds::close_all_on_exec()?;
    signals::restore_for_command(spec.keep_ignored_signals);
    Ok(limits::set(&spec.limits.unwrap_or_default())?)
}

/// Tries the candidates in turn. Returns the error number if none can be executed.
pub(super) fn execute(programs: &[CString], argv: &[CString], environment: &[CString]) -> i32 {
    let mut result = libc::ENOENT;
    for program in programs {
        let Err(error) = exec(program, argv, environment);
        match error.raw_os_error().unwrap_or(libc::EIO) {
            libc::ENOENT | libc::ENOTDIR => {}
            libc::EACCES => result = libc::EACCES,
            other => return other,
        }
    }
    result
}

/// What the program's name may stand for: itself if it has a slash, else one file per folder of the environment's PATH.
pub(super) fn candidates(spec: &Spec) -> io::Result<Vec<CString>> {
    let name = spec.argv.first().map(Vec::as_slice).unwrap_or_default();
    if name.contains(&b'/') || name.is_empty() {
        return c_strings(&[name.to_vec()]);
    }
    let path = spec
        .environment
        .iter()
        .find_map(|variable| variable.strip_prefix(b"PATH="));
    let folders = path
        .unwrap_or(b"/usr/local/bin:/usr/bin:/bin")
        .split(|&byte| byte == b':');
    // An empty or relative folder would mean the working directory, which belongs to the workspace.
    let absolute = folders.filter(|folder| folder.starts_with(b"/"));
    c_strings(&absolute.map(|folder| [folder, b"/", name].concat()).collect::<Vec<_>>())
}

pub(super) fn c_strings(words: &[Vec<u8>]) -> io::Result<Vec<CString>> {
    words
        .iter()
        .map(|word| CString::new(word.clone()).map_err(io::Error::from))
        .collect()
}

/// Leaves the command's streams to the command: a pipe that this process held open would never end.
pub(super) fn leave_standard_streams() {
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}

/// Waits for the command, passing on signals, reaping orphans, and failing refused calls. `None` if everything is to end; the guard's
/// end, too, is a reason for that.
pub(super) fn watch(
    command: Pid,
    guard: Option<Pid>,
    control: impl AsFd,
    alive: impl AsFd,
    listener: Option<&OwnedFd>,
    calls: &mut Tally,
) -> Option<Exited> {
    let children = signals::SignalReader::new(&[libc::SIGCHLD]).ok()?;
    loop {
        // Reap before waiting: the command may have ended before SIGCHLD was blocked.
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if !status.exited() && !status.signaled() {
                // A child that asked to be traced has stopped for its tracer, which is this process. No reason to end a run.
                let _ = process::detach(pid, passed_to_traced(status));
                continue;
            }
            if pid == command {
                return Some(exited(status));
            }
            if Some(pid) == guard {
                return None;
            }
        }
        let mut polled = [
            PollFd::new(&children, PollFlags::IN),
            PollFd::new(&control, PollFlags::IN),
            PollFd::new(&alive, PollFlags::IN),
            // Where nobody is heard, the same descriptor once more.
            PollFd::from_borrowed_fd(listener.map_or_else(|| children.as_fd(), AsFd::as_fd), PollFlags::IN),
        ];
        match poll(&mut polled, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return None,
        }
        let [child_event, control_event, alive_event, call_event] = polled.map(|fd| !fd.revents().is_empty());
        if let (true, Some(listener)) = (call_event, listener) {
            refuse(listener, calls);
        }
        if child_event {
            while children.next().is_some() {}
        }
        if control_event {
            let mut number = [0u8];
            match rustix::io::read(control.as_fd(), &mut number) {
                Ok(1) => pass_on(command, guard, number[0]),
                _ => return None,
            }
        }
        if alive_event {
            return None; // Nothing is ever written there after the first byte: it has ended.
        }
    }
}

/// Fails the next refused call. One whose thread was killed meanwhile is none.
fn refuse(listener: &OwnedFd, calls: &mut Tally) {
    if let Ok(call) = notify::receive(listener.as_fd()) {
        calls.count(call.number);
        let errno = refused::of(call.number).errno;
        let _ = notify::answer(listener.as_fd(), call.id, Answer::Fail(errno));
    }
}

/// Stopping and going on is for everybody inside: a process that has left the command's group would go on reading what the
/// command has, the caller's terminal too.
fn pass_on(command: Pid, guard: Option<Pid>, number: u8) {
    if let Some(signal) = Signal::from_named_raw(i32::from(number)) {
        let everybody = match signal {
            Signal::STOP | Signal::TSTP => Some(Signal::STOP),
            Signal::CONT => Some(Signal::CONT),
            _ => None,
        };
        if let Some(signal) = everybody {
            // The "group" of process 1 is every process of the namespace but this one, see kill(2).
            let _ = rustix::process::kill_process_group(Pid::INIT, signal);
            // Without namespaces the guard is one of them: stopped, it would see nobody to their end.
            if let (Signal::STOP, Some(guard)) = (signal, guard) {
                let _ = rustix::process::kill_process(guard, Signal::CONT);
            }
            return;
        }
        // The group, as a terminal would; the command itself if it has left its group.
        if rustix::process::kill_process_group(command, signal).is_err() {
            let _ = rustix::process::kill_process(command, signal);
        }
    }
}

/// The signal that a traced process stopped for, for it to get. A trap is the kernel's own word for an `execve` under a tracer.
fn passed_to_traced(status: WaitStatus) -> i32 {
    status
        .stopping_signal()
        .filter(|signal| *signal != libc::SIGTRAP)
        .unwrap_or(0)
}

fn exited(status: WaitStatus) -> Exited {
    let unsigned = |number: Option<i32>| number.and_then(|number| u32::try_from(number).ok());
    Exited {
        code: unsigned(status.exit_status()).unwrap_or(0),
        signal: unsigned(status.terminating_signal()).unwrap_or(0),
    }
}

/// A failure outside the init, in the same form as one inside.
#[must_use]
pub fn refused(step: &str, reason: String, errno: i32) -> Event {
    Event::Refused(Refused {
        step: step.to_owned(),
        reason,
        errno,
    })
}
