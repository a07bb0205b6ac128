//! Signals as something to read, and the dispositions a command expects.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd};

/// Signals that arrive as data instead of interrupting.
#[derive(Debug)]
pub struct SignalReader(OwnedFd);

impl SignalReader {
    /// Blocks these signals and makes them readable.
    ///
    /// # Errors
    /// As the kernel says.
    pub fn new(signals: &[libc::c_int]) -> io::Result<Self> {
        let set = set_of(signals);
        // SAFETY: `set` is an initialised signal set; no old set is asked for.
        if unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) } < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: -1 asks for a new descriptor; `set` is an initialised signal set.
        let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and belongs to nobody else.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The next signal that has arrived; `None` if there is none.
    #[must_use]
    pub fn next(&self) -> Option<u32> {
        let mut record = [0u8; size_of::<libc::signalfd_siginfo>()];
        // SAFETY: the buffer has room for the length that is passed.
        let read = unsafe { libc::read(self.0.as_raw_fd(), record.as_mut_ptr().cast(), record.len()) };
        if usize::try_from(read) != Ok(record.len()) {
            return None;
        }
        // The record begins with `ssi_signo`, 32 bits in the machine's order.
        record.first_chunk::<4>().map(|number| u32::from_ne_bytes(*number))
    }
}

impl AsFd for SignalReader {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What a freshly started program expects: no signal blocked, and `SIGPIPE` (which Rust ignores) as the kernel has it.
///
/// The other signals that are ignored stay so only with `keep_ignored`. A program ignores what its parent ignored: a daemon
/// that a script started in the background ignores `SIGQUIT`, one under `nohup` `SIGHUP`; that is no wish of whoever runs a
/// command.
pub fn restore_for_command(keep_ignored: bool) {
    let none = set_of(&[]);
    // SAFETY: `none` is an initialised signal set.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()) };
    for signal in 1..=libc::SIGRTMAX() {
        if signal == libc::SIGPIPE || !keep_ignored {
            // SAFETY: `SIG_DFL` installs no handler of ours; where a signal cannot be changed the call only fails.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
}

fn set_of(signals: &[libc::c_int]) -> libc::sigset_t {
    // SAFETY: `sigset_t` is plain data; `sigemptyset` and `sigaddset` write only inside it.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for &signal in signals {
            libc::sigaddset(&raw mut set, signal);
        }
        set
    }
}
