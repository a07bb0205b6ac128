//! Patterns as plain lists of segments: slow, obvious, and able to say whether two patterns can meet.
//!
//! A path pattern says whether it covers a path. `cat .e*` asks something else: whether a pattern of the shell and a
//! pattern of a rule have a path in common. Segment by segment that is a small dynamic programme. The same code, given a
//! path instead of a pattern, is the specification that property tests hold the patterns to.

use super::{bracket, glob::Brackets};

use crate::AbsPath;

/// One segment of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    /// `**`: any number of segments, none included.
    Deep,
    /// The same without names that begin with a dot: `**` of the shell.
    Shown,
    /// One segment.
    One(Vec<Token>),
}

/// One step of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// This character.
    Char(char),
    /// Any one character (`?`, and a class, which is read too widely rather than too narrowly).
    Any,
    /// Any characters, none included.
    Star,
}

/// How `**` is written where it stands for no name that begins with a dot. No path and no word of a shell can hold it.
const SHOWN: &str = "**\0";

/// The same in a pattern of git, which shows what is not in the work tree, too.
const SHOWN_BY_GIT: &str = "**\0\0";

/// A pattern of git, of whose folders those count that do not begin with a dot.
pub(crate) fn of_git(pattern: &str) -> String {
    let segments = pattern
        .split('/')
        .map(|segment| if segment == "**" { SHOWN_BY_GIT } else { segment });
    segments.collect::<Vec<_>>().join("/")
}

/// Whether [`of_git`] made a pattern.
pub(crate) fn is_of_git(pattern: &str) -> bool {
    pattern.contains(SHOWN_BY_GIT)
}

/// A pattern of the shell, whose `**` stands for no name with a dot at the beginning.
pub(crate) fn of_shell(pattern: &str) -> String {
    let segments = pattern
        .split('/')
        .map(|segment| if segment == "**" { SHOWN } else { segment });
    segments.collect::<Vec<_>>().join("/")
}

/// A pattern as people write it.
pub(crate) fn written(pattern: &str) -> String {
    pattern.replace('\0', "")
}

/// Reads a pattern, ours or the shell's: both escape by `\`.
pub(crate) fn parse(text: &str) -> Vec<Segment> {
    text.split('/')
        .filter(|segment| !segment.is_empty())
        .map(|text| segment(text, Brackets::Class))
        .collect()
}

/// Reads one segment of a pattern.
pub(crate) fn segment(text: &str, brackets: Brackets) -> Segment {
    match text {
        "**" => Segment::Deep,
        SHOWN | SHOWN_BY_GIT => Segment::Shown,
        other => Segment::One(tokens(other, brackets)),
    }
}

/// Literal segments.
pub(crate) fn literal<'a>(segments: impl Iterator<Item = &'a str>) -> Vec<Segment> {
    segments
        .map(|segment| Segment::One(segment.chars().map(Token::Char).collect()))
        .collect()
}

fn tokens(segment: &str, brackets: Brackets) -> Vec<Token> {
    let mut out = Vec::new();
    let mut chars = segment.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '*' => Token::Star,
            '?' => Token::Any,
            '\\' => Token::Char(chars.next().unwrap_or('\\')),
            '[' if brackets != Brackets::Literal => match bracket::behind(chars.as_str()) {
                Some(rest) => {
                    chars = rest.chars();
                    Token::Any
                }
                None => Token::Char('['),
            },
            other => Token::Char(other),
        });
    }
    out
}

/// Whether a path exists that both patterns cover. `theirs` is a pattern of the shell: its wildcards do not match a dot at
/// the beginning of a name.
pub(crate) fn meet(ours: &[&Segment], theirs: &[Segment]) -> bool {
    // reach[j]: the segments of `ours` so far and the first j of `theirs` can stand for the same path.
    let mut reach = vec![false; theirs.len() + 1];
    set(&mut reach, 0, true);
    for j in 0..theirs.len() {
        if is_any_number(theirs.get(j)) && at(&reach, j) {
            set(&mut reach, j + 1, true);
        }
    }
    for segment in ours {
        let mut next = vec![false; theirs.len() + 1];
        for j in 0..=theirs.len() {
            let before = at(&reach, j);
            let reached = match segment {
                // It stands for nothing, or for one more of theirs.
                Segment::Deep | Segment::Shown => before || (j > 0 && at(&next, j - 1)),
                Segment::One(tokens) => {
                    let theirs_last = j.checked_sub(1).and_then(|last| theirs.get(last));
                    match theirs_last {
                        Some(Segment::Shown) if tokens.first() == Some(&Token::Char('.')) => false,
                        Some(Segment::Deep | Segment::Shown) => at(&reach, j) || at(&reach, j - 1),
                        Some(Segment::One(other)) => at(&reach, j - 1) && segment_meets(tokens, other),
                        None => false,
                    }
                }
            };
            // A `**` of theirs may stand for nothing.
            let skipped = j > 0 && is_any_number(theirs.get(j - 1)) && at(&next, j - 1);
            set(&mut next, j, reached || skipped);
        }
        reach = next;
    }
    at(&reach, theirs.len())
}

/// Whether a pattern can cover something below a folder, when only certain names stand there.
///
/// `is_there` says whether a name that the tokens cover is there; the flag asks for a folder. Which name lies in which
/// folder is not asked, so the answer is yes too often rather than too seldom.
pub(crate) fn can_lie_below(
    ours: &[&Segment],
    folder: &AbsPath,
    is_there: &mut dyn FnMut(&[Token], bool) -> bool,
) -> bool {
    // Places in the pattern where the folder's own segments can end.
    let mut open = vec![0_usize];
    let skip_deep = |open: &mut Vec<usize>| {
        let mut next = 0;
        while let Some(place) = open.get(next).copied() {
            if is_any_number(ours.get(place).copied()) && !open.contains(&(place + 1)) {
                open.push(place + 1);
            }
            next += 1;
        }
    };
    skip_deep(&mut open);
    for segment in folder.segments() {
        let literal: Vec<Token> = segment.chars().map(Token::Char).collect();
        let mut next: Vec<usize> = Vec::new();
        for place in open {
            let after = match ours.get(place) {
                Some(Segment::Deep | Segment::Shown) => place,
                Some(Segment::One(tokens)) if segment_meets(tokens, &literal) => place + 1,
                _ => continue,
            };
            if !next.contains(&after) {
                next.push(after);
            }
        }
        open = next;
        skip_deep(&mut open);
    }
    open.into_iter().any(|place| {
        let rest: Vec<&[Token]> = ours
            .get(place..)
            .unwrap_or_default()
            .iter()
            .filter_map(|segment| match segment {
                Segment::Deep | Segment::Shown => None,
                Segment::One(tokens) => Some(tokens.as_slice()),
            })
            .collect();
        let last = rest.len().saturating_sub(1);
        // A pattern that ends at the folder covers all of it, or is the folder's own business.
        !rest.is_empty()
            && rest
                .iter()
                .enumerate()
                .all(|(number, tokens)| is_there(tokens, number < last))
    })
}

/// Whether a segment stands for any number of names, none included.
fn is_any_number(segment: Option<&Segment>) -> bool {
    matches!(segment, Some(Segment::Deep | Segment::Shown))
}

fn at(row: &[bool], index: usize) -> bool {
    row.get(index).copied().unwrap_or(false)
}

fn set(row: &mut [bool], index: usize, value: bool) {
    if let Some(slot) = row.get_mut(index) {
        *slot = value;
    }
}

/// Whether a name exists that both cover.
pub(crate) fn segment_meets(ours: &[Token], theirs: &[Token]) -> bool {
    if ours.first() == Some(&Token::Char('.')) && matches!(theirs.first(), Some(Token::Star | Token::Any)) {
        return false;
    }
    let mut reach = vec![false; theirs.len() + 1];
    set(&mut reach, 0, true);
    close(&mut reach, theirs);
    for token in ours {
        let mut next = vec![false; theirs.len() + 1];
        for j in 0..=theirs.len() {
            let last = j.checked_sub(1).and_then(|last| theirs.get(last));
            let reached = match (token, last) {
                (Token::Star, _) => at(&reach, j) || (j > 0 && at(&next, j - 1)),
                // Their star takes our character.
                (_, Some(Token::Star)) => at(&reach, j) || at(&reach, j - 1),
                (_, None) => false,
                (Token::Any, Some(_)) | (Token::Char(_), Some(Token::Any)) => at(&reach, j - 1),
                (Token::Char(a), Some(Token::Char(b))) => a == b && at(&reach, j - 1),
            };
            set(&mut next, j, reached);
        }
        close(&mut next, theirs);
        reach = next;
    }
    at(&reach, theirs.len())
}

/// Their stars may stand for nothing.
fn close(reach: &mut [bool], theirs: &[Token]) {
    for (j, token) in theirs.iter().enumerate() {
        if *token == Token::Star && at(reach, j) {
            set(reach, j + 1, true);
        }
    }
}
