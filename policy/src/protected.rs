//! Paths that always need a person, which of them the sandbox keeps read-only, and commands that destroy.
//!
//! What is written to a protected path runs later, outside every sandbox and without a question: a hook at the next `git`
//! command, a startup file at the next login, an agent's own settings at its next start. So a change needs a person in
//! every mode, and no allow rule lifts that. Reading is free.
//!
//! The table knows names, not meanings. A name counts in every spelling that some file system equates with it, on every
//! host: which file system a path lies on is not known, and nobody calls two files `.git` and `.GIT` for good reasons.
//! Paths of Portcullis itself are no names but facts of the host, and stand in the request.

mod critical;
mod destructive;
mod names;
mod table;

use std::{borrow::Cow, sync::LazyLock};

use crate::{AbsPath, path::plain};

pub(crate) use critical::{holds_more_than_the_workspace, may_be_raw_device};
pub use critical::{is_critical, is_critical_pattern, is_raw_device};
pub(crate) use destructive::{destroys, forks_without_end};
use table::CONTENTS;
pub use table::{PROTECTED, Protected, SANDBOX_FOLDERS};

/// What of the protection the team has switched off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// The folders of agents (`.cursor`, `.claude`, …) are free, except the files in them that hold permissions and hooks.
    pub agent_directories_off: bool,
}

/// The first segments of all entries: most paths hold none of them, and need no look at the entries.
struct Beginnings {
    /// Whole names, sorted.
    names: Vec<&'static str>,
    /// Endings of names.
    endings: Vec<&'static str>,
}

static BEGINNINGS: LazyLock<Beginnings> = LazyLock::new(|| {
    let first = PROTECTED.iter().filter_map(|entry| entry.segments.first().copied());
    let (endings, mut names): (Vec<_>, Vec<_>) = first.partition(|name| name.starts_with('*'));
    names.sort_unstable();
    let endings = endings.iter().filter_map(|name| name.strip_prefix('*')).collect();
    Beginnings { names, endings }
});

impl Beginnings {
    /// Whether an entry may begin with this segment, which is folded.
    fn hold(&self, segment: &str) -> bool {
        self.names.binary_search(&segment).is_ok() || self.endings.iter().any(|ending| segment.ends_with(ending))
    }
}

/// The entry that protects a path, if one does.
#[must_use]
pub fn protects(path: &AbsPath, switches: Switches) -> Option<&'static Protected> {
    let segments: Vec<Cow<'_, str>> = path.segments().map(names::folded).collect();
    let short_names = path.as_str().contains('~');
    if !short_names && !segments.iter().any(|segment| BEGINNINGS.hold(segment)) {
        return None;
    }
    let raw: Vec<&str> = path.segments().collect();
    PROTECTED.iter().find(|entry| {
        let width = entry.segments.len();
        (0..=segments.len().saturating_sub(width)).any(|at| {
            let named = (0..width).all(|offset| {
                let own = segments.get(at + offset).map_or("", Cow::as_ref);
                let spelled = raw.get(at + offset).copied().unwrap_or_default();
                let name = entry.segments.get(offset).copied().unwrap_or_default();
                !own.is_empty() && (is_named(own, name) || (short_names && names::is_short_name_of(spelled, name)))
            });
            let below = segments.get(at + width..).unwrap_or_default();
            let exempt = below.first().is_some_and(|next| entry.exempt.contains(&next.as_ref()));
            let free = switches.agent_directories_off && entry.switchable && !stays_protected(entry, below);
            named && !exempt && !free
        })
    })
}

/// Whether a path below an agent's folder is protected although the team has switched the folder's protection off.
fn stays_protected(entry: &Protected, below: &[Cow<'_, str>]) -> bool {
    // The folder itself goes with all that is in it.
    if below.is_empty() {
        return true;
    }
    let below = plain::literal(below.iter().map(Cow::as_ref));
    entry.sandbox.iter().any(|pattern| {
        let within = pattern.split_once('/').map_or("", |(_, rest)| rest);
        plain::meet(&plain::parse(within).iter().collect::<Vec<_>>(), &below)
    })
}

fn is_named(segment: &str, name: &str) -> bool {
    match name.strip_prefix('*') {
        Some(ending) => segment.ends_with(ending),
        None => segment == name,
    }
}

/// Whether a pattern of the shell (an absolute path with wildcards) can stand for a protected path.
///
/// Only a pattern with a wildcard in one of the protected segments' places, or with such a segment in words, counts:
/// `src/*.rs` does not stand for `.git`, because a wildcard does not stand for a dot at the beginning of a name.
#[must_use]
pub fn protects_pattern(pattern: &str, switches: Switches) -> Option<&'static Protected> {
    let lower = names::folded_text(pattern);
    // `**` of the shell stands for no name with a dot at the beginning, so no protected name is among what it stands for.
    let theirs: Vec<plain::Segment> = plain::parse(&lower)
        .into_iter()
        .filter(|segment| !matches!(segment, plain::Segment::Deep | plain::Segment::Shown))
        .collect();
    PROTECTED.iter().find(|entry| {
        if switches.agent_directories_off && entry.switchable {
            // Which of its files is met is not told apart; those that stay protected have their own patterns.
            return entry.sandbox.iter().any(|pattern| {
                let ours = plain::parse(&format!("**/{pattern}"));
                plain::meet(&ours.iter().collect::<Vec<_>>(), &theirs)
            });
        }
        if entry.segments.iter().any(|name| !name.starts_with('.')) {
            // Names without a dot at the beginning would meet every `*`: only their words count.
            let names: Vec<&str> = lower.split('/').filter(|name| !name.is_empty()).collect();
            return names
                .windows(entry.segments.len())
                .any(|own| own.iter().zip(entry.segments).all(|(own, name)| is_named(own, name)));
        }
        let ours = plain::parse(&format!("**/{}/**", entry.segments.join("/")));
        plain::meet(&ours.iter().collect::<Vec<_>>(), &theirs)
    })
}

/// Protected paths that are known by their whole names, each with its entry: those of the table, and what usually lies in
/// its folders that is run or obeyed. A name may begin with `*`.
pub(crate) fn known_paths() -> impl Iterator<Item = (&'static str, &'static Protected)> {
    static KNOWN: LazyLock<Vec<(String, &'static Protected)>> = LazyLock::new(|| {
        let own = PROTECTED.iter().map(|entry| (entry.segments.join("/"), entry));
        let below = CONTENTS.iter().flat_map(|(folder, names)| {
            let entry = PROTECTED.iter().find(|entry| entry.segments.join("/") == *folder);
            let paths = names.iter().map(move |name| format!("{folder}/{name}"));
            entry
                .into_iter()
                .flat_map(move |entry| paths.clone().map(move |path| (path, entry)))
        });
        own.chain(below).collect()
    });
    KNOWN.iter().map(|(path, entry)| (path.as_str(), *entry))
}

/// The entry that a name alone is under, wherever it lies: what a copy of a folder brings along.
#[must_use]
pub(crate) fn protects_name(name: &str, switches: Switches) -> Option<&'static Protected> {
    protects(&AbsPath::root().join(name), switches)
}

/// What the sandbox keeps read-only inside a writable workspace: gitignore patterns relative to every
/// repository and root in it.
///
/// A `.git` that is a file (a pointer to the repository of a work tree or submodule) is read-only too; that it is a file
/// only the host knows, so no pattern says it.
#[must_use]
pub fn sandbox_read_only_patterns() -> Vec<String> {
    PROTECTED
        .iter()
        .flat_map(|entry| entry.sandbox)
        .map(|pattern| (*pattern).to_owned())
        .collect()
}

#[cfg(test)]
mod tests;
