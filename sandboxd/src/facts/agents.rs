//! Where agents keep their own permission files: the table from which a call's documents are gathered.
//!
//! An agent's allow must not be widened by an answer of ours, and a person who wrote a rule for their agent expects it to
//! hold. So the files of the agent that calls, and only those, are read live beside our own documents. What they mean is
//! the policy engine's business (`policy::import`); here is only where they lie.
//!
//! Files that an enterprise installs for the agent count as the person's own: they may narrow what we allow, and our team
//! policy stands above them.

use portcullis_proto::v1::{Agent, DocumentFormat, Layer};

/// Where a file is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// The home folder of the daemon's user.
    Home,
    /// The folder for settings of the whole machine: `/etc`.
    System,
    /// The folder in which the agent was started.
    Start,
    /// The root of the project.
    Project,
}

/// One file, or all files of a folder with an ending.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) layer: Layer,
    pub(super) base: Base,
    /// Below the base; a last segment `*.x` stands for all files of the folder with that ending.
    pub(super) path: &'static str,
    pub(super) format: DocumentFormat,
}

const fn place(layer: Layer, base: Base, path: &'static str, format: DocumentFormat) -> Place {
    Place {
        layer,
        base,
        path,
        format,
    }
}

const CLAUDE: &[Place] = {
    use DocumentFormat::ClaudeSettings as Settings;
    &[
        place(Layer::User, Base::System, "claude-code/managed-settings.json", Settings),
        place(
            Layer::User,
            Base::System,
            "claude-code/managed-settings.d/*.json",
            Settings,
        ),
        place(Layer::User, Base::Home, ".claude/settings.json", Settings),
        place(Layer::Project, Base::Start, ".claude/settings.json", Settings),
        // Claude Code itself looks for this one at the root of the repository.
        place(Layer::Local, Base::Project, ".claude/settings.local.json", Settings),
        place(Layer::Local, Base::Start, ".claude/settings.local.json", Settings),
    ]
};

const CUSP: &[Place] = {
    use DocumentFormat::CuspSettings as Settings;
    &[
        place(Layer::User, Base::Home, ".cusp/settings.json", Settings),
        place(Layer::Project, Base::Start, ".cusp/settings.json", Settings),
        place(Layer::Local, Base::Project, ".cusp/settings.local.json", Settings),
        place(Layer::Local, Base::Start, ".cusp/settings.local.json", Settings),
    ]
};

/// What Cursor's own sandbox is told holds for ours.
const CURSOR_SANDBOX: [Place; 2] = {
    use DocumentFormat::SandboxFile;
    [
        place(Layer::User, Base::Home, ".cursor/sandbox.json", SandboxFile),
        place(Layer::Project, Base::Project, ".cursor/sandbox.json", SandboxFile),
    ]
};

const CURSOR_DESKTOP: &[Place] = {
    use DocumentFormat::CursorPermissions as Permissions;
    &[
        place(Layer::User, Base::Home, ".cursor/permissions.json", Permissions),
        place(Layer::Project, Base::Project, ".cursor/permissions.json", Permissions),
        CURSOR_SANDBOX[0],
        CURSOR_SANDBOX[1],
    ]
};

const CURSOR_CLI: &[Place] = {
    use DocumentFormat::CursorCli as Cli;
    &[
        place(Layer::User, Base::Home, ".cursor/cli-config.json", Cli),
        place(Layer::Project, Base::Project, ".cursor/cli.json", Cli),
        CURSOR_SANDBOX[0],
        CURSOR_SANDBOX[1],
    ]
};

const CODEX: &[Place] = &[
    place(
        Layer::User,
        Base::System,
        "codex/requirements.toml",
        DocumentFormat::CodexRequirements,
    ),
    place(
        Layer::User,
        Base::Home,
        ".codex/config.toml",
        DocumentFormat::CodexConfig,
    ),
    place(
        Layer::User,
        Base::Home,
        ".codex/rules/*.rules",
        DocumentFormat::CodexRules,
    ),
    place(
        Layer::Project,
        Base::Project,
        ".codex/rules/*.rules",
        DocumentFormat::CodexRules,
    ),
];

const GEMINI: &[Place] = {
    use DocumentFormat::{GeminiPolicy as Policy, GeminiSettings as Settings};
    &[
        place(Layer::User, Base::System, "gemini-cli/settings.json", Settings),
        place(Layer::User, Base::Home, ".gemini/settings.json", Settings),
        place(Layer::Project, Base::Project, ".gemini/settings.json", Settings),
        place(Layer::User, Base::System, "gemini-cli/policies/*.toml", Policy),
        place(Layer::User, Base::Home, ".gemini/policies/*.toml", Policy),
    ]
};

/// The permission files of an agent. Those that we do not know have none that we could read.
pub(super) fn places(agent: &Agent) -> Vec<Place> {
    match agent.name.as_str() {
        "claude" => CLAUDE.to_vec(),
        "cusp" => CUSP.to_vec(),
        "cursor" => match cursor(&agent.version) {
            Cursor::Desktop => CURSOR_DESKTOP.to_vec(),
            Cursor::Cli => CURSOR_CLI.to_vec(),
            // Which of the two it is, is not known, so nothing that either denies may be lost.
            Cursor::Unknown => [CURSOR_DESKTOP, CURSOR_CLI].concat(),
        },
        "codex" => CODEX.to_vec(),
        "gemini" => GEMINI.to_vec(),
        _ => Vec::new(),
    }
}

/// Cursor comes as two programs with two kinds of permission files.
#[derive(Debug, PartialEq, Eq)]
enum Cursor {
    Desktop,
    Cli,
    Unknown,
}

/// The program on the command line has the date for a version, the desktop's counts from 0.
fn cursor(version: &str) -> Cursor {
    match version.split('.').next().and_then(|first| first.parse::<u32>().ok()) {
        Some(year) if year >= 2000 => Cursor::Cli,
        Some(_) => Cursor::Desktop,
        None => Cursor::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_agent_has_its_own_files() {
        let count = |name: &str, version: &str| {
            places(&Agent {
                name: name.to_owned(),
                version: version.to_owned(),
            })
            .len()
        };
        assert_eq!(count("claude", ""), CLAUDE.len());
        assert_eq!(count("cursor", "3.18.25"), 4);
        assert_eq!(count("cursor", "2026.09.18-abc"), 4);
        // Two of them twice, which whoever reads them notices.
        assert_eq!(count("cursor", ""), 8);
        assert_eq!(count("my-agent", ""), 0);
        assert_eq!(cursor("2026.09.18"), Cursor::Cli);
        assert_eq!(cursor("3.18.25"), Cursor::Desktop);
    }
}
