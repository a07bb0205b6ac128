//! Bounds a trace in bytes.
//!
//! Its entries are bounded in number and length, but 200 long ones would still be several MiB, more than clients take in
//! one message and more than a record should be.

use portcullis_proto::v1;
use prost::Message as _;

/// Longest trace, in bytes: enough for some hundred ordinary parts.
const MAX_BYTES: usize = 128 * 1024;

/// Cuts a trace off where it gets too long. The strictest parts come first and stay; the last entry stands for the rest of
/// the `parts` that there were, as one may have done before.
pub(super) fn bound(trace: &mut Vec<v1::TraceEntry>, parts: usize) {
    let mut bytes = 0;
    let kept = trace.iter().take_while(|entry| {
        bytes += entry.encoded_len();
        bytes <= MAX_BYTES
    });
    let kept = kept.count();
    if kept >= trace.len() {
        return;
    }
    let rest = trace.split_off(kept);
    // The numbers of the effects are in the order of strictness.
    if let Some(strictest) = rest.iter().max_by_key(|entry| entry.effect) {
        trace.push(v1::TraceEntry {
            subject: format!("… {} further parts", parts.saturating_sub(kept)),
            effect: strictest.effect,
            decided_by: strictest.decided_by,
            reason: "left out because the trace is too long; the strictest of them comes to this".to_owned(),
            ..Default::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(count: usize, length: usize) -> Vec<v1::TraceEntry> {
        let effects = [v1::Effect::Deny, v1::Effect::Ask, v1::Effect::Allow];
        let entry = |at: usize| v1::TraceEntry {
            subject: "x".repeat(length),
            effect: effects[(at * 3 / count).min(2)].into(),
            ..Default::default()
        };
        (0..count).map(entry).collect()
    }

    #[test]
    fn a_usual_trace_stays_whole() {
        let mut trace = entries(200, 100);
        bound(&mut trace, 200);
        assert_eq!(trace, entries(200, 100));
    }

    #[test]
    fn a_long_one_keeps_its_strictest_parts_and_counts_the_rest() {
        let mut trace = entries(200, 4096);
        bound(&mut trace, 10_001);
        assert!(trace.iter().map(prost::Message::encoded_len).sum::<usize>() <= MAX_BYTES + 200);
        assert_eq!(trace[0].effect(), v1::Effect::Deny);
        let last = trace.last().unwrap();
        assert_eq!(last.subject, format!("… {} further parts", 10_001 - (trace.len() - 1)));
        assert_eq!(last.effect(), v1::Effect::Deny, "the strictest of those left out");
    }
}
