//! Rules that cannot be enforced: an allow beside them lets code run that does the same unseen, or they forbid one way to say
//! what can be said in many.

use super::{Code, Linter, Placed, broad, contain};
use crate::{
    Effect, Rule,
    rule::{Matcher, PathVerb},
};

/// Programs that show what a file holds. A deny on one of them and a file leaves all the others.
const READERS: &[&str] = &[
    "awk", "base64", "bat", "cat", "cut", "diff", "egrep", "fgrep", "grep", "head", "hexdump", "less", "more", "nl",
    "od", "rg", "sed", "sort", "strings", "tac", "tail", "xxd",
];
/// Programs that fetch an address.
const FETCHERS: &[&str] = &["curl", "http", "https", "wget"];

impl Linter<'_> {
    /// Denies that an allow makes hollow: code that an interpreter runs reads files, starts programs and reaches hosts unseen.
    pub(super) fn not_enforced(&mut self, all: &[Placed<'_>]) {
        let denied = |found: fn(&Matcher) -> bool| {
            all.iter()
                .map(|placed| placed.rule)
                .find(|rule| rule.effect == Effect::Deny && found(&rule.matcher))
        };
        let reading = denied(|matcher| {
            matches!(
                matcher,
                Matcher::Path {
                    verb: PathVerb::Read,
                    pattern: Some(_)
                }
            )
        });
        let changing = denied(|matcher| {
            matches!(
                matcher,
                Matcher::Path {
                    verb: PathVerb::Edit | PathVerb::Delete,
                    pattern: Some(_)
                }
            )
        });
        let host = denied(|matcher| matches!(matcher, Matcher::Fetch(Some(_))));
        for placed in all.iter().filter(|placed| broad::runs_any_code(placed.rule)) {
            for (rule, what) in [
                (reading, "reads files"),
                (changing, "changes files"),
                (host, "reaches hosts"),
            ] {
                let Some(rule) = rule else { continue };
                let reason = format!(
                    "the {} cannot be enforced against what this allows: code that it runs {what} unseen, unless it runs in a sandbox",
                    rule.source
                );
                let fix = "allow the commands that are meant instead, or let them ask";
                self.add(Code::Evaded, placed, reason, fix);
            }
        }
        let denied_files: Vec<&str> = all
            .iter()
            .filter(|placed| {
                let reading = |matcher: &Matcher| {
                    matches!(
                        matcher,
                        Matcher::Path {
                            verb: PathVerb::Read,
                            ..
                        }
                    )
                };
                placed.rule.effect == Effect::Deny && reading(&placed.rule.matcher)
            })
            .map(|placed| &*placed.rule.source.text)
            .collect();
        // One text: thousands of rules are looked at for thousands of names.
        let denied_files = denied_files.join("\n");
        let names_file = |word: &str| {
            let name = word.trim_matches(['*', '/']).rsplit('/').next().unwrap_or_default();
            denied_files.contains(name)
        };
        for placed in all.iter().filter(|placed| placed.rule.effect == Effect::Deny) {
            match other_words(placed.rule) {
                Some(OtherWords::File(word)) if !names_file(&word) => {
                    let reason = "the rule forbids one way to read the file, and every other program still reads it";
                    let fix = format!(
                        "deny the file, which holds for commands and tools: `Read({})`",
                        as_pattern(&word)
                    );
                    self.add(Code::OtherWords, placed, reason, fix);
                }
                Some(OtherWords::Host(name)) => {
                    let reason = "the rule forbids one way to reach the host, and every other program still reaches it";
                    let fix = format!("deny the host, which holds for commands and tools: `WebFetch(domain:{name})`");
                    self.add(Code::OtherWords, placed, reason, fix);
                }
                _ => {}
            }
        }
    }
}

/// What a deny on a command means to keep from being reached.
enum OtherWords {
    File(String),
    Host(String),
}

/// Of a deny on the words of a command: the one file or host that it is about.
fn other_words(rule: &Rule) -> Option<OtherWords> {
    let words = contain::words_of(rule)?;
    let words = words
        .strip_suffix(":*")
        .map_or_else(|| words.to_owned(), |before| format!("{before} *"));
    let mut parts = words.split_whitespace();
    let program = parts.next()?.rsplit('/').next()?;
    let mut named = parts.filter(|word| !word.starts_with('-') && word.chars().any(char::is_alphanumeric));
    if READERS.contains(&program) {
        // A dot or a slash: it is no subject of a search.
        let file = named
            .next_back()
            .filter(|word| word.contains(['.', '/']) && !word.contains(['\'', '"', '$', '\\', ':']))?;
        return Some(OtherWords::File(file.to_owned()));
    }
    if !FETCHERS.contains(&program) {
        return None;
    }
    let host = named.into_iter().find_map(|word| {
        let rest = word.trim_matches('*');
        let rest = rest.split_once("://").map_or(rest, |(_, rest)| rest);
        let host = rest.split(['/', ':', '?', '*']).next()?;
        let plain = host
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
        (plain && host.contains('.') && !host.starts_with('.') && !host.ends_with('.')).then(|| host.to_owned())
    })?;
    Some(OtherWords::Host(host))
}

/// A word of a command as a pattern of ours.
fn as_pattern(word: &str) -> String {
    let word = word.strip_prefix("./").unwrap_or(word);
    let word = match word.strip_prefix("*/") {
        Some(rest) => format!("**/{rest}"),
        None if word.starts_with('/') => format!("/{word}"),
        None => word.to_owned(),
    };
    match word.strip_suffix("/*") {
        Some(folder) => format!("{folder}/**"),
        None => word,
    }
}
