//! Shortens what is too long to keep, and says by how much.

use serde_json::Value;

use super::MAX_INPUT;

/// A text of at most `max` bytes and a remark. Cuts between characters.
pub(super) fn text(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let mut kept = String::with_capacity(max + 32);
    for c in text.chars() {
        if kept.len() + c.len_utf8() > max {
            break;
        }
        kept.push(c);
    }
    let left_out = text.len() - kept.len();
    kept.push_str(&format!("… [{left_out} bytes more]"));
    kept
}

/// A value as JSON of at most [`MAX_INPUT`] bytes. It stays JSON: long strings are cut first, and if there are just too
/// many of them, the beginning of the whole is kept as one string.
pub(super) fn json(value: &Value) -> String {
    let whole = value.to_string();
    if whole.len() <= MAX_INPUT {
        return whole;
    }
    for longest in [4096, 1024, 256] {
        let shorter = cut_strings(value, longest).to_string();
        if shorter.len() <= MAX_INPUT {
            return shorter;
        }
    }
    // Quoting may double the length of a string, six-fold it for control characters; so halve until it fits.
    let mut head = MAX_INPUT / 2;
    loop {
        let shorter = serde_json::json!({ "portcullis_shortened": text(&whole, head) }).to_string();
        if shorter.len() <= MAX_INPUT || head == 0 {
            return shorter;
        }
        head /= 2;
    }
}

/// Nesting is bounded by the reader of the input.
fn cut_strings(value: &Value, longest: usize) -> Value {
    match value {
        Value::String(long) => Value::String(text(long, longest)),
        Value::Array(items) => items.iter().map(|item| cut_strings(item, longest)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (text(key, longest), cut_strings(value, longest)))
            .collect(),
        short => short.clone(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_input_stays_as_it_is() {
        let value = serde_json::json!({"command": "ls", "n": 1});
        assert_eq!(json(&value), value.to_string());
    }

    #[test]
    fn a_long_string_is_cut_and_its_neighbours_stay() {
        let value = serde_json::json!({"file_path": "/w/a", "content": "é".repeat(100_000)});
        let short: Value = serde_json::from_str(&json(&value)).unwrap();
        assert_eq!(short["file_path"], "/w/a");
        assert!(short["content"].as_str().unwrap().ends_with("bytes more]"));
    }

    #[test]
    fn a_hundred_thousand_short_strings_become_one() {
        let value = serde_json::json!({ "paths": vec!["/some/path"; 100_000] });
        let short: Value = serde_json::from_str(&json(&value)).unwrap();
        assert!(
            short["portcullis_shortened"]
                .as_str()
                .unwrap()
                .starts_with(r#"{"paths":["/some/path""#)
        );
    }

    proptest! {
        #[test]
        fn the_result_is_bounded_json(strings in proptest::collection::vec(".{0,400}", 0..120)) {
            let short = json(&serde_json::json!({ "strings": strings }));
            prop_assert!(short.len() <= MAX_INPUT);
            prop_assert!(serde_json::from_str::<Value>(&short).is_ok());
        }

        #[test]
        fn a_text_is_cut_at_most_where_told(long in ".{0,300}", max in 0_usize..200) {
            let short = text(&long, max);
            prop_assert!(short == long || short.len() <= max + 40);
        }
    }
}
