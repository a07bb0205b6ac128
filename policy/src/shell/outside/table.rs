//! The data file `policy/data/outside.toml`: places outside of workspaces, options that say what is written, and what is special
//! about the words of some programs. It reads the file and answers what stands there; it looks at no word for a path.

use std::{collections::HashMap, sync::LazyLock};

use serde::Deserialize;

use crate::{
    AbsPath,
    shell::{
        Word, data,
        globals::{Front, front},
        inert, targets,
    },
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPlaces {
    pub(super) paths: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers; a test asks for it"))]
    pub(super) why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawNames {
    pub(super) names: String,
    #[serde(default)]
    pub(super) later: bool,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers; a test asks for it"))]
    pub(super) why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProgram {
    pub(super) names: String,
    #[serde(default)]
    pub(super) verbs: String,
    #[serde(default)]
    pub(super) known: bool,
    #[serde(default)]
    pub(super) colon: bool,
    #[serde(default)]
    pub(super) labels: bool,
    #[serde(default)]
    pub(super) settings: bool,
    #[serde(default)]
    pub(super) keys: String,
    #[serde(default)]
    pub(super) texts: String,
    #[serde(default)]
    pub(super) joined: String,
    #[serde(default)]
    pub(super) operands: bool,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers; a test asks for it"))]
    pub(super) why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raws {
    pub(super) tree: Vec<RawPlaces>,
    pub(super) harmless: Vec<RawPlaces>,
    pub(super) output: Vec<RawNames>,
    pub(super) folder: Vec<RawNames>,
    pub(super) slash: Vec<RawNames>,
    pub(super) installed: Vec<RawPlaces>,
    pub(super) program: Vec<RawProgram>,
}

pub(super) struct Special {
    pub(super) verbs: &'static [&'static str],
    pub(super) known: bool,
    pub(super) colon: bool,
    /// An operand that begins with two slashes is a target of a build.
    pub(super) labels: bool,
    pub(super) settings: bool,
    pub(super) keys: &'static [&'static str],
    texts: &'static [&'static str],
    /// Letters of options without a value, behind which another may stand in the same word.
    joined: &'static str,
    /// The operands are texts, but for what stands behind an `@`.
    pub(super) operands: bool,
}

/// What an option says of the file that is its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// Nothing.
    No,
    /// It is filled, perhaps only later: `--prefix=/usr/local`.
    Later,
    /// It is written.
    Now,
}

struct Table {
    trees: Vec<AbsPath>,
    harmless: Vec<&'static str>,
    outputs: HashMap<&'static str, Written>,
    folders: Vec<&'static str>,
    slashes: Vec<&'static str>,
    installed: Vec<&'static str>,
    programs: HashMap<&'static str, Vec<&'static Special>>,
}

pub(super) const FILE: &str = include_str!("../../../data/outside.toml");

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let raws: Raws = data::read("outside.toml", FILE);
    let words = |texts: &[&String]| -> Vec<&'static str> {
        let lists = texts.iter().map(|text| data::words(text));
        lists.flatten().copied().collect()
    };
    let trees = words(&raws.tree.iter().map(|raw| &raw.paths).collect::<Vec<_>>());
    let mut programs = HashMap::<&'static str, Vec<&'static Special>>::new();
    for raw in &raws.program {
        let special: &'static Special = data::keep(Special {
            verbs: data::words(&raw.verbs),
            known: raw.known,
            colon: raw.colon,
            labels: raw.labels,
            settings: raw.settings,
            keys: data::words(&raw.keys),
            texts: data::words(&raw.texts),
            joined: data::keep_text(&raw.joined),
            operands: raw.operands,
        });
        for name in data::words(&raw.names) {
            programs.entry(name).or_default().push(special);
        }
    }
    Table {
        trees: trees.into_iter().map(|tree| AbsPath::root().join(tree)).collect(),
        harmless: words(&raws.harmless.iter().map(|raw| &raw.paths).collect::<Vec<_>>()),
        outputs: raws
            .output
            .iter()
            .flat_map(|raw| {
                let written = if raw.later { Written::Later } else { Written::Now };
                data::words(&raw.names).iter().map(move |name| (*name, written))
            })
            .collect(),
        folders: words(&raws.folder.iter().map(|raw| &raw.names).collect::<Vec<_>>()),
        slashes: words(&raws.slash.iter().map(|raw| &raw.names).collect::<Vec<_>>()),
        installed: words(&raws.installed.iter().map(|raw| &raw.paths).collect::<Vec<_>>()),
        programs,
    }
});

/// The first word that is surely neither an option nor the value of one.
fn first_word<'w>(name: &str, words: &'w [Word]) -> Option<&'w str> {
    let mut at = 0;
    loop {
        let word = words.get(at)?;
        match front(name, word) {
            Front::Word => return word.literal(),
            Front::Valued => at += 2,
            Front::Flag => at += 1,
            Front::Either => return None,
        }
    }
}

/// What is special about the words of one command.
pub(super) struct Specials {
    entries: Vec<&'static Special>,
}

impl Specials {
    pub(super) fn of(name: &str, words: &[Word]) -> Self {
        let verbs = inert::verbs(name, words);
        let first = first_word(name, words);
        // Of `a+b` the second word stands right behind the first.
        let pair = |verb: &str| {
            let (Some((one, two)), Some(first)) = (verb.split_once('+'), first) else {
                return false;
            };
            let at = words.iter().position(|word| word.literal() == Some(first));
            let next = at.and_then(|at| words.get(at + 1)).and_then(Word::literal);
            one == first && next == Some(two)
        };
        let named = |verb: &&str| verbs.iter().any(|(one, _)| one == verb) || pair(verb);
        // Where a verb makes texts of all words it must not be the value of an option: only options of which it is known
        // whether they have one stand in front of it.
        let meant = |entry: &&&'static Special| {
            let told = |first: &str| entry.verbs.contains(&first) || entry.verbs.iter().any(|verb| pair(verb));
            let surely = !(entry.known || entry.operands) || first.is_some_and(told);
            entry.verbs.is_empty() || (surely && entry.verbs.iter().any(&named))
        };
        let entries = TABLE.programs.get(name).into_iter().flatten();
        Self {
            entries: entries.filter(meant).copied().collect(),
        }
    }

    /// How many of the words are looked at: of a program that the tables know none, and of a subcommand of it that does what it
    /// does elsewhere those in front.
    pub(super) fn looked_at(&self, words: &[Word]) -> usize {
        let known = self.entries.iter().filter(|entry| entry.known);
        let ends = known.map(|entry| {
            let is_verb = |word: &Word| word.literal().is_some_and(|text| entry.verbs.contains(&text));
            words.iter().position(is_verb).unwrap_or(0)
        });
        ends.min().unwrap_or(words.len())
    }

    pub(super) fn any(&self, says: impl Fn(&Special) -> bool) -> bool {
        self.entries.iter().any(|entry| says(entry))
    }

    /// Whether the value of an option, by its name as it is written, is a text.
    fn is_text(&self, option: &str) -> bool {
        self.any(|entry| entry.texts.contains(&option))
    }

    /// Whether the next word is the text of an option: `-m`, and `-am`.
    pub(super) fn expects_text(&self, word: &str) -> bool {
        if self.is_text(word) {
            return true;
        }
        let Some(letters) = word.strip_prefix('-').filter(|letters| letters.len() > 1) else {
            return false;
        };
        self.any(|entry| {
            let own = letters.trim_start_matches(|c| entry.joined.contains(c));
            own.len() < letters.len() && entry.texts.iter().any(|text| text.strip_prefix('-') == Some(own))
        })
    }

    /// Whether a word is an option and its text in one: `--message=x`, `-mx`.
    pub(super) fn holds_text(&self, word: &str) -> bool {
        let name = word.split(['=', ':']).next().unwrap_or(word);
        if name.len() < word.len() && self.is_text(name) {
            return true;
        }
        let short = word.char_indices().nth(2).and_then(|(at, _)| word.get(..at));
        short.is_some_and(|short| short.starts_with('-') && !word.starts_with("--") && self.is_text(short))
    }
}

/// Whether the name of an option says that its value is written: `--coverage-out`, `-test.coverprofile`, `--outDir`.
pub(super) fn writes(option: &str) -> Written {
    if let Some(written) = TABLE.outputs.get(option) {
        return *written;
    }
    let bare = option.trim_start_matches('-');
    if bare.len() < 3 || bare.len() == option.len() {
        return Written::No;
    }
    let mut part = String::new();
    let mut parts = Vec::new();
    for c in bare.chars().chain(['-']) {
        if (c.is_ascii_uppercase() || !c.is_ascii_alphanumeric()) && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
        }
        if c.is_ascii_alphanumeric() {
            part.push(c.to_ascii_lowercase());
        }
    }
    let mut meant = parts.iter().filter_map(|part| TABLE.outputs.get(part.as_str()));
    meant.next().copied().unwrap_or(Written::No)
}

/// Whether the value of an option, or of `name=`, is a folder where it is a slash alone: unless the name says that it is a text.
pub(super) fn names_a_folder(option: &str) -> bool {
    let name = option.strip_prefix("--").unwrap_or(option);
    let listed = |list: &[&str]| list.contains(&name) || parts(name).iter().any(|part| list.contains(&part.as_str()));
    listed(&TABLE.folders) || writes(option) == Written::Now || !listed(&TABLE.slashes)
}

/// The words that a name is made of: `root` and `dir` of `rootDir`, `base` and `url` of `BASE_URL`.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut small = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() || (small && c.is_ascii_uppercase()) {
            parts.push(String::new());
        }
        small = c.is_ascii_lowercase();
        if let Some(last) = parts.last_mut().filter(|_| c.is_ascii_alphanumeric()) {
            last.push(c.to_ascii_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Whether a path is a program in a folder where programs of a person are installed.
pub(super) fn is_installed(path: &AbsPath, home: &AbsPath) -> bool {
    let folder = path.parent();
    folder.is_some_and(|folder| TABLE.installed.iter().any(|own| home.join(own) == folder))
}

/// Whether a path lies in one of the places of the table.
pub(super) fn is_in_a_tree(path: &AbsPath) -> bool {
    TABLE.trees.iter().any(|tree| path.is_within(tree))
}

/// Whether a path is one of those that keep nothing.
pub(super) fn is_harmless(path: &AbsPath) -> bool {
    let text = path.as_str();
    targets::is_device(text)
        || TABLE.harmless.iter().any(|own| match own.strip_suffix('*') {
            Some(begin) => text.starts_with(begin),
            None => text
                .strip_prefix(own)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        })
}
