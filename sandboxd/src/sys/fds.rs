//! Descriptors that were inherited, and closing those that must not be.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};

/// Takes ownership of a descriptor that the parent left open at this number. To be called once per number, at start,
/// before anything else was opened.
///
/// # Errors
/// If nothing is open there.
pub fn take_inherited(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: F_GETFD takes no pointer and only reads the descriptor's flags.
    let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
    if flags < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: F_SETFD takes an integer; the descriptor is open, as was just found out.
    if unsafe { libc::fcntl(number, libc::F_SETFD, flags | libc::FD_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open, and no other object owns it: the caller calls this first and once per number.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Closes every descriptor from 3 on that is not in `keep`.
///
/// # Errors
/// If the kernel has no `close_range`.
pub fn close_all_but(keep: &[RawFd]) -> io::Result<()> {
    let mut keep: Vec<u32> = keep.iter().filter_map(|&fd| u32::try_from(fd).ok()).collect();
    keep.sort_unstable();
    let mut from = 3u32;
    for fd in keep {
        if fd > from {
            close_range(from, fd - 1, 0)?;
        }
        from = from.max(fd.saturating_add(1));
    }
    close_range(from, u32::MAX, 0)
}

/// Marks every descriptor from 3 on to be closed by `execve`.
///
/// # Errors
/// If the kernel has no `close_range`.
pub fn close_all_on_exec() -> io::Result<()> {
    close_range(3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC)
}

fn close_range(first: u32, last: u32, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: takes three integers. Closing descriptors that a Rust object owns would break that object, so this is only
    // called in a process that is about to `execve`, or in the sandbox's init right after its fork, where everything that
    // is not in the caller's list is abandoned without being dropped.
    let rc = unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) };
    if rc == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
