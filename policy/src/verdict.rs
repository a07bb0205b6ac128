//! What a rule carries and what a decision says: two types with the same three words.
//!
//! They are kept apart because they mean different things: an [`Effect`] is a statement somebody wrote, a [`Verdict`] is
//! the answer for a call after everything was weighed. Neither has a value for "unknown": what is not known has to be
//! turned into a verdict by somebody who says why.

use std::fmt;

/// The answer for a call, or for a part of one.
///
/// INVARIANT: the order of the variants is the semantics. Parts are combined with [`Ord::max`], so a call is as strict as
/// its strictest part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It may run, once its obligations are met.
    Allow,
    /// A person has to say yes first.
    Ask,
    /// It must not run.
    Deny,
}

/// What a rule carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// What matches may run.
    Allow,
    /// What matches needs a person.
    Ask,
    /// What matches must not run.
    Deny,
}

impl From<Effect> for Verdict {
    fn from(effect: Effect) -> Self {
        match effect {
            Effect::Allow => Self::Allow,
            Effect::Ask => Self::Ask,
            Effect::Deny => Self::Deny,
        }
    }
}

impl Verdict {
    /// As it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl Effect {
    /// As it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Verdict::from(self).as_str()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strictness_orders_the_verdicts() {
        assert!(Verdict::Allow < Verdict::Ask && Verdict::Ask < Verdict::Deny);
        assert_eq!(Verdict::Allow.max(Verdict::Deny), Verdict::Deny);
    }
}
