//! Which models may be used.

use crate::rule::TextPattern;

/// Models that a team permits or blocks. Patterns ignore the case of letters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelControls {
    /// Only these; `None` = all that are not blocked.
    pub allowed: Option<Vec<TextPattern>>,
    /// Not these.
    pub blocked: Vec<TextPattern>,
}

impl ModelControls {
    /// Reads a pattern, so that the case of letters does not count.
    #[must_use]
    pub fn pattern(text: &str) -> TextPattern {
        TextPattern::parse(&text.to_lowercase())
    }

    /// Whether a model may be used.
    #[must_use]
    pub fn permits(&self, model: &str) -> bool {
        let model = model.trim().to_lowercase();
        let controlled = self.allowed.is_some() || !self.blocked.is_empty();
        if model.is_empty() {
            return !controlled;
        }
        // A provider's prefix does not make it another model: `anthropic/claude-x`.
        let bare = model.rsplit('/').next().unwrap_or_default();
        let meets = |pattern: &TextPattern| pattern.matches(&model) || pattern.matches(bare);
        !self.blocked.iter().any(meets)
            && self
                .allowed
                .as_ref()
                .is_none_or(|allowed| allowed.iter().any(|pattern| pattern.matches(&model)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocked_beats_allowed_and_an_unknown_model_is_neither() {
        let patterns = |list: &[&str]| list.iter().map(|text| ModelControls::pattern(text)).collect::<Vec<_>>();
        let free = ModelControls::default();
        let blocked = ModelControls {
            allowed: None,
            blocked: patterns(&["Grok-*"]),
        };
        let allowed = ModelControls {
            allowed: Some(patterns(&["claude-*", "gpt-5"])),
            blocked: patterns(&["*-mini"]),
        };
        for (controls, model, expected) in [
            (&free, "", true),
            (&free, "anything", true),
            (&blocked, "grok-4", false),
            (&blocked, "xai/GROK-4", false),
            (&blocked, "claude-x", true),
            (&blocked, "", false),
            (&allowed, "Claude-X", true),
            (&allowed, "gpt-5", true),
            (&allowed, "gpt-5x", false),
            (&allowed, "claude-mini", false),
            (&allowed, "evil/claude-x", false),
            (&allowed, " ", false),
        ] {
            assert_eq!(controls.permits(model), expected, "{model}");
        }
    }
}
