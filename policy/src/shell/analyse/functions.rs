//! What functions, aliases and traps of a line do to its shell, wherever they run.
//!
//! A function's body is walked once, where it is defined. What it may do to the folder and to variables is kept, and counts at each
//! call: which function calls which others is not told apart, so any call may do what any function of the line does. What a trap
//! does, or a function that a shell calls by itself, may happen before each command. Where this is found after something was
//! walked that may run later (a loop, another function), the line is walked again with what is known by then.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use super::{Read, State, Stdin, Value, Walk, builtins, effects, excerpt};
use crate::shell::{
    Context, OpaqueReason, expand,
    syntax::{List, Node, RawAssignment, RawWord},
};

/// What a line was seen to define that changes its shell later.
#[derive(Default)]
pub(super) struct Known {
    /// Names of functions and aliases.
    pub(super) names: BTreeSet<String>,
    /// What any of them may do, wherever one of the names is called.
    pub(super) called: effects::Effects,
    /// Values that they were seen to give to variables. Others are possible.
    pub(super) values: BTreeMap<String, Value>,
    /// What traps may do, before each command.
    pub(super) anytime: effects::Effects,
    /// Variables that functions read in expressions, and that they do not set before.
    pub(super) computes: BTreeSet<String>,
    /// The same of traps.
    pub(super) computes_anytime: BTreeSet<String>,
    /// Variables into which a function puts what may run commands in an expression.
    pub(super) evaluating: BTreeSet<String>,
}

/// Whether an assignment puts something into a table of what names mean: in bash, or in zsh, where bash has such names for
/// anything.
pub(super) fn is_table_of_names(assignment: &RawAssignment) -> bool {
    let zsh = matches!(
        assignment.name.as_str(),
        "aliases" | "dis_aliases" | "dis_functions" | "functions" | "galiases" | "saliases"
    );
    matches!(assignment.name.as_str(), "BASH_ALIASES" | "BASH_CMDS") || zsh && assignment.index.is_some()
}

impl Walk<'_> {
    /// Before a loop: what its body does may have been done already by an earlier turn.
    pub(super) fn blur_loop(&mut self, state: &mut State, lists: &[&List]) -> Read<()> {
        self.turned = true;
        let mut effects = effects::Effects::default();
        for list in lists {
            effects::of_list(list, &mut effects, &mut self.budget)?;
        }
        self.apply(&effects, state)
    }

    /// What a part can change, it may have changed, and so may the functions that it calls.
    pub(super) fn apply(&mut self, effects: &effects::Effects, state: &mut State) -> Read<()> {
        self.budget.spend(effects.calls.len())?;
        if effects.calls.iter().any(|name| self.known.names.contains(name)) {
            self.call_function(state)?;
        }
        self.change(effects, state)
    }

    /// Some function of the line was called: by which others it is called in turn is not told apart.
    pub(super) fn call_function(&mut self, state: &mut State) -> Read<()> {
        let computes = std::mem::take(&mut self.known.computes);
        self.note_computed(computes.iter().map(String::as_str), state);
        let checked = self.evaluated_later(&computes, state);
        self.known.computes = computes;
        checked?;
        let called = std::mem::take(&mut self.known.called);
        let changed = self.change(&called, state);
        self.known.called = called;
        changed?;
        for (name, value) in &self.known.values {
            let texts = value.choices.iter().map(|choice| choice.text.len());
            self.budget.spend_text(1 + texts.sum::<usize>())?;
            let mut merged = value.clone();
            merged.numeric = merged.is_numeric();
            if let Some(before) = state.variables.get(name) {
                merged.merge(before);
            }
            merged.exact = false;
            state.set(name, merged, &mut self.budget)?;
        }
        Ok(())
    }

    /// Reads variables in expressions that something names which runs by then: what they hold may run commands.
    pub(super) fn evaluated_later(&mut self, names: &BTreeSet<String>, state: &State) -> Read<()> {
        self.budget.spend(names.len())?;
        let holds = |name: &&String| self.known.evaluating.contains(*name) || super::nested::is_risky(name, state);
        if let Some(name) = names.iter().find(holds) {
            self.opaque(&format!("{name} in an expression"), OpaqueReason::DynamicScript);
        }
        Ok(())
    }

    /// Walks what runs again or later, and gives the variables that it reads in expressions without having set them.
    pub(super) fn noting_expressions<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Read<T>,
    ) -> Read<(T, BTreeSet<String>)> {
        self.computed.push(BTreeSet::new());
        let walked = inner(self);
        let names = self.computed.pop().unwrap_or_default();
        let walked = walked?;
        self.budget.spend(names.len())?;
        if let Some(outer) = self.computed.last_mut() {
            outer.extend(names.iter().cloned());
        }
        Ok((walked, names))
    }

    /// A loop: what a turn leaves in variables is there when the next one reads them in expressions.
    pub(super) fn turns(&mut self, inner: impl FnOnce(&mut Self) -> Read<State>) -> Read<State> {
        let (after, computes) = self.noting_expressions(inner)?;
        self.budget.spend(computes.len())?;
        if let Some(name) = computes.iter().find(|name| super::nested::is_risky(name, &after)) {
            self.opaque(&format!("{name} in an expression"), OpaqueReason::DynamicScript);
        }
        Ok(after)
    }

    /// Gives variables the values that a node gives them by its words: `${x:=y}`.
    pub(super) fn give(&mut self, node: &Node, state: &mut State) -> Read<()> {
        for given in effects::given(node, &mut self.budget)? {
            let name = given.name.as_str();
            let word = RawWord {
                pieces: given.operand.clone(),
                ..RawWord::default()
            };
            let (_, mut value) = expand::assigned(&word, state, self.context, &mut self.budget)?;
            value.numeric = value.is_numeric();
            let sure = std::mem::take(&mut value.exact);
            let known = state.variables.get(name);
            // What it has from elsewhere stays what is known of it, unless the text may run something.
            let plain = value.choices.iter().all(|choice| !choice.text.contains('['));
            if known.is_none() && (value.numeric || (sure && plain)) {
                state.blur_one(name, value.numeric);
                continue;
            }
            if let Some(known) = known {
                let texts = known.choices.iter().map(|choice| choice.text.len());
                self.budget.spend_text(texts.sum())?;
                value.merge(known);
                value.exact = false;
            }
            state.blur_one(name, value.numeric);
            state.set(name, value, &mut self.budget)?;
        }
        Ok(())
    }

    /// A function or an alias of this name does this wherever it is called.
    pub(super) fn define(&mut self, name: &str, effects: &effects::Effects) -> Read<()> {
        self.budget.spend(effects.size())?;
        let grown = self.known.called.merge(effects) | self.known.names.insert(name.to_owned());
        self.outdated |= grown && self.turned;
        self.turned = true;
        Ok(())
    }

    /// What a function or a trap reads in expressions, wherever it runs; `turned`: something was walked before that may run later.
    pub(super) fn computes_later(&mut self, names: BTreeSet<String>, anytime: bool, turned: bool) -> Read<()> {
        self.budget.spend(names.len())?;
        for name in names {
            if anytime {
                self.outdated |= self.known.computes_anytime.insert(name.clone()) && turned;
            }
            self.outdated |= self.known.computes.insert(name) && turned;
        }
        Ok(())
    }

    /// This may happen before each command.
    pub(super) fn happens_anytime(&mut self, effects: &effects::Effects) -> Read<()> {
        self.budget.spend(effects.size())?;
        self.outdated |= self.known.anytime.merge(effects) && self.turned;
        self.turned = true;
        Ok(())
    }

    /// Whether what was walked first could be read otherwise by now.
    pub(super) fn is_outdated(&self) -> bool {
        let nothing = self.known.called.is_empty() && self.known.anytime.is_empty() && self.known.computes.is_empty();
        self.outdated && !nothing
    }

    /// What a part can change, it may have changed.
    fn change(&mut self, effects: &effects::Effects, state: &mut State) -> Read<()> {
        state.elsewhere |= effects.moves;
        if effects.globs {
            state.globs([None::<&str>]);
        }
        self.budget.spend(effects.readonly.len())?;
        state.keep(&effects.readonly);
        if effects.assigns {
            return state.blur(&mut self.budget);
        }
        for (name, numeric) in &effects.names {
            self.budget.spend(1)?;
            state.blur_one(name, *numeric);
        }
        Ok(())
    }

    pub(super) fn function(&mut self, name: &str, body: &Node, state: &mut State) -> Read<()> {
        self.redefines_git |= name == "git";
        if builtins::is_meaningful(name) {
            self.opaque(&format!("{name}()"), OpaqueReason::Redefinition);
        }
        let mut inside = state.clone();
        inside.elsewhere = true;
        inside.blur(&mut self.budget)?;
        inside.forget_parameters(&mut self.budget)?;
        let mut effects = effects::Effects::default();
        effects::of_node(body, &mut effects, &mut self.budget)?;
        let turned = self.turned;
        self.define(name, &effects)?;
        if builtins::runs_by_itself(name) {
            self.happens_anytime(&effects)?;
        }
        let context = Context::Group(format!("{}()", excerpt(name)));
        self.defining.push(name.to_owned());
        let result =
            self.noting_expressions(|walk| walk.inside(context, |walk| walk.node(body, inside, &Stdin::Inherited)));
        self.defining.pop();
        let ((left, _), computes) = result?;
        self.computes_later(computes, builtins::runs_by_itself(name), turned)?;
        for name in effects.names.keys() {
            self.budget.spend(1)?;
            if left.variables.get(name).is_some_and(Value::can_evaluate) {
                self.outdated |= self.known.evaluating.insert(name.clone()) && turned;
            }
            if let Some(value) = left.variables.get(name).filter(|value| !value.choices.is_empty()) {
                let texts = value.choices.iter().map(|choice| choice.text.len());
                self.budget.spend_text(texts.sum())?;
                match self.known.values.get_mut(name) {
                    Some(known) => known.merge(value),
                    None => drop(self.known.values.insert(name.clone(), value.clone())),
                }
            }
        }
        self.budget.spend(state.functions.len())?;
        Rc::make_mut(&mut state.functions).insert(name.to_owned());
        // It runs whenever its name stands somewhere below.
        self.apply(&effects, state)
    }
}
