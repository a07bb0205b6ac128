//! Judges what the analysis could not look into, and what there is no time to look into.

use crate::{
    Mode,
    mode::ActionClass,
    shell::{Command, Opaque, OpaqueReason},
};

use super::{commands::display, part::Part, world::World};

impl World<'_> {
    /// A command that there is no time to look into.
    pub(super) fn judge_too_large(&self, command: &Command) -> Part {
        self.judge_opaque(&Opaque {
            text: display(command),
            reason: OpaqueReason::TooLarge,
            seen_through: command.seen_through.clone(),
        })
    }

    pub(super) fn judge_opaque(&self, opaque: &Opaque) -> Part {
        let seen: Vec<String> = opaque
            .seen_through
            .iter()
            .map(|context| context.label().to_owned())
            .collect();
        let subject = opaque.text.clone();
        let why = opaque.reason.describe();
        let never = matches!(opaque.reason, OpaqueReason::Unparsable | OpaqueReason::TooLarge);
        // It runs what it says, and rules that deny see it with and without what is hidden; but what a person allowed by a
        // rule, this only looks like.
        let misleading = matches!(
            opaque.reason,
            OpaqueReason::HiddenCharacter | OpaqueReason::ConfusableName
        );
        // What a function runs is judged where it is defined, so it hides nothing from a rule.
        let function = opaque.reason == OpaqueReason::Redefinition && opaque.text.ends_with("()");
        let part = if misleading {
            Part {
                misleads: true,
                ..Part::by_mode(self, ActionClass::OpaqueCommand, subject, why)
            }
        } else if never || (self.has_scoped_shell_rule() && !function) {
            let denied = self.request.mode == Mode::Plan;
            if denied {
                Part::by_mode(self, ActionClass::OpaqueCommand, subject, why)
            } else if never {
                Part::unknown(subject, why)
            } else {
                Part::unknown(
                    subject,
                    format!("{why}, and it could hide a command that a rule is about"),
                )
            }
        } else if let Some(id) = self.allows_everything() {
            Part::by_rule(self, id, subject)
        } else {
            let mut part = Part::by_mode(self, ActionClass::OpaqueCommand, subject, why);
            if self.request.mode.is_automatic() {
                self.note_suspended(&mut part, self.rule_for_everything());
            }
            part
        };
        part.through(&seen)
    }
}
