//! Where each agent keeps its MCP servers: a table, from the agents' own documentation.
//!
//! Not read: plugins and extensions of agents, servers given on an agent's command line, and connectors of an account. A
//! server from there is in no configuration that was read, so it is not approved.

use std::path::{Path, PathBuf};

use portcullis_policy::facts::ConfiguredIn;

use super::{MAX_ANCESTORS, Place};

/// One kind of file.
#[derive(Debug)]
pub(super) struct Source {
    /// The agents that read it.
    pub(super) agents: &'static [&'static str],
    base: Base,
    path: &'static str,
    /// Who writes it.
    pub(super) place: ConfiguredIn,
    pub(super) format: Format,
    /// The way to the object that holds the servers; empty for `~/.claude.json`, which has several.
    pub(super) key: &'static [&'static str],
}

/// What a path starts from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Base {
    /// The root of the file system.
    Host,
    /// The person's home folder.
    Home,
    /// Each folder of the workspace, and the project around the first.
    Project,
    /// The same, and every folder above.
    Above,
}

/// How a file is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Format {
    /// JSON, with comments and trailing commas at most.
    Json,
    /// TOML.
    Toml,
}

const fn json(
    agents: &'static [&'static str],
    base: Base,
    path: &'static str,
    place: ConfiguredIn,
    key: &'static [&'static str],
) -> Source {
    Source {
        agents,
        base,
        path,
        place,
        format: Format::Json,
        key,
    }
}

const fn toml(base: Base, path: &'static str, place: ConfiguredIn) -> Source {
    Source {
        agents: &["codex"],
        base,
        path,
        place,
        format: Format::Toml,
        key: &["mcp_servers"],
    }
}

const SERVERS: &[&str] = &["mcpServers"];
const EDITOR: &[&str] = &["servers"];
const OPENCODE: &[&str] = &["mcp"];

/// All of them.
pub(super) const SOURCES: &[Source] = &[
    json(
        &["claude"],
        Base::Host,
        "etc/claude-code/managed-mcp.json",
        ConfiguredIn::Managed,
        SERVERS,
    ),
    json(&["claude"], Base::Home, ".claude.json", ConfiguredIn::User, &[]),
    json(
        &["claude", "copilot"],
        Base::Above,
        ".mcp.json",
        ConfiguredIn::Project,
        SERVERS,
    ),
    json(&["cursor"], Base::Home, ".cursor/mcp.json", ConfiguredIn::User, SERVERS),
    json(
        &["cursor"],
        Base::Above,
        ".cursor/mcp.json",
        ConfiguredIn::Project,
        SERVERS,
    ),
    toml(Base::Host, "etc/codex/config.toml", ConfiguredIn::Managed),
    toml(Base::Home, ".codex/config.toml", ConfiguredIn::User),
    toml(Base::Above, ".codex/config.toml", ConfiguredIn::Project),
    json(
        &["gemini"],
        Base::Host,
        "etc/gemini-cli/settings.json",
        ConfiguredIn::Managed,
        SERVERS,
    ),
    json(
        &["gemini"],
        Base::Home,
        ".gemini/settings.json",
        ConfiguredIn::User,
        SERVERS,
    ),
    json(
        &["gemini"],
        Base::Project,
        ".gemini/settings.json",
        ConfiguredIn::Project,
        SERVERS,
    ),
    json(
        &["qwen"],
        Base::Home,
        ".qwen/settings.json",
        ConfiguredIn::User,
        SERVERS,
    ),
    json(
        &["qwen"],
        Base::Project,
        ".qwen/settings.json",
        ConfiguredIn::Project,
        SERVERS,
    ),
    json(
        &["copilot"],
        Base::Home,
        ".copilot/mcp-config.json",
        ConfiguredIn::User,
        SERVERS,
    ),
    json(
        &["copilot", "vscode"],
        Base::Project,
        ".vscode/mcp.json",
        ConfiguredIn::Project,
        EDITOR,
    ),
    json(
        &["vscode"],
        Base::Home,
        ".config/Code/User/mcp.json",
        ConfiguredIn::User,
        EDITOR,
    ),
    json(
        &["opencode"],
        Base::Home,
        ".config/opencode/opencode.json",
        ConfiguredIn::User,
        OPENCODE,
    ),
    json(
        &["opencode"],
        Base::Home,
        ".config/opencode/opencode.jsonc",
        ConfiguredIn::User,
        OPENCODE,
    ),
    json(
        &["opencode"],
        Base::Above,
        "opencode.json",
        ConfiguredIn::Project,
        OPENCODE,
    ),
    json(
        &["opencode"],
        Base::Above,
        "opencode.jsonc",
        ConfiguredIn::Project,
        OPENCODE,
    ),
    json(
        &["windsurf"],
        Base::Home,
        ".codeium/windsurf/mcp_config.json",
        ConfiguredIn::User,
        SERVERS,
    ),
    json(
        &["kiro"],
        Base::Home,
        ".kiro/settings/mcp.json",
        ConfiguredIn::User,
        SERVERS,
    ),
    json(
        &["kiro"],
        Base::Project,
        ".kiro/settings/mcp.json",
        ConfiguredIn::Project,
        SERVERS,
    ),
];

impl Source {
    /// Its files, each with the folder that it must really lie in: a project could present any file as its own.
    pub(super) fn paths(&self, place: &Place<'_>) -> Vec<(PathBuf, Option<PathBuf>)> {
        let inside = |folder: &Path| (folder.join(self.path), Some(folder.to_owned()));
        let folders: Vec<PathBuf> = match self.base {
            Base::Host => return vec![(Path::new("/").join(self.path), None)],
            // A person may keep their own files elsewhere and link to them.
            Base::Home => return place.home.iter().map(|home| (home.join(self.path), None)).collect(),
            Base::Project => place.folders(),
            Base::Above => place
                .folders()
                .iter()
                .flat_map(|folder| {
                    folder
                        .ancestors()
                        .take(MAX_ANCESTORS)
                        .map(Path::to_owned)
                        .collect::<Vec<_>>()
                })
                .collect(),
        };
        let mut seen = Vec::new();
        for folder in folders {
            // What lies in the home folder itself is the person's own, and has its line in the table.
            let own = place.home == Some(folder.as_path()) && self.is_also_the_persons();
            if !own && !seen.contains(&folder) {
                seen.push(folder);
            }
        }
        seen.iter().map(|folder| inside(folder)).collect()
    }

    fn is_also_the_persons(&self) -> bool {
        SOURCES
            .iter()
            .any(|other| matches!(other.base, Base::Home) && other.path == self.path)
    }
}

impl Place<'_> {
    /// The workspace's folders, and the project around the first.
    fn folders(&self) -> Vec<PathBuf> {
        self.roots
            .iter()
            .cloned()
            .chain(self.project.map(Path::to_owned))
            .collect()
    }
}
