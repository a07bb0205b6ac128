//! The spellings of a command without the options in front of the words that a rule names.
//!
//! `npm --silent publish`, `kubectl -n prod delete pod x` and `git reset -q --hard` are what `Bash(npm publish *)`,
//! `Bash(kubectl delete *)` and `Bash(git reset --hard *)` speak about. Denies and asks see the command without such options;
//! allows see only what is written. Which options have a value is known by `shell::globals`; one that is not listed is read
//! both ways.
//!
//! Options may stand behind operands, too: `git reset HEAD~1 --hard` and `rm x -rf` are what `Bash(git reset --hard *)` and
//! `Bash(rm -rf *)` speak about; and short ones may be joined in another order.

use std::collections::BTreeSet;

use crate::shell::{
    Word,
    globals::{Front, front, letters},
};

/// Words that are kept before a rule's own: `gcloud compute instances --zone z delete`.
const MOST_KEPT: usize = 3;
/// Most words in which options are looked for.
const MOST_WORDS: usize = 128;
/// Most spellings of one command.
const MOST_SPELLINGS: usize = 256;

/// Most options that are moved in front of operands together; of more, each alone.
const MOST_MOVED: usize = 8;
/// Most letters of joined options that are put in each order.
const MOST_LETTERS: usize = 4;

/// Room for the spellings of all commands of a line together, in bytes: what they are compared with takes time.
pub(in crate::evaluate) const ROOM: usize = 1 << 18;
/// Room that a command has however many others there are.
pub(in crate::evaluate) const LEAST_ROOM: usize = 256;

/// Room for words that are compared once more, for another reason.
pub(in crate::evaluate) const SOME_ROOM: usize = 1 << 12;

/// How many spellings of some words have room.
fn fitting(words: &[Word], room: usize) -> usize {
    // Besides its text, each word has a place of its own.
    let each = |word: &Word| 16 + word.literal().map_or(16, str::len);
    (room / words.iter().map(each).sum::<usize>().max(1)).max(1)
}

/// A command's arguments without some of the options in front.
#[derive(Debug, Default)]
pub(super) struct Spelled {
    /// Each without the program's name.
    pub(super) spellings: Vec<Vec<Word>>,
    /// There are more options than are looked through: what stands behind them could be anything.
    pub(super) too_many: bool,
}

/// Whether a command has such spellings at all.
pub(super) fn has_options_in_front(program: &str, rest: &[Word]) -> bool {
    let before_last = rest.split_last().map(|(_, before)| before).unwrap_or_default();
    before_last.iter().any(|word| front(program, word) != Front::Word)
        || rest
            .last()
            .is_some_and(|word| !before_last.is_empty() && is_moved(word))
}

/// Whether any word is an option, or may be.
pub(super) fn has_options(program: &str, rest: &[Word]) -> bool {
    rest.iter()
        .any(|word| front(program, word) != Front::Word || is_moved(word))
}

/// Whether a word is an option wherever it stands.
fn is_moved(word: &Word) -> bool {
    let text = match word {
        Word::Literal(text) => text.as_str(),
        Word::Dynamic { source, .. } => source.trim_start_matches(['"', '\'']),
    };
    text.starts_with('-') && text.len() > 1 && text != "--"
}

/// The spellings of a program's arguments with the options that stand behind operands in front of these, and with letters
/// that may be joined in each order. A few for each word that is kept in front: a rule names a subcommand first.
pub(super) fn with_options_first(program: &str, rest: &[Word], room: usize) -> Spelled {
    let mut spelled = Spelled::default();
    let most = fitting(rest, room);
    let end = rest
        .iter()
        .position(|word| word.literal() == Some("--"))
        .unwrap_or(rest.len());
    let (own, behind) = rest.split_at(end.min(rest.len()));
    if own.len() > MOST_WORDS {
        spelled.too_many = own.iter().any(is_moved);
        return spelled;
    }
    let (options, operands): (Vec<&Word>, Vec<&Word>) = own.iter().partition(|word| is_moved(word));
    if options.is_empty() {
        return spelled;
    }
    // `npm -g install x`: in front of the subcommand it is the same option.
    let is_flag = |word: &Word| is_moved(word) && front(program, word) == Front::Flag;
    let moves = |kept: usize| {
        own.iter().take(kept).any(is_flag) || own.iter().skip(kept).skip_while(|word| is_moved(word)).any(is_moved)
    };
    for kept in (0..=MOST_KEPT.min(operands.len())).filter(|kept| moves(*kept)) {
        let (front, others) = operands.split_at(kept);
        // Each option may be the one that a rule names first.
        for from in 0..options.len() {
            if spelled.spellings.len() >= most {
                spelled.too_many = true;
                return spelled;
            }
            let together = options.len() <= MOST_MOVED;
            let first = options.iter().skip(from).take(if together { MOST_MOVED } else { 1 });
            let last = options.iter().take(if together { from } else { 0 });
            let operands = others.iter().take(if together { MOST_WORDS } else { MOST_MOVED });
            let words = front.iter().chain(first).chain(last).chain(operands);
            spelled.spellings.push(
                words
                    .map(|word| (*word).clone())
                    .chain(behind.iter().cloned())
                    .collect(),
            );
        }
    }
    let (joined, apart) = joined_letters(program, &options);
    for kept in 0..=operands.len().min(1) {
        let (front, others) = operands.split_at(kept);
        for cluster in &joined {
            if spelled.spellings.len() >= most {
                spelled.too_many = true;
                return spelled;
            }
            let cluster = Word::Literal(format!("-{cluster}"));
            let words = front.iter().copied().chain([&cluster]).chain(apart.iter().copied());
            let words = words.chain(others.iter().copied()).cloned();
            spelled.spellings.push(words.chain(behind.iter().cloned()).collect());
        }
    }
    spelled
}

/// The letters of joined options in each order, each also without some of them, and the options that are none.
fn joined_letters<'w>(program: &str, options: &[&'w Word]) -> (Vec<String>, Vec<&'w Word>) {
    let listed = letters(program);
    let is_cluster = |word: &Word| {
        let text = word.literal().and_then(|text| text.strip_prefix('-'));
        text.is_some_and(|text| !text.is_empty() && text.chars().all(|c| listed.contains(c)))
    };
    let (clusters, apart): (Vec<&Word>, Vec<&Word>) = options.iter().copied().partition(|word| is_cluster(word));
    let mut own: Vec<char> = Vec::new();
    for letter in clusters
        .iter()
        .filter_map(|word| word.literal())
        .flat_map(|text| text.chars().skip(1))
    {
        if !own.contains(&letter) && own.len() < MOST_LETTERS {
            own.push(letter);
        }
    }
    if own.len() < 2 {
        return (Vec::new(), apart);
    }
    let mut all: Vec<String> = own.iter().map(char::to_string).collect();
    let mut last = all.clone();
    for _ in 1..own.len() {
        let longer = |text: &String| {
            let left = own.iter().filter(|letter| !text.contains(**letter));
            left.map(|letter| format!("{text}{letter}")).collect::<Vec<_>>()
        };
        last = last.iter().flat_map(longer).collect();
        all.extend(last.iter().cloned());
    }
    (all, apart)
}

/// The spellings of a program's arguments. Those as written are not among them.
pub(super) fn without_options(program: &str, rest: &[Word], room: usize) -> Spelled {
    let mut spelled = Spelled::default();
    // Most commands have no option there.
    if rest
        .iter()
        .take(MOST_KEPT + 1)
        .all(|word| front(program, word) == Front::Word)
    {
        return spelled;
    }
    let most = fitting(rest, room);
    // What is kept of the words so far (their places), where the rest begins, and whether an option was left out just before.
    let mut open: Vec<(Vec<usize>, usize, bool)> = vec![(Vec::new(), 0, false)];
    let mut seen = BTreeSet::new();
    while let Some((kept, at, left_out)) = open.pop() {
        let Some(word) = rest.get(at) else { continue };
        if !seen.insert((kept.clone(), at, left_out)) {
            continue;
        }
        if seen.len() > MOST_SPELLINGS || at > MOST_WORDS || spelled.spellings.len() >= most {
            spelled.too_many = true;
            break;
        }
        if left_out {
            let kept = kept.iter().filter_map(|place| rest.get(*place));
            let behind = rest.get(at..).unwrap_or_default();
            spelled.spellings.push(kept.chain(behind).cloned().collect());
        }
        let is = front(program, word);
        // A value that looks like an option may be one.
        let value = rest.get(at + 1).is_some_and(|next| front(program, next) == Front::Word);
        match is {
            Front::Word if kept.len() < MOST_KEPT => {
                let mut kept = kept;
                kept.push(at);
                open.push((kept, at + 1, false));
            }
            Front::Word => {}
            Front::Valued if value => open.push((kept, at + 2, true)),
            Front::Flag | Front::Valued => open.push((kept, at + 1, true)),
            Front::Either => {
                if value {
                    open.push((kept.clone(), at + 2, true));
                }
                open.push((kept, at + 1, true));
            }
        }
    }
    spelled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> Vec<String> {
        let words: Vec<Word> = line.split(' ').map(|word| Word::Literal(word.to_owned())).collect();
        let (program, rest) = words.split_first().unwrap();
        let spelled = without_options(program.literal().unwrap(), rest, ROOM);
        assert!(!spelled.too_many);
        let texts = spelled.spellings.iter().map(|words| {
            let texts: Vec<&str> = words.iter().filter_map(Word::literal).collect();
            texts.join(" ")
        });
        texts.collect()
    }

    #[test]
    fn options_are_left_out_up_to_each_word() {
        assert_eq!(told("npm --silent publish"), ["publish"]);
        assert_eq!(told("npm -w a publish x"), ["publish x"]);
        assert_eq!(
            told("cargo +nightly --offline publish"),
            ["--offline publish", "publish"]
        );
        assert_eq!(
            told("git -C x reset -q --hard y"),
            ["reset -q --hard y", "reset --hard y", "reset y"]
        );
        assert_eq!(
            told("aws --profile p s3 --region r rm x"),
            ["s3 --region r rm x", "s3 rm x"]
        );
    }

    #[test]
    fn an_option_that_is_not_listed_is_read_both_ways() {
        let texts = told("npm --unheard-of a publish");
        assert!(texts.contains(&"publish".to_owned()) && texts.contains(&"a publish".to_owned()));
    }

    #[test]
    fn nothing_is_left_of_a_command_that_ends_with_options_or_has_none() {
        assert!(told("git push --force").is_empty());
        assert!(told("git push origin main").is_empty());
    }

    fn moved(line: &str) -> Vec<String> {
        let words: Vec<Word> = line.split(' ').map(|word| Word::Literal(word.to_owned())).collect();
        let (program, rest) = words.split_first().unwrap();
        let spelled = with_options_first(program.literal().unwrap(), rest, ROOM);
        let texts = spelled.spellings.iter().map(|words| {
            let texts: Vec<&str> = words.iter().filter_map(Word::literal).collect();
            texts.join(" ")
        });
        texts.collect()
    }

    #[test]
    fn options_behind_operands_come_in_front_of_them() {
        assert_eq!(
            moved("git reset HEAD~1 --hard"),
            ["--hard reset HEAD~1", "reset --hard HEAD~1"]
        );
        assert!(moved("rm -r x -f").contains(&"-rf x".to_owned()));
        assert!(moved("rm -fr x").contains(&"-rf x".to_owned()));
        assert!(moved("git clean -xfd").contains(&"clean -fdx".to_owned()));
        assert!(moved("git push origin main").is_empty());
        assert!(moved("git checkout a -- --hard").is_empty());
    }

    #[test]
    fn more_options_than_are_looked_through_are_said_to_be_too_many() {
        let words: Vec<Word> = (0..200).map(|_| Word::Literal("-x".to_owned())).collect();
        let words = [words, vec![Word::Literal("publish".to_owned())]].concat();
        assert!(without_options("npm", &words, ROOM).too_many);
    }
}
