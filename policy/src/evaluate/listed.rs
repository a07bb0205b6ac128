//! What names a listing hands to a command that reads them: `find . -name '*.ts' | xargs wc -l`, `git ls-files | xargs grep x`.
//!
//! [`fed`](super::fed) says where such names lie. Here they are compared with denies and asks on files: by the tests on names that
//! the listing makes, and by the names that the host says stand there. What cannot be told asks, as everywhere.
//!
//! Of a search only tests are understood that every name which it prints surely passes. They count only where each name comes as
//! one word, is no link, and no folder that the command would look into. Everything else may be any name that stands there.

mod expression;

use crate::{
    AbsPath, Effect,
    facts::Tree,
    mode::ActionClass,
    path::plain::{self, Token},
    rule::PathVerb,
    shell::{Access, Analysis, Command, Context, FileAccess, FileTarget, Word},
};

use self::expression::{Expression, pattern};
use super::{
    files::Cover,
    part::Part,
    trees::{self, Wanted},
    ways::Judged,
    world::World,
};

/// Most listings of one line that are looked at.
const MOST_LISTINGS: usize = 16;
/// Options of `git ls-files` and `git diff` that have no value and change nothing about how names are written.
const OF_GIT: &[&str] = &[
    "-c",
    "-d",
    "-m",
    "-z",
    "--cached",
    "--deleted",
    "--modified",
    "--name-only",
    "--staged",
];

/// Patterns, one of which a name fits; `None` is any name.
pub(super) type Fits = Option<Vec<Vec<Token>>>;

/// The names that a `find` prints.
fn found(command: &Command) -> Fits {
    expression(command, false)
}

/// The names that a `find` acts on by its own words.
pub(super) fn acted_on(command: &Command) -> Fits {
    expression(command, true)
}

fn expression(command: &Command, acts: bool) -> Fits {
    let words = command.words.get(1..).unwrap_or_default();
    let start = words
        .iter()
        .position(|word| {
            word.literal().is_some_and(|text| {
                (text.starts_with('-') && !matches!(text, "-H" | "-L" | "-P")) || matches!(text, "(" | "!")
            })
        })
        .unwrap_or(words.len());
    let words = words.get(start..).unwrap_or_default();
    Expression { words, at: 0, acts }.printed()
}

/// The names that pathspecs of git cover. A `*` of git goes over slashes, so only what stands behind the last one is sure.
fn tracked(command: &Command) -> Fits {
    let words: Option<Vec<&str>> = command.words.iter().skip(1).map(Word::literal).collect();
    let words = words?;
    let (verb, rest) = words.split_first()?;
    let (before, specs) = match rest.iter().position(|word| *word == "--") {
        Some(at) => (rest.get(..at)?, rest.get(at + 1..)?.to_vec()),
        None => {
            let specs = rest.iter().copied().filter(|word| !word.starts_with('-'));
            (
                rest,
                if *verb == "ls-files" {
                    specs.collect()
                } else {
                    Vec::new()
                },
            )
        }
    };
    // The value of an option would count as one of them.
    let known = before
        .iter()
        .all(|word| !word.starts_with('-') || OF_GIT.contains(word));
    // What stands between options and `--` is a revision for one, a pathspec for the other.
    let specs: Vec<&str> = match (*verb, rest.contains(&"--")) {
        ("ls-files", true) => before
            .iter()
            .copied()
            .filter(|word| !word.starts_with('-'))
            .chain(specs)
            .collect(),
        ("ls-files" | "diff", _) => specs,
        _ => return None,
    };
    // What is left out narrows, and needs no look.
    let taken: Vec<&str> = specs
        .into_iter()
        .filter(|spec| !spec.starts_with(":!") && !spec.starts_with(":^"))
        .collect();
    if taken.is_empty() || !known {
        return None;
    }
    let mut fits = Vec::new();
    for spec in taken {
        let (_, end) = spec.rsplit_once('*').filter(|(_, end)| !end.is_empty())?;
        if spec.starts_with(':') || spec.contains(['?', '[', '\\']) {
            return None;
        }
        fits.extend(pattern(&format!("*{end}"), false)?);
    }
    Some(fits)
}

/// Patterns of the names that a listing prints.
pub(super) fn names_of(command: &Command) -> Fits {
    match command.program_name() {
        Some("find" | "gfind") => found(command),
        Some("git") => tracked(command),
        _ => None,
    }
}

/// Whether a name is one word for `xargs` as it stands; with `whole_lines` blanks part no words.
pub(super) fn is_one_word(name: &str, whole_lines: bool) -> bool {
    let parts = |c: char| {
        let blank = c.is_whitespace() || c.is_control();
        matches!(c, '"' | '\'' | '\\' | '\n') || (blank && !(whole_lines && matches!(c, ' ' | '\t')))
    };
    !name.contains(parts)
}

/// Whether all names that a listing prints end with a zero byte.
fn ends_with_zero(listing: &Command) -> bool {
    let has = |wanted: &str| listing.words.iter().any(|word| word.literal() == Some(wanted));
    match listing.program_name() {
        Some("find" | "gfind") => has("-print0") && !has("-print"),
        Some("git") => has("-z"),
        _ => false,
    }
}

/// How `xargs` makes words of what it reads.
#[derive(Default)]
pub(super) struct Parted {
    zero: bool,
    /// What a line stands for in the words of the command.
    marker: Option<String>,
}

/// How the names become words of a command, if it is one of few ways.
pub(super) fn parted(command: &Command) -> Option<Parted> {
    let mut labels = command.seen_through.iter().filter_map(|context| match context {
        Context::Changing(label) => Some(label.as_str()),
        _ => None,
    });
    let label = labels.next().filter(|_| labels.next().is_none())?;
    let mut words = label
        .split_whitespace()
        .skip(1)
        .map(|word| word.trim_matches(['"', '\'']));
    let mut out = Parted::default();
    let number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    while let Some(word) = words.next() {
        match word {
            "-0" | "--null" => out.zero = true,
            "-0r" | "-r0" => out.zero = true,
            "-r" | "--no-run-if-empty" | "-t" | "--verbose" => {}
            "-n" | "-P" => {
                words.next().filter(|value| number(value))?;
            }
            "-I" => out.marker = Some(words.next()?.to_owned()),
            word => match word.strip_prefix("-I") {
                Some(marker) => out.marker = Some(marker.to_owned()),
                None => {
                    let value = ["-n", "-P", "--max-args=", "--max-procs="]
                        .iter()
                        .find_map(|option| word.strip_prefix(option));
                    value.filter(|value| number(value))?;
                }
            },
        }
    }
    Some(out)
}

/// Whether each word of a fed command that is not certain is a name as it is fed, with nothing around it.
pub(super) fn takes_bare_names(command: &Command, parted: &Parted) -> bool {
    command.words.iter().all(|word| match (word, &parted.marker) {
        (Word::Literal(_), _) => true,
        (Word::Dynamic { source, .. }, Some(marker)) => source.trim_matches(['"', '\'']) == marker,
        (Word::Dynamic { source, .. }, None) => source == "words from the input",
    })
}

/// Letters of options with which a program reads the files that it is given, and nothing below a folder; numbers, too.
const SINGLE: &[(&str, &str)] = &[
    ("cat", "AbEenTtuvs"),
    ("head", "cnqv"),
    ("tail", "cnqv"),
    ("wc", "clLmw"),
    ("grep", "abcEFGhHilLnoPqsvwxABCe"),
    ("egrep", "abchHilLnoqsvwxABCe"),
    ("fgrep", "abchHilLnoqsvwxABCe"),
    ("sed", "nEr"),
    ("stat", "cft"),
    ("file", "bhi"),
    ("md5sum", "bt"),
    ("sha1sum", "bt"),
    ("sha256sum", "bt"),
    ("sha512sum", "bt"),
    ("cksum", ""),
];

/// Whether a command surely reads nothing below a folder that it is given.
fn reads_single_files(command: &Command) -> bool {
    let program = command.program_name();
    let Some((_, letters)) = SINGLE.iter().find(|(name, _)| Some(*name) == program) else {
        return false;
    };
    command.words.iter().skip(1).filter_map(Word::literal).all(|word| {
        word.strip_prefix('-')
            .is_none_or(|rest| rest.chars().all(|c| c.is_ascii_digit() || letters.contains(c)))
    })
}

/// The commands whose names reach a command through pipes.
pub(super) fn producers(analysis: &Analysis, index: usize) -> Vec<&Command> {
    let pipes = analysis.pipes.iter().filter(move |pipe| pipe.to.contains(&index));
    let numbers = pipes.flat_map(|pipe| pipe.from.clone()).filter(move |at| *at < index);
    numbers.filter_map(|at| analysis.commands.get(at)).collect()
}

/// The folders of which a listing prints names: those that it looks in, or where it runs.
pub(super) fn places(command: &Command, here: &AbsPath) -> Vec<AbsPath> {
    // What these print is not put behind a folder that they are given.
    let bare = matches!(command.program_name(), Some("ls" | "git" | "fd" | "fdfind"));
    let read = command.files.iter().filter(|access| access.access == Access::Read);
    let mut folders: Vec<AbsPath> = read
        .filter_map(|access| match &access.target {
            FileTarget::Path(folder) | FileTarget::Pattern { folder, .. } => Some(folder.clone()),
            FileTarget::Unknown(_) => None,
        })
        .collect();
    if folders.is_empty() || (bare && !folders.contains(here)) {
        folders.push(here.clone());
    }
    folders
}

/// The folders of which must be known what stands there: those whose names reach a command that reads.
pub(super) fn wanted(analysis: &Analysis, index: usize, command: &Command, cwd: &AbsPath) -> Vec<Wanted> {
    let fed = command
        .files
        .iter()
        .any(|access| access.access == Access::Read && matches!(access.target, FileTarget::Unknown(_)));
    let mut out: Vec<Wanted> = super::handed::searched(analysis, index, command)
        .into_iter()
        .flat_map(|search| super::handed::roots(search, cwd))
        .chain(super::handed::looped(analysis, index, command).flat_map(|listing| places(listing, cwd)))
        .take(MOST_LISTINGS)
        .map(|folder| Wanted { folder, deep: true })
        .collect();
    let changes =
        |access: &FileAccess| access.access != Access::Read && matches!(access.target, FileTarget::Unknown(_));
    let fed = fed || command.files.iter().any(changes);
    if !fed && !super::fed::has_feeder(command) {
        return out;
    }
    for producer in producers(analysis, index).into_iter().take(MOST_LISTINGS) {
        if !is_listing(producer) {
            continue;
        }
        out.extend(
            places(producer, cwd)
                .into_iter()
                .map(|folder| Wanted { folder, deep: true }),
        );
    }
    out
}

/// Whether it is a program that lists names, rather than one that passes on lines.
pub(super) fn is_listing(command: &Command) -> bool {
    let lists = matches!(
        command.program_name(),
        Some("find" | "gfind" | "git" | "grep" | "egrep" | "fgrep" | "rg" | "fd" | "fdfind" | "ls")
    );
    lists && !super::fed::passes_on(command)
}

impl World<'_> {
    /// Judges the reading of names that listings of the workspace print.
    pub(super) fn judge_listed(&self, analysis: &Judged, index: usize, cover: Cover) -> Part {
        let moved = analysis
            .folder_at_the_end(&self.workspace)
            .filter(|_| analysis.moved.contains(&index));
        let here = moved.unwrap_or(&self.workspace.cwd).clone();
        let mut listings = producers(analysis, index)
            .into_iter()
            .filter(|producer| is_listing(producer))
            .peekable();
        let secrets = &self.request.facts.own_secret_paths;
        let holds_secrets = |folder: &AbsPath| secrets.iter().any(|own| own.is_within(folder) || folder.is_within(own));
        let known: Vec<(AbsPath, &Command)> = listings
            .by_ref()
            .flat_map(|listing| places(listing, &here).into_iter().map(move |folder| (folder, listing)))
            .take(MOST_LISTINGS + 1)
            .collect();
        if known.is_empty() || known.len() > MOST_LISTINGS || known.iter().any(|(folder, _)| holds_secrets(folder)) {
            let all = format!("{}/**", self.workspace.cwd.as_str().trim_end_matches('/'));
            return self.judge_pattern(&self.workspace.cwd, &all, Access::Read, false, cover);
        }
        let fed = analysis.commands.get(index).map(|command| Fed {
            command,
            parted: parted(command),
            filtered: producers(analysis, index)
                .into_iter()
                .any(|producer| !is_listing(producer)),
        });
        // Words around a name make another one of it.
        let bare = |fed: &Fed<'_>| {
            fed.parted
                .as_ref()
                .is_none_or(|parted| takes_bare_names(fed.command, parted))
        };
        let Some(fed) = fed.filter(bare) else {
            let all = format!("{}/**", self.workspace.cwd.as_str().trim_end_matches('/'));
            return self.judge_pattern(&self.workspace.cwd, &all, Access::Read, false, cover);
        };
        let index = self.rules.index();
        let mut steps = 0;
        for (folder, listing) in &known {
            let subject = format!("reads what is listed in {folder}");
            let tree = self.request.facts.trees.get(folder).filter(|tree| tree.complete);
            let sure = tree.filter(|tree| fed.splits_surely(listing, tree));
            let fits = sure.and_then(|tree| fed.fits(listing, tree));
            let links = tree.into_iter().flat_map(|tree| &tree.links).filter(|(link, _)| {
                let name = link.segments().last().unwrap_or_default();
                fits.as_ref().is_none_or(|fits| meets(fits, name))
            });
            let leads: Vec<&AbsPath> = links.map(|(_, real)| real).collect();
            let mut names = match sure {
                Some(tree) => trees::Names::new(listing, Some(tree), &mut steps),
                None => trees::Names::all(tree, &mut steps),
            };
            if let Some(fits) = fits {
                names.take_only(fits);
            }
            let ids = [Effect::Deny, Effect::Ask]
                .into_iter()
                .flat_map(|effect| index.paths(PathVerb::Read, effect).iter().copied());
            for id in ids {
                let Some(rule) = self.rule(id) else { continue };
                let every = matches!(&rule.matcher, crate::rule::Matcher::Path { pattern: None, .. });
                let led = leads.iter().any(|real| self.covers_name(id, real));
                if every || led || self.covers_name(id, folder) || self.can_cover_below(id, folder, &mut names) {
                    return Part::perhaps(self, id, subject, "what it is given to read may be a case for");
                }
            }
        }
        let subject = format!(
            "reads what is listed in {}",
            known.first().map_or(&here, |(folder, _)| folder)
        );
        if let Cover::Rule(id) = cover {
            return Part::by_rule(self, id, subject);
        }
        Part::by_mode(self, ActionClass::ReadInside, subject, "inside the workspace")
    }
}

/// A command that is fed, and how.
pub(super) struct Fed<'a> {
    pub(super) command: &'a Command,
    pub(super) parted: Option<Parted>,
    /// What is in front passes on lines.
    pub(super) filtered: bool,
}

impl Fed<'_> {
    /// Whether each name that a listing prints surely comes as it is.
    pub(super) fn splits_surely(&self, listing: &Command, tree: &Tree) -> bool {
        let Some(parted) = &self.parted else { return false };
        if !listing.seen_through.is_empty() && super::fed::has_feeder(listing) {
            return false;
        }
        if parted.zero && !self.filtered && ends_with_zero(listing) {
            return true;
        }
        let whole_lines = parted.marker.is_some();
        let links = tree.links.keys().flat_map(|link| link.segments());
        let mut names = tree
            .files
            .iter()
            .chain(&tree.folders)
            .map(String::as_str)
            .chain(links)
            .chain(listing.words.iter().filter_map(Word::literal));
        names.all(|name| is_one_word(name, whole_lines))
    }

    /// The only names that are fed, where that is sure.
    fn fits(&self, listing: &Command, tree: &Tree) -> Fits {
        let fits = names_of(listing)?;
        let single = reads_single_files(self.command);
        let of_git = listing.program_name() == Some("git");
        let files = if of_git {
            // What is written without a folder in front could be an option. A repository inside is a folder.
            let dash = tree.files.iter().chain(&tree.folders).any(|name| name.starts_with('-'));
            let folder = tree.folders.iter().any(|name| meets(&fits, name));
            !dash && (single || !folder)
        } else {
            single || only_files(listing)
        };
        // What a link is named says nothing about what it leads to.
        let linked = tree
            .links
            .keys()
            .any(|link| link.segments().last().is_some_and(|name| meets(&fits, name)));
        (files && !linked && !fits.is_empty()).then_some(fits)
    }
}

pub(super) fn meets(fits: &[Vec<Token>], name: &str) -> bool {
    let own: Vec<Token> = name.chars().map(Token::Char).collect();
    fits.iter().any(|pattern| plain::segment_meets(pattern, &own))
}

/// Whether a `find` prints files alone: all of its tests have to hold, and none stands behind an action.
fn only_files(listing: &Command) -> bool {
    let mut words = listing.words.iter().map(|word| word.literal().unwrap_or("-o"));
    let plain = words
        .clone()
        .all(|word| !matches!(word, "-o" | "-or" | "(" | "!" | "-not"));
    let tests: Vec<&str> = words.by_ref().take_while(|word| !word.starts_with("-print")).collect();
    plain && tests.windows(2).any(|pair| pair == ["-type", "f"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::{Limits, ShellContext, analyse};

    #[test]
    fn only_tests_in_front_of_an_action_narrow_what_it_acts_on() {
        let context = ShellContext {
            cwd: AbsPath::root(),
            home: None,
        };
        for (line, env) in [
            ("find . -name '*.ts' -delete", false),
            ("find . -type f -name '*.ts' -exec cat {} +", false),
            ("find . -name '*.ts' -exec grep -q x {} \\; -delete", false),
            (
                "find . \\( -name '*.ts' -o -name '*.js' \\) -exec sed -i s/a/b/ {} +",
                false,
            ),
            ("find . -name '*.ts' -print -o -exec cat {} +", true),
            ("find . -name '*.ts' -o -type f -delete", true),
            ("find . -delete -name '*.ts'", true),
            ("find . -exec cat {} + -name '*.ts'", true),
            ("find . ! -name '*.ts' -delete", true),
            ("find . -name '*.ts' -exec cat {}", true),
        ] {
            let analysis = analyse(line, &context, Limits::default());
            let meets_env = acted_on(analysis.commands.first().unwrap()).is_none_or(|fits| meets(&fits, ".env"));
            assert_eq!(meets_env, env, "{line}");
        }
    }

    /// Whether a listing may print a name.
    fn may_print(line: &str, name: &str) -> bool {
        let context = ShellContext {
            cwd: AbsPath::root(),
            home: None,
        };
        let analysis = analyse(line, &context, Limits::default());
        let name: Vec<Token> = name.chars().map(Token::Char).collect();
        match names_of(analysis.commands.first().unwrap()) {
            Some(fits) => fits.iter().any(|own| plain::segment_meets(own, &name)),
            None => true,
        }
    }

    #[test]
    fn only_tests_that_surely_hold_narrow_what_is_printed() {
        for (line, env, ts) in [
            ("find . -name '*.ts'", false, true),
            ("find . -type f -name '*.ts' -print0", false, true),
            ("find src lib -iname '*.TS' -not -path './node_modules/*'", false, true),
            ("find . \\( -name '*.ts' -o -name '*.tsx' \\)", false, true),
            ("find . -name '*.ts' -o -name '*.tsx'", false, true),
            ("find . -path ./node_modules -prune -o -name '*.ts' -print", false, true),
            ("find . -path ./node_modules -prune -o -name '*.ts'", true, true),
            ("find . -name '*.ts' -o -type f", true, true),
            ("find . ! -name '*.ts'", true, true),
            ("find . -not \\( -name '*.ts' \\)", true, true),
            ("find . -name '*.ts' , -print", true, true),
            ("find . -name \"$X\"", true, true),
            ("find . -unknown -name '*.ts'", true, true),
            ("find .", true, true),
            ("find . -name '.*'", true, false),
            ("find . -name '*'", true, true),
            ("find . -name '*.ts' -exec cat {} \\;", true, true),
            ("find . -name '*.ts' -exec cat {} +", true, true),
            ("find . -print -name '*.ts'", true, true),
            ("find . -print0 -name '*.ts'", true, true),
            ("find . ! -print -name '*.ts'", true, true),
            ("find . \\( -print -o -name x \\) -name '*.ts'", true, true),
            ("find . -name '*.ts' -fprint x", true, true),
            ("find . -name '*.ts' -quit", true, true),
            ("find . -name '[!x]*.ts'", true, true),
            ("git ls-files -o -x '*.ts'", true, true),
            ("git ls-files --exclude '*.ts'", true, true),
            ("git ls-files -X '*.ts'", true, true),
            ("git ls-files 'sr*'", true, true),
            ("git ls-files src -- '*.ts'", true, true),
            ("find . -type f -exec cat {} + -o -name '*.ts' -print", true, true),
            ("find . -name '*.ts' -execdir cat {} +", true, true),
            ("git ls-files '*.ts'", false, true),
            ("git ls-files -z -- '*.ts' 'src/*.tsx'", false, true),
            ("git ls-files '*.ts' ':!vendor'", false, true),
            ("git ls-files src", true, true),
            ("git ls-files '*.ts' src", true, true),
            ("git ls-files ':(glob)**'", true, true),
            ("git ls-files", true, true),
            ("git diff --name-only HEAD", true, true),
            ("git diff --name-only HEAD -- '*.ts'", false, true),
        ] {
            assert_eq!((may_print(line, ".env"), may_print(line, "a.ts")), (env, ts), "{line}");
        }
    }
}
