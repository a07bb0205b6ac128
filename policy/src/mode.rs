//! Run modes: what an agent may do where no rule speaks.
//!
//! The table of classes and modes is data (see `matrix`), printed and compared in a test.

mod matrix;

use std::{fmt, str::FromStr};

pub use matrix::{ActionClass, Answer, print_matrix};

/// The run mode of an agent's session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// Ask for what no rule allows.
    #[default]
    Default,
    /// Edits inside the workspace run without asking.
    AcceptEdits,
    /// Only looking is allowed.
    Plan,
    /// What no rule allows is denied instead of asked.
    DontAsk,
    /// What no rule denies or asks for runs, protected and critical paths excepted.
    Bypass,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 5] = [
        Self::Default,
        Self::AcceptEdits,
        Self::Plan,
        Self::DontAsk,
        Self::Bypass,
    ];
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::Plan => "plan",
            Self::DontAsk => "dontAsk",
            Self::Bypass => "bypass",
        })
    }
}

/// A word that names no run mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown mode `{0}`; known are default (manual), acceptEdits, plan, dontAsk, bypass (bypassPermissions)")]
pub struct UnknownMode(pub String);

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(word: &str) -> Result<Self, UnknownMode> {
        Ok(match word {
            "default" | "manual" => Self::Default,
            "acceptEdits" => Self::AcceptEdits,
            "plan" => Self::Plan,
            "dontAsk" => Self::DontAsk,
            "bypass" | "bypassPermissions" => Self::Bypass,
            other => return Err(UnknownMode(other.to_owned())),
        })
    }
}
