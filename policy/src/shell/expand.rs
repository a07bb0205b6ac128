//! From a word as written to the words it becomes, as far as that is certain; and to the texts it may become.
//!
//! Two answers, because they serve two ends: [`Field::word`] is a literal only if nothing can make it another text, so
//! an allow may rest on it. [`Field::candidates`] also follows variables set on the same line, so a deny meets them.
//!
//! It runs nothing and looks at no files: a glob stays a pattern.

mod braces;
mod brackets;
mod cells;
mod removal;
mod state;
mod sure;

use std::{borrow::Cow, rc::Rc};

use brackets::Inner;

use super::{
    ShellContext, Word,
    reader::{Budget, Read},
    syntax::{Piece, RawWord},
};
use crate::AbsPath;

/// Most texts followed for one word or variable. More are "unknown", never fewer dangers.
const CANDIDATES: usize = 32;

pub(super) use cells::lookup;
pub(super) use state::{Digits, Place, State, Text, Value, Words};

use cells::cells;
use sure::{is_hash, is_number, is_unknown_number, may_be_nothing, numbers};

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
    /// It becomes names of git's objects, or words around them: whatever they are, no options.
    pub(super) hash: bool,
    /// It is known but for the digits of numbers: the texts that stand for all it may be, a number with and without a minus where
    /// one begins the word.
    pub(super) numbers: Vec<String>,
    /// It may become several words that nobody knows: `"$@"`, `$(cat x)`.
    pub(super) many: bool,
    /// It may become no word at all: `$x`, `$(cat x)`.
    pub(super) none: bool,
    /// What it stays where its sets match no name; one that has none cannot.
    pub(super) stays: Option<String>,
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
            hash: false,
            numbers: Vec::new(),
            many: false,
            none: false,
            stays: None,
        }
    }

    /// The name of a file that a pattern stands for.
    pub(super) fn name(pattern: &Text) -> Self {
        Self {
            word: Word::Dynamic {
                source: pattern.text.clone(),
                pattern: true,
            },
            source: pattern.text.clone(),
            candidates: Candidates::One(pattern.clone()),
            exact: true,
            ..Self::unknown("")
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
            hash: false,
            numbers: Vec::new(),
            many: false,
            none: false,
            stays: None,
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
    Char {
        c: char,
        quoted: bool,
    },
    Value {
        value: Rc<Value>,
        quoted: bool,
        /// It may become several words that nobody knows.
        many: bool,
    },
    Glob {
        open: bool,
    },
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
        hash: false,
        numbers: Vec::new(),
        many: false,
        none: false,
        stays: None,
    })
}

/// Expands one word.
pub(super) fn expand(raw: &RawWord, state: &State, context: &ShellContext, budget: &mut Budget) -> Read<Vec<Field>> {
    if let Some(field) = usual(raw) {
        budget.spend(1)?;
        return Ok(vec![field]);
    }
    budget.spend_text(raw.source.len())?;
    let cells = cells(&raw.pieces, state, context, budget)?;
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
            hash: false,
            numbers: Vec::new(),
            many: false,
            none: false,
            stays: None,
        }]);
    };
    let mut fields = Vec::new();
    // A word that braces left nothing of is none.
    let kept = words.iter().filter(|word| words.len() == 1 || !word.is_empty());
    for (number, word) in kept.enumerate() {
        let mut field = field(word, raw, state, context);
        field.stays = as_written(word, context);
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

/// The text of a word with sets that stays as it is where no file has such a name: `app/[slug]/page.tsx`. What other wildcards
/// stand for holds their own text, too.
fn as_written(cells: &[Cell], context: &ShellContext) -> Option<String> {
    let is_open = |cell: &Cell| matches!(cell, Cell::Char { c: '[', quoted: false });
    if !cells.iter().any(is_open) {
        return None;
    }
    let text = |cell: &Cell| match cell {
        Cell::Char { c, .. } => Some(*c),
        _ => None,
    };
    let text: String = cells.iter().map(text).collect::<Option<_>>()?;
    let at_home = matches!(cells.first(), Some(Cell::Char { c: '~', quoted: false }));
    match text.strip_prefix("~/").filter(|_| at_home) {
        Some(rest) => Some(format!("{}/{rest}", context.home.as_ref()?)),
        None => Some(text),
    }
    .filter(|text| text != "[" && text != "[[")
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
pub(super) fn assigned(
    raw: &RawWord,
    state: &State,
    context: &ShellContext,
    budget: &mut Budget,
) -> Read<(Word, Value)> {
    if let [Piece::Arithmetic(_)] = raw.pieces.as_slice() {
        let word = Word::Dynamic {
            source: raw.source.clone(),
            pattern: false,
        };
        return Ok((word, Value::computed()));
    }
    let cells: Vec<Cell> = cells(&raw.pieces, state, context, budget)?
        .into_iter()
        .map(|cell| match cell {
            Cell::Char { c, quoted } => Cell::Char {
                c,
                quoted: quoted || c != '~',
            },
            Cell::Value { value, .. } => Cell::Value {
                value,
                quoted: true,
                many: false,
            },
            other => other,
        })
        .collect();
    let field = field(&cells, raw, state, context);
    // Quotes add an empty text.
    let adds =
        |cell: &&Cell| !matches!(cell, Cell::Value { value, .. } if value.exact && value.choices == [Text::plain("")]);
    let mut own = cells.iter().filter(adds);
    let alone = match (own.next(), own.next()) {
        (Some(Cell::Value { value, .. }), None) => Some(value),
        _ => None,
    };
    if let Some(value) = alone.filter(|value| is_number(value)) {
        return Ok((field.word, Value::clone(value)));
    }
    let value = Value {
        choices: field.single_candidates().cloned().collect(),
        exact: field.exact,
        numeric: alone.is_some_and(|value| value.is_numeric()),
        digits: Digits::No,
        words: alone.map_or(Words::Any, |value| value.sure_words()),
        hash: is_hash(&cells) && cells.iter().all(|cell| matches!(cell, Cell::Value { .. })),
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
    Ok((word, value))
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

/// Where the home of a person of this name usually is, if it can be one: beside the known one.
pub(super) fn home_of(name: &str, home: &AbsPath) -> Option<AbsPath> {
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || !name.chars().all(letters) {
        return None;
    }
    if name == home.file_name() {
        return Some(home.clone());
    }
    let beside = home.parent().filter(|folder| folder.segments().next().is_some());
    Some(match (name, beside) {
        ("root", _) => AbsPath::root().join("root"),
        (_, Some(folder)) => folder.join(name),
        (_, None) => AbsPath::root().join("home").join(name),
    })
}

fn field(cells: &[Cell], raw: &RawWord, state: &State, context: &ShellContext) -> Field {
    let glob = is_glob(cells);
    let home = home(state, context);
    let (mut exact, mut literal, process) = (true, !glob, false);
    let mut drafts = vec![Draft::default()];
    let mut cells = cells;
    // `~` or `~user` at the beginning.
    if let Some(Cell::Char { c: '~', quoted: false }) = cells.first() {
        let end = cells
            .iter()
            .position(|cell| matches!(cell, Cell::Char { c: '/', quoted: false }))
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
                let name: String = tilde
                    .iter()
                    .skip(1)
                    .filter_map(|cell| match cell {
                        Cell::Char { c, .. } => Some(*c),
                        _ => None,
                    })
                    .collect();
                // Where it usually is; whatever else it may be is not known.
                match home.and_then(|home| home_of(&name, home)) {
                    Some(other) => {
                        let letters = other.as_str().chars();
                        letters.for_each(|c| drafts.iter_mut().for_each(|draft| draft.push(c, false, glob)));
                        cells = rest;
                    }
                    None => drafts.clear(),
                }
            }
            _ => {}
        }
    }
    let mut spread = Spread {
        drafts,
        exact,
        literal,
        process,
    };
    // A number stands for a name with digits in it, as a wildcard does.
    spread.follow(cells, state, glob || cells.iter().any(is_unknown_number));
    let Spread {
        drafts,
        exact,
        literal,
        process,
    } = spread;
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
        hash: !glob && is_hash(cells),
        numbers: numbers(cells, glob),
        many: cells.iter().any(|cell| matches!(cell, Cell::Value { many: true, .. })),
        none: cells.iter().all(may_be_nothing) && !cells.is_empty(),
        stays: None,
    }
}

/// What a word becomes while its cells are followed.
struct Spread {
    drafts: Vec<Draft>,
    exact: bool,
    literal: bool,
    process: bool,
}

impl Spread {
    /// Follows cells.
    fn follow(&mut self, cells: &[Cell], state: &State, glob: bool) {
        let mut next = 0;
        while let Some(cell) = cells.get(next) {
            next += 1;
            match cell {
                // A set counts as any one character: wider than it is, never narrower.
                Cell::Char { c: '[', quoted: false } if glob => {
                    let (taken, c, wild) = match brackets::inner(cells.get(next..).unwrap_or_default()) {
                        Inner::None => (0, '[', false),
                        Inner::Set(taken) => (taken, '?', true),
                        Inner::Open(taken) => (taken, '*', true),
                    };
                    self.exact &= c != '*';
                    next += taken;
                    self.push(c, wild, state.dots, glob);
                }
                Cell::Char { c, quoted } => {
                    let wild = glob && !quoted && matches!(c, '*' | '?');
                    self.push(*c, wild, state.dots, glob);
                }
                Cell::Glob { open } => self.push('*', true, *open || state.dots, true),
                Cell::Process => {
                    self.process = true;
                    self.exact = false;
                    self.literal = false;
                    self.drafts.clear();
                }
                Cell::Value { value, quoted, .. } => self.value(value, *quoted, glob),
            }
        }
    }

    fn push(&mut self, c: char, wild: bool, dots: bool, glob: bool) {
        let more = (wild && dots).then(|| with_dots(&self.drafts, c, glob));
        self.drafts.iter_mut().for_each(|draft| draft.push(c, wild, glob));
        self.exact &= join(&mut self.drafts, more);
    }

    fn value(&mut self, value: &Value, quoted: bool, glob: bool) {
        if is_number(value) {
            self.literal = false;
            self.push('*', true, false, true);
            return;
        }
        let empty_quotes = quoted && value.exact && value.choices == [Text::plain("")];
        self.literal &= empty_quotes;
        self.exact &= value.exact;
        if self.drafts.len() * value.choices.len() > CANDIDATES {
            self.exact = false;
            self.drafts.truncate((CANDIDATES / value.choices.len().max(1)).max(1));
        }
        let (mut longer, mut with_sets) = (Vec::new(), Vec::new());
        if let ([draft], [choice]) = (self.drafts.as_mut_slice(), value.choices.as_slice())
            && (quoted || choice.glob || !choice.text.contains('['))
        {
            // Without a copy: a word can name very many values.
            extend(draft, choice, quoted, glob);
            return;
        }
        for choice in &value.choices {
            for draft in &self.drafts {
                longer.push(extended(draft, choice, quoted, glob));
                if !quoted && !choice.glob && choice.text.contains('[') {
                    let (draft, open) = brackets::of_value(draft, &choice.text);
                    self.exact &= !open;
                    with_sets.push(draft);
                }
            }
        }
        self.drafts = longer;
        self.exact &= join(&mut self.drafts, Some(with_sets));
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
    extend(&mut draft, choice, quoted, glob);
    draft
}

/// The same in its place.
fn extend(draft: &mut Draft, choice: &Text, quoted: bool, glob: bool) {
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
        // Its end may be in a value.
        Cell::Value { quoted: false, .. } => open,
        _ => false,
    })
}
