//! Finds every git folder and pointer file below the writable folders.
//!
//! Names only: no file is opened, no link followed. A git folder is what git would take for one (`HEAD` beside `objects` or
//! `commondir`), whatever its name, or anything called `.git`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use crate::listing::{self, Kind};

/// Most directory entries that are looked at in one scan.
const MAX_ENTRIES: usize = 2_000_000;

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
    /// Folders that their owner, who is this user, has closed to himself: what lies in them was not looked at. The owner, and
    /// so a command, can open them again.
    pub closed: Vec<PathBuf>,
    /// Unix sockets, whether somebody is reached there or not.
    pub sockets: Vec<PathBuf>,
}

/// Walks the folders.
#[must_use]
pub fn scan(roots: &[PathBuf]) -> Scan {
    let mut scan = Scan {
        anchors: Vec::new(),
        complete: true,
        closed: Vec::new(),
        sockets: Vec::new(),
    };
    let mut budget = MAX_ENTRIES;
    for root in roots {
        if root.file_name() == Some(OsStr::new(".git")) && root.is_file() {
            scan.anchors.push(Anchor {
                path: root.clone(),
                kind: AnchorKind::Pointer,
            });
        }
        match root.metadata() {
            Ok(found) if found.is_dir() => {
                scan.anchors.push(Anchor {
                    path: root.clone(),
                    kind: AnchorKind::Root,
                });
                scan.complete &= walk(root, &mut budget, &mut scan);
            }
            Ok(found) if found.file_type().is_socket() => scan.sockets.push(root.clone()),
            _ => {}
        }
    }
    scan.anchors.sort();
    scan.anchors.dedup();
    scan.sockets.sort();
    scan.sockets.dedup();
    scan
}

fn walk(root: &Path, budget: &mut usize, scan: &mut Scan) -> bool {
    let Scan {
        anchors,
        closed,
        sockets,
        ..
    } = scan;
    let mut complete = true;
    let mut open = vec![root.to_path_buf()];
    while let Some(folder) = open.pop() {
        let Ok(listing) = listing::list(&folder, *budget) else {
            // Nobody inside can do more than this user: what cannot be entered cannot be reached. What can be entered but not
            // listed may hold a name that is known.
            let flags = rustix::fs::AtFlags::EACCESS;
            let enterable = rustix::fs::accessat(rustix::fs::CWD, &folder, rustix::fs::Access::EXEC_OK, flags).is_ok();
            complete &= !enterable;
            let own = rustix::process::geteuid().as_raw();
            if !enterable && folder.symlink_metadata().is_ok_and(|found| found.uid() == own) {
                closed.push(folder);
            }
            continue;
        };
        let of_objects = is_object_store(&folder);
        let mut folders = Vec::new();
        let (mut head, mut objects, mut common) = (false, false, false);
        *budget = budget.saturating_sub(listing.len());
        complete &= listing.complete;
        for (name, kind) in listing.iter() {
            complete &= kind != Kind::Unknown;
            let is_dir = kind == Kind::Folder;
            if kind == Kind::Socket {
                sockets.push(folder.join(name));
            }
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
                            path: folder.join(name),
                            kind: AnchorKind::Pointer,
                        });
                    }
                }
                _ => {}
            }
            if is_dir && !(of_objects && holds_objects_only(&folder, name)) {
                folders.push(folder.join(name));
            }
        }
        let git_folder = (head && (objects || common)) || folder.file_name() == Some(OsStr::new(".git"));
        if git_folder {
            anchors.push(Anchor {
                path: folder.clone(),
                kind: AnchorKind::GitFolder,
            });
        }
        if *budget == 0 {
            return false;
        }
        open.extend(folders);
    }
    complete
}

/// Whether an entry of a folder is one of git's own folders of objects, which hold nothing that has a name of its own.
pub(crate) fn is_loose_objects(folder: &Path, name: &OsStr) -> bool {
    is_object_store(folder) && holds_objects_only(folder, name)
}

/// Whether this is where a repository called `.git` keeps its objects. Not told from the contents, which a command could
/// imitate around somebody's project: a `HEAD` beside `objects` must not hide what lies in `objects`.
fn is_object_store(folder: &Path) -> bool {
    folder.file_name() == Some(OsStr::new("objects")) && folder.components().any(|part| part.as_os_str() == ".git")
}

/// Whether a folder of an object store is one of its 256 and holds no folder: only its own two links lead to it. File
/// systems that do not count links so say 1, and the folder is walked.
fn holds_objects_only(store: &Path, name: &OsStr) -> bool {
    let hex = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    name.len() == 2
        && name.as_bytes().iter().all(hex)
        && store
            .join(name)
            .symlink_metadata()
            .is_ok_and(|found| found.nlink() == 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn git_folders(root: &Path) -> Vec<PathBuf> {
        let Scan { anchors, complete, .. } = scan(&[root.to_path_buf()]);
        assert!(complete);
        let git = anchors
            .into_iter()
            .filter(|anchor| anchor.kind == AnchorKind::GitFolder);
        git.map(|anchor| anchor.path).collect()
    }

    #[test]
    fn what_looks_like_a_git_folder_hides_no_repository_in_it() {
        let keep = tempfile::tempdir().unwrap();
        let root = keep.path();
        let inner = [
            "logs/a/.git",
            "lfs/.git",
            "refs/x/y/.git",
            "objects/fe/.git",
            ".git/objects/ab/c/.git",
        ];
        for at in inner {
            fs::create_dir_all(root.join(at)).unwrap();
        }
        fs::write(root.join("HEAD"), "").unwrap();
        let found = git_folders(root);
        for at in inner {
            assert!(found.contains(&root.join(at)), "{at}: {found:?}");
        }
        assert!(found.contains(&root.to_path_buf()));
    }

    #[test]
    fn objects_are_not_looked_at_one_by_one() {
        let keep = tempfile::tempdir().unwrap();
        let store = keep.path().join(".git/objects");
        fs::create_dir_all(store.join("ab")).unwrap();
        fs::create_dir_all(store.join("cd/e")).unwrap();
        fs::create_dir_all(store.join("pack")).unwrap();
        // Some file systems do not count folders as links; there all is walked.
        let counted = store.join("cd").symlink_metadata().unwrap().nlink() == 3;
        assert!(is_object_store(&store) && !is_object_store(&keep.path().join("objects")));
        assert_eq!(holds_objects_only(&store, OsStr::new("ab")), counted);
        assert!(!holds_objects_only(&store, OsStr::new("cd")));
        assert!(!holds_objects_only(&store, OsStr::new("pack")));
    }
}
