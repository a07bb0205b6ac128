//! Commands and files inside texts that a program is told to act on: `perl -e '…'`, `git bisect run …`, `tar
//! --checkpoint-action=exec=…`.
//!
//! Such texts are in languages that are not read here. They are looked through for words that a deny or ask rule is
//! about, or that name a protected path; what is found asks, for it may be a mere mention. It never allows anything.

use crate::{
    AbsPath, Effect,
    mode::ActionClass,
    protected,
    rule::PathVerb,
    shell::{
        Access, Analysis, Command, Word, acts,
        inert::{self, Words},
        interpreters::{self, Interpreter},
    },
};

use super::{coded, files::Cover, mentioned::Mention, part::Part, world::World};

/// What code that runs commands holds, in one of these languages.
pub(super) const CALLS: &[&str] = &[
    "exec",
    "open",
    "popen",
    "run",
    "shell",
    "spawn",
    "subprocess",
    "system",
    "`",
    "%x",
    "qx",
    ".shell",
    ".system",
    "\\!",
    "Command",
    "process",
    "syscmd",
    "os:cmd",
    ".command",
    "| \"",
    ".cmd(",
    "passthru",
    "readpipe",
    "Open3",
    "check_output",
];
/// Lines of a patch that name a file, and what happens to it.
const PATCHED: &[(&str, Access)] = &[
    ("*** Add File: ", Access::Write),
    ("*** Delete File: ", Access::Delete),
    ("*** Move to: ", Access::Write),
    ("*** Update File: ", Access::Write),
];
/// Most places of a text that are looked at.
const MAX_PLACES: usize = 4096;
/// Longest text that is compared with rules, in bytes.
const MAX_BEGINNING: usize = 1024;

impl World<'_> {
    /// A deny or ask on commands that the texts of a command may be a case for.
    ///
    /// A program without a file to run takes its text from the line's here-document, so all of the line is looked through.
    pub(super) fn told_command(
        &self,
        line: &str,
        analysis: &Analysis,
        index: usize,
        command: &Command,
    ) -> Option<Mention> {
        if !self.has_scoped_shell_rule() {
            return None;
        }
        let mut told = told(command);
        told.extend(coded::obeyed_input(line, analysis, index, command));
        if is_fed(line, command) && CALLS.iter().any(|call| line.contains(call)) {
            told.push(line.to_owned());
        }
        let piped = coded::piped_program(analysis, index, command);
        told.extend(
            piped
                .into_iter()
                .filter(|text| CALLS.iter().any(|call| text.contains(call))),
        );
        told.extend(coded::handed_to_code(analysis, command));
        if acts::is_console(command) {
            let given = analysis.inputs.get(&index).and_then(Option::as_deref);
            let printed = coded::printed_in_front(analysis, index);
            let texts = given.into_iter().chain(printed.iter().map(String::as_str));
            told.extend(texts.flat_map(console_commands));
        }
        if acts::is_console(command) && line.contains("<<") {
            told.extend(console_commands(line));
        }
        if about(command).inside && line.contains("<<") {
            told.extend(line.lines().skip(1).take(MAX_PLACES).map(|text| text.trim().to_owned()));
        }
        if told.is_empty() {
            return None;
        }
        if let Some(mention) = self.listed_in_code(&told) {
            return Some(mention);
        }
        let texts: Vec<&str> = told.iter().flat_map(|text| beginnings(text)).collect();
        let ids = self.rules.index().commands(texts.iter().copied());
        let meets = |effect| {
            self.shell_rule(&ids, effect, |pattern| {
                !pattern.is_everything() && texts.iter().any(|text| pattern.matches(text))
            })
        };
        meets(Effect::Deny).or_else(|| meets(Effect::Ask)).map(Mention::Of)
    }

    /// Files that the program text of a command names, where a rule is about them or they are protected. A program
    /// without a file to run takes its text from the line's here-document, so all of the line is looked through.
    pub(super) fn judge_told_files<'c>(
        &'c self,
        line: &'c str,
        analysis: &'c Analysis,
        index: usize,
        command: &'c Command,
    ) -> impl Iterator<Item = Part> + 'c {
        let interprets = interpreter(command);
        let sed = matches!(command.program_name(), Some("sed" | "gsed"));
        let Interpreter {
            foreign,
            editor,
            console,
            ..
        } = *about(command);
        let edits = editor || console;
        // Recipes of make stand in its words: `--eval 'a:;cat x'`.
        let makes = matches!(command.program_name(), Some("bmake" | "gmake" | "make" | "remake"));
        let told = move |word: &&str| {
            foreign
                || (interprets && is_code(word))
                || ((edits || makes) && word.contains(' '))
                || (sed && sed_names_files(word))
        };
        let fed = is_fed(line, command);
        // What an editor or a console is given on its input.
        let given = (edits && !command.told.is_empty()).then_some(command.told.as_str());
        let piped = coded::piped_program(analysis, index, command);
        let configured = coded::configured_by_input(analysis, index, command);
        words(command)
            .filter(told)
            .chain(fed.then_some(line))
            .chain(given)
            .map(std::borrow::Cow::Borrowed)
            .chain(piped.into_iter().chain(configured).map(std::borrow::Cow::Owned))
            .flat_map(|text| names_in(&text))
            .take(MAX_PLACES)
            .filter_map(|text| self.judge_told_file(&text, &self.resolve(&text)?))
            .chain(self.judge_patched(line, command))
    }

    /// Files that a patch in the line changes, if the command is `apply_patch`: they stand inside the text.
    fn judge_patched<'c>(&'c self, line: &'c str, command: &'c Command) -> impl Iterator<Item = Part> + 'c {
        patched(line, command).map(|(access, name)| self.judge_named(name, access, Cover::None))
    }

    fn judge_told_file(&self, text: &str, path: &AbsPath) -> Option<Part> {
        let subject = format!("names {text}");
        if let Some(id) = self.narrowed(path, &self.rules_on(path), &[PathVerb::Read, PathVerb::Edit]) {
            let why = "its program text names this file, which is a case for";
            return Some(Part::perhaps(self, id, subject, why));
        }
        let entry = protected::protects(path, self.rules.protection())?;
        let what = format!("its program text names a protected path: {}", entry.reason);
        Some(Part::by_mode(self, ActionClass::Protected, subject, &what))
    }
}

/// What in a text can be the name of a file.
fn names_in(text: &str) -> Vec<String> {
    let apart = |c: char| !(c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '~'));
    text.split(apart)
        .filter(|name| name.len() > 1 && name.contains(['.', '/']))
        .take(MAX_PLACES)
        .map(str::to_owned)
        .collect()
}

/// Files that a patch in the line changes, and how, if the command is `apply_patch`.
pub(super) fn patched<'c>(line: &'c str, command: &Command) -> impl Iterator<Item = (Access, &'c str)> + use<'c> {
    let patches = matches!(command.program_name(), Some("apply_patch" | "applypatch"));
    // A line of thousands of commands is not looked through for each of them.
    let texts = if patches { line } else { "" };
    texts
        .split(['\n', '\'', '"'])
        .filter_map(|text| {
            PATCHED
                .iter()
                .find_map(|(begin, access)| Some((*access, text.trim_start().strip_prefix(begin)?.trim())))
        })
        .take(MAX_PLACES)
}

pub(super) fn words(command: &Command) -> impl Iterator<Item = &str> {
    command.words.iter().skip(1).filter_map(Word::literal)
}

/// Whether its program text comes from a here-document of the line, or a here-string.
pub(super) fn is_fed(line: &str, command: &Command) -> bool {
    line.contains("<<") && takes_program_from_input(command)
}

/// Whether a program acts on texts and names none in its words but its input.
pub(super) fn takes_program_from_input(command: &Command) -> bool {
    let is_stream = |word: &str| ["/dev/", "/proc/"].iter().any(|folder| word.starts_with(folder));
    let names_input = || words(command).any(|word| word == "-" || is_stream(word));
    interpreter(command) && (names_input() || words(command).all(|word| word.starts_with('-')))
}

/// Whether all of the line is looked through for what a command is told on its input.
pub(super) fn looks_through_line(line: &str, documents: bool, command: &Command) -> bool {
    let patches = matches!(command.program_name(), Some("apply_patch" | "applypatch"));
    patches || documents && (acts::is_console(command) || about(command).inside || is_fed(line, command))
}

/// What the lines of a here-document run, if a program reads its own commands from it.
fn console_commands(line: &str) -> impl Iterator<Item = String> + '_ {
    let quoted = line.split(['\n', '\'', '"', ';']);
    line.lines().chain(quoted).take(MAX_PLACES).filter_map(|text| {
        // A recipe of make.
        if let Some(rest) = text.strip_prefix('\t') {
            return Some(rest.trim_start_matches(['@', '-', '+']).trim_start().to_owned());
        }
        let text = text.trim_start();
        acts::console_call(text).map(|rest| rest.trim_start().to_owned())
    })
}

/// What is known about the program of a command.
fn about(command: &Command) -> &'static Interpreter {
    interpreters::about(command.program_name().unwrap_or_default())
}

pub(super) fn interpreter(command: &Command) -> bool {
    command.program_name().is_some_and(interpreters::acts_on_texts)
}

/// Whether a script of sed reads or writes files: `r file`, `w file`.
fn sed_names_files(script: &str) -> bool {
    script.match_indices(' ').any(|(at, _)| {
        script
            .get(..at)
            .is_some_and(|before| before.ends_with(['r', 'R', 'w', 'W']))
    })
}

/// Whether the words run another program by way of one that is known to: `npx x`, `git bisect run x`. `make` is none: what
/// it is given are targets.
pub(super) fn runs_another(words: &[&str]) -> bool {
    let Some((program, rest)) = words.split_first() else {
        return false;
    };
    let runs = &interpreters::about(program).runs;
    *program != "make" && runs.iter().any(|verbs| rest.starts_with(verbs))
}

/// What a script of sed gives to a shell by the flag `e`: `s/a/rm -rf x/e`.
fn run_by_sed(script: &str) -> Vec<String> {
    let mark = script.split_once('s').and_then(|(_, rest)| rest.chars().next());
    let Some(mark) = mark.filter(|mark| !mark.is_alphanumeric()) else {
        return Vec::new();
    };
    let parts: Vec<&str> = script.split(mark).take(MAX_PLACES).collect();
    let runs = parts.iter().skip(3).any(|flags| {
        let flags = flags.split([';', '}', '\n', ' ']).next().unwrap_or_default();
        flags.contains('e') && flags.chars().all(|c| c.is_ascii_alphanumeric())
    });
    let parts = parts.into_iter().filter(|_| runs);
    parts.map(str::to_owned).collect()
}

pub(super) fn is_code(word: &str) -> bool {
    // Commands of data bases' consoles begin with a dot or a backslash: `.read x`, `\copy t from x`.
    word.contains(['(', '"', '\'', '`', '<', '>']) || (word.starts_with(['.', '\\']) && word.contains(' '))
}

/// The texts of a command that may be commands themselves.
fn told(command: &Command) -> Vec<String> {
    let Some(program) = command.program_name() else {
        return Vec::new();
    };
    let known = interpreters::about(program);
    if interpreter(command) {
        return words(command)
            .filter(|word| is_code(word) || ["%w", "%x", "qx"].iter().any(|quote| word.contains(quote)))
            .filter(|word| CALLS.iter().any(|call| word.contains(call)))
            .flat_map(|word| {
                let quoted = quoted_commands(word);
                std::iter::once(word.to_owned())
                    .chain(console_commands(word))
                    .chain(quoted)
            })
            .collect();
    }
    let mut out = Vec::new();
    if let Some(count) = acts::told_behind(command) {
        let rest: Vec<&str> = words(command).skip(count).collect();
        out.extend(rest.iter().map(|word| (*word).to_owned()));
        let behind = (0..rest.len()).filter(|at| *at == 0 || rest.get(at - 1) == Some(&"--"));
        out.extend(behind.filter_map(|at| Some(rest.get(at..)?.join(" "))));
    }
    if program == "git" {
        // A transport that is a command: `ext::sh -c …`.
        let transports = words(command).filter(|word| word.contains(':'));
        out.extend(transports.filter_map(|word| word.split_once("ext::").map(|(_, run)| run.to_owned())));
    }
    if matches!(program, "sed" | "gsed") {
        out.extend(words(command).flat_map(run_by_sed));
    }
    if matches!(program, "npm" | "pnpm") {
        out.extend(told_to_npm(command));
    }
    let executing = command.executing_option().map(str::to_owned);
    for option in command.escape_option().into_iter().chain(executing) {
        let mut words = words(command);
        while let Some(word) = words.next() {
            if word == option {
                out.extend(words.next().map(str::to_owned));
            } else if let Some(value) = word.strip_prefix(&option) {
                out.push(value.to_owned());
            }
        }
    }
    for verbs in &known.runs {
        let mut rest = words(command);
        if !verbs.iter().all(|verb| rest.next() == Some(*verb)) {
            continue;
        }
        let rest: Vec<&str> = rest.collect();
        // The words of the program behind a wrapper are looked at where that is judged.
        let own = own_words(command).saturating_sub(verbs.len());
        let texts = rest.get(..=own).unwrap_or(&rest);
        out.extend(
            texts
                .iter()
                .filter(|word| word.contains([' ', '=', '\n']))
                .map(|word| (*word).to_owned()),
        );
        // The program is the first operand; an option before it may have a value, and `--` ends them.
        let dashes = rest.iter().position(|word| *word == "--").map(|at| at + 1);
        let operands = (0..rest.len().min(own)).filter(|at| rest.get(*at).is_some_and(|word| !word.starts_with('-')));
        let many = if rest.first().is_some_and(|word| word.starts_with('-')) {
            3
        } else {
            1
        };
        // What `make` is given are targets; only its variables and `--eval` hold commands.
        let many = if program == "make" { 0 } else { many };
        let starts: Vec<usize> = dashes.into_iter().chain(operands.take(many)).collect();
        out.extend(
            starts
                .into_iter()
                .filter_map(|at| rest.get(at..).map(|rest| rest.join(" "))),
        );
    }
    out
}

/// What the quotes of perl and ruby for a command hold: `qx/git push/`, `%x{git push}`.
fn quoted_commands(code: &str) -> Vec<String> {
    let begins = code.match_indices("qx").chain(code.match_indices("%x"));
    let behind = begins.take(MAX_PLACES).filter_map(|(at, quote)| {
        let rest = code.get(at + quote.len()..)?.trim_start();
        let mark = rest.chars().next().filter(|mark| !mark.is_alphanumeric())?;
        let close = match mark {
            '(' => ')',
            '[' => ']',
            '{' => '}',
            '<' => '>',
            other => other,
        };
        rest.get(mark.len_utf8()..)?.split(close).next()
    });
    behind.map(|text| text.trim().to_owned()).collect()
}

/// How many words of a command stand in front of the program that it runs; all, where none is known.
fn own_words(command: &Command) -> usize {
    match inert::words(command) {
        Words::Wrapper(program) if program < command.words.len() => program.saturating_sub(1),
        _ => command.words.len(),
    }
}

/// Options of npm that name a program, without their dashes. It takes them with one dash, too, and cut short.
const OF_NPM: &[&str] = &[
    "browser",
    "editor",
    "git",
    "node-options",
    "script-shell",
    "shell",
    "viewer",
];

/// The values of such options.
fn told_to_npm(command: &Command) -> Vec<String> {
    let mut out = Vec::new();
    let mut words = words(command).take_while(|word| *word != "--").peekable();
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix('-').map(|rest| rest.trim_start_matches('-')) else {
            continue;
        };
        let (name, value) = option
            .split_once('=')
            .map_or((option, None), |(name, value)| (name, Some(value)));
        if name.len() > 2 && OF_NPM.iter().any(|own| own.starts_with(name)) {
            out.extend(value.or_else(|| words.peek().copied()).map(str::to_owned));
        }
    }
    out
}

/// Behind what a command can begin in a text.
const OPENS: &[char] = &['\'', '"', '`', '(', '[', '{', ';', '|', '&', '!', '=', ':', ',', '\n'];

/// Whether all places of a text where a command can begin are looked at.
pub(super) fn is_looked_through(text: &str) -> bool {
    text.matches(OPENS).nth(MAX_PLACES - 1).is_none()
}

/// A text from each place where a command can begin in it, up to where the command can end, and further.
pub(super) fn beginnings(text: &str) -> Vec<&str> {
    let closes = |c: char| matches!(c, '\'' | '"' | '`' | ')' | ';' | '|' | '&' | '\n' | ']' | '}' | '\\');
    let mut out = Vec::new();
    let places = std::iter::once(0).chain(text.match_indices(OPENS).map(|(at, found)| at + found.len()));
    for rest in places.take(MAX_PLACES).filter_map(|at| text.get(at..)) {
        let rest = rest.trim_start();
        let rest = rest.get(..rest.floor_char_boundary(MAX_BEGINNING)).unwrap_or(rest);
        let end = rest.find(closes).unwrap_or(rest.len());
        out.push(rest.trim_end());
        out.extend(rest.get(..end).map(str::trim_end));
        // Makefile text: `$(shell rm x)`.
        out.extend(rest.get(..end).and_then(|text| text.strip_prefix("shell ")));
    }
    out.retain(|text| !text.is_empty());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_costs_no_more_than_its_bounds() {
        let long = "(é".repeat(500_000);
        let found = beginnings(&long);
        assert!(found.len() <= 3 * MAX_PLACES && found.iter().all(|text| text.len() <= MAX_BEGINNING));
    }

    #[test]
    fn a_text_is_looked_at_from_every_place_where_a_command_can_begin() {
        let found = beginnings("import os; os.system(\"rm -rf build\")");
        assert!(found.contains(&"rm -rf build"), "{found:?}");
        assert!(!found.contains(&"-rf build"), "{found:?}");
    }
}
