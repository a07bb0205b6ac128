//! The system calls that a sandboxed command may not make, as commented data, and the filter program made from it.
//!
//! A deny list: what is not named is allowed, because the namespaces make it harmless and every longer list broke somebody.
//! Left alone on purpose: `ptrace`, `process_vm_*`, `memfd_create`, `bind`, `listen`, `sendto`, `getsockname`.
//! The program first makes sure of the architecture, as the numbers mean something else on another.

use crate::sys::seccomp::Instruction;

/// What a refused call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// "Not permitted": the caller reports a plain failure.
    NotPermitted,
    /// "No such call": libraries fall back to an older one whose arguments can be looked at.
    NoSuchCall,
}

/// Calls that are refused whatever their arguments.
const REFUSED: &[(libc::c_long, Refusal)] = &[
    // They do file and network work that no filter sees; libraries fall back to ordinary calls.
    (libc::SYS_io_uring_setup, Refusal::NoSuchCall),
    (libc::SYS_io_uring_enter, Refusal::NoSuchCall),
    (libc::SYS_io_uring_register, Refusal::NoSuchCall),
    // Its flags lie behind a pointer; glibc and Go fall back to `clone`, whose flags are looked at below.
    (libc::SYS_clone3, Refusal::NoSuchCall),
    // Whoever changes mounts takes the protected paths away.
    (libc::SYS_mount, Refusal::NotPermitted),
    (libc::SYS_umount2, Refusal::NotPermitted),
    (libc::SYS_pivot_root, Refusal::NotPermitted),
    (libc::SYS_chroot, Refusal::NotPermitted),
    (libc::SYS_move_mount, Refusal::NotPermitted),
    (libc::SYS_open_tree, Refusal::NotPermitted),
    (libc::SYS_fsopen, Refusal::NotPermitted),
    (libc::SYS_fsconfig, Refusal::NotPermitted),
    (libc::SYS_fsmount, Refusal::NotPermitted),
    (libc::SYS_fspick, Refusal::NotPermitted),
    (libc::SYS_mount_setattr, Refusal::NotPermitted),
    // Joining other namespaces.
    (libc::SYS_setns, Refusal::NotPermitted),
    // Kernel interfaces with a long list of holes and no use in a build.
    (libc::SYS_bpf, Refusal::NotPermitted),
    (libc::SYS_perf_event_open, Refusal::NotPermitted),
    (libc::SYS_userfaultfd, Refusal::NotPermitted),
    // Keyrings are shared by all processes of a user, sandboxed or not.
    (libc::SYS_keyctl, Refusal::NotPermitted),
    (libc::SYS_add_key, Refusal::NotPermitted),
    (libc::SYS_request_key, Refusal::NotPermitted),
    // Replacing or extending the kernel.
    (libc::SYS_kexec_load, Refusal::NotPermitted),
    (libc::SYS_kexec_file_load, Refusal::NotPermitted),
    (libc::SYS_init_module, Refusal::NotPermitted),
    (libc::SYS_finit_module, Refusal::NotPermitted),
    (libc::SYS_delete_module, Refusal::NotPermitted),
    // Files by handle, past every mount.
    (libc::SYS_open_by_handle_at, Refusal::NotPermitted),
    // Affairs of the whole machine.
    (libc::SYS_swapon, Refusal::NotPermitted),
    (libc::SYS_swapoff, Refusal::NotPermitted),
    (libc::SYS_reboot, Refusal::NotPermitted),
    (libc::SYS_acct, Refusal::NotPermitted),
    (libc::SYS_quotactl, Refusal::NotPermitted),
    (libc::SYS_quotactl_fd, Refusal::NotPermitted),
    (libc::SYS_lookup_dcookie, Refusal::NotPermitted),
    (libc::SYS_settimeofday, Refusal::NotPermitted),
    (libc::SYS_clock_settime, Refusal::NotPermitted),
    (libc::SYS_adjtimex, Refusal::NotPermitted),
    (libc::SYS_clock_adjtime, Refusal::NotPermitted),
    (libc::SYS_sethostname, Refusal::NotPermitted),
    (libc::SYS_setdomainname, Refusal::NotPermitted),
    (libc::SYS_vhangup, Refusal::NotPermitted),
    // Raw access to ports of the machine.
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_ioperm, Refusal::NotPermitted),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_iopl, Refusal::NotPermitted),
    // Newer calls of the families above, which libc does not name yet: open_tree_attr.
    (467, Refusal::NotPermitted),
];

/// `CLONE_NEW*`: a new user namespace gives capabilities inside it, and with them the way to mount.
const NEW_NAMESPACES: u32 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWCGROUP)
    .cast_unsigned();

/// `CLONE_NEWTIME`, which only `unshare` takes: for `clone` the same bit is part of the exit signal.
const NEW_TIME_NAMESPACE: u32 = 0x80;

/// Terminal requests that put input into the terminal of whoever reads the output: TIOCSTI and TIOCLINUX. Compared on the
/// low 32 bits only, as the kernel drops the others.
const TERMINAL_INPUT: [u32; 2] = [0x5412, 0x541c];

/// Calls that change a file's mode, with the argument that holds it. A program that is marked to run as its owner would work
/// outside, for every user there. Nothing else makes one: writing to a file takes the mark away.
const MODES: &[(libc::c_long, u32)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
];

/// Socket families that are left: local ones, the two of the internet (the network namespace holds nothing but `lo`), and
/// netlink for reading addresses (protocol 0, ROUTE, only).
const FAMILIES: [u32; 3] = [
    libc::AF_UNIX.cast_unsigned(),
    libc::AF_INET.cast_unsigned(),
    libc::AF_INET6.cast_unsigned(),
];

/// The architecture this program is built for, as the kernel names it.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
/// The architecture this program is built for, as the kernel names it.
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// On x86-64 the bit that marks a call of the x32 convention, whose numbers would slip past the list.
#[cfg(target_arch = "x86_64")]
const X32_BIT: Option<u32> = Some(0x4000_0000);
/// No second convention there.
#[cfg(not(target_arch = "x86_64"))]
const X32_BIT: Option<u32> = None;

const LOAD_WORD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
const JUMP_EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const JUMP_BITS: u16 = 0x45; // BPF_JMP | BPF_JSET | BPF_K
const RETURN: u16 = 0x06; // BPF_RET | BPF_K

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const KILL: u32 = libc::SECCOMP_RET_KILL_PROCESS;

const OFFSET_NUMBER: u32 = 0;
const OFFSET_ARCHITECTURE: u32 = 4;

/// Offset of the low word of an argument in `struct seccomp_data` on a little-endian machine.
const fn low_word(argument: u32) -> u32 {
    16 + 8 * argument
}

const fn errno(number: libc::c_int) -> u32 {
    libc::SECCOMP_RET_ERRNO | number.cast_unsigned()
}

const fn op(code: u16, k: u32) -> Instruction {
    Instruction { code, jt: 0, jf: 0, k }
}

/// Returns `action` if the accumulator equals `value`.
fn return_if_equal(program: &mut Vec<Instruction>, value: u32, action: u32) {
    program.push(Instruction {
        code: JUMP_EQUAL,
        jt: 0,
        jf: 1,
        k: value,
    });
    program.push(op(RETURN, action));
}

/// Returns `action` if the accumulator has one of these bits.
fn return_if_bits(program: &mut Vec<Instruction>, bits: u32, action: u32) {
    program.push(Instruction {
        code: JUMP_BITS,
        jt: 0,
        jf: 1,
        k: bits,
    });
    program.push(op(RETURN, action));
}

/// For one call, a block that looks at its arguments and always returns.
fn for_call(program: &mut Vec<Instruction>, number: libc::c_long, block: Vec<Instruction>) {
    let skip = u8::try_from(block.len()).unwrap_or(u8::MAX);
    program.push(Instruction {
        code: JUMP_EQUAL,
        jt: 0,
        jf: skip,
        k: number_of(number),
    });
    program.extend(block);
}

fn number_of(number: libc::c_long) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The filter program. With `report_connects` every `connect` waits for the listener's answer.
#[must_use]
pub fn program(report_connects: bool) -> Vec<Instruction> {
    let mut program = vec![op(LOAD_WORD, OFFSET_ARCHITECTURE)];
    program.push(Instruction {
        code: JUMP_EQUAL,
        jt: 1,
        jf: 0,
        k: ARCHITECTURE,
    });
    program.push(op(RETURN, KILL));
    program.push(op(LOAD_WORD, OFFSET_NUMBER));
    if let Some(bit) = X32_BIT {
        return_if_bits(&mut program, bit, errno(libc::ENOSYS));
    }
    for &(number, refusal) in REFUSED {
        let action = match refusal {
            Refusal::NotPermitted => errno(libc::EPERM),
            Refusal::NoSuchCall => errno(libc::ENOSYS),
        };
        return_if_equal(&mut program, number_of(number), action);
    }
    if report_connects {
        return_if_equal(&mut program, number_of(libc::SYS_connect), libc::SECCOMP_RET_USER_NOTIF);
    }
    for (number, bits) in [
        (libc::SYS_clone, NEW_NAMESPACES),
        (libc::SYS_unshare, NEW_NAMESPACES | NEW_TIME_NAMESPACE),
    ] {
        let mut block = vec![op(LOAD_WORD, low_word(0))];
        return_if_bits(&mut block, bits, errno(libc::EPERM));
        block.push(op(RETURN, ALLOW));
        for_call(&mut program, number, block);
    }
    let mut block = vec![op(LOAD_WORD, low_word(1))];
    for request in TERMINAL_INPUT {
        return_if_equal(&mut block, request, errno(libc::EPERM));
    }
    block.push(op(RETURN, ALLOW));
    for_call(&mut program, libc::SYS_ioctl, block);
    for &(number, argument) in MODES {
        let mut block = vec![op(LOAD_WORD, low_word(argument))];
        return_if_bits(&mut block, libc::S_ISUID, errno(libc::EPERM));
        block.push(op(RETURN, ALLOW));
        for_call(&mut program, number, block);
    }
    for number in [libc::SYS_socket, libc::SYS_socketpair] {
        let mut block = vec![op(LOAD_WORD, low_word(0))];
        for family in FAMILIES {
            return_if_equal(&mut block, family, ALLOW);
        }
        block.push(Instruction {
            code: JUMP_EQUAL,
            jt: 1,
            jf: 0,
            k: libc::AF_NETLINK.cast_unsigned(),
        });
        block.push(op(RETURN, errno(libc::EAFNOSUPPORT)));
        block.push(op(LOAD_WORD, low_word(2)));
        return_if_equal(&mut block, 0, ALLOW);
        block.push(op(RETURN, errno(libc::EAFNOSUPPORT)));
        for_call(&mut program, number, block);
    }
    program.push(op(RETURN, ALLOW));
    program
}

#[cfg(test)]
mod tests;
