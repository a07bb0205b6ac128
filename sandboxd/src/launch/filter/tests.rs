//! The filter is interpreted here, so that it is checked without a kernel that obeys it.

use super::*;

/// Runs the program on one call.
fn run(architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
    let program = program(false);
    let word = |offset: u32| match offset {
        0 => number,
        4 => architecture,
        16.. => {
            let argument = arguments[((offset - 16) / 8) as usize];
            if (offset - 16).is_multiple_of(8) {
                argument as u32
            } else {
                (argument >> 32) as u32
            }
        }
        _ => panic!("offset {offset}"),
    };
    let (mut at, mut accumulator) = (0usize, 0u32);
    loop {
        let Instruction { code, jt, jf, k } = program[at];
        at += 1;
        match code {
            LOAD_WORD => accumulator = word(k),
            JUMP_EQUAL => at += usize::from(if accumulator == k { jt } else { jf }),
            JUMP_BITS => at += usize::from(if accumulator & k != 0 { jt } else { jf }),
            RETURN => return k,
            other => panic!("instruction {other:#x}"),
        }
    }
}

fn call(number: libc::c_long, arguments: [u64; 6]) -> u32 {
    run(ARCHITECTURE, u32::try_from(number).unwrap(), arguments)
}

const EPERM: u32 = errno(libc::EPERM);
const ENOSYS: u32 = errno(libc::ENOSYS);

#[test]
fn another_architecture_is_killed() {
    assert_eq!(run(0x4000_0003, 1, [0; 6]), KILL);
    assert_eq!(run(ARCHITECTURE ^ 1, 0, [0; 6]), KILL);
}

#[test]
fn ordinary_calls_pass() {
    for number in [
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_openat,
        libc::SYS_execve,
        libc::SYS_ptrace,
        libc::SYS_bind,
        libc::SYS_sendto,
        libc::SYS_memfd_create,
        libc::SYS_connect,
        libc::SYS_getsockname,
        libc::SYS_process_vm_readv,
    ] {
        assert_eq!(call(number, [0; 6]), ALLOW, "{number}");
    }
}

#[test]
fn every_listed_call_is_refused() {
    for &(number, refusal) in REFUSED {
        let wanted = if refusal == Refusal::NotPermitted {
            EPERM
        } else {
            ENOSYS
        };
        assert_eq!(call(number, [0; 6]), wanted, "{number}");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_x32_convention_does_not_exist() {
    for number in [0u32, 1, 165, 321] {
        assert_eq!(run(ARCHITECTURE, 0x4000_0000 | number, [0; 6]), ENOSYS);
    }
}

#[test]
fn clone_and_unshare_make_no_namespace() {
    let thread = 0x003d_0f00;
    assert_eq!(call(libc::SYS_clone, [thread, 0, 0, 0, 0, 0]), ALLOW);
    assert_eq!(call(libc::SYS_clone, [libc::SIGCHLD as u64, 0, 0, 0, 0, 0]), ALLOW);
    for bit in [
        0x10000000u64,
        0x20000,
        0x02000000,
        0x04000000,
        0x08000000,
        0x20000000,
        0x40000000,
    ] {
        assert_eq!(call(libc::SYS_clone, [bit | 17, 0, 0, 0, 0, 0]), EPERM, "{bit:#x}");
        assert_eq!(
            call(libc::SYS_clone, [bit | 17 | 1 << 40, 0, 0, 0, 0, 0]),
            EPERM,
            "{bit:#x}"
        );
        assert_eq!(call(libc::SYS_unshare, [bit, 0, 0, 0, 0, 0]), EPERM, "{bit:#x}");
    }
    assert_eq!(call(libc::SYS_unshare, [0x80, 0, 0, 0, 0, 0]), EPERM);
    assert_eq!(call(libc::SYS_unshare, [libc::CLONE_FS as u64, 0, 0, 0, 0, 0]), ALLOW);
}

#[test]
fn terminal_input_is_refused_with_any_high_bits() {
    for request in [0x5412u64, 0x1_0000_5412, 0xffff_ffff_0000_541c, 0x541c] {
        assert_eq!(call(libc::SYS_ioctl, [0, request, 0, 0, 0, 0]), EPERM, "{request:#x}");
    }
    assert_eq!(call(libc::SYS_ioctl, [0, 0x5413, 0, 0, 0, 0]), ALLOW);
}

#[test]
fn odd_socket_families_are_refused() {
    let refused = errno(libc::EAFNOSUPPORT);
    for number in [libc::SYS_socket, libc::SYS_socketpair] {
        for family in [1u64, 2, 10, 1 << 33 | 2] {
            assert_eq!(call(number, [family, 1, 0, 0, 0, 0]), ALLOW, "{family}");
        }
        for family in [0u64, 3, 15, 17, 29, 38, 40, 44] {
            assert_eq!(call(number, [family, 1, 0, 0, 0, 0]), refused, "{family}");
        }
        assert_eq!(call(number, [16, 3, 0, 0, 0, 0]), ALLOW, "netlink route");
        assert_eq!(call(number, [16, 3, 9, 0, 0, 0]), refused, "netlink audit");
    }
}

#[test]
fn no_mode_makes_a_program_run_as_its_owner() {
    for &(number, argument) in MODES {
        let with = |mode: u64| {
            let mut arguments = [0; 6];
            arguments[argument as usize] = mode;
            call(number, arguments)
        };
        for mode in [0o4000, 0o4755, 0o6755, 1 << 40 | 0o4755] {
            assert_eq!(with(mode), EPERM, "{number} {mode:o}");
        }
        // A folder's group bit is everyday.
        for mode in [0, 0o755, 0o2755, 0o1777] {
            assert_eq!(with(mode), ALLOW, "{number} {mode:o}");
        }
    }
}
