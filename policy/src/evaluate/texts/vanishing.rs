//! Words that may be none when a command runs: an option takes the next word then, and a deny is about what is left.

use crate::shell::Word;

/// Most words that may be none of which each is left out by itself.
const MOST_VANISHING: usize = 8;

/// The words without those behind an option that may be none, for the option takes the next word then: `git -C $x . push`.
pub(super) fn without(words: &[Word]) -> Vec<Vec<Word>> {
    let option = |word: &Word| word.literal().is_some_and(|text| text.starts_with('-'));
    let vanishing: Vec<usize> = (words.iter().zip(words.iter().skip(1)).enumerate())
        .filter(|(_, (before, word))| option(before) && may_be_nothing(word))
        .map(|(at, _)| at + 1)
        .collect();
    let left = |gone: &[usize]| {
        let kept = words.iter().enumerate().filter(|(at, _)| !gone.contains(at));
        kept.map(|(_, word)| word.clone()).collect::<Vec<_>>()
    };
    match vanishing.as_slice() {
        [] => Vec::new(),
        [_] => vec![left(&vanishing)],
        several => (several.iter().take(MOST_VANISHING).map(|at| left(&[*at])))
            .chain([left(several)])
            .collect(),
    }
}

/// Whether a word without quotes is nothing but what the shell puts in, which may be no word.
fn may_be_nothing(word: &Word) -> bool {
    match word {
        Word::Literal(_) => false,
        Word::Dynamic { source, .. } => {
            let expands = source.starts_with(['$', '`']) && !source.starts_with("$((");
            let all = source.starts_with("\"$@") || source.starts_with("\"${");
            expands || (all && source.contains('@'))
        }
    }
}
