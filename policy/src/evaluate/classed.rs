//! What a command is where no rule speaks about it: it looks, changes files, goes elsewhere, or is anything else.
//!
//! The table of modes answers for each; what may stand behind a known name or option is looked at here.

use crate::{
    DecidedBy, Verdict,
    mode::{ActionClass, Answer},
    shell::{Command, CommandClass, Word},
};

use super::{handed, part::Part, ways::Judged, world::World};

impl World<'_> {
    /// What the command is, by the table of known ones.
    pub(super) fn judge_class(
        &self,
        analysis: &Judged,
        index: usize,
        command: &Command,
        program: &str,
        identity: bool,
        subject: String,
    ) -> Part {
        let other = |what: &str, subject: String| Part::by_mode(self, ActionClass::OtherCommand, subject, what);
        // `tee` writes its operands and does nothing else.
        let class = if command.program() == Some("tee") && !command.files.is_empty() {
            CommandClass::FileChange
        } else if (command.program() == Some("tee") && handed::writes_to_devices(command))
            || (command.class == CommandClass::Other && self.only_looks_at_what_it_is_fed(analysis, index, command))
        {
            CommandClass::ReadOnly
        } else if command.class == CommandClass::Other && handed::only_hands_on(command) && !self.escapes(command) {
            // What it runs is judged by itself: an edit of the files that it finds, where it runs one.
            CommandClass::FileChange
        } else {
            command.class
        };
        if class == CommandClass::Other {
            return other(&self.what_it_is(command), subject);
        }
        if identity {
            return other("a command that runs as somebody else, or elsewhere", subject);
        }
        if class == CommandClass::Function && command.assignments_harmless() {
            let why = "it only runs a function of this line, whose commands are judged by themselves";
            return Part::new(subject, Verdict::Allow, DecidedBy::Mode, why);
        }
        if !self.is_system_program(program) {
            let what = "a program that is not known to be the one its name says";
            return other(what, subject);
        }
        if !command.assignments_harmless() {
            return other("a command with variables that can change what it does", subject);
        }
        // Where looking needs an entry in the allowlist, so does going elsewhere.
        let free = self.request.mode.answer(ActionClass::ReadOnlyCommand) == Answer::Allow;
        match class {
            CommandClass::ReadOnly => Part::by_mode(self, ActionClass::ReadOnlyCommand, subject, "it only looks"),
            CommandClass::ReadOnlyGit => {
                if let Some(what) = self.git_runs_others(analysis, index, command) {
                    other(what, subject)
                } else {
                    Part::by_mode(self, ActionClass::ReadOnlyCommand, subject, "it only looks")
                }
            }
            CommandClass::FileChange if !command.files.is_empty() => {
                Part::by_mode(self, ActionClass::FileCommand, subject, "it changes files")
            }
            CommandClass::ChangeDirectory if !free => {
                Part::by_mode(self, ActionClass::ReadOnlyCommand, subject, "it goes to another folder")
            }
            CommandClass::ChangeDirectory => {
                let certain = analysis.goes.get(&index);
                let inside = certain.is_some_and(|folders| folders.iter().all(|folder| self.is_inside(folder)))
                    || analysis
                        .folder_after(index)
                        .is_some_and(|folder| self.is_inside(folder));
                let class = if inside {
                    ActionClass::ReadInside
                } else {
                    ActionClass::ReadOutside
                };
                let what = if inside {
                    "it goes to a folder of the workspace"
                } else {
                    "it leaves the workspace"
                };
                Part::by_mode(self, class, subject, what)
            }
            CommandClass::Wrapper if command.is_plain_wrapper() => Part::new(
                subject,
                Verdict::Allow,
                DecidedBy::Mode,
                "it only runs the commands that are judged by themselves",
            ),
            _ => other("a command", subject),
        }
    }

    /// An option by which it runs something else than the project's own files say; a folder inside the workspace is one of
    /// the project's, however it is named.
    pub(super) fn executing_option(&self, command: &Command) -> Option<&'static str> {
        command.executing_option_but(&|place| self.resolve(place).is_some_and(|path| self.workspace.contains(&path)))
    }

    /// Whether an option runs another program or writes elsewhere, other than one whose program is judged by itself.
    pub(super) fn escapes(&self, command: &Command) -> bool {
        let Some(option) = command.escape_option() else {
            return self.executing_option(command).is_some();
        };
        let runs = matches!(option.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
        let writes = |word: &str| matches!(word, "-delete" | "-fls" | "-files0-from") || word.starts_with("-fprint");
        let mut words = command.words.iter().filter_map(Word::literal);
        command.class != CommandClass::Wrapper
            && !(command.program_name() == Some("find") && runs && !words.any(writes))
    }

    /// What a command that is not known to look is, and why a rule with `*` for its program would not cover it.
    pub(super) fn what_it_is(&self, command: &Command) -> String {
        if !command.assignments_harmless() {
            let names: Vec<&str> = command
                .assignments
                .iter()
                .map(|assignment| assignment.name.as_str())
                .collect();
            return format!(
                "a command with {}, which can change what it does, so a rule has to name it",
                names.join(", ")
            );
        }
        let option = command
            .escape_option()
            .or_else(|| self.executing_option(command).map(str::to_owned));
        match option.filter(|option| self.escapes(command) && option.starts_with('-')) {
            Some(option) => format!("a command with `{option}`, which a rule with `*` does not cover"),
            None => "a command".to_owned(),
        }
    }
}
