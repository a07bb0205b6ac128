//! Runs the permission cases: calls, the rules and mode in force, and the right decision.
//!
//! The cases are data in `tests/cases`, described there. Facts that a case leaves out are the ordinary ones: the project
//! is trusted, its repository runs nothing, programs are the system's, a person can be asked, and of files only those
//! named exist. A row that cannot be run is wrong.

#![allow(clippy::print_stdout, reason = "a test program says how many rows it ran")]

use std::collections::BTreeSet;

use portcullis_policy::cases::rows::{self, Row};

fn all_rows() -> Vec<Row> {
    let files = [
        include_str!("../../tests/cases/permission-cases.jsonl"),
        include_str!("../../tests/cases/permission-cases-more.jsonl"),
    ];
    files.into_iter().flat_map(rows::read).collect()
}

#[test]
fn every_row_is_decided_as_it_should_be() {
    let rows = all_rows();
    assert!(rows.len() > 1400, "the cases are missing");
    let ids: BTreeSet<&str> = rows.iter().filter_map(|row| row.id.as_deref()).collect();
    assert_eq!(ids.len(), rows.len(), "a row has no id, or an id stands twice");
    let (mut wrong, mut right) = (Vec::new(), 0);
    for row in &rows {
        let id = row.id.as_deref().unwrap_or_default();
        let case = match &row.case {
            Ok(case) => case,
            Err(fault) => {
                wrong.push(format!("{id}: {fault}"));
                continue;
            }
        };
        let decision = case.decide();
        let mismatches = case.mismatches(&decision);
        if mismatches.is_empty() {
            right += 1;
        } else {
            wrong.push(format!(
                "{id}: {}\n    call: {:?}\n    said: {}\n    why: {}",
                mismatches.join("; "),
                case.request.call.action,
                decision.user_message,
                case.why
            ));
        }
    }
    println!("{right} rows right, {} wrong", wrong.len());
    assert!(
        wrong.is_empty(),
        "{} rows are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(right, rows.len());
}
