//! Holds imported rules of Codex to what Codex does, as recorded in `tests/fixtures/settings/codex`.
//!
//! Codex gives up on a line with a redirection, a substitution, a wrapper or quotes in the program's name, and then no rule
//! applies; we see through these. So we are at least as strict on every row, and each row on which we are stricter is
//! listed, with what we say.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test program stops at the first surprise"
)]

use std::sync::Arc;

use portcullis_policy::{
    DocumentOrigin, Layer, Mode, Verdict,
    import::{Format, import},
};
use serde_json::Value;

mod common;

/// Rows on which a rule of the file holds for us and not for Codex: a denied program behind a wrapper, in a substitution,
/// with other quotes, or beside what makes Codex give up on the line.
const STRICTER: &[&str] = &[
    "ga x > out",
    "ga x 2>&1",
    "echo $(ga x)",
    "$(ga x)",
    "bash -c 'ga x'",
    "bash -lc 'ga x'",
    "sh -c 'ga x'",
    "sudo ga x",
    "env ga x",
    "FOO=1 ga x",
    "timeout 5 ga x",
    "nohup ga x",
    "xargs ga",
    "\"ga\" x",
    "g\"\"a x",
    "\\ga x",
    "ga $HOME",
    "ga *",
    "(ga x)",
    "{ ga x; }",
    "if true; then ga x; fi",
    "for i in 1; do ga $i; done",
    "ga x &",
    "! ga x",
    "eval 'ga x'",
    "exec ga x",
    "command ga x",
    "ga x # c",
    "ga <<EOF\nx\nEOF",
    "cat <(ga x)",
    // Options in front of a rule's words do not hide them from what narrows.
    "gb -C x push",
];

#[test]
fn imported_rules_are_at_least_as_strict_as_codex() {
    let origin = DocumentOrigin {
        layer: Layer::User,
        name: "oracle.rules".to_owned(),
        folder: None,
    };
    let text = include_str!("../../tests/fixtures/settings/codex/oracle.rules");
    let imported = import(Format::CodexRules, text, origin);
    assert!(!imported.is_broken(), "{:?}", imported.report);
    let documents = [Arc::new(imported.document)];
    let mut listed: Vec<&str> = STRICTER.to_vec();
    let mut faults = Vec::new();
    for row in include_str!("../../tests/fixtures/settings/codex/rules-oracle.jsonl").lines() {
        let row: Value = serde_json::from_str(row).unwrap();
        let command = row["command"].as_str().unwrap();
        // In bypass mode whatever no rule speaks about runs, so that what is left is the rules.
        let decision = common::decide(&documents, &common::request(common::bash(command), Mode::Bypass));
        let codex = match row["outcome"].as_str().unwrap() {
            "forbidden" => Verdict::Deny,
            "prompt" => Verdict::Ask,
            "no match or allow" => Verdict::Allow,
            other => panic!("unknown outcome {other}"),
        };
        let stricter = listed
            .iter()
            .position(|own| *own == command)
            .map(|at| listed.remove(at));
        match (decision.verdict.cmp(&codex), stricter) {
            (std::cmp::Ordering::Less, _) => faults.push(format!("more lenient: {command}: {}", decision.user_message)),
            (std::cmp::Ordering::Greater, None) => {
                faults.push(format!("stricter and not listed: {command}: {}", decision.user_message));
            }
            (std::cmp::Ordering::Equal, Some(_)) => faults.push(format!("listed, and no stricter: {command}")),
            _ => {}
        }
    }
    faults.extend(
        listed
            .iter()
            .map(|command| format!("listed, and there is no such row: {command}")),
    );
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
