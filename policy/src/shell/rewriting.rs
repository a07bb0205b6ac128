//! Programs that put the files of whole folders into another state: the data file `policy/data/rewriting.toml`.
//!
//! It tells which names such a program leaves alone. Which folders it is given is told by the evaluator. Nothing is allowed by it.

use std::sync::LazyLock;

use serde::Deserialize;

use super::data::{self, ByName};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    names: String,
    #[serde(default)]
    endings: String,
    #[serde(default)]
    leaves: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers; a test asks for it"))]
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raws {
    rewriter: Vec<Raw>,
}

struct Rewriter {
    endings: &'static [&'static str],
    leaves: &'static [&'static str],
}

const FILE: &str = include_str!("../../data/rewriting.toml");

static REWRITERS: LazyLock<ByName<Rewriter>> = LazyLock::new(|| {
    let raws: Raws = data::read("rewriting.toml", FILE);
    let mut entries = Vec::new();
    for raw in raws.rewriter {
        let rewriter: &'static Rewriter = data::keep(Rewriter {
            endings: data::words(&raw.endings),
            leaves: data::words(&raw.leaves),
        });
        entries.extend(data::words(&raw.names).iter().map(|name| (*name, rewriter)));
    }
    ByName::new(entries)
});

/// Whether a program puts the files of whole folders into another state.
pub(crate) fn is_rewriter(program: &str) -> bool {
    REWRITERS.find(program).is_some()
}

/// Whether such a program may change a file or folder of this name. A name without an ending may be a folder.
pub(crate) fn may_change(program: &str, name: &str) -> bool {
    let Some(rewriter) = REWRITERS.find(program) else {
        return true;
    };
    let is = |form: &&str| match form.split_once('*') {
        Some((begin, end)) => name.len() >= begin.len() + end.len() && name.starts_with(begin) && name.ends_with(end),
        None => *form == name,
    };
    if rewriter.leaves.iter().any(is) {
        return false;
    }
    let has_ending = name.trim_start_matches('.').contains('.');
    rewriter.endings.is_empty() || !has_ending || rewriter.endings.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_has_names_and_a_reason() {
        let raws: Raws = data::read("rewriting.toml", FILE);
        for raw in &raws.rewriter {
            assert!(
                !raw.names.is_empty() && raw.why.split(' ').count() >= 5,
                "{}",
                raw.names
            );
        }
    }

    #[test]
    fn names_that_are_left_alone() {
        for (program, name) in [
            ("prettier", ".env"),
            ("prettier", ".env.local"),
            ("prettier", "package-lock.json"),
            ("prettier", "a.rs"),
            ("biome", "a.py"),
            ("git", ".env"),
        ] {
            assert!(!may_change(program, name), "{program} {name}");
        }
        for (program, name) in [
            ("prettier", "package.json"),
            ("prettier", "src"),
            ("prettier", ".github"),
            ("git", "package-lock.json"),
            ("git", ".env.example"),
            ("other", ".env"),
        ] {
            assert!(may_change(program, name), "{program} {name}");
        }
    }
}
