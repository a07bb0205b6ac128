//! A cgroup (version 2) for each run, below the one that was delegated to this daemon.
//!
//! ```text
//! …/portcullis.service/                what is delegated (systemd: `Delegate=yes`); no process may stay in it
//!                     /portcullis-daemon/
//!                     /portcullis-run-<decision>/
//! ```
//!
//! Whether it is delegated is found out by doing all of that. It is only tried where this daemon is alone in its cgroup: a
//! daemon that was started from a shell shares the shell's, which is not its to divide.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What runs' cgroups begin with.
const RUN: &str = "portcullis-run-";

/// Where the daemon itself goes.
const DAEMON: &str = "portcullis-daemon";

/// Attempts to remove a cgroup: the kernel needs a moment after the last process of it has ended.
const ATTEMPTS: u32 = 50;

/// Between two of them.
const PAUSE: Duration = Duration::from_millis(10);

/// Something that a cgroup can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// Memory.
    Memory,
    /// Processes.
    Pids,
    /// Processor time.
    Cpu,
}

impl Controller {
    const ALL: [Self; 3] = [Self::Memory, Self::Pids, Self::Cpu];

    /// The kernel's name for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Pids => "pids",
            Self::Cpu => "cpu",
        }
    }
}

/// A cgroup that is ours to divide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delegated {
    folder: PathBuf,
    controllers: Vec<Controller>,
}

impl Delegated {
    /// Takes the cgroup of this process into use, and removes what an earlier daemon has left in it. Blocking.
    ///
    /// # Errors
    /// Why there is none.
    pub fn take() -> Result<Self, String> {
        let own = fs::read_to_string("/proc/self/cgroup").map_err(|error| format!("no cgroup is known: {error}"))?;
        let mounts =
            fs::read_to_string("/proc/self/mountinfo").map_err(|error| format!("no cgroup is known: {error}"))?;
        let folder = place(&own, &mounts).ok_or("there is no cgroup of version 2 here")?;
        Self::divide(folder, std::process::id())
    }

    fn divide(folder: PathBuf, own: u32) -> Result<Self, String> {
        let shown = folder.display().to_string();
        let failed = |what: &str, error: io::Error| format!("no cgroup was delegated (`{shown}`: {what}: {error})");
        // The uppermost one has no such file, and belongs to the machine.
        if !folder.join("cgroup.events").exists() {
            return Err(format!("no cgroup was delegated (`{shown}` is the machine's)"));
        }
        let offered = fs::read_to_string(folder.join("cgroup.controllers"))
            .map_err(|error| failed("reading its controllers", error))?;
        let here =
            fs::read_to_string(folder.join("cgroup.procs")).map_err(|error| failed("reading its processes", error))?;
        if here.split_whitespace().any(|process| process != own.to_string()) {
            return Err(format!("no cgroup was delegated (others live in `{shown}` too)"));
        }
        let leaf = folder.join(DAEMON);
        if !leaf.is_dir() {
            fs::create_dir(&leaf).map_err(|error| failed("making one below", error))?;
        }
        write(&leaf.join("cgroup.procs"), &own.to_string()).map_err(|error| failed("entering one below", error))?;
        let controllers: Vec<_> = Controller::ALL
            .into_iter()
            .filter(|controller| offered.split_whitespace().any(|name| name == controller.name()))
            .filter(|controller| {
                write(
                    &folder.join("cgroup.subtree_control"),
                    &format!("+{}", controller.name()),
                )
                .is_ok()
            })
            .collect();
        if controllers.is_empty() {
            return Err(format!(
                "no cgroup was delegated (`{shown}` lets no controller be passed on)"
            ));
        }
        let delegated = Self { folder, controllers };
        delegated.remove_left_over();
        Ok(delegated)
    }

    /// Whether runs' cgroups have it.
    #[must_use]
    pub fn has(&self, controller: Controller) -> bool {
        self.controllers.contains(&controller)
    }

    /// Makes the cgroup of a run. Blocking.
    ///
    /// # Errors
    /// As the kernel says.
    pub fn make(&self, run: &str, settings: &[(&'static str, String)]) -> io::Result<RunCgroup> {
        let folder = self.folder.join(format!("{RUN}{run}"));
        fs::create_dir(&folder)?;
        let made = RunCgroup { folder };
        for (file, value) in settings {
            match write(&made.folder.join(file), value) {
                Err(error) if *file == "memory.swap.max" && error.kind() == io::ErrorKind::NotFound => {}
                other => other?,
            }
        }
        Ok(made)
    }

    /// Removes the cgroups of runs that an earlier daemon did not survive, with what may be left in them.
    fn remove_left_over(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(RUN.as_bytes()) {
                drop(RunCgroup { folder: entry.path() });
            }
        }
    }

    /// One that is nowhere.
    #[cfg(test)]
    pub(super) fn for_test(controllers: &[Controller]) -> Self {
        Self {
            folder: PathBuf::new(),
            controllers: controllers.to_vec(),
        }
    }
}

/// The cgroup of one run. Dropping it ends what is in it and removes it; that may block for a moment.
#[derive(Debug)]
pub struct RunCgroup {
    folder: PathBuf,
}

impl RunCgroup {
    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// What the limits have done, for the person; empty if nothing.
    #[must_use]
    pub fn events(&self) -> Vec<String> {
        let count = |file: &str, key: &str| {
            let text = fs::read_to_string(self.folder.join(file)).unwrap_or_default();
            event(&text, key)
        };
        let mut lines = Vec::new();
        if count("memory.events", "oom_kill") > 0 {
            lines.push("the command reached its limit of memory, and the kernel ended processes of it".to_owned());
        }
        if count("pids.events", "max") > 0 {
            lines.push("the command reached its limit of processes, and could start no more".to_owned());
        }
        lines
    }
}

impl Drop for RunCgroup {
    fn drop(&mut self) {
        let _ = write(&self.folder.join("cgroup.kill"), "1");
        for _ in 0..ATTEMPTS {
            match fs::remove_dir(&self.folder) {
                Ok(()) => return,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return,
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
        tracing::error!(cgroup = %self.folder.display(), "the cgroup of a run that has ended cannot be removed");
    }
}

/// Writes a file that exists: in a folder that is no cgroup nothing is to be made.
fn write(path: &Path, text: &str) -> io::Result<()> {
    io::Write::write_all(&mut fs::File::options().write(true).open(path)?, text.as_bytes())
}

fn event(text: &str, key: &str) -> u64 {
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(name, _)| *name == key)
        .and_then(|(_, count)| count.trim().parse().ok())
        .unwrap_or(0)
}

/// The folder of this process' cgroup, from `/proc/self/cgroup` and `/proc/self/mountinfo`.
fn place(own: &str, mounts: &str) -> Option<PathBuf> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    if path.starts_with("..") {
        return None; // Outside of what this namespace shows.
    }
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        if after.split(' ').next() != Some("cgroup2") {
            return None;
        }
        let mut fields = before.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let below = Path::new("/").join(path);
        Some(Path::new(point).join(below.strip_prefix(root).ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "22 28 0:21 / /sys rw,nosuid - sysfs sysfs rw\n\
        30 22 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn the_own_cgroup_is_found() {
        let own = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/portcullis.service\n";
        let found = place(own, MOUNTS).unwrap();
        assert_eq!(
            found,
            Path::new("/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/portcullis.service")
        );
        assert_eq!(place("0::/\n", MOUNTS).unwrap(), Path::new("/sys/fs/cgroup/"));
        assert_eq!(place("4:memory:/x\n", MOUNTS), None);
        assert_eq!(place("0::/../x\n", MOUNTS), None);
        assert_eq!(
            place(own, "30 22 0:26 / /sys/fs/cgroup rw - cgroup cgroup rw,memory\n"),
            None
        );
        // A bind of a part of it.
        let part = "30 22 0:26 /user.slice /cg rw - cgroup2 cgroup2 rw\n";
        assert!(place(own, part).unwrap().starts_with("/cg/user-1000.slice"));
        assert_eq!(place("0::/system.slice\n", part), None);
    }

    /// A folder that looks like one.
    fn pretend(controllers: &str, processes: &str) -> tempfile::TempDir {
        let keep = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("cgroup.events", "populated 1\n"),
            ("cgroup.controllers", controllers),
            ("cgroup.procs", processes),
            ("cgroup.subtree_control", ""),
        ] {
            fs::write(keep.path().join(file), text).unwrap();
        }
        fs::create_dir(keep.path().join(DAEMON)).unwrap();
        fs::write(keep.path().join(DAEMON).join("cgroup.procs"), "").unwrap();
        keep
    }

    #[test]
    fn it_is_divided_only_where_nobody_else_lives() {
        let keep = pretend("cpuset cpu memory pids\n", "77\n");
        fs::create_dir(keep.path().join("portcullis-run-old")).unwrap();
        let delegated = Delegated::divide(keep.path().to_path_buf(), 77).unwrap();
        assert!(Controller::ALL.into_iter().all(|controller| delegated.has(controller)));
        assert_eq!(
            fs::read_to_string(keep.path().join(DAEMON).join("cgroup.procs")).unwrap(),
            "77"
        );
        assert!(!keep.path().join("portcullis-run-old").exists());

        let refused = |controllers: &str, processes: &str| {
            let keep = pretend(controllers, processes);
            let reason = Delegated::divide(keep.path().to_path_buf(), 77).unwrap_err();
            let entered = fs::read_to_string(keep.path().join(DAEMON).join("cgroup.procs")).unwrap();
            (reason, entered)
        };
        let (reason, entered) = refused("memory\n", "77\n78\n");
        assert!(reason.contains("others") && entered.is_empty(), "{reason}");
        assert!(refused("", "77\n").0.contains("no controller"));
        let keep = pretend("memory\n", "77\n");
        fs::remove_file(keep.path().join("cgroup.events")).unwrap();
        assert!(
            Delegated::divide(keep.path().to_path_buf(), 77)
                .unwrap_err()
                .contains("the machine's")
        );
    }

    #[test]
    fn a_run_without_what_was_promised_has_none() {
        let keep = pretend("memory\n", "77\n");
        let delegated = Delegated::divide(keep.path().to_path_buf(), 77).unwrap();
        // Here the kernel makes no files: what cannot be written is a failure, and leaves nothing.
        assert!(delegated.make("a", &[("memory.max", "5".to_owned())]).is_err());
        assert!(!keep.path().join("portcullis-run-a").exists());
        let made = delegated.make("b", &[("memory.swap.max", "0".to_owned())]).unwrap();
        assert!(made.path().exists() && made.events().is_empty());
        drop(made);
        assert!(!keep.path().join("portcullis-run-b").exists());
    }

    #[test]
    fn events_are_read() {
        let text = "low 0\nmax 12\noom 1\noom_kill 3\n";
        assert_eq!(
            (event(text, "oom_kill"), event(text, "max"), event(text, "none")),
            (3, 12, 0)
        );
    }
}
