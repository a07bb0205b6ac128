//! What the linter claims holds: on generated policies and calls, a rule that is said to change no decision changes none, and
//! one that is said never to match or never to decide does not.

#![allow(clippy::unwrap_used, reason = "a test program stops at the first surprise")]

mod common;

use std::sync::Arc;

use common::{bash, call, edit, fetch, read, request};
use portcullis_policy::{
    DocumentOrigin, EffectiveRuleset, Layer, Mode, PolicyDocument, ToolCall, evaluate,
    lint::{Code, Finding, Linted, lint},
};
use proptest::{prelude::*, strategy::ValueTree as _};
use serde_json::json;

/// Words that rules and calls are made of, so that they meet often.
fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "git", "push", "origin", "-f", "main", "make", "x", "\"a", "'b'", "#", "$X", "a=b", "sh -c", "&&", "> o",
        "python3",
    ])
}

fn words() -> impl Strategy<Value = String> {
    prop::collection::vec(word(), 1..5).prop_map(|words| words.join(" "))
}

fn shell_rule() -> impl Strategy<Value = String> {
    (
        words(),
        prop::sample::select(vec!["", " *", ":*", "*", " * main", " * x *"]),
    )
        .prop_map(|(words, end)| format!("Bash({words}{end})"))
}

fn other_rule() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "Bash",
        "Read",
        "Edit",
        "Delete",
        "Read(~/k/**)",
        "Read(~/k)",
        "Read(~/k/a)",
        "Edit(~/k/**)",
        "Edit(~/k/a)",
        "Delete(~/k/a)",
        "Read(//etc/**)",
        "Read(//etc/hosts)",
        "Read(k)",
        "Read(./k)",
        "Read(/k/**)",
        "Edit(.git/config)",
        "Edit(~/.bashrc)",
        "Edit(.git/**)",
        "WebFetch",
        "WebFetch(domain:a.test)",
        "WebFetch(domain:*.a.test)",
        "WebFetch(domain:b.a.test)",
        "mcp__a",
        "mcp__a__b",
        "mcp__a__*",
        "Skill",
        "Skill(s)",
        "Agent",
        "Agent(t)",
        "WebSearch",
    ])
    .prop_map(str::to_owned)
}

fn rule() -> impl Strategy<Value = String> {
    prop_oneof![3 => shell_rule(), 2 => other_rule()]
}

fn any_call() -> impl Strategy<Value = ToolCall> {
    let files = prop::sample::select(vec![
        "~/k",
        "~/k/a",
        "~/k/a/b",
        "/etc/hosts",
        "/etc",
        "k",
        "k/x",
        "d/k",
        ".git/config",
        "~/.bashrc",
    ]);
    prop_oneof![
        5 => words().prop_map(|line| bash(&line)),
        2 => (prop::sample::select(vec!["cat", "rm -rf", "cp x", "echo x >"]), files.clone())
            .prop_map(|(program, file)| bash(&format!("{program} {file}"))),
        1 => files.clone().prop_map(read),
        1 => files.prop_map(edit),
        1 => prop::sample::select(vec!["https://a.test/", "https://b.a.test/x", "https://c.test/"]).prop_map(fetch),
        1 => prop::sample::select(vec!["mcp__a__b", "mcp__a__c", "mcp__a__b__c", "mcp__ab__c"]).prop_map(|tool| call(tool, json!({}))),
        1 => prop::sample::select(vec!["s", "u"]).prop_map(|name| call("Skill", json!({ "skill": name }))),
        1 => prop::sample::select(vec!["t", "u"])
            .prop_map(|kind| call("Agent", json!({ "subagent_type": kind, "description": "d", "prompt": "p" }))),
        1 => Just(call("WebSearch", json!({ "query": "q" }))),
    ]
}

/// Rules with effect and layer. One document for each: that is what positions are about.
fn policy() -> impl Strategy<Value = Vec<(Layer, &'static str, String)>> {
    let layer = prop::sample::select(vec![Layer::User, Layer::Project, Layer::Local, Layer::Team]);
    let effect = prop::sample::select(vec!["allow", "ask", "deny"]);
    prop::collection::vec((layer, effect, rule()), 2..6)
}

struct Text {
    document: Arc<PolicyDocument>,
    text: String,
}

/// The rules that can be read, each in a document of its own.
fn documents(rules: &[(Layer, &'static str, String)]) -> Vec<Text> {
    rules
        .iter()
        .enumerate()
        .filter_map(|(number, (layer, effect, rule))| {
            let text = json!({ "permissions": { *effect: [rule] } }).to_string();
            let origin = DocumentOrigin {
                layer: *layer,
                name: format!("{number}.jsonc"),
                folder: None,
            };
            let document = Arc::new(PolicyDocument::parse(&text, origin).ok()?);
            Some(Text { document, text })
        })
        .collect()
}

fn findings(texts: &[Text]) -> Vec<Finding> {
    let linted: Vec<Linted<'_>> = texts
        .iter()
        .map(|text| Linted {
            document: Arc::clone(&text.document),
            text: &text.text,
        })
        .collect();
    lint(&linted)
}

fn all(texts: &[Text]) -> Vec<Arc<PolicyDocument>> {
    texts.iter().map(|text| Arc::clone(&text.document)).collect()
}

const MODES: [Mode; 4] = [Mode::Default, Mode::AcceptEdits, Mode::Plan, Mode::Bypass];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    /// Taking away a rule that is said to be covered, outranked or contradicted changes no verdict.
    #[test]
    fn a_rule_that_is_said_to_say_nothing_says_nothing(
        rules in policy(),
        calls in prop::collection::vec(any_call(), 4),
        mode in prop::sample::select(MODES.to_vec()),
        trusted in any::<bool>(),
    ) {
        let texts = documents(&rules);
        for finding in findings(&texts) {
            if !matches!(finding.code, Code::Covered | Code::Outranked | Code::Contradicts) {
                continue;
            }
            let with = all(&texts);
            let without: Vec<_> = with.iter().filter(|document| document.origin.name != finding.document).cloned().collect();
            for call in &calls {
                let mut request = request(call.clone(), mode);
                request.facts.project_trusted = trusted;
                let verdict = |documents: &[Arc<PolicyDocument>]| {
                    evaluate(&EffectiveRuleset::merge(documents, trusted), &request).verdict
                };
                prop_assert_eq!(verdict(&with), verdict(&without), "{:?} {:?}", finding, call.input);
            }
        }
    }

    /// A rule that is said never to match allows nothing: neither its own words nor anything near them.
    #[test]
    fn a_rule_that_is_said_never_to_match_allows_nothing(
        words in words(),
        calls in prop::collection::vec(any_call(), 4),
        mode in prop::sample::select(MODES.to_vec()),
    ) {
        let rules = [(Layer::User, "allow", format!("Bash({words})"))];
        let texts = documents(&rules);
        if findings(&texts).iter().any(|finding| finding.code == Code::NeverMatches) {
            let near = [words.clone(), format!("{words} x"), format!("make; {words}"), format!("sh -c '{words}'")];
            for call in calls.into_iter().chain(near.iter().map(|line| bash(line))) {
                let decision = evaluate(&EffectiveRuleset::merge(&all(&texts), true), &request(call.clone(), mode));
                prop_assert!(
                    decision.trace.iter().all(|part| part.rule.is_none()),
                    "{} decided {:?}: {:?}", words, call.input, decision.trace
                );
            }
        }
    }

    /// An allow that is said to be for a protected path lifts no question for that path.
    #[test]
    fn an_allow_for_a_protected_path_lifts_nothing(rule in other_rule(), mode in prop::sample::select(MODES.to_vec())) {
        let texts = documents(&[(Layer::User, "allow", rule.clone())]);
        if findings(&texts).iter().any(|finding| finding.code == Code::Protected) {
            let path = rule.split_once('(').unwrap().1.trim_end_matches(')').trim_end_matches("/**");
            let decision = evaluate(&EffectiveRuleset::merge(&all(&texts), true), &request(edit(path), mode));
            prop_assert_ne!(decision.verdict, portcullis_policy::Verdict::Allow, "{}", rule);
        }
    }
}

/// The generators reach what the properties are about; else they would hold of nothing.
#[test]
fn the_generators_make_findings_of_each_kind() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..3_000 {
        let rules = policy().new_tree(&mut runner).unwrap().current();
        seen.extend(findings(&documents(&rules)).into_iter().map(|finding| finding.code));
    }
    for code in [
        Code::NeverMatches,
        Code::Protected,
        Code::Covered,
        Code::Outranked,
        Code::Contradicts,
        Code::Interpreter,
    ] {
        assert!(seen.contains(&code), "{code}");
    }
}
