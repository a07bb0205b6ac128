//! `cargo xtask up`, as its reader runs it: it starts, says where everything is, stops; and fails with one clear line.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
};

use portcullis_tests::{
    Output, Policy, Run, Setup, Stack,
    process::{Process, Watched},
    stack::program,
};
use rustix::process::{Pid, Signal};
use sqlx::{Connection as _, SqliteConnection};

fn up(stack: &Stack, listen: &str, data: &Path) -> Run {
    stack
        .run_program(&program("xtask"))
        .args(["up", "--no-build", "--listen", listen, "--data-dir"])
        .args([data])
}

fn start(stack: &Stack) -> Process {
    let process = up(stack, "127.0.0.1:0", &stack.data()).spawn("xtask up");
    process.line_with("Ctrl-C");
    process
}

/// The commands it tells people to try.
fn suggestions(process: &Process) -> Vec<String> {
    let said = process.said();
    let (_, after) = said.split_once("Try next").unwrap();
    after
        .lines()
        .skip(1)
        .map_while(|line| line.strip_prefix("  "))
        .map(str::to_owned)
        .collect()
}

/// Fails unless it ended with an error in one line that a person can use; hints may follow.
#[track_caller]
fn expect_one_clear_line(output: &Output, words: &[&str]) {
    assert!(
        output.code > 0 && output.code < 126,
        "exit {}: {}",
        output.code,
        output.text()
    );
    assert_eq!(output.stdout, "");
    let mut lines = output.stderr.lines();
    assert!(
        lines.next().is_some_and(|line| line.starts_with("error: ")),
        "{}",
        output.stderr
    );
    assert!(lines.all(|line| line.starts_with("help: ")), "{}", output.stderr);
    for word in words {
        assert!(output.stderr.contains(word), "`{word}` is not in: {}", output.stderr);
    }
    assert!(!output.stderr.contains("panic"), "{}", output.stderr);
}

#[test]
fn it_says_what_to_try_and_that_works() {
    let stack = Stack::prepare(Setup::default());
    let mut process = start(&stack);
    let suggestions = suggestions(&process);
    assert_eq!(suggestions.len(), 3, "{suggestions:?}");
    // As typed: through a shell, with nothing in the environment that points to the data.
    let typed = |line: &str| {
        stack
            .run_program(Path::new("sh"))
            .env("PORTCULLIS_DATA_DIR", "")
            .args(["-c", line])
            .output()
    };
    let decided = typed(&suggestions[0]);
    assert!(
        matches!(decided.code, 3 | 4),
        "git push --force: {}: {}",
        decided.code,
        decided.text()
    );
    let ran = typed(&suggestions[1]);
    // It ran, whether or not this home has a toolchain.
    assert!(
        !matches!(ran.code, 2 | 125 | 126),
        "cargo --version: {}: {}",
        ran.code,
        ran.text()
    );
    let trail = typed(&suggestions[2]).expect_code(0);
    assert!(trail.stdout.contains("push"), "{}", trail.text());
    process.stop();
}

#[test]
fn started_again_it_goes_on_with_its_data() {
    let stack = Stack::prepare(Setup::default());
    let mut process = start(&stack);
    stack.push_team(&Policy::new().deny("Bash(echo *)"));
    let _ = stack
        .portcullis(["decide", "--", "echo", "hello"])
        .output()
        .expect_code(4);
    let token = stack.token(portcullis_tests::Role::Agent);
    process.stop();
    let mut process = start(&stack);
    assert_eq!(stack.token(portcullis_tests::Role::Agent), token, "tokens stay");
    let _ = stack
        .portcullis(["decide", "--", "echo", "hello"])
        .output()
        .expect_code(4);
    let trail = stack
        .portcullis(["audit", "query", "--effect", "deny"])
        .output()
        .expect_code(0);
    assert_eq!(trail.stdout.matches("echo hello").count(), 2, "{}", trail.text());
    process.stop();
}

#[test]
fn killed_hard_it_leaves_nothing_running_and_starts_again() {
    let stack = Stack::prepare(Setup::default());
    let mut process = start(&stack);
    let children = children_of(process.id());
    assert_eq!(children.len(), 2, "server and sandboxd");
    process.kill();
    for (name, child) in children {
        assert!(child.ends(), "{name} outlived its task");
    }
    let mut process = start(&stack);
    process.stop();
}

#[test]
fn when_a_program_dies_the_other_is_stopped_and_the_name_said() {
    for (comm, name) in [("portcullis-serv", "server"), ("portcullis-sand", "sandboxd")] {
        let stack = Stack::prepare(Setup::default());
        let mut process = start(&stack);
        let children = children_of(process.id());
        let (_, victim) = children.iter().find(|(other, _)| other == comm).unwrap();
        victim.signal(Signal::KILL);
        let status = process.wait();
        assert_eq!(status.code(), Some(1), "{}", process.log());
        let said = format!("{name} ended by itself (killed by signal 9)");
        assert!(process.log().contains(&said), "{}", process.log());
        for (name, child) in children {
            assert!(child.ends(), "{name} still runs");
        }
    }
}

/// Names (as the kernel cuts them) and processes.
fn children_of(parent: u32) -> Vec<(String, Watched)> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.split_whitespace()
        .map(|id| {
            let name = fs::read_to_string(format!("/proc/{id}/comm")).unwrap();
            let pid = Pid::from_raw(id.parse().unwrap()).unwrap();
            (name.trim_end().to_owned(), Watched::new(pid))
        })
        .collect()
}

#[test]
fn a_taken_port_is_one_clear_line() {
    let stack = Stack::prepare(Setup::default());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let output = up(&stack, &address, &stack.data()).output();
    expect_one_clear_line(&output, &[&address, "in use"]);
}

#[test]
fn a_data_directory_that_cannot_be_written_is_one_clear_line() {
    let stack = Stack::prepare(Setup::default());
    // A file in its place stops root as well.
    let file: PathBuf = stack.base().join("file");
    fs::write(&file, "").unwrap();
    for data in [file.clone(), file.join("below")] {
        let output = up(&stack, "127.0.0.1:0", &data).output();
        expect_one_clear_line(&output, &[data.to_str().unwrap()]);
    }
    // A file system that is read-only for everybody.
    let output = up(&stack, "127.0.0.1:0", Path::new("/proc/portcullis")).output();
    expect_one_clear_line(&output, &["/proc/portcullis"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_from_a_newer_version_is_one_clear_line_and_stays_as_it_is() {
    let stack = Stack::prepare(Setup::default());
    let mut process = start(&stack);
    process.stop();
    let path = stack.data().join("server/portcullis.db");
    let mut database = SqliteConnection::connect(path.to_str().unwrap()).await.unwrap();
    // What a migration of the future leaves behind.
    sqlx::query(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9999, 'of the future', TRUE, x'00', 0)",
    )
    .execute(&mut database)
    .await
    .unwrap();
    database.close().await.unwrap();
    let before = fs::read(&path).unwrap();
    let output = up(&stack, "127.0.0.1:0", &stack.data()).output();
    expect_one_clear_line(&output, &["newer version", "9999", "portcullis.db"]);
    assert!(fs::read(&path).unwrap() == before, "the database was touched");
}

#[test]
fn a_wrong_address_is_one_clear_line() {
    let stack = Stack::prepare(Setup::default());
    let output = up(&stack, "nowhere", &stack.data()).output();
    assert!(
        output.code > 0 && output.text().contains("nowhere"),
        "{}: {}",
        output.code,
        output.text()
    );
    assert!(!output.text().contains("panicked"));
}

#[test]
fn unknown_tasks_get_the_list_of_tasks() {
    let stack = Stack::prepare(Setup::default());
    let output = stack
        .run_program(&program("xtask"))
        .args(["launch"])
        .output()
        .expect_code(2);
    for task in ["up", "test", "bench"] {
        assert!(output.stderr.contains(task), "{}", output.stderr);
    }
}
