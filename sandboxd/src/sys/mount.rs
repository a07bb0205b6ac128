//! `mount_setattr`, which rustix lacks.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// Attribute: no writes through this mount.
pub const READ_ONLY: u64 = 0x1;
/// Attribute: set-user-id bits count for nothing.
pub const NO_SUID: u64 = 0x2;
/// Attribute: device nodes cannot be opened.
pub const NO_DEV: u64 = 0x4;
/// Attribute: nothing can be executed.
pub const NO_EXEC: u64 = 0x8;

/// The kernel's `struct mount_attr`, first version (32 bytes).
#[repr(C)]
struct MountAttr {
    attr_set: u64,
    attr_clr: u64,
    propagation: u64,
    userns_fd: u64,
}

/// Adds attributes to the mount that `fd` refers to, and with `recursive` to all mounts below it.
///
/// # Errors
/// As the kernel says; with `recursive` nothing is changed then.
pub fn add_attributes(fd: BorrowedFd<'_>, attributes: u64, recursive: bool) -> io::Result<()> {
    let attr = MountAttr {
        attr_set: attributes,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the fd is open while borrowed; the path is a NUL-terminated empty string; `attr` is a live struct of exactly
    // the size that is passed, which the kernel only reads.
    let rc = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            fd.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attr,
            size_of::<MountAttr>(),
        )
    };
    if rc == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
