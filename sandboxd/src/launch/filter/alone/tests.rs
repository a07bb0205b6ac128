use super::super::calls::{CLONE, FCNTL, MODES, Number, REFUSED, SET_LEASE, UNSHARE};
use super::super::tests::interpret;
use super::super::{Beside, KILL, Reports, program_of};
use super::*;

const ALL: [Architecture; 2] = [Architecture::X86_64, Architecture::Aarch64];

/// What each architecture's program says to a call, beside what it says where there are namespaces.
fn call(number: Number, arguments: [u64; 6]) -> Vec<(u32, u32)> {
    let of = |of: Architecture| {
        let number = of.number(number)?;
        let say = |beside| interpret(&program_of(of, Reports::Nothing, beside), of.name(), number, arguments);
        Some((say(Beside::Landlock), say(Beside::Namespaces)))
    };
    ALL.into_iter().filter_map(of).collect()
}

fn always(number: Number, arguments: [u64; 6], wanted: u32) -> bool {
    let answers = call(number, arguments);
    !answers.is_empty() && answers.iter().all(|(alone, _)| *alone == wanted)
}

#[test]
fn nothing_is_refused_less_than_with_namespaces() {
    let calls = REFUSED.iter().chain(REFUSED_ALONE).map(|listed| listed.number);
    let [(_, socket), (_, pair)] = SOCKETS;
    let calls = calls.chain([CLONE, UNSHARE, IOCTL, socket, pair]);
    let calls = calls.chain(MODES.iter().map(|mode| mode.1));
    for number in calls.chain(OF_ONESELF.iter().map(|entry| entry.1)) {
        for value in [0u64, 1, 2, 3, 16, 0x5412, 0x541c, 0o4755, 0x0002_0000, 0x1000_0000] {
            for place in 0..3 {
                let mut arguments = [0; 6];
                arguments[place] = value;
                for (alone, with) in call(number, arguments) {
                    assert!(alone != ALLOW || with == ALLOW, "{number:?} {arguments:x?}");
                }
            }
        }
    }
    for of in ALL {
        let program = program_of(of, Reports::Nothing, Beside::Landlock);
        assert_eq!(interpret(&program, of.name() ^ 1, 0, [0; 6]), KILL);
    }
}

#[test]
fn what_changes_files_or_what_is_shared_is_refused() {
    for listed in REFUSED_ALONE {
        assert!(always(listed.number, [0; 6], errno(libc::EPERM)), "{}", listed.name);
        assert!(
            call(listed.number, [0; 6]).iter().all(|(_, with)| *with == ALLOW),
            "{}",
            listed.name
        );
    }
}

#[test]
fn what_files_hold_beside_their_contents_is_not_told_and_nobody_is_held_up_by_a_lease() {
    for &(name, number) in UNKNOWN_ALONE {
        assert!(always(number, [0; 6], errno(libc::EOPNOTSUPP)), "{name}");
        assert!(call(number, [0; 6]).iter().all(|(_, with)| *with == ALLOW), "{name}");
    }
    let lease = [3, u64::from(SET_LEASE), 1, 0, 0, 0];
    assert!(
        call(FCNTL, lease)
            .iter()
            .all(|both| *both == (errno(libc::EINVAL), errno(libc::EINVAL)))
    );
    for free in [
        libc::F_GETFL,
        libc::F_SETFL,
        libc::F_DUPFD,
        libc::F_SETLK,
        libc::F_GETLEASE,
    ] {
        let arguments = [3, u64::from(free.cast_unsigned()), 0, 0, 0, 0];
        assert!(
            call(FCNTL, arguments).iter().all(|both| *both == (ALLOW, ALLOW)),
            "{free}"
        );
    }
}

#[test]
fn the_numbers_are_those_of_the_kernel() {
    let known = |name: &str| -> Option<libc::c_long> {
        macro_rules! table {
            ($($name:ident $call:ident),+ $(,)?) => {
                match name { $(stringify!($name) => Some(libc::$call),)+ _ => None }
            };
        }
        table!(
            fchmod SYS_fchmod, fchmodat SYS_fchmodat, fchown SYS_fchown, fchownat SYS_fchownat, utimensat SYS_utimensat,
            setxattr SYS_setxattr, lsetxattr SYS_lsetxattr, fsetxattr SYS_fsetxattr, removexattr SYS_removexattr,
            lremovexattr SYS_lremovexattr, fremovexattr SYS_fremovexattr, shmget SYS_shmget, shmat SYS_shmat,
            shmctl SYS_shmctl, semget SYS_semget, semop SYS_semop, semctl SYS_semctl, semtimedop SYS_semtimedop,
            msgget SYS_msgget, msgsnd SYS_msgsnd, msgrcv SYS_msgrcv, msgctl SYS_msgctl, mq_open SYS_mq_open,
            mq_unlink SYS_mq_unlink, connect SYS_connect, bind SYS_bind, listen SYS_listen, prlimit64 SYS_prlimit64,
            sched_setaffinity SYS_sched_setaffinity, sched_setscheduler SYS_sched_setscheduler,
            sched_setparam SYS_sched_setparam, sched_setattr SYS_sched_setattr, setpriority SYS_setpriority,
            ioprio_set SYS_ioprio_set, inotify_init1 SYS_inotify_init1, getxattr SYS_getxattr, lgetxattr SYS_lgetxattr,
            fgetxattr SYS_fgetxattr, listxattr SYS_listxattr, llistxattr SYS_llistxattr, flistxattr SYS_flistxattr,
            fcntl SYS_fcntl,
        )
    };
    let listed = REFUSED_ALONE.iter().map(|listed| (listed.name, listed.number));
    let listed = listed.chain(OF_ONESELF.iter().map(|entry| (entry.0, entry.1)));
    let listed = listed.chain(UNKNOWN_ALONE.iter().copied()).chain([("fcntl", FCNTL)]);
    let unknown: Vec<&str> = listed
        .filter(|(name, number)| match known(name) {
            Some(known) => {
                let own = Architecture::OWN.number(*number).map(libc::c_long::from);
                assert_eq!(own, Some(known), "{name}");
                false
            }
            None => true,
        })
        .map(|(name, _)| name)
        .collect();
    // Those of one architecture only, and those that are younger than the library.
    let young = [
        "chmod",
        "fchmodat2",
        "chown",
        "lchown",
        "utime",
        "utimes",
        "futimesat",
        "setxattrat",
        "removexattrat",
        "file_setattr",
        "inotify_init",
        "getxattrat",
        "listxattrat",
    ];
    assert_eq!(unknown, young);
}

#[test]
fn there_is_no_socket_but_a_pair_of_streams() {
    let [(_, socket), (_, pair)] = SOCKETS;
    for family in [1u64, 2, 10, 16, 17, 38, 40] {
        for kind in [1u64, 2, 3, 5] {
            assert!(
                always(socket, [family, kind, 0, 0, 0, 0], errno(libc::EACCES)),
                "{family} {kind}"
            );
        }
    }
    for kind in [1u64, 5, 0x8_0001, 0x8_0801] {
        assert!(always(pair, [1, kind, 0, 0, 0, 0], ALLOW), "{kind:x}");
    }
    for (family, kind) in [
        (1u64, 2u64),
        (1, 3),
        (1, 0x8_0002),
        (1, 0x802),
        (1, 0x1000_0001),
        (2, 1),
        (10, 1),
        (0, 1),
    ] {
        assert!(
            always(pair, [family, kind, 0, 0, 0, 0], errno(libc::EACCES)),
            "{family} {kind:x}"
        );
    }
}

#[test]
fn requests_that_are_not_known_are_refused() {
    for request in [0x5401u64, 0x5413, 0x541b, 0x5451, 0x4004_9409, 1 << 40 | 0x5401] {
        assert!(always(IOCTL, [0, request, 0, 0, 0, 0], ALLOW), "{request:x}");
    }
    // TIOCSTI, TIOCLINUX, FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, FS_IOC_ENABLE_VERITY, BTRFS_IOC_SUBVOL_CREATE, TIOCSETD
    for request in [
        0x5412u64,
        0x541c,
        0x4008_6602,
        0x401c_5820,
        0x4080_6685,
        0x5000_940e,
        0x5423,
    ] {
        assert!(
            always(IOCTL, [0, request, 0, 0, 0, 0], errno(libc::ENOTTY)),
            "{request:x}"
        );
    }
}

#[test]
fn a_process_changes_itself_only() {
    for &(name, number, whose, kind) in OF_ONESELF {
        let mut own = [0; 6];
        if let Some((argument, kind)) = kind {
            own[argument as usize] = u64::from(kind);
        }
        assert!(always(number, own, ALLOW), "{name}");
        let mut others = own;
        others[whose as usize] = 4711;
        assert!(always(number, others, errno(libc::EPERM)), "{name}");
        if let Some((argument, _)) = kind {
            let mut all_of_a_user = own;
            all_of_a_user[argument as usize] = 2;
            assert!(always(number, all_of_a_user, errno(libc::EPERM)), "{name}");
        }
    }
}
