//! Which files a command touches and which hosts it contacts, by the table of [`programs`](super::programs).

mod known;
mod special;

use super::{
    Access, FileAccess, Word, class,
    expand::{Field, State},
    options::{self, Attached, Parsed},
    programs::{self, Program, Shape},
    targets::Files,
};

/// Files and hosts of a command.
#[derive(Debug, Default)]
pub(super) struct Touched {
    pub(super) files: Vec<FileAccess>,
    pub(super) urls: Vec<String>,
}

/// What the command `name` (without its folder) touches; `arguments` are the words after it.
pub(super) fn touched(name: &str, arguments: &[Field], state: &State) -> Touched {
    let mut call = Call {
        name,
        arguments,
        parsed: Parsed::default(),
        files: Files::new(state),
        urls: Vec::new(),
    };
    match name {
        "source" | "." => call.operand(0, Access::Read),
        _ => {
            if let Some(program) = programs::find(name) {
                call.parsed = options::parse(arguments.iter().map(|field| &field.word), program.spec);
                call.program(program);
                // A script among the arguments that runs or writes what it likes.
                let words: Vec<Word> = arguments.iter().map(|field| field.word.clone()).collect();
                if let Some(script) = class::script_that_writes(name, &words, &call.parsed) {
                    call.files.unknown(&script, Access::Write);
                }
            }
        }
    }
    let words: Vec<&str> = arguments
        .iter()
        .filter_map(Field::text)
        .filter(|text| !text.starts_with('-'))
        .collect();
    if let Some(file) = known::written(name, &words) {
        call.files.name(file, Access::Write);
    }
    Touched {
        files: call.files.found,
        urls: call.urls,
    }
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
    fn program(&mut self, program: &Program) {
        for (options, access) in [(program.reads, Access::Read), (program.writes, Access::Write)] {
            for value in self.values(options) {
                self.attached(&value, access);
            }
        }
        match program.shape {
            Shape::Nothing => {}
            Shape::Reads => self.operands_from(0, Access::Read),
            Shape::ReadsHere => self.reads_or_here(0),
            Shape::TextThenReads | Shape::TextThenReadsHere => {
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
                let looks_below = matches!(self.name, "rg" | "fd" | "fdfind")
                    || self.parsed.has(&["-r", "-R", "--recursive", "--dereference-recursive"]);
                let in_place = |value: &Attached| {
                    self.value_field(value)
                        .is_some_and(|field| field.text().is_some_and(|text| text == "inplace"))
                };
                if self.name == "gawk" && self.values(&["-i", "--include"]).iter().any(in_place) {
                    self.operands_from(skip, Access::Write);
                } else if program.shape == Shape::TextThenReadsHere && looks_below {
                    self.reads_or_here(skip);
                } else {
                    self.operands_from(skip, Access::Read);
                }
            }
            Shape::Writes => self.operands_from(0, Access::Write),
            Shape::ModeThenWrites => {
                let skip = usize::from(!self.parsed.has(&["--reference"]));
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
            Shape::Special => self.special(),
        }
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
        // Without a table entry the arguments are the operands.
        let field = self
            .field(rank)
            .or_else(|| self.argument(rank).filter(|_| self.parsed.operands.is_empty()));
        if let Some(field) = field {
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

    /// A file operand; `-` is a stream.
    fn file(&mut self, field: &Field, access: Access) {
        if field.text() != Some("-") {
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
        for source in &sources {
            self.file(source, Access::Read);
            if shape == Shape::Moves {
                self.file(source, Access::Delete);
            }
        }
        let whole = !into && self.parsed.has(&["-T", "--no-target-directory"]);
        for target in &targets {
            self.file(target, Access::Write);
            // The link's text is read from where the link lies.
            if symbolic
                && target
                    .text()
                    .is_none_or(|text| text.trim_end_matches('/').contains('/'))
            {
                let relative = sources
                    .iter()
                    .filter(|source| source.text().is_none_or(|text| !text.starts_with('/')));
                for source in relative {
                    let source = Field::unknown(&source.source);
                    self.files.field(&source, Access::Read);
                }
            }
            if whole {
                continue;
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
