//! Who calls, and what they may do.
//!
//! A bearer token names a principal of one team in one role. The [`layer`] authenticates every call but those of the
//! open services, looks its right up in the [`table`], and leaves a [`Caller`] in the request. Handlers cannot be
//! reached in another way: each takes a [`permit`] that only this module makes.
//!
//! The health and reflection services are open: they say whether the server runs and what its published interface is,
//! nothing about a team. Reflection can be switched off.

pub mod layer;
pub mod permit;
pub mod table;
mod token;

pub use permit::{AdminPermit, AuditorPermit, DecidePermit, HostPermit};
pub use table::Method;
pub use token::{InvalidToken, Token, TokenHash};

use crate::store::Identity;

/// What a token's owner is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Administers the team's policy.
    Admin,
    /// Asks for decisions.
    Agent,
    /// Reads policy and trail.
    Auditor,
    /// A machine's daemon: its facts count, it forwards for agents, and it reports outcomes.
    Host,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 4] = [Self::Admin, Self::Agent, Self::Auditor, Self::Host];

    /// The word for it in tokens and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Agent => "agent",
            Self::Auditor => "auditor",
            Self::Host => "host",
        }
    }

    /// Reads that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == word)
    }
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// An authenticated call that the table permits. Made by the [`layer`] only.
#[derive(Clone, Debug)]
pub struct Caller {
    method: Method,
    identity: Identity,
    /// For whom a host forwards; in the same team.
    subject: Option<Identity>,
}
