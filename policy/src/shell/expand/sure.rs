//! What is sure about a word that is not known: that it is a number, or the name of one of git's objects, and no option.

use super::{Cell, Digits, Text, Value, Words};

/// Whether a word holds names of git's objects, and beside them only what makes a revision out of them.
pub(super) fn is_hash(cells: &[Cell]) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '_' | '^' | '~' | '-');
    let known = |cell: &Cell| match cell {
        // Quotes add an empty text.
        Cell::Value { value, .. } => value.hash || (value.exact && value.choices == [Text::plain("")]),
        Cell::Char { c, .. } => plain(*c),
        Cell::Glob { .. } | Cell::Process => false,
    };
    let first = cells.iter().find_map(|cell| match cell {
        Cell::Char { c, .. } => Some(*c),
        _ => None,
    });
    // A substitution may give nothing: what stands behind it begins the word then.
    cells.iter().all(known)
        && cells
            .iter()
            .any(|cell| matches!(cell, Cell::Value { value, .. } if value.hash))
        && !matches!(first, Some('-' | '~'))
}

/// Whether a part of a word may leave nothing of it: what is not quoted and may be empty, and `"$@"`.
pub(super) fn may_be_nothing(cell: &Cell) -> bool {
    match cell {
        Cell::Value { value, quoted, many } => (!quoted || *many) && value.sure_words() != Words::One,
        Cell::Char { .. } | Cell::Glob { .. } | Cell::Process => false,
    }
}

/// Whether a value is a number that is not known.
pub(super) fn is_number(value: &Value) -> bool {
    value.digits != Digits::No && !value.exact
}

pub(super) fn is_unknown_number(cell: &Cell) -> bool {
    matches!(cell, Cell::Value { value, .. } if is_number(value))
}

/// The texts that stand for a word of known text and numbers; none if it is another, or holds no number that is not known.
pub(super) fn numbers(cells: &[Cell], glob: bool) -> Vec<String> {
    if glob || !cells.iter().any(is_unknown_number) {
        return Vec::new();
    }
    let mut text = String::new();
    let mut begins = false;
    for cell in cells {
        match cell {
            Cell::Char { c: '~', .. } if text.is_empty() => return Vec::new(),
            Cell::Char { c, .. } => text.push(*c),
            Cell::Value { value, .. } if is_number(value) => {
                begins |= text.is_empty() && value.digits != Digits::Natural;
                text.push('1');
            }
            Cell::Value { value, .. } => match value.choices.as_slice() {
                [only] if value.exact && !only.glob && !only.text.contains([' ', '\t', '\n', '*', '?', '[']) => {
                    text.push_str(&only.text);
                }
                _ => return Vec::new(),
            },
            Cell::Glob { .. } | Cell::Process => return Vec::new(),
        }
    }
    let negative = begins.then(|| format!("-{text}"));
    std::iter::once(text).chain(negative).collect()
}
