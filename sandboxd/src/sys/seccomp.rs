//! Installing a filter program for system calls.
#![allow(unsafe_code)]

use std::io;

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
    let rc = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) };
    if rc == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
