//! Cases as data: a call, the rules in force, what is known, and the right decision.
//!
//! Policies are tested like code: `portcullis policy test` reads the files that this module understands and runs them
//! through [`crate::evaluate`], the same engine that the server uses. Two kinds are read: rows, one JSON object a line
//! ([`rows`]), and files of the native form in TOML ([`file`]). A case that cannot be read is a fault with its line, never
//! one case less.
//!
//! It reads no file (whoever calls it hands texts over) and judges nothing by itself.

mod coverage;
pub mod file;
pub mod rows;
mod setting;

use std::{fmt, str::FromStr, sync::Arc};

use crate::{Decision, EffectiveRuleset, Layer, PolicyDocument, Request, RuleRef, Verdict, evaluate};

pub use coverage::{Coverage, Covered};
pub use setting::Setting;

/// A call, the rules in force, and the right decision.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its id, or what it is about.
    pub name: String,
    /// Line of its file, counted from 1.
    pub line: u32,
    /// Why the expected decision is right; empty if nobody says.
    pub why: String,
    /// The documents in force.
    pub documents: Vec<Arc<PolicyDocument>>,
    /// The same as texts, for whoever puts them into files: native documents with their layer.
    pub texts: Vec<(Layer, String)>,
    /// Rules of the case that count for nothing, and why: one line each.
    pub left_out: Vec<String>,
    /// Where the call plays.
    pub setting: Setting,
    /// The call, with all facts.
    pub request: Request,
    /// What must come out.
    pub expected: Expectation,
    /// Names or texts of the rules that have to decide; empty: no rule may; `None` = whichever.
    pub because: Option<Vec<String>>,
}

/// What a case expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Expectation {
    /// This verdict.
    Verdict(Verdict),
    /// Ask or deny.
    NotAllow,
}

impl Expectation {
    /// Whether a verdict is what was expected.
    #[must_use]
    pub fn fits(self, verdict: Verdict) -> bool {
        match self {
            Self::Verdict(expected) => expected == verdict,
            Self::NotAllow => verdict != Verdict::Allow,
        }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Verdict(verdict) => verdict.fmt(f),
            Self::NotAllow => f.write_str("not_allow"),
        }
    }
}

/// A word that names no expectation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no decision; known are allow, ask, deny and not_allow")]
pub struct UnknownExpectation(pub String);

impl FromStr for Expectation {
    type Err = UnknownExpectation;

    fn from_str(word: &str) -> Result<Self, UnknownExpectation> {
        Ok(match word {
            "allow" => Self::Verdict(Verdict::Allow),
            "ask" => Self::Verdict(Verdict::Ask),
            "deny" => Self::Verdict(Verdict::Deny),
            "not_allow" => Self::NotAllow,
            other => return Err(UnknownExpectation(other.to_owned())),
        })
    }
}

impl Case {
    /// Decides the call, as the server would.
    #[must_use]
    pub fn decide(&self) -> Decision {
        let trusted = self.request.facts.project_trusted;
        evaluate(&EffectiveRuleset::merge(&self.documents, trusted), &self.request)
    }

    /// In what a decision is not the expected one, one sentence each; empty if it is right.
    #[must_use]
    pub fn mismatches(&self, decision: &Decision) -> Vec<String> {
        let mut out = Vec::new();
        if !self.expected.fits(decision.verdict) {
            out.push(format!("expected {}, got {}", self.expected, decision.verdict));
        }
        let Some(because) = &self.because else {
            return out;
        };
        let deciding = deciding_rules(decision);
        let is = |rule: &RuleRef, word: &String| *rule.text == **word || rule.name.as_deref() == Some(word);
        for word in because {
            if !deciding.iter().any(|rule| is(rule, word)) {
                out.push(format!("the rule `{word}` was to decide, and did not"));
            }
        }
        match &decision.rule {
            Some(rule) if !because.iter().any(|word| is(rule, word)) => {
                out.push(format!("{rule} decided, which `because` does not name"));
            }
            _ => {}
        }
        out
    }
}

/// The rules that brought a decision about: those of the parts that are as strict as the whole.
fn deciding_rules(decision: &Decision) -> Vec<&RuleRef> {
    decision
        .trace
        .iter()
        .filter(|part| part.verdict == decision.verdict)
        .filter_map(|part| part.rule.as_ref())
        .chain(&decision.rule)
        .collect()
}
