//! Cursor's permission files: those of the command line and those of the editor.
//!
//! Sources: Cursor's reference pages for CLI permissions and for `permissions.json`. The rules of the command line are read
//! in Cursor's own spelling; the lists of the editor are our own lists of the same names.

use jsonc_parser::ast::{Object, ObjectProp, Value};

use super::{
    draft::{Draft, NativeRule},
    json::{self, Dialect, is_repeated, kind, range, shown},
};
use crate::{Effect, Mode};

/// `cli-config.json` and `cli.json`.
pub(super) fn command_line(draft: &mut Draft<'_>) {
    let tree = json::parse(draft, Dialect::Plain);
    let Some(object) = top(draft, tree.value.as_ref()) else {
        return;
    };
    let in_project = draft.origin.layer.is_inside_project();
    let mut approval = None;
    for property in &object.properties {
        let key = property.name.as_str();
        let span = range(property);
        match (key, &property.value) {
            ("permissions", Value::Object(permissions)) => {
                let sound = tree.sound && !is_repeated(object, key);
                for property in &permissions.properties {
                    permission(
                        draft,
                        property,
                        sound && !is_repeated(permissions, property.name.as_str()),
                    );
                }
            }
            ("permissions", other) => {
                draft.fault(
                    span,
                    key,
                    format!("`permissions`: expected an object, found {}", kind(other)),
                );
            }
            ("version", _) => draft.kept(span, key),
            (_, _) if in_project => {
                let why = "Cursor reads nothing but `permissions` from a project's file";
                draft.not_expressible(span, key, why);
            }
            ("approvalMode", Value::StringLit(word)) => approval = Some((span, word.value.to_string())),
            ("approvalMode", other) => {
                draft.fault(
                    span,
                    key,
                    format!("`approvalMode`: expected a string, found {}", kind(other)),
                );
            }
            ("sandbox", Value::Object(_)) => {
                draft.not_expressible(
                    span,
                    key,
                    "what the sandbox may reach is no part of a policy document yet",
                );
            }
            _ => draft.not_expressible(span, key, "it is no permission"),
        }
    }
    if let Some((span, word)) = approval {
        let sound = tree.sound && !is_repeated(object, "approvalMode") && !is_repeated(object, "sandbox");
        approval_mode(draft, span, &word, sandboxed(object), sound);
    }
}

/// Whether the file switches the sandbox on.
fn sandboxed(object: &Object<'_>) -> bool {
    object
        .get("sandbox")
        .and_then(|sandbox| sandbox.value.as_object()?.get("mode")?.value.as_string_lit())
        .is_some_and(|mode| mode.value == "enabled")
}

fn approval_mode(draft: &mut Draft<'_>, span: std::ops::Range<usize>, word: &str, sandboxed: bool, sound: bool) {
    let shown = format!("approvalMode: {word}");
    let mode = match word {
        "allowlist" if sandboxed => "allowlist-sandbox",
        "allowlist" => "allowlist",
        "auto-review" => "auto-review",
        "unrestricted" => "run-everything",
        other => {
            draft.fault(span, &shown, format!("`{other}` is no approval mode"));
            return;
        }
    };
    match mode.parse::<Mode>() {
        Ok(mode) => draft.set_mode(mode, sound, span, &shown),
        Err(_) => draft.not_expressible(span, &shown, format!("there is no mode {mode} here")),
    }
}

/// `permissions.allow` or `.deny`. `sound`: whether its owner surely reads it.
fn permission(draft: &mut Draft<'_>, property: &ObjectProp<'_>, sound: bool) {
    let key = property.name.as_str();
    let effect = match key {
        "allow" => Effect::Allow,
        "deny" => Effect::Deny,
        _ => {
            draft.not_expressible(range(property), key, "Cursor knows `allow` and `deny` alone");
            return;
        }
    };
    let Value::Array(array) = &property.value else {
        let why = format!("`{key}`: expected an array, found {}", kind(&property.value));
        draft.fault(range(property), key, why);
        return;
    };
    for element in &array.elements {
        let (span, text) = (range(element), shown(draft, element));
        if element.as_string_lit().is_none() {
            draft.fault(
                span,
                &text,
                format!("a rule: expected a string, found {}", kind(element)),
            );
            continue;
        }
        if effect == Effect::Allow && !sound {
            draft.not_expressible(span, &text, "an allow of a part that Cursor may not read is left out");
            continue;
        }
        match draft.rule(effect, &NativeRule::cursor(&text), &span, &text) {
            Ok(()) => draft.translated(span, &text, "the same rule with \"spelling\": \"cursor\""),
            Err(fault) => {
                let hint = fault.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
                draft.not_expressible(span, &text, format!("{}{hint}", fault.message));
            }
        }
    }
}

/// `permissions.json`.
pub(super) fn desktop(draft: &mut Draft<'_>) {
    let tree = json::parse(draft, Dialect::WithComments);
    let Some(object) = top(draft, tree.value.as_ref()) else {
        return;
    };
    for property in &object.properties {
        let key = property.name.as_str();
        let sound = !is_repeated(object, key);
        match key {
            "terminalAllowlist" => {
                draft.has_terminal_allowlist();
                list(draft, property, sound, |draft, text, span| {
                    draft.terminal_entry(text, span)
                });
            }
            "mcpAllowlist" => {
                draft.has_mcp_allowlist();
                list(draft, property, sound, |draft, text, span| draft.mcp_entry(text, span));
            }
            "autoRun" => auto_run(draft, property, sound),
            "$schema" => draft.kept(range(property), key),
            _ => draft.not_expressible(range(property), key, "it is none of the lists that are documented"),
        }
    }
}

fn list(
    draft: &mut Draft<'_>,
    property: &ObjectProp<'_>,
    sound: bool,
    mut add: impl FnMut(&mut Draft<'_>, &str, &std::ops::Range<usize>) -> Result<(), String>,
) {
    let key = property.name.as_str();
    let Value::Array(array) = &property.value else {
        let why = format!(
            "`{key}`: expected an array, found {}: it counts as empty",
            kind(&property.value)
        );
        draft.fault(range(property), key, why);
        return;
    };
    if array.elements.is_empty() {
        draft.kept(range(property), key);
    }
    for element in &array.elements {
        let (span, text) = (range(element), shown(draft, element));
        if element.as_string_lit().is_none() {
            draft.fault(
                span,
                &text,
                format!("an entry: expected a string, found {}", kind(element)),
            );
        } else if !sound {
            draft.fault(
                span,
                &text,
                format!("`{key}` stands twice: which one counts is not known"),
            );
        } else {
            match add(draft, &text, &span) {
                Ok(()) => draft.kept(span, &text),
                Err(why) => draft.not_expressible(span, &text, why),
            }
        }
    }
}

fn auto_run(draft: &mut Draft<'_>, property: &ObjectProp<'_>, sound: bool) {
    draft.instruction(true, None);
    let Value::Object(object) = &property.value else {
        let why = format!("`autoRun`: expected an object, found {}", kind(&property.value));
        draft.fault(range(property), "autoRun", why);
        return;
    };
    for property in &object.properties {
        let key = property.name.as_str();
        let allows = key == "allow_instructions";
        if !allows && key != "block_instructions" {
            draft.not_expressible(range(property), key, "it is none of the lists that are documented");
            continue;
        }
        let sound = sound && !is_repeated(object, key);
        list(draft, property, sound || !allows, |draft, text, _| {
            let text = text.trim();
            if text.is_empty() || text.len() > 1000 {
                return Err("a sentence holds between 1 and 1000 bytes".to_owned());
            }
            draft.instruction(allows, Some(text));
            Ok(())
        });
    }
}

/// The object that such a file is.
pub(super) fn top<'v, 't>(draft: &mut Draft<'_>, value: Option<&'v Value<'t>>) -> Option<&'v Object<'t>> {
    match value {
        Some(Value::Object(object)) => Some(object),
        Some(other) => {
            draft.fault(
                range(other),
                "",
                format!("the file: expected an object, found {}", kind(other)),
            );
            None
        }
        None => {
            // Of a text that is no JSON, the parser has said so.
            if draft.report_is_empty() {
                draft.fault(0..0, "", "the file is empty");
            }
            None
        }
    }
}
