//! Files that a line runs after it wrote them: `printf 'git push' > a.sh; sh a.sh`.
//!
//! No rule sees the commands in such a file, so it asks beside a deny on commands. Where nothing of the line went into the file,
//! it is run as any file of the project is: its mode was changed, it is a copy of a file of the workspace, or a compiler made it
//! from such files (`shell::origins`). What the line wrote otherwise is followed through copies and compilers.
//!
//! It does not look into files, and knows only shells and programs that are named by their path. In a folder that is not known
//! a name counts as any file of the line's whose path ends so.

use std::{collections::HashSet, ops::Range};

use crate::{
    AbsPath,
    shell::{
        Access, Analysis, Command, CommandClass, FileAccess, FileTarget, Pipe, Word,
        origins::{self, Origin},
        runs_scripts,
    },
};

use super::world::World;

/// Most files that are remembered; of more, each may be one.
const MOST_FILES: usize = 256;
/// Longest path that is looked for among them (`PATH_MAX`); a longer one may be any.
const LONGEST_PATH: usize = 4096;
/// Most ends of names that are remembered; of more, each may be one.
const MOST_ENDS: usize = 16;
/// Most links of which it is looked whether a line writes into them.
const MOST_LINKS: usize = 64;
/// Most turns in which copies of what a later part of the line writes are followed.
const MOST_TURNS: usize = 4;

/// The files of a line so far that may hold what the line says.
#[derive(Default)]
struct Written {
    files: HashSet<String>,
    /// The same as paths.
    paths: Vec<AbsPath>,
    /// Those of them that may be folders: a redirection writes none, nor does a program that only edits.
    folders: HashSet<String>,
    /// How names end of which the rest is not known: `.log` of `"$t.log"`.
    ends: Vec<String>,
    /// There is one, perhaps one of which the name is not known.
    any: bool,
    /// There are more than are remembered.
    many: bool,
    /// Of each command, by its number, whether the line feeds it.
    fed: Vec<bool>,
    /// A command of git's may have given it contents.
    by_git: bool,
}

impl Written {
    /// Whether a file may; what lies in a folder that was written as a whole may, too.
    fn holds(&self, path: &AbsPath) -> bool {
        let text = path.as_str();
        // A path longer than the system opens is not compared, so that each word costs little; it may be any of them.
        if self.many || text.len() > LONGEST_PATH {
            return self.any || self.many;
        }
        let holds = |folder: &String| {
            let below = text.strip_prefix(folder.trim_end_matches('/'));
            below.is_some_and(|below| below.starts_with('/'))
        };
        self.files.contains(text) || self.folders.iter().any(holds) || self.ends.iter().any(|end| text.ends_with(end))
    }

    /// Whether the file of a name may, in a folder of which it is not known which of the line's it is.
    fn holds_somewhere(&self, name: &str) -> bool {
        let end = AbsPath::root().join(name);
        let ends = |path: &AbsPath| path.as_str().ends_with(end.as_str());
        let ended = self.ends.iter().any(|own| end.as_str().ends_with(own));
        self.many || !self.folders.is_empty() || ended || self.paths.iter().any(ends)
    }

    /// Whether something in a folder may.
    fn holds_below(&self, folder: &AbsPath) -> bool {
        self.many || !self.ends.is_empty() || self.paths.iter().any(|file| file.is_within(folder))
    }

    /// A file that a redirection writes, of which the name is not all known: any that ends so.
    fn note_end(&mut self, source: &str) {
        let end = known_end(source);
        self.many |= end.is_empty() || end.len() > LONGEST_PATH || self.ends.len() >= MOST_ENDS;
        if !self.many && !self.ends.iter().any(|own| own == end) {
            self.ends.push(end.to_owned());
        }
    }
}

/// How the name of a file surely ends of which the shell puts the rest together; empty: nobody knows.
fn known_end(source: &str) -> &str {
    let name = source.trim_end_matches('"').rsplit('/').next().unwrap_or_default();
    let Some((at, sign)) = name.char_indices().rfind(|(_, c)| SPECIAL.contains(*c)) else {
        return name;
    };
    let (before, end) = (name.get(..at), name.get(at + 1..).unwrap_or_default());
    match sign {
        // `$name`, `$1`, `$@`, and `$name:r` of zsh.
        '$' if end.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') => {
            let end = end.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
            if end.starts_with(':') { "" } else { end }
        }
        '$' | '\\' => "",
        _ if before.is_some_and(|before| before.ends_with('$')) => "",
        _ => end,
    }
}

/// Signs of the shell that make a word another.
const SPECIAL: &str = "$`\"'\\*?[]{}()~!#@";

impl World<'_> {
    /// Commands, by number, that run a file into which the line may have written a command.
    pub(super) fn runs_what_it_wrote(&self, analysis: &Analysis) -> Vec<usize> {
        let mut written = Written {
            fed: fed(analysis),
            by_git: gives_git_contents(analysis),
            ..Written::default()
        };
        let mut out = Vec::new();
        // What an earlier turn of a loop wrote, and what lies behind a link, is written before it is copied or run.
        let links = analysis.commands.iter().any(makes_links);
        let mut turns = if analysis.signs.repeats || links { MOST_TURNS } else { 0 };
        while turns > 0 {
            let before = (written.files.len(), written.folders.len(), written.any);
            for (index, command) in analysis.commands.iter().enumerate() {
                self.note(&mut written, analysis, index, command);
            }
            turns -= 1;
            let grew = before != (written.files.len(), written.folders.len(), written.any);
            written.many |= grew && turns == 0;
            turns = if grew { turns } else { 0 };
        }
        // What is written by one name is run by another.
        written.many |= links && writes_through_links(analysis);
        let piped = self.written_behind_pipes(analysis);
        let in_front = within(analysis, |pipe| &pipe.from);
        for (index, command) in analysis.commands.iter().enumerate() {
            let moved = analysis.moved.contains(&index);
            let runs = |written: &Written| {
                let holds = |text: &str| match analysis.run_places.get(&index) {
                    Some(folders) => folders.iter().any(|folder| written.holds(&folder.join(text))),
                    None if moved && !text.starts_with('/') => written.holds_somewhere(text),
                    None => self.resolve(text).is_some_and(|path| written.holds(&path)),
                };
                written.any && run_by(command).any(holds)
            };
            let at_once = || piped.as_ref().filter(|_| in_front.get(index) == Some(&true));
            if runs(&written) || at_once().is_some_and(runs) {
                out.push(index);
            }
            self.note(&mut written, analysis, index, command);
        }
        out
    }

    /// What is written behind the pipes of a line: at the same time as what stands in front of them runs.
    fn written_behind_pipes(&self, analysis: &Analysis) -> Option<Written> {
        let from = analysis.pipes.iter().map(|pipe| pipe.to.start).min()?;
        let mut written = Written {
            fed: fed(analysis),
            by_git: true,
            ..Written::default()
        };
        for (index, command) in analysis.commands.iter().enumerate().skip(from) {
            if written.fed.get(index) == Some(&true) {
                self.note(&mut written, analysis, index, command);
            }
        }
        written.any.then_some(written)
    }

    fn note(&self, written: &mut Written, analysis: &Analysis, index: usize, command: &Command) {
        let writes = |access: &&FileAccess| access.access == Access::Write && !access.goes_nowhere();
        let edits = matches!(command.program_name(), Some("dd" | "sed" | "sponge" | "tee"));
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
                    if !written.many && !access.redirection && !edits {
                        written.folders.insert(path.as_str().to_owned());
                    }
                    if !written.many && written.files.insert(path.as_str().to_owned()) {
                        written.paths.push(path.clone());
                    }
                }
                FileTarget::Pattern { pattern: source, .. } | FileTarget::Unknown(source) => {
                    written.any = true;
                    if access.redirection {
                        written.note_end(source);
                    }
                }
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
        let fed = written.fed.get(index).copied().unwrap_or(true);
        // Under another meaning of a name nothing is known of what it does.
        let origin = origins::origin(command).filter(|origin| {
            let keeps = *origin == Origin::Kept && command.program_name() == Some("git");
            let told = || fed || !command.assignments.is_empty() || command.escape_option().is_some();
            !analysis.signs.renames && !(keeps && (written.by_git || told()))
        });
        // `cp <(…) a.sh`, `cp "$X" a.sh`.
        if command
            .words
            .iter()
            .any(|word| matches!(word, Word::Dynamic { pattern: false, .. }))
        {
            return origin != Some(Origin::Kept);
        }
        match origin {
            Some(Origin::Kept) => false,
            Some(Origin::Copied) => {
                // What lies in a folder may have been written there.
                let folder = |access: &FileAccess| match &access.target {
                    FileTarget::Path(path) => written.holds_below(path),
                    _ => false,
                };
                let known = reads().all(|access| inside(access) && !noted(access) && !folder(access));
                fed || command.words.iter().any(is_stream) || reads().next().is_none() || !known
            }
            Some(Origin::Made) => {
                let fed = fed
                    || command
                        .words
                        .iter()
                        .any(|word| word.literal() == Some("-") || is_stream(word));
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

/// The files that a command runs as programs or shell scripts, as they are written. A text behind `-c` is no file, and is walked;
/// behind the script stand words for it. A word that may be the value of an option counts, and so does the one behind it.
fn run_by(command: &Command) -> impl Iterator<Item = &str> {
    let script = command.program().filter(|program| program.contains('/'));
    let name = command.program_name().filter(|name| runs_scripts(name));
    let sources = matches!(name, Some("." | "source"));
    let (mut operands, mut valued, mut done) = (false, false, name.is_none());
    let of_files = command
        .words
        .iter()
        .skip(1)
        .filter_map(Word::literal)
        .map_while(move |word| {
            if done {
                return None;
            }
            let option = !operands && word.len() > 1 && word.starts_with(['-', '+']);
            if word == "--" && !operands {
                operands = true;
                return Some(None);
            }
            if option {
                done = !sources && takes_a_text(word);
                valued = sources || !is_flag(word);
                return Some(None);
            }
            done = !std::mem::take(&mut valued);
            Some(Some(word))
        });
    script.into_iter().chain(of_files.flatten())
}

/// Whether an option of a shell says that a text follows: `-c`, `-euxc`. bash takes its long options with one dash, too (`-norc`).
fn takes_a_text(option: &str) -> bool {
    let letters = option.strip_prefix('-').unwrap_or_default();
    letters.contains('c') && letters.chars().all(|letter| "acehiklmnpsuvx".contains(letter))
}

/// Whether an option of a shell surely has no value: letters that stand for themselves, and some long ones.
fn is_flag(option: &str) -> bool {
    const LONG: &[&str] = &[
        "login",
        "noediting",
        "noprofile",
        "norc",
        "posix",
        "restricted",
        "verbose",
    ];
    let name = option.trim_start_matches(['-', '+']);
    LONG.contains(&name) || (!option.starts_with("--") && name.chars().all(|letter| "aehiklmnpstuvxBCEHPT".contains(letter)))
}

/// Whether a line writes into what it links: then a file of any name may be another one.
fn writes_through_links(analysis: &Analysis) -> bool {
    let writes = |access: &&FileAccess| access.access == Access::Write && !access.goes_nowhere();
    let links = || analysis.commands.iter().filter(|command| makes_links(command));
    let named = || links().flat_map(|command| command.files.iter().filter(writes));
    let all_known = named().take(MOST_LINKS + 1).count() <= MOST_LINKS
        && links().all(|command| command.files.iter().any(|access| writes(&access)));
    let misses = |file: &AbsPath| {
        all_known
            && named().all(|link| match &link.target {
                FileTarget::Path(link) => !file.is_within(link),
                FileTarget::Pattern { .. } | FileTarget::Unknown(_) => false,
            })
    };
    analysis.commands.iter().any(|command| {
        let (link, kept) = (makes_links(command), origins::origin(command) == Some(Origin::Kept));
        let mut own = command.files.iter().filter(writes);
        own.any(|access| match &access.target {
            _ if (link || kept) && !access.redirection => false,
            FileTarget::Path(path) => !misses(path),
            FileTarget::Pattern { .. } | FileTarget::Unknown(_) => true,
        })
    })
}

/// Whether a command makes links: what is written behind one is written into what is run through it.
fn makes_links(command: &Command) -> bool {
    let name = command.program_name();
    // `cp -al`, `cp --sym`.
    let links = |text: &str| origins::is_one_of(text, "-l -s --link --symbolic-link");
    let told = || command.words.iter().skip(1).filter_map(Word::literal).any(links);
    matches!(name, Some("ln" | "gln" | "link")) || (matches!(name, Some("cp" | "gcp")) && told())
}

/// Whether a word names what a command is fed with, or another thing that is no file: `/dev/stdin`.
fn is_stream(word: &Word) -> bool {
    let text = word.literal().unwrap_or_default();
    let path = AbsPath::root().join(text);
    let is_system = ["/dev/", "/proc/"]
        .iter()
        .any(|folder| path.as_str().starts_with(folder));
    is_system || text.contains("dev/fd/") || text.ends_with("/stdin")
}

/// Of each command, by its number, whether what it reads stands in the line or comes through a pipe.
fn fed(analysis: &Analysis) -> Vec<bool> {
    let mut fed = within(analysis, |pipe| &pipe.to);
    for index in analysis.inputs.keys() {
        if let Some(fed) = fed.get_mut(*index) {
            *fed = true;
        }
    }
    fed
}

/// Of each command, by its number, whether it stands on this side of a pipe.
fn within(analysis: &Analysis, side: impl Fn(&Pipe) -> &Range<usize>) -> Vec<bool> {
    let mut changes = vec![0_i64; analysis.commands.len() + 1];
    for range in analysis.pipes.iter().map(side) {
        for (at, by) in [(range.start, 1), (range.end, -1)] {
            if let Some(change) = changes.get_mut(at) {
                *change += by;
            }
        }
    }
    let mut pipes = 0;
    let within = changes.iter().map(|change| {
        pipes += change;
        pipes > 0
    });
    within.collect()
}

/// Whether git may have been given contents by the line, which `git checkout` would then write: a command of git's does more
/// than look or take something out, or another repository may be meant.
fn gives_git_contents(analysis: &Analysis) -> bool {
    let plain = |command: &Command| {
        let verb = command.words.get(1).and_then(Word::literal);
        command.class == CommandClass::ReadOnlyGit || matches!(verb, Some("checkout" | "restore"))
    };
    let mut git = analysis
        .commands
        .iter()
        .filter(|command| command.program_name() == Some("git"));
    analysis.signs.moves_git || !git.all(plain)
}
