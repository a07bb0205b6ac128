//! Other names that a line itself gives to files: `ln -s .git/hooks h && echo x > h/pre-commit`, `mv cfg c && cat c/key`.
//!
//! Where a path really leads is a fact of the host, gathered before the line runs; a link that the line makes is not there
//! yet. So what stands below a new name is judged under the old one too. Only protection and rules count: what the mode
//! says of the place was said where it is named.

use std::collections::HashSet;

use crate::{
    AbsPath, DecidedBy, Verdict,
    mode::ActionClass,
    shell::{Access, Analysis, Command, FileTarget, Word},
};

use super::{files::Cover, part::Part, world::World};

/// Most new names of a line; more than that is no line of a person, and it is said to be unknown.
const MAX_NAMES: usize = 64;
/// Most further names that are judged.
const MAX_JUDGED: usize = 4096;

/// A new name for something.
struct Name {
    /// Where the command stands that gives it.
    command: usize,
    new: AbsPath,
    old: AbsPath,
    /// What is written to the new name is written to the old thing: a link, not a copy.
    shared: bool,
}

impl World<'_> {
    /// What a line does to files under names that it gave them itself.
    pub(super) fn judge_other_names(&self, analysis: &Analysis) -> Vec<Part> {
        let names: Vec<Name> = analysis
            .commands
            .iter()
            .enumerate()
            .flat_map(|(at, command)| names(at, command))
            .collect();
        let mut parts: Vec<Part> = analysis
            .commands
            .iter()
            .filter_map(|command| self.judge_hard_link(command))
            .collect();
        if names.len() > MAX_NAMES {
            parts.push(Part::unknown(
                "the line",
                "it gives more names to files than are followed",
            ));
            return parts;
        }
        let accesses = analysis
            .commands
            .iter()
            .enumerate()
            .flat_map(|(at, command)| command.files.iter().map(move |access| (at, access)));
        for (at, access) in accesses.take(MAX_JUDGED) {
            for name in names.iter().filter(|name| name.command < at) {
                if access.access != Access::Read && !name.shared {
                    continue;
                }
                let part = match &access.target {
                    FileTarget::Path(path) => path
                        .below(&name.new)
                        .map(|rest| self.judge_path(&name.old.join(rest), access.access, Cover::None)),
                    FileTarget::Pattern { folder, pattern } => folder
                        .below(&name.new)
                        .zip(pattern.strip_prefix(name.new.as_str()))
                        .map(|(rest, behind)| {
                            let pattern = format!("{}{behind}", name.old.as_str().trim_end_matches('/'));
                            self.judge_pattern(&name.old.join(rest), &pattern, access.access, false, Cover::None)
                        }),
                    FileTarget::Unknown(_) => None,
                };
                parts.extend(part.filter(|part| {
                    let ours = matches!(
                        part.decided_by,
                        DecidedBy::Protection | DecidedBy::Rule | DecidedBy::Control
                    );
                    ours && part.verdict != Verdict::Allow
                }));
            }
        }
        parts
    }

    /// A hard link to a protected file is that file under a name that nobody guards.
    fn judge_hard_link(&self, command: &Command) -> Option<Part> {
        let linked =
            |letter: char, long: &str| {
                command.words.iter().filter_map(Word::literal).any(|word| {
                    word == long || (word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
                })
            };
        let hard = match command.program_name()? {
            "link" => true,
            "ln" => !linked('s', "--symbolic"),
            "cp" => linked('l', "--link"),
            _ => false,
        };
        if !hard {
            return None;
        }
        let read = command.files.iter().filter(|access| access.access == Access::Read);
        let known = read.filter_map(|access| match &access.target {
            FileTarget::Path(path) => Some(path.clone()),
            _ => None,
        });
        // `link` is in no table of programs.
        let named = command
            .words
            .iter()
            .skip(1)
            .filter(|_| command.program_name() == Some("link"));
        let named = named.filter_map(Word::literal).filter_map(|text| self.resolve(text));
        let entry = known.chain(named).find_map(|path| self.protected(&path))?;
        let what = format!("it gives a protected file a second name: {}", entry.reason);
        Some(Part::by_mode(self, ActionClass::Protected, &command.text, &what))
    }
}

/// The names that a command gives: each target for each source.
fn names(at: usize, command: &Command) -> Vec<Name> {
    let shared = match command.program_name() {
        Some("link" | "ln") => true,
        Some("cp" | "install" | "mv" | "rsync") => false,
        _ => return Vec::new(),
    };
    let paths = |sought: Access| {
        let found = command
            .files
            .iter()
            .filter(move |access| access.access == sought && !access.redirection);
        found.filter_map(|access| match &access.target {
            FileTarget::Path(path) => Some(path.clone()),
            _ => None,
        })
    };
    let mut out = Vec::new();
    let sources: HashSet<String> = paths(Access::Read).map(|old| old.file_name().to_owned()).collect();
    for old in paths(Access::Read) {
        // A source is also a target of `mv` as something deleted, never as something written. What has the name of
        // another source is that one's: `cp a b d` makes `d/a` and `d/b`.
        let others = |new: &AbsPath| sources.contains(new.file_name()) && new.file_name() != old.file_name();
        for new in paths(Access::Write).filter(|new| *new != old && !others(new)) {
            if out.len() > MAX_NAMES {
                return out;
            }
            out.push(Name {
                command: at,
                new,
                old: old.clone(),
                shared,
            });
        }
    }
    out
}
