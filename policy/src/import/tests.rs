use super::*;
use crate::{AbsPath, Effect, Layer};

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
fn each_rule_of_the_samples_has_a_note_at_its_place() {
    for (format, text) in [
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
    ] {
        let imported = read(format, text);
        assert!(!imported.is_broken(), "{:#?}", imported.report);
        let mut rules = 0;
        for (number, line) in text.lines().enumerate() {
            for entry in strings(line) {
                rules += 1;
                let found = imported
                    .report
                    .iter()
                    .any(|note| note.line as usize == number + 1 && note.text == entry);
                assert!(
                    found,
                    "no note for `{entry}` in line {}: {:#?}",
                    number + 1,
                    imported.report
                );
            }
        }
        assert!(rules > 0);
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
            .contains(r#"{"rule":"Shell(git:push*)","spelling":"cursor"}"#)
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
    for format in Format::ALL {
        for text in [
            "",
            "[]",
            "nothing",
            "{",
            "\"x\"",
            "{ \"permissions\": [] ",
            &"[".repeat(100_000),
        ] {
            let imported = read(format, text);
            assert!(
                imported.is_broken(),
                "{format:?} `{}`",
                text.chars().take(30).collect::<String>()
            );
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
    assert_eq!(imported.document.settings.default_mode, None);
    assert_eq!(outcome(&imported, "approvalMode"), "not expressible");
    assert_eq!(imported.document.rules.len(), 1);
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
    ] {
        assert_eq!(Format::guess(path), format, "{path}");
    }
    for format in Format::ALL {
        assert_eq!(Format::named(format.word()), Some(format));
    }
}
