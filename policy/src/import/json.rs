//! JSON files of agents as a syntax tree with places, checked for depth before the parser recurses.

use std::ops::Range;

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{Object, Value},
    common::Ranged,
    parse_to_ast,
};

use super::draft::Draft;
use crate::document::scan;

/// Whether the file's owner reads comments and trailing commas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Plain JSON.
    Plain,
    /// With comments, and without trailing commas.
    Comments,
    /// With comments and trailing commas.
    WithComments,
}

/// A file's tree, and whether its owner would read it.
pub(super) struct Tree<'t> {
    pub(super) value: Option<Value<'t>>,
    /// Its owner reads it: only then do its allows count.
    pub(super) sound: bool,
}

/// Parses a file. What is wrong with it is noted.
pub(super) fn parse<'t>(draft: &mut Draft<'t>, dialect: Dialect) -> Tree<'t> {
    let nothing = Tree {
        value: None,
        sound: false,
    };
    let text: &'t str = draft.text;
    if let Some(at) = scan::too_deep(text) {
        let why = format!("brackets are nested deeper than {} levels", scan::MAX_DEPTH);
        draft.fault(at..at + 1, "", why);
        return nothing;
    }
    let attempt = |comments: bool, commas: bool| {
        let options = ParseOptions {
            allow_comments: comments,
            allow_trailing_commas: commas,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            ..ParseOptions::default()
        };
        parse_to_ast(text, &CollectOptions::default(), &options)
    };
    match attempt(true, true) {
        Err(error) => {
            let span = error.range().start..error.range().end;
            let why = format!("this is no JSON: {}", error.kind().to_string().to_lowercase());
            draft.fault(span, "", why);
            nothing
        }
        Ok(parsed) => {
            let mut sound = true;
            if dialect != Dialect::WithComments
                && let Err(error) = attempt(dialect == Dialect::Comments, false)
            {
                let span = error.range().start..error.range().end;
                draft.fault(
                    span,
                    "",
                    if dialect == Dialect::Plain {
                        "comments and trailing commas are not read by the file's owner, who ignores such a file: no allow of it \
                         counts"
                    } else {
                        "trailing commas are not read by the file's owner, who ignores such a file: no allow of it counts"
                    },
                );
                sound = false;
            }
            Tree {
                value: parsed.value,
                sound,
            }
        }
    }
}

pub(super) fn range(ranged: &impl Ranged) -> Range<usize> {
    ranged.start()..ranged.end()
}

/// The source of a value, for the report.
pub(super) fn source<'t>(draft: &Draft<'t>, ranged: &impl Ranged) -> &'t str {
    draft.text.get(range(ranged)).unwrap_or_default()
}

/// The text of a string, or the source of another value.
pub(super) fn shown(draft: &Draft<'_>, value: &Value<'_>) -> String {
    match value {
        Value::StringLit(literal) => literal.value.to_string(),
        other => source(draft, other).to_owned(),
    }
}

pub(super) fn kind(value: &Value<'_>) -> &'static str {
    match value {
        Value::StringLit(_) => "a string",
        Value::NumberLit(_) => "a number",
        Value::BooleanLit(_) => "true or false",
        Value::Object(_) => "an object",
        Value::Array(_) => "an array",
        Value::NullKeyword(_) => "null",
    }
}

/// Whether a key stands more than once in an object: which of the two its owner takes is not known, so what widens must
/// not come from either.
///
/// An object with more keys than anybody writes counts as one with repeated keys: looking for each among all of them would
/// take time with their square.
pub(super) fn is_repeated(object: &Object<'_>, key: &str) -> bool {
    const MAX_KEYS: usize = 1000;
    if object.properties.len() > MAX_KEYS {
        return true;
    }
    object
        .properties
        .iter()
        .filter(|property| property.name.as_str() == key)
        .count()
        > 1
}
