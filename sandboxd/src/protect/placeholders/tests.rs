//! Placeholders on real folders, without a sandbox.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};

use super::*;

/// A repository that has begun, without any of the folders.
fn repository(at: &Path) {
    for folder in ["objects", "refs"] {
        fs::create_dir_all(at.join(".git").join(folder)).unwrap();
    }
    fs::write(at.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(at.join("main.c"), "").unwrap();
}

fn workspace() -> (tempfile::TempDir, PathBuf) {
    let keep = tempfile::tempdir().unwrap();
    let root = keep.path().canonicalize().unwrap();
    (keep, root)
}

fn places(root: &Path) -> Vec<Wanted> {
    let patterns = portcullis_policy::protected::sandbox_read_only_patterns();
    let plan = crate::protect::plan(&[root.to_path_buf()], &patterns);
    wanted(&plan).0
}

fn names(root: &Path) -> Vec<PathBuf> {
    let places = places(root).into_iter();
    places
        .map(|place| place.path.strip_prefix(root).unwrap().to_path_buf())
        .collect()
}

#[test]
fn repositories_that_have_begun_get_them_and_no_other_folder() {
    let (_keep, root) = workspace();
    assert_eq!(names(&root), Vec::<PathBuf>::new());
    repository(&root.join("a"));
    repository(&root.join("a/nested"));
    for folder in ["a/.vscode", "a/.git/hooks", "a/nested/.portcullis"] {
        fs::create_dir(root.join(folder)).unwrap();
        fs::write(root.join(folder).join("f"), "").unwrap();
    }
    // A new one, one in name only, and a linked work tree's own git folder.
    repository(&root.join("new"));
    fs::rename(root.join("new/main.c"), root.join("new/README.md")).unwrap();
    fs::create_dir_all(root.join("name/.git")).unwrap();
    fs::write(root.join("name/f"), "").unwrap();
    fs::create_dir_all(root.join("a/.git/worktrees/w/objects")).unwrap();
    fs::write(root.join("a/.git/worktrees/w/HEAD"), "").unwrap();
    fs::write(root.join("a/.git/worktrees/w/commondir"), "../..\n").unwrap();
    fs::create_dir(root.join("w")).unwrap();
    fs::write(root.join("w/f"), "").unwrap();
    fs::write(
        root.join("w/.git"),
        format!("gitdir: {}/a/.git/worktrees/w\n", root.display()),
    )
    .unwrap();
    let wanted = [
        "a/.portcullis",
        "a/nested/.vscode",
        "a/nested/.git/hooks",
        "new/.git/hooks",
        "w/.portcullis",
        "w/.vscode",
    ];
    let mut found = names(&root);
    found.sort();
    let mut wanted = wanted.map(PathBuf::from).to_vec();
    wanted.sort();
    assert_eq!(found, wanted);
}

#[test]
fn the_last_user_removes_it() {
    let (_keep, root) = workspace();
    repository(&root);
    let path = root.join(".vscode");
    // Two registries are as two processes.
    let (one, other) = (Registry::default(), Registry::default());
    let (first, told) = one.hold(&places(&root));
    assert!(told.is_empty() && path.is_dir());
    assert_eq!(path.metadata().unwrap().mode() & 0o022, 0);
    let (second, _) = one.hold(&places(&root));
    let (third, _) = other.hold(&places(&root));
    assert_eq!([&first, &second, &third].map(|held| held.made().count()), [3; 3]);
    assert!(is_in_use(&path));
    drop(first);
    assert!(path.is_dir());
    drop(second);
    assert!(path.is_dir() && is_in_use(&path));
    drop(third);
    assert!(!path.exists() && !root.join(".git/hooks").exists());
    // And again: nothing is remembered.
    drop(one.hold(&places(&root)));
    assert!(!path.exists());
}

#[test]
fn what_a_person_has_made_or_put_in_stays() {
    let (_keep, root) = workspace();
    repository(&root);
    fs::create_dir(root.join(".vscode")).unwrap();
    let (held, told) = Registry::default().hold(&places(&root));
    assert!(told.is_empty() && !held.made().any(|(path, _)| path.ends_with(".vscode")));
    fs::write(root.join(".portcullis/policy.jsonc"), "{}").unwrap();
    // Another folder at the place, empty too.
    fs::remove_dir(root.join(".git/hooks")).unwrap();
    fs::create_dir(root.join(".git/hooks")).unwrap();
    drop(held);
    assert!(root.join(".vscode").is_dir() && root.join(".portcullis/policy.jsonc").exists());
    assert!(root.join(".git/hooks").is_dir());
}

#[test]
fn a_lock_makes_no_placeholder_of_a_persons_folder() {
    let (_keep, root) = workspace();
    repository(&root);
    let path = root.join(".vscode");
    fs::create_dir(&path).unwrap();
    // A command can lock it through its read-only mount.
    let lock = File::open(&path).unwrap();
    rustix::fs::flock(&lock, FlockOperation::LockShared).unwrap();
    let (held, _) = Registry::default().hold(&places(&root));
    assert_eq!(held.made().count(), 2, "the other two are made");
    drop((lock, held));
    assert!(path.is_dir() && !root.join(".portcullis").exists());
}

#[test]
fn one_that_somebody_left_is_used_again_and_goes() {
    let (_keep, root) = workspace();
    repository(&root);
    let (held, _) = Registry::default().hold(&places(&root));
    // As if killed: the locks go, the folders stay.
    for (folder, _) in &held.folders {
        rustix::fs::flock(&folder.lock, FlockOperation::Unlock).unwrap();
    }
    std::mem::forget(held);
    let (held, told) = Registry::default().hold(&places(&root));
    assert!(told.is_empty() && held.made().count() == 3, "{told:?}");
    drop(held);
    assert!(!root.join(".vscode").exists());
}

#[test]
fn no_link_is_followed() {
    let (_keep, root) = workspace();
    let (inside, outside) = (root.join("ws"), root.join("outside"));
    repository(&inside.join("sub"));
    repository(&outside);
    symlink(&outside, inside.join("sub/.vscode")).unwrap();
    symlink("nowhere", inside.join("sub/.portcullis")).unwrap();
    let places = places(&inside);
    assert_eq!(places.len(), 1, "{places:?}");
    // The folder is swapped for a link after the look.
    fs::rename(inside.join("sub"), inside.join("old")).unwrap();
    symlink(&outside, inside.join("sub")).unwrap();
    let (held, told) = Registry::default().hold(&places);
    assert!(held.made().next().is_none() && told.len() == 1, "{told:?}");
    assert!(!outside.join(".git/hooks").exists() && !inside.join("old/.git/hooks").exists());
    assert!(remove_left(&inside.join("sub/.git/refs"), None).is_ok() && outside.join(".git/refs").exists());
}

#[test]
fn what_a_killed_run_left_is_removed_if_it_is_that_and_nobody_uses_it() {
    let (_keep, root) = workspace();
    let folder = |name: &str| {
        let path = root.join(name);
        fs::create_dir(&path).unwrap();
        let identity = identity_of(&path).unwrap();
        (path, identity)
    };
    let (left, identity) = folder("left");
    remove_left(&left, Some((identity.0, identity.1 + 1))).unwrap();
    assert!(left.exists());
    remove_left(&left, Some(identity)).unwrap();
    assert!(!left.exists());
    remove_left(&left, Some(identity)).unwrap();
    let (half_made, _) = folder("half made");
    remove_left(&half_made, None).unwrap();
    assert!(!half_made.exists());
    let (used, identity) = folder("used");
    let lock = File::open(&used).unwrap();
    rustix::fs::flock(&lock, FlockOperation::NonBlockingLockShared).unwrap();
    remove_left(&used, Some(identity)).unwrap();
    assert!(used.exists());
    let (full, identity) = folder("full");
    fs::write(full.join("f"), "").unwrap();
    remove_left(&full, Some(identity)).unwrap();
    assert!(full.exists());
}
