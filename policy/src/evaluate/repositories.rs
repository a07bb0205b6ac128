//! Where git looks, and whether it runs nothing else there.
//!
//! What git reads of a repository's configuration can make it run programs. So a git command that only looks is judged by
//! the facts on the repository of every folder that it may work in: that of the request, or one that the host was asked
//! about. It does not judge which files git shows.

use crate::{
    AbsPath,
    facts::Repository,
    shell::{Access, Analysis, Command, CommandClass, FileTarget, Word},
};

use super::{trees, world::World};

/// The folders that a git command which only looks may work in, if all are known.
pub(super) fn folders(analysis: &Analysis, index: usize, command: &Command, cwd: &AbsPath) -> Option<Vec<AbsPath>> {
    if command.class != CommandClass::ReadOnlyGit {
        return None;
    }
    let begins = begins(analysis, index, cwd)?;
    let Some(named) = command.git_folder() else {
        return Some(begins);
    };
    let named = named.filter(|text| is_followed(text))?;
    Some(begins.iter().map(|folder| folder.join(named)).collect())
}

/// The folders that the shell may be in when the command begins.
fn begins(analysis: &Analysis, index: usize, cwd: &AbsPath) -> Option<Vec<AbsPath>> {
    if analysis.moved.contains(&index) {
        analysis.git_places.get(&index).cloned()
    } else {
        Some(vec![cwd.clone()])
    }
}

/// Whether the folder of `git -C` is where its words say, if the folder that it begins at is no link: the kernel takes
/// `..` behind a name from where that name leads.
fn is_followed(text: &str) -> bool {
    let mut names = text
        .split('/')
        .filter(|segment| !matches!(*segment, "" | "."))
        .skip_while(|segment| *segment == "..");
    !text.starts_with('~') && names.all(|segment| segment != "..")
}

impl World<'_> {
    /// Why a git command that only looks may run other programs, or is not understood; `None` if it surely only looks.
    pub(super) fn git_runs_others(&self, analysis: &Analysis, index: usize, command: &Command) -> Option<&'static str> {
        let cwd = &self.workspace.cwd;
        let named = command.git_folder();
        // `git -C ..` leaves the folder that a link leads to.
        let climbs = named.flatten().is_some_and(|text| text.contains(".."));
        let folders = folders(analysis, index, command, cwd);
        let straight = !climbs || self.real(cwd) == Some(cwd);
        let here = folders.as_deref() == Some(std::slice::from_ref(cwd)) && straight;
        if here && !analysis.moved.contains(&index) {
            let what = "git may run programs that the repository's configuration names";
            let quiet = self.repository_is_quiet() && !makes_repository(analysis, cwd);
            return (!quiet).then_some(what);
        }
        let unknown = Some("git in another folder, whose configuration is not known");
        let (Some(begins), Some(folders)) = (begins(analysis, index, cwd), folders) else {
            return unknown;
        };
        if climbs && !begins.iter().all(|folder| self.real(folder) == Some(folder)) {
            return unknown;
        }
        if trees::git_reads_untracked(command) {
            return Some("git that shows untracked files of another folder");
        }
        if names_from_the_top(command) && !folders.iter().all(|folder| self.is_top(folder)) {
            return Some("git in a folder of a repository, with a path that counts from the repository's top");
        }
        let quiet = |folder: &AbsPath| {
            self.is_quiet_in(folder) && !is_replaced(analysis, folder) && !makes_repository(analysis, folder)
        };
        if folders.iter().all(quiet) { None } else { unknown }
    }

    fn is_top(&self, folder: &AbsPath) -> bool {
        match self.request.facts.git_folders.get(folder) {
            Some(Repository::Known { root, .. }) => self.real(folder) == Some(root),
            _ => false,
        }
    }

    /// Whether git runs nothing in a folder: it lies in the workspace, and in the repository of the request if that runs
    /// nothing, or in another one that lies in the workspace and runs nothing. Trust is in the request's project alone.
    fn is_quiet_in(&self, folder: &AbsPath) -> bool {
        if *folder == self.workspace.cwd {
            return self.repository_is_quiet();
        }
        if !self.is_inside(folder) {
            return false;
        }
        match (
            self.request.facts.git_folders.get(folder),
            &self.request.facts.repository,
        ) {
            (Some(Repository::None), _) => true,
            (Some(Repository::Known { root, .. }), Repository::Known { root: own, .. }) if root == own => {
                self.repository_is_quiet()
            }
            (Some(Repository::Known { root, executing_keys }), _) => {
                executing_keys.is_empty() && self.is_really_inside(root)
            }
            (Some(Repository::Unknown) | None, _) => false,
        }
    }
}

/// Whether a word may name a path from the repository's top: `HEAD:a`, `:/a`, `:(top)a`.
fn names_from_the_top(command: &Command) -> bool {
    let format = |text: &str| text.starts_with("--format=") || text.starts_with("--pretty=");
    command.words.iter().skip(1).any(|word| match word {
        Word::Literal(text) => text.contains(':') && !format(text),
        Word::Dynamic { source, pattern } => !pattern || source.contains(':'),
    })
}

/// What a line changes or removes.
fn changes(analysis: &Analysis) -> impl Iterator<Item = &FileTarget> {
    let files = analysis.commands.iter().flat_map(|command| &command.files);
    files
        .filter(|access| access.access != Access::Read)
        .map(|access| &access.target)
}

/// Whether the line itself puts something else in a folder's place, or may: what the host found out does not hold then.
fn is_replaced(analysis: &Analysis, folder: &AbsPath) -> bool {
    changes(analysis).any(|target| match target {
        FileTarget::Path(path) => folder.is_within(path),
        FileTarget::Pattern { folder: below, .. } => folder.is_within(below),
        FileTarget::Unknown(_) => true,
    })
}

/// Names of which git makes out that a folder is a repository without a work tree. Unlike `.git` they are not protected.
const BARE: &[&str] = &["HEAD", "objects", "refs", "config", "commondir"];

/// Whether the line itself makes the folder, or one around it, a repository without a work tree.
fn makes_repository(analysis: &Analysis, folder: &AbsPath) -> bool {
    changes(analysis).any(|target| match target {
        FileTarget::Path(path) => {
            BARE.iter().any(|name| path.file_name().eq_ignore_ascii_case(name))
                && path.parent().is_some_and(|parent| folder.is_within(&parent))
        }
        FileTarget::Pattern { .. } | FileTarget::Unknown(_) => false,
    })
}
