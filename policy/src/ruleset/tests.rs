use serde_json::json;

use super::*;

fn document(layer: Layer, name: &str, folder: Option<&str>, text: &serde_json::Value) -> Arc<PolicyDocument> {
    let origin = DocumentOrigin {
        layer,
        name: name.to_owned(),
        folder: folder.map(|folder| AbsPath::parse(folder).unwrap()),
    };
    Arc::new(PolicyDocument::parse(&text.to_string(), origin).unwrap())
}

fn texts(ruleset: &EffectiveRuleset) -> Vec<String> {
    ruleset
        .rules()
        .map(|rule| format!("{} {}", rule.source.layer, rule.source.text))
        .collect()
}

#[test]
fn the_strictest_effect_and_the_highest_layer_come_first() {
    let rules = json!({"permissions": {"allow": ["Bash(a)"], "ask": ["Bash(b)"], "deny": ["Bash(c)"]}});
    let merged = EffectiveRuleset::merge(
        &[
            document(Layer::User, "u", None, &rules),
            document(Layer::Team, "t", None, &rules),
        ],
        true,
    );
    assert_eq!(
        texts(&merged),
        [
            "team Bash(c)",
            "user Bash(c)",
            "team Bash(b)",
            "user Bash(b)",
            "team Bash(a)",
            "user Bash(a)"
        ]
    );
}

#[test]
fn an_untrusted_project_only_narrows() {
    let rules = json!({"permissions": {
        "allow": ["Bash(a)"], "deny": ["Bash(c)"], "additionalDirectories": ["/srv"], "defaultMode": "acceptEdits",
    }});
    for layer in [Layer::Project, Layer::Local] {
        let documents = [document(layer, "p", Some("/w"), &rules)];
        let untrusted = EffectiveRuleset::merge(&documents, false);
        assert_eq!(texts(&untrusted), [format!("{layer} Bash(c)")]);
        assert!(untrusted.directories(&AbsPath::root(), None).is_empty());
        assert_eq!(untrusted.default_mode(), None);
        let trusted = EffectiveRuleset::merge(&documents, true);
        assert_eq!(trusted.len(), 2);
        assert_eq!(trusted.directories(&AbsPath::root(), None).len(), 1);
    }
}

#[test]
fn a_lock_of_the_team_drops_lower_allows_and_nothing_else() {
    let lower = json!({"permissions": {"allow": ["Bash(a)"], "ask": ["Bash(b)"], "deny": ["Bash(c)"]}});
    let team = json!({"permissions": {"allow": ["Bash(t)"]}, "locks": {"managedRulesOnly": true}});
    let merged = EffectiveRuleset::merge(
        &[
            document(Layer::Session, "s", None, &lower),
            document(Layer::User, "u", None, &lower),
            document(Layer::Team, "t", None, &team),
        ],
        true,
    );
    assert_eq!(
        texts(&merged),
        [
            "session Bash(c)",
            "user Bash(c)",
            "session Bash(b)",
            "user Bash(b)",
            "team Bash(t)"
        ]
    );
}

#[test]
fn a_false_of_any_layer_wins_for_the_sandbox() {
    let says = |layer, value: bool| document(layer, "x", None, &json!({"sandbox": {"autoAllowIfSandboxed": value}}));
    let merged = |documents: &[Arc<PolicyDocument>]| EffectiveRuleset::merge(documents, true).auto_allow_if_sandboxed();
    assert!(!merged(&[]));
    assert!(merged(&[says(Layer::User, true)]));
    assert!(!merged(&[says(Layer::Team, true), says(Layer::Project, false)]));
    assert!(!merged(&[says(Layer::User, true), says(Layer::Team, false)]));
}

#[test]
fn the_highest_layer_names_the_mode_and_the_team_permits_it() {
    let mode = |layer, mode: &str| document(layer, "x", None, &json!({"permissions": {"defaultMode": mode}}));
    let merged = EffectiveRuleset::merge(&[mode(Layer::User, "bypass"), mode(Layer::Project, "plan")], true);
    assert_eq!(merged.default_mode(), Some(Mode::Plan));
    let permitted = |modes: &[&str]| document(Layer::Team, "x", None, &json!({"modes": {"permitted": modes}}));
    let merged = EffectiveRuleset::merge(&[permitted(&["default", "plan"]), permitted(&["plan", "bypass"])], true);
    assert_eq!(merged.permitted_modes(), Some([Mode::Plan].as_slice()));
}

#[test]
fn directories_start_where_their_document_lies() {
    let text = json!({"permissions": {"additionalDirectories": ["../lib", "~/shared", "/srv/data"]}});
    let merged = EffectiveRuleset::merge(
        &[document(Layer::User, "u", Some("/home/dev/.config/portcullis"), &text)],
        true,
    );
    let (root, home) = (AbsPath::parse("/w").unwrap(), AbsPath::parse("/home/dev").unwrap());
    let found: Vec<String> = merged
        .directories(&root, Some(&home))
        .iter()
        .map(AbsPath::to_string)
        .collect();
    assert_eq!(found, ["/home/dev/.config/lib", "/home/dev/shared", "/srv/data"]);
    assert_eq!(merged.directories(&root, None).len(), 2);
}

#[test]
fn session_flags_report_which_rule_is_none() {
    let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let faults = EffectiveRuleset::session_document(&list(&["Bash(ls)", "bash(x)"]), &list(&["Read()"])).unwrap_err();
    assert_eq!(faults.len(), 2);
    assert!(faults.iter().any(|fault| (fault.line, fault.column) == (2, 1)));
    let document = EffectiveRuleset::session_document(&list(&["Bash(ls)"]), &list(&["Read(.env)"])).unwrap();
    assert_eq!(document.rules.len(), 2);
    assert_eq!(document.origin.layer, Layer::Session);
}

/// The index must find every rule that the plain list finds.
#[test]
fn ten_thousand_rules_do_not_hide_one() {
    let many: Vec<String> = (0..4_000).map(|n| format!("Bash(tool{n} *)")).collect();
    let merged = EffectiveRuleset::merge(
        &[document(
            Layer::User,
            "u",
            None,
            &json!({"permissions": {"deny": many}}),
        )],
        true,
    );
    assert_eq!(merged.index().commands(std::iter::once("tool3999 x")).len(), 1);
    assert!(merged.index().commands(std::iter::once("other")).is_empty());
}

#[test]
fn what_keeps_files_from_being_read_is_given_out_each_once() {
    use crate::path::DenialReading::{self, CursorRule, IgnoreFile, IgnoreList, Rule};
    let text = json!({
        "permissions": {
            "deny": [
                "Read(*.pem)", "Read(!public.pem)", "Read(~/.ssh/**)", "Edit(x)", "Delete(y)", "Bash(cat *)", "Read",
                {"rule": "Read(only-in-plan)", "when": {"modes": ["plan"]}},
                {"rule": "Read(src/{a,b})", "spelling": "cursor"},
            ],
            "ask": ["Read(asked)"],
            "allow": ["Read(allowed)"],
        },
        "ignore": {"patterns": ["*.key", "!sample.key", "/private"]},
    });
    let origin = DocumentOrigin {
        layer: Layer::Project,
        name: "/w/.cursorignore".to_owned(),
        folder: Some(AbsPath::parse("/w").unwrap()),
    };
    let (ignored, _) = PolicyDocument::parse_ignore_file("# no\nbuild/\n*.env\n!x.env\n", origin);
    let merged = EffectiveRuleset::merge(&[document(Layer::Team, "t", None, &text), Arc::new(ignored)], false);
    let mut found: Vec<(DenialReading, &str, bool, Vec<&str>)> = merged
        .sandbox()
        .ruled_out
        .iter()
        .map(|denial| {
            let exceptions = denial.exceptions.iter().map(String::as_str).collect();
            (
                denial.reading,
                denial.pattern.as_str(),
                denial.folder.is_some(),
                exceptions,
            )
        })
        .collect();
    found.sort_by_key(|(_, pattern, ..)| *pattern);
    assert_eq!(
        found,
        [
            (IgnoreFile, "*.env", true, vec!["!x.env"]),
            (IgnoreList, "*.key", false, vec!["!sample.key"]),
            (Rule, "*.pem", false, vec!["public.pem"]),
            (IgnoreList, "/private", false, vec![]),
            (IgnoreFile, "build/", true, vec!["!x.env"]),
            (CursorRule, "src/{a,b}", false, vec![]),
            (Rule, "~/.ssh/**", false, vec![]),
        ]
    );
}
