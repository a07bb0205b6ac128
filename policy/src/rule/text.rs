//! What a rule says about one line of text: exact words, `*` for anything, a blank and `*` at the end for "with or without
//! arguments", or a regular expression.

use super::RegexPattern;

/// A pattern over one line of text. `*` spans everything, blanks, slashes and line ends too; nothing else is special.
///
/// It holds its text and how to read it, no more: a ruleset has many thousands of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPattern(Form);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// This text.
    Exact(Box<str>),
    /// Its stars stand for anything; a blank and the only star at the end for nothing, too.
    Stars(Box<str>),
    /// Its stars stand for anything.
    Glob(Box<str>),
    /// This text, alone or with a blank and anything behind it.
    Words(Box<str>),
    /// A regular expression instead of words.
    Regex(Box<RegexPattern>),
}

impl TextPattern {
    /// Reads a pattern. `x:*` at the end is `x *`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let text = match text.strip_suffix(":*") {
            Some(prefix) => format!("{prefix} *").into_boxed_str(),
            None => text.into(),
        };
        Self(if text.contains('*') {
            Form::Stars(text)
        } else {
            Form::Exact(text)
        })
    }

    /// A pattern for exactly this text, stars included.
    #[must_use]
    pub fn exact(text: &str) -> Self {
        Self(Form::Exact(text.into()))
    }

    /// A pattern in which `*` is all that is special, wherever it stands: `list_*`, `run test:*`.
    #[must_use]
    pub fn glob(text: &str) -> Self {
        Self(if text.contains('*') {
            Form::Glob(text.into())
        } else {
            Form::Exact(text.into())
        })
    }

    /// A pattern for these words, stars included, and for what begins with them: `git status` and `git status -s`, not
    /// `git statusx`.
    #[must_use]
    pub fn words(text: &str) -> Self {
        Self(Form::Words(text.into()))
    }

    /// A regular expression instead of words.
    #[must_use]
    pub fn regex(regex: RegexPattern) -> Self {
        Self(Form::Regex(Box::new(regex)))
    }

    /// The pattern as it is written in a rule.
    #[must_use]
    pub fn text(&self) -> &str {
        match &self.0 {
            Form::Exact(text) | Form::Stars(text) | Form::Glob(text) | Form::Words(text) => text,
            Form::Regex(regex) => regex.text(),
        }
    }

    /// The regular expression, if it is one.
    pub(crate) fn as_regex(&self) -> Option<&RegexPattern> {
        match &self.0 {
            Form::Regex(regex) => Some(regex),
            Form::Exact(_) | Form::Stars(_) | Form::Glob(_) | Form::Words(_) => None,
        }
    }

    /// Whether it covers a text. Linear in the text for each piece.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        match &self.0 {
            Form::Exact(own) => **own == *text,
            Form::Stars(own) => stars_match(own, text) || bare(own) == Some(text),
            Form::Glob(own) => stars_match(own, text),
            Form::Words(own) => text
                .strip_prefix(&**own)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')),
            Form::Regex(regex) => regex.matches(text),
        }
    }

    /// Whether it can cover a text of which only pieces are known: between two of `known` stands anything.
    ///
    /// Only patterns that begin with a literal program are asked this: `*x*` could meet every text with a gap in it. A
    /// regular expression is asked where it names the program.
    #[must_use]
    pub fn may_match(&self, known: &[&str]) -> bool {
        use crate::path::plain::{Token, segment_meets};
        let program = known.first().and_then(|piece| piece.split(' ').next());
        let about = match (&self.0, program) {
            (Form::Regex(regex), Some(program)) => !program.is_empty() && regex.concerns(program),
            _ => self.program().is_some(),
        };
        if !about {
            return false;
        }
        let tokens = |pieces: &mut dyn Iterator<Item = &str>| {
            let mut out = Vec::new();
            for (index, piece) in pieces.enumerate() {
                if index > 0 {
                    out.push(Token::Star);
                }
                out.extend(piece.chars().map(Token::Char));
            }
            out
        };
        let theirs = tokens(&mut known.iter().copied());
        let ours = match &self.0 {
            Form::Exact(own) => tokens(&mut std::iter::once(&**own)),
            Form::Stars(own) | Form::Glob(own) => tokens(&mut own.split('*')),
            Form::Words(own) => tokens(&mut [&*format!("{own} "), ""].into_iter()),
            Form::Regex(regex) => match regex.plain_words() {
                Some((own, true)) => tokens(&mut std::iter::once(own)),
                Some((own, false)) => tokens(&mut [own, ""].into_iter()),
                None => return true,
            },
        };
        // A table of both lengths: very long texts count as met rather than being looked at for minutes.
        const LARGEST_TABLE: usize = 4_000_000;
        if ours.len().saturating_mul(theirs.len()) > LARGEST_TABLE {
            return true;
        }
        segment_meets(&ours, &theirs)
            || self
                .bare()
                .is_some_and(|bare| segment_meets(&tokens(&mut std::iter::once(bare)), &theirs))
    }

    /// Whether it covers every text.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        match &self.0 {
            Form::Stars(own) | Form::Glob(own) => own.bytes().all(|byte| byte == b'*'),
            Form::Exact(_) | Form::Words(_) | Form::Regex(_) => false,
        }
    }

    /// Whether it covers one text only.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        matches!(self.0, Form::Exact(_))
    }

    /// Whether it begins with a star, so that it names no program at all.
    #[must_use]
    pub fn begins_open(&self) -> bool {
        matches!(&self.0, Form::Stars(own) | Form::Glob(own) if own.starts_with('*'))
    }

    /// The program it names, if its first word is literal.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        let first = self.beginning();
        let (word, complete) = match first.split_once([' ', '\t']) {
            Some((word, _)) => (word, true),
            None => (first, matches!(self.0, Form::Exact(_) | Form::Words(_))),
        };
        (complete && !word.is_empty()).then_some(word)
    }

    /// What every text begins with that it covers, but for a blank at its end: `git log ` of `git log *`.
    pub(crate) fn beginning(&self) -> &str {
        match &self.0 {
            Form::Exact(own) | Form::Words(own) => own,
            Form::Stars(own) | Form::Glob(own) => own.split('*').next().unwrap_or_default(),
            Form::Regex(_) => "",
        }
    }

    /// The literal words that every text begins with that it covers, at most so many; `None` if the first is not whole.
    pub(crate) fn leading_words(&self, most: usize) -> Option<&str> {
        let beginning = self.beginning();
        let whole = matches!(self.0, Form::Exact(_) | Form::Words(_)).then_some(beginning.len());
        let ends = beginning.match_indices([' ', '\t']).map(|(at, _)| at).chain(whole);
        beginning.get(..ends.take(most).last()?)
    }

    /// The text without its final blank and star, which matches too: `git log *` covers `git log`.
    fn bare(&self) -> Option<&str> {
        match &self.0 {
            Form::Stars(own) => bare(own),
            Form::Words(own) => Some(own),
            Form::Exact(_) | Form::Glob(_) | Form::Regex(_) => None,
        }
    }
}

/// Only a star that is the only one stands for "no arguments": `* --help *` wants a text behind.
fn bare(pattern: &str) -> Option<&str> {
    pattern.strip_suffix(" *").filter(|before| !before.contains('*'))
}

/// Whether a pattern whose stars stand for anything covers a text.
pub(super) fn stars_match(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(first) else {
        return false;
    };
    let (middle, last) = match rest.rsplit_once('*') {
        Some((middle, last)) => (Some(middle), last),
        None => (None, rest),
    };
    for piece in middle.into_iter().flat_map(|middle| middle.split('*')) {
        // The first occurrence leaves most for the pieces behind, so no other need be tried.
        match text.split_once(piece) {
            Some((_, behind)) => text = behind,
            None => return false,
        }
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn covers(pattern: &str, text: &str) -> bool {
        TextPattern::parse(pattern).matches(text)
    }

    #[test]
    fn matches_and_near_misses() {
        for (pattern, text, expected) in [
            ("npm run build", "npm run build", true),
            ("npm run build", "npm run build x", false),
            ("npm run build", "npm run  build", false),
            ("npm run test:*", "npm run test", true),
            ("npm run test:*", "npm run test a", true),
            ("npm run test:*", "npm run testx", false),
            ("git log *", "git log", true),
            ("git log *", "git log -1", true),
            ("git log *", "git logx", false),
            ("ls*", "ls", true),
            ("ls*", "lsof", true),
            ("git * main", "git push origin main", true),
            ("git * main", "git -c x=y push main", true),
            ("git * main", "git main", false),
            ("* --version", "anything --version", true),
            ("* --version", "anything --version x", false),
            ("* --help *", "npm --help", false),
            ("* --help *", "npm --help x", true),
            ("*gb*", "agb", true),
            ("*gb*", "ls gb", true),
            ("*", "", true),
            ("*", "a\nb", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "ac", false),
            ("ab*ba", "aba", false),
            ("Git *", "git log", false),
        ] {
            assert_eq!(covers(pattern, text), expected, "`{pattern}` on `{text}`");
        }
    }

    #[test]
    fn the_program_is_known_only_if_its_word_is_whole() {
        for (pattern, program) in [
            ("git log *", Some("git")),
            ("git", Some("git")),
            ("git:*", Some("git")),
            ("git*", None),
            ("* x", None),
            ("g*t log", None),
        ] {
            assert_eq!(TextPattern::parse(pattern).program(), program, "{pattern}");
        }
    }

    #[test]
    fn a_text_with_gaps_may_match() {
        let may = |pattern: &str, known: &[&str]| TextPattern::parse(pattern).may_match(known);
        assert!(may("git push *", &["git ", " origin"]));
        assert!(may("git push *", &["git p", ""]));
        assert!(!may("git push *", &["echo ", ""]));
        assert!(!may("git push *", &["git commit -m ", ""]));
        assert!(!may("*gcloud*", &["echo ", ""]));
        let may = |text: &str, known: &[&str]| {
            TextPattern::regex(RegexPattern::parse(text, crate::Effect::Deny).unwrap()).may_match(known)
        };
        for text in [
            "npm publish",
            "^npm publish$",
            "np[mx] publish",
            "(yarn|npm) publish",
            r"\bnpm\s+publish",
            "n.m publish",
        ] {
            assert!(may(text, &["npm ", ""]), "{text}");
            assert!(!may(text, &["echo ", ""]), "{text}");
        }
        assert!(!may("npm publish", &["npm test ", ""]));
        assert!(!may(".*publish", &["npm ", ""]));
    }

    /// The obvious recursive matcher.
    fn slow(pattern: &[char], text: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('*', rest)) => (0..=text.len()).any(|n| slow(rest, &text[n..])),
            Some((c, rest)) => text
                .split_first()
                .is_some_and(|(t, behind)| t == c && slow(rest, behind)),
        }
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_slow_matcher(pattern in "[ab *]{0,7}", text in "[ab ]{0,9}") {
            let (p, t): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
            let bare = pattern.matches('*').count() == 1 && pattern.strip_suffix(" *") == Some(text.as_str());
            prop_assert_eq!(covers(&pattern, &text), slow(&p, &t) || bare);
        }
    }
}
