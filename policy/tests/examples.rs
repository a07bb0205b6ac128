//! The examples in the documentation are what they say: the policy has no faults, its own examples hold, and it shows every
//! key; the tests beside it hold, and reach every rule.

#![allow(clippy::panic, reason = "a test program stops at the first surprise")]

use portcullis_policy::{
    DocumentOrigin, Effect, Layer, Mode, PolicyDocument,
    cases::{
        Coverage,
        file::{self, PolicyFile},
    },
    starter,
};

const TEXT: &str = include_str!("../../docs/examples/team.jsonc");

fn read(text: &str) -> Result<PolicyDocument, Vec<portcullis_policy::Fault>> {
    let origin = DocumentOrigin {
        layer: Layer::Team,
        name: "docs/examples/team.jsonc".to_owned(),
        folder: None,
    };
    PolicyDocument::parse(text, origin)
}

#[test]
fn the_documented_example_is_a_policy() {
    let document = read(TEXT).unwrap_or_else(|faults| panic!("{faults:#?}"));
    assert_eq!(document.warnings, []);
    for effect in [Effect::Allow, Effect::Ask, Effect::Deny] {
        assert!(document.rules.iter().any(|rule| rule.effect == effect), "{effect}");
    }
    assert_eq!(document.settings.default_mode, Some(Mode::Default));
    assert_eq!(document.settings.permitted_modes.as_ref().map(Vec::len), Some(4));
    assert_eq!(document.settings.additional_directories, ["/srv/shared-data"]);
    assert_eq!(document.settings.auto_allow_if_sandboxed, Some(true));
    assert!(document.rules.iter().any(|rule| !rule.exceptions.is_empty()));
    assert!(
        document
            .rules
            .iter()
            .any(|rule| rule.advice.is_some() && rule.source.name.is_some())
    );
}

#[test]
fn its_examples_are_checked() {
    // The same text with an example that does not hold is refused, so the examples above are not decoration.
    let wrong = TEXT.replace("\"not_match\": [\"cargo run\"]", "\"not_match\": [\"cargo test -q\"]");
    assert_ne!(wrong, TEXT);
    assert_eq!(read(&wrong).map_err(|faults| faults.len()).err(), Some(1));
}

/// Runs a file of tests, and gives back the rules that no request reached.
fn run(name: &str, tests: &str, policy: &str) -> Vec<String> {
    let mut find = |_: &str| {
        Ok(PolicyFile {
            name: "team.jsonc".to_owned(),
            text: policy.to_owned(),
        })
    };
    let file = file::read(tests, name, &mut find).unwrap_or_else(|faults| panic!("{faults:#?}"));
    let mut coverage = Coverage::default();
    file.documents.iter().for_each(|document| coverage.add(document));
    for case in &file.cases {
        let decision = case.decide();
        coverage.reach(&decision);
        let mismatches = case.mismatches(&decision);
        assert!(mismatches.is_empty(), "{name}:{}: {mismatches:?}", case.line);
    }
    let covered = coverage.documents();
    let rules = covered.iter().flat_map(|document| &document.not_reached);
    rules.map(|rule| rule.text.to_string()).collect()
}

#[test]
fn the_documented_tests_hold_and_reach_every_rule() {
    let tests = include_str!("../../docs/examples/team.tests.toml");
    assert_eq!(run("docs/examples/team.tests.toml", tests, TEXT), Vec::<String>::new());
}

#[test]
fn the_tests_of_the_starter_policy_hold() {
    let tests = include_str!("../starter/team.tests.toml");
    let not_reached = run("policy/starter/team.tests.toml", tests, starter::TEAM);
    // A small test of a large policy; the table in `starter.rs` says more.
    assert!(!not_reached.is_empty());
}
