//! What the engine knows about programs, wrappers and variables, as data files under `policy/data`.
//!
//! The files are part of the program (`include_str!`) and read once, when the first line is analysed; `policy/data/README.md`
//! says how to read and extend them. What they hold lives as long as the program, so it is given out by reference.
//!
//! It understands no program: what the entries mean is told by `programs`, `wrappers`, `git` and `variables`.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use serde::de::DeserializeOwned;

/// What is filed under names. They come from the data files alone, so nobody can choose names that collide, and the hash need not
/// be secret; each command is looked up in a dozen tables, so it is a fast one.
pub(super) type Named<K, V> = HashMap<K, V, FixedState>;

/// Reads one data file.
///
/// Does not return if the file is broken: an engine that knows fewer programs would judge fewer commands, and the file is
/// the same in every copy of the program. A test reads each of them.
#[expect(
    clippy::panic,
    reason = "the files are embedded: a fault in one is found by the first test that runs"
)]
pub(super) fn read<T: DeserializeOwned>(name: &str, text: &str) -> T {
    match toml::from_str(text) {
        Ok(table) => table,
        Err(fault) => panic!("policy/data/{name} is broken: {fault}"),
    }
}

/// Keeps a value for as long as the program runs.
pub(super) fn keep<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// The words of a text, kept.
pub(super) fn words(text: &str) -> &'static [&'static str] {
    let words: Vec<&'static str> = text.split_whitespace().map(keep_text).collect();
    Box::leak(words.into_boxed_slice())
}

/// A text, kept.
pub(super) fn keep_text(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

/// Options whose use needs a remark: several spellings stand before one remark.
pub(super) fn remarked(table: std::collections::BTreeMap<String, String>) -> &'static [Remarked] {
    let mut out = Vec::new();
    for (options, why) in table {
        let why = keep_text(&why);
        out.extend(words(&options).iter().map(|option| Remarked { option, why }));
    }
    Box::leak(out.into_boxed_slice())
}

/// An option, or the beginning of an operand, and why it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Remarked {
    pub(super) option: &'static str,
    pub(super) why: &'static str,
}

impl Remarked {
    /// Whether an option, with its value if it has one (`Some(None)`: not known), is the one meant.
    ///
    /// `-C=linker` means the option `-C` with `linker` somewhere in its value.
    pub(super) fn covers(&self, name: &str, value: Option<Option<&str>>) -> bool {
        let Some((option, needle)) = self.option.split_once('=').filter(|_| self.option.starts_with('-')) else {
            return self.option == name;
        };
        option == name
            && match value {
                Some(Some(text)) => text.to_ascii_lowercase().contains(&needle.to_ascii_lowercase()),
                Some(None) => true,
                None => false,
            }
    }

    /// Whether a word begins an operand that is meant: `SHELL=` of make, `EXEC:` of socat, `+` of vim.
    pub(super) fn begins(&self, word: &str) -> bool {
        !self.option.starts_with('-')
            && word
                .get(..self.option.len())
                .is_some_and(|beginning| beginning.eq_ignore_ascii_case(self.option))
    }
}

/// The names of an entry: `docker ps`, `docker images` for the name `docker` and the verbs `ps images`. A verb of several
/// words is joined by `+`.
pub(super) fn full_names(names: &str, verbs: &str) -> Vec<String> {
    let names = names.split_whitespace();
    if verbs.is_empty() {
        return names.map(str::to_owned).collect();
    }
    names
        .flat_map(|name| {
            let verbs = verbs.split_whitespace();
            verbs.map(move |verb| format!("{name} {}", verb.replace('+', " ")))
        })
        .collect()
}

/// Entries by name.
#[derive(Debug)]
pub(super) struct ByName<T: 'static> {
    /// Sorted by name.
    entries: Vec<(&'static str, &'static T)>,
    /// Names and their beginnings up to a blank: each command is looked up several times.
    found: Named<&'static str, Place<T>>,
}

/// What is known under a name.
#[derive(Debug)]
struct Place<T: 'static> {
    entry: Option<&'static T>,
    /// Longer names begin with this one and a blank.
    below: bool,
}

impl<T> ByName<T> {
    pub(super) fn new(mut entries: Vec<(&'static str, &'static T)>) -> Self {
        entries.sort_unstable_by_key(|(name, _)| *name);
        let mut found = Named::<_, Place<T>>::default();
        let none = || Place {
            entry: None,
            below: false,
        };
        for (name, entry) in &entries {
            found.entry(*name).or_insert_with(none).entry = Some(entry);
            for beginning in name.match_indices(' ').filter_map(|(at, _)| name.get(..at)) {
                found.entry(beginning).or_insert_with(none).below = true;
            }
        }
        Self { entries, found }
    }

    pub(super) fn find(&self, name: &str) -> Option<&'static T> {
        self.found.get(name)?.entry
    }

    /// Whether an entry's name is this one and a blank, with more behind it.
    pub(super) fn has_below(&self, name: &str) -> bool {
        self.found.get(name).is_some_and(|place| place.below)
    }

    /// All names.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.entries.iter().map(|(name, _)| *name)
    }

    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &(&'static str, &'static T)> {
        self.entries.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_near_misses_are_not() {
        let (one, two) = (keep(1), keep(2));
        let table = ByName::new(vec![("b c", two), ("b", one), ("b-x", two), ("a", two)]);
        assert_eq!(table.find("b"), Some(&1));
        assert_eq!(table.find("b c"), Some(&2));
        assert_eq!(table.find("bc"), None);
        assert!(table.has_below("b") && !table.has_below("a") && !table.has_below("b-x"));
    }

    #[test]
    fn a_remark_can_be_about_a_value() {
        let linker = Remarked {
            option: "-C=linker",
            why: "",
        };
        assert!(linker.covers("-C", Some(Some("opt-level=1 LINKER=x"))) && linker.covers("-C", Some(None)));
        assert!(!linker.covers("-C", Some(Some("opt-level=1"))) && !linker.covers("-C", None));
        let word = Remarked {
            option: "EXEC:",
            why: "",
        };
        assert!(word.begins("exec:sh") && !word.begins("exe"));
    }

    #[test]
    fn several_options_share_a_remark() {
        let table = [("-o --output".to_owned(), "writes".to_owned())].into();
        let found: Vec<_> = remarked(table).iter().map(|entry| (entry.option, entry.why)).collect();
        assert_eq!(found, [("-o", "writes"), ("--output", "writes")]);
    }
}
