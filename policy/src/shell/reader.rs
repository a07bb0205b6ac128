//! Reads shell text into [`syntax`](super::syntax): bash's grammar, by recursive descent.
//!
//! Written here, because a parser that decides about permissions has to hold promises that the one at hand
//! (`brush-parser`) does not make: see `docs/decisions/0002-shell-parser.md`. The promises:
//!
//! - No backtracking: each character is looked at a constant number of times per level of nesting, so the time is linear.
//! - Every recursion goes through [`Reader::deeper`], which refuses beyond [`Limits::depth`](super::Limits::depth).
//! - Nothing is kept and nothing is logged.
//! - Where bash's own reading is doubtful (a quote inside `"${…}"`, a here-document that a substitution cuts off), it
//!   refuses instead of guessing.
//!
//! It expands nothing: [`expand`](super::expand) does.

mod compound;
mod words;

pub(super) use compound::is_name;

use std::{borrow::Cow, cell::OnceCell, rc::Rc};

use super::syntax::{Item, Join, List, Node, Piece, Pipeline, RawWord, Redirect, RedirectOperator};

/// Why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Not bash, or not bash that we read.
    Syntax,
    /// Too deep, or too many steps.
    TooLarge,
}

pub(super) type Read<T> = Result<T, Fault>;

/// What is left of the bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// Levels of nesting.
    pub(super) depth: usize,
    /// Steps: words, pieces, commands.
    pub(super) steps: usize,
}

/// Bytes of text that are read in one step.
const BYTES_A_STEP: usize = 32;
/// Bytes of text that are only searched in one step.
const SEARCHED_A_STEP: usize = 64;

impl Budget {
    /// Takes what reading a text costs beyond its words.
    pub(super) fn spend_text(&mut self, bytes: usize) -> Read<()> {
        self.spend(bytes / BYTES_A_STEP)
    }

    /// Takes what searching a text costs.
    fn spend_search(&mut self, bytes: usize) -> Read<()> {
        self.spend(bytes / SEARCHED_A_STEP)
    }

    /// Takes some steps, or says that there are none left.
    pub(super) fn spend(&mut self, steps: usize) -> Read<()> {
        match self.steps.checked_sub(steps) {
            Some(left) => {
                self.steps = left;
                Ok(())
            }
            None => {
                self.steps = 0;
                Err(Fault::TooLarge)
            }
        }
    }
}

/// Which shell will read the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Bash.
    Bash,
    /// Whatever `sh` is: bash or a shell that knows less, such as dash. What they read in two ways is refused.
    Plain,
}

/// Reads a whole text. On a fault, what stands complete before it is returned too, because bash runs it.
pub(super) fn read(text: &str, dialect: Dialect, budget: &mut Budget) -> (List, Option<Fault>) {
    let mut list = List::default();
    if text.contains('\0') {
        return (list, Some(Fault::Syntax));
    }
    if let Err(fault) = budget.spend_text(text.len()) {
        return (list, Some(fault));
    }
    let mut reader = Reader::new(text, dialect, *budget);
    let fault = reader.whole(&mut list).err();
    budget.steps = reader.budget.steps;
    (list, fault)
}

/// What stands before a redirection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Descriptor {
    /// Nothing: the operator says which.
    Default,
    /// Standard input.
    Input,
    /// Another one, or a name for a new one.
    Other,
}

/// A here-document whose body has not been reached.
struct Pending {
    delimiter: String,
    quoted: bool,
    strip_tabs: bool,
    body: Rc<OnceCell<Vec<Piece>>>,
}

pub(super) struct Reader<'a> {
    text: &'a str,
    dialect: Dialect,
    at: usize,
    budget: Budget,
    pending: Vec<Pending>,
    /// Where the last word of the current simple command ended; `None` after a redirection.
    last_end: Option<usize>,
    /// Inside `$(…)` or `<(…)`.
    substituted: bool,
    /// Inside a process substitution of such a substitution: what bash prints of a here-document there, it reads in
    /// another way.
    no_here_documents: bool,
    /// The substitution that is being read had a here-document of its own.
    here_seen: bool,
}

/// Words that mean something at the beginning of a command.
pub(super) const KEYWORDS: &[&str] = &[
    "!", "{", "}", "[[", "]]", "if", "then", "elif", "else", "fi", "for", "select", "while", "until", "do", "done",
    "case", "in", "esac", "function", "coproc", "time",
];

/// The characters that a keyword can begin with, one bit for each: most words are none.
const KEYWORD_BEGINNINGS: u128 = {
    let (mut set, mut words) = (0, KEYWORDS);
    while let [word, others @ ..] = words {
        if let [first, ..] = word.as_bytes() {
            set |= 1 << *first;
        }
        words = others;
    }
    set
};

fn begins_keyword(c: char) -> bool {
    c.is_ascii() && KEYWORD_BEGINNINGS >> u32::from(c) & 1 == 1
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, dialect: Dialect, budget: Budget) -> Self {
        Self {
            text,
            dialect,
            at: 0,
            budget,
            pending: Vec::new(),
            last_end: None,
            substituted: false,
            no_here_documents: false,
            here_seen: false,
        }
    }

    /// Runs `inner` one level deeper.
    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        self.budget.depth = self.budget.depth.checked_sub(1).ok_or(Fault::TooLarge)?;
        let result = inner(self);
        self.budget.depth += 1;
        result
    }

    /// The text between two positions.
    fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next character, with line continuations removed.
    fn peek(&mut self) -> Option<char> {
        while self.text.as_bytes().get(self.at) == Some(&b'\\') && self.rest().starts_with("\\\n") {
            self.at += 2;
        }
        self.raw_peek()
    }

    /// The next character as it stands.
    fn raw_peek(&self) -> Option<char> {
        match self.text.as_bytes().get(self.at) {
            Some(byte) if byte.is_ascii() => Some(char::from(*byte)),
            _ => self.rest().chars().next(),
        }
    }

    /// Takes the next character as it stands.
    fn bump(&mut self) -> Option<char> {
        let next = self.raw_peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Takes `token` if it comes next, continuations removed.
    fn eat(&mut self, token: &str) -> bool {
        let start = self.at;
        for wanted in token.chars() {
            if self.peek() != Some(wanted) {
                self.at = start;
                return false;
            }
            self.bump();
        }
        true
    }

    /// Whether `token` comes next.
    fn sees(&mut self, token: &str) -> bool {
        let start = self.at;
        let found = self.eat(token);
        self.at = start;
        found
    }

    fn expect(&mut self, token: &str) -> Read<()> {
        if self.eat(token) { Ok(()) } else { Err(Fault::Syntax) }
    }

    /// Skips blanks and a comment.
    fn blanks(&mut self) {
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' => {
                    self.bump();
                }
                '#' => {
                    while self.raw_peek().is_some_and(|c| c != '\n') {
                        self.bump();
                    }
                    return;
                }
                _ => return,
            }
        }
    }

    /// Skips blanks, comments and line ends; reads the bodies of here-documents at each line end.
    fn newlines(&mut self) -> Read<()> {
        loop {
            self.blanks();
            if self.peek() != Some('\n') {
                return Ok(());
            }
            self.bump();
            self.bodies()?;
        }
    }

    /// The keyword that comes next, and where it ends.
    fn keyword(&mut self) -> Option<(&'static str, usize)> {
        self.blanks();
        let start = self.at;
        let first = self.peek();
        self.at = start;
        let first = first.filter(|first| begins_keyword(*first))?;
        for word in KEYWORDS.iter().copied().filter(|word| word.starts_with(first)) {
            let whole = self.eat(word) && self.peek().is_none_or(is_meta);
            let end = self.at;
            self.at = start;
            if whole {
                return Some((word, end));
            }
        }
        None
    }

    fn eat_keyword(&mut self, word: &str) -> bool {
        match self.keyword() {
            Some((found, end)) if found == word => {
                self.at = end;
                true
            }
            _ => false,
        }
    }

    fn expect_keyword(&mut self, word: &str) -> Read<()> {
        if self.eat_keyword(word) {
            Ok(())
        } else {
            Err(Fault::Syntax)
        }
    }

    /// The whole text, item by item, so that what was read before a fault is kept.
    fn whole(&mut self, list: &mut List) -> Read<()> {
        loop {
            self.newlines()?;
            if self.peek().is_none() {
                break;
            }
            let item = self.item()?;
            list.0.push(item);
            self.blanks();
            match self.peek() {
                None | Some('\n') => {}
                _ if self.after_separator() => {}
                Some(_) => return Err(Fault::Syntax),
            }
        }
        self.bodies()
    }

    /// Whether the character before is one that ends an item.
    fn after_separator(&self) -> bool {
        let before = self.slice(0, self.at).trim_end_matches([' ', '\t']);
        before.ends_with([';', '&'])
    }

    /// A list up to something that is no command: `)`, `}`, `then`, `;;` or the end. The caller takes what ends it.
    fn list(&mut self) -> Read<List> {
        let mut list = List::default();
        loop {
            self.newlines()?;
            if self.at_list_end() {
                return Ok(list);
            }
            list.0.push(self.item()?);
        }
    }

    /// A list that must hold something, as bash demands between keywords.
    fn full_list(&mut self) -> Read<List> {
        let list = self.list()?;
        if list.0.is_empty() {
            Err(Fault::Syntax)
        } else {
            Ok(list)
        }
    }

    fn at_list_end(&mut self) -> bool {
        if self.sees(";;") || self.sees(";&") {
            return true;
        }
        match self.peek() {
            None | Some(')') => true,
            _ => matches!(
                self.keyword(),
                Some(("}" | "then" | "elif" | "else" | "fi" | "do" | "done" | "esac", _))
            ),
        }
    }

    /// Pipelines joined by `&&` and `||`, with the `;`, `&` or line end after them.
    fn item(&mut self) -> Read<Item> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.blanks();
            let join = if self.eat("&&") {
                Join::And
            } else if self.eat("||") {
                Join::Or
            } else {
                break;
            };
            self.newlines()?;
            rest.push((join, self.pipeline()?));
        }
        let mut background = false;
        if self.sees(";;") || self.sees(";&") {
            // The end of a case arm: the caller's.
        } else if self.eat("&") {
            background = true;
        } else if self.eat(";") {
            self.blanks();
            // Bash prints what it read of a substitution and reads it again, and prints `a <<E | b; c` as `a <<E | b c`.
            // The first semicolon after a here-document that is complete it does not print at all: `cat; r` becomes `cat r`.
            let (open, complete) = (!self.pending.is_empty(), self.here_seen && self.pending.is_empty());
            let next = self.peek();
            if self.substituted && ((open && next != Some('\n')) || (complete && !matches!(next, None | Some(')')))) {
                return Err(Fault::Syntax);
            }
        } else {
            match self.peek() {
                None | Some('\n' | ')') => {}
                // A keyword may follow a compound command directly: `{ a; } }`, `if (a) then`.
                _ if matches!(
                    self.keyword(),
                    Some(("}" | "then" | "elif" | "else" | "fi" | "do" | "done" | "esac", _))
                ) => {}
                _ => return Err(Fault::Syntax),
            }
        }
        Ok(Item {
            first,
            rest,
            background,
        })
    }

    fn pipeline(&mut self) -> Read<Pipeline> {
        self.budget.spend(1)?;
        let (mut negated, mut timed, mut prefixed) = (false, false, false);
        loop {
            if self.eat_keyword("!") {
                negated = !negated;
            } else if self.eat_keyword("time") {
                timed = true;
                self.blanks();
                // `-p` only if it is the whole word.
                let start = self.at;
                if self.eat("-p") && self.peek().is_none_or(is_meta) {
                    self.blanks();
                } else {
                    self.at = start;
                }
                let start = self.at;
                if !(self.eat("--") && self.peek().is_none_or(is_meta)) {
                    self.at = start;
                }
            } else {
                break;
            }
            prefixed = true;
        }
        let mut stages = Vec::new();
        self.blanks();
        if prefixed && matches!(self.peek(), None | Some('\n' | ';' | ')')) {
            return Ok(Pipeline { stages, negated, timed });
        }
        if timed && self.substituted && (self.keyword().is_some() || self.peek() == Some('(')) {
            // In a substitution bash takes the word after `time` for a program, but not always.
            return Err(Fault::Syntax);
        }
        loop {
            stages.push(self.command()?);
            self.blanks();
            if self.sees("||") {
                break;
            }
            if self.sees("|&") && self.dialect == Dialect::Plain {
                return Err(Fault::Syntax);
            }
            if !(self.eat("|&") || self.eat("|")) {
                break;
            }
            self.newlines()?;
        }
        Ok(Pipeline { stages, negated, timed })
    }

    /// A redirection, if one comes next: the operator with the number or `{name}` before it already taken.
    fn redirect(&mut self, descriptor: Descriptor) -> Read<Option<Redirect>> {
        self.blanks();
        if !matches!(self.peek(), Some('<' | '>' | '&')) || self.sees("<(") || self.sees(">(") {
            return Ok(None);
        }
        if self.dialect == Dialect::Plain && (self.sees("&>") || self.sees("<<<")) {
            // To a shell that does not know it, `a &> b c` is `a` in the background, and the program `c`.
            return Err(Fault::Syntax);
        }
        let input = self.peek() == Some('<');
        let operator = if self.eat("<<<") {
            self.blanks();
            let word = self.word()?.ok_or(Fault::Syntax)?;
            return Ok(Some(Redirect::HereString {
                word,
                stdin: descriptor != Descriptor::Other,
            }));
        } else if self.eat("<<-") {
            return self.here(true, descriptor).map(Some);
        } else if self.eat("<<") {
            return self.here(false, descriptor).map(Some);
        } else if self.eat("&>>") || self.eat("&>") || self.eat(">>") || self.eat(">|") {
            RedirectOperator::Write
        } else if self.eat("<>") {
            RedirectOperator::ReadWrite
        } else if self.eat("<&") || self.eat(">&") {
            RedirectOperator::Duplicate
        } else if self.eat(">") {
            RedirectOperator::Write
        } else if self.eat("<") {
            RedirectOperator::Read
        } else {
            return Ok(None);
        };
        self.blanks();
        let target = self.word()?.ok_or(Fault::Syntax)?;
        // `>&-x` closes, and `x` is a word of its own; and a quoted target loses more than its quotes.
        if operator == RedirectOperator::Duplicate
            && ((target.source.starts_with('-') && target.source != "-") || target.source.contains(['\\', '"', '\'']))
        {
            return Err(Fault::Syntax);
        }
        Ok(Some(Redirect::File {
            operator,
            target,
            stdin: descriptor == Descriptor::Input || (descriptor == Descriptor::Default && input),
        }))
    }

    /// Redirections after a compound command.
    fn redirects(&mut self) -> Read<Vec<Redirect>> {
        let mut found = Vec::new();
        loop {
            self.blanks();
            let start = self.at;
            let descriptor = self.descriptor()?;
            match self.redirect(descriptor)? {
                Some(redirect) => found.push(redirect),
                None => {
                    self.at = start;
                    return Ok(found);
                }
            }
        }
    }

    /// Takes a number or `{name}` that stands directly before a redirection operator.
    fn descriptor(&mut self) -> Read<Descriptor> {
        let start = self.at;
        let named = self.peek() == Some('{');
        if named {
            self.bump();
            while self.peek().is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
                self.bump();
            }
            // `{}` and `{1}` are words.
            let is_name = is_name(self.slice(start + 1, self.at));
            if !(is_name && self.eat("}")) {
                self.at = start;
                return Ok(Descriptor::Default);
            }
        } else {
            while self.peek().is_some_and(|c| c.is_ascii_digit()) {
                self.bump();
            }
        }
        if self.at != start && (!matches!(self.peek(), Some('<' | '>')) || self.sees("<(") || self.sees(">(")) {
            self.at = start;
        }
        // A word before the redirection, to a shell that does not know it.
        if named && self.at != start && self.dialect == Dialect::Plain {
            return Err(Fault::Syntax);
        }
        Ok(match self.slice(start, self.at) {
            "" => Descriptor::Default,
            number if number.chars().all(|c| c == '0') => Descriptor::Input,
            _ => Descriptor::Other,
        })
    }

    fn here(&mut self, strip_tabs: bool, descriptor: Descriptor) -> Read<Redirect> {
        if self.no_here_documents {
            return Err(Fault::Syntax);
        }
        self.here_seen = true;
        self.blanks();
        let word = self.word()?.ok_or(Fault::Syntax)?;
        // An expansion in a delimiter is not expanded by bash but taken as written: too odd to follow.
        let delimiter = word.flat().ok_or(Fault::Syntax)?;
        // A line continuation quotes nothing.
        let quoted = word.source.replace("\\\n", "").contains(['\'', '"', '\\']);
        if delimiter.contains('\n') {
            return Err(Fault::Syntax);
        }
        let body = Rc::new(OnceCell::new());
        self.pending.push(Pending {
            delimiter,
            quoted,
            strip_tabs,
            body: Rc::clone(&body),
        });
        Ok(Redirect::Here {
            body,
            stdin: descriptor != Descriptor::Other,
        })
    }

    /// Reads the bodies of all here-documents whose operators stood on the line that just ended.
    fn bodies(&mut self) -> Read<()> {
        for pending in std::mem::take(&mut self.pending) {
            let mut body = String::new();
            let mut ended = false;
            while !self.rest().is_empty() {
                let line = self.body_line(pending.quoted);
                let line = if pending.strip_tabs {
                    line.trim_start_matches('\t')
                } else {
                    line.as_str()
                };
                if line.strip_suffix('\n').unwrap_or(line) == pending.delimiter {
                    ended = true;
                    break;
                }
                body.push_str(line);
            }
            // Bash warns and takes all that is left for the body. A line that was cut off is not what somebody meant.
            if !ended {
                return Err(Fault::Syntax);
            }
            let pieces = if pending.quoted {
                vec![Piece::Quoted(body)]
            } else {
                // The budget passes through, the position does not: the body is a text of its own.
                self.budget.spend_text(body.len())?;
                let mut inner = Reader::new(&body, self.dialect, self.budget);
                let pieces = inner.here_pieces();
                self.budget.steps = inner.budget.steps;
                pieces?
            };
            let _ = pending.body.set(pieces);
        }
        Ok(())
    }

    /// One line of a body with its line end; without quotes around the delimiter, a backslash joins lines.
    fn body_line(&mut self, quoted: bool) -> String {
        let mut line = String::new();
        while let Some(c) = self.bump() {
            if c == '\\' && !quoted {
                match self.bump() {
                    Some('\n') => {}
                    Some(next) => {
                        line.push('\\');
                        line.push(next);
                    }
                    None => line.push('\\'),
                }
                continue;
            }
            line.push(c);
            if c == '\n' {
                break;
            }
        }
        line
    }

    /// A word of a simple command: remembers what stood before it.
    fn command_word(&mut self) -> Read<Option<RawWord>> {
        self.blanks();
        let start = self.at;
        let Some(mut word) = self.word()? else {
            return Ok(None);
        };
        word.before = self.between(start);
        self.last_end = Some(self.at);
        Ok(Some(word))
    }

    /// What stands between the word before and this place; a blank behind a redirection.
    fn between(&self, start: usize) -> Cow<'static, str> {
        match self.last_end.map_or(" ", |end| self.slice(end, start)) {
            " " => Cow::Borrowed(" "),
            other => Cow::Owned(other.to_owned()),
        }
    }

    fn plain_node(form: super::syntax::Form, redirects: Vec<Redirect>) -> Node {
        Node { form, redirects }
    }
}

/// A character that ends an unquoted word.
pub(super) fn is_meta(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')')
}
