//! Claude Code's settings, and those of Cusp, which are like them.
//!
//! Sources: Claude Code's settings and permissions reference, and what its program was seen to do. Their rules are our own
//! spelling, so most entries are kept as they are. Settings that are about something else than permissions are named in
//! the report and left where they are.

use std::ops::Range;

use jsonc_parser::ast::{Array, Object, ObjectProp, Value};

use super::{
    Format,
    draft::{Draft, NativeRule},
    json::{self, Dialect, is_repeated, kind, range, shown},
};
use crate::{Effect, Layer, Mode, rule::widest};

/// Rules on files that the agent reads under another name than ours.
const PATH_TOOLS: [&str; 11] = [
    "Read",
    "Edit",
    "Write",
    "MultiEdit",
    "NotebookEdit",
    "Glob",
    "Grep",
    "LS",
    "Delete",
    "ApplyPatch",
    "EditLines",
];

/// What is known of keys that carry no permission, for the report.
fn elsewhere(key: &str) -> &'static str {
    match key {
        "hooks" | "disableAllHooks" | "allowManagedHooksOnly" | "allowedHttpHookUrls" | "httpHookAllowedEnvVars" => {
            "hooks are no part of a policy document"
        }
        "env" | "apiKeyHelper" | "statusLine" | "awsAuthRefresh" | "awsCredentialExport" => {
            "what the agent runs or sets for itself is no permission"
        }
        "allowedMcpServers" | "allowManagedMcpServersOnly" => {
            "it says which servers may exist, and a rule only what their tools may do"
        }
        "enableAllProjectMcpServers" | "enabledMcpjsonServers" => {
            "it approves servers, and a server is approved here by the person at the host"
        }
        "disableSideloadFlags"
        | "strictKnownMarketplaces"
        | "blockedMarketplaces"
        | "strictPluginOnlyCustomization"
        | "policyHelper"
        | "forceRemoteSettingsRefresh"
        | "parentSettingsBehavior"
        | "wslInheritsWindowsSettings" => "it governs the agent's own plugins and settings",
        _ => "it is no permission",
    }
}

/// Reads a settings file.
pub(super) fn settings(draft: &mut Draft<'_>) {
    let tree = json::parse(draft, Dialect::Plain);
    let Some(object) = super::cursor::top(draft, tree.value.as_ref()) else {
        return;
    };
    let mut modes = ModeLimits::default();
    for property in &object.properties {
        let key = property.name.as_str();
        let span = range(property);
        let sound = tree.sound && !is_repeated(object, key);
        match (key, &property.value) {
            ("$schema", _) => draft.kept(span, key),
            ("permissions", Value::Object(permissions)) => {
                for property in &permissions.properties {
                    let sound = sound && !is_repeated(permissions, property.name.as_str());
                    permission(draft, property, sound, &mut modes);
                }
            }
            ("sandbox", Value::Object(sandbox)) => self::sandbox(draft, sandbox, sound),
            ("autoMode", Value::Object(auto)) => auto_mode(draft, auto, sound),
            ("deniedMcpServers", Value::Array(array)) => denied_servers(draft, array),
            ("disabledMcpjsonServers", Value::Array(array)) => {
                for element in &array.elements {
                    denied_server(draft, element, element.as_string_lit().map(|name| name.value.as_ref()));
                }
            }
            ("permissions" | "sandbox" | "autoMode", other) => {
                draft.fault(span, key, format!("`{key}`: expected an object, found {}", kind(other)));
            }
            ("deniedMcpServers" | "disabledMcpjsonServers", other) => {
                draft.fault(span, key, format!("`{key}`: expected an array, found {}", kind(other)));
            }
            ("allowManagedPermissionRulesOnly", value) => managed_only(draft, span, value),
            _ => draft.not_expressible(span, key, elsewhere(key)),
        }
    }
    modes.settle(draft);
}

/// Modes that the file forbids.
#[derive(Default)]
struct ModeLimits {
    forbidden: Vec<&'static str>,
}

impl ModeLimits {
    fn settle(&self, draft: &mut Draft<'_>) {
        if self.forbidden.is_empty() {
            return;
        }
        let forbidden = |mode: Mode| {
            self.forbidden
                .iter()
                .filter_map(|word| word.parse::<Mode>().ok())
                .any(|forbidden| mode == forbidden || mode.goes_with(forbidden))
        };
        let permitted = Mode::ALL.into_iter().filter(|mode| !forbidden(*mode)).collect();
        draft.set_permitted_modes(permitted);
    }
}

fn managed_only(draft: &mut Draft<'_>, span: Range<usize>, value: &Value<'_>) {
    let key = "allowManagedPermissionRulesOnly";
    let on = value.as_boolean_lit().is_some_and(|literal| literal.value);
    if !on {
        draft.not_expressible(span, key, "it locks nothing");
    } else if draft.origin.layer < Layer::Team {
        draft.lock_to_installed_rules();
        draft.not_expressible(span, key, "the agent heeds it in managed settings alone");
    } else {
        draft.lock_to_managed_rules();
        draft.translated(
            span,
            key,
            "locks.managedRulesOnly, which drops the allows of lower layers and keeps their denies and asks",
        );
    }
}

fn permission(draft: &mut Draft<'_>, property: &ObjectProp<'_>, sound: bool, modes: &mut ModeLimits) {
    let key = property.name.as_str();
    let span = range(property);
    let effect = match key {
        "allow" => Effect::Allow,
        "ask" => Effect::Ask,
        "deny" => Effect::Deny,
        "defaultMode" => return default_mode(draft, span, &property.value, sound),
        "additionalDirectories" => return directories(draft, property, sound),
        "disableBypassPermissionsMode" => return forbidden(draft, property, "bypass", modes),
        "disableAutoMode" => return forbidden(draft, property, "auto", modes),
        "blockReadsOutsideWorkingDirectories" | "blockWritesOutsideWorkingDirectories" | "blockReadsExemptPaths" => {
            let why =
                "there is no rule for all that lies outside the workspace; it asks in every mode that asks at all";
            return draft.not_expressible(span, key, why);
        }
        "denyInsteadOfPrompting" => {
            return draft.not_expressible(span, key, "the mode dontAsk does so; sessions choose it at their start");
        }
        _ => return draft.not_expressible(span, key, "no such key of `permissions` is known"),
    };
    let Value::Array(array) = &property.value else {
        let why = format!("`{key}`: expected an array, found {}", kind(&property.value));
        return draft.fault(span, key, why);
    };
    for element in &array.elements {
        let (span, text) = (range(element), shown(draft, element));
        if element.as_string_lit().is_none() {
            draft.fault(
                span,
                &text,
                format!("a rule: expected a string, found {}", kind(element)),
            );
        } else if effect == Effect::Allow && !sound {
            draft.not_expressible(
                span,
                &text,
                "an allow of a part that the agent may not read is left out",
            );
        } else {
            rule(draft, effect, &text, &span);
        }
    }
}

/// One rule, in the words of the agent.
fn rule(draft: &mut Draft<'_>, effect: Effect, text: &str, span: &Range<usize>) {
    let cusp = draft.format == Format::Cusp;
    let (tool, inner) = match text.split_once('(') {
        Some((tool, rest)) => (tool, rest.strip_suffix(')')),
        None => (text, None),
    };
    if tool == "Cd" {
        let why = "it is about the person's own `/cd`, which no agent calls";
        return draft.not_expressible(span.clone(), text, why);
    }
    if !cusp && effect != Effect::Allow && inner.is_some_and(|inner| inner.starts_with('!')) {
        let why = "the agent knows no exceptions; without it the rule before covers more";
        return draft.not_expressible(span.clone(), text, why);
    }
    if !cusp && tool == "WebSearch" && inner.is_some_and(|inner| inner.contains('*')) && effect == Effect::Allow {
        return draft.not_expressible(
            span.clone(),
            text,
            "the agent knows no wildcards here, and ignores the rule",
        );
    }
    // `Read(file_path:x)`: a file of that name is not what anybody meant.
    let names_its_field = |inner: &str| {
        ["file_path:", "path:", "pattern:", "notebook_path:"]
            .iter()
            .any(|field| inner.starts_with(field))
    };
    if effect == Effect::Allow && PATH_TOOLS.contains(&tool) && inner.is_some_and(names_its_field) {
        let why = "the agent ignores rules on the field that a tool's own form speaks about";
        return draft.not_expressible(span.clone(), text, why);
    }
    if tool == "PowerShell" && inner.is_some() {
        if effect == Effect::Allow {
            let why = "what a PowerShell line runs is not analysed, so no rule for a part of it can allow it";
            return draft.not_expressible(span.clone(), text, why);
        }
        let how = format!("{effect} of every PowerShell command: which one it is, is not analysed");
        return add(draft, effect, "PowerShell", text, span, Some(how));
    }
    let own_folder = inner.filter(|inner| {
        let path = inner.strip_prefix('!').unwrap_or(inner);
        PATH_TOOLS.contains(&tool) && path.starts_with('/') && !path.starts_with("//")
    });
    // In the user's own file `/x` is its folder, which no other document has.
    if let (Some(inner), Layer::User, Some(folder)) = (own_folder, draft.origin.layer, draft.origin.folder.clone()) {
        let (mark, path) = match inner.strip_prefix('!') {
            Some(path) => ("!", path),
            None => ("", inner),
        };
        let native = format!("{tool}({mark}/{}{path})", folder.as_str().trim_end_matches('/'));
        let how = format!("{native}: `/x` is the folder of the user's file");
        return add(draft, effect, &native, text, span, Some(how));
    }
    let renamed = matches!(tool, "Write" | "MultiEdit" | "NotebookEdit" | "Glob" | "Grep" | "LS")
        && inner.is_some()
        && effect != Effect::Allow;
    let how = renamed.then(|| {
        let as_what = if matches!(tool, "Glob" | "Grep" | "LS") {
            "Read"
        } else {
            "Edit"
        };
        format!("it counts as {as_what}(…)")
    });
    add(draft, effect, text, text, span, how);
    if cusp && effect == Effect::Allow && tool == "Edit" {
        // Whoever may change a file there may read it.
        let reading = text.replacen("Edit", "Read", 1);
        if draft
            .rule(effect, &NativeRule::new(reading.clone()), span, text)
            .is_ok()
        {
            draft.translated(
                span.clone(),
                text,
                format!("and {reading}: an allow to edit allows reading"),
            );
        }
    }
}

fn add(draft: &mut Draft<'_>, effect: Effect, native: &str, text: &str, span: &Range<usize>, how: Option<String>) {
    match draft.rule(effect, &NativeRule::new(native), span, text) {
        Ok(()) => match how {
            Some(how) => draft.translated(span.clone(), text, how),
            None => draft.kept(span.clone(), text),
        },
        Err(fault) => {
            let hint = fault.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            let why = format!("{}{hint}", fault.message);
            // An exception that is lost leaves more denied.
            let excepts = native.split_once('(').is_some_and(|(_, inner)| inner.starts_with('!'));
            if effect == Effect::Allow || excepts {
                return draft.not_expressible(span.clone(), text, why);
            }
            // A denial that cannot be read is kept as widely as it may be meant, and told.
            let wide =
                widest(native, effect).filter(|rule| draft.rule(effect, &NativeRule::new(rule), span, text).is_ok());
            let counts = match wide {
                Some(rule) => format!("it counts as {effect} of `{rule}`"),
                None => "which calls it is about cannot be told".to_owned(),
            };
            draft.fault(span.clone(), text, format!("{effect} rule `{text}`: {why}; {counts}"));
        }
    }
}

fn default_mode(draft: &mut Draft<'_>, span: Range<usize>, value: &Value<'_>, sound: bool) {
    let shown_text = format!("defaultMode: {}", shown(draft, value));
    let Some(mode) = value.as_string_lit().and_then(|word| word.value.parse::<Mode>().ok()) else {
        return draft.not_expressible(span, &shown_text, "there is no such mode here; it counts as default");
    };
    if draft.origin.layer.is_inside_project() && !mode.may_be_selected_by_project() {
        let why = "a project cannot select this mode: whoever writes to it would select it";
        return draft.not_expressible(span, &shown_text, why);
    }
    draft.set_mode(mode, sound, span, &shown_text);
}

fn directories(draft: &mut Draft<'_>, property: &ObjectProp<'_>, sound: bool) {
    let key = property.name.as_str();
    let Value::Array(array) = &property.value else {
        let why = format!("`{key}`: expected an array, found {}", kind(&property.value));
        return draft.fault(range(property), key, why);
    };
    for element in &array.elements {
        let (span, text) = (range(element), shown(draft, element));
        let relative = !text.starts_with(['/', '~']);
        let why = if element.as_string_lit().is_none() {
            Some("a folder is a string")
        } else if !sound {
            Some("a folder of a part that the agent may not read is left out")
        } else if text.starts_with("//") {
            Some("the agent takes `//x` for a place in the network; write `/x`")
        } else if text.is_empty() || text.contains(['*', '?', '\0']) {
            Some("a folder is one path, without wildcards")
        } else if matches!(text.trim_end_matches('/'), "" | "~") {
            Some("as a folder of the workspace it would open everything in it")
        } else if relative && draft.origin.layer == Layer::User {
            Some("in the user's own file it is relative to wherever the agent starts")
        } else if text.starts_with('~') && !text.starts_with("~/") {
            Some("another user's home is not known here")
        } else {
            None
        };
        match why {
            Some(why) => draft.not_expressible(span, &text, why),
            None => {
                draft.add_directory(&text);
                draft.kept(span, &text);
            }
        }
    }
}

fn forbidden(draft: &mut Draft<'_>, property: &ObjectProp<'_>, mode: &'static str, modes: &mut ModeLimits) {
    let (span, key) = (range(property), property.name.as_str());
    let on = property
        .value
        .as_string_lit()
        .is_some_and(|word| word.value == "disable");
    if !on {
        draft.not_expressible(span, key, "only the word `disable` has a meaning");
    } else if draft.origin.layer < Layer::Team {
        if let Ok(mode) = mode.parse::<Mode>() {
            draft.forbid_mode(mode);
        }
        let why = format!(
            "sessions of this agent are not in the mode {mode} while the file is read live; in a document only team policy \
             says which modes exist: leave `{mode}` out of its `modes.permitted`"
        );
        draft.not_expressible(span, key, why);
    } else if mode.parse::<Mode>().is_err() {
        draft.translated(span, key, format!("there is no mode {mode} here"));
    } else {
        modes.forbidden.push(mode);
        draft.translated(span, key, format!("modes.permitted without {mode}"));
    }
}

fn sandbox(draft: &mut Draft<'_>, sandbox: &Object<'_>, sound: bool) {
    let boolean = |key: &str| sandbox.get(key)?.value.as_boolean_lit().map(|literal| literal.value);
    let enabled = boolean("enabled") == Some(true);
    for property in &sandbox.properties {
        let key = property.name.as_str();
        let (span, shown_key) = (range(property), format!("sandbox.{key}"));
        if key != "autoAllowBashIfSandboxed" {
            let why = "what the sandbox is and may reach is no part of a policy document yet";
            draft.not_expressible(span, &shown_key, why);
            continue;
        }
        match boolean(key).filter(|_| !is_repeated(sandbox, key)) {
            Some(false) => {
                draft.set_auto_allow_if_sandboxed(false);
                draft.translated(span, &shown_key, "sandbox.autoAllowIfSandboxed: false");
            }
            Some(true) if draft.origin.layer.is_inside_project() => {
                draft.not_expressible(span, &shown_key, "a project can only switch it off");
            }
            Some(true) if enabled && sound => {
                draft.set_auto_allow_if_sandboxed(true);
                draft.translated(span, &shown_key, "sandbox.autoAllowIfSandboxed: true");
            }
            Some(true) => draft.not_expressible(span, &shown_key, "the agent's sandbox is not switched on"),
            None => draft.fault(span, &shown_key, "it is true or false, once"),
        }
    }
}

fn auto_mode(draft: &mut Draft<'_>, auto: &Object<'_>, sound: bool) {
    for property in &auto.properties {
        let key = property.name.as_str();
        let allows = match key {
            "allow" => true,
            "soft_deny" | "hard_deny" => false,
            _ => {
                let why = "the classifier here is told what to allow and what to block, and no more";
                draft.not_expressible(range(property), &format!("autoMode.{key}"), why);
                continue;
            }
        };
        let Value::Array(array) = &property.value else {
            let why = format!("`{key}`: expected an array, found {}", kind(&property.value));
            draft.fault(range(property), key, why);
            continue;
        };
        for element in &array.elements {
            let (span, text) = (range(element), shown(draft, element));
            let sentence = element.as_string_lit().map(|literal| literal.value.trim().to_owned());
            match sentence.filter(|text| (1..=1000).contains(&text.len())) {
                None => draft.fault(span, &text, "a sentence is a string of 1 to 1000 bytes"),
                Some(_) if allows && !sound => {
                    draft.not_expressible(span, &text, "the agent may not read this part");
                }
                Some(sentence) => {
                    draft.instruction(allows, Some(&sentence));
                    let list = if allows {
                        "allow_instructions"
                    } else {
                        "block_instructions"
                    };
                    draft.translated(span, &text, format!("a sentence of autoRun.{list}"));
                }
            }
        }
    }
}

fn denied_servers(draft: &mut Draft<'_>, array: &Array<'_>) {
    for element in &array.elements {
        let name = element
            .as_object()
            .and_then(|object| object.get("serverName")?.value.as_string_lit())
            .map(|name| name.value.as_ref());
        denied_server(draft, element, name);
    }
}

fn denied_server(draft: &mut Draft<'_>, element: &Value<'_>, name: Option<&str>) {
    let (span, text) = (range(element), shown(draft, element));
    let Some(name) = name else {
        let why = "a rule names a server by its configured name, not by its command or address";
        return draft.not_expressible(span, &text, why);
    };
    let native = format!("mcp__{name}");
    match draft.rule(Effect::Deny, &NativeRule::new(native.clone()), &span, &text) {
        Ok(()) => draft.translated(span, &text, format!("deny {native}")),
        Err(fault) => draft.fault(span, &text, fault.message),
    }
}
