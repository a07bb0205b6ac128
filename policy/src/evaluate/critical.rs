//! Commands that destroy, whatever rule or mode allows them.
//!
//! The table of programs is [`crate::protected`]'s; here stands what needs the request: where the workspace lies, and what
//! else the line does.

use crate::{
    mode::ActionClass,
    protected,
    shell::{Access, Analysis, Command, FileTarget, Word},
};

use super::{part::Part, world::World};

/// Programs that change owner, mode or attributes, of whole trees with `-R`.
const CHANGERS: &[&str] = &[
    "chattr",
    "chcon",
    "chflags",
    "chgrp",
    "chmod",
    "chown",
    "restorecon",
    "setfacl",
];

const TREE: &str = "it changes owner or mode of far more than anybody means";
const FORKS: &str = "it starts itself again and again until nothing else runs";

impl World<'_> {
    /// A line whose functions multiply without end.
    pub(super) fn judge_forks(&self, line: &str, analysis: &Analysis) -> Option<Part> {
        let in_code = || analysis.commands.iter().any(forks_in_code);
        (protected::forks_without_end(line, analysis) || in_code())
            .then(|| Part::by_mode(self, ActionClass::Critical, line, FORKS))
    }

    /// `chmod -R` and its kin on the root, a home folder, or what lies around the workspace.
    pub(super) fn judge_tree_change(&self, command: &Command) -> Option<Part> {
        if !changes_whole_trees(command) {
            return None;
        }
        let around = |path: &crate::AbsPath| protected::holds_more_than_the_workspace(path, &self.workspace);
        let critical = command
            .files
            .iter()
            .filter(|access| access.access == Access::Write)
            .any(|access| match &access.target {
                FileTarget::Path(path) => around(path) || self.real(path).is_some_and(around),
                FileTarget::Pattern { folder, pattern } => {
                    around(folder) && protected::is_critical_pattern(folder, pattern, &self.workspace)
                }
                FileTarget::Unknown(source) => {
                    let behind_variable = source.split_once('$').is_some_and(|(before, rest)| {
                        before.trim_start_matches('"').is_empty() && rest.trim_end_matches('"').ends_with(['/', '*'])
                    });
                    behind_variable || self.can_be_critical(source)
                }
            });
        critical.then(|| Part::by_mode(self, ActionClass::Critical, &command.text, TREE))
    }
}

/// Whether a command changes owner, mode or attributes of what it is given and all that lies below.
pub(super) fn changes_whole_trees(command: &Command) -> bool {
    let recursive =
        command.words.iter().skip(1).filter_map(Word::literal).any(|word| {
            word == "--recursive" || (word.starts_with('-') && !word.starts_with("--") && word.contains('R'))
        });
    recursive
        && command
            .program_name()
            .is_some_and(|program| CHANGERS.contains(&program))
}

/// The same as a fork bomb in another language: a loop around `fork`.
fn forks_in_code(command: &Command) -> bool {
    let interpreter = command
        .program_name()
        .is_some_and(crate::shell::interpreters::is_language);
    interpreter
        && command.words.iter().skip(1).filter_map(Word::literal).any(|word| {
            let fork = word.match_indices("fork").any(|(at, _)| {
                let after = word.get(at + 4..).unwrap_or_default();
                !after.starts_with(|c: char| c.is_alphanumeric() || c == '_')
            });
            fork && ["while", "for(;;)", "for (;;)", "loop", "until"]
                .iter()
                .any(|turn| word.contains(turn))
        })
}
