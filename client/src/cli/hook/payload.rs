//! Reading a payload: the event's name out of bytes that may be broken, a tool's input without what nobody judges.

use serde_json::{Map, Value, value::RawValue};

/// Most bytes of a file tool's input that are sent on. What is judged is the path; a request holds 1 MiB.
const MAX_FILE_INPUT_BYTES: usize = 256 * 1024;

/// Fields that say what a file tool acts on, in all agents' spellings. They are never left out.
const PATH_FIELDS: [&str; 5] = ["file_path", "notebook_path", "path", "filePath", "paths"];

/// Name under which is said what was left out.
const OMITTED: &str = "portcullis_omitted";

/// The value of the top-level field `hook_event_name`, also if the text breaks off or is malformed after it.
///
/// It only settles in which form a failure is told, so a wrong answer allows nothing. Names with anything but ASCII letters
/// are none.
pub(super) fn event_name(bytes: &[u8]) -> Option<String> {
    let mut depth = 0_usize;
    let mut rest = bytes;
    let mut key: Option<&[u8]> = None;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b',' => key = None,
            b'"' => {
                let end = string_end(rest)?;
                let (text, tail) = rest.split_at_checked(end)?;
                rest = tail.get(1..)?;
                if depth != 1 {
                    continue;
                }
                match key {
                    None => key = Some(text),
                    Some(b"hook_event_name") => {
                        let name = std::str::from_utf8(text).ok()?;
                        return is_name(name).then(|| name.to_owned());
                    }
                    Some(_) => {}
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether a text can be an event's name, and be echoed.
pub(super) fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Where a string ends whose opening quote was just passed.
fn string_end(bytes: &[u8]) -> Option<usize> {
    let mut escaped = false;
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at),
            _ => {}
        }
    }
    None
}

/// Reads a tool's input: one JSON object.
pub(super) fn object(raw: Option<&RawValue>) -> Result<Map<String, Value>, String> {
    let raw = raw.ok_or("the payload has no `tool_input`")?;
    serde_json::from_str(raw.get()).map_err(|error| format!("`tool_input` cannot be read: {error}"))
}

/// Leaves large fields out of the input of a tool that acts on a file, the largest first, and says which.
pub(super) fn without_contents(tool: &str, input: &mut Map<String, Value>) {
    const FILE_TOOLS: [&str; 7] = [
        "Read",
        "Write",
        "Edit",
        "MultiEdit",
        "NotebookEdit",
        "Delete",
        "TabWrite",
    ];
    if !FILE_TOOLS.contains(&tool) {
        return;
    }
    let mut sizes: Vec<(usize, String)> = input
        .iter()
        .map(|(name, value)| (size(value) + name.len(), name.clone()))
        .collect();
    let mut total: usize = sizes.iter().map(|(size, _)| size).sum();
    sizes.retain(|(_, name)| !PATH_FIELDS.contains(&name.as_str()));
    sizes.sort_unstable();
    let mut omitted = Vec::new();
    while total > MAX_FILE_INPUT_BYTES {
        let Some((size, name)) = sizes.pop() else { break };
        input.remove(&name);
        total -= size;
        omitted.push(Value::from(name));
    }
    if !omitted.is_empty() {
        input.insert(OMITTED.to_owned(), omitted.into());
    }
}

/// About how many bytes a value is as text.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| size(item) + 1).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + size(value) + 4).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_event_is_found_in_broken_text_at_the_top_only() {
        for (text, expected) in [
            (r#"{"hook_event_name":"PreToolUse","tool_input":{"#, Some("PreToolUse")),
            (r#"{"a":"x\"y","hook_event_name" : "Stop"} trailing"#, Some("Stop")),
            (
                r#"{"a":{"hook_event_name":"Stop"},"hook_event_name":"PreToolUse""#,
                Some("PreToolUse"),
            ),
            (r#"{"a":{"hook_event_name":"Stop"}"#, None),
            (r#"{"a":"\"hook_event_name\":\"Stop\""}"#, None),
            (r#"{"a":"hook_event_name","b":"Stop"}"#, None),
            (r#"{"hook_event_name":"Pre"#, None),
            (r#"{"hook_event_name":"x y"}"#, None),
            (r#"{"hook_event_name":{"a":"b"}}"#, None),
            ("}{", None),
            ("", None),
        ] {
            assert_eq!(event_name(text.as_bytes()).as_deref(), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_have_a_name_or_none(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            if let Some(name) = event_name(&bytes) {
                proptest::prop_assert!(is_name(&name));
            }
        }

        #[test]
        fn the_name_is_the_one_a_parser_reads(
            name in "[A-Za-z]{1,20}",
            before in proptest::collection::vec(("[a-z\"\\\\{}\\[\\],:]{0,8}", "[ -~ä]{0,12}"), 0..4),
            after in "[ -~]{0,20}",
        ) {
            let mut text = String::from("{");
            for (key, value) in &before {
                // The agent sends each field once.
                proptest::prop_assume!(key != "hook_event_name");
                let nested = serde_json::json!({ "hook_event_name": value, "list": [value, key] });
                text.push_str(&format!("{}:{},", Value::from(key.as_str()), nested));
            }
            text.push_str(&format!("\"hook_event_name\" : \"{name}\",\"z\":{}}}", Value::from(after)));
            let parsed: Map<String, Value> = serde_json::from_str(&text).unwrap();
            proptest::prop_assert_eq!(parsed["hook_event_name"].as_str(), Some(name.as_str()));
            proptest::prop_assert_eq!(event_name(text.as_bytes()), Some(name));
        }
    }

    #[test]
    fn large_contents_stay_here_and_paths_do_not() {
        let large = "x".repeat(MAX_FILE_INPUT_BYTES + 1);
        let mut input = Map::new();
        input.insert("file_path".into(), "/a".into());
        input.insert("content".into(), large.clone().into());
        let whole = input.clone();
        without_contents("Write", &mut input);
        assert_eq!(
            Value::Object(input),
            serde_json::json!({"file_path": "/a", "portcullis_omitted": ["content"]})
        );
        let mut shell = whole;
        without_contents("mcp__x__write", &mut shell);
        assert_eq!(shell["content"], large);
    }

    #[test]
    fn small_contents_are_sent() {
        let mut input = Map::from_iter([("content".to_owned(), Value::from("x"))]);
        let before = input.clone();
        without_contents("Write", &mut input);
        assert_eq!(input, before);
    }
}
