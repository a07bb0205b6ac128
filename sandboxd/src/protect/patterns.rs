//! Patterns of protected paths: names separated by `/`, `*` and `?` within a name, `**` for any number of folders.
//!
//! They are relative to a root of the workspace or to a repository found in it. One that begins with `.git/` also applies
//! inside every git folder, wherever that lies (bare repositories, submodules, linked worktrees).

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::scan::AnchorKind;

/// Most names that are looked at for one pattern in one place.
const MAX_NAMES: usize = 20_000;

/// A pattern, by segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Vec<String>);

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// Why it is none.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let segments: Vec<String> = text.trim_end_matches('/').split('/').map(str::to_owned).collect();
        if text.starts_with('/') || text.starts_with('!') {
            return Err("is not relative to a repository");
        }
        for segment in &segments {
            match segment.as_str() {
                "" | "." | ".." => return Err("has an empty, `.` or `..` segment"),
                _ if segment.contains(['[', '\0']) => return Err("has a character that is not supported"),
                _ => {}
            }
        }
        Ok(Self(segments))
    }

    /// The segments that apply below an anchor of this kind; `None` if the pattern does not apply there.
    #[must_use]
    pub fn below(&self, kind: AnchorKind) -> Option<&[String]> {
        match (kind, self.0.as_slice()) {
            (AnchorKind::GitFolder, [first, rest @ ..]) if first == ".git" && !rest.is_empty() => Some(rest),
            (AnchorKind::GitFolder, _) | (AnchorKind::Pointer, _) => None,
            // A pointer file `.git` is an anchor of its own; a folder `.git` stays writable as a whole.
            (AnchorKind::Root, [only]) if only == ".git" => None,
            (AnchorKind::Root, whole) => Some(whole),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("/"))
    }
}

/// Calls `take` with every existing path below `folder` that the segments name. Returns whether none was left out.
pub fn expand(folder: &Path, segments: &[String], take: &mut dyn FnMut(PathBuf)) -> bool {
    let Some((segment, rest)) = segments.split_first() else {
        return true;
    };
    if segment == "**" {
        return expand_any_depth(folder, rest, take);
    }
    let mut visit = |path: PathBuf| {
        if rest.is_empty() {
            take(path);
            true
        } else {
            expand(&path, rest, take)
        }
    };
    if !segment.contains(['*', '?']) {
        let path = folder.join(segment);
        return path.symlink_metadata().is_err() || visit(path);
    }
    let Ok(entries) = fs::read_dir(folder) else {
        return true;
    };
    let mut complete = true;
    for (at, entry) in entries.flatten().enumerate() {
        if at >= MAX_NAMES {
            return false;
        }
        if name_matches(segment.as_bytes(), entry.file_name().as_bytes()) {
            complete &= visit(entry.path());
        }
    }
    complete
}

/// `**`: the rest of the pattern in `folder` and in every folder below it, links not followed.
fn expand_any_depth(folder: &Path, rest: &[String], take: &mut dyn FnMut(PathBuf)) -> bool {
    let mut complete = true;
    let mut left = MAX_NAMES;
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        complete &= expand(&folder, rest, take);
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if left == 0 {
                return false;
            }
            left -= 1;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
        }
    }
    complete
}

/// Whether a name fits a pattern with `*` and `?`. Linear in memory, no recursion.
#[must_use]
pub fn name_matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p, n));
                p += 1;
            }
            Some(&byte) if byte == b'?' || Some(&byte) == name.get(n) => {
                p += 1;
                n += 1;
            }
            _ => match retry {
                Some((star, from)) => {
                    retry = Some((star, from + 1));
                    p = star + 1;
                    n = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(|&byte| byte == b'*')
}

/// The same for names of the operating system.
#[must_use]
pub fn os_name_matches(pattern: &str, name: &OsStr) -> bool {
    name_matches(pattern.as_bytes(), name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_near_misses() {
        for (pattern, name, fits) in [
            ("*.json", "a.json", true),
            ("*.json", ".json", true),
            ("*.json", "a.json5", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*a*b", "xxaxxabxb", true),
            ("*a*b", "xxaxx", false),
            ("", "", true),
            ("*", "", true),
        ] {
            assert_eq!(
                name_matches(pattern.as_bytes(), name.as_bytes()),
                fits,
                "{pattern} {name}"
            );
        }
    }

    #[test]
    fn two_stars_stand_for_any_depth() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/b/c")).unwrap();
        for name in ["x.json", "a/x.json", "a/b/c/x.json", "a/x.toml"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let Pattern(segments) = Pattern::parse("**/*.json").unwrap();
        let mut found = Vec::new();
        assert!(expand(folder.path(), &segments, &mut |path| found.push(path)));
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn what_is_not_understood_is_no_pattern() {
        for text in ["/abs", "a/../b", "a//b", "!a", "[ab]", ""] {
            assert!(Pattern::parse(text).is_err(), "{text}");
        }
        assert!(Pattern::parse(".vscode/").is_ok());
    }
}
