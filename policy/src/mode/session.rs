//! What is known about the session that a call belongs to.
//!
//! The engine has no memory: whoever serves it keeps what a session did, and hands it in with each call.

use std::fmt;

use super::{Mode, auto::Pause};
use crate::AbsPath;

/// The session that a call belongs to. The default is a call that is its own session: nothing came before it, and nobody
/// was asked about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// The mode of the session's first call; `None` if this is the first, or the call belongs to no session.
    pub started_in: Option<Mode>,
    /// The file in which the agent says it keeps its plan. A claim of the agent: it lifts what plan mode denies for
    /// exactly this path, and nothing else.
    pub plan_file: Option<AbsPath>,
    /// What the classifier said about this call.
    pub classifier: ClassifierReport,
}

/// What the classifier said about a call, or why it said nothing. Nothing said is never an allow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ClassifierReport {
    /// No classifier is configured.
    #[default]
    Off,
    /// It was not asked, because what it says could not make the call an allow.
    NotAsked,
    /// It answered.
    Verdict(ClassifierVerdict),
    /// It blocked the same call before in this session, so now a person is asked.
    BlockedBefore,
    /// It blocked too often, so persons are asked.
    Paused(Pause),
    /// It failed, or was late.
    Failed {
        /// Why.
        reason: String,
    },
}

/// What a classifier answers. A closed set: no text of it decides anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClassifierVerdict {
    /// It may run.
    Allow,
    /// It must not run like this.
    Deny {
        /// What to do instead, for the agent.
        advice: String,
    },
    /// A person has to say.
    Ask {
        /// Why.
        reason: String,
    },
}

impl fmt::Display for ClassifierVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Deny { .. } => "deny",
            Self::Ask { .. } => "ask",
        })
    }
}
