//! The sandbox where no namespaces can be made: Landlock and the filter of system calls alone. For commands that only read.
//!
//! ```text
//! supervisor ──► init ─────────────────► command
//!   (outside)      signals kept inside     Landlock → seccomp → exec
//!                  └─► guard (the same)
//! ```
//!
//! There is no process 1 that takes everything along. Instead the init keeps its signals, and those of all that it starts, among
//! themselves (a scope of Landlock), so that "kill everybody" means everybody inside and nobody else; the kernel lets no fork slip
//! through that. The command has a scope of its own within, and reaches neither the init nor the guard, which does the same when
//! the init is killed. Who has lost its parents is adopted by the init, then by the supervisor, which wait for all.
//!
//! What is not enforced is told: [`NOT_ENFORCED`].

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use portcullis_proto::convert::LACKS_NAMESPACES;
use portcullis_proto::v1::{Enforcement, EnforcementStatus, SandboxTier};
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::process::{Pid, Signal, WaitOptions};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::filter::refused::Tally;
use super::init::{self, Ends};
use super::spec::{Event, NotExecuted, Running, Spec, next_report, write_report};
use super::{StepFailed, filter, identity, places, reading, streams, supervise};
use crate::sys::process::{Fork, exit_now, fork_command};
use crate::sys::{fds, seccomp};
use crate::variables;

const STEP: &str = "without_namespaces";

/// What does not hold, beside that there are none.
pub const NOT_ENFORCED: [&str; 3] = [
    "other processes can be seen, with their command lines (not their memory, variables and files; no signal reaches them)",
    "that something hidden exists, how large and how old it is, and where a link leads can be seen (not what is in it)",
    "processes are left if the launcher, its init and its guard are killed at the same moment",
];

/// Longest wait for processes that have been killed, before those that were not are.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether making namespaces failed because none may be made: not permitted, none left of those that may be, not built in.
pub(super) fn is_not_permitted(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSPC | libc::EINVAL))
}

/// Tries it: why there can be no namespaces, or none that are worth anything (a security module may permit them and nothing in
/// them). `None` if there can, or if something else went wrong, which shows again when they are made.
pub(super) fn why_no_namespaces() -> Option<io::Error> {
    let pid = match supervise::fork_init() {
        Ok((Fork::Parent(pid), _)) => pid,
        Ok((Fork::Child, _)) => {
            // The first thing that is done in them.
            let done = mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC);
            exit_now(done.map_or_else(rustix::io::Errno::raw_os_error, |()| 0));
        }
        Err(error) => return is_not_permitted(&error).then_some(error),
    };
    let status = loop {
        match rustix::process::waitpid(Some(pid), WaitOptions::empty()) {
            Err(rustix::io::Errno::INTR) => {}
            Err(_) | Ok(None) => return None,
            Ok(Some((_, status))) => break status.exit_status()?,
        }
    };
    matches!(status, libc::EPERM | libc::EACCES).then(|| io::Error::from_raw_os_error(status))
}

/// Refuses what cannot be held without namespaces.
///
/// # Errors
/// What that is, in the policy's words.
pub(super) fn refuse_what_takes_more(spec: &Spec) -> Result<(), StepFailed> {
    let mut needs = spec.needs_namespaces.clone();
    let layout = spec.layout.as_ref();
    // Said by whoever has read the profile; looked at once more by whoever would let it happen.
    if needs.is_empty() && (layout.is_none_or(|layout| !layout.read_write.is_empty()) || spec.filtered_network) {
        needs.push("something may be written or reached".to_owned());
    }
    if spec.own_terminal {
        needs.push("it has a terminal of its own (`--tty`)".to_owned());
    }
    if rustix::process::geteuid().is_root() || rustix::process::getuid().is_root() {
        needs.push("the caller is root, for whom too much is open beside files".to_owned());
    }
    if needs.is_empty() {
        return Ok(());
    }
    let cause = io::Error::new(io::ErrorKind::Unsupported, needs.join("; "));
    let what =
        "this host makes no namespaces, and the command cannot be held by Landlock alone (`acceptWithoutNamespaces`)";
    Err(StepFailed::new(STEP, what, cause))
}

/// Makes this process the parent of whoever has lost its own.
pub(super) fn adopt() -> Result<(), StepFailed> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| StepFailed::new(STEP, "adopting what is left over", error))
}

/// Waits until nothing is left of what was started here. To be called when the init has ended: then the guard kills the others. If
/// there is none any more, this does, as far as it can.
pub(super) fn wait_for_all() {
    let begun = Instant::now();
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
            Ok(None) => {}
        }
        if begun.elapsed() > PATIENCE {
            for pid in children() {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The children of this process.
fn children() -> Vec<Pid> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let is_own = |pid: &Pid| {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
        // Behind the name, which may hold anything: state, parent.
        let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1));
        parent.and_then(|parent| parent.parse::<i32>().ok()) == Some(own)
    };
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
        .filter(is_own)
        .collect()
}

/// Proof that signals of this process reach nobody outside: only who has it may kill everybody.
#[derive(Clone, Copy, Debug)]
struct Scoped {
    /// The kernel's version of Landlock, which keeps them in.
    landlock_abi: u32,
}

impl Scoped {
    /// Keeps signals inside, and makes sure of it at the supervisor, which a process of the same user may signal otherwise.
    fn new(supervisor: Pid) -> Result<Self, StepFailed> {
        let landlock_abi = reading::keep_signals_inside()?;
        match rustix::process::test_kill_process(supervisor) {
            Err(rustix::io::Errno::PERM) => Ok(Self { landlock_abi }),
            other => {
                let cause = io::Error::other(format!("the supervisor could be signalled ({other:?})"));
                Err(StepFailed::new(STEP, "keeping signals inside", cause))
            }
        }
    }

    /// Kills everybody inside but this process.
    fn kill_everybody(self) {
        // The "group" of process 1 is everybody that may be signalled, see kill(2).
        let _ = rustix::process::kill_process_group(Pid::INIT, Signal::KILL);
    }
}

/// What the init holds when it is set up.
struct Stand {
    scoped: Scoped,
    rules: reading::Rules,
    guard: Pid,
    /// While this is open the guard waits.
    hold: OwnedFd,
    enforcement: Enforcement,
}

/// Runs as the init until the end. Never returns.
pub fn run(spec: &Spec, ends: Ends, why: &io::Error) -> ! {
    let status = File::from(ends.status);
    let keep = [status.as_raw_fd(), ends.control.as_raw_fd(), ends.alive.as_raw_fd()];
    if fds::close_all_but(&keep).is_err() {
        exit_now(1);
    }
    let spec = without(spec);
    let stand = match set_up(&spec, ends.alive.as_fd(), why) {
        Ok(stand) => stand,
        Err(failed) => {
            let _ = write_report(&status, Event::Refused(failed.to_report()));
            exit_now(1);
        }
    };
    let Stand {
        scoped,
        rules,
        guard,
        hold,
        enforcement,
    } = stand;
    // Open until the end, whatever fails: the guard would kill this process, too, before it has said so.
    let mut hold = Some(hold);
    let last = match start(&spec, rules, enforcement, &mut hold, &status) {
        Err(failed) => Some(Event::Refused(failed.to_report())),
        Ok(Started::Ended) => None,
        Ok(Started::NotExecuted(not)) => Some(Event::NotExecuted(not)),
        Ok(Started::Running(command)) => {
            let ends = (ends.control.as_fd(), ends.alive.as_fd());
            let running = write_report(&status, Event::Running(Running {}));
            running
                .ok()
                .and_then(|()| init::watch(command, Some(guard), ends.0, ends.1, None, &mut Tally::default()))
                .map(Event::Exited)
        }
    };
    scoped.kill_everybody();
    // All were adopted here; the end is told when they are gone.
    while !matches!(rustix::process::wait(WaitOptions::empty()), Err(error) if error != rustix::io::Errno::INTR) {}
    if let Some(event) = last {
        let _ = write_report(&status, event);
    }
    exit_now(0)
}

/// What is asked for, without what namespaces would have brought.
fn without(spec: &Spec) -> Spec {
    let mut spec = spec.clone();
    if let Some(limits) = spec.limits.as_mut().filter(|limits| limits.processes > 0) {
        limits.processes = 0;
        spec.unheld_limits.push(
            "processes: without a user namespace the kernel counts all of the user's; a cgroup's limit holds"
                .to_owned(),
        );
    }
    // Places that are not there.
    spec.environment.retain(|variable| {
        let value = variable.splitn(2, |&byte| byte == b'=').nth(1).unwrap_or_default();
        !value.starts_with(places::CACHE.as_bytes()) && !value.starts_with(super::mounts::PRIVATE_TMP.as_bytes())
    });
    let layout = spec.layout.clone().unwrap_or_default();
    // `/tmp` is closed here, whatever was asked for.
    spec.environment.retain(|variable| !variable.starts_with(b"TMPDIR="));
    if !layout.tmp_read_only
        && let Ok(folder) = std::str::from_utf8(&layout.tmp_folder)
        && !folder.is_empty()
    {
        variables::set(&mut spec.environment, "TMPDIR", folder);
    }
    spec
}

fn set_up(spec: &Spec, alive: BorrowedFd<'_>, why: &io::Error) -> Result<Stand, StepFailed> {
    let failed = |what: &'static str| move |error: rustix::io::Errno| StepFailed::new(STEP, what, error);
    let mut go = [0u8];
    if rustix::io::read(alive, &mut go) != Ok(1) {
        exit_now(1); // The supervisor is gone already.
    }
    let supervisor = rustix::process::getppid().ok_or(rustix::io::Errno::SRCH);
    let supervisor = supervisor.map_err(failed("finding the supervisor"))?;
    // Away from the caller's terminal, whose signals are the command's to get.
    rustix::process::setsid().map_err(failed("making a session"))?;
    adopt()?;
    streams::confine(&[])?;
    streams::refuse_datagrams()?;
    let cwd = Path::new(OsStr::from_bytes(&spec.cwd));
    std::env::set_current_dir(cwd)
        .map_err(|error| StepFailed::new("working_directory", format!("entering `{}`", cwd.display()), error))?;
    let rules = reading::rules(&spec.layout.clone().unwrap_or_default())?;
    // It may not be looked into, nor its descriptors be taken: with them reports could be forged. Executing makes the command
    // itself dumpable again.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .map_err(failed("closing the init to the command"))?;
    let scoped = Scoped::new(supervisor)?;
    let (guard, hold) = guard(scoped)?;
    let lacks = |line: &str| format!("{LACKS_NAMESPACES}{line}");
    let mut missing = spec.missing.clone();
    if !missing.is_empty() {
        let cause = io::Error::new(io::ErrorKind::Unsupported, missing.join("; "));
        return Err(StepFailed::new("enforcement", "more is missing than namespaces", cause));
    }
    missing.push(lacks(&format!("none can be made here ({why})")));
    missing.extend(NOT_ENFORCED.map(lacks));
    let enforcement = Enforcement {
        status: EnforcementStatus::Partial.into(),
        mechanisms: ["landlock", "seccomp", "no_new_privs"].map(str::to_owned).to_vec(),
        missing,
        landlock_abi: scoped.landlock_abi,
        unheld_limits: spec.unheld_limits.clone(),
        tier: SandboxTier::WithoutNamespaces.into(),
    };
    Ok(Stand {
        scoped,
        rules,
        guard,
        hold,
        enforcement,
    })
}

/// A process that kills everybody when this one has ended, however that came.
fn guard(scoped: Scoped) -> Result<(Pid, OwnedFd), StepFailed> {
    let failed = |error: io::Error| StepFailed::new(STEP, "starting the guard", error);
    let (waits, hold) = pipe().map_err(failed)?;
    match fork_command().map_err(failed)? {
        Fork::Child => {
            if fds::close_all_but(&[waits.as_raw_fd()]).is_err() {
                exit_now(1);
            }
            init::leave_standard_streams();
            // Nothing is ever written.
            let _ = File::from(waits).read_to_end(&mut Vec::new());
            scoped.kill_everybody();
            exit_now(0)
        }
        Fork::Parent(pid) => Ok((pid, hold)),
    }
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?)
}

enum Started {
    Running(Pid),
    NotExecuted(NotExecuted),
    /// Nobody is left to report to.
    Ended,
}

/// Starts the command: it confines itself, says so, and waits until that is reported.
fn start(
    spec: &Spec,
    rules: reading::Rules,
    enforcement: Enforcement,
    hold: &mut Option<OwnedFd>,
    status: &File,
) -> Result<Started, StepFailed> {
    let failed = |what: &'static str| move |error: io::Error| StepFailed::new("command", what, error);
    let (said, says) = pipe().map_err(failed("making a pipe"))?;
    let (waits, go) = pipe().map_err(failed("making a pipe"))?;
    let argv = init::c_strings(&spec.argv).map_err(failed("reading the arguments"))?;
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let environment = identity::with_identity(spec.environment.clone(), uid, gid, STEP);
    let environment = init::c_strings(&environment).map_err(failed("reading the environment"))?;
    let programs = init::candidates(spec).map_err(failed("reading the program's name"))?;
    let init = rustix::process::getpid();
    let pid = match fork_command().map_err(failed("forking"))? {
        Fork::Child => {
            drop((said, go, hold.take()));
            become_command(spec, init, rules, (&programs, &argv, &environment), says, &waits)
        }
        Fork::Parent(pid) => pid,
    };
    drop((says, waits, rules));
    init::leave_standard_streams();
    let mut said = File::from(said);
    match next(&mut said).map_err(failed("hearing of the command"))? {
        Some(Event::Running(_)) => {}
        Some(Event::Refused(refused)) => {
            let cause = io::Error::other(refused.reason);
            return Err(StepFailed::new(
                STEP,
                format!("confining the command ({})", refused.step),
                cause,
            ));
        }
        _ => return Err(failed("confining it")(io::ErrorKind::UnexpectedEof.into())),
    }
    // INVARIANT: the report leaves before the command is executed; nobody to report to, nothing to execute.
    if write_report(status, Event::Ready(enforcement)).is_err() {
        return Ok(Started::Ended);
    }
    rustix::io::write(&go, b"g").map_err(|error| failed("letting it go")(error.into()))?;
    match next(&mut said).map_err(failed("waiting for the program"))? {
        Some(Event::NotExecuted(not)) => Ok(Started::NotExecuted(not)),
        _ => Ok(Started::Running(pid)),
    }
}

/// The next report of the command to be; `None` when it has become the command, or ended.
fn next(from: &mut File) -> io::Result<Option<Event>> {
    let mut bytes = Vec::new();
    loop {
        if let Some(event) = next_report(&mut bytes)? {
            return Ok(Some(event));
        }
        // Byte by byte, so that nothing of the report after it is taken.
        let mut byte = [0u8];
        match from.read(&mut byte) {
            Ok(0) => return Ok(None),
            Ok(_) => bytes.extend(byte),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Never returns: becomes the command, or ends.
fn become_command(
    spec: &Spec,
    init: Pid,
    rules: reading::Rules,
    (programs, argv, environment): (&[CString], &[CString], &[CString]),
    says: OwnedFd,
    waits: &OwnedFd,
) -> ! {
    let says = File::from(says);
    let confined = confine(spec, init, rules);
    let told = match &confined {
        Ok(()) => Event::Running(Running {}),
        Err(failed) => Event::Refused(failed.to_report()),
    };
    let mut go = [0u8];
    if write_report(&says, told).is_err() || confined.is_err() || rustix::io::read(waits, &mut go) != Ok(1) {
        exit_now(1);
    }
    let errno = init::execute(programs, argv, environment);
    let _ = write_report(&says, Event::NotExecuted(NotExecuted { errno }));
    exit_now(127)
}

/// All walls, around this process.
fn confine(spec: &Spec, init: Pid, rules: reading::Rules) -> Result<(), StepFailed> {
    let failed = |what: &'static str| move |error: io::Error| StepFailed::new("command", what, error);
    init::settle(spec).map_err(failed("settling"))?;
    // One more way to end it, as long as it does not undo that. The init may be gone already.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| failed("asking to die with the init")(error.into()))?;
    if rustix::process::getppid() != Some(init) {
        return Err(failed("finding the init")(io::ErrorKind::NotFound.into()));
    }
    drop_capabilities().map_err(|error| StepFailed::new("capabilities", "dropping all", error))?;
    rustix::thread::set_no_new_privs(true).map_err(|error| StepFailed::new("no_new_privs", "setting it", error))?;
    rules.enforce()?;
    seccomp::install(&filter::program_without_namespaces())
        .map_err(|error| StepFailed::new("seccomp", "installing the filter", error))
}

/// An ordinary user has none, as a rule; what somebody gave is not passed on. Without privileges to gain, files give none.
fn drop_capabilities() -> Result<(), rustix::io::Errno> {
    rustix::thread::clear_ambient_capability_set()?;
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, none)?;
    let left = rustix::thread::capabilities(None)?;
    if left.permitted.is_empty() && left.effective.is_empty() && left.inheritable.is_empty() {
        Ok(())
    } else {
        Err(rustix::io::Errno::PERM)
    }
}
