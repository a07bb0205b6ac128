//! What of the system a command may use besides files, each with its reason. What is not here is refused.
//!
//! Reasons are printed into the profile. Not here, and why: `com.apple.SecurityServer` and `com.apple.securityd` (the
//! keychain), `com.apple.pasteboard.1` (the clipboard), `com.apple.coreservices.launchservicesd` (starts programs outside),
//! `com.apple.mDNSResponder` (looks names up for anybody, which carries data out), `com.apple.trustd.agent` (fetches whatever
//! a certificate names, past the filter; so programs in Go and Swift cannot check certificates), `com.apple.logd` and
//! `com.apple.analyticsd` (nobody fails without them), `kern.proc` and `kern.procargs2` (other processes and their variables).

/// A name with its reason.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// The name; of settings a final `*` stands for any continuation.
    pub(super) name: &'static str,
    /// Why it is there.
    pub(super) why: &'static str,
}

const fn known(name: &'static str, why: &'static str) -> Known {
    Known { name, why }
}

/// Services that are reached by name.
pub(super) const MACH: &[Known] = &[
    known("com.apple.system.opendirectoryd.libinfo", "names of users and groups"),
    known(
        "com.apple.system.opendirectoryd.membership",
        "who is in which group: id, git, ssh",
    ),
    known(
        "com.apple.system.notification_center",
        "libc hears of changed time zones and users",
    ),
    known(
        "com.apple.bsd.dirhelper",
        "the user's folder of temporary files, as confstr tells it",
    ),
    known("com.apple.cfprefsd.agent", "settings of the user, read-only"),
    known("com.apple.cfprefsd.daemon", "settings of the machine, read-only"),
    known(
        "com.apple.SystemConfiguration.configd",
        "proxy settings; clients of HTTP fail without an answer",
    ),
];

/// Settings of the kernel that may be read.
pub(super) const SYSCTL_READ: &[Known] = &[
    known("hw.*", "processors, memory, cache lines"),
    known("machdep.cpu.*", "what the processor can do"),
    known("machdep.ptrauth_enabled", "runtimes ask before they make code"),
    known("kern.argmax", "how long a command line may be: xargs, find"),
    known("kern.boottime", "uptime"),
    known("kern.hostname", "the machine's name"),
    known("kern.maxfiles", "limits"),
    known("kern.maxfilesperproc", "limits: node, Java"),
    known("kern.maxproc", "limits"),
    known("kern.ngroups", "limits"),
    known("kern.osproductversion", "the system's version"),
    known("kern.osrelease", "the system's version"),
    known("kern.ostype", "the system's name"),
    known("kern.osvariant_status", "the system's kind"),
    known("kern.osversion", "the system's build"),
    known("kern.secure_kernel", "dyld asks"),
    known("kern.tcsm_available", "V8 asks before it counts threads"),
    known("kern.tcsm_enable", "V8 asks before it counts threads"),
    known("kern.usrstack64", "where the stack is: Java, Go"),
    known("kern.version", "uname"),
    known("net.routetable.*", "lists interfaces: node, Go"),
    known(
        "security.mac.lockdown_mode_state",
        "JavaScript engines ask before they make code",
    ),
    known("sysctl.proc_cputype", "whether Rosetta runs this"),
    known("vm.loadavg", "how busy the machine is: make, ninja"),
];

/// Settings of the kernel whose reading counts as writing.
pub(super) const SYSCTL_WRITE: &[Known] = &[
    known("kern.grade_cputype", "Java asks which processor it runs on"),
    known("kern.tcsm_enable", "V8 counts threads"),
];

/// Beginnings of names of semaphores. Names are the whole machine's, so only those that runtimes make up.
pub(super) const SEMAPHORES: &[Known] = &[
    known("/mp-", "multiprocessing of Python"),
    known("/loky-", "joblib of Python"),
];

/// Beginnings of names of shared memory.
pub(super) const SHARED_MEMORY: &[Known] = &[
    known("/psm_", "multiprocessing.shared_memory of Python"),
    known("/__KMP_REGISTERED_LIB_", "OpenMP"),
];
