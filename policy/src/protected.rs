//! Paths that always need a person, and which of them the sandbox keeps read-only.
//!
//! The sandbox half only: what a command inside it must not change, because an editor, an agent or git would later run
//! it. It does not judge tool calls.

/// What stays read-only in a writable workspace, relative to every repository and root in it.
///
/// Configuration of editors and agents, and what git runs or follows. The rest of `.git` stays writable, or no command
/// could commit; of `.cursor` what its user writes by hand does.
#[must_use]
pub fn sandbox_read_only_patterns() -> &'static [&'static str] {
    &[
        // Portcullis' own policy of the project.
        ".portcullis",
        // Cursor: hooks, MCP servers, sandbox, permissions; not rules, commands, worktrees, skills, agents.
        ".cursor/*.json",
        ".cursor/.workspace-trusted",
        ".cursorignore",
        // Claude Code: settings with hooks and permissions.
        ".claude/*.json",
        ".claude/**/*.json",
        ".mcp.json",
        // Editors: tasks and settings that run programs.
        ".vscode",
        "*.code-workspace",
        // git: programs it runs, and where it looks for them.
        ".git/hooks",
        ".git/config",
        ".git/config.worktree",
        ".git/info/attributes",
    ]
}
