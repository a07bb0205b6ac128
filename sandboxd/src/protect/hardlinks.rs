//! Protected files that have several names (hard links).
//!
//! A mount covers a name, not a file: by another name, which somebody made before the run, a command can write the same file if
//! it lies in a writable folder. Where that name is cannot be found short of a walk over the whole disk, so such files are
//! listed for the person. They stay protected under the name that is known.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Most entries that are looked at.
const MAX_ENTRIES: usize = 20_000;

/// Most files that are named.
const MAX_NAMED: usize = 16;

/// What a person should know, one line each.
#[must_use]
pub fn warnings(protected: &[PathBuf]) -> Vec<String> {
    let mut found = Found::default();
    for path in protected {
        found.look(path);
    }
    let mut lines = found.lines;
    if found.more > 0 {
        lines.push(format!("{} more protected files have several names", found.more));
    }
    if found.seen >= MAX_ENTRIES {
        lines.push("there are too many protected files to look for several names of all".to_owned());
    }
    lines
}

#[derive(Default)]
struct Found {
    lines: Vec<String>,
    more: usize,
    seen: usize,
}

impl Found {
    /// Looks at a file, or at all that a folder holds. Follows no link.
    fn look(&mut self, path: &Path) {
        let mut waiting = vec![path.to_path_buf()];
        while let Some(path) = waiting.pop() {
            if self.seen >= MAX_ENTRIES {
                return;
            }
            self.seen += 1;
            let Ok(metadata) = path.symlink_metadata() else {
                continue;
            };
            if metadata.is_dir() {
                let room = MAX_ENTRIES.saturating_sub(self.seen + waiting.len());
                let entries = fs::read_dir(&path).into_iter().flatten().flatten().take(room);
                waiting.extend(entries.map(|entry| entry.path()));
            } else if metadata.is_file() && metadata.nlink() > 1 {
                self.note(&path, metadata.nlink());
            }
        }
    }

    fn note(&mut self, path: &Path, names: u64) {
        if self.lines.len() < MAX_NAMED {
            self.lines.push(format!(
                "`{}` has {names} names (hard links); by another one, in a folder that a command can write, it can be changed",
                path.display()
            ));
        } else {
            self.more += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_several_names_are_listed_wherever_they_lie_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("hooks/deep")).unwrap();
        for name in ["hooks/one", "hooks/deep/two", "config"] {
            fs::write(at(name), "x").unwrap();
        }
        let protected = [at("hooks"), at("config"), at("nothing")];
        assert_eq!(warnings(&protected), [""; 0]);
        fs::hard_link(at("hooks/deep/two"), at("other")).unwrap();
        fs::create_dir(at("elsewhere")).unwrap();
        fs::hard_link(at("config"), at("elsewhere/a")).unwrap();
        std::os::unix::fs::symlink(at("elsewhere"), at("hooks/link")).unwrap();
        let lines = warnings(&protected);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(
            lines.iter().any(|line| line.contains("deep/two` has 2 names")),
            "{lines:?}"
        );
        assert!(
            lines.iter().any(|line| line.contains("config` has 2 names")),
            "{lines:?}"
        );
    }

    #[test]
    fn very_many_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..MAX_NAMED + 5 {
            let path = folder.path().join(number.to_string());
            fs::write(&path, "x").unwrap();
            fs::hard_link(&path, folder.path().join(format!("{number}.other"))).unwrap();
        }
        let lines = warnings(&[folder.path().to_path_buf()]);
        assert_eq!(lines.len(), MAX_NAMED + 1);
        assert!(
            lines
                .last()
                .unwrap()
                .starts_with(&(2 * (MAX_NAMED + 5) - MAX_NAMED).to_string())
        );
    }
}
