//! What a command in the sandbox cannot do, each time with the proof that it could without.
//!
//! The commands are scripts and a probe, so that the decision sees only an allowed name: here the kernel has to say no,
//! not the policy.

use std::{fs, net::TcpListener, os::unix::fs::PermissionsExt as _, path::Path};

use portcullis_tests::{
    Output, PATIENCE, Policy, Role, Run, Stack, process::Process, requests::first_outcome, stack::program, v1,
};
use tokio::{io::AsyncReadExt as _, net::unix::pipe};

/// Exit status of the probe when the system refused.
const REFUSED: i32 = 10;

fn stack() -> Stack {
    let stack = Stack::start();
    // A copy in the workspace: what lies in the target directory is no concern of the sandbox's.
    fs::copy(program("portcullis-probe"), stack.project().join("probe")).unwrap();
    stack.push_team(&Policy::new().allow("Bash(./probe *)").allow("Bash(sh ./script)"));
    stack
}

/// The same command in the sandbox and without.
fn both(stack: &Stack, words: &[&str]) -> (Output, Output) {
    let inside = stack.portcullis(["run", "--"]).args(words).output();
    (inside, outside(stack, words).output())
}

fn outside(stack: &Stack, words: &[&str]) -> Run {
    let program = words[0]
        .strip_prefix("./")
        .map_or_else(|| words[0].into(), |name| stack.project().join(name));
    stack.run_program(&program).args(&words[1..])
}

/// Fails unless the sandbox refuses what works without it.
#[track_caller]
fn expect_refused_inside(stack: &Stack, what: &str, target: &str) {
    stack.write_project_file("task", &format!("{what}\n{target}\n"));
    let (inside, outside) = both(stack, &["./probe", "from", "task"]);
    assert_eq!(outside.code, 0, "positive control, {what} {target}: {}", outside.text());
    assert_eq!(
        inside.code,
        REFUSED,
        "{what} {target} in the sandbox: {}",
        inside.text()
    );
}

#[test]
fn a_command_can_do_its_work_in_the_workspace() {
    let stack = stack();
    fs::write(stack.project().join("input"), "x").unwrap();
    // The rule for the probe reaches files of the workspace only, so the other one is named in a file.
    stack.write_project_file("task", "read\n/etc/passwd\n");
    for words in [
        ["./probe", "read", "input"],
        ["./probe", "write", "output"],
        ["./probe", "from", "task"],
    ] {
        let inside = stack.portcullis(["run", "--"]).args(words).output();
        assert_eq!(inside.code, 0, "{words:?}: {}", inside.text());
    }
    assert_eq!(
        fs::read_to_string(stack.project().join("output")).unwrap(),
        "written by the probe\n"
    );
    stack.write_project_file("script", "git add --all . && git commit --quiet --message=inside\n");
    let inside = stack.portcullis(["run", "--", "sh", "./script"]).output();
    assert_eq!(inside.code, 0, "git commit: {}", inside.text());
    assert!(stack.git(&["log", "--oneline"]).stdout.contains("inside"));
}

#[test]
fn it_cannot_write_outside_the_workspace() {
    let stack = stack();
    for folder in [stack.outside(), stack.home(), stack.base().to_path_buf()] {
        let target = folder.join("evil");
        expect_refused_inside(&stack, "write", target.to_str().unwrap());
        // The control wrote it; once more without.
        fs::remove_file(&target).unwrap();
        let _ = stack
            .portcullis(["run", "--", "./probe", "from", "task"])
            .output()
            .expect_code(REFUSED);
        assert!(!target.exists(), "{} was written", target.display());
    }
}

#[test]
fn it_cannot_leave_the_workspace_by_a_symlink() {
    let stack = stack();
    std::os::unix::fs::symlink(stack.outside(), stack.project().join("link")).unwrap();
    expect_refused_inside(&stack, "write", "link/evil");
}

#[test]
fn it_cannot_write_git_hooks() {
    let stack = stack();
    for target in [".git/hooks/pre-commit", ".git/config", ".portcullis/policy.jsonc"] {
        fs::create_dir_all(stack.project().join(".portcullis")).unwrap();
        let path = stack.project().join(target);
        let before = fs::read(&path).ok();
        stack.write_project_file("task", &format!("write\n{target}\n"));
        let task = ["./probe", "from", "task"];
        let inside = stack.portcullis(["run", "--"]).args(task).output();
        assert_eq!(inside.code, REFUSED, "{target}: {}", inside.text());
        assert_eq!(fs::read(&path).ok(), before, "{target} was changed");
        let _ = outside(&stack, &task).output().expect_code(0);
    }
}

#[test]
fn it_cannot_swap_the_folder_above_the_hooks() {
    let stack = stack();
    let script = "mv .git g2; cp -r g2 .git; echo evil > .git/hooks/pre-commit; true\n";
    stack.write_project_file("script", script);
    let _ = stack.portcullis(["run", "--", "sh", "./script"]).output();
    assert!(
        !stack.project().join(".git/hooks/pre-commit").exists(),
        "a hook was planted"
    );
    let _ = outside(&stack, &["sh", "./script"]).output();
    assert!(
        stack.project().join(".git/hooks/pre-commit").exists(),
        "positive control"
    );
}

#[test]
fn it_cannot_reach_the_network_not_even_loopback() {
    let stack = stack();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    expect_refused_inside(&stack, "tcp", &listener.local_addr().unwrap().to_string());
}

#[test]
fn it_cannot_reach_the_server() {
    let stack = stack();
    expect_refused_inside(&stack, "tcp", stack.server_address().strip_prefix("http://").unwrap());
}

#[test]
fn it_cannot_read_tokens_keys_or_the_database() {
    let stack = stack();
    for name in [
        "tokens/admin.token",
        "tokens/agent.token",
        "tokens/host.token",
        "server/portcullis.db",
        "server/ticket.key",
        "server/fingerprint.key",
    ] {
        expect_refused_inside(&stack, "read", stack.data().join(name).to_str().unwrap());
    }
}

#[test]
fn it_cannot_reach_the_socket() {
    let stack = stack();
    expect_refused_inside(&stack, "unix", stack.socket().to_str().unwrap());
}

#[test]
fn it_sees_none_of_the_callers_secrets_in_its_environment() {
    let stack = stack();
    stack.write_project_file("script", "env\n");
    let run = |run: Run| {
        run.env("AWS_SECRET_ACCESS_KEY", "canary-in-the-environment")
            .output()
            .expect_code(0)
    };
    let inside = run(stack.portcullis(["run", "--", "sh", "./script"]));
    assert!(inside.stdout.contains("PATH="), "{}", inside.stdout);
    assert!(!inside.stdout.contains("canary"), "{}", inside.stdout);
    let outside = run(outside(&stack, &["sh", "./script"]));
    assert!(outside.stdout.contains("canary"), "positive control");
}

#[test]
fn what_is_asked_or_denied_does_not_run() {
    let stack = stack();
    stack.push_team(&Policy::new().deny("Bash(./probe write denied)"));
    for target in ["denied", "asked"] {
        let output = stack
            .portcullis(["run", "--", "./probe", "write", target])
            .output()
            .expect_code(126);
        assert!(!stack.project().join(target).exists());
        assert!(!output.stderr.is_empty(), "somebody has to be told why");
    }
}

/// A command in the sandbox that would run for ten minutes, and a pipe that tells when its last process has ended.
struct LongRun {
    client: Process,
    pipe: pipe::Receiver,
}

impl LongRun {
    async fn start(stack: &Stack) -> Self {
        let fifo = stack.project().join("fifo");
        let _ = stack
            .run_program(Path::new("mkfifo"))
            .args([&fifo])
            .output()
            .expect_code(0);
        let mut pipe = pipe::OpenOptions::new().open_receiver(&fifo).unwrap();
        // Without a writer the pipe would be at its end before the command has opened it.
        let ours = pipe::OpenOptions::new().open_sender(&fifo).unwrap();
        stack.write_project_file("script", "exec 3>fifo; echo started >&3; (sleep 600) & sleep 600\n");
        let client = stack
            .portcullis(["run", "--", "sh", "./script"])
            .spawn("portcullis run");
        let mut started = [0; 8];
        tokio::time::timeout(PATIENCE, pipe.read_exact(&mut started))
            .await
            .unwrap_or_else(|_| panic!("the command did not start: {}", client.log()))
            .unwrap();
        assert_eq!(&started, b"started\n");
        drop(ours);
        Self { client, pipe }
    }

    /// Waits until no process holds the pipe any more.
    async fn all_ended(&mut self) {
        tokio::time::timeout(PATIENCE, self.pipe.read_to_end(&mut Vec::new()))
            .await
            .expect("a process of the command lives on")
            .unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn when_sandboxd_is_killed_the_command_dies_with_it() {
    let mut stack = stack();
    let mut run = LongRun::start(&stack).await;
    stack.restart_killed_sandboxd();
    run.all_ended().await;
    assert_eq!(run.client.wait().code(), Some(125), "{}", run.client.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn when_sandboxd_is_stopped_the_command_is_ended_and_the_trail_says_why() {
    let mut stack = stack();
    let mut run = LongRun::start(&stack).await;
    stack.sandboxd().stop();
    run.all_ended().await;
    // Delivered at the latest by the next one.
    stack.start_sandboxd();
    assert_eq!(outcome(&stack).await.ended_by, "shutdown");
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_client_is_killed_the_command_dies_and_the_trail_says_why() {
    let stack = stack();
    let mut run = LongRun::start(&stack).await;
    run.client.kill();
    run.all_ended().await;
    assert_eq!(outcome(&stack).await.ended_by, "disconnect");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_takes_too_long_is_ended() {
    let stack = stack();
    stack.write_project_file("script", "(sleep 600) & sleep 600\n");
    let output = stack
        .portcullis(["run", "--timeout", "1s", "--", "sh", "./script"])
        .output();
    assert!(
        output.code > 128 || output.code == 125,
        "{}: {}",
        output.code,
        output.text()
    );
    assert_eq!(outcome(&stack).await.ended_by, "timeout");
}

async fn outcome(stack: &Stack) -> v1::Outcome {
    first_outcome(&stack.server_as(Role::Admin).await)
        .await
        .outcome
        .unwrap()
}

#[test]
fn the_private_files_are_private() {
    let stack = Stack::start();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for folder in [stack.data(), stack.data().join("run")] {
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
    }
    for name in [
        "tokens/admin.token",
        "tokens/agent.token",
        "tokens/host.token",
        "server/ticket.key",
        "server/fingerprint.key",
    ] {
        assert_eq!(mode(&stack.data().join(name)), 0o600, "{name}");
    }
}
