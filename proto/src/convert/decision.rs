//! The answer in the domain to the answer on the wire. Everything is redacted on the way.

use portcullis_policy::{Decision, Verdict};

use super::InvalidMessage;
use crate::v1;

/// The answer without what the server adds (ids, version, profile, ticket).
#[must_use]
pub fn decision_to_wire(_decision: &Decision) -> v1::DecideResponse {
    v1::DecideResponse::default()
}

/// The answer as an explanation, which grants nothing.
#[must_use]
pub fn explanation_to_wire(_decision: &Decision) -> v1::ExplainResponse {
    v1::ExplainResponse::default()
}

/// A verdict on the wire.
#[must_use]
pub fn effect_of(verdict: Verdict) -> v1::Effect {
    match verdict {
        Verdict::Allow => v1::Effect::Allow,
        Verdict::Ask => v1::Effect::Ask,
        Verdict::Deny => v1::Effect::Deny,
    }
}

/// Reads a verdict from the wire.
///
/// # Errors
/// For an unspecified or unknown number, which is never an allow.
pub fn verdict_from_wire(effect: i32) -> Result<Verdict, InvalidMessage> {
    match v1::Effect::try_from(effect) {
        Ok(v1::Effect::Allow) => Ok(Verdict::Allow),
        Ok(v1::Effect::Ask) => Ok(Verdict::Ask),
        Ok(v1::Effect::Deny) => Ok(Verdict::Deny),
        Ok(v1::Effect::Unspecified) | Err(_) => Err(InvalidMessage::new("effect", "is not allow, ask or deny")),
    }
}
