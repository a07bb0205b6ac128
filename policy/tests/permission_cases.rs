//! Runs the permission cases: calls, the rules and mode in force, and the right decision.
//!
//! The cases are data in `tests/cases`, described there. Facts that a case leaves out are the ordinary ones: the project
//! is trusted, its repository runs nothing, programs are the system's, a person can be asked, and of files only those
//! named exist. Rows that this engine does not decide yet are counted and named, never passed in silence.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test program stops at the first surprise, and says what it did not decide"
)]

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

#[path = "common/rows.rs"]
mod rows;

use rows::{Case, fits};

fn cases() -> Vec<Case> {
    let files = [
        include_str!("../../tests/cases/permission-cases.jsonl"),
        include_str!("../../tests/cases/permission-cases-more.jsonl"),
    ];
    files
        .into_iter()
        .flat_map(str::lines)
        .map(|line| Case(serde_json::from_str(line).unwrap()))
        .collect()
}

#[test]
fn every_row_is_decided_as_it_should_be() {
    let cases = cases();
    assert!(cases.len() > 1400, "the cases are missing");
    let ids: BTreeSet<&str> = cases.iter().map(Case::id).collect();
    assert_eq!(ids.len(), cases.len(), "an id stands twice");
    let (mut wrong, mut right, mut not_yet) = (Vec::new(), 0, BTreeMap::<String, Vec<&str>>::new());
    for case in &cases {
        if let Some(why) = case.not_yet() {
            not_yet.entry(why).or_default().push(case.id());
            continue;
        }
        let decision = case.decide();
        if fits(case.text("expect"), decision.verdict) {
            right += 1;
        } else {
            wrong.push(format!(
                "{}: expected {}, got {}\n    call: {}\n    said: {}\n    why: {}",
                case.id(),
                case.text("expect"),
                decision.verdict,
                case.0["call"],
                decision.user_message,
                case.text("why")
            ));
        }
    }
    println!("{right} rows right, {} wrong", wrong.len());
    for (why, ids) in &not_yet {
        println!("NOT YET DECIDED ({} rows, {why}): {}", ids.len(), ids.join(" "));
    }
    assert!(
        wrong.is_empty(),
        "{} rows are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(right + not_yet.values().map(Vec::len).sum::<usize>(), cases.len());
}

#[test]
fn the_runner_notices_a_wrong_answer() {
    let case = |rules: Value| {
        Case(json!({
            "id": "control", "mode": "default", "rules": rules, "format": "claude", "cwd": "/home/dev/proj",
            "home": "/home/dev", "call": {"tool": "Edit", "path": "a.txt"}, "expect": "allow", "why": "control",
        }))
    };
    assert!(fits("allow", case(json!({"allow": ["Edit(a.txt)"]})).decide().verdict));
    assert!(!fits("allow", case(json!({"allow": []})).decide().verdict));
}
