//! Files that a line runs after it wrote them: `printf 'git push' > a.sh; sh a.sh`.
//!
//! No rule sees the commands in such a file, so it asks beside a deny on commands. Where nothing of the line went into the file,
//! it is run as any file of the project is: its mode was changed, it is a copy of a file of the workspace, or a compiler made it
//! from such files (`shell::origins`). What the line wrote otherwise is followed through copies and compilers.
//!
//! It does not look into files, and knows only shells and programs that are named by their path.

use std::collections::HashSet;

use crate::{
    AbsPath,
    shell::{
        Access, Analysis, Command, FileAccess, FileTarget, Word,
        origins::{self, Origin},
    },
};

use super::world::World;

/// Programs that run the file they are given as a shell script.
const SHELLS: &[&str] = &[".", "bash", "dash", "ksh", "sh", "source", "zsh"];

/// Most files that are remembered; of more, each may be one.
const MOST_FILES: usize = 256;

/// The files of a line so far that may hold what the line says.
#[derive(Default)]
struct Written {
    files: HashSet<AbsPath>,
    /// Those of them that may be folders: a redirection writes none.
    folders: HashSet<AbsPath>,
    /// There is one, perhaps one of which the name is not known.
    any: bool,
    /// There are more than are remembered.
    many: bool,
}

impl Written {
    /// Whether a file may; what lies in a folder that was written as a whole may, too.
    fn holds(&self, path: &AbsPath) -> bool {
        let mut above = path.parent();
        while let Some(folder) = above.filter(|_| self.any && !self.many) {
            if self.folders.contains(&folder) {
                return true;
            }
            above = folder.parent();
        }
        self.many || self.files.contains(path)
    }

    /// Whether something in a folder may.
    fn holds_below(&self, folder: &AbsPath) -> bool {
        self.many || self.files.iter().any(|file| file.is_within(folder))
    }
}

impl World<'_> {
    /// Commands, by number, that run a file into which the line may have written a command.
    pub(super) fn runs_what_it_wrote(&self, analysis: &Analysis) -> Vec<usize> {
        let mut written = Written::default();
        let mut out = Vec::new();
        for (index, command) in analysis.commands.iter().enumerate() {
            if written.any && self.run_by(command).any(|path| written.holds(&path)) {
                out.push(index);
            }
            self.note(&mut written, analysis, index, command);
        }
        out
    }

    /// The files that a command runs as programs or shell scripts.
    fn run_by<'c>(&'c self, command: &'c Command) -> impl Iterator<Item = AbsPath> + 'c {
        let program = command.program();
        let script = program.filter(|program| program.contains('/'));
        let scripts = command
            .words
            .iter()
            .skip(1)
            .filter_map(Word::literal)
            .filter(move |_| program.is_some_and(|program| SHELLS.contains(&program)));
        script.into_iter().chain(scripts).filter_map(|text| self.resolve(text))
    }

    fn note(&self, written: &mut Written, analysis: &Analysis, index: usize, command: &Command) {
        let writes = |access: &&FileAccess| access.access == Access::Write;
        if !command.files.iter().any(|access| writes(&access)) {
            return;
        }
        let holds = self.holds_text_of_the_line(written, analysis, index, command);
        for access in command
            .files
            .iter()
            .filter(writes)
            .filter(|access| holds || access.redirection)
        {
            match &access.target {
                FileTarget::Path(path) => {
                    written.any = true;
                    written.many |= written.files.len() >= MOST_FILES;
                    if !written.many && !access.redirection {
                        written.folders.insert(path.clone());
                    }
                    if !written.many {
                        written.files.insert(path.clone());
                    }
                }
                FileTarget::Pattern { .. } | FileTarget::Unknown(_) => written.any = true,
            }
        }
    }

    /// Whether something of the line may go into what a command writes.
    fn holds_text_of_the_line(&self, written: &Written, analysis: &Analysis, index: usize, command: &Command) -> bool {
        let reads = || command.files.iter().filter(|access| access.access == Access::Read);
        let inside = |access: &FileAccess| match &access.target {
            FileTarget::Path(path) => self.is_inside(path) && !self.goes_astray(access),
            FileTarget::Pattern { folder, .. } => self.is_inside(folder),
            FileTarget::Unknown(_) => false,
        };
        let noted = |access: &FileAccess| match &access.target {
            FileTarget::Path(path) => written.holds(path),
            _ => written.any,
        };
        // `cp <(…) a.sh`, `cp "$X" a.sh`.
        if command
            .words
            .iter()
            .any(|word| matches!(word, Word::Dynamic { pattern: false, .. }))
        {
            return origins::origin(command) != Some(Origin::Kept);
        }
        match origins::origin(command) {
            Some(Origin::Kept) => false,
            Some(Origin::Copied) => {
                // What lies in a folder may have been written there.
                let folder = |access: &FileAccess| match &access.target {
                    FileTarget::Path(path) => written.holds_below(path),
                    _ => false,
                };
                let known = reads().all(|access| inside(access) && !noted(access) && !folder(access));
                reads().next().is_none() || !known
            }
            Some(Origin::Made) => {
                let fed = analysis.inputs.contains_key(&index)
                    || analysis.pipes.iter().any(|pipe| pipe.to.contains(&index))
                    || command.words.iter().any(|word| word.literal() == Some("-"));
                // Source files name others, so any that the line wrote may be one of them.
                fed || written.any
                    || command.escape_option().is_some()
                    || !reads().all(inside)
                    || self.names_denied_program(command)
            }
            None => true,
        }
    }
}
