//! Rules with characters that nobody sees, that turn the text around, or that look like others.
//!
//! A person who reads `gi\u{200b}t push` reads `git push`; the rule is about another program. An allow with such characters
//! covers no command, for no command that holds them is ever covered; a deny covers less than it seems to. Which characters
//! count is said where commands are looked at for them (`policy/src/shell/hidden.rs`); whole words in other scripts are what
//! they are, but a word that mixes them with Latin letters is not.

use super::{Code, Linter, Placed};
use crate::{
    rule::Matcher,
    shell::{hides, is_confusable, visible},
};

/// Letters that look like Latin ones or are forms of them: Greek, Cyrillic, Armenian, Cherokee, Coptic, full width, mathematical.
fn looks_latin(c: char) -> bool {
    matches!(c,
        '\u{131}' | '\u{251}' | '\u{261}' | '\u{370}'..='\u{587}' | '\u{13a0}'..='\u{13ff}' | '\u{1d00}'..='\u{1d7f}'
        | '\u{2c80}'..='\u{2cff}' | '\u{a4d0}'..='\u{a4ff}' | '\u{ab30}'..='\u{abbf}' | '\u{ff01}'..='\u{ff5e}'
        | '\u{1d400}'..='\u{1d7ff}')
}

/// A word of the text that mixes Latin letters with such as look like them.
fn mixed(text: &str) -> Option<&str> {
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.find(|word| word.chars().any(|c| c.is_ascii_alphabetic()) && word.chars().any(looks_latin))
}

/// The name that a rule is about and that has to be what it looks like: of a program, a tool, a server.
fn name_of(placed: &Placed<'_>) -> Option<String> {
    match &placed.rule.matcher {
        Matcher::Shell(pattern) => pattern.program().map(str::to_owned),
        Matcher::Mcp(pattern) => Some(pattern.text().into_owned()),
        Matcher::Tool(name) => Some(name.clone()),
        Matcher::Tools(pattern) => Some(pattern.text().to_owned()),
        _ => None,
    }
}

impl Linter<'_> {
    /// Finds such characters in a rule of any effect.
    pub(super) fn hidden_letters(&mut self, placed: &Placed<'_>) {
        let text = &*placed.rule.source.text;
        if text.is_ascii() && !hides(text) {
            return;
        }
        let shown = visible(text);
        let letters = "write the rule anew, letter by letter, on a keyboard";
        if hides(text) {
            let reason = format!("the rule holds characters that nobody sees or that turn the text around: `{shown}`");
            self.add(Code::Hidden, placed, reason, letters);
        } else if shown != text {
            let reason = format!("the rule holds a blank that is none for programs: `{shown}`");
            self.add(Code::Hidden, placed, reason, "write an ordinary blank");
        } else if let Some(name) = name_of(placed).filter(|name| is_confusable(name)) {
            let reason = format!("`{name}` has letters that look like others: it is not the name that it seems to be");
            self.add(Code::Hidden, placed, reason, letters);
        } else if let Some(word) = mixed(text) {
            let reason = format!(
                "`{word}` mixes letters of two alphabets that look alike: it is not the word that it seems to be"
            );
            self.add(Code::Hidden, placed, reason, letters);
        }
    }
}
