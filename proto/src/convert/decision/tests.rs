//! Answers on their way out.

use portcullis_policy::{DecidedBy, Effect, Layer, decision::FailureVerdict};

use super::*;
use crate::convert::{decided_by_from_wire, layer_from_wire, verdict_from_wire};

fn entry(subject: &str, verdict: Verdict) -> TraceEntry {
    TraceEntry {
        subject: subject.into(),
        seen_through: vec!["bash -c".into()],
        verdict,
        decided_by: DecidedBy::Mode,
        rule: None,
        reason: "why".into(),
    }
}

fn decision() -> Decision {
    let rule = RuleRef {
        layer: Layer::Team,
        document: "team policy v3".into(),
        line: 4,
        column: 2,
        text: "Bash(ls *)".into(),
        name: Some("look".into()),
        effect: Effect::Allow,
    };
    Decision {
        verdict: Verdict::Allow,
        decided_by: DecidedBy::Rule,
        rule: Some(rule.clone()),
        trace: vec![TraceEntry {
            rule: Some(rule),
            ..entry("ls", Verdict::Allow)
        }],
        left_out: 0,
        user_message: "for you".into(),
        agent_message: "for it".into(),
        obligations: Vec::new(),
        suggested_rules: vec!["Bash(ls)".into()],
    }
}

#[test]
fn every_field_arrives() {
    let wire = decision_to_wire(&decision());
    assert_eq!(verdict_from_wire(wire.effect), Ok(Verdict::Allow));
    assert_eq!(decided_by_from_wire(wire.decided_by), Ok(DecidedBy::Rule));
    let rule = wire.rule.unwrap();
    assert_eq!(layer_from_wire(rule.layer), Ok(Layer::Team));
    assert_eq!(
        (
            rule.document.as_str(),
            rule.line,
            rule.column,
            rule.text.as_str(),
            rule.name.as_str()
        ),
        ("team policy v3", 4, 2, "Bash(ls *)", "look")
    );
    assert_eq!(verdict_from_wire(rule.effect), Ok(Verdict::Allow));
    let [part] = wire.trace.as_slice() else {
        panic!("one part")
    };
    assert_eq!((part.subject.as_str(), part.reason.as_str()), ("ls", "why"));
    assert_eq!(part.seen_through, ["bash -c"]);
    assert!(part.rule.is_some());
    assert_eq!(
        (wire.user_message.as_str(), wire.agent_message.as_str()),
        ("for you", "for it")
    );
    assert_eq!(wire.suggested_rules, ["Bash(ls)"]);
}

#[test]
fn the_answer_grants_nothing_by_itself_and_the_explanation_says_the_same() {
    let (answer, explanation) = (decision_to_wire(&decision()), explanation_to_wire(&decision()));
    assert!(answer.ticket.is_none() && answer.decision_id.is_empty() && answer.sandbox.is_none());
    assert_eq!((answer.effect, answer.trace), (explanation.would_be, explanation.trace));
}

#[test]
fn a_failure_is_never_an_allow() {
    for kind in [FailureVerdict::Ask, FailureVerdict::Deny] {
        let wire = decision_to_wire(&Decision::failure(kind, "x", "broken"));
        assert_ne!(wire.effect(), v1::Effect::Allow);
        assert_eq!(wire.decided_by(), v1::DecidedBy::Failure);
    }
}

#[test]
fn long_traces_say_what_is_left_out_and_how_strict_it_was() {
    let mut decision = decision();
    decision.trace = vec![entry("a", Verdict::Ask); 200];
    assert_eq!(decision_to_wire(&decision).trace.len(), 200);
    assert_eq!(decision_to_wire(&decision).trace[199].subject, "a");
    decision.trace.extend(vec![entry("b", Verdict::Allow); 99]);
    decision.trace.push(entry("c", Verdict::Deny));
    let trace = decision_to_wire(&decision).trace;
    assert_eq!(trace.len(), 200);
    assert_eq!(trace[199].subject, "… 101 further parts");
    assert_eq!(trace[199].effect(), v1::Effect::Deny);
    decision.left_out = 9_745;
    let trace = decision_to_wire(&decision).trace;
    assert_eq!(trace.len(), 200);
    assert_eq!(
        trace[199].subject, "… 9846 further parts",
        "those that the engine left out too"
    );
}

#[test]
fn long_texts_are_cut() {
    let mut decision = decision();
    decision.trace = vec![entry(&"é ".repeat(500_000), Verdict::Ask)];
    decision.user_message = "y ".repeat(500_000);
    let wire = decision_to_wire(&decision);
    assert!(wire.trace[0].subject.len() < MAX_TEXT + 50);
    assert!(wire.user_message.len() < MAX_MESSAGE + 50);
}

#[test]
fn no_secret_leaves_in_any_text() {
    let secret = "x --password hunter2";
    let mut decision = decision();
    let rule = RuleRef {
        document: secret.into(),
        text: secret.into(),
        name: Some(secret.into()),
        ..decision.rule.clone().unwrap()
    };
    decision.rule = Some(rule.clone());
    decision.trace = vec![TraceEntry {
        rule: Some(rule),
        seen_through: vec![secret.into()],
        reason: secret.into(),
        ..entry(secret, Verdict::Ask)
    }];
    decision.user_message = secret.into();
    decision.agent_message = secret.into();
    decision.suggested_rules = vec![format!("Bash({secret})"), "Bash(x *)".into()];
    let sent = format!("{:?} {:?}", decision_to_wire(&decision), explanation_to_wire(&decision));
    assert!(!sent.contains("hunter2"), "{sent}");
    assert!(sent.contains("x --password [redacted:password]"), "{sent}");
    // A rule with a hole would allow something else.
    assert_eq!(decision_to_wire(&decision).suggested_rules, ["Bash(x *)"]);
}

#[test]
fn a_secret_at_the_place_of_a_cut_does_not_leave_in_half() {
    for before in 65_400..65_560 {
        let text = format!("{}ghp_{} x", "a ".repeat(before / 2), "aB3dE6gH9j".repeat(4));
        let sent = clean(&text, usize::MAX);
        assert!(!sent.contains("ghp_") && !sent.contains("aB3"), "{before}");
    }
}
