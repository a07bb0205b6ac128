//! Which paths of a workspace must not change in the sandbox, and what is done about those that cannot be covered.
//!
//! Before a run [`plan`] finds every repository in the writable folders (a bounded walk) and every existing path that a
//! protected pattern names there; the launcher mounts those read-only. Of what does not exist, folders in repositories are
//! made for as long as the command runs ([`placeholders`]) and covered too. The rest cannot be covered by a mount without
//! leaving something behind in the workspace that others would see, so after the run [`sweep::sweep`] looks again and renames
//! what has appeared under a protected name, before the result is returned.

pub mod gitconfig;
pub mod hardlinks;
pub mod named;
pub mod note;
pub mod patterns;
pub mod placeholders;
pub mod scan;
pub mod sockets;
pub mod sweep;
pub mod worktree;

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use patterns::Pattern;
use scan::{Anchor, AnchorKind, Scan};

/// Device and inode of a file: which file it is, whatever its name.
pub type Identity = (u64, u64);

/// What is protected in a run, as found before it.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The writable folders, real paths.
    pub roots: Vec<PathBuf>,
    /// The patterns.
    pub patterns: Vec<Pattern>,
    /// Folders the patterns were applied to.
    pub anchors: Vec<Anchor>,
    /// Existing paths under protected names, as named, with what stood there.
    pub existing: BTreeMap<PathBuf, Identity>,
    /// Real paths to mount read-only, sorted; none below another.
    pub protected: Vec<PathBuf>,
    /// Files and folders in the workspace that git's configuration names and that do not exist: nobody may make them.
    pub absent: Vec<PathBuf>,
    /// Unix sockets in the writable folders, whether somebody is reached there or not.
    pub sockets: Vec<PathBuf>,
    /// What could not be protected, one line each.
    pub missing: Vec<String>,
}

/// Finds what is to be protected below `roots` (real paths).
#[must_use]
pub fn plan(roots: &[PathBuf], patterns: &[String]) -> Plan {
    let mut missing = Vec::new();
    let mut read = Vec::new();
    for text in patterns {
        match Pattern::parse(text) {
            Ok(pattern) => read.push(pattern),
            Err(fault) => missing.push(format!("read-only pattern `{text}`: {fault}")),
        }
    }
    // Whoever can write these files points git to another configuration and other hooks, or to another work tree.
    read.extend([".git/commondir", ".git/gitdir"].into_iter().flat_map(Pattern::parse));
    let patterns = read;
    let Scan {
        anchors,
        complete,
        sockets,
        ..
    } = scan::scan(roots);
    if !complete {
        missing.push("read-only patterns: the workspace is too large to find every repository in it".to_owned());
    }
    let mut plan = Plan {
        roots: roots.to_vec(),
        existing: matches(&anchors, &patterns, &mut missing),
        patterns,
        anchors,
        protected: Vec::new(),
        absent: Vec::new(),
        sockets,
        missing,
    };
    let mut protected: Vec<PathBuf> = Vec::new();
    for path in plan.existing.keys() {
        match path.canonicalize() {
            Ok(real) if real.starts_with("/proc") || real.starts_with("/dev") => {}
            Ok(real) => protected.push(real),
            // A link that leads nowhere: what appears behind it is found by the sweep.
            Err(_) => {}
        }
    }
    let named = named::named(&plan.anchors, roots, &named::shared_configurations());
    protected.extend(named.existing);
    plan.absent = named.absent.into_iter().collect();
    plan.missing.extend(named.too_wide.iter().map(|path| {
        format!(
            "what git runs lies in `{}`, which is a whole workspace folder",
            path.display()
        )
    }));
    protected.retain(|path| roots.iter().any(|root| path.starts_with(root)));
    protected.sort();
    protected.dedup();
    // What lies below a protected folder is covered with it.
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in protected {
        if !kept.last().is_some_and(|outer| path.starts_with(outer)) {
            kept.push(path);
        }
    }
    plan.protected = kept;
    plan
}

/// Every existing path that a pattern names below an anchor.
fn matches(anchors: &[Anchor], patterns: &[Pattern], missing: &mut Vec<String>) -> BTreeMap<PathBuf, Identity> {
    let mut found = BTreeMap::new();
    for anchor in anchors {
        let mut take = |path: PathBuf| {
            if let Ok(metadata) = path.symlink_metadata() {
                // A link counts as what it leads to: replacing the link changes the identity.
                let metadata = path.metadata().unwrap_or(metadata);
                found.insert(path, (metadata.dev(), metadata.ino()));
            }
        };
        if anchor.kind == AnchorKind::Pointer {
            take(anchor.path.clone());
            continue;
        }
        for pattern in patterns {
            let Some(segments) = pattern.below(anchor.kind) else {
                continue;
            };
            if !patterns::expand(&anchor.path, segments, &mut take) {
                missing.push(format!(
                    "read-only pattern `{pattern}`: too many matches in `{}`",
                    anchor.path.display()
                ));
            }
        }
    }
    found
}

/// Whether a path is one of the roots or lies below one.
#[must_use]
pub fn is_within(path: &Path, roots: &[PathBuf]) -> bool {
    roots.iter().any(|root| path.starts_with(root))
}

#[cfg(test)]
mod tests;
