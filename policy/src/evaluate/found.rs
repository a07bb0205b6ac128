//! What a search finds by name and hands to something that changes it: `find . -name config -delete`.
//!
//! A search that chooses by name acts on few files of a folder, so it is not judged like the removal of the whole folder. But
//! what it chooses may be protected: `config` is also `.git/config`. Here its tests on names are compared with the protected
//! names, and with those of them that the host says stand there. It can only ask.
//!
//! It says nothing about rules on files, which are judged where the search is, and nothing about tests on anything but names.

mod expression;

use std::borrow::Cow;

use crate::{
    AbsPath,
    facts::Tree,
    mode::ActionClass,
    path::glob::{self, Brackets},
    protected,
    shell::{Command, Word},
};

use self::expression::Expression;
use super::{below::is_made_name, part::Part, touched::is_search_with_tests, trees::Wanted, world::World};

/// Most places that one search is looked at for.
const MOST_ROOTS: usize = 16;

/// One test on a name.
#[derive(Debug)]
enum Test<'c> {
    /// The last name.
    Name { pattern: Cow<'c, str>, any_case: bool },
    /// The whole path, where a wildcard also stands for `/`.
    Path { pattern: Cow<'c, str>, any_case: bool },
    /// The whole path by an expression.
    Expression(Expression),
}

/// The tests on names of a search, all of which hold for what it finds.
#[derive(Debug)]
struct Search<'c> {
    roots: Vec<&'c str>,
    tests: Vec<Test<'c>>,
    depth: usize,
}

/// A pattern as far as it is known: what is only known at run time may be anything.
fn pattern(word: &Word) -> Cow<'_, str> {
    match word {
        Word::Literal(text) => Cow::Borrowed(text),
        Word::Dynamic { source, .. } => {
            let text: String = source.chars().filter(|c| !matches!(c, '"' | '\'')).collect();
            let known = text.find(['$', '`', '{']);
            match known.and_then(|end| text.get(..end)) {
                Some(before) => Cow::Owned(format!("{before}*")),
                None => Cow::Owned(text),
            }
        }
    }
}

impl<'c> Search<'c> {
    /// The search that a command is, if it chooses by name.
    fn of(command: &'c Command) -> Option<Self> {
        if !is_search_with_tests(command) {
            return None;
        }
        let words = command.words.get(1..).unwrap_or_default();
        let is_option = |word: &Word| {
            word.literal()
                .is_some_and(|text| matches!(text, "-E" | "-H" | "-L" | "-P"))
        };
        let roots: Vec<&str> = words
            .iter()
            .skip_while(|word| is_option(word))
            .take_while(|word| word.literal().is_none_or(|text| !text.starts_with(['-', '('])))
            .take(MOST_ROOTS)
            .filter_map(Word::literal)
            .collect();
        let mut search = Search {
            roots: if roots.is_empty() { vec!["."] } else { roots },
            tests: Vec::new(),
            depth: usize::MAX,
        };
        let mut kind = None;
        let extended = words.first().and_then(Word::literal) == Some("-E");
        for (option, value) in words.iter().zip(words.iter().skip(1)) {
            let Some(option) = option.literal() else { continue };
            let any_case = option.starts_with("-i");
            match option {
                "-name" | "-iname" => search.tests.push(Test::Name {
                    pattern: pattern(value),
                    any_case,
                }),
                "-path" | "-ipath" | "-wholename" | "-iwholename" => search.tests.push(Test::Path {
                    pattern: pattern(value),
                    any_case,
                }),
                "-regex" | "-iregex" => search.tests.push(Test::Expression(match value.literal() {
                    Some(text) => Expression::read(text, kind, extended),
                    None => Expression::unknown(),
                })),
                // A later one counts for what stands behind it.
                "-regextype" => kind = Some(value.literal().unwrap_or("?")),
                "-maxdepth" => search.depth = value.literal().and_then(|n| n.parse().ok()).unwrap_or(usize::MAX),
                _ => {}
            }
        }
        (!search.tests.is_empty()).then_some(search)
    }

    /// Whether it can find a path below a place that it looks in.
    fn finds(&self, root: &str, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let whole = format!("{}/{path}", root.trim_end_matches('/'));
        let covers = |pattern: &str, text: &str, any_case: bool| {
            if any_case {
                glob::covers(&pattern.to_lowercase(), &text.to_lowercase(), Brackets::Wide)
            } else {
                glob::covers(pattern, text, Brackets::Wide)
            }
        };
        let passes = |test: &Test<'_>| match test {
            Test::Name { pattern, any_case } => covers(pattern, name, *any_case),
            Test::Path { pattern, any_case } => covers(pattern, &whole, *any_case),
            Test::Expression(expression) => expression.may_end_in(path),
        };
        path.split('/').count() <= self.depth && self.tests.iter().all(passes)
    }
}

/// Whether a search has an expression that leaves out names of no particular kind.
pub(super) fn chooses_by_expression(words: &[&str]) -> bool {
    let mut kind = None;
    let extended = words.get(1) == Some(&"-E");
    words.windows(2).any(|pair| match pair {
        ["-regextype", value] => {
            kind = Some(*value);
            false
        }
        ["-regex" | "-iregex", value] => {
            let expression = Expression::read(value, kind, extended);
            !ANY_NAMES.iter().any(|name| expression.may_end_in(name))
        }
        _ => false,
    })
}

/// Names of no particular kind.
const ANY_NAMES: &[&str] = &["qzq", "9-0", ".q_z"];

/// Whether a command does something with what it finds, by its own words.
fn acts(command: &Command) -> bool {
    command
        .words
        .iter()
        .filter_map(Word::literal)
        .any(|word| matches!(word, "-delete" | "-exec" | "-execdir" | "-ok" | "-okdir"))
}

/// The folders of which must be known what stands there: those where a search that acts may find something protected.
/// `handed_on` says that what is found reaches another command of the line, which changes it.
pub(super) fn wanted(command: &Command, handed_on: bool, resolve: impl Fn(&str) -> Option<AbsPath>) -> Vec<Wanted> {
    let Some(search) = Search::of(command).filter(|_| handed_on || acts(command)) else {
        return Vec::new();
    };
    let meets = |root: &&&str| protected::known_paths().any(|(path, _)| search.finds(root, path));
    let roots = search.roots.iter().filter(meets);
    roots
        .filter_map(|root| {
            Some(Wanted {
                folder: resolve(root)?,
                deep: true,
            })
        })
        .collect()
}

impl World<'_> {
    /// A protected path that a search may hand to what changes it.
    pub(super) fn judge_found(&self, command: &Command) -> Option<Part> {
        let search = Search::of(command)?;
        search.roots.iter().find_map(|root| {
            let folder = self.resolve(root)?;
            if is_made_name(folder.file_name()) || !self.is_home_or_workspace(&folder) {
                return None;
            }
            let tree = self.request.facts.trees.get(&folder).filter(|tree| tree.complete);
            let switches = self.rules.protection();
            let (path, reason) = protected::known_paths().find(|(path, entry)| {
                search.finds(root, path)
                    && tree.is_none_or(|tree| stands_there(path, tree))
                    && protected::protects(&folder.join(path), switches).is_some_and(|own| own.reason == entry.reason)
            })?;
            let subject = format!("changes what find finds in {folder}");
            let what = format!("it may find `{path}`, a protected path: {}", reason.reason);
            Some(Part::by_mode(self, ActionClass::Protected, subject, &what))
        })
    }
}

/// Whether all names of a path stand in a tree.
pub(super) fn stands_there(path: &str, tree: &Tree) -> bool {
    let mut names = path.split('/').rev();
    let last = names.next().unwrap_or_default();
    let ending = last.strip_prefix('*');
    let is_last = |name: &String| ending.map_or(name == last, |ending| name.ends_with(ending));
    (tree.files.iter().any(is_last) || tree.folders.iter().any(is_last))
        && names.all(|name| tree.folders.contains(name))
}
