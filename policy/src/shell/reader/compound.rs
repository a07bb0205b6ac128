//! Commands: simple ones, and everything that has a keyword or a parenthesis.

use super::{Dialect, Fault, Read, Reader};
use crate::shell::syntax::{Arithmetic, Form, List, Node, Piece, RawAssignment, RawWord, Redirect, Simple};

impl Reader<'_> {
    /// One command with its redirections.
    pub(super) fn command(&mut self) -> Read<Node> {
        self.budget.spend(1)?;
        self.blanks();
        if self.peek() == Some('(') {
            return self.deeper(Self::parenthesis);
        }
        let Some((keyword, end)) = self.keyword() else {
            return self.simple(None);
        };
        self.at = end;
        self.deeper(|reader| match keyword {
            "{" => {
                let list = reader.full_list()?;
                reader.expect_keyword("}")?;
                reader.with_redirects(Form::Group(list))
            }
            "[[" => reader.test(),
            "if" => reader.conditional(),
            "while" | "until" => {
                let condition = reader.full_list()?;
                let body = reader.do_group()?;
                reader.with_redirects(Form::While { condition, body })
            }
            "for" => reader.for_loop(false),
            "select" => reader.for_loop(true),
            "case" => reader.case(),
            "function" => reader.function(),
            "coproc" => reader.coprocess(),
            // `in` is only a word here. The others cannot begin a command.
            "in" => {
                reader.at = end - "in".len();
                reader.simple(None)
            }
            _ => Err(Fault::Syntax),
        })
    }

    fn with_redirects(&mut self, form: Form) -> Read<Node> {
        let redirects = self.redirects()?;
        Ok(Self::plain_node(form, redirects))
    }

    /// `((…))` if the parentheses close together, else a subshell.
    fn parenthesis(&mut self) -> Read<Node> {
        if let Some(arithmetic) = self.double_parenthesis()? {
            return self.with_redirects(Form::Arithmetic(arithmetic));
        }
        self.expect("(")?;
        let list = self.full_list()?;
        self.expect(")")?;
        self.with_redirects(Form::Subshell(list))
    }

    /// `((…))`, if that is what comes next.
    fn double_parenthesis(&mut self) -> Read<Option<Arithmetic>> {
        let start = self.at;
        if self.eat("((") {
            if let Some(close) = self.closing_parenthesis()? {
                return self.arithmetic_until(close, "))").map(Some);
            }
            self.at = start;
        }
        Ok(None)
    }

    fn conditional(&mut self) -> Read<Node> {
        let mut branches = Vec::new();
        let mut otherwise = None;
        loop {
            let condition = self.full_list()?;
            self.expect_keyword("then")?;
            branches.push((condition, self.full_list()?));
            if self.eat_keyword("elif") {
                continue;
            }
            if self.eat_keyword("else") {
                otherwise = Some(self.full_list()?);
            }
            self.expect_keyword("fi")?;
            return self.with_redirects(Form::If { branches, otherwise });
        }
    }

    fn do_group(&mut self) -> Read<List> {
        self.newlines()?;
        if self.eat_keyword("{") {
            let list = self.full_list()?;
            self.expect_keyword("}")?;
            return Ok(list);
        }
        self.expect_keyword("do")?;
        let list = self.full_list()?;
        self.expect_keyword("done")?;
        Ok(list)
    }

    fn for_loop(&mut self, select: bool) -> Read<Node> {
        self.blanks();
        if !select && self.sees("((") {
            let clauses = self.double_parenthesis()?.ok_or(Fault::Syntax)?;
            self.blanks();
            self.eat(";");
            let body = self.do_group()?;
            return self.with_redirects(Form::Count { clauses, body });
        }
        let variable = self.word()?.ok_or(Fault::Syntax)?;
        let variable = variable
            .bare()
            .filter(|name| is_name(name))
            .ok_or(Fault::Syntax)?
            .to_owned();
        self.newlines()?;
        let words = if self.eat_keyword("in") {
            let mut words = Vec::new();
            self.blanks();
            while let Some(word) = self.word()? {
                words.push(word);
                self.blanks();
            }
            self.blanks();
            if !self.eat(";") && self.peek() != Some('\n') {
                return Err(Fault::Syntax);
            }
            Some(words)
        } else {
            self.blanks();
            self.eat(";");
            None
        };
        let body = self.do_group()?;
        self.with_redirects(Form::For {
            variable,
            words,
            body,
            select,
        })
    }

    fn case(&mut self) -> Read<Node> {
        self.blanks();
        let subject = self.word()?.ok_or(Fault::Syntax)?;
        self.newlines()?;
        self.expect_keyword("in")?;
        let mut arms = Vec::new();
        loop {
            self.newlines()?;
            if self.eat_keyword("esac") {
                break;
            }
            self.budget.spend(1)?;
            self.eat("(");
            let mut patterns = Vec::new();
            loop {
                self.blanks();
                patterns.push(self.word()?.ok_or(Fault::Syntax)?);
                self.blanks();
                if !self.eat("|") {
                    break;
                }
            }
            self.expect(")")?;
            let body = self.list()?;
            arms.push((patterns, body));
            self.newlines()?;
            if self.dialect == Dialect::Plain && (self.sees(";;&") || self.sees(";&")) {
                return Err(Fault::Syntax);
            }
            if self.eat(";;&") || self.eat(";;") || self.eat(";&") {
                continue;
            }
            self.expect_keyword("esac")?;
            break;
        }
        self.with_redirects(Form::Case { subject, arms })
    }

    fn function(&mut self) -> Read<Node> {
        if self.dialect == Dialect::Plain {
            // A program of this name, to a shell that does not know it, which then runs the body.
            return Err(Fault::Syntax);
        }
        self.blanks();
        let name = self.word()?.and_then(|word| word.flat()).ok_or(Fault::Syntax)?;
        self.blanks();
        if self.eat("(") {
            self.blanks();
            self.expect(")")?;
        }
        self.function_body(name)
    }

    fn function_body(&mut self, name: String) -> Read<Node> {
        self.newlines()?;
        let compound = self.peek() == Some('(')
            || matches!(
                self.keyword(),
                Some(("{" | "[[" | "if" | "for" | "select" | "while" | "until" | "case", _))
            );
        if !compound {
            return Err(Fault::Syntax);
        }
        let body = Box::new(self.command()?);
        Ok(Self::plain_node(Form::Function { name, body }, Vec::new()))
    }

    fn coprocess(&mut self) -> Read<Node> {
        self.blanks();
        if self.peek() == Some('(') || self.keyword().is_some() {
            let body = Box::new(self.command()?);
            return Ok(Self::plain_node(Form::Coprocess(body), Vec::new()));
        }
        // The first word is the coprocess' name only before a compound command. Anything but a plain name is read as a
        // command, in which what follows cannot stand then: that is refused.
        let start = self.at;
        while self.peek().is_some_and(|c| c == '_' || c.is_ascii_alphanumeric()) {
            self.at += 1;
        }
        let named = self.at > start && matches!(self.peek(), Some(' ' | '\t' | '('));
        self.blanks();
        let compound = self.peek() == Some('(')
            || matches!(self.keyword(), Some((word, _)) if !matches!(word, "!" | "in" | "time"));
        let body = if named && compound {
            self.command()?
        } else {
            self.at = start;
            self.simple(None)?
        };
        Ok(Self::plain_node(Form::Coprocess(Box::new(body)), Vec::new()))
    }

    /// `[[ … ]]` after the opening: its words; operators and parentheses are dropped.
    fn test(&mut self) -> Read<Node> {
        let mut words: Vec<RawWord> = Vec::new();
        let mut regex = false;
        loop {
            self.newlines()?;
            self.budget.spend(1)?;
            if self.eat_keyword("]]") {
                return self.with_redirects(Form::Test(words));
            }
            let word = if regex { self.regex_word()? } else { self.word()? };
            match word {
                Some(word) => {
                    regex = word.source == "=~";
                    words.push(word);
                }
                None if ["&&", "||", "(", ")", "<", ">"]
                    .iter()
                    .any(|operator| self.eat(operator)) =>
                {
                    regex = false
                }
                None => return Err(Fault::Syntax),
            }
        }
    }

    /// Assignments, words and redirections up to an operator. `first` is a word that was already taken.
    fn simple(&mut self, first: Option<RawWord>) -> Read<Node> {
        let mut simple = Simple::default();
        let mut redirects: Vec<Redirect> = Vec::new();
        if let Some(first) = first {
            simple.words.push(first);
        } else {
            self.last_end = None;
        }
        loop {
            self.blanks();
            let start = self.at;
            let descriptor = self.descriptor()?;
            // The position before `redirect`, because it reads words of its own.
            let last_end = self.last_end;
            if let Some(redirect) = self.redirect(descriptor)? {
                redirects.push(redirect);
                self.last_end = None;
                continue;
            }
            self.at = start;
            self.last_end = last_end;
            if simple.words.is_empty()
                && let Some(assignment) = self.assignment()?
            {
                simple.assignments.push(assignment);
                continue;
            }
            let declares = simple.words.first().and_then(RawWord::bare).is_some_and(is_declaration);
            let word = if declares {
                self.declared_word()?
            } else {
                self.command_word()?
            };
            let Some(word) = word else { break };
            if self.peek() == Some('(') {
                return self.function_after(&word, &simple, &redirects);
            }
            simple.words.push(word);
            self.blanks();
            if self.peek() == Some('(') {
                let word = simple.words.pop().ok_or(Fault::Syntax)?;
                return self.function_after(&word, &simple, &redirects);
            }
        }
        if simple.words.is_empty() && simple.assignments.is_empty() && redirects.is_empty() {
            return Err(Fault::Syntax);
        }
        Ok(Self::plain_node(Form::Simple(simple), redirects))
    }

    /// `name()`, where a parenthesis follows the first word of a command.
    fn function_after(&mut self, word: &RawWord, simple: &Simple, redirects: &[Redirect]) -> Read<Node> {
        self.expect("(")?;
        self.blanks();
        self.expect(")")?;
        if !(simple.words.is_empty() && simple.assignments.is_empty() && redirects.is_empty()) {
            return Err(Fault::Syntax);
        }
        let name = word.flat().ok_or(Fault::Syntax)?;
        self.deeper(|reader| reader.function_body(name))
    }

    /// `export a=(…)`: an argument that is an array.
    fn declared_word(&mut self) -> Read<Option<RawWord>> {
        self.blanks();
        let start = self.at;
        if let Some(assignment) = self.assignment()? {
            let mut pieces = assignment.index.map(|index| index.pieces).unwrap_or_default();
            if assignment.elements.is_empty() && pieces.is_empty() && !assignment.partial {
                pieces.push(Piece::Quoted(format!("{}=", assignment.name)));
                pieces.extend(assignment.value.pieces);
            } else {
                // Not a text: the pieces are kept for what runs in them, and a glob makes the word uncertain.
                pieces.push(Piece::Plain(format!("{}=", assignment.name)));
                pieces.push(Piece::Glob { open: true });
                pieces.extend(assignment.value.pieces);
                pieces.extend(assignment.elements.into_iter().flat_map(|element| element.pieces));
            }
            let before = self.between(start);
            self.last_end = Some(self.at);
            return Ok(Some(RawWord {
                source: self.slice(start, self.at).to_owned(),
                before,
                pieces,
            }));
        }
        self.command_word()
    }

    /// `name=…`, if that is what comes next.
    fn assignment(&mut self) -> Read<Option<RawAssignment>> {
        self.blanks();
        let start = self.at;
        // Most words are none. A continuation may stand anywhere, so a backslash is looked at closely.
        let mut behind = self
            .rest()
            .bytes()
            .skip_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        if !matches!(behind.next(), Some(b'=' | b'[' | b'+' | b'\\')) {
            return Ok(None);
        }
        let mut name = String::new();
        while let Some(c) = self.peek() {
            if !(c.is_ascii_alphabetic() || c == '_' || (!name.is_empty() && c.is_ascii_digit())) {
                break;
            }
            name.push(c);
            self.bump();
        }
        if name.is_empty() {
            self.at = start;
            return Ok(None);
        }
        let mut index = None;
        if self.peek() == Some('[') {
            // What follows is settled before the inside is read: reading it twice would double the work at each level.
            let Some(close) = self.closing_bracket().filter(|close| {
                let after = self.slice(close + 1, self.text.len());
                after.starts_with('=') || after.starts_with("+=")
            }) else {
                self.at = start;
                return Ok(None);
            };
            self.bump();
            index = Some(self.deeper(|reader| reader.arithmetic_until(close, "]"))?);
        }
        let append = self.eat("+=");
        if append && self.dialect == Dialect::Plain {
            // A program of this name, to a shell that does not know it.
            return Err(Fault::Syntax);
        }
        if !append && !self.eat("=") {
            self.at = start;
            return Ok(None);
        }
        let partial = append || index.is_some();
        if self.peek() == Some('(') {
            self.bump();
            let mut elements = Vec::new();
            loop {
                self.newlines()?;
                if self.eat(")") {
                    break;
                }
                elements.push(self.word()?.ok_or(Fault::Syntax)?);
            }
            return Ok(Some(RawAssignment {
                name,
                partial: true,
                index,
                value: RawWord::default(),
                elements,
            }));
        }
        let value = self.word()?.unwrap_or_default();
        Ok(Some(RawAssignment {
            name,
            partial,
            index,
            value,
            elements: Vec::new(),
        }))
    }
}

/// A builtin whose arguments are assignments.
fn is_declaration(word: &str) -> bool {
    matches!(word, "export" | "declare" | "typeset" | "local" | "readonly")
}

/// A variable's name.
pub(in crate::shell) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
