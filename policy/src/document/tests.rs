use proptest::prelude::*;

use super::*;

fn origin(layer: Layer) -> DocumentOrigin {
    DocumentOrigin {
        layer,
        name: "policy.jsonc".to_owned(),
        folder: None,
    }
}

fn faults(text: &str, layer: Layer) -> Vec<Fault> {
    match PolicyDocument::parse(text, origin(layer)) {
        Ok(document) => panic!("no fault in {text}: {document:?}"),
        Err(faults) => faults,
    }
}

#[test]
fn a_byte_order_mark_is_named() {
    let fault = &faults("\u{feff}{}", Layer::Team)[0];
    assert_eq!((fault.line, fault.column), (1, 1));
    assert!(fault.message.contains("byte order mark"), "{fault:?}");
    assert!(fault.hint.as_ref().unwrap().contains("without"), "{fault:?}");
    PolicyDocument::parse("{}", origin(Layer::Team)).unwrap();
}

#[test]
fn everything_that_can_be_said_is_read() {
    let text = r#"{
        // comments and trailing commas are fine
        "$schema": "https://portcullis.example/policy.schema.json",
        "version": 1,
        "permissions": {
            "deny": ["Bash(rm *)", { "rule": "Read(.env.*)", "name": "env", "advice": "use the sample" }, "Read(!.env.example)"],
            "ask": ["Bash(git push *)"],
            "allow": [{ "rule": "Bash(ls *)", "match": ["ls", "ls -l"], "not_match": ["lsof"] }],
            "defaultMode": "acceptEdits",
            "additionalDirectories": ["../lib", "~/shared", "/srv/data"],
        },
        "modes": { "permitted": ["default", "plan"] },
        "locks": { "managedRulesOnly": true },
        "sandbox": { "autoAllowIfSandboxed": true },
    }"#;
    let document = PolicyDocument::parse(text, origin(Layer::Team)).unwrap();
    assert_eq!(document.rules.len(), 4);
    let env = document
        .rules
        .iter()
        .find(|rule| rule.source.name.as_deref() == Some("env"))
        .unwrap();
    assert_eq!((env.source.line, env.source.column), (6, 46));
    assert_eq!(env.advice.as_deref(), Some("use the sample"));
    assert_eq!(env.exceptions.len(), 1);
    assert_eq!(document.settings.default_mode, Some(Mode::AcceptEdits));
    assert_eq!(document.settings.permitted_modes, Some(vec![Mode::Default, Mode::Plan]));
    assert!(document.settings.managed_rules_only);
    assert_eq!(document.settings.auto_allow_if_sandboxed, Some(true));
    assert_eq!(document.settings.additional_directories.len(), 3);
}

#[test]
fn ten_faults_are_all_reported_with_line_and_column() {
    let text = r#"{
  "version": 2,
  "permisions": {},
  "permissions": {
    "allow": ["bash(ls)", "Bash(ok)", "Bash()", 7],
    "deny": "Bash(rm *)",
    "defaultMode": "yolo",
    "ask": [{ "rule": "Bash(ls *)", "match": ["lsof"] }, { "name": "x" }],
    "ask": []
  },
  "locks": { "managedRulesOnly": "yes" }
}"#;
    let faults = faults(text, Layer::Team);
    let places: Vec<(u32, u32)> = faults.iter().map(|fault| (fault.line, fault.column)).collect();
    assert_eq!(
        places,
        [
            (2, 14),
            (3, 3),
            (5, 16),
            (5, 44),
            (5, 49),
            (6, 13),
            (7, 20),
            (8, 47),
            (8, 58),
            (9, 5),
            (11, 34)
        ],
        "{faults:#?}"
    );
    for fault in &faults {
        assert!(text.get(fault.span.clone()).is_some() && !fault.message.is_empty());
    }
    let words: Vec<&str> = faults.iter().filter_map(|fault| text.get(fault.span.clone())).collect();
    assert_eq!(&words[..5], ["2", "\"permisions\"", "bash", "()", "7"]);
    assert_eq!(
        faults[1].hint.as_deref().map(|hint| hint.contains("permissions")),
        Some(true)
    );
}

#[test]
fn columns_count_characters_and_escapes_mark_the_whole_string() {
    let found = faults(
        "{\"permissions\": {\"allow\": [\"Bash(äö)\", \"bash(ü)\"]}}",
        Layer::User,
    );
    assert_eq!((found[0].line, found[0].column), (1, 41));
    let found = faults(r#"{"permissions": {"allow": ["\u0062ash(x)"]}}"#, Layer::User);
    assert_eq!((found[0].line, found[0].column), (1, 28));
}

#[test]
fn layers_say_only_what_is_theirs() {
    for (text, layer, expected) in [
        (
            r#"{"modes": {"permitted": ["plan"]}}"#,
            Layer::User,
            "only counts in team policy",
        ),
        (
            r#"{"sandbox": {"allowTrials": false}}"#,
            Layer::User,
            "only counts in team policy",
        ),
        (
            r#"{"locks": {"managedRulesOnly": true}}"#,
            Layer::Project,
            "only counts in team policy",
        ),
        (
            r#"{"permissions": {"defaultMode": "bypass"}}"#,
            Layer::Project,
            "cannot select bypass",
        ),
        (
            r#"{"permissions": {"defaultMode": "bypassPermissions"}}"#,
            Layer::Local,
            "cannot select bypass",
        ),
        (
            r#"{"sandbox": {"autoAllowIfSandboxed": true}}"#,
            Layer::Project,
            "can only switch",
        ),
        (
            r#"{"modes": {"permitted": []}}"#,
            Layer::Team,
            "every call would be denied",
        ),
        (
            r#"{"permissions": {"additionalDirectories": ["//srv"]}}"#,
            Layer::User,
            "no meaning",
        ),
        (
            r#"{"permissions": {"additionalDirectories": ["/"]}}"#,
            Layer::User,
            "open everything",
        ),
        (
            r#"{"permissions": {"deny": ["Read(!.env)"]}}"#,
            Layer::User,
            "an exception needs an earlier rule",
        ),
        (
            r#"{"permissions": {"deny": ["Read(.env)"], "ask": ["Read(!.env)"]}}"#,
            Layer::User,
            "an exception needs",
        ),
        (
            r#"{"permissions": {"allow": ["Write(src/**)"]}}"#,
            Layer::User,
            "no effect",
        ),
        ("[]", Layer::User, "a policy: expected an object"),
        ("", Layer::User, "empty"),
        ("{\"version\": 1", Layer::User, "no json"),
        ("{} {}", Layer::User, "no json"),
    ] {
        let faults = faults(text, layer);
        let all = format!("{faults:?}").to_lowercase();
        assert!(all.contains(expected), "{text}: {all}");
    }
    assert!(PolicyDocument::parse(r#"{"permissions": {"defaultMode": "bypass"}}"#, origin(Layer::User)).is_ok());
    assert!(
        PolicyDocument::parse(
            r#"{"sandbox": {"autoAllowIfSandboxed": false}}"#,
            origin(Layer::Project)
        )
        .is_ok()
    );
}

#[test]
fn a_rule_that_looks_absolute_is_a_warning() {
    let text = r#"{"permissions": {"deny": ["Read(/etc/passwd)"]}}"#;
    let document = PolicyDocument::parse(text, origin(Layer::Team)).unwrap();
    assert_eq!(document.warnings.len(), 1);
    assert!(document.warnings[0].hint.as_deref().unwrap().contains("//etc/passwd"));
}

#[test]
fn size_and_depth_are_checked_before_parsing() {
    let deep = format!("{{\"permissions\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let found = faults(&deep, Layer::User);
    assert!(found[0].message.contains("nested deeper"), "{found:?}");
    let large = format!("{{}}{}", " ".repeat(PolicyDocument::MAX_BYTES));
    let found = faults(&large, Layer::User);
    assert!(found[0].message.contains("larger than"), "{found:?}");
    let many = format!("{{\"permissions\": {{\"allow\": [{}]}}}}", "\"x(\",".repeat(10_000));
    assert!(faults(&many, Layer::User).len() <= 200);
}

#[test]
fn agent_rules_lose_what_is_none_and_say_so() {
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let (document, left_out) = PolicyDocument::from_agent_rules(
        &texts(&["Bash(ls *)", "bash(x)", "mcp__*"]),
        &[],
        &texts(&["mcp__*", "Bash()"]),
        origin(Layer::User),
    );
    let rules: Vec<_> = document.rules.iter().map(|rule| &*rule.source.text).collect();
    // A denial that is none covers every use of its tool.
    assert_eq!(rules, ["mcp__*", "Bash", "Bash(ls *)"]);
    assert_eq!(left_out.len(), 3);
}

#[test]
fn of_a_faulty_document_only_what_narrows_is_kept() {
    let text = r#"{"permissions": {
        "allow": ["Bash(ls *)"], "ask": ["Bash(git push *)"], "deny": ["Read(.env)", "!Read(sub/.env)", "bash(x)"],
        "defaultMode": "acceptEdits", "additionalDirectories": ["/srv"]
    }, "sandbox": {"autoAllowIfSandboxed": true}, "nonsense": 1}"#;
    assert!(PolicyDocument::parse(text, origin(Layer::User)).is_err());
    let kept = PolicyDocument::restrictions(text, origin(Layer::User));
    let rules: Vec<_> = kept.rules.iter().map(|rule| &*rule.source.text).collect();
    assert_eq!(rules, ["Bash(git push *)", "Read(.env)"]);
    assert!(kept.rules.iter().all(|rule| rule.exceptions.is_empty()));
    assert_eq!(kept.settings, Settings::default());
    let nothing = PolicyDocument::restrictions("{\"permissions\": {\"deny\": [", origin(Layer::User));
    assert!(nothing.rules.is_empty());
}

proptest! {
    #[test]
    fn no_text_panics(text in "[\\PC\\n]{0,60}") {
        let _ = PolicyDocument::parse(&text, origin(Layer::Team));
    }

    #[test]
    fn no_rule_text_panics(rule in "\\PC{0,30}") {
        let text = serde_json::json!({ "permissions": { "deny": [rule, { "rule": rule, "match": [rule] }] } }).to_string();
        if let Err(faults) = PolicyDocument::parse(&text, origin(Layer::Team)) {
            for fault in faults {
                prop_assert!(text.get(fault.span.clone()).is_some() && fault.line == 1 && fault.column > 0);
            }
        }
    }
}
