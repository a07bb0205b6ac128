//! A text in lower case, to tell cheaply what it cannot hold.

use std::borrow::Cow;

/// A text whose letters are small ones.
pub(super) struct Lower<'a> {
    text: Cow<'a, str>,
    /// There are other letters than those of ASCII, of which some count as one of those (the Kelvin sign, the long s).
    other: bool,
}

impl<'a> Lower<'a> {
    /// Reads a text.
    pub(super) fn of(text: &'a str) -> Self {
        let large = text.bytes().any(|byte| byte.is_ascii_uppercase());
        Self {
            text: match large {
                true => Cow::Owned(text.to_ascii_lowercase()),
                false => Cow::Borrowed(text),
            },
            other: !text.is_ascii(),
        }
    }

    /// Whether the text may hold one of these, in whatever case. They are ASCII, in lower case.
    pub(super) fn may_hold(&self, texts: &[&str]) -> bool {
        self.other || texts.iter().any(|text| self.text.contains(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_case_hides_a_text_and_no_letter_that_counts_as_one() {
        let holds = |text: &str| Lower::of(text).may_hold(&["token", "key"]);
        assert!(holds("a TOKEN") && holds("a token") && holds("keY") && holds("to\u{212a}en"));
        assert!(!holds("a tok en") && !holds(""));
    }
}
