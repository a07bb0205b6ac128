mod codex;
mod contracts;
mod gemini;
mod gemini_settings;

use super::*;
use crate::{AbsPath, Effect, Layer, Mode};

fn origin(layer: Layer) -> DocumentOrigin {
    DocumentOrigin {
        layer,
        name: "a file".to_owned(),
        folder: AbsPath::parse("/home/dev/proj").ok(),
    }
}

fn read(format: Format, text: &str) -> Imported {
    import(format, text, origin(Layer::User))
}

/// The words of the outcome of the one note about an entry.
fn outcome<'i>(imported: &'i Imported, entry: &str) -> &'i str {
    let found: Vec<&Note> = imported.report.iter().filter(|note| note.text == entry).collect();
    assert_eq!(found.len(), 1, "`{entry}` in {:#?}", imported.report);
    found[0].outcome.word()
}

#[test]
fn a_byte_order_mark_is_named_and_nothing_is_allowed() {
    let text = r#"{"permissions":{"allow":["Bash(ls *)"]}}"#;
    let marked = read(Format::ClaudeSettings, &format!("\u{feff}{text}"));
    assert!(marked.document.rules.is_empty());
    let Outcome::Fault { why } = &marked.report[0].outcome else {
        panic!("{:?}", marked.report)
    };
    assert!(why.contains("byte order mark"), "{why}");
    assert_eq!(read(Format::ClaudeSettings, text).document.rules.len(), 1);
}

/// Every sample, with the lines of its rules.
const SAMPLES: [(Format, &str); 13] = [
    (
        Format::ClaudeSettings,
        include_str!("../../../tests/fixtures/settings/claude/settings.json"),
    ),
    (
        Format::ClaudeSettings,
        include_str!("../../../tests/fixtures/settings/claude/settings.local.json"),
    ),
    (
        Format::ClaudeSettings,
        include_str!("../../../tests/fixtures/settings/claude/managed-settings.json"),
    ),
    (
        Format::ClaudeSettings,
        include_str!("../../../tests/fixtures/settings/claude/settings-bad.json"),
    ),
    (
        Format::Cusp,
        include_str!("../../../tests/fixtures/settings/cusp/settings.json"),
    ),
    (
        Format::CursorCli,
        include_str!("../../../tests/fixtures/settings/cursor/cli-config.json"),
    ),
    (
        Format::CursorCli,
        include_str!("../../../tests/fixtures/settings/cursor/cli.json"),
    ),
    (
        Format::CursorDesktop,
        include_str!("../../../tests/fixtures/settings/cursor/permissions.json"),
    ),
    (
        Format::CodexRules,
        include_str!("../../../tests/fixtures/settings/codex/default.rules"),
    ),
    (
        Format::CodexRules,
        include_str!("../../../tests/fixtures/settings/codex/oracle.rules"),
    ),
    (
        Format::CodexConfig,
        include_str!("../../../tests/fixtures/settings/codex/config.toml"),
    ),
    (
        Format::CodexRequirements,
        include_str!("../../../tests/fixtures/settings/codex/requirements.toml"),
    ),
    (
        Format::GeminiPolicy,
        include_str!("../../../tests/fixtures/settings/gemini/policies/team.toml"),
    ),
];

/// Lines of a sample on which a rule begins.
fn rule_lines(format: Format, text: &str) -> Vec<usize> {
    let begins = |line: &str| match format {
        Format::CodexRules => !line.is_empty() && !line.starts_with([' ', ')']),
        Format::CodexRequirements => line.contains("decision ="),
        Format::CodexConfig => line.contains("_tools"),
        Format::GeminiPolicy => line == "[[rule]]",
        _ => false,
    };
    let in_permissions = |number: usize| {
        let before: Vec<&str> = text.lines().take(number).collect();
        let permissions = before.iter().position(|line| line.contains("\"permissions\""));
        let end = before.iter().skip(1).position(|line| *line == "  }," || *line == "  }");
        permissions.is_some() && end.is_none_or(|end| permissions.is_some_and(|start| end < start))
    };
    let json = matches!(
        format,
        Format::ClaudeSettings | Format::Cusp | Format::CursorCli | Format::CursorDesktop
    );
    text.lines()
        .enumerate()
        .filter(|(number, line)| {
            let listed = !strings(line).is_empty() && (format == Format::CursorDesktop || in_permissions(*number));
            begins(line) || (json && listed)
        })
        .map(|(number, _)| number + 1)
        .collect()
}

#[test]
fn each_rule_of_the_samples_has_a_note_at_its_place() {
    for (format, text) in SAMPLES {
        for layer in [Layer::User, Layer::Project, Layer::Team] {
            let imported = import(format, text, origin(layer));
            // A denial that is no rule is a fault, and nothing else of the samples.
            let unread = |fault: &Fault| fault.message.contains("rule `") && fault.message.contains("it counts as");
            assert!(
                imported.faults().iter().all(unread),
                "{format:?} {:#?}",
                imported.report
            );
            let lines = rule_lines(format, text);
            assert!(!lines.is_empty(), "{format:?} has no rule");
            for number in lines {
                let line = text.lines().nth(number - 1).unwrap_or_default();
                let here: Vec<&Note> = imported
                    .report
                    .iter()
                    .filter(|note| note.line as usize == number)
                    .collect();
                assert!(
                    !here.is_empty(),
                    "{format:?}: no note in line {number}: {line}\n{:#?}",
                    imported.report
                );
                for entry in strings(line) {
                    let json = !matches!(
                        format,
                        Format::CodexRules | Format::CodexConfig | Format::CodexRequirements
                    );
                    let said = here.iter().any(|note| note.text == entry);
                    assert!(said || !json, "{format:?}: no note for `{entry}` in line {number}");
                }
            }
            for note in &imported.report {
                assert!(text.get(note.span.clone()).is_some(), "{note:?}");
                assert_eq!(
                    note.outcome.detail().is_empty(),
                    note.outcome == Outcome::Kept,
                    "{note:?}"
                );
            }
        }
    }
}

#[test]
fn the_native_text_says_what_the_document_says() {
    for (format, text) in SAMPLES {
        for layer in [Layer::User, Layer::Project, Layer::Team] {
            let imported = import(format, text, origin(layer));
            let native = PolicyDocument::parse(&imported.native, origin(layer))
                .unwrap_or_else(|faults| panic!("{format:?}: {faults:#?}\n{}", imported.native));
            let say = |document: &PolicyDocument| {
                let rules: Vec<String> = document
                    .rules
                    .iter()
                    .map(|rule| format!("{} {:?} {:?} {:?}", rule.effect, rule.matcher, rule.when, rule.advice))
                    .collect();
                let lists: Vec<String> = [&document.allowlists.terminal, &document.allowlists.mcp]
                    .into_iter()
                    .flatten()
                    .flatten()
                    .map(|rule| format!("{:?}", rule.matcher))
                    .collect();
                (
                    rules,
                    lists,
                    document.allowlists.auto_run.clone(),
                    document.settings.clone(),
                )
            };
            assert_eq!(say(&native), say(&imported.document), "{format:?}");
            assert!(native.says_the_same_as(&imported.document), "{format:?}");
            is_printed(&imported);
            // A team can take the draft as it is.
            assert!(PolicyDocument::parse(&imported.native, origin(Layer::Team)).is_ok());
            for rule in &imported.document.rules {
                let line = text.lines().nth(rule.source.line as usize - 1);
                assert!(line.is_some(), "{format:?}: {:?} has no line in the file", rule.source);
            }
        }
    }
}

/// The draft is in the form in which documents are printed, but for its remark.
fn is_printed(imported: &Imported) {
    let (head, rest) = imported.native.split_once('\n').unwrap_or_default();
    let (remark, rest) = rest.split_once('\n').unwrap_or_default();
    assert!(remark.trim().starts_with("// What "), "{}", imported.native);
    match imported.document.print() {
        Ok(printed) => assert_eq!(format!("{head}\n{rest}"), printed),
        // More than a document may hold, which the report says.
        Err(_) => assert!(imported.is_broken()),
    }
}

/// The strings of a line that are no keys.
fn strings(line: &str) -> Vec<&str> {
    let quoted: Vec<&str> = line.split('"').collect();
    let mut out = Vec::new();
    for index in (1..quoted.len()).step_by(2) {
        let is_key = quoted[index + 1].trim_start().starts_with(':');
        let is_value = quoted[index - 1].trim_end().ends_with(':');
        if !is_key && !is_value {
            out.push(quoted[index]);
        }
    }
    out
}

#[test]
fn a_file_of_the_command_line() {
    let text = include_str!("../../../tests/fixtures/settings/cursor/cli-config.json");
    let imported = read(Format::CursorCli, text);
    assert_eq!(imported.document.rules.len(), 17);
    assert_eq!(outcome(&imported, "Shell(curl:*)"), "translated");
    let push = imported
        .document
        .rules
        .iter()
        .find(|rule| *rule.source.text == *"Shell(git:push*)");
    let push = &push.expect("the rule is there").source;
    assert_eq!((push.line, push.column, push.effect), (26, 7, Effect::Deny));
    assert!(
        imported
            .native
            .contains(r#"{ "rule": "Shell(git:push*)", "spelling": "cursor" }"#)
    );
}

#[test]
fn a_file_of_the_editor() {
    let text = include_str!("../../../tests/fixtures/settings/cursor/permissions.json");
    let imported = read(Format::CursorDesktop, text);
    let lists = &imported.document.allowlists;
    assert_eq!(lists.terminal.as_ref().map(Vec::len), Some(5));
    assert_eq!(lists.mcp.as_ref().map(Vec::len), Some(4));
    assert_eq!(outcome(&imported, "broken-entry"), "not expressible");
    let auto_run = lists.auto_run.as_ref().expect("instructions");
    assert_eq!(
        (auto_run.allow_instructions.len(), auto_run.block_instructions.len()),
        (1, 1)
    );
    assert!(imported.document.rules.is_empty());

    let empty = include_str!("../../../tests/fixtures/settings/cursor/permissions-empty-list.json");
    let lists = read(Format::CursorDesktop, empty).document.allowlists;
    assert_eq!(
        lists.terminal.map(|list| list.len()),
        Some(0),
        "an empty list is a list"
    );
    assert!(lists.mcp.is_none() && lists.auto_run.is_none());
}

#[test]
fn what_the_owner_would_not_read_allows_nothing_and_denies_still() {
    for (format, text) in [
        (
            Format::CursorCli,
            r#"{ "permissions": { "allow": ["Shell(git)"], "deny": ["Shell(rm)"], } }"#,
        ),
        (
            Format::CursorCli,
            r#"{ /**/ "permissions": { "allow": ["Shell(git)"], "deny": ["Shell(rm)"] } }"#,
        ),
        (
            Format::CursorCli,
            r#"{ "permissions": { "allow": ["Shell(git)"], "allow": [], "deny": ["Shell(rm)"] } }"#,
        ),
        (
            Format::CursorCli,
            r#"{ "permissions": { "allow": ["Shell(git)"], "deny": ["Shell(rm)"] }, "permissions": {} }"#,
        ),
        (
            Format::CursorCli,
            r#"{ "permissions": { "allow": ["shell(git)", "Bash(git *)", 1], "deny": ["shell(rm)"] } }"#,
        ),
    ] {
        let imported = read(format, text);
        let effects: Vec<Effect> = imported.document.rules.iter().map(|rule| rule.effect).collect();
        assert_eq!(effects, [Effect::Deny], "{text}");
    }
    for text in [
        r#"{ "terminalAllowlist": "git" }"#,
        r#"{ "terminalAllowlist": ["git"], "terminalAllowlist": [] }"#,
        r#"{ "terminalAllowlist": ["*", "git *", 7, null] }"#,
    ] {
        let lists = read(Format::CursorDesktop, text).document.allowlists;
        assert_eq!(lists.terminal.map(|list| list.len()), Some(0), "{text}");
    }
}

#[test]
fn a_file_that_is_no_file_of_its_format_is_broken_and_allows_nothing() {
    let deep = "[".repeat(100_000);
    for format in Format::ALL {
        let json = matches!(
            format,
            Format::ClaudeSettings | Format::Cusp | Format::CursorCli | Format::CursorDesktop
        );
        let texts: &[&str] = if json {
            &["", "[]", "nothing", "{", "\"x\"", "{ \"permissions\": [] "]
        } else {
            &["nothing at all", "{", "rule = [", "prefix_rule(", "\u{feff}]"]
        };
        for text in texts.iter().copied().chain([deep.as_str()]) {
            let imported = read(format, text);
            let shown: String = text.chars().take(30).collect();
            assert!(imported.is_broken(), "{format:?} `{shown}`");
            assert!(imported.document.rules.is_empty());
            assert!(PolicyDocument::parse(&imported.native, origin(Layer::User)).is_ok());
        }
        let large = " ".repeat(MAX_BYTES + 1);
        assert!(read(format, &large).is_broken());
    }
}

#[test]
fn a_project_file_holds_permissions_alone() {
    let text = r#"{ "permissions": { "allow": ["Shell(git)"] }, "approvalMode": "unrestricted", "sandbox": {} }"#;
    let imported = import(Format::CursorCli, text, origin(Layer::Project));
    assert_eq!((imported.mode, imported.document.settings.default_mode), (None, None));
    assert_eq!(outcome(&imported, "approvalMode"), "not expressible");
    assert_eq!(imported.document.rules.len(), 1);
}

#[test]
fn a_mode_is_for_the_agent_whose_file_selects_it() {
    for (format, text, layer, mode) in [
        (
            Format::CursorCli,
            r#"{ "approvalMode": "unrestricted" }"#,
            Layer::User,
            Some("run-everything"),
        ),
        (
            Format::CursorCli,
            r#"{ "approvalMode": "allowlist", "sandbox": { "mode": "enabled" } }"#,
            Layer::User,
            Some("allowlist-sandbox"),
        ),
        (
            Format::CursorCli,
            r#"{ "approvalMode": "allowlist" }"#,
            Layer::User,
            Some("allowlist"),
        ),
        (
            Format::ClaudeSettings,
            r#"{ "permissions": { "defaultMode": "bypassPermissions" } }"#,
            Layer::User,
            Some("bypass"),
        ),
        (
            Format::ClaudeSettings,
            r#"{ "permissions": { "defaultMode": "bypassPermissions" } }"#,
            Layer::Project,
            None,
        ),
        (
            Format::ClaudeSettings,
            r#"{ "permissions": { "defaultMode": "auto" } }"#,
            Layer::Local,
            None,
        ),
        (
            Format::ClaudeSettings,
            r#"{ "permissions": { "defaultMode": "acceptEdits" } }"#,
            Layer::Project,
            Some("acceptEdits"),
        ),
        (
            Format::CodexConfig,
            "approval_policy = \"never\"",
            Layer::User,
            Some("dontAsk"),
        ),
    ] {
        let imported = import(format, text, origin(layer));
        assert_eq!(imported.mode.map(|mode| mode.to_string()).as_deref(), mode, "{text}");
        assert_eq!(imported.document.settings.default_mode, None, "{text}");
    }
}

#[test]
fn a_denial_that_cannot_be_read_is_kept_as_widely_as_it_may_be_meant() {
    for (effect, rule, words) in [
        ("deny", "Bash(foo", "counts as deny of `Bash`"),
        ("deny", "bash(foo *)", "counts as deny of `Bash`"),
        ("ask", "Bash()", "counts as ask of `Bash`"),
        ("deny", "(foo)", "cannot be told"),
    ] {
        let text = serde_json::json!({ "permissions": { effect: [rule], "allow": ["Bash(foo *)"] } }).to_string();
        let imported = read(Format::ClaudeSettings, &text);
        let kept = imported.document.rules.iter().any(|rule| rule.effect != Effect::Allow);
        assert_eq!(kept, words.contains("counts"), "{rule}: {:#?}", imported.document.rules);
        // Told as a fault: whoever reads the file live allows nothing by itself.
        let faults = imported.faults();
        assert!(
            faults.len() == 1 && faults[0].message.contains(words),
            "{rule}: {faults:#?}"
        );
    }
    let sound = read(
        Format::ClaudeSettings,
        r#"{"permissions":{"deny":["Bash(foo *)"],"allow":["bash(x)"]}}"#,
    );
    assert!(!sound.is_broken());
}

#[test]
fn a_mode_that_a_file_of_any_layer_forbids_is_told_beside_the_document() {
    let text = r#"{"permissions":{"disableBypassPermissionsMode":"disable"}}"#;
    for layer in [Layer::User, Layer::Project, Layer::Local] {
        let imported = import(Format::ClaudeSettings, text, origin(layer));
        assert_eq!(imported.forbidden_modes, [Mode::Bypass, Mode::RunEverything], "{layer}");
        let mut document = imported.document;
        document.settings.forbidden_modes = imported.forbidden_modes;
        let merged = crate::EffectiveRuleset::merge(&[std::sync::Arc::new(document)], false);
        assert!(merged.forbids(Mode::Bypass).is_some() && merged.forbids(Mode::Default).is_none());
    }
    let other = read(
        Format::ClaudeSettings,
        r#"{"permissions":{"disableBypassPermissionsMode":true}}"#,
    );
    assert!(other.forbidden_modes.is_empty());
}

#[test]
fn settings_of_claude_code() {
    let text = include_str!("../../../tests/fixtures/settings/claude/settings.json");
    let imported = read(Format::ClaudeSettings, text);
    for (entry, word) in [
        ("Bash(npm run test:*)", "kept"),
        ("PowerShell(Get-ChildItem *)", "not expressible"),
        ("Cd(~/code/**)", "not expressible"),
        ("Write(secret/**)", "translated"),
        ("Edit(/docs/**)", "translated"),
        ("mcp__*__delete_*", "kept"),
        ("KillShell", "kept"),
        ("../shared-lib", "not expressible"),
        ("~/notes", "kept"),
        ("Publishing packages", "translated"),
        ("disableAutoMode", "not expressible"),
        ("hooks", "not expressible"),
        ("sandbox.autoAllowBashIfSandboxed", "translated"),
        ("prod", "translated"),
    ] {
        assert_eq!(outcome(&imported, entry), word, "{entry}");
    }
    assert!(
        imported.native.contains("\"Edit(//home/dev/proj/docs/**)\""),
        "{}",
        imported.native
    );
    assert_eq!(imported.document.settings.auto_allow_if_sandboxed, Some(true));
    let project = import(Format::ClaudeSettings, text, origin(Layer::Project));
    assert!(project.native.contains("\"Edit(/docs/**)\""));
    assert_eq!(project.document.settings.auto_allow_if_sandboxed, None);

    let bad = include_str!("../../../tests/fixtures/settings/claude/settings-bad.json");
    let imported = read(Format::ClaudeSettings, bad);
    assert!(
        imported.document.rules.iter().all(|rule| rule.effect != Effect::Allow),
        "{:#?}",
        imported.document.rules
    );

    let managed = include_str!("../../../tests/fixtures/settings/claude/managed-settings.json");
    let imported = import(Format::ClaudeSettings, managed, origin(Layer::Team));
    let settings = &imported.document.settings;
    assert!(settings.managed_rules_only);
    let permitted: Vec<String> = settings
        .permitted_modes
        .iter()
        .flatten()
        .map(|mode| mode.to_string())
        .collect();
    assert!(
        !permitted.iter().any(|mode| mode == "bypass" || mode == "auto"),
        "{permitted:?}"
    );
    assert!(permitted.iter().any(|mode| mode == "plan"));
    let user = read(Format::ClaudeSettings, managed);
    assert!(!user.document.settings.managed_rules_only && user.document.settings.permitted_modes.is_none());
}

#[test]
fn cusp_differs_from_claude_code() {
    let text = include_str!("../../../tests/fixtures/settings/cusp/settings.json");
    let cusp = read(Format::Cusp, text);
    assert_eq!(outcome(&cusp, "Read(!.env.example)"), "kept");
    assert_eq!(outcome(&cusp, "WebSearch(internal *)"), "kept");
    let reads = |imported: &Imported| {
        imported
            .document
            .rules
            .iter()
            .filter(|rule| *rule.source.text == *"Edit(src/**)")
            .count()
    };
    assert_eq!(reads(&cusp), 2, "an allow to edit allows reading");
    let claude = read(Format::ClaudeSettings, text);
    assert_eq!(outcome(&claude, "Read(!.env.example)"), "not expressible");
    assert_eq!(reads(&claude), 1);
}

#[test]
fn a_file_with_more_than_anybody_writes_is_broken() {
    let keys: String = (0..30_000).map(|number| format!("\"k{number}\": 1, ")).collect();
    let many = format!("{{ {keys} \"permissions\": {{ \"allow\": [\"Read\"], \"deny\": [\"Bash\"] }} }}");
    let imported = read(Format::ClaudeSettings, &many);
    let effects: Vec<Effect> = imported.document.rules.iter().map(|rule| rule.effect).collect();
    assert_eq!(effects, [Effect::Deny]);
    // More entries than are told of: the ones that are not told may be denials that cannot be read.
    for rules in ["\"Bash(ls *)\",", "\"a\",", "\"bash(x)\",", "1,"] {
        for key in ["allow", "deny"] {
            let text = format!("{{\"permissions\":{{\"{key}\":[{}\"Read\"]}}}}", rules.repeat(25_000));
            let imported = read(Format::ClaudeSettings, &text);
            assert!(imported.is_broken(), "{key} {rules}");
            assert!(
                imported.report.len() < 20_010,
                "{key} {rules}: {}",
                imported.report.len()
            );
            let widens = imported.document.rules.iter().any(|rule| rule.effect == Effect::Allow);
            assert!(key == "deny" || rules != "\"Bash(ls *)\"," || !widens);
        }
    }
    let rule = "[[rule]]\ntoolName='a'\ndecision='allow'\npriority=1\n";
    let imported = read(Format::GeminiPolicy, &rule.repeat(6000));
    assert!(imported.is_broken() && imported.document.rules.is_empty());
    let imported = read(Format::CodexRules, &"prefix_rule(pattern=['a'])\n".repeat(6000));
    assert!(imported.is_broken() && imported.document.rules.is_empty());
}

proptest::proptest! {
    #[test]
    fn every_text_is_imported_to_a_document_that_can_be_read(
        seed in proptest::sample::select(SAMPLES.to_vec()),
        cut in proptest::collection::vec((0.0..1.0_f64, "[\\[\\]{}()\",':=a*! \n#/\\\\]{0,3}"), 0..6),
    ) {
        let (format, text) = seed;
        let mut text = text.to_owned();
        for (place, new) in cut {
            let at = text.floor_char_boundary((place * text.len() as f64) as usize);
            let end = text.ceil_char_boundary((at + 1).min(text.len()));
            text.replace_range(at..end, &new);
        }
        let imported = import(format, &text, origin(Layer::User));
        let native = PolicyDocument::parse(&imported.native, origin(Layer::User));
        proptest::prop_assert!(native.is_ok(), "{:?}\n{}", native.err(), imported.native);
        proptest::prop_assert!(imported.document.print().is_ok() || imported.is_broken(), "{}", imported.native);
        for note in &imported.report {
            proptest::prop_assert!(text.get(note.span.clone()).is_some(), "{note:?}");
        }
    }
}

#[test]
fn names_say_the_format_where_they_can() {
    for (path, format) in [
        ("/home/dev/.cursor/cli-config.json", Some(Format::CursorCli)),
        (".cursor/cli.json", Some(Format::CursorCli)),
        ("cli.json", None),
        (".cursor/permissions.json", Some(Format::CursorDesktop)),
        ("permissions.json", None),
        ("x.json", None),
        ("/p/.claude/settings.local.json", Some(Format::ClaudeSettings)),
        ("/etc/claude-code/managed-settings.json", Some(Format::ClaudeSettings)),
        ("settings.json", None),
        ("/home/dev/.codex/rules/default.rules", Some(Format::CodexRules)),
        ("/etc/codex/requirements.toml", Some(Format::CodexRequirements)),
        ("requirements.toml", None),
        ("/home/dev/.gemini/policies/team.toml", Some(Format::GeminiPolicy)),
        ("policies/team.toml", None),
        ("/home/dev/.gemini/settings.json", Some(Format::GeminiSettings)),
    ] {
        assert_eq!(Format::guess(path), format, "{path}");
    }
    for format in Format::ALL {
        assert_eq!(Format::named(format.word()), Some(format));
    }
}
