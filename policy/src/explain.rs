//! Says why a call is decided as it is, and what would turn the answer.
//!
//! A denial that nobody understands is worked around. So an explanation names, part by part, every rule that speaks about
//! the part and which of them decided; it keeps "something forbids it" apart from "nothing matched"; and it says the
//! nearest change that would turn the answer. INVARIANT: no change is shown that was not tried: each is applied to the
//! documents or the request, and the call is decided again.
//!
//! It never decides by itself: all it knows comes from [`crate::evaluate`]. The rules that speak about a part are found by
//! peeling: the rules that decided are taken away and the call is decided again, until no rule decides. What is secret in a
//! call is in the explanation, too: redact it before it is shown or stored.

mod change;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::{DecidedBy, Decision, EffectiveRuleset, PolicyDocument, Request, RuleRef, TraceEntry, Verdict, evaluate};

pub use change::{Change, Step};

/// Most rounds of peeling: so many rules that speak about one part are named.
const MAX_ROUNDS: usize = 8;
/// Longest input that changes are tried for, in bytes: each try judges the whole call again.
const MAX_INPUT: usize = 32 * 1024;

/// Why a call is decided as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The decision.
    pub decision: Decision,
    /// What stands behind each entry of its trace, in that order.
    pub parts: Vec<PartExplanation>,
    /// What would make the answer less strict, nearest first; each was tried. Empty for an allow.
    pub changes: Vec<Change>,
    /// Why no change leads to an allow; `None` if one does, or if it is an allow already.
    pub no_change: Option<String>,
}

/// What stands behind one part of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartExplanation {
    /// How the part stands.
    pub standing: Standing,
    /// The rules that speak about it, in the order in which they count.
    pub rules: Vec<Matching>,
}

/// A rule that speaks about a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matching {
    /// The rule.
    pub rule: RuleRef,
    /// Whether it decided; else another one outranked it.
    pub decided: bool,
}

/// How a part stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

impl Standing {
    fn of(part: &TraceEntry) -> Self {
        match (part.verdict, part.decided_by) {
            (Verdict::Allow, _) => Self::Allowed,
            (_, DecidedBy::Rule | DecidedBy::Protection | DecidedBy::Control) => Self::Forbidden,
            (_, DecidedBy::Mode | DecidedBy::Sandbox) => Self::NothingMatched,
            (_, DecidedBy::Failure) => Self::Unknown,
            #[allow(unreachable_patterns, reason = "who decides may grow")]
            _ => Self::Forbidden,
        }
    }

    /// Its words for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Forbidden => "forbidden",
            Self::NothingMatched => "nothing matched",
            Self::Unknown => "not known",
        }
    }
}

/// Explains how a call is decided under documents of any layers. Whether the project is trusted is among the request's
/// facts.
#[must_use]
pub fn explain(documents: &[Arc<PolicyDocument>], request: &Request) -> Explanation {
    let trial = Trial {
        documents: documents.to_vec(),
        request: request.clone(),
    };
    let decision = trial.decide();
    let input: usize = request
        .call
        .input
        .values()
        .filter_map(|value| value.as_str())
        .map(str::len)
        .sum();
    let parts = matching(&trial, &decision, if input > MAX_INPUT { 1 } else { MAX_ROUNDS });
    let (changes, no_change) = if decision.verdict == Verdict::Allow {
        (Vec::new(), None)
    } else if input > MAX_INPUT {
        let why = format!(
            "the call is longer than {} KiB, so no changes were tried",
            MAX_INPUT / 1024
        );
        (Vec::new(), Some(why))
    } else {
        change::search(&trial, &decision)
    };
    Explanation {
        decision,
        parts,
        changes,
        no_change,
    }
}

/// Documents and a request, to be changed and decided again.
#[derive(Clone)]
struct Trial {
    documents: Vec<Arc<PolicyDocument>>,
    request: Request,
}

impl Trial {
    fn decide(&self) -> Decision {
        let trusted = self.request.facts.project_trusted;
        evaluate(&EffectiveRuleset::merge(&self.documents, trusted), &self.request)
    }

    /// The same without some rules; `None` if none of them is there to be taken away.
    fn without(&self, rules: &[RuleRef]) -> Option<Self> {
        let mut found = false;
        let documents = self
            .documents
            .iter()
            .map(|document| {
                let gone = |source: &RuleRef| rules.iter().any(|rule| rule == source);
                if !document.rules.iter().any(|rule| gone(&rule.source)) {
                    return Arc::clone(document);
                }
                found = true;
                let mut less = PolicyDocument::clone(document);
                less.rules.retain(|rule| !gone(&rule.source));
                Arc::new(less)
            })
            .collect();
        found.then(|| Self {
            documents,
            request: self.request.clone(),
        })
    }
}

/// Which rules speak about each part, by peeling.
fn matching(trial: &Trial, decision: &Decision, rounds: usize) -> Vec<PartExplanation> {
    let mut parts: Vec<PartExplanation> = decision
        .trace
        .iter()
        .map(|part| PartExplanation {
            standing: Standing::of(part),
            rules: Vec::new(),
        })
        .collect();
    let (mut trial, mut current) = (trial.clone(), decision.clone());
    for round in 0..rounds {
        let mut peeled: Vec<RuleRef> = Vec::new();
        for entry in &current.trace {
            let Some(rule) = &entry.rule else { continue };
            let same = |part: &TraceEntry| part.subject == entry.subject && part.seen_through == entry.seen_through;
            for (part, of) in parts.iter_mut().zip(&decision.trace) {
                if same(of) && !part.rules.iter().any(|known| known.rule == *rule) {
                    part.rules.push(Matching {
                        rule: rule.clone(),
                        decided: round == 0 && of.rule.as_ref() == Some(rule),
                    });
                }
            }
            if !peeled.contains(rule) {
                peeled.push(rule.clone());
            }
        }
        match trial.without(&peeled) {
            Some(less) if round + 1 < rounds => trial = less,
            _ => break,
        }
        current = trial.decide();
    }
    parts
}
