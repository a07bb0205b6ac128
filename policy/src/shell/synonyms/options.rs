//! Options of a command in other spellings: short, long, joined or apart, one for several others.
//!
//! It knows what the table says of a program's options, and nothing of what they do.

use super::{about, add, end_of_options, literal};
use crate::shell::{Word, globals::letters};

/// Most joined letters that are read one by one.
const MOST_LETTERS: usize = 6;

/// What the entries about a command say of its options.
struct Options {
    /// Spellings of one option; `-s+9` are two words.
    groups: Vec<&'static [&'static str]>,
    /// Options that stand for several others.
    both: Vec<(&'static str, Vec<&'static str>)>,
    /// Letters without a value that may be joined.
    letters: String,
    /// Options with a value, which may stand in the same word.
    valued: Vec<&'static str>,
}

impl Options {
    fn of(program: &str, rest: &[Word]) -> Self {
        let entries = about(program, rest);
        let mut letters = letters(program).to_owned();
        letters.extend(entries.iter().map(|entry| entry.letters));
        Self {
            groups: entries.iter().flat_map(|entry| entry.same.iter().copied()).collect(),
            both: entries.iter().flat_map(|entry| entry.both.iter().cloned()).collect(),
            letters,
            valued: entries.iter().flat_map(|entry| entry.valued.iter().copied()).collect(),
        }
    }

    fn group_of(&self, option: &str) -> Option<&'static [&'static str]> {
        self.groups.iter().find(|group| group.contains(&option)).copied()
    }

    fn is_valued(&self, option: &str) -> bool {
        self.valued.contains(&option)
    }

    /// The options that a word holds, each in a word of its own: `-nam` is `-n -a -m`, and `--file=x` is `--file x`. None if it
    /// holds no option that is known, or one that is not.
    fn apart(&self, text: &str) -> Vec<String> {
        if self.group_of(text).is_some() {
            return vec![text.to_owned()];
        }
        let Some(letters) = text.strip_prefix('-') else {
            return Vec::new();
        };
        if letters.starts_with('-') {
            let Some((name, value)) = text.split_once('=') else {
                return Vec::new();
            };
            // `--privileged=true`
            return match (self.is_valued(name), value) {
                (true, _) => vec![name.to_owned(), value.to_owned()],
                (false, "true" | "1") => vec![name.to_owned()],
                (false, _) => Vec::new(),
            };
        }
        let (mut own, mut count) = (Vec::new(), 0);
        for (at, letter) in letters.char_indices() {
            let option = format!("-{letter}");
            count += 1;
            if count > MOST_LETTERS {
                return Vec::new();
            }
            let valued = self.is_valued(&option);
            if !valued && self.group_of(&option).is_none() && !self.letters.contains(letter) {
                return Vec::new();
            }
            own.push(option);
            if valued {
                let value = letters.get(at + letter.len_utf8()..).unwrap_or_default();
                own.extend(Some(value.to_owned()).filter(|value| !value.is_empty()));
                break;
            }
        }
        own
    }

    /// A word, or two that belong together, in the way that is asked for; and how many words they are.
    fn said(&self, words: &[Word], way: Way) -> Option<(Vec<String>, usize)> {
        let (first, behind) = words.split_first()?;
        let text = first.literal().filter(|text| text.starts_with('-') && text.len() > 1)?;
        let two = behind
            .first()
            .and_then(Word::literal)
            .map(|next| format!("{text}+{next}"));
        if let Some(group) = two.and_then(|two| self.group_of(&two)) {
            return Some((vec![way(group)?.to_owned()], 2));
        }
        let apart = self.apart(text);
        if apart.is_empty() {
            return None;
        }
        let other = |option: &String| {
            let other = self.group_of(option).and_then(way);
            other.map_or_else(|| option.clone(), str::to_owned)
        };
        Some((apart.iter().map(other).collect(), 1))
    }
}

/// Which of the spellings of an option is taken.
type Way = fn(&'static [&'static str]) -> Option<&'static str>;

/// Ways of one kind take the last where there are fewer; `-s+9` is understood, and never said.
const WAYS: [Way; 5] = [
    |group| spelling(group, false, 0),
    |group| spelling(group, false, 1),
    |group| spelling(group, false, 2),
    |group| spelling(group, true, 0),
    |group| spelling(group, true, 1),
];

fn spelling(group: &'static [&'static str], long: bool, number: usize) -> Option<&'static str> {
    let mut own = group
        .iter()
        .filter(|option| option.starts_with("--") == long && !option.contains('+'));
    let last = own.clone().next_back();
    own.nth(number).or(last).copied()
}

/// With options in other spellings: all of them short, in each way, and all of them long; joined ones apart, and values in words of
/// their own.
pub(super) fn respelled(program: &str, rest: &[Word]) -> Vec<Vec<Word>> {
    let options = Options::of(program, rest);
    if options.groups.is_empty() && options.letters.is_empty() && options.valued.is_empty() {
        return Vec::new();
    }
    let end = end_of_options(rest);
    let mut all = Vec::new();
    for way in WAYS {
        let (mut words, mut at) = (Vec::new(), 0);
        while let Some(word) = rest.get(at) {
            let own = rest.get(at..end).filter(|_| at < end).unwrap_or_default();
            match options.said(own, way) {
                Some((said, taken)) => {
                    words.extend(said.iter().map(|text| literal(text)));
                    at += taken;
                }
                None => {
                    words.push(word.clone());
                    at += 1;
                }
            }
        }
        if words != rest {
            add(&mut all, words);
        }
    }
    all
}

/// With an option for several others that stand there, and with these for it: `-D` for `-d -f`.
pub(super) fn together(program: &str, rest: &[Word]) -> Vec<Vec<Word>> {
    let options = Options::of(program, rest);
    let end = end_of_options(rest);
    let place = |option: &str| rest.iter().take(end).position(|word| word.literal() == Some(option));
    let mut all = Vec::new();
    for (whole, parts) in &options.both {
        let places: Vec<usize> = parts.iter().filter_map(|part| place(part)).collect();
        if let Some(first) = places.iter().min().filter(|_| places.len() == parts.len()) {
            let kept = rest
                .iter()
                .enumerate()
                .filter(|(at, _)| at == first || !places.contains(at));
            let words = kept.map(|(at, word)| if at == *first { literal(whole) } else { word.clone() });
            add(&mut all, words.collect());
        }
        if let Some(at) = place(whole) {
            let mut words = rest.to_vec();
            words.splice(at..=at, parts.iter().copied().map(literal));
            add(&mut all, words);
        }
    }
    all
}
