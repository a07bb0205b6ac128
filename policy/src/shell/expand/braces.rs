//! Brace expansion: `{a,b}` and `{1..3}`, done before everything else that a word undergoes.

use super::Cell;
use crate::shell::reader::{Budget, Read};

/// Most words that one word may become; beyond, it is not followed.
const WORDS: usize = 512;
/// Most opening braces of one word that are followed.
const OPENINGS: usize = 48;
/// Deepest braces inside braces that are followed.
const DEPTH: usize = 12;

/// The words that `cells` becomes; `None` if they are too many.
pub(super) fn expand(cells: Vec<Cell>, budget: &mut Budget) -> Read<Option<Vec<Vec<Cell>>>> {
    if !cells.iter().any(|cell| is(cell, '{')) {
        budget.spend(1)?;
        return Ok(Some(vec![cells]));
    }
    if cells.iter().filter(|cell| is(cell, '{')).count() > OPENINGS {
        return Ok(None);
    }
    words(&cells, DEPTH, budget)
}

fn is(cell: &Cell, wanted: char) -> bool {
    matches!(cell, Cell::Char { c, quoted: false } if *c == wanted)
}

/// An expression: what stands before it, its alternatives, what stands after it.
struct Braces<'a> {
    before: &'a [Cell],
    alternatives: Vec<Vec<Cell>>,
    after: &'a [Cell],
}

fn words(cells: &[Cell], depth: usize, budget: &mut Budget) -> Read<Option<Vec<Vec<Cell>>>> {
    // Each opening may be looked at up to its end, in vain.
    budget.spend(1 + cells.len() / 8)?;
    let Some(braces) = first_braces(cells) else {
        return Ok(Some(vec![cells.to_vec()]));
    };
    let Some(depth) = depth.checked_sub(1) else {
        return Ok(None);
    };
    let mut heads = Vec::new();
    for alternative in &braces.alternatives {
        let Some(inner) = words(alternative, depth, budget)? else {
            return Ok(None);
        };
        heads.extend(inner);
        if heads.len() > WORDS {
            return Ok(None);
        }
    }
    let Some(tails) = words(braces.after, depth, budget)? else {
        return Ok(None);
    };
    if heads.len() * tails.len() > WORDS {
        return Ok(None);
    }
    let mut all = Vec::new();
    for head in &heads {
        for tail in &tails {
            let mut word = braces.before.to_vec();
            word.extend(head.iter().cloned());
            word.extend(tail.iter().cloned());
            budget.spend(1 + word.len() / 64)?;
            all.push(word);
        }
    }
    Ok(Some(all))
}

/// The first `{…}` that is an expression.
fn first_braces(cells: &[Cell]) -> Option<Braces<'_>> {
    let openings = cells
        .iter()
        .enumerate()
        .filter(|(_, cell)| is(cell, '{'))
        .map(|(at, _)| at);
    for open in openings {
        let (before, rest) = cells.split_at_checked(open)?;
        let inner = rest.get(1..)?;
        let Some((close, commas)) = closing(inner) else {
            continue;
        };
        let (body, after) = inner.split_at_checked(close)?;
        let after = after.get(1..)?;
        let alternatives = if commas.is_empty() {
            match sequence(body) {
                Some(alternatives) => alternatives,
                None => continue,
            }
        } else {
            let mut alternatives = Vec::new();
            let mut start = 0;
            for comma in commas.into_iter().chain([body.len()]) {
                alternatives.push(body.get(start..comma)?.to_vec());
                start = comma + 1;
            }
            alternatives
        };
        return Some(Braces {
            before,
            alternatives,
            after,
        });
    }
    None
}

/// Where the brace closes, and where the commas of this level stand.
fn closing(cells: &[Cell]) -> Option<(usize, Vec<usize>)> {
    let mut depth = 0_usize;
    let mut commas = Vec::new();
    let mut dots = false;
    for (at, cell) in cells.iter().enumerate() {
        if is(cell, '{') {
            depth += 1;
        } else if is(cell, '}') {
            match depth.checked_sub(1) {
                Some(left) => depth = left,
                // With nothing to choose from so far it closes nothing: `{a},b}` is `a}` and `b`.
                None if commas.is_empty() && !dots => {}
                None => return Some((at, commas)),
            }
        } else if depth == 0
            && matches!(cells.get(at..at + 3), Some([a, b, c]) if is(a, '.') && is(b, '.') && !is(c, '}'))
        {
            // Dots with something behind them, a sequence or not.
            dots = true;
        } else if depth == 0 && is(cell, ',') {
            commas.push(at);
        }
    }
    None
}

/// `1..5`, `a..e`, `1..9..2`.
fn sequence(body: &[Cell]) -> Option<Vec<Vec<Cell>>> {
    let mut text = String::new();
    for cell in body {
        match cell {
            Cell::Char { c, quoted: false } => text.push(*c),
            _ => return None,
        }
    }
    let mut parts = text.split("..");
    let (first, last) = (parts.next()?, parts.next()?);
    let step = match parts.next() {
        Some(step) => step.parse::<i64>().ok()?.checked_abs()?.max(1),
        None => 1,
    };
    if parts.next().is_some() {
        return None;
    }
    let letter = |part: &str| {
        let mut chars = part.chars();
        chars
            .next()
            .filter(|c| c.is_ascii_alphabetic() && chars.next().is_none())
    };
    let (from, to, letters) = match (first.parse::<i64>(), last.parse::<i64>()) {
        (Ok(from), Ok(to)) => (from, to, false),
        _ => (
            i64::from(u32::from(letter(first)?)),
            i64::from(u32::from(letter(last)?)),
            true,
        ),
    };
    let count = from.abs_diff(to) / step.unsigned_abs() + 1;
    // Too long, or with leading zeros that pad: one more than is followed, so that the word is not.
    if count > WORDS as u64 || (!letters && (padded(first) || padded(last))) {
        return Some(vec![body.to_vec(); WORDS + 1]);
    }
    let mut all = Vec::new();
    let mut at = from;
    for _ in 0..count {
        let text = if letters {
            char::from_u32(u32::try_from(at).ok()?)?.to_string()
        } else {
            at.to_string()
        };
        all.push(text.chars().map(|c| Cell::Char { c, quoted: true }).collect());
        at = if from <= to {
            at.checked_add(step)?
        } else {
            at.checked_sub(step)?
        };
    }
    Some(all)
}

fn padded(number: &str) -> bool {
    let digits = number.trim_start_matches(['-', '+']);
    digits.len() > 1 && digits.starts_with('0')
}
