//! From a word as written to the words it becomes, as far as that is certain; and to the texts it may become.
//!
//! Two answers, because they serve two ends: [`Field::word`] is a literal only if nothing can make it another text, so
//! an allow may rest on it. [`Field::candidates`] also follows variables set on the same line, so a deny meets them.
//!
//! It runs nothing and looks at no files: a glob stays a pattern.

mod braces;
mod state;

use std::{borrow::Cow, rc::Rc};

use super::{
    ShellContext, Word,
    reader::{Budget, Read},
    syntax::{Operation, Parameter, Piece, RawWord},
};
use crate::AbsPath;

/// Most texts followed for one word or variable. More are "unknown", never fewer dangers.
const CANDIDATES: usize = 32;

pub(super) use state::{State, Text, Value};

/// What a word may be: each candidate a list of words, because an unquoted value is split.
#[derive(Clone, Debug)]
pub(super) enum Candidates {
    /// One word, as nearly always.
    One(Text),
    /// Any number.
    Many(Vec<Vec<Text>>),
}

impl Candidates {
    pub(super) fn iter(&self) -> impl Iterator<Item = &[Text]> {
        let (one, many) = match self {
            Self::One(text) => (Some(std::slice::from_ref(text)), &[][..]),
            Self::Many(many) => (None, many.as_slice()),
        };
        one.into_iter().chain(many.iter().map(Vec::as_slice))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(many) => many.len(),
        }
    }

    /// The candidate of this number.
    pub(super) fn get(&self, number: usize) -> Option<&[Text]> {
        self.iter().nth(number)
    }

    fn push(&mut self, words: Vec<Text>) {
        match self {
            Self::One(text) => *self = Self::Many(vec![vec![text.clone()], words]),
            Self::Many(many) => many.push(words),
        }
    }

    /// All words of all candidates.
    pub(super) fn into_texts(self) -> impl Iterator<Item = Text> {
        let (one, many) = match self {
            Self::One(text) => (Some(text), Vec::new()),
            Self::Many(many) => (None, many),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
}

/// One word after expansion.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) word: Word,
    /// As written; empty for the second and later words out of one brace expression.
    pub(super) source: String,
    /// What stands before it in the line.
    pub(super) before: Cow<'static, str>,
    /// What it may be.
    pub(super) candidates: Candidates,
    /// The candidates are all there are.
    pub(super) exact: bool,
    /// It names a pipe to another command: `<(…)`.
    pub(super) process: bool,
}

impl Field {
    /// A word whose text is certain.
    pub(super) fn literal(text: &str) -> Self {
        Self {
            word: Word::Literal(text.to_owned()),
            source: text.to_owned(),
            before: Cow::Borrowed(" "),
            candidates: Candidates::One(Text::plain(text)),
            exact: true,
            process: false,
        }
    }

    /// A word that is only known at run time.
    pub(super) fn unknown(source: &str) -> Self {
        Self {
            word: Word::Dynamic {
                source: source.to_owned(),
                pattern: false,
            },
            source: source.to_owned(),
            before: Cow::Borrowed(" "),
            candidates: Candidates::Many(Vec::new()),
            exact: false,
            process: false,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        self.word.literal()
    }

    /// The single word that a candidate is.
    pub(super) fn single_candidates(&self) -> impl Iterator<Item = &Text> {
        self.candidates.iter().filter_map(|fields| match fields {
            [one] => Some(one),
            _ => None,
        })
    }
}

/// A character of a word, or something that stands for text.
#[derive(Clone, Debug)]
enum Cell {
    Char { c: char, quoted: bool },
    Value { value: Rc<Value>, quoted: bool },
    Glob { open: bool },
    Process,
}

/// Expands words, one behind the other.
pub(super) fn expand_all(
    words: &[RawWord],
    state: &State,
    context: &ShellContext,
    budget: &mut Budget,
) -> Read<Vec<Field>> {
    let mut fields = Vec::with_capacity(words.len());
    for word in words {
        match usual(word) {
            Some(field) => {
                budget.spend(1)?;
                fields.push(field);
            }
            None => fields.extend(expand(word, state, context, budget)?),
        }
    }
    Ok(fields)
}

/// What the usual word becomes: nothing in it needs more than its text.
fn usual(raw: &RawWord) -> Option<Field> {
    let special = |byte: u8| matches!(byte, b'*' | b'?' | b'[' | b'{' | b'~');
    let text = raw.bare().filter(|text| !text.bytes().any(special))?;
    Some(Field {
        word: Word::Literal(text.to_owned()),
        source: raw.source.clone(),
        before: raw.before.clone(),
        candidates: Candidates::One(Text::plain(text)),
        exact: true,
        process: false,
    })
}

/// Expands one word.
pub(super) fn expand(raw: &RawWord, state: &State, context: &ShellContext, budget: &mut Budget) -> Read<Vec<Field>> {
    if let Some(field) = usual(raw) {
        budget.spend(1)?;
        return Ok(vec![field]);
    }
    budget.spend_text(raw.source.len())?;
    let cells = cells(&raw.pieces, state, context);
    let unexpanded = state.plain.then(|| cells.clone());
    let Some(words) = braces::expand(cells, budget)? else {
        return Ok(vec![Field {
            word: Word::Dynamic {
                source: raw.source.clone(),
                pattern: true,
            },
            source: raw.source.clone(),
            before: raw.before.clone(),
            candidates: Candidates::Many(Vec::new()),
            exact: false,
            process: false,
        }]);
    };
    let mut fields = Vec::new();
    // A word that braces left nothing of is none.
    let kept = words.iter().filter(|word| words.len() == 1 || !word.is_empty());
    for (number, word) in kept.enumerate() {
        let mut field = field(word, raw, state, context);
        if number > 0 {
            field.source.clear();
            field.before = Cow::Borrowed("");
        }
        fields.push(field);
    }
    match unexpanded {
        Some(cells) if words.len() > 1 => Ok(vec![unless_plain(&cells, fields, raw, state, context)]),
        _ => Ok(fields),
    }
}

/// One field for a word with braces that a plain shell leaves as they are: it becomes these words or itself.
fn unless_plain(cells: &[Cell], expanded: Vec<Field>, raw: &RawWord, state: &State, context: &ShellContext) -> Field {
    let mut whole = field(cells, raw, state, context);
    let mut words = Vec::new();
    for field in expanded {
        whole.exact &= field.exact && field.candidates.len() == 1;
        words.extend(field.candidates.into_texts());
    }
    whole.candidates.push(words);
    whole.word = Word::Dynamic {
        source: raw.source.clone(),
        pattern: true,
    };
    whole
}

/// The value that an assignment gives: not split, no globs, no braces.
pub(super) fn assigned(raw: &RawWord, state: &State, context: &ShellContext) -> (Word, Value) {
    if let [Piece::Arithmetic(_)] = raw.pieces.as_slice() {
        let word = Word::Dynamic {
            source: raw.source.clone(),
            pattern: false,
        };
        return (word, Value::number());
    }
    let cells: Vec<Cell> = cells(&raw.pieces, state, context)
        .into_iter()
        .map(|cell| match cell {
            Cell::Char { c, quoted } => Cell::Char {
                c,
                quoted: quoted || c != '~',
            },
            Cell::Value { value, .. } => Cell::Value { value, quoted: true },
            other => other,
        })
        .collect();
    let field = field(&cells, raw, state, context);
    let value = Value {
        choices: field.single_candidates().cloned().collect(),
        exact: field.exact,
        numeric: false,
    };
    let value = if raw.pieces.is_empty() {
        Value::literal("")
    } else {
        value
    };
    let word = if raw.pieces.is_empty() {
        Word::Literal(String::new())
    } else {
        field.word
    };
    (word, value)
}

fn cells(pieces: &[Piece], state: &State, context: &ShellContext) -> Vec<Cell> {
    let mut cells = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Plain(text) => cells.extend(text.chars().map(|c| Cell::Char { c, quoted: false })),
            // An empty quoted text still makes a word.
            Piece::Quoted(text) if text.is_empty() => cells.push(Cell::Value {
                value: Rc::new(Value::literal("")),
                quoted: true,
            }),
            Piece::Quoted(text) => cells.extend(text.chars().map(|c| Cell::Char { c, quoted: true })),
            Piece::Either { bash, plain } => cells.push(Cell::Value {
                value: Rc::new(Value {
                    choices: vec![Text::plain(bash), Text::plain(plain)],
                    exact: true,
                    numeric: false,
                }),
                quoted: true,
            }),
            Piece::Parameter(parameter) => cells.push(Cell::Value {
                value: Rc::new(value_of(parameter, state, context)),
                quoted: parameter.quoted,
            }),
            Piece::Command { list, quoted, .. } => cells.push(Cell::Value {
                value: Rc::new(super::constant::output(list)),
                quoted: *quoted,
            }),
            Piece::Process { .. } => cells.push(Cell::Process),
            Piece::Arithmetic(_) => cells.push(Cell::Value {
                value: Rc::new(Value::unknown()),
                quoted: true,
            }),
            Piece::Glob { open } => cells.push(Cell::Glob { open: *open }),
        }
    }
    cells
}

/// What a variable is, as far as the line and the context say.
pub(super) fn lookup(name: &str, state: &State, context: &ShellContext) -> Value {
    if let Some(value) = state.variables.get(name) {
        return value.clone();
    }
    let guess = |text: &str| Value {
        choices: vec![Text::plain(text)],
        exact: false,
        numeric: false,
    };
    match name {
        "HOME" => context
            .home
            .as_ref()
            .map_or_else(Value::unknown, |home| Value::literal(home.as_str())),
        "PWD" => Value {
            choices: state
                .directories
                .iter()
                .map(|path| Text::plain(path.as_str()))
                .collect(),
            exact: !state.elsewhere,
            numeric: false,
        },
        "IFS" => guess(" "),
        // Empty on a line of its own.
        "@" | "*" => guess(""),
        _ if name.chars().all(|c| c.is_ascii_digit()) && name != "0" => guess(""),
        _ => Value::unknown(),
    }
}

fn value_of(parameter: &Parameter, state: &State, context: &ShellContext) -> Value {
    let mut value = if parameter.index.is_some() {
        Value::unknown()
    } else {
        lookup(&parameter.name, state, context)
    };
    let operand = || -> Option<Text> {
        let mut text = String::new();
        for piece in &parameter.operand {
            match piece {
                Piece::Plain(part) | Piece::Quoted(part) => text.push_str(part),
                _ => return None,
            }
        }
        Some(Text::plain(text))
    };
    match parameter.operation {
        Operation::Value => {}
        Operation::Default => {
            value.exact = false;
            value.numeric = false;
            value.choices.extend(operand());
        }
        Operation::Alternative => {
            value = Value {
                choices: operand().into_iter().chain([Text::plain("")]).collect(),
                exact: false,
                numeric: false,
            };
        }
        Operation::Substring if parameter.name == "IFS" => value.exact = false,
        Operation::Substring | Operation::Other | Operation::Evaluates => value = Value::unknown(),
    }
    value.trim();
    value
}

/// A candidate while it is put together.
#[derive(Clone, Debug, Default)]
struct Draft {
    done: Vec<Text>,
    current: Option<Text>,
}

impl Draft {
    fn push(&mut self, c: char, wildcard: bool, glob: bool) {
        let text = self.current.get_or_insert_with(|| Text::plain(""));
        if glob && !wildcard && matches!(c, '*' | '?' | '[' | ']' | '\\') {
            text.text.push('\\');
        }
        text.text.push(c);
        text.glob |= wildcard;
    }

    fn end(&mut self) {
        self.done.extend(self.current.take());
    }
}

/// What `~` stands for: nothing certain once the line set HOME.
fn home<'a>(state: &State, context: &'a ShellContext) -> Option<&'a AbsPath> {
    context.home.as_ref().filter(|_| !state.variables.contains_key("HOME"))
}

fn field(cells: &[Cell], raw: &RawWord, state: &State, context: &ShellContext) -> Field {
    let glob = is_glob(cells);
    let home = home(state, context);
    let (mut exact, mut literal, mut process) = (true, !glob, false);
    let mut drafts = vec![Draft::default()];
    let mut cells = cells;
    // `~` or `~user` at the beginning.
    if let Some(Cell::Char { c: '~', quoted: false }) = cells.first() {
        let end = cells
            .iter()
            .position(|cell| matches!(cell, Cell::Char { c: '/', .. }))
            .unwrap_or(cells.len());
        let (tilde, rest) = cells.split_at_checked(end).unwrap_or((cells, &[]));
        match (home, tilde) {
            (Some(home), [_]) => {
                for c in home
                    .as_str()
                    .chars()
                    .filter(|_| home.as_str() != "/" || rest.is_empty())
                {
                    drafts.iter_mut().for_each(|draft| draft.push(c, false, glob));
                }
                cells = rest;
            }
            // A quoted name is no user's, so the text stays as it is.
            _ if tilde
                .iter()
                .all(|cell| matches!(cell, Cell::Char { quoted: false, .. })) =>
            {
                exact = false;
                literal = false;
                drafts.clear();
            }
            _ => {}
        }
    }
    let mut bracket = false;
    for cell in cells {
        match cell {
            Cell::Char { c, quoted } => {
                // A set `[a-z]` counts as any one character: wider than it is, never narrower.
                let wildcard = glob && !quoted;
                if bracket {
                    bracket = *c != ']';
                    continue;
                }
                let (c, wild) = match c {
                    '[' if wildcard => {
                        bracket = true;
                        ('?', true)
                    }
                    '*' | '?' if wildcard => (*c, true),
                    c => (*c, false),
                };
                let more = (wild && state.dots).then(|| with_dots(&drafts, c, glob));
                drafts.iter_mut().for_each(|draft| draft.push(c, wild, glob));
                exact &= join(&mut drafts, more);
            }
            Cell::Glob { open } => {
                let more = (*open || state.dots).then(|| with_dots(&drafts, '*', true));
                drafts.iter_mut().for_each(|draft| draft.push('*', true, true));
                exact &= join(&mut drafts, more);
            }
            Cell::Process => {
                process = true;
                exact = false;
                literal = false;
                drafts.clear();
            }
            Cell::Value { value, quoted } => {
                let empty_quotes = *quoted && value.exact && value.choices == [Text::plain("")];
                literal &= empty_quotes;
                exact &= value.exact;
                if drafts.len() * value.choices.len() > CANDIDATES {
                    exact = false;
                    drafts.truncate((CANDIDATES / value.choices.len().max(1)).max(1));
                }
                let mut longer = Vec::new();
                for choice in &value.choices {
                    for draft in &drafts {
                        longer.push(extended(draft, choice, *quoted, glob));
                    }
                }
                drafts = longer;
            }
        }
    }
    let candidates: Vec<Vec<Text>> = drafts
        .into_iter()
        .map(|mut draft| {
            draft.end();
            if state.any_case {
                draft.done.iter_mut().for_each(Text::forget_case);
            }
            draft.done
        })
        .collect();
    let word = match candidates.as_slice() {
        [only] if literal => match only.as_slice() {
            [text] => Some(Word::Literal(text.text.clone())),
            [] => Some(Word::Literal(String::new())),
            _ => None,
        },
        _ => None,
    };
    Field {
        word: word.unwrap_or_else(|| Word::Dynamic {
            source: raw.source.clone(),
            pattern: glob,
        }),
        source: raw.source.clone(),
        before: raw.before.clone(),
        candidates: Candidates::Many(candidates),
        exact,
        process,
    }
}

/// What a wildcard stands for besides itself at the beginning of a name, where it may match a dot: to a pattern, only a dot
/// that is written matches one. A star may also be nothing in front of a dot.
fn with_dots(drafts: &[Draft], wildcard: char, glob: bool) -> Vec<Draft> {
    let begins = |draft: &&Draft| {
        let text = draft.current.as_ref().map_or("", |text| text.text.as_str());
        text.is_empty() || text.ends_with('/')
    };
    let mut more = Vec::new();
    for draft in drafts.iter().filter(begins) {
        let mut dot = draft.clone();
        dot.push('.', false, glob);
        dot.current.get_or_insert_with(|| Text::plain("")).glob = true;
        if wildcard == '*' {
            dot.push('*', true, glob);
            let mut nothing = draft.clone();
            nothing.current.get_or_insert_with(|| Text::plain("")).glob = true;
            more.push(nothing);
        }
        more.push(dot);
    }
    more
}

/// Adds drafts; false if they are too many to be all.
fn join(drafts: &mut Vec<Draft>, more: Option<Vec<Draft>>) -> bool {
    drafts.extend(more.into_iter().flatten());
    let all = drafts.len() <= CANDIDATES;
    drafts.truncate(CANDIDATES);
    all
}

/// The draft with a value added: split at blanks unless quoted.
fn extended(draft: &Draft, choice: &Text, quoted: bool, glob: bool) -> Draft {
    let mut draft = draft.clone();
    if quoted && !choice.glob && choice.text.is_empty() {
        draft.current.get_or_insert_with(|| Text::plain(""));
    }
    for c in choice.text.chars() {
        if !quoted && matches!(c, ' ' | '\t' | '\n') {
            draft.end();
        } else if choice.glob {
            // Already escaped where it has to be.
            let text = draft.current.get_or_insert_with(|| Text::plain(""));
            text.text.push(c);
            text.glob = true;
        } else {
            let wildcard = !quoted && matches!(c, '*' | '?');
            draft.push(c, wildcard, glob || wildcard);
        }
    }
    draft
}

/// Whether unquoted characters make it a pattern over file names.
fn is_glob(cells: &[Cell]) -> bool {
    let mut open = false;
    cells.iter().any(|cell| match cell {
        Cell::Glob { .. } => true,
        Cell::Char { c, quoted: false } => match c {
            '*' | '?' => true,
            '[' => {
                open = true;
                false
            }
            ']' => open,
            _ => false,
        },
        _ => false,
    })
}
