//! Words: quotes, escapes, and the expansions inside.

use std::{borrow::Cow, rc::Rc};

use super::{Dialect, Fault, Read, Reader, compound::is_name, is_meta};
use crate::shell::{
    quote::is_plain,
    syntax::{Arithmetic, Operation, Parameter, Piece, RawWord, Removal},
};

/// Longest index of an array, in bytes.
const INDEX_BYTES: usize = 1024;

/// What ends a run of pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    /// An unquoted metacharacter.
    Word,
    /// The same, but `|` and balanced parentheses belong to it: the right side of `=~`.
    Regex,
    /// `"`
    Quote,
    /// The end of the text: a here-document.
    End,
    /// `}`, inside double quotes or a here-document (`true`) or not.
    Brace(bool),
    /// This position: arithmetic.
    At(usize),
}

impl Reader<'_> {
    /// The word that comes next, if one does.
    pub(super) fn word(&mut self) -> Read<Option<RawWord>> {
        self.some_word(Until::Word)
    }

    pub(super) fn regex_word(&mut self) -> Read<Option<RawWord>> {
        self.some_word(Until::Regex)
    }

    fn some_word(&mut self, until: Until) -> Read<Option<RawWord>> {
        self.budget.spend(1)?;
        self.peek();
        let start = self.at;
        let pieces = self.pieces(until)?;
        if self.at == start {
            return Ok(None);
        }
        Ok(Some(RawWord {
            source: self.slice(start, self.at).to_owned(),
            before: Cow::Borrowed(""),
            pieces,
        }))
    }

    /// The pieces of a here-document without quotes around its delimiter.
    pub(super) fn here_pieces(&mut self) -> Read<Vec<Piece>> {
        self.pieces(Until::End)
    }

    fn pieces(&mut self, until: Until) -> Read<Vec<Piece>> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut open = 0_usize;
        let quoted = matches!(until, Until::Quote | Until::End | Until::Brace(true));
        loop {
            if let Until::At(end) = until {
                if self.at > end {
                    return Err(Fault::Syntax);
                }
                if self.at == end {
                    return Ok(pieces);
                }
            }
            if until == Until::Word {
                self.take_plain(&mut pieces);
            }
            let Some(c) = self.peek() else {
                return match until {
                    Until::Word | Until::Regex if open == 0 => Ok(pieces),
                    Until::End => Ok(pieces),
                    _ => Err(Fault::Syntax),
                };
            };
            match (c, until) {
                ('"', Until::Quote) | ('}', Until::Brace(_)) => return Ok(pieces),
                ('<' | '>', Until::Word | Until::Regex | Until::Brace(false)) if self.sees("<(") || self.sees(">(") => {
                    pieces.push(self.process()?);
                }
                ('(', Until::Regex) => {
                    open += 1;
                    self.take_into(&mut pieces, quoted);
                }
                (')', Until::Regex) if open > 0 => {
                    open -= 1;
                    self.take_into(&mut pieces, quoted);
                }
                ('|', Until::Regex) if open > 0 || !self.sees("||") => self.take_into(&mut pieces, quoted),
                ('<' | '>' | '&' | ';' | ' ', Until::Regex) if open > 0 => self.take_into(&mut pieces, quoted),
                ('(', Until::Word) if ends_with_glob(&pieces) => {
                    let operator = take_operator(&mut pieces);
                    pieces.extend(self.extended_glob(operator)?);
                }
                (c, Until::Word | Until::Regex) if is_meta(c) => {
                    return if open == 0 { Ok(pieces) } else { Err(Fault::Syntax) };
                }
                ('\\', _) => self.escape(&mut pieces, until)?,
                ('\'', Until::Quote | Until::End) => self.take_into(&mut pieces, quoted),
                // Whether this quotes depends on the operator and the shell's version.
                ('\'', Until::Brace(true)) => return Err(Fault::Syntax),
                ('\'', _) => {
                    self.bump();
                    let text = self.single_quoted()?;
                    pieces.push(Piece::Quoted(text));
                }
                ('"', Until::End) => self.take_into(&mut pieces, quoted),
                ('"', _) => pieces.extend(self.double_quoted()?),
                ('`', _) => pieces.push(self.backquoted(quoted)?),
                ('$', _) => self.dollar(&mut pieces, quoted)?,
                _ => self.take_into(&mut pieces, quoted),
            }
        }
    }

    /// Takes one character as text.
    fn take_into(&mut self, pieces: &mut Vec<Piece>, quoted: bool) {
        if let Some(c) = self.bump() {
            push(pieces, c, quoted);
        }
    }

    /// Takes the characters that are themselves wherever they stand in a word, all at once.
    fn take_plain(&mut self, pieces: &mut Vec<Piece>) {
        let length = self.rest().bytes().take_while(|byte| is_plain(*byte)).count();
        let text = self.slice(self.at, self.at + length);
        if text.is_empty() {
            return;
        }
        match pieces.last_mut() {
            Some(Piece::Plain(before)) => before.push_str(text),
            _ => {
                // Most words have one piece.
                if pieces.is_empty() {
                    pieces.reserve_exact(1);
                }
                pieces.push(Piece::Plain(text.to_owned()));
            }
        }
        self.at += length;
    }

    /// A backslash and what follows it.
    fn escape(&mut self, pieces: &mut Vec<Piece>, until: Until) -> Read<()> {
        self.bump();
        let next = self.raw_peek();
        match until {
            Until::Quote | Until::Brace(true) | Until::End => {
                let special = match until {
                    Until::End => matches!(next, Some('$' | '`' | '\\')),
                    Until::Brace(_) => matches!(next, Some('$' | '`' | '\\' | '"' | '}')),
                    _ => matches!(next, Some('$' | '`' | '\\' | '"')),
                };
                if !special {
                    push(pieces, '\\', true);
                    return Ok(());
                }
            }
            _ => {}
        }
        match self.bump() {
            Some(c) => push(pieces, c, true),
            // Bash keeps a backslash at the very end of the text.
            None => push(pieces, '\\', true),
        }
        Ok(())
    }

    /// The text up to the closing single quote.
    fn single_quoted(&mut self) -> Read<String> {
        let start = self.at;
        while let Some(c) = self.bump() {
            if c == '\'' {
                return Ok(self.slice(start, self.at - 1).to_owned());
            }
        }
        Err(Fault::Syntax)
    }

    fn double_quoted(&mut self) -> Read<Vec<Piece>> {
        self.bump();
        self.deeper(|reader| {
            let mut pieces = reader.pieces(Until::Quote)?;
            reader.expect("\"")?;
            // So that `""` is an empty word and not no word, and a quoted expansion is seen to be quoted.
            pieces.push(Piece::Quoted(String::new()));
            Ok(pieces)
        })
    }

    /// `` `…` ``: the text with its backslashes resolved is a text of its own.
    fn backquoted(&mut self, quoted: bool) -> Read<Piece> {
        self.bump();
        let mut text = String::new();
        loop {
            match self.bump().ok_or(Fault::Syntax)? {
                '`' => break,
                '\\' => match self.bump().ok_or(Fault::Syntax)? {
                    c @ ('`' | '\\' | '$') => text.push(c),
                    '"' if quoted => text.push('"'),
                    c => {
                        text.push('\\');
                        text.push(c);
                    }
                },
                c => text.push(c),
            }
        }
        self.budget.spend_text(text.len())?;
        self.deeper(|reader| {
            let mut inner = Reader::new(&text, reader.dialect, reader.budget);
            let list = inner.list();
            reader.budget.steps = inner.budget.steps;
            let list = list?;
            inner.bodies()?;
            if inner.peek().is_some() {
                return Err(Fault::Syntax);
            }
            Ok(Piece::Command {
                list: Rc::new(list),
                label: "`…`",
                quoted,
            })
        })
    }

    /// `<(…)` or `>(…)`.
    fn process(&mut self) -> Read<Piece> {
        let label = if self.eat("<") { "<(…)" } else { ">(…)" };
        self.eat(">");
        let before = self.no_here_documents;
        self.no_here_documents |= self.substituted;
        let list = self.substitution();
        self.no_here_documents = before;
        Ok(Piece::Process { list: list?, label })
    }

    /// A list in parentheses.
    fn substitution(&mut self) -> Read<Rc<super::List>> {
        self.deeper(|reader| {
            reader.expect("(")?;
            // Here-documents and words outside do not mix with those inside.
            let outer = std::mem::take(&mut reader.pending);
            let last_end = reader.last_end;
            let substituted = std::mem::replace(&mut reader.substituted, true);
            let here_seen = std::mem::replace(&mut reader.here_seen, false);
            let list = reader.list()?;
            reader.expect(")")?;
            reader.substituted = substituted;
            reader.here_seen = here_seen;
            // A body that would begin after the parenthesis: shells differ about what it is.
            if !reader.pending.is_empty() {
                return Err(Fault::Syntax);
            }
            reader.pending = outer;
            reader.last_end = last_end;
            Ok(Rc::new(list))
        })
    }

    /// An extended glob behind its operator: dropped, but what it substitutes is kept.
    fn extended_glob(&mut self, operator: Option<char>) -> Read<Vec<Piece>> {
        self.deeper(|reader| {
            // `?(…)` and `*(…)` may stand for nothing.
            let mut open = !matches!(operator, Some('@' | '+' | '!'));
            let mut found = Vec::new();
            reader.bump();
            loop {
                reader.budget.spend(1)?;
                let inner = reader.pieces(Until::Word)?;
                open |= !begins_with_letter(&inner);
                found.extend(
                    inner
                        .into_iter()
                        .filter(|piece| !matches!(piece, Piece::Plain(_) | Piece::Quoted(_))),
                );
                match reader.peek() {
                    Some(')') => {
                        reader.bump();
                        found.insert(0, Piece::Glob { open });
                        return Ok(found);
                    }
                    Some('|') => {
                        reader.bump();
                    }
                    // A group without an operator before it.
                    Some('(') => found.extend(reader.extended_glob(None)?),
                    _ => return Err(Fault::Syntax),
                }
            }
        })
    }

    /// `$` and what follows it.
    fn dollar(&mut self, pieces: &mut Vec<Piece>, quoted: bool) -> Read<()> {
        self.budget.spend(1)?;
        self.bump();
        match self.peek() {
            Some('\'') if !quoted => {
                self.bump();
                let start = self.at;
                let text = self.ansi_c()?;
                if self.dialect == Dialect::Bash {
                    pieces.push(Piece::Quoted(text));
                    return Ok(());
                }
                // A dollar and a quoted text, to a shell that does not know it; where that ends, an escape may change.
                if self.slice(start, self.at).contains('\\') {
                    return Err(Fault::Syntax);
                }
                pieces.push(Piece::Either {
                    plain: format!("${text}"),
                    bash: text,
                });
            }
            Some('"' | '[') if !quoted && self.dialect == Dialect::Plain => return Err(Fault::Syntax),
            Some('"') if !quoted => pieces.extend(self.double_quoted()?),
            Some('(') => {
                let start = self.at;
                if self.eat("((") {
                    if let Some(close) = self.closing_parenthesis()? {
                        let arithmetic = self.deeper(|reader| reader.arithmetic_until(close, "))"))?;
                        pieces.push(Piece::Arithmetic(arithmetic));
                        return Ok(());
                    }
                    self.at = start;
                }
                let list = self.substitution()?;
                pieces.push(Piece::Command {
                    list,
                    label: "$(…)",
                    quoted,
                });
            }
            Some('[') => {
                let close = self.closing_bracket().ok_or(Fault::Syntax)?;
                self.bump();
                let arithmetic = self.deeper(|reader| reader.arithmetic_until(close, "]"))?;
                pieces.push(Piece::Arithmetic(arithmetic));
            }
            Some('{') => {
                self.bump();
                let parameter = self.deeper(|reader| reader.braced(quoted))?;
                pieces.push(Piece::Parameter(Box::new(parameter)));
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let name = self.name();
                pieces.push(parameter(name, quoted));
            }
            Some(c) if c.is_ascii_digit() || "@*#?-$!".contains(c) => {
                self.bump();
                pieces.push(parameter(c.to_string(), quoted));
            }
            _ => push(pieces, '$', true),
        }
        Ok(())
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self.peek() {
            if !(c.is_ascii_alphanumeric() || c == '_') {
                break;
            }
            name.push(c);
            self.bump();
        }
        name
    }

    /// `${…}` after the opening brace.
    fn braced(&mut self, quoted: bool) -> Read<Parameter> {
        let length = self.sees("#") && !self.sees("#}");
        if length {
            self.bump();
        }
        let indirect = !length && self.sees("!") && !self.sees("!}");
        if indirect {
            self.bump();
        }
        let mut name = self.name();
        if name.is_empty() {
            match self.peek() {
                Some(c) if "@*#?-$!".contains(c) => {
                    self.bump();
                    name.push(c);
                }
                _ => return Err(Fault::Syntax),
            }
        } else if !is_name(&name) && !name.chars().all(|c| c.is_ascii_digit()) {
            return Err(Fault::Syntax);
        }
        let mut index = None;
        if self.peek() == Some('[') {
            let close = self.closing_bracket().ok_or(Fault::Syntax)?;
            self.bump();
            index = Some(self.arithmetic_until(close, "]")?);
        }
        let listing = index
            .as_ref()
            .is_some_and(|index| matches!(index.source.as_str(), "@" | "*"));
        let operation = if self.sees("}") {
            match (indirect, length, &index) {
                (true, ..) if !listing => Operation::Evaluates,
                (false, false, _) => Operation::Value,
                _ => Operation::Other,
            }
        } else if indirect && (self.eat("@}") || self.eat("*}")) {
            // The names of variables; the brace is left to the end below.
            self.at -= 1;
            Operation::Other
        } else if indirect {
            Operation::Evaluates
        } else if self.eat(":-") || self.eat("-") {
            Operation::Default
        } else if self.eat("::=") || self.eat(":=") || self.eat("=") {
            Operation::Assignment
        } else if self.eat(":+") || self.eat("+") {
            Operation::Alternative
        } else if self.eat(":?") || self.eat("?") {
            Operation::Other
        } else if self.eat(":") {
            Operation::Substring
        } else if self.eat("@") {
            // `@Q`, `@U` and their like only print; `@P` runs what the value holds.
            if matches!(self.peek(), Some('P')) {
                Operation::Evaluates
            } else {
                Operation::Other
            }
        } else if !length && let Some(removal) = self.removal() {
            Operation::Removal(removal)
        } else if matches!(self.peek(), Some('#' | '%' | '/' | '^' | ',' | '~')) {
            Operation::Other
        } else {
            return Err(Fault::Syntax);
        };
        let operand = self.pieces(Until::Brace(quoted))?;
        self.expect("}")?;
        Ok(Parameter {
            name,
            quoted,
            operation,
            operand,
            index,
        })
    }

    /// Arithmetic up to `close`, which `closing` begins at.
    pub(super) fn arithmetic_until(&mut self, close: usize, closing: &str) -> Read<Arithmetic> {
        let source = self.slice(self.at, close).to_owned();
        let pieces = self.pieces(Until::At(close))?;
        self.expect(closing)?;
        Ok(Arithmetic { source, pieces })
    }

    /// Where the parenthesis closes that was opened last, if `))` stands there.
    pub(super) fn closing_parenthesis(&mut self) -> Read<Option<usize>> {
        let rest = self.rest();
        let close = closing(rest, '(', ')');
        self.budget.spend_search(close.unwrap_or(rest.len()))?;
        let directly = |close: &usize| rest.get(close + 1..).is_some_and(|after| after.starts_with(')'));
        Ok(close.filter(directly).map(|close| self.at + close))
    }

    /// Where the bracket that comes next closes.
    pub(super) fn closing_bracket(&self) -> Option<usize> {
        // Bounded, because `a[;a[;a[;…` would look to the end of the text each time. A longer index is no index.
        let inner = self.rest().get(1..)?;
        let end = (0..=INDEX_BYTES.min(inner.len()))
            .rev()
            .find(|end| inner.is_char_boundary(*end))?;
        let close = closing(inner.get(..end)?, '[', ']')?;
        Some(self.at + 1 + close)
    }

    /// The text of `$'…'` after the opening quote.
    fn ansi_c(&mut self) -> Read<String> {
        let mut text = String::new();
        loop {
            let c = self.bump().ok_or(Fault::Syntax)?;
            match c {
                '\'' => return Ok(text),
                '\\' => {
                    let code = self.bump().ok_or(Fault::Syntax)?;
                    let value = match code {
                        'a' => 7,
                        'b' => 8,
                        'e' | 'E' => 27,
                        'f' => 12,
                        'n' => 10,
                        'r' => 13,
                        't' => 9,
                        'v' => 11,
                        '\\' | '\'' | '"' | '?' => u32::from(code),
                        'x' => self.digits(16, 2, 0).ok_or(Fault::Syntax)?,
                        'u' => self.digits(16, 4, 0).ok_or(Fault::Syntax)?,
                        'U' => self.digits(16, 8, 0).ok_or(Fault::Syntax)?,
                        'c' => u32::from(self.bump().ok_or(Fault::Syntax)?) & 31,
                        '0'..='7' => self.digits(8, 2, code.to_digit(8).unwrap_or(0)).unwrap_or(0) & 255,
                        other => {
                            text.push('\\');
                            text.push(other);
                            continue;
                        }
                    };
                    // A NUL ends the string for bash; bytes above 127 may form a character we would have to guess.
                    match char::from_u32(value) {
                        Some(c) if value != 0 && (value < 128 || matches!(code, 'u' | 'U')) => text.push(c),
                        _ => return Err(Fault::Syntax),
                    }
                }
                c => text.push(c),
            }
        }
    }

    /// Up to `most` digits, continuing `value`; `None` if there is none at all.
    fn digits(&mut self, radix: u32, most: usize, value: u32) -> Option<u32> {
        let (mut value, mut seen) = (value, 0);
        while seen < most {
            let Some(digit) = self.raw_peek().and_then(|c| c.to_digit(radix)) else {
                break;
            };
            self.bump();
            value = value.checked_mul(radix)?.checked_add(digit)?;
            seen += 1;
        }
        (seen > 0 || radix == 8).then_some(value)
    }
}

impl Reader<'_> {
    /// The operator of `${x%w}` and its like.
    fn removal(&mut self) -> Option<Removal> {
        let operators = [
            ("%%", Removal::End { longest: true }),
            ("%", Removal::End { longest: false }),
            ("##", Removal::Beginning { longest: true }),
            ("#", Removal::Beginning { longest: false }),
            ("//", Removal::Replace { all: true }),
            ("/", Removal::Replace { all: false }),
            ("^^", Removal::Upper),
            (",,", Removal::Lower),
        ];
        operators
            .into_iter()
            .find_map(|(text, removal)| self.eat(text).then_some(removal))
    }
}

fn parameter(name: String, quoted: bool) -> Piece {
    Piece::Parameter(Box::new(Parameter {
        name,
        quoted,
        operation: Operation::Value,
        operand: Vec::new(),
        index: None,
    }))
}

/// Adds a character to the last piece of its kind.
fn push(pieces: &mut Vec<Piece>, c: char, quoted: bool) {
    match (pieces.last_mut(), quoted) {
        (Some(Piece::Quoted(text)), true) | (Some(Piece::Plain(text)), false) => text.push(c),
        (_, true) => pieces.push(Piece::Quoted(c.to_string())),
        (_, false) => pieces.push(Piece::Plain(c.to_string())),
    }
}

fn ends_with_glob(pieces: &[Piece]) -> bool {
    matches!(pieces.last(), Some(Piece::Plain(text)) if text.ends_with(['?', '*', '+', '@', '!']))
}

/// Takes the operator of an extended glob off the text before it.
fn take_operator(pieces: &mut Vec<Piece>) -> Option<char> {
    let Some(Piece::Plain(text)) = pieces.last_mut() else {
        return None;
    };
    let operator = text.pop();
    if text.is_empty() {
        pieces.pop();
    }
    operator
}

/// Whether one of the texts of an extended glob begins with a character that is itself, and no dot.
fn begins_with_letter(pieces: &[Piece]) -> bool {
    match pieces.first() {
        Some(Piece::Plain(text)) => !text.starts_with(['.', '*', '?', '[', '~']),
        Some(Piece::Quoted(text)) => !text.is_empty() && !text.starts_with('.'),
        _ => false,
    }
}

/// The offset of the closing character that belongs to an opening one before `text`, quotes and escapes respected.
///
/// Only a guess where substitutions hold quotes: the caller reads the part again and must arrive exactly there.
fn closing(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quote: Option<char> = None;
    let mut escaped = false;
    for (offset, c) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' && quote != Some('\'') {
            escaped = true;
        } else if let Some(end) = quote {
            if c == end {
                quote = None;
            }
        } else if c == '\'' || c == '"' {
            quote = Some(c);
        } else if c == open {
            depth += 1;
        } else if c == close {
            match depth.checked_sub(1) {
                Some(left) => depth = left,
                None => return Some(offset),
            }
        }
    }
    None
}
