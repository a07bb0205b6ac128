//! Allows that cover far more than they seem to.

use super::{Code, contain};
use crate::{
    Rule,
    evaluate::suggest,
    rule::{Matcher, PathVerb},
    shell,
};

/// Programs whose first word says what is done, some of it harmless and some not.
const WITH_SUBCOMMANDS: &[&str] = &[
    "apt",
    "aws",
    "az",
    "brew",
    "cargo",
    "docker",
    "gcloud",
    "gh",
    "git",
    "helm",
    "kubectl",
    "npm",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "poetry",
    "rustup",
    "systemctl",
    "terraform",
    "tofu",
    "uv",
    "yarn",
];

/// Programs that send what they are told to wherever they are told.
const NETWORK: &[&str] = &[
    "curl", "ftp", "nc", "ncat", "netcat", "rsync", "scp", "sftp", "socat", "telnet", "wget",
];

type Judgement = (Code, String, String);

/// Whether an allow is too broad, why, and what to write instead.
pub(super) fn judge(rule: &Rule) -> Option<Judgement> {
    match &rule.matcher {
        Matcher::Shell(_) => contain::words_of(rule).and_then(command),
        Matcher::Path { verb, pattern: None } => {
            let verb = match verb {
                PathVerb::Read => "reading",
                PathVerb::Edit => "changing",
                PathVerb::Delete => "deleting",
            };
            let reason = format!("the rule allows {verb} every file that this person can reach");
            Some((Code::Everything, reason, "name a folder, such as `./src/**`".to_owned()))
        }
        Matcher::Path {
            pattern: Some(pattern),
            verb: PathVerb::Edit | PathVerb::Delete,
        } if matches!(pattern.text(), "//**" | "~/**" | "//" | "~" | "~/") => {
            let reason = "the rule allows changing every file there, startup files and programs among them";
            let fix = "name a folder, such as `./src/**`";
            Some((Code::Everything, reason.to_owned(), fix.to_owned()))
        }
        Matcher::Fetch(None) => {
            let reason = "the rule allows fetching from every host, which carries data there, too";
            let fix = "name hosts, such as `WebFetch(domain:docs.example.com)`";
            Some((Code::Everything, reason.to_owned(), fix.to_owned()))
        }
        _ => None,
    }
}

/// Whether an allow runs whatever code it is given.
pub(super) fn runs_any_code(rule: &Rule) -> bool {
    let broad = || judge(rule).map(|(code, ..)| code);
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
    if program.contains('*') {
        let reason = match program.strip_suffix('*').filter(|before| !before.contains('*')) {
            Some(before) => format!("the rule allows every program whose name begins with `{before}`"),
            None => "the rule allows any program that is followed by these words".to_owned(),
        };
        let fix = "write the program's name in full, and a blank before `*`".to_owned();
        return Some((Code::WildcardInProgram, reason, fix));
    }
    let rest: Vec<&str> = parts.collect();
    let free = rest.first().is_some_and(|word| word.starts_with('*'));
    let name = program.rsplit('/').next().unwrap_or_default();
    if suggest::is_interpreter(name) && free {
        let reason = format!("the rule allows all code that `{name}` can run, `{name} -c …` and its like among it");
        let fix = format!("name the script or module, such as `Bash({name} build.py)`");
        return Some((Code::Interpreter, reason, fix));
    }
    let runs = |runner: &&&str| {
        let fixed: Vec<&str> = runner.split(' ').collect();
        let own: Vec<&str> = std::iter::once(name).chain(rest.iter().copied()).collect();
        own.starts_with(&fixed) && own.get(fixed.len()).is_some_and(|word| word.starts_with('*'))
    };
    if let Some(runner) = suggest::RUNNERS.iter().find(runs) {
        let reason = format!("the rule allows whatever `{runner}` runs");
        let fix = format!("name what it runs, such as `Bash({runner} tool:*)`");
        return Some((Code::Wrapper, reason, fix));
    }
    if shell::always_wraps(name) && free {
        let reason = format!(
            "`{name}` runs other programs; the rule is about the wrapper, and allows what runs as somebody else"
        );
        let fix = "write rules for the commands that it runs: they are seen behind it".to_owned();
        return Some((Code::Wrapper, reason, fix));
    }
    if WITH_SUBCOMMANDS.contains(&name) && free {
        return Some(if rest.len() == 1 && rest.first() == Some(&"*") {
            let reason =
                format!("the rule allows every subcommand of `{name}`, those that publish and delete among them");
            let fix = format!("name the subcommand, such as `Bash({name} status:*)`");
            (Code::EverySubcommand, reason, fix)
        } else {
            let reason = format!("`*` stands before the subcommand of `{name}`, so the rule covers every one of them");
            let fix = format!(
                "write the subcommand first, such as `Bash({name} checkout {})`",
                rest.last().unwrap_or(&"main")
            );
            (Code::WildcardBeforeSubcommand, reason, fix)
        });
    }
    if NETWORK.contains(&name) && free {
        let reason = format!("the rule allows `{name}` to send anything anywhere");
        let fix = format!("name the address, such as `Bash({name} https://api.example.com/health)`");
        return Some((Code::Network, reason, fix));
    }
    None
}
