//! The git repository around a folder, read from its files. git itself is not run: its configuration may run programs.

use std::path::{Path, PathBuf};

use portcullis_proto::v1::{RepositoryFact, RepositoryState};

use crate::protect::gitconfig;

/// Most folders that are looked at on the way up.
const MAX_DEPTH: usize = 256;

/// Most keys that are told.
const MAX_KEYS: usize = 1024;

/// A repository's places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Repository {
    /// The work tree's root, or the bare repository itself.
    pub(super) root: PathBuf,
    /// This work tree's own git folder.
    pub(super) git_folder: PathBuf,
}

pub(super) enum Search {
    None,
    Found(Repository),
    /// There is something, and it is not understood.
    Unknown,
}

/// What is known about the repository around `cwd`.
#[must_use]
pub fn repository(cwd: &Path) -> RepositoryFact {
    let fact = |state: RepositoryState, root: &Path, executing_keys| RepositoryFact {
        state: state.into(),
        root: root.to_str().unwrap_or_default().to_owned(),
        executing_keys,
    };
    let found = match search(cwd) {
        Search::None => return fact(RepositoryState::None, Path::new(""), Vec::new()),
        Search::Unknown => return fact(RepositoryState::Unspecified, Path::new(""), Vec::new()),
        Search::Found(found) => found,
    };
    match executing_keys(&found.git_folder) {
        Some(keys) if found.root.to_str().is_some() => fact(RepositoryState::Read, &found.root, keys),
        _ => fact(RepositoryState::Unspecified, Path::new(""), Vec::new()),
    }
}

/// What is known about the repository around a folder that the call goes to. Only one with a work tree counts: what makes a
/// folder one without, files named `HEAD` and `config`, is protected from nobody, so it may have been put there.
#[must_use]
pub fn repository_below(folder: &Path) -> RepositoryFact {
    match search(folder) {
        Search::Found(found) if found.root == found.git_folder => RepositoryFact::default(),
        _ => repository(folder),
    }
}

/// The project around a workspace's folder: the work tree's root, else the folder itself. A real path; `None` if the folder
/// cannot be resolved.
#[must_use]
pub fn project_root(folder: &Path) -> Option<PathBuf> {
    match search(folder) {
        Search::Found(found) => Some(found.root),
        Search::None | Search::Unknown => folder.canonicalize().ok(),
    }
}

pub(super) fn search(from: &Path) -> Search {
    let Ok(start) = from.canonicalize() else {
        return Search::Unknown;
    };
    for folder in start.ancestors().take(MAX_DEPTH) {
        let dot_git = folder.join(".git");
        match dot_git.metadata() {
            Ok(found) if found.is_dir() => {
                return Search::Found(Repository {
                    root: folder.to_path_buf(),
                    git_folder: dot_git,
                });
            }
            Ok(_) => {
                return match gitconfig::pointed_to(&dot_git) {
                    Some(git_folder) => Search::Found(Repository {
                        root: folder.to_path_buf(),
                        git_folder,
                    }),
                    None => Search::Unknown,
                };
            }
            Err(_) if dot_git.symlink_metadata().is_ok() => return Search::Unknown,
            Err(_) => {}
        }
        // A bare repository, or the inside of a git folder.
        if folder.join("HEAD").is_file() && (folder.join("objects").is_dir() || folder.join("commondir").is_file()) {
            return Search::Found(Repository {
                root: folder.to_path_buf(),
                git_folder: folder.to_path_buf(),
            });
        }
    }
    Search::None
}

/// All executing keys of a repository; `None` if its configuration cannot be read.
fn executing_keys(git_folder: &Path) -> Option<Vec<String>> {
    let common = common_folder(git_folder)?;
    let mut keys = Vec::new();
    for file in [common.join("config"), git_folder.join("config.worktree")] {
        if file.symlink_metadata().is_err() {
            continue; // git does without.
        }
        for key in gitconfig::executing_keys(&gitconfig::read_bounded(&file)?) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    // The one hook that a reading command runs: `git status` and `git diff` write the index when they refresh it.
    if common.join("hooks").join(READING_HOOK).symlink_metadata().is_ok() {
        keys.push(format!("hooks/{READING_HOOK}"));
    }
    (keys.len() <= MAX_KEYS).then_some(keys)
}

/// The git folder that all work trees share; `None` if it cannot be told.
pub(super) fn common_folder(git_folder: &Path) -> Option<PathBuf> {
    match gitconfig::read_bounded(&git_folder.join("commondir")) {
        Some(text) => git_folder
            .join(String::from_utf8(text).ok()?.trim())
            .canonicalize()
            .ok(),
        None => Some(git_folder.to_path_buf()),
    }
}

/// See githooks(5).
const READING_HOOK: &str = "post-index-change";

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn git_folder(at: &Path, config: &str) {
        fs::create_dir_all(at.join("objects")).unwrap();
        fs::write(at.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(at.join("config"), config).unwrap();
    }

    fn temporary() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        (folder, root)
    }

    #[test]
    fn the_repository_around_is_found_and_its_keys_read() {
        let (_keep, root) = temporary();
        git_folder(&root.join(".git"), "[core]\nfsmonitor = x\n");
        fs::create_dir_all(root.join("a/b")).unwrap();
        let fact = repository(&root.join("a/b"));
        assert_eq!(fact.state(), RepositoryState::Read);
        assert_eq!(fact.root, root.to_str().unwrap());
        assert_eq!(fact.executing_keys, ["core.fsmonitor"]);
        assert_eq!(project_root(&root.join("a/b")), Some(root));
    }

    #[test]
    fn a_linked_work_tree_leads_to_the_common_configuration() {
        let (_keep, root) = temporary();
        let own = root.join("main/.git/worktrees/w");
        git_folder(&root.join("main/.git"), "[alias]\nx = !y\n");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(own.join("config.worktree"), "[core]\nsshCommand = y\n").unwrap();
        fs::create_dir(root.join("w")).unwrap();
        fs::write(root.join("w/.git"), format!("gitdir: {}\n", own.display())).unwrap();
        let fact = repository(&root.join("w"));
        assert_eq!(fact.executing_keys, ["alias.x", "core.sshcommand"]);
    }

    #[test]
    fn a_hook_that_reading_commands_run_counts_as_a_key_and_others_do_not() {
        let (_keep, root) = temporary();
        let hooks = root.join(".git/hooks");
        git_folder(&root.join(".git"), "");
        fs::create_dir(&hooks).unwrap();
        fs::write(hooks.join("pre-commit"), "").unwrap();
        fs::write(hooks.join("post-index-change.sample"), "").unwrap();
        assert!(repository(&root).executing_keys.is_empty());
        fs::write(hooks.join("post-index-change"), "").unwrap();
        assert_eq!(repository(&root).executing_keys, ["hooks/post-index-change"]);
    }

    #[test]
    fn what_is_not_understood_is_unknown() {
        let (_keep, root) = temporary();
        fs::write(root.join(".git"), "gitdir: nowhere").unwrap();
        assert_eq!(repository(&root).state(), RepositoryState::Unspecified);
        fs::remove_file(root.join(".git")).unwrap();
        git_folder(&root.join(".git"), "");
        fs::remove_file(root.join(".git/config")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", root.join(".git/config")).unwrap();
        assert_eq!(repository(&root).state(), RepositoryState::Unspecified);
    }
}
