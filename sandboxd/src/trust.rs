//! The projects that the person at this host has declared trustworthy, by their real paths.
//!
//! Kept in memory and in one file. A file that cannot be read is not an empty list: it is reported as a failure with every
//! decision, and nothing is trusted.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::durable;

/// Most projects that are remembered.
const MAX_PROJECTS: usize = 10_000;

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    roots: BTreeSet<String>,
}

/// The trusted projects.
#[derive(Debug)]
pub struct Trust {
    path: PathBuf,
    roots: Mutex<Result<BTreeSet<String>, String>>,
}

impl Trust {
    /// Reads the file.
    #[must_use]
    pub fn open(path: PathBuf) -> Self {
        let roots = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice::<Stored>(&bytes)
                .map(|stored| stored.roots)
                .map_err(|error| {
                    format!(
                        "the list of trusted projects `{}` cannot be read: {error}",
                        path.display()
                    )
                }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
            Err(error) => Err(format!(
                "the list of trusted projects `{}` cannot be read: {error}",
                path.display()
            )),
        };
        Self {
            path,
            roots: Mutex::new(roots),
        }
    }

    /// Whether the project at this real path is trusted.
    ///
    /// # Errors
    /// Why that cannot be told.
    pub fn contains(&self, root: &Path) -> Result<bool, String> {
        let roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
        roots
            .as_ref()
            .map(|roots| root.to_str().is_some_and(|root| roots.contains(root)))
            .map_err(Clone::clone)
    }

    /// All of them.
    ///
    /// # Errors
    /// Why that cannot be told.
    pub fn all(&self) -> Result<Vec<String>, String> {
        let roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
        roots
            .as_ref()
            .map(|roots| roots.iter().cloned().collect())
            .map_err(Clone::clone)
    }

    /// Trusts a project or takes that back; returns whether it was trusted before. Waits for the disk.
    ///
    /// # Errors
    /// If it cannot be remembered; then nothing has changed.
    pub fn set(&self, root: &str, trusted: bool) -> Result<bool, String> {
        let mut guard = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
        let mut roots = guard.as_ref().map_err(Clone::clone)?.clone();
        let before = if trusted {
            !roots.insert(root.to_owned())
        } else {
            roots.remove(root)
        };
        if roots.len() > MAX_PROJECTS {
            return Err(format!("more than {MAX_PROJECTS} projects cannot be trusted"));
        }
        if before != trusted {
            let stored = Stored { roots: roots.clone() };
            let text = serde_json::to_vec_pretty(&stored).map_err(|error| error.to_string())?;
            durable::replace(&self.path, &text)
                .map_err(|error| format!("cannot write `{}`: {error}", self.path.display()))?;
        }
        *guard = Ok(roots);
        Ok(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_survives_and_can_be_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trust.json");
        assert_eq!(Trust::open(path.clone()).set("/p", true), Ok(false));
        let trust = Trust::open(path.clone());
        assert_eq!(trust.contains(Path::new("/p")), Ok(true));
        assert_eq!(trust.contains(Path::new("/p/q")), Ok(false));
        assert_eq!(trust.set("/p", false), Ok(true));
        assert_eq!(Trust::open(path).contains(Path::new("/p")), Ok(false));
    }

    #[test]
    fn a_broken_list_trusts_nothing_and_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trust.json");
        std::fs::write(&path, "{").unwrap();
        let trust = Trust::open(path.clone());
        assert!(trust.contains(Path::new("/p")).is_err() && trust.set("/p", true).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"{");
    }
}
