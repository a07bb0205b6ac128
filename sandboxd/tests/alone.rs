//! The sandbox without namespaces, with the shipped programs, for an ordinary user on a host that permits none.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "only tests are here"
)]

#[path = "alone/files.rs"]
mod files;
mod support;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use portcullis_proto::v1::*;
use support::{Host, PATIENCE};

/// A user without a name, a home or a right.
const NOBODY: u32 = 65534;

/// What runs without namespaces.
const READS: &str =
    r#"{ "type": "workspace_readonly", "networkMode": "sandbox_json_only", "acceptWithoutNamespaces": true }"#;

/// Permits no namespaces below, and becomes what is named.
const LIMIT: &str =
    "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --inh-caps=-all --ambient-caps=-all -- \"$@\"";

/// A workspace and copies of the programs where every user can reach them.
struct Place {
    _keep: tempfile::TempDir,
    root: PathBuf,
    workspace: PathBuf,
    outside: PathBuf,
    home: PathBuf,
    /// As root: another user, as this tier is none for root.
    user: Option<u32>,
}

impl Place {
    fn new() -> Self {
        let keep = tempfile::tempdir_in("/var/tmp").unwrap();
        let root = keep.path().canonicalize().unwrap();
        fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
        let place = Self {
            workspace: root.join("ws"),
            outside: root.join("outside"),
            home: root.join("home"),
            user: rustix::process::geteuid().is_root().then_some(NOBODY),
            root,
            _keep: keep,
        };
        // By another process: a file that this one has open for writing cannot be executed.
        let mut copy = Command::new("cp");
        copy.arg(env!("CARGO_BIN_EXE_portcullis-launch"))
            .arg(env!("CARGO_BIN_EXE_portcullis-sandboxd"))
            .arg(&place.root);
        assert!(copy.status().unwrap().success());
        for folder in [&place.workspace, &place.outside, &place.home] {
            fs::create_dir(folder).unwrap();
            if let Some(user) = place.user {
                chown(folder, Some(user), Some(user)).unwrap();
            }
        }
        let made = place.outside_of_it("git init -q . && echo hi > a");
        assert!(made.status.success(), "{made:?}");
        place
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.workspace)
            .env("HOME", &self.home)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("A_SECRET_TOKEN", "s3cret")
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    /// On a host that permits no namespaces.
    fn limited(&self, program: &Path) -> Command {
        let mut command = self.command(Path::new("unshare"));
        command
            .args(["--user", "--map-current-user", "--keep-caps", "bash", "-c", LIMIT, "-"])
            .arg(program);
        command
    }

    fn arguments(&self, command: &mut Command, policy: &str, line: &str) {
        let file = self.root.join("policy.json");
        fs::write(&file, policy).unwrap();
        command.args(["exec", "--report", "--policy"]).arg(file);
        command
            .arg("--workspace")
            .arg(&self.workspace)
            .args(["--", "bash", "-c", line]);
    }

    fn sandboxed(&self, policy: &str, line: &str) -> Command {
        let mut command = self.limited(&self.root.join("portcullis-sandboxd"));
        self.arguments(&mut command, policy, line);
        command
    }

    fn inside(&self, line: &str) -> Output {
        self.sandboxed(READS, line).output().unwrap()
    }

    /// The same without a sandbox.
    fn outside_of_it(&self, line: &str) -> Output {
        self.command(Path::new("bash")).args(["-c", line]).output().unwrap()
    }

    /// All that can be seen of the files.
    fn files(&self) -> Vec<u8> {
        let line = "find . ../outside -printf '%p %m %T@ %s %n %l %U\\n' | sort; cat a";
        self.outside_of_it(line).stdout
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn what_only_reads_runs_and_what_is_not_enforced_is_told() {
    let place = Place::new();
    let done = place.inside("git status --porcelain && cat a && ls && id -u && echo ${A_SECRET_TOKEN-none} $CURSOR_SANDBOX $CURSOR_SANDBOX_LANDLOCK_STATUS ${TMPDIR-no place}; ls /usr | wc -l | grep -vx 0 > /dev/null && echo usr");
    let user = rustix::process::geteuid().as_raw();
    let user = place.user.unwrap_or(user);
    assert_eq!(
        text(&done.stdout),
        format!("?? a\nhi\na\n{user}\nnone native without_namespaces no place\nusr\n"),
        "{done:?}"
    );
    let told = text(&done.stderr);
    for part in [
        "PARTIAL",
        "landlock seccomp no_new_privs",
        "none can be made here",
        "command lines",
        "processes: without a user",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    for status in [0, 41] {
        let line = format!("exit {status}");
        assert_eq!(place.inside(&line).status.code(), Some(status));
    }
    assert_eq!(place.inside("kill -KILL $$").status.code(), Some(137));
}

#[test]
fn a_command_that_asks_to_be_traced_runs_to_its_end() {
    let place = Place::new();
    let line = "exec python3 -c 'import ctypes, os, signal, sys
signal.signal(signal.SIGUSR1, lambda *_: print(\"got it\", flush=True))
assert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0
os.kill(os.getpid(), signal.SIGUSR1)
sys.exit(3)'";
    let done = place.inside(line);
    assert_eq!(
        (done.status.code(), text(&done.stdout).as_str()),
        (Some(3), "got it\n"),
        "{done:?}"
    );
}

#[test]
fn where_namespaces_can_be_made_they_are() {
    let place = Place::new();
    let mut command = place.command(&place.root.join("portcullis-sandboxd"));
    place.arguments(&mut command, READS, "true");
    let told = text(&command.output().unwrap().stderr);
    assert!(told.contains("FULL") && told.contains("mount_namespace"), "{told}");
}

#[test]
fn no_file_is_changed_in_any_way() {
    let outside = "../outside";
    for line in [
        "echo x > new".to_owned(),
        format!("echo x > {outside}/new"),
        "echo x >> a".to_owned(),
        ": > a".to_owned(),
        "truncate -s 0 a".to_owned(),
        "rm a".to_owned(),
        "mv a b".to_owned(),
        "ln a b".to_owned(),
        "ln -s a b".to_owned(),
        "mkdir b".to_owned(),
        "mkfifo b".to_owned(),
        "chmod 600 a".to_owned(),
        "chgrp $(id -g) a && chmod 4755 a".to_owned(),
        "touch -d 2001-01-01 a".to_owned(),
        "touch a".to_owned(),
        "exec 3< a; echo x > /proc/self/fd/3".to_owned(),
        "git add a".to_owned(),
        "git config user.name x".to_owned(),
        format!("cp a {outside}"),
    ] {
        let place = Place::new();
        let before = place.files();
        let done = place.inside(&line);
        assert!(!done.status.success(), "{line}: {done:?}");
        assert_eq!(text(&place.files()), text(&before), "{line}");
        let control = place.outside_of_it(&line);
        assert!(control.status.success(), "the control, {line}: {control:?}");
        assert_ne!(text(&place.files()), text(&before), "the control, {line}");
    }
}

#[test]
fn nobody_outside_is_reached() {
    let place = Place::new();
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let path = place.outside.join("socket");
    let _with_path = std::os::unix::net::UnixListener::bind(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    let datagrams = place.outside.join("datagrams");
    let _datagrams = std::os::unix::net::UnixDatagram::bind(&datagrams).unwrap();
    fs::set_permissions(&datagrams, fs::Permissions::from_mode(0o777)).unwrap();
    let name = format!("portcullis-test-{}", std::process::id());
    let address =
        <std::os::unix::net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(&name).unwrap();
    let _abstract = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
    let mut neighbour = place.command(Path::new("sleep")).arg("600").spawn().unwrap();
    let pid = neighbour.id();
    let stream = |peer: &str| {
        format!(
            "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) or exit 1; connect(S, sockaddr_un({peer})) or exit 2'"
        )
    };
    for (line, status) in [
        (
            format!("exec 3<>/dev/tcp/127.0.0.1/{}", tcp.local_addr().unwrap().port()),
            None,
        ),
        (
            format!("echo x > /dev/udp/127.0.0.1/{}", udp.local_addr().unwrap().port()),
            None,
        ),
        (stream(&format!("\"{}\"", path.display())), Some(1)),
        (stream(&format!("\"\\0{name}\"")), Some(1)),
        // A pair is no way to somebody else.
        (
            format!(
                "perl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_DGRAM, 0) or exit 1; send(A, \"x\", 0, sockaddr_un(\"{}\")) or exit 2'",
                datagrams.display()
            ),
            Some(1),
        ),
        (
            "perl -MSocket -e 'socket(S, 16, SOCK_RAW, 0) or exit 1'".to_owned(),
            Some(1),
        ),
        (
            "perl -e 'defined(shmget(0x504f5254, 100, 01600)) or exit 1'; s=$?; ipcrm -M 0x504f5254; exit $s"
                .to_owned(),
            Some(1),
        ),
        (format!("kill -0 {pid}"), None),
        (format!("kill -CONT {pid}"), None),
        (format!("tr '\\0' '\\n' < /proc/{pid}/environ | grep -q SECRET"), None),
        (format!("readlink /proc/{pid}/fd/0"), None),
        (format!("readlink /proc/{pid}/cwd"), None),
        (format!("prlimit --pid {pid} --nofile=512"), None),
        (format!("renice -n 1 -p {pid}"), None),
        (format!("echo 500 > /proc/{pid}/oom_score_adj"), None),
    ] {
        let done = place.inside(&line);
        assert!(!done.status.success(), "{line}: {done:?}");
        if status.is_some() {
            assert_eq!(done.status.code(), status, "{line}: {done:?}");
        }
        let control = place.outside_of_it(&line);
        assert!(control.status.success(), "the control, {line}: {control:?}");
    }
    // What is told not to be enforced, and what is left.
    let seen = place.inside(&format!("tr '\\0' ' ' < /proc/{pid}/cmdline"));
    assert_eq!(text(&seen.stdout), "sleep 600 ");
    let pair = place.inside(
        "perl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_STREAM, 0) or exit 1'; sleep 9 & kill $! && echo own",
    );
    assert_eq!(
        (pair.status.code(), text(&pair.stdout).as_str()),
        (Some(0), "own\n"),
        "{pair:?}"
    );
    neighbour.kill().unwrap();
    neighbour.wait().unwrap();
}

#[test]
fn credentials_and_private_folders_are_not_read() {
    let place = Place::new();
    let made = place.outside_of_it(
        "cd && mkdir .aws .config && echo secret > .aws/credentials && echo key > .config/other && echo plain > .profile && \
         ln -s .aws/credentials way",
    );
    assert!(made.status.success());
    let neighbour = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    fs::set_permissions(neighbour.path(), fs::Permissions::from_mode(0o644)).unwrap();
    let line = format!(
        "cat ~/.profile ~/.config/other ~/.aws/credentials ~/way {0}; ls ~/.aws ~; test -r {0}; ls -d /dev/pts/* /dev/shm/ 2>/dev/null; true",
        neighbour.path().display()
    );
    let read = |output: Output| text(&output.stdout).lines().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(read(place.inside(&line)).first_chunk::<2>().unwrap(), &["plain", "key"]);
    assert!(!text(&place.inside(&line).stdout).contains("secret"));
    assert!(!text(&place.inside(&line).stdout).contains("credentials"));
    assert!(
        text(&place.outside_of_it(&line).stdout).contains("secret"),
        "the control"
    );
}

#[test]
fn what_takes_more_is_refused_and_told_why() {
    let place = Place::new();
    let policy = |rest: &str| READS.replace(" }", &format!(", {rest} }}"));
    for (policy, why) in [
        ("{}".to_owned(), "acceptWithoutNamespaces"),
        (READS.replace("true", "false"), "acceptWithoutNamespaces"),
        (READS.replace("readonly", "readwrite"), "`type`"),
        (
            policy(r#""additionalReadwritePaths": ["out"]"#),
            "additionalReadwritePaths",
        ),
        (
            policy(r#""networkPolicy": { "allow": ["a.example"] }"#),
            "networkPolicy",
        ),
        (policy(r#""denyRead": [".env"]"#), "denyRead"),
        (policy(r#""shareTmp": true"#), "shareTmp"),
        (policy(r#""allowUnixSockets": ["/run/x.sock"]"#), "allowUnixSockets"),
    ] {
        let done = place.sandboxed(&policy, "echo ran").output().unwrap();
        assert_eq!(
            (done.status.code(), text(&done.stdout).as_str()),
            (Some(125), ""),
            "{policy}: {done:?}"
        );
        assert!(text(&done.stderr).contains(why), "{policy}: {done:?}");
    }
    // The workspace is the home folder, in which something is hidden.
    let made = place.outside_of_it("mkdir -p ~/.aws && echo secret > ~/.aws/credentials");
    assert!(made.status.success());
    let mut command = place.sandboxed(READS, "echo ran");
    let done = command.env("HOME", &place.workspace).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let made = place.outside_of_it("mkdir .aws && echo secret > .aws/credentials");
    assert!(made.status.success());
    let done = place
        .sandboxed(READS, "echo ran")
        .env("HOME", &place.workspace)
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(125), "{done:?}");
    assert!(text(&done.stderr).contains(".aws"), "{done:?}");
}

#[test]
fn it_is_no_tier_for_root() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place {
        user: None,
        ..Place::new()
    };
    // Root without the right to make namespaces, as in a container.
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "bash", "-c"])
        .arg("echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-sys_admin --inh-caps=-all -- \"$@\"")
        .arg("-")
        .arg(place.root.join("portcullis-sandboxd"));
    place.arguments(&mut command, READS, "echo ran");
    let done = command.current_dir(&place.workspace).output().unwrap();
    assert_eq!(
        (done.status.code(), text(&done.stdout).as_str()),
        (Some(125), ""),
        "{done:?}"
    );
    assert!(text(&done.stderr).contains("root"), "{done:?}");
}

/// A command that would stay: a child, and one that has left its session and its parents.
fn staying(place: &Place) -> (Child, BufReader<std::process::ChildStdout>) {
    let line = format!(
        "trap '' TERM HUP; (setsid bash -c 'trap \"\" TERM HUP; echo born; while :; do sleep 1; done; : {0}' &); \
         sleep 600 & echo born; while :; do sleep 1; done; : {0}",
        place.workspace.display()
    );
    let mut child = place
        .sandboxed(READS, &line)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for _ in 0..2 {
        let mut born = String::new();
        output.read_line(&mut born).unwrap();
        assert_eq!(born, "born\n");
    }
    (child, output)
}

/// Processes that name the workspace in their arguments, with their parents.
fn running(place: &Place) -> Vec<(i32, i32, String)> {
    let mark = place.workspace.to_str().unwrap();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let words = text(&fs::read(entry.path().join("cmdline")).ok()?);
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            let mut rest = stat.rsplit_once(") ")?.1.split(' ');
            let state = rest.next()?;
            let parent = rest.next()?.parse().ok()?;
            (state != "Z" && words.contains(mark)).then_some((pid, parent, words))
        })
        .collect()
}

fn all_end(place: &Place) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if running(place).is_empty() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

#[test]
fn whoever_is_killed_nothing_is_left() {
    for victim in [
        "supervisor",
        "init",
        "guard",
        "command",
        "init and guard",
        "supervisor and guard",
    ] {
        let place = Place::new();
        let (mut child, _output) = staying(&place);
        let supervisor = i32::try_from(child.id()).unwrap();
        let all = running(&place);
        let children = |of: i32| all.iter().filter(move |(_, parent, _)| *parent == of);
        let init = children(supervisor).next().expect("an init").0;
        let is_ours = |words: &str| words.contains("portcullis-sandboxd");
        let guard = children(init).find(|(_, _, words)| is_ours(words)).expect("a guard").0;
        let command = children(init)
            .find(|(_, _, words)| !is_ours(words))
            .expect("a command")
            .0;
        assert!(all.len() >= 5, "{all:?}");
        let victims = match victim {
            "supervisor" => vec![supervisor],
            "init" => vec![init],
            "guard" => vec![guard],
            "command" => vec![command],
            "init and guard" => vec![guard, init],
            _ => vec![guard, supervisor],
        };
        for (nth, pid) in victims.into_iter().enumerate() {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            match rustix::process::kill_process(pid, rustix::process::Signal::KILL) {
                Ok(()) => {}
                // It may have seen the first one die, and have ended for that.
                Err(rustix::io::Errno::SRCH) if nth > 0 => {}
                Err(error) => panic!("{victim}: {error}"),
            }
        }
        // Not only killed: also waited for, by whoever is left.
        child.wait().unwrap();
        assert!(all_end(&place), "{victim}: {:?}", running(&place));
    }
}

#[test]
fn at_the_commands_end_nothing_is_left_however_fast_it_forks() {
    let place = Place::new();
    let line = format!(
        "for n in 1 2 3; do (setsid bash -c 'while :; do (sleep 0.01 &); done; : {0}' &); done; sleep 0.5; : {0}",
        place.workspace.display()
    );
    let done = place.inside(&line);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    // The supervisor has waited for all of them.
    assert_eq!(running(&place), []);
}

/// The daemon's part, as [`inner`] in another process of another user.
#[test]
fn the_daemon_offers_the_tier_and_runs_what_policy_accepts() {
    let place = Place::new();
    // It cannot be reached in the target directory.
    let copied = Command::new("cp")
        .arg(std::env::current_exe().unwrap())
        .arg(place.root.join("test"))
        .status();
    assert!(copied.unwrap().success());
    let mut command = place.limited(&place.root.join("test"));
    command.args(["--exact", "inner", "--nocapture"]);
    let done = command.env("PORTCULLIS_TEST_PLACE", &place.root).output().unwrap();
    assert!(done.status.success(), "{}\n{}", text(&done.stdout), text(&done.stderr));
    assert!(text(&done.stdout).contains("1 passed"), "{}", text(&done.stdout));
}

/// What the test above runs as another user; started by itself it has no place, and nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inner() {
    let Some(place) = std::env::var_os("PORTCULLIS_TEST_PLACE").map(PathBuf::from) else {
        return;
    };
    let host = Host::start_in(&place.join("home"), &place.join("portcullis-launch")).await;
    let found = host.daemon.capability().await;
    assert_eq!(found.tier(), SandboxTier::WithoutNamespaces, "{found:?}");
    assert_eq!(found.status(), EnforcementStatus::Partial);
    assert!(
        found.missing.iter().all(|line| line.starts_with("namespaces: ")),
        "{found:?}"
    );

    let not_started = |outcome: &Outcome| match &outcome.end {
        Some(outcome::End::NotStarted(why)) => why.clone(),
        other => panic!("{other:?}"),
    };
    // A profile that does not accept it, and one that asks for more.
    let refused = host.bash("echo ran").await;
    assert!(
        not_started(&refused.outcome).contains("acceptWithoutNamespaces"),
        "{refused:?}"
    );
    host.script(|script| script.profile = |profile| profile.accept_without_namespaces = true);
    let refused = host.bash("echo ran").await;
    assert!(not_started(&refused.outcome).contains("`type`"), "{refused:?}");

    host.script(|script| {
        script.claims = |claims| claims.session_id = "s".to_owned();
        script.profile = |profile| {
            profile.accept_without_namespaces = true;
            profile.workspace = WorkspaceAccess::ReadOnly.into();
        };
    });
    let done = host
        .bash("echo kept > $TMPDIR/f; echo x > f; cat $TMPDIR/f; env | grep -c /run/portcullis")
        .await;
    assert_eq!(done.stdout(), "kept\n0\n", "{done:?}");
    assert!(!host.workspace.join("f").exists());
    let enforcement = done.started.clone().unwrap();
    assert_eq!(enforcement.tier(), SandboxTier::WithoutNamespaces);
    assert_eq!(done.outcome.enforcement.as_ref(), Some(&enforcement));
    let again = host
        .bash("cat $TMPDIR/f; cat $PWD/../data/tokens/host.token; setsid sleep 600 & exit 3")
        .await;
    assert_eq!((again.stdout(), again.code()), ("kept\n", Some(3)), "{again:?}");
    // Where `/tmp` is closed nothing can be written at all.
    host.script(|script| {
        script.profile = |profile| {
            profile.accept_without_namespaces = true;
            profile.workspace = WorkspaceAccess::ReadOnly.into();
            profile.temporary_folder = TemporaryFolder::Closed.into();
        };
    });
    let closed = host.bash("echo x > ${TMPDIR:-/tmp}/f || echo closed").await;
    assert_eq!(closed.stdout(), "closed\n", "{closed:?}");
    a_run_that_is_suspended_still_ends_with_its_launcher(&host).await;
}

/// Parent, state and words of all processes.
fn processes() -> Vec<(i32, i32, String, String)> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let words = text(&fs::read(entry.path().join("cmdline")).ok()?);
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            let mut rest = stat.rsplit_once(") ")?.1.split(' ');
            let state = rest.next()?.to_owned();
            Some((pid, rest.next()?.parse().ok()?, state, words))
        })
        .collect()
}

async fn a_run_that_is_suspended_still_ends_with_its_launcher(host: &Host) {
    host.script(|script| {
        script.profile = |profile| {
            profile.accept_without_namespaces = true;
            profile.workspace = WorkspaceAccess::ReadOnly.into();
        };
    });
    let mark = format!("suspended-{}", std::process::id());
    let line = format!(
        "(setsid bash -c 'trap \"\" TERM HUP; while :; do sleep 1; done; : {mark}' &); echo born; while :; do sleep 1; done; : {mark}"
    );
    let (_, start) = host.start_for(&["bash", "-c", &line]).await;
    let mut running = host.launch(start).await.unwrap();
    loop {
        match running.next().await.unwrap() {
            run_response::Message::Stdout(bytes) if bytes.starts_with(b"born") => break,
            run_response::Message::Started(_) => {}
            other => panic!("{other:?}"),
        }
    }
    let signal = run_request::Message::Signal(libc::SIGSTOP.unsigned_abs());
    running.send(signal).await;
    let marked = || {
        processes()
            .into_iter()
            .filter(|(_, _, state, words)| state != "Z" && words.contains(&mark))
            .collect::<Vec<_>>()
    };
    let begun = Instant::now();
    while !marked().iter().all(|(_, _, state, _)| state == "T") {
        assert!(begun.elapsed() < PATIENCE, "nothing was stopped: {:?}", marked());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let all = processes();
    let ours = |parent: i32| {
        let found = all
            .iter()
            .find(|(_, of, _, words)| *of == parent && words.contains("portcullis-launch"));
        found.expect("a launcher").0
    };
    let launcher = ours(std::process::id().cast_signed());
    let init = ours(launcher);
    for pid in [launcher, init] {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    let begun = Instant::now();
    while !marked().is_empty() {
        assert!(begun.elapsed() < PATIENCE, "they are left: {:?}", marked());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
