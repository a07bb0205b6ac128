//! Records of the trail in plain types. Their JSON form is a stable contract: fields are added, never renamed.

use jiff::Timestamp;
use portcullis_policy::Verdict;
use portcullis_proto::{convert::verdict_from_wire, v1};
use serde::{Serialize, Serializer};

use crate::{
    DecidedBy, RuleRef, TraceEntry,
    answer::decided_by,
    host::{Enforcement, EnforcementStatus},
    run::{End, Outcome},
};

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// A decision.
    Decision,
    /// What became of an allowed call.
    Outcome,
    /// A push of team policy.
    PolicyChange,
}

/// Which records. What is `None` or empty does not filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only of this kind.
    pub kind: Option<RecordKind>,
    /// Only decisions with this verdict.
    pub effect: Option<Verdict>,
    /// Only at or after this time.
    pub since: Option<Timestamp>,
    /// Only before this time.
    pub until: Option<Timestamp>,
    /// Only of this session.
    pub session_id: String,
    /// Only of this principal.
    pub principal: String,
    /// Only this decision and its outcome.
    pub decision_id: String,
    /// Only of this tool, as the agent spells it.
    pub tool_name: String,
}

impl Filter {
    pub(crate) fn to_wire(&self) -> v1::RecordFilter {
        let time = |time: Timestamp| prost_types::Timestamp {
            seconds: time.as_second(),
            nanos: time.subsec_nanosecond(),
        };
        v1::RecordFilter {
            kind: match self.kind {
                None => v1::RecordKind::Unspecified,
                Some(RecordKind::Decision) => v1::RecordKind::Decision,
                Some(RecordKind::Outcome) => v1::RecordKind::Outcome,
                Some(RecordKind::PolicyChange) => v1::RecordKind::PolicyChange,
            }
            .into(),
            effect: match self.effect {
                None => v1::Effect::Unspecified,
                Some(Verdict::Allow) => v1::Effect::Allow,
                Some(Verdict::Ask) => v1::Effect::Ask,
                Some(Verdict::Deny) => v1::Effect::Deny,
            }
            .into(),
            since: self.since.map(time),
            until: self.until.map(time),
            session_id: self.session_id.clone(),
            principal: self.principal.clone(),
            decision_id: self.decision_id.clone(),
            tool_name: self.tool_name.clone(),
        }
    }
}

/// One record of the trail.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Record {
    /// UUIDv7 of the record. For a decision: the decision id.
    pub record_id: String,
    /// Position in the trail.
    pub sequence: u64,
    /// When it was written, as RFC 3339; empty if the server did not say.
    pub time: String,
    /// Whose trail.
    pub team: String,
    /// Who acted.
    pub principal: String,
    /// The host that vouched for the call; empty if none did.
    pub host_id: String,
    /// What it is about.
    #[serde(flatten)]
    pub body: Body,
}

/// What a record is about. In JSON: the field `kind`, and the fields of that kind beside it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Body {
    /// A decision.
    Decision(Box<Decision>),
    /// An outcome.
    Outcome(OutcomeOf),
    /// A push of team policy.
    PolicyChange(PolicyChange),
    /// Something that this version does not know.
    Unknown {},
}

/// A decision, as recorded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decision {
    /// Allow, ask or deny; `None` if this version does not know it.
    #[serde(serialize_with = "as_optional_text")]
    pub effect: Option<Verdict>,
    /// Who decided; `None` if this version does not know it.
    pub decided_by: Option<DecidedBy>,
    /// The agent.
    pub agent: String,
    /// Its version.
    pub agent_version: String,
    /// Its session.
    pub session_id: String,
    /// Its run mode; empty if not known.
    pub mode: String,
    /// Working directory.
    pub cwd: String,
    /// Root of the project.
    pub project: String,
    /// The tool, as the agent spells it.
    pub tool_name: String,
    /// The agent's id of the call.
    pub tool_use_id: String,
    /// The tool's input as JSON text, redacted and shortened.
    pub input_json: String,
    /// Keyed digest of the raw input.
    pub input_fingerprint: String,
    /// The rule, where one decided.
    pub rule: Option<RuleRef>,
    /// How it came about.
    pub trace: Vec<TraceEntry>,
    /// What the person was told.
    pub user_message: String,
    /// Version of the team policy in force.
    pub policy_version: u64,
    /// Time to evaluate, without the time to store, in microseconds.
    pub evaluation_us: u64,
    /// Whether a ticket was signed.
    pub ticket_issued: bool,
    /// The caller's id of the request.
    pub request_id: String,
    /// The decision that this one is a retry of, outside of the sandbox; `None` if it is none.
    pub retry_of: Option<String>,
    /// What the trail held about that run; `None` if this is no retry.
    pub retry_evidence: Option<RetryEvidence>,
}

/// What the trail held about the run that a call is a retry of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RetryEvidence {
    /// `refused`, `nothing-refused`, `no-outcome`, `not-allowed`, `other-call` or `not-read`.
    pub finding: &'static str,
    /// How the run ended, in what the calls differ, or why the trail was not read; may be empty.
    pub detail: String,
    /// What the sandbox refused in it, without remedies.
    pub refusals: Vec<RefusalOf>,
    /// Refusals that are left out here; the outcome's record has them.
    pub left_out: u32,
}

impl From<v1::RetryEvidence> for RetryEvidence {
    fn from(wire: v1::RetryEvidence) -> Self {
        let finding = match wire.finding() {
            v1::RetryFinding::Refused => "refused",
            v1::RetryFinding::NothingRefused => "nothing-refused",
            v1::RetryFinding::NoOutcome => "no-outcome",
            v1::RetryFinding::NotAllowed => "not-allowed",
            v1::RetryFinding::OtherCall => "other-call",
            v1::RetryFinding::NotRead => "not-read",
            v1::RetryFinding::Unspecified => "unknown",
        };
        Self {
            finding,
            detail: wire.detail,
            refusals: wire.refusals.into_iter().map(RefusalOf::from).collect(),
            left_out: wire.left_out,
        }
    }
}

/// Something that the sandbox refused to a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RefusalOf {
    /// `write`, `read`, `host` or `call`.
    pub kind: &'static str,
    /// The path, the host or the system call; empty if it is not known which.
    pub subject: String,
    /// Why.
    pub reason: String,
    /// What can be done about it.
    pub remedy: String,
    /// Whether the sandbox saw it; else the command's output made it probable.
    pub certain: bool,
    /// How often.
    pub times: u64,
}

impl From<v1::SandboxRefusal> for RefusalOf {
    fn from(wire: v1::SandboxRefusal) -> Self {
        let kind = match wire.kind() {
            v1::RefusedKind::Write => "write",
            v1::RefusedKind::Read => "read",
            v1::RefusedKind::Host => "host",
            v1::RefusedKind::Call => "call",
            v1::RefusedKind::Unspecified => "unknown",
        };
        Self {
            kind,
            subject: wire.subject,
            reason: wire.reason,
            remedy: wire.remedy,
            certain: wire.certain,
            times: wire.times,
        }
    }
}

/// What became of a decision.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutcomeOf {
    /// The decision.
    pub decision_id: String,
    /// Exit status of the command; `None` if it did not exit.
    pub exit_code: Option<u32>,
    /// The signal that killed it; `None` if none did.
    pub signal: Option<u32>,
    /// Why it never started; `None` if it did.
    pub not_started: Option<String>,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
    /// Why it was ended from outside; `None` if it ended by itself.
    pub ended_by: Option<String>,
    /// What was enforced; `None` if the host did not say.
    pub enforcement: Option<Enforcement>,
    /// What the sandbox refused to it, as far as that can be told.
    pub refusals: Vec<RefusalOf>,
    /// What a person should know about the run.
    pub warnings: Vec<String>,
}

/// A push of team policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyChange {
    /// The new version.
    pub version: u64,
    /// The one before; 0 = none.
    pub previous_version: u64,
    /// SHA-256 of the new text.
    pub digest: String,
    /// Why.
    pub comment: String,
}

impl OutcomeOf {
    /// The enforcement in one word; empty if the host did not say.
    #[must_use]
    pub fn enforced(&self) -> &'static str {
        match self.enforcement.as_ref().map(|enforcement| enforcement.status) {
            Some(EnforcementStatus::Full) => "full",
            Some(EnforcementStatus::Partial) => "partial",
            Some(EnforcementStatus::None) => "none",
            None => "",
        }
    }
}

impl From<v1::AuditRecord> for Record {
    fn from(wire: v1::AuditRecord) -> Self {
        use v1::audit_record::Body as Wire;
        Self {
            record_id: wire.record_id,
            sequence: wire.sequence,
            time: time_text(wire.time),
            team: wire.team,
            principal: wire.principal,
            host_id: wire.host_id,
            body: match wire.body {
                Some(Wire::Decision(decision)) => Body::Decision(Box::new(decision.into())),
                Some(Wire::Outcome(outcome)) => Body::Outcome(outcome.into()),
                Some(Wire::PolicyChange(change)) => Body::PolicyChange(PolicyChange {
                    version: change.version,
                    previous_version: change.previous_version,
                    digest: change.digest,
                    comment: change.comment,
                }),
                None => Body::Unknown {},
            },
        }
    }
}

impl From<v1::DecisionRecord> for Decision {
    fn from(wire: v1::DecisionRecord) -> Self {
        let mode = match wire.mode() {
            v1::Mode::Unspecified => "",
            v1::Mode::Default => "default",
            v1::Mode::AcceptEdits => "acceptEdits",
            v1::Mode::Plan => "plan",
            v1::Mode::DontAsk => "dontAsk",
            v1::Mode::Bypass => "bypass",
            v1::Mode::Auto => "auto",
            v1::Mode::AutoReview => "auto-review",
            v1::Mode::Allowlist => "allowlist",
            v1::Mode::AllowlistSandbox => "allowlist-sandbox",
            v1::Mode::RunEverything => "run-everything",
        };
        let agent = wire.agent.unwrap_or_default();
        let evaluation: std::time::Duration = wire
            .evaluation_time
            .and_then(|time| time.try_into().ok())
            .unwrap_or_default();
        Self {
            effect: verdict_from_wire(wire.effect).ok(),
            decided_by: decided_by(wire.decided_by),
            agent: agent.name,
            agent_version: agent.version,
            session_id: wire.session_id,
            mode: mode.to_owned(),
            cwd: wire.cwd,
            project: wire.project,
            tool_name: wire.tool_name,
            tool_use_id: wire.tool_use_id,
            input_json: wire.input_json,
            input_fingerprint: wire.input_fingerprint,
            rule: wire.rule.map(RuleRef::from),
            trace: wire.trace.into_iter().map(TraceEntry::from).collect(),
            user_message: wire.user_message,
            policy_version: wire.policy_version,
            evaluation_us: u64::try_from(evaluation.as_micros()).unwrap_or(u64::MAX),
            ticket_issued: wire.ticket_issued,
            request_id: wire.request_id,
            retry_of: Some(wire.retry_of).filter(|id| !id.is_empty()),
            retry_evidence: wire.retry_evidence.map(RetryEvidence::from),
        }
    }
}

impl From<v1::OutcomeRecord> for OutcomeOf {
    fn from(wire: v1::OutcomeRecord) -> Self {
        let mut outcome = wire.outcome.unwrap_or_default();
        let warnings = std::mem::take(&mut outcome.warnings);
        let outcome = Outcome::from_wire(outcome);
        let (exit_code, signal, not_started) = match outcome.end {
            End::ExitCode(code) => (Some(code), None, None),
            End::Signal(number) => (None, Some(number), None),
            End::NotStarted(why) => (None, None, Some(why)),
        };
        Self {
            decision_id: wire.decision_id,
            exit_code,
            signal,
            not_started,
            duration_ms: u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX),
            ended_by: outcome.ended_by,
            enforcement: outcome.enforcement,
            refusals: outcome.refusals,
            warnings,
        }
    }
}

/// A time as RFC 3339 in UTC with milliseconds; empty if there is none or it is out of range.
pub(crate) fn time_text(time: Option<prost_types::Timestamp>) -> String {
    time.and_then(|time| Timestamp::new(time.seconds, time.nanos).ok())
        .map(|time| format!("{time:.3}"))
        .unwrap_or_default()
}

fn as_optional_text<S: Serializer>(value: &Option<Verdict>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rfc_3339_with_milliseconds() {
        let time = prost_types::Timestamp {
            seconds: 1_700_000_000,
            nanos: 5_000_000,
        };
        assert_eq!(time_text(Some(time)), "2023-11-14T22:13:20.005Z");
        assert_eq!(time_text(None), "");
    }

    #[test]
    fn the_json_form_names_its_kind() {
        let record = Record::from(v1::AuditRecord {
            sequence: 3,
            body: Some(v1::audit_record::Body::PolicyChange(v1::PolicyChangeRecord {
                version: 2,
                ..Default::default()
            })),
            ..Default::default()
        });
        let json = serde_json::to_value(&record).unwrap();
        assert_eq!(
            (json["kind"].as_str(), json["version"].as_u64()),
            (Some("policy-change"), Some(2))
        );
    }

    #[test]
    fn every_field_of_the_json_form_is_documented() {
        use v1::audit_record::Body as Wire;
        let document = include_str!("../../docs/audit.md");
        for body in [
            Wire::Decision(v1::DecisionRecord::default()),
            Wire::Outcome(v1::OutcomeRecord::default()),
            Wire::PolicyChange(v1::PolicyChangeRecord::default()),
        ] {
            let record = Record::from(v1::AuditRecord {
                body: Some(body),
                ..Default::default()
            });
            let json = serde_json::to_value(&record).unwrap();
            let fields = json.as_object().unwrap();
            assert!(fields.len() > 8);
            for field in fields.keys() {
                let documented = document
                    .lines()
                    .any(|line| line.starts_with('|') && line.contains(&format!("`{field}`")));
                assert!(documented, "`{field}` is not in docs/audit.md");
            }
        }
    }
}
