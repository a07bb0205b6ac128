//! Runs: bytes both ways, ends of every kind, and nothing left behind.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "only tests are here"
)]

mod support;

use std::time::Duration;

use portcullis_proto::v1::*;
use support::{FakeServer, Host, PATIENCE, unsandboxed, write_address};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _};
use tokio::net::unix::pipe;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_enforced_streamed_and_reported() {
    let host = Host::start().await;
    let finished = host
        .bash("echo out; echo err >&2; echo $SECRET-$HOME-$PWD; exit 7")
        .await;
    assert_eq!(finished.code(), Some(7), "{finished:?}");
    assert_eq!(finished.stdout(), format!("out\n-/-{}\n", host.workspace.display()));
    assert_eq!(finished.stderr, b"err\n");
    let enforcement = finished.started.unwrap();
    assert_eq!(
        enforcement.status(),
        EnforcementStatus::Full,
        "{:?}",
        enforcement.missing
    );
    for mechanism in [
        "user_namespace",
        "network_namespace",
        "landlock",
        "seccomp",
        "no_new_privs",
    ] {
        assert!(
            enforcement.mechanisms.iter().any(|found| found == mechanism),
            "{mechanism}"
        );
    }
    let reported = host.server.outcome(&finished.decision_id).await;
    assert_eq!(reported, finished.outcome);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_megabytes_go_through_both_ways() {
    let host = Host::start().await;
    let (_, start) = host.start_for(&["cat"]).await;
    let mut running = host.launch(start).await.unwrap();
    let send = running.send.clone();
    let piece: Vec<u8> = (0..=255).cycle().take(64 * 1024).collect();
    let wanted = piece.clone();
    tokio::spawn(async move {
        for _ in 0..160 {
            let message = Some(run_request::Message::Stdin(piece.clone()));
            send.send(RunRequest { message }).await.unwrap();
        }
        let message = Some(run_request::Message::StdinClosed(RunStdinClosed {}));
        send.send(RunRequest { message }).await.unwrap();
    });
    let finished = running.finish().await;
    assert_eq!(finished.code(), Some(0));
    assert_eq!(finished.stdout.len(), 160 * 64 * 1024);
    assert!(finished.stdout.chunks(64 * 1024).all(|chunk| chunk == wanted));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signals_reach_the_command_and_are_told() {
    let host = Host::start().await;
    let (_, start) = host
        .start_for(&[
            "bash",
            "-c",
            "trap 'echo caught; exit 5' USR1; echo ready; while :; do read -t 0.1 x; done",
        ])
        .await;
    let mut running = host.launch(start).await.unwrap();
    loop {
        match running.next().await.unwrap() {
            run_response::Message::Stdout(bytes) if bytes.starts_with(b"ready") => break,
            run_response::Message::Started(_) => {}
            other => panic!("{other:?}"),
        }
    }
    running
        .send(run_request::Message::Signal(libc::SIGUSR1.unsigned_abs()))
        .await;
    let finished = running.finish().await;
    assert_eq!((finished.code(), finished.stdout()), (Some(5), "caught\n"));

    let finished = host.bash("kill -TERM $$").await;
    assert_eq!(finished.outcome.end, Some(outcome::End::Signal(15)));
}

/// A script that started the daemon in the background, or `nohup`, is no reason for a command not to hear Ctrl-\.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_does_not_ignore_what_the_daemon_was_started_to_ignore() {
    let mut host = Host::start().await;
    let programs = host.folder.path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    let wrapper = format!(
        "#!/bin/bash\ntrap '' HUP QUIT USR1\ngrep SigIgn /proc/$$/status > {}\nexec {} \"$@\"\n",
        programs.join("ignored").display(),
        host.places.launcher().display()
    );
    // By another process: a file that this one has open for writing cannot be executed.
    let written = std::process::Command::new("bash")
        .args([
            "-c",
            "printf %s \"$1\" > portcullis-launch && chmod +x portcullis-launch",
            "-",
        ])
        .arg(wrapper)
        .current_dir(&programs)
        .status();
    assert!(written.unwrap().success());
    host.places.programs.clone_from(&programs);
    host.restart().await;

    // As bits, of the signals 1 to 31: the C library keeps two of the others to itself.
    let bits = |line: &str| u64::from_str_radix(line.trim().rsplit('\t').next().unwrap(), 16).unwrap() & 0x7fff_ffff;
    let finished = host.run(&["grep", "SigIgn", "/proc/self/status"]).await;
    assert_eq!(bits(finished.stdout()), 0, "{finished:?}");
    let ignored = bits(&std::fs::read_to_string(programs.join("ignored")).unwrap());
    assert_eq!(ignored & 0x205, 0x205, "positive control: {ignored:x}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_executed_is_an_outcome() {
    let host = Host::start().await;
    let finished = host.run(&["no-such-program-anywhere"]).await;
    let Some(outcome::End::NotStarted(reason)) = &finished.outcome.end else {
        panic!("{finished:?}")
    };
    assert!(reason.contains("No such file"), "{reason}");
    assert!(finished.started.is_none());
    host.server.outcome(&finished.decision_id).await;
}

/// A line that leaves a grandchild in a session of its own, which holds the pipe `alive` open.
const ORPHAN: &str = "setsid bash -c 'trap \"\" TERM HUP INT; exec 9>alive; echo x >&9; while :; do read -t 60 y <> /dev/zero; done' & \
    while :; do read -t 60 y <> /dev/zero; done";

/// Makes the pipe and waits for the grandchild's byte in it.
fn lifeline(host: &Host) -> pipe::Receiver {
    let path = host.workspace.join("alive");
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    pipe::OpenOptions::new().open_receiver(&path).unwrap()
}

async fn wait_for_birth(pipe: &mut pipe::Receiver) {
    let mut byte = [0];
    // Before the writer has opened it, the pipe reads as ended.
    let born = async {
        while pipe.read(&mut byte).await.unwrap() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, born)
        .await
        .expect("the grandchild lives");
}

async fn wait_for_death(pipe: &mut pipe::Receiver) {
    let mut rest = Vec::new();
    tokio::time::timeout(PATIENCE, pipe.read_to_end(&mut rest))
        .await
        .expect("the grandchild is gone")
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_goes_takes_the_whole_tree_along() {
    let host = Host::start().await;
    let mut pipe = lifeline(&host);
    let (decision_id, start) = host.start_for(&["bash", "-c", ORPHAN]).await;
    let running = host.launch(start).await.unwrap();
    wait_for_birth(&mut pipe).await;
    drop(running);
    wait_for_death(&mut pipe).await;
    let outcome = host.server.outcome(&decision_id).await;
    assert_eq!(
        (outcome.ended_by.as_str(), outcome.end),
        ("disconnect", Some(outcome::End::Signal(9)))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_ends_takes_its_background_along() {
    let host = Host::start().await;
    let mut pipe = lifeline(&host);
    let line =
        "setsid bash -c 'exec 9>alive; echo x >&9; while :; do read -t 60 y <> /dev/zero; done' & read -t 60 x; exit 0";
    let (_, start) = host.start_for(&["bash", "-c", line]).await;
    let mut running = host.launch(start).await.unwrap();
    wait_for_birth(&mut pipe).await;
    running.send(run_request::Message::StdinClosed(RunStdinClosed {})).await;
    assert_eq!(running.finish().await.code(), Some(0));
    wait_for_death(&mut pipe).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_takes_too_long_is_ended_with_its_tree() {
    let host = Host::start().await;
    host.script(|script| script.timeout = Some(Duration::from_millis(1500)));
    let mut pipe = lifeline(&host);
    let (_, start) = host.start_for(&["bash", "-c", ORPHAN]).await;
    let mut running = host.launch(start).await.unwrap();
    wait_for_birth(&mut pipe).await;
    let finished = running.finish().await;
    assert_eq!(finished.outcome.ended_by, "timeout");
    assert_eq!(finished.outcome.end, Some(outcome::End::Signal(9)));
    wait_for_death(&mut pipe).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_ends_runs_and_keeps_their_outcomes() {
    let mut host = Host::start().await;
    let mut pipe = lifeline(&host);
    let (decision_id, start) = host.start_for(&["bash", "-c", ORPHAN]).await;
    let mut running = host.launch(start).await.unwrap();
    wait_for_birth(&mut pipe).await;
    host.stop().await;
    wait_for_death(&mut pipe).await;
    assert_eq!(host.server.outcome(&decision_id).await.ended_by, "shutdown");
    let _ = running.responses.message().await;
    assert!(!host.places.socket().exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outcome_waits_for_the_server() {
    let host = Host::start().await;
    assert_eq!(host.run(&["true"]).await.code(), Some(0));
    let (decision_id, start) = host.start_for(&["true"]).await;
    host.server_stop.cancel();
    std::fs::remove_file(host.places.server_address()).unwrap();
    let mut running = host.launch(start).await.unwrap();
    assert_eq!(running.finish().await.code(), Some(0));
    let status = host.host().status(StatusRequest {}).await.unwrap().into_inner();
    assert!(
        status.undelivered_outcomes >= 1 && !status.server_failure.is_empty(),
        "{status:?}"
    );
    let other = FakeServer::new();
    let (address, _stop) = other.serve().await;
    write_address(&host.places, &address);
    other.outcome(&decision_id).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outcome_that_is_refused_for_good_blocks_no_other() {
    let host = Host::start().await;
    for code in [
        tonic::Code::InvalidArgument,
        tonic::Code::NotFound,
        tonic::Code::FailedPrecondition,
        tonic::Code::AlreadyExists,
    ] {
        host.script(|script| script.refuse_outcome = Some(tonic::Status::new(code, "never")));
        assert_eq!(host.run(&["true"]).await.code(), Some(0));
        let next = host.run(&["true"]).await;
        host.server.outcome(&next.decision_id).await;
    }
    // Kept for a person to look at.
    let aside = std::fs::read_dir(host.places.spool()).unwrap().flatten();
    let refused = aside.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "refused"));
    assert_eq!(refused.count(), 4);
    // What may pass is tried again.
    host.script(|script| script.refuse_outcome = Some(tonic::Status::unavailable("busy")));
    let retried = host.run(&["true"]).await;
    host.server.outcome(&retried.decision_id).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_protected_name_that_appears_is_put_aside_before_the_result() {
    let host = Host::start().await;
    let line =
        "mkdir .vscode && echo '{}' > .vscode/tasks.json; git init -q sub && echo evil > sub/.git/hooks/pre-commit";
    let finished = host.bash(line).await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(!host.workspace.join(".vscode").exists());
    assert!(!host.workspace.join("sub/.git/hooks/pre-commit").exists());
    assert!(host.workspace.join("sub/.git/HEAD").exists());
    assert!(String::from_utf8_lossy(&finished.stderr).contains("put aside"));
    unsandboxed(line, &host.workspace);
    assert!(host.workspace.join(".vscode/tasks.json").exists());
}

/// Starts the real program on the data of a daemon that has ended, and connects to it.
/// A name that clears the line, sets the window's title, and goes on with a line of its own.
const ODD: &str = r"$'x\e[31m\e]0;title\a\nportcullis: all is fine'";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_names_of_files_do_not_drive_the_callers_terminal() {
    let host = Host::start().await;
    let line = format!(
        "N={ODD}; mkdir -p \"$N\" \"$N-closed\" && git init -q \"$N\" && echo x > \"$N/.git/hooks/pre-commit\"; chmod 0 \"$N-closed\""
    );
    let finished = host.bash(&line).await;
    let said = String::from_utf8(finished.stderr.clone()).unwrap();
    assert!(said.contains("put aside `") && said.contains(r"x\u{1b}[31m"), "{said}");
    assert!(!said.contains(|c: char| c.is_control() && c != '\n'), "{said:?}");
    assert!(
        said.lines()
            .all(|line| !line.contains("all is fine") || line.contains("x\\u{1b}")),
        "{said}"
    );
}

async fn real_daemon(host: &mut Host) -> tokio::process::Child {
    let mut daemon = tokio::process::Command::new(env!("CARGO_BIN_EXE_portcullis-sandboxd"))
        .args(["serve", "--data-dir"])
        .arg(&host.places.data)
        .arg("--config-home")
        .arg(host.folder.path())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = tokio::io::BufReader::new(daemon.stdout.take().unwrap());
    tokio::time::timeout(PATIENCE, output.read_line(&mut line))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        line,
        format!(
            "portcullis-sandboxd listening on unix:{}\n",
            host.places.socket().display()
        )
    );
    host.channel = support::connect(host.places.socket()).await;
    daemon
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_daemon_takes_runs_along_and_forgets_no_used_ticket() {
    let mut host = Host::start().await;
    host.stop().await;
    let mut daemon = real_daemon(&mut host).await;
    let mut pipe = lifeline(&host);
    let (decision_id, start) = host.start_for(&["bash", "-c", ORPHAN]).await;
    let _running = host.launch(start.clone()).await.unwrap();
    wait_for_birth(&mut pipe).await;
    daemon.kill().await.unwrap();
    wait_for_death(&mut pipe).await;
    // The socket that it left behind is replaced; what it had redeemed stays redeemed.
    let mut daemon = real_daemon(&mut host).await;
    let status = host.launch(start).await.err().expect("a refusal");
    assert!(status.message().contains("replayed"), "{status:?}");
    // And what became of the command is told.
    let outcome = host.server.outcome(&decision_id).await;
    assert_eq!(
        (outcome.end, outcome.ended_by.as_str()),
        (Some(outcome::End::Signal(9)), "crash")
    );
    assert_eq!(host.run(&["true"]).await.code(), Some(0));
    let terminated = rustix::process::Pid::from_raw(i32::try_from(daemon.id().unwrap()).unwrap()).unwrap();
    rustix::process::kill_process(terminated, rustix::process::Signal::TERM).unwrap();
    let status = tokio::time::timeout(PATIENCE, daemon.wait()).await.unwrap().unwrap();
    assert!(status.success() && !host.places.socket().exists(), "{status}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_runs_than_the_limit_are_refused_and_use_up_no_ticket() {
    let host = Host::start().await;
    let all = u32::try_from(portcullis_sandboxd::daemon::MAX_RUNS).unwrap();
    let taken = host.daemon.runs.clone().try_acquire_many_owned(all).unwrap();
    let (_, start) = host.start_for(&["true"]).await;
    let status = host.launch(start.clone()).await.err().expect("a refusal");
    assert_eq!(status.code(), tonic::Code::ResourceExhausted, "{status:?}");
    drop(taken);
    // The same ticket, once there is room.
    host.launch(start).await.unwrap();
}

/// The daemon as a process of its own, so that it can be killed: the run ends with it, and the next daemon looks back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_daemon_leaves_nothing_under_protected_names() {
    let mut host = Host::start().await;
    host.stop().await;
    let mut daemon = tokio::process::Command::new(env!("CARGO_BIN_EXE_portcullis-sandboxd"))
        .args(["serve", "--data-dir"])
        .arg(&host.places.data)
        .arg("--config-home")
        .arg(host.folder.path())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stdout = tokio::io::BufReader::new(daemon.stdout.take().unwrap());
    stdout.read_line(&mut line).await.unwrap();
    assert!(line.contains("listening"), "{line}");
    host.channel = support::connect(host.places.socket()).await;
    let line = "mkdir .vscode; echo > file; echo made; exec sleep 1000";
    let (_, start) = host.start_for(&["bash", "-c", line]).await;
    let mut running = host.launch(start).await.unwrap();
    while !matches!(running.next().await, Some(run_response::Message::Stdout(_))) {}
    assert!(host.workspace.join(".vscode").exists());
    daemon.kill().await.unwrap();
    drop(running);

    host.start_again().await;
    assert!(!host.workspace.join(".vscode").exists() && host.workspace.join("file").exists());
    assert!(std::fs::read_dir(host.places.notes()).unwrap().next().is_none());
    // The same in a run that ends by itself leaves no note either.
    assert_eq!(host.bash("mkdir .vscode").await.code(), Some(0));
    assert!(!host.workspace.join(".vscode").exists());
    assert!(std::fs::read_dir(host.places.notes()).unwrap().next().is_none());
}
