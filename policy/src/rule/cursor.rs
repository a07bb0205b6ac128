//! Reads rules in Cursor's words: `Shell(base)`, `Shell(base:arguments)`, `Read(glob)`, `Write(glob)`, `WebFetch(host)`,
//! `Mcp(server:tool)`.
//!
//! What they mean is what Cursor's documentation says, as far as it says anything. Where it does not, an allow takes the
//! reading that covers less, or none; a deny takes the one that covers more.

use std::ops::Range;

use super::{HostPattern, InvalidRule, Matcher, McpPattern, PathVerb, TextPattern};
use crate::{
    Effect,
    path::{PathPattern, PatternSense},
};

/// Longest rule, in bytes.
const MAX_RULE_BYTES: usize = 4096;

const TOKENS: [&str; 5] = ["Shell", "Read", "Write", "WebFetch", "Mcp"];

fn invalid(span: Range<usize>, message: impl Into<String>, hint: Option<String>) -> InvalidRule {
    InvalidRule {
        span,
        message: message.into(),
        hint,
    }
}

/// Reads a rule that is to carry `effect`.
pub(super) fn parse(text: &str, effect: Effect) -> Result<Matcher, InvalidRule> {
    let all = 0..text.len();
    let forms = || Some("write `Shell(…)`, `Read(…)`, `Write(…)`, `WebFetch(…)` or `Mcp(…)`".to_owned());
    if text.len() > MAX_RULE_BYTES {
        return Err(invalid(
            all,
            format!("the rule is longer than {MAX_RULE_BYTES} bytes"),
            None,
        ));
    }
    let widens = effect == Effect::Allow;
    let (token, inner, at) = match text.split_once('(') {
        Some((token, rest)) => {
            let Some(inner) = rest.strip_suffix(')') else {
                return Err(invalid(
                    all,
                    "the rule does not end with `)`",
                    Some("close the bracket; nothing may follow it".to_owned()),
                ));
            };
            (token, inner, token.len() + 1)
        }
        // A deny of the bare word means every use; an allow of it is nothing that is documented.
        None if !widens => (text, "*", 0),
        None => return Err(invalid(all, format!("`{text}` names nothing in brackets"), forms())),
    };
    let exact = TOKENS.iter().find(|known| **known == token);
    let close = TOKENS.iter().find(|known| known.eq_ignore_ascii_case(token.trim()));
    let token_span = 0..token.len();
    let token = match (exact, close) {
        (Some(token), _) => *token,
        (None, Some(token)) if !widens => *token,
        (None, Some(right)) => {
            return Err(invalid(
                token_span,
                format!("`{token}` is not how the word is written"),
                Some(format!("write `{right}`")),
            ));
        }
        (None, None) => {
            return Err(invalid(
                token_span,
                format!("Cursor has no rules for `{token}`"),
                forms(),
            ));
        }
    };
    if inner.trim().is_empty() {
        return Err(invalid(
            all,
            "the brackets are empty: the rule would never match",
            Some(format!("write `{token}(*)` for every use")),
        ));
    }
    match token {
        "Shell" => shell(inner, at, effect).map(Matcher::Shell),
        "Read" => path(PathVerb::Read, inner, at, effect),
        "Write" => path(PathVerb::Edit, inner, at, effect),
        "WebFetch" => fetch(inner, at, effect).map(|pattern| Matcher::Fetch(Some(pattern))),
        _ => mcp(inner, at, effect).map(Matcher::Mcp),
    }
}

/// The words that a command begins with, and the glob over its arguments, where there is one.
///
/// `npm run test:unit` is the name of a script: only a colon in the first word, or one before a wildcard, separates.
fn halves(entry: &str) -> (String, Option<&str>) {
    let first_end = entry.find([' ', '\t']).unwrap_or(entry.len());
    let colon = entry.find(':').filter(|at| *at < first_end).or_else(|| {
        let before = entry.get(..entry.find('*')?)?;
        before.rfind(':')
    });
    let (base, arguments) = match colon {
        Some(at) => (entry.get(..at), entry.get(at + 1..)),
        None => (Some(entry), None),
    };
    let base: Vec<&str> = base.unwrap_or_default().split_whitespace().collect();
    (base.join(" "), arguments.map(str::trim))
}

/// What the halves cover, without wildcards in the base.
fn command(base: &str, arguments: Option<&str>) -> TextPattern {
    match arguments {
        None | Some("*") => TextPattern::words(base),
        Some("") => TextPattern::exact(base),
        Some(arguments) => TextPattern::glob(&format!("{base} {arguments}")),
    }
}

/// `base`, or `base:arguments` with globs in either.
fn shell(inner: &str, at: usize, effect: Effect) -> Result<TextPattern, InvalidRule> {
    let (base, arguments) = halves(inner.trim());
    if base == "*" && arguments.is_none_or(|arguments| arguments == "*") {
        return Ok(TextPattern::glob("*"));
    }
    if effect != Effect::Allow {
        return Ok(wide_command(&base, arguments));
    }
    let fault = |what: &str, hint: &str| Err(invalid(at..at + inner.len(), what, Some(hint.to_owned())));
    if base.is_empty() {
        return fault("no program stands before `:`", "write `Shell(program:arguments)`");
    }
    if inner.contains(['?', '[', ']']) {
        return fault(
            "an allow takes `*` as its only wildcard",
            "write `*`, or one rule per command",
        );
    }
    match (base.find('*'), arguments) {
        (None, arguments) => Ok(command(&base, arguments)),
        // `py*` covers each program that begins so, with any arguments.
        (Some(star), None | Some("*")) if star + 1 == base.len() && !base.contains(' ') => Ok(TextPattern::glob(&base)),
        (Some(_), _) => fault(
            "in an allow, `*` before the colon may only end the program's name, with no pattern for its arguments",
            "write one rule per program",
        ),
    }
}

/// What a deny or ask covers: `?` is read as `*`, arguments without a wildcard as the beginning of the arguments, and a
/// colon behind the first word as a colon or a blank.
fn wide_command(base: &str, arguments: Option<&str>) -> TextPattern {
    let wide = |text: &str| text.replace('?', "*");
    let base = wide(base);
    let (base_glob, either) = match base.split_once(' ') {
        Some((_, rest)) if rest.contains(':') => (base.replace(':', "*"), true),
        _ => (base.clone(), false),
    };
    match arguments.map(wide) {
        None if !base.contains('*') && !either => TextPattern::words(&base),
        Some(arguments) if arguments.trim_matches('*').is_empty() && !base.contains('*') && !either => {
            TextPattern::words(&base)
        }
        None => TextPattern::glob(&format!("{base_glob}*")),
        Some(arguments) if arguments.contains('*') || base.contains('*') || either => {
            TextPattern::glob(&format!("{base_glob} {arguments}*"))
        }
        Some(arguments) => TextPattern::words(&format!("{base} {arguments}")),
    }
}

fn path(verb: PathVerb, inner: &str, at: usize, effect: Effect) -> Result<Matcher, InvalidRule> {
    let sense = match effect {
        Effect::Allow => PatternSense::Narrow,
        Effect::Ask | Effect::Deny => PatternSense::Wide,
    };
    let pattern = PathPattern::parse_cursor(inner, sense)
        .map_err(|fault| invalid(at + fault.span.start..at + fault.span.end, fault.message, fault.hint))?;
    Ok(Matcher::Path {
        verb,
        pattern: Some(pattern),
    })
}

fn fetch(inner: &str, at: usize, effect: Effect) -> Result<HostPattern, InvalidRule> {
    let inner_text = inner.trim();
    let host = if effect == Effect::Allow {
        inner_text
    } else {
        // Whoever denies an address means its host at least.
        let host = inner_text.split_once("://").map_or(inner_text, |(_, rest)| rest);
        let host = host.split(['/', '?', '#']).next().unwrap_or_default();
        host.strip_prefix("domain:")
            .unwrap_or(host)
            .split(':')
            .next()
            .unwrap_or_default()
    };
    HostPattern::parse(host).map_err(|(_, message, hint)| {
        let hint = hint.map(|hint| hint.replace("domain:", ""));
        invalid(at..at + inner.len(), message, hint)
    })
}

fn mcp(inner: &str, at: usize, effect: Effect) -> Result<McpPattern, InvalidRule> {
    let span = at..at + inner.len();
    let inner = inner.trim();
    match inner.split_once(':') {
        Some((server, tool)) if !server.trim().is_empty() && !tool.trim().is_empty() => {
            Ok(McpPattern::halves(server.trim(), tool.trim(), false))
        }
        // A deny of a name alone means the server; whatever it means, it is not less.
        None if effect != Effect::Allow => Ok(McpPattern::halves(inner, "*", false)),
        _ => Err(invalid(
            span,
            "the rule has to name a server and a tool",
            Some(format!("write `Mcp({}:*)`", inner.trim_end_matches(':'))),
        )),
    }
}

/// Reads an entry of `terminalAllowlist`: words that a command begins with, or `base:arguments` with globs over the
/// arguments.
///
/// # Errors
/// What is wrong with it, and a hint.
pub fn terminal_entry(entry: &str) -> Result<TextPattern, (String, String)> {
    let entry = entry.trim();
    if entry.is_empty() {
        return Err((
            "the entry is empty".to_owned(),
            "write the words that a command begins with, such as `git status`".to_owned(),
        ));
    }
    let (base, arguments) = halves(entry);
    match arguments {
        None if base.contains('*') => Err((
            "`*` has no meaning in the words that a command begins with".to_owned(),
            match base.split('*').next().unwrap_or_default().trim() {
                "" => "write the words that a command begins with, or `program:arguments*`".to_owned(),
                words => format!("write `{words}`, which covers what begins with it, or `program:arguments*`"),
            },
        )),
        Some(_) if base.is_empty() || base.contains('*') => Err((
            "no program stands before `:`".to_owned(),
            "write `program:arguments`, such as `npm:install*`".to_owned(),
        )),
        arguments => Ok(command(&base, arguments)),
    }
}

/// Reads an entry of `mcpAllowlist`: `server:tool`, in any case, with `*` in either.
///
/// # Errors
/// What is wrong with it, and a hint.
pub fn mcp_entry(entry: &str) -> Result<McpPattern, (String, String)> {
    match entry.trim().split_once(':') {
        Some((server, tool)) if !server.trim().is_empty() && !tool.trim().is_empty() => {
            Ok(McpPattern::halves(server.trim(), tool.trim(), true))
        }
        Some(_) => Err((
            "the server or the tool is missing".to_owned(),
            "write `server:tool`, `*` for every tool".to_owned(),
        )),
        None => Err((
            "an entry without `:` names no tool, and is ignored".to_owned(),
            match entry.trim() {
                "" => "write `server:tool`, or `server:*` for every tool of the server".to_owned(),
                server => format!("write `{server}:*` for every tool of the server"),
            },
        )),
    }
}

#[cfg(test)]
mod tests;
