//! What runs inside words: substitutions, and arithmetic that evaluates a value.

use super::{Value, Walk};
use crate::shell::{
    Access, Command, CommandClass, Context, OpaqueReason, Word,
    expand::State,
    hidden,
    reader::Read,
    syntax::{Arithmetic, Operation, Parameter, Piece, RawWord, Redirect, Simple},
    variables,
};

/// Variables that the shell sets to texts of the line: the last word of the command before, the line itself, its arguments.
const SET_BY_THE_SHELL: &[&str] = &["BASH_ARGV", "BASH_COMMAND", "BASH_EXECUTION_STRING", "MATCH", "_"];

/// Whether what an expression of `[[ x =~ … ]]` matches may hold a command in an index: it has a sign for letters of any kind.
fn matches_freely(pattern: &str) -> bool {
    let plain = pattern.replace("\\.", "").replace("[.", "[");
    let expands = plain.trim_end_matches(['$', ')']).contains(['$', '`']);
    let classes = ["[^", "[:print:]", "[:graph:]", "[:punct:]", "\\S", "\\W", "\\D"];
    expands || plain.contains('.') || classes.iter().any(|class| plain.contains(class))
}

/// Whether an expression that names a variable may run what that holds. The value may be the name of another variable, and so on.
pub(super) fn is_risky(name: &str, state: &State) -> bool {
    let any = || state.variables.values().any(Value::can_evaluate);
    let named = |value: &Value| {
        let mut choices = value.choices.iter();
        choices.any(|choice| choice.text.contains(|c: char| c.is_alphabetic() || c == '_'))
    };
    let value = state.variables.get(name);
    value.is_some_and(|value| value.can_evaluate() || (named(value) && any()))
}

impl Walk<'_> {
    /// Everything that runs inside the words of a simple command.
    pub(super) fn simple_pieces(&mut self, simple: &Simple, redirects: &[Redirect], state: &State) -> Read<()> {
        for assignment in &simple.assignments {
            if let Some(index) = &assignment.index {
                self.arithmetic(index, state, false)?;
            }
            self.raw_word(&assignment.value, state)?;
            for element in &assignment.elements {
                // `a=([index]=value)`
                if element.source.starts_with('[') {
                    self.evaluated(&element.source, state);
                }
                self.raw_word(element, state)?;
            }
        }
        for word in &simple.words {
            self.raw_word(word, state)?;
        }
        for redirect in redirects {
            self.redirect_pieces(redirect, state)?;
        }
        Ok(())
    }

    pub(super) fn redirect_pieces(&mut self, redirect: &Redirect, state: &State) -> Read<()> {
        match redirect {
            Redirect::File { target, .. } => self.raw_word(target, state),
            Redirect::HereString { word, .. } => self.raw_word(word, state),
            Redirect::Here { body, .. } => match body.get() {
                Some(pieces) => self.pieces(pieces, state),
                None => Ok(()),
            },
        }
    }

    pub(super) fn raw_word(&mut self, word: &RawWord, state: &State) -> Read<()> {
        self.pieces(&word.pieces, state)
    }

    fn pieces(&mut self, pieces: &[Piece], state: &State) -> Read<()> {
        for piece in pieces {
            match piece {
                // Between words it would be taken for a blank.
                Piece::Plain(text) if !text.is_ascii() && text.contains(hidden::is_blank) => {
                    self.opaque(text, OpaqueReason::HiddenCharacter);
                }
                Piece::Plain(_) | Piece::Quoted(_) | Piece::Either { .. } | Piece::Glob { .. } => {}
                Piece::Command { list, label, .. } | Piece::Process { list, label } => {
                    // What a process is substituted for runs beside it, and beside others of its kind.
                    let beside = matches!(piece, Piece::Process { .. });
                    let outer = self.in_front;
                    self.in_front |= beside;
                    let first = self.analysis.commands.len();
                    let walked = self.subshell(list, Context::Substitution((*label).to_owned()), state);
                    self.in_front = outer;
                    walked?;
                    let looks = |command: &Command| {
                        matches!(command.class, CommandClass::ReadOnly | CommandClass::ReadOnlyGit)
                            && command.files.iter().all(|file| file.access == Access::Read)
                    };
                    let mut ran = self.analysis.commands.get(first..).unwrap_or_default().iter();
                    self.analysis.signs.repeats |= beside && !ran.all(looks);
                }
                Piece::Arithmetic(arithmetic) => self.arithmetic(arithmetic, state, false)?,
                Piece::Parameter(parameter) => self.parameter(parameter, state)?,
            }
        }
        Ok(())
    }

    fn parameter(&mut self, parameter: &Parameter, state: &State) -> Read<()> {
        if let Some(index) = &parameter.index {
            self.arithmetic(index, state, false)?;
        }
        match parameter.operation {
            Operation::Evaluates => self.opaque(&format!("${{{}…}}", parameter.name), OpaqueReason::DynamicScript),
            Operation::Substring => {
                let mut source = String::new();
                for piece in &parameter.operand {
                    match piece {
                        Piece::Plain(text) | Piece::Quoted(text) => source.push_str(text),
                        Piece::Parameter(inner) => source.push_str(&format!(" ${{{}}} ", inner.name)),
                        _ => {}
                    }
                }
                self.evaluated(&source, state);
            }
            _ => {}
        }
        self.pieces(&parameter.operand, state)
    }

    /// Arithmetic: the substitutions in it, and whether evaluating it can run what a variable holds.
    pub(super) fn arithmetic(&mut self, arithmetic: &Arithmetic, state: &State, clauses: bool) -> Read<()> {
        let source = &arithmetic.source;
        // Not the characters of an expression: bash may have read the text as commands.
        let odd = source.contains(['\n', '\'', '\\']) || (source.contains(';') && !clauses);
        if odd && !source.trim_matches(|c: char| c.is_whitespace()).is_empty() && source.contains([';', '\'', '\\']) {
            self.opaque(source, OpaqueReason::Unparsable);
        }
        let runs = arithmetic
            .pieces
            .iter()
            .any(|piece| matches!(piece, Piece::Command { .. }));
        if runs && source.contains('[') {
            self.opaque(source, OpaqueReason::DynamicScript);
        }
        // `((PATH=1))` sets it.
        let sets = source.contains('=') || source.contains("++") || source.contains("--");
        let mut names = source.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        if sets && names.any(variables::is_dangerous) {
            self.opaque(source, OpaqueReason::DangerousVariable);
        }
        self.evaluated(source, state);
        self.pieces(&arithmetic.pieces, state)
    }

    /// Bash evaluates the value of a variable in arithmetic, `a[$(…)]` in it included.
    pub(super) fn evaluated(&mut self, source: &str, state: &State) {
        let mut names: Vec<&str> = Vec::new();
        let mut rest = source;
        while let Some(start) = rest.find(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '@' | '*')) {
            let (before, from) = rest.split_at_checked(start).unwrap_or_default();
            let mut end = from
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .unwrap_or(from.len());
            // Digits, `@` and `*` are parameters only behind a dollar.
            let parameter = before.ends_with('$') || before.ends_with("${");
            end = end.max(1);
            let (name, after) = from.split_at_checked(end).unwrap_or_default();
            if parameter || name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                names.push(name);
            }
            rest = after;
        }
        self.note_computed(names.iter().copied(), state);
        // What the shell sets itself, or a function of the line.
        let is_set = |name: &str| match name {
            "BASH_REMATCH" => self.matched_freely,
            _ => {
                SET_BY_THE_SHELL.contains(&name)
                    || (!state.variables.contains_key(name) && self.known.evaluating.contains(name))
            }
        };
        if let Some(name) = names.into_iter().find(|name| is_risky(name, state) || is_set(name)) {
            self.opaque(&format!("{source}: {name}"), OpaqueReason::DynamicScript);
        }
    }

    /// Notes the variables of an expression that the line has not set, for they may be by the time this runs, or runs again.
    pub(super) fn note_computed<'n>(&mut self, names: impl Iterator<Item = &'n str>, state: &State) {
        if let Some(computed) = self.computed.last_mut() {
            let unset = names.filter(|name| !state.variables.contains_key(*name));
            computed.extend(unset.map(str::to_owned));
        }
    }

    /// `[[ … ]]`.
    pub(super) fn test(&mut self, words: &[RawWord], state: &State) -> Read<()> {
        let mut shown = vec![Word::Literal("[[".to_owned())];
        let mut text = "[[".to_owned();
        let evaluates = words.iter().any(|word| {
            matches!(
                word.source.as_str(),
                "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "-v"
            )
        });
        for (operator, pattern) in words.iter().zip(words.iter().skip(1)) {
            self.matched_freely |= operator.source == "=~" && matches_freely(&pattern.source);
        }
        for word in words {
            self.budget.spend(1)?;
            shown.push(match word.flat() {
                Some(text) => Word::Literal(text),
                None => Word::Dynamic {
                    source: word.source.clone(),
                    pattern: false,
                },
            });
            text.push(' ');
            text.push_str(&word.source);
            if evaluates {
                if word
                    .flat()
                    .is_some_and(|text| text.contains('[') && text.contains(['$', '`']))
                {
                    self.opaque(&word.source, OpaqueReason::DynamicScript);
                }
                self.evaluated(&word.source, state);
            }
        }
        text.push_str(" ]]");
        shown.push(Word::Literal("]]".to_owned()));
        self.record(Command {
            text,
            assignments: Vec::new(),
            words: shown,
            seen_through: self.seen.clone(),
            files: Vec::new(),
            urls: Vec::new(),
            sockets: Vec::new(),
            class: CommandClass::ReadOnly,
            remote: state.remote,
            told: String::new(),
            named: Vec::new(),
            globs: Vec::new(),
            spelled_out: false,
        })?;
        for word in words {
            self.raw_word(word, state)?;
        }
        Ok(())
    }
}
