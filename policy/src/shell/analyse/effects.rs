//! Whether a part of a script can change the directory or a variable, without walking it.
//!
//! Asked before a loop, whose body may have run already.

use std::collections::{BTreeMap, BTreeSet};

use crate::shell::{
    class::base_name,
    reader::{Budget, Read},
    syntax::{Arithmetic, Form, List, Node, Operation, Parameter, Piece, RawWord, Redirect, Simple},
};

/// What a part can change.
#[derive(Clone, Debug, Default)]
pub(super) struct Effects {
    /// The working directory.
    pub(super) moves: bool,
    /// Variables that are not known by name.
    pub(super) assigns: bool,
    /// What patterns match.
    pub(super) globs: bool,
    /// Variables, and whether they are assigned numbers only.
    pub(super) names: BTreeMap<String, bool>,
    /// Names of commands, which may be functions of the line.
    pub(super) calls: BTreeSet<String>,
    /// Names that it may make read-only.
    pub(super) readonly: BTreeSet<String>,
}

impl Effects {
    /// Everything.
    pub(super) fn all() -> Self {
        Self {
            moves: true,
            assigns: true,
            globs: true,
            ..Self::default()
        }
    }

    /// Adds those of another part; whether there were any that were not known.
    pub(super) fn merge(&mut self, other: &Self) -> bool {
        let mut grown =
            (other.moves && !self.moves) || (other.assigns && !self.assigns) || (other.globs && !self.globs);
        self.moves |= other.moves;
        self.assigns |= other.assigns;
        self.globs |= other.globs;
        for (name, numeric) in &other.names {
            grown |= self.names.get(name).is_none_or(|known| *known && !numeric);
            self.assign(name, *numeric);
        }
        for name in &other.calls {
            grown |= self.calls.insert(name.clone());
        }
        for name in &other.readonly {
            grown |= self.readonly.insert(name.clone());
        }
        grown
    }

    /// How many names it holds.
    pub(super) fn size(&self) -> usize {
        self.names.len() + self.calls.len() + self.readonly.len()
    }

    /// Nothing, whatever the commands are that it calls.
    pub(super) fn is_empty(&self) -> bool {
        !self.moves && !self.assigns && !self.globs && self.names.is_empty() && self.readonly.is_empty()
    }

    /// A name that is given a value, or that only takes numbers.
    pub(super) fn assign(&mut self, name: &str, numeric: bool) {
        let only = self.names.entry(name.to_owned()).or_insert(true);
        *only &= numeric;
    }

    /// The names behind `local`, `read` and their like: each counts as assigned here, also where it is another one in a function.
    /// Whether all of them are known, and no option says that a name stands for another.
    fn named(&mut self, words: &[RawWord]) -> bool {
        let mut names = vec!["REPLY".to_owned()];
        for word in words {
            let source = word.flat().unwrap_or_else(|| word.source.clone());
            let name = source.split(['=', '[']).next().unwrap_or_default();
            let name = name.strip_suffix('+').unwrap_or(name);
            let option = source.starts_with(['-', '+']) && word.flat().is_some();
            // `read -af`, where the name stands in the word of the option.
            if let Some((_, attached)) = source.split_once('a').filter(|(_, rest)| option && !rest.is_empty()) {
                match crate::shell::reader::is_name(attached) {
                    true => names.push(attached.to_owned()),
                    false => return false,
                }
            }
            if option && !source.contains('n') {
                continue;
            }
            // A prompt or a number is the value of an option.
            let value = word.flat().is_some() && !source.contains(['=', '[']);
            match crate::shell::reader::is_name(name) {
                true => names.push(name.to_owned()),
                false if value && !option => {}
                false => return false,
            }
        }
        for name in names {
            self.assign(&name, false);
        }
        true
    }

    /// Any name in an expression may be assigned a number.
    pub(super) fn compute(&mut self, arithmetic: &Arithmetic) {
        let names = arithmetic
            .source
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        for name in names.filter(|name| crate::shell::reader::is_name(name)) {
            self.assign(name, true);
        }
    }
}

/// What the words of a command assign: `${x:=y}`, `$((x++))`.
pub(super) fn of_words(simple: &Simple, effects: &mut Effects) {
    let values = simple.assignments.iter().map(|assignment| &assignment.value);
    for piece in simple.words.iter().chain(values).flat_map(|word| &word.pieces) {
        match piece {
            Piece::Arithmetic(arithmetic) if arithmetic.source.contains(['=', '+', '-']) => effects.compute(arithmetic),
            _ => {}
        }
    }
}

/// The expansions in the words of a node itself that may give a variable a value, as `${x:=y}` does: in what it is given, in its
/// assignments, expressions, redirections, and inside other expansions. A shell of its own (`$( )`) keeps its own.
pub(super) fn given<'n>(node: &'n Node, budget: &mut Budget) -> Read<Vec<&'n Parameter>> {
    let (mut found, mut words, mut pieces) = (Vec::new(), Vec::new(), Vec::new());
    // The usual command is nothing but plain words.
    if let Form::Simple(simple) = &node.form
        && node.redirects.is_empty()
        && simple.assignments.is_empty()
        && simple.words.iter().all(|word| word.bare().is_some())
    {
        return Ok(found);
    }
    match &node.form {
        Form::Simple(simple) => {
            for assignment in &simple.assignments {
                pieces.extend(assignment.index.as_ref().map(|index| index.pieces.as_slice()));
                words.push(&assignment.value);
                words.extend(&assignment.elements);
            }
            words.extend(&simple.words);
        }
        Form::Test(tested) => words.extend(tested),
        Form::For { words: listed, .. } => words.extend(listed.iter().flatten()),
        Form::Case { subject, arms } => {
            words.push(subject);
            words.extend(arms.iter().flat_map(|(patterns, _)| patterns));
        }
        Form::Arithmetic(arithmetic)
        | Form::Count {
            clauses: arithmetic, ..
        } => pieces.push(&arithmetic.pieces),
        Form::Subshell(_)
        | Form::Group(_)
        | Form::If { .. }
        | Form::While { .. }
        | Form::Function { .. }
        | Form::Coprocess(_) => {}
    }
    for redirect in &node.redirects {
        match redirect {
            Redirect::File { target: word, .. } | Redirect::HereString { word, .. } => words.push(word),
            Redirect::Here { body, .. } => pieces.extend(body.get().map(Vec::as_slice)),
        }
    }
    for word in words {
        given_by(&word.pieces, &mut found, budget)?;
    }
    for pieces in pieces {
        given_by(pieces, &mut found, budget)?;
    }
    Ok(found)
}

fn given_by<'n>(pieces: &'n [Piece], found: &mut Vec<&'n Parameter>, budget: &mut Budget) -> Read<()> {
    for piece in pieces {
        match piece {
            Piece::Parameter(parameter) => {
                budget.spend(1)?;
                if parameter.operation == Operation::Assignment {
                    found.push(parameter);
                }
                if let Some(index) = &parameter.index {
                    given_by(&index.pieces, found, budget)?;
                }
                given_by(&parameter.operand, found, budget)?;
            }
            Piece::Arithmetic(arithmetic) => given_by(&arithmetic.pieces, found, budget)?,
            Piece::Plain(_)
            | Piece::Quoted(_)
            | Piece::Either { .. }
            | Piece::Glob { .. }
            | Piece::Command { .. }
            | Piece::Process { .. } => {}
        }
    }
    Ok(())
}

/// Whether a list may give one of these variables a value.
pub(super) fn may_assign(list: &List, variables: &[&str], budget: &mut Budget) -> Read<bool> {
    let mut effects = Effects::default();
    of_list(list, &mut effects, budget)?;
    Ok(effects.assigns || effects.names.iter().any(|(name, _)| variables.contains(&name.as_str())))
}

/// Whether a list holds nothing but commands, groups and conditions: no shell of its own (`( )`, `$( )`, `<( )`, a coprocess), no
/// function, and no text that a command is given, which could be read into a variable.
pub(super) fn is_flat(list: &List, budget: &mut Budget) -> Read<bool> {
    for item in &list.0 {
        let pipelines = std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline));
        for node in pipelines.flat_map(|pipeline| &pipeline.stages) {
            if !is_flat_node(node, budget)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn is_flat_node(node: &Node, budget: &mut Budget) -> Read<bool> {
    budget.spend(1)?;
    let whole = |word: &RawWord| {
        word.pieces.iter().all(|piece| match piece {
            Piece::Plain(_) | Piece::Quoted(_) | Piece::Either { .. } | Piece::Glob { .. } => true,
            Piece::Parameter(parameter) => parameter.operand.is_empty() && parameter.index.is_none(),
            Piece::Command { .. } | Piece::Process { .. } | Piece::Arithmetic(_) => false,
        })
    };
    let written =
        |redirect: &Redirect| matches!(redirect, Redirect::File { target, stdin: false, .. } if whole(target));
    if !node.redirects.iter().all(written) {
        return Ok(false);
    }
    match &node.form {
        Form::Simple(simple) => Ok(simple.assignments.is_empty() && simple.words.iter().all(whole)),
        Form::Test(words) => Ok(words.iter().all(whole)),
        Form::Group(list) => is_flat(list, budget),
        Form::If { branches, otherwise } => {
            for (condition, body) in branches {
                if !is_flat(condition, budget)? || !is_flat(body, budget)? {
                    return Ok(false);
                }
            }
            otherwise.as_ref().map_or(Ok(true), |body| is_flat(body, budget))
        }
        Form::Subshell(_)
        | Form::While { .. }
        | Form::For { .. }
        | Form::Count { .. }
        | Form::Case { .. }
        | Form::Function { .. }
        | Form::Coprocess(_)
        | Form::Arithmetic(_) => Ok(false),
    }
}

/// The names that a declaration makes read-only: `readonly x=1`, `declare -r x`, `local -r x`.
pub(super) fn made_readonly(name: &str, words: impl Iterator<Item = String>) -> Vec<String> {
    let words: Vec<String> = words.collect();
    let option = |word: &String| word.starts_with('-');
    let letter = || words.iter().any(|word| option(word) && word.contains('r'));
    let declares = match name {
        "readonly" => true,
        "declare" | "typeset" | "local" | "export" => letter(),
        _ => false,
    };
    let names = words.iter().filter(|word| declares && !option(word));
    let names = names.filter_map(|word| word.split(['=', '[', '+']).next());
    names
        .filter(|name| crate::shell::reader::is_name(name))
        .map(str::to_owned)
        .collect()
}

pub(super) fn of_list(list: &List, effects: &mut Effects, budget: &mut Budget) -> Read<()> {
    for item in &list.0 {
        let pipelines = std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline));
        for node in pipelines.flat_map(|pipeline| &pipeline.stages) {
            of_node(node, effects, budget)?;
        }
    }
    Ok(())
}

/// What a subshell changes is lost with it. The depth is that of the text, which the reader bounded.
pub(super) fn of_node(node: &Node, effects: &mut Effects, budget: &mut Budget) -> Read<()> {
    budget.spend(1)?;
    for given in given(node, budget)? {
        effects.assign(&given.name, false);
    }
    match &node.form {
        Form::Simple(simple) => {
            let assignments = simple.assignments.iter().filter(|_| simple.words.is_empty());
            for assignment in assignments {
                let numeric = match assignment.value.pieces.as_slice() {
                    [Piece::Arithmetic(_)] => true,
                    [Piece::Plain(text)] => text.parse::<i64>().is_ok(),
                    _ => false,
                };
                effects.assign(&assignment.name, numeric && !assignment.partial);
            }
            of_words(simple, effects);
            for (at, word) in simple.words.iter().enumerate() {
                budget.spend(1)?;
                let name = word.flat();
                if at > 0 && name.as_deref().is_some_and(|name| name.starts_with('-')) {
                    continue;
                }
                if let Some(name) = &name {
                    effects.calls.insert(base_name(name).to_owned());
                }
                let behind = simple.words.get(at + 1..).unwrap_or_default();
                if let Some(name) = name.as_deref().map(base_name) {
                    let words = behind
                        .iter()
                        .map(|word| word.flat().unwrap_or_else(|| word.source.clone()));
                    effects.readonly.extend(made_readonly(name, words));
                }
                match name.as_deref().map(base_name) {
                    Some("printf")
                        if behind
                            .first()
                            .and_then(RawWord::flat)
                            .is_some_and(|word| !word.starts_with('-')) => {}
                    Some("export" | "declare" | "typeset" | "local" | "readonly" | "unset" | "read")
                        if effects.named(behind) => {}
                    Some("cd" | "pushd" | "popd" | "chdir") => effects.moves = true,
                    Some(
                        "read" | "export" | "declare" | "typeset" | "local" | "readonly" | "unset" | "mapfile"
                        | "readarray" | "let" | "getopts" | "printf" | "set" | "shift",
                    ) => effects.assigns = true,
                    Some("eval" | "source" | ".") => {
                        (effects.moves, effects.assigns, effects.globs) = (true, true, true);
                    }
                    // `wait -p f`, `wait -pf`
                    Some("wait") => {
                        let names = |word: &RawWord| word.flat().is_none_or(|text| text.starts_with('-'));
                        effects.assigns |= behind.iter().any(names);
                    }
                    Some("shopt" | "setopt") => effects.globs = true,
                    Some(_) => {}
                    None => (effects.moves, effects.assigns) = (true, effects.assigns),
                }
                // Only what stands behind words that run a builtin in this shell can be one; `-`, `noglob` and `nocorrect` are
                // zsh's.
                if !matches!(
                    name.as_deref(),
                    Some("command" | "builtin" | "exec" | "time" | "noglob" | "nocorrect" | "-")
                ) {
                    break;
                }
            }
        }
        Form::Subshell(_) => {}
        Form::Group(list) => of_list(list, effects, budget)?,
        Form::If { branches, otherwise } => {
            for (condition, body) in branches {
                of_list(condition, effects, budget)?;
                of_list(body, effects, budget)?;
            }
            if let Some(body) = otherwise {
                of_list(body, effects, budget)?;
            }
        }
        Form::While { condition, body } => {
            of_list(condition, effects, budget)?;
            of_list(body, effects, budget)?;
        }
        Form::For { variable, body, .. } => {
            effects.assign(variable, false);
            of_list(body, effects, budget)?;
        }
        Form::Count { clauses, body } => {
            effects.compute(clauses);
            of_list(body, effects, budget)?;
        }
        Form::Case { arms, .. } => {
            for (_, body) in arms {
                of_list(body, effects, budget)?;
            }
        }
        Form::Function { body, .. } | Form::Coprocess(body) => of_node(body, effects, budget)?,
        Form::Arithmetic(arithmetic) => effects.compute(arithmetic),
        Form::Test(_) => {}
    }
    Ok(())
}
