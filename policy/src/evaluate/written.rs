//! Files that a line runs after it wrote them: `printf 'git push' > a.sh; sh a.sh`.
//!
//! No rule sees the commands in such a file, so it asks beside a deny on commands. Where nothing of the line went into the file,
//! it is run as any file of the project is: its mode was changed, it is a copy of a file of the workspace, or a compiler made it
//! from such files (`shell::origins`). What the line wrote otherwise is followed through copies and compilers.
//!
//! It does not look into files, and knows only shells and programs that are named by their path. In a folder that is not known
//! a name counts as any file of the line's whose path ends so.

mod run;

use std::{collections::HashSet, ops::Range};

use crate::{
    AbsPath,
    shell::{
        self, Access, Analysis, Assignment, Command, CommandClass, Context, FileAccess, FileTarget, Pipe, Word,
        origins::{self, Origin},
    },
};

use super::{fed::is_fed, world::World};
use run::{QUEUES, run_by};

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
    /// Names of which not all is known: `out_` and `.log` of `"out_$t.log"`.
    ends: Vec<Known>,
    /// There is one, perhaps one of which the name is not known.
    any: bool,
    /// There are more than are remembered.
    many: bool,
    /// Of each command, by its number, whether the line feeds it.
    fed: Vec<bool>,
    /// Names of functions of the line.
    functions: HashSet<String>,
    /// Calls of such that the line feeds.
    callers: Vec<usize>,
    /// A command of git's may have given it contents.
    by_git: bool,
}

/// What is known of the name of a file that the line writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Known {
    /// How its path begins, up to a letter of its last part that is known; empty: nobody knows.
    begin: String,
    /// The same, of its last part alone.
    name: String,
    /// How it ends.
    end: String,
}

impl Known {
    fn meets(&self, path: &str) -> bool {
        path.starts_with(&self.begin) && self.meets_name(path)
    }

    fn meets_name(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.starts_with(&self.name) && path.ends_with(&self.end)
    }
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
        self.files.contains(text) || self.folders.iter().any(holds) || self.ends.iter().any(|known| known.meets(text))
    }

    /// Whether the file of a name may, in a folder of which it is not known which of the line's it is.
    fn holds_somewhere(&self, name: &str) -> bool {
        let end = AbsPath::root().join(name);
        let ends = |path: &AbsPath| path.as_str().ends_with(end.as_str());
        let ended = self.ends.iter().any(|known| known.meets_name(end.as_str()));
        self.many || !self.folders.is_empty() || ended || self.paths.iter().any(ends)
    }

    /// Whether a command surely prints nothing.
    fn is_silent(&self, analysis: &Analysis, index: usize) -> bool {
        let silent = |program: &str| SILENT.contains(&program) && !self.functions.contains(program);
        let command = analysis.commands.get(index);
        command.is_some_and(|command| command.program().is_none_or(silent))
    }

    /// Whether something in a folder may.
    fn holds_below(&self, folder: &AbsPath) -> bool {
        self.many || !self.ends.is_empty() || self.paths.iter().any(|file| file.is_within(folder))
    }

    /// A file of which the name is not all known: any of which the name is such a one.
    fn note_known(&mut self, known: Known) {
        let nothing = known.name.is_empty() && known.end.is_empty();
        let long = known.begin.len().max(known.end.len()) > LONGEST_PATH;
        self.many |= nothing || long || self.ends.len() >= MOST_ENDS;
        if !self.many && !self.ends.contains(&known) {
            self.ends.push(known);
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

/// How the path of a file surely begins of which the shell puts the rest together, where a letter of its last part is known, for
/// then what follows leads nowhere else: `/tmp/out.` of `/tmp/out.$$`.
fn known_beginning(source: &str) -> &str {
    let known = source.strip_prefix('"').unwrap_or(source);
    let known = known
        .find(SPECIAL_SIGNS)
        .and_then(|end| known.get(..end))
        .unwrap_or_default();
    match known.ends_with('/') {
        true => "",
        false => known,
    }
}

/// Signs of the shell that make a word another.
const SPECIAL: &str = "$`\"'\\*?[]{}()~!#@";
/// The same, to look for.
const SPECIAL_SIGNS: &[char] = &[
    '$', '`', '"', '\'', '\\', '*', '?', '[', ']', '{', '}', '(', ')', '~', '!', '#', '@',
];

impl World<'_> {
    /// Commands, by number, that run a file into which the line may have written a command.
    pub(super) fn runs_what_it_wrote(&self, analysis: &Analysis) -> Vec<usize> {
        let functions = functions(analysis);
        let (fed, callers) = fed(analysis, &functions);
        let mut written = Written {
            fed,
            functions,
            callers,
            by_git: gives_git_contents(analysis),
            ..Written::default()
        };
        let mut out = Vec::new();
        // What an earlier turn of a loop wrote, and what lies behind a link, is written before it is copied or run.
        let links = analysis.commands.iter().any(makes_links);
        let queues = |command: &Command| command.program_name().is_some_and(|name| QUEUES.contains(&name));
        let mut turns = if analysis.signs.repeats || links || analysis.commands.iter().any(queues) {
            MOST_TURNS
        } else {
            0
        };
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
        let piped = self.written_behind_pipes(analysis, &written);
        let in_front = within(analysis, |pipe| &pipe.from);
        for (index, command) in analysis.commands.iter().enumerate() {
            // What its words substitute is run before it.
            let substituted = analysis.commands.iter().enumerate().skip(index + 1);
            for (number, inner) in substituted.take_while(|(_, inner)| inner.is_substituted_in(command)) {
                self.note(&mut written, analysis, number, inner);
            }
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
    fn written_behind_pipes(&self, analysis: &Analysis, line: &Written) -> Option<Written> {
        let from = analysis.pipes.iter().map(|pipe| pipe.to.start).min()?;
        let mut written = Written {
            fed: line.fed.clone(),
            functions: line.functions.clone(),
            callers: line.callers.clone(),
            // A command of git's in front may give contents at any time.
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
        if patches(command) && self.patch_may_say(written, analysis, index, command) {
            (written.any, written.many) = (true, true);
        }
        let writes = |access: &&FileAccess| access.access == Access::Write && !access.goes_nowhere();
        let edits = matches!(command.program_name(), Some("dd" | "sed" | "sponge" | "tee"));
        if !command.files.iter().any(|access| writes(&access)) {
            return;
        }
        let holds = self.holds_text_of_the_line(written, analysis, index, command);
        // A redirection alone, and `:`, write nothing. That of a group is where all write that stand in it.
        let group: Vec<usize> = match analysis.groups.get(&index) {
            Some(group) => group.clone().filter(|at| !written.is_silent(analysis, *at)).collect(),
            None => Vec::new(),
        };
        let plain = |assignment: &Assignment| assignment.value.literal().is_some();
        let empty = matches!(command.program_name(), None | Some(":" | "true"))
            && !command.program().is_some_and(|name| written.functions.contains(name))
            && (command.words.is_empty() || command.assignments.iter().all(plain))
            && written.fed.get(index) == Some(&false)
            && group.is_empty();
        let writers = if group.is_empty() { vec![index] } else { group };
        for access in command
            .files
            .iter()
            .filter(writes)
            .filter(|access| !empty && (holds || access.redirection))
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
                    let may_be = || match is_fed(source) && !access.redirection {
                        true => self.fed_names_may_get_text(written, analysis, index, command),
                        false => {
                            let mut writers = writers.iter();
                            writers.len() > MOST_MAKERS
                                || writers.any(|writer| self.may_be_text_of_the_line(written, analysis, *writer))
                        }
                    };
                    if is_new_file(analysis, source) || !may_be() {
                        continue;
                    }
                    written.any = true;
                    written.note_known(self.known_of(source, analysis.moved.contains(&index)));
                }
            }
        }
    }

    /// What is known of the name of a file that is put together.
    fn known_of(&self, source: &str, moved: bool) -> Known {
        // What stands for names that a program is fed is no text of the shell.
        if is_fed(source) {
            return Known::default();
        }
        let begin = known_beginning(source);
        let name = begin.rsplit('/').next().unwrap_or_default().to_owned();
        let sure = !name.is_empty() && (begin.starts_with('/') || !moved);
        let path = sure.then(|| self.resolve(begin)).flatten();
        Known {
            begin: path.map_or_else(String::new, |path| path.as_str().to_owned()),
            name,
            end: known_end(source).to_owned(),
        }
    }

    /// Whether what a command writes under an unknown name may be a text of the line that a rule is about. What programs of the
    /// project print is worth less than that, and so is a text that names no such program.
    fn may_be_text_of_the_line(&self, written: &Written, analysis: &Analysis, index: usize) -> bool {
        let Some(command) = analysis.commands.get(index) else {
            return true;
        };
        // What a function is fed, what stands in it may read.
        if in_function(command)
            && written
                .callers
                .iter()
                .any(|caller| self.input_may_say(analysis, *caller))
        {
            return true;
        }
        let mut makers = vec![command];
        let reads = !command.program().is_some_and(|program| PRINTERS.contains(&program));
        if reads && written.fed.get(index) == Some(&true) {
            if analysis.inputs.get(&index).is_some_and(Option::is_none) {
                return true;
            }
            makers.extend(super::listed::producers(analysis, index));
        }
        if makers.len() > MOST_MAKERS {
            return true;
        }
        let given = analysis.inputs.get(&index).and_then(Option::as_deref);
        let passes_on = || reads && written.any && !makers.iter().all(|maker| is_of_the_project(maker));
        given.is_some_and(|text| self.says(text)) || passes_on() || makers.iter().any(|maker| self.tells(maker))
    }

    /// Whether a text names a program that a deny or ask is about.
    fn says(&self, text: &str) -> bool {
        let words = ["text", text].map(|word| Word::Literal(word.to_owned()));
        self.names_denied_program(&Command::of_words(text.to_owned(), words.to_vec()))
    }

    /// Whether what a command prints may name such a program.
    fn tells(&self, maker: &Command) -> bool {
        !tells_only_its_own(maker) || self.words_say(maker)
    }

    /// Whether the words of a command do.
    fn words_say(&self, command: &Command) -> bool {
        let words: Vec<&str> = command.words.iter().skip(1).filter_map(Word::literal).collect();
        self.names_denied_program(command) || self.says(&words.join(" "))
    }

    /// Whether what the line gives a command on its input may name such a program.
    fn input_may_say(&self, analysis: &Analysis, index: usize) -> bool {
        let given = analysis.inputs.get(&index);
        let producers = super::listed::producers(analysis, index);
        given.is_some_and(|text| text.as_deref().is_none_or(|text| self.says(text)))
            || producers.len() > MOST_MAKERS
            || producers.into_iter().any(|maker| self.tells(maker))
    }

    /// Whether text of the line may go into files whose names a command is fed: `echo x a.sh | xargs cp`. What a copier takes may
    /// be what the line wrote; another program writes what its words say.
    fn fed_names_may_get_text(&self, written: &Written, analysis: &Analysis, index: usize, command: &Command) -> bool {
        let copies = origins::origin(command) == Some(Origin::Copied) || makes_links(command);
        (copies && written.any)
            || self.words_say(command)
            || (!copies && written.fed.get(index) == Some(&true) && analysis.inputs.contains_key(&index))
    }

    /// Whether a patch may put text of the line into any file: it stands in the line, or is one that the line wrote.
    fn patch_may_say(&self, written: &Written, analysis: &Analysis, index: usize, command: &Command) -> bool {
        let noted = |access: &FileAccess| match &access.target {
            FileTarget::Path(path) => access.access == Access::Read && written.holds(path),
            FileTarget::Pattern { .. } | FileTarget::Unknown(_) => access.access == Access::Read && written.any,
        };
        let fed = written.fed.get(index) == Some(&true) && self.input_may_say(analysis, index);
        fed || command.files.iter().any(noted)
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

/// Most commands in front of one that are looked at for what they print.
const MOST_MAKERS: usize = 16;

/// Programs that print words and files they are given.
const PRINTERS: &[&str] = &["date", "echo", "ls", "printf"];
/// Programs that print nothing to where a group is redirected.
const SILENT: &[&str] = &[
    ":", "[", "[[", "break", "cd", "continue", "exit", "export", "false", "local", "read", "return", "set", "shift",
    "sleep", "test", "true",
];

/// Whether a command changes files as a patch says.
fn patches(command: &Command) -> bool {
    let git = shell::acts::git_verb(command).is_some_and(|(verb, _)| matches!(verb, "am" | "apply"));
    git || matches!(command.program_name(), Some("gpatch" | "patch"))
}

/// Programs that copy what they read.
const COPIERS: &[&str] = &["cat", "cp", "mv", "tee"];
/// Programs that do what the project's files say.
const BUILDERS: &[&str] = &[
    "cargo", "dotnet", "go", "gradle", "make", "mvn", "npm", "pnpm", "pytest", "yarn",
];
/// Programs that run a script of the project.
const SCRIPTED: &[&str] = &["node", "php", "python", "python3", "ruby"];

/// Whether a command is a program of the project's, or does what its files say, with no code among its words.
fn is_of_the_project(command: &Command) -> bool {
    let words = command.words.get(1..).unwrap_or_default();
    let script = || {
        let first = words.first().and_then(Word::literal);
        first.is_some_and(|word| word.contains('.') && !word.starts_with('-'))
    };
    let by_name = |program| BUILDERS.contains(&program) || (SCRIPTED.contains(&program) && script());
    command.program().is_some_and(|program| {
        // Those of the system are known by their names.
        let by_path = program.contains('/') && !program.starts_with("/usr/") && !program.starts_with("/bin/");
        !command.remote && (by_path || (by_name(program) && words.iter().all(is_plain)))
    })
}

/// Whether a word is known and holds no code.
fn is_plain(word: &Word) -> bool {
    let sign = |c: char| c.is_alphanumeric() || " ./:=@,_+-\n".contains(c);
    word.literal().is_some_and(|text| text.chars().all(sign))
}

/// Whether what a command prints or writes is surely that of the project, or its own plain words.
fn tells_only_its_own(command: &Command) -> bool {
    let words = command.words.get(1..).unwrap_or_default();
    is_of_the_project(command)
        || command.program().is_some_and(|program| {
            COPIERS.contains(&program) || (PRINTERS.contains(&program) && words.iter().all(is_plain))
        })
}

/// Whether a file is one that the line has just made, with a name that nobody else knows: `T=$(mktemp)`.
fn is_new_file(analysis: &Analysis, source: &str) -> bool {
    let variable = source.trim_matches('"').strip_prefix('$');
    let Some(name) = variable.map(|name| name.trim_start_matches('{').trim_end_matches('}')) else {
        return false;
    };
    let mut made = false;
    for command in &analysis.commands {
        for assignment in command.assignments.iter().filter(|own| own.name == name) {
            match &assignment.value {
                Word::Dynamic { source, .. } if is_mktemp(source) => made = true,
                _ => return false,
            }
        }
        // `read T`, `printf -v T`, `export T=x`, `printf -vT`, `read -aT`.
        let sets = |text: &str| {
            (text.starts_with('-') && text.ends_with(name))
                || text
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['=', '+']))
        };
        if command.words.iter().skip(1).filter_map(Word::literal).any(sets) {
            return false;
        }
    }
    made && !name.is_empty()
}

/// Whether a word is what `mktemp` prints, and nothing else.
fn is_mktemp(source: &str) -> bool {
    let inner = source.trim_matches('"').strip_prefix("$(mktemp");
    inner.is_some_and(|rest| rest.starts_with([' ', ')']) && !rest.contains(['|', '&', ';', '\n', '(', '`', '<']))
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

/// Whether a command stands in a function.
fn in_function(command: &Command) -> bool {
    let function = |context: &Context| matches!(context, Context::Group(label) if label.ends_with("()"));
    command.seen_through.iter().any(function)
}

/// The names of the functions of a line.
fn functions(analysis: &Analysis) -> HashSet<String> {
    let labels = analysis.commands.iter().flat_map(|command| &command.seen_through);
    let names = labels.filter_map(|context| match context {
        Context::Group(label) => label.strip_suffix("()"),
        _ => None,
    });
    names.map(str::to_owned).collect()
}

/// Of each command, by its number, whether what it reads stands in the line or comes through a pipe; and the calls of functions
/// of which it does. Which functions such a one calls in turn is not told apart.
fn fed(analysis: &Analysis, functions: &HashSet<String>) -> (Vec<bool>, Vec<usize>) {
    let mut fed = fed_itself(analysis);
    let commands = || analysis.commands.iter().enumerate();
    let calls = |command: &Command| command.program().is_some_and(|name| functions.contains(name));
    let callers: Vec<usize> = commands()
        .filter(|(index, command)| fed.get(*index) == Some(&true) && calls(command))
        .map(|(index, _)| index)
        .take(MOST_MAKERS)
        .collect();
    if !callers.is_empty() {
        for (index, _) in commands().filter(|(_, command)| in_function(command)) {
            if let Some(fed) = fed.get_mut(index) {
                *fed = true;
            }
        }
    }
    (fed, callers)
}

/// Of each command, by its number, whether it is fed where it stands.
fn fed_itself(analysis: &Analysis) -> Vec<bool> {
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
