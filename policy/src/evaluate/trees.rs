//! Commands that read whole folders: `grep -r`, `cp -r`, `tar c`, and globs that can meet links.
//!
//! A deny on `Read(.env)` is about a file at any depth. Whether a folder holds one is a fact: the host says which names
//! stand below the folders named here ([`crate::facts::Tree`]). What a rule cannot cover by these names needs no question;
//! what it can cover asks. What is not known asks, if a rule could be about it at all.
//!
//! Only reading of contents counts. Listing names (`find`, `ls -R`, `tree`) does not, nor does what git shows of tracked
//! files: that is in everybody's clone.

mod names;

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    AbsPath, Effect,
    facts::Tree,
    mode::ActionClass,
    path::{
        Anchors,
        plain::{self, Token},
    },
    rule::PathVerb,
    ruleset::RuleId,
    shell::{self, Access, Command, FileTarget, Word, acts},
};

use super::{
    part::Part,
    world::{PathRule, World},
};

pub(super) use names::Names;

/// Most folders of one command that are looked through.
const MOST_FOLDERS: usize = 256;

/// A program that reads the folders among its operands with all that lies below.
struct Reader {
    program: &'static str,
    /// Letters of short options that make it do so; empty: it always does.
    letters: &'static str,
    /// Long options and words that do.
    words: &'static [&'static str],
    /// It takes the options of `grep` by which names are left out.
    as_grep: bool,
    /// It leaves out names that begin with a dot, unless one of these is there.
    hidden: &'static [&'static str],
    /// Options whose value is a pattern: what it fits is taken, be it hidden or not.
    globs: &'static [&'static str],
}

const fn reader(program: &'static str, letters: &'static str, words: &'static [&'static str]) -> Reader {
    Reader {
        program,
        letters,
        words,
        as_grep: false,
        hidden: &[],
        globs: &[],
    }
}

const fn searcher(program: &'static str, letters: &'static str, words: &'static [&'static str]) -> Reader {
    Reader {
        as_grep: true,
        ..reader(program, letters, words)
    }
}

const RECURSE: &[&str] = &[
    "--recursive",
    "--dereference-recursive",
    "--directories=recurse",
    "recurse",
];
const READERS: &[Reader] = &[
    searcher("grep", "rR", RECURSE),
    searcher("egrep", "rR", RECURSE),
    searcher("fgrep", "rR", RECURSE),
    searcher("zgrep", "rR", RECURSE),
    searcher("rgrep", "", &[]),
    searcher("ugrep", "rR", RECURSE),
    Reader {
        hidden: &["--hidden", "--unrestricted", "--no-ignore", "-u", "-."],
        globs: &["-g", "--glob", "--iglob"],
        ..reader("rg", "", &[])
    },
    Reader {
        hidden: &["--hidden", "--unrestricted", "-u", "-U"],
        ..reader("ag", "", &[])
    },
    reader("ack", "", &[]),
    reader("cp", "rRa", &["--recursive", "--archive"]),
    reader("gcp", "rRa", &["--recursive", "--archive"]),
    reader("mv", "", &[]),
    reader("gmv", "", &[]),
    reader("rsync", "ra", &["--recursive", "--archive"]),
    reader("scp", "r", &[]),
    reader("diff", "r", &["--recursive"]),
    reader("tar", "", &[]),
    reader("gtar", "", &[]),
    reader("bsdtar", "", &[]),
    reader("zip", "rR", &["--recurse-paths", "--recurse-patterns"]),
];
/// Programs that give a folder to a container: `-v FOLDER:…`, `--mount src=FOLDER`, `cp FOLDER`, `build FOLDER`.
const CONTAINERS: &[&str] = &["buildah", "docker", "nerdctl", "podman"];
/// Programs that are in no table of files, and pack or show whatever folders they are given.
const PACKERS: &[&str] = &[
    "7z",
    "7za",
    "7zr",
    "7zz",
    "genisoimage",
    "jar",
    "meld",
    "mkisofs",
    "mksquashfs",
    "pax",
    "rar",
];
/// Most names that a pattern of the shell is compared with.
pub(super) const MAX_EXPANDED: usize = 5_000;
/// Most comparisons of a name with a rule for one call. Beyond it nothing is known.
const MAX_STEPS: usize = 2_000_000;

/// A folder of which something must be known, and how deep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) folder: AbsPath,
    /// Everything below, rather than what lies directly in it.
    pub(super) deep: bool,
}

/// The folders whose contents a command reads without naming each file.
pub(super) fn wanted(command: &Command, resolve: impl Fn(&str) -> Option<AbsPath>) -> Vec<Wanted> {
    let mut out = Vec::new();
    for access in command.files.iter().filter(|access| access.access == Access::Read) {
        match &access.target {
            FileTarget::Path(folder) if !access.redirection && reads_below(command) => out.push(Wanted {
                folder: folder.clone(),
                deep: true,
            }),
            FileTarget::Pattern { folder, pattern } => out.push(Wanted {
                folder: folder.clone(),
                deep: reads_below(command) || goes_deep(folder, pattern),
            }),
            FileTarget::Path(_) | FileTarget::Unknown(_) => {}
        }
    }
    out.extend(command.globs.iter().filter_map(|target| match target {
        FileTarget::Pattern { folder, pattern } => Some(Wanted {
            folder: folder.clone(),
            deep: goes_deep(folder, pattern),
        }),
        FileTarget::Path(_) | FileTarget::Unknown(_) => None,
    }));
    let further = match command.program_name() {
        Some(program) if CONTAINERS.contains(&program) => given_to_container(command),
        Some(program) if PACKERS.contains(&program) => {
            literals(command).filter(|word| !word.starts_with('-')).collect()
        }
        Some("git") if git_reads_untracked(command) => compared(command).unwrap_or_else(|| vec!["."]),
        Some("git") => added_by_force(command),
        Some(_) if acts::sends_folders(command) => literals(command)
            .filter(|word| !word.starts_with('-') && !word.contains(':'))
            .collect(),
        _ => Vec::new(),
    };
    out.extend(further.into_iter().filter_map(|text| {
        Some(Wanted {
            folder: resolve(text)?,
            deep: true,
        })
    }));
    out
}

/// Whether a pattern stands for names further down than directly in its folder.
fn goes_deep(folder: &AbsPath, pattern: &str) -> bool {
    let rest = pattern.strip_prefix(folder.as_str()).unwrap_or(pattern);
    rest.trim_matches('/').contains('/') || rest.contains("**")
}

fn literals(command: &Command) -> impl Iterator<Item = &str> {
    command.words.iter().skip(1).filter_map(Word::literal)
}

fn reader_of(command: &Command) -> Option<&'static Reader> {
    let program = command.program_name()?;
    READERS.iter().find(|reader| reader.program == program)
}

/// The folders of patterns: what stands in them is read, and what lies below only by some commands.
fn folders_of_patterns(command: &Command) -> BTreeSet<&AbsPath> {
    let folders = command.files.iter().filter_map(|access| match &access.target {
        FileTarget::Pattern { folder, .. } => Some(folder),
        FileTarget::Path(_) | FileTarget::Unknown(_) => None,
    });
    folders.collect()
}

fn reads_below(command: &Command) -> bool {
    let Some(reader) = reader_of(command) else {
        return false;
    };
    let always = reader.letters.is_empty() && reader.words.is_empty();
    // `rg --files` lists names.
    if reader.program == "rg" && literals(command).any(|word| matches!(word, "--files" | "--type-list" | "--version")) {
        return false;
    }
    // A word that is not certain may be the option.
    let told = |word: &Word| match word.literal() {
        None => !matches!(word, Word::Dynamic { pattern: true, .. }),
        Some(text) => {
            let short = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            let long = text.starts_with("--") && text.len() > 4;
            reader.words.contains(&text)
                || (long && reader.words.iter().any(|word| word.starts_with(text)))
                || short.is_some_and(|letters| letters.contains(|c| reader.letters.contains(c)))
        }
    };
    always || command.words.iter().skip(1).any(told) || (reader.as_grep && shell::recurses(&command.words))
}

/// Whether a command puts folders with all that lies below somewhere else.
pub(super) fn brings_folders(command: &Command) -> bool {
    matches!(command.program_name(), Some("cp" | "gcp" | "mv" | "gmv" | "rsync")) && reads_below(command)
}

/// Whether a git command shows contents of files that git does not track.
pub(super) fn git_reads_untracked(command: &Command) -> bool {
    let mut words = literals(command).skip_while(|word| *word != "grep" && *word != "diff");
    words.next().is_some() && words.any(|word| matches!(word, "--untracked" | "--no-index"))
}

/// The two files or folders that `git diff --no-index` compares, wherever they lie.
fn compared(command: &Command) -> Option<Vec<&str>> {
    let (verb, rest) = acts::git_verb(command)?;
    let words: Vec<&str> = rest.iter().map(Word::literal).collect::<Option<_>>()?;
    let (options, operands): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with('-'));
    // The value of an option that is not known would count as one of the two.
    let plain = |option: &&str| {
        matches!(
            *option,
            "--no-index"
                | "--"
                | "-w"
                | "-b"
                | "--stat"
                | "--quiet"
                | "--name-only"
                | "--word-diff"
                | "--no-color"
                | "--color"
        )
    };
    (verb == "diff" && operands.len() == 2 && options.contains(&"--no-index") && options.iter().all(plain))
        .then_some(operands)
}

/// Folders that `git add --force` puts into the index, with what is ignored there.
fn added_by_force(command: &Command) -> Vec<&str> {
    let Some((_, rest)) = acts::git_verb(command).filter(|(verb, _)| matches!(*verb, "add" | "stage")) else {
        return Vec::new();
    };
    let words = || rest.iter().filter_map(Word::literal);
    let force = |word: &str| {
        let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        letters.is_some_and(|letters| letters.contains('f')) || (word.len() > 3 && "--force".starts_with(word))
    };
    if !words().any(force) {
        return Vec::new();
    }
    let folders: Vec<&str> = words().filter(|word| !word.starts_with('-')).collect();
    if folders.is_empty() { vec!["."] } else { folders }
}

/// The folders of this host that a container gets.
fn given_to_container(command: &Command) -> Vec<&str> {
    let words: Vec<&str> = literals(command).collect();
    let mut out = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let before = at
            .checked_sub(1)
            .and_then(|at| words.get(at))
            .copied()
            .unwrap_or_default();
        let value = match word.split_once('=') {
            Some(("-v" | "--volume", value)) => Some(value),
            _ => word.strip_prefix("-v").filter(|value| !value.is_empty()),
        };
        let value = value.or_else(|| matches!(before, "-v" | "--volume").then_some(*word));
        out.extend(
            value
                .and_then(|value| value.split(':').next())
                .filter(|folder| folder.starts_with(['/', '.', '~'])),
        );
        if before == "--mount" || word.starts_with("--mount=") {
            let fields = word.trim_start_matches("--mount=").split(',');
            out.extend(fields.filter_map(|field| match field.split_once('=') {
                Some(("src" | "source", folder)) => Some(folder),
                _ => None,
            }));
        }
    }
    // `-v "$(pwd)":/w`.
    let here = command.words.iter().any(|word| match word {
        Word::Dynamic { source, .. } => source.to_ascii_lowercase().contains("pwd") && source.contains(":/"),
        Word::Literal(_) => false,
    });
    out.extend(here.then_some("."));
    // `docker buildx build .`, `docker image build .`
    let verb = words.iter().filter(|word| !word.starts_with('-')).take(2).copied();
    let verb = verb
        .into_iter()
        .find(|verb| matches!(*verb, "build" | "bud" | "b" | "cp"));
    if verb.is_some() {
        let operands = words.iter().skip_while(|word| Some(**word) != verb).skip(1);
        out.extend(operands.filter(|word| !word.starts_with('-') && !word.contains(':')));
    }
    out
}

/// Folders of this host that a container gets by `-v` or `--mount`, and whether only to read.
pub(super) fn mounts(command: &Command) -> Vec<(&str, bool)> {
    if !command
        .program_name()
        .is_some_and(|program| CONTAINERS.contains(&program))
    {
        return Vec::new();
    }
    let words: Vec<&str> = literals(command).collect();
    let mut out = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let before = at
            .checked_sub(1)
            .and_then(|at| words.get(at))
            .copied()
            .unwrap_or_default();
        let (name, value) = match word.split_once('=') {
            Some((name @ ("-v" | "--volume" | "--mount"), value)) => (name, value),
            _ if matches!(before, "-v" | "--volume" | "--mount") => (before, *word),
            _ => match word.strip_prefix("-v").filter(|value| value.contains(':')) {
                Some(value) => ("-v", value),
                None => continue,
            },
        };
        let flag = |text: &str| {
            text.split(',')
                .any(|part| matches!(part, "ro" | "readonly" | "ro=true" | "readonly=true"))
        };
        if name == "--mount" {
            let source = value.split(',').filter_map(|part| part.split_once('='));
            out.extend(
                source
                    .filter(|(key, _)| matches!(*key, "src" | "source"))
                    .map(|(_, folder)| (folder, flag(value))),
            );
        } else if let Some((folder, rest)) = value.split_once(':') {
            out.push((folder, rest.split_once(':').is_some_and(|(_, flags)| flag(flags))));
        }
    }
    // A name without a slash is a volume.
    out.retain(|(folder, _)| folder.starts_with(['/', '.', '~']));
    out
}

/// What a search is told about names.
#[derive(Default)]
struct ToldApart {
    /// Names of files to leave out.
    files: Vec<Vec<Token>>,
    /// Names of folders to leave out.
    folders: Vec<Vec<Token>>,
    /// The only names of files to take.
    only: Vec<Vec<Token>>,
}

/// Names that a search is told to leave out, and the only ones it is told to take. Only an option counts: a word behind
/// `--`, or the value of another option, tells nothing.
fn told_apart(command: &Command) -> ToldApart {
    let mut told = ToldApart::default();
    let reader = reader_of(command);
    if let Some(reader) = reader.filter(|reader| !reader.globs.is_empty()) {
        told.only = only_taken(reader, command).unwrap_or_default();
    }
    if !reader.is_some_and(|reader| reader.as_grep) {
        return told;
    }
    for (name, value) in shell::given("grep", &command.words) {
        let Some(value) = value else { continue };
        let (list, value) = match name.as_str() {
            "--include" => (&mut told.only, value.as_str()),
            "--exclude" => (&mut told.files, value.as_str()),
            "--exclude-dir" => (&mut told.folders, value.trim_end_matches('/')),
            _ => continue,
        };
        if value.ends_with('/') {
            continue;
        }
        if let [plain::Segment::One(tokens)] = plain::parse(value).as_slice() {
            list.push(tokens.clone());
        }
    }
    // Which of two contradicting options wins depends on their order: then neither counts.
    if !told.files.is_empty() && !told.only.is_empty() {
        told.files.clear();
        told.only.clear();
    }
    told
}

/// The only names of files that a search takes, where it is told so by patterns of names alone: `rg -g '*.ts'`. What it is told to
/// leave out leaves fewer of them.
fn only_taken(reader: &Reader, command: &Command) -> Option<Vec<Vec<Token>>> {
    let given = shell::given(reader.program, &command.words);
    let mut only = Vec::new();
    for (name, value) in given {
        if !reader.globs.contains(&name.as_str()) {
            // In whichever letters.
            if name == "--glob-case-insensitive" {
                return None;
            }
            continue;
        }
        let value = value?;
        if value.starts_with('!') {
            continue;
        }
        let plain = !value.is_empty() && !value.contains(['/', '{', '[', '\\']) && !value.contains("**");
        match plain::parse(&value).as_slice() {
            [plain::Segment::One(tokens)] if plain && name != "--iglob" => only.push(tokens.clone()),
            _ => return None,
        }
    }
    Some(only)
}

/// The patterns of a search that takes what they fit, be it hidden or not; `None` stands for one that is not known.
fn taken(reader: &Reader, command: &Command) -> Vec<Option<Vec<Token>>> {
    let globs = shell::given(reader.program, &command.words).into_iter();
    let globs = globs.filter(|(name, _)| reader.globs.contains(&name.as_str()));
    globs
        .filter(|(_, value)| value.as_ref().is_none_or(|value| !value.starts_with('!')))
        .flat_map(|(_, value)| {
            // Which names braces and classes stand for is not looked at.
            let Some(value) = value.filter(|value| !value.contains(['{', '[', '\\'])) else {
                return vec![None];
            };
            let segments = plain::parse(&value.to_lowercase());
            let last = segments.len();
            let each = segments.into_iter().zip(1..).filter_map(|(segment, at)| match segment {
                plain::Segment::One(tokens) => Some(Some(tokens)),
                plain::Segment::Deep | plain::Segment::Shown => (at == last).then_some(None),
            });
            each.collect()
        })
        .collect()
}

impl World<'_> {
    /// Denies and asks on files that lie somewhere below what a command reads.
    pub(super) fn judge_trees(&self, command: &Command) -> Vec<Part> {
        // The same folder may be named thousands of times.
        let mut folders = BTreeMap::<AbsPath, bool>::new();
        for Wanted { folder, deep } in wanted(command, |text| self.resolve(text)) {
            *folders.entry(folder).or_default() |= deep;
        }
        if folders.is_empty() {
            return Vec::new();
        }
        let index = self.rules.index();
        let ids: Vec<RuleId> = [Effect::Deny, Effect::Ask]
            .into_iter()
            .flat_map(|effect| index.paths(PathVerb::Read, effect).iter().copied())
            .collect();
        let secrets = &self.request.facts.own_secret_paths;
        if ids.is_empty() && secrets.is_empty() {
            return Vec::new();
        }
        let pattern = |folder: &AbsPath| {
            command.files.iter().find_map(|access| match &access.target {
                FileTarget::Pattern { folder: own, pattern } if own == folder => Some(pattern.as_str()),
                _ => None,
            })
        };
        let mut steps = 0;
        let mut parts = Vec::new();
        if folders.len() > MOST_FOLDERS
            && let Some(id) = ids.first()
        {
            let subject = format!("reads all below {} folders", folders.len());
            let why = "more than are looked through, which could hold a case for";
            parts.push(Part::perhaps(self, *id, subject, why));
        }
        let of_patterns = folders_of_patterns(command);
        let below = reads_below(command);
        let mut names = Names::new(command, None, &mut steps);
        for (folder, deep) in folders.into_iter().take(MOST_FOLDERS) {
            let tree = self.request.facts.trees.get(&folder);
            if deep && (below || !of_patterns.contains(&folder)) {
                names.tree = tree.filter(|tree| tree.complete);
                parts.extend(self.judge_below(&folder, tree, &ids, &mut names));
            }
            // A glob takes links too, and what they lead to is read.
            let links = tree.into_iter().flat_map(|tree| &tree.links);
            for (link, real) in links {
                let met = pattern(&folder).is_none_or(|pattern| {
                    let link = plain::literal(link.segments());
                    plain::meet(&link.iter().collect::<Vec<_>>(), &plain::parse(pattern))
                });
                let covering = || ids.iter().copied().find(|id| self.covers_name(*id, real));
                if let Some(id) = met.then(covering).flatten() {
                    let subject = format!("reads {link}, which leads to {real}");
                    parts.push(Part::perhaps(self, id, subject, "what it reads there is a case for"));
                }
            }
        }
        parts
    }

    /// Whether a pattern of the shell with wildcards in its last name alone surely expands to names of which a deny or ask
    /// covers none: the host said which names stand in the folder. A pattern that expands to nothing is no such thing:
    /// what it looks for may come.
    pub(super) fn expands_to_others_than(&self, id: RuleId, folder: &AbsPath, pattern: &str) -> bool {
        let tree = self.request.facts.trees.get(folder).filter(|tree| tree.complete);
        let rest = pattern
            .strip_prefix(folder.as_str())
            .map(|rest| rest.trim_start_matches('/'));
        let (Some(tree), Some(rest)) = (tree, rest) else {
            return false;
        };
        let segments = plain::parse(rest);
        let [plain::Segment::One(tokens)] = segments.as_slice() else {
            return false;
        };
        if tree.files.len() + tree.folders.len() > MAX_EXPANDED {
            return false;
        }
        let mut names = tree
            .files
            .iter()
            .chain(&tree.folders)
            .filter(|name| {
                let own: Vec<Token> = name.chars().map(Token::Char).collect();
                plain::segment_meets(&own, tokens)
            })
            .peekable();
        names.peek().is_some() && names.all(|name| !self.deny_covers(id, &folder.join(name)))
    }

    /// Whether a pattern over several names surely stands for none that a deny or ask covers: the rule is met only by folders
    /// that a `**` may stand for, and the host said which names stand below. A pattern that names what the rule is
    /// about seeks it, whether it is there by now or not.
    pub(super) fn holds_nothing_for(&self, id: RuleId, folder: &AbsPath, pattern: &str) -> bool {
        if plain::is_of_git(pattern) {
            return self.tracks_nothing_for(id, folder, pattern);
        }
        if self.is_sought(id, folder, pattern) {
            return false;
        }
        let tree = self.request.facts.trees.get(folder).filter(|tree| tree.complete);
        let Some(tree) = tree.filter(|tree| tree.links.is_empty() && goes_deep(folder, pattern)) else {
            return false;
        };
        // What expands to nothing by now looks for what may come.
        let last = plain::parse(pattern).pop();
        let some = tree.files.iter().chain(&tree.folders).any(|name| {
            let own: Vec<Token> = name.chars().map(Token::Char).collect();
            matches!(&last, Some(plain::Segment::One(tokens)) if plain::segment_meets(&own, tokens))
        });
        let mut steps = 0;
        let has_pattern = self.path_rule(id).is_some();
        some && has_pattern && !self.can_cover_below(id, folder, &mut Names::all(Some(tree), &mut steps))
    }

    /// Whether a pathspec of git whose `*` may begin with a dot (`.*.ts` of `*.ts`) stands for nothing that a deny or ask covers,
    /// as far as the host sees: no such name lies there, and the pathspec says none. What git kept of older times it shows
    /// without a pathspec, too.
    fn tracks_nothing_for(&self, id: RuleId, folder: &AbsPath, pattern: &str) -> bool {
        let tree = self.request.facts.trees.get(folder).filter(|tree| tree.complete);
        let written = plain::written(pattern);
        let said = [written.replace('*', ""), written.replace('*', "\u{1}")];
        let sought = said.iter().any(|pattern| self.deny_meets(id, folder, pattern));
        let hides = written.rsplit('/').next().is_some_and(|name| name.starts_with(".*"));
        let Some(plain::Segment::One(last)) = plain::parse(pattern).pop().filter(|_| hides && tree.is_some()) else {
            return false;
        };
        let mut steps = 0;
        let has_pattern = self.path_rule(id).is_some();
        let mut names = Names::all(tree, &mut steps);
        names.take_only(vec![last]);
        !sought && has_pattern && !self.can_cover_below(id, folder, &mut names)
    }

    /// Whether a rule is met by what a pattern says, and not only by folders that it leaves open.
    fn is_sought(&self, id: RuleId, folder: &AbsPath, pattern: &str) -> bool {
        const UNNAMED: &str = "\u{1}";
        let written = plain::written(pattern);
        let rest = written.strip_prefix(folder.as_str()).unwrap_or(&written);
        let names: Vec<&str> = rest.split('/').filter(|name| !matches!(*name, "" | "**")).collect();
        let Some((last, folders)) = names.split_last() else {
            return true;
        };
        // A `*` alone leaves its folder open, as `**` does.
        let folders = folders.iter().map(|name| if *name == "*" { UNNAMED } else { *name });
        let base = folder.as_str().trim_end_matches('/');
        let closed = [base]
            .into_iter()
            .chain(folders)
            .chain([*last])
            .collect::<Vec<_>>()
            .join("/");
        [closed, format!("{base}/{UNNAMED}/{last}")]
            .iter()
            .any(|pattern| self.deny_meets(id, folder, pattern))
    }

    /// A copy of a folder into the workspace or the home folder, or one that is moved there, that brings protected names
    /// along.
    pub(super) fn judge_copies(&self, command: &Command) -> Option<Part> {
        if !brings_folders(command) {
            return None;
        }
        let guarded = |path: &AbsPath| self.is_home_or_workspace(path);
        let lands = command.files.iter().any(|access| match &access.target {
            FileTarget::Path(path) => access.access == Access::Write && guarded(path),
            FileTarget::Pattern { folder, .. } => access.access == Access::Write && guarded(folder),
            FileTarget::Unknown(_) => access.access == Access::Write,
        });
        if !lands {
            return None;
        }
        let sources = wanted(command, |text| self.resolve(text));
        sources
            .into_iter()
            .filter(|wanted| wanted.deep)
            .find_map(|Wanted { folder, .. }| {
                let subject = format!("copies all below {folder}");
                let tree = self.request.facts.trees.get(&folder);
                let Some(tree) = tree.filter(|tree| tree.complete) else {
                    return Some(Part::unknown(subject, "what it brings along is not known"));
                };
                let (name, entry) = self.protected_name(tree)?;
                let what = format!("it brings `{name}` along, a protected name: {}", entry.reason);
                Some(Part::by_mode(self, ActionClass::Protected, subject, &what))
            })
    }

    /// One folder that is read with all that lies below.
    fn judge_below(
        &self,
        folder: &AbsPath,
        tree: Option<&Tree>,
        ids: &[RuleId],
        names: &mut Names<'_>,
    ) -> Option<Part> {
        let id = ids
            .iter()
            .copied()
            .find(|id| self.can_cover_below(*id, folder, names))?;
        let why = match tree {
            Some(tree) if tree.complete => "it holds what seems to be a case for",
            Some(_) => "it is too large to look through, and could hold a case for",
            None => "the host did not say what it holds, which could be a case for",
        };
        let subject = format!("reads all below {folder}");
        Some(Part::perhaps(self, id, subject, why))
    }

    /// Whether a deny or ask can cover something below a folder, as named or where it really is.
    pub(super) fn can_cover_below(&self, id: RuleId, folder: &AbsPath, names: &mut Names<'_>) -> bool {
        // A rule for every file has no pattern: it is met where the folder itself is judged.
        let Some(PathRule {
            rule,
            pattern,
            named,
            really,
        }) = self.path_rule(id)
        else {
            return false;
        };
        let mut below = |folder: &AbsPath, anchors: &Anchors| {
            // An exception counts if it holds for the name at any depth.
            let excepted = |name: &str| {
                let places = [folder.join(name), folder.join(&format!("\u{1}/{name}"))];
                let holds = |place: &AbsPath| rule.exceptions.iter().any(|own| own.matches(place, anchors));
                places.iter().all(holds)
            };
            pattern.can_lie_below(folder, anchors, |tokens, as_folder| {
                names.has(tokens, as_folder, &excepted)
            })
        };
        let elsewhere = self.real(folder).filter(|real| *real != folder || named != really);
        below(folder, named) || elsewhere.is_some_and(|real| below(real, really))
    }
}
