//! Sets such as `[a-z]` in the words of a line: where they end, whatever is quoted in them or known only at run time.
//!
//! Which characters a set covers is not asked: it counts as any one character. That a word whose sets match no name stays
//! as it is written is the parent module's business.

use super::{Cell, Draft};
use crate::path::bracket;

/// What follows a `[`.
pub(super) enum Inner {
    /// No set: the bracket is a character.
    None,
    /// A set that takes so many cells.
    Set(usize),
    /// Where it ends depends on a value; so many cells may belong to it.
    Open(usize),
}

/// What stands behind an opening bracket.
pub(super) fn inner(cells: &[Cell]) -> Inner {
    let mut text = String::new();
    let mut ends = Vec::new();
    let mut open = false;
    for cell in cells {
        match cell {
            // A set ends before a slash or not at all.
            Cell::Char { c: '/', .. } => break,
            Cell::Char { c, quoted } => {
                if *quoted {
                    text.push('\\');
                }
                text.push(*c);
                ends.push(text.len());
            }
            _ => {
                open = true;
                break;
            }
        }
    }
    let behind = bracket::behind(&text).or_else(|| {
        // `[[:alpha:]x` is no set to bash, and one to a simpler reader.
        let from = text.char_indices().nth(1)?.0;
        text.get(from..)?.split_once(']').map(|(_, rest)| rest)
    });
    match behind {
        Some(rest) => {
            let end = text.len() - rest.len();
            Inner::Set(ends.iter().take_while(|at| **at <= end).count())
        }
        None if open => Inner::Open(
            cells
                .iter()
                .take_while(|cell| !matches!(cell, Cell::Char { c: '/', .. }))
                .count(),
        ),
        None => Inner::None,
    }
}

/// Adds a value whose sets are one character each to a draft, and says whether one of them may end behind the value.
pub(super) fn of_value(draft: &Draft, text: &str) -> (Draft, bool) {
    let (mut draft, mut open) = (draft.clone(), false);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\n' => draft.end(),
            '[' => {
                let own = chars.as_str().split(['/', ' ', '\t', '\n']).next().unwrap_or_default();
                match bracket::behind(own) {
                    Some(rest) => {
                        let taken = own.len() - rest.len();
                        chars = chars.as_str().get(taken..).unwrap_or_default().chars();
                        draft.push('?', true, true);
                    }
                    None => {
                        open |= own.len() == chars.as_str().len();
                        draft.push('[', false, true);
                    }
                }
            }
            c => draft.push(c, matches!(c, '*' | '?'), true),
        }
    }
    (draft, open)
}
