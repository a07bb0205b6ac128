//! Codex: its rules, its configuration, and the requirements of an organisation.
//!
//! Sources: Codex's documentation on rules and requirements, and what its program was seen to do. A rule is a prefix of
//! words with alternatives at each place; one native rule stands for each combination. We find commands in places where
//! Codex gives up on a line (redirections, substitutions, wrappers), so denials hold there, too.

use std::{collections::BTreeMap, ops::Range};

use ::toml::de::{DeTable, DeValue};

use super::{
    draft::{Draft, NativeRule},
    starlark::{self, Call, Literal, Statement},
    toml::{self, Entry},
};
use crate::{Effect, Layer, Mode, shell::quote};

/// Most combinations of alternatives that one rule may stand for.
const MAX_COMBINATIONS: usize = 64;
/// Longest advice, in bytes.
const MAX_ADVICE: usize = 1000;

/// One prefix rule, whichever file it stood in.
struct PrefixRule {
    /// The alternatives at each place.
    words: Vec<Vec<String>>,
    effect: Effect,
    justification: Option<String>,
    span: Range<usize>,
    source: String,
}

/// `*.rules`.
pub(super) fn rules(draft: &mut Draft<'_>) {
    let statements = starlark::statements(draft.text);
    let mut sound = true;
    let mut prefix_rules = Vec::new();
    let mut executables: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut silent_calls = Vec::new();
    for (span, statement) in statements {
        let source = one_line(draft.text.get(span.clone()).unwrap_or_default());
        let call = match statement {
            Statement::Silent => continue,
            Statement::Program(why) => {
                sound = false;
                draft.fault(
                    span,
                    &source,
                    format!("it is a program, which is not run here: {why}. No allow of this file counts"),
                );
                continue;
            }
            Statement::Call(call) => call,
        };
        let read = match call.function.as_str() {
            "prefix_rule" => prefix_rule(&call, span.clone(), &source).map(|rule| prefix_rules.push(rule)),
            "network_rule" => network_rule(draft, &call, &span, &source),
            "host_executable" => host_executable(&call).map(|(name, paths)| {
                executables.insert(name, paths);
                silent_calls.push((span.clone(), source.clone()));
            }),
            "print" => Ok(()),
            other => Err(format!("`{other}` is no rule that is known")),
        };
        if let Err(why) = read {
            sound = false;
            draft.fault(
                span,
                &source,
                format!("{why}; Codex refuses such a file, and no allow of it counts"),
            );
        }
    }
    for (span, source) in silent_calls {
        draft.translated(
            span,
            &source,
            "allow rules for the program cover it at these paths, too",
        );
    }
    for rule in prefix_rules {
        emit(draft, &rule, sound, &executables);
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn prefix_rule(call: &Call, span: Range<usize>, source: &str) -> Result<PrefixRule, String> {
    let known = ["pattern", "decision", "justification", "match", "not_match"];
    if let Some((name, _)) = call.named.iter().find(|(name, _)| !known.contains(&name.as_str())) {
        return Err(format!("`prefix_rule` has no `{name}`"));
    }
    if call.positional.len() > 1 {
        return Err("`prefix_rule` names its arguments".to_owned());
    }
    let Some(Literal::List(items)) = call.argument("pattern", 0) else {
        return Err("`pattern` is a list of words".to_owned());
    };
    let mut words = Vec::new();
    for item in items {
        words.push(match item {
            Literal::Text(word) => vec![word.clone()],
            Literal::List(choices) => {
                let choices: Option<Vec<String>> =
                    choices.iter().map(|choice| choice.text().map(str::to_owned)).collect();
                choices
                    .filter(|choices| !choices.is_empty())
                    .ok_or("alternatives are a list of words, not empty")?
            }
            Literal::Other(_) => return Err("`pattern` holds words and lists of words".to_owned()),
        });
    }
    let effect = match call.argument("decision", usize::MAX) {
        None => Effect::Allow,
        Some(value) => decision(value.text())?,
    };
    let rule = PrefixRule {
        words: checked(words)?,
        effect,
        justification: call
            .argument("justification", usize::MAX)
            .and_then(Literal::text)
            .map(str::to_owned),
        span,
        source: source.to_owned(),
    };
    for (name, expected) in [("match", true), ("not_match", false)] {
        let Some(value) = call.argument(name, usize::MAX) else {
            continue;
        };
        let Literal::List(examples) = value else {
            return Err(format!("`{name}` is a list of commands"));
        };
        for example in examples {
            let words = example_words(example).ok_or_else(|| format!("an example of `{name}` is no command"))?;
            if rule.covers(&words) != expected {
                let not = if expected { "does not cover" } else { "covers" };
                return Err(format!("the rule {not} its example `{}`", words.join(" ")));
            }
        }
    }
    Ok(rule)
}

fn checked(words: Vec<Vec<String>>) -> Result<Vec<Vec<String>>, String> {
    if words.is_empty() {
        return Err("`pattern` is empty".to_owned());
    }
    if words
        .iter()
        .flatten()
        .any(|word| word.is_empty() || word.contains('\0'))
    {
        return Err("a word of `pattern` is empty".to_owned());
    }
    Ok(words)
}

fn decision(word: Option<&str>) -> Result<Effect, String> {
    match word {
        Some("allow") => Ok(Effect::Allow),
        Some("prompt") => Ok(Effect::Ask),
        Some("forbidden") => Ok(Effect::Deny),
        _ => Err("`decision` is allow, prompt or forbidden".to_owned()),
    }
}

/// An example as words: a list of them, or a line as a shell would split it.
fn example_words(example: &Literal) -> Option<Vec<String>> {
    match example {
        Literal::List(words) => words.iter().map(|word| word.text().map(str::to_owned)).collect(),
        Literal::Text(line) => {
            let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
            let mut chars = line.chars();
            while let Some(c) = chars.next() {
                match (quote, c) {
                    (None, c) if c.is_whitespace() => words.extend(word.take()),
                    (None, '"' | '\'') => {
                        quote = Some(c);
                        word.get_or_insert_default();
                    }
                    (Some(open), c) if c == open => quote = None,
                    (None | Some('"'), '\\') => word.get_or_insert_default().push(chars.next()?),
                    (_, c) => word.get_or_insert_default().push(c),
                }
            }
            words.extend(word);
            quote.is_none().then_some(words)
        }
        Literal::Other(_) => None,
    }
}

impl PrefixRule {
    fn covers(&self, words: &[String]) -> bool {
        words.len() >= self.words.len()
            && self
                .words
                .iter()
                .zip(words)
                .all(|(choices, word)| choices.contains(word))
    }

    /// All combinations of its first places, of as many as fit into the bound: the combinations, and of how many places.
    fn combinations(&self) -> (Vec<Vec<&str>>, usize) {
        let mut out: Vec<Vec<&str>> = vec![Vec::new()];
        for (place, choices) in self.words.iter().enumerate() {
            if out.len().saturating_mul(choices.len()) > MAX_COMBINATIONS {
                return (out, place);
            }
            out = out
                .iter()
                .flat_map(|words| {
                    choices.iter().map(|choice| {
                        let mut words = words.clone();
                        words.push(choice.as_str());
                        words
                    })
                })
                .collect();
        }
        (out, self.words.len())
    }
}

fn emit(draft: &mut Draft<'_>, rule: &PrefixRule, sound: bool, executables: &BTreeMap<String, Vec<String>>) {
    let PrefixRule {
        effect, span, source, ..
    } = rule;
    let allows = *effect == Effect::Allow;
    if allows && !sound {
        let why = "an allow of a file that is not wholly understood is left out";
        return draft.not_expressible(span.clone(), source, why);
    }
    if allows && rule.words.iter().flatten().any(|word| word.contains('*')) {
        let why = "a rule of ours reads `*` as anything, so it would allow more";
        return draft.not_expressible(span.clone(), source, why);
    }
    let (combinations, places) = rule.combinations();
    let whole = places == rule.words.len();
    if places == 0 || (allows && !whole) {
        let why = format!("its alternatives stand for more than {MAX_COMBINATIONS} rules");
        return draft.fault(span.clone(), source, why);
    }
    let mut natives = Vec::new();
    for words in &combinations {
        natives.push(format!("Bash({} *)", quote(words)));
        if let (true, Some((program, rest))) = (allows, words.split_first()) {
            for path in executables.get(*program).into_iter().flatten() {
                let words: Vec<&str> = std::iter::once(path.as_str()).chain(rest.iter().copied()).collect();
                natives.push(format!("Bash({} *)", quote(&words)));
            }
        }
    }
    let advice = rule
        .justification
        .as_ref()
        .map(|text| shortened(text))
        .filter(|text| !text.is_empty());
    for native in &natives {
        let native = NativeRule {
            advice: advice.clone(),
            ..NativeRule::new(native.clone())
        };
        if let Err(fault) = draft.rule(*effect, &native, span, source) {
            let why = format!("`{}` is no rule: {}", native.text, fault.message);
            if allows {
                draft.not_expressible(span.clone(), source, why);
            } else {
                draft.fault(span.clone(), source, why);
            }
            return;
        }
    }
    let mut how = format!(
        "{effect} {}",
        natives.iter().take(4).cloned().collect::<Vec<_>>().join(", ")
    );
    if natives.len() > 4 {
        how.push_str(&format!(" and {} more", natives.len() - 4));
    }
    if !whole {
        how.push_str("; its alternatives are too many, so it covers every command that begins like that");
    }
    draft.translated(span.clone(), source, how);
}

fn shortened(text: &str) -> String {
    let text = text.trim();
    text.get(..text.floor_char_boundary(MAX_ADVICE))
        .unwrap_or(text)
        .to_owned()
}

fn host_executable(call: &Call) -> Result<(String, Vec<String>), String> {
    let name = call.argument("name", 0).and_then(Literal::text);
    let paths = match call.argument("paths", 1) {
        Some(Literal::List(paths)) => paths.iter().map(|path| path.text().map(str::to_owned)).collect(),
        _ => None,
    };
    let paths: Option<Vec<String>> = paths;
    match (name, paths) {
        (Some(name), Some(paths)) if paths.iter().all(|path| path.starts_with('/')) => Ok((name.to_owned(), paths)),
        _ => Err("`host_executable` names a program and a list of absolute paths".to_owned()),
    }
}

fn network_rule(draft: &mut Draft<'_>, call: &Call, span: &Range<usize>, source: &str) -> Result<(), String> {
    let host = call
        .argument("host", 0)
        .and_then(Literal::text)
        .ok_or("`host` is a text")?;
    let word = call.argument("decision", 2).and_then(Literal::text);
    let effect = match word {
        Some("allow") => Effect::Allow,
        Some("prompt") => Effect::Ask,
        Some("deny" | "forbidden") => Effect::Deny,
        _ => return Err("`decision` is allow, prompt or deny".to_owned()),
    };
    if effect == Effect::Allow {
        let why = "it is about one protocol of the sandbox's network; a rule for a host covers every protocol";
        draft.not_expressible(span.clone(), source, why);
        return Ok(());
    }
    let native = format!("WebFetch(domain:{host})");
    draft
        .rule(effect, &NativeRule::new(native.clone()), span, source)
        .map_err(|fault| fault.message)?;
    draft.translated(span.clone(), source, format!("{effect} {native}, for every protocol"));
    Ok(())
}

/// `config.toml`.
pub(super) fn config(draft: &mut Draft<'_>) {
    let tree = toml::parse(draft);
    let table = tree.table.get_ref();
    let mut workspace_write = false;
    for (key, span, value) in toml::entries(table) {
        match key {
            "sandbox_mode" => {
                workspace_write = toml::text(value) == Some("workspace-write");
                let why = "what the sandbox may reach is no part of a policy document yet";
                draft.not_expressible(span, &shown(key, value), why);
            }
            "approval_policy" => approval_policy(draft, span, key, value),
            "web_search" if toml::text(value) == Some("disabled") => {
                deny(draft, "WebSearch", &span, &shown(key, value));
            }
            "web_search" => draft.not_expressible(span, &shown(key, value), "the mode answers for searches"),
            "mcp_servers" => mcp_servers(draft, value),
            "projects" => {
                let why = "a project is trusted here by `portcullis trust`";
                for (project, span, _) in value.get_ref().as_table().map(toml::entries).unwrap_or_default() {
                    draft.not_expressible(span, &format!("projects.{project}"), why);
                }
            }
            "sandbox_workspace_write" => {}
            "hooks" => draft.not_expressible(span, key, "hooks are no part of a policy document"),
            _ => draft.not_expressible(span, key, "it is no permission"),
        }
    }
    let writing = toml::get(table, "sandbox_workspace_write").and_then(|value| value.get_ref().as_table());
    for (key, span, value) in writing.map(toml::entries).unwrap_or_default() {
        let shown_key = format!("sandbox_workspace_write.{key}");
        if key != "writable_roots" {
            let why = "what the sandbox may reach is no part of a policy document yet";
            draft.not_expressible(span, &shown_key, why);
            continue;
        }
        let DeValue::Array(roots) = value.get_ref() else {
            draft.fault(span, &shown_key, "it is a list of folders");
            continue;
        };
        for root in roots.iter() {
            let folder = toml::text(root).unwrap_or_default();
            let plain = folder.len() > 1 && folder.starts_with('/') && !folder.starts_with("//");
            if workspace_write && tree.sound && plain && !folder.contains(['*', '?', '\0']) {
                draft.add_directory(folder);
                draft.translated(root.span(), folder, "a folder of the workspace (additionalDirectories)");
            } else {
                draft.not_expressible(
                    root.span(),
                    folder,
                    "it is no folder that counts: absolute, in mode workspace-write",
                );
            }
        }
    }
}

fn shown(key: &str, value: &Entry<'_>) -> String {
    match toml::text(value) {
        Some(text) => format!("{key} = {text}"),
        None => key.to_owned(),
    }
}

fn deny(draft: &mut Draft<'_>, native: &str, span: &Range<usize>, source: &str) {
    match draft.rule(Effect::Deny, &NativeRule::new(native), span, source) {
        Ok(()) => draft.translated(span.clone(), source, format!("deny {native}")),
        Err(fault) => draft.fault(span.clone(), source, fault.message),
    }
}

fn approval_policy(draft: &mut Draft<'_>, span: Range<usize>, key: &str, value: &Entry<'_>) {
    let source = shown(key, value);
    match value.get_ref() {
        // Without anybody to ask, what would be asked for is refused; that the sandbox would let it run is no reason here.
        DeValue::String(word) if word.as_ref() == "never" => draft.set_mode(Mode::DontAsk, true, span, &source),
        DeValue::String(word) if matches!(word.as_ref(), "untrusted" | "on-request" | "on-failure") => {
            draft.set_mode(Mode::Default, true, span, &source);
        }
        DeValue::Table(table) => granular(draft, table, span, key),
        _ => draft.fault(span, &source, "it is untrusted, on-request, never or granular"),
    }
}

/// What is asked for, thing by thing: `true` asks, `false` refuses what would be asked for. Our modes ask for all or for nothing.
fn granular(draft: &mut Draft<'_>, table: &DeTable<'_>, span: Range<usize>, key: &str) {
    let inner = toml::get(table, "granular")
        .and_then(|value| value.get_ref().as_table())
        .unwrap_or(table);
    let refuses = |value: &Entry<'_>| value.get_ref().as_bool() == Some(false);
    let entries = toml::entries(inner);
    // Where commands or rules are not asked about, nobody is to be asked: the stricter of both modes.
    let nobody = entries
        .iter()
        .any(|(name, _, value)| matches!(*name, "sandbox_approval" | "rules") && refuses(value));
    let mode = if nobody { Mode::DontAsk } else { Mode::Default };
    draft.set_mode(mode, true, span, key);
    for (name, span, value) in entries {
        let source = format!("{key}.granular.{name}");
        match value.get_ref() {
            DeValue::Boolean(true) => draft.translated(span, &source, "asked for, as the mode asks"),
            DeValue::Boolean(false) if nobody && matches!(name, "sandbox_approval" | "rules") => {
                draft.translated(
                    span,
                    &source,
                    format!("what would be asked for is refused: mode {mode}"),
                );
            }
            DeValue::Boolean(false)
                if name == "mcp_elicitations" || name == "request_permissions" || name == "skill_approval" =>
            {
                draft.not_expressible(span, &source, "that this alone is refused without a question");
            }
            _ => draft.fault(span, &source, "it is true or false, of a thing that Codex asks for"),
        }
    }
}

fn mcp_servers(draft: &mut Draft<'_>, value: &Entry<'_>) {
    let Some(servers) = value.get_ref().as_table() else {
        return draft.fault(value.span(), "mcp_servers", "it is a table");
    };
    for (server, span, value) in toml::entries(servers) {
        let Some(table) = value.get_ref().as_table() else {
            draft.fault(span, server, "a server is a table");
            continue;
        };
        for (key, span, value) in toml::entries(table) {
            let source = format!("mcp_servers.{server}.{key}");
            match (key, value.get_ref()) {
                ("disabled_tools", DeValue::Array(tools)) => {
                    for tool in tools.iter() {
                        let name = toml::text(tool).unwrap_or("*");
                        deny(draft, &format!("mcp__{server}__{name}"), &tool.span(), name);
                    }
                }
                ("enabled", DeValue::Boolean(false)) => deny(draft, &format!("mcp__{server}"), &span, &source),
                ("default_tools_approval_mode", DeValue::String(word)) if word.as_ref() == "prompt" => {
                    let native = format!("mcp__{server}");
                    match draft.rule(Effect::Ask, &NativeRule::new(native.clone()), &span, &source) {
                        Ok(()) => draft.translated(span, &source, format!("ask {native}")),
                        Err(fault) => draft.fault(span, &source, fault.message),
                    }
                }
                ("disabled_tools", _) => draft.fault(span, &source, "it is a list of tools"),
                ("default_tools_approval_mode", _) => {
                    draft.not_expressible(span, &source, "an approval that is not asked for is no rule here");
                }
                ("enabled_tools", _) => {
                    let why = "it takes all other tools away, and a rule names what it denies";
                    draft.not_expressible(span, &source, why);
                }
                _ => draft.not_expressible(span, &source, "it says how the server is started, and is no permission"),
            }
        }
    }
}

/// `requirements.toml`.
pub(super) fn requirements(draft: &mut Draft<'_>) {
    let tree = toml::parse(draft);
    let mut forbidden: Vec<&str> = Vec::new();
    for (key, span, value) in toml::entries(tree.table.get_ref()) {
        match key {
            "allowed_approval_policies" | "allowed_sandbox_modes" => {
                let (word, modes): (_, &[&str]) = if key == "allowed_sandbox_modes" {
                    ("danger-full-access", &["bypass", "run-everything"])
                } else {
                    ("never", &["bypass", "run-everything", "dontAsk"])
                };
                allowed(draft, key, span, value, word, modes, &mut forbidden);
            }
            "allowed_web_search_modes" => match toml::texts(value) {
                Some(words) if words == ["disabled"] => deny(draft, "WebSearch", &span, key),
                Some(_) => draft.not_expressible(span, key, "the modes here do not tell kinds of searches apart"),
                None => draft.fault(span, key, "it is a list of modes"),
            },
            "rules" => required_rules(draft, value, tree.sound),
            "mcp_servers" => {
                let why = "a rule names a server by its configured name, not by what it runs";
                for (server, span, _) in value.get_ref().as_table().map(toml::entries).unwrap_or_default() {
                    draft.not_expressible(span, &format!("mcp_servers.{server}"), why);
                }
            }
            "hooks" | "allow_managed_hooks_only" => {
                draft.not_expressible(span, key, "hooks are no part of a policy document");
            }
            _ => draft.not_expressible(span, key, "it is no permission"),
        }
    }
    if !forbidden.is_empty() {
        let permitted = Mode::ALL
            .into_iter()
            .filter(|mode| !forbidden.contains(&mode.to_string().as_str()))
            .collect();
        draft.set_permitted_modes(permitted);
    }
}

/// A list of what is allowed, which forbids modes of ours where a word is not in it.
fn allowed<'m>(
    draft: &mut Draft<'_>,
    key: &str,
    span: Range<usize>,
    value: &Entry<'_>,
    word: &str,
    modes: &[&'m str],
    forbidden: &mut Vec<&'m str>,
) {
    let Some(words) = toml::texts(value) else {
        return draft.fault(span, key, "it is a list of words");
    };
    if words.iter().any(|own| own == word) {
        return draft.not_expressible(span, key, "it forbids no mode of ours");
    }
    if draft.origin.layer < Layer::Team {
        // Codex replaces a value that is not allowed, so a mode that only asks less often than another is no reason to refuse.
        draft.forbid_mode(Mode::Bypass);
        let why = "sessions of this agent are not in the mode bypass while the file is read live; in a document only team policy \
                   says which modes exist";
        return draft.not_expressible(span, key, why);
    }
    forbidden.extend(modes);
    draft.translated(span, key, format!("modes.permitted without {}", modes.join(", ")));
}

fn required_rules(draft: &mut Draft<'_>, value: &Entry<'_>, sound: bool) {
    let rules = value
        .get_ref()
        .as_table()
        .and_then(|table| toml::get(table, "prefix_rules"));
    let Some(DeValue::Array(rules)) = rules.map(|rules| rules.get_ref()) else {
        return draft.fault(value.span(), "rules", "`rules.prefix_rules` is a list of rules");
    };
    for rule in rules.iter() {
        let span = rule.span();
        let source = one_line(draft.text.get(span.clone()).unwrap_or_default());
        let read = rule
            .get_ref()
            .as_table()
            .ok_or_else(|| "a rule is a table".to_owned())
            .and_then(|table| required_rule(table, span.clone(), &source));
        match read {
            Ok(rule) => emit(draft, &rule, sound, &BTreeMap::new()),
            Err(why) => draft.fault(span, &source, why),
        }
    }
}

fn required_rule(table: &DeTable<'_>, span: Range<usize>, source: &str) -> Result<PrefixRule, String> {
    let Some(DeValue::Array(places)) = toml::get(table, "pattern").map(|pattern| pattern.get_ref()) else {
        return Err("`pattern` is a list".to_owned());
    };
    let mut words = Vec::new();
    for place in places.iter() {
        let place = place.get_ref().as_table().ok_or("a place is a table")?;
        if toml::get(place, "token").is_some() && toml::get(place, "any_of").is_some() {
            return Err("a place has `token` or `any_of`, and not both".to_owned());
        }
        let choices = toml::get(place, "token")
            .or_else(|| toml::get(place, "any_of"))
            .and_then(toml::texts)
            .ok_or("a place has a `token` or `any_of`")?;
        words.push(choices);
    }
    let effect = decision(toml::get(table, "decision").and_then(toml::text))?;
    if effect == Effect::Allow {
        return Err("requirements restrict: Codex takes no `allow` in them".to_owned());
    }
    Ok(PrefixRule {
        words: checked(words)?,
        effect,
        justification: toml::get(table, "justification")
            .and_then(toml::text)
            .map(str::to_owned),
        span,
        source: source.to_owned(),
    })
}
