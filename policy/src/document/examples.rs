//! Examples beside a rule (`match`, `not_match`), checked when the document is read: authors learn before agents do.

use crate::{
    AbsPath, Effect,
    path::Anchors,
    rule::{Matcher, Rule, host_of},
    shell::{self, Limits, ShellContext},
};

/// Whether a rule covers an example: a command, a path, an address, or a tool's name. `None`: rules of this kind take no
/// examples.
pub(crate) fn covers(rule: &Rule, example: &str) -> Option<bool> {
    let workspace = AbsPath::parse("/workspace").ok()?;
    let home = AbsPath::parse("/home/user").ok()?;
    Some(match &rule.matcher {
        Matcher::Shell(pattern) => {
            if pattern.matches(example) {
                return Some(true);
            }
            let context = ShellContext {
                cwd: workspace,
                home: Some(home),
            };
            let analysis = shell::analyse(example, &context, Limits::default());
            let mut parts = analysis.commands.iter().filter(|command| !command.words.is_empty());
            let matches = |command: &shell::Command| crate::evaluate::matches_command(pattern, command, rule.effect);
            if rule.effect == Effect::Allow {
                // An allow covers a line if it covers each of its parts.
                !analysis.commands.is_empty() && parts.all(matches)
            } else {
                parts.any(matches)
            }
        }
        Matcher::Path { pattern, .. } => {
            let anchors = Anchors {
                document: workspace.clone(),
                home: Some(home.clone()),
                cwd: workspace.clone(),
                root: workspace.clone(),
            };
            let path = match example.strip_prefix("~/") {
                Some(rest) => home.join(rest),
                None => workspace.join(example),
            };
            pattern.as_ref().is_none_or(|pattern| pattern.matches(&path, &anchors))
                && !rule
                    .exceptions
                    .iter()
                    .any(|exception| exception.matches(&path, &anchors))
        }
        Matcher::Fetch(pattern) => match (pattern, host_of(example)) {
            (None, _) => true,
            (Some(pattern), Some(host)) => pattern.matches(&host),
            (Some(_), None) => false,
        },
        Matcher::Mcp(pattern) => {
            let (server, tool) = example.strip_prefix("mcp__")?.split_once("__")?;
            if rule.effect == Effect::Allow {
                pattern.covers(server, tool)
            } else {
                pattern.touches(server, tool)
            }
        }
        Matcher::Skill(pattern) => pattern.matches(example),
        Matcher::Agent(kind) => kind.as_deref().is_none_or(|kind| kind == example),
        Matcher::Tool(name) => name == example,
        Matcher::Tools(pattern) => pattern.matches(example),
        Matcher::EveryTool | Matcher::WebSearch(_) | Matcher::Parameter(_) => return None,
    })
}
