//! Walks folders for what is to be hidden: names only, no file opened, no link followed into a folder, all of it bounded.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::{Found, is_kernels};
use crate::listing::{self, Kind};
use crate::protect::scan::is_loose_objects;

/// Most comparisons of a name with a pattern, and most names, in one preparation: about three seconds.
const MAX_STEPS: usize = 20_000_000;

/// Most entries of one folder.
const MAX_IN_FOLDER: usize = 1_000_000;

/// What is left of the work that may be done.
#[derive(Debug)]
pub(super) struct Budget(usize);

impl Default for Budget {
    fn default() -> Self {
        Self(MAX_STEPS)
    }
}

impl Budget {
    /// Takes steps; false if there are not enough.
    pub(super) fn take(&mut self, steps: usize) -> bool {
        let enough = self.0 >= steps;
        self.0 = self.0.saturating_sub(steps);
        enough
    }
}

/// What to do with an entry.
pub(super) enum Next {
    /// Go on; into it, if it is a folder.
    On,
    /// It is dealt with.
    Done,
    /// There is no budget for more.
    Stop,
}

/// A folder to look at.
#[derive(Clone, Debug)]
pub(super) struct Start {
    /// Where it is.
    pub(super) path: PathBuf,
    /// How many folders deep; `None` = all.
    pub(super) depth: Option<usize>,
}

/// Calls `visit` for every entry below a folder. Folders that cannot be listed are given to `closed`. Returns whether all was
/// looked at.
pub(super) fn walk(
    start: &Start,
    visit: &mut dyn FnMut(&OsStr, Kind, &Path) -> Next,
    closed: &mut dyn FnMut(PathBuf),
) -> bool {
    let mut open = vec![(start.path.clone(), start.depth)];
    let mut complete = true;
    while let Some((folder, depth)) = open.pop() {
        if depth == Some(0) || is_kernels(&folder) {
            continue;
        }
        let listing = match listing::list(&folder, MAX_IN_FOLDER) {
            Ok(listing) => listing,
            Err(_) => {
                if can_be_reached(&folder) {
                    closed(folder);
                }
                continue;
            }
        };
        complete &= listing.complete;
        for (name, kind) in listing.iter() {
            let path = folder.join(name);
            match visit(name, kind, &path) {
                Next::Stop => return false,
                Next::Done => {}
                Next::On => {
                    if kind == Kind::Folder && !is_loose_objects(&folder, name) {
                        open.push((path, depth.map(|depth| depth - 1)));
                    }
                }
            }
        }
    }
    complete
}

/// Whether a folder that cannot be listed may still give away what is in it: it can be entered by whoever knows a name, or its
/// owner, who is this user, can open it again.
fn can_be_reached(folder: &Path) -> bool {
    let flags = rustix::fs::AtFlags::EACCESS;
    let enterable = rustix::fs::accessat(rustix::fs::CWD, folder, rustix::fs::Access::EXEC_OK, flags).is_ok();
    let own = rustix::process::geteuid().as_raw();
    enterable || folder.symlink_metadata().is_ok_and(|found| found.uid() == own)
}

/// Further names of hidden files in these folders. Costs nothing while no hidden file has a second name.
pub(super) fn other_names(masked: &[PathBuf], folders: &[PathBuf], budget: &mut Budget) -> Found {
    let linked: HashSet<(u64, u64)> = masked
        .iter()
        .filter_map(|path| path.symlink_metadata().ok())
        .filter(|found| found.is_file() && found.nlink() > 1)
        .map(|found| (found.dev(), found.ino()))
        .collect();
    let mut found = Found::default();
    if linked.is_empty() {
        return found;
    }
    let mut complete = true;
    for folder in folders {
        // A single file that may be written.
        if let Ok(file) = folder.symlink_metadata()
            && file.is_file()
        {
            if linked.contains(&(file.dev(), file.ino())) {
                found.masked.push(folder.clone());
            }
            continue;
        }
        let start = Start {
            path: folder.clone(),
            depth: None,
        };
        let mut visit = |_: &OsStr, kind: Kind, path: &Path| {
            if !budget.take(1) {
                return Next::Stop;
            }
            let same = || {
                let file = path.symlink_metadata().ok().filter(fs::Metadata::is_file);
                file.is_some_and(|file| linked.contains(&(file.dev(), file.ino())))
            };
            if matches!(kind, Kind::Other | Kind::Unknown) && same() {
                found.masked.push(path.to_path_buf());
            }
            Next::On
        };
        complete &= walk(&start, &mut visit, &mut |_| {});
    }
    if !complete {
        found
            .missing
            .push("unreadable files: the writable folders are too large to look for other names of them".to_owned());
    }
    found
}
