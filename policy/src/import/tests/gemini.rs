//! Gemini CLI: from an order by priority to the stricter of both.

use super::*;

#[test]
fn policies_of_gemini() {
    let text = include_str!("../../../../tests/fixtures/settings/gemini/policies/team.toml");
    let imported = read(Format::GeminiPolicy, text);
    let rules: Vec<&str> = imported
        .native
        .lines()
        .map(str::trim)
        .filter(|line| line.contains("__") || line.contains("Bash") || line.contains("Edit"))
        .collect();
    for expected in [
        r#""Bash(git status *)","#,
        r#""Bash(git log *)","#,
        r#"{ "rule": "Bash", "when": { "command": "(?:^(npm|pnpm) run (build|test))(?s:.*)" } },"#,
        r#""Bash(git push *)","#,
        r#"{ "rule": "Edit", "when": { "input": "\\.env" }, "advice": "Secrets are not edited here." },"#,
        r#"{ "rule": "mcp__memo__get_note", "when": { "modes": ["default", "acceptEdits"] } }"#,
        r#""mcp__prod__*","#,
    ] {
        assert!(rules.contains(&expected), "{expected}\n{}", imported.native);
    }
    // The broad ask below the allows is what the modes do by themselves.
    assert!(!imported.native.contains("\"*\""), "{}", imported.native);
}

#[test]
fn an_order_by_priority_becomes_the_stricter_of_both() {
    let text = r#"
[[rule]]
toolName = "write_file"
decision = "allow"
priority = 100

[[rule]]
toolName = "run_shell_command"
commandPrefix = "git"
decision = "allow"
priority = 100

[[rule]]
toolName = "run_shell_command"
commandPrefix = "git push"
decision = "deny"
priority = 50

[[rule]]
toolName = "run_shell_command"
decision = "ask_user"
priority = 10

[[rule]]
toolName = "web_fetch"
decision = "ask_user"
priority = 10
"#;
    let imported = read(Format::GeminiPolicy, text);
    let native = &imported.native;
    // An allow reaches no further than Gemini's own tool.
    assert!(
        native.contains(r#"{ "rule": "Write(**)", "spelling": "cursor" }"#),
        "{native}"
    );
    // A deny below an allow stays, and says that this is stricter.
    assert!(native.contains(r#""Bash(git push *)""#), "{native}");
    let stricter = |note: &&Note| note.outcome.detail().contains("stricter");
    assert_eq!(imported.report.iter().filter(stricter).count(), 1);
    // Asking for the rest is the mode's business, where the mode asks.
    let rest = imported
        .document
        .rules
        .iter()
        .find(|rule| rule.effect == Effect::Ask && rule.when.is_some());
    let modes = rest
        .and_then(|rule| rule.when.as_ref()?.modes.clone())
        .unwrap_or_default();
    assert!(
        modes.contains(&Mode::Bypass) && !modes.contains(&Mode::Default),
        "{modes:?}"
    );
    // Where no allow is above it, an ask stays as it is.
    assert!(native.contains("\"WebFetch\""), "{native}");
}

#[test]
fn what_gemini_would_not_read_or_we_do_not_know_allows_nothing() {
    let rule = |fields: &str| format!("[[rule]]\ntoolName = \"run_shell_command\"\n{fields}\n");
    let good = rule("commandPrefix = \"ls\"\ndecision = \"allow\"\npriority = 1");
    for bad in [
        rule("decision = \"maybe\"\npriority = 1"),
        rule("decision = \"allow\"\npriority = 5000"),
        rule("decision = \"allow\""),
        rule("commandPrefix = \"a\"\ncommandRegex = \"b\"\ndecision = \"allow\"\npriority = 1"),
        "[[rule]]\ndecision = \"allow\"\npriority = 1\n".to_owned(),
        "x = [\n".to_owned(),
    ] {
        let imported = read(Format::GeminiPolicy, &format!("{good}{bad}"));
        assert!(imported.is_broken(), "{bad}");
        let allows = imported
            .document
            .rules
            .iter()
            .filter(|rule| rule.effect == Effect::Allow)
            .count();
        assert_eq!(allows, 0, "{bad}");
    }
    for narrowed in [
        "subagent = \"x\"",
        "interactive = true",
        "somethingNew = 1",
        "modes = [\"turbo\"]",
        "argsPattern = \"x\"",
        "commandRegex = \"(?=x)\"",
    ] {
        for (decision, expected) in [("allow", 0), ("deny", 1)] {
            let text = rule(&format!("{narrowed}\ndecision = \"{decision}\"\npriority = 1"));
            let imported = read(Format::GeminiPolicy, &text);
            assert_eq!(
                imported.document.rules.len(),
                expected,
                "{narrowed} {decision}: {:#?}",
                imported.report
            );
        }
    }
}
