//! Paths that always need a person, and which of them the sandbox keeps read-only.
//!
//! What is written here runs later, outside every sandbox and without a question: a hook at the next `git` command, a
//! startup file at the next login, an agent's own settings at its next start. So a change needs a person in every mode,
//! and no allow rule lifts that. Reading is free.
//!
//! The table knows names, not meanings; case does not count, because on some file systems `.GIT` is `.git`. Paths of
//! Portcullis itself are no names but facts of the host, and stand in the request.

use crate::{AbsPath, request::Workspace};

/// One protected path.
#[derive(Clone, Copy, Debug)]
pub struct Protected {
    /// Segments in lower case that stand anywhere in a path, one after the other. A final `*.x` stands for an ending.
    pub segments: &'static [&'static str],
    /// Sub-paths that are free.
    pub exempt: &'static [&'static str],
    /// What the sandbox keeps read-only, as gitignore patterns relative to every repository and root of the workspace.
    pub sandbox: &'static [&'static str],
    /// Why, for people.
    pub reason: &'static str,
}

const fn folder(segments: &'static [&'static str], reason: &'static str) -> Protected {
    Protected {
        segments,
        exempt: &[],
        sandbox: &[],
        reason,
    }
}

const GIT: &str = "git runs what is written there";
const AGENT: &str = "it configures an agent";
const EDITOR: &str = "an editor runs what is written there";
const BUILD: &str = "a build tool or package manager runs what is written there";
const LOGIN: &str = "a shell runs it at its next start";
const KEYS: &str = "it holds keys, or says which are accepted";

/// The table.
pub const PROTECTED: &[Protected] = &[
    Protected {
        segments: &[".git"],
        exempt: &[],
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
        sandbox: &[".portcullis"],
        reason: "it is the policy of this project",
    },
    Protected {
        segments: &[".claude"],
        exempt: &["worktrees"],
        sandbox: &[".claude/*.json", ".claude/**/*.json"],
        reason: AGENT,
    },
    Protected {
        segments: &[".cursor"],
        exempt: &["worktrees"],
        // Not deeper: rules, commands, work trees, skills and agents stay writable in the sandbox.
        sandbox: &[".cursor/*.json", ".cursor/.workspace-trusted"],
        reason: AGENT,
    },
    Protected {
        segments: &[".cusp"],
        exempt: &["worktrees", "agent-memory"],
        sandbox: &[".cusp/*.json"],
        reason: AGENT,
    },
    Protected {
        segments: &[".codex"],
        exempt: &[],
        sandbox: &[".codex/*.json", ".codex/*.toml"],
        reason: AGENT,
    },
    Protected {
        segments: &[".gemini"],
        exempt: &[],
        sandbox: &[".gemini/*.json"],
        reason: AGENT,
    },
    Protected {
        segments: &[".mcp.json"],
        exempt: &[],
        sandbox: &[".mcp.json"],
        reason: AGENT,
    },
    Protected {
        segments: &[".claude.json"],
        exempt: &[],
        sandbox: &[".claude.json"],
        reason: AGENT,
    },
    Protected {
        segments: &[".cusp.json"],
        exempt: &[],
        sandbox: &[".cusp.json"],
        reason: AGENT,
    },
    Protected {
        segments: &[".cursorignore"],
        exempt: &[],
        sandbox: &[".cursorignore"],
        reason: AGENT,
    },
    Protected {
        segments: &[".vscode"],
        exempt: &[],
        sandbox: &[".vscode"],
        reason: EDITOR,
    },
    Protected {
        segments: &["*.code-workspace"],
        exempt: &[],
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
    folder(&[".ripgreprc"], "ripgrep runs programs it names"),
    folder(&[".ssh"], KEYS),
    folder(&[".gnupg"], KEYS),
    folder(&[".aws"], KEYS),
];

/// The entry that protects a path, if one does.
#[must_use]
pub fn protects(path: &AbsPath) -> Option<&'static Protected> {
    let segments: Vec<String> = path.segments().map(str::to_lowercase).collect();
    PROTECTED.iter().find(|entry| {
        segments.windows(entry.segments.len()).enumerate().any(|(at, window)| {
            window.iter().zip(entry.segments).all(|(own, name)| named(own, name))
                && !segments
                    .get(at + window.len())
                    .is_some_and(|next| entry.exempt.contains(&next.as_str()))
        })
    })
}

fn named(segment: &str, name: &str) -> bool {
    match name.strip_prefix('*') {
        Some(ending) => segment.ends_with(ending),
        None => segment == name,
    }
}

/// Whether a pattern of the shell (an absolute path with wildcards) can stand for a protected path.
///
/// Only a pattern with a wildcard in one of the protected segments' places, or with such a segment in words, counts:
/// `src/*.rs` does not stand for `.git`, because a wildcard does not stand for a dot at the beginning of a name.
#[must_use]
pub fn protects_pattern(pattern: &str) -> Option<&'static Protected> {
    let lower = pattern.to_lowercase();
    let theirs = crate::path::plain::parse(&lower);
    PROTECTED.iter().find(|entry| {
        if entry.segments.iter().any(|name| !name.starts_with('.')) {
            // Names without a dot at the beginning would meet every `*`: only their words count.
            let mut names = lower.split('/').filter(|name| !name.is_empty());
            return match entry.segments {
                [one] => names.any(|name| named(name, one)),
                _ => false,
            };
        }
        let ours: Vec<crate::path::plain::Segment> =
            crate::path::plain::parse(&format!("**/{}/**", entry.segments.join("/")));
        crate::path::plain::meet(&ours.iter().collect::<Vec<_>>(), &theirs)
    })
}

/// What the sandbox keeps read-only inside a writable workspace: gitignore patterns relative to every
/// repository and root in it.
///
/// A `.git` that is a file (a pointer to the repository of a work tree or submodule) is read-only too; that it is a file
/// only the host knows, so no pattern says it.
#[must_use]
pub fn sandbox_read_only_patterns() -> Vec<String> {
    PROTECTED
        .iter()
        .flat_map(|entry| entry.sandbox)
        .map(|pattern| (*pattern).to_owned())
        .collect()
}

/// Whether the deletion of a path would take more with it than anybody means: the root and what lies directly in it, the
/// home folder, the folders of the workspace, the working directory, and all parents of these.
#[must_use]
pub fn is_critical(path: &AbsPath, workspace: &Workspace) -> bool {
    let top = path.parent().is_none_or(|parent| parent == AbsPath::root());
    let around = |inner: &AbsPath| inner.is_within(path);
    top || workspace.home.as_ref().is_some_and(around) || around(&workspace.cwd) || workspace.roots().any(around)
}

/// The same for a pattern of the shell: everything directly in such a folder (`~/*`, `/*`, `*`).
#[must_use]
pub fn is_critical_pattern(folder: &AbsPath, pattern: &str, workspace: &Workspace) -> bool {
    let rest = pattern
        .strip_prefix(folder.as_str())
        .unwrap_or(pattern)
        .trim_matches('/');
    let everything = rest.split('/').next().is_some_and(|first| {
        !first.is_empty() && first.chars().all(|c| matches!(c, '*' | '.' | '?' | '{' | '}' | ','))
    });
    // `/tmp/*` is a usual thing to clean; what lies directly in `/` is not.
    let critical = is_critical(folder, workspace) && folder.as_str() != "/tmp";
    critical && (everything || (*folder == AbsPath::root() && !rest.contains('/')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{PathPattern, PatternSense};

    fn p(text: &str) -> AbsPath {
        AbsPath::parse(text).unwrap()
    }

    fn workspace() -> Workspace {
        Workspace {
            root: p("/home/dev/proj"),
            additional_roots: vec![p("/srv/shared/lib")],
            cwd: p("/home/dev/proj/src"),
            home: Some(p("/home/dev")),
        }
    }

    #[test]
    fn names_count_whole_anywhere_and_in_any_case() {
        for (path, expected) in [
            ("/w/.git/hooks/pre-commit", true),
            ("/w/.GIT/config", true),
            ("/w/vendor/lib/.git/HEAD", true),
            ("/w/.git", true),
            ("/home/dev/.config/git/config", true),
            ("/home/dev/.config/gitx/config", false),
            ("/w/.claude/settings.json", true),
            ("/w/.claude/worktrees/x/src/a.rs", false),
            ("/w/.claude/worktrees/x/.git/config", true),
            ("/w/.cusp/agent-memory/x", false),
            ("/w/.cursor/rules/x.mdc", true),
            ("/w/.portcullis/policy.jsonc", true),
            ("/w/x.code-workspace", true),
            ("/w/docs/vscode-settings.md", false),
            ("/w/.gitignore", false),
            ("/w/.github/workflows/x.yml", false),
            ("/w/.env", false),
            ("/home/dev/.bashrc", true),
            ("/home/dev/.ssh/config", true),
        ] {
            assert_eq!(protects(&p(path)).is_some(), expected, "{path}");
        }
    }

    #[test]
    fn a_pattern_meets_protected_names_only_if_it_can_become_one() {
        for (pattern, expected) in [
            ("/w/.g*/hooks/x", true),
            ("/w/.*", true),
            ("/w/.git/hooks/*", true),
            ("/w/*", false),
            ("/w/src/*.rs", false),
            ("/w/*/.claude/x", true),
        ] {
            assert_eq!(protects_pattern(pattern).is_some(), expected, "{pattern}");
        }
    }

    #[test]
    fn critical_are_folders_that_hold_more_than_anybody_means() {
        for (path, expected) in [
            ("/", true),
            ("/etc", true),
            ("/home", true),
            ("/home/dev", true),
            ("/home/dev/proj", true),
            ("/home/dev/proj/src", true),
            ("/srv/shared", true),
            ("/home/dev/proj/node_modules", false),
            ("/home/dev/proj/src/x", false),
            ("/home/dev/other", false),
        ] {
            assert_eq!(is_critical(&p(path), &workspace()), expected, "{path}");
        }
        for (folder, pattern, expected) in [
            ("/", "/*", true),
            ("/", "/u*", true),
            ("/home/dev", "/home/dev/*", true),
            ("/home/dev", "/home/dev/.*", true),
            ("/home/dev", "/home/dev/x*", false),
            ("/home/dev/proj/src", "/home/dev/proj/src/*", true),
            ("/home/dev/proj/build", "/home/dev/proj/build/*", false),
            ("/tmp", "/tmp/*", false),
            ("/usr", "/usr/*", true),
        ] {
            assert_eq!(
                is_critical_pattern(&p(folder), pattern, &workspace()),
                expected,
                "{pattern}"
            );
        }
    }

    #[test]
    fn the_table_is_sound() {
        for entry in PROTECTED {
            assert!(!entry.segments.is_empty() && !entry.reason.is_empty());
            assert!(entry.segments.iter().all(|s| *s == s.to_lowercase()), "{entry:?}");
        }
        for pattern in sandbox_read_only_patterns() {
            assert!(PathPattern::parse(&pattern, PatternSense::Wide).is_ok(), "{pattern}");
        }
    }
}
