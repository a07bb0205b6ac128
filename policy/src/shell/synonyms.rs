//! Other names of options and subcommands: the data file `policy/data/synonyms.toml`.
//!
//! `rm --recursive --force`, `git reset --ha`, `npm publis` and `docker image push` are what rules on `rm -rf`, `git reset --hard`,
//! `npm publish` and `docker push` speak about. This gives the arguments of a command in such other words, for comparing them with
//! denies and asks; an allow never looks here. It knows nothing of what options do.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{
    Word, data,
    globals::{Front, front, letters},
};

/// Most other names of the words of one command.
const MOST: usize = 12;
/// Most words in which options are looked at.
const MOST_WORDS: usize = 128;
/// Most words that are looked at as subcommands.
const MOST_VERBS: usize = 3;

struct Entry {
    verbs: &'static [&'static str],
    same: Vec<&'static [&'static str]>,
    cut: bool,
    long: &'static [&'static str],
    words: Vec<&'static [&'static str]>,
    subcommands: &'static [&'static str],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    names: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers; a test asks for it"))]
    why: String,
    #[serde(default)]
    verbs: String,
    #[serde(default)]
    same: Vec<String>,
    #[serde(default)]
    cut: bool,
    #[serde(default)]
    long: String,
    #[serde(default)]
    words: Vec<String>,
    #[serde(default)]
    subcommands: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raws {
    program: Vec<Raw>,
}

const FILE: &str = include_str!("../../data/synonyms.toml");

static ENTRIES: LazyLock<data::Named<&'static str, Vec<&'static Entry>>> = LazyLock::new(|| {
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
        });
        for name in data::words(&raw.names) {
            by_name.entry(name).or_default().push(entry);
        }
    }
    by_name
});

fn literal(text: &str) -> Word {
    Word::Literal(text.to_owned())
}

/// The places of the words that may be the subcommand.
fn verbs(program: &str, rest: &[Word]) -> Vec<usize> {
    let (mut at, mut out) = (0, Vec::new());
    while let Some(word) = rest.get(at).filter(|_| at < MOST_WORDS && out.len() < MOST_VERBS) {
        match front(program, word) {
            Front::Word => out.push(at),
            Front::Valued => at += 1,
            Front::Flag | Front::Either => {}
        }
        at += 1;
    }
    out
}

/// The entries about a command.
fn about(program: &str, rest: &[Word]) -> Vec<&'static Entry> {
    let Some(entries) = ENTRIES.get(program) else {
        return Vec::new();
    };
    let verbs = verbs(program, rest);
    let told = |entry: &&&'static Entry| {
        let mut own = verbs.iter().filter_map(|at| rest.get(*at)).filter_map(Word::literal);
        entry.verbs.is_empty() || own.any(|verb| entry.verbs.contains(&verb))
    };
    entries.iter().filter(told).copied().collect()
}

/// The arguments of a command in other words, those as written not among them.
pub(crate) fn others(program: &str, rest: &[Word]) -> Vec<Vec<Word>> {
    if !ENTRIES
        .get(program)
        .is_some_and(|entries| may_have_others(entries, rest))
    {
        return Vec::new();
    }
    let mut all = vec![rest.to_vec()];
    in_other_words(program, &mut all);
    // What is cut short may be a spelling of something in turn.
    for step in [uncut, respelled] {
        for number in 0..all.len() {
            let Some(words) = all.get(number).cloned() else { break };
            for more in step(program, &words) {
                add(&mut all, more);
            }
            if all.len() > MOST {
                break;
            }
        }
    }
    all.split_off(1)
}

/// Whether a word is an option, or a name that a table has or that may be cut short: without one there is nothing to say otherwise.
fn may_have_others(entries: &[&Entry], rest: &[Word]) -> bool {
    let named = |text: &str| {
        entries.iter().any(|entry| {
            let mut groups = entry.words.iter().copied().flatten();
            entry.subcommands.iter().any(|name| name.starts_with(text))
                || groups.any(|name| name.split('+').any(|part| part == text))
        })
    };
    let mut texts = rest.iter().filter_map(Word::literal);
    texts.any(|text| text.starts_with('-') || named(text))
}

fn add(all: &mut Vec<Vec<Word>>, words: Vec<Word>) {
    if all.len() <= MOST && !all.contains(&words) {
        all.push(words);
    }
}

/// Adds those with other names of the subcommand.
fn in_other_words(program: &str, all: &mut Vec<Vec<Word>>) {
    let Some(rest) = all.first().cloned() else { return };
    let places = verbs(program, &rest);
    for (number, at) in places.iter().enumerate() {
        let Some(word) = rest.get(*at).and_then(Word::literal) else {
            continue;
        };
        let next = places
            .get(number + 1)
            .and_then(|next| Some((*next, rest.get(*next)?.literal()?)));
        let replaced = |name: &str, two: bool| {
            let mut words = rest.clone();
            if let Some((next, _)) = next.filter(|_| two) {
                words.remove(next);
            }
            words.splice(at..=at, name.split('+').map(literal));
            words
        };
        for entry in about(program, &rest) {
            let begins = |name: &&&str| name.starts_with(word) && **name != word;
            for name in entry.subcommands.iter().filter(begins) {
                add(all, replaced(name, false));
            }
            for group in &entry.words {
                let two = next.map(|(_, next)| format!("{word}+{next}")).unwrap_or_default();
                for (own, is_two) in [(word, false), (two.as_str(), true)] {
                    if group.contains(&own) {
                        for name in group.iter().filter(|name| **name != own) {
                            add(all, replaced(name, is_two));
                        }
                    }
                }
            }
        }
    }
}

/// Where the options of a command end.
fn end_of_options(rest: &[Word]) -> usize {
    let end = rest.iter().position(|word| word.literal() == Some("--"));
    end.unwrap_or(rest.len()).min(MOST_WORDS)
}

/// With long options that were cut short in full: one more for each option that such a word may be.
fn uncut(program: &str, rest: &[Word]) -> Vec<Vec<Word>> {
    let entries = about(program, rest);
    let mut all = vec![rest.to_vec()];
    for at in 0..end_of_options(rest) {
        let Some(word) = rest.get(at).and_then(Word::literal) else {
            continue;
        };
        let (name, value) = word.find('=').map_or((word, ""), |equals| word.split_at(equals));
        if !name.starts_with("--") || name.len() < 3 {
            continue;
        }
        let cuts = entries.iter().filter(|entry| entry.cut);
        let known: Vec<&str> = cuts
            .flat_map(|entry| entry.long.iter().chain(entry.same.iter().copied().flatten()))
            .copied()
            .filter(|option| option.starts_with(name))
            .collect();
        if known.contains(&name) {
            continue;
        }
        for option in known {
            for number in 0..all.len() {
                if all.len() > MOST {
                    return all.split_off(1);
                }
                let Some(mut words) = all.get(number).cloned() else {
                    break;
                };
                if let Some(place) = words.get_mut(at) {
                    *place = Word::Literal(format!("{option}{value}"));
                }
                add(&mut all, words);
            }
        }
    }
    all.split_off(1)
}

/// Which of the spellings of an option is taken.
type Way = fn(&[&'static str]) -> Option<&'static str>;

/// With options in other spellings: all of them short, in the first and in the last way, and all of them long.
fn respelled(program: &str, rest: &[Word]) -> Vec<Vec<Word>> {
    let groups: Vec<&[&str]> = about(program, rest)
        .iter()
        .flat_map(|entry| entry.same.clone())
        .collect();
    if groups.is_empty() {
        return Vec::new();
    }
    let listed = letters(program);
    let group_of = |option: &str| groups.iter().find(|group| group.contains(&option));
    let ways: [Way; 3] = [
        |group| group.iter().find(|option| !option.starts_with("--")).copied(),
        |group| group.iter().rev().find(|option| !option.starts_with("--")).copied(),
        |group| group.iter().find(|option| option.starts_with("--")).copied(),
    ];
    let end = end_of_options(rest);
    let mut all = Vec::new();
    for way in ways {
        let mut words = Vec::new();
        for (at, word) in rest.iter().enumerate() {
            let option = word
                .literal()
                .filter(|text| at < end && text.starts_with('-') && text.len() > 1);
            let apart: Vec<String> = match option {
                None => Vec::new(),
                Some(text) if group_of(text).is_some() => vec![text.to_owned()],
                Some(text) if text.starts_with("--") => Vec::new(),
                // Letters that may be joined: each is an option.
                Some(text) => {
                    let own: Vec<String> = text.chars().skip(1).map(|letter| format!("-{letter}")).collect();
                    let known = |option: &String| {
                        group_of(option).is_some() || option.chars().skip(1).all(|c| listed.contains(c))
                    };
                    if own.len() <= 6 && own.iter().all(known) {
                        own
                    } else {
                        Vec::new()
                    }
                }
            };
            if apart.is_empty() {
                words.push(word.clone());
            }
            words.extend(apart.iter().map(|option| {
                let other = group_of(option).and_then(|group| way(group));
                literal(other.unwrap_or(option))
            }));
        }
        if words != rest {
            add(&mut all, words);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_has_names_and_a_reason_and_no_option_twice() {
        let raws: Raws = data::read("synonyms.toml", FILE);
        for raw in &raws.program {
            assert!(!raw.names.is_empty() && raw.why.len() > 5, "{}", raw.names);
            let mut seen = std::collections::HashSet::new();
            let lists = raw.same.iter().chain(&raw.words).chain([&raw.long]);
            for word in lists.flat_map(|list| list.split_whitespace()) {
                assert!(seen.insert(word), "{word} twice: {}", raw.names);
            }
            let mut options = raw.same.iter().flat_map(|list| list.split_whitespace());
            assert!(options.all(|option| option.starts_with('-')), "{}", raw.names);
        }
    }

    fn spellings(line: &str) -> Vec<String> {
        let words: Vec<Word> = line.split(' ').map(literal).collect();
        let (program, rest) = words.split_first().unwrap();
        let texts = others(program.literal().unwrap(), rest);
        let joined = |words: &Vec<Word>| words.iter().filter_map(Word::literal).collect::<Vec<_>>().join(" ");
        texts.iter().map(joined).collect()
    }

    #[test]
    fn other_names_of_options_and_subcommands() {
        for (line, expected) in [
            ("rm -Rf x", "-r -f x"),
            ("rm -rf x", "-R -f x"),
            ("rm -rf x", "--recursive --force x"),
            ("rm --recursive --force x", "-r -f x"),
            ("rm --rec --fo x", "-r -f x"),
            ("git reset --ha HEAD", "reset --hard HEAD"),
            ("git push --forc origin", "push -f origin"),
            ("git -C x commit -n", "-C x commit --no-verify"),
            ("npm publis", "publish"),
            ("npm pub --tag x", "publish --tag x"),
            ("npm i x", "install x"),
            ("docker image push x", "push x"),
            ("docker push x", "image push x"),
            ("docker -H x image rm y", "-H x rmi y"),
            ("docker system prune -af", "system prune --all --force"),
            ("yarn npm publish", "publish"),
        ] {
            let found = spellings(line);
            assert!(found.contains(&expected.to_owned()), "{line}: {found:?}");
        }
    }

    #[test]
    fn what_is_whole_or_an_operand_has_no_others() {
        assert!(spellings("git reset --hard HEAD").is_empty());
        assert!(spellings("rm x").is_empty());
        assert!(spellings("foo --recursive").is_empty());
        assert!(!spellings("rm -- --rec").iter().any(|text| text.contains("--recursive")));
    }
}
