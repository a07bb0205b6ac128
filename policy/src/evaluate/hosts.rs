//! Denied hosts among the words of commands of which nobody has said what they contact.
//!
//! Which hosts the usual programs contact is read out of their words (`Command::urls`), and rules are certain there. There are
//! more programs, and more ways to name a host to each (`--connect-to`, `ALL_PROXY=`, `TCP:host:80`): so a word of any program
//! that is not known to look at files only, or to take it as a text, asks where it holds a host that a deny or ask names. As
//! every rule for all hosts would meet every file with a dot in its name, such rules count for addresses alone.
//!
//! It never allows anything.

use std::{borrow::Cow, collections::BTreeSet};

use crate::{
    Effect,
    rule::{Matcher, host_of, percent_decoded},
    ruleset::RuleId,
    shell::{Analysis, Command, CommandClass, inert::Words},
};

use super::{
    part::Part,
    reaching::{self, source, words_of},
    texts,
    touched::host_contacted,
    world::World,
};

/// Most parts of one command; one settles the answer.
const MOST_PARTS: usize = 8;
/// Longest host that is looked for, in bytes: names have at most 253.
const MAX_HOST: usize = 512;
/// Schemes of addresses in which a host stands. Names in stores of objects (`s3://bucket`) are none.
const SCHEMES: &[&str] = &[
    "ftp", "ftps", "git", "http", "https", "ldap", "ldaps", "rsync", "sftp", "ssh", "svn", "ws", "wss",
];
/// Words of the shell that set variables.
const SETTERS: &[&str] = &["declare", "export", "local", "readonly", "typeset"];

/// The values of settings of git that say whom it contacts: `-c http.proxy=host`.
fn hosts_of_settings(command: &Command) -> impl Iterator<Item = &str> {
    let words = command.words.iter().skip(1).map(source);
    let settings = words.clone().zip(words.skip(1)).filter(|(option, _)| *option == "-c");
    settings.filter_map(|(_, setting)| {
        let (key, value) = setting.split_once('=')?;
        let key = key.to_ascii_lowercase();
        let contacts = ["proxy", "url", "insteadof"].iter().any(|end| key.ends_with(end));
        contacts.then_some(value)
    })
}

impl World<'_> {
    /// Hosts that a command names and may contact, where a deny or ask is about them.
    pub(super) fn judge_named_hosts(
        &self,
        line: &str,
        analysis: &Analysis,
        index: usize,
        command: &Command,
    ) -> Vec<Part> {
        if !self.rules.index().names_hosts() {
            return Vec::new();
        }
        let mut texts: Vec<&str> = command
            .assignments
            .iter()
            .filter(|assignment| !command.words.is_empty() || !texts::assignment_is_private(&assignment.name))
            .map(|assignment| source(&assignment.value))
            .collect();
        if command.program_name() == Some("git") {
            texts.extend(hosts_of_settings(command));
        }
        let too_many = "it has more words than are looked at for hosts that rules name";
        match texts_of(line, analysis, index, command) {
            Some(further) => texts.extend(further),
            None => return vec![Part::unknown(&command.text, too_many)],
        }
        let known: BTreeSet<String> = command.urls.iter().filter_map(|url| host_contacted(url)).collect();
        let mut met = BTreeSet::new();
        let mut parts = Vec::new();
        for text in texts {
            let address = is_address(text);
            // `-hHOST`: glued to a short option.
            let glued = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            let glued = glued.and_then(|rest| rest.char_indices().nth(1).and_then(|(at, _)| rest.get(at..)));
            for host in hosts_in(text).chain(hosts_in(glued.unwrap_or_default())) {
                if !self.one_word_more() {
                    parts.push(Part::unknown(&command.text, too_many));
                    return parts;
                }
                if known.contains(&host) {
                    continue;
                }
                if let Some(id) = self.narrows_host(&host, address).filter(|id| met.insert(*id)) {
                    let why = "the program may contact this host, which is a case for";
                    parts.push(Part::perhaps(self, id, format!("names {host}"), why));
                }
                if parts.len() >= MOST_PARTS {
                    return parts;
                }
            }
        }
        parts
    }

    /// The deny or ask that names a host; those for every host only of an address.
    fn narrows_host(&self, host: &str, address: bool) -> Option<RuleId> {
        let ids = self.rules.index().hosts(Some(host));
        ids.into_iter().find(|id| {
            self.rule(*id).is_some_and(|rule| {
                rule.effect != Effect::Allow
                    && match &rule.matcher {
                        Matcher::Fetch(Some(pattern)) => {
                            (address || !pattern.ending().is_empty()) && pattern.matches(host)
                        }
                        Matcher::Fetch(None) => address,
                        _ => false,
                    }
            })
        })
    }
}

/// The texts of a command that may say what it contacts.
fn texts_of<'c>(line: &'c str, analysis: &'c Analysis, index: usize, command: &'c Command) -> Option<Vec<&'c str>> {
    if !matches!(
        command.class,
        CommandClass::Other | CommandClass::Wrapper | CommandClass::Function
    ) {
        return Some(Vec::new());
    }
    let program = command.program_name().unwrap_or_default();
    let words = || command.words.iter().skip(1).map(source);
    let one_word = |text: &&str| !text.contains(char::is_whitespace);
    Some(match words_of(analysis, command) {
        // Titles and messages are texts; what has no blank may be an address.
        Words::Inert if program == "git" => words()
            .filter(one_word)
            .filter(|text| is_address(text) || text.contains("=") && is_address(behind_equals(text)))
            .collect(),
        Words::Inert if SETTERS.contains(&program) => words()
            .filter(|text| {
                let name = text.split('=').next().unwrap_or_default();
                !texts::assignment_is_private(name)
            })
            .collect(),
        Words::Inert => words().filter(one_word).collect(),
        Words::Wrapper(program) => words()
            .take(program.saturating_sub(1))
            .chain(reaching::texts(line, analysis, index, command)?)
            .collect(),
        // A program may be named by its address: `npx https://…`.
        Words::Declared | Words::Unknown => {
            let program = command.words.iter().take(1).map(source);
            program
                .chain(words())
                .chain(reaching::texts(line, analysis, index, command)?)
                .collect()
        }
    })
}

fn behind_equals(text: &str) -> &str {
    text.split_once('=').map_or("", |(_, value)| value)
}

/// Whether a text is an address rather than a name: it has a scheme of the network, or a user in front of a place.
fn is_address(text: &str) -> bool {
    let scheme = text
        .split_once("://")
        .map(|(before, _)| before.rsplit(['=', ':']).next().unwrap_or_default());
    match scheme {
        Some(scheme) => {
            // `git+https`, `svn+ssh`
            let last = scheme.rsplit('+').next().unwrap_or_default();
            SCHEMES.iter().any(|own| own.eq_ignore_ascii_case(last))
        }
        None => {
            let place = text.split_once('@').filter(|(user, _)| !user.is_empty());
            place.is_some_and(|(_, place)| place.contains(':')) && !text.contains(char::is_whitespace)
        }
    }
}

/// The hosts that a text can name, in one spelling.
fn hosts_in(text: &str) -> impl Iterator<Item = String> + '_ {
    let decoded = percent_decoded(text);
    // `%2e` in a name is a dot for some programs.
    let further = (decoded != text).then_some(decoded);
    let whole = [
        Some(text),
        text.split_once('=').map(|(_, value)| value),
        text.rsplit_once('@').map(|(_, value)| value),
    ];
    let whole: Vec<String> = whole
        .into_iter()
        .flatten()
        .filter(|text| text.len() <= MAX_HOST && text.contains([':', '[']))
        .filter_map(host_contacted)
        .collect();
    std::iter::once(Cow::Borrowed(text))
        .chain(further)
        .flat_map(|text| tokens(&text))
        .chain(whole)
}

/// Words of a text that can be the name or address of a host.
fn tokens(text: &str) -> Vec<String> {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-' | '_')))
        .map(|token| token.trim_matches(['.', '-']))
        .filter(|token| !token.is_empty() && token.len() <= MAX_HOST)
        // One label alone is the name of a host rarely enough; a rule that names one is met by `host_of` all the same.
        .filter_map(|token| host_of(&format!("https://{token}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_in_every_spelling() {
        for (text, host) in [
            ("evil.example", "evil.example"),
            ("https://EVIL.example./x", "evil.example"),
            ("TCP:evil.example:80", "evil.example"),
            ("::evil.example:", "evil.example"),
            ("--remote=https://a@evil.example:1/x", "evil.example"),
            ("https://good.example\\@evil.example/", "evil.example"),
            ("https://evil%2eexample/", "evil.example"),
            ("evil.example/x:1", "evil.example"),
            ("postgres://u:p@evil.example/db", "evil.example"),
            ("http://[::1]:80/", "::1"),
            ("http://2130706433/", "127.0.0.1"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("host=evil.example user=x", "evil.example"),
        ] {
            assert!(hosts_in(text).any(|found| found == host), "{text}");
        }
        assert!(!hosts_in("notevil.example").any(|found| found == "evil.example"));
    }

    #[test]
    fn addresses_are_told_from_names() {
        for text in ["https://x.test", "--url=ssh://x", "git+https://x", "user@host:path"] {
            assert!(is_address(text), "{text}");
        }
        for text in ["s3://bucket/x", "a.txt", "file:///etc", "x@1.2", "a:b", "://", ""] {
            assert!(!is_address(text), "{text}");
        }
    }
}
