//! Folders of the project that a variable lends to a program which runs its code anyway: `PYTHONPATH=src pytest`.
//!
//! Which rules cover a command with such a variable, and what rules leave free. The folders themselves are judged as files of the command.

use crate::{
    rule::{Matcher, TextPattern},
    ruleset::RuleId,
    shell::{self, Access, Command},
};

use super::{files::verbs, texts, world::World};

impl World<'_> {
    /// Whether a rule covers a command to which variables lend folders of the project: one that names them, or leaves free which
    /// code of the project runs. A script that nobody may change is not what it could import.
    pub(super) fn covers_what_is_lent(&self, pattern: &TextPattern, command: &Command) -> bool {
        let Some(searched) = command.lent_folders() else {
            return true;
        };
        if texts::with_assignments(command)
            .iter()
            .any(|text| pattern.matches(text))
        {
            return true;
        }
        let guarded = |text: &str| {
            let path = self.resolve(text);
            path.is_none_or(|path| {
                let ids = self.rules_on(&path);
                self.narrowed(&path, &ids, verbs(Access::Write)).is_some()
            })
        };
        let matches = |words: usize, folder: &str| pattern.matches(&texts::with_any_file(command, words, folder));
        let free = match searched {
            None | Some(shell::Chosen::Any) => true,
            Some(shell::Chosen::Module(module)) => {
                let path = module.replace('.', "/");
                matches(2, "") && !guarded(&format!("{path}.py")) && !guarded(&format!("{path}/__main__.py"))
            }
            Some(shell::Chosen::Script(script)) => {
                let folder = script.rfind('/').and_then(|end| script.get(..=end)).unwrap_or_default();
                (matches(1, "") || matches(1, folder)) && !guarded(script)
            }
        };
        free && !pattern.is_exact()
    }

    /// Whether a rule covers a program whatever its words: `Bash(ip *)`, and not `Bash(ip netns exec *)`.
    pub(super) fn names_the_program_alone(&self, id: RuleId, command: &Command) -> bool {
        let anything = texts::with_any_program(command, 1);
        let rule = self.rule(id).map(|rule| &rule.matcher);
        matches!(rule, Some(Matcher::Shell(pattern)) if pattern.matches(&anything))
    }
}
