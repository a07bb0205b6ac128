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
    Context, OpaqueReason,
    syntax::{List, Node, RawAssignment},
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
        let called = std::mem::take(&mut self.known.called);
        let changed = self.change(&called, state);
        self.known.called = called;
        changed?;
        for (name, value) in &self.known.values {
            let texts = value.choices.iter().map(|choice| choice.text.len());
            self.budget.spend_text(1 + texts.sum::<usize>())?;
            let mut merged = state.variables.get(name).cloned().unwrap_or_default();
            merged.merge(value);
            merged.exact = false;
            state.set(name, merged, &mut self.budget)?;
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

    /// This may happen before each command.
    pub(super) fn happens_anytime(&mut self, effects: &effects::Effects) -> Read<()> {
        self.budget.spend(effects.size())?;
        self.outdated |= self.known.anytime.merge(effects) && self.turned;
        self.turned = true;
        Ok(())
    }

    /// Whether what was walked first could be read otherwise by now.
    pub(super) fn is_outdated(&self) -> bool {
        let nothing = self.known.called.is_empty() && self.known.anytime.is_empty();
        self.outdated && !nothing
    }

    /// What a part can change, it may have changed.
    fn change(&mut self, effects: &effects::Effects, state: &mut State) -> Read<()> {
        state.elsewhere |= effects.moves;
        if effects.globs {
            state.globs([None::<&str>]);
        }
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
        self.define(name, &effects)?;
        if builtins::runs_by_itself(name) {
            self.happens_anytime(&effects)?;
        }
        let context = Context::Group(format!("{}()", excerpt(name)));
        self.defining.push(name.to_owned());
        let result = self.inside(context, |walk| walk.node(body, inside, &Stdin::Inherited));
        self.defining.pop();
        let (left, _) = result?;
        for name in effects.names.keys() {
            self.budget.spend(1)?;
            if let Some(value) = left.variables.get(name).filter(|value| !value.choices.is_empty()) {
                let texts = value.choices.iter().map(|choice| choice.text.len());
                self.budget.spend_text(texts.sum())?;
                self.known.values.entry(name.clone()).or_default().merge(value);
            }
        }
        self.budget.spend(state.functions.len())?;
        Rc::make_mut(&mut state.functions).insert(name.to_owned());
        // It runs whenever its name stands somewhere below.
        self.apply(&effects, state)
    }
}
