//! Files that the policy denies reading: every denial of the profile, found by name in the folders of the workspace and in
//! those that may be written, and outside where its words name a place.
//!
//! A pattern that begins with a wildcard at the root of the file system is looked for in the workspace and the writable
//! folders only: to walk every disk before every command would take longer than people wait. The decision, which compares
//! what a command names, is not bound by that.

use std::path::{Path, PathBuf};

use portcullis_policy::AbsPath;
use portcullis_policy::path::{Anchors, Beginning, ReadDenial};
use portcullis_proto::convert::read_denial;
use portcullis_proto::v1;

use super::walk::{Budget, Next, Start, walk};
use super::{Found, MAX_MASKS, Person, is_kernels, outermost};
use crate::listing::Kind;
use crate::prepare::Unpreparable;
use crate::protect::is_within;

/// Most denials of a profile: as many as a merged policy can hold.
const MAX_DENIALS: usize = 100_000;

/// Finds what the denials cover.
///
/// # Errors
/// If one is not understood.
pub fn find(
    denials: &[v1::ReadDenial],
    person: &Person,
    roots: &[PathBuf],
    read_write: &[PathBuf],
) -> Result<Found, Unpreparable> {
    let Some(root) = roots.first().filter(|_| !denials.is_empty()) else {
        return Ok(Found::default());
    };
    if denials.len() > MAX_DENIALS {
        return Err(Unpreparable::Unknown("read_denials"));
    }
    let mut search = Search {
        denials: Vec::new(),
        found: Found::default(),
        budget: Budget::default(),
    };
    let mut folders: Vec<PathBuf> = roots.iter().chain(read_write).cloned().collect();
    outermost(&mut folders);
    let mut beginnings: Vec<Beginning> = Vec::new();
    let mut anchored: Vec<_> = person.homes().map(|home| anchors(root, Some(home), person)).collect();
    if anchored.is_empty() {
        anchored.push(anchors(root, None, person));
    }
    for denial in denials {
        let text = read_denial(denial).ok_or(Unpreparable::Unknown("read_denials"))?;
        let mut spellings = Vec::new();
        // A second home folder is another place for what starts at one, and for nothing else.
        let places = if text.pattern.starts_with('~') {
            anchored.len()
        } else {
            1
        };
        for (named, real) in anchored.iter().take(places) {
            spellings.push((text.clone(), named));
            let folder_really = text.folder.as_ref().map(really);
            if named != real || folder_really != text.folder {
                let text = portcullis_policy::path::DenialText {
                    folder: folder_really,
                    ..text.clone()
                };
                spellings.push((text, real));
            }
        }
        for (text, anchors) in spellings {
            let read = ReadDenial::parse(&text, anchors).map_err(|_| Unpreparable::Unknown("read_denials"))?;
            let places = read.beginnings();
            if places.is_empty() && anchors.home.is_none() && text.pattern.starts_with('~') {
                let missing = format!("unreadable files: `{}`, as no home folder is known", text.pattern);
                search.found.missing.push(missing);
            }
            beginnings.extend(places);
            search.denials.push(read);
        }
    }
    beginnings.sort_by(|one, other| (&one.path, one.depth).cmp(&(&other.path, other.depth)));
    beginnings.dedup();
    let starts = search.starts(&beginnings, &folders);
    for start in &starts {
        search.look_below(start);
    }
    Ok(search.found)
}

/// What patterns are anchored at: as named, and where that really leads.
fn anchors(root: &Path, home: Option<&PathBuf>, person: &Person) -> (Anchors, Anchors) {
    let root = abs(root);
    let named = Anchors {
        document: root.clone(),
        home: home.map(|home| abs(home)),
        cwd: person.cwd.as_deref().map_or_else(|| root.clone(), abs),
        root,
    };
    let real = Anchors {
        document: really(&named.document),
        home: named.home.as_ref().map(really),
        cwd: really(&named.cwd),
        root: really(&named.root),
    };
    (named, real)
}

/// A path as patterns are compared with it. Bytes that are no text become a mark that `*` covers.
fn abs(path: &Path) -> AbsPath {
    AbsPath::root().join(&path.to_string_lossy())
}

fn really(path: &AbsPath) -> AbsPath {
    Path::new(path.as_str())
        .canonicalize()
        .map_or_else(|_| path.clone(), |real| abs(&real))
}

struct Search {
    denials: Vec<ReadDenial>,
    found: Found,
    budget: Budget,
}

/// What is to become of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Covered {
    /// Nothing.
    Not,
    /// It is covered; if it is a folder, something in it may not be.
    Itself,
    /// It is covered with all in it.
    Whole,
}

impl Search {
    /// The folders to walk. What is named in full is dealt with on the way.
    fn starts(&mut self, beginnings: &[Beginning], folders: &[PathBuf]) -> Vec<Start> {
        let mut starts: Vec<Start> = Vec::new();
        let mut inside = false;
        for beginning in beginnings {
            let path = Path::new(beginning.path.as_str());
            let everywhere = path == Path::new("/") && beginning.depth.is_none();
            // Links on the way lead to where the files are.
            let real = path.canonicalize();
            if everywhere {
                inside = true;
                continue;
            }
            let Ok(real) = real else { continue };
            let is_folder = real.is_dir();
            let covered = self.covered(&[beginning.path.clone(), abs(&real)], is_folder);
            if covered == Covered::Whole || (covered == Covered::Itself && !is_folder) {
                self.hide(real);
            } else if is_folder && is_within(&real, folders) {
                inside = true;
            } else if is_folder {
                let depth = beginning.depth.filter(|depth| *depth > 0);
                starts.push(Start {
                    path: path.to_path_buf(),
                    depth,
                });
            }
        }
        if inside {
            let (below, files): (Vec<_>, Vec<_>) = folders.iter().partition(|path| path.is_dir());
            // A single file that may be written has nothing below it.
            for file in files {
                if self.covered(&[abs(file)], false) != Covered::Not {
                    self.hide(file.clone());
                }
            }
            starts.extend(below.into_iter().map(|path| Start {
                path: path.clone(),
                depth: None,
            }));
        }
        starts
    }

    fn covered(&self, spellings: &[AbsPath], is_folder: bool) -> Covered {
        let mut covered = Covered::Not;
        for denial in &self.denials {
            if spellings.iter().any(|path| denial.covers(path, is_folder)) {
                if denial.covers_whole_folders() {
                    return Covered::Whole;
                }
                covered = Covered::Itself;
            }
        }
        covered
    }

    fn hide(&mut self, real: PathBuf) {
        if !is_kernels(&real) {
            self.found.masked.push(real);
        }
    }

    fn look_below(&mut self, start: &Start) {
        let Ok(real_start) = start.path.canonicalize() else {
            return;
        };
        let mut closed = Vec::new();
        let complete = walk(
            start,
            &mut |_, kind, path| self.visit(kind, path, start, &real_start),
            &mut |path| {
                closed.push(path);
            },
        );
        // What cannot be looked into is hidden as a whole: a name in it may be known, or its owner may open it again.
        for path in closed {
            if let Ok(real) = path.canonicalize() {
                self.hide(real);
            }
        }
        if !complete {
            self.found.missing.push(format!(
                "unreadable files: `{}` is too large, or holds too many of them, to find all",
                start.path.display()
            ));
        }
    }

    fn visit(&mut self, kind: Kind, path: &Path, start: &Start, real_start: &Path) -> Next {
        let twice = 1 + usize::from(start.path != real_start);
        // Up to one more than can be hidden, so that it is known that there are too many.
        if !self.budget.take(self.denials.len() * twice + 1) || self.found.masked.len() > MAX_MASKS {
            return Next::Stop;
        }
        let (is_link, is_folder) = (kind == Kind::Link, kind == Kind::Folder);
        let mut spellings = vec![abs(path)];
        let below = path.strip_prefix(&start.path).map(|below| real_start.join(below));
        let real = below.unwrap_or_else(|_| path.to_path_buf());
        if real != path {
            spellings.push(abs(&real));
        }
        if !is_link {
            return match self.covered(&spellings, is_folder) {
                Covered::Not => Next::On,
                Covered::Itself if is_folder => Next::On,
                Covered::Itself | Covered::Whole => {
                    self.hide(real);
                    Next::Done
                }
            };
        }
        // A link that leads nowhere can be read by nobody. One that leads to a folder hides it as a whole: files in it that an
        // exception frees are then hidden under this name too, which is the safe side.
        let Ok(target) = path.canonicalize() else {
            return Next::Done;
        };
        spellings.push(abs(&target));
        if self.covered(&spellings, target.is_dir()) != Covered::Not {
            self.hide(target);
        }
        Next::Done
    }
}

#[cfg(test)]
mod tests;
