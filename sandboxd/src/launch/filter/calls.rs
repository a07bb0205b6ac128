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
