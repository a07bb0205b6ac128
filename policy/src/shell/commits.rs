//! Substitutions whose output names git's objects: `$(git merge-base main HEAD)`, `$(git rev-parse HEAD)`.
//!
//! What they print is hexadecimal digits, in one word or several, or nothing: never an option, whatever the repository holds.
//! Names of branches and tags are not here: a repository that somebody else made can have one that begins with `-`.

use super::{
    expand::Words,
    syntax::{Form, List, Node, RawWord, Redirect, RedirectOperator, Simple},
};

/// Whether a substitution prints nothing but names of objects in hexadecimal digits, and how many.
pub(super) fn are_printed(list: &List) -> Option<Words> {
    let [item] = list.0.as_slice() else { return None };
    let [node] = item.first.stages.as_slice() else {
        return None;
    };
    let alone = item.rest.is_empty() && !item.background && !item.first.negated;
    if !alone || !prints(node) {
        return None;
    }
    let Form::Simple(Simple { words, .. }) = &node.form else {
        return None;
    };
    let mut words = words.iter().map(RawWord::bare);
    let one = words.any(|word| matches!(word, Some("rev-parse" | "merge-base")));
    let several = words.any(|word| matches!(word, Some("-a" | "--all")));
    Some(if one && !several { Words::AtMostOne } else { Words::Any })
}

fn prints(node: &Node) -> bool {
    let Form::Simple(Simple { assignments, words }) = &node.form else {
        return false;
    };
    if !assignments.is_empty() || !node.redirects.iter().all(drops_messages) {
        return false;
    }
    let words: Option<Vec<String>> = words.iter().map(|word| word.bare().map(str::to_owned)).collect();
    let words = words.unwrap_or_default();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some((&"git", [verb, rest @ ..])) = words.split_first() else {
        return false;
    };
    let options = || rest.iter().filter(|word| word.starts_with('-'));
    let operands = || rest.iter().filter(|word| !word.starts_with('-'));
    // Nothing that the shell or git could read as more than a name of a commit.
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '~' | '^');
    if !operands().all(|word| word.chars().all(plain) && !word.starts_with('~')) {
        return false;
    }
    match *verb {
        "merge-base" => operands().count() > 1 && options().all(|word| matches!(*word, "-a" | "--all" | "--octopus")),
        // With `--verify` it prints one name or fails; without it, it repeats words that it does not know, as `HEAD~9` of a
        // short history: no option either.
        "rev-parse" => {
            let options = options().all(|word| matches!(*word, "--verify" | "--short" | "-q" | "--quiet"));
            let from_head = operands().all(|word| word.starts_with("HEAD"));
            operands().count() == 1 && options && (rest.contains(&"--verify") || from_head)
        }
        // Nothing but the names of commits, however they are chosen.
        "log" => {
            let format = |word: &&&str| {
                matches!(
                    **word,
                    "--format=%h"
                        | "--format=%H"
                        | "--pretty=format:%h"
                        | "--pretty=format:%H"
                        | "--pretty=%h"
                        | "--pretty=%H"
                )
            };
            let number = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit());
            let chooses = |word: &&&str| {
                let counted = ["-", "--max-count=", "--skip="];
                matches!(
                    **word,
                    "--" | "--all" | "--first-parent" | "--merges" | "--no-merges" | "--reverse"
                ) || ["--since=", "--until=", "--after=", "--before=", "--author=", "--grep="]
                    .iter()
                    .any(|option| word.starts_with(option))
                    || counted
                        .iter()
                        .any(|option| word.strip_prefix(option).is_some_and(number))
            };
            options().filter(|word| format(word)).count() == 1 && options().all(|word| format(&word) || chooses(&word))
        }
        "rev-list" => {
            let number = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit());
            let known = |word: &&&str| {
                let counted = ["-", "--max-count=", "--max-parents=", "--min-parents=", "--skip="];
                matches!(
                    **word,
                    "--all" | "--first-parent" | "--merges" | "--no-merges" | "--reverse"
                ) || counted
                    .iter()
                    .any(|option| word.strip_prefix(option).is_some_and(number))
            };
            options().all(|word| known(&word))
        }
        _ => false,
    }
}

/// `2>/dev/null`. With the number of its descriptor or without: what goes to a file is no output.
pub(super) fn drops_messages(redirect: &Redirect) -> bool {
    let Redirect::File { operator, target, .. } = redirect else {
        return false;
    };
    *operator == RedirectOperator::Write && target.bare() == Some("/dev/null")
}
