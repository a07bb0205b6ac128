//! What the kernel says about itself, in files that every user may read.

use std::{fs, path::Path};

use serde::Serialize;

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Finding {
    /// As it should be.
    Good,
    /// The sandbox holds, and something beside it is missing.
    Limited,
    /// The sandbox cannot hold.
    Bad,
    /// It cannot be told.
    Unknown,
}

/// One thing looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) finding: Finding,
    /// What was found.
    pub(super) what: String,
    /// What a person can do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mend: Option<String>,
}

impl Check {
    pub(super) fn new(name: &'static str, finding: Finding, what: impl Into<String>) -> Self {
        Self {
            name,
            finding,
            what: what.into(),
            mend: None,
        }
    }

    pub(super) fn mended_by(mut self, how: &str) -> Self {
        self.mend = Some(how.to_owned());
        self
    }
}

/// Longest file that is read, in bytes.
const MAX_FILE: usize = 64 * 1024;

/// Looks at the files of `/proc` and `/sys` below `root`.
pub(super) fn of_the_kernel(root: &Path) -> Vec<Check> {
    let files = Files(root);
    vec![
        kernel(&files),
        user_namespaces(&files),
        apparmor(&files),
        landlock(&files),
        seccomp(&files),
        limits(&files),
    ]
}

struct Files<'a>(&'a Path);

impl Files<'_> {
    /// The text of a file, trimmed; `None` if it is not there or cannot be read.
    fn read(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.0.join(path)).ok()?;
        (text.len() <= MAX_FILE).then(|| text.trim().to_owned())
    }

    fn number(&self, path: &str) -> Option<u64> {
        self.read(path)?.parse().ok()
    }

    fn is_there(&self, path: &str) -> bool {
        self.0.join(path).exists()
    }
}

fn kernel(files: &Files<'_>) -> Check {
    let name = "kernel";
    let Some(release) = files.read("proc/sys/kernel/osrelease") else {
        return Check::new(name, Finding::Unknown, "its release cannot be read");
    };
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version >= NEEDED {
        Check::new(name, Finding::Good, release)
    } else {
        let (major, minor) = NEEDED;
        Check::new(
            name,
            Finding::Bad,
            format!("{release} is older than {major}.{minor}, the first that has all that the sandbox uses"),
        )
        .mended_by("install a newer kernel")
    }
}

/// Landlock that covers truncation (ABI 3) came with 6.2; the mount interface that is used is older.
const NEEDED: (u32, u32) = (6, 2);

fn user_namespaces(files: &Files<'_>) -> Check {
    let name = "user namespaces";
    if files.number("proc/sys/user/max_user_namespaces") == Some(0) {
        let text = "none may be made (user.max_user_namespaces = 0); only root has a whole sandbox without";
        return Check::new(name, Finding::Bad, text)
            .mended_by("`sudo sysctl user.max_user_namespaces=15000`, and the same line in /etc/sysctl.d");
    }
    if files.number("proc/sys/kernel/unprivileged_userns_clone") == Some(0) {
        return Check::new(
            name,
            Finding::Bad,
            "ordinary users may not make any (kernel.unprivileged_userns_clone = 0)",
        )
        .mended_by("`sudo sysctl kernel.unprivileged_userns_clone=1`, and the same line in /etc/sysctl.d");
    }
    if !files.is_there("proc/self/ns/user") {
        return Check::new(
            name,
            Finding::Bad,
            "this kernel was built without them (CONFIG_USER_NS)",
        )
        .mended_by("install a kernel that has them");
    }
    if files.is_there(".dockerenv") || files.is_there("run/.containerenv") {
        return Check::new(
            name,
            Finding::Unknown,
            "this is a container, whose own filter may refuse them",
        )
        .mended_by("if the sandbox cannot be set up: start the container with a filter that permits `unshare`, `clone` and `mount` in new user namespaces");
    }
    Check::new(name, Finding::Good, "ordinary users may make them")
}

fn apparmor(files: &Files<'_>) -> Check {
    let name = "AppArmor";
    match files.number("proc/sys/kernel/apparmor_restrict_unprivileged_userns") {
        None | Some(0) => Check::new(name, Finding::Good, "does not restrict user namespaces"),
        Some(_) if files.is_there("etc/apparmor.d/portcullis-launch") => Check::new(
            name,
            Finding::Good,
            "restricts user namespaces, and the profile of portcullis-launch is installed",
        ),
        Some(_) => Check::new(
            name,
            Finding::Bad,
            "lets only programs with a profile make user namespaces, and portcullis-launch has none",
        )
        .mended_by(
            "`sudo install -m 644 deploy/apparmor/portcullis-launch /etc/apparmor.d/ && \
             sudo apparmor_parser -r /etc/apparmor.d/portcullis-launch` (adapt the path of the program in it)",
        ),
    }
}

fn landlock(files: &Files<'_>) -> Check {
    let name = "Landlock";
    match files.read("sys/kernel/security/lsm") {
        None => Check::new(name, Finding::Unknown, "the list of security modules cannot be read"),
        Some(list) if list.split(',').any(|module| module == "landlock") => Check::new(name, Finding::Good, "is on"),
        Some(list) => Check::new(name, Finding::Bad, format!("is off: the security modules are {list}")).mended_by(
            "add `landlock` to the list of the kernel's `lsm=` parameter (or install a kernel with CONFIG_SECURITY_LANDLOCK)",
        ),
    }
}

fn seccomp(files: &Files<'_>) -> Check {
    let name = "seccomp";
    let Some(actions) = files.read("proc/sys/kernel/seccomp/actions_avail") else {
        return Check::new(
            name,
            Finding::Bad,
            "this kernel was built without it (CONFIG_SECCOMP_FILTER)",
        )
        .mended_by("install a kernel that has it");
    };
    let missing: Vec<&str> = ["kill_process", "errno", "user_notif"]
        .into_iter()
        .filter(|wanted| !actions.split_whitespace().any(|action| action == *wanted))
        .collect();
    if missing.is_empty() {
        Check::new(name, Finding::Good, "has all that is used")
    } else {
        Check::new(name, Finding::Bad, format!("lacks {}", missing.join(", "))).mended_by("install a newer kernel")
    }
}

fn limits(files: &Files<'_>) -> Check {
    let name = "limits";
    let own = files.read("proc/self/cgroup").and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
        Some(line.to_owned())
    });
    let controllers = own.and_then(|own| files.read(&format!("sys/fs/cgroup/{own}/cgroup.controllers")));
    match controllers {
        Some(list) if list.split_whitespace().any(|one| one == "memory") => {
            Check::new(name, Finding::Good, format!("this cgroup has the controllers {list}"))
        }
        Some(_) | None => Check::new(
            name,
            Finding::Limited,
            "no cgroup with a memory controller: what a command uses of memory and processor cannot be limited",
        )
        .mended_by("run portcullis-sandboxd as a service of systemd with `Delegate=yes`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host where all is well, with some files changed; an empty text takes one away.
    fn findings(changed: &[(&str, &str)]) -> Vec<(&'static str, Finding, bool)> {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for (path, text) in [
            ("proc/sys/kernel/osrelease", "6.8.0-31-generic\n"),
            ("proc/sys/user/max_user_namespaces", "15000\n"),
            ("proc/self/ns/user", ""),
            ("sys/kernel/security/lsm", "lockdown,capability,landlock,yama,apparmor"),
            (
                "proc/sys/kernel/seccomp/actions_avail",
                "kill_process kill_thread trap errno user_notif trace log allow",
            ),
            ("proc/self/cgroup", "0::/user.slice/x\n"),
            ("sys/fs/cgroup/user.slice/x/cgroup.controllers", "cpu memory pids"),
        ] {
            write(path, text);
        }
        for (path, text) in changed {
            match *text {
                "" => fs::remove_file(folder.path().join(path)).unwrap(),
                text => write(path, text),
            }
        }
        of_the_kernel(folder.path())
            .into_iter()
            .map(|check| (check.name, check.finding, check.mend.is_some()))
            .collect()
    }

    #[test]
    fn a_host_without_faults_has_none() {
        assert!(
            findings(&[])
                .iter()
                .all(|(_, finding, mend)| (*finding, *mend) == (Finding::Good, false)),
            "{:?}",
            findings(&[])
        );
    }

    #[test]
    fn each_fault_is_found_and_its_mending_named() {
        for (path, text, name, finding) in [
            ("proc/sys/kernel/osrelease", "5.15.0-1", "kernel", Finding::Bad),
            (
                "proc/sys/user/max_user_namespaces",
                "0",
                "user namespaces",
                Finding::Bad,
            ),
            (
                "proc/sys/kernel/unprivileged_userns_clone",
                "0",
                "user namespaces",
                Finding::Bad,
            ),
            ("proc/self/ns/user", "", "user namespaces", Finding::Bad),
            (".dockerenv", " ", "user namespaces", Finding::Unknown),
            (
                "proc/sys/kernel/apparmor_restrict_unprivileged_userns",
                "1",
                "AppArmor",
                Finding::Bad,
            ),
            ("sys/kernel/security/lsm", "capability,yama", "Landlock", Finding::Bad),
            (
                "proc/sys/kernel/seccomp/actions_avail",
                "kill_process errno",
                "seccomp",
                Finding::Bad,
            ),
            ("proc/sys/kernel/seccomp/actions_avail", "", "seccomp", Finding::Bad),
            ("proc/self/cgroup", "0::/elsewhere", "limits", Finding::Limited),
        ] {
            let found = findings(&[(path, text)]);
            assert!(found.contains(&(name, finding, true)), "{path}: {found:?}");
            let others = found.iter().filter(|(other, ..)| *other != name);
            assert!(
                others.clone().all(|(_, finding, _)| *finding == Finding::Good),
                "{path}: {found:?}"
            );
        }
    }

    #[test]
    fn a_profile_that_is_installed_lifts_the_restriction() {
        let found = findings(&[
            ("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
            ("etc/apparmor.d/portcullis-launch", "profile"),
        ]);
        assert!(found.contains(&("AppArmor", Finding::Good, false)), "{found:?}");
    }

    #[test]
    fn what_cannot_be_read_is_unknown_not_well() {
        let folder = tempfile::tempdir().unwrap();
        let found = of_the_kernel(folder.path());
        for name in ["kernel", "Landlock"] {
            assert!(
                found
                    .iter()
                    .any(|check| check.name == name && check.finding == Finding::Unknown)
            );
        }
    }
}
