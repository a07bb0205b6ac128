//! What a command in the sandbox cannot read: files that the policy denies, and credentials.
//!
//! Everything is looked up here, before the run, on the host as it is; the launcher covers what is found, under its real path,
//! with something empty. What a name leads to is hidden, and with a file its other names (hard links) in the folders that the
//! command can write. What appears during the run is the command's own, or somebody else's outside: neither is hidden.

pub mod credentials;
pub mod denials;
mod walk;

use std::path::{Path, PathBuf};

use portcullis_proto::v1::SandboxProfile;

use crate::prepare::Unpreparable;
use walk::{Budget, other_names};

/// Most paths that are hidden: each is a mount, and a command waits for all of them.
pub const MAX_MASKS: usize = 8_192;

/// Whose credentials and whose `~/x`.
#[derive(Clone, Debug, Default)]
pub struct Person {
    /// Their home folder.
    pub home: Option<PathBuf>,
    /// The home folder that their environment names, which may be another one: both are theirs.
    pub other_home: Option<PathBuf>,
    /// The working directory, which the patterns of rules may start at.
    pub cwd: Option<PathBuf>,
    /// Folders that their variables name.
    pub variables: Vec<(String, PathBuf)>,
}

impl Person {
    /// Their home folders, each once.
    pub fn homes(&self) -> impl Iterator<Item = &PathBuf> {
        let other = self
            .other_home
            .iter()
            .filter(|other| self.home.as_ref() != Some(*other));
        self.home.iter().chain(other)
    }

    /// Takes what counts from an environment, given as names and values; the first of two with one name counts.
    #[must_use]
    pub fn with_variables(mut self, environment: impl Iterator<Item = (String, PathBuf)>) -> Self {
        let known = credentials::variables();
        for (name, value) in environment {
            if known.contains(&name.as_str()) && value.is_absolute() {
                self.variables.push((name, value));
            }
        }
        self
    }
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Real paths to hide.
    pub masked: Vec<PathBuf>,
    /// What could not be hidden, one line each.
    pub missing: Vec<String>,
}

impl Found {
    fn add(&mut self, other: Self) {
        self.masked.extend(other.masked);
        self.missing.extend(other.missing);
    }
}

/// Finds everything that is to be hidden. `roots` are the workspace's folders, `read_write` all that may be written, `sockets` those
/// that may be connected to; real paths.
///
/// # Errors
/// If a denial is not understood, or hides the workspace itself.
pub fn hidden(
    profile: &SandboxProfile,
    person: &Person,
    roots: &[PathBuf],
    read_write: &[PathBuf],
    sockets: &[PathBuf],
) -> Result<Found, Unpreparable> {
    let mut found = denials::find(&profile.read_denials, person, roots, read_write)?;
    if let Some(path) = found.masked.iter().find(|path| contains_root(path, roots)) {
        return Err(Unpreparable::HiddenWorkspace(path.clone()));
    }
    found.add(credentials::find(person, &profile.revealed_paths, sockets, roots));
    let mut folders: Vec<PathBuf> = roots.iter().chain(read_write).cloned().collect();
    outermost(&mut folders);
    found.add(other_names(&found.masked, &folders, &mut Budget::default()));
    outermost(&mut found.masked);
    if found.masked.len() > MAX_MASKS {
        let more = found.masked.len() - MAX_MASKS;
        found.missing.push(format!(
            "unreadable files: {more} more than the {MAX_MASKS} that can be hidden"
        ));
        found.masked.truncate(MAX_MASKS);
    }
    found.missing.sort();
    found.missing.dedup();
    Ok(found)
}

/// Whether hiding a path would hide a folder of the workspace.
fn contains_root(path: &Path, roots: &[PathBuf]) -> bool {
    roots.iter().any(|root| root.starts_with(path))
}

/// Leaves out what lies below another path of the list.
fn outermost(paths: &mut Vec<PathBuf>) {
    paths.sort();
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in paths.drain(..) {
        if !kept.last().is_some_and(|outer| path.starts_with(outer)) {
            kept.push(path);
        }
    }
    *paths = kept;
}

/// Whether a path is the kernel's own, and no file of anybody: never hidden.
fn is_kernels(path: &Path) -> bool {
    ["/proc", "/dev", "/sys"].iter().any(|folder| path.starts_with(folder))
}
