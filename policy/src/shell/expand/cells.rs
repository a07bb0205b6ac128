//! The cells of a word: its letters, and the values that stand in it, as far as they are known.
//!
//! A value can be far longer than the line that names it, and a word can name many: what they cost is taken first.

use std::rc::Rc;

use super::{CANDIDATES, Cell, Digits, Place, State, Text, Value, Words, removal};
use crate::shell::{
    ShellContext, constant,
    reader::{Budget, Read},
    syntax::{Operation, Parameter, Piece},
};

/// Takes what a word costs, before it is made: values can be far longer than the line that names them.
struct Weight<'b> {
    budget: &'b mut Budget,
    /// Bytes of the longest text that the word may be so far.
    length: usize,
    /// Texts that it may be, at most [`CANDIDATES`].
    texts: usize,
}

impl Weight<'_> {
    fn literal(&mut self, text: &str, dots: bool) -> Read<()> {
        self.length += text.len();
        // Each wildcard makes further texts then.
        let wildcards = if dots { text.matches(['*', '?']).count() } else { 0 };
        self.budget
            .spend_text(self.length.saturating_mul(wildcards).saturating_mul(CANDIDATES))
    }

    fn value(&mut self, value: &Value) -> Read<()> {
        let lengths = value.choices.iter().map(|choice| choice.text.len());
        let (longest, sum) = (lengths.clone().max().unwrap_or(0), lengths.sum::<usize>());
        let texts = self.texts.saturating_mul(value.choices.len().max(1)).min(CANDIDATES);
        // Only a single text is made longer where it stands; of several each is copied.
        let made = if texts > 1 {
            self.length.saturating_add(longest).saturating_mul(texts)
        } else {
            sum
        };
        self.length = self.length.saturating_add(longest);
        self.texts = texts;
        self.budget.spend_text(made)
    }
}

pub(super) fn cells(pieces: &[Piece], state: &State, context: &ShellContext, budget: &mut Budget) -> Read<Vec<Cell>> {
    let mut cells = Vec::new();
    let mut weight = Weight {
        budget,
        length: 0,
        texts: 1,
    };
    for piece in pieces {
        let mut many = false;
        let (value, quoted) = match piece {
            Piece::Plain(text) => {
                weight.literal(text, state.dots)?;
                cells.extend(text.chars().map(|c| Cell::Char { c, quoted: false }));
                continue;
            }
            // An empty quoted text still makes a word.
            Piece::Quoted(text) if text.is_empty() => (Value::literal(""), true),
            Piece::Quoted(text) => {
                weight.literal(text, false)?;
                cells.extend(text.chars().map(|c| Cell::Char { c, quoted: true }));
                continue;
            }
            Piece::Either { bash, plain } => {
                let value = Value {
                    choices: vec![Text::plain(bash), Text::plain(plain)],
                    exact: true,
                    ..Value::default()
                };
                (value, true)
            }
            Piece::Parameter(parameter) => {
                // It is copied, and perhaps searched.
                let known = state.variables.get(&parameter.name);
                let bytes: usize = known
                    .iter()
                    .flat_map(|value| &value.choices)
                    .map(|choice| choice.text.len())
                    .sum();
                weight.budget.spend_text(bytes)?;
                let value = value_of(parameter, state, context);
                many = may_be_many(parameter, known, &value);
                (value, parameter.quoted)
            }
            Piece::Command { list, quoted, .. } => {
                let value = constant::place(list, state, context).unwrap_or_else(|| constant::output(list, state));
                many = !quoted && !is_one(&value);
                (value, *quoted)
            }
            Piece::Process { .. } => {
                cells.push(Cell::Process);
                continue;
            }
            Piece::Arithmetic(_) => (Value::computed(), true),
            Piece::Glob { open } => {
                cells.push(Cell::Glob { open: *open });
                continue;
            }
        };
        weight.value(&value)?;
        cells.push(Cell::Value {
            value: Rc::new(value),
            quoted,
            many,
        });
    }
    Ok(cells)
}

/// Whether a parameter may become several words that nobody knows: all parameters or elements, and what the line gave a variable
/// and is not known. Variables of the environment count as the one word that people put into them.
fn may_be_many(parameter: &Parameter, known: Option<&Value>, value: &Value) -> bool {
    let every = |text: &str| text == "@" || (text == "*" && !parameter.quoted);
    // `${#a[@]}` is a number.
    let counts = parameter.operation == Operation::Other;
    let all = every(&parameter.name) && !counts;
    let elements = !counts
        && parameter
            .index
            .as_ref()
            .is_some_and(|index| every(&index.source) || !parameter.quoted);
    let single = value.words == Words::One && value.choices.iter().all(|choice| !choice.glob);
    let split = known.is_some() && !parameter.quoted && !single;
    (all || elements || split) && !is_one(value)
}

/// Whether a value is known, or at most one word of letters without blanks. The name of a file that a pattern stands for may
/// hold blanks.
fn is_one(value: &Value) -> bool {
    let known = value.exact && value.choices.iter().all(|choice| !choice.glob);
    let printed = value.choices.iter().all(|choice| !choice.glob) && value.words == Words::AtMostOne;
    known || printed || (value.digits != Digits::No && value.words == Words::One)
}

/// What a variable is, as far as the line and the context say.
pub(in crate::shell) fn lookup(name: &str, state: &State, context: &ShellContext) -> Value {
    // What the line gave them holds until the shell goes to another folder.
    if matches!(name, "PWD" | "OLDPWD")
        && let Some(given) = state.variables.get(name)
    {
        let mut value = given.clone();
        let was = state.past.previous.as_ref().map(Place::value);
        value.merge(&if name == "PWD" {
            state.here()
        } else {
            was.unwrap_or_default()
        });
        value.exact = false;
        return value;
    }
    if let Some(value) = state.variables.get(name) {
        return value.clone();
    }
    let guess = |text: &str| Value {
        choices: vec![Text::plain(text)],
        ..Value::default()
    };
    match name {
        "HOME" => context
            .home
            .as_ref()
            .map_or_else(Value::unknown, |home| Value::literal(home.as_str())),
        "PWD" => state.here(),
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
        Operation::Default | Operation::Assignment => {
            value.exact = false;
            value.numeric = false;
            value.digits = Digits::No;
            value.words = Words::Any;
            value.hash = false;
            value.choices.extend(operand());
        }
        Operation::Alternative => {
            value = Value {
                choices: operand().into_iter().chain([Text::plain("")]).collect(),
                ..Value::default()
            };
        }
        Operation::Removal(_) if parameter.name == "IFS" => value.exact = false,
        Operation::Removal(removal) => value = removal::apply(&value, removal, &parameter.operand),
        Operation::Substring if parameter.name == "IFS" => value.exact = false,
        Operation::Substring | Operation::Other | Operation::Evaluates => value = Value::unknown(),
    }
    value.trim();
    value
}
