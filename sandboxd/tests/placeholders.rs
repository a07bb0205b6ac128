//! Protected folders that do not exist cannot be made in a repository, and nobody sees what stands in for them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "only tests are here"
)]

mod support;

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};

use portcullis_proto::v1::*;
use support::{Host, Running, unsandboxed};

/// Every place in the repository of [`repository`].
const PLACES: [&str; 6] = [
    ".vscode",
    ".portcullis",
    ".git/hooks",
    "sub/.vscode",
    "sub/.portcullis",
    "sub/.git/hooks",
];

/// Says each of them, and what comes of making something there.
const WRITES: &str = "for at in .vscode .portcullis .git/hooks sub/.vscode sub/.portcullis sub/.git/hooks; do
    mkdir -p $at/folder; : > $at/tasks.json; mv $at moved; rm -r $at; done";

fn git(line: &str, at: &Path) -> String {
    let ours = "git() { command git -c user.name=a -c user.email=a@example.com \"$@\"; }";
    let output = unsandboxed(&format!("{ours}; {line}"), at);
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A workspace with a repository and one in it that it ignores, both with a commit and without hooks.
fn repository(host: &Host) {
    let make =
        "git init -q . && echo sub > .gitignore && echo > file && git add -A && git commit -qm a && rm -r .git/hooks";
    git(make, &host.workspace);
    fs::create_dir(host.workspace.join("sub")).unwrap();
    git(make, &host.workspace.join("sub"));
}

fn there(host: &Host) -> Vec<&'static str> {
    let places = PLACES.into_iter();
    places
        .filter(|at| host.workspace.join(at).symlink_metadata().is_ok())
        .collect()
}

/// A run that has written `made` and waits for the file `go`.
async fn waiting(host: &Host, name: &str, line: &str) -> Running {
    let line = format!("echo made; while [ ! -e go.{name} ]; do sleep 0.02; done; rm go.{name}; {line}");
    let (_, start) = host.start_for(&["bash", "-c", &line]).await;
    let mut running = host.launch(start).await.unwrap();
    while !matches!(running.next().await, Some(run_response::Message::Stdout(_))) {}
    running
}

fn go_on(host: &Host, name: &str) {
    fs::write(host.workspace.join(format!("go.{name}")), "").unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn protected_folders_cannot_be_made_and_nothing_is_left() {
    let host = Host::start().await;
    repository(&host);
    let finished = host
        .bash(&format!(
            "{WRITES}; mkdir other && : > other/tasks.json && ls -A .git/hooks"
        ))
        .await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    // Some languages have other quotes.
    let said = String::from_utf8_lossy(&finished.stderr).replace(['‘', '’'], "'");
    for at in PLACES {
        for refused in [
            format!("mkdir: cannot create directory '{at}/folder': Read-only file system"),
            format!("{at}/tasks.json: Read-only file system"),
            format!("mv: cannot move '{at}' to 'moved': Device or resource busy"),
        ] {
            assert!(said.contains(&refused), "{refused} in {said}");
        }
    }
    assert!(!said.contains("put aside"), "{said}");
    assert!(finished.outcome.warnings.is_empty(), "{finished:?}");
    assert_eq!(there(&host), Vec::<&str>::new());
    assert!(host.workspace.join("other/tasks.json").exists());
    // The same without a sandbox.
    unsandboxed(
        &WRITES.replace("rm -r $at", "true").replace("mv $at moved", "true"),
        &host.workspace,
    );
    assert_eq!(there(&host), PLACES);
    assert!(host.workspace.join("sub/.vscode/tasks.json").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn git_sees_nothing_inside_or_outside() {
    const LOOK: &str = "git status --porcelain; git add -A -n; git stash list";
    let host = Host::start().await;
    repository(&host);
    git(
        "git config user.name a; git config user.email a@example.com",
        &host.workspace,
    );
    let work = "echo > new && git stash -uq && git stash drop -q && git clean -fdq && git gc -q && echo done";
    let mut running = waiting(&host, "a", &format!("{LOOK}; git clean -nd; {work}")).await;
    assert_eq!(there(&host), PLACES);
    assert_eq!(git(LOOK, &host.workspace), "");
    assert_eq!(git(LOOK, &host.workspace.join("sub")), "");
    go_on(&host, "a");
    let finished = running.finish().await;
    assert_eq!(finished.stdout(), "done\n", "{finished:?}");
    assert!(finished.stderr.is_empty(), "{finished:?}");
    assert_eq!(there(&host), Vec::<&str>::new());
    // It looks: a file is seen.
    fs::create_dir(host.workspace.join(".vscode")).unwrap();
    fs::write(host.workspace.join(".vscode/f"), "").unwrap();
    assert!(git(LOOK, &host.workspace).contains(".vscode/"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_of_two_runs_leaves_them_to_the_second() {
    let host = Host::start().await;
    repository(&host);
    let mut first = waiting(&host, "a", "true").await;
    let mut second = waiting(&host, "b", "mkdir .vscode/folder || echo refused").await;
    go_on(&host, "a");
    assert_eq!(first.finish().await.code(), Some(0));
    assert_eq!(there(&host), PLACES);
    go_on(&host, "b");
    let finished = second.finish().await;
    assert_eq!(finished.stdout(), "refused\n", "{finished:?}");
    assert!(
        !String::from_utf8_lossy(&finished.stderr).contains("put aside"),
        "{finished:?}"
    );
    assert_eq!(there(&host), Vec::<&str>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_person_puts_in_meanwhile_stays() {
    let host = Host::start().await;
    repository(&host);
    let mut running = waiting(&host, "a", "true").await;
    fs::write(host.workspace.join(".vscode/settings.json"), "{}").unwrap();
    go_on(&host, "a");
    let finished = running.finish().await;
    assert!(finished.stderr.is_empty(), "{finished:?}");
    assert_eq!(there(&host), [".vscode"]);
    assert!(host.workspace.join(".vscode/settings.json").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_is_no_repository_or_has_not_begun_stays_as_it_is() {
    let host = Host::start().await;
    let finished = host.bash("ls -A; git init -q .; ls -A").await;
    assert_eq!(finished.stdout(), ".git\n", "{finished:?}");
    // A new repository: what makes projects wants nothing else in it.
    let finished = host.bash("ls -A; mkdir .vscode && echo made").await;
    assert_eq!(finished.stdout(), ".git\nmade\n", "{finished:?}");
    assert!(
        String::from_utf8_lossy(&finished.stderr).contains("put aside"),
        "{finished:?}"
    );
    fs::write(host.workspace.join("main.c"), "").unwrap();
    let finished = host.bash("mkdir .vscode/folder || echo refused").await;
    assert_eq!(finished.stdout(), "refused\n", "{finished:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_at_the_name_is_not_followed() {
    let host = Host::start().await;
    repository(&host);
    let outside: PathBuf = host.folder.path().join("outside");
    symlink(&outside, host.workspace.join(".vscode")).unwrap();
    let mut running = waiting(&host, "a", "true").await;
    assert_eq!(there(&host), PLACES);
    assert!(!outside.exists() && host.workspace.join(".vscode").is_symlink());
    go_on(&host, "a");
    assert_eq!(running.finish().await.code(), Some(0));
    assert_eq!(there(&host), [".vscode"]);
    assert!(host.workspace.join(".vscode").is_symlink());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_made_is_told_and_the_run_goes_on() {
    let host = Host::start().await;
    repository(&host);
    if rustix::process::geteuid().is_root() {
        chown(host.workspace.join("sub"), Some(65534), Some(65534)).unwrap();
    } else {
        unsandboxed("chmod 555 sub", &host.workspace);
    }
    let finished = host.bash("echo ran; mkdir .vscode/folder || echo refused").await;
    unsandboxed("chmod 755 sub", &host.workspace);
    assert_eq!(finished.stdout(), "ran\nrefused\n", "{finished:?}");
    let told = finished.outcome.warnings.join("\n");
    for at in ["sub/.vscode", "sub/.portcullis"] {
        let line = format!("`{}` cannot be kept from appearing", host.workspace.join(at).display());
        assert!(told.contains(&line), "{told}");
    }
    assert!(!told.contains("/.git/hooks"), "{told}");
    assert_eq!(there(&host), Vec::<&str>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_launcher_left_is_removed_by_the_next_daemon() {
    let mut host = Host::start().await;
    repository(&host);
    let start = |line: &str| {
        std::process::Command::new(env!("CARGO_BIN_EXE_portcullis-sandboxd"))
            .args(["exec", "--workspace", ".", "--", "bash", "-c", line])
            .current_dir(&host.workspace)
            .env("XDG_DATA_HOME", host.folder.path().join("home"))
            .spawn()
            .unwrap()
    };
    // Where the program looks for the daemon's data.
    let data = host.folder.path().join("home/portcullis");
    fs::create_dir_all(data.parent().unwrap()).unwrap();
    symlink(&host.places.data, &data).unwrap();
    let begun = || {
        let begun = std::time::Instant::now();
        while !host.workspace.join("begun").exists() {
            assert!(begun.elapsed() < support::PATIENCE, "it begins");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        fs::remove_file(host.workspace.join("begun")).unwrap();
    };
    let mut killed = start("> begun; sleep 1000");
    begun();
    killed.kill().unwrap();
    killed.wait().unwrap();
    let left = there(&host);
    let mut goes_on = start("> begun; while [ ! -e go ]; do sleep 0.02; done; mkdir .vscode/folder || : > refused");
    begun();
    let notes = |host: &Host| fs::read_dir(host.places.notes_by_hand()).unwrap().count();
    let with_both = (notes(&host), there(&host));
    host.restart().await;
    // Still in use.
    assert_eq!((left, with_both), (PLACES.to_vec(), (1, PLACES.to_vec())));
    assert_eq!((notes(&host), there(&host)), (1, PLACES.to_vec()));
    fs::write(host.workspace.join("go"), "").unwrap();
    assert!(goes_on.wait().unwrap().success());
    assert!(host.workspace.join("refused").exists());
    assert_eq!((notes(&host), there(&host)), (0, Vec::new()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_somebody_outside_removes_meanwhile_is_left_to_the_look_back() {
    let host = Host::start().await;
    repository(&host);
    let mut running = waiting(&host, "a", "mkdir .vscode && echo made").await;
    fs::remove_dir(host.workspace.join(".vscode")).unwrap();
    go_on(&host, "a");
    let finished = running.finish().await;
    assert_eq!(finished.stdout(), "made\n", "{finished:?}");
    let said = String::from_utf8_lossy(&finished.stderr);
    assert!(said.contains("put aside") && said.contains(".vscode"), "{said}");
    assert_eq!(there(&host), Vec::<&str>::new());
}
