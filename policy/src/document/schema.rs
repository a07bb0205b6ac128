//! The JSON Schema of policy documents, for editors.
//!
//! It says what a document may hold and what each key means. It does not know whether a rule could ever match, nor
//! whether examples hold: those faults only the reader finds. Made from the table of keys, so the two cannot drift.

use serde_json::{Map, Value, json};

use super::keys::{self, Key, Layers, Section, Shape};
use crate::Mode;

/// The name under which the schema is published. It is no address that anything fetches.
pub const SCHEMA_ID: &str = "urn:portcullis:policy:1";

/// The JSON Schema (draft 2020-12) of a policy document.
#[must_use]
pub fn schema() -> Value {
    let mut root = object(&keys::DOCUMENT);
    let head = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "Portcullis policy",
        "description": "A policy document: JSON with comments; a comma may follow the last entry.",
        "$defs": {
            "mode": {
                "description": "A run mode.",
                "enum": Mode::WORDS.iter().map(|(word, _)| *word).collect::<Vec<_>>(),
            },
            "rule": {
                "description": "A rule: `Tool` or `Tool(specifier)`, alone or with a name, advice and examples.",
                "oneOf": [{ "type": "string", "minLength": 1, "maxLength": 4096 }, object(&keys::RULE)],
            },
        },
    });
    if let (Some(root), Value::Object(head)) = (root.as_object_mut(), head) {
        root.extend(head);
    }
    root
}

fn object(section: &Section) -> Value {
    let properties: Map<String, Value> = section
        .keys
        .iter()
        .map(|key| (key.name.to_owned(), value(key)))
        .collect();
    let mut out = json!({ "type": "object", "additionalProperties": false, "properties": properties });
    if let Some(out) = out.as_object_mut().filter(|_| !section.required.is_empty()) {
        out.insert("required".to_owned(), json!(section.required));
    }
    out
}

fn value(key: &Key) -> Value {
    let about = match key.layers {
        Layers::All => key.about.to_owned(),
        Layers::Team => format!("{} Team policy only.", key.about),
    };
    let mut out = match &key.shape {
        Shape::Any => json!({}),
        Shape::Version => json!({ "const": 1 }),
        Shape::Boolean => json!({ "type": "boolean" }),
        // The bound counts bytes and the schema characters, so the schema never refuses what the reader takes.
        Shape::Text(most) => json!({ "type": "string", "minLength": 1, "maxLength": most }),
        Shape::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Shape::Word(words) => json!({ "enum": words }),
        Shape::Mode => json!({ "$ref": "#/$defs/mode" }),
        Shape::Modes => json!({ "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/mode" } }),
        Shape::Rules => json!({ "type": "array", "items": { "$ref": "#/$defs/rule" } }),
        Shape::Section(section) => object(section),
        Shape::Sections(section) => json!({ "type": "array", "items": object(section) }),
        Shape::TextsOrSections(section) => {
            json!({ "type": "array", "items": { "oneOf": [{ "type": "string" }, object(section)] } })
        }
        Shape::TextOrTexts => {
            json!({ "oneOf": [{ "type": "string" }, { "type": "array", "minItems": 1, "items": { "type": "string" } }] })
        }
    };
    if let Some(out) = out.as_object_mut() {
        out.insert("description".to_owned(), Value::String(about));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_says_what_it_means() {
        fn check(section: &Section) {
            for key in section.keys {
                assert!(key.about.ends_with('.'), "{} of {}", key.name, section.place);
                if let Shape::Section(inner) | Shape::Sections(inner) | Shape::TextsOrSections(inner) = &key.shape {
                    check(inner);
                }
            }
            for name in section.required {
                assert!(section.keys.iter().any(|key| key.name == *name), "{name}");
            }
        }
        check(&keys::DOCUMENT);
        check(&keys::RULE);
    }
}
