//! `${x%.js}`, `${x##*/}`, `${x/a/b}`, `${x^^}` of values that are known, as far as no two shells could differ.
//!
//! What is not worked out here is a text that is not known.

use super::{Text, Value};
use crate::shell::syntax::{Piece, Removal};

/// How many bytes a replacement may add; past it the value is not known.
const LONGEST: usize = 64 * 1024;

/// What stands behind the operator, if nothing in it needs the shell.
fn operand(pieces: &[Piece]) -> Option<String> {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Plain(part) | Piece::Quoted(part) => text.push_str(part),
            _ => return None,
        }
    }
    Some(text)
}

/// The value with the operation done on each text that it may be.
pub(super) fn apply(value: &Value, operation: Removal, pieces: &[Piece]) -> Value {
    let done = || -> Option<Vec<Text>> {
        let operand = operand(pieces)?;
        let texts = value.choices.iter().map(|text| each(text, operation, &operand));
        Some(texts.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect())
    };
    match done() {
        Some(choices) => Value {
            choices,
            exact: value.exact,
            ..Value::default()
        },
        None => Value::unknown(),
    }
}

/// What one text becomes. Several, where an operand may be a pattern or a text, according to its quotes.
fn each(text: &Text, operation: Removal, operand: &str) -> Option<Vec<Text>> {
    // Of a glob only what surely stands in every name of it is taken away.
    let simple = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '-' | '_');
    let literal = operand.chars().all(simple);
    let with = |left: &str| {
        vec![Text {
            text: left.to_owned(),
            glob: text.glob,
        }]
    };
    let own = text.text.as_str();
    match operation {
        Removal::End { .. } if literal => match own.strip_suffix(operand) {
            Some(left) => Some(with(left)),
            None => (!text.glob).then(|| with(own)),
        },
        Removal::Beginning { .. } if literal => match own.strip_prefix(operand) {
            Some(left) => Some(with(left)),
            None => (!text.glob).then(|| with(own)),
        },
        // `%.*`: from the last dot on; `%%.*`: from the first.
        Removal::End { longest } => {
            let sign = operand.strip_suffix('*').filter(|sign| is_sign(sign))?;
            let at = if longest { own.find(sign) } else { own.rfind(sign) };
            let left = at.and_then(|at| own.get(..at)).unwrap_or(own);
            let removed = own.strip_prefix(left).unwrap_or_default();
            // What a wildcard stands for may hold the sign, too.
            let certain = !text.glob || (!longest && !removed.is_empty() && !removed.contains(['*', '?', '\\']));
            certain.then(|| both(with(left), with(own)))
        }
        // `##*/`: up to the last slash; `#*/`: up to the first. No wildcard stands for a slash.
        Removal::Beginning { longest } => {
            let sign = operand.strip_prefix('*').filter(|sign| is_sign(sign))?;
            let at = if longest { own.rfind(sign) } else { own.find(sign) };
            let left = at.and_then(|at| own.get(at + sign.len()..)).unwrap_or(own);
            (!text.glob || sign == "/").then(|| both(with(left), with(own)))
        }
        Removal::Replace { all } => {
            let (from, to) = operand.split_once('/').unwrap_or((operand, ""));
            let plain = !text.glob && !from.is_empty() && from.chars().chain(to.chars()).all(simple);
            // A setting of the shell makes it blind to case.
            let twice = own.to_lowercase().matches(&from.to_lowercase()).count() != own.matches(from).count();
            let replaced = |from: &str, to: &str| {
                with(&if all {
                    own.replace(from, to)
                } else {
                    own.replacen(from, to, 1)
                })
            };
            // Behind a quote, the slash may be one of the text that is looked for.
            let slashes = operand.matches('/').count();
            let longer = own.matches(from).count().saturating_mul(to.len());
            (plain && !twice && slashes < 2 && longer <= LONGEST)
                .then(|| both(replaced(from, to), replaced(operand, "")))
        }
        Removal::Upper => (!text.glob && own.is_ascii() && operand.is_empty()).then(|| with(&own.to_ascii_uppercase())),
        Removal::Lower => (!text.glob && own.is_ascii() && operand.is_empty()).then(|| with(&own.to_ascii_lowercase())),
    }
}

fn is_sign(sign: &str) -> bool {
    matches!(sign, "." | "/" | "-" | "_")
}

/// With the star read as one, and as a character in quotes.
fn both(mut one: Vec<Text>, other: Vec<Text>) -> Vec<Text> {
    one.extend(other.into_iter().filter(|text| !one.contains(text)).collect::<Vec<_>>());
    one
}
