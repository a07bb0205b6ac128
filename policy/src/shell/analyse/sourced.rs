//! When a trap runs, and whether a sourced file leaves the shell where it is.
//!
//! Both are texts that this shell runs itself. What a file of the project does is not looked into here.

use super::{Call, Stdin, Walk, effects};
use crate::AbsPath;
use crate::shell::{
    Access, Command, CommandClass, FileAccess, Word,
    expand::{Field, State},
    reader::{self, Dialect, Read},
    variables,
};

/// Whether a trap runs when the shell ends, and not before.
pub(super) fn only_at_the_end(arguments: &[Field]) -> bool {
    let ends = |field: &Field| {
        let name = field.text().map(str::to_ascii_uppercase);
        name.is_some_and(|name| matches!(name.as_str(), "EXIT" | "SIGEXIT" | "0"))
    };
    match arguments {
        [script, signals @ ..] if script.text().is_none_or(|text| !text.starts_with('-')) => {
            !signals.is_empty() && signals.iter().all(ends)
        }
        _ => false,
    }
}

/// Whether a command is `python -m venv D` and nothing more, and the file is `D/bin/activate`: what is written there is Python's.
fn makes_environment(command: &Command, file: &str, state: &State) -> bool {
    // Which program that is, and what it loads, may be told by a variable.
    if state.variables.keys().any(|name| variables::is_dangerous(name)) {
        return false;
    }
    let words: Option<Vec<&str>> = command.words.iter().map(Word::literal).collect();
    let Some(&[program, "-m", "venv", folder]) = words.as_deref() else {
        return false;
    };
    let version = program.strip_prefix("python3.").unwrap_or("0");
    let python = matches!(program, "python" | "python3") || program.starts_with("python3.");
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    let name = folder.trim_start_matches("./");
    python
        && !version.is_empty()
        && version.chars().all(|c| c.is_ascii_digit())
        && command.assignments.is_empty()
        && !folder.starts_with('-')
        && folder.chars().all(plain)
        && file.trim_start_matches("./").strip_suffix("/bin/activate") == Some(name)
}

impl Walk<'_> {
    /// Whether a sourced file is one of the project that leaves the shell in its folder. What such a file does is not looked
    /// into, as with any script of the project; but the line itself must not have written it (decision 0053). So it must lie
    /// below where the line begins, wherever the shell may be, with nothing behind a pipe beside it, and before it the line only
    /// looks, goes elsewhere, assigns variables and settings of the shell, reads other such files, leaves an environment, or
    /// makes the one that is entered.
    pub(super) fn stays(&mut self, file: Option<&str>, call: &Call<'_>, state: &State, index: usize) -> Read<bool> {
        let Some(file) = file else { return Ok(false) };
        // A name without a slash is sought on the search path.
        let named = file.contains('/') && !file.starts_with(['~', '-']) && !file.split('/').any(|name| name == "..");
        let absolute = file.starts_with('/') && !file.ends_with("/bin/activate");
        let signs = self.analysis.signs;
        if !named || absolute || state.elsewhere || signs.repeats || signs.renames || self.in_front {
            return Ok(false);
        }
        self.budget
            .spend(state.directories.len() + self.analysis.commands.len())?;
        let cwd = &self.context.cwd;
        let inside = |folder: &AbsPath| folder.join(file).is_within(cwd);
        let fed = call.stdin != Stdin::Inherited || call.files.iter().any(|access| access.access == Access::Read);
        if fed || !state.directories.iter().all(inside) {
            return Ok(false);
        }
        let writes = |access: &FileAccess| access.access != Access::Read && !access.goes_nowhere();
        let harmless = |command: &Command| {
            let looks = matches!(
                command.class,
                CommandClass::ReadOnly | CommandClass::ReadOnlyGit | CommandClass::ChangeDirectory
            );
            // `deactivate` is a function of the environment that is left.
            let sets = matches!(
                command.program(),
                None | Some("." | "source" | "set" | "export" | "deactivate")
            ) || command.program() == Some("eval")
                && command.words.iter().all(|word| word.literal().is_some());
            let named = |access: &FileAccess| access.redirection && writes(access);
            let known = looks || sets && (command.program().is_some() || command.words.is_empty());
            known && !command.files.iter().any(writes)
                || makes_environment(command, file, state) && !command.files.iter().any(named)
        };
        // What its own words substitute is run before the file is read.
        let mut before = self.analysis.commands.iter().enumerate();
        let harmless = before.all(|(number, command)| number == index || harmless(command));
        Ok(!call.files.iter().any(writes) && harmless)
    }

    /// Whether `trap` only says what runs when the script ends, and that changes neither directory nor variables for
    /// anything that runs after it. After what runs `at_the_end` nothing does.
    pub(super) fn cleans_up(&mut self, arguments: &[Field], at_the_end: bool) -> Read<bool> {
        let texts: Option<Vec<&str>> = arguments.iter().map(Field::text).collect();
        let Some([script, signals @ ..]) = texts.as_deref() else {
            return Ok(false);
        };
        let ends = |signal: &&str| {
            let name = signal.to_ascii_uppercase();
            let name = name.strip_prefix("SIG").unwrap_or(&name);
            matches!(
                name,
                "EXIT" | "INT" | "TERM" | "HUP" | "QUIT" | "0" | "1" | "2" | "3" | "15"
            )
        };
        if signals.is_empty() || script.starts_with('-') || !signals.iter().all(ends) {
            return Ok(false);
        }
        let (list, fault) = reader::read(script, Dialect::Bash, &mut self.budget);
        let mut effects = effects::Effects::default();
        effects::of_list(&list, &mut effects, &mut self.budget)?;
        self.budget.spend(effects.calls.len())?;
        let calls = effects.calls.iter().any(|name| self.known.names.contains(name));
        Ok(fault.is_none() && (at_the_end || effects.is_empty() && !calls))
    }
}
