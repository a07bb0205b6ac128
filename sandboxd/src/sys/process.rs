//! Making processes and becoming other programs.
#![allow(unsafe_code)]

use std::convert::Infallible;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use super::fds::close_all_on_exec;
use super::signals::restore_for_command;
use crate::launch::limits;
use crate::launch::spec::Limits;

/// The flags of `clone` for every kind of namespace that a sandbox gets.
pub const ALL_NAMESPACES: libc::c_int = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWCGROUP;

/// The same without a user namespace: for callers that have the right to make the others.
pub const ALL_BUT_USERS: libc::c_int = ALL_NAMESPACES & !libc::CLONE_NEWUSER;

/// Which of the two processes this is after a fork.
#[derive(Clone, Copy, Debug)]
pub enum Fork {
    /// The new one.
    Child,
    /// The old one, with the new one's id.
    Parent(rustix::process::Pid),
}

/// Forks, the child into new namespaces. Only for a single-threaded process.
///
/// # Errors
/// As the kernel says; `EINVAL` if the process has more than one thread.
pub fn fork_into(namespaces: libc::c_int) -> io::Result<Fork> {
    if std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count) > 1 {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    fork(namespaces)
}

/// Forks. The caller is the sandbox's init, a child of [`fork_into`], and so has one thread.
///
/// # Errors
/// As the kernel says.
pub fn fork_command() -> io::Result<Fork> {
    fork(0)
}

fn fork(flags: libc::c_int) -> io::Result<Fork> {
    let flags = libc::c_long::from(flags | libc::SIGCHLD);
    // SAFETY: without CLONE_VM and with a null stack `clone` acts as `fork`: the child goes on on a copy of this memory. The
    // process has a single thread (checked, or by the callers' contract), so no lock is held by a thread that is missing in
    // the child. The other pointers are null and unused without their flags; their order, which differs between
    // architectures, does not matter as all are zero.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    match i32::try_from(pid) {
        Ok(0) => Ok(Fork::Child),
        Ok(pid) if pid > 0 => rustix::process::Pid::from_raw(pid)
            .map(Fork::Parent)
            .ok_or_else(io::Error::last_os_error),
        Ok(_) | Err(_) => Err(io::Error::last_os_error()),
    }
}

/// Lets go of a process that asked to be traced by its parent, this one, and has stopped; it goes on with `signal` (0 = none).
///
/// # Errors
/// As the kernel says: `ESRCH` if it is not traced by this process, or has not stopped.
pub fn detach(traced: rustix::process::Pid, signal: libc::c_int) -> io::Result<()> {
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: PTRACE_DETACH takes a process and a signal's number, as a pointer that the kernel does not follow.
    let rc = unsafe {
        libc::ptrace(
            libc::PTRACE_DETACH,
            traced.as_raw_nonzero().get(),
            none,
            std::ptr::without_provenance_mut::<libc::c_void>(usize::try_from(signal).unwrap_or(0)),
        )
    };
    if rc == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Ends this process at once: no destructors, no buffers flushed.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: `_exit` may be called at any time.
    unsafe { libc::_exit(status) }
}

/// Becomes another program.
///
/// # Errors
/// As the kernel says; on success it does not return.
pub fn exec(program: &CStr, argv: &[CString], environment: &[CString]) -> io::Result<Infallible> {
    let pointers = |words: &[CString]| -> Vec<*const libc::c_char> {
        words
            .iter()
            .map(|word| word.as_ptr())
            .chain([std::ptr::null()])
            .collect()
    };
    let (argv, environment) = (pointers(argv), pointers(environment));
    // SAFETY: the program is NUL-terminated; both arrays end in a null pointer, and their other pointers come from
    // `CString`s that outlive the call.
    unsafe { libc::execve(program.as_ptr(), argv.as_ptr(), environment.as_ptr()) };
    Err(io::Error::last_os_error())
}

/// Lets the child of `command` begin as commands in a sandbox do: in a session of its own (one group to signal, and no
/// controlling terminal to push input into), without core files, with the standard streams alone, the signals as a program
/// expects them, and within `limits`.
pub fn begin_apart(command: &mut Command, keep_ignored_signals: bool, limits: Limits) {
    let apart = move || {
        rustix::process::setsid()?;
        let none = rustix::process::Rlimit {
            current: Some(0),
            maximum: Some(0),
        };
        rustix::process::setrlimit(rustix::process::Resource::Core, none)?;
        close_all_on_exec()?;
        restore_for_command(keep_ignored_signals);
        Ok(limits::set(&limits)?)
    };
    // SAFETY: between fork and exec only system calls are made (`setsid`, `setrlimit`, `getrlimit`, `close_range`, `sigprocmask`,
    // `signal`); nothing is allocated or locked.
    unsafe { command.pre_exec(apart) };
}

/// Gives the child of `command` these descriptors under the numbers 3, 4, 5, …
pub fn inherit(command: &mut Command, descriptors: Vec<OwnedFd>) {
    /// Above every number that is handed out, so that no copy overwrites one that is still needed.
    const CLEAR_OF_ALL: RawFd = 64;
    let hand_over = move || {
        let mut copies = [-1; 8];
        for (copy, descriptor) in copies.iter_mut().zip(&descriptors) {
            // SAFETY: takes integers; the descriptor is open, as the closure owns it.
            *copy = unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_DUPFD_CLOEXEC, CLEAR_OF_ALL) };
            if *copy < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        for (number, copy) in (3..).zip(copies.into_iter().filter(|&copy| copy >= 0)) {
            // SAFETY: takes integers; the copy was just made.
            if unsafe { libc::dup2(copy, number) } < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec only async-signal-safe calls are made (`fcntl`, `dup2`); nothing is allocated or locked.
    unsafe { command.pre_exec(hand_over) };
}
