//! What a `git push` does to branches, in one spelling for all of git's.
//!
//! A team that forbids force pushes writes `Bash(git push --force *)`. Git also takes `-f`, `-uf`, `--forc`, `+main` and
//! `--mirror` for it, and the option may stand anywhere. So a deny or ask also sees the command as
//! `git push --force REMOTE BRANCH`, one text for each branch, with the branch's short name; a deletion as
//! `git push --delete REMOTE BRANCH`; and a push that only overwrites what it knows as `git push --force-with-lease …`.
//! An allow sees only what is written.

use crate::shell::Word;

/// The words behind a subcommand of git that pushes in its own way; `words` follow the global options.
pub(super) fn pushes(words: &[Word]) -> Option<&[Word]> {
    let verb = words.first()?.literal()?;
    let second = || words.get(1).and_then(Word::literal);
    let of_two = |(own, its): &(&str, &str)| *own == verb && second() == Some(*its);
    if PUSHING.contains(&verb) {
        words.get(1..)
    } else if PUSHING_BY.iter().any(of_two) {
        words.get(2..)
    } else {
        None
    }
}

/// Subcommands of git that send commits elsewhere without the word `push`: what `git push` calls.
const PUSHING: &[&str] = &["http-push", "send-pack"];
/// The same by a word of their own.
const PUSHING_BY: &[(&str, &str)] = &[
    ("annex", "push"),
    ("annex", "sync"),
    ("lfs", "push"),
    ("p4", "submit"),
    ("subrepo", "push"),
    ("subtree", "push"),
    ("svn", "dcommit"),
];

/// Long options with a value in the next word.
const VALUED: &[&str] = &["--exec", "--push-option", "--receive-pack", "--repo"];
/// Most branches of one push that are spelled out.
const MAX_BRANCHES: usize = 64;

/// The further spellings of `git`'s words, if it is a push that forces or deletes; `words` follow the global options.
pub(super) fn spellings(words: &[Word]) -> Vec<String> {
    let Some((verb, rest)) = words.split_first() else {
        return Vec::new();
    };
    if verb.literal() != Some("push") {
        return Vec::new();
    }
    let (mut force, mut lease, mut delete, mut mirror) = (false, false, false, false);
    let mut operands: Vec<&str> = Vec::new();
    // A word with a wildcard (`+refs/heads/*`) is most often one that no file is called, so git gets it as it stands.
    let mut rest = rest.iter().map(|word| match word {
        Word::Literal(text) => text.as_str(),
        Word::Dynamic { source, .. } => source.trim_start_matches(['"', '\'']),
    });
    while let Some(word) = rest.next() {
        if word == "--" {
            operands.extend(rest.by_ref());
        } else if word.starts_with("--") {
            let name = word.split('=').next().unwrap_or(word);
            // Git takes any beginning that is not shared; a shared one is refused there, and read widely here.
            let is = |long: &str| name.len() > 3 && long.starts_with(name);
            lease |= is("--force-with-lease") && name.len() > "--force".len();
            force |= is("--force");
            delete |= is("--delete");
            mirror |= is("--mirror") || is("--prune");
            if VALUED.contains(&word) {
                rest.next();
            }
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            // The value of `-o` is the rest of the cluster, or the next word.
            let (before, value) = letters
                .split_once('o')
                .map_or((letters, None), |(before, value)| (before, Some(value)));
            force |= before.contains('f');
            delete |= before.contains('d');
            if value == Some("") {
                rest.next();
            }
        } else {
            operands.push(word);
        }
    }
    let (remote, refs) = operands
        .split_first()
        .map_or((None, &[][..]), |(remote, refs)| (Some(*remote), refs));
    let mut out = Vec::new();
    let mut say = |option: &str, branch: Option<&str>| {
        let words = ["git", "push", option].into_iter().chain(remote).chain(branch);
        out.push(words.collect::<Vec<_>>().join(" "));
    };
    if mirror {
        say("--force", None);
        say("--delete", None);
    }
    if refs.is_empty() {
        for (option, on) in [("--force", force), ("--force-with-lease", lease), ("--delete", delete)] {
            if on {
                say(option, None);
            }
        }
    }
    for reference in refs.iter().take(MAX_BRANCHES) {
        let plain = reference.trim_start_matches('+');
        let (source, target) = plain.split_once(':').map_or((plain, plain), |(from, to)| (from, to));
        let branch = target.strip_prefix("refs/heads/").unwrap_or(target);
        if force || reference.starts_with('+') {
            say("--force", Some(branch));
        }
        if lease {
            say("--force-with-lease", Some(branch));
        }
        if delete || (source.is_empty() && !target.is_empty()) {
            say("--delete", Some(branch));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Vec<String> {
        let words: Vec<Word> = line.split(' ').map(|word| Word::Literal(word.to_owned())).collect();
        spellings(&words)
    }

    #[test]
    fn every_spelling_of_a_force_push_becomes_one() {
        for line in [
            "push --force origin main",
            "push origin main --force",
            "push -f origin main",
            "push -uf origin main",
            "push --forc origin main",
            "push origin +main",
            "push origin +HEAD:refs/heads/main",
            "push origin +refs/heads/main:refs/heads/main",
            "push -o ci.skip --force origin main",
        ] {
            assert_eq!(of(line), ["git push --force origin main"], "{line}");
        }
        for line in ["push -d origin main", "push origin --delete main", "push origin :main"] {
            assert_eq!(of(line), ["git push --delete origin main"], "{line}");
        }
        assert_eq!(
            of("push --force-with-lease=main:abc origin main"),
            ["git push --force-with-lease origin main"]
        );
        assert_eq!(
            of("push --mirror backup"),
            ["git push --force backup", "git push --delete backup"]
        );
        assert_eq!(of("push --force"), ["git push --force"]);
    }

    #[test]
    fn what_pushes_by_another_name_is_a_push() {
        for (line, rest) in [
            ("subtree push --prefix=x origin", Some("--prefix=x origin")),
            ("send-pack origin main", Some("origin main")),
            ("lfs push origin", Some("origin")),
            ("svn dcommit", Some("")),
            ("subtree pull origin", None),
            ("lfs ls-files", None),
            ("push origin", None),
        ] {
            let words: Vec<Word> = line.split(' ').map(|word| Word::Literal(word.to_owned())).collect();
            let found = pushes(&words).map(|rest| {
                let texts: Vec<&str> = rest.iter().filter_map(Word::literal).collect();
                texts.join(" ")
            });
            assert_eq!(found.as_deref(), rest, "{line}");
        }
    }

    #[test]
    fn an_ordinary_push_has_no_other_spelling() {
        for line in [
            "push",
            "push origin main",
            "push -u origin f",
            "push --tags",
            "push --follow-tags origin d",
            "push -o f x y",
            "pull --force",
        ] {
            assert!(of(line).is_empty(), "{line}");
        }
    }
}
