//! The table, spellings, critical paths: matches and near misses.

use super::*;
use crate::path::{PathPattern, PatternSense};
use crate::request::Workspace;

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

/// A path is first looked at for the beginning of any entry; that must not pass over one.
#[test]
fn every_entry_is_found_in_every_case_and_place() {
    for entry in PROTECTED {
        let names = entry.segments.join("/").replace('*', "x");
        for path in [
            format!("/{names}"),
            format!("/w/a/{names}/below"),
            format!("/w/{}", names.to_uppercase()),
            format!("/w/{names}."),
        ] {
            assert!(protects(&p(&path), Switches::default()).is_some(), "{path}");
        }
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
        assert_eq!(protects(&p(path), Switches::default()).is_some(), expected, "{path}");
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
        ("/w/**/node_modules", false),
        ("/w/**/.git/x", true),
    ] {
        assert_eq!(
            protects_pattern(pattern, Switches::default()).is_some(),
            expected,
            "{pattern}"
        );
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
        ("/home/dev/proj", "/home/dev/proj/*/build", false),
        ("/home/dev/proj", "/home/dev/proj/*/*", true),
        ("/", "/*/lib", true),
        ("/mnt", "/mnt/d*", true),
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

#[test]
fn folders_that_nothing_may_make_are_read_only_in_the_sandbox() {
    let patterns = sandbox_read_only_patterns();
    for (folder, reason) in SANDBOX_FOLDERS {
        assert!(patterns.iter().any(|pattern| pattern == folder), "{folder}");
        assert!(!folder.contains(['*', '?']) && !reason.is_empty(), "{folder}");
    }
}

#[test]
fn the_switch_frees_agents_folders_but_not_their_permissions_and_hooks() {
    let off = Switches {
        agent_directories_off: true,
    };
    for (path, expected) in [
        ("/w/.cursor/rules/x.mdc", false),
        ("/w/.claude/agents/x.md", false),
        ("/w/.cursor/hooks.json", true),
        ("/w/.claude/settings.json", true),
        ("/w/.claude/deep/er/hooks.json", true),
        ("/w/.codex/config.toml", true),
        ("/w/.cursor", true),
        ("/w/.git/config", true),
        ("/w/.portcullis/policy.jsonc", true),
    ] {
        assert_eq!(protects(&p(path), off).is_some(), expected, "{path}");
        assert!(protects(&p(path), Switches::default()).is_some(), "{path}");
    }
    assert!(protects_pattern("/w/.cursor/rules/*", off).is_none());
    assert!(protects_pattern("/w/.cursor/*", off).is_some());
}

#[test]
fn raw_devices_and_devices_that_are_streams() {
    for (path, expected) in [
        ("/dev/sda", true),
        ("/dev/nvme0n1p1", true),
        ("/dev/disk/by-id/x", true),
        ("/dev/rdisk2", true),
        ("/dev/mem", true),
        ("/dev/null", false),
        ("/dev/shm/x", false),
        ("/dev/tty", false),
        ("/dev/pts/3", false),
        ("/dev/stdout", false),
        ("/srv/dev/sda", false),
    ] {
        assert_eq!(is_raw_device(&p(path)), expected, "{path}");
    }
    assert!(may_be_raw_device("/dev/$D") && may_be_raw_device("\"/dev/sd$X\"") && may_be_raw_device("/dev/sd*"));
    assert!(!may_be_raw_device("/dev/shm/$X") && !may_be_raw_device("/dev/sda") && !may_be_raw_device("$D"));
}
