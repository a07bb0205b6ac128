//! The literal part of Starlark: calls with texts, lists and numbers, and names for such values.
//!
//! Codex writes its rules in Starlark, a programming language. We run no program to learn what a rule says. What is more
//! than literals (functions, loops, conditions, comprehensions, `load`) is told apart from the rest, statement by
//! statement, and reported; whoever reads the result knows that it may lack a rule.
//!
//! One pass over the text, with a bound on nesting. It never fails.

use std::{collections::BTreeMap, ops::Range};

/// Deepest nesting of brackets.
const MAX_DEPTH: usize = 32;
/// Most statements.
const MAX_STATEMENTS: usize = 20_000;
/// Most values that a name may stand for, all lists counted: `a = a + a` would double them with every line.
const MAX_VALUES: usize = 10_000;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    Text(String),
    List(Vec<Literal>),
    /// A number, `True`, `False` or `None`, as written.
    Other(String),
}

impl Literal {
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::List(items) => 1 + items.iter().map(Self::size).sum::<usize>(),
            Self::Text(text) | Self::Other(text) => 1 + text.len() / 64,
        }
    }
}

/// One statement at the top of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    /// `name(…)`.
    Call(Call),
    /// Something that says nothing: an assignment that was understood, a text alone.
    Silent,
    /// Something that is no literal, with why.
    Program(String),
}

/// A call with literal arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) function: String,
    pub(super) positional: Vec<Literal>,
    pub(super) named: Vec<(String, Literal)>,
}

impl Call {
    /// The argument of a name, or the one at a position.
    pub(super) fn argument(&self, name: &str, position: usize) -> Option<&Literal> {
        let named = self.named.iter().find(|(own, _)| own == name).map(|(_, value)| value);
        named.or_else(|| self.positional.get(position))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Name(String),
    Text(String),
    Number(String),
    Sign(char),
    LineEnd,
    /// Blanks at the beginning of a line outside brackets: the line belongs to the statement before.
    Indent,
    /// What no literal holds.
    Strange(String),
}

/// All statements, each with its place.
pub(super) fn statements(text: &str) -> Vec<(Range<usize>, Statement)> {
    let tokens = tokens(text);
    let mut names: BTreeMap<String, Literal> = BTreeMap::new();
    let mut room = MAX_VALUES;
    let mut out: Vec<(Range<usize>, Statement)> = Vec::new();
    for line in tokens.split(|(_, token)| *token == Token::LineEnd) {
        let (Some((first, token)), Some((last, _))) = (line.first(), line.last()) else {
            continue;
        };
        let span = first.start..last.end;
        if *token == Token::Indent {
            if line.len() == 1 {
                continue;
            }
            // The body of what stands above.
            match out.last_mut() {
                Some((above, statement)) => {
                    above.end = span.end;
                    if !matches!(statement, Statement::Program(_)) {
                        *statement = Statement::Program("an indented line follows".to_owned());
                    }
                }
                None => out.push((span, Statement::Program("the line is indented".to_owned()))),
            }
            continue;
        }
        if out.len() >= MAX_STATEMENTS {
            out.push((
                span,
                Statement::Program(format!("more than {MAX_STATEMENTS} statements")),
            ));
            return out;
        }
        let mut parser = Parser {
            tokens: line,
            at: 0,
            names: &names,
        };
        let statement = match parser.statement() {
            Ok(Parsed::Call(call)) => Statement::Call(call),
            Ok(Parsed::Silent) => Statement::Silent,
            Ok(Parsed::Assign(name, value)) => {
                let size = value.size();
                if size > room {
                    Statement::Program(format!("names stand for more than {MAX_VALUES} values"))
                } else {
                    room -= size;
                    names.insert(name, value);
                    Statement::Silent
                }
            }
            Err(why) => {
                // A name that is set by what we cannot follow must not keep its older value.
                for (_, token) in line {
                    if let Token::Name(name) = token {
                        names.remove(name);
                    }
                }
                Statement::Program(why)
            }
        };
        out.push((span, statement));
    }
    out
}

enum Parsed {
    Call(Call),
    Assign(String, Literal),
    Silent,
}

struct Parser<'t> {
    tokens: &'t [(Range<usize>, Token)],
    at: usize,
    names: &'t BTreeMap<String, Literal>,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(_, token)| token)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.at += 1;
        token
    }

    fn take(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(&Token::Sign(sign));
        if found {
            self.at += 1;
        }
        found
    }

    fn statement(&mut self) -> Result<Parsed, String> {
        let parsed = match (self.peek().cloned(), self.tokens.get(1).map(|(_, token)| token)) {
            (Some(Token::Name(name)), Some(Token::Sign('('))) => {
                self.at = 2;
                Parsed::Call(self.arguments(name)?)
            }
            (Some(Token::Name(name)), Some(Token::Sign('='))) => {
                self.at = 2;
                Parsed::Assign(name, self.value(0)?)
            }
            (Some(Token::Name(name)), _) => return Err(format!("`{name}` is more than a literal")),
            _ => {
                self.value(0)?;
                Parsed::Silent
            }
        };
        // Several statements may stand on one line; nobody writes rules so.
        self.take(';');
        match self.peek() {
            None => Ok(parsed),
            Some(_) => Err("more follows than a literal".to_owned()),
        }
    }

    fn arguments(&mut self, function: String) -> Result<Call, String> {
        let mut call = Call {
            function,
            positional: Vec::new(),
            named: Vec::new(),
        };
        while !self.take(')') {
            let named = match (self.peek(), self.tokens.get(self.at + 1)) {
                (Some(Token::Name(name)), Some((_, Token::Sign('=')))) => Some(name.clone()),
                _ => None,
            };
            match named {
                Some(name) => {
                    self.at += 2;
                    if call.named.iter().any(|(own, _)| *own == name) {
                        return Err(format!("`{name}` stands twice"));
                    }
                    let value = self.value(0)?;
                    call.named.push((name, value));
                }
                None => {
                    let value = self.value(0)?;
                    call.positional.push(value);
                }
            }
            if !self.take(',') && self.peek() != Some(&Token::Sign(')')) {
                return Err("an argument is more than a literal".to_owned());
            }
        }
        Ok(call)
    }

    /// A literal, or several joined by `+`.
    fn value(&mut self, depth: usize) -> Result<Literal, String> {
        let mut value = self.single(depth)?;
        while self.take('+') {
            let more = self.single(depth)?;
            if value.size() + more.size() > MAX_VALUES {
                return Err(format!("more than {MAX_VALUES} values"));
            }
            match (&mut value, more) {
                (Literal::Text(text), Literal::Text(more)) => text.push_str(&more),
                (Literal::List(items), Literal::List(more)) => items.extend(more),
                _ => return Err("`+` joins two texts or two lists".to_owned()),
            }
        }
        Ok(value)
    }

    fn single(&mut self, depth: usize) -> Result<Literal, String> {
        if depth > MAX_DEPTH {
            return Err(format!("brackets are nested deeper than {MAX_DEPTH} levels"));
        }
        match self.next() {
            Some(Token::Text(mut text)) => {
                // Texts side by side are one.
                while let Some(Token::Text(more)) = self.peek() {
                    text.push_str(more);
                    self.at += 1;
                }
                Ok(Literal::Text(text))
            }
            Some(Token::Number(text)) => Ok(Literal::Other(text)),
            Some(Token::Name(name)) if matches!(name.as_str(), "True" | "False" | "None") => Ok(Literal::Other(name)),
            Some(Token::Name(name)) => match self.names.get(&name) {
                Some(value) => Ok(value.clone()),
                None => Err(format!("`{name}` is more than a literal")),
            },
            Some(Token::Sign(open @ ('[' | '('))) => {
                let close = if open == '[' { ']' } else { ')' };
                let mut items = Vec::new();
                let mut comma = false;
                while !self.take(close) {
                    items.push(self.value(depth + 1)?);
                    comma = self.take(',');
                    if !comma && self.peek() != Some(&Token::Sign(close)) {
                        return Err("a list holds more than literals".to_owned());
                    }
                }
                match (open, comma, items.pop()) {
                    // One value in round brackets is that value.
                    ('(', false, Some(only)) if items.is_empty() => Ok(only),
                    (_, _, Some(last)) => {
                        items.push(last);
                        Ok(Literal::List(items))
                    }
                    (_, _, None) => Ok(Literal::List(items)),
                }
            }
            Some(Token::Sign(sign)) => Err(format!("`{sign}` is more than a literal")),
            Some(Token::Strange(why)) => Err(why),
            Some(Token::LineEnd | Token::Indent) | None => Err("a value is missing".to_owned()),
        }
    }
}

/// The tokens of a text. Line ends inside brackets are left out.
fn tokens(text: &str) -> Vec<(Range<usize>, Token)> {
    let mut out = Vec::new();
    let mut scanner = Scanner { text, at: 0 };
    let mut open = 0_usize;
    let mut line_begins = true;
    while let Some(c) = scanner.peek() {
        let start = scanner.at;
        if line_begins && open == 0 && matches!(c, ' ' | '\t') {
            scanner.skip(|c| matches!(c, ' ' | '\t'));
            // Blank lines and comments are no bodies.
            if !matches!(scanner.peek(), None | Some('\n' | '\r' | '#')) {
                out.push((start..scanner.at, Token::Indent));
            }
            line_begins = false;
            continue;
        }
        line_begins = false;
        match c {
            '\n' => {
                scanner.bump();
                if open == 0 {
                    out.push((start..scanner.at, Token::LineEnd));
                    line_begins = true;
                }
            }
            ' ' | '\t' | '\r' => scanner.bump(),
            '\\' if scanner.rest().starts_with("\\\n") || scanner.rest().starts_with("\\\r\n") => {
                scanner.skip(|c| c != '\n');
                scanner.bump();
            }
            '#' => scanner.skip(|c| c != '\n'),
            '"' | '\'' => {
                let token = scanner.string(false);
                out.push((start..scanner.at, token));
            }
            c if c.is_ascii_digit() || c == '-' => {
                scanner.bump();
                scanner.skip(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_');
                let number = text.get(start..scanner.at).unwrap_or_default();
                out.push((start..scanner.at, Token::Number(number.to_owned())));
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                scanner.skip(|c| c.is_ascii_alphanumeric() || c == '_');
                let name = text.get(start..scanner.at).unwrap_or_default();
                let token = match (name, scanner.peek()) {
                    ("r" | "R", Some('"' | '\'')) => scanner.string(true),
                    (_, Some('"' | '\'')) => {
                        scanner.string(false);
                        Token::Strange(format!("a text with the prefix `{name}` is not read"))
                    }
                    _ => Token::Name(name.to_owned()),
                };
                out.push((start..scanner.at, token));
            }
            '(' | ')' | '[' | ']' | ',' | '=' | '+' | ';' => {
                scanner.bump();
                match c {
                    '(' | '[' => open += 1,
                    ')' | ']' => open = open.saturating_sub(1),
                    _ => {}
                }
                out.push((start..scanner.at, Token::Sign(c)));
            }
            other => {
                scanner.bump();
                match other {
                    '{' => open += 1,
                    '}' => open = open.saturating_sub(1),
                    _ => {}
                }
                let why = format!("`{}` is more than a literal", other.escape_debug());
                out.push((start..scanner.at, Token::Strange(why)));
            }
        }
    }
    out
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Scanner<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
    }

    fn skip(&mut self, mut while_: impl FnMut(char) -> bool) {
        while self.peek().is_some_and(&mut while_) {
            self.bump();
        }
    }

    /// A text, at its opening quote.
    fn string(&mut self, raw: bool) -> Token {
        let quote = if self.rest().starts_with('"') { "\"" } else { "'" };
        let triple = quote.repeat(3);
        let long = self.rest().starts_with(&triple);
        let end = if long { triple.as_str() } else { quote };
        self.at += end.len();
        let mut text = String::new();
        loop {
            if self.rest().starts_with(end) {
                self.at += end.len();
                return Token::Text(text);
            }
            let Some(c) = self.peek() else {
                return Token::Strange("a text is not closed".to_owned());
            };
            self.bump();
            match c {
                '\n' if !long => return Token::Strange("a text is not closed in its line".to_owned()),
                '\\' => {
                    let Some(escaped) = self.peek() else {
                        return Token::Strange("a text is not closed".to_owned());
                    };
                    self.bump();
                    if raw {
                        text.push('\\');
                        text.push(escaped);
                        continue;
                    }
                    match escaped {
                        'n' => text.push('\n'),
                        't' => text.push('\t'),
                        'r' => text.push('\r'),
                        '\n' => {}
                        '\\' | '"' | '\'' => text.push(escaped),
                        other => {
                            self.skip_string(end);
                            return Token::Strange(format!("the escape `\\{other}` is not read"));
                        }
                    }
                }
                other => text.push(other),
            }
        }
    }

    /// Goes behind the end of a text whose beginning was not understood.
    fn skip_string(&mut self, end: &str) {
        while self.peek().is_some() && !self.rest().starts_with(end) {
            if self.peek() == Some('\\') {
                self.bump();
            }
            self.bump();
        }
        self.at = (self.at + end.len()).min(self.text.len());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn calls(text: &str) -> Vec<String> {
        statements(text)
            .into_iter()
            .filter_map(|(_, statement)| match statement {
                Statement::Call(call) => Some(format!("{}{:?}{:?}", call.function, call.positional, call.named)),
                _ => None,
            })
            .collect()
    }

    fn programs(text: &str) -> usize {
        let is_program = |statement: &Statement| matches!(statement, Statement::Program(_));
        statements(text)
            .iter()
            .filter(|(_, statement)| is_program(statement))
            .count()
    }

    #[test]
    fn literals_are_read_in_every_spelling() {
        for text in [
            "f(p = [\"a\", [\"b\", \"c\"]])",
            "f(p=['a',['b','c',],],)",
            "f(\n  p = [ # words\n    'a',\n    [ \"b\", 'c' ],\n  ],\n)",
            "x = ['b', 'c']\nf(p = ['a', x])",
            "x = ['b'] + ['c']\nf(p = ['a'] + [x])",
            "f(p = (\"a\", (\"b\", \"c\")))",
            "\"\"\"About\nthis file.\"\"\"\n\nf(p = [r'a', ['''b''', \"c\"]]);\n",
            "f(p = ['a', ['b', 'c']]) # end",
        ] {
            let expected = r#"f[][("p", List([Text("a"), List([Text("b"), Text("c")])]))]"#;
            assert_eq!(calls(text), [expected], "{text}");
            assert_eq!(programs(text), 0, "{text}");
        }
    }

    #[test]
    fn programs_are_told_apart_statement_by_statement() {
        for (text, kept) in [
            ("def g():\n    f(p = 'a')\n\nf(p = 'b')", 1),
            ("for x in ['a']:\n  f(p = x)\nf(p = 'b')", 1),
            ("if True: f(p = 'a')\nf(p = 'b')", 1),
            ("[f(p = x) for x in ['a']]\nf(p = 'b')", 1),
            ("load('x', 'y')\nf(p = y)", 1),
            ("f(p = g('a'))", 0),
            ("f(p = 'a' % 1)", 0),
            ("f(p = {'a': 1})", 0),
            ("f(**x)", 0),
            ("f(p = 'a).x", 0),
            ("x = 'a'\nx += 'b'\nf(p = x)", 0),
            ("f(p = '\\x41')", 0),
            ("f(p = b'a')", 0),
            ("f(p = 'a', p = 'b')", 0),
            ("f(p = [", 0),
            ("f(p = 'a')\n  g(p = 'b')", 0),
        ] {
            assert_eq!(calls(text).len(), kept, "{text}");
            assert!(programs(text) > 0, "{text}: {:?}", statements(text));
        }
    }

    #[test]
    fn values_do_not_grow_without_bound() {
        let doubling = format!("a = ['x']\n{}", "a = a + a\n".repeat(60));
        assert!(programs(&doubling) > 0);
        assert!(programs(&format!("f({}", "[".repeat(100_000))) > 0);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[a-c(){}\\[\\],=+'\"\\\\ \n#:r-]{0,60}") {
            let _ = statements(&text);
        }
    }
}
