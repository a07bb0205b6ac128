//! Links that decide where a path leads, and who can replace them.
//!
//! A document names a path once, and it is followed at every run. If a link on the way lies where commands write, the last
//! command chooses what the next one may write.

use std::path::{Component, Path, PathBuf};

/// Most links that are followed, as by the kernel.
const MAX_LINKS: usize = 40;

/// The first link on the way to `path` that lies in one of the folders (real paths), if there is one. What leads nowhere, or
/// round in circles, is no way.
pub(super) fn replaceable(path: &Path, folders: &[PathBuf]) -> Option<PathBuf> {
    let mut rest: Vec<PathBuf> = parts(path);
    let mut here = PathBuf::from("/");
    let mut followed = 0;
    while let Some(part) = rest.pop() {
        if part.as_os_str() == ".." {
            here.pop();
            continue;
        }
        let next = here.join(&part);
        let Ok(target) = next.read_link() else {
            // No link, or nothing.
            here = next;
            continue;
        };
        if folders.iter().any(|folder| here.starts_with(folder)) {
            return Some(next);
        }
        followed += 1;
        if followed > MAX_LINKS {
            return None;
        }
        if target.is_absolute() {
            here = PathBuf::from("/");
        }
        rest.extend(parts(&target));
    }
    None
}

/// Its parts, the last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    let named = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(PathBuf::from(name)),
        Component::ParentDir => Some(PathBuf::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    let mut parts: Vec<PathBuf> = named.collect();
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_that_commands_can_replace_is_found_wherever_it_stands_on_the_way() {
        let keep = tempfile::tempdir().unwrap();
        let root = keep.path().canonicalize().unwrap();
        let (workspace, outside) = (root.join("ws"), root.join("out"));
        fs::create_dir_all(workspace.join("sub")).unwrap();
        fs::create_dir_all(outside.join("deep")).unwrap();
        symlink(&outside, workspace.join("link")).unwrap();
        symlink("sub", workspace.join("inner")).unwrap();
        symlink(&workspace, root.join("way")).unwrap();
        symlink(workspace.join("link"), root.join("two-steps")).unwrap();
        symlink(&outside, root.join("fixed")).unwrap();
        symlink("circle", root.join("circle")).unwrap();
        let folders = [workspace.clone()];
        let found = |path: &str| replaceable(&root.join(path), &folders);
        for path in [
            "ws/link",
            "ws/link/deep",
            "way/link",
            "two-steps",
            "ws/sub/../link",
            "ws/inner",
        ] {
            assert!(found(path).is_some_and(|link| link.starts_with(&workspace)), "{path}");
        }
        for path in [
            "ws",
            "ws/sub",
            "ws/new",
            "way/sub",
            "out/deep",
            "fixed/deep",
            "circle",
            "missing/x",
        ] {
            assert_eq!(found(path), None, "{path}");
        }
    }
}
