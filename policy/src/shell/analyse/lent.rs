//! Folders below the working directory that a variable lends to a program: which values name nothing else, and where the line takes
//! that back. Which programs and variables these are is told by `variables`.

use super::Walk;
use crate::shell::{
    Access, Assignment, Context, FileAccess,
    expand::{State, Text, Value},
    variables,
};

impl Walk<'_> {
    /// Folders that a variable lends to a program are none where its name may be a function by then, or where it may run again
    /// after the line wrote something.
    pub(super) fn take_back_lent(&mut self) {
        let writes = |file: &FileAccess| file.access != Access::Read && !file.variable;
        let mut writers = self.analysis.commands.iter();
        let written = writers.any(|command| command.files.iter().any(writes));
        let mut taken = Vec::new();
        for command in &mut self.analysis.commands {
            let again = |context: &Context| matches!(context, Context::Group(_));
            let other = command.program().is_some_and(|name| self.known.names.contains(name))
                || (written && command.seen_through.iter().any(again));
            let lent = |own: &&mut Assignment| other && own.below && variables::lends(&own.name);
            for assignment in command.assignments.iter_mut().filter(lent) {
                assignment.below = false;
                taken.push((assignment.name.clone(), command.seen_through.clone()));
            }
        }
        for (name, seen) in taken {
            self.seen = seen;
            self.dangerous(&name);
        }
        self.seen.clear();
    }

    /// Whether a value names only folders below the directory where the line begins, and the line wrote nothing there before.
    pub(super) fn is_below(&self, value: &Value, state: &State) -> bool {
        let places = value.exact && !value.choices.is_empty();
        let plain = |text: &Text| !text.glob && state.all_below(&text.text, &self.context.cwd);
        let writes = |file: &FileAccess| file.access != Access::Read && !file.variable;
        places
            && value.choices.iter().all(plain)
            && !self
                .analysis
                .commands
                .iter()
                .any(|command| command.files.iter().any(writes))
    }
}
