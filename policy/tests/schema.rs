//! The published schema and the reader say the same about what a document looks like.
//!
//! Documents are generated from the schema itself, so a key that is in one only is found: the reader would refuse it, or
//! the walk over the schema would never write it.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test program stops at the first surprise"
)]

use portcullis_policy::{
    DocumentOrigin, Fault, Layer, PolicyDocument,
    document::{SCHEMA_ID, schema},
    starter,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn read(text: &str) -> Result<PolicyDocument, Vec<Fault>> {
    let origin = DocumentOrigin {
        layer: Layer::Team,
        name: "team".to_owned(),
        folder: None,
    };
    PolicyDocument::parse(text, origin)
}

/// A source of choices that never runs dry.
struct Choices<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Choices<'_> {
    fn below(&mut self, n: usize) -> usize {
        let byte = self.bytes.get(self.at % self.bytes.len().max(1)).copied().unwrap_or(0);
        self.at += 1;
        usize::from(byte) % n.max(1)
    }
}

/// A value that the schema accepts and whose words the reader understands.
fn example(schema: &Value, root: &Value, key: &str, choices: &mut Choices<'_>) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap();
        return example(&root["$defs"][name], root, key, choices);
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    if let Some(words) = schema["enum"].as_array() {
        return words[choices.below(words.len())].clone();
    }
    if let Some(choice) = schema["oneOf"].as_array() {
        return example(&choice[choices.below(choice.len())], root, key, choices);
    }
    match schema["type"].as_str() {
        Some("boolean") => json!(choices.below(2) == 0),
        Some("integer") => schema["minimum"].clone(),
        Some("string") => json!(word(key)),
        Some("array") => {
            let least = schema["minItems"].as_u64().unwrap_or(0) as usize;
            let count = least + choices.below(2);
            Value::Array(
                (0..count)
                    .map(|_| example(&schema["items"], root, key, choices))
                    .collect(),
            )
        }
        Some("object") => {
            let mut out = Map::new();
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            for (name, inner) in schema["properties"].as_object().unwrap() {
                if required.contains(&json!(name)) || choices.below(3) > 0 {
                    out.insert(name.clone(), example(inner, root, name, choices));
                }
            }
            fitting(key, &mut out);
            Value::Object(out)
        }
        _ => json!("anything"),
    }
}

/// Gives a rule words that fit its spelling and its condition: what goes with what, a schema does not say.
fn fitting(key: &str, object: &mut Map<String, Value>) {
    // A server is named by its command or its address.
    let is_server = key == "servers" || (key == "deny" && !object.contains_key("rule"));
    if is_server && object.contains_key("url") {
        object.remove("command");
    } else if is_server {
        object.insert("command".to_owned(), json!("mcp-server"));
    }
    if object.get("requireKnown") == Some(&json!(true)) {
        object.insert("known".to_owned(), json!(["a.example"]));
    }
    if !object.contains_key("rule") {
        return;
    }
    let on_command = object.get("when").is_some_and(|when| when.get("command").is_some());
    if on_command {
        object.remove("spelling");
        object.insert("rule".to_owned(), json!("Bash"));
    } else if object.get("spelling") == Some(&json!("cursor")) {
        object.insert("rule".to_owned(), json!("Shell(git:log*)"));
    }
}

/// A text that means something under a key.
fn word(key: &str) -> &'static str {
    match key {
        "additionalDirectories" => "../lib",
        "match" => "git log -1",
        "not_match" => "git push",
        "name" | "advice" => "some words",
        "mcpAllowlist" => "github:*",
        "terminalAllowlist" => "git log",
        "command" => "git log.*",
        "url" => "https://mcp.example/*",
        "blocked" | "known" | "origins" => "a.example",
        "input" => ".*",
        _ => "Bash(git log *)",
    }
}

#[test]
fn the_schema_is_one_and_accepts_the_policies_that_are_shipped() {
    let schema = schema();
    assert_eq!(schema["$id"], SCHEMA_ID);
    assert!(jsonschema::meta::is_valid(&schema));
    let validator = jsonschema::validator_for(&schema).unwrap();
    for text in [starter::TEAM, include_str!("../../docs/examples/team.jsonc")] {
        let value: Value = jsonc_parser::parse_to_serde_value(text, &Default::default()).unwrap();
        let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_the_schema_describes_the_reader_reads(bytes in proptest::collection::vec(any::<u8>(), 1..64)) {
        let schema = schema();
        let document = example(&schema, &schema, "", &mut Choices { bytes: &bytes, at: 0 });
        let validator = jsonschema::validator_for(&schema).unwrap();
        prop_assert!(validator.is_valid(&document), "{document}");
        if let Err(faults) = read(&document.to_string()) {
            let messages: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
            panic!("{document}\n{messages:?}");
        }
    }

    #[test]
    fn what_does_not_look_like_a_policy_both_refuse(
        bytes in proptest::collection::vec(any::<u8>(), 1..64), which in any::<u8>(), wrong in 0_usize..4
    ) {
        let schema = schema();
        let mut document = example(&schema, &schema, "", &mut Choices { bytes: &bytes, at: 0 });
        let top: Vec<String> = document.as_object().unwrap().keys().filter(|key| *key != "$schema").cloned().collect();
        match (wrong, top.get(usize::from(which) % top.len().max(1))) {
            (0, _) | (_, None) => document["unheardOf"] = json!(1),
            (1, Some(key)) => document[key] = json!(null),
            (2, Some(key)) => document[key] = json!([["x"]]),
            (_, Some(key)) if document[key].is_object() => document[key]["unheardOf"] = json!(true),
            (_, Some(key)) => document[key] = json!("x"),
        }
        let validator = jsonschema::validator_for(&schema).unwrap();
        prop_assert!(!validator.is_valid(&document), "{document}");
        prop_assert!(read(&document.to_string()).is_err(), "{document}");
    }
}
