//! Installing a filter program for system calls.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};

/// One instruction of a filter: the kernel's `struct sock_filter`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Operation.
    pub code: u16,
    /// Instructions to skip if the comparison holds.
    pub jt: u8,
    /// Instructions to skip if it does not.
    pub jf: u8,
    /// Operand.
    pub k: u32,
}

/// Filters all further system calls of this process and its children. `no_new_privs` must be set.
///
/// # Errors
/// As the kernel says; `EINVAL` for a program that it does not accept.
pub fn install(program: &[Instruction]) -> io::Result<()> {
    set_filter(program, 0).map(drop)
}

/// The same, for a program that leaves some calls to a listener. Returns where they are heard; see [`super::notify`].
///
/// # Errors
/// As the kernel says; `EBUSY` if a filter of this process has a listener already.
pub fn install_with_listener(program: &[Instruction]) -> io::Result<OwnedFd> {
    // A call that is being looked at can be ended by a fatal signal only: a program that is signalled all the time (Go does
    // that to itself) would begin it anew for ever. Linux 5.19; older ones refuse the flag.
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    let fd = match set_filter(program, flags | WAIT_KILLABLE_RECV) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => set_filter(program, flags)?,
        result => result?,
    };
    // SAFETY: with this flag the call returns a new descriptor, which belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// `SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV` of `linux/seccomp.h`.
const WAIT_KILLABLE_RECV: libc::c_ulong = 1 << 5;

fn set_filter(program: &[Instruction], flags: libc::c_ulong) -> io::Result<libc::c_int> {
    #[repr(C)]
    struct Program {
        len: u16,
        filter: *const Instruction,
    }
    let len = u16::try_from(program.len()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    let program = Program {
        len,
        filter: program.as_ptr(),
    };
    // SAFETY: `Program` and `Instruction` have the layout of `sock_fprog` and `sock_filter`; the pointer is valid for `len`
    // instructions while the call copies them.
    let rc = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const program,
        )
    };
    match libc::c_int::try_from(rc) {
        Ok(rc) if rc >= 0 => Ok(rc),
        _ => Err(io::Error::last_os_error()),
    }
}
