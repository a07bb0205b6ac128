//! Files outside of the workspace that the words of a command name, where no table says what the command does with them.
//!
//! An allow rule with a wildcard reaches files of the workspace only (decision 0010). Of a program whose tables do not account for
//! a word, nobody knows whether it reads or writes the file that the word names, so both have to be allowed (decision 0052). It
//! is asked only where such a rule is what allows the command: not under a rule for every command, nor one that names all of
//! it, nor in a mode that allows any command.

use crate::{
    AbsPath, Mode, Verdict,
    mode::{ActionClass, Answer},
    rule::{Matcher, PathVerb},
    ruleset::RuleId,
    shell::{Access, Command, CommandClass, FileTarget, Named},
};

use super::{files::Cover, part::Part, world::World};

/// Most parts of one command: a few settle the answer.
const MOST_PARTS: usize = 8;

impl World<'_> {
    /// The files that the words of a command name outside of the workspace, and protected ones that it writes, where an allow
    /// with a wildcard is what allows the command.
    pub(super) fn judge_outside(&self, command: &Command, id: RuleId) -> Vec<Part> {
        let unknown = matches!(command.class, CommandClass::Other | CommandClass::Wrapper);
        if !unknown || self.request.mode.answer(ActionClass::OtherCommand) == Answer::Allow {
            return Vec::new();
        }
        // Who writes `Bash(uv run ../x.py *)` means that program.
        let said = |named: &Named| match self.rule(id).map(|rule| &rule.matcher) {
            Some(Matcher::Shell(pattern)) => {
                command.program() == Some(&named.text) && pattern.text().contains(&named.text)
            }
            _ => false,
        };
        let named = command.named.iter().filter(|named| !said(named));
        let named = named.filter_map(|named| self.judge_outside_file(named));
        named
            .filter(|part| part.verdict != Verdict::Allow)
            .take(MOST_PARTS)
            .collect()
    }

    fn judge_outside_file(&self, named: &Named) -> Option<Part> {
        let FileTarget::Path(path) = &named.target else {
            let why = "it names a file of which the place is not known, or more than are looked at, and one may lie outside of the workspace";
            return Some(Part::unknown(&named.text, why));
        };
        let subject = format!("may use {path}");
        if let Some(entry) = self.protected(path).filter(|_| named.written) {
            let what = format!("it may write a protected path: {}", entry.reason);
            return Some(Part::by_mode(self, ActionClass::Protected, subject, &what));
        }
        if named.through.as_ref().is_none_or(|left| self.strays(left)) {
            return Some(self.judge_astray(&named.text, Access::Read, Cover::None));
        }
        if self.is_named_inside(path) {
            return None;
        }
        if let Some(id) = self.narrowed(path, &self.rules_on(path), &[PathVerb::Edit, PathVerb::Read]) {
            let why = "a word of it names this file, which is a case for";
            return Some(Part::perhaps(self, id, subject, why));
        }
        let read = self.judge_path(path, Access::Read, Cover::None);
        // In plan mode what surely changes files is refused elsewhere.
        if self.request.mode == Mode::Plan {
            return Some(read.renamed(subject));
        }
        let written = self.judge_path(path, Access::Write, Cover::None);
        let suggestions: Vec<String> = [&read, &written]
            .into_iter()
            .filter(|part| part.verdict != Verdict::Allow)
            .flat_map(|part| part.suggestions.clone())
            .collect();
        let mut part = if written.verdict > read.verdict { written } else { read };
        part.suggestions = suggestions;
        Some(part.renamed(subject))
    }

    /// Whether a path lies in the workspace by its words, and the host knows of no link that leads outside.
    fn is_named_inside(&self, path: &AbsPath) -> bool {
        self.workspace.contains(path) && self.real(path).is_none_or(|real| self.is_really_inside(real))
    }
}
