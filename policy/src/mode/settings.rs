//! What documents say about run modes and the protections that go with them, and its merge.
//!
//! Three kinds of switch, by what they can do to a decision. One that widens (`modes.auto`) counts from the user and the
//! team, and a `false` of any layer wins. One that narrows (`sandbox.always`) counts from every layer, and a `true` wins.
//! A protection is on where any layer says so; off only where the user or the team says so and nobody says on.

use super::Mode;
use crate::Layer;

/// What one document says. `None` = nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunSettings {
    /// Whether the mode auto exists.
    pub auto: Option<bool>,
    /// Whether every allowed command runs in the sandbox.
    pub sandbox_always: bool,
    /// Whether nobody may try policies of the sandbox.
    pub trials_forbidden: bool,
    /// The protections.
    pub protections: [Option<bool>; 3],
}

/// A protection that turns an allow which no rule gave into an ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Guard {
    /// Deleting files.
    Deletion,
    /// Changing files outside the workspace.
    ExternalFiles,
    /// Driving a browser.
    Browser,
}

impl Guard {
    /// All, in the order of [`RunSettings::protections`].
    pub const ALL: [Self; 3] = [Self::Deletion, Self::ExternalFiles, Self::Browser];

    /// Its key in a document's `protections`.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Deletion => "deletion",
            Self::ExternalFiles => "externalFiles",
            Self::Browser => "browser",
        }
    }

    /// What it protects from, for people.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Deletion => "deletion protection is on: a person has to say yes before something is deleted",
            Self::ExternalFiles => {
                "external-file protection is on: a person has to say yes before something outside the workspace changes"
            }
            Self::Browser => "browser protection is on: a person has to say yes before the browser is driven",
        }
    }

    fn index(self) -> usize {
        Self::ALL.iter().position(|guard| *guard == self).unwrap_or_default()
    }
}

impl RunSettings {
    /// Notes what a document says about a protection.
    pub fn set_protection(&mut self, guard: Guard, on: bool) {
        if let Some(slot) = self.protections.get_mut(guard.index()) {
            *slot = Some(on);
        }
    }

    /// What a document says about a protection.
    #[must_use]
    pub fn protection(&self, guard: Guard) -> Option<bool> {
        self.protections.get(guard.index()).copied().flatten()
    }

    /// What of it holds even if the document has faults: all that narrows.
    #[must_use]
    pub fn narrowing(self) -> Self {
        Self {
            auto: self.auto.filter(|on| !on),
            sandbox_always: self.sandbox_always,
            trials_forbidden: self.trials_forbidden,
            protections: self.protections.map(|on| on.filter(|on| *on)),
        }
    }
}

/// What all documents together say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunPolicy {
    auto_on: bool,
    auto_off: bool,
    sandbox_always: bool,
    trials_forbidden: bool,
    protections_on: [bool; 3],
    protections_off: [bool; 3],
}

impl RunPolicy {
    /// Adds what a document says. `widens`: whether what it allows counts, by its layer and the team's locks.
    pub(crate) fn add(&mut self, settings: &RunSettings, layer: Layer, widens: bool) {
        let widens = widens && !layer.is_inside_project();
        self.auto_on |= settings.auto == Some(true) && widens;
        self.auto_off |= settings.auto == Some(false);
        self.sandbox_always |= settings.sandbox_always;
        self.trials_forbidden |= settings.trials_forbidden;
        let slots = self.protections_on.iter_mut().zip(&mut self.protections_off);
        for ((on, off), said) in slots.zip(settings.protections) {
            *on |= said == Some(true);
            *off |= said == Some(false) && widens;
        }
    }

    /// Whether the mode auto exists.
    #[must_use]
    pub fn auto_enabled(&self) -> bool {
        self.auto_on && !self.auto_off
    }

    /// Whether every allowed command runs in the sandbox.
    #[must_use]
    pub fn sandbox_always(&self) -> bool {
        self.sandbox_always
    }

    /// Whether commands may be tried in a sandbox of the person's own description, unjudged.
    #[must_use]
    pub fn trials_allowed(&self) -> bool {
        !self.trials_forbidden
    }

    /// Whether a protection is on in a mode: in Cursor's unless it is switched off, in the others if it is switched on.
    #[must_use]
    pub fn protects(&self, guard: Guard, mode: Mode) -> bool {
        let said = |switches: &[bool; 3]| switches.get(guard.index()).copied().unwrap_or_default();
        said(&self.protections_on) || (mode.is_cursors() && !said(&self.protections_off))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(documents: &[(Layer, bool, RunSettings)]) -> RunPolicy {
        let mut policy = RunPolicy::default();
        for (layer, widens, settings) in documents {
            policy.add(settings, *layer, *widens);
        }
        policy
    }

    fn auto(on: bool) -> RunSettings {
        RunSettings {
            auto: Some(on),
            ..RunSettings::default()
        }
    }

    #[test]
    fn auto_exists_only_if_user_or_team_enable_it_and_nobody_disables_it() {
        for (documents, expected) in [
            (vec![], false),
            (vec![(Layer::User, true, auto(true))], true),
            (vec![(Layer::Team, true, auto(true))], true),
            (vec![(Layer::Project, true, auto(true))], false),
            (vec![(Layer::Local, true, auto(true))], false),
            (vec![(Layer::User, false, auto(true))], false),
            (
                vec![(Layer::User, true, auto(true)), (Layer::Team, true, auto(false))],
                false,
            ),
            (
                vec![(Layer::Team, true, auto(true)), (Layer::Project, false, auto(false))],
                false,
            ),
        ] {
            assert_eq!(policy(&documents).auto_enabled(), expected, "{documents:?}");
        }
    }

    #[test]
    fn a_protection_is_on_if_anybody_says_so_and_off_only_by_user_or_team() {
        let says = |on: bool| {
            let mut settings = RunSettings::default();
            settings.set_protection(Guard::Deletion, on);
            settings
        };
        for (documents, cursor, others) in [
            (vec![], true, false),
            (vec![(Layer::User, true, says(false))], false, false),
            (vec![(Layer::Project, true, says(false))], true, false),
            (vec![(Layer::User, false, says(false))], true, false),
            (vec![(Layer::Project, false, says(true))], true, true),
            (
                vec![(Layer::Team, true, says(true)), (Layer::User, true, says(false))],
                true,
                true,
            ),
            (
                vec![(Layer::Team, true, says(false)), (Layer::User, true, says(true))],
                true,
                true,
            ),
        ] {
            let policy = policy(&documents);
            assert_eq!(
                policy.protects(Guard::Deletion, Mode::Allowlist),
                cursor,
                "{documents:?}"
            );
            assert_eq!(policy.protects(Guard::Deletion, Mode::Bypass), others, "{documents:?}");
            assert!(policy.protects(Guard::Browser, Mode::RunEverything), "{documents:?}");
        }
    }

    #[test]
    fn of_a_faulty_document_only_what_narrows_counts() {
        let mut settings = auto(true);
        settings.sandbox_always = true;
        settings.set_protection(Guard::Deletion, false);
        settings.set_protection(Guard::Browser, true);
        let kept = settings.narrowing();
        assert_eq!((kept.auto, kept.sandbox_always), (None, true));
        assert_eq!(kept.protections, [None, None, Some(true)]);
    }
}
