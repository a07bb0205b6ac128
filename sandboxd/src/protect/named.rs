//! Files in the workspace that git's configuration names, and so runs or reads as configuration at the next `git` command.
//!
//! Read are the configurations of every repository in the workspace and of the one around it, wherever their git folder
//! lies, those of the user and the host (a relative `core.hooksPath` there names a folder in every repository), and what
//! these include. What they name inside the workspace counts as protected; what does not exist there may not appear.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::gitconfig::{Reference, common_folder, pointed_to, read_bounded, references};
use super::is_within;
use super::scan::{Anchor, AnchorKind};

/// Most configuration files that are read for one repository, with those that are included.
const MAX_FILES: usize = 64;

/// Most words of a command line that are looked at.
const MAX_WORDS: usize = 32;

/// Most folders that are looked at on the way up from a workspace to the repository around it.
const MAX_DEPTH: usize = 256;

/// What was found.
#[derive(Debug, Default)]
pub struct Named {
    /// Existing files and folders, real paths in the workspace.
    pub existing: BTreeSet<PathBuf>,
    /// What does not exist and would lie in the workspace.
    pub absent: BTreeSet<PathBuf>,
    /// What is named and cannot be protected.
    pub too_wide: BTreeSet<PathBuf>,
}

/// Looks at all configurations that apply in the workspace. `shared` are those of the user and the host.
#[must_use]
pub fn named(anchors: &[Anchor], roots: &[PathBuf], shared: &[PathBuf]) -> Named {
    let mut found = Named::default();
    let mut seen = BTreeSet::new();
    for anchor in anchors {
        let place = match anchor.kind {
            AnchorKind::Root => repository_around(&anchor.path),
            // A bare one; a folder `.git` and what lies in it is found from its work tree.
            AnchorKind::GitFolder if !is_in_git_folder(&anchor.path) => {
                Some((anchor.path.clone(), anchor.path.clone()))
            }
            AnchorKind::GitFolder | AnchorKind::Pointer => None,
        };
        let Some((work_tree, git_folder)) = place else {
            continue;
        };
        if !seen.insert((work_tree.clone(), git_folder.clone())) {
            continue;
        }
        let common = common_folder(&git_folder.join("commondir")).unwrap_or_else(|| git_folder.clone());
        let own = [
            common.join("config"),
            git_folder.join("config.worktree"),
            common.join("config.worktree"),
        ];
        let mut reader = Reader {
            work_tree: &work_tree,
            roots,
            files: own.into_iter().chain(shared.iter().cloned()).collect(),
            read: BTreeSet::new(),
            found: &mut found,
        };
        reader.read_all();
    }
    // Where the home folder is the workspace, these lie in it.
    for file in shared {
        found.take(file, roots);
    }
    found
}

fn is_in_git_folder(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == ".git")
}

/// The configurations of the user and the host, where git looks for them.
#[must_use]
pub fn shared_configurations() -> Vec<PathBuf> {
    let home = std::env::home_dir();
    let xdg = std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let xdg = xdg.or_else(|| home.as_ref().map(|home| home.join(".config")));
    let of_user = home.map(|home| home.join(".gitconfig"));
    [
        Some(PathBuf::from("/etc/gitconfig")),
        xdg.map(|xdg| xdg.join("git/config")),
        of_user,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The work tree and the git folder that apply in a folder.
fn repository_around(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    folder.ancestors().take(MAX_DEPTH).find_map(|work_tree| {
        let git = work_tree.join(".git");
        let git_folder = if git.is_dir() {
            git.canonicalize().ok()?
        } else {
            pointed_to(&git)?
        };
        Some((work_tree.to_path_buf(), git_folder))
    })
}

/// Follows one repository's configurations.
struct Reader<'a> {
    work_tree: &'a Path,
    roots: &'a [PathBuf],
    /// Still to be read.
    files: Vec<PathBuf>,
    read: BTreeSet<PathBuf>,
    found: &'a mut Named,
}

impl Reader<'_> {
    fn read_all(&mut self) {
        while let Some(file) = self.files.pop() {
            let Ok(real) = file.canonicalize() else { continue };
            if self.read.len() >= MAX_FILES || !self.read.insert(real.clone()) {
                continue;
            }
            let Some(text) = read_bounded(&real) else { continue };
            for reference in references(&text) {
                match reference {
                    Reference::Include(path) => {
                        let included = resolve(real.parent().unwrap_or(Path::new("/")), &path);
                        self.take(&included);
                        self.files.push(included);
                    }
                    Reference::Path(path) => self.take_path(&resolve(self.work_tree, &path)),
                    Reference::Program(line) => self.take_program(&line),
                }
            }
        }
    }

    fn take_path(&mut self, path: &Path) {
        self.take(path);
        // husky names `.husky/_`, whose files run those of the same names beside it.
        if path.file_name().is_some_and(|name| name == "_")
            && let Some(around) = path.parent()
            && around.is_dir()
            && !self.is_root(around)
        {
            self.take(around);
        }
    }

    /// Programs and scripts in a command line, as far as they are files in the workspace.
    fn take_program(&mut self, line: &str) {
        let is_quote = |c: char| matches!(c, '!' | '\'' | '"' | ';' | '(' | ')');
        for (at, word) in line.split_whitespace().take(MAX_WORDS).enumerate() {
            let word = word.trim_matches(is_quote);
            // The first without a slash is looked up in PATH; a `%` stands for what git puts in.
            if word.is_empty() || word.contains('%') || (at == 0 && !word.contains('/')) {
                continue;
            }
            let path = resolve(self.work_tree, word);
            if at == 0 || path.is_file() {
                self.take(&path);
            }
        }
    }

    fn take(&mut self, path: &Path) {
        self.found.take(path, self.roots);
    }

    fn is_root(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| root == path)
    }
}

impl Named {
    fn take(&mut self, path: &Path, roots: &[PathBuf]) {
        let is_root = |path: &Path| roots.iter().any(|root| root == path);
        match path.canonicalize() {
            Ok(real) if is_root(&real) => {
                self.too_wide.insert(real);
            }
            Ok(real) if is_within(&real, roots) => {
                self.existing.insert(real);
            }
            Ok(_) => {}
            // INVARIANT: only in the workspace: what is listed here is renamed if it appears.
            Err(_) if is_within(path, roots) && !is_root(path) => {
                self.absent.insert(path.to_path_buf());
            }
            Err(_) => {}
        }
    }
}

/// A path as git reads it: relative to `base`, `~/` for the home folder, without `.` and `..`.
fn resolve(base: &Path, text: &str) -> PathBuf {
    let path = match (text.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => base.join(text),
    };
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_home_folder_the_users_own_configuration_is_protected() {
        let keep = tempfile::tempdir().unwrap();
        let home = keep.path().canonicalize().unwrap();
        std::fs::write(home.join(".gitconfig"), "").unwrap();
        let shared = [
            home.join(".gitconfig"),
            home.join(".config/git/config"),
            "/nowhere/gitconfig".into(),
        ];
        let found = named(&[], std::slice::from_ref(&home), &shared);
        assert!(found.existing.iter().eq([&shared[0]]) && found.absent.iter().eq([&shared[1]]));
        let elsewhere = named(&[], &[home.join("project")], &shared);
        assert!(elsewhere.existing.is_empty() && elsewhere.absent.is_empty());
    }
}
