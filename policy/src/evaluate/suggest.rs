//! Rules that would allow a call from now on ("always"), as narrow as is useful, and what each of them would match.
//!
//! First the rule for exactly this command; then, for programs and subcommands whose further words change nothing that
//! matters, the rule with those words free. Which these are is data ([`FREE`], [`FREE_PROGRAMS`]): a program that is missing
//! costs a narrower rule, one that is listed wrongly costs more. So what installs, publishes, deploys, deletes or takes
//! code as an argument is missing on purpose, and so are `make` and its kin, whose words can be variables that run programs.
//!
//! No rule is suggested for a wrapper, for code given to an interpreter, or for a command with an option that runs another
//! program: whoever wants such a rule has to write it.

use crate::{
    DocumentOrigin, Effect, Layer, PolicyDocument,
    document::covers,
    redact,
    rule::{Matcher, ParsedRule, parse},
    shell::{self, Assignment, Command, CommandClass, Word, interpreters, quote},
};

use super::{texts, told};

/// Programs with the subcommands whose further words may be free. `?` stands for one plain word, such as a script's name.
const FREE: &[(&str, &[&str])] = &[
    ("bun", &["run ?", "test"]),
    (
        "cargo",
        &[
            "bench",
            "build",
            "check",
            "clippy",
            "doc",
            "fmt",
            "metadata",
            "nextest run",
            "test",
            "tree",
            "xtask ?",
        ],
    ),
    ("deno", &["check", "fmt", "lint", "task ?"]),
    (
        "docker",
        &["compose logs", "compose ps", "images", "inspect", "logs", "ps"],
    ),
    (
        "gh",
        &[
            "issue list",
            "issue view",
            "pr checks",
            "pr diff",
            "pr list",
            "pr status",
            "pr view",
            "repo view",
            "run list",
            "run view",
        ],
    ),
    ("git", &["add", "commit", "fetch", "merge", "pull", "switch"]),
    ("go", &["build", "list", "mod tidy", "mod verify", "test", "vet"]),
    ("golangci-lint", &["run"]),
    ("helm", &["lint", "list", "status", "template"]),
    ("kubectl", &["describe", "get", "logs", "top"]),
    ("npm", &["ls", "outdated", "run ?", "run-script ?", "test", "view"]),
    ("pip", &["check", "list", "show"]),
    ("pnpm", &["list", "outdated", "run ?", "test"]),
    ("poetry", &["check", "show"]),
    ("ruff", &["check", "format"]),
    ("rustup", &["show"]),
    ("terraform", &["fmt", "plan", "validate"]),
    ("tofu", &["fmt", "plan", "validate"]),
    ("uv", &["lock", "pip list", "pip show", "tree"]),
    ("yarn", &["build", "lint", "list", "run ?", "test"]),
];

/// Programs all of whose words may be free: they test, check or format what the project holds, or make names.
const FREE_PROGRAMS: &[&str] = &[
    "biome",
    "black",
    "clang-format",
    "eslint",
    "gofmt",
    "isort",
    "jest",
    "mkdir",
    "mocha",
    "mypy",
    "phpunit",
    "prettier",
    "pylint",
    "pyright",
    "pytest",
    "rspec",
    "rubocop",
    "rustfmt",
    "shellcheck",
    "shfmt",
    "stylelint",
    "touch",
    "tsc",
    "vitest",
];

/// Programs that run a text or a file as a program of their own language; a rule with free words would cover all code.
const INTERPRETERS: &[&str] = &[
    "bash",
    "bun",
    "deno",
    "fish",
    "ipython",
    "ksh",
    "powershell",
    "pwsh",
    "sh",
    "tsx",
    "ts-node",
    "zsh",
];

/// Programs and subcommands that run other programs, or commands elsewhere, besides the wrappers of the shell analysis.
pub(crate) const RUNNERS: &[&str] = &[
    "bunx",
    "docker compose exec",
    "docker compose run",
    "docker exec",
    "docker run",
    "kubectl exec",
    "kubectl run",
    "npm exec",
    "npx",
    "parallel",
    "pipx run",
    "pnpm dlx",
    "pnpm exec",
    "podman exec",
    "podman run",
    "ssh",
    "su",
    "uv run",
    "uvx",
    "watch",
    "yarn dlx",
];

/// Longest rule that is suggested, in bytes: a person has to read it.
const MAX_RULE: usize = 500;

/// Rules for one command, narrowest first. None for one with words that are only known at run time, or one that no rule
/// should be suggested for.
pub(super) fn command(command: &Command) -> Vec<String> {
    if !command.assignments.is_empty() {
        return with_assignments(command).into_iter().collect();
    }
    if command.class == CommandClass::Wrapper
        || command.escape_option().is_some()
        || command.executing_option().is_some()
    {
        return Vec::new();
    }
    let Some(words) = command.words.iter().map(Word::literal).collect::<Option<Vec<&str>>>() else {
        return Vec::new();
    };
    let program = command.program_name().unwrap_or_default();
    if takes_code(command, &words) || shell::always_wraps(program) || runs_another(&words) {
        return Vec::new();
    }
    let line = quote(&words);
    let mut out = Vec::new();
    if !line.contains('*') {
        out.push(format!("Bash({line})"));
    }
    out.extend(free(&words).map(|fixed| format!("Bash({}:*)", quote(fixed))));
    out.retain(|rule| {
        rule.len() <= MAX_RULE
            && !rule.contains('\n')
            && matches!(
                parse(rule, Effect::Allow),
                Ok(ParsedRule::Covers(Matcher::Shell(pattern))) if pattern.matches(&line)
            )
    });
    out
}

/// The rule for exactly this command with its variables, none of which holds a secret or changes what runs.
fn with_assignments(command: &Command) -> Option<String> {
    let tame = |assignment: &Assignment| {
        let value = assignment.value.literal();
        let hidden = |value: &str| {
            let written = format!("{}={value}", assignment.name);
            redact::text(&written) != written || redact::text(value) != value
        };
        !shell::changes_what_runs(&assignment.name) && value.is_some_and(|value| !hidden(value))
    };
    let bare = Command {
        assignments: Vec::new(),
        ..command.clone()
    };
    // What has no rule of its own has none with variables either.
    let own = self::command(&bare);
    let exact = own.first().filter(|rule| !rule.contains('*'))?;
    let line = exact.strip_prefix("Bash(")?.strip_suffix(')')?;
    let text = texts::narrow(command).into_iter().find(|text| text.ends_with(line))?;
    let rule = format!("Bash({text})");
    let covers = match parse(&rule, Effect::Allow) {
        Ok(ParsedRule::Covers(Matcher::Shell(pattern))) => pattern.is_exact() && pattern.matches(&text),
        _ => false,
    };
    let readable = rule.len() <= MAX_RULE && !rule.contains('\n') && redact::text(&text) == text;
    (covers && readable && command.assignments.iter().all(tame)).then_some(rule)
}

/// Whether a program is one that runs what it is given as a program.
pub(crate) fn is_interpreter(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or_default();
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&plain) || interpreters::is_language(plain)
}

/// Whether a command hands code to an interpreter in its words: `python3 -c …`, `node -e …`. A file that is named, or a
/// module (`-m`), is no such word.
fn takes_code(command: &Command, words: &[&str]) -> bool {
    let first = words.get(1).copied().unwrap_or_default();
    command.program().is_some_and(is_interpreter) && first.starts_with('-') && !matches!(first, "-m" | "--version")
}

/// Whether words run another program.
fn runs_another(words: &[&str]) -> bool {
    let by_table = |runner: &&str| {
        let fixed: Vec<&str> = runner.split(' ').collect();
        words.starts_with(&fixed)
    };
    told::runs_another(words) || RUNNERS.iter().any(by_table)
}

/// The words that stay fixed, where those behind them may be free.
fn free<'w, 'a>(words: &'w [&'a str]) -> Option<&'w [&'a str]> {
    let (program, rest) = words.split_first()?;
    if rest.is_empty() {
        return None;
    }
    if FREE_PROGRAMS.contains(program) {
        return words.get(..1);
    }
    let (_, subcommands) = FREE.iter().find(|(name, _)| name == program)?;
    let fits = |subcommand: &&&str| {
        let mut fixed = subcommand.split(' ');
        let length = subcommand.split(' ').count();
        rest.len() >= length
            && rest
                .iter()
                .zip(&mut fixed)
                .all(|(word, fixed)| *word == fixed || fixed == "?" && is_plain(word))
    };
    let subcommand = subcommands.iter().find(fits)?;
    words.get(..=subcommand.split(' ').count())
}

/// A word that is a name, and no option and no path that leads elsewhere.
fn is_plain(word: &str) -> bool {
    let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
    !word.is_empty() && !word.starts_with(['-', '.']) && word.chars().all(name)
}

/// What a rule would match, by example.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examples {
    /// Calls that it covers.
    pub covers: Vec<String>,
    /// Calls near by that it does not cover.
    pub leaves: Vec<String>,
}

/// Most examples of each kind.
const MAX_EXAMPLES: usize = 3;

/// Examples of what an allow rule covers and what it does not, each checked against the rule itself; `None` if the text is
/// no allow rule that examples can be found for.
#[must_use]
pub fn examples(rule: &str) -> Option<Examples> {
    let origin = DocumentOrigin {
        layer: Layer::Local,
        name: String::new(),
        folder: None,
    };
    let (document, _) = PolicyDocument::from_agent_rules(&[rule.to_owned()], &[], &[], origin);
    let allow = document.rules.first()?;
    let mut out = Examples::default();
    for candidate in candidates(rule, &allow.matcher) {
        let list = if covers(allow, &candidate)? {
            &mut out.covers
        } else {
            &mut out.leaves
        };
        if list.len() < MAX_EXAMPLES && !list.contains(&candidate) {
            list.push(candidate);
        }
    }
    Some(out)
}

/// Calls that are worth showing, on either side of a rule.
fn candidates(rule: &str, matcher: &Matcher) -> Vec<String> {
    let inner = rule
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'))
        .unwrap_or(rule);
    match matcher {
        Matcher::Shell(_) => {
            let base = inner
                .trim_end_matches(":*")
                .trim_end_matches(" *")
                .trim_end_matches('*');
            let shorter = base.rsplit_once(' ').map(|(before, _)| before.to_owned());
            let other = shorter.as_ref().map(|before| format!("{before} other"));
            let texts = [
                Some(base.to_owned()),
                Some(format!("{base} --verbose")),
                Some(format!("{base} x y")),
                Some(format!("{base}-other")),
                other,
                shorter,
                Some(format!("{base} && rm -rf x")),
            ];
            texts.into_iter().flatten().filter(|text| !text.is_empty()).collect()
        }
        Matcher::Path { .. } => {
            let path = inner.trim_start_matches("./");
            let path = if path.starts_with("//") {
                path.get(1..).unwrap_or(path)
            } else {
                path
            };
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let base = path.trim_end_matches("/**").trim_end_matches("/*");
            let beside = if folder.is_empty() && path.starts_with('/') {
                "/other".to_owned()
            } else if folder.is_empty() {
                "other".to_owned()
            } else {
                format!("{folder}/other")
            };
            vec![base.to_owned(), format!("{base}/below"), beside, format!("{base}.bak")]
        }
        Matcher::Fetch(_) => {
            let host = inner.trim_start_matches("domain:").trim_start_matches("*.");
            vec![
                format!("https://{host}/"),
                format!("https://{host}/any/page"),
                format!("https://sub.{host}/"),
                format!("https://{host}.evil.example/"),
            ]
        }
        Matcher::Mcp(_) => {
            let mut names = rule.trim_start_matches("mcp__").splitn(2, "__");
            let server = names.next().unwrap_or_default();
            let tool = names.next().unwrap_or("any_tool").replace('*', "x");
            vec![
                format!("mcp__{server}__{tool}"),
                format!("mcp__{server}__{tool}_other"),
                format!("mcp__other__{tool}"),
            ]
        }
        Matcher::Skill(_) | Matcher::Agent(_) => vec![inner.to_owned(), format!("{inner}-other")],
        Matcher::Tool(name) => vec![name.clone(), format!("{name}Other")],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
