//! Reads a tool's input so that no two readers can disagree about it.
//!
//! Plain `serde_json::Value` keeps the last of two equal keys, where another reader keeps the first, and gives a meaning
//! of its own to a key of serde_json's. Both would let the agent run something else than was judged.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};

/// One JSON object, nothing after it. Nested at most 128 deep (serde_json's limit); no object holds a key twice.
pub(super) fn object(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())?;
    let Strict(value) = serde_json::from_str(text).map_err(|fault| {
        // The fault's own text may quote the input, which may hold secrets; its place does not.
        let (line, column) = (fault.line(), fault.column());
        let what = match fault.classify() {
            serde_json::error::Category::Eof => "is cut off JSON",
            serde_json::error::Category::Data => "holds a key twice",
            serde_json::error::Category::Syntax | serde_json::error::Category::Io => {
                "is no JSON, or nested too deep, or followed by more"
            }
        };
        format!("{what} (line {line}, column {column})")
    })?;
    match value {
        Value::Object(map) => Ok(map),
        _ => Err("is not a JSON object".to_owned()),
    }
}

/// A value read strictly.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Self)
    }
}

/// Builds the value.
struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((key, Strict(value))) = entries.next_entry::<String, Strict>()? {
            if map.insert(key, value).is_some() {
                return Err(A::Error::custom("a key twice"));
            }
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_object_is_read_as_it_stands() {
        let text = r#" {"a": [1, -2, 2.5, null, true, "x\u0041"], "b": {"a": {}}} "#;
        let plain: Value = serde_json::from_str(text).unwrap();
        assert_eq!(Value::Object(object(text.as_bytes()).unwrap()), plain);
    }

    #[test]
    fn two_readers_cannot_disagree() {
        for (text, complaint) in [
            (r#"{"a":1,"a":1}"#, "twice"),
            (r#"{"a":1,"\u0061":2}"#, "twice"),
            (r#"{"x":[{"a":1,"a":2}]}"#, "twice"),
            (r#"{"a":1}{"#, "followed by more"),
            (r#"{"a":1"#, "cut off"),
            ("[]", "not a JSON object"),
            ("", "cut off"),
            ("\u{feff}{}", "no JSON"),
            (r#"{"a":"\ud800"}"#, "JSON"),
            (r#"{"a":1e999}"#, "JSON"),
        ] {
            let fault = object(text.as_bytes()).unwrap_err();
            assert!(fault.contains(complaint), "{text}: {fault}");
        }
        assert!(object(b"{\"a\":\"\xff\"}").unwrap_err().contains("UTF-8"));
    }

    #[test]
    fn a_key_of_serde_json_means_nothing_special() {
        let map = object(br#"{"$serde_json::private::RawValue":"[1]"}"#).unwrap();
        assert_eq!(
            map.get("$serde_json::private::RawValue"),
            Some(&Value::String("[1]".into()))
        );
    }

    #[test]
    fn depth_is_bounded() {
        let deep = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
        assert!(object(deep(100).as_bytes()).is_ok());
        assert!(object(deep(100_000).as_bytes()).is_err());
    }

    #[test]
    fn a_fault_quotes_nothing_of_the_input() {
        let fault = object(br#"{"password":"hunter2","password":"hunter2"}"#).unwrap_err();
        assert!(!fault.contains("hunter2") && !fault.contains("password"), "{fault}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = object(&bytes);
        }

        #[test]
        fn what_it_reads_is_what_serde_json_reads(text in r#"\{("[a-c]":[0-9]{1,3},){0,2}"d":(true|"[ -~&&[^"\\]]*"|\[\])\}"#) {
            if let Ok(map) = object(text.as_bytes()) {
                prop_assert_eq!(Value::Object(map), serde_json::from_str::<Value>(&text).unwrap());
            }
        }
    }
}
