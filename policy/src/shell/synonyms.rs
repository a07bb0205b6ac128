//! Other names of options and subcommands: the data file `policy/data/synonyms.toml`.
//!
//! `rm --recursive --force`, `git reset --ha`, `npm publis` and `docker image push` are what rules on `rm -rf`, `git reset --hard`,
//! `npm publish` and `docker push` speak about. This gives the arguments of a command in such other words, for comparing them with
//! denies and asks; an allow never looks here. It knows nothing of what options do.

mod options;
mod table;

use options::{respelled, together};
use table::{ALIASES, ENTRIES, Entry};

use super::{
    Word,
    class::base_name,
    executing,
    globals::{Front, front},
};

/// Most other names of the words of one command, for its options.
const MOST: usize = 12;
/// Most of them with those of its subcommand.
const MOST_WITH_NAMES: usize = 32;
/// Names of a group that are usual: people write them in rules.
const USUAL_NAMES: usize = 2;
/// Most other names of the subcommand where the options have other names, too.
const FEW_NAMES: usize = 4;
/// Most words in which options are looked at.
const MOST_WORDS: usize = 128;
/// Most words that are looked at as subcommands.
const MOST_VERBS: usize = 3;

/// The words of a command under other names of its program: `pip install x` for `python3 -m pip install x`, `docker compose up` for
/// `docker-compose up`.
pub(crate) fn other_programs(words: &[Word]) -> Vec<Vec<Word>> {
    let Some(name) = words.first().and_then(Word::literal).map(base_name) else {
        return Vec::new();
    };
    let rest = words.get(1..).unwrap_or_default();
    let mut all = Vec::new();
    if let Some((module, from)) = executing::behind_module(words).filter(|(_, from)| *from > 1) {
        let words = std::iter::once(literal(module)).chain(words.get(from..).unwrap_or_default().iter().cloned());
        all.push(words.collect());
    }
    // `pip3.11` is `pip3`.
    let bare = name.split('.').next().unwrap_or(name);
    for alias in [name, bare]
        .iter()
        .find_map(|name| ALIASES.get(name))
        .into_iter()
        .flatten()
    {
        // The verb stands behind options of the program.
        let at = match alias.verb {
            "" => 0,
            verb => match verbs(name, rest).first() {
                Some(at) if rest.get(*at).and_then(Word::literal) == Some(verb) => at + 1,
                _ => continue,
            },
        };
        let own = alias.is.iter().copied().map(literal);
        all.push(own.chain(rest.get(at..).unwrap_or_default().iter().cloned()).collect());
    }
    all
}

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
    // What is cut short may be a spelling of something in turn, and several together be another one.
    for step in [uncut, respelled, together, respelled] {
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
    // Options in other words are said with the first names of the subcommand only, as there are many of them.
    for (number, words) in all.clone().iter().enumerate() {
        let names = in_other_words(program, words);
        let few = if number == 0 { usize::MAX } else { FEW_NAMES };
        for more in names.into_iter().take(few) {
            if all.len() <= MOST_WITH_NAMES && !all.contains(&more) {
                all.push(more);
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

/// With other names of the subcommand, the usual ones first.
fn in_other_words(program: &str, rest: &[Word]) -> Vec<Vec<Word>> {
    let places = verbs(program, rest);
    let (mut usual, mut more) = (Vec::new(), Vec::new());
    for (number, at) in places.iter().enumerate() {
        let Some(word) = rest.get(*at).and_then(Word::literal) else {
            continue;
        };
        let next = places
            .get(number + 1)
            .and_then(|next| Some((*next, rest.get(*next)?.literal()?)));
        let replaced = |name: &str, two: bool| {
            let mut words = rest.to_vec();
            if let Some((next, _)) = next.filter(|_| two) {
                words.remove(next);
            }
            words.splice(at..=at, name.split('+').map(literal));
            words
        };
        for entry in about(program, rest) {
            for group in &entry.words {
                let two = next.map(|(_, next)| format!("{word}+{next}")).unwrap_or_default();
                for (own, is_two) in [(word, false), (two.as_str(), true)] {
                    if group.contains(&own) {
                        let names = group.iter().filter(|name| **name != own);
                        for (number, name) in names.enumerate() {
                            let list = if number < USUAL_NAMES { &mut usual } else { &mut more };
                            list.push(replaced(name, is_two));
                        }
                    }
                }
            }
            for (from, to) in &entry.means {
                let (name, options) = from
                    .split_first()
                    .map_or(("", [].as_slice()), |(name, rest)| (*name, rest));
                let given = |option: &&str| rest.iter().any(|word| word.literal() == Some(*option));
                let two = next.map(|(_, next)| format!("{word}+{next}")).unwrap_or_default();
                if (name == word || name == two) && options.iter().all(given) {
                    usual.push(replaced(to, name == two));
                }
            }
            let begins = |name: &&&str| name.starts_with(word) && **name != word;
            more.extend(
                entry
                    .subcommands
                    .iter()
                    .filter(begins)
                    .map(|name| replaced(name, false)),
            );
        }
    }
    usual.append(&mut more);
    usual
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

#[cfg(test)]
mod tests {
    use super::{table::*, *};
    use crate::shell::data;

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
        for raw in &raws.alias {
            assert!(!raw.is.is_empty() && raw.why.len() > 5, "{}", raw.names);
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
    fn options_joined_together_and_behind_values() {
        for (line, expected) in [
            ("git commit -nm x", "commit -n -m x"),
            ("git commit -nm x", "commit --no-verify --message x"),
            ("git commit -amnew", "commit -a -m new"),
            ("docker run --volume=a:b x", "run -v a:b x"),
            ("docker run -itv a:b x", "run -i -t -v a:b x"),
            ("docker run --privileged=true x", "run --privileged x"),
            ("git branch -d --force x", "branch -D x"),
            ("git branch -D x", "branch --delete --force x"),
            ("kill -s KILL 1", "-9 1"),
            ("kill -9 1", "-KILL 1"),
            ("npm i -Dg x", "install -D -g x"),
            ("docker buildx build --push .", "push --push ."),
        ] {
            let found = spellings(line);
            assert!(found.contains(&expected.to_owned()), "{line}: {found:?}");
        }
        for (line, not) in [
            ("git commit -mn", "commit -m -n"),
            ("git commit -Zn", "commit -Z -n"),
            ("docker run --init=false x", "run --init x"),
            ("docker push x", "compose push x"),
            ("docker buildx build --load .", "push --load ."),
        ] {
            let found = spellings(line);
            assert!(!found.contains(&not.to_owned()), "{line}: {found:?}");
        }
    }

    #[test]
    fn other_names_of_programs() {
        for (line, expected) in [
            ("pip3 install x", "pip install x"),
            ("pip3.11 install x", "pip install x"),
            ("python3 -m pip install x", "pip install x"),
            ("py -m pip install x", "pip install x"),
            ("uv -q pip install x", "pip install x"),
            ("docker compose up", "docker-compose up"),
            ("hub push", "git push"),
        ] {
            let words: Vec<Word> = line.split(' ').map(literal).collect();
            let texts: Vec<String> = other_programs(&words)
                .iter()
                .map(|words| words.iter().filter_map(Word::literal).collect::<Vec<_>>().join(" "))
                .collect();
            assert!(texts.contains(&expected.to_owned()), "{line}: {texts:?}");
        }
        for line in ["npx x", "python x.py", "uv run pip", "git push", "docker-compose up"] {
            let words: Vec<Word> = line.split(' ').map(literal).collect();
            assert!(other_programs(&words).is_empty(), "{line}");
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
