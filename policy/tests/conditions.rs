//! Rules with a condition beside words that are only known at run time: what is not certain asks where the rule narrows the
//! program.

mod common;

use common::{bash, decide, document, request};
use portcullis_policy::{Layer, Mode, Verdict};
use serde_json::json;

fn verdict(when: &serde_json::Value, effect: &str, line: &str) -> Verdict {
    let rule = json!({ "rule": "Bash", "when": when });
    let document = document(Layer::User, &json!({ "permissions": { effect: [rule] } }));
    decide(&[document], &request(bash(line), Mode::Bypass)).verdict
}

#[test]
fn a_condition_on_the_command_asks_beside_words_that_are_not_known() {
    for (expression, line, expected) in [
        ("npm publish", "npm publish", Verdict::Deny),
        ("npm publish", "npm $X", Verdict::Ask),
        ("^npm publish$", "npm \"$(cat x)\"", Verdict::Ask),
        ("npm (publish|unpublish)", "npm $X", Verdict::Ask),
        ("np[mx] publish", "npm $X", Verdict::Ask),
        (r"\bnpm\s+publish\b", "/usr/bin/npm $X", Verdict::Ask),
        ("npm publish", "true && (npm $X)", Verdict::Ask),
        ("npm publish", "npm test", Verdict::Allow),
        ("npm publish", "npm test $X", Verdict::Allow),
        ("npm publish", "echo $X", Verdict::Allow),
        ("npm publish", "ls *.txt", Verdict::Allow),
    ] {
        let when = json!({ "command": expression });
        assert_eq!(verdict(&when, "deny", line), expected, "`{expression}` on `{line}`");
    }
    assert_eq!(
        verdict(&json!({ "command": "npm publish" }), "ask", "npm $X"),
        Verdict::Ask
    );
}

#[test]
fn a_condition_on_the_input_does_too() {
    for (expression, line, expected) in [
        ("npm publish", "npm publish", Verdict::Deny),
        ("\"command\":\"npm publish", "npm $X", Verdict::Ask),
        ("npm publish", "npm test", Verdict::Allow),
        ("npm publish", "echo $X", Verdict::Allow),
    ] {
        let when = json!({ "input": expression });
        assert_eq!(verdict(&when, "deny", line), expected, "`{expression}` on `{line}`");
    }
    let elsewhere = json!({ "input": "npm publish", "modes": ["plan"] });
    assert_eq!(verdict(&elsewhere, "deny", "npm $X"), Verdict::Allow);
}
