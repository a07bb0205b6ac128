//! Whether a part of a script can change the directory or a variable, without walking it.
//!
//! Asked before a loop, whose body may have run already.

use crate::shell::{
    class::base_name,
    reader::{Budget, Read},
    syntax::{Form, List, Node},
};

/// What a part can change.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Effects {
    /// The working directory.
    pub(super) moves: bool,
    /// Variables.
    pub(super) assigns: bool,
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

/// Subshells count too: wider than needed, and simpler. The depth is that of the text, which the reader bounded.
pub(super) fn of_node(node: &Node, effects: &mut Effects, budget: &mut Budget) -> Read<()> {
    budget.spend(1)?;
    match &node.form {
        Form::Simple(simple) => {
            effects.assigns |= simple.words.is_empty() && !simple.assignments.is_empty();
            for word in simple.words.iter().take(4) {
                match word.flat().as_deref().map(base_name) {
                    Some("cd" | "pushd" | "popd" | "chdir") => effects.moves = true,
                    Some(
                        "read" | "export" | "declare" | "typeset" | "local" | "readonly" | "unset" | "mapfile"
                        | "readarray" | "let" | "getopts" | "printf" | "set" | "shift",
                    ) => effects.assigns = true,
                    Some("eval" | "source" | ".") => (effects.moves, effects.assigns) = (true, true),
                    Some(_) => {}
                    None => (effects.moves, effects.assigns) = (true, effects.assigns),
                }
                // Only a wrapper's arguments can be programs; the first word tells whether there may be one.
                if !matches!(
                    word.flat().as_deref(),
                    Some("command" | "builtin" | "exec" | "time" | "-p" | "--")
                ) {
                    break;
                }
            }
        }
        Form::Subshell(list) | Form::Group(list) => of_list(list, effects, budget)?,
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
        Form::For { body, .. } | Form::Count { body, .. } => {
            effects.assigns = true;
            of_list(body, effects, budget)?;
        }
        Form::Case { arms, .. } => {
            for (_, body) in arms {
                of_list(body, effects, budget)?;
            }
        }
        Form::Function { body, .. } | Form::Coprocess(body) => of_node(body, effects, budget)?,
        Form::Arithmetic(_) => effects.assigns = true,
        Form::Test(_) => {}
    }
    Ok(())
}
