//! How much a command may use: limits by process, and the cgroup that its daemon has made for it.
//!
//! Only what the kernel bounds without harm is bounded by process. There is no such limit on memory: programs reserve far more
//! than they use (`RLIMIT_AS`, `RLIMIT_DATA` count that), so it takes a cgroup.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::StepFailed;
use super::spec::Limits;

/// Limits this process, and what it starts. A limit that is lower already stays.
///
/// The core file's is not here: it is the same for every command.
///
/// # Errors
/// As the kernel says.
pub fn set(limits: &Limits) -> Result<(), Errno> {
    let wanted = [
        // Since Linux 5.14 counted in the user namespace, which has nobody but this sandbox; see `crate::limits`.
        (Resource::Nproc, limits.processes),
        (Resource::Nofile, limits.open_files),
        (Resource::Fsize, limits.file_bytes),
    ];
    for (resource, most) in wanted.into_iter().filter(|(_, most)| *most > 0) {
        setrlimit(resource, lowered(getrlimit(resource), most))?;
    }
    if limits.open_files_at_first > 0 {
        let now = getrlimit(Resource::Nofile);
        let first = lowered(now, limits.open_files_at_first).current;
        setrlimit(
            Resource::Nofile,
            Rlimit {
                current: first,
                maximum: now.maximum,
            },
        )?;
    }
    Ok(())
}

/// Both numbers, at most `most`; `None` is no limit.
fn lowered(now: Rlimit, most: u64) -> Rlimit {
    let at_most = |now: Option<u64>| Some(now.map_or(most, |now| now.min(most)));
    Rlimit {
        current: at_most(now.current),
        maximum: at_most(now.maximum),
    }
}

/// Moves this process into its cgroup, so that everything that it makes begins there.
///
/// # Errors
/// As the kernel says. Nothing may be started then: what was promised would not hold.
pub fn enter_cgroup(cgroup: &[u8]) -> Result<(), StepFailed> {
    if cgroup.is_empty() {
        return Ok(());
    }
    let folder = Path::new(OsStr::from_bytes(cgroup));
    fs::write(folder.join("cgroup.procs"), "0")
        .map_err(|error| StepFailed::new("limits", format!("entering `{}`", folder.display()), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_lowered_and_never_raised() {
        let of = |current, maximum| Rlimit { current, maximum };
        assert_eq!(lowered(of(Some(1024), Some(5000)), 2000), of(Some(1024), Some(2000)));
        assert_eq!(lowered(of(Some(100), Some(200)), 2000), of(Some(100), Some(200)));
        assert_eq!(lowered(of(None, None), 2000), of(Some(2000), Some(2000)));
    }

    #[test]
    fn a_cgroup_that_is_not_there_is_a_failed_step() {
        enter_cgroup(b"").unwrap();
        assert_eq!(enter_cgroup(b"/nonexistent/cgroup").unwrap_err().step, "limits");
    }
}
