//! Gemini CLI's `settings.json`.

use super::*;

fn rules(imported: &Imported, effect: Effect) -> Vec<String> {
    let rules = imported.document.rules.iter().filter(|rule| rule.effect == effect);
    rules.map(|rule| rule.source.text.to_string()).collect()
}

fn notes(imported: &Imported, text: &str) -> Vec<String> {
    let about = imported.report.iter().filter(|note| note.text.contains(text));
    about.map(|note| note.outcome.detail().to_string()).collect()
}

#[test]
fn each_setting_becomes_the_rule_that_the_policy_engine_makes_of_it() {
    let text = r#"{
        // comments are read
        "tools": {
            "allowed": ["run_shell_command(git status)", "web_fetch"],
            "confirmationRequired": ["run_shell_command(npm publish)"],
            "exclude": ["google_web_search", "ShellTool(rm -rf)"]
        },
        "mcp": { "allowed": ["github"], "excluded": ["evil"] },
        "mcpServers": {
            "docs": { "command": "docs-mcp", "trust": true, "excludeTools": ["drop"] },
            "wiki": { "command": "wiki-mcp", "trust": true, "includeTools": ["search"] },
            "calm": { "command": "calm-mcp", "trust": false }
        },
        "security": { "disableYoloMode": true }
    }"#;
    let imported = read(Format::GeminiSettings, text);
    assert!(!imported.is_broken(), "{:#?}", imported.report);
    for native in [
        "Bash(git status *)",
        "Bash(npm publish *)",
        "Bash(rm -rf *)",
        "WebFetch",
        "WebSearch",
        "mcp__github__*",
        "mcp__evil__*",
        "mcp__docs__*",
        "mcp__docs__drop",
        "mcp__wiki__search",
    ] {
        assert!(
            imported.native.contains(&format!("\"{native}\"")),
            "{native}: {}",
            imported.native
        );
    }
    assert!(!imported.native.contains("mcp__calm"), "{}", imported.native);
    assert!(!imported.native.contains("mcp__wiki__*"), "{}", imported.native);
    assert_eq!(rules(&imported, Effect::Ask).len(), 1);
    assert_eq!(rules(&imported, Effect::Deny).len(), 4);
    assert!(imported.forbidden_modes.contains(&Mode::Bypass));
    // What a rule cannot say is told.
    assert!(!notes(&imported, "mcp.allowed").is_empty());
    assert!(!notes(&imported, "includeTools").is_empty());
}

#[test]
fn what_is_not_listed_as_core_is_denied_even_by_an_empty_list() {
    let imported = read(
        Format::GeminiSettings,
        r#"{"tools":{"core":["read_file","run_shell_command(git)"]}}"#,
    );
    for native in ["Edit", "WebFetch", "WebSearch", "Agent", "mcp__*"] {
        assert!(
            imported.native.contains(&format!("\"{native}\"")),
            "{native}: {}",
            imported.native
        );
    }
    for native in ["Bash", "Read"] {
        assert!(
            !imported.native.contains(&format!("\"{native}\"")),
            "{native}: {}",
            imported.native
        );
    }
    assert!(
        notes(&imported, "tools.core")
            .iter()
            .any(|note| note.contains("other commands"))
    );
    let empty = read(Format::GeminiSettings, r#"{"tools":{"core":[]}}"#);
    assert_eq!(rules(&empty, Effect::Deny).len(), 7, "{}", empty.native);
}

#[test]
fn a_file_in_doubt_allows_nothing_and_keeps_its_denials() {
    for text in [
        r#"{"tools":{"allowed":["web_fetch"],"exclude":["replace"],},}"#,
        r#"{"tools":{"allowed":["web_fetch"]},"tools":{"allowed":["web_fetch"],"exclude":["replace"]}}"#,
        r#"{"tools":{"allowed":["web_fetch","read_file(x)"],"exclude":["replace"]}}"#,
        r#"{"tools":{"allowed":["$TOOL"],"exclude":["replace"]}}"#,
    ] {
        let imported = read(Format::GeminiSettings, text);
        assert_eq!(rules(&imported, Effect::Allow).len(), 0, "{text}");
        assert!(!rules(&imported, Effect::Deny).is_empty(), "{text}");
    }
    for text in [r#"{"coreTools":[]}"#, r#"{"tools":1}"#, r#"{"tools":{"exclude":[1]}}"#] {
        assert!(read(Format::GeminiSettings, text).is_broken(), "{text}");
    }
}
