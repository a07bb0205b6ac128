//! Reads the text of a rule, and refuses what could never match.
//!
//! A rule that never matches is worse than none: its author believes in it. Each refusal says what to write instead.

use std::ops::Range;

use super::{HostPattern, Matcher, McpPattern, ParameterPattern, PathVerb, SkillPattern, TextPattern};
use crate::{
    Effect,
    path::{PathPattern, PatternSense},
};

/// A text that is no rule, or a rule that could never match.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InvalidRule {
    /// The faulty bytes of the text.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
}

/// A rule's text, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParsedRule {
    /// It covers this.
    Covers(Matcher),
    /// `Read(!pattern)`: earlier path rules of the same list do not cover this.
    Exception {
        /// Of rules for which verb.
        verb: PathVerb,
        /// What they do not cover.
        pattern: PathPattern,
    },
}

/// Longest rule, in bytes: longer than any command that people write down, short enough to match in no time.
const MAX_RULE_BYTES: usize = 4096;

/// Input fields of the shell tool that a rule may name; any other word before a colon is part of a command (`npm run test:unit`).
const SHELL_FIELDS: [&str; 4] = [
    "run_in_background",
    "timeout",
    "description",
    "dangerouslyDisableSandbox",
];
/// The same for subagents, whose types may hold a colon.
const AGENT_FIELDS: [&str; 7] = [
    "model",
    "subagent_type",
    "isolation",
    "run_in_background",
    "description",
    "prompt",
    "name",
];
/// Fields that a rule's own form already speaks about.
const MAIN_FIELDS: [&str; 8] = [
    "command",
    "file_path",
    "path",
    "pattern",
    "url",
    "query",
    "skill",
    "notebook_path",
];

/// Tools whose names people write in another case than theirs.
const KNOWN_TOOLS: [&str; 15] = [
    "Bash",
    "Read",
    "Edit",
    "Write",
    "Delete",
    "WebFetch",
    "WebSearch",
    "Agent",
    "Skill",
    "Glob",
    "Grep",
    "MultiEdit",
    "NotebookEdit",
    "Task",
    "LS",
];

/// The widest rule that a text may have meant which is none: every use of its tool. `None` if no tool can be told.
#[must_use]
pub(crate) fn widest(text: &str, effect: Effect) -> Option<String> {
    let tool = text.split('(').next().unwrap_or_default().trim();
    let known = KNOWN_TOOLS.iter().find(|known| known.eq_ignore_ascii_case(tool));
    let server = tool.strip_prefix("mcp__").map(|rest| {
        let server = rest.split("__").next().unwrap_or_default();
        // A server with a wildcard may be any.
        if server.is_empty() || server.contains('*') {
            "mcp__*".to_owned()
        } else {
            format!("mcp__{server}")
        }
    });
    let rule = match known {
        Some(known) => (*known).to_owned(),
        None => server.unwrap_or_else(|| tool.to_owned()),
    };
    parse(&rule, effect).is_ok().then_some(rule)
}

/// Reads a rule that is to carry `effect`: an allow is read narrowly, a deny or ask widely.
///
/// # Errors
/// With the span of the faulty words.
pub fn parse(text: &str, effect: Effect) -> Result<ParsedRule, InvalidRule> {
    let all = 0..text.len();
    if text.trim().is_empty() {
        return Err(invalid(
            all,
            "the rule is empty",
            Some("write `Tool` or `Tool(specifier)`, such as `Bash(git log *)`"),
        ));
    }
    if text.len() > MAX_RULE_BYTES {
        return Err(invalid(all, "the rule is longer than 4096 bytes", None));
    }
    if text.trim() != text {
        return Err(invalid(
            all,
            "a rule has no blanks around it",
            Some(&format!("write `{}`", text.trim())),
        ));
    }
    let Some(open) = text.find('(') else {
        return bare(text, effect).map(ParsedRule::Covers);
    };
    let (tool, rest) = text.split_at_checked(open).unwrap_or((text, ""));
    let Some(inner) = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else {
        return Err(invalid(
            open..text.len(),
            "the rule does not end with `)`",
            Some("close the bracket; nothing may follow it"),
        ));
    };
    if tool.is_empty() {
        return Err(invalid(
            all,
            "no tool stands before `(`",
            Some("write `Tool(specifier)`, such as `Bash(git log *)`"),
        ));
    }
    if tool.trim_end() != tool {
        return Err(invalid(
            tool.trim_end().len()..open,
            "no blank may stand before `(`: the rule would never match",
            Some(&format!("write `{}({inner})`", tool.trim_end())),
        ));
    }
    if inner.trim().is_empty() {
        return Err(invalid(
            open..text.len(),
            "the brackets are empty: the rule would never match",
            Some(&format!("write `{tool}` for every use of the tool")),
        ));
    }
    check_tool_name(tool, effect)?;
    let at = open + 1;
    specified(tool, inner, at, effect)
}

fn invalid(span: Range<usize>, message: &str, hint: Option<&str>) -> InvalidRule {
    InvalidRule {
        span,
        message: message.to_owned(),
        hint: hint.map(str::to_owned),
    }
}

/// Old names of tools.
fn current_name(tool: &str) -> &str {
    match tool {
        "Task" => "Agent",
        "KillShell" => "TaskStop",
        "Shell" | "Terminal" | "Process" => "Bash",
        other => other,
    }
}

fn check_tool_name(tool: &str, effect: Effect) -> Result<(), InvalidRule> {
    let span = 0..tool.len();
    if tool.starts_with("mcp__") {
        return Ok(());
    }
    if let Some((at, c)) = tool
        .char_indices()
        .find(|(_, c)| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*' | '.' | ':')))
    {
        return Err(invalid(
            at..at + c.len_utf8(),
            &format!("`{c}` cannot stand in the name of a tool"),
            None,
        ));
    }
    if tool.contains('*') && effect == Effect::Allow {
        return Err(invalid(
            span,
            "an allow names its tool: `*` may only stand after `mcp__<server>__`",
            Some("write one rule per tool"),
        ));
    }
    if let Some(right) = KNOWN_TOOLS
        .iter()
        .find(|name| name.eq_ignore_ascii_case(tool) && **name != tool)
    {
        return Err(invalid(
            span,
            &format!("names of tools have their case: `{tool}` would never match"),
            Some(&format!("write `{right}`")),
        ));
    }
    Ok(())
}

fn bare(tool: &str, effect: Effect) -> Result<Matcher, InvalidRule> {
    if let Some(body) = tool.strip_prefix("mcp__") {
        return mcp(body, effect);
    }
    check_tool_name(tool, effect)?;
    let path = |verb| Matcher::Path { verb, pattern: None };
    Ok(match current_name(tool) {
        "*" => Matcher::EveryTool,
        "Bash" => Matcher::Shell(TextPattern::parse("*")),
        "Read" => path(PathVerb::Read),
        "Edit" => path(PathVerb::Edit),
        "Delete" => path(PathVerb::Delete),
        "WebFetch" => Matcher::Fetch(None),
        "WebSearch" => Matcher::WebSearch(None),
        "Agent" => Matcher::Agent(None),
        "Skill" => Matcher::Skill(SkillPattern::Every),
        other if other.contains('*') => Matcher::Tools(TextPattern::parse(other)),
        other => Matcher::Tool(other.to_owned()),
    })
}

fn mcp(body: &str, effect: Effect) -> Result<Matcher, InvalidRule> {
    let span = 0..body.len() + "mcp__".len();
    if body.is_empty() || body.starts_with("__") {
        return Err(invalid(
            span,
            "the rule names no MCP server",
            Some("write `mcp__<server>` or `mcp__<server>__<tool>`"),
        ));
    }
    let pattern = McpPattern::parse(body);
    if effect == Effect::Allow && pattern.server_key().is_none() {
        return Err(invalid(
            span,
            "an allow names its MCP server: `*` may only stand after `mcp__<server>__`",
            Some("write one rule per server, such as `mcp__github__*`"),
        ));
    }
    if body.ends_with("__") {
        return Err(invalid(
            span,
            "no tool is named after the server: the rule would never match",
            Some(&format!(
                "write `mcp__{}` for all its tools",
                body.trim_end_matches('_')
            )),
        ));
    }
    Ok(Matcher::Mcp(pattern))
}

/// `at` is where `inner` begins in the rule's text.
fn specified(tool: &str, inner: &str, at: usize, effect: Effect) -> Result<ParsedRule, InvalidRule> {
    let span = at..at + inner.len();
    let covers = |matcher| Ok(ParsedRule::Covers(matcher));
    match current_name(tool) {
        "Bash" => shell(inner, at, effect).map(ParsedRule::Covers),
        "Read" | "Grep" | "Glob" | "LS" | "NotebookRead" => path(tool, PathVerb::Read, inner, at, effect),
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" | "ApplyPatch" | "EditLines" => {
            path(tool, PathVerb::Edit, inner, at, effect)
        }
        "Delete" => path(tool, PathVerb::Delete, inner, at, effect),
        "WebFetch" => match inner.strip_prefix("domain:") {
            Some(host) => {
                let host_at = at + "domain:".len();
                let pattern = HostPattern::parse(host).map_err(|(inner, message, hint)| InvalidRule {
                    span: host_at + inner.start..host_at + inner.end,
                    message,
                    hint,
                })?;
                covers(Matcher::Fetch(Some(pattern)))
            }
            None => {
                let host = inner.split_once("://").map_or(inner, |(_, rest)| rest);
                let host = host.split('/').next().unwrap_or_default();
                Err(invalid(
                    span,
                    "a rule for fetching names a host by `domain:`",
                    Some(&format!("write `WebFetch(domain:{host})`")),
                ))
            }
        },
        "WebSearch" => covers(Matcher::WebSearch(Some(TextPattern::glob(inner)))),
        "Agent" => match parameter(inner).filter(|(name, _)| AGENT_FIELDS.contains(name)) {
            Some(field) => with_parameter("Agent", field, span, effect),
            None if inner == "*" => covers(Matcher::Agent(None)),
            None if inner.contains('*') => Err(invalid(
                span,
                "`*` has no meaning in the type of an agent",
                Some("write `Agent` for every type, or one rule per type"),
            )),
            None => covers(Matcher::Agent(Some(inner.to_owned()))),
        },
        "Skill" => skill(inner, span).map(ParsedRule::Covers),
        other => match parameter(inner) {
            Some(field) => with_parameter(other, field, span, effect),
            None => Err(invalid(
                span,
                &format!("`{other}` takes no specifier: the rule would never match"),
                Some(&format!("write `{other}`, or `{other}(field:value)` in deny and ask")),
            )),
        },
    }
}

/// `name:value` with a name as input fields have it.
fn parameter(inner: &str) -> Option<(&str, &str)> {
    let (name, value) = inner.split_once(':')?;
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(word) && !value.is_empty()).then_some((name, value))
}

fn with_parameter(
    tool: &str,
    (name, value): (&str, &str),
    span: Range<usize>,
    effect: Effect,
) -> Result<ParsedRule, InvalidRule> {
    if effect == Effect::Allow {
        return Err(invalid(
            span,
            "a rule on a field of the input cannot allow: the other fields stay unseen",
            Some("use it in deny or ask"),
        ));
    }
    if MAIN_FIELDS.contains(&name) {
        return Err(invalid(
            span,
            &format!("the field `{name}` is what the tool's own rules are about: this form has no effect"),
            Some("write the value itself, such as `Bash(rm *)` or `Read(secrets/**)`"),
        ));
    }
    // `:*` is no ending here: the value of a field holds colons as they come.
    let value = if value.contains('*') && !value.ends_with(":*") {
        TextPattern::parse(value)
    } else {
        TextPattern::exact(value)
    };
    Ok(ParsedRule::Covers(Matcher::Parameter(Box::new(ParameterPattern {
        tool: tool.to_owned(),
        name: name.to_owned(),
        value,
    }))))
}

fn skill(inner: &str, span: Range<usize>) -> Result<Matcher, InvalidRule> {
    if inner == "*" {
        return Ok(Matcher::Skill(SkillPattern::Every));
    }
    if let Some(prefix) = inner.strip_suffix(":*") {
        return Ok(Matcher::Skill(SkillPattern::Prefix(format!("{prefix}:"))));
    }
    let name = inner.strip_suffix(" *").unwrap_or(inner);
    if name.is_empty() {
        return Err(invalid(
            span,
            "the name of the skill is missing: the rule would never match",
            Some("write `Skill` for every skill"),
        ));
    }
    if name.contains('*') {
        return Err(invalid(
            span,
            "`*` may only stand at the end of a skill's name, after a blank or a colon",
            Some("write `Skill(name)`, `Skill(name *)` or `Skill(group:*)`"),
        ));
    }
    Ok(Matcher::Skill(SkillPattern::Name(name.to_owned())))
}

fn path(tool: &str, verb: PathVerb, inner: &str, at: usize, effect: Effect) -> Result<ParsedRule, InvalidRule> {
    let own = matches!(tool, "Read" | "Edit" | "Delete");
    if !own && effect == Effect::Allow {
        let right = if verb == PathVerb::Read { "Read" } else { "Edit" };
        return Err(invalid(
            0..tool.len(),
            &format!("`{tool}(…)` has no effect as an allow"),
            Some(&format!("write `{right}({inner})`, which covers it")),
        ));
    }
    let sense = match effect {
        Effect::Allow => PatternSense::Narrow,
        Effect::Ask | Effect::Deny => PatternSense::Wide,
    };
    let (negated, text, text_at) = match inner.strip_prefix('!') {
        Some(rest) => (true, rest, at + 1),
        None => (false, inner, at),
    };
    let sense = if negated { sense.opposite() } else { sense };
    let pattern = PathPattern::parse(text, sense).map_err(|fault| InvalidRule {
        span: text_at + fault.span.start..text_at + fault.span.end,
        message: fault.message,
        hint: fault.hint,
    })?;
    Ok(if negated {
        ParsedRule::Exception { verb, pattern }
    } else {
        ParsedRule::Covers(Matcher::Path {
            verb,
            pattern: Some(pattern),
        })
    })
}

fn shell(inner: &str, at: usize, effect: Effect) -> Result<Matcher, InvalidRule> {
    let trimmed = inner.trim_start();
    let at = at + inner.len() - trimmed.len();
    let span = at..at + trimmed.len();
    if let Some(field) = parameter(trimmed) {
        if SHELL_FIELDS.contains(&field.0) {
            return with_parameter("Bash", field, span, effect).map(|parsed| match parsed {
                ParsedRule::Covers(matcher) => matcher,
                ParsedRule::Exception { .. } => Matcher::EveryTool,
            });
        }
        if field.0 == "command" {
            return Err(invalid(
                span,
                "`command:` has no effect: `Bash(…)` is about the command already",
                Some(&format!("write `Bash({})`", field.1)),
            ));
        }
    }
    if trimmed == ":*" {
        return Err(invalid(
            span,
            "no command stands before `:*`: the rule would never match",
            Some("write `Bash`"),
        ));
    }
    if let Some(colon) = trimmed.find(":*").filter(|colon| colon + 2 != trimmed.len()) {
        return Err(invalid(
            at + colon..at + colon + 2,
            "`:*` only stands at the end: here the colon is a character like any other, and the rule would never match",
            Some(&format!("write `Bash({})`", trimmed.replacen(":*", " *", 1))),
        ));
    }
    if let Some((offset, length, what)) = operator(trimmed) {
        return Err(invalid(
            at + offset..at + offset + length,
            &format!("{what}: every command of a line is compared alone, so the rule would never match"),
            Some(if what.contains("redirect") {
                "write a rule for the command, and `Edit(path)` or `Read(path)` for the file"
            } else {
                "write one rule per command"
            }),
        ));
    }
    Ok(Matcher::Shell(TextPattern::parse(trimmed)))
}

/// An operator outside quotes, which no single command can hold: offset, length, and its name.
fn operator(text: &str) -> Option<(usize, usize, &'static str)> {
    let mut quote = None;
    let mut chars = text.char_indices().peekable();
    let mut before = ' ';
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (None | Some('"'), '\\') => {
                chars.next();
            }
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '\n') => return Some((at, 1, "a line end")),
            (None, ';') => return Some((at, 1, "`;`")),
            (None, '|') => return Some((at, 1, "`|`")),
            (None, '&') if before != '>' && before != '<' => return Some((at, 1, "`&`")),
            (None, '>' | '<') => return Some((at, 1, "a redirection")),
            (None, _) => {}
        }
        before = c;
    }
    None
}

#[cfg(test)]
mod tests;
