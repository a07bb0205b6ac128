//! Programs that run the program named by their arguments: the data files `policy/data/wrappers.toml`
//! and `wrappers-more.toml`.
//!
//! A table, because each option that takes a value has to be known: skipping one word too few or too many would judge
//! the wrong program. An option that is not in the table is reported; the analysis goes on as if it took no value.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;

use super::{
    Word,
    data::{self, ByName, Remarked},
    options::{self, Spec},
};

/// What a wrapper changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// Nothing that matters to a rule.
    Plain,
    /// It runs programs on names from elsewhere: its input, what it finds.
    Feeds,
    /// Who runs the program, where, which one it is, or with which words.
    Changes,
    /// No wrapper: only the options that may stand before a subcommand that is one.
    Group,
}

/// A wrapper. `policy/data/README.md` describes the keys.
#[derive(Debug)]
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    flags: &'static [&'static str],
    values: &'static [&'static str],
    attached: &'static [&'static str],
    /// Options with two values.
    pairs: &'static [&'static str],
    /// Options whose value is a number: with another one it ends before it runs anything.
    counts: &'static [&'static str],
    /// Operands before the program.
    operands: usize,
    /// Options that take the place of an operand.
    instead: &'static [&'static str],
    /// The operands may be left out.
    pub(super) optional: bool,
    /// `NAME=value` before the program.
    assignments: bool,
    /// `-5` is an option (`nice`).
    numbers: bool,
    /// Options end at the first operand.
    stops: bool,
    /// Long options have one dash.
    one_dash: bool,
    /// Long options that are not listed take no further word.
    lenient: bool,
    /// The program stands only behind `--`.
    pub(super) dashes: bool,
    /// Options behind which the program stands.
    rest: &'static [&'static str],
    /// Operands name no program.
    pub(super) program: bool,
    /// Options whose value is a script for a shell.
    pub(super) script: &'static [&'static str],
    /// Options whose value is a subcommand of cargo.
    pub(super) cargo: &'static [&'static str],
    /// The words are arguments of a shell.
    pub(super) shell_arguments: bool,
    /// Without a program it starts a shell, which reads its commands from the input.
    pub(super) starts_shell: bool,
    /// The words are joined and given to a shell, unless one of `direct` is given.
    pub(super) joins: bool,
    pub(super) direct: &'static [&'static str],
    /// Options that make it join the words and give them to a shell.
    pub(super) shell: &'static [&'static str],
    /// Each operand is a script of its own.
    pub(super) each: bool,
    /// Words that name keys are left out (`tmux send-keys`).
    pub(super) keys: bool,
    /// The program's word is the name of a package, perhaps with a version.
    pub(super) package: bool,
    /// On another machine or in a container: files are not ours.
    pub(super) remote: bool,
    /// In another directory: always, or with one of these options.
    always_elsewhere: bool,
    elsewhere: &'static [&'static str],
    pub(super) folders: &'static [&'static str],
    pub(super) reads: &'static [&'static str],
    pub(super) writes: &'static [&'static str],
    pub(super) mounts: &'static [&'static str],
    /// Options whose value is the program, in front of the words.
    pub(super) entrypoint: &'static [&'static str],
    /// Options by which it does more than run the program. An allow rule never covers them.
    pub(super) escapes: &'static [Remarked],
    /// Options that hide what is run.
    pub(super) opaque: &'static [Remarked],
    /// A rule for the program alone does not cover what it runs: running programs is not what the program is for.
    pub(super) own_rule: bool,
    /// The same lists, for telling options from operands.
    pub(super) spec: Spec,
}

/// An entry as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Raw {
    names: String,
    #[serde(default)]
    verbs: String,
    #[serde(default)]
    #[expect(dead_code, reason = "a remark for readers of the file")]
    why: String,
    kind: Kind,
    #[serde(default)]
    flags: String,
    #[serde(default)]
    values: String,
    #[serde(default)]
    attached: String,
    #[serde(default)]
    pairs: String,
    #[serde(default)]
    counts: String,
    #[serde(default)]
    own_rule: bool,
    #[serde(default)]
    operands: usize,
    #[serde(default)]
    optional: bool,
    #[serde(default)]
    instead: String,
    #[serde(default)]
    assignments: bool,
    #[serde(default)]
    numbers: bool,
    #[serde(default)]
    stops: bool,
    #[serde(default)]
    one_dash: bool,
    #[serde(default)]
    lenient: bool,
    #[serde(default)]
    dashes: bool,
    #[serde(default)]
    rest: String,
    program: Option<bool>,
    #[serde(default)]
    script: String,
    #[serde(default)]
    cargo: String,
    #[serde(default)]
    shell_arguments: bool,
    #[serde(default)]
    starts_shell: bool,
    #[serde(default)]
    joins: bool,
    #[serde(default)]
    direct: String,
    #[serde(default)]
    shell: String,
    #[serde(default)]
    each: bool,
    #[serde(default)]
    keys: bool,
    #[serde(default)]
    package: bool,
    #[serde(default)]
    remote: bool,
    #[serde(default)]
    elsewhere: String,
    #[serde(default)]
    folders: String,
    #[serde(default)]
    reads: String,
    #[serde(default)]
    writes: String,
    #[serde(default)]
    mounts: String,
    #[serde(default)]
    entrypoint: String,
    #[serde(default)]
    escapes: BTreeMap<String, String>,
    #[serde(default)]
    opaque: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raws {
    wrapper: Vec<Raw>,
}

const FILE: &str = concat!(
    include_str!("../../data/wrappers.toml"),
    include_str!("../../data/wrappers-more.toml")
);

static WRAPPERS: LazyLock<ByName<Wrapper>> = LazyLock::new(|| {
    let raws: Raws = data::read("wrappers.toml", FILE);
    let mut entries = Vec::new();
    for raw in raws.wrapper {
        let names = data::full_names(&raw.names, &raw.verbs);
        let name = data::keep_text(names.first().map_or("", String::as_str));
        let wrapper = data::keep(compact(raw, name));
        entries.extend(names.iter().map(|name| (data::keep_text(name), &*wrapper)));
    }
    ByName::new(entries)
});

fn compact(raw: Raw, name: &'static str) -> Wrapper {
    let always = raw.elsewhere == "always";
    let valued = format!("{} {} {}", raw.values, raw.reads, raw.writes);
    Wrapper {
        name,
        kind: raw.kind,
        flags: data::words(&raw.flags),
        values: data::words(&valued),
        attached: data::words(&raw.attached),
        pairs: data::words(&raw.pairs),
        counts: data::words(&raw.counts),
        own_rule: raw.own_rule,
        operands: raw.operands,
        optional: raw.optional,
        instead: data::words(&raw.instead),
        assignments: raw.assignments,
        numbers: raw.numbers,
        stops: raw.stops,
        one_dash: raw.one_dash,
        lenient: raw.lenient,
        dashes: raw.dashes,
        rest: data::words(&raw.rest),
        program: raw.program.unwrap_or(true),
        script: data::words(&raw.script),
        cargo: data::words(&raw.cargo),
        shell_arguments: raw.shell_arguments,
        starts_shell: raw.starts_shell,
        joins: raw.joins,
        direct: data::words(&raw.direct),
        shell: data::words(&raw.shell),
        each: raw.each,
        keys: raw.keys,
        package: raw.package,
        remote: raw.remote,
        always_elsewhere: always,
        elsewhere: if always { &[] } else { data::words(&raw.elsewhere) },
        folders: data::words(&raw.folders),
        reads: data::words(&raw.reads),
        writes: data::words(&raw.writes),
        mounts: data::words(&raw.mounts),
        entrypoint: data::words(&raw.entrypoint),
        escapes: data::remarked(raw.escapes),
        opaque: data::remarked(raw.opaque),
        spec: options::spec(&valued, &raw.attached, &raw.flags, raw.one_dash),
    }
}

/// The wrapper of this name, without regard to subcommands.
pub(super) fn find(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.find(name).filter(|wrapper| wrapper.kind != Kind::Group)
}

/// Whether a program of this name is a wrapper, or has a subcommand that is one.
pub(super) fn can_wrap(name: &str) -> bool {
    find(name).is_some() || WRAPPERS.has_below(name)
}

/// The subcommand behind which a program runs another one, if it does so nowhere else: `exec` of `bundle`.
pub(super) fn verb_that_wraps(name: &str) -> Option<&'static str> {
    if find(name).is_some() || !WRAPPERS.has_below(name) {
        return None;
    }
    let verbs = WRAPPERS.names().filter_map(|own| {
        let verb = own.strip_prefix(name)?.strip_prefix(' ')?;
        find(own).map(|_| verb)
    });
    verbs.min()
}

/// All wrappers by their whole names, subcommands included.
#[cfg(test)]
pub(super) fn whole_names() -> impl Iterator<Item = &'static str> {
    WRAPPERS.names().filter(|name| find(name).is_some())
}

/// The names of all wrappers and shells, without those that wrap only behind a subcommand.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    WRAPPERS
        .names()
        .filter(|name| find(name).is_some() && !name.contains(' '))
        .chain(SHELLS.iter().copied())
}

/// Shells: they run a script.
pub(super) const SHELLS: &[&str] = &[
    "ash", "bash", "csh", "dash", "fish", "hush", "ksh", "ksh93", "lksh", "mksh", "oksh", "osh", "posh", "rbash", "sh",
    "tcsh", "yash", "zsh",
];

/// The wrapper that a command calls, and the number of the word that names it last: `docker -D compose exec` is 3.
pub(super) fn resolve(name: &str, words: &[Word]) -> Option<(&'static Wrapper, usize)> {
    if !WRAPPERS.has_below(name) {
        return find(name).map(|wrapper| (wrapper, 0));
    }
    let mut spelled = name.to_owned();
    let mut at = 0;
    let mut found = find(name).map(|wrapper| (wrapper, 0));
    while WRAPPERS.has_below(&spelled) {
        let grammar = WRAPPERS.find(&spelled).unwrap_or(&*BARE);
        let unwrapped = unwrap(grammar, words, at);
        let next = |number: usize| {
            let verb = words.get(number).and_then(Word::literal)?;
            let longer = format!("{spelled} {verb}");
            let known = WRAPPERS.find(&longer);
            (known.is_some() || WRAPPERS.has_below(&longer)).then_some((longer, number, known))
        };
        let place = unwrapped.program?;
        // Behind an option that is not known, its value may be taken for the subcommand: then a later word is it.
        let toolchain = words
            .get(place)
            .and_then(Word::literal)
            .is_some_and(|word| word.starts_with('+'));
        let most = match unwrapped.unknown {
            Some(_) => MOST_TRIED,
            // `cargo +nightly watch`
            None => 1 + usize::from(toolchain),
        };
        let Some((longer, number, known)) = (place..place + most).find_map(next) else {
            return found;
        };
        if let Some(wrapper) = known.filter(|wrapper| wrapper.kind != Kind::Group) {
            found = Some((wrapper, number));
        }
        spelled = longer;
        at = number;
    }
    found
}

/// Most words tried as a subcommand behind an option that is not known.
const MOST_TRIED: usize = 8;

static BARE: LazyLock<Wrapper> = LazyLock::new(|| {
    let raws: Raws = data::read("(built in)", "[[wrapper]]\nnames = \"\"\nkind = \"group\"\n");
    let raw = raws.wrapper.into_iter().next();
    raw.map_or_else(|| unreachable!("one entry stands above"), |raw| compact(raw, ""))
});

/// What the options of a wrapper say.
#[derive(Debug, Default)]
pub(super) struct Unwrapped {
    /// Number of the word that names the program, counted from the first word; none if it names none.
    pub(super) program: Option<usize>,
    /// Options with their value's place.
    pub(super) options: Vec<(String, Option<Place>)>,
    /// Numbers of the words that are assignments.
    pub(super) assignments: Vec<usize>,
    /// Operands before the program.
    pub(super) operands: Vec<usize>,
    /// The first option that is not in the table.
    pub(super) unknown: Option<String>,
}

/// Where an option's value stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The word of this number.
    Word(usize),
    /// In the option's own word.
    Text(String),
}

impl Unwrapped {
    /// Whether one of these options was given.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    /// The place of the value of the last of these options.
    pub(super) fn place(&self, names: &[&str]) -> Option<&Place> {
        let named = |(name, _): &&(String, Option<Place>)| names.contains(&name.as_str());
        self.options
            .iter()
            .rev()
            .find(named)
            .and_then(|(_, place)| place.as_ref())
    }

    /// The places of the values of these options.
    pub(super) fn places<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = &'a Place> {
        let named = |(name, _): &&(String, Option<Place>)| names.contains(&name.as_str());
        self.options
            .iter()
            .filter(named)
            .filter_map(|(_, place)| place.as_ref())
    }
}

impl Wrapper {
    /// Whether the program runs in a directory that is not known, or not ours.
    pub(super) fn is_elsewhere(&self, found: &Unwrapped) -> bool {
        self.always_elsewhere || found.has(self.elsewhere)
    }

    /// The first option given by which it does more than run the program.
    pub(super) fn escape(&self, found: &Unwrapped, words: &[Word]) -> Option<Remarked> {
        self.escapes.iter().copied().find(|escape| {
            found.options.iter().any(|(name, place)| {
                let value = match place {
                    Some(Place::Word(at)) => words.get(*at).map(Word::literal),
                    Some(Place::Text(text)) => Some(Some(text.as_str())),
                    None => None,
                };
                escape.covers(name, value)
            })
        })
    }

    /// Whether an option that takes a number is given a word without a digit: then it runs nothing.
    pub(super) fn refuses(&self, found: &Unwrapped, words: &[Word]) -> bool {
        found.options.iter().any(|(name, place)| {
            let Some(Place::Word(at)) = place else { return false };
            let word = words.get(*at).and_then(Word::literal);
            self.counts.contains(&name.as_str())
                && word.is_some_and(|word| !word.contains(|c: char| c.is_ascii_digit()))
        })
    }

    /// The list that an option stands in, cut short or whole.
    fn takes(&self, name: &str) -> Option<Takes> {
        let lists = [
            (self.values, Takes::Value),
            (self.flags, Takes::Nothing),
            (self.attached, Takes::Attached),
            (self.pairs, Takes::Two),
        ];
        let exact = lists.iter().find(|(list, _)| list.contains(&name));
        if let Some((_, takes)) = exact {
            return Some(*takes);
        }
        if name.len() < 3 || !name.starts_with("--") || self.one_dash {
            return None;
        }
        // A beginning means one option; where it could mean several, the program refuses, so their kinds must agree.
        let mut meant = lists
            .iter()
            .filter(|(list, _)| list.iter().any(|option| option.starts_with(name)))
            .map(|(_, takes)| *takes);
        let takes = meant.next()?;
        meant.next().is_none().then_some(takes)
    }

    /// The whole name of an option that is cut short.
    fn whole<'n>(&self, name: &'n str) -> &'n str
    where
        'static: 'n,
    {
        let lists = [self.values, self.flags, self.attached, self.pairs];
        if lists.iter().any(|list| list.contains(&name)) || self.one_dash || name.len() < 3 {
            return name;
        }
        let mut options = lists.into_iter().flatten();
        options
            .find(|option| option.starts_with(name))
            .map_or(name, |option| *option)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    Two,
    Attached,
}

/// Finds the program behind a wrapper, whose name is the word of number `start`.
pub(super) fn unwrap(wrapper: &Wrapper, words: &[Word], start: usize) -> Unwrapped {
    let mut found = Unwrapped::default();
    let mut at = start + 1;
    let mut operands = wrapper.operands;
    while let Some(word) = words.get(at) {
        let text = match word {
            Word::Literal(text) => text.as_str(),
            Word::Dynamic { source, .. } => {
                // An option or an assignment whose value is not known; anything else is the program's place.
                let source = source.trim_start_matches(['"', '\'']);
                if source.starts_with('-') && !(wrapper.stops && operands < wrapper.operands) {
                    let name = source.split('=').next().unwrap_or_default();
                    let valued = source.contains('=') && wrapper.takes(name).is_some();
                    if !valued {
                        found.unknown.get_or_insert_with(|| source.to_owned());
                    }
                } else if wrapper.assignments && is_assignment(source) {
                    found.assignments.push(at);
                } else if operands > 0 {
                    operands -= 1;
                    found.operands.push(at);
                } else {
                    break;
                }
                at += 1;
                continue;
            }
        };
        if wrapper.rest.contains(&text) {
            at += 1;
            found.program = (at < words.len()).then_some(at);
            return found;
        }
        if text == "--" {
            at += 1;
            // Operands and assignments may still follow.
            while operands > 0 && !wrapper.dashes && at < words.len() {
                found.operands.push(at);
                operands -= 1;
                at += 1;
            }
            while wrapper.assignments && words.get(at).and_then(Word::literal).is_some_and(is_assignment) {
                found.assignments.push(at);
                at += 1;
            }
            found.program = (at < words.len()).then_some(at);
            return found;
        }
        let options_over = wrapper.stops && operands < wrapper.operands;
        if text.len() > 1 && text.starts_with('-') && !options_over {
            let before = found.options.len();
            at = option(wrapper, text, at, &mut found);
            let given = found.options.get(before..).unwrap_or_default();
            if given.iter().any(|(name, _)| wrapper.instead.contains(&name.as_str())) {
                operands = operands.saturating_sub(1);
            }
        } else if wrapper.assignments && is_assignment(text) {
            found.assignments.push(at);
            at += 1;
        } else if text == "-" && (wrapper.name == "env" || wrapper.flags.contains(&"-")) {
            at += 1;
        } else if operands > 0 || wrapper.dashes || !wrapper.program || !wrapper.rest.is_empty() {
            found.operands.push(at);
            operands = operands.saturating_sub(1);
            at += 1;
        } else {
            break;
        }
    }
    found.program = (at < words.len() && wrapper.rest.is_empty()).then_some(at);
    found
}

fn is_assignment(text: &str) -> bool {
    // `env` and `sudo` take any text with `=`, but one that begins with an expansion may be a program's name.
    !text.starts_with(['$', '`']) && text.contains('=')
}

/// Reads one option word; gives the number of the word after it.
fn option(wrapper: &Wrapper, text: &str, at: usize, found: &mut Unwrapped) -> usize {
    if text.starts_with("--") || wrapper.one_dash {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let takes = wrapper.takes(name);
        if takes.is_none() && !wrapper.lenient {
            found.unknown.get_or_insert_with(|| name.to_owned());
        }
        let whole = wrapper.whole(name).to_owned();
        if let Some(value) = value {
            found.options.push((whole, Some(Place::Text(value.to_owned()))));
            return at + 1;
        }
        return match takes {
            Some(Takes::Value) => {
                found.options.push((whole, Some(Place::Word(at + 1))));
                at + 2
            }
            Some(Takes::Two) => {
                found.options.push((whole, Some(Place::Word(at + 1))));
                at + 3
            }
            _ => {
                found.options.push((whole, None));
                at + 1
            }
        };
    }
    let letters = text.get(1..).unwrap_or_default();
    if wrapper.numbers
        && letters
            .trim_start_matches(['-', '+'])
            .chars()
            .all(|c| c.is_ascii_digit())
    {
        return at + 1;
    }
    // A cluster that is listed as it stands: `-dm` of screen, `-ws` of npm.
    if letters.len() > 1 && wrapper.flags.contains(&text) {
        found.options.push((text.to_owned(), None));
        return at + 1;
    }
    for (offset, letter) in letters.char_indices() {
        let name = format!("-{letter}");
        let rest = letters.get(offset + letter.len_utf8()..).unwrap_or_default();
        match wrapper.takes(&name) {
            Some(Takes::Value | Takes::Two) if rest.is_empty() => {
                found.options.push((name, Some(Place::Word(at + 1))));
                return at + 2;
            }
            Some(Takes::Value | Takes::Two) => {
                let value = rest.strip_prefix('=').filter(|_| wrapper.stops).unwrap_or(rest);
                found.options.push((name, Some(Place::Text(value.to_owned()))));
                return at + 1;
            }
            Some(Takes::Attached) => {
                found
                    .options
                    .push((name, (!rest.is_empty()).then(|| Place::Text(rest.to_owned()))));
                return at + 1;
            }
            Some(Takes::Nothing) => found.options.push((name, None)),
            None => {
                found.unknown.get_or_insert_with(|| name.clone());
                found.options.push((name, None));
            }
        }
    }
    at + 1
}

#[cfg(test)]
mod tests;
