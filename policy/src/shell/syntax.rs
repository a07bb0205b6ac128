//! The shape of a shell text after reading: lists, pipelines, commands, words, and what words are made of.
//!
//! Smaller than bash's own grammar: it keeps what matters to *what runs and what is touched*, and drops the rest
//! (arithmetic is only a text with the substitutions inside it). It holds no judgement and no values.

use std::{borrow::Cow, cell::OnceCell, rc::Rc};

/// Commands one after the other.
#[derive(Debug, Default)]
pub(super) struct List(pub(super) Vec<Item>);

/// Pipelines joined by `&&` and `||`.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) first: Pipeline,
    pub(super) rest: Vec<(Join, Pipeline)>,
    pub(super) background: bool,
}

/// What joins two pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    And,
    Or,
}

/// Commands joined by `|`.
#[derive(Debug)]
pub(super) struct Pipeline {
    pub(super) stages: Vec<Node>,
    pub(super) negated: bool,
    pub(super) timed: bool,
}

/// A command with its redirections.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) form: Form,
    pub(super) redirects: Vec<Redirect>,
}

/// The kinds of command.
#[derive(Debug)]
pub(super) enum Form {
    Simple(Simple),
    Subshell(List),
    Group(List),
    If {
        branches: Vec<(List, List)>,
        otherwise: Option<List>,
    },
    While {
        condition: List,
        body: List,
    },
    For {
        variable: String,
        /// `None`: the positional parameters.
        words: Option<Vec<RawWord>>,
        body: List,
        select: bool,
    },
    Count {
        clauses: Arithmetic,
        body: List,
    },
    Case {
        subject: RawWord,
        arms: Vec<(Vec<RawWord>, List)>,
    },
    Function {
        name: String,
        body: Box<Node>,
    },
    Coprocess(Box<Node>),
    Test(Vec<RawWord>),
    Arithmetic(Arithmetic),
}

/// Assignments and words.
#[derive(Debug, Default)]
pub(super) struct Simple {
    pub(super) assignments: Vec<RawAssignment>,
    pub(super) words: Vec<RawWord>,
}

/// `name=value`, `name+=value`, `name[index]=value`, `name=(…)`.
#[derive(Debug)]
pub(super) struct RawAssignment {
    pub(super) name: String,
    /// `+=`, an index, or an array: the value is not simply the text on the right.
    pub(super) partial: bool,
    /// What stands between the brackets before `=`.
    pub(super) index: Option<Arithmetic>,
    pub(super) value: RawWord,
    /// Elements of `(…)`.
    pub(super) elements: Vec<RawWord>,
}

/// A word as written.
#[derive(Clone, Debug, Default)]
pub(super) struct RawWord {
    /// As written.
    pub(super) source: String,
    /// What stands between the word before and this one; a blank if it was a redirection.
    pub(super) before: Cow<'static, str>,
    pub(super) pieces: Vec<Piece>,
}

impl RawWord {
    /// The text, if nothing in it needs the shell (globs and braces count as plain text here).
    pub(super) fn flat(&self) -> Option<String> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Plain(part) | Piece::Quoted(part) => text.push_str(part),
                _ => return None,
            }
        }
        Some(text)
    }

    /// The text, if no character of it is quoted or expanded.
    pub(super) fn bare(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Plain(text)] => Some(text),
            _ => None,
        }
    }
}

/// Part of a word.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    /// Unquoted text: `~`, globs and braces in it mean something.
    Plain(String),
    /// Text that means itself.
    Quoted(String),
    /// Quoted text that shells read in two ways: `$'x'` given to `sh`.
    Either {
        /// To bash.
        bash: String,
        /// To a plain shell.
        plain: String,
    },
    /// `$x`, `${x…}`.
    Parameter(Box<Parameter>),
    /// `$(…)` or backticks.
    Command {
        list: Rc<List>,
        label: &'static str,
        quoted: bool,
    },
    /// `<(…)`, `>(…)`.
    Process { list: Rc<List>, label: &'static str },
    /// `$((…))`.
    Arithmetic(Arithmetic),
    /// An extended glob `@(…)`, the letter before the bracket included: matches file names.
    Glob {
        /// It can stand for nothing, or for a dot at the beginning of a name.
        open: bool,
    },
}

/// An expansion of a variable.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) quoted: bool,
    pub(super) operation: Operation,
    /// What stands after the operator, with all substitutions in it.
    pub(super) operand: Vec<Piece>,
    pub(super) index: Option<Arithmetic>,
}

/// What is done with the variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// `$x`, `${x}`, `${x[1]}`.
    Value,
    /// `${x:-w}`, `${x-w}`: the operand may stand for the value.
    Default,
    /// `${x:=w}`, `${x=w}`, and `${x::=w}` of zsh: the operand may become the value.
    Assignment,
    /// `${x:+w}`: the operand or nothing.
    Alternative,
    /// `${x:0:1}`.
    Substring,
    /// `${x%w}`, `${x#w}`, `${x/a/b}`, `${x^^}`, `${x,,}`.
    Removal(Removal),
    /// `${#x}`, `${!x[@]}`, `${!x*}`, other patterns and case changes: some text.
    Other,
    /// `${!x}` and `${x@P}`: evaluates the value, which can run commands.
    Evaluates,
}

/// What is taken from a value, or changed in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Removal {
    /// `%`, `%%`.
    End { longest: bool },
    /// `#`, `##`.
    Beginning { longest: bool },
    /// `/`, `//`.
    Replace { all: bool },
    /// `^^`.
    Upper,
    /// `,,`.
    Lower,
}

/// An arithmetic expression: its text, and the substitutions in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Arithmetic {
    pub(super) source: String,
    pub(super) pieces: Vec<Piece>,
}

/// A redirection.
#[derive(Debug)]
pub(super) enum Redirect {
    File {
        operator: RedirectOperator,
        target: RawWord,
        /// Whether it changes standard input, rather than another descriptor.
        stdin: bool,
    },
    /// `<<`: the body is filled in when its lines are reached.
    Here {
        body: Rc<OnceCell<Vec<Piece>>>,
        stdin: bool,
    },
    /// `<<<`.
    HereString { word: RawWord, stdin: bool },
}

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RedirectOperator {
    /// `<`
    Read,
    /// `>`, `>>`, `>|`, `&>`, `&>>`
    Write,
    /// `<>`
    ReadWrite,
    /// `<&`, `>&`: a descriptor, or with `>&` a file.
    Duplicate,
}
