//! The table of protected paths: names, exemptions, what the sandbox keeps read-only, and why.
//!
//! From the agents' own lists, united: what one of them protects is protected for all. Every entry asks as a tool edit
//! and as a change by a command; `sandbox` says which part the sandbox keeps read-only besides. It says nothing about
//! spellings (see `names`) and nothing about where a path leads (a fact of the host).

/// One protected path.
#[derive(Clone, Copy, Debug)]
pub struct Protected {
    /// Segments in lower case that stand anywhere in a path, one after the other. A final `*.x` stands for an ending.
    pub segments: &'static [&'static str],
    /// Sub-paths that are free.
    pub exempt: &'static [&'static str],
    /// A folder of an agent, whose protection the team can switch off. Then only what `sandbox` names stays protected:
    /// there the agent's own permissions and hooks are kept, ours among them.
    pub switchable: bool,
    /// What the sandbox keeps read-only, as gitignore patterns relative to every repository and root of the workspace.
    pub sandbox: &'static [&'static str],
    /// Why, for people.
    pub reason: &'static str,
}

const fn folder(segments: &'static [&'static str], reason: &'static str) -> Protected {
    Protected {
        segments,
        exempt: &[],
        switchable: false,
        sandbox: &[],
        reason,
    }
}

const GIT: &str = "git runs what is written there";
const AGENT: &str = "it configures an agent";
const EDITOR: &str = "an editor runs what is written there";
const BUILD: &str = "a build tool or package manager runs what is written there";
const LOGIN: &str = "a shell runs it at its next start";
const SESSION: &str = "it starts with the person's next session";
const MANAGED: &str = "it is an organisation's policy for an agent, and is read as one";
const KEYS: &str = "it holds keys, or says which are accepted";

// The host says where our files really lie; these are the usual places, for a host that says nothing.
const OURS: &str = "it belongs to Portcullis itself";

/// The table.
pub const PROTECTED: &[Protected] = &[
    Protected {
        segments: &[".git"],
        exempt: &[],
        switchable: false,
        // The rest of `.git` stays writable, or no commit could be made. The host applies these inside every git folder,
        // wherever it lies (submodules, linked work trees).
        sandbox: &[
            ".git/hooks",
            ".git/config",
            ".git/config.worktree",
            ".git/info/attributes",
        ],
        reason: GIT,
    },
    folder(&[".config", "git"], GIT),
    folder(&[".gitconfig"], GIT),
    folder(&[".gitmodules"], GIT),
    folder(&[".husky"], GIT),
    folder(&[".pre-commit-config.yaml"], GIT),
    folder(&["lefthook.yml"], GIT),
    folder(&["lefthook.yaml"], GIT),
    folder(&[".lefthook.yml"], GIT),
    folder(&[".lefthook.yaml"], GIT),
    Protected {
        segments: &[".portcullis"],
        exempt: &[],
        switchable: false,
        sandbox: &[".portcullis"],
        reason: "it is the policy of this project",
    },
    folder(&[".config", "portcullis"], OURS),
    folder(&[".local", "share", "portcullis"], OURS),
    folder(&[".local", "state", "portcullis"], OURS),
    Protected {
        segments: &[".claude"],
        exempt: &["worktrees"],
        switchable: true,
        sandbox: &[".claude/*.json", ".claude/**/*.json"],
        reason: AGENT,
    },
    Protected {
        segments: &[".cursor"],
        exempt: &["worktrees"],
        switchable: true,
        // Not deeper: rules, commands, work trees, skills and agents stay writable in the sandbox.
        sandbox: &[".cursor/*.json", ".cursor/.workspace-trusted"],
        reason: AGENT,
    },
    Protected {
        segments: &[".cusp"],
        exempt: &["worktrees", "agent-memory"],
        switchable: true,
        sandbox: &[".cusp/*.json"],
        reason: AGENT,
    },
    Protected {
        segments: &[".codex"],
        exempt: &[],
        switchable: true,
        sandbox: &[".codex/*.json", ".codex/*.toml"],
        reason: AGENT,
    },
    Protected {
        segments: &[".gemini"],
        exempt: &[],
        switchable: true,
        sandbox: &[".gemini/*.json"],
        reason: AGENT,
    },
    Protected {
        segments: &[".mcp.json"],
        exempt: &[],
        switchable: false,
        sandbox: &[".mcp.json"],
        reason: AGENT,
    },
    Protected {
        segments: &[".claude.json"],
        exempt: &[],
        switchable: false,
        sandbox: &[".claude.json"],
        reason: AGENT,
    },
    Protected {
        segments: &[".cusp.json"],
        exempt: &[],
        switchable: false,
        sandbox: &[".cusp.json"],
        reason: AGENT,
    },
    Protected {
        segments: &[".cursorignore"],
        exempt: &[],
        switchable: false,
        sandbox: &[".cursorignore"],
        reason: AGENT,
    },
    Protected {
        segments: &[".vscode"],
        exempt: &[],
        switchable: false,
        sandbox: &[".vscode"],
        reason: EDITOR,
    },
    Protected {
        segments: &["*.code-workspace"],
        exempt: &[],
        switchable: false,
        sandbox: &["*.code-workspace"],
        reason: EDITOR,
    },
    folder(&[".idea"], EDITOR),
    folder(&[".devcontainer"], EDITOR),
    folder(&[".devcontainer.json"], EDITOR),
    folder(&["pyrightconfig.json"], EDITOR),
    folder(&[".cargo"], BUILD),
    folder(&[".yarn"], BUILD),
    folder(&[".mvn"], BUILD),
    folder(&[".npmrc"], BUILD),
    folder(&[".yarnrc"], BUILD),
    folder(&[".yarnrc.yml"], BUILD),
    folder(&[".pnp.cjs"], BUILD),
    folder(&[".pnp.loader.mjs"], BUILD),
    folder(&[".pnpmfile.cjs"], BUILD),
    folder(&["bunfig.toml"], BUILD),
    folder(&[".bunfig.toml"], BUILD),
    folder(&[".bazelrc"], BUILD),
    folder(&[".bazelversion"], BUILD),
    folder(&[".bazeliskrc"], BUILD),
    folder(&["gradle-wrapper.properties"], BUILD),
    folder(&["maven-wrapper.properties"], BUILD),
    folder(&[".bashrc"], LOGIN),
    folder(&[".bash_profile"], LOGIN),
    folder(&[".bash_login"], LOGIN),
    folder(&[".bash_aliases"], LOGIN),
    folder(&[".bash_logout"], LOGIN),
    folder(&[".zshrc"], LOGIN),
    folder(&[".zprofile"], LOGIN),
    folder(&[".zshenv"], LOGIN),
    folder(&[".zlogin"], LOGIN),
    folder(&[".zlogout"], LOGIN),
    folder(&[".profile"], LOGIN),
    folder(&[".envrc"], LOGIN),
    folder(&[".config", "fish"], LOGIN),
    folder(&[".config", "systemd"], SESSION),
    folder(&[".config", "autostart"], SESSION),
    folder(&[".gdbinit"], "the debugger runs it at its next start"),
    folder(&[".config", "gdb"], "the debugger runs it at its next start"),
    folder(&[".zed"], EDITOR),
    folder(&[".config", "zed"], EDITOR),
    folder(&[".config", "nvim"], EDITOR),
    folder(&[".config", "helix"], EDITOR),
    folder(&["etc", "claude-code"], MANAGED),
    folder(&["etc", "codex"], MANAGED),
    folder(&[".ripgreprc"], "ripgrep runs programs it names"),
    folder(&[".ssh"], KEYS),
    folder(&[".gnupg"], KEYS),
    folder(&[".aws"], KEYS),
];

/// Which of the sandbox's patterns are whole folders that nothing may make in a repository that has begun, and why their
/// being there, empty, changes nothing for everyday tools. The host makes each, empty and read-only, for as long as a command
/// runs. Not here: folders of which only some files are read-only (`.claude`, `.cursor`, `.codex`, `.gemini`), as the rest
/// of them stays writable, and whatever the sandbox does not keep read-only at all.
pub const SANDBOX_FOLDERS: &[(&str, &str)] = &[
    (
        ".git/hooks",
        "git has it in most repositories, and looks for single files in it",
    ),
    (".portcullis", "only ours, and we look for single files in it"),
    (".vscode", "editors look for single files in it; no build tool knows it"),
];

/// What usually lies in folders of the table that something runs or obeys: with it a search that chooses by name is
/// compared. The rest of such a folder is protected where a path names it.
pub(super) const CONTENTS: &[(&str, &[&str])] = &[
    (
        ".git",
        &[
            "config",
            "config.worktree",
            "hooks",
            "hooks/applypatch-msg",
            "hooks/commit-msg",
            "hooks/fsmonitor-watchman",
            "hooks/post-checkout",
            "hooks/post-commit",
            "hooks/post-merge",
            "hooks/post-receive",
            "hooks/post-rewrite",
            "hooks/pre-applypatch",
            "hooks/pre-commit",
            "hooks/pre-merge-commit",
            "hooks/pre-push",
            "hooks/pre-rebase",
            "hooks/pre-receive",
            "hooks/prepare-commit-msg",
            "hooks/update",
            "info/attributes",
        ],
    ),
    (".config/git", &["attributes", "config"]),
    (
        ".husky",
        &[
            "commit-msg",
            "post-checkout",
            "post-merge",
            "pre-commit",
            "pre-push",
            "prepare-commit-msg",
        ],
    ),
    (".portcullis", &["local.jsonc", "policy.jsonc"]),
    (".claude", &["settings.json", "settings.local.json"]),
    (
        ".cursor",
        &[
            "cli.json",
            "environment.json",
            "hooks.json",
            "mcp.json",
            "permissions.json",
            "sandbox.json",
        ],
    ),
    (".codex", &["config.toml", "hooks.json"]),
    (".gemini", &["settings.json"]),
    (
        ".vscode",
        &["extensions.json", "launch.json", "settings.json", "tasks.json"],
    ),
    (".devcontainer", &["devcontainer.json"]),
    (".cargo", &["config", "config.toml"]),
    (".mvn", &["extensions.xml", "jvm.config", "maven.config"]),
    (".ssh", &["authorized_keys", "config", "environment", "rc"]),
    (".aws", &["config", "credentials"]),
];
