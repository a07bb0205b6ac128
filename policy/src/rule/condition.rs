//! When a rule holds at all: `"when": { "modes": […], "input": "…" }` of a rule object.
//!
//! A condition is about the whole call, so it is looked at once per call and rule; which part of the call the rule covers
//! is its matcher's business. A condition never widens: a rule whose condition does not hold is not there.

use serde_json::Value;

use super::RegexPattern;
use crate::Mode;

/// When a rule holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// Only in these modes; `None` = in all.
    pub modes: Option<Vec<Mode>>,
    /// Only if this matches the call's input as [`input_text`] writes it; `None` = whatever the input is.
    pub input: Option<RegexPattern>,
}

impl Condition {
    /// Whether it holds. `input` is asked for only if a pattern wants it.
    pub(crate) fn holds<'t>(&self, mode: Mode, input: impl FnOnce() -> &'t str) -> bool {
        self.modes.as_ref().is_none_or(|modes| modes.contains(&mode))
            && self.input.as_ref().is_none_or(|pattern| pattern.matches(input()))
    }
}

/// The input of a call as one line of JSON, the keys of every object sorted: the same input gives the same text, whatever
/// order the agent sent it in.
#[must_use]
pub fn input_text(input: &serde_json::Map<String, Value>) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(object) => {
                let mut entries: Vec<_> = object.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
                entries.sort_by(|a, b| a.0.cmp(&b.0));
                Value::Object(entries.into_iter().collect())
            }
            Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
            other => other.clone(),
        }
    }
    sorted(&Value::Object(input.clone())).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Effect;

    #[test]
    fn keys_are_sorted_at_every_depth() {
        let input = json!({ "z": 1, "a": { "y": [{ "c": 1, "b": 2 }], "x": "\"" } });
        assert_eq!(
            input_text(input.as_object().unwrap()),
            r#"{"a":{"x":"\"","y":[{"b":2,"c":1}]},"z":1}"#
        );
    }

    #[test]
    fn each_half_has_to_hold() {
        let condition = Condition {
            modes: Some(vec![Mode::Plan]),
            input: Some(RegexPattern::parse(r"\.env", Effect::Deny).unwrap()),
        };
        assert!(condition.holds(Mode::Plan, || "a.env"));
        assert!(!condition.holds(Mode::Plan, || "env"));
        assert!(!condition.holds(Mode::Default, || "a.env"));
        assert!(Condition::default().holds(Mode::Default, || panic!("nobody asked for the input")));
    }
}
