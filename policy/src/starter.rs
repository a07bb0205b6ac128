//! The team policy that a new installation begins with.

/// Its text: native JSON with comments.
pub const TEAM: &str = include_str!("../starter/team.jsonc");

#[cfg(test)]
mod tests {
    use crate::{DocumentOrigin, EffectiveRuleset, Layer, PolicyDocument};

    #[test]
    fn it_has_no_faults_and_its_examples_hold() {
        let origin = DocumentOrigin {
            layer: Layer::Team,
            name: "starter".to_owned(),
            folder: None,
        };
        let document = PolicyDocument::parse(super::TEAM, origin).unwrap_or_else(|faults| panic!("{faults:#?}"));
        assert!(document.warnings.is_empty(), "{:#?}", document.warnings);
        assert!(document.rules.len() > 20);
        let _ = EffectiveRuleset::merge(&[std::sync::Arc::new(document)], true);
    }
}
