//! What a sandboxed command cannot do, each beside the proof that the same line works without the sandbox.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "only tests are here"
)]

mod support;

use support::{Host, unsandboxed};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;

/// A repository with one commit, made without the sandbox.
fn repository(host: &Host) {
    let made = unsandboxed(
        "git init -q . && git config user.email a@b.c && git config user.name t && echo a > a && git add -A && git commit -qm m",
        &host.workspace,
    );
    assert!(made.status.success(), "{made:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_outside_the_workspace_can_be_written() {
    let host = Host::start().await;
    let outside = host.workspace.with_file_name("outside");
    let line = format!("echo x > {}", outside.display());
    let finished = host.bash(&line).await;
    assert!(finished.code().is_some_and(|code| code != 0), "{finished:?}");
    assert!(!outside.exists());
    assert!(unsandboxed(&line, &host.workspace).status.success() && outside.exists());
    assert_eq!(host.bash("echo x > inside && cat inside").await.stdout(), "x\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hooks_cannot_be_written_and_their_folder_cannot_be_swapped() {
    let host = Host::start().await;
    repository(&host);
    let hook = host.workspace.join(".git/hooks/pre-commit");
    let write = "echo evil > .git/hooks/pre-commit";
    let swap = "mv .git g2 && cp -r g2 .git && echo evil > .git/hooks/pre-commit";
    let config = "git config core.fsmonitor evil";
    for line in [write, swap, config] {
        let finished = host.bash(line).await;
        assert!(finished.code().is_some_and(|code| code != 0), "{line}: {finished:?}");
        assert!(!hook.exists() && host.workspace.join(".git").is_dir(), "{line}");
    }
    assert_eq!(
        host.bash("echo b > b && git add -A && git commit -qm b && git log --oneline | wc -l")
            .await
            .stdout()
            .trim(),
        "2"
    );
    for line in [write, swap, config] {
        let done = unsandboxed(&format!("rm -rf g2; {line}"), &host.workspace);
        assert!(done.status.success(), "{line}: {done:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_network_is_not_there() {
    let host = Host::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let line = format!("echo hello > /dev/tcp/127.0.0.1/{port}");
    let finished = host.bash(&line).await;
    assert!(finished.code().is_some_and(|code| code != 0), "{finished:?}");
    assert!(
        String::from_utf8_lossy(&finished.stderr).contains("refused"),
        "{finished:?}"
    );
    let workspace = host.workspace.clone();
    let control = tokio::task::spawn_blocking(move || unsandboxed(&line, &workspace));
    // The first that arrives is the control: the sandboxed line never did.
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "hello\n");
    assert!(control.await.unwrap().status.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_tokens_sockets_and_state_are_not_there() {
    let host = Host::start().await;
    // Even if the ticket's profile forgets to hide them.
    host.script(|script| script.profile = |profile| profile.masked_paths.clear());
    for path in [
        host.places.host_token(),
        host.places.state().join("host.key"),
        host.places.socket(),
    ] {
        let line = format!("test -e {}", path.display());
        let finished = host.bash(&line).await;
        assert_eq!(finished.code(), Some(1), "{}: {finished:?}", path.display());
        assert!(
            unsandboxed(&line, &host.workspace).status.success(),
            "{}",
            path.display()
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_folders_cannot_be_replaced_where_the_workspace_contains_them() {
    let mut host = Host::start().await;
    // As for somebody who works in their home folder, and has no policy of their own yet.
    host.workspace = host.folder.path().canonicalize().unwrap();
    let nested = host.workspace.join("home/nested");
    std::fs::create_dir_all(&nested).unwrap();
    assert!(!host.places.config.exists());
    for (refused, allowed) in [
        ("mv data data2", "mv home home2"),
        ("touch data/x", "touch x"),
        ("mv config config2", "mv home2 home"),
        (
            "mkdir -p config && echo '{}' > config/policy.jsonc",
            "echo '{}' > home/policy.jsonc",
        ),
        ("rm -rf config", "rm -rf home"),
    ] {
        let finished = host.bash(refused).await;
        assert_ne!(finished.code(), Some(0), "{refused}: {finished:?}");
        let finished = host.bash(allowed).await;
        assert_eq!(finished.code(), Some(0), "{allowed}: {finished:?}");
    }
    assert!(host.places.socket().exists() && host.places.config.is_dir());
    assert!(!host.places.config.join("policy.jsonc").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workspace_in_our_own_folders_is_refused() {
    let mut host = Host::start().await;
    host.workspace = host.places.config.join("rules");
    std::fs::create_dir_all(&host.workspace).unwrap();
    let (_, start) = host.start_for(&["true"]).await;
    let refused = host.launch(start).await.err().unwrap();
    assert!(refused.message().contains("belongs to Portcullis"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_right_and_no_process_of_the_outside_is_there() {
    let host = Host::start().await;
    let finished = host
        .bash("grep -c 'Cap.*:.0000000000000000' /proc/self/status; ls -d /proc/[0-9]* | wc -l; id -u")
        .await;
    let lines: Vec<&str> = finished.stdout().lines().collect();
    assert_eq!(lines.first(), Some(&"5"), "{finished:?}");
    assert!(lines[1].parse::<u32>().unwrap() < 8);
    assert_eq!(lines[2], rustix::process::getuid().as_raw().to_string());
    for line in [
        "unshare -U true",
        "mount -t tmpfs none /mnt",
        "echo x > /proc/sys/kernel/domainname",
        "kill -0 $PPID && false",
    ] {
        let finished = host.bash(line).await;
        assert!(finished.code().is_some_and(|code| code != 0), "{line}: {finished:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_profile_that_is_not_understood_runs_nothing() {
    let host = Host::start().await;
    for profile in [
        (|profile| profile.network = 0) as fn(&mut portcullis_proto::v1::SandboxProfile),
        |profile| profile.network = 99,
        |profile| profile.workspace = 0,
        |profile| profile.temporary_folder = 0,
        |profile| profile.temporary_folder = 99,
        |profile| profile.roots = vec!["/nowhere/at/all".to_owned()],
        |profile| profile.roots = vec!["/".to_owned()],
    ] {
        host.script(|script| script.profile = profile);
        let (_, start) = host.start_for(&["true"]).await;
        let status = host.launch(start).await.err().expect("a refusal");
        assert_eq!(status.code(), tonic::Code::FailedPrecondition, "{status:?}");
    }
    // What cannot be protected is a refusal too, unless the profile accepts it.
    host.script(|script| script.profile = |profile| profile.read_only_patterns.push("/absolute".to_owned()));
    let finished = host.run(&["true"]).await;
    assert!(
        matches!(
            finished.outcome.end,
            Some(portcullis_proto::v1::outcome::End::NotStarted(_))
        ),
        "{finished:?}"
    );
    host.script(|script| {
        script.profile = |profile| {
            profile.read_only_patterns.push("/absolute".to_owned());
            profile.accept_partial = true;
        }
    });
    let finished = host.run(&["true"]).await;
    assert_eq!(finished.code(), Some(0));
    assert_eq!(finished.started.unwrap().missing.len(), 1);
}

/// A file of the host below a folder that is private inside.
fn below_tmp() -> std::path::PathBuf {
    std::path::PathBuf::from(format!("/tmp/portcullis-shown-{}", std::process::id()))
}

/// An untrusted project can name read-only paths, and must not bring in with them what is private otherwise.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_only_path_shows_what_is_private_only_if_it_is_granted() {
    let host = Host::start().await;
    std::fs::write(below_tmp(), "of the host\n").unwrap();
    let shown = below_tmp().to_string_lossy().into_owned();
    host.script(|script| {
        script.profile = |profile| profile.read_only_paths.push(below_tmp().to_string_lossy().into_owned());
    });
    let named = host.run(&["cat", &shown]).await;
    host.script(|script| {
        script.profile = |profile| {
            let path = below_tmp().to_string_lossy().into_owned();
            profile.read_only_paths.push(path.clone());
            profile.revealed_paths.push(path);
        };
    });
    let granted = host.run(&["cat", &shown]).await;
    std::fs::remove_file(below_tmp()).unwrap();
    assert!(named.code().is_some_and(|code| code != 0), "{named:?}");
    assert_eq!(granted.code(), Some(0), "{granted:?}");
}

/// What one command puts in the place of a link must not become writable for the next.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writable_path_is_never_reached_through_a_link_that_commands_can_replace() {
    let host = Host::start().await;
    let made = host.bash("ln -s /var/lib out && mkdir real").await;
    assert_eq!(made.code(), Some(0), "{made:?}");
    host.script(|script| {
        script.profile = |profile| {
            let path = format!("{}/out", profile.roots[0]);
            profile.read_write_paths.push(path);
        };
    });
    let (_, start) = host.start_for(&["true"]).await;
    let status = host.launch(start).await.err().expect("a refusal");
    assert!(status.message().contains("which a command can replace"), "{status:?}");
    host.script(|script| {
        script.profile = |profile| {
            let path = format!("{}/real", profile.roots[0]);
            profile.read_write_paths.push(path);
        };
    });
    assert_eq!(host.run(&["true"]).await.code(), Some(0));
}
