//! Which files can be read and written.

use super::*;

#[test]
fn the_workspace_can_be_written_and_nothing_else() {
    let profile = of("workspace_readwrite");
    for path in [
        "",
        "/src/main.rs",
        "/.git/index.lock",
        "/.git/objects/ab/cd",
        "/.claude/agents/x.md",
        "/.git/hooks.d",
    ] {
        let path = format!("{WS}{path}");
        assert!(
            profile.file("file-write-create", &path) && profile.file("file-write-data", &path),
            "{path}"
        );
    }
    assert!(profile.writes(&format!("{WS}/src/main.rs")) && profile.writes(&format!("{STATE}/tmp/7/x")));
    for path in [
        "/Users/ada/shop2/x",
        "/Users/ada/.zshrc",
        "/Users/ada",
        "/private/etc/hosts",
        "/private/tmp/x",
        "/usr/local/bin/x",
        "/Library/LaunchAgents/x.plist",
        "/System/Volumes/Data/Users/ada/shop/x",
        "/Users/ada/.local/share/portcullis/sandboxd/tmp/8/x",
    ] {
        assert!(!profile.writes(path), "{path}");
    }
    assert!(!profile.file("file-write-setugid", &format!("{WS}/x")));
}

#[test]
fn what_is_protected_stays_as_it_is_in_any_letters_and_before_it_exists() {
    let profile = of("workspace_readwrite");
    for path in [
        ".git/hooks",
        ".git/hooks/pre-commit",
        ".git/config",
        ".git/HOOKS/pre-commit",
        ".git/config.worktree",
        ".vscode",
        ".VSCode/tasks.json",
        ".v\u{17f}code/tasks.json",
        ".claude/settings.json",
        ".claude/Settings.JSON",
        "Shop.Code-Workspace",
    ] {
        assert!(!profile.writes(&format!("{WS}/{path}")), "{path}");
        assert!(profile.reads(&format!("{WS}/{path}")), "{path} stays readable");
    }
    assert!(profile.writes(&format!("{WS}/vscode/tasks.json")));
}

#[test]
fn the_folders_above_a_protected_or_hidden_path_keep_their_names() {
    let profile = of("workspace_readwrite");
    for folder in ["", "/.git", "/conf"] {
        let folder = format!("{WS}{folder}");
        assert!(!profile.file("file-write-unlink", &folder), "{folder}");
        assert!(profile.file("file-write-create", &format!("{folder}/new")), "{folder}");
    }
    assert!(profile.file("file-write-unlink", &format!("{WS}/src")));
}

#[test]
fn what_is_hidden_can_be_seen_to_exist_and_no_more() {
    let profile = of("workspace_readwrite");
    for path in [
        "/Users/ada/.aws",
        "/Users/ada/.ssh/id_ed25519",
        "/Users/ada/shop/conf/.env",
        STATE,
    ] {
        assert!(!profile.reads(path) && !profile.file("file-read-xattr", path), "{path}");
        assert!(profile.file("file-read-metadata", path), "{path}");
        assert!(!profile.writes(path) && !profile.connects(path), "{path}");
    }
    for path in ["/Users/ada/.aws/credentials", &format!("{STATE}/ticket.key")] {
        assert!(
            !profile.reads(path) && !profile.file("file-read-metadata", path),
            "{path}"
        );
        assert!(!profile.writes(path) && !profile.connects(path), "{path}");
    }
    // The way to our own folder can be gone, not looked around on.
    let way = format!("{STATE}/tmp");
    assert!(profile.file("file-read-metadata", &way) && !profile.reads(&way));
    assert!(!profile.file("file-read-metadata", &format!("{way}/8")));
    assert!(profile.reads(&format!("{way}/7")) && profile.reads(&format!("{way}/7/x")));
    // Controls.
    for path in [
        "/Users/ada/.ssh/config",
        "/Users/ada/.awsx",
        "/Users/ada/shop/conf/.env.example",
        "/private/etc/passwd",
    ] {
        assert!(profile.reads(path), "{path}");
    }
    assert!(!profile.reads("/System/Volumes/Data/Users/ada/.aws/credentials"));
    assert!(profile.reads("/System/Library/CoreServices/SystemVersion.plist"));
    let more = of("denyRead");
    assert!(!more.reads(&format!("{WS}/secrets/x")) && profile.reads(&format!("{WS}/secrets/x")));
}

#[test]
fn a_read_only_workspace_can_be_read_and_not_written() {
    let profile = of("workspace_readonly");
    assert!(profile.reads(&format!("{WS}/src/main.rs")));
    assert!(!profile.writes(&format!("{WS}/src/main.rs")) && !profile.writes(WS));
    assert!(profile.writes(&format!("{STATE}/tmp/7/x")));
}

#[test]
fn further_paths_widen_by_themselves_only() {
    let profile = of("additionalReadwritePaths");
    assert!(profile.writes("/Users/ada/notes/todo.md"));
    assert!(!profile.writes("/Users/ada/notes/todo.md2") && !profile.writes("/Users/ada/notes"));
    let profile = of("additionalReadonlyPaths");
    assert!(!profile.writes(&format!("{WS}/vendor/x")) && profile.reads(&format!("{WS}/vendor/x")));
    assert!(of("workspace_readwrite").writes(&format!("{WS}/vendor/x")));
    assert!(profile.reads("/private/tmp/input/x") && !profile.writes("/private/tmp/input/x"));
    assert!(!of("workspace_readwrite").reads("/private/tmp/input/x"));
}

#[test]
fn temporary_files_are_private_shared_or_closed() {
    let theirs = ["/private/tmp/x".to_owned(), format!("{USERS_TMP}/x")];
    let (private, shared, closed) = (of("workspace_readwrite"), of("shareTmp"), of("disableTmpWrite"));
    for path in &theirs {
        assert!(!private.reads(path) && !private.file("file-read-metadata", path) && !private.writes(path));
        assert!(shared.reads(path) && shared.writes(path));
        assert!(closed.reads(path) && !closed.writes(path));
        // Sockets there are anybody's.
        assert!(
            ![&private, &shared, &closed]
                .iter()
                .any(|profile| profile.connects(path))
        );
    }
    assert!(private.file("file-read-metadata", "/private/tmp") && !private.reads("/private/tmp"));
    assert!(closed.writes(&format!("{STATE}/tmp/7/x")));
    // A workspace that lies there is there, with the way to it.
    let mut policy = everyday();
    policy.read_write = vec!["/tmp/a/ws".into()];
    let profile = written(&policy);
    assert!(profile.reads("/private/tmp/a/ws/x") && profile.writes("/private/tmp/a/ws/x"));
    assert!(profile.file("file-read-metadata", "/private/tmp/a") && !profile.reads("/private/tmp/a"));
    assert!(!profile.reads("/private/tmp/a/other") && !profile.file("file-read-metadata", "/private/tmp/a/other"));
}

#[test]
fn a_shared_cache_is_free_although_it_lies_with_what_is_ours() {
    let cache = "/Users/ada/.local/share/portcullis/cache/trusted";
    let mut policy = everyday();
    policy.own_cache = Some(cache.into());
    policy.masked.push("/Users/ada/.local/share/portcullis/cache".into());
    // The home folder as workspace: then what is ours is protected in it.
    policy.read_write.push("/Users/ada".into());
    policy.protected.push("/Users/ada/.local/share/portcullis".into());
    let profile = written(&policy);
    assert!(profile.writes(&format!("{cache}/npm/x")) && profile.reads(&format!("{cache}/npm/x")));
    assert!(!profile.reads("/Users/ada/.local/share/portcullis/cache/other/x"));
    assert!(!profile.writes("/Users/ada/.local/share/portcullis/cache/other/x"));
    assert!(!profile.writes("/Users/ada/.local/share/portcullis/policy.toml"));
    assert!(profile.writes("/Users/ada/other/x"));
    assert!(!of("workspace_readwrite").writes(&format!("{cache}/npm/x")));
    assert!(of("enableSharedBuildCache").writes(&format!("{cache}/npm/x")));
}
