//! Which files a command touches and which hosts it contacts, by the table of [`programs`](super::programs).

mod archives;
mod git;
mod network;
mod special;

pub(crate) use git::Pathspec;

use super::{
    Access, Assignment, FileAccess, Word, class, escapes, executing,
    expand::{Field, State},
    options::{self, Attached, Parsed},
    programs::{self, Known, Program, Shape},
    targets::Files,
    variables, wrappers,
};

/// Files and hosts of a command.
#[derive(Debug, Default)]
pub(super) struct Touched {
    pub(super) files: Vec<FileAccess>,
    pub(super) urls: Vec<String>,
}

/// How files are shown whose names a list tells.
pub(super) const FROM_A_LIST: &str = "files that a list names";

/// What the command `name` (without its folder) touches; `arguments` are the words after it.
pub(super) fn touched(name: &str, arguments: &[Field], state: &State) -> Touched {
    // `python3 -m pytest` writes what `pytest` does.
    let words: Vec<Word> = std::iter::once(Word::Literal(name.to_owned()))
        .chain(arguments.iter().map(|field| field.word.clone()))
        .filter(|_| name.starts_with("py"))
        .collect();
    let mut call = Call {
        name,
        arguments,
        parsed: Parsed::default(),
        files: Files::new(state),
        urls: Vec::new(),
    };
    if let Some((module, from)) = executing::behind_module(&words).filter(|(_, from)| *from > 1) {
        call.name = module;
        call.arguments = arguments.get(from - 1..).unwrap_or_default();
        let words: Vec<&Word> = call.arguments.iter().map(|field| &field.word).collect();
        if let Some(known) = programs::know(module, words) {
            call.known(known);
        }
    } else if matches!(name, "source" | ".") {
        if let Some(script) = call.argument(0) {
            call.file(script, Access::Read);
        }
    } else if let Some(known) = programs::know(name, arguments.iter().map(|field| &field.word)) {
        call.known(known);
    }
    Touched {
        files: call.files.found,
        urls: call.urls,
    }
}

/// Most folders of a list in a variable that are looked at.
const MOST_FOLDERS: usize = 256;

/// The folders that variables name which are set for a command, as it uses them: `CARGO_TARGET_DIR=x cargo build`.
pub(super) fn of_variables(assignments: &[Assignment], words: &[Word], state: &State) -> Vec<FileAccess> {
    let mut files = Files::new(state);
    files.variable = true;
    for assignment in assignments {
        let value = assignment.value.literal();
        let Some(access) = variables::folder_access(&assignment.name, value, words) else {
            continue;
        };
        let lists: Vec<&str> = match &assignment.value {
            Word::Literal(list) => vec![list],
            Word::Dynamic { source, .. } => {
                if assignment.texts.is_empty() {
                    files.unknown(source, access);
                }
                assignment.texts.iter().map(String::as_str).collect()
            }
        };
        for list in lists {
            if access != Access::Read {
                files.name(list, access);
                continue;
            }
            let mut folders = list.split(':');
            for folder in folders.by_ref().take(MOST_FOLDERS) {
                // An empty one is the working directory.
                files.name(if folder.is_empty() { "." } else { folder }, access);
            }
            if folders.next().is_some() {
                files.unknown(list, access);
            }
        }
    }
    files.found
}

/// A command whose files are being collected.
struct Call<'a> {
    name: &'a str,
    arguments: &'a [Field],
    parsed: Parsed,
    files: Files<'a>,
    urls: Vec<String>,
}

impl<'a> Call<'a> {
    /// What a program's entry says, or its subcommand's.
    fn known(&mut self, known: Known) {
        let all = self.arguments;
        match known.verb {
            // Code that knows the program reads all its words.
            Some((verb, _)) if verb.shape == Shape::Special => {
                self.parsed = parse(all, verb);
                self.program(verb);
            }
            Some((verb, from)) => {
                let end = self.end_here();
                self.arguments = all.get(..from).unwrap_or_default();
                self.parsed = parse(self.arguments, known.program);
                self.option_values(known.program);
                // What runs in a container has options of its own.
                self.arguments = all.get(from..end).unwrap_or_default();
                self.parsed = parse(self.arguments, verb);
                self.program(verb);
            }
            None => {
                self.parsed = parse(all, known.program);
                self.program(known.program);
                // A script among the arguments that runs or writes what it likes.
                if escapes::takes_script(self.name) {
                    let words: Vec<Word> = all.iter().map(|field| field.word.clone()).collect();
                    if self.name.ends_with("sed") {
                        self.sed_script(&words);
                    } else if let Some(script) = escapes::script_that_writes(self.name, &words, &self.parsed) {
                        self.files.unknown(&script, Access::Write);
                    }
                }
            }
        }
        for file in known.last().changes {
            self.files.name(file, Access::Write);
        }
    }

    /// How many of the arguments are about this machine: of `docker compose exec web rm -rf x`, those before `rm`.
    fn end_here(&self) -> usize {
        if !wrappers::can_wrap(self.name) {
            return self.arguments.len();
        }
        let program = std::iter::once(Word::Literal(self.name.to_owned()));
        let words: Vec<Word> = program
            .chain(self.arguments.iter().map(|field| field.word.clone()))
            .collect();
        class::words_here(&words).len().saturating_sub(1)
    }

    /// Files and hosts that are values of options.
    fn option_values(&mut self, program: &Program) {
        if self.parsed.options.is_empty() {
            return;
        }
        for (options, access) in [
            (program.reads, Access::Read),
            (program.writes, Access::Write),
            (program.removes, Access::DeleteTree),
        ] {
            for value in self.values(options) {
                self.attached(&value, access);
            }
        }
        // The list is read, and what it names. It may name anything.
        for value in self.values(program.lists) {
            self.attached(&value, Access::Read);
            self.files.unknown(FROM_A_LIST, Access::Read);
        }
        for value in self.values(program.prefixed) {
            let field = self.value_field(&value);
            match field.as_ref().and_then(Field::text) {
                Some(text) => {
                    let file = text.rsplit([':', '=']).next().unwrap_or(text).to_owned();
                    self.attached(&Attached::Text(file), Access::Write);
                }
                None => self.attached(&Attached::Unknown, Access::Write),
            }
        }
        for value in self.values(program.hosts) {
            if let Some(field) = self.value_field(&value) {
                self.address(&field);
            }
        }
    }

    /// What stands for a pattern, or for the value of an option, may hold files behind it: `grep "$@"`, `head -n $(cat x)`.
    fn behind_texts(&mut self, program: &Program) {
        if matches!(program.shape, Shape::None | Shape::Special | Shape::Hosts) {
            return;
        }
        let texts = matches!(program.shape, Shape::TextThenReads | Shape::TextThenReadsOrHere);
        let pattern = self.field(0).filter(|_| texts);
        let values = self.parsed.options.iter().filter_map(|found| match found.value {
            Attached::Word(at) => self.argument(at),
            _ => None,
        });
        let many: Vec<&Field> = pattern.into_iter().chain(values).filter(|field| field.many).collect();
        for field in many {
            self.files.unknown(&field.source, Access::Read);
        }
    }

    fn program(&mut self, program: &Program) {
        self.option_values(program);
        self.behind_texts(program);
        match program.shape {
            Shape::None => {}
            Shape::Reads => self.operands_from(0, Access::Read),
            Shape::ReadsOrHere => self.reads_or_here(0),
            Shape::TextThenReads | Shape::TextThenReadsOrHere => {
                let given = [
                    "-e",
                    "-f",
                    "--regexp",
                    "--file",
                    "--expression",
                    "--files",
                    "--type-list",
                ];
                let skip = usize::from(!self.parsed.has(&given));
                let looks_below = matches!(self.name, "rg" | "fd" | "fdfind" | "ag" | "ack")
                    || self.parsed.has(&["-r", "-R", "--recursive", "--dereference-recursive"])
                    || self.searches_folders();
                let in_place = |value: &Attached| {
                    self.value_field(value)
                        .is_some_and(|field| field.text().is_some_and(|text| text == "inplace"))
                };
                if self.name == "gawk" && self.values(&["-i", "--include"]).iter().any(in_place) {
                    self.operands_from(skip, Access::Write);
                } else if program.shape == Shape::TextThenReadsOrHere && looks_below {
                    self.reads_or_here(skip);
                } else {
                    self.operands_from(skip, Access::Read);
                }
            }
            Shape::Writes => {
                // `vim +10 a`: a line number, or a command of the editor.
                let touches = self.name.ends_with("touch");
                let plus = |field: &&Field| field.text().is_some_and(|text| text.starts_with('+'));
                for field in self.fields().into_iter().filter(|field| touches || !plus(field)) {
                    self.file(field, Access::Write);
                }
            }
            Shape::ModeThenWrites => {
                // A mode such as `-x` stands where options do.
                let as_option = ["-r", "-w", "-x", "-X", "-s", "-t", "--reference"];
                let skip = usize::from(!self.parsed.has(&as_option));
                self.operands_from(skip, Access::Write);
            }
            Shape::Deletes => {
                let below =
                    self.parsed.has(&["-r", "-R", "--recursive"]) || matches!(self.name, "trash" | "trash-put" | "gio");
                let access = if below { Access::DeleteTree } else { Access::Delete };
                self.operands_from(0, access);
            }
            Shape::Copies | Shape::Moves | Shape::Links => self.transfer(program.shape),
            Shape::ReadsThenWrites => {
                self.operand(0, Access::Read);
                self.operand(1, Access::Write);
            }
            Shape::InputsThenOutput => {
                let fields = self.fields();
                if let Some((output, inputs)) = fields.split_last() {
                    inputs.iter().for_each(|field| self.file(field, Access::Read));
                    self.file(output, Access::Write);
                }
            }
            Shape::Archives => {
                self.operand(0, Access::Write);
                self.operands_from(1, Access::Read);
            }
            Shape::Unpacks => {
                self.operand(0, Access::Read);
                self.files.here(Access::Write);
            }
            Shape::WritesFirst => self.operand(0, Access::Write),
            Shape::Hosts => {
                for field in self.fields() {
                    self.url(field);
                }
            }
            Shape::Special => self.special(),
        }
    }

    /// `grep -d recurse`, whose action may be cut short.
    fn searches_folders(&self) -> bool {
        let given = self.values(&["-d", "--directories"]);
        let mut actions = given.iter().filter_map(|value| self.value_field(value));
        self.name.ends_with("grep") && actions.any(|field| field.text().is_none_or(options::is_recursion))
    }

    fn values(&self, options: &[&str]) -> Vec<Attached> {
        self.parsed.values(options).cloned().collect()
    }

    fn argument(&self, number: usize) -> Option<&'a Field> {
        self.arguments.get(number)
    }

    /// The operand of this rank.
    fn field(&self, rank: usize) -> Option<&'a Field> {
        self.argument(*self.parsed.operands.get(rank)?)
    }

    fn fields(&self) -> Vec<&'a Field> {
        self.parsed
            .operands
            .iter()
            .filter_map(|number| self.argument(*number))
            .collect()
    }

    fn operand(&mut self, rank: usize, access: Access) {
        if let Some(field) = self.field(rank) {
            self.file(field, access);
        }
    }

    fn operands_from(&mut self, skip: usize, access: Access) {
        for field in self.fields().into_iter().skip(skip) {
            if access == Access::Read {
                self.file(field, access);
            } else {
                // `mkdir -` makes a folder of that name.
                self.files.field(field, access);
            }
        }
    }

    fn reads_or_here(&mut self, skip: usize) {
        if self.parsed.operands.len() > skip {
            self.operands_from(skip, Access::Read);
        } else {
            self.files.here(Access::Read);
        }
    }

    /// A file operand; `-` is a stream, but not to those who make and remove names.
    fn file(&mut self, field: &Field, access: Access) {
        const NAMES: &[&str] = &[
            "chmod", "chown", "cp", "install", "ln", "mkdir", "mkfifo", "mv", "rm", "rmdir", "shred", "tee",
            "truncate", "unlink",
        ];
        if field.text() != Some("-") || (access != Access::Read && NAMES.contains(&self.name)) {
            self.files.field(field, access);
        }
    }

    /// The file that an option's value names.
    fn attached(&mut self, value: &Attached, access: Access) {
        match value {
            Attached::Nothing => {}
            Attached::Word(number) => {
                if let Some(field) = self.argument(*number) {
                    self.file(field, access);
                }
            }
            Attached::Text(text) if text == "-" => {}
            Attached::Text(text) => self.files.name(text, access),
            Attached::Unknown => self.files.field(&Field::unknown("value of an option"), access),
        }
    }

    /// `cp`, `mv`, `ln`, `install`: sources and a target.
    fn transfer(&mut self, shape: Shape) {
        let mut sources = self.fields();
        if self.name == "install" && self.parsed.has(&["-d", "--directory"]) {
            self.operands_from(0, Access::Write);
            return;
        }
        // A copy of what was there is kept under another name.
        if self.parsed.has(&["-b", "--backup", "-S", "--suffix"]) {
            self.files.unknown("the backup", Access::Write);
        }
        let folders = self.values(&["-t", "--target-directory"]);
        let mut targets: Vec<Field> = folders.iter().filter_map(|value| self.value_field(value)).collect();
        let into = !targets.is_empty();
        if !into {
            match sources.pop() {
                // `ln target` makes a link here.
                Some(only) if shape == Shape::Links && sources.is_empty() => {
                    sources.push(only);
                    targets.push(Field::literal("."));
                }
                Some(target) => targets.push(target.clone()),
                None => {}
            }
        }
        let symbolic = shape == Shape::Links && self.parsed.has(&["-s", "--symbolic"]);
        // The text of such a link is read from where the link lies.
        let in_folder = |field: &&Field| {
            field
                .text()
                .is_some_and(|text| text.trim_end_matches('/').contains('/'))
        };
        let placed: Vec<String> = targets
            .iter()
            .filter(in_folder)
            .filter_map(Field::text)
            .map(str::to_owned)
            .collect();
        let all_placed = symbolic && placed.len() == targets.len();
        for source in &sources {
            let relative = source.text().is_some_and(|text| !text.starts_with(['/', '~']));
            if !(all_placed && relative) {
                self.file(source, Access::Read);
            }
            if shape == Shape::Moves {
                self.file(source, Access::Delete);
            }
        }
        let whole = !into && self.parsed.has(&["-T", "--no-target-directory"]);
        for target in &targets {
            self.file(target, Access::Write);
            if symbolic
                && target
                    .text()
                    .is_none_or(|text| text.trim_end_matches('/').contains('/'))
            {
                let relative = sources
                    .iter()
                    .filter(|source| source.text().is_none_or(|text| !text.starts_with('/')));
                for source in relative {
                    match (source.text(), target.text()) {
                        // It lies there, or in there if that is a folder.
                        (Some(text), Some(target)) => {
                            let name = target.trim_end_matches('/');
                            let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
                            self.files.name(&format!("{folder}/{text}"), Access::Read);
                            self.files.name(&format!("{name}/{text}"), Access::Read);
                        }
                        _ => {
                            let source = Field::unknown(&source.source);
                            self.files.field(&source, Access::Read);
                        }
                    }
                }
            }
            if whole {
                continue;
            }
            // The folders of a source are made below the target.
            if self.parsed.has(&["--parents"]) {
                for source in &sources {
                    match (source.text(), target.text()) {
                        (Some(source), Some(folder)) => self.files.name(&format!("{folder}/{source}"), Access::Write),
                        _ => self.files.unknown(&source.source, Access::Write),
                    }
                }
            }
            for source in &sources {
                let name = source
                    .text()
                    .map(|text| text.trim_end_matches('/').rsplit('/').next().unwrap_or_default());
                let inside = into || sources.len() > 1 || target.text().is_some_and(|text| may_be_folder(text, name));
                if let (true, Some(name), Some(folder)) = (inside, name, target.text()) {
                    self.files.name(&format!("{folder}/{name}"), Access::Write);
                }
            }
        }
    }

    /// The word that is an option's value.
    fn value_field(&self, value: &Attached) -> Option<Field> {
        match value {
            Attached::Nothing => None,
            Attached::Word(number) => self.argument(*number).cloned(),
            Attached::Text(text) => Some(Field::literal(text)),
            Attached::Unknown => Some(Field::unknown("value of an option")),
        }
    }
}

fn parse(arguments: &[Field], program: &Program) -> Parsed {
    options::parse(arguments.iter().map(|field| &field.word), program.spec)
}

/// Whether a target may be a folder into which `source` is put under its own name.
///
/// Not known without looking. A name with an extension is a folder only seldom; a source that begins with a dot is
/// counted even then, because such names are the protected ones.
fn may_be_folder(target: &str, source: Option<&str>) -> bool {
    let last = target.rsplit('/').next().unwrap_or_default();
    last.is_empty()
        || matches!(last, "." | ".." | "~")
        || !last.trim_start_matches('.').contains('.') && source.is_some()
}

/// Whether a word is certain and equal to `text`.
fn is(word: &Word, text: &str) -> bool {
    word.literal() == Some(text)
}
