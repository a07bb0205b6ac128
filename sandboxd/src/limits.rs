//! What of a profile's limits this host holds, and how.
//!
//! Memory, processes and processor time are held by a cgroup, where one is delegated ([`cgroup`]). Processes are held without one
//! too, for an ordinary user: since Linux 5.14 the kernel counts them in each user namespace, and a sandbox is one. What is not
//! held is said; it is no wall, so the command runs all the same.

pub mod cgroup;

use portcullis_proto::v1::SandboxLimits;

use crate::launch::spec::Limits;
use cgroup::{Controller, Delegated};

/// What is done about a profile's limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// By process.
    pub by_process: Limits,
    /// By cgroup: the files and what is written there.
    pub by_cgroup: Vec<(&'static str, String)>,
    /// Not at all, one line each with the reason.
    pub not: Vec<String>,
}

/// What is known about this host.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The cgroup, or why there is none.
    pub delegated: Result<&'a Delegated, &'a str>,
    /// The command's user is root.
    pub root: bool,
    /// The kernel's version, the first two numbers.
    pub kernel: (u32, u32),
}

/// Since when processes are counted by user namespace.
const COUNTED_BY_NAMESPACE: (u32, u32) = (5, 14);

/// The period in which processor time is counted, in microseconds.
const PERIOD: u64 = 100_000;

/// What is done about `limits`.
#[must_use]
pub fn hold(limits: &SandboxLimits, facts: Facts<'_>) -> Held {
    let mut held = Held {
        by_process: Limits {
            processes: 0,
            open_files: limits.open_files,
            file_bytes: limits.file_bytes,
            open_files_at_first: 0,
        },
        ..Held::default()
    };
    let without = |controller: Controller| match facts.delegated {
        Ok(delegated) if delegated.has(controller) => None,
        Ok(_) => Some(format!("the cgroup has no controller `{}`", controller.name())),
        Err(reason) => Some(reason.to_owned()),
    };
    if limits.memory_bytes > 0 {
        match without(Controller::Memory) {
            None => {
                held.by_cgroup.push(("memory.max", limits.memory_bytes.to_string()));
                // Or what is beyond would only move to the disk.
                held.by_cgroup.push(("memory.swap.max", "0".to_owned()));
            }
            Some(reason) => held.not.push(format!("memory: {reason}")),
        }
    }
    if limits.cpu_percent > 0 {
        match without(Controller::Cpu) {
            None => {
                let quota = u64::from(limits.cpu_percent) * PERIOD / 100;
                held.by_cgroup.push(("cpu.max", format!("{quota} {PERIOD}")));
            }
            Some(reason) => held.not.push(format!("processor time: {reason}")),
        }
    }
    if limits.processes > 0 {
        let by_process = !facts.root && facts.kernel >= COUNTED_BY_NAMESPACE;
        if by_process {
            held.by_process.processes = limits.processes;
        }
        match without(Controller::Pids) {
            None => held.by_cgroup.push(("pids.max", limits.processes.to_string())),
            Some(_) if by_process => {}
            Some(reason) => {
                let why = if facts.root {
                    "the kernel does not count root's"
                } else {
                    "before Linux 5.14 the kernel counts all of a user's"
                };
                held.not.push(format!("processes: {why}, and {reason}"));
            }
        }
    }
    held
}

/// The kernel's version. What cannot be read is older than everything.
#[must_use]
pub fn kernel() -> (u32, u32) {
    version(&rustix::system::uname().release().to_string_lossy())
}

fn version(release: &str) -> (u32, u32) {
    let mut numbers = release
        .split(|at: char| !at.is_ascii_digit())
        .map_while(|digits| digits.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: SandboxLimits = SandboxLimits {
        memory_bytes: 1 << 30,
        processes: 100,
        open_files: 50,
        file_bytes: 0,
        cpu_percent: 150,
        output_bytes: 7,
    };

    fn facts<'a>(delegated: Result<&'a Delegated, &'a str>) -> Facts<'a> {
        Facts {
            delegated,
            root: false,
            kernel: (6, 1),
        }
    }

    #[test]
    fn a_delegated_cgroup_holds_memory_processes_and_time() {
        let delegated = Delegated::for_test(&[Controller::Memory, Controller::Pids, Controller::Cpu]);
        let held = hold(&ALL, facts(Ok(&delegated)));
        let expected = [
            ("memory.max", "1073741824"),
            ("memory.swap.max", "0"),
            ("cpu.max", "150000 100000"),
            ("pids.max", "100"),
        ];
        assert_eq!(held.by_cgroup, expected.map(|(file, value)| (file, value.to_owned())));
        assert_eq!((held.not, held.by_process.open_files), (Vec::<String>::new(), 50));
    }

    #[test]
    fn what_is_not_held_is_said() {
        let held = hold(&ALL, facts(Err("none was delegated")));
        assert_eq!(
            held.not,
            ["memory: none was delegated", "processor time: none was delegated"]
        );
        assert_eq!((held.by_process.processes, held.by_cgroup.len()), (100, 0));
        let root = Facts {
            root: true,
            ..facts(Err("none was delegated"))
        };
        let held = hold(&ALL, root);
        assert!(held.not.iter().any(|line| line.contains("root's")), "{:?}", held.not);
        assert_eq!(held.by_process.processes, 0);
        // On an old kernel the number would be one for all of the user's processes.
        let old = Facts {
            kernel: (5, 13),
            ..facts(Err("none"))
        };
        assert_eq!(hold(&ALL, old).by_process.processes, 0);
        let only_memory = Delegated::for_test(&[Controller::Memory]);
        assert_eq!(
            hold(&ALL, facts(Ok(&only_memory))).not,
            ["processor time: the cgroup has no controller `cpu`"]
        );
        assert_eq!(hold(&SandboxLimits::default(), root), Held::default());
    }

    #[test]
    fn versions_are_read() {
        assert_eq!(version("6.18.44-fc"), (6, 18));
        assert_eq!(
            (version("5.14"), version("6"), version("odd")),
            ((5, 14), (6, 0), (0, 0))
        );
        assert!(kernel() > (4, 0));
    }
}
