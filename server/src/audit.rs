//! Makes records for the trail. Whatever goes into one is redacted and bounded here, once.
//!
//! It does not store them: the [`crate::store`] takes them as they are.

mod shorten;
mod trace;

use std::time::Duration;

use portcullis_policy::{Decision, redact};
use portcullis_proto::{
    convert::{self, Question},
    v1,
};
use prost::Message as _;
use uuid::Uuid;

use crate::{
    auth::DecidePermit,
    keys::{self, Keys},
    store::{NewDecision, NewOutcome, Reporter, TeamId},
};

/// Most of a tool input that is stored, in bytes.
pub const MAX_INPUT: usize = 16 * 1024;

/// Longest path or name that is stored, in bytes: as long as Linux allows a path to be.
const MAX_NAME: usize = 4096;

/// How the raw input of a call goes into its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Redacted and shortened.
    Redacted,
    /// Not at all: the input is suspected to be the cause of a failure, and redaction would read it again.
    LeftOut,
}

/// What a record says beside question and answer.
#[derive(Clone, Debug)]
pub struct Circumstances {
    /// Version of the team policy in force; 0 = none.
    pub policy_version: u64,
    /// From arrival to verdict.
    pub evaluation_time: Duration,
    /// Whether a ticket will be signed.
    pub ticket_issued: bool,
    /// How the input goes in.
    pub input: Input,
    /// What the trail held about the run that the call is a retry of.
    pub retry_evidence: Option<v1::RetryEvidence>,
}

/// The record of a decision, and the answer that goes with it (redacted too).
#[must_use]
pub fn decision(
    permit: &DecidePermit,
    keys: &Keys,
    question: &Question,
    decision: &Decision,
    circumstances: Circumstances,
) -> (NewDecision, v1::DecideResponse) {
    let decision_id = Uuid::now_v7().to_string();
    let request = &question.request;
    let mut answer = convert::decision_to_wire(decision);
    trace::bound(&mut answer.trace, decision.trace.len() + decision.left_out);
    answer.decision_id.clone_from(&decision_id);
    answer.policy_version = circumstances.policy_version;
    let input_json = match circumstances.input {
        Input::Redacted => shorten::json(&redact::json(&serde_json::Value::Object(request.call.input.clone()))),
        Input::LeftOut => r#"{"portcullis":"the input is left out"}"#.to_owned(),
    };
    let project = match &request.facts.repository {
        portcullis_policy::facts::Repository::Known { root, .. } => root,
        _ => &request.workspace.root,
    };
    let tool_name = name(&request.call.tool_name);
    let session_id = identifier(&question.session_id);
    let record = v1::DecisionRecord {
        request_id: question.request_id.to_string(),
        agent: Some(v1::Agent {
            name: name(&request.agent),
            version: name(&question.agent_version),
        }),
        session_id: session_id.clone(),
        mode: convert::mode_of(request.mode).into(),
        cwd: name(request.workspace.cwd.as_str()),
        project: name(project.as_str()),
        tool_name: tool_name.clone(),
        tool_use_id: identifier(&question.tool_use_id),
        input_json,
        input_fingerprint: keys.fingerprint(permit.team(), &question.raw_input),
        effect: answer.effect,
        decided_by: answer.decided_by,
        rule: answer.rule.clone(),
        trace: answer.trace.clone(),
        user_message: answer.user_message.clone(),
        policy_version: circumstances.policy_version,
        evaluation_time: Some(convert::duration_of(circumstances.evaluation_time)),
        ticket_issued: circumstances.ticket_issued,
        retry_of: question.retry_of.map(|id| id.to_string()).unwrap_or_default(),
        retry_evidence: circumstances.retry_evidence.map(evidence),
    };
    let new = NewDecision {
        team: permit.team().clone(),
        decision_id,
        principal: permit.principal().to_owned(),
        host_id: question
            .host
            .as_ref()
            .map(|host| host.host_id.clone())
            .unwrap_or_default(),
        host_principal: permit.host().map(str::to_owned),
        verdict: decision.verdict,
        session_id,
        tool_name,
        body: record.encode_to_vec(),
    };
    (new, answer)
}

/// The record of an outcome.
#[must_use]
pub fn outcome(team: &TeamId, reporter: Reporter, decision_id: &str, mut outcome: v1::Outcome) -> NewOutcome {
    if let Some(v1::outcome::End::NotStarted(reason)) = &mut outcome.end {
        *reason = name(reason);
    }
    if let Some(enforcement) = &mut outcome.enforcement {
        let missing = enforcement.missing.iter_mut().chain(&mut enforcement.unheld_limits);
        for text in enforcement.mechanisms.iter_mut().chain(missing) {
            *text = name(text);
        }
    }
    outcome.refusals.iter_mut().for_each(clean_refusal);
    for text in &mut outcome.warnings {
        *text = name(text);
    }
    outcome.ended_by = name(&outcome.ended_by);
    let record = v1::OutcomeRecord {
        decision_id: decision_id.to_owned(),
        outcome: Some(outcome),
    };
    NewOutcome {
        team: team.clone(),
        decision_id: decision_id.to_owned(),
        reporter,
        record_id: Uuid::now_v7().to_string(),
        body: record.encode_to_vec(),
    }
}

/// What a record says about the run that a call is a retry of. It comes out of the trail, which was redacted by the version that
/// wrote it; this one may know more secrets.
fn evidence(mut evidence: v1::RetryEvidence) -> v1::RetryEvidence {
    evidence.detail = name(&evidence.detail);
    evidence.refusals.iter_mut().for_each(clean_refusal);
    evidence
}

fn clean_refusal(refusal: &mut v1::SandboxRefusal) {
    for text in [&mut refusal.subject, &mut refusal.reason, &mut refusal.remedy] {
        *text = name(text);
    }
}

/// The record of a push.
#[must_use]
pub fn policy_change(version: u64, previous_version: u64, digest: String, comment: &str) -> Vec<u8> {
    v1::PolicyChangeRecord {
        version,
        previous_version,
        digest,
        comment: name(comment),
    }
    .encode_to_vec()
}

/// A name or short text of the caller's: redacted and bounded.
#[must_use]
pub fn name(text: &str) -> String {
    shorten::text(&redact::text(text), MAX_NAME)
}

/// An id that the caller made up. A UUID stays as it is, so that it can be searched for; anything else is text.
#[must_use]
pub fn identifier(text: &str) -> String {
    if Uuid::try_parse(text).is_ok() {
        text.to_owned()
    } else {
        name(text)
    }
}

/// SHA-256 of a text, 64 lower-case hexadecimal digits.
#[must_use]
pub fn digest(text: &[u8]) -> String {
    use sha2::Digest as _;
    keys::hex(&sha2::Sha256::digest(text))
}
