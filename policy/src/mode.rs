//! Run modes: what an agent may do where no rule speaks.
//!
//! The table of classes and modes is data (see `matrix`), printed and compared in a test.

mod auto;
mod matrix;
mod plans;
mod session;
mod settings;

use std::{fmt, str::FromStr};

pub use auto::{BlockCount, BlockEvent, Pause};
pub use matrix::{ActionClass, Answer, print_matrix};
pub use plans::is_below_plans;
pub use session::{ClassifierReport, ClassifierVerdict, Session};
pub use settings::{Guard, RunPolicy, RunSettings};

/// The run mode of an agent's session.
///
/// The first six are those of Claude Code and its like, the last four are Cursor's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// Ask for what no rule allows.
    #[default]
    Default,
    /// Edits inside the workspace run without asking.
    AcceptEdits,
    /// Only looking is allowed.
    Plan,
    /// A classifier is asked instead of a person.
    Auto,
    /// What no rule allows is denied instead of asked.
    DontAsk,
    /// What no rule denies or asks for runs, protected and critical paths excepted.
    Bypass,
    /// Edits inside the workspace run; a command runs in the sandbox, or a classifier is asked.
    AutoReview,
    /// Edits inside the workspace run; a command needs an entry in the allowlist.
    Allowlist,
    /// The same, and a command without an entry may run in the sandbox.
    AllowlistSandbox,
    /// What no rule denies or asks for runs, protected and critical paths excepted.
    RunEverything,
}

impl Mode {
    /// The words that name a mode: our own, and those that the agents themselves use.
    pub const WORDS: &'static [(&'static str, Self)] = &[
        ("default", Self::Default),
        ("manual", Self::Default),
        ("acceptEdits", Self::AcceptEdits),
        ("accept-edits", Self::AcceptEdits),
        ("plan", Self::Plan),
        ("auto", Self::Auto),
        ("dontAsk", Self::DontAsk),
        ("dont-ask", Self::DontAsk),
        ("bypass", Self::Bypass),
        ("bypassPermissions", Self::Bypass),
        ("auto-review", Self::AutoReview),
        ("autoReview", Self::AutoReview),
        ("allowlist", Self::Allowlist),
        ("allowlist-sandbox", Self::AllowlistSandbox),
        ("allowlistSandbox", Self::AllowlistSandbox),
        ("run-everything", Self::RunEverything),
        ("runEverything", Self::RunEverything),
        ("unrestricted", Self::RunEverything),
    ];

    /// Whether a mode is as free as another that is forbidden, in the words of another agent.
    #[must_use]
    pub(crate) fn goes_with(self, forbidden: Self) -> bool {
        let free = |mode| matches!(mode, Self::Bypass | Self::RunEverything);
        free(self) && free(forbidden)
    }

    /// All modes.
    pub const ALL: [Self; 10] = [
        Self::Default,
        Self::AcceptEdits,
        Self::Plan,
        Self::Auto,
        Self::DontAsk,
        Self::Bypass,
        Self::AutoReview,
        Self::Allowlist,
        Self::AllowlistSandbox,
        Self::RunEverything,
    ];

    /// Whether a document that lies inside a project may select the mode. Whoever writes to the project would select it,
    /// so none that hands a decision from the person to nobody or to a classifier.
    #[must_use]
    pub fn may_be_selected_by_project(self) -> bool {
        !matches!(self, Self::Auto | Self::AutoReview | Self::Bypass | Self::RunEverything)
    }

    /// Whether a classifier decides in it.
    #[must_use]
    pub fn is_automatic(self) -> bool {
        matches!(self, Self::Auto | Self::AutoReview)
    }

    /// Whether it is one of Cursor's.
    #[must_use]
    pub fn is_cursors(self) -> bool {
        matches!(
            self,
            Self::AutoReview | Self::Allowlist | Self::AllowlistSandbox | Self::RunEverything
        )
    }

    /// Whether it lets everything run that no rule speaks against.
    #[must_use]
    pub fn lets_everything_run(self) -> bool {
        matches!(self, Self::Bypass | Self::RunEverything)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::Plan => "plan",
            Self::Auto => "auto",
            Self::DontAsk => "dontAsk",
            Self::Bypass => "bypass",
            Self::AutoReview => "auto-review",
            Self::Allowlist => "allowlist",
            Self::AllowlistSandbox => "allowlist-sandbox",
            Self::RunEverything => "run-everything",
        })
    }
}

/// A word that names no run mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown mode `{0}`; known are default (manual), acceptEdits, plan, auto, dontAsk, bypass (bypassPermissions), \
     auto-review, allowlist, allowlist-sandbox, run-everything (unrestricted)"
)]
pub struct UnknownMode(pub String);

impl FromStr for Mode {
    type Err = UnknownMode;

    /// Takes the words of [`Mode`]'s `Display`, and those that the agents themselves use.
    fn from_str(word: &str) -> Result<Self, UnknownMode> {
        Self::WORDS
            .iter()
            .find(|(known, _)| *known == word)
            .map(|(_, mode)| *mode)
            .ok_or_else(|| UnknownMode(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_is_read_back_from_its_own_word() {
        for mode in Mode::ALL {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
    }

    #[test]
    fn the_words_of_the_agents_are_known_and_no_others() {
        for (word, mode) in [
            ("manual", Mode::Default),
            ("bypassPermissions", Mode::Bypass),
            ("autoReview", Mode::AutoReview),
            ("unrestricted", Mode::RunEverything),
            ("allowlistSandbox", Mode::AllowlistSandbox),
        ] {
            assert_eq!(word.parse(), Ok(mode));
        }
        for word in ["", "Auto", "AUTO", " plan", "bypass ", "everything", "yes"] {
            assert!(word.parse::<Mode>().is_err(), "{word}");
        }
    }

    #[test]
    fn every_class_has_one_row() {
        let mut classes: Vec<String> = print_matrix()
            .lines()
            .skip(1)
            .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
            .collect();
        let rows = classes.len();
        classes.sort();
        classes.dedup();
        assert_eq!((rows, classes.len()), (ActionClass::ALL.len(), ActionClass::ALL.len()));
        for class in ActionClass::ALL {
            assert!(classes.contains(&format!("{class:?}")), "{class:?} has no row");
        }
    }
}
