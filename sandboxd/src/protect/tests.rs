//! Plans and sweeps on real folders.

use super::*;
use std::fs;

fn patterns() -> Vec<String> {
    [
        ".git/hooks",
        ".git/config",
        ".git/config.worktree",
        ".vscode",
        ".cursor/*.json",
        ".claude/*.json",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn git_folder(at: &Path) {
    fs::create_dir_all(at.join("hooks")).unwrap();
    fs::create_dir_all(at.join("objects")).unwrap();
    fs::create_dir_all(at.join("refs")).unwrap();
    fs::write(at.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(at.join("config"), "[core]\n\tbare = false\n").unwrap();
    fs::write(at.join("hooks/pre-commit.sample"), "#!/bin/sh\n").unwrap();
}

fn workspace() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    (folder, root)
}

#[test]
fn nested_bare_and_submodule_repositories_are_found() {
    let (_keep, root) = workspace();
    for at in [".git", "a/b/c/d/e/f/.git", "mirror", ".git/modules/x"] {
        git_folder(&root.join(at));
    }
    let plan = plan(std::slice::from_ref(&root), &patterns());
    for at in [".git", "a/b/c/d/e/f/.git", "mirror", ".git/modules/x"] {
        for name in ["hooks", "config"] {
            let path = root.join(at).join(name);
            assert!(plan.protected.contains(&path), "{}", path.display());
        }
    }
    assert!(plan.missing.is_empty());
}

#[test]
fn the_folder_that_hooks_path_names_is_protected() {
    let (_keep, root) = workspace();
    git_folder(&root.join(".git"));
    fs::create_dir(root.join("my hooks")).unwrap();
    fs::write(root.join(".git/config"), "[core]\nhooksPath = \"my hooks\"\n").unwrap();
    let plan = plan(std::slice::from_ref(&root), &patterns());
    assert!(plan.protected.contains(&root.join("my hooks")));
}

#[test]
fn nothing_new_is_nothing_put_aside() {
    let (_keep, root) = workspace();
    git_folder(&root.join(".git"));
    fs::create_dir(root.join(".vscode")).unwrap();
    let plan = plan(std::slice::from_ref(&root), &patterns());
    fs::write(root.join("file"), "x").unwrap();
    fs::create_dir(root.join(".claude")).unwrap();
    assert_eq!(sweep::sweep(&plan), sweep::Swept::default());
}

#[test]
fn what_appears_under_a_protected_name_is_put_aside() {
    let (_keep, root) = workspace();
    git_folder(&root.join(".git"));
    fs::create_dir_all(root.join(".claude")).unwrap();
    let plan = plan(std::slice::from_ref(&root), &patterns());
    fs::create_dir(root.join(".vscode")).unwrap();
    fs::write(root.join(".vscode/tasks.json"), "{}").unwrap();
    fs::write(root.join(".claude/settings.json"), "{}").unwrap();
    fs::write(root.join(".git/config.worktree"), "").unwrap();
    let swept = sweep::sweep(&plan);
    assert_eq!(swept.failures, Vec::<String>::new());
    for gone in [".vscode", ".claude/settings.json", ".git/config.worktree"] {
        assert!(!root.join(gone).exists(), "{gone}");
    }
    assert_eq!(swept.put_aside.len(), 3);
}

#[test]
fn a_repository_made_by_the_command_keeps_all_but_what_runs() {
    let (_keep, root) = workspace();
    let plan = plan(std::slice::from_ref(&root), &patterns());
    for at in ["sub/.git", "bare"] {
        git_folder(&root.join(at));
        fs::write(root.join(at).join("hooks/pre-commit"), "evil").unwrap();
    }
    fs::write(root.join("bare/config"), "[core]\nfsmonitor = evil\n").unwrap();
    let swept = sweep::sweep(&plan);
    assert_eq!(swept.failures, Vec::<String>::new());
    assert!(root.join("sub/.git/config").exists() && root.join("sub/.git/hooks/pre-commit.sample").exists());
    for gone in ["sub/.git/hooks/pre-commit", "bare/hooks/pre-commit", "bare/config"] {
        assert!(!root.join(gone).exists(), "{gone}");
    }
}

#[test]
fn a_link_in_a_protected_name_that_is_swapped_is_noticed() {
    let (_keep, root) = workspace();
    fs::create_dir(root.join("decoy")).unwrap();
    std::os::unix::fs::symlink("decoy", root.join(".cursor")).unwrap();
    fs::write(root.join("decoy/mcp.json"), "{}").unwrap();
    let plan = plan(std::slice::from_ref(&root), &patterns());
    assert!(plan.protected.contains(&root.join("decoy/mcp.json")));
    fs::remove_file(root.join(".cursor")).unwrap();
    fs::create_dir(root.join(".cursor")).unwrap();
    fs::write(root.join(".cursor/mcp.json"), "{}").unwrap();
    let swept = sweep::sweep(&plan);
    assert_eq!(swept.put_aside, [root.join(".cursor/mcp.json")]);
    assert!(!root.join(".cursor/mcp.json").exists());
}

#[test]
fn a_new_link_to_files_elsewhere_is_put_aside_itself() {
    let (_keep, root) = workspace();
    fs::create_dir(root.join("elsewhere")).unwrap();
    fs::write(root.join("elsewhere/mcp.json"), "{}").unwrap();
    let plan = plan(std::slice::from_ref(&root), &patterns());
    std::os::unix::fs::symlink("elsewhere", root.join(".cursor")).unwrap();
    let swept = sweep::sweep(&plan);
    assert_eq!(swept.put_aside, [root.join(".cursor")]);
    assert!(root.join("elsewhere/mcp.json").exists() && !root.join(".cursor").exists());
}

#[test]
fn git_cannot_be_led_to_another_configuration() {
    let (_keep, root) = workspace();
    git_folder(&root.join(".git"));
    fs::create_dir(root.join("a")).unwrap();
    fs::create_dir(root.join("b")).unwrap();
    let plan = plan(std::slice::from_ref(&root), &patterns());
    // Another common folder, which needs no HEAD.
    fs::create_dir_all(root.join("evil/objects")).unwrap();
    fs::write(root.join("evil/config"), "[core]\nfsmonitor = evil\n").unwrap();
    fs::write(root.join(".git/commondir"), "../evil\n").unwrap();
    // Git folders where the walk does not look: one of the object store's own folders needs no folder in it.
    let hidden = root.join(".git/objects/ab");
    fs::create_dir_all(&hidden).unwrap();
    fs::write(hidden.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(hidden.join("commondir"), "../../../evil\n").unwrap();
    fs::write(root.join("a/.git"), "gitdir: ../.git/objects/ab\n").unwrap();
    std::os::unix::fs::symlink("../.git/objects/ab", root.join("b/.git")).unwrap();
    let swept = sweep::sweep(&plan);
    assert_eq!(swept.failures, Vec::<String>::new());
    for gone in [".git/commondir", "a/.git", "b/.git"] {
        assert!(root.join(gone).symlink_metadata().is_err(), "{gone}: {swept:?}");
    }
}

#[test]
fn a_new_linked_work_tree_stays() {
    let (_keep, root) = workspace();
    git_folder(&root.join(".git"));
    let plan = plan(std::slice::from_ref(&root), &patterns());
    let own = root.join(".git/worktrees/w");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("HEAD"), "ref: refs/heads/w\n").unwrap();
    fs::write(own.join("commondir"), "../..\n").unwrap();
    fs::create_dir(root.join("w")).unwrap();
    fs::write(root.join("w/.git"), format!("gitdir: {}\n", own.display())).unwrap();
    assert_eq!(sweep::sweep(&plan), sweep::Swept::default());
}

#[test]
fn a_folder_of_hooks_that_did_not_exist_cannot_be_made() {
    let (_keep, root) = workspace();
    git_folder(&root.join(".git"));
    fs::write(root.join(".git/config"), "[core]\nhooksPath = .husky/_\n").unwrap();
    let plan = plan(std::slice::from_ref(&root), &patterns());
    fs::create_dir_all(root.join(".husky/_")).unwrap();
    fs::write(root.join(".husky/_/pre-commit"), "evil").unwrap();
    assert_eq!(sweep::sweep(&plan).put_aside, [root.join(".husky/_")]);
}

#[test]
fn what_configuration_names_in_the_workspace_is_protected_and_nothing_else() {
    let (_keep, root) = workspace();
    git_folder(&root.join(".git"));
    fs::create_dir_all(root.join(".husky/_")).unwrap();
    fs::create_dir(root.join("tools")).unwrap();
    for name in ["tools/clean.py", "tools/monitor", "README.md", "attributes"] {
        fs::write(root.join(name), "").unwrap();
    }
    fs::write(
        root.join("team.gitconfig"),
        "[core]\nfsmonitor = tools/monitor\n[include]\npath = later\n",
    )
    .unwrap();
    let config = "[include]\npath = ../team.gitconfig\n[core]\nhooksPath = .husky/_\nattributesFile = attributes\n\
        [filter \"x\"]\nclean = python3 tools/clean.py %f\nsmudge = ./tools/absent\n\
        [alias]\nl = log README.md\n[includeIf \"onbranch:x\"]\npath = /nowhere/outside\n";
    fs::write(root.join(".git/config"), config).unwrap();
    let plan = plan(std::slice::from_ref(&root), &patterns());
    for name in [
        ".husky",
        "tools/clean.py",
        "tools/monitor",
        "attributes",
        "team.gitconfig",
    ] {
        assert!(plan.protected.contains(&root.join(name)), "{name}: {plan:?}");
    }
    assert!(!plan.protected.contains(&root.join("README.md")));
    assert_eq!(plan.absent, [root.join("later"), root.join("tools/absent")]);
    fs::write(root.join("later"), "[core]\nfsmonitor = evil\n").unwrap();
    assert_eq!(sweep::sweep(&plan).put_aside, [root.join("later")]);
}

#[test]
fn the_repository_around_a_workspace_names_hooks_in_it() {
    let (_keep, root) = workspace();
    git_folder(&root.join(".git"));
    fs::write(root.join(".git/config"), "[core]\nhooksPath = part/hooks\n").unwrap();
    // A linked work tree elsewhere, in which the same relative name stands for another folder.
    let own = root.join(".git/worktrees/w");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("HEAD"), "ref: refs/heads/w\n").unwrap();
    fs::write(own.join("commondir"), "../..\n").unwrap();
    fs::create_dir_all(root.join("w/part/hooks")).unwrap();
    fs::write(root.join("w/.git"), format!("gitdir: {}\n", own.display())).unwrap();
    fs::create_dir_all(root.join("part/hooks")).unwrap();
    for (workspace, hooks) in [("part", "part/hooks"), ("w", "w/part/hooks")] {
        let plan = plan(&[root.join(workspace)], &patterns());
        assert!(plan.protected.contains(&root.join(hooks)), "{plan:?}");
    }
}

#[test]
fn nothing_outside_the_workspace_is_put_aside() {
    let (_keep, root) = workspace();
    let inner = root.join("ws");
    git_folder(&inner.join(".git"));
    let outside = root.join("hooks");
    fs::write(
        inner.join(".git/config"),
        format!(
            "[core]\nhooksPath = {}\n[include]\npath = ../../inc\n",
            outside.display()
        ),
    )
    .unwrap();
    let plan = plan(std::slice::from_ref(&inner), &patterns());
    // Made by somebody else while the command ran.
    fs::create_dir(&outside).unwrap();
    fs::write(root.join("inc"), "").unwrap();
    assert_eq!(sweep::sweep(&plan), sweep::Swept::default());
    assert!(outside.exists() && root.join("inc").exists());
}

#[test]
fn configuration_that_is_replaced_during_a_run_is_told_or_put_aside() {
    for (text, stays) in [
        ("[remote \"o\"]\nurl = x\n", true),
        ("[core]\nfsmonitor = evil\n", false),
    ] {
        let (_keep, root) = workspace();
        git_folder(&root.join(".git"));
        let plan = plan(std::slice::from_ref(&root), &patterns());
        // As git does it outside: a new file renamed over the old one, which takes the mount away.
        fs::write(root.join(".git/config.lock"), text).unwrap();
        fs::rename(root.join(".git/config.lock"), root.join(".git/config")).unwrap();
        let swept = sweep::sweep(&plan);
        assert_eq!(root.join(".git/config").exists(), stays);
        assert_eq!(swept.put_aside.is_empty(), stays);
        assert_eq!(swept.failures.len(), usize::from(stays), "{swept:?}");
    }
}
