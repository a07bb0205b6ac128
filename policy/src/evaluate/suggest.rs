//! Rules that would allow a call from now on: exactly this command, and this command with other arguments.

use crate::{
    Effect,
    rule::{Matcher, ParsedRule, parse},
    shell::{Command, Word, quote},
};

/// Programs whose first argument names what is done, so that `prog sub *` means one thing.
const WITH_SUBCOMMANDS: &[&str] = &[
    "bun",
    "cargo",
    "deno",
    "docker",
    "dotnet",
    "gh",
    "git",
    "go",
    "gradle",
    "helm",
    "just",
    "kubectl",
    "make",
    "mvn",
    "npm",
    "pip",
    "pnpm",
    "poetry",
    "rustup",
    "terraform",
    "uv",
    "yarn",
];

/// Rules for one command, narrowest first. None for one with words that are only known at run time, or one that a rule
/// cannot be written for.
pub(super) fn command(command: &Command) -> Vec<String> {
    if !command.assignments.is_empty() {
        return Vec::new();
    }
    let Some(words) = command.words.iter().map(Word::literal).collect::<Option<Vec<&str>>>() else {
        return Vec::new();
    };
    let mut out = Vec::new();
    let exact = quote(&words);
    if !exact.contains('*') {
        out.push(format!("Bash({exact})"));
    }
    if let [program, sub, rest @ ..] = words.as_slice()
        && !rest.is_empty()
        && WITH_SUBCOMMANDS.contains(program)
        && sub.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        && !sub.starts_with('-')
    {
        out.push(format!("Bash({program} {sub} *)"));
    }
    let line = exact;
    out.retain(|rule| {
        rule.len() <= 500
            && !rule.contains('\n')
            && matches!(
                parse(rule, Effect::Allow),
                Ok(ParsedRule::Covers(Matcher::Shell(pattern))) if pattern.matches(&line)
            )
    });
    out
}
