//! Gemini CLI's `settings.json`: what of it becomes rules of its policy engine.
//!
//! Source: Gemini CLI's references on settings and on the policy engine. An entry becomes a rule of the same kind as those of
//! `policies/*.toml`, with the priority that Gemini gives it, and goes the same way from there. What is left out where a list
//! names what is there (`tools.core`, `mcp.allowed`) is denied as far as a rule can say so; the rest is reported.
//!
//! Comments are read, trailing commas are not: Gemini takes no such file, so no allow of it counts.

use std::ops::Range;

use jsonc_parser::ast::{Object, Value};

use super::{Rule, emit};
use crate::{
    Effect, Mode,
    import::{
        draft::{Draft, NativeRule},
        json::{self, Dialect, is_repeated, kind, range},
    },
};

/// Priorities of what settings become, from low to high: servers that are allowed and trusted, tools that are allowed, those that
/// are confirmed, servers and tools that are excluded.
const ALLOWED_SERVER: i64 = 85;
const TRUSTED_SERVER: i64 = 90;
const ALLOWED_TOOL: i64 = 100;
const CONFIRMED: i64 = 150;
const EXCLUDED_SERVER: i64 = 195;
const EXCLUDED_TOOL: i64 = 200;

/// Tools that are there without a server, and what our rules call them.
const BUILT_IN: &[(&str, &str)] = &[
    ("run_shell_command", "Bash"),
    ("read_file", "Read"),
    ("write_file", "Edit"),
    ("replace", "Edit"),
    ("web_fetch", "WebFetch"),
    ("google_web_search", "WebSearch"),
    ("invoke_agent", "Agent"),
];
/// Names of classes, which older settings take for those of tools.
const CLASSES: &[(&str, &str)] = &[
    ("EditTool", "replace"),
    ("GlobTool", "glob"),
    ("GrepTool", "grep_search"),
    ("LSTool", "list_directory"),
    ("ReadFileTool", "read_file"),
    ("ReadManyFilesTool", "read_many_files"),
    ("ShellTool", "run_shell_command"),
    ("WebFetchTool", "web_fetch"),
    ("WebSearchTool", "google_web_search"),
    ("WriteFileTool", "write_file"),
];

/// Reads the file.
pub(in crate::import) fn settings(draft: &mut Draft<'_>) {
    let tree = json::parse(draft, Dialect::Comments);
    let object = match tree.value.as_ref() {
        Some(Value::Object(object)) => object,
        Some(other) => return draft.fault(range(other), "", format!("expected an object, found {}", kind(other))),
        None => return,
    };
    let mut rules = Vec::new();
    let mut sound = tree.sound;
    for property in &object.properties {
        let key = property.name.as_str();
        sound &= !is_repeated(object, key);
        let span = range(property);
        match (key, &property.value) {
            ("tools", Value::Object(tools)) => self::tools(draft, tools, &mut sound, &mut rules),
            ("mcp", Value::Object(mcp)) => self::mcp(draft, mcp, &mut sound, &mut rules),
            ("mcpServers", Value::Object(servers)) => self::servers(draft, servers, &mut sound, &mut rules),
            ("security", Value::Object(security)) => self::security(draft, security),
            ("tools" | "mcp" | "mcpServers" | "security", other) => {
                draft.fault(span, key, format!("`{key}`: expected an object, found {}", kind(other)));
            }
            (
                "coreTools" | "excludeTools" | "allowedTools" | "allowMCPServers" | "excludeMCPServers" | "autoAccept",
                _,
            ) => {
                let why = "it is the older spelling of a setting; write it below `tools` or `mcp`";
                draft.fault(span, key, why);
                sound = false;
            }
            _ => draft.not_expressible(span, key, "it is no permission"),
        }
    }
    sound &= rules.iter().all(|rule| rule.faults.is_empty());
    for index in 0..rules.len() {
        if let Some(rule) = rules.get(index) {
            emit(draft, rule, &rules, sound);
        }
    }
}

/// The texts of a list, each with its place. What is no text is a fault.
fn texts(draft: &mut Draft<'_>, key: &str, value: &Value<'_>, sound: &mut bool) -> Vec<(String, Range<usize>)> {
    let Value::Array(list) = value else {
        draft.fault(
            range(value),
            key,
            format!("`{key}`: expected an array, found {}", kind(value)),
        );
        *sound = false;
        return Vec::new();
    };
    let mut out = Vec::new();
    for element in &list.elements {
        match element {
            // Gemini puts the value of the variable there.
            Value::StringLit(text) if text.value.contains('$') => {
                draft.fault(
                    range(element),
                    &text.value,
                    "which value a variable has is not known here",
                );
                *sound = false;
            }
            Value::StringLit(text) if !text.value.trim().is_empty() => {
                out.push((text.value.trim().to_owned(), range(element)))
            }
            other => {
                draft.fault(
                    range(other),
                    key,
                    format!("an entry of `{key}`: expected a name, found {}", kind(other)),
                );
                *sound = false;
            }
        }
    }
    out
}

/// A rule of the policy engine for one entry: `read_file`, `run_shell_command(git status)`.
fn rule(entry: &str, span: Range<usize>, effect: Effect, priority: i64) -> Rule {
    let (name, command) = match entry.split_once('(') {
        Some((name, rest)) => (name.trim(), rest.strip_suffix(')').map(str::trim)),
        None => (entry, Some("")),
    };
    let name = CLASSES
        .iter()
        .find(|(class, _)| *class == name)
        .map_or(name, |(_, tool)| *tool);
    let mut faults = Vec::new();
    let prefixes = match command {
        Some("") => Vec::new(),
        Some(command) if name == "run_shell_command" => vec![command.to_owned()],
        Some(_) => {
            faults.push(format!(
                "only commands are told apart by what stands in brackets, and `{name}` is none"
            ));
            Vec::new()
        }
        None => {
            faults.push("a bracket is not closed".to_owned());
            Vec::new()
        }
    };
    Rule {
        effect,
        priority,
        tools: vec![name.to_owned()],
        server: None,
        prefixes,
        command_regex: None,
        args: None,
        modes: None,
        advice: None,
        redirection: false,
        unknown: Vec::new(),
        faults,
        span,
        source: entry.to_owned(),
    }
}

/// A rule for one tool of a server, or all.
fn of_server(server: &str, tool: &str, span: Range<usize>, effect: Effect, priority: i64) -> Rule {
    Rule {
        tools: vec![tool.to_owned()],
        server: Some(server.to_owned()),
        prefixes: Vec::new(),
        faults: Vec::new(),
        source: if tool.is_empty() {
            server.to_owned()
        } else {
            format!("{server}: {tool}")
        },
        ..rule("", span, effect, priority)
    }
}

fn tools(draft: &mut Draft<'_>, object: &Object<'_>, sound: &mut bool, rules: &mut Vec<Rule>) {
    for property in &object.properties {
        let key = property.name.as_str();
        *sound &= !is_repeated(object, key);
        let (effect, priority) = match key {
            "allowed" => (Effect::Allow, ALLOWED_TOOL),
            "confirmationRequired" => (Effect::Ask, CONFIRMED),
            "exclude" => (Effect::Deny, EXCLUDED_TOOL),
            "core" => {
                core(draft, &property.value, &range(property), sound);
                continue;
            }
            _ => {
                draft.not_expressible(range(property), &format!("tools.{key}"), "it is no permission");
                continue;
            }
        };
        for (entry, span) in texts(draft, &format!("tools.{key}"), &property.value, sound) {
            rules.push(rule(&entry, span, effect, priority));
        }
    }
}

/// The tools that are there; all others are not, those of servers included, even where the list is empty.
fn core(draft: &mut Draft<'_>, value: &Value<'_>, span: &Range<usize>, sound: &mut bool) {
    let listed: Vec<Rule> = texts(draft, "tools.core", value, sound)
        .into_iter()
        .map(|(entry, span)| rule(&entry, span, Effect::Allow, 0))
        .collect();
    let named = |tool: &str| listed.iter().any(|rule| rule.tools.iter().any(|own| own == tool));
    for entry in &listed {
        draft.translated(
            entry.span.clone(),
            &entry.source,
            "it is there, and no rule is needed for that",
        );
    }
    let mut denied: Vec<&str> = Vec::new();
    let mut how = Vec::new();
    for (_, ours) in BUILT_IN {
        let there = BUILT_IN.iter().any(|(tool, own)| own == ours && named(tool))
            || (*ours == "Read" && named("read_many_files"));
        if !there && !denied.contains(ours) {
            denied.push(ours);
        }
    }
    let of_servers = listed.iter().any(|rule| {
        rule.tools
            .iter()
            .any(|tool| tool.starts_with("mcp_") || tool.contains("__"))
    });
    if !of_servers {
        denied.push("mcp__*");
    }
    for native in denied {
        match draft.rule(Effect::Deny, &NativeRule::new(native), span, "tools.core") {
            Ok(()) => how.push(format!("deny {native}")),
            Err(fault) => draft.fault(span.clone(), "tools.core", fault.message),
        }
    }
    if !how.is_empty() {
        draft.translated(
            span.clone(),
            "tools.core",
            format!("what it does not list is not there: {}", how.join(", ")),
        );
    }
    let some_commands = listed.iter().any(|rule| !rule.prefixes.is_empty())
        && !listed
            .iter()
            .any(|rule| rule.prefixes.is_empty() && rule.tools.iter().any(|tool| tool == "run_shell_command"));
    if some_commands {
        let why = "that all other commands are refused; where no rule allows them, the mode asks for most";
        draft.not_expressible(span.clone(), "tools.core", why);
    }
    if of_servers {
        draft.not_expressible(span.clone(), "tools.core", "that no other tool of a server is there");
    }
}

fn mcp(draft: &mut Draft<'_>, object: &Object<'_>, sound: &mut bool, rules: &mut Vec<Rule>) {
    for property in &object.properties {
        let key = property.name.as_str();
        *sound &= !is_repeated(object, key);
        let (effect, priority) = match key {
            "allowed" => (Effect::Allow, ALLOWED_SERVER),
            "excluded" => (Effect::Deny, EXCLUDED_SERVER),
            _ => {
                draft.not_expressible(range(property), &format!("mcp.{key}"), "it is no permission");
                continue;
            }
        };
        for (server, span) in texts(draft, &format!("mcp.{key}"), &property.value, sound) {
            rules.push(of_server(&server, "", span, effect, priority));
        }
        if effect == Effect::Allow {
            let why = "that servers which it does not list are not started; each needs an approval here, and the team's \
                       `mcp.onlyListed` says so by command or address";
            draft.not_expressible(range(property), "mcp.allowed", why);
        }
    }
}

fn servers(draft: &mut Draft<'_>, object: &Object<'_>, sound: &mut bool, rules: &mut Vec<Rule>) {
    for property in &object.properties {
        let server = property.name.as_str().to_owned();
        let own_sound = !is_repeated(object, &server);
        *sound &= own_sound;
        let Value::Object(definition) = &property.value else {
            draft.fault(range(property), &server, "a server is an object");
            continue;
        };
        let mut list = |draft: &mut Draft<'_>, key: &str| match definition.get(key) {
            Some(property) => texts(draft, key, &property.value, sound),
            None => Vec::new(),
        };
        let bare = |tool: &str| tool.split('(').next().unwrap_or_default().trim().to_owned();
        for (tool, span) in list(draft, "excludeTools") {
            rules.push(of_server(&server, &bare(&tool), span, Effect::Deny, EXCLUDED_TOOL));
        }
        let included = list(draft, "includeTools");
        let trusted = definition
            .get("trust")
            .filter(|_| own_sound && !is_repeated(definition, "trust"));
        match trusted.map(|property| (&property.value, range(property))) {
            Some((Value::BooleanLit(word), span)) if word.value => {
                if definition.get("includeTools").is_none() {
                    rules.push(of_server(&server, "", span, Effect::Allow, TRUSTED_SERVER));
                } else {
                    for (tool, span) in &included {
                        rules.push(of_server(
                            &server,
                            &bare(tool),
                            span.clone(),
                            Effect::Allow,
                            TRUSTED_SERVER,
                        ));
                    }
                }
            }
            Some((Value::BooleanLit(_), span)) => draft.kept(span, &format!("{server}: trust")),
            Some((other, span)) => draft.fault(
                span,
                &server,
                format!("`trust`: expected true or false, found {}", kind(other)),
            ),
            None => {}
        }
        if let Some(property) = definition.get("includeTools") {
            let why = "that no other tool of the server is there: where no rule allows it, the mode asks";
            draft.not_expressible(range(property), &format!("{server}: includeTools"), why);
        }
        for property in &definition.properties {
            let key = property.name.as_str();
            if !matches!(key, "trust" | "includeTools" | "excludeTools") {
                draft.not_expressible(range(property), &format!("{server}: {key}"), "it is no permission");
            }
        }
    }
}

fn security(draft: &mut Draft<'_>, object: &Object<'_>) {
    for property in &object.properties {
        let key = property.name.as_str();
        let shown = format!("security.{key}");
        match (key, &property.value) {
            ("disableYoloMode", Value::BooleanLit(word)) if word.value => {
                draft.forbid_mode(Mode::Bypass);
                let how = format!("no session of this agent is in mode {}", Mode::Bypass);
                draft.translated(range(property), &shown, how);
            }
            ("disableYoloMode", Value::BooleanLit(_)) => draft.kept(range(property), &shown),
            ("disableYoloMode", other) => {
                draft.forbid_mode(Mode::Bypass);
                let why = format!("expected true or false, found {}: it counts as true", kind(other));
                draft.fault(range(property), &shown, why);
            }
            _ => draft.not_expressible(range(property), &shown, "it is no permission"),
        }
    }
}
