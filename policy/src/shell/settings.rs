//! Options of the shell itself, set by `set` and `shopt`: which of them leave the meaning of what follows as it is read here.

/// Long names of `set -o` that change when a script stops and what it prints, not what its words mean.
/// Not `allexport`: what is assigned after it reaches the programs that run.
const SET: &[&str] = &[
    "errexit",
    "errtrace",
    "functrace",
    "hashall",
    "monitor",
    "noclobber",
    "noexec",
    "noglob",
    "notify",
    "nounset",
    "pipefail",
    "verbose",
    "xtrace",
];

/// Letters of the same.
const LETTERS: &str = "eEThmCnfbuvx";

/// Names of `shopt`: they leave words alone, or only decide which files a pattern finds.
const SHOPT: &[&str] = &[
    "nullglob",
    "failglob",
    "dotglob",
    // `**` is read as any depth in any case.
    "globstar",
    "checkhash",
    "checkjobs",
    "checkwinsize",
    "cmdhist",
    "execfail",
    "extglob",
    "globasciiranges",
    "huponexit",
    "inherit_errexit",
    "lithist",
    "xpg_echo",
    "histappend",
    "progcomp",
];

/// Whether `set` with these words only sets harmless options, no positional parameters.
pub(super) fn only_harmless(words: &[&str]) -> bool {
    options(words).is_some_and(|rest| rest == 0)
}

/// Whether the options among the words of `set` are all harmless; positional parameters may follow.
pub(super) fn set_is_harmless(words: &[&str]) -> bool {
    options(words).is_some()
}

/// How many words are left after the options; `None` if one is not harmless.
fn options(words: &[&str]) -> Option<usize> {
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let Some(letters) = word.strip_prefix(['-', '+']).filter(|letters| !letters.is_empty()) else {
            return Some(rest.len() + 1);
        };
        if *word == "--" {
            return Some(rest.len() + usize::from(rest.len() == 0));
        }
        for letter in letters.chars() {
            match letter {
                // Without a name it prints them.
                'o' => match rest.next() {
                    None => {}
                    Some(name) if SET.contains(name) => {}
                    Some(_) => return None,
                },
                _ if LETTERS.contains(letter) => {}
                _ => return None,
            }
        }
    }
    Some(0)
}

/// Whether `shopt` with these words only prints, or changes harmless options.
pub(super) fn shopt_is_harmless(words: &[&str]) -> bool {
    let flags = |word: &&&str| word.starts_with('-');
    let set = words.iter().filter(flags).any(|word| word.contains(['s', 'u']));
    let names_of_set = words.iter().filter(flags).any(|word| word.contains('o'));
    let known = if names_of_set { SET } else { SHOPT };
    words
        .iter()
        .filter(flags)
        .all(|word| word.chars().skip(1).all(|c| "suqpo".contains(c)))
        && (!set
            || words
                .iter()
                .filter(|word| !word.starts_with('-'))
                .all(|word| known.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_options_known_to_be_harmless_are() {
        for line in ["-e", "-euo pipefail", "-eu -o pipefail", "+x", "-o errexit"] {
            assert!(only_harmless(&line.split(' ').collect::<Vec<_>>()), "{line}");
        }
        for line in [
            "-k",
            "+B",
            "-o posix",
            "-H",
            "-euo history",
            "-eB",
            "-- a",
            "a",
            "-a",
            "-ea",
            "-o allexport",
        ] {
            assert!(!only_harmless(&line.split(' ').collect::<Vec<_>>()), "{line}");
        }
        for line in ["-- -k", "a -k", "-e a"] {
            assert!(set_is_harmless(&line.split(' ').collect::<Vec<_>>()), "{line}");
        }
        assert!(shopt_is_harmless(&["-s", "nullglob"]) && shopt_is_harmless(&["lastpipe"]));
        assert!(!shopt_is_harmless(&["-s", "lastpipe"]) && !shopt_is_harmless(&["-so", "posix"]));
    }
}
