//! Credentials of the person and of this machine, hidden unless somebody who may widen names them.
//!
//! What is hidden where stands in `policy/data/hidden.toml`. A path that does not exist is left out: what a command puts there
//! is its own.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use portcullis_policy::sandbox::{Hidden, begins_as_key, hidden_places, is_named_as_key};

use super::walk::{Next, Start, walk};
use super::{Found, Person, contains_root, is_kernels};
use crate::listing::Kind;

/// Most names that are looked at for keys in one folder.
const MAX_NAMES: usize = 4_096;

/// How deep keys are looked for.
const MAX_DEPTH: usize = 4;

/// How much of a file is looked at for the beginning of a key.
const BEGINNING: u64 = 16 * 1024;

/// Largest file of settings that is looked through for words; a larger one is hidden.
const MAX_SETTINGS: u64 = 1024 * 1024;

/// Names of the variables that put such a folder elsewhere.
#[must_use]
pub fn variables() -> Vec<&'static str> {
    let table = hidden_places().into_iter().flat_map(|table| &table.elsewhere);
    table.map(|entry| entry.variable.as_str()).collect()
}

/// Finds the credentials of a person and of this machine. `revealed` are paths that stay readable, `sockets` real ones that may be
/// connected to.
#[must_use]
pub fn find(person: &Person, revealed: &[String], sockets: &[PathBuf], roots: &[PathBuf]) -> Found {
    let mut found = Found::default();
    let Some(table) = hidden_places() else {
        found
            .missing
            .push("hidden credentials: the table cannot be read".to_owned());
        return found;
    };
    let mut revealed: Vec<PathBuf> = revealed.iter().map(PathBuf::from).collect();
    let really: Vec<PathBuf> = revealed.iter().filter_map(|path| path.canonicalize().ok()).collect();
    revealed.extend(really);
    revealed.extend_from_slice(sockets);
    for entry in &table.hidden {
        for path in places(&entry.path, person) {
            // Most are not there, which one look says; to follow the path takes one for each of its folders.
            if path.symlink_metadata().is_err() {
                continue;
            }
            let Ok(real) = path.canonicalize() else { continue };
            if is_kernels(&real) || revealed.contains(&path) || revealed.contains(&real) {
                continue;
            }
            if entry.keys {
                keys_below(&path, &revealed, &mut found);
            } else if contains_root(&real, roots) {
                found.missing.push(format!(
                    "hidden credentials: the workspace lies in `{}` ({}); name that path among `additionalReadonlyPaths`",
                    path.display(),
                    entry.why
                ));
            } else if holds_secret(&real, entry) {
                found.masked.push(real);
            }
        }
    }
    found
}

/// Where an entry lies: in the home folder, and where variables say.
fn places(path: &str, person: &Person) -> Vec<PathBuf> {
    let Some(rest) = path.strip_prefix("~/") else {
        return vec![PathBuf::from(path)];
    };
    let mut places: Vec<PathBuf> = person.homes().map(|home| home.join(rest)).collect();
    for entry in hidden_places().into_iter().flat_map(|table| &table.elsewhere) {
        let Some(below) = path
            .strip_prefix(entry.folder.as_str())
            .filter(|below| below.starts_with('/'))
        else {
            continue;
        };
        let folders = person.variables.iter().filter(|(name, _)| *name == entry.variable);
        places.extend(folders.map(|(_, folder)| folder.join(below.trim_start_matches('/'))));
    }
    places
}

/// Whether there is something to hide. What cannot be read here may become readable to its owner, so it counts.
fn holds_secret(real: &Path, entry: &Hidden) -> bool {
    if entry.holds.is_empty() {
        return true;
    }
    match beginning(real, MAX_SETTINGS + 1) {
        Some(bytes) if bytes.len() as u64 <= MAX_SETTINGS => {
            let text = String::from_utf8_lossy(&bytes).to_lowercase();
            entry.holds.iter().any(|word| text.contains(word.as_str()))
        }
        _ => true,
    }
}

/// Hides the private keys below a folder.
fn keys_below(folder: &Path, revealed: &[PathBuf], found: &mut Found) {
    let start = Start {
        path: folder.to_path_buf(),
        depth: Some(MAX_DEPTH),
    };
    let mut left = MAX_NAMES;
    let (mut keys, mut closed) = (Vec::new(), Vec::new());
    let mut visit = |_: &OsStr, kind: Kind, path: &Path| {
        if left == 0 {
            return Next::Stop;
        }
        left -= 1;
        if kind == Kind::Folder {
            return Next::On;
        }
        if let Ok(real) = path.canonicalize()
            && !revealed.iter().any(|free| *free == path || *free == real)
            && is_key(path, &real)
        {
            keys.push(real);
        }
        Next::Done
    };
    let complete = walk(&start, &mut visit, &mut |path| closed.push(path));
    found.masked.extend(keys);
    found
        .masked
        .extend(closed.into_iter().filter_map(|path| path.canonicalize().ok()));
    if !complete {
        found.missing.push(format!(
            "hidden credentials: `{}` holds too many files to look for keys in all",
            folder.display()
        ));
    }
}

fn is_key(named: &Path, real: &Path) -> bool {
    if !real.is_file() {
        // A socket or pipe is nothing that can be read again; a folder behind a link is not one of ssh's places.
        return false;
    }
    let named_so = |path: &Path| path.file_name().and_then(OsStr::to_str).is_some_and(is_named_as_key);
    if named_so(named) || named_so(real) {
        return true;
    }
    beginning(real, BEGINNING).is_none_or(|bytes| begins_as_key(&bytes))
}

/// The beginning of a regular file; `None` if it cannot be read. A pipe does not keep this waiting.
fn beginning(path: &Path, most: u64) -> Option<Vec<u8>> {
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    file.metadata().ok().filter(fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests;
