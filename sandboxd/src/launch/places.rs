//! Folders of ours that stand in the sandbox: the session's `/tmp`, the place of caches, and what is shown at placeholders.
//!
//! Unlike a fresh file system in memory they hold what earlier commands have left, and another command of the same session may
//! be changing it at this moment. So nothing here follows a link, and nothing that exists is written to.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;

use super::StepFailed;
use super::mounts::{STEP, attach, clone_tree, cover, mkdir, open_path, paths};
use super::spec::Layout;
use crate::sys::mount::{NO_DEV, NO_SUID, READ_ONLY, add_attributes};

/// Where caches of package managers are. On nobody's PATH.
pub const CACHE: &str = "/run/portcullis-cache";

/// Those of our folders that there are, taken before the file tree becomes read-only.
#[derive(Debug)]
pub struct Own {
    tmp: Option<OwnedFd>,
    cache: Option<OwnedFd>,
}

/// Takes them.
///
/// # Errors
/// If one that is named cannot be had.
pub fn take(layout: &Layout) -> Result<Own, StepFailed> {
    let take = |bytes: &Vec<u8>| -> Result<Option<OwnedFd>, StepFailed> {
        let Some(path) = paths(std::slice::from_ref(bytes)).pop().filter(|_| !bytes.is_empty()) else {
            return Ok(None);
        };
        let tree = clone_tree(&path, false).and_then(|tree| {
            add_attributes(tree.as_fd(), NO_SUID | NO_DEV, false)?;
            Ok(tree)
        });
        tree.map(Some)
            .map_err(|error| StepFailed::new(STEP, format!("taking `{}`", path.display()), error))
    };
    Ok(Own {
        tmp: take(&layout.tmp_folder)?,
        cache: take(&layout.cache_folder)?,
    })
}

impl Own {
    /// Covers `/tmp`.
    ///
    /// # Errors
    /// As the kernel says.
    pub fn at_tmp(&self) -> Result<(), StepFailed> {
        match (&self.tmp, std::fs::canonicalize("/tmp")) {
            (Some(tree), Ok(real)) => attach(tree, &real),
            _ => cover("/tmp", "1777", 0),
        }
    }

    /// Makes the place of caches, in the private `/run`.
    ///
    /// # Errors
    /// As the kernel says.
    pub fn at_cache(&self) -> Result<(), StepFailed> {
        mkdir(Path::new(CACHE), 0o700)?;
        match &self.cache {
            Some(tree) => attach(tree, Path::new(CACHE)),
            None => cover(CACHE, "0700", 0),
        }
    }
}

/// What stands at placeholders, in the private `/run`.
const PLACEHOLDER: &str = "/run/.placeholder";

/// Covers a placeholder with a folder, read-only, of which git leaves all alone. An empty one `git clean -d` would want to
/// remove, and `git stash -u` with it, which a mount does not let it.
///
/// # Errors
/// As the kernel says.
pub fn at_placeholder(path: &Path) -> Result<(), StepFailed> {
    let source = Path::new(PLACEHOLDER);
    let failed = |error| StepFailed::new(STEP, "making a placeholder", error);
    let ignore = source.join(".gitignore");
    if !ignore.exists() {
        mkdir(source, 0o755)?;
        std::fs::write(&ignore, "*\n").map_err(failed)?;
    }
    let tree = clone_tree(source, false).map_err(failed)?;
    add_attributes(tree.as_fd(), READ_ONLY | NO_SUID | NO_DEV, false).map_err(failed)?;
    attach(&tree, path)
}

/// Leaves out of `masked` what lies below a `/tmp` of the session's own: the host's file of that name is not there, and what
/// is there is the session's. What comes in with one of the `trees` is the host's.
pub fn not_in_own_tmp(layout: &Layout, mut masked: Vec<PathBuf>, trees: &[PathBuf]) -> Vec<PathBuf> {
    if !layout.tmp_folder.is_empty() {
        masked.retain(|path| !path.starts_with("/tmp") || trees.iter().any(|tree| path.starts_with(tree)));
    }
    masked
}

/// Makes a folder or an empty file, and the folders that lead to it.
///
/// # Errors
/// As the kernel says; `ENOTDIR` or `EEXIST` if something else, such as a link, is on the way.
pub fn make(path: &Path, folder: bool) -> io::Result<()> {
    let mut here = open_path(Path::new("/"))?;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        match part {
            Component::Normal(name) if parts.peek().is_none() && !folder => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                openat(&here, name, flags, Mode::from_raw_mode(0o644))?;
            }
            Component::Normal(name) => {
                match mkdirat(&here, name, Mode::from_raw_mode(0o755)) {
                    // On a tree that is read-only by now the kernel looks at that first.
                    Ok(()) | Err(Errno::EXIST | Errno::ROFS | Errno::ACCESS) => {}
                    Err(error) => return Err(error.into()),
                }
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                here = openat(&here, name, flags, Mode::empty())?;
            }
            Component::RootDir => {}
            _ => return Err(io::Error::from(io::ErrorKind::InvalidInput)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_target_is_made_and_no_link_is_followed() {
        let keep = tempfile::tempdir().unwrap();
        let root = keep.path().canonicalize().unwrap();
        make(&root.join("a/b/folder"), true).unwrap();
        make(&root.join("a/b/file"), false).unwrap();
        assert!(root.join("a/b/folder").is_dir() && root.join("a/b/file").is_file());
        make(&root.join("a/b/folder"), true).unwrap();

        fs::write(root.join("kept"), "x").unwrap();
        symlink(root.join("kept"), root.join("a/link")).unwrap();
        symlink(root.join("a"), root.join("folder-link")).unwrap();
        for (path, folder) in [
            ("a/link", false),
            ("folder-link/new", true),
            ("folder-link/new", false),
            ("a/link", true),
        ] {
            assert!(make(&root.join(path), folder).is_err(), "{path}");
        }
        assert!(fs::read(root.join("kept")).unwrap() == b"x" && !root.join("a/new").exists());
    }

    #[test]
    fn masks_in_a_tmp_of_its_own_are_only_for_what_is_brought_in() {
        let masked = || ["/tmp/s", "/tmp/ws/s", "/run/s"].map(PathBuf::from).to_vec();
        let trees = [PathBuf::from("/tmp/ws")];
        let mut layout = Layout::default();
        assert_eq!(not_in_own_tmp(&layout, masked(), &trees), masked());
        layout.tmp_folder = b"/d".to_vec();
        assert_eq!(not_in_own_tmp(&layout, masked(), &trees), masked()[1..]);
    }
}
