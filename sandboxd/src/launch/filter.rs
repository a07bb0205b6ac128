//! The system calls that a sandboxed command may not make, as commented data, and the filter program made from it.
//!
//! A deny list: what is not named is allowed, because the namespaces make it harmless and every longer list broke somebody.
//! Left alone on purpose: `ptrace`, `process_vm_*`, `memfd_create`, `bind`, `listen`, `sendto`, `getsockname`.
//! The program first makes sure of the architecture, as the numbers mean something else on another.

mod alone;
mod calls;
pub mod refused;

use crate::sys::seccomp::Instruction;
use calls::{CLONE, CONNECT, FCNTL, IOCTL, MODES, Number, REFUSED, Refusal, SET_LEASE, SOCKETS, UNSHARE};

/// Of what the program's listener hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reports {
    /// There is no listener: what is refused fails by itself.
    Nothing,
    /// Of what is refused, and it says how that fails (never that it goes on), so that it can be told. Not of calls that do not
    /// exist: libraries try them all the time and do without.
    Refusals,
    /// Of every `connect`, too.
    RefusalsAndConnects,
}

/// What stands beside the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    /// Namespaces, which make most calls harmless.
    Namespaces,
    /// Landlock alone.
    Landlock,
}

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

/// Socket families that are left: local ones, the two of the internet (the network namespace holds nothing but `lo`), and
/// netlink for reading addresses (protocol 0, ROUTE, only).
const FAMILIES: [u32; 3] = [
    libc::AF_UNIX.cast_unsigned(),
    libc::AF_INET.cast_unsigned(),
    libc::AF_INET6.cast_unsigned(),
];

/// An architecture of processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "a build makes the program of its own, the tests that of both")
)]
enum Architecture {
    X86_64,
    Aarch64,
}

impl Architecture {
    /// The one that this program is built for.
    #[cfg(target_arch = "x86_64")]
    const OWN: Self = Self::X86_64;
    /// The one that this program is built for.
    #[cfg(target_arch = "aarch64")]
    const OWN: Self = Self::Aarch64;

    /// As the kernel names it (`AUDIT_ARCH_*` of `linux/audit.h`).
    const fn name(self) -> u32 {
        match self {
            Self::X86_64 => 0xc000_003e,
            Self::Aarch64 => 0xc000_00b7,
        }
    }

    /// The bit that marks a call of a second convention (x32), whose numbers would slip past the list.
    const fn second_convention(self) -> Option<u32> {
        match self {
            Self::X86_64 => Some(0x4000_0000),
            Self::Aarch64 => None,
        }
    }

    const fn number(self, call: Number) -> Option<u32> {
        match self {
            Self::X86_64 => Some(call.x86_64),
            Self::Aarch64 => call.aarch64,
        }
    }
}

/// Whether a call that a listener hears of is a `connect`, which may go on. Nothing else may.
#[must_use]
pub fn is_connect(number: i32) -> bool {
    u32::try_from(number).is_ok_and(|number| Architecture::OWN.number(CONNECT) == Some(number))
}

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
fn for_call(program: &mut Vec<Instruction>, number: Option<u32>, block: Vec<Instruction>) {
    let Some(number) = number else { return };
    let skip = u8::try_from(block.len()).unwrap_or(u8::MAX);
    program.push(Instruction {
        code: JUMP_EQUAL,
        jt: 0,
        jf: skip,
        k: number,
    });
    program.extend(block);
}

/// The filter program. What is reported waits for the listener's answer.
#[must_use]
pub fn program(reports: Reports) -> Vec<Instruction> {
    program_of(Architecture::OWN, reports, Beside::Namespaces)
}

/// The filter program where there are no namespaces: no socket, nothing that changes a file's attributes, and nothing that is
/// shared with processes outside. What is refused fails by itself.
#[must_use]
pub fn program_without_namespaces() -> Vec<Instruction> {
    program_of(Architecture::OWN, Reports::Nothing, Beside::Landlock)
}

fn program_of(architecture: Architecture, reports: Reports, beside: Beside) -> Vec<Instruction> {
    // If the listener is gone, the kernel itself fails the call.
    let refuse = |number| match reports {
        Reports::Nothing => errno(number),
        Reports::Refusals | Reports::RefusalsAndConnects => libc::SECCOMP_RET_USER_NOTIF,
    };
    let mut program = vec![op(LOAD_WORD, OFFSET_ARCHITECTURE)];
    program.push(Instruction {
        code: JUMP_EQUAL,
        jt: 1,
        jf: 0,
        k: architecture.name(),
    });
    program.push(op(RETURN, KILL));
    program.push(op(LOAD_WORD, OFFSET_NUMBER));
    if let Some(bit) = architecture.second_convention() {
        return_if_bits(&mut program, bit, errno(libc::ENOSYS));
    }
    if beside == Beside::Landlock {
        // First, as a later block may let such a call pass.
        alone::refuse(&mut program, architecture);
    }
    for listed in REFUSED {
        let action = match listed.refusal {
            Refusal::NotPermitted => refuse(libc::EPERM),
            Refusal::NoSuchCall => errno(libc::ENOSYS),
        };
        if let Some(number) = architecture.number(listed.number) {
            return_if_equal(&mut program, number, action);
        }
    }
    if reports == Reports::RefusalsAndConnects
        && let Some(connect) = architecture.number(CONNECT)
    {
        return_if_equal(&mut program, connect, libc::SECCOMP_RET_USER_NOTIF);
    }
    for (call, bits) in [(CLONE, NEW_NAMESPACES), (UNSHARE, NEW_NAMESPACES | NEW_TIME_NAMESPACE)] {
        let mut block = vec![op(LOAD_WORD, low_word(0))];
        return_if_bits(&mut block, bits, refuse(libc::EPERM));
        block.push(op(RETURN, ALLOW));
        for_call(&mut program, architecture.number(call), block);
    }
    let mut block = vec![op(LOAD_WORD, low_word(1))];
    for request in TERMINAL_INPUT {
        return_if_equal(&mut block, request, refuse(libc::EPERM));
    }
    block.push(op(RETURN, ALLOW));
    for_call(&mut program, architecture.number(IOCTL), block);
    let mut block = vec![op(LOAD_WORD, low_word(1))];
    return_if_equal(&mut block, SET_LEASE, errno(libc::EINVAL));
    block.push(op(RETURN, ALLOW));
    for_call(&mut program, architecture.number(FCNTL), block);
    for &(_, call, argument) in MODES {
        let mut block = vec![op(LOAD_WORD, low_word(argument))];
        return_if_bits(&mut block, libc::S_ISUID, refuse(libc::EPERM));
        block.push(op(RETURN, ALLOW));
        for_call(&mut program, architecture.number(call), block);
    }
    for (_, call) in SOCKETS {
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
        block.push(op(RETURN, refuse(libc::EAFNOSUPPORT)));
        block.push(op(LOAD_WORD, low_word(2)));
        return_if_equal(&mut block, 0, ALLOW);
        block.push(op(RETURN, refuse(libc::EAFNOSUPPORT)));
        for_call(&mut program, architecture.number(call), block);
    }
    program.push(op(RETURN, ALLOW));
    program
}

#[cfg(test)]
mod tests;
