//! What only Claude Code has: servers per project in `~/.claude.json`, lists of servers that are switched off, and a file
//! of the administrator that replaces all others.
//!
//! Claude Code has an approval of its own for the servers of a project (`enabledMcpjsonServers`,
//! `enableAllProjectMcpServers`). It is by name, and files of the project can give it, so it counts nothing here. What
//! switches a server off counts.

use std::path::{Path, PathBuf};

use portcullis_policy::facts::{Approval, ConfiguredIn};
use serde_json::Value;

use super::{Configured, Format, Place, Source, parse, read_one};

/// Settings that can switch servers of the project off, below a folder.
const SETTINGS: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];

/// Takes the servers of `~/.claude.json`: the person's own, and theirs for this project.
pub(super) fn take(source: &Source, path: &Path, value: &Value, place: &Place<'_>, out: &mut Configured) {
    out.servers(source, path, None, value.get("mcpServers"), ConfiguredIn::User);
    for (folder, project) in projects(value, place) {
        out.servers(
            source,
            path,
            Some(&folder),
            project.get("mcpServers"),
            ConfiguredIn::Local,
        );
    }
}

/// The entries of `projects` that are about a folder of the workspace, or one above.
fn projects<'v>(value: &'v Value, place: &Place<'_>) -> Vec<(PathBuf, &'v Value)> {
    let Some(Value::Object(projects)) = value.get("projects") else {
        return Vec::new();
    };
    let about = |folder: &Path| {
        let real = folder.canonicalize();
        let names = [Some(folder), real.as_deref().ok()];
        let inside = |root: &Path| names.iter().flatten().any(|folder| root.starts_with(folder));
        place
            .roots
            .iter()
            .any(|root| inside(root) || root.canonicalize().is_ok_and(|root| inside(&root)))
            || place.project.is_some_and(inside)
    };
    projects
        .iter()
        .map(|(folder, project)| (PathBuf::from(folder), project))
        .filter(|(folder, _)| folder.is_absolute() && about(folder))
        .collect()
}

/// Marks the servers that Claude Code's own settings switch off. Settings that cannot be read switch nothing off; whether
/// they can be read is for who reads their rules.
pub(super) fn switch_off(place: &Place<'_>, out: &mut Configured) {
    let files = place
        .roots
        .iter()
        .map(PathBuf::as_path)
        .chain(place.project)
        .chain(place.home)
        .flat_map(|folder| SETTINGS.map(|file| folder.join(file)));
    let mut off: Vec<(String, bool)> = Vec::new();
    let mut note = |value: &Value, key: &str, of_project_only: bool| {
        let names = value.get(key).and_then(Value::as_array).into_iter().flatten();
        off.extend(names.filter_map(|name| Some((name.as_str()?.to_owned(), of_project_only))));
    };
    for file in files {
        if let Ok(Some(text)) = read_one(&file, None)
            && let Ok(value) = parse(&text, Format::Json)
        {
            note(&value, "disabledMcpjsonServers", true);
        }
    }
    if let Some(home) = place.home
        && let Ok(Some(text)) = read_one(&home.join(".claude.json"), None)
        && let Ok(value) = parse(&text, Format::Json)
    {
        for (_, project) in projects(&value, place) {
            note(project, "disabledMcpjsonServers", true);
            note(project, "disabledMcpServers", false);
        }
    }
    for definition in out
        .definitions
        .iter_mut()
        .filter(|definition| definition.agents.contains(&"claude"))
    {
        let is_off = |(name, of_project_only): &(String, bool)| {
            *name == definition.name && (!of_project_only || definition.place == ConfiguredIn::Project)
        };
        if off.iter().any(is_off) {
            definition.approval = Approval::Disabled;
        }
    }
}

/// Where the administrator lists servers, Claude Code takes no others.
pub(super) fn keep_managed(out: &mut Configured) {
    let managed = |agents: &[&str], place| agents == ["claude"] && place == ConfiguredIn::Managed;
    if out.definitions.iter().any(|own| managed(own.agents, own.place)) {
        out.definitions
            .retain(|own| own.agents.first() != Some(&"claude") || managed(own.agents, own.place));
    }
}
