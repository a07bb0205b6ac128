//! TOML files of agents as tables with places.

use std::ops::Range;

use ::toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::draft::Draft;

pub(super) type Entry<'t> = Spanned<DeValue<'t>>;

/// A file's table, and whether it has no fault: only then do its allows count.
pub(super) struct Tree<'t> {
    pub(super) table: Spanned<DeTable<'t>>,
    pub(super) sound: bool,
}

/// Parses a file as far as it can be read. What is wrong with it is noted.
pub(super) fn parse<'t>(draft: &mut Draft<'t>) -> Tree<'t> {
    let text: &'t str = draft.text;
    let (table, errors) = DeTable::parse_recoverable(text);
    // One mistake often makes many complaints; the first ones tell.
    for error in errors.iter().take(20) {
        let span = error.span().unwrap_or(0..0);
        draft.fault(span, "", format!("this is no TOML: {}", error.message()));
    }
    Tree {
        table,
        sound: errors.is_empty(),
    }
}

/// The entries of a table in the order of the text: key, its place, value.
pub(super) fn entries<'e, 't>(table: &'e DeTable<'t>) -> Vec<(&'e str, Range<usize>, &'e Entry<'t>)> {
    let mut out: Vec<_> = table
        .iter()
        .map(|(key, value)| (key.get_ref().as_ref(), key.span(), value))
        .collect();
    out.sort_by_key(|(_, span, _)| span.start);
    out
}

/// The value of a key.
pub(super) fn get<'e, 't>(table: &'e DeTable<'t>, key: &str) -> Option<&'e Entry<'t>> {
    table
        .iter()
        .find(|(own, _)| own.get_ref().as_ref() == key)
        .map(|(_, value)| value)
}

/// A text.
pub(super) fn text<'e>(entry: &'e Entry<'_>) -> Option<&'e str> {
    entry.get_ref().as_str()
}

/// A text, or a list of texts. `None`: something else, or an empty list.
pub(super) fn texts(entry: &Entry<'_>) -> Option<Vec<String>> {
    match entry.get_ref() {
        DeValue::String(text) => Some(vec![text.to_string()]),
        DeValue::Array(items) => {
            let all: Option<Vec<String>> = items.iter().map(|item| text(item).map(str::to_owned)).collect();
            all.filter(|texts| !texts.is_empty())
        }
        _ => None,
    }
}

/// A whole number.
pub(super) fn integer(entry: &Entry<'_>) -> Option<i64> {
    let number = entry.get_ref().as_integer()?;
    i64::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok()
}
