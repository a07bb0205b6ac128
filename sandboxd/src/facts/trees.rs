//! Which names stand below the folders that a call reads as a whole.
//!
//! The daemon does not know the team's rules, so it cannot say which files are denied. It says which names there are: the
//! engine needs no more to tell whether a rule can be about one of them. Names are told once, wherever they lie, so a tree
//! of a hundred thousand files is a list of some thousand names. Links are not followed. Bounded in entries and in time;
//! what was not looked through in time is said to be incomplete, and the engine asks then.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use portcullis_policy::facts::TreeNeeded;
use portcullis_proto::v1::{LinkFact, PathKind, TreeFact};

use super::resolve;
use crate::listing::{self, Kind};

/// Most entries that are looked at for one call: half a second with a warm cache.
const MAX_ENTRIES: usize = 200_000;
/// Longest time for one call.
const TIME: Duration = Duration::from_millis(500);
/// Most names of one kind that are told of one folder; the wire takes no more.
const MAX_NAMES: usize = 20_000;
/// Most links that are told of one folder; the wire takes no more.
const MAX_LINKS: usize = 1000;

/// Looks through folders, until all is seen or time is up.
#[must_use]
pub fn look_through(needed: &[TreeNeeded], until: Instant) -> Vec<TreeFact> {
    let until = until.min(Instant::now() + TIME);
    let mut left = MAX_ENTRIES;
    needed.iter().map(|wanted| tree(wanted, until, &mut left)).collect()
}

fn tree(wanted: &TreeNeeded, until: Instant, left: &mut usize) -> TreeFact {
    let named = Path::new(wanted.folder.as_str());
    let mut fact = TreeFact {
        folder: wanted.folder.to_string(),
        complete: true,
        ..TreeFact::default()
    };
    // A file, or nothing, holds nothing.
    let Some(start) = resolve::resolve(named) else {
        fact.complete = false;
        return fact;
    };
    if !matches!(start.kind, PathKind::Directory) {
        return fact;
    }
    let (mut files, mut folders) = (BTreeSet::new(), BTreeSet::new());
    // Each folder really, and as the call names it.
    let mut open: Vec<(PathBuf, PathBuf)> = vec![(start.path, named.to_path_buf())];
    while let Some((real, named)) = open.pop() {
        let Ok(listing) = listing::list(&real, *left) else {
            // What we may not list, a command of the same user may not list either; of another user it is not known.
            fact.complete = false;
            continue;
        };
        *left = left.saturating_sub(listing.len());
        fact.complete &= listing.complete;
        for (name, kind) in listing.iter() {
            let path = real.join(name);
            let Some(name) = name.to_str().map(str::to_owned) else {
                // A name that is not text meets no pattern; but what lies below it might.
                fact.complete = false;
                continue;
            };
            if kind == Kind::Unknown {
                fact.complete = false;
                continue;
            }
            let at = named.join(&name);
            if kind == Kind::Folder {
                if wanted.deep {
                    open.push((path, at));
                }
                folders.insert(name);
                continue;
            }
            if kind == Kind::Link {
                link(&mut fact, &path, &at);
            }
            files.insert(name);
        }
        if *left == 0 || Instant::now() > until {
            fact.complete = false;
            break;
        }
    }
    fact.complete &= files.len() <= MAX_NAMES && folders.len() <= MAX_NAMES;
    fact.files = files.into_iter().take(MAX_NAMES).collect();
    fact.folders = folders.into_iter().take(MAX_NAMES).collect();
    fact
}

fn link(fact: &mut TreeFact, real: &Path, named: &Path) {
    let target = resolve::resolve(real).map(|found| found.path);
    let texts = named.to_str().zip(target.as_deref().and_then(Path::to_str));
    match texts {
        Some((path, real_path)) if fact.links.len() < MAX_LINKS => fact.links.push(LinkFact {
            path: path.to_owned(),
            real_path: real_path.to_owned(),
        }),
        _ => fact.complete = false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_policy::AbsPath;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn look(folder: &Path, deep: bool) -> TreeFact {
        let needed = TreeNeeded {
            folder: AbsPath::parse(folder.to_str().unwrap()).unwrap(),
            deep,
        };
        let until = Instant::now() + Duration::from_secs(60);
        look_through(&[needed], until).remove(0)
    }

    #[test]
    fn names_are_told_once_and_links_with_their_target() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/.env"), "").unwrap();
        fs::write(root.join("a/b/.env"), "").unwrap();
        symlink("a/.env", root.join("l")).unwrap();
        let deep = look(&root, true);
        assert_eq!(
            (deep.files.as_slice(), deep.folders.as_slice()),
            (
                &[".env".to_owned(), "l".to_owned()][..],
                &["a".to_owned(), "b".to_owned()][..]
            )
        );
        assert!(deep.complete);
        assert_eq!(
            deep.links.first().map(|link| link.real_path.clone()),
            Some(root.join("a/.env").to_str().unwrap().to_owned())
        );
        let flat = look(&root, false);
        assert_eq!((flat.files.len(), flat.folders.len(), flat.complete), (1, 1, true));
    }

    #[test]
    fn nothing_and_a_file_hold_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("f"), "").unwrap();
        for name in ["f", "absent"] {
            let fact = look(&folder.path().join(name), true);
            assert!(
                fact.complete && fact.files.is_empty() && fact.folders.is_empty(),
                "{name}"
            );
        }
    }

    #[test]
    fn what_is_not_looked_through_in_time_is_said() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("f"), "").unwrap();
        let needed = TreeNeeded {
            folder: AbsPath::parse(folder.path().to_str().unwrap()).unwrap(),
            deep: true,
        };
        let late = look_through(&[needed], Instant::now());
        assert!(late.first().is_some_and(|fact| !fact.complete));
    }
}
