//! The collected cases of sandboxes (`tests/cases/sandbox-cases.jsonl`): escapes to withstand, and everyday commands that have to
//! work, each through `portcullis sandbox run` (server, daemon and launcher) and through `portcullis-sandboxd exec` (without server and daemon).
//! As the tests' own user, and, where that is root, as an ordinary one too.
//!
//! The cases are hostile, so all of this runs in a network and a mount namespace of its own, made by `unshare`, and each
//! case in a folder of its own. A case counts only if its command was started: a sandbox that does not start holds every
//! escape. What would happen without a sandbox stands in the cases (`unsandboxed`); it is not tried here.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use portcullis_tests::{process::Process, stack::program};
use rustix::process::{Pid, Signal};
use serde_json::Value;

const CASES: &str = include_str!("../../cases/sandbox-cases.jsonl");

/// Set for the process inside the namespaces: the user to run as.
const INSIDE: &str = "PORTCULLIS_CASES_AS";

/// A user without a name, a home or a right.
const NOBODY: u32 = 65534;

/// Cases at the same time.
const AT_ONCE: usize = 3;

/// Longest run of a case that sets no limit.
const PATIENCE: Duration = Duration::from_secs(60);

/// The way into the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// `portcullis sandbox run`.
    SandboxRun,
    /// `portcullis-sandboxd exec`.
    Launcher,
}

#[test]
fn every_case_holds_for_this_user() {
    everything("every_case_holds_for_this_user", Way::SandboxRun, None);
}

#[test]
fn every_case_holds_for_an_ordinary_user() {
    // Whoever is one has done it above.
    if rustix::process::geteuid().is_root() {
        everything("every_case_holds_for_an_ordinary_user", Way::SandboxRun, Some(NOBODY));
    }
}

#[test]
fn every_case_holds_with_the_launcher_alone_for_this_user() {
    everything(
        "every_case_holds_with_the_launcher_alone_for_this_user",
        Way::Launcher,
        None,
    );
}

#[test]
fn every_case_holds_with_the_launcher_alone_for_an_ordinary_user() {
    if rustix::process::geteuid().is_root() {
        everything(
            "every_case_holds_with_the_launcher_alone_for_an_ordinary_user",
            Way::Launcher,
            Some(NOBODY),
        );
    }
}

/// The network of the new namespace begins with nothing up.
fn bring_up_loopback() {
    let script = "import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sh', b'lo', 0x49) + bytes(14))";
    let status = Command::new("python3").args(["-c", script]).status();
    assert!(
        status.expect("python3 is needed").success(),
        "`lo` cannot be brought up"
    );
}

/// Runs all cases inside new namespaces, in a process of their own.
fn everything(test: &str, way: Way, user: Option<u32>) {
    if std::env::var_os(INSIDE).is_some() {
        return inside(way, user);
    }
    let mut unshare = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        unshare.args(["--user", "--map-current-user"]);
    }
    let status = unshare
        .args([
            "--net",
            "--mount",
            "--pid",
            "--fork",
            "--mount-proc",
            "--kill-child",
            "--",
        ])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("sandbox_cases::{test}"), "--nocapture"])
        .env(INSIDE, "1")
        .status()
        .expect("`unshare` of util-linux is needed");
    assert!(status.success(), "cases failed, see above");
}

fn inside(way: Way, user: Option<u32>) {
    bring_up_loopback();
    let bench = Bench::new(way, user);
    let _programs = bench.programs();
    let cases: Vec<Value> = CASES.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(cases.len() > 60, "only {} cases", cases.len());
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let id = case["id"].as_str().unwrap();
                    if let Some(missing) = bench.missing(case) {
                        eprintln!("SKIPPED {id}: {missing} is not here");
                        continue;
                    }
                    let faults = bench.run(case);
                    if !faults.is_empty() {
                        wrong.lock().unwrap().push(format!("{id}: {}", faults.join("; ")));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(
        wrong.is_empty(),
        "{} cases do not hold:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Where cases run: outside of the folders for temporary files, which a sandbox replaces.
struct Bench {
    folder: tempfile::TempDir,
    way: Way,
    user: Option<u32>,
}

/// What a command came to.
struct Ran {
    code: i32,
    out: String,
    err: String,
    took: Duration,
}

impl Bench {
    fn new(way: Way, user: Option<u32>) -> Self {
        let parents = ["/opt", "/var/lib", "/var/tmp"].map(PathBuf::from);
        let folder = parents
            .iter()
            .find_map(|parent| tempfile::tempdir_in(parent).ok())
            .unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for name in [
            "portcullis",
            "portcullis-server",
            "portcullis-sandboxd",
            "portcullis-launch",
        ] {
            // By another process: a file that this one has open for writing cannot be executed.
            let copied = Command::new("cp").arg(program(name)).arg(folder.path()).status();
            assert!(copied.unwrap().success());
        }
        let home = folder.path().join("h");
        fs::create_dir(&home).unwrap();
        chown(&home, user, user).unwrap();
        Self { folder, way, user }
    }

    /// Starts what the way into the sandbox needs. It ends when this is dropped.
    fn programs(&self) -> Vec<Process> {
        match self.way {
            Way::SandboxRun => {
                let server = self.start("portcullis-server", &["--listen", "127.0.0.1:0"]);
                vec![self.start("portcullis-sandboxd", &[]), server]
            }
            Way::Launcher => Vec::new(),
        }
    }

    /// The data directory of server and daemon.
    fn data(&self) -> PathBuf {
        self.folder.path().join("h/d")
    }

    /// Starts server or daemon as the user of the cases, and waits until it listens.
    fn start(&self, name: &str, arguments: &[&str]) -> Process {
        let mut command = Command::new(self.folder.path().join(name));
        command.arg("serve").args(arguments).arg("--data-dir").arg(self.data());
        command.env("HOME", self.folder.path().join("h")).current_dir("/");
        for variable in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
            command.env_remove(variable);
        }
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        let process = Process::spawn(name, &mut command);
        process.line_with("listening on ");
        process
    }

    /// The sandbox with a policy, and nothing to run in it yet.
    fn sandbox(&self, policy: &Path, places: &BTreeMap<&str, String>) -> Command {
        let program = |name: &str| self.command(&self.folder.path().join(name), places);
        let mut command = match self.way {
            Way::SandboxRun => {
                let mut command = program("portcullis");
                command.arg("--data-dir").arg(self.data()).args(["sandbox", "run"]);
                command
            }
            Way::Launcher => {
                let mut command = program("portcullis-sandboxd");
                command.arg("exec");
                command
            }
        };
        command.arg("--policy").arg(policy);
        command.args(["--workspace", &places["WS"], "--"]);
        command
    }

    /// A program that the case needs and that is not here for this user.
    fn missing(&self, case: &Value) -> Option<&'static str> {
        let text = format!("{} {}", case["command"], case["setup"]);
        let path = std::env::var("PATH").unwrap();
        let is_there = |name: &&str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
        let mut programs = ["python3", "node", "curl", "cargo", "git", "ps", "sysctl"].into_iter();
        let missing = programs.find(|name| text.contains(&format!("{name} ")) && !is_there(name));
        let of_somebody_else = case["real_home"] == true && self.user.is_some();
        missing.or(of_somebody_else.then_some("the toolchain of that user"))
    }

    fn command(&self, program: &Path, places: &BTreeMap<&str, String>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&places["WS"]).envs(places).stdin(Stdio::null());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    fn bash(&self, line: &str, places: &BTreeMap<&str, String>) -> Ran {
        let mut command = self.command(Path::new("bash"), places);
        finish(start(command.args(["-c", line])), None, Duration::from_secs(60), None)
    }

    fn run(&self, case: &Value) -> Vec<String> {
        let folder = tempfile::Builder::new()
            .prefix("case-")
            .tempdir_in(self.folder.path())
            .unwrap();
        let base = folder.path().canonicalize().unwrap();
        fs::set_permissions(&base, fs::Permissions::from_mode(0o755)).unwrap();
        let text = |path: PathBuf| path.into_os_string().into_string().unwrap();
        let mut places: BTreeMap<&str, String> = [("WS", "ws"), ("OUT", "out"), ("HOME", "home")]
            .map(|(name, folder)| (name, text(base.join(folder))))
            .into();
        for folder in places.values().map(PathBuf::from).chain([base.clone()]) {
            let _ = fs::create_dir(&folder);
            chown(&folder, self.user, self.user).unwrap();
        }
        places.insert("TB", text(base.file_name().unwrap().into()));
        places.insert("T", text(base.clone()));
        let faults = self.judge(case, &base, &places);
        if let Some(restore) = case["restore"].as_str() {
            self.bash(restore, &places);
        }
        for pid in fs::read_to_string(base.join("pids"))
            .unwrap_or_default()
            .split_whitespace()
        {
            if let Some(pid) = pid.parse().ok().and_then(Pid::from_raw) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
        }
        let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(&base).output();
        faults
    }

    fn judge(&self, case: &Value, base: &Path, places: &BTreeMap<&str, String>) -> Vec<String> {
        let setup = self.bash(case["setup"].as_str().unwrap(), places);
        if setup.code != 0 {
            return vec![format!("its setup failed: {}", setup.err)];
        }
        let policy = base.join("policy.json");
        fs::write(&policy, placed(&case["policy"], places).to_string()).unwrap();
        let mut line = case["command"].as_str().unwrap().to_owned();
        if let Some(letters) = case["pad"].as_u64() {
            line = line.replace("PAD", &"x".repeat(usize::try_from(letters).unwrap()));
        }
        let mut command = self.sandbox(&policy, places);
        command.args(["bash", "-c", &line]);
        if case["real_home"] == true {
            command.env("HOME", std::env::var("HOME").unwrap());
        }
        let terminal = (case["tty"] == true).then(|| {
            let terminal =
                rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY).unwrap();
            rustix::pty::grantpt(&terminal).unwrap();
            rustix::pty::unlockpt(&terminal).unwrap();
            let name = rustix::pty::ptsname(&terminal, Vec::new()).unwrap();
            let other = fs::File::options()
                .read(true)
                .write(true)
                .open(name.to_str().unwrap())
                .unwrap();
            command.stdin(other);
            terminal
        });
        let input = case["stdin_bytes"]
            .as_u64()
            .map(|count| vec![b'x'; usize::try_from(count).unwrap()]);
        if input.is_some() {
            command.stdin(Stdio::piped());
        }
        let limit = case["timeout_s"].as_u64().map_or(PATIENCE, Duration::from_secs);
        let kill_after = case["kill_after_s"].as_u64().map(Duration::from_secs);
        let ran = finish(start(&mut command), input, limit, kill_after);
        drop(terminal);
        let not_started = [
            "portcullis-sandboxd: the sandbox could not be set up",
            "portcullis: the command did not start",
            "error: portcullis",
            "error: the policy",
            "error: cannot",
        ];
        if not_started
            .iter()
            .any(|words| ran.err.lines().any(|line| line.starts_with(words)))
        {
            return vec![format!("it did not start: {}", ran.err)];
        }
        let faults = compared(&placed(&case["expect"], places), &ran, |line| {
            self.bash(line, places).out
        });
        if faults.is_empty() {
            return faults;
        }
        let said = format!("stdout {:.300} stderr {:.300}", ran.out, ran.err);
        faults.into_iter().chain([said]).collect()
    }
}

/// A value with the variables of the case in it.
fn placed(value: &Value, places: &BTreeMap<&str, String>) -> Value {
    let text = |text: &str| {
        // Longer names first: `$TB` is not `$T` and a `B`.
        let names = ["TB", "WS", "OUT", "HOME", "T"];
        names.iter().fold(text.to_owned(), |text, name| {
            text.replace(&format!("${name}"), &places[name])
        })
    };
    match value {
        Value::String(own) => text(own).into(),
        Value::Array(items) => items.iter().map(|item| placed(item, places)).collect(),
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| (text(key), placed(value, places)))
            .collect(),
        other => other.clone(),
    }
}

fn start(command: &mut Command) -> Child {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap()
}

/// Waits for the end of a command and of its output.
fn finish(mut child: Child, input: Option<Vec<u8>>, limit: Duration, kill_after: Option<Duration>) -> Ran {
    let begin = Instant::now();
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    let pidfd = rustix::process::pidfd_open(group, rustix::process::PidfdFlags::empty()).unwrap();
    let reader = |stream: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = stream.unwrap().read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let out = reader(child.stdout.take().map(|stream| Box::new(stream) as _));
    let err = reader(child.stderr.take().map(|stream| Box::new(stream) as _));
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.unwrap_or_default();
        std::thread::spawn(move || drop(stdin.write_all(&input)));
    }
    let wait = |within: Duration| {
        let within = rustix::event::Timespec::try_from(within).unwrap();
        let mut polled = [rustix::event::PollFd::new(&pidfd, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut polled, Some(&within)).is_ok_and(|ready| ready > 0)
    };
    if let Some(after) = kill_after {
        if !wait(after) {
            child.kill().unwrap();
        }
    } else if !wait(limit) {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
    let status = child.wait().unwrap();
    let (out, err) = (out.join().unwrap(), err.join().unwrap());
    Ran {
        code: status.code().unwrap_or_else(|| 128 + status.signal().unwrap()),
        out,
        err,
        took: begin.elapsed(),
    }
}

/// A value or a list of them, as texts.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().into_iter().collect(),
    }
}

/// What is not as expected.
fn compared(expect: &Value, ran: &Ran, after: impl Fn(&str) -> String) -> Vec<String> {
    let mut faults = Vec::new();
    for (key, value) in expect.as_object().unwrap() {
        let fault = match key.as_str() {
            "exit" if value == "nonzero" => (ran.code == 0).then(|| "it succeeded".to_owned()),
            "exit" => (value.as_i64() != Some(ran.code.into())).then(|| format!("exit {}", ran.code)),
            "stdout_contains" => {
                (texts(value).iter().find(|text| !ran.out.contains(**text))).map(|text| format!("says no {text:?}"))
            }
            "stdout_not_contains" => {
                (texts(value).iter().find(|text| ran.out.contains(**text))).map(|text| format!("says {text:?}"))
            }
            "stdout_equals" => (value.as_str() != Some(&ran.out)).then(|| "says something else".to_owned()),
            "stdout_len" => (value.as_u64() != Some(ran.out.len() as u64)).then(|| format!("{} bytes", ran.out.len())),
            "file_absent" => texts(value)
                .iter()
                .find(|path| is_there(path))
                .map(|path| format!("`{path}` exists")),
            "file_absent_after_s" => {
                // The case is about what happens later: there is nothing to wait for but the time.
                std::thread::sleep(Duration::from_secs(value[0].as_u64().unwrap()));
                is_there(value[1].as_str().unwrap()).then(|| "the file appears later".to_owned())
            }
            "file_equals" => {
                let mut files = value.as_object().unwrap().iter();
                let other = files.find(|(path, text)| fs::read_to_string(path).ok().as_deref() != text.as_str());
                other.map(|(path, _)| format!("`{path}` is another one"))
            }
            "file_not_contains" => {
                let mut files = value.as_object().unwrap().iter();
                let has = |path: &str, text: &str| fs::read_to_string(path).is_ok_and(|found| found.contains(text));
                let found = files.find(|(path, text)| has(path, text.as_str().unwrap()));
                found.map(|(path, _)| format!("`{path}` was changed"))
            }
            "alive" => {
                let pid = fs::read_to_string(value.as_str().unwrap()).unwrap_or_default();
                (!Path::new("/proc").join(pid.trim()).exists()).then(|| "the victim is dead".to_owned())
            }
            "no_process" => {
                let found = Command::new("pgrep")
                    .args(["-f", value.as_str().unwrap()])
                    .output()
                    .unwrap();
                found.status.success().then(|| "a process is left".to_owned())
            }
            "max_wall_s" => {
                (ran.took.as_secs_f64() > value.as_f64().unwrap() * 3.0).then(|| format!("it took {:?}", ran.took))
            }
            "stdout_equals_after" => {
                let found = after(value[0].as_str().unwrap());
                (!found.starts_with(value[1].as_str().unwrap())).then(|| format!("afterwards {found:?}"))
            }
            // This process is the runner.
            "runner_alive" => None,
            other => panic!("`{other}` is not known"),
        };
        faults.extend(fault);
    }
    faults
}

fn is_there(path: &str) -> bool {
    Path::new(path).symlink_metadata().is_ok()
}
