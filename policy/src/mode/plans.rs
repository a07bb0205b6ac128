//! Where agents keep the plans that they write in plan mode.
//!
//! The agent names its plan file itself, so the name alone proves nothing. Below one of these folders a write changes
//! plans and no more, though the folders of agents are protected otherwise.

use crate::{AbsPath, request::Workspace};

/// A folder of plans: below the home folder, the workspace's root, or both; and whose it is.
struct Plans {
    segments: &'static [&'static str],
    home: bool,
    root: bool,
}

const PLANS: &[Plans] = &[
    // Claude Code.
    Plans {
        segments: &[".claude", "plans"],
        home: true,
        root: true,
    },
    Plans {
        segments: &[".cusp", "plans"],
        home: true,
        root: true,
    },
    // Cursor.
    Plans {
        segments: &[".cursor", "plans"],
        home: true,
        root: true,
    },
    // Gemini CLI: a folder per project.
    Plans {
        segments: &[".gemini", "plans"],
        home: true,
        root: false,
    },
    Plans {
        segments: &[".gemini", "tmp", "*", "plans"],
        home: true,
        root: false,
    },
    // OpenCode.
    Plans {
        segments: &[".opencode", "plans"],
        home: false,
        root: true,
    },
];

/// Whether a path is a text file below a known folder of plans.
#[must_use]
pub fn is_below_plans(path: &AbsPath, workspace: &Workspace) -> bool {
    let text = [".md", ".mdc", ".markdown", ".txt"]
        .iter()
        .any(|ending| path.as_str().ends_with(ending));
    let below = |folder: &AbsPath, segments: &[&str]| {
        path.below(folder).is_some_and(|rest| {
            let mut rest = rest.split('/');
            segments
                .iter()
                .all(|name| rest.next().is_some_and(|own| *name == "*" || own == *name))
                && rest.next().is_some_and(|name| !name.is_empty())
        })
    };
    text && PLANS.iter().any(|plans| {
        (plans.home && workspace.home.as_ref().is_some_and(|home| below(home, plans.segments)))
            || (plans.root && below(&workspace.root, plans.segments))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_texts_below_the_known_folders_only() {
        let workspace = Workspace {
            root: AbsPath::parse("/home/dev/proj").unwrap(),
            additional_roots: Vec::new(),
            cwd: AbsPath::parse("/home/dev/proj").unwrap(),
            home: Some(AbsPath::parse("/home/dev").unwrap()),
        };
        for (path, expected) in [
            ("/home/dev/.claude/plans/a.md", true),
            ("/home/dev/.claude/plans/deep/a.md", true),
            ("/home/dev/proj/.claude/plans/a.md", true),
            ("/home/dev/.gemini/tmp/0af3/plans/a.md", true),
            ("/home/dev/.claude/plans", false),
            ("/home/dev/.claude/plans/run.sh", false),
            ("/home/dev/.claude/settings.json", false),
            ("/home/dev/.claude/plans.md", false),
            ("/home/dev/.claude/CLAUDE.md", false),
            ("/home/eve/.claude/plans/a.md", false),
            ("/home/dev/proj/sub/.claude/plans/a.md", false),
            ("/home/dev/.gemini/tmp/plans/a.md", false),
        ] {
            assert_eq!(
                is_below_plans(&AbsPath::parse(path).unwrap(), &workspace),
                expected,
                "{path}"
            );
        }
    }
}
