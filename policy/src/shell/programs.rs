//! What well-known programs do with their arguments: the data files `policy/data/programs/*.toml`.
//!
//! Each entry says which options take a value, which of those name files or hosts, what the operands are, and which
//! options make the program run another one or write somewhere. A program that is not there is judged by its name and
//! words alone. Programs whose arguments follow no common scheme have code in `files/special.rs` besides their entry.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;

use super::{
    Word,
    data::{self, ByName, Remarked},
    options::{self, Spec},
};

/// What the operands of a program are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Shape {
    /// No files.
    #[default]
    None,
    /// Files that it reads.
    Reads,
    /// Files that it reads; the working directory if there is none.
    ReadsOrHere,
    /// A pattern or program text, then files that it reads; no text if one of the options `-e`, `-f` and kin is given.
    TextThenReads,
    /// The same, and the working directory if there are no files.
    TextThenReadsOrHere,
    /// Files that it creates or changes.
    Writes,
    /// A mode or owner, then files that it changes.
    ModeThenWrites,
    /// Files that it removes; with `-r` all below.
    Deletes,
    /// Sources, then a target.
    Copies,
    /// The same, and the sources are gone.
    Moves,
    /// Targets of links, then the link.
    Links,
    /// The first is read, the second written: `uniq`, `xxd`.
    ReadsThenWrites,
    /// All but the last are read, the last is written: `convert`.
    InputsThenOutput,
    /// The first is changed, the rest read: `zip`, `ar`.
    Archives,
    /// The first is read and unpacked into the working directory: `unrar x`.
    Unpacks,
    /// The first is changed: `sqlite3 FILE`.
    WritesFirst,
    /// Hosts or addresses.
    Hosts,
    /// Code knows: `files/special.rs`.
    Special,
}

/// What a program is, if its options allow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// Only looks, with the options of its entry; with any option, if the entry lists no flags.
    Looks,
    /// Only looks with certain arguments: `class.rs` knows which.
    LooksIf,
    /// Changes files as an editor would.
    Changes,
    /// Anything else.
    #[default]
    Other,
}

/// A program, or one of its subcommands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program {
    pub(super) kind: Kind,
    pub(super) shape: Shape,
    /// Options with a value, and those without.
    pub(super) spec: Spec,
    /// Its flags are all listed: another one may do anything.
    pub(super) strict: bool,
    /// Options whose value is a file that is read.
    pub(super) reads: &'static [&'static str],
    /// Options that take the names of further files from a list: the file of their value, or the input.
    pub(super) lists: &'static [&'static str],
    /// Options whose value is a folder that is removed with all below.
    pub(super) removes: &'static [&'static str],
    /// Options whose value is a file that is written.
    pub(super) writes: &'static [&'static str],
    /// Options whose value names a file that is written behind a colon or `=`: `--cov-report=html:DIR`.
    pub(super) prefixed: &'static [&'static str],
    /// Options whose value is a host or an address.
    pub(super) hosts: &'static [&'static str],
    /// What it writes is its product, made from what lies there.
    pub(super) products: bool,
    /// Files that it changes without naming them.
    pub(super) changes: &'static [&'static str],
    /// Options whose value is a command for a shell.
    pub(super) runs: &'static [&'static str],
    /// Options, and beginnings of operands, that run another program or write elsewhere. An allow rule never covers them.
    pub(super) escapes: &'static [Remarked],
}

/// An entry as written. `policy/data/README.md` describes the keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Raw {
    names: String,
    #[serde(default)]
    verbs: String,
    /// For people only: what it is, or why it is where it is.
    #[serde(default)]
    #[expect(dead_code, reason = "a remark for readers of the file")]
    why: String,
    #[serde(default)]
    kind: Kind,
    #[serde(default)]
    operands: Shape,
    #[serde(default)]
    one_dash: bool,
    #[serde(default)]
    joined: String,
    flags: Option<String>,
    #[serde(default)]
    values: String,
    #[serde(default)]
    attached: String,
    #[serde(default)]
    reads: String,
    #[serde(default)]
    lists: String,
    #[serde(default)]
    fed: String,
    #[serde(default)]
    removes: String,
    #[serde(default)]
    writes: String,
    #[serde(default)]
    prefixed: String,
    #[serde(default)]
    hosts: String,
    #[serde(default)]
    products: bool,
    #[serde(default)]
    changes: String,
    #[serde(default)]
    runs: String,
    #[serde(default)]
    escapes: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raws {
    program: Vec<Raw>,
}

/// The files. A test below says so if one is missing here.
const FILES: &[(&str, &str)] = &[
    ("agents", include_str!("../../data/programs/agents.toml")),
    ("commands", include_str!("../../data/programs/commands.toml")),
    ("development", include_str!("../../data/programs/development.toml")),
    ("files", include_str!("../../data/programs/files.toml")),
    ("looking", include_str!("../../data/programs/looking.toml")),
    ("media", include_str!("../../data/programs/media.toml")),
    ("network", include_str!("../../data/programs/network.toml")),
    ("reports", include_str!("../../data/programs/reports.toml")),
];

static PROGRAMS: LazyLock<ByName<Program>> = LazyLock::new(|| {
    let mut entries = Vec::new();
    for (file, text) in FILES {
        let raws: Raws = data::read(&format!("programs/{file}.toml"), text);
        for raw in raws.program {
            let names = data::full_names(&raw.names, &raw.verbs);
            let program = data::keep(compact(raw));
            entries.extend(names.into_iter().map(|name| (data::keep_text(&name), &*program)));
        }
    }
    ByName::new(entries)
});

fn compact(raw: Raw) -> Program {
    let valued = [
        &raw.values,
        &raw.reads,
        &raw.lists,
        &raw.removes,
        &raw.writes,
        &raw.prefixed,
        &raw.hosts,
    ]
    .map(String::as_str)
    .join(" ");
    Program {
        kind: raw.kind,
        shape: raw.operands,
        strict: raw.flags.is_some(),
        spec: options::Spec {
            joined: data::words(&raw.joined),
            ..options::spec(
                &valued,
                &raw.attached,
                raw.flags.as_deref().unwrap_or_default(),
                raw.one_dash,
            )
        },
        reads: data::words(&raw.reads),
        removes: data::words(&raw.removes),
        lists: data::words(&format!("{} {}", raw.lists, raw.fed)),
        writes: data::words(&raw.writes),
        prefixed: data::words(&raw.prefixed),
        hosts: data::words(&raw.hosts),
        products: raw.products,
        changes: data::words(&raw.changes),
        runs: data::words(&raw.runs),
        escapes: data::remarked(raw.escapes),
    }
}

/// The entry of this name (without a folder).
pub(super) fn find(name: &str) -> Option<&'static Program> {
    PROGRAMS.find(name)
}

/// Whether the table knows subcommands of a program.
pub(super) fn has_verbs(name: &str) -> bool {
    PROGRAMS.has_below(name)
}

/// A command's program, and its subcommand where the table knows some.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// The program itself.
    pub(super) program: &'static Program,
    /// Its subcommand, and the number of the first argument behind it.
    pub(super) verb: Option<(&'static Program, usize)>,
}

impl Known {
    /// The entry that says what the command does.
    pub(super) fn last(self) -> &'static Program {
        self.verb.map_or(self.program, |(verb, _)| verb)
    }

    /// Number of the argument from which that entry counts.
    pub(super) fn from(self) -> usize {
        self.verb.map_or(0, |(_, from)| from)
    }
}

/// What is known about a command. `arguments` follow the program's name.
pub(super) fn know<'a>(name: &str, arguments: impl IntoIterator<Item = &'a Word>) -> Option<Known> {
    let program = find(name)?;
    if !PROGRAMS.has_below(name) {
        return Some(Known { program, verb: None });
    }
    let words: Vec<&Word> = arguments.into_iter().take(MOST_GLOBAL_WORDS).collect();
    // Room for most subcommands.
    let mut spelled = String::with_capacity(name.len() + 32);
    spelled.push_str(name);
    let mut known = Known { program, verb: None };
    let mut from = 0;
    // The subcommand is an operand that the options before it leave; below it, options count from there.
    while PROGRAMS.has_below(&spelled) {
        let rest = words.get(from..).unwrap_or_default();
        let parsed = options::parse(rest.iter().copied(), known.last().spec);
        // `cargo +nightly build`: the toolchain is no subcommand.
        let mut verbs = parsed
            .operands
            .iter()
            .filter_map(|at| Some((*at, rest.get(*at)?.literal())));
        let Some((at, Some(verb))) = verbs.find(|(_, verb)| !verb.is_some_and(|verb| verb.starts_with('+'))) else {
            break;
        };
        spelled.push(' ');
        spelled.push_str(verb);
        from += at + 1;
        if let Some(entry) = find(&spelled) {
            known.verb = Some((entry, from));
        }
    }
    Some(known)
}

/// Most words in which a subcommand is looked for.
const MOST_GLOBAL_WORDS: usize = 64;

#[cfg(test)]
mod tests;
