//! Subcommands that write a configuration file which they do not name: `npm config set`, `pre-commit install`.
//!
//! Only files that need a person anyway are worth a line here. Which of the places it is (home, repository) does not
//! matter: such names are protected anywhere.

/// Words of a command, from the program on, and the file that they change.
const WRITES: &[(&[&str], &str)] = &[
    (&["claude", "config", "add"], ".claude.json"),
    (&["claude", "config", "set"], ".claude.json"),
    (&["claude", "mcp", "add"], ".mcp.json"),
    (&["claude", "mcp", "add-json"], ".mcp.json"),
    (&["claude", "plugin", "install"], ".claude/settings.json"),
    (&["codex", "mcp", "add"], ".codex/config.toml"),
    (&["gemini", "mcp", "add"], ".gemini/settings.json"),
    (&["aws", "configure", "set"], ".aws/config"),
    (&["aws", "configure", "sso"], ".aws/config"),
    (&["conda", "init"], ".bashrc"),
    (&["git", "lfs", "install"], ".git/hooks/pre-push"),
    (&["git", "submodule", "add"], ".gitmodules"),
    (&["git", "submodule", "set-url"], ".gitmodules"),
    (&["husky", "init"], ".husky/pre-commit"),
    (&["husky", "install"], ".husky/_/husky.sh"),
    (&["lefthook", "install"], ".git/hooks/pre-commit"),
    (&["npm", "config", "set"], ".npmrc"),
    (&["npm", "set"], ".npmrc"),
    (&["npx", "husky", "init"], ".husky/pre-commit"),
    (&["npx", "husky", "install"], ".husky/_/husky.sh"),
    (&["pnpm", "config", "set"], ".npmrc"),
    (&["pre-commit", "install"], ".git/hooks/pre-commit"),
    (&["ssh-copy-id"], ".ssh/known_hosts"),
    (&["yarn", "config", "set"], ".yarnrc.yml"),
];

/// The file that a command changes without naming it. `words` follow the program.
pub(super) fn written(name: &str, words: &[&str]) -> Option<&'static str> {
    WRITES
        .iter()
        .find(|(known, _)| {
            known
                .split_first()
                .is_some_and(|(program, rest)| *program == name && words.starts_with(rest))
        })
        .map(|(_, file)| *file)
}
