//! Files outside of the workspace that the words of a command name, where a rule with a `*` allows it (decision 0052), restated.
//! Which words name files is no part of the claim: the analysis of the line says it.

use portcullis_policy::{
    AbsPath, Effect, Mode, Verdict,
    mode::{ActionClass, Answer},
    shell::{Access, Command, CommandClass, FileTarget, Named},
};

use super::judge::{Judge, Part};

impl Judge<'_> {
    /// What a rule with a `*` does not cover of the words of a command.
    pub(crate) fn outside(&self, command: &Command) -> Vec<Part> {
        let tables_know = !matches!(command.class, CommandClass::Other | CommandClass::Wrapper);
        if tables_know || self.request.mode.answer(ActionClass::OtherCommand) == Answer::Allow {
            return Vec::new();
        }
        let parts = command.named.iter().filter_map(|named| self.outside_file(named));
        parts.filter(|part| part.verdict != Verdict::Allow).collect()
    }

    fn outside_file(&self, named: &Named) -> Option<Part> {
        let FileTarget::Path(path) = &named.target else {
            panic!("the generator makes no line of hundreds of files");
        };
        if named.written && self.protects(path) {
            return Some(self.mode(ActionClass::Protected));
        }
        if named.through.iter().flatten().any(|folder| self.is_link(folder)) {
            return Some(self.astray(&named.text, Access::Read, None));
        }
        if self.lies_inside(path) {
            return None;
        }
        for effect in [Effect::Deny, Effect::Ask] {
            if let Some(rule) = self.narrowed(path, effect, &["Edit", "Read"]) {
                return Some(Part::perhaps(&rule));
            }
        }
        // It may be read, and it may be written: both have to be allowed.
        let read = self.path(path, Access::Read, None);
        if self.request.mode == Mode::Plan {
            return Some(read);
        }
        let written = self.path(path, Access::Write, None);
        Some(if written.verdict > read.verdict { written } else { read })
    }

    /// By its words, and by where it leads if that is known.
    fn lies_inside(&self, path: &AbsPath) -> bool {
        let root = &self.request.workspace.root;
        path.is_within(root) && (self.real(path).is_none() || self.inside(path))
    }
}
