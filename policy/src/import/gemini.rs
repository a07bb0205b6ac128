//! Gemini CLI's policy engine.
//!
//! Source: Gemini CLI's reference on its policy engine. There the rule of the highest priority decides; here a deny goes
//! before an ask, and an ask before an allow. So what a rule says is kept where the two orders agree, and where they do not,
//! the stricter one holds and the report says so. One thing would make that useless: a broad `ask_user` below narrower
//! allows, the usual way to say "ask for the rest". It is what our modes do by themselves, so it becomes a rule only in
//! the modes that would not ask.
//!
//! A condition we do not have (`subagent`, `interactive`, `toolAnnotations`) takes an allow away, and is left out of a deny.

mod settings;

use std::ops::Range;

use ::toml::de::{DeTable, DeValue};

pub(super) use self::settings::settings;
use super::{
    draft::{Draft, NativeRule},
    toml,
};
use crate::{Effect, Mode, PolicyDocument, rule::RegexPattern};

/// Longest advice, in bytes.
const MAX_ADVICE: usize = 1000;
const KNOWN: [&str; 14] = [
    "toolName",
    "mcpName",
    "subagent",
    "commandPrefix",
    "commandRegex",
    "argsPattern",
    "decision",
    "priority",
    "denyMessage",
    "modes",
    "interactive",
    "allowRedirection",
    "toolAnnotations",
    "name",
];

/// A rule as far as it was understood.
struct Rule {
    effect: Effect,
    priority: i64,
    tools: Vec<String>,
    server: Option<String>,
    prefixes: Vec<String>,
    command_regex: Option<String>,
    args: Option<String>,
    modes: Option<Vec<Mode>>,
    advice: Option<String>,
    redirection: bool,
    /// Conditions that are not known here.
    unknown: Vec<String>,
    /// What is wrong with it: Gemini would not take it.
    faults: Vec<String>,
    span: Range<usize>,
    source: String,
}

/// `policies/*.toml`.
pub(super) fn policy(draft: &mut Draft<'_>) {
    let tree = toml::parse(draft);
    let mut rules = Vec::new();
    for (key, span, value) in toml::entries(tree.table.get_ref()) {
        match (key, value.get_ref()) {
            ("rule", DeValue::Array(items)) => {
                for item in items.iter() {
                    match item.get_ref().as_table() {
                        Some(table) => rules.push(read(draft, table, item.span())),
                        None => draft.fault(item.span(), key, "a rule is a table"),
                    }
                }
            }
            ("rule", _) => draft.fault(span, key, "rules are written as `[[rule]]`"),
            _ => draft.not_expressible(span, key, "it is no rule"),
        }
    }
    if rules.len() > PolicyDocument::MAX_RULES {
        // Each is compared with all others.
        draft.fault(0..0, "", format!("more than {} rules", PolicyDocument::MAX_RULES));
        rules.retain(|rule| rule.effect != Effect::Allow);
        rules.truncate(PolicyDocument::MAX_RULES);
    }
    // Gemini takes a file with a fault as a whole or not at all; which, is not documented.
    let sound = tree.sound && rules.iter().all(|rule| rule.faults.is_empty());
    for index in 0..rules.len() {
        if let Some(rule) = rules.get(index) {
            emit(draft, rule, &rules, sound);
        }
    }
}

fn read(draft: &Draft<'_>, table: &DeTable<'_>, span: Range<usize>) -> Rule {
    let text = |key: &str| toml::get(table, key).and_then(toml::text).map(str::to_owned);
    let mut faults = Vec::new();
    let mut texts = |key: &str| match toml::get(table, key) {
        None => Vec::new(),
        Some(value) => toml::texts(value).unwrap_or_else(|| {
            faults.push(format!("`{key}` is a text or a list of texts"));
            Vec::new()
        }),
    };
    let tools = texts("toolName");
    let prefixes = texts("commandPrefix");
    if prefixes.iter().any(|prefix| prefix.trim().is_empty()) {
        faults.push("a `commandPrefix` is empty".to_owned());
    }
    let word = text("decision");
    let effect = match word.as_deref() {
        Some("allow") => Effect::Allow,
        Some("ask_user") => Effect::Ask,
        Some("deny") => Effect::Deny,
        _ => {
            faults.push("`decision` is allow, ask_user or deny".to_owned());
            Effect::Deny
        }
    };
    let priority = match toml::get(table, "priority").map(toml::integer) {
        Some(Some(number @ 0..=999)) => number,
        _ => {
            faults.push("`priority` is a number from 0 to 999".to_owned());
            if effect == Effect::Allow { -1 } else { 1000 }
        }
    };
    let mut unknown: Vec<String> = toml::entries(table)
        .into_iter()
        .filter(|(key, _, _)| !KNOWN.contains(key) || matches!(*key, "subagent" | "interactive" | "toolAnnotations"))
        .map(|(key, _, _)| key.to_owned())
        .collect();
    let modes = toml::get(table, "modes").and_then(|value| {
        let modes: Option<Vec<Mode>> =
            toml::texts(value).and_then(|words| words.iter().map(|word| mode(word)).collect());
        if modes.is_none() {
            unknown.push("modes".to_owned());
        }
        modes
    });
    let command_regex = text("commandRegex");
    if command_regex.is_some() && !prefixes.is_empty() {
        faults.push("`commandPrefix` and `commandRegex` do not go together".to_owned());
    }
    let about_commands = command_regex.is_some() || !prefixes.is_empty();
    if about_commands && (tools.is_empty() || tools.iter().any(|tool| tool != "run_shell_command")) {
        faults.push("commands are about `run_shell_command` alone".to_owned());
    }
    let server = text("mcpName");
    if tools.is_empty() && server.is_none() {
        faults.push("`toolName` is missing".to_owned());
    }
    for (key, value) in [("commandRegex", &command_regex), ("argsPattern", &text("argsPattern"))] {
        if toml::get(table, key).is_some() && value.is_none() {
            faults.push(format!("`{key}` is a text"));
        }
    }
    let advice = text("denyMessage").map(|text| {
        let text = text.trim();
        text.get(..text.floor_char_boundary(MAX_ADVICE))
            .unwrap_or(text)
            .to_owned()
    });
    let source = draft.text.get(span.clone()).unwrap_or_default();
    // A table of an array ends where its last entry does.
    let mut end = span.end;
    for (_, key_span, value) in toml::entries(table) {
        end = end.max(key_span.end).max(value.span().end);
    }
    let source = draft.text.get(span.start..end).unwrap_or(source);
    Rule {
        effect,
        priority,
        tools,
        server,
        prefixes,
        command_regex,
        args: text("argsPattern"),
        modes,
        advice: advice.filter(|advice| !advice.is_empty()),
        redirection: toml::get(table, "allowRedirection").and_then(|value| value.get_ref().as_bool()) == Some(true),
        unknown,
        faults,
        source: source
            .split_whitespace()
            .filter(|word| *word != "[[rule]]")
            .collect::<Vec<_>>()
            .join(" "),
        span: span.start..end,
    }
}

fn mode(word: &str) -> Option<Mode> {
    match word {
        "default" => Some(Mode::Default),
        "autoEdit" => Some(Mode::AcceptEdits),
        "yolo" => Some(Mode::Bypass),
        "plan" => Some(Mode::Plan),
        _ => None,
    }
}

/// What our rules call one of Gemini's tools, and whether the modes ask for it by themselves.
enum Tool {
    /// `Bash`.
    Shell,
    /// A rule of this name; `reads`: the modes allow it inside the workspace.
    Named {
        deny: &'static str,
        allow: Option<&'static str>,
        reads: bool,
    },
    /// Everything.
    Every,
    /// Tools of MCP servers, by rules of ours: for a deny or ask, and for an allow.
    Mcp { deny: Vec<String>, allow: Vec<String> },
    /// Another tool, by its own name.
    Other(String),
}

fn tool(name: &str, server: Option<&str>) -> Tool {
    if let Some(server) = server {
        let tool = if name.is_empty() { "*" } else { name };
        // A wildcard at the end keeps to the tools; elsewhere it is for denials.
        let rule = format!("mcp__{server}__{tool}");
        return Tool::Mcp {
            allow: vec![rule.clone()],
            deny: vec![rule],
        };
    }
    let named = |deny, allow, reads| Tool::Named { deny, allow, reads };
    match name {
        "*" => Tool::Every,
        "run_shell_command" => Tool::Shell,
        "read_file" | "read_many_files" => named("Read", Some("Read"), true),
        "write_file" | "replace" => named("Edit", Some("Edit"), false),
        "grep_search" | "search_file_content" | "list_directory" | "glob" => named("Grep", None, true),
        "web_fetch" => named("WebFetch", Some("WebFetch"), false),
        "google_web_search" => named("WebSearch", Some("WebSearch"), false),
        "invoke_agent" => named("Agent", Some("Agent"), true),
        _ => match name.strip_prefix("mcp_") {
            Some(rest) => mcp(rest),
            // How tools of servers were once named: as a denial it is one of the tool, as an allow it is in doubt.
            None if name.contains("__") => Tool::Mcp {
                deny: vec![format!("mcp__{name}")],
                allow: Vec::new(),
            },
            None => Tool::Other(name.to_owned()),
        },
    }
}

/// `mcp_server_tool`: where the server's name ends is not written, so a deny counts for every way of splitting it.
fn mcp(rest: &str) -> Tool {
    if rest == "*" {
        return Tool::Mcp {
            deny: vec!["mcp__*".to_owned()],
            allow: Vec::new(),
        };
    }
    let deny = rest
        .match_indices('_')
        .take(32)
        .map(|(at, _)| {
            let (server, tool) = rest.split_at(at);
            format!("mcp__{server}__{}", tool.trim_start_matches('_'))
        })
        .chain([format!("mcp__{rest}")])
        .filter(|rule| !rule.ends_with('_') && !rule.starts_with("mcp____"))
        .collect();
    let allow = match rest.split_once('_') {
        Some((server, tool)) if !tool.is_empty() && !tool.trim_end_matches('*').contains('_') => {
            vec![format!("mcp__{server}__{tool}")]
        }
        _ => Vec::new(),
    };
    Tool::Mcp { deny, allow }
}

/// Modes that would not ask by themselves.
fn modes_that_run() -> Vec<Mode> {
    let asking = [Mode::Default, Mode::Plan, Mode::DontAsk];
    Mode::ALL.into_iter().filter(|mode| !asking.contains(mode)).collect()
}

impl Rule {
    fn is_broad(&self) -> bool {
        self.prefixes.is_empty() && self.command_regex.is_none() && self.args.is_none() && self.server.is_none()
    }

    /// Whether both can be about the same call, as far as their tools tell.
    fn meets(&self, other: &Self) -> bool {
        let every = |rule: &Self| rule.tools.iter().any(|tool| tool == "*");
        let is_mcp = |rule: &Self| rule.server.is_some() || rule.tools.iter().any(|tool| tool.starts_with("mcp_"));
        every(self)
            || every(other)
            || (is_mcp(self) && is_mcp(other))
            || self.tools.iter().any(|tool| other.tools.contains(tool))
    }
}

fn emit(draft: &mut Draft<'_>, rule: &Rule, rules: &[Rule], sound: bool) {
    let span = rule.span.clone();
    let allows = rule.effect == Effect::Allow;
    for fault in &rule.faults {
        draft.fault(
            span.clone(),
            &rule.source,
            format!("{fault}: no allow of this file counts"),
        );
    }
    if allows && !sound {
        if rule.faults.is_empty() {
            draft.not_expressible(span, &rule.source, "an allow of a file with a fault is left out");
        }
        return;
    }
    if allows && !rule.unknown.is_empty() {
        let why = format!("its condition on {} is not known here", rule.unknown.join(", "));
        return draft.not_expressible(span, &rule.source, why);
    }
    let lifted_above =
        |other: &Rule| other.effect == Effect::Allow && other.priority >= rule.priority && other.meets(rule);
    let beaten = !allows && rules.iter().any(lifted_above);
    let only_rest = rule.effect == Effect::Ask && rule.is_broad() && (beaten || !rule.unknown.is_empty());
    let mut natives = Vec::new();
    let mut refused = Vec::new();
    let every = [String::new()];
    let tools = if rule.tools.is_empty() { &every[..] } else { &rule.tools };
    for name in tools {
        match tool(name, rule.server.as_deref()) {
            Tool::Shell => shell(rule, &mut natives, &mut refused),
            Tool::Every if allows => refused.push("an allow names its tool".to_owned()),
            Tool::Every if only_rest => {
                refused.push("reading and searching by any tool are left to the mode".to_owned());
                natives.extend(["Bash", "Edit", "WebFetch", "mcp__*"].map(|native| with_input(rule, native)));
            }
            Tool::Every => natives.push(with_input(rule, "*")),
            Tool::Named { allow: None, .. } if allows => {
                refused.push(format!(
                    "`{name}` needs no rule inside the workspace, and none of ours is about it alone"
                ));
            }
            Tool::Named { allow: Some(_), .. } if allows && rule.args.is_some() => {
                let why = "an allow by the text of the arguments would let any path or host through that is written so";
                refused.push(why.to_owned());
            }
            Tool::Named { reads: true, .. } if only_rest => {
                refused.push(format!("reading by `{name}` is left to the mode"));
            }
            // Gemini's own tools reach no further than the workspace.
            Tool::Named {
                allow: Some("Read"), ..
            } if allows => natives.push(NativeRule::cursor("Read(**)")),
            Tool::Named {
                allow: Some("Edit"), ..
            } if allows => natives.push(NativeRule::cursor("Write(**)")),
            Tool::Named { deny, allow, .. } => {
                natives.push(with_input(rule, if allows { allow.unwrap_or(deny) } else { deny }));
                // A file is read and changed by commands, too, whose arguments have no such field.
                let about_files = matches!(deny, "Read" | "Edit" | "Grep");
                if let Some(value) = rule
                    .args
                    .as_deref()
                    .and_then(of_the_file)
                    .filter(|_| !allows && about_files)
                {
                    natives.push(NativeRule {
                        input: Some(value),
                        ..NativeRule::new(if deny == "Edit" { "Edit" } else { "Read" })
                    });
                }
            }
            Tool::Mcp { deny, allow } => {
                let own = if allows { allow } else { deny };
                if own.is_empty() {
                    refused.push(format!(
                        "where the server's name ends in `{name}` is not known; name it by `mcpName`"
                    ));
                }
                natives.extend(own.iter().map(|native| with_input(rule, native)));
            }
            Tool::Other(own) => natives.push(with_input(rule, &own)),
        }
    }
    let mut how = Vec::new();
    for mut native in natives {
        native.advice.clone_from(&rule.advice);
        native.modes.clone_from(&rule.modes);
        if only_rest {
            let modes = modes_that_run();
            native.modes = Some(match &rule.modes {
                Some(own) => own.iter().copied().filter(|mode| modes.contains(mode)).collect(),
                None => modes,
            });
            if native.modes.as_ref().is_some_and(Vec::is_empty) {
                how.push(format!("nothing for {}: the mode asks anyway", native.text));
                continue;
            }
        }
        let mut taken = draft.rule(rule.effect, &native, &span, &rule.source);
        if taken.is_err() && !allows {
            // A pattern that cannot be used is as if it matched always.
            native.input = None;
            native.command = None;
            taken = draft.rule(rule.effect, &native, &span, &rule.source);
            how.push("without its pattern, which cannot be used here".to_owned());
        }
        match taken {
            Ok(()) => how.push(describe(rule.effect, &native)),
            Err(fault) => refused.push(fault.message),
        }
    }
    if !how.is_empty() {
        if only_rest {
            how.push("elsewhere the mode asks anyway".to_owned());
        } else if beaten {
            how.push("stricter: an allow of higher priority does not lift it here".to_owned());
        }
        if !rule.unknown.is_empty() && !allows {
            how.push(format!("whatever {} is", rule.unknown.join(", ")));
        }
        if rule.redirection {
            how.push("what a redirection writes still needs an Edit rule".to_owned());
        }
        draft.translated(span.clone(), &rule.source, how.join("; "));
    }
    if !refused.is_empty() {
        refused.dedup();
        draft.not_expressible(span, &rule.source, refused.join("; "));
    }
}

fn describe(effect: Effect, native: &NativeRule) -> String {
    let mut text = format!("{effect} {}", native.text);
    for (what, pattern) in [("input", &native.input), ("command", &native.command)] {
        if let Some(pattern) = pattern {
            text.push_str(&format!(" when {what} matches `{pattern}`"));
        }
    }
    if let Some(modes) = &native.modes {
        let words: Vec<String> = modes.iter().map(Mode::to_string).collect();
        text.push_str(&format!(" in {}", words.join(", ")));
    }
    text
}

/// A rule for a tool, with the rule's pattern over its arguments: Gemini looks for it anywhere in them.
fn with_input(rule: &Rule, native: &str) -> NativeRule {
    NativeRule {
        input: rule.args.as_ref().map(|pattern| match rule.effect {
            Effect::Allow => anywhere(pattern),
            Effect::Ask | Effect::Deny => pattern.clone(),
        }),
        ..NativeRule::new(native)
    }
}

/// Of a pattern for the arguments that is about the field which names a file: what it says of the name.
fn of_the_file(pattern: &str) -> Option<String> {
    let rest = pattern
        .trim_start_matches('^')
        .trim_start_matches("\\{")
        .trim_start_matches(".*");
    let value = ["file_path", "absolute_path", "path", "dir_path"]
        .iter()
        .find_map(|field| {
            let rest = rest.strip_prefix('"')?.strip_prefix(field)?.strip_prefix('"')?;
            let rest = rest.strip_prefix("\\s*").unwrap_or(rest).strip_prefix(':')?;
            rest.strip_prefix("\\s*").unwrap_or(rest).strip_prefix('"')
        })?;
    // Up to the end of the value; `[^"]` is anything within it.
    let value = value.replace("[^\"]", ".");
    let (name, ends) = match value.split_once('"') {
        Some((name, _)) => (name, "(?:[\"'\\s;&|)]|$)"),
        None => (value.as_str(), ""),
    };
    let value = format!("{name}{ends}");
    RegexPattern::parse(&value, Effect::Deny).is_ok().then_some(value)
}

/// A pattern that has to match the whole text, from one that is looked for anywhere in it.
fn anywhere(pattern: &str) -> String {
    format!("(?s:.*)(?:{pattern})(?s:.*)")
}

fn shell(rule: &Rule, natives: &mut Vec<NativeRule>, refused: &mut Vec<String>) {
    let allows = rule.effect == Effect::Allow;
    if let Some(args) = &rule.args {
        if allows {
            refused.push(
                "an allow by the text of the arguments would cover a whole line by one of its commands".to_owned(),
            );
            return;
        }
        natives.push(with_input(rule, "Bash"));
        // Gemini compares each command of a line with it, as if it stood alone.
        if let Some(rest) = args.trim_start_matches('^').strip_prefix("\"command\":\"") {
            let rest = rest.replace('"', "(?:\"|$)");
            natives.push(NativeRule {
                command: Some(if rest.is_empty() { ".".to_owned() } else { rest }),
                ..NativeRule::new("Bash")
            });
        }
        return;
    }
    for prefix in &rule.prefixes {
        let prefix = prefix.trim();
        let plain = !prefix.is_empty() && !prefix.contains(['*', '\n']) && !prefix.contains(":");
        natives.push(if plain {
            NativeRule::new(format!("Bash({prefix} *)"))
        } else {
            let escaped = ::regex::escape(prefix);
            NativeRule {
                command: Some(if allows {
                    format!("{escaped}(?:\\s(?s:.*))?")
                } else {
                    format!("^{escaped}(?:\\s|$)")
                }),
                ..NativeRule::new("Bash")
            }
        });
    }
    if let Some(pattern) = &rule.command_regex {
        // Gemini anchors it at the beginning of a command and nowhere else.
        let command = if allows {
            format!("(?:{pattern})(?s:.*)")
        } else {
            pattern.clone()
        };
        match RegexPattern::parse(pattern, Effect::Deny) {
            Err(why) if allows => refused.push(why),
            _ => natives.push(NativeRule {
                command: Some(command),
                ..NativeRule::new("Bash")
            }),
        }
    }
    if rule.prefixes.is_empty() && rule.command_regex.is_none() {
        natives.push(NativeRule::new("Bash"));
    }
}
