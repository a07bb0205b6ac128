//! Takes secrets out of what is stored, logged or exported.
//!
//! A shell line, a tool's input, an error text: each can hold a key that somebody typed. Known forms of keys are found by
//! themselves (`patterns`), everything else by what stands before it (`keyed`): a variable, an option, a header. What
//! is found becomes `[redacted:<kind>]`; the rest stays as it is, so that the trail still says what was run.
//!
//! It finds forms, not meanings: a password without a name beside it stays. In doubt about where a secret ends it takes
//! more rather than less.
//!
//! INVARIANT: `text(text(x)) == text(x)`. Each pass either changes nothing or turns characters outside of marks into a
//! mark, and passes are repeated until nothing changes.

mod keyed;
mod keys;
mod lower;
mod patterns;
mod spans;
mod value;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use lower::Lower;

/// Most passes over a text. One finds, one confirms; a third is only needed if taking out one secret uncovers another.
const MAX_PASSES: usize = 12;

/// Deepest nesting of a JSON value that is kept; the parser allows no more.
const MAX_DEPTH: usize = 128;

/// Replaces what looks like a secret by `[redacted:<kind>]`.
///
/// Idempotent; the time it takes grows with the length of the text, not faster.
#[must_use]
pub fn text(input: &str) -> String {
    let mut current = input.to_owned();
    for _ in 0..MAX_PASSES {
        let lower = Lower::of(&current);
        let mut found = patterns::find(&current, &lower);
        found.extend(keyed::find(&current, &lower));
        match spans::replace(&current, found) {
            Some(next) => current = next,
            None => return current,
        }
    }
    // Not seen, and not known to be possible. Whoever manages it gets nothing out.
    spans::mark("text")
}

/// The same for every string of a JSON value; values of secret-looking keys go whole.
///
/// Keys are texts too. In a list, what follows an option such as `--password` goes as well, as in a list of arguments.
#[must_use]
pub fn json(value: &Value) -> Value {
    json_at(value, 0)
}

fn json_at(value: &Value, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return Value::String(spans::mark("nested"));
    }
    match value {
        Value::String(string) => Value::String(text(string)),
        Value::Array(items) => {
            let mut secret_follows = None;
            let redacted = items.iter().map(|item| {
                let kind = secret_follows.take();
                match (kind, item) {
                    (Some(_), Value::String(next)) if spans::is_mark(next) => item.clone(),
                    (Some(kind), Value::String(next)) if !next.starts_with('-') => Value::String(spans::mark(kind)),
                    (_, Value::String(string)) => {
                        secret_follows = keys::kind_of_option(string);
                        Value::String(text(string))
                    }
                    _ => json_at(item, depth + 1),
                }
            });
            Value::Array(redacted.collect())
        }
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| {
                // By the key as it will stand, so that a second pass judges it the same.
                let key = text(key);
                let value = match keys::kind_of_json_key(&key, value) {
                    Some(_) if value.as_str().is_some_and(spans::is_mark) => value.clone(),
                    Some(kind) => Value::String(spans::mark(kind)),
                    None => json_at(value, depth + 1),
                };
                (key, value)
            });
            Value::Object(entries.collect::<Map<_, _>>())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
