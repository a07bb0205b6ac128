use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::{DocumentOrigin, starter};

fn read(layer: Layer, text: &str) -> Arc<PolicyDocument> {
    let origin = DocumentOrigin {
        layer,
        name: format!("{layer}.jsonc"),
        folder: None,
    };
    Arc::new(PolicyDocument::parse(text, origin).unwrap_or_else(|faults| panic!("{faults:#?}")))
}

fn found(documents: &[(Layer, Value)]) -> Vec<(Layer, String, Code)> {
    let texts: Vec<(Layer, String)> = documents
        .iter()
        .map(|(layer, value)| (*layer, value.to_string()))
        .collect();
    let linted: Vec<Linted<'_>> = texts
        .iter()
        .map(|(layer, text)| Linted {
            document: read(*layer, text),
            text,
        })
        .collect();
    lint(&linted)
        .into_iter()
        .map(|finding| (finding.layer, finding.rule, finding.code))
        .collect()
}

/// The codes of what is found about a rule in one document of the team.
fn codes(effect: &str, rule: &str) -> Vec<Code> {
    let document = json!({ "permissions": { effect: [rule] } });
    found(&[(Layer::Team, document)])
        .into_iter()
        .map(|(.., code)| code)
        .collect()
}

#[test]
fn each_rule_has_the_findings_of_its_kind_and_near_misses_have_none() {
    for (rule, code) in [
        ("Bash", Some(Code::Everything)),
        ("Bash(*)", Some(Code::Everything)),
        ("Edit", Some(Code::Everything)),
        ("Edit(//**)", Some(Code::Everything)),
        ("Edit(./src/**)", None),
        ("WebFetch", Some(Code::Everything)),
        ("WebFetch(domain:a.example)", None),
        ("Bash(git * main)", Some(Code::WildcardBeforeSubcommand)),
        ("Bash(git checkout *)", None),
        ("Bash(git *)", Some(Code::EverySubcommand)),
        ("Bash(git:*)", Some(Code::EverySubcommand)),
        ("Bash(docker *)", Some(Code::EverySubcommand)),
        ("Bash(ls *)", None),
        ("Bash(ls*)", Some(Code::WildcardInProgram)),
        ("Bash(* --version)", Some(Code::WildcardInProgram)),
        ("Bash(python *)", Some(Code::Interpreter)),
        ("Bash(python3.12:*)", Some(Code::Interpreter)),
        ("Bash(bash *)", Some(Code::Interpreter)),
        ("Bash(node -e *)", None),
        ("Bash(python3 -m pytest *)", None),
        ("Bash(sudo *)", Some(Code::Wrapper)),
        ("Bash(xargs *)", Some(Code::Wrapper)),
        ("Bash(npx *)", Some(Code::Wrapper)),
        ("Bash(docker run *)", Some(Code::Wrapper)),
        ("Bash(npx tsc *)", None),
        ("Bash(curl *)", Some(Code::Network)),
        ("Bash(curl https://a.example/*)", None),
        ("Bash(echo \"x)", Some(Code::NeverMatches)),
        ("Bash(echo \"x\")", None),
        ("Bash(make # all)", Some(Code::NeverMatches)),
        ("Bash(A=1 make)", None),
        ("Edit(.git/config)", Some(Code::Protected)),
        ("Edit(.git/hooks/**)", Some(Code::Protected)),
        ("Edit(~/.bashrc)", Some(Code::Protected)),
        ("Edit(.github/**)", None),
        ("Read(.git/config)", None),
    ] {
        assert_eq!(codes("allow", rule), code.into_iter().collect::<Vec<_>>(), "{rule}");
    }
    // What is broad as an allow is what a deny wants to be.
    for rule in ["Bash", "Bash(git * main)", "Bash(python *)", "Bash(sudo *)", "Edit"] {
        assert_eq!(codes("deny", rule), [], "{rule}");
    }
}

#[test]
fn what_another_rule_covers_is_found_with_the_layer_that_covers_it() {
    use Layer::{Local, Project, Team, User};
    let permissions = |effect: &str, rule: &str| json!({ "permissions": { effect: [rule] } });
    for ((outer_layer, outer_effect, outer), (layer, effect, inner), code) in [
        (
            (Team, "deny", "Bash(git push *)"),
            (User, "allow", "Bash(git push origin *)"),
            Some(Code::Contradicts),
        ),
        (
            (Team, "deny", "Bash(git push *)"),
            (User, "allow", "Bash(git push)"),
            Some(Code::Contradicts),
        ),
        (
            (Team, "deny", "Bash(git push * main)"),
            (User, "allow", "Bash(git push *)"),
            None,
        ),
        (
            (User, "deny", "Bash(git push *)"),
            (Team, "allow", "Bash(git push origin *)"),
            Some(Code::Outranked),
        ),
        (
            (Team, "ask", "Bash(git push *)"),
            (Local, "allow", "Bash(git push -v)"),
            Some(Code::Contradicts),
        ),
        (
            (Team, "deny", "Bash(git push *)"),
            (Local, "deny", "Bash(git push -f *)"),
            Some(Code::Covered),
        ),
        (
            (User, "allow", "Bash(make *)"),
            (Local, "allow", "Bash(make -j *)"),
            Some(Code::Covered),
        ),
        // An exact allow covers what the command touches besides.
        ((User, "allow", "Bash(make *)"), (Local, "allow", "Bash(make -j)"), None),
        // An untrusted project's allow does not count, so it makes no other superfluous.
        (
            (Project, "allow", "Bash(make *)"),
            (User, "allow", "Bash(make -j *)"),
            None,
        ),
        (
            (Project, "allow", "Bash(make *)"),
            (Local, "allow", "Bash(make -j *)"),
            Some(Code::Covered),
        ),
        (
            (Team, "deny", "Read(~/.ssh/**)"),
            (User, "allow", "Read(~/.ssh/config)"),
            Some(Code::Contradicts),
        ),
        (
            (Team, "deny", "Read(~/.ssh/**)"),
            (User, "allow", "Edit(~/.ssh/config)"),
            Some(Code::Contradicts),
        ),
        (
            (Team, "deny", "Edit(~/.ssh/**)"),
            (User, "allow", "Read(~/.ssh/config)"),
            None,
        ),
        (
            (Team, "deny", "Read(~/.ssh/**)"),
            (User, "allow", "Read(~/.sshx)"),
            None,
        ),
        ((Team, "deny", "Read(.env)"), (User, "allow", "Read(.env)"), None),
        (
            (Team, "deny", "WebFetch(domain:*.a.example)"),
            (User, "allow", "WebFetch(domain:x.a.example)"),
            Some(Code::Contradicts),
        ),
        (
            (Team, "deny", "WebFetch(domain:*.a.example)"),
            (User, "allow", "WebFetch(domain:a.example)"),
            None,
        ),
        (
            (Team, "deny", "mcp__a"),
            (User, "allow", "mcp__a"),
            Some(Code::Contradicts),
        ),
        (
            (Team, "deny", "*"),
            (User, "allow", "Skill(x)"),
            Some(Code::Contradicts),
        ),
    ] {
        let documents = [
            (outer_layer, permissions(outer_effect, outer)),
            (layer, permissions(effect, inner)),
        ];
        let expected: Vec<_> = code.into_iter().map(|code| (layer, inner.to_owned(), code)).collect();
        let relevant = [Code::Covered, Code::Outranked, Code::Contradicts];
        let found: Vec<_> = found(&documents)
            .into_iter()
            .filter(|(.., code)| relevant.contains(code))
            .collect();
        assert_eq!(found, expected, "{outer_effect} {outer}, {effect} {inner}");
    }
}

#[test]
fn of_two_rules_that_say_the_same_one_is_found() {
    let document = json!({ "permissions": { "deny": ["Bash(rm *)", "Bash(rm:*)"] } });
    assert_eq!(
        found(&[(Layer::Team, document)]),
        [(Layer::Team, "Bash(rm:*)".to_owned(), Code::Covered)]
    );
}

#[test]
fn locks_modes_and_hollow_denies_are_found() {
    let team = json!({
        "permissions": { "deny": ["Read(secrets/**)"], "defaultMode": "bypass" },
        "modes": { "permitted": ["default"] },
        "locks": { "managedRulesOnly": true },
    });
    let user = json!({ "permissions": { "allow": ["Bash(python3 *)", { "rule": "Bash(make)", "when": { "modes": ["plan"] } }] } });
    let codes: Vec<_> = found(&[(Layer::Team, team), (Layer::User, user)])
        .into_iter()
        .map(|(.., code)| code)
        .collect();
    assert_eq!(
        codes,
        [
            Code::ModeNotPermitted,
            Code::Locked,
            Code::Interpreter,
            Code::Evaded,
            Code::NeverHolds,
            Code::Locked
        ]
    );
}

#[test]
fn the_words_are_underlined_where_they_stand() {
    let text = "{\n  \"permissions\": {\n    // ü\n    \"allow\": [\"Bash(ls)\", /* ü */ \"Bash(git *)\"] } }";
    let linted = [Linted {
        document: read(Layer::Team, text),
        text,
    }];
    let [finding] = <[Finding; 1]>::try_from(lint(&linted)).unwrap();
    assert_eq!(
        (text.get(finding.span.clone()).unwrap(), finding.line),
        ("\"Bash(git *)\"", 4)
    );
    assert!(finding.as_fault().message.starts_with("L0306: "), "{finding:?}");
}

/// One document for each kind of which the linter speaks, and what it says of it.
#[test]
fn every_kind_has_a_place_a_reason_and_a_way_out() {
    let team = r#"{
        "permissions": {
            "deny": ["Bash(git push *)", "Read(secrets/**)", "Bash(rm *)"],
            "ask": ["Bash(git fetch *)"],
            "allow": [
                "Bash(echo \"x)", "Edit(.git/config)", "Bash(make *)", "Bash(make -j *)", "Bash(git fetch -p)", "Read",
                "Bash(git * main)", "Bash(ls*)", "Bash(python *)", "Bash(sudo *)", "Bash(docker *)", "Bash(curl *)"
            ],
            "defaultMode": "bypass"
        },
        "modes": { "permitted": ["default"] },
        "locks": { "managedRulesOnly": true }
    }"#;
    let user = r#"{ "permissions": { "allow": [
        "Bash(git push origin *)", { "rule": "Bash(x)", "when": { "modes": ["plan"] } }
    ] } }"#;
    let texts = [(Layer::Team, team), (Layer::User, user)];
    let linted: Vec<Linted<'_>> = texts
        .iter()
        .map(|(layer, text)| Linted {
            document: read(*layer, text),
            text,
        })
        .collect();
    let findings = lint(&linted);
    for finding in &findings {
        let (_, text) = texts.iter().find(|(layer, _)| *layer == finding.layer).unwrap();
        let words = text.get(finding.span.clone()).unwrap();
        let named = serde_json::Value::String(finding.rule.clone()).to_string();
        assert!(words == named || words == "\"defaultMode\"", "{words}: {finding:?}");
        assert!(!finding.reason.is_empty() && !finding.fix.is_empty(), "{finding:?}");
    }
    let found: std::collections::BTreeSet<Code> = findings.iter().map(|finding| finding.code).collect();
    assert_eq!(found, Code::ALL.into_iter().collect());
}

#[test]
fn a_broad_allow_is_asked_for_examples_until_it_has_some() {
    for (rule, asked) in [
        (json!("Bash(git *)"), true),
        (json!({ "rule": "Bash(git *)", "advice": "x" }), true),
        (json!({ "rule": "Bash(git *)", "match": ["git log"] }), false),
        (json!({ "rule": "Bash(git *)", "not_match": ["gitk"] }), false),
    ] {
        let text = json!({ "permissions": { "allow": [rule] } }).to_string();
        let linted = [Linted {
            document: read(Layer::Team, &text),
            text: &text,
        }];
        let [finding] = <[Finding; 1]>::try_from(lint(&linted)).unwrap();
        assert_eq!(finding.code, Code::EverySubcommand);
        assert_eq!(finding.fix.contains("`match`"), asked, "{text}: {finding:?}");
    }
}

#[test]
fn the_starter_policy_has_no_findings() {
    let linted = [Linted {
        document: read(Layer::Team, starter::TEAM),
        text: starter::TEAM,
    }];
    assert_eq!(lint(&linted), []);
}

#[test]
fn every_code_has_its_page_and_stands_in_order() {
    let page = include_str!("../../../docs/lint.md");
    let codes: Vec<String> = Code::ALL.iter().map(Code::to_string).collect();
    assert!(codes.is_sorted());
    for code in codes {
        assert!(
            page.contains(&format!("## {code} ")),
            "{code} is not described in docs/lint.md"
        );
    }
}

#[test]
fn thousands_of_rules_are_looked_at_in_one_go() {
    let rules: Vec<String> = (0..5000).map(|number| format!("Bash(tool{number} x *)")).collect();
    let document = json!({ "permissions": { "deny": rules } });
    assert_eq!(found(&[(Layer::Team, document)]), []);
}
