//! The look back after a run: what has appeared under a protected name is put aside.
//!
//! Put aside means renamed beside where it stood, to a name that no program runs or reads. That is visible, loses nothing
//! and works on any file system. In a repository that the command itself made, hooks and executing configuration are put
//! aside; the rest of it stays.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

use super::scan::{Anchor, AnchorKind, Scan};
use super::{Plan, gitconfig, matches, patterns, placeholders, scan};
use crate::printable;

/// Most things that are put aside in one run; beyond it the rest is reported only.
const MAX_MOVES: usize = 10_000;

/// Most folders that are told of because they cannot be looked into.
const MAX_TOLD: usize = 20;

/// What the sweep found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// What was put aside, by its name in the workspace, as a line can show it.
    pub put_aside: Vec<PathBuf>,
    /// What should have been and could not, with the reason, one line each.
    pub failures: Vec<String>,
}

/// Looks again at everything `plan` protects. To be called when no process of the run is left.
#[must_use]
pub fn sweep(plan: &Plan) -> Swept {
    sweep_until(plan, None)
}

/// The same for a run that ended at a known time in the past: what was born later is somebody else's, and stays. Where the
/// file system does not tell when, it counts as the run's.
#[must_use]
pub fn sweep_until(plan: &Plan, ended_at: Option<SystemTime>) -> Swept {
    let born_later = |path: &Path| {
        let born = path.symlink_metadata().and_then(|found| found.created()).ok();
        ended_at.zip(born).is_some_and(|(ended, born)| born > ended)
    };
    let mut swept = Swept::default();
    let mut missing = Vec::new();
    let Scan {
        anchors,
        complete,
        closed,
        ..
    } = scan::scan(&plan.roots);
    let not_seen = closed.iter().take(MAX_TOLD).map(|folder| {
        format!(
            "cannot look into `{}` for protected names: it is closed to its owner",
            printable::path(folder)
        )
    });
    swept.failures.extend(not_seen);
    if !complete && !plan.missing.iter().any(|line| line.starts_with("read-only patterns:")) {
        swept
            .failures
            .push("the workspace has become too large to look for new repositories".to_owned());
    }
    let before: BTreeSet<&Anchor> = plan.anchors.iter().collect();
    let suffix = suffix();
    for (path, identity) in matches(&anchors, &plan.patterns, &mut missing) {
        // Made for another run that goes on, after this one began.
        if plan.existing.get(&path) == Some(&identity) || placeholders::is_in_use(&path) {
            continue;
        }
        // The innermost one: a work tree's own git folder lies inside the common one.
        let around = |anchor: &&Anchor| {
            (anchor.kind == AnchorKind::GitFolder && path.starts_with(&anchor.path)) || anchor.path == path
        };
        let git = anchors
            .iter()
            .filter(around)
            .max_by_key(|anchor| anchor.path.components().count());
        let culprits = match git {
            Some(anchor) if anchor.kind == AnchorKind::Pointer => pointer_culprits(&path, plan, &anchors),
            Some(anchor) => git_culprits(&path, before.contains(anchor), &anchors),
            None => vec![path.clone()],
        };
        if culprits.is_empty() && plan.existing.contains_key(&path) && path.is_file() {
            // Replaced from outside: the mount on it went with the old file, and the command may have written the new one.
            swept.failures.push(format!(
                "`{}` was replaced during the run and runs nothing; make sure that it says what you want",
                printable::path(&path)
            ));
        }
        for culprit in culprits.into_iter().filter(|culprit| !born_later(culprit)) {
            put_aside(&culprit, &suffix, &mut swept);
        }
    }
    let appeared = |path: &&PathBuf| path.symlink_metadata().is_ok() && !born_later(path);
    for path in plan.absent.iter().filter(appeared) {
        put_aside(path, &suffix, &mut swept);
    }
    swept.failures.extend(missing);
    swept
}

/// A new pointer file is harmless if it leads to a git folder that is looked at itself; a changed one never is.
fn pointer_culprits(path: &Path, plan: &Plan, anchors: &[Anchor]) -> Vec<PathBuf> {
    let target = match path.symlink_metadata() {
        Ok(found) if found.is_symlink() => path.canonicalize().ok(),
        _ => gitconfig::pointed_to(path),
    };
    let harmless = target.is_some_and(|target| is_git_folder(&target, anchors));
    if harmless && !plan.existing.contains_key(path) {
        Vec::new()
    } else {
        vec![path.to_path_buf()]
    }
}

fn is_git_folder(path: &Path, anchors: &[Anchor]) -> bool {
    anchors
        .iter()
        .any(|anchor| anchor.kind == AnchorKind::GitFolder && anchor.path == path)
}

/// What of a new path in a git folder would run something.
fn git_culprits(path: &Path, repository_is_old: bool, anchors: &[Anchor]) -> Vec<PathBuf> {
    match path.file_name().and_then(|name| name.to_str()) {
        Some("hooks") if path.is_dir() => fs::read_dir(path)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| !patterns::os_name_matches("*.sample", &entry.file_name()))
            .filter(|entry| !patterns::os_name_matches("*.quarantined-*", &entry.file_name()))
            .map(|entry| entry.path())
            .collect(),
        Some("config") => executing(path),
        Some("config.worktree") if !repository_is_old => executing(path),
        Some("commondir") if !repository_is_old => {
            let harmless = gitconfig::common_folder(path).is_some_and(|common| is_git_folder(&common, anchors));
            if harmless { Vec::new() } else { vec![path.to_path_buf()] }
        }
        // Names programs only together with a configuration, which is looked at itself.
        Some("attributes" | "info" | "gitdir") if !repository_is_old => Vec::new(),
        _ => vec![path.to_path_buf()],
    }
}

fn executing(path: &Path) -> Vec<PathBuf> {
    match gitconfig::read_bounded(path) {
        Some(text) if gitconfig::executing_keys(&text).is_empty() => Vec::new(),
        // Not readable, too large or a link: not known to be harmless.
        _ => vec![path.to_path_buf()],
    }
}

fn put_aside(path: &Path, suffix: &str, swept: &mut Swept) {
    if swept.put_aside.len() >= MAX_MOVES {
        if swept
            .failures
            .last()
            .is_none_or(|last| last != "too many protected names have appeared")
        {
            swept.failures.push("too many protected names have appeared".to_owned());
        }
        return;
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return;
    };
    let mut new_name = name.to_owned();
    new_name.push(suffix);
    // The folder is reached without links and both names are looked up in it, so that nothing elsewhere is renamed.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let moved = rustix::fs::openat2(CWD, folder, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).and_then(|folder| {
        rustix::fs::renameat_with(&folder, name, &folder, &new_name, rustix::fs::RenameFlags::NOREPLACE)
    });
    match moved {
        Ok(()) => swept.put_aside.push(printable::path(path).into()),
        // Gone with a link or pointer that was put aside before.
        Err(rustix::io::Errno::NOENT) if path.symlink_metadata().is_err() => {}
        // The link on the way was made by the command: it goes, whatever it leads to.
        Err(rustix::io::Errno::LOOP) => put_aside_link(path, suffix, swept),
        Err(error) => swept
            .failures
            .push(format!("cannot put aside `{}`: {error}", printable::path(path))),
    }
}

/// Puts aside the first link on the way to `path`, if it is not one that was there before the run.
fn put_aside_link(path: &Path, suffix: &str, swept: &mut Swept) {
    let ancestors: Vec<&Path> = path.ancestors().skip(1).collect();
    let link = ancestors
        .into_iter()
        .rev()
        .find(|ancestor| ancestor.symlink_metadata().is_ok_and(|found| found.is_symlink()));
    match link {
        Some(link) => put_aside(link, suffix, swept),
        None => swept.failures.push(format!(
            "cannot put aside `{}`: a link on the way changes",
            printable::path(path)
        )),
    }
}

fn suffix() -> String {
    let id = uuid::Uuid::now_v7().simple().to_string();
    let tail = id.get(id.len().saturating_sub(12)..).unwrap_or_default();
    format!(".quarantined-{tail}")
}

/// Device and inode, for tests and reports.
#[must_use]
pub fn identity(path: &Path) -> Option<super::Identity> {
    path.metadata().ok().map(|found| (found.dev(), found.ino()))
}
