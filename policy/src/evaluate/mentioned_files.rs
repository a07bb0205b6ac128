//! Denied files in the texts of programs of which nobody has said what they read.
//!
//! What usual programs read is known by their words, and a word that is a denied file asks in any program (`touched`). Here are
//! the texts that hold more than one name: `concat:.env` of ffmpeg, `load(".env")` of yq, `-e.env`, a script in an unknown
//! language, and what such a program is given on its input. What is found asks, for it may be a mere mention.

use crate::{
    rule::PathVerb,
    shell::{Analysis, Command, CommandClass, Word, acts, inert::Words},
};

use super::{
    part::Part,
    reaching::{self, words_of},
    world::World,
};

/// Longest name, in bytes.
const MAX_NAME: usize = 4096;
/// Most parts of one command; one settles the answer.
const MOST_PARTS: usize = 8;

impl World<'_> {
    /// Denied files that the texts of a command name.
    pub(super) fn judge_mentioned_files(
        &self,
        line: &str,
        analysis: &Analysis,
        index: usize,
        command: &Command,
    ) -> Vec<Part> {
        let known = words_of(analysis, command);
        let named = matches!(known, Words::Declared | Words::Unknown);
        let may_read = matches!(command.class, CommandClass::Other | CommandClass::Function);
        let looks = may_read && (named || acts::is_console(command));
        if !looks || command.remote || !self.has_path_rules() {
            return Vec::new();
        }
        // A text of several words is one for people where the program is known.
        let texts = command.words.iter().skip(1).filter_map(Word::literal);
        let texts = texts.filter(|text| named && (known == Words::Unknown || !text.contains(char::is_whitespace)));
        let too_many = "it has more words than are looked at for files that rules name";
        let Some(further) = reaching::texts(line, analysis, index, command) else {
            return vec![Part::unknown(&command.text, too_many)];
        };
        // A word that is the name itself asks with the command's words, of what is a program.
        let asks_itself = command.class == CommandClass::Other;
        let own = texts.map(|text| (text, asks_itself));
        let mut parts = Vec::new();
        for (text, asks_itself) in own.chain(further.into_iter().map(|text| (text, false))) {
            for name in names(text).filter(|name| !asks_itself || name.len() != text.len()) {
                if !self.one_word_more() {
                    parts.push(Part::unknown(&command.text, too_many));
                    return parts;
                }
                let Some(path) = self.resolve(name) else { continue };
                if let Some(id) = self.narrowed(&path, &self.rules_on(&path), &[PathVerb::Read]) {
                    let why = "a text of it names this file, which is a case for";
                    parts.push(Part::perhaps(self, id, format!("names {name}"), why));
                }
                if parts.len() >= MOST_PARTS {
                    return parts;
                }
            }
        }
        parts
    }
}

/// What in a text can be the name of a file: runs of letters of names with a dot or a slash, and the value of a short option.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let attached = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let attached = attached.and_then(|rest| rest.get(rest.chars().next()?.len_utf8()..));
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '~' | '+')))
        .filter(|name| name.contains(['.', '/']))
        .chain(attached)
        .filter(|name| name.len() > 1 && name.len() <= MAX_NAME && !name.starts_with("//"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_texts() {
        for (text, name) in [
            ("concat:.env", ".env"),
            ("load(\".env\")", ".env"),
            ("-e.env", ".env"),
            ("-isecret", "secret"),
            ("cat .env | x", ".env"),
            ("#include \"../.env\"", "../.env"),
        ] {
            assert!(names(text).any(|found| found == name), "{text}");
        }
        assert_eq!(names("https://x.test/.env").next(), None);
    }
}
