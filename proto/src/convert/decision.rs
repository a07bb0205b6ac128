//! The answer in the domain to the answer on the wire. Everything is redacted on the way.

use portcullis_policy::{Decision, RuleRef, TraceEntry, Verdict};

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
        policy_version: 0,
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
