//! Allows that cover far more than they seem to, or that read as if they did.
//!
//! What a wrapper runs and what an option executes is not always covered by a rule that names them (decision 0033). Where it
//! is not, the rule still looks as if it allowed everything, and an agent that does not look behind the words takes it so:
//! that is found, too, and the reason says which of the two it is. Files are the business of [`places`](super::places).

use super::{Code, contain, places};
use crate::{
    AbsPath, Rule,
    evaluate::suggest,
    rule::Matcher,
    shell::{self, Command, Limits, ShellContext, acts},
};

/// Programs whose first word says what is done, some of it harmless and some not; with words that are harmless, for advice.
const WITH_SUBCOMMANDS: &[(&str, &str)] = &[
    ("apt", "list"),
    ("aws", "sts get-caller-identity"),
    ("az", "account show"),
    ("brew", "list"),
    ("cargo", "test"),
    ("docker", "ps"),
    ("gcloud", "config list"),
    ("gh", "pr view"),
    ("git", "status"),
    ("helm", "list"),
    ("kubectl", "get"),
    ("npm", "run lint"),
    ("pip", "list"),
    ("pip3", "list"),
    ("pnpm", "run lint"),
    ("podman", "ps"),
    ("poetry", "check"),
    ("rustup", "show"),
    ("systemctl", "status"),
    ("terraform", "plan"),
    ("tofu", "plan"),
    ("uv", "tree"),
    ("yarn", "run lint"),
];

/// Programs that send what they are told to wherever they are told.
const NETWORK: &[(&str, &str)] = &[
    ("curl", "https://api.example.com/health"),
    ("ftp", "files.example.com"),
    ("nc", "-z db.example.com 5432"),
    ("ncat", "-z db.example.com 5432"),
    ("netcat", "-z db.example.com 5432"),
    ("rsync", "-a dist/ build.example.com:/srv/www/"),
    ("scp", "dist/app.tar build.example.com:/srv/"),
    ("sftp", "files.example.com"),
    ("socat", "- TCP:db.example.com:5432"),
    ("telnet", "db.example.com 5432"),
    ("wget", "https://example.com/data.json"),
];

/// Interpreters: letters of their options that take code, whole words that do, and the name of a script of theirs.
const LANGUAGES: &[Language] = &[
    language(&["bash", "dash", "fish", "ksh", "sh", "zsh"], "c", &[], "build.sh"),
    language(&["python", "pypy", "ipython"], "c", &[], "build.py"),
    language(
        &["node", "nodejs", "bun", "tsx", "ts-node"],
        "ep",
        &["--eval", "--print"],
        "build.js",
    ),
    language(&["deno"], "", &["eval", "run", "repl"], "task build"),
    language(&["perl"], "eE", &[], "build.pl"),
    language(&["ruby"], "e", &[], "build.rb"),
    language(&["php"], "r", &["--run"], "build.php"),
    language(&["lua", "luajit"], "e", &[], "build.lua"),
    language(&["R", "Rscript"], "e", &[], "build.R"),
    language(&["julia"], "eE", &["--eval", "--print"], "build.jl"),
    language(&["osascript"], "e", &[], "build.scpt"),
    language(
        &["powershell", "pwsh"],
        "c",
        &["-Command", "-command", "-EncodedCommand", "-enc"],
        "build.ps1",
    ),
    language(
        &["awk", "gawk", "mawk", "nawk"],
        "e",
        &["--source"],
        "-f report.awk data.txt",
    ),
];

/// How an interpreter is given code.
struct Language {
    names: &'static [&'static str],
    letters: &'static str,
    words: &'static [&'static str],
    script: &'static str,
}

const fn language(
    names: &'static [&'static str],
    letters: &'static str,
    words: &'static [&'static str],
    script: &'static str,
) -> Language {
    Language {
        names,
        letters,
        words,
        script,
    }
}

/// Shells, whose code is read: what it runs needs rules of its own.
const SHELLS: &[&str] = &["bash", "dash", "ksh", "sh", "zsh"];

/// Most words of a wrapper's name, subcommands included.
const LONGEST_NAME: usize = 4;

/// Wrappers that raise rights: a rule has to name the program behind them.
const RAISERS: &[&str] = &["doas", "gosu", "pkexec", "run0", "runuser", "setpriv", "su", "sudo"];

/// Stands for what a star stands for where a pattern is looked at as a command. No program has this name.
const ANYTHING: &str = "zz-anything";

/// All programs of which the tables know something, for tests of what is suggested.
#[cfg(test)]
pub(super) static PROGRAMS: std::sync::LazyLock<Vec<&str>> = std::sync::LazyLock::new(|| {
    let tables = WITH_SUBCOMMANDS.iter().chain(NETWORK).map(|(name, _)| *name);
    let languages = LANGUAGES.iter().flat_map(|language| language.names).copied();
    tables.chain(languages).collect()
});

type Judgement = (Code, String, String);

/// Whether an allow is too broad, why, and what to write instead.
pub(super) fn judge(rule: &Rule) -> Option<Judgement> {
    match &rule.matcher {
        Matcher::Shell(_) => {
            let words = contain::words_of(rule)?;
            command(words).or_else(|| places::words(words))
        }
        Matcher::Path { verb, pattern } => places::judge(*verb, pattern.as_ref()),
        Matcher::Fetch(None) => {
            let reason = "the rule allows fetching from every host, which carries data there, too";
            let fix = "name hosts, such as `WebFetch(domain:docs.example.com)`";
            Some((Code::Everything, reason.to_owned(), fix.to_owned()))
        }
        Matcher::Fetch(Some(host)) => hosts(host.text()),
        _ => None,
    }
}

/// Hosts without number: all, or all below a label that nobody owns.
fn hosts(pattern: &str) -> Option<Judgement> {
    let mut labels = pattern.rsplit('.');
    let last = labels.next().unwrap_or_default();
    let open = |label: &str| !label.is_empty() && label.bytes().all(|byte| byte == b'*');
    let fix = "name hosts, such as `WebFetch(domain:docs.example.com)`".to_owned();
    if last.contains('*') {
        let what = if open(last) {
            "every host"
        } else {
            "hosts under many top-level domains"
        };
        let reason = format!("the rule allows fetching from {what}, which carries data there, too");
        return Some((Code::Everything, reason, fix));
    }
    let below: Vec<&str> = labels.collect();
    let all_below = !below.is_empty() && below.iter().all(|label| label.contains('*'));
    let named = below.iter().any(|label| label.chars().any(char::is_alphanumeric));
    (all_below && !named).then(|| {
        let reason = format!("the rule allows fetching from every host below `{last}`, whoever owns it");
        (Code::Everything, reason, fix)
    })
}

/// Whether an allow runs whatever code it is given.
pub(super) fn runs_any_code(rule: &Rule) -> bool {
    let broad = || contain::words_of(rule).and_then(command).map(|(code, ..)| code);
    rule.effect == crate::Effect::Allow
        && matches!(&rule.matcher, Matcher::Shell(_))
        && matches!(broad(), Some(Code::Everything | Code::Interpreter))
}

fn command(words: &str) -> Option<Judgement> {
    let words = words
        .strip_suffix(":*")
        .map_or_else(|| words.to_owned(), |before| format!("{before} *"));
    if words.trim_matches(['*', ' ']).is_empty() {
        let reason = "the rule allows every command".to_owned();
        return Some((
            Code::Everything,
            reason,
            "allow the commands that are meant, one rule each".to_owned(),
        ));
    }
    if !words.contains('*') {
        return None;
    }
    let mut parts = words.split(' ');
    let program = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    if program.contains('*') {
        let fixed = rest.iter().any(|word| !word.trim_matches('*').is_empty());
        let reason = match program.strip_suffix('*') {
            Some(before) if !before.is_empty() && !before.contains('*') => {
                format!("the rule allows every program whose name begins with `{before}`")
            }
            _ if program.trim_matches('*').is_empty() && fixed => {
                format!("the rule allows any program that is followed by `{}`", rest.join(" "))
            }
            _ => format!("the rule allows every program whose name, with what follows, fits `{program}`"),
        };
        let fix = "write the program's name in full, and a blank before `*`".to_owned();
        return Some((Code::WildcardInProgram, reason, fix));
    }
    let name = program.rsplit('/').next().unwrap_or_default();
    let free = rest.first().is_some_and(|word| word.starts_with('*'));
    if matches!(name, "." | "source") && free {
        let reason = format!("the rule allows running every file as a script of the shell: `{name}` does what it says");
        let fix = format!("name the script, such as `Bash({name} venv/bin/activate)`");
        return Some((Code::Interpreter, reason, fix));
    }
    if suggest::is_interpreter(name)
        && let Some(judgement) = interpreter(name, &rest)
    {
        return Some(judgement);
    }
    // As a command: each star is some word.
    let context = ShellContext {
        cwd: AbsPath::root(),
        home: None,
    };
    let analysis = shell::analyse(&words.replace('*', ANYTHING), &context, Limits::default());
    let outer = analysis.commands.first();
    if let Some(judgement) = outer.and_then(|command| executing(name, command)) {
        return Some(judgement);
    }
    let mut behind = analysis.commands.iter().skip(1);
    let seen = Behind {
        free: analysis.commands.iter().any(is_anything),
        // Behind a subcommand: `poetry run *`. What runs in a container of a known image is another matter.
        inner: behind.any(|command| is_anything(command) && !command.remote),
        // `time` is a word of the shell: no command has it.
        needs_own_rule: name == "parallel"
            || outer.is_none_or(|command| command.is_plain_wrapper() || command.program_name() != Some(name)),
    };
    if let Some(judgement) = wrapper(name, &rest, &seen) {
        return Some(judgement);
    }
    if let Some(why) = acts::console_reason(name) {
        let reason = format!(
            "the rule allows what `{name}` is told, whatever that is, and it can run programs of its own: {why}; an option that does \
             is not covered"
        );
        let fix = format!("write the whole command without `*`, or let `{name}` ask");
        return Some((Code::Interpreter, reason, fix));
    }
    if let Some((_, example)) = WITH_SUBCOMMANDS.iter().find(|(own, _)| *own == name && free) {
        return Some(subcommand(name, &rest, example));
    }
    if let Some(verb) = shell::verb_that_wraps(name).filter(|_| free) {
        let reason = format!(
            "the rule allows every subcommand of `{name}`, `{name} {verb}` among them, which runs the program that is named after it"
        );
        let fix = format!(
            "name the subcommand that is meant, and leave the `*` to its arguments: `Bash({name} <subcommand> *)`"
        );
        return Some((Code::EverySubcommand, reason, fix));
    }
    if let Some((_, example)) = NETWORK.iter().find(|(own, _)| *own == name && free) {
        let reason = format!("the rule allows `{name}` to send anything anywhere");
        let fix = format!("name the address, such as `Bash({name} {example})`");
        return Some((Code::Network, reason, fix));
    }
    None
}

/// What stands behind a wrapper.
struct Behind {
    /// Any program does.
    free: bool,
    /// Any program does, and one that is named stands in front of it.
    inner: bool,
    /// Whatever it is, a rule on the wrapper does not cover it.
    needs_own_rule: bool,
}

/// Whether a command's program is what a star stands for.
fn is_anything(command: &Command) -> bool {
    command.program().is_some_and(|program| program.starts_with(ANYTHING))
}

/// Whether a word is an option after which code stands.
fn takes_code(language: &Language, word: &str) -> bool {
    let cluster = word
        .strip_prefix('-')
        .filter(|letters| letters.chars().all(|c| c.is_ascii_alphabetic()));
    language.words.contains(&word)
        || language
            .words
            .iter()
            .any(|long| word.strip_prefix(long).is_some_and(|rest| rest.starts_with('=')))
        || cluster.is_some_and(|letters| letters.ends_with(|last| language.letters.contains(last)))
}

/// A star where an interpreter looks for code, a module or a script.
fn interpreter(name: &str, rest: &[&str]) -> Option<Judgement> {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let language = LANGUAGES.iter().find(|language| language.names.contains(&plain));
    let fix = match language {
        Some(language) => format!("name the script or module, such as `Bash({name} {})`", language.script),
        None => format!("name what `{name}` is to run, and leave the `*` to its arguments"),
    };
    let found = |reason: String| Some((Code::Interpreter, reason, fix.clone()));
    for (at, word) in rest.iter().enumerate() {
        if word.starts_with('*') {
            return found(match rest.get(..at).map(|before| before.join(" ")) {
                Some(before) if before == "-m" => format!("the rule allows every module that `{name}` can find"),
                _ => format!("the rule allows all code that `{name}` can run, whatever file or option it is given by"),
            });
        }
        if let Some(language) = language
            && takes_code(language, word)
        {
            // `bash -c *`: the text is read, and what it runs is judged.
            if SHELLS.contains(&plain) {
                let reason = format!(
                    "`{name} {word}` runs a line of its own: it reads as if every line were allowed, while each command in it \
                     needs a rule of its own here"
                );
                let fix = "write rules for the commands that are run: they are seen inside the line".to_owned();
                return Some((Code::Wrapper, reason, fix));
            }
            return found(format!(
                "the rule allows all code that `{name}` is given after `{word}`"
            ));
        }
        if !word.starts_with('-') {
            return None;
        }
    }
    None
}

/// An option that runs something, or writes or deletes elsewhere: a rule with a star does not cover it.
fn executing(name: &str, command: &Command) -> Option<Judgement> {
    let option = match (command.escape_option(), command.executing_option()) {
        (Some(option), _) => option,
        (None, Some(option)) => option.to_owned(),
        (None, None) => return None,
    };
    if option.contains(ANYTHING) || option.is_empty() {
        return None;
    }
    let what = command.escape_reason().unwrap_or("runs what it names");
    let reason = format!(
        "`{option}` of `{name}` {what}, and a rule with `*` does not cover that: the rule reads as if it allowed any, and \
         allows no such command"
    );
    let fix = "write the whole command without `*`, or leave the option out".to_owned();
    Some((Code::ExecutingOption, reason, fix))
}

/// A star where a wrapper looks for the program that it runs.
fn wrapper(name: &str, rest: &[&str], seen: &Behind) -> Option<Judgement> {
    let own: Vec<&str> = std::iter::once(name).chain(rest.iter().copied()).collect();
    let open_behind = |fixed: &[&str]| {
        let behind = own.get(fixed.len()..).unwrap_or_default();
        let next = behind.iter().find(|word| !word.starts_with('-'));
        own.starts_with(fixed) && next.is_some_and(|word| word.starts_with('*'))
    };
    let runner = suggest::RUNNERS
        .iter()
        .find(|runner| open_behind(&runner.split(' ').collect::<Vec<_>>()));
    // By its whole name, subcommands included; what stands in front of the program, such as an image, may be open, too.
    let whole =
        (2..=own.len().min(LONGEST_NAME)).find_map(|length| own.get(..length).filter(|words| shell::wraps(words)));
    let whole = whole.filter(|words| open_behind(words)).map(|words| words.join(" "));
    let always = shell::always_wraps(name) && (seen.free || open_behind(&[name]));
    if runner.is_none() && whole.is_none() && !seen.inner && !always {
        return None;
    }
    let runner = runner.copied().or(whole.as_deref()).unwrap_or(name);
    if RAISERS.contains(&name) {
        let reason = format!(
            "`{name}` runs a program with other rights, and only a rule that names the program covers it: this one covers none, \
             though it reads as if it covered all"
        );
        let fix = format!("name the program, such as `Bash({name} systemctl status app)`");
        return Some((Code::Wrapper, reason, fix));
    }
    if seen.needs_own_rule {
        let reason = format!(
            "`{name}` runs the program that is named after it, which needs a rule of its own: the rule reads as if it allowed \
             all, and allows nothing of what is run"
        );
        let fix = "write rules for the commands that it runs: they are seen behind it".to_owned();
        return Some((Code::Wrapper, reason, fix));
    }
    let reason = format!("the rule allows whatever `{runner}` runs");
    let fix = match runner {
        "ssh" => "name the host and the command, such as `Bash(ssh build.example.com uptime)`".to_owned(),
        "npx" | "bunx" | "npm exec" | "pnpm dlx" | "pnpm exec" | "yarn dlx" => {
            format!("name the tool, such as `Bash({runner} tsc:*)`")
        }
        "uvx" | "uv run" | "pipx run" => format!("name the tool, such as `Bash({runner} ruff check:*)`"),
        "docker run" | "podman run" => {
            format!("name the image and the command, such as `Bash({runner} --rm alpine:3.20 uname -a)`")
        }
        _ => format!("name what `{runner}` runs, and leave the `*` to its arguments"),
    };
    Some((Code::Wrapper, reason, fix))
}

/// Every subcommand, or a star before it.
fn subcommand(name: &str, rest: &[&str], example: &str) -> Judgement {
    if rest.len() == 1 && rest.first() == Some(&"*") {
        let reason = format!("the rule allows every subcommand of `{name}`, those that publish and delete among them");
        let fix = format!("name the subcommand, such as `Bash({name} {example}:*)`");
        return (Code::EverySubcommand, reason, fix);
    }
    let reason = format!("`*` stands before the subcommand of `{name}`, so the rule covers every one of them");
    // `checkout main` makes sense, and `status main` does not.
    let example = if name == "git" { "checkout" } else { example };
    let last = rest.last().filter(|word| !word.contains('*')).map_or("*", |word| word);
    let fix = format!("write the subcommand first, such as `Bash({name} {example} {last})`");
    (Code::WildcardBeforeSubcommand, reason, fix)
}
