//! What a run gets beside its file tree: the session's `/tmp`, a place for caches, limits, and an end to its output.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "only tests are here"
)]

mod support;

use std::fs;
use std::path::PathBuf;

use portcullis_proto::v1::{SandboxLimits, TemporaryFolder, TicketClaims};
use support::{Finished, Host, unsandboxed};

/// Runs a line in a session of this name.
async fn within(host: &Host, claims: fn(&mut TicketClaims), line: &str) -> Finished {
    host.script(|script| script.claims = claims);
    host.bash(line).await
}

fn first(claims: &mut TicketClaims) {
    claims.session_id = "first".to_owned();
}

fn second(claims: &mut TicketClaims) {
    claims.session_id = "second".to_owned();
}

fn first_of_another_team(claims: &mut TicketClaims) {
    claims.session_id = "first".to_owned();
    claims.team = "other".to_owned();
}

fn nobodys(claims: &mut TicketClaims) {
    claims.session_id.clear();
}

/// The folders of sessions on the host.
fn folders(host: &Host) -> Vec<PathBuf> {
    let entries = fs::read_dir(host.places.sessions()).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.file_name().unwrap().to_str().unwrap().starts_with(".gone-"))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_keeps_its_tmp_and_sees_no_other_ones() {
    let host = Host::start().await;
    let made = within(&host, first, "ls -A /tmp; echo kept > /tmp/f; stat -c %a /tmp").await;
    assert_eq!(made.stdout(), "1777\n", "empty at the first command: {made:?}");
    let again = within(
        &host,
        first,
        "cat /tmp/f; mv /tmp/f /tmp/g; ln /tmp/g /tmp/h && echo linked",
    )
    .await;
    assert_eq!(again.stdout(), "kept\nlinked\n", "{again:?}");
    for other in [second, first_of_another_team, nobodys] {
        assert_eq!(within(&host, other, "ls -A /tmp; echo x > /tmp/x").await.stdout(), "");
    }
    // Without a session nothing is kept, and nothing stays on the host.
    assert_eq!(within(&host, nobodys, "ls -A /tmp").await.stdout(), "");
    assert_eq!(folders(&host).len(), 3);
    // Neither is the host's own way there.
    let way = format!("ls {}", host.places.sessions().display());
    assert_ne!(within(&host, first, &way).await.code(), Some(0));
    assert!(unsandboxed(&way, &host.workspace).status.success(), "positive control");
    // The host's `/tmp` is another one.
    assert!(!PathBuf::from("/tmp/g").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_session_leaves_goes_with_the_daemon_and_follows_no_link() {
    let mut host = Host::start().await;
    let outside = host.folder.path().canonicalize().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), "x").unwrap();
    let line = format!(
        "cd /tmp; ln -s {0} link; ln -s {0}/kept file; mkdir -p a/b/c closed/x; chmod 000 closed; echo made",
        outside.display()
    );
    assert_eq!(within(&host, first, &line).await.stdout(), "made\n");
    let before = folders(&host);
    assert_eq!(before.len(), 1);
    assert!(before[0].join("files/a/b/c").exists(), "positive control");
    host.restart().await;
    assert!(folders(&host).is_empty() && outside.join("kept").exists());
    assert_eq!(within(&host, first, "ls -A /tmp").await.stdout(), "");
}

/// A command of the session prepares `/tmp` for the next one's mounts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_in_a_sessions_tmp_are_not_followed_when_the_next_sandbox_is_built() {
    let host = Host::start().await;
    let shown = tempfile::tempdir_in("/tmp").unwrap();
    fs::write(shown.path().join("s"), "shown").unwrap();
    let path = shown.path().to_str().unwrap().to_owned();
    let script = |link: bool| {
        let path = path.clone();
        if link {
            format!("ln -s {} {path}; echo linked", host.workspace.display())
        } else {
            format!("cat {path}/s")
        }
    };
    let trap = within(&host, first, &script(true)).await;
    assert_eq!(trap.stdout(), "linked\n");
    static SHOWN: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    SHOWN.set(path.clone()).unwrap();
    host.script(|script| {
        script.profile = |profile| {
            profile.read_only_paths.push(SHOWN.get().unwrap().clone());
            profile.revealed_paths.push(SHOWN.get().unwrap().clone());
        };
    });
    // Positive control: where nothing is in the way it is shown.
    assert_eq!(within(&host, second, &script(false)).await.stdout(), "shown");
    assert_eq!(within(&host, second, &script(false)).await.stdout(), "shown");
    let refused = within(&host, first, &script(false)).await;
    assert_eq!(refused.code(), None, "{refused:?}");
    assert!(fs::read_dir(&host.workspace).unwrap().next().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_tmp_has_a_tmpdir_that_works() {
    let host = Host::start().await;
    host.script(|script| script.profile = |profile| profile.set_temporary_folder(TemporaryFolder::Closed));
    let line = "echo x > /tmp/f; echo x > $TMPDIR/f && cat $TMPDIR/f";
    let finished = within(&host, first, line).await;
    assert_eq!(finished.stdout(), "x\n", "{finished:?}");
    assert!(String::from_utf8_lossy(&finished.stderr).contains("Read-only"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn output_beyond_the_cap_is_dropped_counted_and_told() {
    let host = Host::start().await;
    let line = "head -c 300000 /dev/zero; head -c 1000 /dev/zero >&2; echo done > done";
    let whole = host.bash(line).await;
    assert_eq!(
        (whole.stdout.len(), whole.outcome.dropped_stdout),
        (300_000, 0),
        "positive control"
    );
    host.script(|script| {
        script.profile = |profile| {
            profile.limits = Some(SandboxLimits {
                output_bytes: 100_000,
                ..SandboxLimits::default()
            });
        };
    });
    fs::remove_file(host.workspace.join("done")).unwrap();
    let cut = host.bash(line).await;
    assert_eq!((cut.code(), cut.stdout.len()), (Some(0), 100_000));
    assert_eq!((cut.outcome.dropped_stdout, cut.outcome.dropped_stderr), (200_000, 0));
    assert!(host.workspace.join("done").exists(), "the command goes on");
    let told = String::from_utf8_lossy(&cut.stderr).into_owned();
    assert!(told.contains("200000 bytes of standard output were dropped"), "{told}");
    assert_eq!(host.server.outcome(&cut.decision_id).await.dropped_stdout, 200_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_are_set_and_what_is_not_held_is_said() {
    let host = Host::start().await;
    let line = "ulimit -n; ulimit -Hn; head -c 3000 /dev/zero > big; stat -c %s big";
    let free = host.bash(line).await;
    assert!(free.stdout().ends_with("\n3000\n"), "positive control: {free:?}");
    assert!(free.started.unwrap().unheld_limits.is_empty());
    host.script(|script| {
        script.profile = |profile| {
            profile.limits = Some(SandboxLimits {
                open_files: 77,
                file_bytes: 2048,
                memory_bytes: 1 << 30,
                ..SandboxLimits::default()
            });
        };
    });
    let held = host.bash(line).await;
    assert_eq!(held.stdout(), "77\n77\n2048\n", "{held:?}");
    let enforcement = held.started.unwrap();
    let memory = enforcement
        .unheld_limits
        .iter()
        .any(|line| line.starts_with("memory: "));
    assert_eq!(memory, host.daemon.cgroup.is_err(), "{:?}", enforcement.unheld_limits);
    // No wall: it is fully enforced.
    assert!(enforcement.missing.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn caches_are_private_by_default_and_kept_for_the_session() {
    let host = Host::start().await;
    let make = "echo x > $npm_config_cache-made; echo x > /run/portcullis-cache/f; echo ${CARGO_HOME-none}";
    assert_eq!(within(&host, first, make).await.stdout(), "none\n");
    let look = "ls -A /run/portcullis-cache";
    assert_eq!(within(&host, first, look).await.stdout(), "f\nnpm-made\n");
    for other in [second, nobodys] {
        assert_eq!(within(&host, other, look).await.stdout(), "");
    }
    // Nothing of it is a folder of programs.
    let path = within(&host, first, "echo $PATH").await;
    assert!(!path.stdout().contains("portcullis-cache"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shared_cache_is_one_for_trusted_projects_and_another_for_each_other_one() {
    let mut host = Host::start().await;
    host.script(|script| script.profile = |profile| profile.shared_build_cache = true);
    let make = "echo mine > $CARGO_HOME-made && echo made";
    let look = "cat /run/portcullis-cache/cargo-made 2> /dev/null";
    assert_eq!(within(&host, first, make).await.stdout(), "made\n");
    // Another session of the same project.
    assert_eq!(within(&host, second, look).await.stdout(), "mine\n");
    let untrusted = host.workspace.clone();
    let other = untrusted.with_file_name("other");
    fs::create_dir(&other).unwrap();
    host.workspace.clone_from(&other);
    assert_eq!(within(&host, first, look).await.stdout(), "", "another project");
    for project in [&untrusted, &other] {
        host.daemon.trust.set(project.to_str().unwrap(), true).unwrap();
    }
    assert_eq!(
        within(&host, first, look).await.stdout(),
        "",
        "trusted projects have another one"
    );
    assert_eq!(within(&host, first, make).await.stdout(), "made\n");
    host.workspace.clone_from(&untrusted);
    assert_eq!(within(&host, second, look).await.stdout(), "mine\n", "where they meet");
    // The way outside is hidden.
    let way = format!("ls {}", host.places.caches().display());
    assert_ne!(within(&host, first, &way).await.code(), Some(0));
    assert!(unsandboxed(&way, &host.workspace).status.success(), "positive control");
}

/// What is here of package managers works offline, though the home folder is read-only.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn builds_work_with_a_read_only_home() {
    let host = Host::start().await;
    host.script(|script| {
        script.profile = |profile| profile.environment = ["HOME", "PATH"].map(str::to_owned).to_vec();
    });
    let has = |program: &str| {
        unsandboxed(&format!("command -v {program}"), &host.workspace)
            .status
            .success()
    };
    if has("npm") {
        fs::create_dir_all(host.workspace.join("dep")).unwrap();
        fs::write(
            host.workspace.join("dep/package.json"),
            r#"{"name":"dep","version":"1.0.0"}"#,
        )
        .unwrap();
        fs::write(
            host.workspace.join("package.json"),
            r#"{"name":"app","version":"1.0.0"}"#,
        )
        .unwrap();
        let pack =
            "npm pack ./dep --silent && npm install --offline --no-audit --no-fund ./dep-1.0.0.tgz && ls node_modules";
        let finished = within(&host, first, pack).await;
        assert!(finished.stdout().ends_with("dep\n"), "{finished:?}");
        let without = format!("unset npm_config_cache; {pack}");
        let finished = within(&host, second, &without).await;
        assert_ne!(finished.code(), Some(0), "positive control: {finished:?}");
    }
    if has("python3") {
        let line = "python3 -c 'import os; d = os.environ[\"PIP_CACHE_DIR\"]; os.makedirs(d); open(d + \"/f\", \"w\")' && echo ok";
        assert_eq!(within(&host, first, line).await.stdout(), "ok\n");
    }
}
