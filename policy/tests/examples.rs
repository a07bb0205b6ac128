//! The example in the documentation is a policy: it has no faults, its own examples hold, and it shows every key.

use portcullis_policy::{DocumentOrigin, Effect, Layer, Mode, PolicyDocument};

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
