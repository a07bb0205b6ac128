//! Words of commands inside code, and code that runs what it reads: `run(["git", "push"])`, `awk '{system($0)}' <<< 'curl x'`, a
//! console that is given `!curl x`.
//!
//! No language is read here. Quoted words between which nothing but the signs of a list stands are taken for one, and a text that
//! reaches code which runs something is compared with rules as commands are. It asks, and never allows anything.

use crate::shell::{Analysis, Command, CommandClass, Context, Word, interpreters};

use super::{
    listed::producers,
    mentioned::Mention,
    told::{CALLS, interpreter, is_code, is_fed, takes_program_from_input, words},
    world::World,
};

/// Most commands whose words are taken for a text that code reads.
const MOST_PRODUCERS: usize = 64;
/// Most lines of a console's input that are looked at.
const MOST_LINES: usize = 4096;
/// Most words of a list in code that are compared with rules.
const MAX_LISTED: usize = 64;
/// What words of code stand in.
const QUOTES: [char; 3] = ['\'', '"', '`'];
/// Consoles of languages that are no interpreters of scripts.
const CONSOLES: &[&str] = &[
    "bpython", "ghci", "iex", "ipython", "ipython3", "irb", "jshell", "pry", "psysh", "ptpython",
];
/// Words of code, beside `CALLS`, by which it may run what it reads.
const OBEYS: &[&str] = &["eval", "getline", "| $", "|$"];

/// The texts on the input of a command that it may run: of code that runs something, and of consoles.
pub(super) fn obeyed_input(line: &str, analysis: &Analysis, index: usize, command: &Command) -> Vec<String> {
    let console = is_console_of_code(command);
    if !console && !interpreter(command) {
        return Vec::new();
    }
    let given = analysis
        .inputs
        .get(&index)
        .and_then(Option::as_deref)
        .unwrap_or_default();
    let mut out = Vec::new();
    if (console || is_fed(line, command)) && !given.is_empty() {
        let shells: Vec<&str> = given.lines().take(MOST_LINES).filter_map(of_a_shell).collect();
        // `%%bash`, and what runs programs in the language itself.
        if given.contains("%%") || CALLS.iter().any(|call| given.contains(call)) {
            out.push(given.to_owned());
        }
        out.extend(shells.into_iter().map(str::to_owned));
    }
    if !is_code_that_runs(command) {
        return out;
    }
    if !given.is_empty() {
        out.push(given.to_owned());
    }
    // What goes through several pipes, or is given to what stands around.
    out.extend(producers(analysis, index).into_iter().take(MOST_PRODUCERS).map(joined));
    if given.is_empty() && line.contains("<<") {
        out.push(line.to_owned());
    }
    if line.contains("<(") {
        let printing = analysis.commands.iter().filter(|other| prints(other));
        out.extend(printing.take(MOST_PRODUCERS).map(joined));
    }
    out
}

/// What commands print into the pipes in front of a command, as far as their words say it.
pub(super) fn printed_in_front(analysis: &Analysis, index: usize) -> Vec<String> {
    let producers = producers(analysis, index).into_iter().take(MOST_PRODUCERS);
    producers.filter(|producer| prints(producer)).map(joined).collect()
}

/// The program text of a command that takes it from its input, where that is no here-document: through a pipe, from `< <(…)`.
pub(super) fn piped_program(analysis: &Analysis, index: usize, command: &Command) -> Vec<String> {
    if !takes_program_from_input(command) {
        return Vec::new();
    }
    let given = analysis.inputs.get(&index).cloned().flatten();
    let reads = analysis.redirected.contains(&index);
    let substituted = analysis.commands.iter().skip(index + 1);
    let substituted = substituted
        .take_while(|inner| reads && inner.is_substituted_in(command))
        .filter(|inner| prints(inner))
        .take(MOST_PRODUCERS)
        .map(joined);
    let printed = printed_in_front(analysis, index);
    given.into_iter().chain(printed).chain(substituted).collect()
}

/// The words of a call of a function that hands its parameters to an interpreter as code: `f() { python3 -c "$1"; }; f '…'`.
pub(super) fn handed_to_code(analysis: &Analysis, command: &Command) -> Vec<String> {
    let Some(name) = command.program().filter(|_| command.class == CommandClass::Function) else {
        return Vec::new();
    };
    let given = |word: &Word| matches!(word, Word::Dynamic { source, .. } if source.contains('$'));
    let within = |inner: &&Command| {
        let is_its =
            |context: &Context| matches!(context, Context::Group(label) if label.strip_suffix("()") == Some(name));
        inner.seen_through.iter().any(is_its)
    };
    let hands_on = |inner: &Command| interpreter(inner) && inner.words.iter().any(given);
    let calls = |word: &&str| CALLS.iter().any(|call| word.contains(call));
    let texts = words(command).filter(calls).map(str::to_owned).collect::<Vec<_>>();
    let taken = !texts.is_empty() && analysis.commands.iter().filter(within).any(hands_on);
    if taken { texts } else { Vec::new() }
}

/// The settings that a command reads from its input: `curl -K -`.
pub(super) fn configured_by_input(analysis: &Analysis, index: usize, command: &Command) -> Option<String> {
    let told = |word: &str| matches!(word, "-K-" | "--config=-" | "-K" | "--config");
    let reads = command.program_name() == Some("curl") && words(command).any(told);
    analysis.inputs.get(&index).filter(|_| reads).cloned().flatten()
}

/// Whether a program prints its words, or what it is given.
fn prints(command: &Command) -> bool {
    matches!(command.program_name(), Some("cat" | "echo" | "printf" | "tee"))
}

fn joined(command: &Command) -> String {
    let words: Vec<&str> = words(command).collect();
    words.join(" ")
}

/// What a line of a console's gives to a shell: `!x`, `a = !x`, `%sx x`, `.x` of pry, `;x` of julia.
fn of_a_shell(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let magic = line.strip_prefix('%').map(|rest| rest.trim_start_matches('%'));
    if let Some((_, rest)) = magic.and_then(|rest| rest.split_once(char::is_whitespace)) {
        return Some(rest.trim());
    }
    let behind = line
        .split_once('=')
        .map(|(_, value)| value.trim_start())
        .filter(|value| value.starts_with('!'));
    let text = behind.unwrap_or(line);
    let rest = text.trim_start_matches(['!', '.', ';']);
    (rest.len() < text.len()).then(|| rest.trim())
}

/// Whether the words of an interpreter hold code that runs programs: `perl -ne 'system $_'`.
fn is_code_that_runs(command: &Command) -> bool {
    let code = |word: &str| {
        is_code(word)
            || word.contains(char::is_whitespace)
            || word.contains('{')
            || matches!(word, "eval" | "exec" | "system")
    };
    let calls = |word: &str| CALLS.iter().chain(OBEYS).any(|call| word.contains(call));
    interpreter(command) && words(command).any(|word| code(word) && calls(word))
}

/// Whether a program is a console that runs its input as code: `ipython`, `python manage.py shell`.
fn is_console_of_code(command: &Command) -> bool {
    let name = command.program_name().unwrap_or_default();
    let frame = interpreters::is_language(name)
        || matches!(
            name,
            "deno" | "jupyter" | "rails" | "mix" | "symfony" | "flask" | "django-admin"
        );
    let verb = |word: &str| matches!(word, "c" | "console" | "repl" | "shell" | "shell_plus" | "tinker");
    let module = |word: &str| CONSOLES.contains(&word.to_ascii_lowercase().as_str());
    // `python -m code`
    let own: Vec<&str> = words(command).take(8).collect();
    let own_console = || own.windows(2).any(|pair| matches!(pair, ["-m", "asyncio" | "code"]));
    CONSOLES.contains(&name)
        || (frame && own_console())
        || (frame && words(command).take(8).any(|word| verb(word) || module(word)))
}

impl World<'_> {
    /// A deny or ask on commands that lists of words in code are a case for: `run(["git", "push"])`, `system("git", "push")`.
    pub(super) fn listed_in_code(&self, told: &[String]) -> Option<Mention> {
        let (mut deny, mut ask, mut too_many) = (None, None, false);
        for text in told {
            let quotes = quotes(text);
            for at in 0..quotes.len() {
                let words: Vec<&str> = list(text, &quotes, at).take(MAX_LISTED).collect();
                let Some((name, rest)) = words.split_first().filter(|(_, rest)| !rest.is_empty()) else {
                    continue;
                };
                let name = name.rsplit('/').next().unwrap_or_default();
                if !self.is_named(name) {
                    continue;
                }
                if !self.one_word_more() {
                    too_many = true;
                    break;
                }
                let (own_deny, own_ask) = self.rule_on_texts(std::iter::once(name).chain(rest.iter().copied()));
                deny = deny.or(own_deny);
                ask = ask.or(own_ask);
            }
        }
        deny.or(ask)
            .map(Mention::Of)
            .or_else(|| too_many.then_some(Mention::TooMany))
    }
}

/// The quotes of a text by their places, each with the number of the next of its kind.
fn quotes(text: &str) -> Vec<(usize, Option<usize>)> {
    let mut found: Vec<(usize, Option<usize>)> = text.match_indices(QUOTES).map(|(at, _)| (at, None)).collect();
    let mut behind = [None; QUOTES.len()];
    for (number, (at, next)) in found.iter_mut().enumerate().rev() {
        let kind = QUOTES
            .iter()
            .position(|quote| text.get(*at..).is_some_and(|text| text.starts_with(*quote)));
        if let Some(last) = kind.and_then(|kind| behind.get_mut(kind)) {
            *next = last.replace(number);
        }
    }
    found
}

/// Whether nothing but the signs of a list, and comments, stands between two words.
fn joins(between: &str) -> bool {
    let is_sign = |c: char| c.is_whitespace() || ",[({:=>*.".contains(c);
    // `b'push'`, `rf'push'`.
    let between = between.trim_end_matches(['B', 'F', 'R', 'U', 'b', 'f', 'r', 'u']);
    let mut rest = between.trim_start_matches(is_sign);
    // `['git'] + ['push']`
    if let Some(more) = rest
        .strip_prefix(']')
        .and_then(|more| more.trim_start().strip_prefix('+'))
    {
        rest = more.trim_start_matches(is_sign);
    }
    loop {
        let comment = rest.strip_prefix('#').or_else(|| rest.strip_prefix("//"));
        let behind = match comment {
            Some(comment) => comment.split_once('\n').map(|(_, behind)| behind),
            None => rest
                .strip_prefix("/*")
                .and_then(|comment| Some(comment.split_once("*/")?.1)),
        };
        match behind {
            Some(behind) => rest = behind.trim_start_matches(is_sign),
            None => break,
        }
    }
    let named = rest.strip_prefix("args").or_else(|| rest.strip_prefix("argv"));
    named.unwrap_or(rest).chars().all(is_sign)
}

/// The quoted words from one quote on, between which nothing but the signs of a list stands. Any quote may begin one: an apostrophe
/// in front (`don't`) takes none away. Of three quotes two are an empty word, which is left out.
fn list<'t>(text: &'t str, quotes: &[(usize, Option<usize>)], first: usize) -> impl Iterator<Item = &'t str> {
    let (mut at, mut before) = (first, None);
    let words = std::iter::from_fn(move || {
        let (open, close) = quotes.get(at).and_then(|(open, close)| Some((*open, (*close)?)))?;
        if before.is_some_and(|before| !text.get(before..open).is_some_and(joins)) {
            return None;
        }
        let end = quotes.get(close)?.0;
        at = close + 1;
        before = Some(end + 1);
        text.get(open + 1..end)
    });
    words.filter(|word: &&str| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_list_in_code_belong_together() {
        let lists = |text| {
            let quotes = quotes(text);
            let lists = (0..quotes.len()).map(|at| list(text, &quotes, at).collect::<Vec<_>>());
            lists.filter(|list| list.len() > 1).collect::<Vec<_>>()
        };
        for (text, words) in [
            ("run([\"git\",\"push\"])", vec!["git", "push"]),
            ("run(['git',\n  'push'])", vec!["git", "push"]),
            ("spawn(\"git\",[\"push\"])", vec!["git", "push"]),
            ("new Deno.Command(\"git\",{args:[\"push\"]})", vec!["git", "push"]),
            ("execvp('git', ['git', 'push'])", vec!["git", "git", "push"]),
            ("system \"git\", \"push\"", vec!["git", "push"]),
            ("run([b'git', rf'push'])", vec!["git", "push"]),
            ("# don't\nrun(['git', 'push'])", vec!["git", "push"]),
            ("run(['git', '''push'''])", vec!["git", "push"]),
            ("run(['git', # x\n'push'])", vec!["git", "push"]),
            ("spawn('git', /* x */ ['push'])", vec!["git", "push"]),
            ("spawn('git', // x\n [...['push']])", vec!["git", "push"]),
            ("run(['git'] + ['push'])", vec!["git", "push"]),
            ("run(['git', 'push']) # the users' own", vec!["git", "push"]),
        ] {
            assert_eq!(lists(text).first(), Some(&words), "{text}");
        }
        assert!(lists("print('git'); f('push')").is_empty());
        assert!(lists("f('git') + g('push')").is_empty());
    }
}
