//! What names a listing hands to a command that reads them: `find . -name '*.ts' | xargs wc -l`, `git ls-files | xargs grep x`.
//!
//! [`fed`](super::fed) says where such names lie. Here they are compared with denies and asks on files: by the tests on names that
//! the listing makes, and by the names that the host says stand there. What cannot be told asks, as everywhere.
//!
//! Of a search only tests are understood that every name which it prints surely passes.

use crate::{
    AbsPath, Effect,
    mode::ActionClass,
    path::plain::{self, Token},
    rule::PathVerb,
    shell::{Access, Analysis, Command, FileTarget, Word},
};

use super::{
    files::Cover,
    part::Part,
    trees::{self, Names, Wanted},
    ways::Judged,
    world::World,
};

/// Tests of `find` with one value.
const WITH_VALUE: &[&str] = &[
    "-amin",
    "-anewer",
    "-atime",
    "-cmin",
    "-cnewer",
    "-ctime",
    "-fstype",
    "-gid",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-iwholename",
    "-links",
    "-lname",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-newer",
    "-path",
    "-perm",
    "-regex",
    "-regextype",
    "-samefile",
    "-size",
    "-type",
    "-uid",
    "-user",
    "-wholename",
    "-xtype",
];
/// Tests and options of `find` without a value.
const ALONE: &[&str] = &[
    "-daystart",
    "-depth",
    "-empty",
    "-executable",
    "-false",
    "-mount",
    "-nogroup",
    "-noleaf",
    "-nouser",
    "-prune",
    "-readable",
    "-true",
    "-writable",
    "-xdev",
];
/// Deepest brackets of an expression of `find` that are looked into.
const MOST_BRACKETS: usize = 16;
/// Most listings of one line that are looked at.
const MOST_LISTINGS: usize = 16;

/// Patterns, one of which a name fits; `None` is any name.
type Fits = Option<Vec<Vec<Token>>>;

/// What an expression of `find` says about the names for which it holds.
struct Holds {
    fits: Fits,
    /// Whether it prints them.
    prints: bool,
}

/// Reads an expression of `find`, front to back.
struct Expression<'w> {
    words: &'w [Word],
    at: usize,
    /// Some part prints, so that what holds without printing is not printed.
    told_to_print: bool,
}

fn pattern(value: &str, any_case: bool) -> Fits {
    let plain::Segment::One(tokens) = plain::segment(value, crate::path::glob::Brackets::Class) else {
        return None;
    };
    let wide = tokens.into_iter().map(|token| match token {
        Token::Char(c) if any_case && c.is_alphabetic() => Token::Any,
        other => other,
    });
    Some(vec![wide.collect()])
}

impl Expression<'_> {
    fn next(&self) -> Option<&str> {
        self.words.get(self.at).and_then(Word::literal)
    }

    /// Ways of which one holds. `None`: it is not understood.
    fn any(&mut self, depth: usize) -> Option<Holds> {
        let mut whole = self.all(depth)?;
        while matches!(self.next(), Some("-o" | "-or")) {
            self.at += 1;
            let other = self.all(depth)?;
            // What is not printed is fed to nobody.
            let (one, two) = (self.counts(&whole), self.counts(&other));
            whole = Holds {
                fits: match (one, two) {
                    (true, true) => whole.fits.zip(other.fits).map(|(mut fits, more)| {
                        fits.extend(more);
                        fits
                    }),
                    (true, false) => whole.fits,
                    (false, _) => other.fits,
                },
                prints: whole.prints || other.prints,
            };
        }
        Some(whole)
    }

    fn counts(&self, part: &Holds) -> bool {
        part.prints || !self.told_to_print
    }

    /// Tests that all hold.
    fn all(&mut self, depth: usize) -> Option<Holds> {
        let mut whole = Holds {
            fits: None,
            prints: false,
        };
        loop {
            match self.next() {
                None if self.at < self.words.len() => return None,
                None | Some("-o" | "-or" | ")") => return Some(whole),
                Some("-a" | "-and") => self.at += 1,
                Some(_) => {
                    let one = self.one(depth)?;
                    whole.prints |= one.prints;
                    whole.fits = whole.fits.or(one.fits);
                }
            }
        }
    }

    fn one(&mut self, depth: usize) -> Option<Holds> {
        let says = |fits, prints| Some(Holds { fits, prints });
        let word = self.next()?.to_owned();
        self.at += 1;
        match word.as_str() {
            "!" | "-not" => {
                let inner = self.one(depth)?;
                says(None, inner.prints)
            }
            "(" if depth < MOST_BRACKETS => {
                let inner = self.any(depth + 1)?;
                let closed = self.next() == Some(")");
                self.at += 1;
                closed.then_some(inner)
            }
            "-print" | "-print0" => says(None, true),
            // What it runs is run on what holds so far.
            "-exec" => {
                while !matches!(self.next(), Some(";" | "+")) {
                    self.at += 1;
                    if self.at >= self.words.len() {
                        return None;
                    }
                }
                self.at += 1;
                says(None, true)
            }
            "-name" | "-iname" => {
                let fits = self.next().and_then(|value| pattern(value, word == "-iname"));
                self.at += 1;
                says(fits, false)
            }
            other if WITH_VALUE.contains(&other) => {
                self.at += 1;
                says(None, false)
            }
            other if ALONE.contains(&other) => says(None, false),
            _ => None,
        }
    }
}

/// The names that a `find` prints.
fn found(command: &Command) -> Fits {
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
    let mut expression = Expression {
        words,
        at: 0,
        told_to_print: words
            .iter()
            .any(|word| matches!(word.literal(), Some("-print" | "-print0" | "-exec"))),
    };
    let whole = expression.any(0)?;
    (expression.at >= words.len()).then_some(whole.fits).flatten()
}

/// The names that pathspecs of git cover: only those with a wildcard in their last name, which name no folder as a whole.
fn tracked(command: &Command) -> Fits {
    let mut words = command.words.iter().skip(1).filter_map(Word::literal);
    let verb = words.next();
    let rest: Vec<&str> = words.collect();
    let specs: Vec<&str> = match (verb, rest.iter().position(|word| *word == "--")) {
        (_, Some(at)) => rest.get(at + 1..).unwrap_or_default().to_vec(),
        (Some("ls-files"), None) => rest.into_iter().filter(|word| !word.starts_with('-')).collect(),
        _ => Vec::new(),
    };
    // What is left out narrows, and needs no look.
    let taken: Vec<&str> = specs
        .into_iter()
        .filter(|spec| !spec.starts_with(":!") && !spec.starts_with(":^"))
        .collect();
    if taken.is_empty() {
        return None;
    }
    let mut fits = Vec::new();
    for spec in taken {
        let last = spec.rsplit('/').next().unwrap_or_default();
        if spec.starts_with(':') || !last.contains('*') {
            return None;
        }
        fits.extend(pattern(last, false)?);
    }
    Some(fits)
}

/// Patterns of the names that a listing prints.
fn names_of(command: &Command) -> Fits {
    match command.program_name() {
        Some("find" | "gfind") => found(command),
        Some("git") => tracked(command),
        _ => None,
    }
}

/// The commands whose names reach a command through pipes.
fn producers(analysis: &Analysis, index: usize) -> Vec<&Command> {
    let pipes = analysis.pipes.iter().filter(move |pipe| pipe.to.contains(&index));
    let numbers = pipes.flat_map(|pipe| pipe.from.clone()).filter(move |at| *at < index);
    numbers.filter_map(|at| analysis.commands.get(at)).collect()
}

/// The folders of which a listing prints names: those that it looks in, or where it runs.
fn places(command: &Command, here: &AbsPath) -> Vec<AbsPath> {
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
    let mut out = Vec::new();
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
fn is_listing(command: &Command) -> bool {
    let lists = matches!(
        command.program_name(),
        Some("find" | "gfind" | "git" | "grep" | "egrep" | "fgrep" | "rg" | "fd" | "fdfind" | "ls")
    );
    lists && !super::fed::passes_on(command)
}

impl World<'_> {
    /// Judges the reading of names that listings of the workspace print.
    pub(super) fn judge_listed(&self, analysis: &Judged, index: usize, cover: Cover) -> Part {
        let moved = analysis.folder_at_the_end().filter(|_| analysis.moved.contains(&index));
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
        let index = self.rules.index();
        let mut steps = 0;
        for (folder, listing) in &known {
            let subject = format!("reads what is listed in {folder}");
            let tree = self.request.facts.trees.get(folder).filter(|tree| tree.complete);
            let mut names = Names::listed(listing, tree, names_of(listing), &mut steps);
            let ids = [Effect::Deny, Effect::Ask]
                .into_iter()
                .flat_map(|effect| index.paths(PathVerb::Read, effect).iter().copied());
            for id in ids {
                let Some(rule) = self.rule(id) else { continue };
                let every = matches!(&rule.matcher, crate::rule::Matcher::Path { pattern: None, .. });
                if every || self.covers_name(id, folder) || self.can_cover_below(id, folder, &mut names) {
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

impl<'a> Names<'a> {
    /// Names that a listing prints.
    fn listed(listing: &Command, tree: Option<&'a crate::facts::Tree>, fits: Fits, steps: &'a mut usize) -> Self {
        let mut names = trees::Names::new(listing, tree, steps);
        if let Some(fits) = fits {
            names.take_only(fits);
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::{Limits, ShellContext, analyse};

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
            ("find . -name '*.ts' -exec cat {} \\;", false, true),
            ("find . -name '*.ts' -exec cat {} +", false, true),
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
