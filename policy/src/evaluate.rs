//! The order of judgement.

use crate::{
    Action, Decision, EffectiveRuleset, Request, decision::FailureVerdict, facts::FactsNeeded, request::Workspace,
};

/// Decides a request.
///
/// Never fails: what cannot be understood is a decision too, and never an allow.
#[must_use]
pub fn evaluate(_ruleset: &EffectiveRuleset, request: &Request) -> Decision {
    Decision::failure(FailureVerdict::Ask, &request.call.tool_name, "not decided yet")
}

/// Says what the host has to look up before a call can be decided.
#[must_use]
pub fn facts_needed(_action: &Action, _workspace: &Workspace) -> FactsNeeded {
    FactsNeeded::default()
}
