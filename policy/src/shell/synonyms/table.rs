//! The data file `policy/data/synonyms.toml`: other names of options, subcommands and programs.
//!
//! It reads the file and keeps its entries under the names of programs; what a command becomes in other words is made elsewhere.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::shell::data;

pub(super) struct Entry {
    pub(super) verbs: &'static [&'static str],
    pub(super) same: Vec<&'static [&'static str]>,
    pub(super) cut: bool,
    pub(super) long: &'static [&'static str],
    pub(super) words: Vec<&'static [&'static str]>,
    pub(super) subcommands: &'static [&'static str],
    pub(super) both: Vec<(&'static str, Vec<&'static str>)>,
    pub(super) letters: &'static str,
    pub(super) valued: &'static [&'static str],
    /// A subcommand, perhaps with options that have to be there, and what it is, too.
    pub(super) means: Vec<(Vec<&'static str>, &'static str)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    pub(super) names: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers; a test asks for it"))]
    pub(super) why: String,
    #[serde(default)]
    pub(super) verbs: String,
    #[serde(default)]
    pub(super) same: Vec<String>,
    #[serde(default)]
    pub(super) cut: bool,
    #[serde(default)]
    pub(super) long: String,
    #[serde(default)]
    pub(super) words: Vec<String>,
    #[serde(default)]
    pub(super) subcommands: String,
    #[serde(default)]
    pub(super) both: Vec<String>,
    #[serde(default)]
    pub(super) letters: String,
    #[serde(default)]
    pub(super) valued: String,
    #[serde(default)]
    pub(super) means: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAlias {
    pub(super) names: String,
    #[serde(default)]
    pub(super) verb: String,
    pub(super) is: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers; a test asks for it"))]
    pub(super) why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raws {
    pub(super) program: Vec<Raw>,
    pub(super) alias: Vec<RawAlias>,
}

/// Another name of a program, or of one of its subcommands.
pub(super) struct Alias {
    pub(super) verb: &'static str,
    pub(super) is: &'static [&'static str],
}

pub(super) static ALIASES: LazyLock<data::Named<&'static str, Vec<Alias>>> = LazyLock::new(|| {
    let raws: Raws = data::read("synonyms.toml", FILE);
    let mut by_name = data::Named::<&'static str, Vec<Alias>>::default();
    for raw in raws.alias {
        for name in data::words(&raw.names) {
            by_name.entry(name).or_default().push(Alias {
                verb: data::keep_text(&raw.verb),
                is: data::words(&raw.is),
            });
        }
    }
    by_name
});

pub(super) const FILE: &str = include_str!("../../../data/synonyms.toml");

pub(super) static ENTRIES: LazyLock<data::Named<&'static str, Vec<&'static Entry>>> = LazyLock::new(|| {
    let raws: Raws = data::read("synonyms.toml", FILE);
    let mut by_name = data::Named::<&'static str, Vec<&'static Entry>>::default();
    for raw in raws.program {
        let lists = |texts: &[String]| texts.iter().map(|text| data::words(text)).collect();
        let entry: &'static Entry = data::keep(Entry {
            verbs: data::words(&raw.verbs),
            same: lists(&raw.same),
            cut: raw.cut,
            long: data::words(&raw.long),
            words: lists(&raw.words),
            subcommands: data::words(&raw.subcommands),
            both: pairs(&raw.both)
                .into_iter()
                .map(|(whole, parts)| (whole, parts.to_vec()))
                .collect(),
            letters: data::keep_text(&raw.letters),
            valued: data::words(&raw.valued),
            means: means(&raw.means),
        });
        for name in data::words(&raw.names) {
            by_name.entry(name).or_default().push(entry);
        }
    }
    by_name
});

/// The first word of each text, and the others.
fn pairs(texts: &[String]) -> Vec<(&'static str, &'static [&'static str])> {
    let split = texts.iter().map(|text| data::words(text).split_first());
    split.flatten().map(|(first, others)| (*first, others)).collect()
}

/// The last word of each text, and those in front of it.
fn means(texts: &[String]) -> Vec<(Vec<&'static str>, &'static str)> {
    let split = texts.iter().map(|text| data::words(text).split_last());
    split.flatten().map(|(last, others)| (others.to_vec(), *last)).collect()
}
