//! What may be read, and the little that may be written, where nothing can be mounted: rules of Landlock.
//!
//! Such rules only add. So a folder that contains something hidden gets none: those of its entries do that contain nothing
//! hidden, and so on downwards. It cannot be listed then, as a rule for that would hold for everything below it. What appears in
//! it later cannot be read either. Links and sockets need no rule: what a link leads to has its own, or none.

use std::collections::BTreeSet;
use std::io;
use std::ops::Bound;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, LandlockStatus, PathBeneath,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::fs::FileType;

use super::StepFailed;
use super::mounts::{open_path, paths};
use super::spec::Layout;

const STEP: &str = "landlock";

/// The version that is needed: the first that keeps signals and abstract sockets inside.
const NEEDED: ABI = ABI::V6;

/// Most rules. Each is an entry of a folder on the way to something hidden.
const MAX_RULES: usize = 65_536;

/// Folders that are private in every sandbox: here they are not to be seen at all. Of `/dev` there are the [`DEVICES`].
const PRIVATE: [&str; 4] = ["/tmp", "/run", "/dev", "/var/run"];

/// Devices that may be used. A terminal by its descriptor only: those of other windows are this user's too.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Rules that are to hold for the command.
#[derive(Debug)]
pub struct Rules {
    ruleset: RulesetCreated,
    hidden: BTreeSet<PathBuf>,
    count: usize,
}

/// Makes the rules of a file tree. They hold for nobody yet.
///
/// # Errors
/// If the kernel does not have all of it, or there are too many.
pub fn rules(layout: &Layout) -> Result<Rules, StepFailed> {
    let read = AccessFs::from_read(NEEDED);
    let is_socket = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket());
    let mut hidden: BTreeSet<PathBuf> = paths(&layout.masked).into_iter().collect();
    // Nobody connects to one without a socket, and a folder that holds one is to be listed.
    hidden.retain(|path| !is_socket(path));
    let private = PRIVATE.iter().filter_map(|path| Path::new(path).canonicalize().ok());
    let mut rules = Rules {
        ruleset: ruleset()?,
        hidden: hidden.iter().cloned().chain(private).collect(),
        count: 0,
    };
    rules.read(Path::new("/"), read)?;
    // What is named is there below a private folder too. What is hidden is not.
    rules.hidden = hidden;
    for path in paths(&layout.visible) {
        rules.read(&path, read)?;
    }
    for name in DEVICES {
        let access = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
        rules.add(&Path::new("/dev").join(name), access)?;
    }
    for (stream, access) in super::streams::opened_again() {
        // What has no place in the file tree takes no rule, and needs none.
        let _ = (&mut rules.ruleset).add_rule(PathBeneath::new(stream, access));
    }
    if !layout.tmp_read_only && !layout.tmp_folder.is_empty() {
        let all = AccessFs::from_all(NEEDED) & !(AccessFs::MakeBlock | AccessFs::MakeChar | AccessFs::IoctlDev);
        for path in paths(std::slice::from_ref(&layout.tmp_folder)) {
            rules.add(&path, all)?;
        }
    }
    Ok(rules)
}

fn ruleset() -> Result<RulesetCreated, StepFailed> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))
        // No rule lets TCP pass. There is no socket either.
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(NEEDED)))
        .and_then(|ruleset| ruleset.scope(Scope::AbstractUnixSocket | Scope::Signal))
        .and_then(Ruleset::create)
        .map_err(|error| failed("making rules", &error))
}

impl Rules {
    /// Lets a path be read, but for what is hidden below it.
    fn read(&mut self, path: &Path, read: BitFlags<AccessFs>) -> Result<(), StepFailed> {
        if path.ancestors().any(|part| self.hidden.contains(part)) {
            return Ok(());
        }
        let below = self
            .hidden
            .range::<Path, _>((Bound::Excluded(path), Bound::Unbounded))
            .next();
        if !below.is_some_and(|hidden| hidden.starts_with(path)) {
            return self.add(path, read);
        }
        // A folder that cannot be listed shows less.
        let Ok(entries) = std::fs::read_dir(path) else {
            return Ok(());
        };
        for entry in entries.flatten() {
            self.read(&entry.path(), read)?;
        }
        Ok(())
    }

    /// A rule for what stands at a path now. What is not there, or cannot be opened, gets none.
    fn add(&mut self, path: &Path, access: BitFlags<AccessFs>) -> Result<(), StepFailed> {
        let Ok(fd) = open_path(path) else { return Ok(()) };
        let Ok(found) = rustix::fs::fstat(&fd) else {
            return Ok(());
        };
        let access = match FileType::from_raw_mode(found.st_mode) {
            FileType::Symlink | FileType::Socket => return Ok(()),
            FileType::Directory => access,
            _ => access & AccessFs::from_file(NEEDED),
        };
        self.count += 1;
        if self.count > MAX_RULES {
            return Err(StepFailed::new(
                STEP,
                format!("making more than {MAX_RULES} rules"),
                io::Error::new(io::ErrorKind::InvalidInput, "too much lies beside what is hidden"),
            ));
        }
        (&mut self.ruleset)
            .add_rule(PathBeneath::new(fd, access))
            .map(drop)
            .map_err(|error| failed(&format!("making a rule for `{}`", path.display()), &error))
    }

    /// Restricts this process and its children for good.
    ///
    /// # Errors
    /// If not all of it is in force.
    pub fn enforce(self) -> Result<(), StepFailed> {
        whole(self.ruleset).map(drop)
    }
}

/// Keeps signals of this process and its children among themselves. Returns the kernel's version of Landlock.
///
/// # Errors
/// If that is not in force.
pub fn keep_signals_inside() -> Result<u32, StepFailed> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .scope(Scope::Signal)
        .and_then(Ruleset::create)
        .map_err(|error| failed("keeping signals inside", &error))?;
    whole(ruleset)
}

fn whole(ruleset: RulesetCreated) -> Result<u32, StepFailed> {
    let status = ruleset
        .restrict_self()
        .map_err(|error| failed("restricting the command", &error))?;
    if let LandlockStatus::Available {
        effective_abi,
        kernel_abi,
    } = status.landlock
        && status.ruleset == RulesetStatus::FullyEnforced
        && status.no_new_privs
    {
        let kernels = kernel_abi.and_then(|abi| u32::try_from(abi).ok());
        return Ok(kernels.unwrap_or(effective_abi as u32));
    }
    let cause = io::Error::new(
        io::ErrorKind::Unsupported,
        "the kernel does not have all that is needed",
    );
    Err(StepFailed::new(STEP, "restricting the command", cause))
}

fn failed(what: &str, error: &dyn std::fmt::Display) -> StepFailed {
    StepFailed::new(STEP, what, io::Error::other(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Runs a line of a shell under the rules, in a process of its own, and returns what it says.
    fn says(layout: &Layout, line: &str) -> String {
        let rules = rules(layout).unwrap();
        // Landlock restricts a thread, and what that starts.
        let run = std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    rules.enforce().unwrap();
                    std::process::Command::new("/bin/sh")
                        .args(["-c", line])
                        .output()
                        .unwrap()
                })
                .join()
                .unwrap()
        });
        String::from_utf8(run.stdout).unwrap()
    }

    #[test]
    fn beside_what_is_hidden_all_can_be_read_and_nothing_written() {
        let keep = tempfile::tempdir_in("/var/tmp").unwrap();
        let home = keep.path().canonicalize().unwrap();
        let (deep, session) = (home.join("deep"), home.join("session"));
        for folder in [&deep, &session] {
            std::fs::create_dir(folder).unwrap();
        }
        for name in ["open", "hidden", "deep/open", "deep/hidden", "session/before"] {
            std::fs::write(home.join(name), format!("{name}\n")).unwrap();
        }
        symlink(home.join("hidden"), home.join("link")).unwrap();
        symlink(home.join("open"), home.join("way")).unwrap();
        let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
        let layout = Layout {
            masked: ["hidden", "deep/hidden", "session"]
                .map(|name| bytes(&home.join(name)))
                .to_vec(),
            tmp_folder: bytes(&session),
            ..Layout::default()
        };
        let line = format!(
            "cd {}; cat open hidden deep/open deep/hidden link way session/before; ls . ; ls /usr | head -n 1 | wc -l; echo x > new; \
             echo x > open; echo x > session/made && cat session/made; mkdir made; rm open; mv open other",
            home.display()
        );
        assert_eq!(says(&layout, &line), "open\ndeep/open\nopen\nsession/before\n1\nx\n");
        assert_eq!(std::fs::read(home.join("open")).unwrap(), b"open\n");
        let closed = Layout {
            tmp_read_only: true,
            ..layout.clone()
        };
        assert_eq!(
            says(
                &closed,
                &format!("cat {0}/before; echo x > {0}/more", session.display())
            ),
            ""
        );
        assert!(!session.join("more").exists());
        // The positive control.
        let free = Layout {
            masked: Vec::new(),
            tmp_folder: Vec::new(),
            ..layout
        };
        let line = format!(
            "cat {0}/hidden {0}/link; ls {0} | wc -l; echo x > {0}/new",
            home.display()
        );
        assert_eq!(says(&free, &line).replace(' ', ""), "hidden\nhidden\n6\n");
        assert!(!home.join("new").exists());
    }

    #[test]
    fn private_folders_are_not_to_be_seen_but_for_what_is_named() {
        let keep = tempfile::tempdir_in("/tmp").unwrap();
        let root = keep.path().canonicalize().unwrap();
        for name in ["shown", "token"] {
            std::fs::write(root.join(name), format!("{name}\n")).unwrap();
        }
        let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
        let line = format!(
            "cd {}; cat shown token; ls /tmp /run /dev; echo x > /dev/null && echo null",
            root.display()
        );
        assert_eq!(says(&Layout::default(), &line), "null\n");
        let layout = Layout {
            visible: vec![bytes(&root)],
            masked: vec![bytes(&root.join("token"))],
            ..Layout::default()
        };
        assert_eq!(says(&layout, &line), "shown\nnull\n");
    }
}
