//! Codex: rules as literals, what would have to be run, configuration and requirements.

use super::*;

#[test]
fn rules_of_codex() {
    let text = include_str!("../../../../tests/fixtures/settings/codex/default.rules");
    let imported = read(Format::CodexRules, text);
    let rules: Vec<String> = imported
        .native
        .lines()
        .map(str::trim)
        .filter(|line| line.contains("Bash("))
        .map(str::to_owned)
        .collect();
    assert_eq!(
        rules,
        [
            r#"{ "rule": "Bash(rm -rf *)", "advice": "move files to ./trash instead" },"#,
            r#"{ "rule": "Bash(rm -fr *)", "advice": "move files to ./trash instead" }"#,
            r#"{ "rule": "Bash(git push *)", "advice": "a person looks at every push" }"#,
            r#""Bash(git status *)","#,
            r#""Bash(/usr/bin/git status *)","#,
            r#""Bash(git log *)","#,
            r#""Bash(/usr/bin/git log *)","#,
            r#""Bash(git diff *)","#,
            r#""Bash(/usr/bin/git diff *)""#,
        ]
    );
    let push = imported.document.rules.iter().find(|rule| rule.effect == Effect::Ask);
    assert_eq!(push.map(|rule| (rule.source.line, rule.source.column)), Some((6, 1)));
}

#[test]
fn what_codex_would_refuse_or_run_allows_nothing() {
    let deny = "prefix_rule(pattern=['rm'], decision='forbidden')\n";
    for bad in [
        "for x in ['a']:\n    prefix_rule(pattern=[x])",
        "load('a', 'b')",
        "prefix_rule(pattern=[])",
        "prefix_rule(pattern=['a'], decision='deny')",
        "prefix_rule(pattern=['a'], what='x')",
        "prefix_rule(pattern=['a', ['b', []]])",
        "prefix_rule(pattern=['a', 'b'], match=['a c'])",
        "prefix_rule(pattern=['a', 'b'], not_match=['a b c'])",
        "prefix_rule(pattern=['a'] + g())",
        "unknown_rule(x = 'a')",
        "prefix_rule(pattern=['a'",
    ] {
        let text = format!("prefix_rule(pattern=['ls'])\n{deny}{bad}\n");
        let imported = read(Format::CodexRules, &text);
        let effects: Vec<Effect> = imported.document.rules.iter().map(|rule| rule.effect).collect();
        assert_eq!(effects, [Effect::Deny], "{bad}: {:#?}", imported.report);
        assert!(
            imported
                .report
                .iter()
                .any(|note| note.line >= 3 && note.outcome != Outcome::Kept),
            "{bad}"
        );
    }
    let many = format!("['x'{}]", ", 'y'".repeat(20));
    for (decision, rules) in [("forbidden", 21), ("allow", 0)] {
        let text = format!("prefix_rule(pattern=['a', {many}, {many}], decision='{decision}')");
        let imported = read(Format::CodexRules, &text);
        assert_eq!(imported.document.rules.len(), rules, "{decision}");
    }
    let starred = read(Format::CodexRules, "prefix_rule(pattern=['a', '*'])");
    assert!(starred.document.rules.is_empty());
}

#[test]
fn configuration_and_requirements_of_codex() {
    let text = include_str!("../../../../tests/fixtures/settings/codex/config.toml");
    let imported = read(Format::CodexConfig, text);
    assert_eq!(imported.document.settings.additional_directories, ["/home/dev/scratch"]);
    let deny = imported.document.rules.iter().find(|rule| rule.effect == Effect::Deny);
    assert_eq!(deny.map(|rule| &*rule.source.text), Some("put_note"));
    assert!(imported.native.contains("mcp__memo__put_note"));

    let text = include_str!("../../../../tests/fixtures/settings/codex/requirements.toml");
    let imported = import(Format::CodexRequirements, text, origin(Layer::Team));
    let permitted = imported.document.settings.permitted_modes.clone().unwrap_or_default();
    let words: Vec<String> = permitted.iter().map(|mode| mode.to_string()).collect();
    assert!(
        words.contains(&"default".to_owned()) && !words.contains(&"bypass".to_owned()),
        "{words:?}"
    );
    assert_eq!(imported.document.rules.len(), 2);
    assert_eq!(
        imported.document.rules[0].advice.as_deref(),
        Some("move files to ./trash instead")
    );
}

#[test]
fn granular_approvals_are_told_thing_by_thing() {
    let told = |text: &str| {
        let imported = read(Format::CodexConfig, text);
        let notes: Vec<(String, bool)> = imported
            .report
            .iter()
            .filter(|note| note.text.contains("granular."))
            .map(|note| {
                (
                    note.text.clone(),
                    matches!(note.outcome, Outcome::NotExpressible { .. }),
                )
            })
            .collect();
        (imported.mode, imported.is_broken(), notes)
    };
    let all = "approval_policy = { granular = { sandbox_approval = true, rules = true, mcp_elicitations = false } }\n";
    let (mode, broken, notes) = told(all);
    assert_eq!(
        (mode, broken, notes.len()),
        (Some(Mode::Default), false, 3),
        "{notes:?}"
    );
    // What our modes cannot tell apart is said, and nothing else.
    let open: Vec<&str> = notes
        .iter()
        .filter(|(_, open)| *open)
        .map(|(text, _)| text.as_str())
        .collect();
    assert_eq!(open, ["approval_policy.granular.mcp_elicitations"]);
    let (mode, ..) = told("approval_policy = { granular = { sandbox_approval = false, rules = true } }\n");
    assert_eq!(mode, Some(Mode::DontAsk));
    let (_, broken, _) = told("approval_policy = { granular = { rules = 1 } }\n");
    assert!(broken);
}
