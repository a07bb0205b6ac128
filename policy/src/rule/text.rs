//! What a rule says about one line of text: exact words, `*` for anything, a blank and `*` at the end for "with or without
//! arguments", or a regular expression.

use super::RegexPattern;

/// A pattern over one line of text. `*` spans everything, blanks, slashes and line ends too; nothing else is special.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPattern {
    /// The literal pieces between the stars: one piece means no star. None for a regular expression.
    pieces: Vec<String>,
    /// The text without its final blank and star, which matches too: `git log *` covers `git log`.
    bare: Option<String>,
    /// Instead of pieces.
    regex: Option<Box<RegexPattern>>,
}

impl TextPattern {
    /// Reads a pattern. `x:*` at the end is `x *`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let text = match text.strip_suffix(":*") {
            Some(prefix) => format!("{prefix} *"),
            None => text.to_owned(),
        };
        let pieces: Vec<String> = text.split('*').map(str::to_owned).collect();
        // Only a star that is the only one stands for "no arguments": `* --help *` wants a text behind.
        let bare = match pieces.as_slice() {
            [before, after] if after.is_empty() => before.strip_suffix(' ').map(str::to_owned),
            _ => None,
        };
        Self {
            pieces,
            bare,
            regex: None,
        }
    }

    /// A pattern in which `*` is all that is special, wherever it stands: `list_*`, `run test:*`.
    #[must_use]
    pub fn glob(text: &str) -> Self {
        Self {
            pieces: text.split('*').map(str::to_owned).collect(),
            bare: None,
            regex: None,
        }
    }

    /// A pattern for these words, stars included, and for what begins with them: `git status` and `git status -s`, not
    /// `git statusx`.
    #[must_use]
    pub fn words(text: &str) -> Self {
        Self {
            pieces: vec![format!("{text} "), String::new()],
            bare: Some(text.to_owned()),
            regex: None,
        }
    }

    /// A regular expression instead of words.
    #[must_use]
    pub fn regex(regex: RegexPattern) -> Self {
        Self {
            pieces: Vec::new(),
            bare: None,
            regex: Some(Box::new(regex)),
        }
    }

    /// A pattern for exactly this text, stars included.
    #[must_use]
    pub fn exact(text: &str) -> Self {
        Self {
            pieces: vec![text.to_owned()],
            bare: None,
            regex: None,
        }
    }

    /// Whether it covers a text. Linear in the text for each piece.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        if let Some(regex) = &self.regex {
            return regex.matches(text);
        }
        if self.bare.as_deref() == Some(text) {
            return true;
        }
        let Some((first, rest)) = self.pieces.split_first() else {
            return false;
        };
        let Some((last, middle)) = rest.split_last() else {
            return text == first;
        };
        let Some(mut text) = text.strip_prefix(first.as_str()) else {
            return false;
        };
        for piece in middle {
            // The first occurrence leaves most for the pieces behind, so no other need be tried.
            match text.split_once(piece.as_str()) {
                Some((_, behind)) => text = behind,
                None => return false,
            }
        }
        text.ends_with(last.as_str())
    }

    /// Whether it can cover a text of which only pieces are known: between two of `known` stands anything.
    ///
    /// Only patterns that begin with a literal program are asked this: `*x*` could meet every text with a gap in it.
    #[must_use]
    pub fn may_match(&self, known: &[&str]) -> bool {
        use crate::path::plain::{Token, segment_meets};
        if self.program().is_none() {
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
        let ours = tokens(&mut self.pieces.iter().map(String::as_str));
        // A table of both lengths: very long texts count as met rather than being looked at for minutes.
        const LARGEST_TABLE: usize = 4_000_000;
        if ours.len().saturating_mul(theirs.len()) > LARGEST_TABLE {
            return true;
        }
        segment_meets(&ours, &theirs)
            || self
                .bare
                .as_deref()
                .is_some_and(|bare| segment_meets(&tokens(&mut std::iter::once(bare)), &theirs))
    }

    /// Whether it covers every text.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.pieces.len() > 1 && self.pieces.iter().all(String::is_empty)
    }

    /// Whether it holds no star.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.pieces.len() == 1
    }

    /// The program it names, if its first word is literal: the key under which it is indexed.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        let first = self.pieces.first()?;
        let (word, complete) = match first.split_once([' ', '\t']) {
            Some((word, _)) => (word, true),
            None => (first.as_str(), self.pieces.len() == 1),
        };
        (complete && !word.is_empty()).then_some(word)
    }
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
