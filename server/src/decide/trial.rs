//! Trials: one command in a sandbox that the person describes, to see what that policy does (`portcullis sandbox run`).
//!
//! The command is not judged: whoever types it could run it without any sandbox. What counts is that the team may forbid it, that
//! what the team says about sandboxes and about reading bounds the policy that is tried, and that it is on record before it runs.
//! Documents of the host do not count here: it is not their policy that is tried.

use std::sync::Arc;

use portcullis_policy::{
    Decision, EffectiveRuleset, Obligation, PolicyDocument, Verdict,
    decision::{DecidedBy, TraceEntry},
    sandbox::EffectiveSandbox,
};
use portcullis_proto::{convert::Question, v1};

use super::failure;
use crate::policies::TeamPolicy;

/// What a trial comes to, and the sandbox that it gets.
pub(super) fn decide(
    question: &Question,
    team: &TeamPolicy,
    tried: PolicyDocument,
) -> (Decision, Option<Arc<EffectiveSandbox>>) {
    if question.host.is_none() {
        let reason = "a policy can be tried through portcullis-sandboxd only: no host vouches for this call";
        return (failure(question, reason), None);
    }
    let document = match &team.document {
        Ok(document) => document.clone(),
        Err(unusable) => return (failure(question, &unusable.to_string()), None),
    };
    let documents: Vec<_> = document.into_iter().chain([Arc::new(tried)]).collect();
    let ruleset = EffectiveRuleset::merge(&documents, false);
    if !ruleset.run().trials_allowed() {
        return (forbidden(question), None);
    }
    (allowed(question), Some(ruleset.sandbox().clone()))
}

/// A trial gets all variables but secrets: it is the person's own terminal.
pub(super) fn open_environment(profile: &mut v1::SandboxProfile) {
    profile.environment = vec!["*".to_owned()];
}

/// What the documents come to about the sandbox.
pub(super) fn in_force(ruleset: &EffectiveRuleset, team: &TeamPolicy) -> v1::SandboxInForce {
    let of_team = team.document.as_ref().ok().and_then(Option::as_ref);
    v1::SandboxInForce {
        r#type: ruleset.sandbox().kind.word().to_owned(),
        team_type: of_team
            .and_then(|document| document.settings.sandbox.kind)
            .map_or_else(String::new, |kind| kind.word().to_owned()),
        trials_allowed: ruleset.run().trials_allowed(),
    }
}

fn allowed(question: &Question) -> Decision {
    let reason = "a policy of the sandbox is tried: the command is not judged, and runs in the sandbox only";
    Decision {
        obligations: vec![Obligation::RunInSandbox],
        ..answer(question, Verdict::Allow, DecidedBy::Sandbox, reason)
    }
}

fn forbidden(question: &Question) -> Decision {
    let reason = "the team's policy forbids to try policies of the sandbox (`sandbox.allowTrials`: false)";
    answer(question, Verdict::Deny, DecidedBy::Control, reason)
}

fn answer(question: &Question, verdict: Verdict, decided_by: DecidedBy, reason: &str) -> Decision {
    let argv = question.execution.as_ref().map(|execution| execution.argv.as_slice());
    Decision {
        verdict,
        decided_by,
        rule: None,
        trace: vec![TraceEntry {
            subject: portcullis_policy::shell::quote(argv.unwrap_or_default()),
            seen_through: Vec::new(),
            verdict,
            decided_by,
            rule: None,
            reason: reason.to_owned(),
        }],
        left_out: 0,
        user_message: reason.to_owned(),
        agent_message: reason.to_owned(),
        obligations: Vec::new(),
        suggested_rules: Vec::new(),
    }
}
