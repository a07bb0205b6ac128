//! Which system calls are looked at, with their numbers on each architecture.
//!
//! Numbers are written here rather than taken from a library, which knows those of the machine it is built for only: so the
//! program of either architecture can be made, and interpreted, on the other. Source: `arch/x86/entry/syscalls/syscall_64.tbl`
//! and `include/uapi/asm-generic/unistd.h` of Linux 6.17.

/// A call by its numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    /// On x86-64.
    pub(super) x86_64: u32,
    /// On aarch64; `None` if that has no such call.
    pub(super) aarch64: Option<u32>,
}

const fn number(x86_64: u32, aarch64: Option<u32>) -> Number {
    Number { x86_64, aarch64 }
}

/// What a refused call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// "Not permitted": the caller reports a plain failure.
    NotPermitted,
    /// "No such call": libraries fall back to an older one whose arguments can be looked at.
    NoSuchCall,
}

/// A call that is refused.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listed {
    /// Its name, for people.
    pub(super) name: &'static str,
    pub(super) number: Number,
    pub(super) refusal: Refusal,
}

const fn not_permitted(name: &'static str, x86_64: u32, aarch64: Option<u32>) -> Listed {
    Listed {
        name,
        number: number(x86_64, aarch64),
        refusal: Refusal::NotPermitted,
    }
}

const fn no_such_call(name: &'static str, x86_64: u32, aarch64: Option<u32>) -> Listed {
    Listed {
        name,
        number: number(x86_64, aarch64),
        refusal: Refusal::NoSuchCall,
    }
}

/// Calls that are refused whatever their arguments.
pub(super) const REFUSED: &[Listed] = &[
    // They do file and network work that no filter sees; libraries fall back to ordinary calls.
    no_such_call("io_uring_setup", 425, Some(425)),
    no_such_call("io_uring_enter", 426, Some(426)),
    no_such_call("io_uring_register", 427, Some(427)),
    // Its flags lie behind a pointer; glibc and Go fall back to `clone`, whose flags are looked at below.
    no_such_call("clone3", 435, Some(435)),
    // Whoever changes mounts takes the protected paths away.
    not_permitted("mount", 165, Some(40)),
    not_permitted("umount2", 166, Some(39)),
    not_permitted("pivot_root", 155, Some(41)),
    not_permitted("chroot", 161, Some(51)),
    not_permitted("move_mount", 429, Some(429)),
    not_permitted("open_tree", 428, Some(428)),
    not_permitted("fsopen", 430, Some(430)),
    not_permitted("fsconfig", 431, Some(431)),
    not_permitted("fsmount", 432, Some(432)),
    not_permitted("fspick", 433, Some(433)),
    not_permitted("mount_setattr", 442, Some(442)),
    // Joining other namespaces.
    not_permitted("setns", 308, Some(268)),
    // Kernel interfaces with a long list of holes and no use in a build.
    not_permitted("bpf", 321, Some(280)),
    not_permitted("perf_event_open", 298, Some(241)),
    not_permitted("userfaultfd", 323, Some(282)),
    // Keyrings are shared by all processes of a user, sandboxed or not.
    not_permitted("keyctl", 250, Some(219)),
    not_permitted("add_key", 248, Some(217)),
    not_permitted("request_key", 249, Some(218)),
    // Replacing or extending the kernel.
    not_permitted("kexec_load", 246, Some(104)),
    not_permitted("kexec_file_load", 320, Some(294)),
    not_permitted("init_module", 175, Some(105)),
    not_permitted("finit_module", 313, Some(273)),
    not_permitted("delete_module", 176, Some(106)),
    // Files by handle, past every mount.
    not_permitted("open_by_handle_at", 304, Some(265)),
    // Affairs of the whole machine.
    not_permitted("swapon", 167, Some(224)),
    not_permitted("swapoff", 168, Some(225)),
    not_permitted("reboot", 169, Some(142)),
    not_permitted("acct", 163, Some(89)),
    not_permitted("quotactl", 179, Some(60)),
    not_permitted("quotactl_fd", 443, Some(443)),
    not_permitted("lookup_dcookie", 212, Some(18)),
    not_permitted("settimeofday", 164, Some(170)),
    not_permitted("clock_settime", 227, Some(112)),
    not_permitted("adjtimex", 159, Some(171)),
    not_permitted("clock_adjtime", 305, Some(266)),
    not_permitted("sethostname", 170, Some(161)),
    not_permitted("setdomainname", 171, Some(162)),
    not_permitted("vhangup", 153, Some(58)),
    // Raw access to ports of the machine.
    not_permitted("ioperm", 173, None),
    not_permitted("iopl", 172, None),
    // It makes a copy of a mount, too.
    not_permitted("open_tree_attr", 467, Some(467)),
];

/// Further calls that are refused where there are no namespaces. What they change is neither Landlock's to hold nor this sandbox's
/// own.
pub(super) const REFUSED_ALONE: &[Listed] = &[
    // Whose a file is, what may be done with it, and how old it is: no mount is read-only here, and Landlock looks at none of these.
    not_permitted("chmod", 90, None),
    not_permitted("fchmod", 91, Some(52)),
    not_permitted("fchmodat", 268, Some(53)),
    not_permitted("fchmodat2", 452, Some(452)),
    not_permitted("chown", 92, None),
    not_permitted("fchown", 93, Some(55)),
    not_permitted("lchown", 94, None),
    not_permitted("fchownat", 260, Some(54)),
    not_permitted("utime", 132, None),
    not_permitted("utimes", 235, None),
    not_permitted("futimesat", 261, None),
    not_permitted("utimensat", 280, Some(88)),
    not_permitted("setxattr", 188, Some(5)),
    not_permitted("lsetxattr", 189, Some(6)),
    not_permitted("fsetxattr", 190, Some(7)),
    not_permitted("setxattrat", 463, Some(463)),
    not_permitted("removexattr", 197, Some(14)),
    not_permitted("lremovexattr", 198, Some(15)),
    not_permitted("fremovexattr", 199, Some(16)),
    not_permitted("removexattrat", 466, Some(466)),
    not_permitted("file_setattr", 469, Some(469)),
    // The names of what appears in a folder that is hidden.
    not_permitted("inotify_init", 253, None),
    not_permitted("inotify_init1", 294, Some(26)),
    // Shared memory, semaphores and queues of everybody with this user.
    not_permitted("shmget", 29, Some(194)),
    not_permitted("shmat", 30, Some(196)),
    not_permitted("shmctl", 31, Some(195)),
    not_permitted("semget", 64, Some(190)),
    not_permitted("semop", 65, Some(193)),
    not_permitted("semctl", 66, Some(191)),
    not_permitted("semtimedop", 220, Some(192)),
    not_permitted("msgget", 68, Some(186)),
    not_permitted("msgsnd", 69, Some(189)),
    not_permitted("msgrcv", 70, Some(188)),
    not_permitted("msgctl", 71, Some(187)),
    not_permitted("mq_open", 240, Some(180)),
    not_permitted("mq_unlink", 241, Some(181)),
    // There is no socket to do it with; one that was inherited goes nowhere else.
    not_permitted("connect", 42, Some(203)),
    not_permitted("bind", 49, Some(200)),
    not_permitted("listen", 50, Some(201)),
];

/// Calls that fail there as if the file system did not know them: what files hold beside their contents, hidden ones too.
pub(super) const UNKNOWN_ALONE: &[(&str, Number)] = &[
    ("getxattr", number(191, Some(8))),
    ("lgetxattr", number(192, Some(9))),
    ("fgetxattr", number(193, Some(10))),
    ("listxattr", number(194, Some(11))),
    ("llistxattr", number(195, Some(12))),
    ("flistxattr", number(196, Some(13))),
    ("getxattrat", number(464, Some(464))),
    ("listxattrat", number(465, Some(465))),
];

/// `fcntl`, and the request for a lease, by which whoever opens the file is held up: also outside, on a file that can only be read.
pub(super) const FCNTL: Number = number(72, Some(25));
pub(super) const SET_LEASE: u32 = 1024;

/// A call that changes a process: name, number, the argument that holds whose it is, and, where another argument says what kind of
/// number that is, that argument and the kind.
type OfOneself = (&'static str, Number, u32, Option<(u32, u32)>);

/// Calls that change a process, by its number: refused for every other than the caller where others can be named.
pub(super) const OF_ONESELF: &[OfOneself] = &[
    ("prlimit64", number(302, Some(261)), 0, None),
    ("sched_setaffinity", number(203, Some(122)), 0, None),
    ("sched_setscheduler", number(144, Some(119)), 0, None),
    ("sched_setparam", number(142, Some(118)), 0, None),
    ("sched_setattr", number(314, Some(274)), 0, None),
    // PRIO_PROCESS.
    ("setpriority", number(141, Some(140)), 1, Some((0, 0))),
    // IOPRIO_WHO_PROCESS.
    ("ioprio_set", number(251, Some(30)), 1, Some((0, 1))),
];

/// Requests of `ioctl` that are left where there are no namespaces: of terminals, pipes and descriptors, and reading what a file is.
/// A list of what is left, as file systems have many that change a file, or make one, through a descriptor that was opened for
/// reading (attributes, verity, encryption, subvolumes).
pub(super) const REQUESTS_ALONE: &[u32] = &[
    0x5401,
    0x5402,
    0x5403,
    0x5404, // TCGETS, TCSETS, TCSETSW, TCSETSF
    0x802c_542a,
    0x402c_542b,
    0x402c_542c,
    0x402c_542d, // the same, as newer libraries ask
    0x5409,
    0x540a,
    0x540b, // TCSBRK, TCXONC, TCFLSH
    0x540f,
    0x5410,
    0x5429, // TIOCGPGRP, TIOCSPGRP, TIOCGSID
    0x5411,
    0x541b, // TIOCOUTQ, FIONREAD
    0x5413,
    0x5414, // TIOCGWINSZ, TIOCSWINSZ
    0x5421,
    0x5450,
    0x5451,
    0x5452, // FIONBIO, FIONCLEX, FIOCLEX, FIOASYNC
    0x5422, // TIOCNOTTY
    0x0002, // FIGETBSZ
    0x8008_6601,
    0x801c_581f,
    0xc020_660b, // FS_IOC_GETFLAGS, FS_IOC_FSGETXATTR, FS_IOC_FIEMAP
    0x4004_9409,
    0x4020_940d, // FICLONE, FICLONERANGE: into a file that is open for writing
];

/// Kinds of `socketpair` that are left where there are no namespaces: streams and packets, with any of the two flags. Not datagrams:
/// those can be sent to whom one names.
pub(super) const PAIRS_ALONE: [u32; 8] = {
    let (stream, packets) = (libc::SOCK_STREAM.cast_unsigned(), libc::SOCK_SEQPACKET.cast_unsigned());
    let (on_exec, waiting) = (libc::SOCK_CLOEXEC.cast_unsigned(), libc::SOCK_NONBLOCK.cast_unsigned());
    let both = on_exec | waiting;
    [
        stream,
        stream | on_exec,
        stream | waiting,
        stream | both,
        packets,
        packets | on_exec,
        packets | waiting,
        packets | both,
    ]
};

/// `clone`: its first argument holds flags.
pub(super) const CLONE: Number = number(56, Some(220));
/// `unshare`: the same.
pub(super) const UNSHARE: Number = number(272, Some(97));
/// `ioctl`: its second argument is the request.
pub(super) const IOCTL: Number = number(16, Some(29));
/// `connect`.
pub(super) const CONNECT: Number = number(42, Some(203));
/// `socket` and `socketpair`: family, kind, protocol.
pub(super) const SOCKETS: [(&str, Number); 2] =
    [("socket", number(41, Some(198))), ("socketpair", number(53, Some(199)))];

/// Calls that change a file's mode: name, number, and the argument that holds it. A program that is marked to run as its owner would work
/// outside, for every user there. Nothing else makes one: writing to a file takes the mark away.
pub(super) const MODES: &[(&str, Number, u32)] = &[
    ("chmod", number(90, None), 1),
    ("fchmod", number(91, Some(52)), 1),
    ("fchmodat", number(268, Some(53)), 2),
    ("fchmodat2", number(452, Some(452)), 2),
];
