//! The lists of Cursor's modes, and rules with conditions: how documents of several layers come together.

#![allow(clippy::unwrap_used, reason = "a test program stops at the first surprise")]

use std::sync::Arc;

use portcullis_policy::{EffectiveRuleset, Layer, Mode, PolicyDocument, Verdict, evaluate};
use serde_json::{Value, json};

mod common;

use common::{bash, call, document, edit, merged, request};

fn verdict(documents: &[Arc<PolicyDocument>], command: &str, mode: Mode) -> Verdict {
    evaluate(&merged(documents), &request(bash(command), mode)).verdict
}

fn tool(documents: &[Arc<PolicyDocument>], tool: &str, mode: Mode) -> Verdict {
    evaluate(&merged(documents), &request(call(tool, json!({})), mode)).verdict
}

fn terminal(layer: Layer, entries: &[&str]) -> Arc<PolicyDocument> {
    document(layer, &json!({ "terminalAllowlist": entries }))
}

#[test]
fn the_lists_count_in_the_modes_that_have_them() {
    let lists = [document(
        Layer::User,
        &json!({ "terminalAllowlist": ["npm test"], "mcpAllowlist": ["GitHub:list_*"] }),
    )];
    for mode in Mode::ALL {
        let counts = matches!(mode, Mode::Allowlist | Mode::AllowlistSandbox | Mode::AutoReview);
        let none: [Arc<PolicyDocument>; 0] = [];
        for (with, without) in [
            (verdict(&lists, "npm test", mode), verdict(&none, "npm test", mode)),
            (
                tool(&lists, "mcp__github__list_issues", mode),
                tool(&none, "mcp__github__list_issues", mode),
            ),
        ] {
            if counts {
                assert_eq!(with, Verdict::Allow, "{mode}");
                assert_ne!(without, Verdict::Allow, "{mode}");
            } else {
                assert_eq!(with, without, "{mode}");
            }
        }
    }
}

#[test]
fn lists_of_user_and_project_are_joined_and_those_of_the_team_stand_alone() {
    let (user, project) = (terminal(Layer::User, &["npm"]), terminal(Layer::Project, &["make"]));
    let lower = [user.clone(), project.clone()];
    for command in ["npm test", "make all"] {
        assert_eq!(verdict(&lower, command, Mode::Allowlist), Verdict::Allow, "{command}");
    }
    for (team, npm, cargo) in [
        (terminal(Layer::Team, &["cargo"]), Verdict::Ask, Verdict::Allow),
        // Present and empty is a list, too.
        (terminal(Layer::Team, &[]), Verdict::Ask, Verdict::Ask),
        // Another list of the team says nothing about this one.
        (
            document(Layer::Team, &json!({ "mcpAllowlist": [] })),
            Verdict::Allow,
            Verdict::Ask,
        ),
    ] {
        let documents = [user.clone(), project.clone(), team];
        assert_eq!(verdict(&documents, "npm test", Mode::Allowlist), npm);
        assert_eq!(verdict(&documents, "cargo test", Mode::Allowlist), cargo);
    }
}

#[test]
fn an_untrusted_project_and_a_lock_of_the_team_add_nothing() {
    let project = [terminal(Layer::Project, &["make"])];
    let ask = |trusted| {
        let ruleset = EffectiveRuleset::merge(&project, trusted);
        evaluate(&ruleset, &request(bash("make all"), Mode::Allowlist)).verdict
    };
    assert_eq!((ask(true), ask(false)), (Verdict::Allow, Verdict::Ask));
    let locked = [
        terminal(Layer::User, &["make"]),
        document(Layer::Team, &json!({ "locks": { "managedRulesOnly": true } })),
    ];
    assert_eq!(verdict(&locked, "make all", Mode::Allowlist), Verdict::Ask);
}

#[test]
fn a_deny_or_ask_goes_before_an_entry() {
    for (effect, expected) in [("deny", Verdict::Deny), ("ask", Verdict::Ask)] {
        let documents = [
            terminal(Layer::User, &["git"]),
            document(Layer::User, &json!({ "permissions": { effect: ["Bash(git push *)"] } })),
        ];
        assert_eq!(verdict(&documents, "git push origin", Mode::Allowlist), expected);
        assert_eq!(verdict(&documents, "git status", Mode::Allowlist), Verdict::Allow);
    }
}

#[test]
fn instructions_are_joined_and_those_of_the_team_stand_alone() {
    let lower = |layer: Layer, word: &str| {
        document(
            layer,
            &json!({ "autoRun": { "allow_instructions": [format!("allow {word}")],
                                  "block_instructions": [format!("block {word}")] } }),
        )
    };
    let documents = [lower(Layer::User, "a"), lower(Layer::Project, "b")];
    let both = merged(&documents);
    assert_eq!(both.auto_run().allow_instructions, ["allow a", "allow b"]);
    assert_eq!(both.auto_run().block_instructions, ["block a", "block b"]);
    let untrusted = EffectiveRuleset::merge(&documents, false);
    assert_eq!(untrusted.auto_run().allow_instructions, ["allow a"]);
    assert_eq!(untrusted.auto_run().block_instructions, ["block a", "block b"]);
    let team = merged(&[
        lower(Layer::User, "a"),
        document(Layer::Team, &json!({ "autoRun": { "block_instructions": [] } })),
    ]);
    assert!(team.auto_run().allow_instructions.is_empty() && team.auto_run().block_instructions.is_empty());
}

fn rule(effect: &str, rule: Value) -> [Arc<PolicyDocument>; 1] {
    [document(Layer::User, &json!({ "permissions": { effect: [rule] } }))]
}

#[test]
fn a_rule_holds_only_in_its_modes() {
    let deny = rule(
        "deny",
        json!({ "rule": "Bash(make *)", "when": { "modes": ["bypass"] } }),
    );
    assert_eq!(verdict(&deny, "make all", Mode::Bypass), Verdict::Deny);
    assert_eq!(verdict(&deny, "make all", Mode::Default), Verdict::Ask);
    let allow = rule(
        "allow",
        json!({ "rule": "Edit(src/**)", "when": { "modes": ["default"] } }),
    );
    let change = |mode| evaluate(&merged(&allow), &request(edit("src/a.rs"), mode)).verdict;
    assert_eq!(
        (change(Mode::Default), change(Mode::DontAsk)),
        (Verdict::Allow, Verdict::Deny)
    );
}

#[test]
fn a_rule_holds_only_for_its_input() {
    let deny = rule(
        "deny",
        json!({ "rule": "Edit", "when": { "input": "\"file_path\":\"[^\"]*\\.env" } }),
    );
    let change = |path: &str| evaluate(&merged(&deny), &request(edit(path), Mode::Bypass)).verdict;
    assert_eq!((change("a/.env"), change("a/b")), (Verdict::Deny, Verdict::Allow));
    let allow = rule(
        "allow",
        json!({ "rule": "mcp__db__query", "when": { "input": "\\{\"sql\":\"SELECT [a-z ]*\"\\}" } }),
    );
    let query = |sql: &str| {
        let call = call("mcp__db__query", json!({ "sql": sql }));
        evaluate(&merged(&allow), &request(call, Mode::Default)).verdict
    };
    assert_eq!(query("SELECT a from b"), Verdict::Allow);
    // An allow has to match the whole input.
    assert_eq!(query("SELECT a from b; DROP TABLE b"), Verdict::Ask);
}

#[test]
fn a_regular_expression_covers_each_command_of_a_line_alone() {
    let allow = rule(
        "allow",
        json!({ "rule": "Bash", "when": { "command": "npm run (build|test)" } }),
    );
    for (command, expected) in [
        ("npm run build", Verdict::Allow),
        ("npm run build && npm run test", Verdict::Allow),
        ("npm run build && ./x", Verdict::Ask),
        ("npm run build; $X", Verdict::Ask),
        ("npm run builds", Verdict::Ask),
        ("npm run build > out", Verdict::Ask),
    ] {
        assert_eq!(verdict(&allow, command, Mode::Default), expected, "{command}");
    }
    let deny = rule("deny", json!({ "rule": "Bash", "when": { "command": "^rm\\b.*-r" } }));
    for (command, expected) in [
        ("rm -rf x", Verdict::Deny),
        ("sudo rm -rf x", Verdict::Deny),
        ("ls; /bin/rm -r x", Verdict::Deny),
        ("rm x", Verdict::Allow),
    ] {
        assert_eq!(verdict(&deny, command, Mode::Bypass), expected, "{command}");
    }
}

#[test]
fn a_condition_that_cannot_be_read_is_a_fault_and_narrows_nothing() {
    let origin = || portcullis_policy::DocumentOrigin {
        layer: Layer::User,
        name: "user".to_owned(),
        folder: None,
    };
    for when in [
        json!({ "modes": [] }),
        json!({ "modes": ["turbo"] }),
        json!({ "input": "(" }),
        json!({ "command": "(?=x)" }),
        json!({ "unknown": 1 }),
        json!("default"),
    ] {
        for effect in ["allow", "deny"] {
            let text = json!({ "permissions": { effect: [{ "rule": "Bash", "when": when }] } }).to_string();
            assert!(PolicyDocument::parse(&text, origin()).is_err(), "{text}");
            let kept = PolicyDocument::restrictions(&text, origin());
            assert_eq!(kept.rules.len(), usize::from(effect == "deny"), "{text}");
        }
    }
    // A condition on commands narrows a rule for every command, and no other.
    for rule in ["Bash(git *)", "Read", "Edit(!x)"] {
        let text = json!({ "permissions": { "deny": [{ "rule": rule, "when": { "command": "x" } }] } }).to_string();
        assert!(PolicyDocument::parse(&text, origin()).is_err(), "{rule}");
    }
}
