//! Finds every git folder and pointer file below the writable folders.
//!
//! Names only: no file is opened, no link followed. A git folder is what git would take for one (`HEAD` beside `objects` or
//! `commondir`), whatever its name, or anything called `.git`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Most directory entries that are looked at in one scan.
const MAX_ENTRIES: usize = 2_000_000;

/// Parts of a git folder that hold data only, and much of it.
const DATA_FOLDERS: [&str; 4] = ["objects", "refs", "logs", "lfs"];

/// What an anchor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnchorKind {
    /// A writable root, or the work tree of a repository.
    Root,
    /// A git folder: `.git`, bare, of a submodule, of a linked worktree.
    GitFolder,
    /// A file `.git` that names a git folder elsewhere.
    Pointer,
}

/// A folder (or pointer file) that patterns apply to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Anchor {
    /// Where it is.
    pub path: PathBuf,
    /// What it is.
    pub kind: AnchorKind,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Scan {
    /// All anchors.
    pub anchors: Vec<Anchor>,
    /// Whether everything was looked at.
    pub complete: bool,
}

/// Walks the folders.
#[must_use]
pub fn scan(roots: &[PathBuf]) -> Scan {
    let mut anchors: Vec<Anchor> = Vec::new();
    let mut complete = true;
    let mut budget = MAX_ENTRIES;
    for root in roots {
        if root.file_name() == Some(OsStr::new(".git")) && root.is_file() {
            anchors.push(Anchor {
                path: root.clone(),
                kind: AnchorKind::Pointer,
            });
        }
        if root.is_dir() {
            anchors.push(Anchor {
                path: root.clone(),
                kind: AnchorKind::Root,
            });
            complete &= walk(root, &mut budget, &mut anchors);
        }
    }
    anchors.sort();
    anchors.dedup();
    Scan { anchors, complete }
}

fn walk(root: &Path, budget: &mut usize, anchors: &mut Vec<Anchor>) -> bool {
    let mut complete = true;
    let mut open = vec![root.to_path_buf()];
    while let Some(folder) = open.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            // Nobody inside can do more than this user: what cannot be entered cannot be reached. What can be entered but not
            // listed may hold a name that is known.
            let flags = rustix::fs::AtFlags::EACCESS;
            complete &= rustix::fs::accessat(rustix::fs::CWD, &folder, rustix::fs::Access::EXEC_OK, flags).is_err();
            continue;
        };
        let mut folders = Vec::new();
        let (mut head, mut objects, mut common) = (false, false, false);
        for entry in entries {
            if *budget == 0 {
                return false;
            }
            *budget -= 1;
            let Ok(entry) = entry else {
                complete = false;
                continue;
            };
            let (name, kind) = (entry.file_name(), entry.file_type());
            let is_dir = kind.as_ref().is_ok_and(fs::FileType::is_dir);
            match name.to_str() {
                Some("HEAD") => head = true,
                Some("objects") => objects = true,
                Some("commondir") => common = true,
                Some(".git") => {
                    anchors.push(Anchor {
                        path: folder.clone(),
                        kind: AnchorKind::Root,
                    });
                    if !is_dir {
                        anchors.push(Anchor {
                            path: entry.path(),
                            kind: AnchorKind::Pointer,
                        });
                    }
                }
                _ => {}
            }
            if is_dir {
                folders.push(name);
            }
        }
        let git_folder = (head && (objects || common)) || folder.file_name() == Some(OsStr::new(".git"));
        if git_folder {
            anchors.push(Anchor {
                path: folder.clone(),
                kind: AnchorKind::GitFolder,
            });
            folders.retain(|name| !DATA_FOLDERS.iter().any(|data| name == data));
        }
        open.extend(folders.into_iter().map(|name| folder.join(name)));
    }
    complete
}
