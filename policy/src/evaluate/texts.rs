//! The texts of a command that rules on commands are compared with.
//!
//! An allow sees the command as written and in canonical form; a deny or ask also sees every harmless-looking variation
//! of it: quotes gone, the program without its folder, assignments in front or not, options in front of the words that a
//! rule names gone (`spelled`). So a variation can lose an allow but never a deny.

mod spelled;
mod vanishing;

pub(super) use spelled::{LEAST_ROOM, ROOM, SOME_ROOM};

use crate::{
    Effect,
    rule::TextPattern,
    shell::{
        Analysis, Command, CommandClass, OpaqueReason, Word,
        globals::{Front, front},
        needs_quotes, quote, synonyms,
    },
};

/// Names that well-known programs look at begin or end so. A variable that is already exported reaches them even when it is
/// only assigned.
const PUBLIC_BEGINNINGS: &[&str] = &[
    "ALL_PROXY",
    "ANSIBLE_",
    "AWS_",
    "AZURE_",
    "BASH",
    "CARGO_",
    "CLOUDSDK_",
    "CURL_",
    "DENO_",
    "DOCKER_",
    "DYLD_",
    "GCLOUD",
    "GH_",
    "GIT",
    "GO",
    "GRADLE_",
    "HELM_",
    "HOME",
    "HTTP",
    "JAVA_",
    "JDK_",
    "KUBE",
    "LD_",
    "LESS",
    "MAKE",
    "MAVEN_",
    "NODE_",
    "NO_PROXY",
    "NPM_",
    "OPENSSL_",
    "PERL",
    "PG",
    "PHP",
    "PIP_",
    "PYTHON",
    "RUBY",
    "RUST",
    "SSH_",
    "SSL_",
    "TERRAFORM",
    "TF_",
    "TMP",
    "UV_",
    "VAULT_",
    "VIRTUAL_ENV",
    "XDG_",
    "npm_",
];
const PUBLIC_ENDINGS: &[&str] = &[
    "FLAGS", "_COMMAND", "_CONFIG", "_HOME", "_OPTIONS", "_OPTS", "_PATH", "_proxy", "_PROXY",
];

/// Whether an assignment on a line of its own stays within the line, as far as names tell. Names that are known to
/// change what runs are opaque already.
pub(super) fn assignment_is_private(name: &str) -> bool {
    let tool = matches!(name, "CC" | "CXX" | "LD" | "AR" | "AS" | "FC" | "TZ" | "LANG");
    !(tool
        || PUBLIC_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || PUBLIC_ENDINGS.iter().any(|ending| name.ends_with(ending)))
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

/// Words joined as bash would read them back, for a command that stands nowhere in the line.
pub(super) fn joined(words: &[Word]) -> String {
    canonical(words)
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

/// Whether a command has one text only: literal words that need no quotes, one blank apart, behind a program that is neither
/// a path nor git with options of its own or a push. Most commands are like that, and need no other text to be made.
fn is_plain(command: &Command) -> bool {
    let Some((Word::Literal(program), rest)) = command.words.split_first() else {
        return false;
    };
    let name = program
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    // A push has one more text for each branch that it forces or deletes.
    let special = |word: &str| word.starts_with('-') || word == "push";
    let git = program == "git" && matches!(rest.first(), Some(Word::Literal(word)) if special(word));
    if !command.assignments.is_empty() || !name || git || needs_quotes(program, true) {
        return false;
    }
    let mut text = command.text.as_str();
    for (index, word) in command.words.iter().enumerate() {
        let Some(word) = word.literal().filter(|word| !needs_quotes(word, false)) else {
            return false;
        };
        if index > 0 {
            let Some(behind) = text.strip_prefix(' ') else {
                return false;
            };
            text = behind;
        }
        let Some(behind) = text.strip_prefix(word) else {
            return false;
        };
        text = behind;
    }
    text.is_empty()
}

/// What an allow is compared with.
pub(super) fn narrow(command: &Command) -> Vec<String> {
    if is_plain(command) {
        return vec![command.text.clone()];
    }
    all_narrow(command)
}

fn all_narrow(command: &Command) -> Vec<String> {
    if command.words.is_empty() {
        return Vec::new();
    }
    let plain = [command.text.clone(), canonical(&command.words)];
    let mut out = Vec::new();
    if !command.assignments.is_empty() {
        // A rule may name the assignments itself.
        out.extend(with_assignments(command));
    }
    if command.assignments_harmless() {
        out.extend(plain);
    }
    unique(out)
}

/// The first words of a command, with a program behind them that nobody has.
pub(super) fn with_any_program(command: &Command, words: usize) -> String {
    let mut line = canonical(command.words.get(..words).unwrap_or_default());
    line.push_str(" \u{1}any");
    line
}

/// The first words of a command, with a file of a folder behind them that nobody has.
pub(super) fn with_any_file(command: &Command, words: usize, folder: &str) -> String {
    let line = canonical(command.words.get(..words).unwrap_or_default());
    format!("{line} {folder}\u{1}any")
}

/// The texts by which a rule may name a command together with its assignments.
pub(super) fn with_assignments(command: &Command) -> Vec<String> {
    let front = assignments(command);
    [command.text.clone(), canonical(&command.words)]
        .iter()
        .map(|text| format!("{front}{text}"))
        .collect()
}

/// Most spellings without options in front of which the options behind operands are looked at, too.
const MOST_MOVED: usize = 4;

/// What a deny or ask is compared with: as many spellings as have room, in bytes. Whether there are more, [`pieces`] tells.
pub(super) fn wide(command: &Command, room: usize) -> Vec<String> {
    let more = |name: &str| {
        name.starts_with("git-")
            || (name == "git" && super::push::pushes(command.words.get(1..).unwrap_or_default()).is_some())
            || spelled::has_options_in_front(name, command.words.get(1..).unwrap_or_default())
            || !synonyms::others(name, command.words.get(1..).unwrap_or_default()).is_empty()
            || !synonyms::other_programs(&command.words).is_empty()
    };
    if is_plain(command) && !command.program_name().is_some_and(more) {
        return vec![command.text.clone()];
    }
    let mut out = all_wide(command, room);
    for words in synonyms::other_programs(&command.words) {
        let other = Command {
            text: canonical(&words),
            words,
            assignments: Vec::new(),
            ..command.clone()
        };
        out.extend(all_wide(&other, room));
    }
    unique(out)
}

fn all_wide(command: &Command, room: usize) -> Vec<String> {
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
        let others = synonyms::others(&name, rest);
        let room = room / (others.len() + 1);
        for rest in std::iter::once(rest).chain(others.iter().map(Vec::as_slice)) {
            spellings.push(with(rest));
            spellings.extend(
                spelled::with_options_first(&name, rest, room)
                    .spellings
                    .iter()
                    .map(|rest| with(rest)),
            );
            let spelled = spelled::without_options(&name, rest, room).spellings;
            // `git -C x reset HEAD~1 --hard`. Behind `--` there are no options.
            let ended = rest.iter().any(|word| word.literal() == Some("--"));
            let moved = spelled
                .iter()
                .take(if ended { 0 } else { MOST_MOVED })
                .map(|rest| spelled::with_options_first(&name, rest, room).spellings);
            spellings.extend(moved.flatten().map(|rest| with(&rest)));
            spellings.extend(spelled.iter().map(|rest| with(rest)));
        }
        // `git-push`, as it lies in git's own folder.
        if let Some(verb) = name.strip_prefix("git-").filter(|verb| !verb.is_empty()) {
            let git = [Word::Literal("git".to_owned()), Word::Literal(verb.to_owned())];
            let words: Vec<Word> = git.into_iter().chain(rest.iter().cloned()).collect();
            let program = words.first().cloned();
            let spelled = spelled::without_options("git", words.get(1..).unwrap_or_default(), room).spellings;
            spellings.push(words);
            spellings.extend(
                spelled
                    .into_iter()
                    .map(|rest| program.iter().cloned().chain(rest).collect()),
            );
        }
    }
    let mut out = vec![command.text.clone()];
    for words in &spellings {
        out.push(canonical(words));
        out.push(unquoted(words));
    }
    if command.program_name() == Some("git") {
        let rest = command.words.get(1..).unwrap_or_default();
        out.extend(super::push::spellings(without_git_options(rest)));
    }
    // `git subtree push` and its kin push, too.
    let own = spellings
        .iter()
        .find(|words| words.first().and_then(Word::literal) == Some("git"));
    let rest = own.and_then(|words| super::push::pushes(without_git_options(words.get(1..)?)));
    if let Some(rest) = rest {
        let words = ["git", "push"].map(|word| Word::Literal(word.to_owned()));
        let words: Vec<Word> = words.into_iter().chain(rest.iter().cloned()).collect();
        let push = Command {
            text: canonical(&words),
            words,
            assignments: Vec::new(),
            ..command.clone()
        };
        out.extend(all_wide(&push, room));
    }
    if !command.assignments.is_empty() {
        let front = assignments(command);
        let with: Vec<String> = out.iter().map(|text| format!("{front}{text}")).collect();
        out.extend(with);
    }
    unique(out)
}

/// What stands before the first wildcard of a word: `pus` of `pus[h]`, which is `push` where a file has that name. `None` for
/// a word that begins with a wildcard, as names of files do that are meant as such.
fn known_beginning(source: &str) -> Option<&str> {
    if source.contains(['"', '\'', '\\', '$', '`', '/', '{']) {
        return None;
    }
    let wildcard = source.find(['*', '?', '[']);
    // `@(…)` and its kin: the words in the brackets are written, so they are meant as much as a name is.
    let operator = source.find('(').and_then(|bracket| bracket.checked_sub(1));
    let extended = operator.filter(|at| {
        source
            .get(*at..)
            .is_some_and(|rest| rest.starts_with(['@', '+', '!', '?', '*']))
    });
    let before = source.get(..wildcard.into_iter().chain(extended).min()?)?;
    let named = extended.is_some() && !source.starts_with('!');
    Some(before).filter(|before| !before.is_empty() || named)
}

/// The name of a long option whose value is not known: `--author=` of `--author="$A"`. Whatever the value is, the word begins so.
fn name_of_option(source: &str) -> &str {
    let plain = |name: &str| name.starts_with("--") && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let end = source.find('=').filter(|end| source.get(..*end).is_some_and(plain));
    end.and_then(|end| source.get(..=end)).unwrap_or_default()
}

/// The known pieces of a command that holds words only known at run time, in each of its spellings; none if it holds no
/// such words.
///
/// A command with more options than are looked through counts as a program with unknown words.
pub(super) fn pieces(command: &Command, room: usize) -> Vec<Vec<String>> {
    let mut all = pieces_of_words(&command.words, room);
    for words in vanishing::without(&command.words) {
        let known = words.iter().all(|word| word.literal().is_some());
        // Known as a whole it is one piece, in each of its spellings.
        let whole = known.then(|| {
            let shorter = Command {
                text: canonical(&words),
                words: words.clone(),
                assignments: Vec::new(),
                ..command.clone()
            };
            wide(&shorter, room).into_iter().map(|text| vec![text])
        });
        all.extend(whole.into_iter().flatten());
        all.extend(pieces_of_words(&words, room));
    }
    all
}

fn pieces_of_words(words: &[Word], room: usize) -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> = pieces_of(words).into_iter().collect();
    let Some((Word::Literal(program), rest)) = words.split_first() else {
        return all;
    };
    let name = program.rsplit('/').next().unwrap_or_default();
    if all.is_empty() && !spelled::has_options(name, rest) {
        return all;
    }
    let spelled = spelled::without_options(name, rest, room);
    let moved = spelled::with_options_first(name, rest, room);
    if spelled.too_many || moved.too_many {
        all.push(vec![format!("{name} "), String::new()]);
    }
    if !all.is_empty() {
        let with = |rest: Vec<Word>| {
            std::iter::once(Word::Literal(name.to_owned()))
                .chain(rest)
                .collect::<Vec<_>>()
        };
        let spellings = spelled.spellings.into_iter().chain(moved.spellings);
        let spellings = spellings.chain(synonyms::others(name, rest));
        all.extend(spellings.filter_map(|rest| pieces_of(&with(rest))));
    }
    all
}

fn pieces_of(words: &[Word]) -> Option<Vec<String>> {
    let unknown = |word: &Word| match word {
        Word::Literal(_) => false,
        Word::Dynamic { pattern, source } => !pattern || known_beginning(source).is_some(),
    };
    if !words.iter().any(unknown) {
        return None;
    }
    let mut pieces = vec![String::new()];
    for (index, word) in words.iter().enumerate() {
        let last = pieces.last_mut()?;
        if index > 0 {
            last.push(' ');
        }
        match word {
            Word::Dynamic { pattern: false, source } => {
                last.push_str(name_of_option(source));
                pieces.push(String::new());
            }
            Word::Dynamic { source, .. } if known_beginning(source).is_some() => {
                last.push_str(known_beginning(source).unwrap_or_default());
                pieces.push(String::new());
            }
            Word::Literal(text) if index == 0 => last.push_str(text.rsplit('/').next().unwrap_or_default()),
            Word::Literal(text) | Word::Dynamic { source: text, .. } => last.push_str(text),
        }
    }
    Some(pieces)
}

/// git's subcommand and what follows: `git -C x -c a=b push` is a push.
fn without_git_options(rest: &[Word]) -> &[Word] {
    let mut rest = rest;
    while let Some((option, behind)) = rest.split_first() {
        rest = match front("git", option) {
            Front::Word => break,
            Front::Valued => behind.get(1..).unwrap_or_default(),
            Front::Flag | Front::Either => behind,
        };
    }
    rest
}

/// Whether it is a `git config` that does not only look.
pub(super) fn changes_git_configuration(command: &Command) -> bool {
    let reads = matches!(command.class, CommandClass::ReadOnly | CommandClass::ReadOnlyGit);
    command.program_name() == Some("git")
        && !reads
        && command
            .words
            .get(1..)
            .and_then(|rest| without_git_options(rest).split_first())
            .is_some_and(|(sub, rest)| sub.literal() == Some("config") && !only_shows_configuration(rest))
}

/// Whether the words after `git config` only show something: `--get x`, `--global --list`, or one name alone.
fn only_shows_configuration(rest: &[Word]) -> bool {
    let Some(texts) = rest.iter().map(Word::literal).collect::<Option<Vec<_>>>() else {
        return false;
    };
    let place = |text: &str| {
        matches!(
            text,
            "--global"
                | "--local"
                | "--system"
                | "--worktree"
                | "--show-origin"
                | "--show-scope"
                | "--bool"
                | "--int"
                | "--path"
                | "-z"
                | "--null"
                | "--name-only"
                | "--includes"
                | "--no-includes"
        )
    };
    // Another file than git's own.
    let mut of_file = false;
    let named = texts.into_iter().filter(|text| {
        let value = std::mem::replace(&mut of_file, matches!(*text, "-f" | "--file" | "--blob"));
        !value && !of_file && !text.starts_with("--file=") && !text.starts_with("--blob=")
    });
    let named: Vec<&str> = named.collect();
    let mut rest = named.into_iter().filter(|text| !place(text));
    match rest.next() {
        Some("get" | "list" | "-l" | "--list") => true,
        Some(text) if text.starts_with("--get") => true,
        // Names hold a dot: `edit` is none.
        Some(name) if !name.starts_with('-') && name.contains('.') => rest.next().is_none(),
        _ => false,
    }
}

fn unique(mut texts: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    texts.retain(|text| seen.insert(text.clone()));
    texts
}

/// Whether a command is what the analysis guesses behind a name that is the output of another command: `$(printf r)m -rf x`.
///
/// A guess is no certainty, so a deny for it asks. Only what stands nowhere in the line in these words counts as a guess:
/// a command that is really there keeps its deny, whatever stands beside it.
pub(super) fn is_guess(line: &str, analysis: &Analysis, command: &Command) -> bool {
    let behind = |text: &str| {
        text.split_once([' ', '\t'])
            .map_or(String::new(), |(_, rest)| rest.to_owned())
    };
    command.seen_through.is_empty()
        && !line.contains(command.text.as_str())
        && analysis.opaque.iter().any(|opaque| {
            let name = opaque.text.split(['\t', '\n']).next().unwrap_or_default();
            opaque.reason == OpaqueReason::DynamicProgram
                && opaque.seen_through.is_empty()
                && (name.starts_with("$(") || name.starts_with('`'))
                && opaque.text.ends_with(&behind(&command.text))
        })
}

/// Whether a pattern covers a command, in the sense of the effect that carries it.
pub(crate) fn matches_command(pattern: &TextPattern, command: &Command, effect: Effect) -> bool {
    let texts = if effect == Effect::Allow {
        narrow(command)
    } else {
        wide(command, ROOM)
    };
    texts.iter().any(|text| pattern.matches(text))
        || (effect != Effect::Allow && has_options_of(pattern, command, &without_options(command, ROOM)))
}

/// Whether a command has the options that a deny or ask names behind its words, in whatever order.
///
/// `spelled` are its arguments without some of the options in front ([`without_options`]).
pub(super) fn has_options_of(pattern: &TextPattern, command: &Command, spelled: &[Vec<Word>]) -> bool {
    let Some(set) = pattern.option_set() else {
        return false;
    };
    let Some(name) = command.program_name() else {
        return false;
    };
    let rest = command.words.get(1..).unwrap_or_default();
    let letters = crate::shell::globals::letters(name);
    let covers = |rest: &[Word]| {
        // A word that is not known is none of them: what it may become is asked elsewhere.
        let texts = rest.iter().map(|word| word.literal().unwrap_or_default());
        let words: Vec<&str> = std::iter::once(name).chain(texts).collect();
        set.covers(&words, letters)
    };
    covers(rest) || (name == "git" && covers(without_git_options(rest))) || spelled.iter().any(|rest| covers(rest))
}

/// A command's arguments in other words, and without some of the options in front, as many as have room.
pub(super) fn without_options(command: &Command, room: usize) -> Vec<Vec<Word>> {
    let name = command.program_name().unwrap_or_default();
    let rest = command.words.get(1..).unwrap_or_default();
    let mut all = spelled::without_options(name, rest, room).spellings;
    for other in synonyms::others(name, rest) {
        all.extend(spelled::without_options(name, &other, room).spellings);
        all.push(other);
    }
    all
}

/// Whether a command has more spellings than have room, so that what [`wide`] gives is not all.
pub(super) fn has_more(command: &Command, room: usize) -> bool {
    let name = command.program_name().unwrap_or_default();
    let rest = command.words.get(1..).unwrap_or_default();
    spelled::without_options(name, rest, room).too_many || spelled::with_options_first(name, rest, room).too_many
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::Assignment;

    fn command(text: &str, words: &[&str], assigned: &[(&str, &str)]) -> Command {
        let words = words.iter().map(|word| Word::Literal((*word).to_owned())).collect();
        Command {
            assignments: assigned
                .iter()
                .map(|(name, value)| Assignment {
                    name: (*name).to_owned(),
                    value: Word::Literal((*value).to_owned()),
                    below: false,
                    texts: Vec::new(),
                })
                .collect(),
            ..Command::of_words(text.to_owned(), words)
        }
    }

    proptest::proptest! {
        /// A command that has one text only has no others.
        #[test]
        fn a_plain_command_has_the_texts_that_any_has(line in "(git|git push|ls|if|a/b|A=1)[ \t]{1,2}[-af+:'=.*/ ]{0,8}") {
            let context = crate::shell::ShellContext { cwd: crate::AbsPath::root(), home: None };
            let analysis = crate::shell::analyse(&line, &context, crate::shell::Limits::default());
            for command in &analysis.commands {
                proptest::prop_assert_eq!(narrow(command), all_narrow(command));
                proptest::prop_assert_eq!(wide(command, ROOM), all_wide(command, ROOM));
            }
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
        let run = command("npm run dev", &["npm", "run", "dev"], &[("HOST", "1")]);
        assert!(covers("HOST=1 npm run dev", &run, Effect::Allow));
        assert!(!covers("npm run dev", &run, Effect::Allow));
        assert!(covers("npm run dev", &run, Effect::Deny));
    }
}
