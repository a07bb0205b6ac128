//! Takes texts out of a tool's input.
//!
//! A field can have several names, because an agent changed it, or because a caller spells it as another agent does. If
//! two of them are given and differ, nobody knows which one the tool obeys, and the call is refused.

use serde_json::{Map, Value};

/// The names of one field, the usual one first.
pub(super) type Fields = &'static [&'static str];

/// The text of a field that must be there and not be empty.
pub(super) fn required(input: &Map<String, Value>, fields: Fields) -> Result<&str, String> {
    optional(input, fields)?.ok_or_else(|| {
        let name = fields.first().copied().unwrap_or_default();
        format!("`{name}` is missing or empty")
    })
}

/// The text of a field; `None` if it is absent, null or empty.
pub(super) fn optional(input: &Map<String, Value>, fields: Fields) -> Result<Option<&str>, String> {
    let mut found: Option<(&str, &str)> = None;
    for name in fields {
        let text = match input.get(*name) {
            None | Some(Value::Null) => continue,
            Some(Value::String(text)) if text.is_empty() => continue,
            Some(Value::String(text)) => text.as_str(),
            Some(_) => return Err(format!("`{name}` is not a text")),
        };
        if text.contains('\0') {
            return Err(format!("`{name}` holds a NUL"));
        }
        match found {
            Some((earlier, other)) if other != text => {
                return Err(format!("`{earlier}` and `{name}` are both given and differ"));
            }
            _ => found = Some((name, text)),
        }
    }
    Ok(found.map(|(_, text)| text))
}

/// The texts of a list that must not be empty.
pub(super) fn required_list(input: &Map<String, Value>, field: &'static str) -> Result<Vec<String>, String> {
    let list = match input.get(field) {
        None | Some(Value::Null) => return Err(format!("`{field}` is missing")),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(format!("`{field}` is not a list")),
    };
    if list.is_empty() {
        return Err(format!("`{field}` is empty"));
    }
    list.iter()
        .map(|entry| match entry {
            Value::String(text) if text.contains('\0') => Err(format!("`{field}` holds a NUL")),
            Value::String(text) if !text.is_empty() => Ok(text.clone()),
            _ => Err(format!("`{field}` holds something that is not a text")),
        })
        .collect()
}
