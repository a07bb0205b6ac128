//! Where a path really leads, also if what it leads to does not exist yet.
//!
//! `canonicalize` gives up on a link to nothing, but a write through such a link creates what it names; so every step is
//! walked here.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use portcullis_proto::v1::PathKind;

/// Most links that are followed for one path, as the kernel has it.
const MAX_LINKS: usize = 40;

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Without links; what does not exist is appended as named.
    pub path: PathBuf,
    /// What stands there.
    pub kind: PathKind,
}

/// Follows a path. `None` if it cannot be found out.
#[must_use]
pub fn resolve(path: &Path) -> Option<Resolved> {
    let mut ahead: VecDeque<OsString> = VecDeque::new();
    push_front(&mut ahead, path)?;
    let mut at = PathBuf::from("/");
    let mut kind = PathKind::Directory;
    let mut links = 0;
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            at.pop();
            kind = PathKind::Directory;
            continue;
        }
        let next = at.join(&name);
        match fs::symlink_metadata(&next) {
            Ok(found) if found.is_symlink() => {
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                let target = fs::read_link(&next).ok()?;
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                push_front(&mut ahead, &target)?;
            }
            Ok(found) => {
                kind = match found.file_type() {
                    kind if kind.is_dir() => PathKind::Directory,
                    kind if kind.is_file() => PathKind::File,
                    _ => PathKind::Other,
                };
                at = next;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                kind = PathKind::Absent;
                at = next;
            }
            Err(_) => return None,
        }
    }
    Some(Resolved { path: at, kind })
}

/// Puts a path's segments before what is still ahead. `None` for a segment that has no meaning here.
fn push_front(ahead: &mut VecDeque<OsString>, path: &Path) -> Option<()> {
    for part in path.components().rev() {
        match part {
            Component::Normal(name) => ahead.push_front(name.to_owned()),
            Component::ParentDir => ahead.push_front("..".into()),
            Component::RootDir | Component::CurDir => {}
            Component::Prefix(_) => return None,
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_also_to_what_does_not_exist() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("d")).unwrap();
        fs::write(root.join("d/f"), "").unwrap();
        symlink("d", root.join("l")).unwrap();
        symlink("/nowhere/at/all", root.join("dangling")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let of = |name: &str| resolve(&root.join(name)).map(|found| (found.path, found.kind));
        assert_eq!(of("l/f"), Some((root.join("d/f"), PathKind::File)));
        assert_eq!(of("l/new/x"), Some((root.join("d/new/x"), PathKind::Absent)));
        assert_eq!(of("l/../d"), Some((root.join("d"), PathKind::Directory)));
        assert_eq!(of("dangling"), Some(("/nowhere/at/all".into(), PathKind::Absent)));
        assert_eq!(of("loop"), None);
        assert_eq!(of("d/f/x"), None);
    }
}
