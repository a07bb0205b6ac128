//! Places for which no refusal offers to widen the sandbox.
//!
//! What a command prints is what it, or a text that it read, wants to be printed: it must not make an agent ask for a home folder, for
//! credentials, for what decides about agents, or for what starts programs later. Only the advice depends on this list, and no access:
//! what may be opened is decided where it is asked for. Paths are compared as they are written.

use std::path::{Component, Path};

/// Names of folders and files that hold one of these, wherever they lie.
const NAMES: &[&str] = &[
    "portcullis",
    ".portcullis",
    ".claude",
    ".claude.json",
    ".codex",
    ".copilot",
    ".cursor",
    ".gemini",
    ".mcp.json",
    ".vscode",
    ".aws",
    ".azure",
    ".docker",
    ".gnupg",
    ".kube",
    ".netrc",
    ".password-store",
    ".pypirc",
    ".ssh",
    "gcloud",
    "keyrings",
];

/// Folders of which a home folder is made, that would open much of it.
const WIDE: &[&str] = &[".config", ".local", ".local/share", ".local/state", ".local/bin"];

/// Whether a path is, holds or lies in one of them.
pub(super) fn is(path: &Path, home: Option<&Path>) -> bool {
    let named = path.components().any(|part| match part {
        Component::Normal(name) => NAMES.iter().any(|known| name == *known),
        _ => false,
    });
    let roots = ["/root", "/home", "/Users", "/etc", "/usr", "/var"];
    named || roots.iter().any(|root| path == Path::new(root)) || is_too_much_of(path, home)
}

/// What of a home folder is too much: itself, its wide folders, and files of its own that shells and tools read at their start.
fn is_too_much_of(path: &Path, home: Option<&Path>) -> bool {
    if home.is_some_and(|home| home.starts_with(path)) {
        return true;
    }
    let mut parts = path.components();
    let usual = match (
        parts.next(),
        parts.next().map(Component::as_os_str),
        parts.clone().next(),
    ) {
        (_, Some(first), _) if first == "root" => Some(parts.as_path()),
        (_, Some(first), Some(_)) if first == "home" || first == "Users" => {
            parts.next();
            Some(parts.as_path())
        }
        _ => None,
    };
    let own = home.and_then(|home| path.strip_prefix(home).ok());
    [own, usual].into_iter().flatten().any(|rest| {
        let known = |list: &[&str]| list.iter().any(|known| rest == Path::new(known));
        rest.as_os_str().is_empty() || known(STARTS) || known(WIDE)
    })
}

/// Files that shells and tools read when they start.
const STARTS: &[&str] = &[
    ".bash_login",
    ".bash_profile",
    ".bashrc",
    ".gitconfig",
    ".npmrc",
    ".profile",
    ".zprofile",
    ".zshenv",
    ".zshrc",
];
