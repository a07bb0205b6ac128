//! The filter is interpreted here, so that it is checked without a kernel that obeys it.

use super::*;

const ALL: [Architecture; 2] = [Architecture::X86_64, Architecture::Aarch64];

/// Runs the program of one architecture on one call of another.
fn run(of: Architecture, architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
    interpret(
        &program_of(of, Reports::Nothing, Beside::Namespaces),
        architecture,
        number,
        arguments,
    )
}

pub(super) fn interpret(program: &[Instruction], architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
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

/// What each architecture's program says to a call; nothing of one that has no such call.
fn call(number: Number, arguments: [u64; 6]) -> Vec<u32> {
    ALL.into_iter()
        .filter_map(|of| Some(run(of, of.name(), of.number(number)?, arguments)))
        .collect()
}

fn always(answers: &[u32], wanted: u32) -> bool {
    !answers.is_empty() && answers.iter().all(|answer| *answer == wanted)
}

const EPERM: u32 = errno(libc::EPERM);
const ENOSYS: u32 = errno(libc::ENOSYS);

#[test]
fn another_architecture_is_killed() {
    for of in ALL {
        assert_eq!(run(of, 0x4000_0003, 1, [0; 6]), KILL);
        assert_eq!(run(of, of.name() ^ 1, 0, [0; 6]), KILL);
    }
    assert_eq!(run(Architecture::X86_64, Architecture::Aarch64.name(), 0, [0; 6]), KILL);
}

/// The library knows the numbers of the machine that this runs on.
#[test]
fn the_numbers_are_those_of_the_kernel() {
    let own = |number: Number| Architecture::OWN.number(number).map(libc::c_long::from);
    for (number, known) in [
        (CLONE, libc::SYS_clone),
        (UNSHARE, libc::SYS_unshare),
        (IOCTL, libc::SYS_ioctl),
        (CONNECT, libc::SYS_connect),
        (SOCKETS[0].1, libc::SYS_socket),
        (SOCKETS[1].1, libc::SYS_socketpair),
        (MODES[1].1, libc::SYS_fchmod),
        (MODES[2].1, libc::SYS_fchmodat),
    ] {
        assert_eq!(own(number), Some(known));
    }
    let known = |name: &str| -> Option<libc::c_long> {
        macro_rules! table {
            ($($name:ident $call:ident),+ $(,)?) => {
                match name { $(stringify!($name) => Some(libc::$call),)+ _ => None }
            };
        }
        table!(
            io_uring_setup SYS_io_uring_setup, io_uring_enter SYS_io_uring_enter,
            io_uring_register SYS_io_uring_register, clone3 SYS_clone3, mount SYS_mount, umount2 SYS_umount2,
            pivot_root SYS_pivot_root, chroot SYS_chroot, move_mount SYS_move_mount, open_tree SYS_open_tree,
            fsopen SYS_fsopen, fsconfig SYS_fsconfig, fsmount SYS_fsmount, fspick SYS_fspick,
            mount_setattr SYS_mount_setattr, setns SYS_setns, bpf SYS_bpf, perf_event_open SYS_perf_event_open,
            userfaultfd SYS_userfaultfd, keyctl SYS_keyctl, add_key SYS_add_key, request_key SYS_request_key,
            kexec_load SYS_kexec_load, kexec_file_load SYS_kexec_file_load, init_module SYS_init_module,
            finit_module SYS_finit_module, delete_module SYS_delete_module, open_by_handle_at SYS_open_by_handle_at,
            swapon SYS_swapon, swapoff SYS_swapoff, reboot SYS_reboot, acct SYS_acct, quotactl SYS_quotactl,
            quotactl_fd SYS_quotactl_fd, lookup_dcookie SYS_lookup_dcookie, settimeofday SYS_settimeofday,
            clock_settime SYS_clock_settime, adjtimex SYS_adjtimex, clock_adjtime SYS_clock_adjtime,
            sethostname SYS_sethostname, setdomainname SYS_setdomainname, vhangup SYS_vhangup,
        )
    };
    // Only these two the library does not know on every architecture.
    let unknown: Vec<&str> = REFUSED
        .iter()
        .filter(|listed| match known(listed.name) {
            Some(known) => {
                assert_eq!(own(listed.number), Some(known), "{}", listed.name);
                false
            }
            None => true,
        })
        .map(|listed| listed.name)
        .collect();
    assert_eq!(unknown, ["ioperm", "iopl", "open_tree_attr"]);
}

#[test]
fn ordinary_calls_pass() {
    for (name, x86_64, aarch64) in [
        ("read", 0, 63),
        ("write", 1, 64),
        ("openat", 257, 56),
        ("execve", 59, 221),
        ("ptrace", 101, 117),
        ("bind", 49, 200),
        ("sendto", 44, 206),
        ("memfd_create", 319, 279),
        ("getsockname", 51, 204),
        ("process_vm_readv", 310, 270),
    ] {
        let number = Number {
            x86_64,
            aarch64: Some(aarch64),
        };
        assert!(always(&call(number, [0; 6]), ALLOW), "{name}");
    }
    assert!(always(&call(CONNECT, [0; 6]), ALLOW));
}

#[test]
fn every_listed_call_is_refused() {
    for listed in REFUSED {
        let wanted = if listed.refusal == Refusal::NotPermitted {
            EPERM
        } else {
            ENOSYS
        };
        assert!(always(&call(listed.number, [0; 6]), wanted), "{}", listed.name);
    }
}

#[test]
fn the_x32_convention_does_not_exist() {
    for number in [0u32, 1, 165, 321] {
        let of = Architecture::X86_64;
        assert_eq!(run(of, of.name(), 0x4000_0000 | number, [0; 6]), ENOSYS);
    }
}

#[test]
fn clone_and_unshare_make_no_namespace() {
    let thread = 0x003d_0f00;
    assert!(always(&call(CLONE, [thread, 0, 0, 0, 0, 0]), ALLOW));
    assert!(always(&call(CLONE, [libc::SIGCHLD as u64, 0, 0, 0, 0, 0]), ALLOW));
    for bit in [
        0x10000000u64,
        0x20000,
        0x02000000,
        0x04000000,
        0x08000000,
        0x20000000,
        0x40000000,
    ] {
        for flags in [bit | 17, bit | 17 | 1 << 40] {
            assert!(always(&call(CLONE, [flags, 0, 0, 0, 0, 0]), EPERM), "{bit:#x}");
        }
        assert!(always(&call(UNSHARE, [bit, 0, 0, 0, 0, 0]), EPERM), "{bit:#x}");
    }
    assert!(always(&call(UNSHARE, [0x80, 0, 0, 0, 0, 0]), EPERM));
    assert!(always(&call(UNSHARE, [libc::CLONE_FS as u64, 0, 0, 0, 0, 0]), ALLOW));
}

#[test]
fn terminal_input_is_refused_with_any_high_bits() {
    for request in [0x5412u64, 0x1_0000_5412, 0xffff_ffff_0000_541c, 0x541c] {
        assert!(always(&call(IOCTL, [0, request, 0, 0, 0, 0]), EPERM), "{request:#x}");
    }
    assert!(always(&call(IOCTL, [0, 0x5413, 0, 0, 0, 0]), ALLOW));
}

#[test]
fn odd_socket_families_are_refused() {
    let refused = errno(libc::EAFNOSUPPORT);
    for (_, number) in SOCKETS {
        for family in [1u64, 2, 10, 1 << 33 | 2] {
            assert!(always(&call(number, [family, 1, 0, 0, 0, 0]), ALLOW), "{family}");
        }
        for family in [0u64, 3, 15, 17, 29, 38, 40, 44] {
            assert!(always(&call(number, [family, 1, 0, 0, 0, 0]), refused), "{family}");
        }
        assert!(always(&call(number, [16, 3, 0, 0, 0, 0]), ALLOW), "netlink route");
        assert!(always(&call(number, [16, 3, 9, 0, 0, 0]), refused), "netlink audit");
    }
}

#[test]
fn no_mode_makes_a_program_run_as_its_owner() {
    for &(_, number, argument) in MODES {
        let with = |mode: u64| {
            let mut arguments = [0; 6];
            arguments[argument as usize] = mode;
            call(number, arguments)
        };
        for mode in [0o4000, 0o4755, 0o6755, 1 << 40 | 0o4755] {
            assert!(always(&with(mode), EPERM), "{number:?} {mode:o}");
        }
        // A folder's group bit is everyday.
        for mode in [0, 0o755, 0o2755, 0o1777] {
            assert!(always(&with(mode), ALLOW), "{number:?} {mode:o}");
        }
    }
}

/// With a listener the same calls are refused, by it; what does not exist, and what is allowed, never waits for anybody.
#[test]
fn a_listener_hears_of_exactly_what_is_refused() {
    let answers = |number: Number, arguments: [u64; 6], reports: Reports| -> Vec<u32> {
        let of = |of: Architecture| {
            let number = of.number(number)?;
            Some(interpret(
                &program_of(of, reports, Beside::Namespaces),
                of.name(),
                number,
                arguments,
            ))
        };
        ALL.into_iter().filter_map(of).collect()
    };
    let mut tried: Vec<(Number, [u64; 6])> = REFUSED.iter().map(|listed| (listed.number, [0; 6])).collect();
    for argument in [0u64, 1, 2, 3, 16, 0x5412, 0o4755, 0x0002_0000, 0x1000_0000] {
        for place in 0..3 {
            let mut arguments = [0; 6];
            arguments[place] = argument;
            let others = [CLONE, UNSHARE, IOCTL, SOCKETS[0].1, SOCKETS[1].1];
            tried.extend(others.map(|number| (number, arguments)));
            tried.extend(MODES.iter().map(|mode| (mode.1, arguments)));
        }
    }
    let mut heard = 0;
    for (number, arguments) in tried {
        let alone = answers(number, arguments, Reports::Nothing);
        for reports in [Reports::Refusals, Reports::RefusalsAndConnects] {
            for (alone, listened) in alone.iter().zip(answers(number, arguments, reports)) {
                let wanted = match *alone {
                    ALLOW | ENOSYS => *alone,
                    _ => libc::SECCOMP_RET_USER_NOTIF,
                };
                assert_eq!(listened, wanted, "{number:?} {arguments:?} {reports:?}");
                heard += usize::from(listened == libc::SECCOMP_RET_USER_NOTIF);
            }
        }
    }
    assert!(heard > 100, "{heard}");
    assert!(always(&answers(CONNECT, [0; 6], Reports::Refusals), ALLOW));
    let connects = answers(CONNECT, [0; 6], Reports::RefusalsAndConnects);
    assert!(always(&connects, libc::SECCOMP_RET_USER_NOTIF));
}
