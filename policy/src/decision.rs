//! The answer: verdict, who decided, why, and what has to be done for it to hold.

use std::fmt;

use crate::{RuleRef, Verdict};

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Allow, ask or deny.
    pub verdict: Verdict,
    /// Who decided.
    pub decided_by: DecidedBy,
    /// The rule, where one decided.
    pub rule: Option<RuleRef>,
    /// Per part of the call, strictest first. Never empty.
    pub trace: Vec<TraceEntry>,
    /// How many further parts the trace leaves out, none of them stricter than its last.
    pub left_out: usize,
    /// For the person: why. Never empty.
    pub user_message: String,
    /// For the agent: why, and what to do instead. Never empty.
    pub agent_message: String,
    /// What an allow is bound to. Empty unless the verdict is allow.
    pub obligations: Vec<Obligation>,
    /// Rules that would allow the same call from now on, narrowest first. At most 5.
    pub suggested_rules: Vec<String>,
}

impl Decision {
    /// A decision that something could not be known or done. Never an allow: the caller chooses ask or deny.
    #[must_use]
    pub fn failure(kind: FailureVerdict, subject: &str, reason: &str) -> Self {
        let verdict = match kind {
            FailureVerdict::Ask => Verdict::Ask,
            FailureVerdict::Deny => Verdict::Deny,
        };
        Self {
            verdict,
            decided_by: DecidedBy::Failure,
            rule: None,
            trace: vec![TraceEntry {
                subject: subject.to_owned(),
                seen_through: Vec::new(),
                verdict,
                decided_by: DecidedBy::Failure,
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
}

/// What a failure may answer. There is no third value, so that no error path can end in allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureVerdict {
    /// A person is there.
    Ask,
    /// Nobody is.
    Deny,
}

/// Who or what decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DecidedBy {
    /// A rule of a policy document.
    Rule,
    /// The run mode, without a rule.
    Mode,
    /// A protected path, a critical path, Portcullis' own files and commands, or an MCP server that nobody approved.
    Protection,
    /// A control of the team that is no rule, such as permitted modes.
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
            Self::Control => "control",
            Self::Sandbox => "sandbox",
            Self::Classifier => "classifier",
            Self::Failure => "failure",
        })
    }
}

/// How one part of a call was judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEntry {
    /// The part, such as one command of a shell line. Raw: redact before it is stored or shown.
    pub subject: String,
    /// How it was reached, outermost first: `sudo`, `bash -c`, `$(…)`.
    pub seen_through: Vec<String>,
    /// What this part alone comes to.
    pub verdict: Verdict,
    /// Who decided this part.
    pub decided_by: DecidedBy,
    /// The rule, where one did.
    pub rule: Option<RuleRef>,
    /// Why, in words.
    pub reason: String,
}

/// What must be done for an allow to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obligation {
    /// Run the command in the sandbox, nowhere else.
    RunInSandbox,
}
