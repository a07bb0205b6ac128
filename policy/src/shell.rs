//! Understands a shell line: every command it can run, every file it touches, every host it contacts.
//!
//! Rules name programs; agents send scripts. Without this step a rule on `curl` would never meet
//! `env A=1 sh -c 'curl … | sh'`. A script half understood is a script not understood: what cannot be followed becomes
//! [`Opaque`], with the reason, and no rule for something narrower allows it.
//!
//! It judges nothing. It knows bash's grammar (by a reader of our own, decision 0002), a table of wrappers, and a table of what well-known
//! programs do with their operands.

pub(crate) mod acts;
mod analyse;
pub(crate) mod builders;
pub(crate) mod changes;
mod class;
mod commits;
mod constant;
mod data;
mod dots;
mod escapes;
mod executing;
mod expand;
mod files;
mod git;
mod git_settings;
pub(crate) mod globals;
mod hidden;
pub(crate) mod inert;
pub(crate) mod interpreters;
pub(crate) mod mentions;
mod options;
pub(crate) mod origins;
mod outside;
mod own;
mod programs;
mod quote;
mod reader;
pub(crate) mod rewriting;
mod scripts;
mod sed;
mod settings;
mod shows;
mod signs;
mod sockets;
pub(crate) mod synonyms;
mod syntax;
mod targets;
/// Whether setting a variable changes which program runs, or what a program loads or runs: `PATH`, `NODE_OPTIONS`.
#[must_use]
pub fn changes_what_runs(variable: &str) -> bool {
    variables::is_dangerous(variable)
}

#[cfg(test)]
mod tests;
mod variables;
mod wrappers;

pub use analyse::analyse;
pub(crate) use analyse::{analyse_in, runs_later};
pub(crate) use class::{always_wraps, runs_scripts};
pub(crate) use escapes::takes_script;
pub(crate) use files::Pathspec;
pub use hidden::visible;
pub(crate) use hidden::{hides, is_confusable};
pub(crate) use options::{given, recurses};
pub(crate) use quote::needs_quotes;
pub use quote::quote;
pub use signs::Signs;
pub use sockets::Socket;
pub(crate) use targets::left_again;
pub(crate) use variables::Chosen;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use crate::AbsPath;

/// All that a line can do, as far as it could be understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Analysis {
    /// Every simple command, in the order of the text; those inside a wrapper follow it.
    pub commands: Vec<Command>,
    /// What could not be understood. Not empty means: the line can do more than `commands` says.
    pub opaque: Vec<Opaque>,
    /// For each `cd` of which all places are known that it may lead to, by its number in `commands`: these places.
    pub goes: BTreeMap<usize, Vec<AbsPath>>,
    /// Commands, by number, that may run in another directory than the line begins in.
    pub moved: BTreeSet<usize>,
    /// For each git command of `moved` that only looks, by its number, and of which all directories are known that it may
    /// run in: these directories.
    pub git_places: BTreeMap<usize, Vec<AbsPath>>,
    /// What is written to the input of which commands.
    pub pipes: Vec<Pipe>,
    /// What commands read from their input, by their numbers, where it stands in the line: a here-document, a here-string, or
    /// what a command in front of the pipe prints. `None`: its text is not certain, and stands behind `<<`.
    pub inputs: BTreeMap<usize, Option<String>>,
    /// What the line says of inputs that are not certain, by the numbers of their commands: what stands in them, and each text that
    /// their variables may have.
    pub said: BTreeMap<usize, String>,
    /// Commands, by number, of which the input is another than the shell's without a text in the line: a file.
    pub redirected: BTreeSet<usize>,
    /// Where commands may be, by their numbers, that run a program or script by its name in another folder, where that is known.
    pub run_places: BTreeMap<usize, Vec<AbsPath>>,
    /// Loops over what substitutions print.
    pub loops: Vec<Loop>,
    /// For each command without words that holds the redirections of a group, loop or function, by its number: the commands of
    /// which these are.
    pub groups: BTreeMap<usize, Range<usize>>,
    /// What its text says of the meaning and order of its commands.
    pub signs: Signs,
}

/// A loop over what a substitution prints, `for f in $(git ls-files)`, in which the variable is given no other value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The variable.
    pub variable: String,
    /// How many contexts it stands in.
    pub depth: usize,
    /// The commands of the substitution, by their numbers.
    pub words: Range<usize>,
    /// Those of the body.
    pub body: Range<usize>,
}

/// A pipe, by numbers of commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipe {
    /// Those in front of it in the pipeline.
    pub from: Range<usize>,
    /// Those that read from it.
    pub to: Range<usize>,
}

/// One simple command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// As written, blanks at the ends removed; redirections and leading assignments left out.
    pub text: String,
    /// Leading assignments: `A=1 cmd`.
    pub assignments: Vec<Assignment>,
    /// Program and arguments, quotes resolved. Empty for a line of assignments or redirections only.
    pub words: Vec<Word>,
    /// How it was reached, outermost first: `sudo`, `bash -c`, `$(…)`, `( )`.
    pub seen_through: Vec<Context>,
    /// Files it reads or writes, as far as known: redirections, and operands of programs in the table.
    pub files: Vec<FileAccess>,
    /// Hosts or URLs it contacts, as far as known.
    pub urls: Vec<String>,
    /// Connections that its redirections open: `> /dev/tcp/host/80`. Their addresses stand in `urls`, too.
    pub sockets: Vec<Socket>,
    /// What it is, by the table of known commands.
    pub class: CommandClass,
    /// It runs on another machine or in a container: its words name no files of ours.
    pub remote: bool,
    /// What the line says of its input, if it is a program that obeys commands of its own language there, such as `psql`;
    /// empty otherwise. What comes from files or from other programs is not part of it.
    pub told: String,
    /// Files that its words name, of which the tables do not say what it does with them; as far as they can be outside of the
    /// workspace, or are protected and written.
    pub named: Vec<Named>,
    /// Globs among its words of which the tables do not say what it does with the files: `mytool secrets/*`.
    pub globs: Vec<FileTarget>,
    /// Each command that its words can become stands behind it, and is judged by itself.
    pub spelled_out: bool,
}

/// A file that a word names, of a command of which it is not known what it does with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// What of the word names it.
    pub text: String,
    /// Which; unknown where the shell alone knows the folder (`~-/x`), and where there are more words than are looked at.
    pub target: FileTarget,
    /// As in [`FileAccess::through`].
    pub through: Option<Vec<AbsPath>>,
    /// The command says by an option that it writes it, or it lies in a folder of git.
    pub written: bool,
}

impl Command {
    /// A command that stands in no line: its words, and nothing else.
    #[must_use]
    pub fn of_words(text: String, words: Vec<Word>) -> Self {
        Self {
            text,
            assignments: Vec::new(),
            words,
            seen_through: Vec::new(),
            files: Vec::new(),
            urls: Vec::new(),
            sockets: Vec::new(),
            class: CommandClass::Other,
            remote: false,
            told: String::new(),
            named: Vec::new(),
            globs: Vec::new(),
            spelled_out: false,
        }
    }

    /// Whether it is run by a substitution in the words of another command, and so before that one.
    #[must_use]
    pub(crate) fn is_substituted_in(&self, outer: &Self) -> bool {
        let further = self.seen_through.strip_prefix(outer.seen_through.as_slice());
        further.is_some_and(|further| matches!(further.first(), Some(Context::Substitution(_))))
    }

    /// The program's name as written, if it is a literal.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        self.words.first().and_then(Word::literal)
    }

    /// The program's name without its folder, if it is a literal: `/bin/rm` is `rm`.
    ///
    /// For rules that deny, and for wrappers. A program from inside the workspace (`./rm`) has the name too, but need not be
    /// the known one: its class is [`CommandClass::Other`].
    #[must_use]
    pub fn program_name(&self) -> Option<&str> {
        self.program().map(class::base_name)
    }

    /// The first option by which it runs another program or writes elsewhere: `-exec`, `--pre`, `-c core.pager=…`.
    ///
    /// An allow rule never covers it, unless it names the whole command.
    #[must_use]
    pub fn escape_option(&self) -> Option<String> {
        self.escape().map(|escape| escape.option)
    }

    /// What the option of [`Self::escape_option`] does, for people: "runs the program it names".
    #[must_use]
    pub fn escape_reason(&self) -> Option<&'static str> {
        self.escape().map(|escape| escape.why)
    }

    fn escape(&self) -> Option<escapes::Escape> {
        escapes::escape(&self.words).or_else(|| escapes::told_escape(self.program_name()?, &self.told))
    }

    /// The first option by which a build tool, a test runner or their like runs something else than what the project's own
    /// files say: `cargo --config`, `pytest -p`.
    #[must_use]
    pub fn executing_option(&self) -> Option<&'static str> {
        executing::option(self, &|_| false)
    }

    /// The same, where `inside` says of a place that is named from the root or the home folder whether it lies in the project.
    #[must_use]
    pub fn executing_option_but(&self, inside: &dyn Fn(&str) -> bool) -> Option<&'static str> {
        executing::option(self, inside)
    }

    /// Operands that are code which the command runs, such as test files, or that it hands to a formatter: `pytest tests/a.py`.
    #[must_use]
    pub fn code_operands(&self) -> Vec<&str> {
        executing::code(self)
    }

    /// Files that a program which is not known may write, by the usual names of such options: `--output x`, `-o x`.
    ///
    /// Nothing for programs whose options are known: what they write is in `files`.
    #[must_use]
    pub fn named_outputs(&self) -> Vec<&str> {
        class::named_outputs(&self.words)
    }

    /// Whether all leading assignments are of variables that change only how a program talks: `CI`, `LANG`, `NO_COLOR`.
    ///
    /// Their values are literals: an unknown value counts as not harmless.
    #[must_use]
    pub fn assignments_harmless(&self) -> bool {
        let reads = matches!(self.program(), Some("read" | "mapfile" | "readarray"));
        let lent = self.assignments.iter().any(|assignment| assignment.below);
        let runs_nothing = lent && variables::runs_nothing(&self.words);
        self.assignments.iter().all(|assignment| {
            let value = assignment.value.literal();
            let setting = variables::Setting {
                name: &assignment.name,
                value,
                words: if self.class == CommandClass::Function {
                    &[]
                } else {
                    &self.words
                },
                runs_nothing,
                below: assignment.below,
            };
            variables::is_harmless_as(&setting) || (reads && assignment.name == "IFS" && value.is_some())
        })
    }

    /// Whether folders of the project are lent to it by a variable, as what it runs is code of the project anyway; and, where
    /// it looks for code in them, which script a rule has to leave free.
    #[must_use]
    pub(crate) fn lent_folders(&self) -> Option<Option<variables::Chosen<'_>>> {
        let lends = |own: &&Assignment| own.below && variables::lends(&own.name);
        let mut lent = self.assignments.iter().filter(lends);
        let first = lent.next()?;
        let searched = std::iter::once(first)
            .chain(lent)
            .any(|assignment| variables::is_search_path(&assignment.name));
        Some(searched.then(|| variables::chosen(&self.words)))
    }

    /// The folder that `git -C` names, if it names one; `Some(None)` if it is not certain.
    #[must_use]
    pub(crate) fn git_folder(&self) -> Option<Option<&str>> {
        let words = self.words.get(1..).unwrap_or_default();
        let at = git::split(words).folder?;
        Some(words.get(at).and_then(Word::literal))
    }

    /// Whether what its program writes is made by it from what lies there: a compiler, a converter, a data base.
    #[must_use]
    pub fn writes_products(&self) -> bool {
        class::writes_products(&self.words)
    }

    /// The words that are about this machine: of `ssh host cat x`, those before the command.
    #[must_use]
    pub fn words_here(&self) -> &[Word] {
        class::words_here(&self.words)
    }

    /// Whether its program, by its bare name, runs another one and changes nothing else that matters to a rule.
    #[must_use]
    pub fn is_plain_wrapper(&self) -> bool {
        self.program().is_some_and(class::is_plain_wrapper)
    }

    /// Whether it runs another program by a subcommand, and that is not what its program is for: `cargo watch`, `ip netns exec`.
    #[must_use]
    pub fn needs_own_rule(&self) -> bool {
        class::needs_own_rule(&self.words)
    }

    /// Whether its program is known to run the program or script among its arguments.
    #[must_use]
    pub fn is_wrapper(&self) -> bool {
        self.program_name().is_some_and(class::is_wrapper)
    }
}

/// The names of all programs that run the program or script among their arguments: wrappers and shells. Not of those
/// that do so only behind a verb (`npm exec`).
pub(crate) fn wrapper_names() -> impl Iterator<Item = &'static str> {
    wrappers::names()
}

/// Whether words are the whole name of a wrapper, subcommands included: `docker compose exec`.
pub(crate) fn wraps(words: &[&str]) -> bool {
    wrappers::find(&words.join(" ")).is_some()
}

/// The subcommand behind which a program runs another one, if it does so nowhere else.
pub(crate) fn verb_that_wraps(name: &str) -> Option<&'static str> {
    wrappers::verb_that_wraps(name)
}

/// All wrappers by their whole names, subcommands included, for tests.
#[cfg(test)]
pub(crate) fn whole_wrapper_names() -> impl Iterator<Item = &'static str> {
    wrappers::whole_names()
}

/// One word after quotes were resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// Its text is certain.
    Literal(String),
    /// It depends on what only the shell knows (`$X`, `$(…)`, `*.c`): its source, and whether it can become several words.
    Dynamic {
        /// As written.
        source: String,
        /// It is a glob or brace pattern over file names rather than an unknown value.
        pattern: bool,
    },
}

impl Word {
    /// The text, if it is certain.
    #[must_use]
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Dynamic { .. } => None,
        }
    }

    /// Whether it surely is no option, whatever it becomes: it begins with a letter, a digit, `.`, `_` or `/`, and is a glob,
    /// or one text in double quotes.
    #[must_use]
    pub(crate) fn is_operand(&self) -> bool {
        let plain = |text: &str| text.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/'));
        match self {
            Self::Literal(text) => !text.starts_with('-'),
            // What is not quoted may be split, and the second word be an option.
            Self::Dynamic { source, pattern: true } => {
                plain(source) && !source.contains(['$', '`', '"', '\'', '\\', '~', '<', '>'])
            }
            // `"a$@"` and `"a${x[@]}"` are several words.
            Self::Dynamic { source, pattern: false } => source
                .strip_prefix('"')
                .and_then(|text| text.strip_suffix('"'))
                .is_some_and(|text| plain(text) && !text.contains(['"', '`', '@', '*', '(', '\\'])),
        }
    }
}

/// A leading assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// Its value.
    pub value: Word,
    /// Whether the value names folders below the working directory and nothing else.
    pub below: bool,
    /// Of a variable that names folders all texts that its value may be, where it is no literal and they are known.
    pub texts: Vec<String>,
}

/// How a command was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Context {
    /// A wrapper that runs another program and changes nothing that matters to a rule: `timeout 5`, `nice`, `nohup`, `env`.
    Transparent(String),
    /// A wrapper that changes who or what runs: `sudo`, `doas`, `xargs` with words from its input, `find -exec`.
    Changing(String),
    /// A shell given a script: `bash -c`, `eval`.
    Script(String),
    /// A substitution: `$(…)`, backticks, `<(…)`.
    Substitution(String),
    /// A group, loop, condition, function body, background job.
    Group(String),
}

impl Context {
    /// Its text for people.
    #[must_use]
    pub fn label(&self) -> &str {
        match self {
            Self::Transparent(text)
            | Self::Changing(text)
            | Self::Script(text)
            | Self::Substitution(text)
            | Self::Group(text) => text,
        }
    }
}

/// A file that a command touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileAccess {
    /// Which.
    pub target: FileTarget,
    /// What happens to it.
    pub access: Access,
    /// By a redirection, rather than as an operand.
    pub redirection: bool,
    /// By a variable that is set for the command: `CARGO_TARGET_DIR=x cargo build`.
    pub variable: bool,
    /// Folders that the path, as it is written, enters and leaves again by `..`: where one of them is a link, the path does
    /// not lead where its words say. `None` if they are too many to follow, so that it can lead anywhere.
    pub through: Option<Vec<AbsPath>>,
}

impl FileAccess {
    /// Whether it is `/dev/null`, which keeps nothing.
    pub(crate) fn goes_nowhere(&self) -> bool {
        matches!(&self.target, FileTarget::Path(path) if path.as_str() == "/dev/null")
    }
}

/// Which file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileTarget {
    /// This one: anchored at the directory the command runs in (`cd` before it is followed).
    Path(AbsPath),
    /// Some below this folder, by a pattern such as `*.c`: the pattern as an absolute path with `*`, `?` and `**`.
    Pattern {
        /// The deepest folder without a wildcard.
        folder: AbsPath,
        /// The whole pattern.
        pattern: String,
    },
    /// Not known before it runs: the source of the word.
    Unknown(String),
}

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// It is read.
    Read,
    /// It is created or changed.
    Write,
    /// It is removed.
    Delete,
    /// It is removed with all that lies below it.
    DeleteTree,
}

/// What a command is, by the table of known commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommandClass {
    /// Only looks, with these arguments, at the files in `files`; runs no other program.
    ReadOnly,
    /// Only looks, if the repository's configuration runs nothing (git).
    ReadOnlyGit,
    /// Makes or changes files inside the tree as an editor would (`mkdir`, `touch`, `cp`, `mv`, `rm`, `sed -i`): allowed
    /// with edits, if every file in `files` is.
    FileChange,
    /// Changes the directory of what follows.
    ChangeDirectory,
    /// Wraps the commands that follow it; adds nothing of its own.
    Wrapper,
    /// Calls a function that the line has defined before; what it runs is listed where it is defined.
    Function,
    /// A change of Portcullis' own state, or the end of its processes.
    SelfChange,
    /// Anything else.
    Other,
}

/// Something that could not be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// The words.
    pub text: String,
    /// Why.
    pub reason: OpaqueReason,
    /// How it was reached, outermost first.
    pub seen_through: Vec<Context>,
}

/// Why something could not be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpaqueReason {
    /// It is not valid bash, or bash we cannot read.
    Unparsable,
    /// The program's name is only known when it runs: `$X a b`.
    DynamicProgram,
    /// A script whose text is only known when it runs: `bash -c "$X"`, `eval $Y`, `… | sh`.
    DynamicScript,
    /// A wrapper with an option we do not know.
    UnknownWrapperOption,
    /// Nested deeper, or longer, than we follow.
    TooLarge,
    /// A variable that changes which program runs or what it loads: PATH, LD_PRELOAD, BASH_ENV, IFS, …
    DangerousVariable,
    /// A function, alias or trap that changes the meaning of other words.
    Redefinition,
    /// A character that nobody sees or that turns the text around: zero width, directions, controls.
    HiddenCharacter,
    /// A program whose name has letters that look like others: a Cyrillic `с` in `curl`.
    ConfusableName,
    /// A script in the language of another shell: PowerShell, cmd, fish.
    ForeignShell,
}

impl OpaqueReason {
    /// The reason in words.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Unparsable => "the shell line cannot be parsed",
            Self::DynamicProgram => "which program runs is only known at run time",
            Self::DynamicScript => "the script it runs is only known at run time",
            Self::UnknownWrapperOption => "the wrapper has an option that is not understood",
            Self::TooLarge => "the shell line is longer or deeper than is analysed",
            Self::DangerousVariable => "a variable changes which program runs or what it loads",
            Self::HiddenCharacter => "it holds characters that are not seen, or that change how the line is seen",
            Self::ConfusableName => "the program's name has letters that look like others",
            Self::ForeignShell => "it is a script of a shell that is not analysed, such as PowerShell or cmd",
            Self::Redefinition => "a function, alias or trap changes the meaning of other words",
        }
    }
}

/// Where a line is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellContext {
    /// The working directory.
    pub cwd: AbsPath,
    /// What `~` and `$HOME` stand for; `None` = not known.
    pub home: Option<AbsPath>,
}

/// Bounds of the analysis. Counted in steps, so that the same line gives the same answer everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest line, in bytes.
    pub bytes: usize,
    /// Deepest nesting of groups, quotes, substitutions, and scripts inside scripts.
    pub depth: usize,
    /// Most commands in the analysis.
    pub parts: usize,
    /// Most commands and words looked at, scripts inside scripts included; a long text costs steps, too.
    pub steps: usize,
}

impl Default for Limits {
    /// 1 MiB, because a request holds no more; 256 levels, because the reader recurses and that many fit in 2 MiB of stack;
    /// 4,096 commands, because nobody judges more; and 200,000 steps, because 10,000 operands have to fit and they take less
    /// than 50 ms.
    fn default() -> Self {
        Self {
            bytes: 1 << 20,
            depth: 256,
            parts: 4_096,
            steps: 200_000,
        }
    }
}
