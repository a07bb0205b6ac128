//! The answer in the domain to the answer on the wire. Everything is redacted on the way.

use portcullis_policy::{
    Decision, RuleRef, TraceEntry, Verdict,
    explain::{Explanation, PartExplanation, Standing, Step},
};

use super::{
    text::clean,
    words::{decided_by_of, effect_of, layer_of},
};
use crate::v1;

/// Longest subject of a trace entry, rule, and reason, in bytes: a screen or two.
const MAX_TEXT: usize = 4096;

/// Longest message to person or agent, in bytes: it may quote a subject and a reason.
const MAX_MESSAGE: usize = 3 * MAX_TEXT;

/// Most entries of a trace. A line can hold 100,000 commands; nobody reads as many, and the record would not fit.
const MAX_TRACE: usize = 200;

/// Most rules that are named for one part.
const MAX_RULES: usize = 64;

/// Most steps that say how a part was reached.
const MAX_SEEN_THROUGH: usize = 40;

/// The answer without what the server adds (ids, version, profile, ticket).
#[must_use]
pub fn decision_to_wire(decision: &Decision) -> v1::DecideResponse {
    let answer = explanation_to_wire(decision);
    v1::DecideResponse {
        effect: answer.would_be,
        decided_by: answer.decided_by,
        rule: answer.rule,
        trace: answer.trace,
        user_message: answer.user_message,
        agent_message: answer.agent_message,
        suggested_rules: answer.suggested_rules,
        ..Default::default()
    }
}

/// The answer as an explanation, which grants nothing.
#[must_use]
pub fn explanation_to_wire(decision: &Decision) -> v1::ExplainResponse {
    v1::ExplainResponse {
        would_be: effect_of(decision.verdict).into(),
        decided_by: decided_by_of(decision.decided_by).into(),
        rule: decision.rule.as_ref().map(rule_to_wire),
        trace: trace_to_wire(&decision.trace, decision.left_out),
        user_message: clean(&decision.user_message, MAX_MESSAGE),
        agent_message: clean(&decision.agent_message, MAX_MESSAGE),
        suggested_rules: suggested_rules(&decision.suggested_rules),
        ..Default::default()
    }
}

/// Adds to an explanation which rules speak about each part, and what would turn the answer.
pub fn add_reasons(wire: &mut v1::ExplainResponse, explanation: &Explanation) {
    // Where the trace was cut, its last entry stands for several parts and none of them.
    let whole = explanation.decision.left_out == 0 && explanation.parts.len() <= MAX_TRACE;
    let shown = if whole { MAX_TRACE } else { MAX_TRACE - 1 };
    wire.parts = explanation.parts.iter().take(shown).map(part_to_wire).collect();
    wire.changes = explanation
        .changes
        .iter()
        // A change with a hole in it would be another change.
        .filter_map(|change| {
            let steps: Option<Vec<_>> = change.steps.iter().map(step_to_wire).collect();
            Some(v1::Change {
                steps: steps?,
                would_be: effect_of(change.verdict).into(),
            })
        })
        .collect();
    wire.no_change = explanation
        .no_change
        .as_deref()
        .map(|why| clean(why, MAX_MESSAGE))
        .unwrap_or_default();
}

fn step_to_wire(step: &Step) -> Option<v1::ChangeStep> {
    let added_rule = match step {
        Step::AddRule { rule, .. } if clean(rule, MAX_TEXT) == *rule => rule.clone(),
        Step::AddRule { .. } => return None,
        _ => String::new(),
    };
    Some(v1::ChangeStep {
        text: clean(&step.to_string(), MAX_TEXT),
        added_rule,
    })
}

fn part_to_wire(part: &PartExplanation) -> v1::PartExplanation {
    v1::PartExplanation {
        standing: match part.standing {
            Standing::Allowed => v1::Standing::Allowed,
            Standing::Forbidden => v1::Standing::Forbidden,
            Standing::NothingMatched => v1::Standing::NothingMatched,
            Standing::Unknown => v1::Standing::Unknown,
        }
        .into(),
        rules: part
            .rules
            .iter()
            .take(MAX_RULES)
            .map(|matching| v1::MatchingRule {
                rule: Some(rule_to_wire(&matching.rule)),
                decided: matching.decided,
            })
            .collect(),
    }
}

/// A rule for people.
#[must_use]
pub fn rule_to_wire(rule: &RuleRef) -> v1::RuleRef {
    v1::RuleRef {
        layer: layer_of(rule.layer).into(),
        document: clean(&rule.document, MAX_TEXT),
        line: rule.line,
        column: rule.column,
        text: clean(&rule.text, MAX_TEXT),
        name: rule
            .name
            .as_deref()
            .map(|name| clean(name, MAX_TEXT))
            .unwrap_or_default(),
        effect: effect_of(Verdict::from(rule.effect)).into(),
    }
}

/// At most [`MAX_TRACE`] entries; the last then stands for the ones left out, `more` of which are not in `trace` either.
fn trace_to_wire(trace: &[TraceEntry], more: usize) -> Vec<v1::TraceEntry> {
    if trace.len() <= MAX_TRACE && more == 0 {
        return trace.iter().map(entry_to_wire).collect();
    }
    let (shown, left_out) = trace
        .split_at_checked(trace.len().min(MAX_TRACE).saturating_sub(1))
        .unwrap_or((trace, &[]));
    let count = left_out.len() + more;
    let mut entries: Vec<_> = shown.iter().map(entry_to_wire).collect();
    if let Some(strictest) = left_out.iter().max_by_key(|entry| entry.verdict) {
        entries.push(v1::TraceEntry {
            subject: format!("… {count} further parts"),
            effect: effect_of(strictest.verdict).into(),
            decided_by: decided_by_of(strictest.decided_by).into(),
            reason: format!(
                "{count} further parts are left out of this trace; the strictest of them comes to {}",
                strictest.verdict
            ),
            ..Default::default()
        });
    }
    entries
}

fn entry_to_wire(entry: &TraceEntry) -> v1::TraceEntry {
    v1::TraceEntry {
        subject: clean(&entry.subject, MAX_TEXT),
        seen_through: entry
            .seen_through
            .iter()
            .take(MAX_SEEN_THROUGH)
            .map(|step| clean(step, 256))
            .collect(),
        effect: effect_of(entry.verdict).into(),
        decided_by: decided_by_of(entry.decided_by).into(),
        rule: entry.rule.as_ref().map(rule_to_wire),
        reason: clean(&entry.reason, MAX_TEXT),
    }
}

/// Suggestions that survive redaction: one with a hole in it would allow something else than the call.
fn suggested_rules(rules: &[String]) -> Vec<String> {
    rules
        .iter()
        .filter(|rule| clean(rule, MAX_TEXT) == **rule)
        .take(5)
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests;
