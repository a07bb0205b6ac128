//! The daemon is killed at every stage of a run: no process, no mount and no half-open ticket is left.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "only tests are here"
)]

mod support;

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use portcullis_proto::v1::*;
use support::{Host, PATIENCE, connect};

/// Kills. The first come close together, the last when the command runs: each is this much times its number squared.
const KILLS: u32 = 30;
const STEP: Duration = Duration::from_micros(80);

/// The daemon as a process of its own.
async fn daemon(host: &mut Host) -> Child {
    let child = Command::new(env!("CARGO_BIN_EXE_portcullis-sandboxd"))
        .arg("serve")
        .arg("--data-dir")
        .arg(&host.places.data)
        .arg("--config-home")
        .arg(host.places.config.parent().unwrap())
        .env("HOME", host.places.home.as_ref().unwrap())
        .env("PORTCULLIS_LOG", "off")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while tokio::net::UnixStream::connect(host.places.socket()).await.is_err() {
        assert!(begun.elapsed() < PATIENCE, "the daemon listens");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    host.channel = connect(host.places.socket()).await;
    child
}

/// Whether another process names this path in its arguments, has it mounted, or holds a file below it.
fn is_held(path: &Path) -> bool {
    let name = path.as_os_str().as_bytes();
    let has = |bytes: &[u8]| bytes.windows(name.len()).any(|part| part == name);
    let own = std::process::id().to_string();
    fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let number = entry.file_name();
        let process = number.as_bytes().iter().all(u8::is_ascii_digit) && number.to_str() != Some(&own);
        let folder = entry.path();
        let reads = |file: &str| fs::read(folder.join(file)).is_ok_and(|bytes| has(&bytes));
        let open = || {
            let files = fs::read_dir(folder.join("fd")).into_iter().flatten().flatten();
            files
                .map(|file| file.path())
                .any(|file| fs::read_link(file).is_ok_and(|to| has(to.as_os_str().as_bytes())))
        };
        process && (reads("cmdline") || reads("mountinfo") || open())
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_that_is_killed_at_any_stage_leaves_nothing_and_no_ticket_half_open() {
    let mut host = Host::start().await;
    let host_workspace = host.workspace.clone();
    host.stop().await;
    fs::create_dir_all(host.places.home.as_ref().unwrap()).unwrap();
    let root = host.folder.path().canonicalize().unwrap();
    let made = support::unsandboxed("git init -q . && rm -r .git/hooks && echo > file", &host.workspace);
    assert!(made.status.success(), "{made:?}");
    let placeholders = || {
        let places = [".vscode", ".portcullis", ".git/hooks"].into_iter();
        places.filter(|at| host_workspace.join(at).exists()).count()
    };
    let mounts = || fs::read_to_string("/proc/self/mountinfo").unwrap().lines().count();
    let mounts_before = mounts();
    let mut child = daemon(&mut host).await;
    let (mut unused, mut crashed, mut ran, mut left) = (0, 0, 0, 0);
    for kill in 0..KILLS {
        let mark = host.workspace.join(format!("ran.{kill}"));
        let line = format!("> {}; sleep 600; : {}", mark.display(), root.display());
        let (decision_id, start) = host.start_for(&["bash", "-c", &line]).await;
        let sandbox = host.sandbox();
        let again = start.clone();
        let run = tokio::spawn(async move {
            let (send, receive) = tokio::sync::mpsc::channel(4);
            let message = Some(run_request::Message::Start(start));
            send.send(RunRequest { message }).await.unwrap();
            let mut sandbox = sandbox;
            let requests = tokio_stream::wrappers::ReceiverStream::new(receive);
            if let Ok(answers) = sandbox.run(requests).await {
                let mut answers = answers.into_inner();
                while let Ok(Some(_)) = answers.message().await {}
            }
            drop(send);
        });
        tokio::time::sleep(STEP * kill * kill).await;
        child.kill().unwrap();
        child.wait().unwrap();
        let begun = Instant::now();
        while is_held(&root) {
            assert!(begun.elapsed() < PATIENCE, "kill {kill}: a process or a mount is left");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        run.await.unwrap();
        assert_eq!(mounts(), mounts_before, "kill {kill}");
        ran += usize::from(mark.exists());
        left += usize::from(placeholders() > 0);

        child = daemon(&mut host).await;
        assert_eq!(
            fs::read_dir(host.places.notes()).unwrap().count(),
            0,
            "kill {kill}: a note is left"
        );
        assert_eq!(placeholders(), 0, "kill {kill}: a placeholder is left");
        // The ticket is used up, and its outcome is known; or it was not used, and is none for this daemon. Never does it run.
        let refused = host
            .launch(again)
            .await
            .err()
            .expect("no ticket is redeemed twice")
            .message()
            .to_owned();
        if refused.contains("replayed") {
            crashed += 1;
            let outcome = host.server.outcome(&decision_id).await;
            assert!(
                outcome.ended_by == "crash" || outcome.end.is_some(),
                "kill {kill}: {outcome:?}"
            );
        } else {
            unused += 1;
            assert!(
                !mark.exists(),
                "kill {kill}: it ran without a ticket that was used up: {refused}"
            );
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    eprintln!(
        "{KILLS} kills: {unused} before the ticket was used, {crashed} after, {ran} while the command ran, {left} with placeholders"
    );
    assert!(crashed > 0, "no kill came after the ticket was used");
    assert!(left > 0, "no kill came when there were placeholders");
}
