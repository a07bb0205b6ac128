//! System calls that a filter leaves to somebody outside: hearing of them, and saying how they go on.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A system call that waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Stands for this call until it is answered.
    pub id: u64,
    /// The thread that makes it, as seen from here; 0 if it is not visible.
    pub thread: u32,
    /// Its number.
    pub number: i32,
    /// Its arguments. Memory behind a pointer may change at any time: nothing that is read there binds the call.
    pub arguments: [u64; 6],
}

/// How a call goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// As if nobody had looked.
    Continue,
    /// It fails with this error number.
    Fail(i32),
}

/// `SECCOMP_IOCTL_NOTIF_RECV`: `_IOWR('!', 0, struct seccomp_notif)`.
const RECEIVE: u32 = 0xc050_2100;
/// `SECCOMP_IOCTL_NOTIF_SEND`: `_IOWR('!', 1, struct seccomp_notif_resp)`.
const SEND: u32 = 0xc018_2101;
/// `SECCOMP_IOCTL_NOTIF_ID_VALID`: `_IOW('!', 2, __u64)`.
const IS_VALID: u32 = 0x4008_2102;

const _: () = assert!(size_of::<libc::seccomp_notif>() == 0x50 && size_of::<libc::seccomp_notif_resp>() == 0x18);

/// A listener as something to wait for. To be called inside the runtime.
///
/// # Errors
/// If the runtime cannot watch it.
pub fn watched(listener: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the descriptor is owned by the object that is registered, so it is neither closed nor replaced by another one
    // before the registration ends with it.
    Ok(unsafe { AsyncFd::register_with_interest(listener, Interest::READABLE) }?)
}

/// Whether a call waits to be taken. Does not wait itself.
#[must_use]
pub fn waits(listener: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(listener, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    loop {
        match poll(&mut polled, Some(&now)) {
            Ok(_) => return polled[0].revents().contains(PollFlags::IN),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Takes the next call. To be called when the listener is readable; else it waits.
///
/// # Errors
/// `ENOENT` if the thread was killed meanwhile.
pub fn receive(listener: BorrowedFd<'_>) -> io::Result<Call> {
    // SAFETY: plain data, for which all zeros is a valid value; the kernel demands zeros.
    let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: RECEIVE writes one `seccomp_notif`, whose size is part of the request number and asserted above.
    let rc = unsafe { libc::ioctl(listener.as_raw_fd(), RECEIVE as _, &raw mut call) };
    if rc < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Call {
        id: call.id,
        thread: call.pid,
        number: call.data.nr,
        arguments: call.data.args,
    })
}

/// Whether the call still waits: else its thread is gone, and its number may be another's.
#[must_use]
pub fn still_waits(listener: BorrowedFd<'_>, id: u64) -> bool {
    // SAFETY: IS_VALID reads one u64.
    unsafe { libc::ioctl(listener.as_raw_fd(), IS_VALID as _, &raw const id) == 0 }
}

/// Answers a call.
///
/// # Errors
/// `ENOENT` if the thread was killed meanwhile.
pub fn answer(listener: BorrowedFd<'_>, id: u64, answer: Answer) -> io::Result<()> {
    let (error, flags) = match answer {
        Answer::Continue => (0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32),
        Answer::Fail(number) => (-number, 0),
    };
    let response = libc::seccomp_notif_resp {
        id,
        val: 0,
        error,
        flags,
    };
    // SAFETY: SEND reads one `seccomp_notif_resp`, whose size is part of the request number and asserted above.
    let rc = unsafe { libc::ioctl(listener.as_raw_fd(), SEND as _, &raw const response) };
    if rc < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
