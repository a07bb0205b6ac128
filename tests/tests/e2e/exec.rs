//! `portcullis exec`: a ticket becomes its command, once, as if the caller had started it; everything else is refused.

use std::{
    fs,
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use portcullis_tests::{
    Output, PATIENCE, Policy, Role, Run, Setup, Stack,
    process::Process,
    requests::first_outcome,
    v1::{self, outcome::End},
};
use rustix::process::Signal;
use serde_json::json;
use tokio::{io::AsyncReadExt as _, net::unix::pipe};

fn stack() -> Stack {
    let stack = Stack::start();
    stack.push_team(&Policy::new().allow("Bash(sh ./script)").allow("Bash(echo *)"));
    stack
}

/// Asks for a ticket, as a hook would.
fn ticket(stack: &Stack, words: &[&str]) -> String {
    let answer = stack
        .portcullis(["decide", "--ticket", "--format", "json", "--"])
        .args(words)
        .output()
        .expect_code(0)
        .json();
    answer["ticket"].as_str().expect("an allow has a ticket").to_owned()
}

fn exec(stack: &Stack, ticket: &str, words: &[&str]) -> Run {
    stack.portcullis(["exec", "--ticket", ticket, "--"]).args(words)
}

/// Whether a run of the script leaves `marker` behind: then it was executed.
fn script(stack: &Stack, text: &str) {
    stack.write_project_file("script", &format!("echo ran >> marker\n{text}\n"));
}

fn runs(stack: &Stack) -> usize {
    fs::read_to_string(stack.project().join("marker")).map_or(0, |text| text.lines().count())
}

const SCRIPT: [&str; 2] = ["sh", "./script"];

#[track_caller]
fn expect_refused(output: Output, words: &str) {
    let output = output.expect_code(126);
    assert!(
        output.stdout.is_empty() && output.stderr.contains(words),
        "{}",
        output.text()
    );
}

async fn outcome(stack: &Stack) -> v1::Outcome {
    first_outcome(&stack.server_as(Role::Admin).await)
        .await
        .outcome
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_becomes_its_command_once_and_the_outcome_is_recorded() {
    let stack = stack();
    script(
        &stack,
        "cat; pwd; echo to-stderr >&2; touch /etc/evil 2>/dev/null; exit 42",
    );
    let ticket = ticket(&stack, &SCRIPT);
    let first = exec(&stack, &ticket, &SCRIPT)
        .input("from stdin\n")
        .output()
        .expect_code(42);
    let project = stack.project();
    assert_eq!(first.stdout, format!("from stdin\n{}\n", project.display()));
    assert!(first.stderr.contains("to-stderr\n"), "{}", first.stderr);
    assert!(!Path::new("/etc/evil").exists());
    let recorded = outcome(&stack).await;
    assert_eq!(recorded.end, Some(End::ExitCode(42)));
    assert_eq!(recorded.enforcement.unwrap().status(), v1::EnforcementStatus::Full);

    expect_refused(exec(&stack, &ticket, &SCRIPT).output(), "redeemed before");
    assert_eq!(runs(&stack), 1);
}

#[test]
fn another_command_another_folder_and_another_ticket_are_refused_and_do_not_run() {
    let stack = stack();
    script(&stack, "true");
    let good = ticket(&stack, &SCRIPT);
    for words in [
        &["sh", "./script", "x"][..],
        &["sh"],
        &["bash", "./script"],
        &["sh ./script"],
    ] {
        expect_refused(exec(&stack, &good, words).output(), "another command");
    }
    let elsewhere = stack.project().join("sub");
    fs::create_dir(&elsewhere).unwrap();
    fs::copy(stack.project().join("script"), elsewhere.join("script")).unwrap();
    for folder in [&elsewhere, &stack.outside()] {
        expect_refused(exec(&stack, &good, &SCRIPT).cwd(folder).output(), "working directory");
    }
    let mut altered = good.clone();
    let last = if altered.pop() == Some('0') { '1' } else { '0' };
    altered.push(last);
    let other = Stack::start();
    other.push_team(&Policy::new().allow("Bash(sh ./script)"));
    let foreign = ticket(&other, &SCRIPT);
    for handle in [altered.as_str(), &foreign, "", "pt_", "x"] {
        let output = exec(&stack, handle, &SCRIPT).output();
        assert!([125, 126, 2].contains(&output.code), "{handle}: {}", output.text());
        assert!(!output.stderr.is_empty());
    }
    assert_eq!(runs(&stack), 0);
    // Positive control: none of the attempts used it up.
    let _ = exec(&stack, &good, &SCRIPT).output().expect_code(0);
    assert_eq!(runs(&stack), 1);
}

#[test]
fn an_expired_ticket_is_refused() {
    let lifetime = Duration::from_secs(1);
    let stack = Stack::start_with(Setup {
        server_config: Some(format!("ticket_lifetime_ms = {}\n", lifetime.as_millis())),
        ..Setup::default()
    });
    stack.push_team(&Policy::new().allow("Bash(sh ./script)"));
    script(&stack, "true");
    let ticket = ticket(&stack, &SCRIPT);
    let answered = Instant::now();
    while answered.elapsed() <= lifetime {
        // Something else to do until then.
        let _ = stack.portcullis(["status"]).output();
    }
    expect_refused(exec(&stack, &ticket, &SCRIPT).output(), "expired");
    assert_eq!(runs(&stack), 0);
}

#[test]
fn the_folder_counts_and_not_its_name() {
    let stack = stack();
    script(&stack, "true");
    let link = stack.base().join("link");
    std::os::unix::fs::symlink(stack.project(), &link).unwrap();
    let ticket = ticket(&stack, &SCRIPT);
    let _ = exec(&stack, &ticket, &SCRIPT).cwd(&link).output().expect_code(0);
    assert_eq!(runs(&stack), 1);
}

#[test]
fn it_ends_as_the_command_ends() {
    let stack = stack();
    for (text, code, signal) in [
        ("kill -KILL $$", None, Some(9)),
        ("kill -SEGV $$", None, Some(11)),
        ("exit 255", Some(255), None),
    ] {
        script(&stack, text);
        let ticket = ticket(&stack, &SCRIPT);
        let status = Process::wait(&mut exec(&stack, &ticket, &SCRIPT).spawn("portcullis exec"));
        assert_eq!((status.code(), status.signal()), (code, signal), "{text}");
    }
    let ticket_of = |words: &[&str]| {
        stack.push_team(&Policy::new().allow("Bash(no-such-program)").allow("Bash(./no-program)"));
        ticket(&stack, words)
    };
    fs::write(stack.project().join("no-program"), "x").unwrap();
    for (words, code) in [(["no-such-program"], 127), (["./no-program"], 126)] {
        let ticket = ticket_of(&words);
        let _ = exec(&stack, &ticket, &words).output().expect_code(code);
    }
}

#[test]
fn signals_reach_the_command() {
    let stack = stack();
    let text = "trap 'echo usr1' USR1; trap 'exit 7' TERM; echo ready; while :; do sleep 0.1; done";
    script(&stack, text);
    let ticket = ticket(&stack, &SCRIPT);
    let mut client = exec(&stack, &ticket, &SCRIPT).spawn("portcullis exec");
    client.line_with("ready");
    client.signal(Signal::USR1);
    client.line_with("usr1");
    client.signal(Signal::TERM);
    assert_eq!(client.wait().code(), Some(7), "{}", client.log());
}

#[test]
fn the_command_has_the_callers_terminal() {
    let stack = stack();
    script(
        &stack,
        "test -t 0 && test -t 1 && test -t 2 && stty size && read line && echo \"got $line\"",
    );
    let ticket = ticket(&stack, &SCRIPT);
    let line = format!(
        "stty rows 31 cols 77; exec {} exec --ticket {ticket} -- sh ./script",
        portcullis_tests::stack::program("portcullis").display()
    );
    let output = stack
        .run_program(Path::new("script"))
        .args(["-qec", &line, "/dev/null"])
        .input("typed\n")
        .output()
        .expect_code(0);
    assert!(
        output.stdout.contains("31 77") && output.stdout.contains("got typed"),
        "{}",
        output.text()
    );
}

#[test]
fn a_terminal_is_given_from_its_foreground_only_and_comes_back_as_it_was() {
    let stack = stack();
    script(&stack, "stty -echo");
    let ticket = ticket(&stack, &SCRIPT);
    let program = portcullis_tests::stack::program("portcullis");
    let exec = format!("{} exec --ticket {ticket} -- sh ./script", program.display());
    // Where it is refused the ticket stays good.
    let line = format!(
        r#"bash -c 'set -m; {exec} & wait $!; echo background $?; setsid -w {exec}; echo elsewhere $?
        {exec}; echo foreground $?; stty -a | grep -ow -e "-*echo"'"#
    );
    let output = stack
        .run_program(Path::new("script"))
        .args(["-qec", &line, "/dev/null"])
        .output()
        .expect_code(0);
    for said in ["background 125", "elsewhere 125", "redirect input", "foreground 0"] {
        assert!(output.stdout.contains(said), "{said}: {}", output.text());
    }
    assert!(
        output.stdout.contains("\necho") && !output.stdout.contains("-echo"),
        "{}",
        output.text()
    );
    assert_eq!(runs(&stack), 1);
}

#[test]
fn a_job_that_is_stopped_at_its_terminal_can_be_ended() {
    let stack = stack();
    script(&stack, "touch tick; sleep 600");
    let ticket = ticket(&stack, &SCRIPT);
    let program = portcullis_tests::stack::program("portcullis");
    // As `kill %1` does it: the shell continues the job so that it can obey, and keeps the terminal.
    let line = format!(
        r#"set -m
        trap 'kill -KILL $(cat pid) 2>/dev/null' EXIT
        (for _ in $(seq 100); do [ -e tick ] && break; sleep 0.1; done; kill -TSTP $(cat pid)) &
        sh -c 'echo $$ > pid; exec {} exec --ticket {ticket} -- sh ./script'
        echo stopped $?
        kill -TERM $(cat pid); kill -CONT $(cat pid)
        for _ in $(seq 100); do kill -0 $(cat pid) 2>/dev/null || {{ echo ended; break; }}; sleep 0.1; done"#,
        program.display()
    );
    stack.write_project_file("job", &line);
    let output = stack
        .run_program(Path::new("script"))
        .args(["-qec", "bash ./job", "/dev/null"])
        .output();
    for said in ["stopped 14", "ended"] {
        assert!(output.stdout.contains(said), "{said}: {}", output.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_caller_takes_the_command_along() {
    let stack = stack();
    let fifo = stack.project().join("fifo");
    let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    let mut pipe = pipe::OpenOptions::new().open_receiver(&fifo).unwrap();
    let ours = pipe::OpenOptions::new().open_sender(&fifo).unwrap();
    script(&stack, "exec 3>fifo; echo started >&3; (sleep 600) & sleep 600");
    let ticket = ticket(&stack, &SCRIPT);
    let mut client = exec(&stack, &ticket, &SCRIPT).spawn("portcullis exec");
    let mut started = [0; 8];
    tokio::time::timeout(PATIENCE, pipe.read_exact(&mut started))
        .await
        .unwrap_or_else(|_| panic!("the command did not start: {}", client.log()))
        .unwrap();
    drop(ours);
    client.kill();
    tokio::time::timeout(PATIENCE, pipe.read_to_end(&mut Vec::new()))
        .await
        .expect("a process of the command lives on")
        .unwrap();
    assert_eq!(outcome(&stack).await.ended_by, "disconnect");
}

#[test]
fn without_the_daemon_nothing_runs() {
    let mut stack = stack();
    script(&stack, "true");
    let ticket = ticket(&stack, &SCRIPT);
    stack.sandboxd().stop();
    let output = exec(&stack, &ticket, &SCRIPT).output().expect_code(125);
    assert!(!output.stderr.is_empty());
    stack.start_sandboxd();
    // A new daemon has not seen it.
    expect_refused(exec(&stack, &ticket, &SCRIPT).output(), "not known");
    assert_eq!(runs(&stack), 0);
}

#[test]
fn shared_caches_are_there() {
    let stack = stack();
    stack.trust_project();
    let config = stack.home().join(".config/portcullis");
    fs::create_dir_all(&config).unwrap();
    fs::write(
        config.join("sandbox.json"),
        json!({"enableSharedBuildCache": true}).to_string(),
    )
    .unwrap();
    script(
        &stack,
        "cat \"$npm_config_cache/mark\" 2>/dev/null; mkdir -p \"$npm_config_cache\" && echo kept > \"$npm_config_cache/mark\"",
    );
    for expected in ["", "kept\n"] {
        let ticket = ticket(&stack, &SCRIPT);
        let output = exec(&stack, &ticket, &SCRIPT).output().expect_code(0);
        assert_eq!(output.stdout, expected, "{}", output.text());
    }
}

#[test]
fn a_ticket_comes_with_an_allow_only() {
    let stack = stack();
    let asked = stack
        .portcullis(["decide", "--ticket", "--format", "json", "--", "make", "install"])
        .output()
        .expect_code(3);
    assert!(asked.json().get("ticket").is_none(), "{}", asked.stdout);
    let allowed = stack
        .portcullis(["decide", "--ticket", "--", "echo", "x"])
        .output()
        .expect_code(0);
    assert!(allowed.stdout.contains("ticket: pt_"), "{}", allowed.stdout);
    let plain = stack
        .portcullis(["decide", "--format", "json", "--", "echo", "x"])
        .output()
        .expect_code(0);
    assert!(plain.json().get("ticket").is_none(), "nobody asked for one");
}

#[test]
fn a_stopped_job_stops_its_command_and_goes_on_with_it() {
    stop_and_go_on(Path::new("bash"), &[]);
}

#[test]
fn so_does_one_whose_session_began_outside_of_its_process_namespace() {
    // As in many containers: session and group have the number 0 there.
    let inside = "--user --map-current-user --pid --fork --mount-proc --kill-child bash";
    stop_and_go_on(Path::new("unshare"), &inside.split(' ').collect::<Vec<_>>());
}

/// Stops, continues and ends `exec` as a job of a bash that is started so.
fn stop_and_go_on(program: &Path, arguments: &[&str]) {
    let bash = (program, arguments);
    let stack = stack();
    script(
        &stack,
        "while :; do date +%s%N > tick.new; mv tick.new tick; sleep 0.05; done",
    );
    let ticket = ticket(&stack, &SCRIPT);
    let program = portcullis_tests::stack::program("portcullis");
    // A shell with job control, as at a terminal. Each wait is bounded.
    let line = format!(
        r#"set -m
        trap 'kill -KILL $job 2>/dev/null' EXIT
        {} exec --ticket {ticket} -- sh ./script & job=$!
        moves() {{ local seen; seen=$(cat tick 2>/dev/null); for _ in $(seq 100); do
            [ "$(cat tick 2>/dev/null)" = "$seen" ] || return 0; sleep 0.1; done; return 1; }}
        moves || exit 91
        kill -TSTP $job
        for _ in $(seq 100); do grep -q '^State:.T' /proc/$job/status && break; sleep 0.1; done
        grep -q '^State:.T' /proc/$job/status || exit 92
        stands() {{ local seen; for _ in $(seq 20); do
            seen=$(cat tick); sleep 0.6; [ "$(cat tick)" = "$seen" ] && return 0; done; return 1; }}
        stands || exit 93
        kill -CONT $job
        moves || exit 94
        kill -TERM $job
        for _ in $(seq 100); do kill -0 $job 2>/dev/null || exit 0; sleep 0.1; done; exit 95"#,
        program.display()
    );
    let _ = stack
        .run_program(bash.0)
        .args(bash.1)
        .args(["-c", &line])
        .output()
        .expect_code(0);
}
