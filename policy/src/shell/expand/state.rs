//! What is known of the shell where a word is expanded: its directories, functions and variables, and what these may hold.
//!
//! A variable rarely has one certain value, so it holds the texts that it may have; what cannot be listed is unknown. Expanding
//! words with them is the parent module's business.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use super::{AbsPath, Budget, CANDIDATES, Read, ShellContext};
use crate::shell::{Signs, variables};

/// Variables to which the shell gives texts of its own, whatever the line gives them: the last word of the command before, the
/// command, what an expression matched, where it is called from.
const SET_BY_THE_SHELL: &[&str] = &[
    "_",
    "BASH_ARGC",
    "BASH_ARGV",
    "BASH_COMMAND",
    "BASH_EXECUTION_STRING",
    "BASH_REMATCH",
    "DIRSTACK",
    "FUNCNAME",
    "MATCH",
    "PIPESTATUS",
];

/// Directories that the shell may have been in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::shell) struct Place {
    pub(in crate::shell) directories: Vec<AbsPath>,
    pub(in crate::shell) elsewhere: bool,
}

impl Place {
    /// What a variable holds that names it.
    pub(in crate::shell) fn value(&self) -> Value {
        Value {
            choices: self.directories.iter().map(|path| Text::plain(path.as_str())).collect(),
            exact: !self.elsewhere,
            ..Value::default()
        }
    }
}

/// Where the shell was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::shell) struct Past {
    /// Where `cd -` leads: the directories before the last change; `None` is not known.
    pub(in crate::shell) previous: Option<Place>,
    /// What `pushd` put away on this line, in its order.
    pub(in crate::shell) pushed: Vec<Place>,
}

/// What the shell knows at a point of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::shell) struct State {
    /// Directories it may be in.
    pub(in crate::shell) directories: Vec<AbsPath>,
    /// It may also be in another one.
    pub(in crate::shell) elsewhere: bool,
    /// Where it came from. Shared, for a state is copied at every step of the nesting.
    pub(in crate::shell) past: Rc<Past>,
    /// A wildcard may match a dot at the beginning of a name: `dotglob`.
    pub(in crate::shell) dots: bool,
    /// A pattern may match names in other letters: `nocaseglob`.
    pub(in crate::shell) any_case: bool,
    /// The shell may be one that knows less than bash.
    pub(in crate::shell) plain: bool,
    /// On another machine, or in a container: its files are not ours.
    pub(in crate::shell) remote: bool,
    /// Functions that were defined, whichever way was taken.
    pub(in crate::shell) functions: Rc<BTreeSet<String>>,
    /// Variables set on this line.
    pub(in crate::shell) variables: Rc<BTreeMap<String, Value>>,
    /// Those that may be read-only: an assignment may leave them what they are.
    pub(in crate::shell) readonly: Rc<BTreeSet<String>>,
    /// A file of commands was read: any name may be a function by now.
    pub(in crate::shell) sourced: bool,
    /// The work tree of git around the directory where the line begins, if it is known.
    pub(in crate::shell) toplevel: Option<Rc<AbsPath>>,
    /// What the text of the line says, and what was seen to rename something.
    pub(in crate::shell) signs: Signs,
}

impl State {
    pub(in crate::shell) fn new(context: &ShellContext) -> Self {
        Self {
            directories: vec![context.cwd.clone()],
            elsewhere: false,
            past: Rc::default(),
            dots: false,
            any_case: false,
            plain: false,
            remote: false,
            functions: Rc::default(),
            variables: Rc::default(),
            readonly: Rc::default(),
            sourced: false,
            toplevel: None,
            signs: Signs::default(),
        }
    }

    /// Where it is.
    pub(in crate::shell) fn place(&self) -> Place {
        Place {
            directories: self.directories.clone(),
            elsewhere: self.elsewhere,
        }
    }

    /// What `$PWD` is.
    pub(in crate::shell) fn here(&self) -> Value {
        self.place().value()
    }

    /// Whether a list of folders (`a:b`) names nothing but places below a directory, wherever the shell is, and no name can mean
    /// something else by now.
    pub(in crate::shell) fn all_below(&self, list: &str, root: &AbsPath) -> bool {
        let known = !self.elsewhere && !self.remote && !self.sourced;
        let here = self.directories.iter().all(|directory| directory.is_within(root));
        let own = |path: &str| {
            let rest = path.strip_prefix(root.as_str()).filter(|_| root.as_str() != "/");
            match rest.map(|rest| rest.strip_prefix('/').unwrap_or(rest)) {
                Some("") => true,
                Some(rest) => path.len() > root.as_str().len() + rest.len() && variables::is_below(rest),
                None => variables::is_below(path),
            }
        };
        known && here && list.split(':').all(own)
    }

    /// Sets a variable.
    pub(in crate::shell) fn set(&mut self, name: &str, value: Value, budget: &mut Budget) -> Read<()> {
        if Rc::strong_count(&self.variables) > 1 {
            budget.spend(self.variables.len())?;
        }
        // Whatever it holds, it makes wildcards match dots.
        self.dots |= name == "GLOBIGNORE";
        // It does not stay what the line says.
        let mut value = if SET_BY_THE_SHELL.contains(&name) {
            Value::unknown()
        } else {
            value
        };
        // It keeps what it has, and the shell goes on.
        if self.readonly.contains(name) {
            let before = self.variables.get(name).cloned().unwrap_or_default();
            budget.spend_text(before.choices.iter().map(|choice| choice.text.len()).sum())?;
            value.merge(&before);
            value.exact = false;
        }
        Rc::make_mut(&mut self.variables).insert(name.to_owned(), value);
        Ok(())
    }

    /// Variables may be read-only from here on.
    pub(in crate::shell) fn keep<'n>(&mut self, names: impl IntoIterator<Item = &'n String>) {
        for name in names {
            if !self.readonly.contains(name) {
                Rc::make_mut(&mut self.readonly).insert(name.clone());
            }
        }
    }

    /// Every variable may have another value by now.
    pub(in crate::shell) fn blur(&mut self, budget: &mut Budget) -> Read<()> {
        budget.spend(self.variables.len())?;
        self.past = Rc::default();
        for value in Rc::make_mut(&mut self.variables).values_mut() {
            value.exact = false;
            value.numeric = false;
            value.digits = Digits::No;
            value.words = Words::Any;
            value.hash = false;
        }
        Ok(())
    }

    /// The positional parameters are anything.
    pub(in crate::shell) fn forget_parameters(&mut self, budget: &mut Budget) -> Read<()> {
        for name in ["1", "2", "3", "4", "5", "6", "7", "8", "9", "@", "*"] {
            self.set(name, Value::unknown(), budget)?;
        }
        Ok(())
    }

    /// Whether a program may be another one than its name says: a function, or an alias.
    pub(in crate::shell) fn may_be_another(&self) -> bool {
        self.sourced || self.signs.renames || !self.functions.is_empty()
    }

    /// The variable may have been assigned again; to a number only, or to anything.
    pub(in crate::shell) fn blur_one(&mut self, name: &str, numeric: bool) {
        if matches!(name, "OLDPWD" | "DIRSTACK") {
            self.past = Rc::default();
        }
        // What they hold, or do when they are set, counts before the line gives them a value.
        if matches!(name, "HOME" | "PWD" | "CDPATH" | "IFS") && !self.variables.contains_key(name) {
            Rc::make_mut(&mut self.variables).insert(name.to_owned(), Value::unknown());
        }
        self.dots |= name == "GLOBIGNORE";
        let renamed = self.may_be_another();
        if let Some(value) = Rc::make_mut(&mut self.variables).get_mut(name) {
            // What is assigned may be printed by what is no longer the program of its name.
            let sure = numeric && !renamed && value.sure_digits() != Digits::No;
            value.digits = if sure { Digits::Whole } else { Digits::No };
            value.numeric = numeric && value.is_numeric();
            // What an expression gives is one number.
            value.words = if numeric { value.sure_words() } else { Words::Any };
            value.exact = false;
            value.hash = false;
        }
    }

    /// Options of the shell were changed, among them perhaps what its patterns match; `None` is a word that is not known.
    pub(in crate::shell) fn globs(&mut self, names: impl IntoIterator<Item = Option<impl AsRef<str>>>) {
        for name in names {
            let name = name.as_ref().map(AsRef::as_ref);
            self.dots |= name.is_none_or(|name| name == "dotglob");
            self.any_case |= name.is_none_or(|name| name == "nocaseglob");
        }
    }

    /// What holds after one of two ways was taken.
    pub(in crate::shell) fn either(mut self, other: Self, budget: &mut Budget) -> Read<Self> {
        if self == other {
            return Ok(self);
        }
        for directory in other.directories {
            if !self.directories.contains(&directory) {
                self.directories.push(directory);
            }
        }
        self.elsewhere |= other.elsewhere;
        if !Rc::ptr_eq(&self.past, &other.past) && self.past != other.past {
            let previous = self
                .past
                .previous
                .clone()
                .filter(|_| self.past.previous == other.past.previous);
            self.past = Rc::new(Past {
                previous,
                pushed: Vec::new(),
            });
        }
        self.dots |= other.dots;
        self.any_case |= other.any_case;
        self.sourced |= other.sourced;
        self.signs = self.signs.or(other.signs);
        if self.toplevel != other.toplevel {
            self.toplevel = None;
        }
        if self.directories.len() > CANDIDATES {
            self.directories.truncate(CANDIDATES);
            self.elsewhere = true;
        }
        if self.functions != other.functions {
            budget.spend(self.functions.len())?;
            let both = self.functions.intersection(&other.functions).cloned().collect();
            self.functions = Rc::new(both);
        }
        if !Rc::ptr_eq(&self.readonly, &other.readonly) {
            budget.spend(other.readonly.len())?;
            self.keep(other.readonly.iter());
        }
        if !Rc::ptr_eq(&self.variables, &other.variables) && self.variables != other.variables {
            budget.spend(self.variables.len() + other.variables.len())?;
            let mut merged = BTreeMap::clone(&self.variables);
            for (name, value) in merged.iter_mut() {
                match other.variables.get(name) {
                    Some(there) => value.merge(there),
                    None => {
                        value.numeric = value.is_numeric();
                        (value.exact, value.hash) = (false, false);
                        (value.digits, value.words) = (Digits::No, Words::Any);
                    }
                }
            }
            for (name, value) in other.variables.iter() {
                merged.entry(name.clone()).or_insert_with(|| Value {
                    numeric: value.is_numeric(),
                    exact: false,
                    hash: false,
                    digits: Digits::No,
                    words: Words::Any,
                    ..value.clone()
                });
            }
            self.variables = Rc::new(merged);
        }
        Ok(self)
    }
}

/// What a variable may hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::shell) struct Value {
    pub(in crate::shell) choices: Vec<Text>,
    /// The choices are all there are.
    pub(in crate::shell) exact: bool,
    /// Whatever it holds is a number: the result of arithmetic.
    pub(in crate::shell) numeric: bool,
    /// Whether it surely is one, for a name or an option: a function that is called as the program that counts prints anything.
    pub(in crate::shell) digits: Digits,
    /// Whatever it holds are names of git's objects in hexadecimal digits, with blanks between them, or nothing.
    pub(in crate::shell) hash: bool,
    /// How many words it is without quotes.
    pub(in crate::shell) words: Words,
}

/// How many words a value is where no quotes stand around it, from the least that is known to the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::shell) enum Words {
    /// Nobody knows.
    #[default]
    Any,
    /// One or none: a program that prints one may fail.
    AtMostOne,
    /// One: an expression gave it, or a loop.
    One,
}

/// Whether a value is a number, from the least that is known to the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::shell) enum Digits {
    /// Not for sure.
    #[default]
    No,
    /// Any.
    Whole,
    /// Without a sign.
    Natural,
}

/// A text, or a glob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::shell) struct Text {
    /// With `glob`, a backslash stands before each character that is meant literally but looks like a wildcard.
    pub(in crate::shell) text: String,
    pub(in crate::shell) glob: bool,
}

impl Text {
    /// Makes each letter of a name with wildcards match any: it may be written otherwise.
    pub(super) fn forget_case(&mut self) {
        if !self.glob {
            return;
        }
        let segments: Vec<String> = self.text.split('/').map(any_case).collect();
        self.text = segments.join("/");
    }

    pub(in crate::shell) fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            glob: false,
        }
    }
}

/// A segment of a pattern with `?` for each letter, if it holds a wildcard.
fn any_case(segment: &str) -> String {
    if !segment.contains(['*', '?']) {
        return segment.to_owned();
    }
    let mut out = String::new();
    let mut escaped = false;
    for c in segment.chars() {
        out.push(if c.is_alphabetic() && !escaped { '?' } else { c });
        escaped = c == '\\' && !escaped;
    }
    out
}

impl Value {
    pub(in crate::shell) fn literal(text: impl Into<String>) -> Self {
        Self {
            choices: vec![Text::plain(text)],
            exact: true,
            numeric: false,
            digits: Digits::No,
            hash: false,
            words: Words::Any,
        }
    }

    /// What an expression gives: one number that is not known.
    pub(in crate::shell) fn computed() -> Self {
        Self {
            numeric: true,
            digits: Digits::Whole,
            words: Words::One,
            ..Self::default()
        }
    }

    /// Whether it is a number in any case.
    pub(in crate::shell) fn is_numeric(&self) -> bool {
        let number = |choice: &Text| choice.text.parse::<i64>().is_ok();
        self.numeric || (self.exact && self.choices.iter().all(number))
    }

    /// Whether it surely is a number, of what is known and of what is not.
    fn sure_digits(&self) -> Digits {
        let of = |choice: &Text| match choice.text.parse::<i64>() {
            _ if choice.glob => Digits::No,
            Ok(number) if number >= 0 && choice.text.starts_with(|c: char| c.is_ascii_digit()) => Digits::Natural,
            Ok(_) => Digits::Whole,
            Err(_) => Digits::No,
        };
        match self.exact {
            true => self.choices.iter().map(of).min().unwrap_or(Digits::No),
            false => self.digits,
        }
    }

    /// How many words it surely is, of what is known and of what is not.
    pub(in crate::shell) fn sure_words(&self) -> Words {
        let of = |choice: &Text| {
            let mut words = choice.text.split([' ', '\t', '\n']).filter(|word| !word.is_empty());
            match (words.next(), words.next()) {
                _ if choice.glob || choice.text.contains(['*', '?', '[']) => Words::Any,
                (Some(_), None) => Words::One,
                (None, _) => Words::AtMostOne,
                (Some(_), Some(_)) => Words::Any,
            }
        };
        match self.exact {
            true => self.choices.iter().map(of).min().unwrap_or(self.words),
            false => self.words,
        }
    }

    /// A text that is not known.
    pub(in crate::shell) fn unknown() -> Self {
        Self::default()
    }

    pub(in crate::shell) fn merge(&mut self, other: &Self) {
        self.digits = self.sure_digits().min(other.sure_digits());
        self.words = self.sure_words().min(other.sure_words());
        self.numeric = self.is_numeric() && other.is_numeric();
        self.exact &= other.exact;
        self.hash &= other.hash;
        for choice in &other.choices {
            if !self.choices.contains(choice) {
                self.choices.push(choice.clone());
            }
        }
        self.trim();
    }

    pub(super) fn trim(&mut self) {
        if self.choices.len() > CANDIDATES {
            self.choices.truncate(CANDIDATES);
            self.exact = false;
        }
    }

    /// Whether arithmetic on it can run commands: bash evaluates `a[$(…)]` in a value.
    pub(in crate::shell) fn can_evaluate(&self) -> bool {
        if self.numeric {
            return false;
        }
        !self.exact
            || self
                .choices
                .iter()
                .any(|choice| choice.glob || choice.text.contains('['))
    }
}
