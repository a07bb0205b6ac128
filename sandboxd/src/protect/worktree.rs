//! Linked work trees: what of the repository elsewhere a commit has to write.
//!
//! The work tree's `.git` is a file that names a folder in another repository's `.git/worktrees/`. Without write access
//! there, and to the common objects, references and logs, nothing can be committed. All of that and no more is opened, and
//! only if that repository, which the sandbox cannot write, names this work tree in return: a pointer file alone, which
//! anybody who writes to the project can make, opens nothing.

use std::path::{Path, PathBuf};

use super::gitconfig::{common_folder, pointed_to, read_bounded};

/// Parts of the common git folder that a commit writes. Not its configuration, hooks or other work trees.
const COMMON: [&str; 3] = ["objects", "refs", "logs"];

/// The folders that belong to the work tree at `root` (a real path) and lie elsewhere; none for anything else.
#[must_use]
pub fn folders_of(root: &Path) -> Vec<PathBuf> {
    linked(root).unwrap_or_default()
}

fn linked(root: &Path) -> Option<Vec<PathBuf>> {
    let pointer = root.join(".git");
    if !pointer.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let own = pointed_to(&pointer)?;
    let common = common_folder(&own.join("commondir"))?;
    if own.parent() != Some(common.join("worktrees").as_path()) || common.starts_with(root) {
        return None;
    }
    let back = String::from_utf8(read_bounded(&own.join("gitdir"))?).ok()?;
    if own.join(back.trim()).canonicalize().ok()? != pointer {
        return None;
    }
    let common = COMMON.iter().map(|name| common.join(name));
    // Each as it is, not where a link leads.
    Some(
        [own.clone()]
            .into_iter()
            .chain(common)
            .filter(|path| path.canonicalize().is_ok_and(|real| real == *path))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A repository with one linked work tree.
    fn linked_work_tree() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let keep = tempfile::tempdir().unwrap();
        let root = keep.path().canonicalize().unwrap();
        let (common, work_tree) = (root.join("main/.git"), root.join("w"));
        let own = common.join("worktrees/w");
        for folder in [
            &own,
            &common.join("objects"),
            &common.join("refs"),
            &common.join("hooks"),
            &work_tree,
        ] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(own.join("gitdir"), format!("{}\n", work_tree.join(".git").display())).unwrap();
        fs::write(work_tree.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        (keep, common, work_tree)
    }

    #[test]
    fn what_a_commit_writes_is_opened_and_no_more() {
        let (_keep, common, work_tree) = linked_work_tree();
        let wanted = [common.join("worktrees/w"), common.join("objects"), common.join("refs")];
        assert_eq!(folders_of(&work_tree), wanted);
        assert!(folders_of(&common).is_empty());
    }

    #[test]
    fn a_pointer_that_the_repository_does_not_return_opens_nothing() {
        let (_keep, common, work_tree) = linked_work_tree();
        let impostor = work_tree.with_file_name("impostor");
        fs::create_dir(&impostor).unwrap();
        fs::copy(work_tree.join(".git"), impostor.join(".git")).unwrap();
        assert!(folders_of(&impostor).is_empty());
        fs::write(impostor.join(".git"), format!("gitdir: {}\n", common.display())).unwrap();
        assert!(folders_of(&impostor).is_empty());
    }
}
