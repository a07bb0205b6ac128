//! The answer to a question, in plain types.
//!
//! INVARIANT: an [`Answer`] with [`Verdict::Allow`] exists only if the other side said allow, named who decided, and gave
//! the id of the record. An unspecified or unknown effect, an allow that was not recorded, an allow out of a failure: none
//! of them is an answer. A [`Permit`] exists only if, beyond that, a ticket was signed for a command.

use std::fmt;

use portcullis_policy::{Layer, Verdict, decision::FailureVerdict};
use portcullis_proto::{convert::verdict_from_wire, v1};
use prost::Message as _;
use serde::{Serialize, Serializer};

use crate::question::{Execution, Question};

/// What was decided, by whom, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    #[serde(serialize_with = "as_text")]
    verdict: Verdict,
    /// Who decided.
    pub decided_by: DecidedBy,
    /// The record; `None` if nothing was recorded: the server is out of reach, or nothing was asked but an explanation.
    pub decision_id: Option<String>,
    /// The rule, where one decided.
    pub rule: Option<RuleRef>,
    /// Per part of the call, strictest first.
    pub trace: Vec<TraceEntry>,
    /// For the person: why.
    pub user_message: String,
    /// For the agent: why, and what to do instead.
    pub agent_message: String,
    /// Rules that would allow the same call from now on, narrowest first.
    pub suggested_rules: Vec<String>,
    /// Version of the team policy in force; 0 = none.
    pub policy_version: u64,
    /// An allow holds only for a run in the sandbox.
    pub sandbox_only: bool,
    /// What stands behind it, where an explanation was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    #[serde(skip)]
    permit: Option<Permit>,
}

/// What stands behind an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// What stands behind each entry of the trace, in its order; shorter where an entry stands for several parts.
    pub parts: Vec<PartExplanation>,
    /// What would make the answer less strict, nearest first. Each was tried.
    pub changes: Vec<Change>,
    /// Why no change leads to an allow; `None` if one does, or if it is an allow already.
    pub no_change: Option<String>,
}

/// What stands behind one part of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartExplanation {
    /// How the part stands; `None` if this version does not know it.
    pub standing: Option<Standing>,
    /// The rules that speak about it, in the order in which they count.
    pub rules: Vec<MatchingRule>,
}

/// How a part of a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It may run.
    Allowed,
    /// A rule, a protection or a control stands in the way: a further allow does not help.
    Forbidden,
    /// Nothing forbids it, but no rule allows it and the mode does not either.
    NothingMatched,
    /// Something about it is not known.
    Unknown,
}

/// A rule that speaks about a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MatchingRule {
    /// The rule.
    pub rule: RuleRef,
    /// Whether it decided; else another one outranked it.
    pub decided: bool,
}

/// What would make an answer less strict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// What has to be done, in this order.
    pub steps: Vec<ChangeStep>,
    /// What the call comes to then; `None` if this version does not know it.
    #[serde(serialize_with = "as_optional_text")]
    pub would_be: Option<Verdict>,
}

/// One step of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangeStep {
    /// In words.
    pub text: String,
    /// The rule to add, where that is the step; else empty.
    pub added_rule: String,
}

/// The permission to run one command once. Comes out of an allow only, and is used up by [`crate::Host::run`].
#[derive(Clone, PartialEq)]
pub struct Permit {
    pub(crate) ticket: v1::SignedTicket,
    pub(crate) argv: Vec<String>,
    pub(crate) cwd: String,
    /// The sandbox that the ticket is for.
    pub(crate) profile: v1::SandboxProfile,
}

impl Permit {
    /// The ticket's handle: what `portcullis exec --ticket` takes, on this host, for this command in this folder, once.
    #[must_use]
    pub fn handle(&self) -> String {
        portcullis_proto::ticket::handle(&self.ticket)
    }

    /// Which hosts the command may reach, besides its own loopback.
    #[must_use]
    pub fn network(&self) -> Network {
        match (&self.profile.network_rules, self.profile.network()) {
            (Some(rules), v1::NetworkAccess::Filtered) => Network {
                default_allow: rules.default_allow,
                allow: rules.allow.clone(),
                deny: rules.deny.clone(),
            },
            _ => Network::default(),
        }
    }
}

/// Hosts that a command may reach: those of `deny` never, those of `allow`, and the others if `default_allow`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Network {
    /// Hosts in no list may be reached.
    pub default_allow: bool,
    /// Hosts that may be reached.
    pub allow: Vec<String>,
    /// Hosts that may not.
    pub deny: Vec<String>,
}

impl Eq for Permit {}

impl fmt::Debug for Permit {
    /// Without the words of the command.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("cwd", &self.cwd).finish_non_exhaustive()
    }
}

/// Who or what decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// A rule of a policy document.
    Rule,
    /// The run mode, without a rule.
    Mode,
    /// A protected path, or Portcullis' own files and commands.
    Protection,
    /// A control of the team that is no rule.
    Control,
    /// The command is allowed because it runs in the sandbox.
    Sandbox,
    /// The classifier of an automatic mode, or what its silence comes to.
    Classifier,
    /// Something could not be known or done.
    Failure,
}

impl fmt::Display for DecidedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rule => "rule",
            Self::Mode => "mode",
            Self::Protection => "protection",
            Self::Control => "team control",
            Self::Sandbox => "sandbox",
            Self::Classifier => "classifier",
            Self::Failure => "failure",
        })
    }
}

/// A rule, and where a person finds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleRef {
    /// The layer; `None` if this version does not know it.
    #[serde(serialize_with = "as_optional_text")]
    pub layer: Option<Layer>,
    /// The document: a file path, or `team policy vN`.
    pub document: String,
    /// Line, counted from 1; 0 where there is none.
    pub line: u32,
    /// Column in characters, counted from 1; 0 where there is none.
    pub column: u32,
    /// The rule as written.
    pub text: String,
    /// The name its author gave it; empty if none.
    pub name: String,
    /// What it carries; `None` if this version does not know it.
    #[serde(serialize_with = "as_optional_text")]
    pub effect: Option<Verdict>,
}

/// How one part of a call was judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceEntry {
    /// The part, such as one command of a shell line.
    pub subject: String,
    /// How it was reached, outermost first: `sudo`, `bash -c`, `$(…)`.
    pub seen_through: Vec<String>,
    /// What this part alone comes to; `None` if this version does not know it.
    #[serde(serialize_with = "as_optional_text")]
    pub verdict: Option<Verdict>,
    /// Who decided this part; `None` if this version does not know it.
    pub decided_by: Option<DecidedBy>,
    /// The rule, where one did.
    pub rule: Option<RuleRef>,
    /// Why, in words.
    pub reason: String,
}

impl Answer {
    /// Allow, ask or deny.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// What to answer when nothing could be decided. Never an allow, as [`FailureVerdict`] has no such value.
    #[must_use]
    pub fn failure(mode: FailureVerdict, reason: &str) -> Self {
        Self {
            verdict: match mode {
                FailureVerdict::Ask => Verdict::Ask,
                FailureVerdict::Deny => Verdict::Deny,
            },
            decided_by: DecidedBy::Failure,
            decision_id: None,
            rule: None,
            trace: Vec::new(),
            user_message: reason.to_owned(),
            agent_message: reason.to_owned(),
            suggested_rules: Vec::new(),
            policy_version: 0,
            sandbox_only: false,
            explanation: None,
            permit: None,
        }
    }

    /// The permission to run the command, if there is one.
    #[must_use]
    pub fn permit(&self) -> Option<&Permit> {
        self.permit.as_ref().filter(|_| self.verdict == Verdict::Allow)
    }

    /// Takes the permission to run the command.
    ///
    /// # Errors
    /// Gives the answer back if it is not an allow for a command that was asked to be run.
    pub fn into_permit(mut self) -> Result<Permit, Box<Self>> {
        match (self.verdict, self.permit.take()) {
            (Verdict::Allow, Some(permit)) => Ok(permit),
            _ => Err(Box::new(self)),
        }
    }

    /// Reads the answer to `question`. The error says what is wrong with it.
    pub(crate) fn from_wire(wire: v1::DecideResponse, question: &Question) -> Result<Self, String> {
        let verdict = verdict_from_wire(wire.effect).map_err(|invalid| invalid.to_string())?;
        let decided_by = decided_by(wire.decided_by).ok_or("it does not say who decided")?;
        let decision_id = Some(wire.decision_id).filter(|id| !id.is_empty());
        if verdict == Verdict::Allow && decision_id.is_none() {
            return Err("it allows, but names no record".to_owned());
        }
        if verdict == Verdict::Allow && decided_by == DecidedBy::Failure {
            return Err("it allows because of a failure".to_owned());
        }
        let permit = match (verdict, wire.ticket, &question.execution) {
            (Verdict::Allow, Some(ticket), Some(execution)) => Some(permit(ticket, execution, &question.cwd)?),
            (Verdict::Allow, None, Some(_)) => return Err("it allows the command, but has no ticket".to_owned()),
            _ => None,
        };
        Ok(Self {
            verdict,
            decided_by,
            decision_id,
            rule: wire.rule.map(RuleRef::from),
            trace: wire.trace.into_iter().map(TraceEntry::from).collect(),
            user_message: wire.user_message,
            agent_message: wire.agent_message,
            suggested_rules: wire.suggested_rules,
            policy_version: wire.policy_version,
            sandbox_only: wire.sandbox.is_some(),
            explanation: None,
            permit,
        })
    }

    /// Reads an explanation: what the answer would be. It grants nothing, so an allow needs no record here.
    pub(crate) fn from_explanation(wire: v1::ExplainResponse) -> Result<Self, String> {
        let verdict = verdict_from_wire(wire.would_be).map_err(|invalid| invalid.to_string())?;
        let decided_by = decided_by(wire.decided_by).ok_or("it does not say who would decide")?;
        if verdict == Verdict::Allow && decided_by == DecidedBy::Failure {
            return Err("it allows because of a failure".to_owned());
        }
        Ok(Self {
            verdict,
            decided_by,
            decision_id: None,
            rule: wire.rule.map(RuleRef::from),
            trace: wire.trace.into_iter().map(TraceEntry::from).collect(),
            user_message: wire.user_message,
            agent_message: wire.agent_message,
            suggested_rules: wire.suggested_rules,
            policy_version: wire.policy_version,
            sandbox_only: false,
            explanation: Some(Explanation {
                parts: wire.parts.into_iter().map(PartExplanation::from).collect(),
                changes: wire.changes.into_iter().map(Change::from).collect(),
                no_change: Some(wire.no_change).filter(|why| !why.is_empty()),
            }),
            permit: None,
        })
    }
}

impl From<v1::PartExplanation> for PartExplanation {
    fn from(wire: v1::PartExplanation) -> Self {
        Self {
            standing: match wire.standing() {
                v1::Standing::Unspecified => None,
                v1::Standing::Allowed => Some(Standing::Allowed),
                v1::Standing::Forbidden => Some(Standing::Forbidden),
                v1::Standing::NothingMatched => Some(Standing::NothingMatched),
                v1::Standing::Unknown => Some(Standing::Unknown),
            },
            rules: wire
                .rules
                .into_iter()
                .filter_map(|matching| {
                    Some(MatchingRule {
                        rule: matching.rule?.into(),
                        decided: matching.decided,
                    })
                })
                .collect(),
        }
    }
}

impl From<v1::Change> for Change {
    fn from(wire: v1::Change) -> Self {
        Self {
            would_be: verdict_from_wire(wire.would_be).ok(),
            steps: wire
                .steps
                .into_iter()
                .map(|step| ChangeStep {
                    text: step.text,
                    added_rule: step.added_rule,
                })
                .collect(),
        }
    }
}

fn permit(ticket: v1::SignedTicket, execution: &Execution, cwd: &str) -> Result<Permit, String> {
    // The signature is for sandboxd to check; the claims are read for what the run has to be told.
    let claims =
        v1::TicketClaims::decode(ticket.claims.as_slice()).map_err(|_| "its ticket cannot be read".to_owned())?;
    Ok(Permit {
        argv: execution.argv.clone(),
        cwd: cwd.to_owned(),
        profile: claims.profile.unwrap_or_default(),
        ticket,
    })
}

pub(crate) fn decided_by(number: i32) -> Option<DecidedBy> {
    Some(match v1::DecidedBy::try_from(number).ok()? {
        v1::DecidedBy::Unspecified => return None,
        v1::DecidedBy::Rule => DecidedBy::Rule,
        v1::DecidedBy::Mode => DecidedBy::Mode,
        v1::DecidedBy::Protection => DecidedBy::Protection,
        v1::DecidedBy::Control => DecidedBy::Control,
        v1::DecidedBy::Sandbox => DecidedBy::Sandbox,
        v1::DecidedBy::Classifier => DecidedBy::Classifier,
        v1::DecidedBy::Failure => DecidedBy::Failure,
    })
}

fn layer(number: i32) -> Option<Layer> {
    Some(match v1::Layer::try_from(number).ok()? {
        v1::Layer::Unspecified => return None,
        v1::Layer::Builtin => Layer::Builtin,
        v1::Layer::Team => Layer::Team,
        v1::Layer::Session => Layer::Session,
        v1::Layer::Local => Layer::Local,
        v1::Layer::Project => Layer::Project,
        v1::Layer::User => Layer::User,
    })
}

impl From<v1::RuleRef> for RuleRef {
    fn from(wire: v1::RuleRef) -> Self {
        Self {
            layer: layer(wire.layer),
            document: wire.document,
            line: wire.line,
            column: wire.column,
            text: wire.text,
            name: wire.name,
            effect: verdict_from_wire(wire.effect).ok(),
        }
    }
}

impl From<v1::TraceEntry> for TraceEntry {
    fn from(wire: v1::TraceEntry) -> Self {
        Self {
            subject: wire.subject,
            seen_through: wire.seen_through,
            verdict: verdict_from_wire(wire.effect).ok(),
            decided_by: decided_by(wire.decided_by),
            rule: wire.rule.map(RuleRef::from),
            reason: wire.reason,
        }
    }
}

fn as_text<S: Serializer>(value: &Verdict, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn as_optional_text<T: fmt::Display, S: Serializer>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allow() -> v1::DecideResponse {
        v1::DecideResponse {
            decision_id: "d".into(),
            effect: v1::Effect::Allow.into(),
            decided_by: v1::DecidedBy::Rule.into(),
            ticket: Some(v1::SignedTicket::default()),
            ..Default::default()
        }
    }

    fn question() -> Question {
        Question::command("cli", "/w", vec!["true".into()], None)
    }

    #[test]
    fn a_complete_allow_is_a_permit() {
        let answer = Answer::from_wire(allow(), &question()).unwrap();
        assert_eq!(answer.verdict(), Verdict::Allow);
        assert_eq!(answer.into_permit().unwrap().argv, ["true"]);
    }

    #[test]
    fn an_allow_that_lacks_anything_is_no_answer() {
        type Change = fn(&mut v1::DecideResponse);
        let changes: [(&str, Change); 8] = [
            ("unspecified effect", |wire| wire.effect = 0),
            ("unknown effect", |wire| wire.effect = 4),
            ("negative effect", |wire| wire.effect = -1),
            ("no record", |wire| wire.decision_id.clear()),
            ("no ticket", |wire| wire.ticket = None),
            ("nobody decided", |wire| wire.decided_by = 0),
            ("unknown who decided", |wire| wire.decided_by = 99),
            ("a failure", |wire| wire.decided_by = v1::DecidedBy::Failure.into()),
        ];
        for (name, change) in changes {
            let mut wire = allow();
            change(&mut wire);
            assert!(Answer::from_wire(wire, &question()).is_err(), "{name}");
        }
    }

    #[test]
    fn an_ask_with_a_ticket_is_no_permit() {
        let mut wire = allow();
        wire.effect = v1::Effect::Ask.into();
        let answer = Answer::from_wire(wire, &question()).unwrap();
        assert_eq!(answer.into_permit().unwrap_err().verdict(), Verdict::Ask);
    }

    #[test]
    fn a_mere_question_gives_no_permit() {
        let answer = Answer::from_wire(allow(), &Question::shell("cli", "/w", "true")).unwrap();
        assert!(answer.into_permit().is_err());
    }

    #[test]
    fn a_failure_is_never_an_allow() {
        for mode in [FailureVerdict::Ask, FailureVerdict::Deny] {
            assert_ne!(Answer::failure(mode, "why").verdict(), Verdict::Allow);
        }
    }
}
