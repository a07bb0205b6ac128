//! Words that reach another command of the line: through `xargs`, `find -exec`, the parameters of a function.
//!
//! Scripts go the same way: a line can write a file and then run it (`written`), or hand a text to `at`. A command that changes "what
//! comes in" may change any of the words that are sent its way. Only protection and rules
//! count here: what such a command may do otherwise is judged where it stands.

use crate::{
    DecidedBy, Verdict,
    shell::{Access, Analysis, Command, CommandClass, Context, FileAccess, FileTarget, Word},
};

use super::{commands::is_feeder, files::Cover, part::Part, touched::is_search_with_tests, ways::Judged, world::World};

/// Programs that print names they are given.
const PRINTERS: &[&str] = &[
    "dirname", "echo", "find", "gfind", "ls", "printf", "readlink", "realpath",
];
/// Programs that run a text from their input at another time.
const LATER: &[&str] = &["at", "batch", "crontab"];
/// Most words that are looked at; more than that is no line of a person.
const MAX_WORDS: usize = 256;

/// How a command gets the names of the files it changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// From the output of another command.
    Input,
    /// From parameters.
    Parameters,
}

impl World<'_> {
    /// What of the line's words is changed by a command that they are sent to.
    pub(super) fn judge_indirect(&self, analysis: &Judged) -> Vec<Part> {
        let mut parts = Vec::new();
        for (access, way) in changes(analysis) {
            let words = analysis
                .commands
                .iter()
                .filter(|command| sends(analysis, command, way))
                .flat_map(|command| command.words.iter().skip(1).filter_map(Word::literal))
                .filter(|word| !word.starts_with('-'))
                .take(MAX_WORDS);
            if lists_all_here(analysis, way) {
                // In the folder where the line went to, if that is known.
                let part = match analysis.folder_at_the_end(&self.workspace) {
                    Some(folder) => self.judge_path(folder, access, Cover::None),
                    None => self.judge_unknown(".", access, Cover::None),
                };
                let matters = matches!(part.decided_by, DecidedBy::Protection | DecidedBy::Rule);
                parts.extend((part.verdict != Verdict::Allow && matters).then_some(part));
            }
            if way == Way::Input {
                parts.extend(analysis.commands.iter().filter_map(|command| self.judge_found(command)));
                parts.extend(self.judge_listed_patterns(analysis, access));
            }
            for path in words.filter_map(|word| self.resolve(word)) {
                let part = self.judge_path(&path, access, Cover::None);
                let matters = matches!(part.decided_by, DecidedBy::Protection | DecidedBy::Rule);
                if part.verdict != Verdict::Allow && matters {
                    parts.push(part);
                }
            }
        }
        if self.has_path_rules() {
            let astray = analysis.commands.iter().filter(|command| self.sources_outside(command));
            parts.extend(astray.map(|command| {
                let why =
                    "the file that it reads into this shell lies outside of the workspace, and could change the folder";
                Part::unknown(&command.text, why)
            }));
        }
        if self.has_scoped_shell_rule() {
            let mut wrote = self.runs_what_it_wrote(analysis);
            wrote.extend(self.builds_what_it_wrote(analysis));
            wrote.sort_unstable();
            let hidden = analysis
                .commands
                .iter()
                .enumerate()
                .filter(|(index, command)| runs_later(command) || wrote.binary_search(index).is_ok());
            parts.extend(hidden.map(|(_, command)| {
                let why = "it runs a text from this line that is not looked into, and could hide a command that a rule is about";
                Part::unknown(&command.text, why)
            }));
        }
        parts
    }
}

impl World<'_> {
    /// Whether a command reads a file into its shell that looks like one of the project, and by way of a link is none.
    fn sources_outside(&self, command: &Command) -> bool {
        let leads_out = |access: &FileAccess| match &access.target {
            FileTarget::Path(path) => {
                access.access == Access::Read && self.workspace.contains(path) && !self.is_inside(path)
            }
            FileTarget::Pattern { .. } | FileTarget::Unknown(_) => false,
        };
        matches!(command.program(), Some("." | "source")) && command.files.iter().any(leads_out)
    }

    /// Names that a printer of the line makes out of patterns: `ls -d /* | xargs rm`.
    fn judge_listed_patterns(&self, analysis: &Analysis, access: Access) -> Vec<Part> {
        let printers = analysis
            .commands
            .iter()
            .filter(|command| sends(analysis, command, Way::Input));
        let listed = printers
            .flat_map(|command| &command.files)
            .filter(|file| !file.redirection);
        let judged = listed.filter_map(|file| match &file.target {
            FileTarget::Pattern { folder, pattern } => {
                Some(self.judge_pattern(folder, pattern, access, true, Cover::None))
            }
            FileTarget::Path(_) | FileTarget::Unknown(_) => None,
        });
        let matters = |part: &Part| matches!(part.decided_by, DecidedBy::Protection | DecidedBy::Rule);
        judged
            .filter(|part| part.verdict != Verdict::Allow && matters(part))
            .take(MAX_WORDS)
            .collect()
    }
}

/// Whether a program runs its input or a text of the line later: no rule sees the commands in there.
fn runs_later(command: &Command) -> bool {
    let lists = |word: &Word| matches!(word.literal(), Some("-l" | "-q"));
    command.program().is_some_and(|program| LATER.contains(&program)) && !command.words.iter().any(lists)
}

/// Changes of files whose names come from elsewhere in the line, each kind once.
fn changes(analysis: &Analysis) -> Vec<(Access, Way)> {
    let mut out = Vec::new();
    let accesses = analysis
        .commands
        .iter()
        .flat_map(|command| command.files.iter().map(move |access| (command, access)));
    for (command, access) in accesses {
        let FileTarget::Unknown(source) = &access.target else {
            continue;
        };
        let fed = |context: &Context| matches!(context, Context::Changing(label) if is_feeder(label));
        // What a function is given can go by way of its variables, too; inside a script with words from the input it is
        // still the function's.
        let function = |context: &Context| matches!(context, Context::Group(label) if label.ends_with("()"));
        let given = source.contains(|c: char| c.is_ascii_digit() || matches!(c, '@' | '*'));
        let parameters = source.contains('$') && (given || command.seen_through.iter().any(function));
        let input = command.seen_through.iter().any(fed);
        for way in [(Way::Input, input), (Way::Parameters, parameters)] {
            let change = (access.access, way.0);
            if way.1 && access.access != Access::Read && !out.contains(&change) {
                out.push(change);
            }
        }
    }
    out
}

/// Whether all that lies in the working directory is listed and nothing chooses among it: `ls | xargs rm -r`.
fn lists_all_here(analysis: &Analysis, way: Way) -> bool {
    let lists = |command: &Command| {
        matches!(command.program_name(), Some("ls" | "dir"))
            && command
                .words
                .iter()
                .skip(1)
                .all(|word| word.literal().is_some_and(|word| word.starts_with('-')))
    };
    let fed = |command: &Command| {
        let by_feeder = |context: &Context| matches!(context, Context::Changing(label) if is_feeder(label));
        command.seen_through.iter().any(by_feeder) || command.program_name().is_some_and(is_feeder)
    };
    way == Way::Input
        && analysis.commands.iter().any(lists)
        && analysis
            .commands
            .iter()
            .all(|command| lists(command) || fed(command) || command.class == CommandClass::ChangeDirectory)
}

/// Whether a command's words can go that way.
fn sends(analysis: &Analysis, command: &Command, way: Way) -> bool {
    let Some(program) = command.program_name() else {
        return false;
    };
    match way {
        Way::Input => PRINTERS.contains(&program) && !is_search_with_tests(command),
        Way::Parameters => {
            program == "set"
                || analysis
                    .commands
                    .iter()
                    .flat_map(|inner| &inner.seen_through)
                    .any(|context| context.label().strip_suffix("()") == Some(program))
        }
    }
}
