//! Retries outside of the sandbox: a command ran in it by an earlier decision, failed because of it, and is asked about again.
//!
//! INVARIANT: the answer is never an allow. Whatever would be one is an ask (a deny where nobody can be asked) with the evidence:
//! what the sandbox refused in that run. The evidence is what this server's own trail holds, never what a caller says; a decision
//! of another team or principal is not known here. Denials stay as they are.
//!
//! It does not say whether the command would work outside, nor does it look at the same call's other runs.

use std::time::Duration;

use portcullis_policy::{
    Decision, Request, Verdict,
    decision::{DecidedBy, TraceEntry},
    explain::{Explanation, PartExplanation, Standing},
};
use portcullis_proto::{convert::Question, v1};
use prost::Message as _;
use tokio::time::{Instant, timeout_at};
use tonic::Status;

use crate::{
    audit,
    auth::DecidePermit,
    keys::Keys,
    store::{Filter, Page, RecordKind, Store, StoredRecord},
};

/// How long the trail is searched.
const SEARCH_LIMIT: Duration = Duration::from_secs(1);
/// Records under one decision id: the decision and its outcome.
const MAX_RECORDS: u32 = 2;
/// Refusals that go into the record.
const MAX_RECORDED: usize = 16;
/// Refusals that are told in words.
const MAX_TOLD: usize = 6;
/// Longest subject that is told in words, in characters.
const MAX_SUBJECT: usize = 256;

/// A retry, and what the trail says about the run before.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Retry {
    of: String,
    finding: Finding,
}

/// What the trail says about the run before.
#[derive(Clone, Debug, PartialEq)]
enum Finding {
    /// How it ended, and all that the sandbox refused to it; may be nothing.
    Ran(String, Vec<v1::SandboxRefusal>),
    /// Nothing yet.
    NoOutcome,
    /// It was no allow.
    NotAllowed,
    /// It was another call: in what.
    OtherCall(&'static str),
    /// The trail could not be read: why.
    NotRead(String),
}

/// What the trail says about the decision that a question is a retry of; `None` if it is no retry.
///
/// # Errors
/// If the caller made no such decision. Whether somebody else did is not told.
pub(super) async fn find(
    store: &dyn Store,
    keys: &Keys,
    permit: &DecidePermit,
    question: &Question,
    until: Instant,
) -> Result<Option<Retry>, Status> {
    let Some(id) = &question.retry_of else {
        return Ok(None);
    };
    // As the trail writes it, whatever the case of the letters that were sent.
    let of = id.to_string();
    let filter = Filter {
        decision_id: Some(of.clone()),
        ..Filter::default()
    };
    let page = Page::Between(0, u64::MAX);
    let reading = store.records(permit.team().clone(), filter, page, MAX_RECORDS);
    let finding = match timeout_at(until.min(Instant::now() + SEARCH_LIMIT), reading).await {
        Err(_) => Finding::NotRead("it was not read in time".to_owned()),
        Ok(Err(error)) => Finding::NotRead(error.with_causes()),
        Ok(Ok(records)) => {
            let made_here =
                |record: &&StoredRecord| record.kind == RecordKind::Decision && record.principal == permit.principal();
            let Some(decision) = records.iter().find(made_here) else {
                return Err(unknown(&of));
            };
            let outcome = records.iter().find(|record| record.kind == RecordKind::Outcome);
            let fingerprint = keys.fingerprint(permit.team(), &question.raw_input);
            weigh(decision, outcome, question, &fingerprint)
                .unwrap_or_else(|damage| Finding::NotRead(damage.to_string()))
        }
    };
    Ok(Some(Retry { of, finding }))
}

fn unknown(id: &str) -> Status {
    Status::invalid_argument(format!(
        "invalid `retry_of`: no decision `{id}` of yours is on record; give the id that the answer to the first call named, or leave \
         it out and ask anew"
    ))
}

fn weigh(
    decision: &StoredRecord,
    outcome: Option<&StoredRecord>,
    question: &Question,
    fingerprint: &str,
) -> Result<Finding, prost::DecodeError> {
    let before = v1::DecisionRecord::decode(decision.body.as_slice())?;
    if before.effect() != v1::Effect::Allow {
        return Ok(Finding::NotAllowed);
    }
    let request = &question.request;
    let host = question.host.as_ref().map_or("", |host| host.host_id.as_str());
    let other = if before.tool_name != audit::name(&request.call.tool_name) {
        Some("it calls another tool")
    } else if before.input_fingerprint != fingerprint {
        Some("its input differs")
    } else if before.cwd != audit::name(request.workspace.cwd.as_str()) {
        Some("its working directory differs")
    } else if decision.host_id != host {
        Some("it comes from another host")
    } else {
        None
    };
    if let Some(difference) = other {
        return Ok(Finding::OtherCall(difference));
    }
    let Some(outcome) = outcome else {
        return Ok(Finding::NoOutcome);
    };
    let outcome = v1::OutcomeRecord::decode(outcome.body.as_slice())?
        .outcome
        .unwrap_or_default();
    Ok(Finding::Ran(ended(&outcome), outcome.refusals))
}

/// How a run ended, to follow after "the command".
fn ended(outcome: &v1::Outcome) -> String {
    use v1::outcome::End;
    let end = match &outcome.end {
        Some(End::ExitCode(code)) => format!("ended with exit status {code}"),
        Some(End::Signal(number)) => format!("was killed by signal {number}"),
        Some(End::NotStarted(why)) => format!("did not start: {why}"),
        None => "ended nobody knows how".to_owned(),
    };
    match outcome.ended_by.as_str() {
        "" => end,
        why => format!("{end} ({why})"),
    }
}

/// One refusal, to follow after "the sandbox refused".
fn told(refusal: &v1::SandboxRefusal) -> String {
    let subject = match refusal.subject.char_indices().nth(MAX_SUBJECT) {
        Some((end, _)) => format!("{}…", refusal.subject.get(..end).unwrap_or_default()),
        None => refusal.subject.clone(),
    };
    let what = match (refusal.kind(), subject.as_str()) {
        (v1::RefusedKind::Write, path) => format!("to write `{path}`"),
        (v1::RefusedKind::Read, path) => format!("to read `{path}`"),
        (v1::RefusedKind::Host, "") => "to reach a host".to_owned(),
        (v1::RefusedKind::Host, host) => format!("to reach `{host}`"),
        (v1::RefusedKind::Call, call) => format!("the system call `{call}`"),
        (v1::RefusedKind::Unspecified, other) => format!("`{other}`"),
    };
    if refusal.certain {
        what
    } else {
        format!("{what} (probably: the output says so)")
    }
}

impl Retry {
    /// What a decision comes to if it is about a retry. INVARIANT: never an allow.
    pub(super) fn judge(&self, request: &Request, mut decision: Decision) -> Decision {
        if decision.verdict == Verdict::Deny {
            return decision;
        }
        let mut reason = self.reason();
        let verdict = if request.nobody_can_be_asked() {
            reason.push_str(Request::NOBODY);
            Verdict::Deny
        } else {
            Verdict::Ask
        };
        let decided_by = match self.finding {
            Finding::NotRead(_) => DecidedBy::Failure,
            _ => DecidedBy::Control,
        };
        let subject = match request.call.input.get("command").and_then(|command| command.as_str()) {
            Some(command) => command.to_owned(),
            None => request.call.tool_name.clone(),
        };
        let first = TraceEntry {
            subject,
            seen_through: Vec::new(),
            verdict,
            decided_by,
            rule: None,
            reason: reason.clone(),
        };
        decision.trace.insert(0, first);
        // Why it would be asked about anyway, a person wants to know, too. Why it would be allowed stands in the trace.
        let anyway = match decision.verdict {
            Verdict::Ask => format!("; besides: {}", decision.user_message),
            Verdict::Allow | Verdict::Deny => String::new(),
        };
        decision.agent_message =
            format!("{reason}{anyway}. Wait for a person's answer; do not ask again in other words");
        decision.user_message = format!("{reason}{anyway}");
        if decision.verdict == Verdict::Allow {
            decision.decided_by = decided_by;
            decision.rule = None;
        }
        decision.verdict = verdict;
        decision.obligations.clear();
        // No rule allows a retry.
        decision.suggested_rules.clear();
        decision
    }

    /// The same for an explanation: no change of documents leads to an allow.
    pub(super) fn explain(&self, request: &Request, explanation: &mut Explanation) {
        if explanation.decision.verdict != Verdict::Deny {
            let first = PartExplanation {
                standing: Standing::Forbidden,
                rules: Vec::new(),
            };
            explanation.parts.insert(0, first);
        }
        explanation.decision = self.judge(request, explanation.decision.clone());
        explanation.changes.clear();
        explanation.no_change = Some("a retry outside of the sandbox is never allowed without a person".to_owned());
    }

    /// What goes into the record.
    pub(super) fn evidence(&self) -> v1::RetryEvidence {
        use v1::RetryFinding as Wire;
        let (finding, detail, all) = match &self.finding {
            Finding::Ran(ended, refusals) if refusals.is_empty() => (Wire::NothingRefused, ended.as_str(), &[][..]),
            Finding::Ran(ended, refusals) => (Wire::Refused, ended.as_str(), refusals.as_slice()),
            Finding::NoOutcome => (Wire::NoOutcome, "", &[][..]),
            Finding::NotAllowed => (Wire::NotAllowed, "", &[][..]),
            Finding::OtherCall(difference) => (Wire::OtherCall, *difference, &[][..]),
            Finding::NotRead(why) => (Wire::NotRead, why.as_str(), &[][..]),
        };
        let refusals = all.iter().take(MAX_RECORDED).map(|refusal| v1::SandboxRefusal {
            remedy: String::new(),
            ..refusal.clone()
        });
        v1::RetryEvidence {
            finding: finding.into(),
            detail: detail.to_owned(),
            refusals: refusals.collect(),
            left_out: u32::try_from(all.len().saturating_sub(MAX_RECORDED)).unwrap_or(u32::MAX),
        }
    }

    fn reason(&self) -> String {
        let finding = match &self.finding {
            Finding::Ran(ended, refusals) if refusals.is_empty() => {
                format!("in that run the sandbox refused nothing that it knows of, and the command {ended}")
            }
            Finding::Ran(ended, refusals) => {
                let mut list: Vec<_> = refusals.iter().take(MAX_TOLD).map(told).collect();
                let more = refusals.len().saturating_sub(MAX_TOLD);
                if more > 0 {
                    list.push(format!("{more} more"));
                }
                format!(
                    "in that run the sandbox refused {}, and the command {ended}",
                    list.join(", ")
                )
            }
            Finding::NoOutcome => {
                "no outcome of it is on record yet, so what the sandbox refused is not known".to_owned()
            }
            Finding::NotAllowed => "that was no allow, so no run by it is known".to_owned(),
            Finding::OtherCall(difference) => {
                format!(
                    "that was about another command ({difference}), so what was refused then says nothing about this one"
                )
            }
            Finding::NotRead(why) => {
                format!("what the sandbox refused is not known, for the trail cannot be read: {why}")
            }
        };
        format!(
            "a retry outside of the sandbox needs a person; it is one of decision {}: {finding}",
            self.of
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusals(count: usize) -> Vec<v1::SandboxRefusal> {
        let refusal = |at| v1::SandboxRefusal {
            kind: v1::RefusedKind::Write.into(),
            subject: format!("/{at}{}", "é".repeat(2000)),
            remedy: "do".to_owned(),
            ..Default::default()
        };
        (0..count).map(refusal).collect()
    }

    #[test]
    fn evidence_is_bounded_and_says_how_much_is_left_out() {
        let retry = Retry {
            of: "x".to_owned(),
            finding: Finding::Ran("ended".to_owned(), refusals(64)),
        };
        let reason = retry.reason();
        assert!(
            reason.contains("58 more") && reason.len() < 4096,
            "{} bytes",
            reason.len()
        );
        let evidence = retry.evidence();
        assert_eq!((evidence.refusals.len(), evidence.left_out), (MAX_RECORDED, 48));
        assert!(evidence.refusals.iter().all(|refusal| refusal.remedy.is_empty()));
        assert!(evidence.refusals[0].subject.starts_with("/0"));
    }

    #[test]
    fn guesses_are_told_as_guesses() {
        let mut refusal = v1::SandboxRefusal {
            kind: v1::RefusedKind::Host.into(),
            subject: "a.test:443".to_owned(),
            certain: true,
            ..Default::default()
        };
        assert_eq!(told(&refusal), "to reach `a.test:443`");
        refusal.certain = false;
        assert!(told(&refusal).contains("probably"), "{}", told(&refusal));
    }
}
