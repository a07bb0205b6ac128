//! Rules that name options behind a subcommand, and commands that have them in another order: `git push --force --tags *` is
//! about `git push --tags --force`, too.
//!
//! For rules that deny or ask only. Options with values, and words behind the options, are compared as texts elsewhere.

use super::TextPattern;

/// What such a rule says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OptionSet<'p> {
    /// The program and its subcommand.
    words: Vec<&'p str>,
    /// Its options.
    options: Vec<&'p str>,
    /// Nothing else may be there.
    exact: bool,
}

/// A long option of `git push` and its short one.
const PUSH: &[(&str, &str)] = &[
    ("--delete", "-d"),
    ("--dry-run", "-n"),
    ("--force", "-f"),
    ("--quiet", "-q"),
    ("--set-upstream", "-u"),
    ("--verbose", "-v"),
];

impl TextPattern {
    /// What the pattern says, if it is words, then at least two options, and at most a star behind.
    pub(crate) fn option_set(&self) -> Option<OptionSet<'_>> {
        if self.as_regex().is_some() {
            return None;
        }
        let text = self.text();
        let (text, exact) = match text.strip_suffix(" *") {
            Some(text) => (text, false),
            None => (text, self.is_exact()),
        };
        if text.contains(['*', '"', '\'', '\\']) {
            return None;
        }
        let mut words: Vec<&str> = text.split_whitespace().collect();
        let first = words.iter().position(|word| word.starts_with('-'))?;
        let options = words.split_off(first);
        let plain = |word: &&str| word.len() > 1 && word.starts_with('-') && *word != "--";
        (words.len() > 1 && options.len() > 1 && options.iter().all(plain)).then_some(OptionSet {
            words,
            options,
            exact,
        })
    }
}

impl OptionSet<'_> {
    /// Whether a command has all of the options behind these words. `words` are the program's name and what follows, without
    /// options that stand in front of the subcommand; `letters` those that may be joined.
    pub(crate) fn covers(&self, words: &[&str], letters: &str) -> bool {
        let end = words.iter().position(|word| *word == "--").unwrap_or(words.len());
        let (own, behind) = words.split_at(end.min(words.len()));
        let (options, operands): (Vec<&str>, Vec<&str>) = own
            .iter()
            .copied()
            .partition(|word| word.len() > 1 && word.starts_with('-'));
        if !operands.starts_with(&self.words) {
            return false;
        }
        let push = self.words.starts_with(&["git", "push"]);
        let means = |given: &str, named: &str| {
            let cluster = given.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
            let among = |letter: char| {
                cluster.is_some_and(|own| {
                    own.contains(letter) && (own.len() == 1 || push || own.chars().all(|c| letters.contains(c)))
                })
            };
            let short = |named: &str| {
                let mut letters = named.chars().skip(1);
                match (letters.next(), letters.next()) {
                    (Some(letter), None) => among(letter),
                    _ => false,
                }
            };
            let cut_short = given.starts_with("--") && given.len() > 4 && named.starts_with(given);
            let same = |(long, letter): &(&str, &str)| {
                (*long == named && short(letter)) || (*letter == named && long.starts_with(given) && given.len() > 4)
            };
            given == named || cut_short || short(named) || (push && PUSH.iter().any(same))
        };
        let has_all = self
            .options
            .iter()
            .all(|named| options.iter().any(|given| means(given, named)));
        let has_no_other = || {
            operands.len() == self.words.len()
                && behind.len() <= 1
                && options
                    .iter()
                    .all(|given| self.options.iter().any(|named| means(given, named)))
        };
        has_all && (!self.exact || has_no_other())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_compared_as_sets() {
        for (pattern, line, expected) in [
            ("git push --force --tags:*", "git push --tags --force", true),
            (
                "git push --force --tags:*",
                "git push -q --force -v --tags origin",
                true,
            ),
            ("git push --force --tags:*", "git push origin --tags -f", true),
            ("git push --force --tags:*", "git push --tags", false),
            ("git push --force --tags:*", "git push --force -- --tags", false),
            ("git push --force --tags:*", "git pull --tags --force", false),
            ("git push -f --tags:*", "git push --tags --force", true),
            ("git push --force --tags", "git push --tags --force", true),
            ("git push --force --tags", "git push --tags --force origin", false),
            ("git push --force --tags", "git push --tags --force -q", false),
            ("git clean -f -d:*", "git clean -df", true),
            ("git clean -f -d:*", "git clean -f", false),
            ("npm publish --dry-run --json:*", "npm publish --json x --dry-run", true),
        ] {
            let pattern = TextPattern::parse(pattern);
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(pattern.option_set().unwrap().covers(&words, "fdx"), expected, "{line}");
        }
    }

    #[test]
    fn only_words_and_then_options_are_such_a_rule() {
        for text in [
            "git push --force",
            "git push --force * main",
            "rm -r -f",
            "git push --force --tags*",
            "npm publish --tag x --json",
            "git push",
            "*",
        ] {
            assert!(TextPattern::parse(text).option_set().is_none(), "{text}");
        }
    }
}
