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

mod generated;

use generated::{Choices, example, read};
use portcullis_policy::{
    document::{SCHEMA_ID, schema},
    starter,
};
use proptest::prelude::*;
use serde_json::{Value, json};

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
        let document = example(&schema, &schema, "", &mut Choices::of(&bytes));
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
        let mut document = example(&schema, &schema, "", &mut Choices::of(&bytes));
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
