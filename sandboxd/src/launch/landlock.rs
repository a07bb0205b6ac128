//! The second wall: Landlock, with the same writable roots as the mounts.
//!
//! It holds if a mount was missed or the mount namespace is left. It cannot take a protected path out of a writable folder
//! (rules only add), so it is never the only wall. It does not cover chmod, chown, times and extended attributes.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, LandlockStatus, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};

/// The newest version of the interface whose rights are asked for. Tested up to 7; later kernels give what they have.
const WANTED: ABI = ABI::V7;

/// The lowest version that counts as enforced: the first that covers truncation (3).
pub const ENOUGH: u32 = 3;

/// Why nothing is restricted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRestricted {
    /// The kernel has no Landlock, or it is not switched on.
    Absent(String),
    /// It has, and it could not be used.
    Failed(String),
}

impl NotRestricted {
    fn failed(error: &dyn std::fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Restricts this process and its children. What stands behind the standard streams may be opened again, as it is open.
///
/// Returns the version of the interface that is in force (0 = none).
///
/// # Errors
/// What could not be restricted, in words.
pub fn restrict(writable: &[PathBuf], proc_writable: bool) -> Result<u32, NotRestricted> {
    let all = AccessFs::from_all(WANTED);
    let read = AccessFs::from_read(WANTED);
    let device = AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    let describe = NotRestricted::failed;

    let of_path =
        |path: &Path, error: &dyn std::fmt::Display| NotRestricted::Failed(format!("`{}`: {error}", path.display()));
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)
        .map_err(|error| describe(&error))?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)
        .map_err(|error| describe(&error))?
        .create()
        .map_err(|error| describe(&error))?;
    let mut rules: Vec<(&Path, BitFlags<AccessFs>)> = vec![(Path::new("/"), read), (Path::new("/dev"), read | device)];
    if proc_writable {
        // Threads name each other and debuggers write memory there; `/proc/sys` and kin stay read-only by mounts. Not for
        // uid 0, for whom the mounts would be the only wall.
        rules.push((Path::new("/proc"), read | AccessFs::WriteFile | AccessFs::Truncate));
    }
    rules.extend(writable.iter().map(|path| (path.as_path(), all)));
    for (path, access) in rules {
        let access = if path.is_dir() {
            access
        } else {
            access & AccessFs::from_file(WANTED)
        };
        let fd = PathFd::new(path).map_err(|error| of_path(path, &error))?;
        ruleset = ruleset
            .add_rule(PathBeneath::new(fd, access))
            .map_err(|error| of_path(path, &error))?;
    }
    for (stream, access) in super::streams::opened_again() {
        // What has no place in the file tree takes no rule, and needs none.
        let _ = (&mut ruleset).add_rule(PathBeneath::new(stream, access));
    }
    let status = ruleset.restrict_self().map_err(|error| describe(&error))?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(match status.landlock {
            LandlockStatus::NotEnabled => NotRestricted::Absent("it is not switched on in this kernel".to_owned()),
            LandlockStatus::NotImplemented => NotRestricted::Absent("the kernel does not offer it".to_owned()),
            LandlockStatus::Available { .. } => {
                NotRestricted::Failed("the kernel has it and did not enforce it".to_owned())
            }
        });
    }
    Ok(match status.landlock {
        LandlockStatus::Available {
            effective_abi,
            kernel_abi,
        } => kernel_abi
            .and_then(|abi| u32::try_from(abi).ok())
            .unwrap_or(effective_abi as u32),
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => 0,
    })
}
