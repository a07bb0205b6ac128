//! Very many commands, one after the other and at the same time: none is lost, and nothing is left of them.
//!
//! A test run takes some hundred; ten thousand take minutes: `cargo xtask proof soak`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "only tests are here"
)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use portcullis_proto::v1::*;
use support::{Host, PATIENCE};

/// Commands of a test run.
const COMMANDS: usize = 150;

/// Commands at the same time.
const AT_A_TIME: usize = 200;

/// What commands could leave behind, counted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Left {
    descriptors: usize,
    children: usize,
    mounts: usize,
    cgroups: usize,
    files: BTreeMap<PathBuf, usize>,
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

/// Folders of ours: the machine makes and removes others meanwhile.
fn folders_below(folder: &Path) -> usize {
    let below = fs::read_dir(folder).into_iter().flatten().flatten();
    below
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| {
            let own = entry.file_name().to_string_lossy().starts_with("portcullis-");
            usize::from(own) + folders_below(&entry.path())
        })
        .sum()
}

fn left(host: &Host) -> Left {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = own
        .lines()
        .find_map(|line| line.strip_prefix("0::/"))
        .unwrap_or_default()
        .to_owned();
    let mut children = 0;
    for task in fs::read_dir("/proc/self/task").unwrap().flatten() {
        let list = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        children += list.split_whitespace().count();
    }
    let watched = [
        host.places.notes(),
        host.places.spool(),
        host.places.run(),
        host.places.state(),
        host.workspace.clone(),
    ];
    Left {
        descriptors: entries(Path::new("/proc/self/fd")),
        children,
        mounts: fs::read_to_string("/proc/self/mountinfo").unwrap().lines().count(),
        cgroups: folders_below(&Path::new("/sys/fs/cgroup").join(own)),
        files: watched.map(|path| (path.clone(), entries(&path))).into(),
    }
}

/// Waits until there is no more than there was: outcomes are delivered beside the runs.
async fn comes_back_to(host: &Host, before: &Left) -> Left {
    let begun = Instant::now();
    loop {
        let now = left(host);
        if now == *before || begun.elapsed() > PATIENCE {
            return now;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// What there is when all outcomes are delivered.
async fn rested(host: &Host) -> Left {
    let begun = Instant::now();
    while entries(&host.places.spool()) > 0 && begun.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    left(host)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_commands_in_a_row_leave_nothing() {
    let host = Host::start().await;
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<usize>().ok());
    let folder = std::env::var_os("PORTCULLIS_PROOF").map(PathBuf::from);
    let file = folder.map(|folder| folder.join("commands"));
    let done = file.as_ref().and_then(|file| fs::read_to_string(file).ok());
    let done: usize = done.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    let all = number("PORTCULLIS_PROOF_COMMANDS").unwrap_or(COMMANDS);
    // What is made once, at the first run of each kind, is not left over.
    for filtered in [false, true] {
        network(&host, filtered);
        assert_eq!(host.bash("true").await.code(), Some(0));
    }
    let before = rested(&host).await;
    let begun = Instant::now();
    for command in done..all {
        network(&host, command % 4 == 3);
        let line = match command % 3 {
            0 => "echo x > f && cat f && rm f",
            // What goes on in the background ends with the command.
            1 => "sleep 600 & sleep 600 & echo x",
            _ => "mkdir -p /tmp/a && echo x | tee /tmp/a/f",
        };
        let finished = host.bash(line).await;
        assert_eq!(
            (finished.code(), finished.stdout()),
            (Some(0), "x\n"),
            "{command}: {finished:?}"
        );
        if let Some(file) = &file {
            fs::write(file, (command + 1).to_string()).unwrap();
        }
    }
    let after = comes_back_to(&host, &before).await;
    assert_eq!(after, before);
    let each = begun.elapsed() / u32::try_from((all - done).max(1)).unwrap();
    eprintln!("{} commands, {each:?} each", all - done);
}

fn network(host: &Host, filtered: bool) {
    host.script(|script| {
        script.profile = if filtered {
            |profile| {
                profile.network = NetworkAccess::Filtered.into();
                profile.network_rules = Some(NetworkRules::default());
            }
        } else {
            |_| {}
        };
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_commands_at_a_time_all_run() {
    let host = std::sync::Arc::new(Host::start().await);
    assert_eq!(host.bash("true").await.code(), Some(0));
    network(&host, true);
    assert_eq!(host.bash("true").await.code(), Some(0));
    let before = rested(&host).await;
    let mut starts = Vec::new();
    for number in 0..AT_A_TIME {
        network(&host, number % 2 == 1);
        // Each waits until all are there, so they do run at the same time.
        let line =
            format!("> here.{number}; until [ \"$(ls | wc -l)\" -ge {AT_A_TIME} ]; do sleep 3; done; echo {number}");
        starts.push(host.start_for(&["bash", "-c", &line]).await.1);
    }
    let mut running = tokio::task::JoinSet::new();
    for (number, start) in starts.into_iter().enumerate() {
        let host = std::sync::Arc::clone(&host);
        running.spawn(async move {
            let mut run = host
                .launch(start)
                .await
                .unwrap_or_else(|refused| panic!("{number}: {refused}"));
            let mut stdout = Vec::new();
            // Longer than usual: two hundred sandboxes are set up meanwhile.
            loop {
                let message = tokio::time::timeout(4 * PATIENCE, run.responses.message())
                    .await
                    .unwrap()
                    .unwrap();
                match message.unwrap().message.unwrap() {
                    run_response::Message::Stdout(bytes) => stdout.extend(bytes),
                    run_response::Message::Exit(outcome) => {
                        assert_eq!(outcome.end, Some(outcome::End::ExitCode(0)), "{number}: {outcome:?}");
                        break;
                    }
                    _ => {}
                }
            }
            assert_eq!(stdout, format!("{number}\n").into_bytes());
        });
    }
    while let Some(ended) = running.join_next().await {
        ended.unwrap();
    }
    for number in 0..AT_A_TIME {
        fs::remove_file(host.workspace.join(format!("here.{number}"))).unwrap();
    }
    let after = comes_back_to(&host, &before).await;
    assert_eq!(after, before);
}
