//! Where the names come from that a command is run on: `git ls-files | xargs wc -l`, `cat list | xargs rm -rf`.
//!
//! What a program prints could be any name. Listings of names are known to print only names below the places that they look
//! at, and some filters pass on whole lines; where all that is in front of the pipe is such, what is fed lies inside, and a
//! program that reads it reads there. A program that removes whole folders by names that could be any asks: one of them may be
//! a folder that nobody means.
//!
//! Rules on files do not come here: a name that is not known could be a case for each of them.

use crate::{
    AbsPath, DecidedBy, Verdict,
    mode::ActionClass,
    protected,
    shell::{
        self, Access, Analysis, Command, CommandClass, Context, FileAccess, FileTarget, Limits, ShellContext, Word,
        quote,
    },
};

use super::{commands::is_feeder, part::Part, ways::Judged, world::World};

/// How far a listing that is fed by another one is followed.
const MOST_STEPS: usize = 3;

/// What places a listing may look at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Allowed {
    /// Of the workspace.
    Inside,
    /// The same, and others whose contents may go as long as they do not go as a whole.
    NotCritical,
}

/// Whether a command of the line changes files whose names it is given.
pub(super) fn changes_what_it_is_fed(analysis: &Analysis) -> bool {
    let changes =
        |access: &FileAccess| access.access != Access::Read && matches!(access.target, FileTarget::Unknown(_));
    let mut commands = analysis.commands.iter();
    commands.any(|command| feeder(command).is_some() && command.files.iter().any(changes))
}

/// Whether a command is run on names from elsewhere.
pub(super) fn has_feeder(command: &Command) -> bool {
    feeder(command).is_some()
}

/// The label of what runs a command on names from elsewhere.
pub(super) fn feeder(command: &Command) -> Option<&str> {
    let mut labels = command.seen_through.iter().rev().filter_map(|context| match context {
        Context::Changing(label) => Some(label.as_str()),
        _ => None,
    });
    labels.next().filter(|label| is_feeder(label))
}

fn first(label: &str) -> &str {
    let word = label.split_whitespace().next().unwrap_or_default();
    word.rsplit('/').next().unwrap_or_default()
}

/// Whether a file of a command is a name that it is fed, without anything around it that could lead elsewhere.
pub(super) fn is_fed_name(access: &FileAccess) -> bool {
    let FileTarget::Unknown(source) = &access.target else {
        return false;
    };
    !access.redirection && is_fed(source)
}

/// Whether a word stands for names that a command is fed, and for nothing around them.
pub(super) fn is_fed(source: &str) -> bool {
    let source = source.trim_matches(['"', '\'']);
    let marker = source.len() <= 8
        && source
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '{' | '}' | '%' | '@' | '_'));
    marker
        || matches!(
            source,
            "words from the input" | "names from the input" | "a file that was found"
        )
}

/// Names that stand in for fed ones.
const STAND_INS: [&str; 3] = ["./fed-1", "./fed-2", "./fed-3"];

/// The command that a fed one becomes for some names that are surely files; `None` if other words of it are not known, or a
/// name is the value of an option.
fn with_files(command: &Command, names: &[&str]) -> Option<String> {
    let mut words: Vec<&str> = Vec::new();
    for word in &command.words {
        match word {
            Word::Literal(text) => words.push(text),
            Word::Dynamic { source, .. } => {
                let of_option = words
                    .last()
                    .is_none_or(|before| before.starts_with('-') && *before != "--");
                if !is_fed(source) || of_option {
                    return None;
                }
                words.extend(names);
            }
        }
    }
    Some(quote(&words))
}

/// Whether all options of a command are among these; letters may be joined.
fn only_options(command: &Command, letters: &str, long: &[&str]) -> bool {
    command.words.iter().skip(1).all(|word| match word.literal() {
        None => false,
        Some(text) => match text.strip_prefix('-') {
            Some(rest) if rest.starts_with('-') => long.contains(&text),
            Some(rest) => rest.chars().all(|c| letters.contains(c)),
            None => true,
        },
    })
}

fn has_letter(command: &Command, letter: char) -> bool {
    let mut words = command.words.iter().skip(1).filter_map(Word::literal);
    words.any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
}

fn has_word(command: &Command, words: &[&str]) -> bool {
    let mut own = command.words.iter().skip(1).filter_map(Word::literal);
    own.any(|word| words.contains(&word))
}

/// Whether a command passes on whole lines of its input, and nothing else.
pub(super) fn passes_on(command: &Command) -> bool {
    if !command.files.is_empty() {
        return false;
    }
    match command.program_name() {
        Some("sort" | "uniq" | "tac" | "shuf" | "cat") => only_options(command, "urVnzf", &["--unique", "--reverse"]),
        Some("head" | "tail") => only_options(command, "n0123456789", &[]),
        Some("grep" | "egrep" | "fgrep") => only_options(command, "vEiFPwxze", &["--invert-match", "--ignore-case"]),
        Some("tr") => command
            .words
            .iter()
            .skip(1)
            .all(|word| matches!(word.literal(), Some("\\n" | "\\0" | "\\000"))),
        Some("xargs") => true,
        _ => false,
    }
}

impl World<'_> {
    fn may_look_at(&self, path: &AbsPath, allowed: Allowed) -> bool {
        let of_old_things = path.as_str() == "/tmp" || !protected::is_critical(path, &self.workspace);
        self.is_inside(path) || (allowed == Allowed::NotCritical && of_old_things)
    }

    /// Whether all files that a command reads lie where they may.
    fn looks_only_at(&self, command: &Command, allowed: Allowed) -> bool {
        !command.files.is_empty()
            && command.files.iter().all(|access| match &access.target {
                FileTarget::Path(path) => self.may_look_at(path, allowed),
                FileTarget::Pattern { folder, .. } => self.may_look_at(folder, allowed),
                FileTarget::Unknown(_) => false,
            })
    }

    /// Whether a command only prints names that lie below the places it looks at.
    fn lists(&self, analysis: &Judged, index: usize, command: &Command, allowed: Allowed, steps: usize) -> bool {
        let here = |word: &Word| {
            word.literal().is_some_and(|text| {
                !text.starts_with(['/', '~']) && !text.split('/').any(|name| name == "..") && !text.contains("=/")
            })
        };
        match command.program_name() {
            Some("find" | "gfind") => {
                self.looks_only_at(command, allowed)
                    && !has_word(command, &["-L", "-follow", "-printf", "-files0-from"])
            }
            Some("git") => {
                let verb = command.words.get(1).and_then(Word::literal);
                let names = || has_word(command, &["--name-only"]);
                matches!(command.class, CommandClass::ReadOnlyGit | CommandClass::ReadOnly)
                    && command.words.iter().skip(1).all(here)
                    && (verb == Some("ls-files") && !has_letter(command, 's')
                        || (matches!(verb, Some("diff" | "ls-tree")) && names()))
            }
            Some("grep" | "egrep" | "fgrep" | "rg") => {
                let long = ["--files-with-matches", "--files-without-match", "--files"];
                let names = has_letter(command, 'l') || has_letter(command, 'L') || has_word(command, &long);
                let fed = steps > 0
                    && feeder(command).is_some()
                    && command.files.iter().all(is_fed_name)
                    && self.fed_from(analysis, index, command, allowed, steps - 1);
                names && (fed || self.looks_only_at(command, allowed))
            }
            Some("fd" | "fdfind") => {
                let elsewhere = [
                    "-L",
                    "--follow",
                    "--base-directory",
                    "--search-path",
                    "-x",
                    "-X",
                    "--exec",
                ];
                command.words.iter().skip(1).all(here) && !has_word(command, &elsewhere)
            }
            // `-a` and `-f` print `..`, too.
            Some("ls") => {
                self.looks_only_at(command, allowed)
                    && !has_letter(command, 'a')
                    && !has_letter(command, 'f')
                    && !has_word(command, &["--all"])
            }
            _ => false,
        }
    }

    /// Whether a command only prints names of files of the workspace.
    pub(super) fn lists_inside(&self, analysis: &Judged, index: usize, command: &Command) -> bool {
        self.lists(analysis, index, command, Allowed::Inside, 0)
    }

    /// Whether all names that a command is fed come from listings of the workspace.
    pub(super) fn is_fed_from_inside(&self, analysis: &Judged, index: usize, command: &Command) -> bool {
        self.fed_from(analysis, index, command, Allowed::Inside, MOST_STEPS)
    }

    /// Whether all names that a command is fed come from listings.
    fn fed_from(&self, analysis: &Judged, index: usize, command: &Command, allowed: Allowed, steps: usize) -> bool {
        let Some(label) = feeder(command) else { return false };
        // A listing prints names from where it runs.
        let placed = || {
            !analysis.moved.contains(&index)
                || analysis
                    .folder_at_the_end(&self.workspace)
                    .is_some_and(|folder| self.may_look_at(folder, allowed))
        };
        let before = || analysis.commands.iter().enumerate().take(index);
        match first(label) {
            name @ ("find" | "fd" | "fdfind") => {
                let mut searches = before()
                    .filter(|(_, outer)| outer.program_name() == Some(name))
                    .peekable();
                searches.peek().is_some()
                    && placed()
                    && searches.all(|(at, search)| match name {
                        "find" => self.lists(analysis, at, search, allowed, 0),
                        // Its own words go up to the command that it runs.
                        _ => search.words.iter().skip(1).all(|word| {
                            word.literal()
                                .is_some_and(|text| !text.starts_with(['/', '~']) && text != "..")
                        }),
                    })
            }
            "xargs" => {
                let own = label
                    .split_whitespace()
                    .any(|word| word.starts_with("-a") || word.starts_with("--arg"));
                let mut listed = false;
                let mut pipes = analysis.pipes.iter().filter(|pipe| pipe.to.contains(&index)).peekable();
                let piped = pipes.peek().is_some();
                let known = pipes.flat_map(|pipe| pipe.from.clone()).all(|at| {
                    let Some(producer) = analysis.commands.get(at).filter(|_| at < index) else {
                        return false;
                    };
                    let lists = self.lists(analysis, at, producer, allowed, steps);
                    listed |= lists;
                    lists || passes_on(producer)
                });
                piped && known && listed && !own && placed()
            }
            _ => false,
        }
    }

    /// Whether a file of a command is a name that it is fed, and all such names surely lie in the workspace.
    pub(super) fn is_listed_inside(
        &self,
        analysis: &Judged,
        index: usize,
        command: &Command,
        access: &FileAccess,
    ) -> bool {
        // What `find -exec` reads is for the rule that names the whole search.
        let piped = feeder(command).is_some_and(|label| first(label) == "xargs");
        piped && is_fed_name(access) && self.fed_from(analysis, index, command, Allowed::Inside, MOST_STEPS)
    }

    /// Whether a command only looks at the files that it is fed, though with other words it could do more: `xargs -0 sed -n 1p`.
    /// Each name has to be one word, and none may be an option: a search prints them behind the folder that it looks in.
    /// With one, two and three names, each has to be a file that is read, and neither a script nor an output.
    pub(super) fn only_looks_at_what_it_is_fed(&self, analysis: &Judged, index: usize, command: &Command) -> bool {
        let Some(label) = feeder(command) else { return false };
        let whole = |word: &str| matches!(word, "-0" | "--null" | "-0r" | "-r0") || word.starts_with("-I");
        if first(label) != "xargs" || !label.split_whitespace().any(whole) {
            return false;
        }
        let mut pipes = analysis.pipes.iter().filter(|pipe| pipe.to.contains(&index));
        let searches = pipes.all(|pipe| {
            let producers = analysis.commands.get(pipe.from.clone()).unwrap_or_default();
            let named = |producer: &Command| matches!(producer.program_name(), Some("find" | "gfind"));
            producers.iter().all(|producer| named(producer) || passes_on(producer))
        });
        if !searches || !self.fed_from(analysis, index, command, Allowed::Inside, MOST_STEPS) {
            return false;
        }
        // How many names come in one run is not known.
        (1..=STAND_INS.len()).all(|count| self.only_reads(command, STAND_INS.get(..count).unwrap_or_default()))
    }

    /// Whether a command that is given some names reads each of them as a file, and does nothing else.
    fn only_reads(&self, command: &Command, names: &[&str]) -> bool {
        let Some(line) = with_files(command, names) else {
            return false;
        };
        let context = ShellContext {
            cwd: self.workspace.cwd.clone(),
            home: None,
        };
        let alone = shell::analyse(&line, &context, Limits::default());
        let reads = |access: &FileAccess| access.access == Access::Read;
        match alone.commands.as_slice() {
            [command] => {
                let is_read = |name: &&str| {
                    let path = self.workspace.cwd.join(name.trim_start_matches("./"));
                    let own = |access: &FileAccess| matches!(&access.target, FileTarget::Path(own) if *own == path);
                    command.files.iter().any(own)
                };
                alone.opaque.is_empty()
                    && command.class == CommandClass::ReadOnly
                    && command.files.iter().all(reads)
                    && names.iter().all(is_read)
                    && command.urls.is_empty()
                    && command.sockets.is_empty()
            }
            _ => false,
        }
    }

    /// A command that removes whole folders by names that could be any.
    pub(super) fn judge_fed(&self, analysis: &Judged, index: usize, command: &Command) -> Option<Part> {
        let label = feeder(command)?;
        let removes = |access: &&FileAccess| {
            access.access == Access::DeleteTree && matches!(access.target, FileTarget::Unknown(_))
        };
        command.files.iter().find(removes)?;
        // A function is given what the line calls it with.
        let function = |context: &Context| matches!(context, Context::Group(label) if label.ends_with("()"));
        if command.seen_through.iter().any(function) {
            return None;
        }
        if self.fed_from(analysis, index, command, Allowed::NotCritical, MOST_STEPS) {
            return None;
        }
        let subject = format!("{label} {}", command.text);
        let what = "which folders it is told to delete is not known, and one may hold more than anybody means";
        let part = Part::by_mode(self, ActionClass::Critical, subject, what);
        (part.verdict != Verdict::Allow || part.decided_by == DecidedBy::Protection).then_some(part)
    }
}
