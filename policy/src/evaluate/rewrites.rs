//! Folders whose files a command puts into another state without naming them: `git restore .`, `prettier --write .`.
//!
//! Naming the file that a deny or ask on editing is about is a case for the rule; so is naming a folder in which the rule's own
//! words name a place. It asks then: which of the files are changed depends on what they hold. Rules that only could cover
//! something there are left alone, or each formatter of a folder would ask. Programs that rewrite files of one language only
//! (`gofmt`, `black`) are left out. It allows nothing.

use std::collections::BTreeSet;

use crate::{
    AbsPath, Effect,
    rule::PathVerb,
    shell::{Command, Word, acts, changes},
};

use super::{part::Part, trees, world::World};

/// Formatters of files of many kinds.
const FORMATTERS: &[&str] = &["biome", "prettier"];
/// Most folders of one command that are looked at.
const MOST_FOLDERS: usize = 16;

impl World<'_> {
    /// Denies and asks on editing something in a folder that a command rewrites.
    pub(super) fn judge_rewritten_folders(&self, command: &Command) -> Vec<Part> {
        let mut seen = BTreeSet::new();
        rewritten(command)
            .into_iter()
            .take(MOST_FOLDERS)
            .filter_map(|text| {
                let (folder, pattern) = match text {
                    ":/" | ":/:" | ":(top)" => (self.workspace.root.clone(), None),
                    text => match text.find(['*', '?', '[', '{']) {
                        None => (self.resolve(text)?, None),
                        Some(at) => {
                            let known = text.get(..at).unwrap_or_default();
                            let folder = known.rfind('/').and_then(|end| known.get(..end)).unwrap_or(".");
                            (self.resolve(folder)?, Some(text))
                        }
                    },
                };
                let subject = format!("may rewrite what lies below {folder}");
                let id = self.rule_named_below(&folder, pattern).filter(|id| seen.insert(*id))?;
                let why = "it rewrites files of a folder, among them what seems to be a case for";
                Some(Part::perhaps(self, id, subject, why))
            })
            .collect()
    }

    fn rule_named_below(&self, folder: &AbsPath, pattern: Option<&str>) -> Option<crate::ruleset::RuleId> {
        let index = self.rules.index();
        let meets = |id: crate::ruleset::RuleId| {
            pattern.is_none_or(|pattern| {
                let whole = format!("{}/{}", self.workspace.cwd.as_str().trim_end_matches('/'), pattern);
                self.deny_meets(id, &self.workspace.cwd, &whole)
            })
        };
        [Effect::Deny, Effect::Ask].into_iter().find_map(|effect| {
            let mut ids = index.paths(PathVerb::Edit, effect).iter().copied();
            let below =
                |id: crate::ruleset::RuleId| self.names_place_below(id, folder) || self.names_in_root(id, folder);
            ids.find(|id| self.rule(*id).is_some() && below(*id) && meets(*id))
        })
    }

    /// Whether a rule for any depth names something that, as the one meant most likely, lies right in the workspace's root or the
    /// working directory: `Edit(package.json)`.
    fn names_in_root(&self, id: crate::ruleset::RuleId, folder: &AbsPath) -> bool {
        let is_root = *folder == self.workspace.cwd || *folder == self.workspace.root;
        let Some(rule) = self.path_rule(id).filter(|_| is_root) else {
            return false;
        };
        rule.pattern.first_names().any(|names| {
            let place = folder.join(&names);
            self.deny_covers(id, &place) || self.deny_meets(id, folder, &format!("{place}/**"))
        })
    }
}

/// Whether a command changes files that a container got from the host: by a mount that may be written, or as the file of compose
/// says.
pub(super) fn changes_in_container(command: &Command) -> bool {
    let composed = command
        .words
        .iter()
        .take(8)
        .filter_map(Word::literal)
        .any(|word| word.ends_with("compose"));
    let given = || trees::mounts(command).into_iter().any(|(_, read_only)| !read_only);
    changes::changes_in_container(command) && (composed || given())
}

/// The folders and patterns that a command rewrites, as it names them.
fn rewritten(command: &Command) -> Vec<&str> {
    if command.remote {
        return Vec::new();
    }
    if command.program_name().is_some_and(|name| FORMATTERS.contains(&name)) {
        let words = command.words.iter().skip(1).filter_map(Word::literal);
        let operands = words.filter(|word| !word.starts_with('-'));
        return if acts::rewrites(command) {
            operands.collect()
        } else {
            Vec::new()
        };
    }
    let Some((verb @ ("checkout" | "restore"), rest)) = acts::git_verb(command) else {
        return Vec::new();
    };
    let texts = || rest.iter().filter_map(Word::literal);
    let has = |option: &str| texts().any(|text| text == option);
    if verb == "restore" && (has("--staged") || has("-S")) && !(has("--worktree") || has("-W")) {
        return Vec::new();
    }
    // A word of `checkout` in front of `--` may be a branch.
    let is_place = |text: &str| matches!(text, "." | ".." | ":/" | ":/:" | ":(top)") || text.ends_with('/');
    let dashes = rest.iter().position(|word| word.literal() == Some("--"));
    rest.iter()
        .enumerate()
        .filter_map(|(at, word)| Some((at, word.literal()?)))
        .filter(|(at, text)| !text.starts_with('-') || dashes.is_some_and(|dashes| *at > dashes))
        .filter(|(at, text)| verb == "restore" || is_place(text) || dashes.is_some_and(|dashes| *at > dashes))
        .map(|(_, text)| text)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(line: &str) -> Vec<String> {
        let words: Vec<Word> = line.split(' ').map(|word| Word::Literal(word.to_owned())).collect();
        let command = Command::of_words(line.to_owned(), words);
        rewritten(&command).into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn folders_that_are_rewritten() {
        for (line, expected) in [
            ("git restore .", vec!["."]),
            ("git restore --source=HEAD~2 :/", vec![":/"]),
            ("git restore -S -W src", vec!["src"]),
            ("git restore -S .", vec![]),
            ("git checkout .", vec!["."]),
            ("git checkout HEAD~1 -- src", vec!["src"]),
            ("git checkout HEAD~1 .", vec!["."]),
            ("git checkout main", vec![]),
            ("git -C x checkout .", vec!["."]),
            ("prettier --write .", vec!["."]),
            ("prettier --check .", vec![]),
            ("biome format --write src", vec!["format", "src"]),
            ("black .", vec![]),
            ("ls .", vec![]),
        ] {
            assert_eq!(places(line), expected, "{line}");
        }
    }
}
