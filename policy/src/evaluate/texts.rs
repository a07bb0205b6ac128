//! The texts of a command that rules on commands are compared with.
//!
//! An allow sees the command as written and in canonical form; a deny or ask also sees every harmless-looking variation
//! of it: quotes gone, the program without its folder, assignments in front or not, git's global options gone. So a
//! variation can lose an allow but never a deny.

use crate::{
    Effect,
    rule::TextPattern,
    shell::{Command, Word, quote},
};

/// Variables that change how much a program says or in which language, and nothing that it does.
const HARMLESS: &[&str] = &[
    "CARGO_TERM_COLOR",
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "COLUMNS",
    "DEBUG",
    "FORCE_COLOR",
    "GOARCH",
    "GOOS",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_NUMERIC",
    "LC_TIME",
    "LINES",
    "NODE_ENV",
    "NO_COLOR",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TZ",
];

/// Whether the assignments in front change nothing that the command does.
pub(super) fn assignments_are_harmless(command: &Command) -> bool {
    command
        .assignments
        .iter()
        .all(|assignment| HARMLESS.contains(&assignment.name.as_str()) && assignment.value.literal().is_some())
}

/// Whether an assignment on a line of its own can change what a later program does: names that programs look at are in
/// capitals by custom, names of scripts' own are not.
pub(super) fn assignment_is_private(name: &str) -> bool {
    if HARMLESS.contains(&name) {
        return true;
    }
    // What no program that we know of looks at: short names, and names in small letters.
    let small = name.chars().any(|c| c.is_ascii_lowercase()) && !name.starts_with("npm_");
    small || name.len() <= 2 && !matches!(name, "CC" | "LD" | "AR" | "AS" | "FC" | "PS")
}

fn source(word: &Word) -> String {
    match word {
        Word::Literal(text) => quote(&["x", text]).split_off(2),
        Word::Dynamic { source, .. } => source.clone(),
    }
}

fn first_source(words: &[Word]) -> String {
    match words.first() {
        // A first word with `=` is quoted, so that it stays a program's name.
        Some(Word::Literal(text)) => quote(&[text]),
        Some(Word::Dynamic { source, .. }) => source.clone(),
        None => String::new(),
    }
}

/// Words joined as bash would read them back.
fn canonical(words: &[Word]) -> String {
    let mut line = first_source(words);
    for word in words.iter().skip(1) {
        line.push(' ');
        line.push_str(&source(word));
    }
    line
}

/// Words joined without quotes, as people write rules.
fn unquoted(words: &[Word]) -> String {
    let texts: Vec<&str> = words
        .iter()
        .map(|word| match word {
            Word::Literal(text) => text.as_str(),
            Word::Dynamic { source, .. } => source.as_str(),
        })
        .collect();
    texts.join(" ")
}

fn assignments(command: &Command) -> String {
    let mut front = String::new();
    for assignment in &command.assignments {
        front.push_str(&assignment.name);
        front.push('=');
        front.push_str(&source(&assignment.value));
        front.push(' ');
    }
    front
}

/// What an allow is compared with.
pub(super) fn narrow(command: &Command) -> Vec<String> {
    if command.words.is_empty() {
        return Vec::new();
    }
    let plain = [command.text.clone(), canonical(&command.words)];
    let mut out = Vec::new();
    if !command.assignments.is_empty() {
        // A rule may name the assignments itself.
        let front = assignments(command);
        out.extend(plain.iter().map(|text| format!("{front}{text}")));
    }
    if assignments_are_harmless(command) {
        out.extend(plain);
    }
    unique(out)
}

/// What a deny or ask is compared with.
pub(super) fn wide(command: &Command) -> Vec<String> {
    if command.words.is_empty() {
        return Vec::new();
    }
    let mut spellings = vec![command.words.clone()];
    if let Some((Word::Literal(program), rest)) = command.words.split_first() {
        let mut name = program.rsplit('/').next().unwrap_or_default().to_owned();
        if name.is_empty() {
            name.clone_from(program);
        }
        let with = |rest: &[Word]| {
            std::iter::once(Word::Literal(name.clone()))
                .chain(rest.iter().cloned())
                .collect::<Vec<_>>()
        };
        spellings.push(with(rest));
        if name == "git" {
            spellings.push(with(without_git_options(rest)));
        }
    }
    let mut out = vec![command.text.clone()];
    for words in &spellings {
        out.push(canonical(words));
        out.push(unquoted(words));
    }
    if !command.assignments.is_empty() {
        let front = assignments(command);
        let with: Vec<String> = out.iter().map(|text| format!("{front}{text}")).collect();
        out.extend(with);
    }
    unique(out)
}

/// The known pieces of a command that holds words only known at run time; `None` if it holds none.
pub(super) fn pieces(command: &Command) -> Option<Vec<String>> {
    let unknown = |word: &Word| matches!(word, Word::Dynamic { pattern: false, .. });
    if !command.words.iter().any(unknown) {
        return None;
    }
    let mut pieces = vec![String::new()];
    for (index, word) in command.words.iter().enumerate() {
        let last = pieces.last_mut()?;
        if index > 0 {
            last.push(' ');
        }
        match word {
            Word::Dynamic { pattern: false, .. } => pieces.push(String::new()),
            Word::Literal(text) if index == 0 => last.push_str(text.rsplit('/').next().unwrap_or_default()),
            Word::Literal(text) | Word::Dynamic { source: text, .. } => last.push_str(text),
        }
    }
    Some(pieces)
}

/// The first words of texts: the programs whose rules can be about them.
pub(super) fn programs(texts: &[String]) -> impl Iterator<Item = &str> {
    texts
        .iter()
        .map(|text| text.split([' ', '\t']).next().unwrap_or_default())
}

/// git's subcommand and what follows: `git -C x -c a=b push` is a push.
fn without_git_options(rest: &[Word]) -> &[Word] {
    let mut rest = rest;
    while let Some((Word::Literal(option), behind)) = rest.split_first() {
        let takes_value = matches!(
            option.as_str(),
            "-C" | "-c"
                | "--git-dir"
                | "--work-tree"
                | "--namespace"
                | "--exec-path"
                | "--super-prefix"
                | "--config-env"
        );
        if takes_value {
            rest = behind.get(1..).unwrap_or_default();
        } else if option.starts_with('-') {
            rest = behind;
        } else {
            break;
        }
    }
    rest
}

fn unique(mut texts: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    texts.retain(|text| seen.insert(text.clone()));
    texts
}

/// Whether a pattern covers a command, in the sense of the effect that carries it.
pub(crate) fn matches_command(pattern: &TextPattern, command: &Command, effect: Effect) -> bool {
    let texts = if effect == Effect::Allow {
        narrow(command)
    } else {
        wide(command)
    };
    texts.iter().any(|text| pattern.matches(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::{Assignment, CommandClass};

    fn command(text: &str, words: &[&str], assigned: &[(&str, &str)]) -> Command {
        Command {
            text: text.to_owned(),
            assignments: assigned
                .iter()
                .map(|(name, value)| Assignment {
                    name: (*name).to_owned(),
                    value: Word::Literal((*value).to_owned()),
                })
                .collect(),
            words: words.iter().map(|word| Word::Literal((*word).to_owned())).collect(),
            seen_through: Vec::new(),
            files: Vec::new(),
            urls: Vec::new(),
            class: CommandClass::Other,
        }
    }

    fn covers(pattern: &str, command: &Command, effect: Effect) -> bool {
        matches_command(&TextPattern::parse(pattern), command, effect)
    }

    #[test]
    fn a_deny_sees_every_spelling_and_an_allow_only_the_plain_ones() {
        let push = "git push *";
        for (command, allow, deny) in [
            (command("git push origin", &["git", "push", "origin"], &[]), true, true),
            (
                command("git\tpush  origin", &["git", "push", "origin"], &[]),
                true,
                true,
            ),
            (command("git p\\ush x", &["git", "push", "x"], &[]), true, true),
            (
                command("/usr/bin/git push x", &["/usr/bin/git", "push", "x"], &[]),
                false,
                true,
            ),
            (
                command("git -C d push x", &["git", "-C", "d", "push", "x"], &[]),
                false,
                true,
            ),
            (
                command(
                    "git -c a=b --no-pager push",
                    &["git", "-c", "a=b", "--no-pager", "push"],
                    &[],
                ),
                false,
                true,
            ),
            (
                command("git push x", &["git", "push", "x"], &[("LANG", "C")]),
                true,
                true,
            ),
            (
                command("git push x", &["git", "push", "x"], &[("GIT_SSH", "./x")]),
                false,
                true,
            ),
            (command("gitk push", &["gitk", "push"], &[]), false, false),
        ] {
            assert_eq!(covers(push, &command, Effect::Allow), allow, "allow {command:?}");
            assert_eq!(covers(push, &command, Effect::Deny), deny, "deny {command:?}");
        }
    }

    #[test]
    fn a_rule_may_name_the_assignment() {
        let run = command("npm run dev", &["npm", "run", "dev"], &[("PORT", "1")]);
        assert!(covers("PORT=1 npm run dev", &run, Effect::Allow));
        assert!(!covers("npm run dev", &run, Effect::Allow));
        assert!(covers("npm run dev", &run, Effect::Deny));
    }
}
