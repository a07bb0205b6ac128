//! Whatever fails during a launch, and whoever dies during it: no command runs in half a sandbox, and nothing is left.
//!
//! The shipped launcher is driven system call by system call ([`trace`]). At each of them, in turn, the call is made to fail, and
//! then either nothing was executed or a sandbox that holds: the command itself looks ([`canary.sh`]). And at each of them the
//! launcher is killed, or everything that the daemon holds is closed, as the kernel does when the daemon is killed.
//!
//! A test run takes some of the places; all of them take minutes: `cargo xtask proof faults`.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "only tests are here"
)]

mod trace;

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use portcullis_proto::v1::{EnforcementStatus, SandboxTier};
use portcullis_sandboxd::launch::spec::{Event, Layout, Limits, Spec, next_report};
use prost::Message as _;
use rustix::pipe::{PipeFlags, pipe_with};
use trace::{Act, Place, Seen, Who, drive, pid, start};

/// Error numbers that a call fails with: "not permitted", "input/output error", "invalid".
const FAILURES: [i32; 3] = [libc::EPERM, libc::EIO, libc::EINVAL];

/// Longest wait for the end of everything.
const PATIENCE: Duration = Duration::from_secs(20);

/// Places that a test run takes, of each kind of test.
const SAMPLE: usize = 60;

/// A host to launch on.
struct Host {
    _keep: tempfile::TempDir,
    _tmp: tempfile::NamedTempFile,
    outside: PathBuf,
    workspace: PathBuf,
    spec: Spec,
}

impl Host {
    fn new() -> Self {
        // Not below /tmp, which every sandbox covers: here it is to be seen that nothing outside can be written.
        let keep = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let root = keep.path().canonicalize().unwrap();
        let (outside, workspace) = (root.join("outside"), root.join("ws"));
        let (protected, hidden) = (workspace.join("deep/protected"), workspace.join("hidden"));
        for folder in [&outside, &workspace.join("deep")] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(&protected, "as it was\n").unwrap();
        fs::write(&hidden, "secret\n").unwrap();
        let script = root.join("canary.sh");
        fs::write(&script, include_str!("canary.sh")).unwrap();
        let tmp = tempfile::NamedTempFile::new_in("/tmp").unwrap();
        let spaces: Vec<String> = ["user", "mnt", "pid", "ipc", "uts", "net", "cgroup"]
            .map(|kind| {
                fs::read_link(format!("/proc/self/ns/{kind}"))
                    .unwrap()
                    .display()
                    .to_string()
            })
            .to_vec();
        let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
        let spec = Spec {
            argv: vec![
                b"/bin/sh".to_vec(),
                bytes(&script),
                bytes(&outside),
                bytes(&protected),
                bytes(&hidden),
                spaces.join(",").into_bytes(),
                bytes(Path::new(tmp.path().file_name().unwrap())),
            ],
            cwd: bytes(&workspace),
            environment: vec![b"PATH=/usr/bin:/bin".to_vec()],
            layout: Some(Layout {
                read_write: vec![bytes(&workspace)],
                protected: vec![bytes(&protected)],
                masked: vec![bytes(&hidden)],
                with_cache: true,
                ..Layout::default()
            }),
            limits: Some(Limits {
                open_files: 1000,
                ..Limits::default()
            }),
            ..Spec::default()
        };
        Self {
            _keep: keep,
            _tmp: tmp,
            outside,
            workspace,
            spec,
        }
    }

    /// A launch, up to where the act is done or the command runs.
    fn launch(&self, place: Place, act: Act) -> Launch {
        let mut spec = File::from(rustix::fs::memfd_create("spec", rustix::fs::MemfdFlags::CLOEXEC).unwrap());
        spec.write_all(&self.spec.encode_to_vec()).unwrap();
        spec.rewind().unwrap();
        let (reports, status) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let (control, signals) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let launcher = Path::new(env!("CARGO_BIN_EXE_portcullis-launch"));
        let child = start(launcher, vec![spec.into(), status, control]).unwrap();
        let seen = drive(&child, place, act);
        Launch {
            child,
            reports,
            signals,
            seen,
        }
    }

    /// Nothing of the host has changed.
    fn is_untouched(&self) -> bool {
        fs::read_dir(&self.outside).unwrap().next().is_none()
            && fs::read(self.workspace.join("deep/protected")).unwrap() == b"as it was\n"
    }
}

struct Launch {
    child: std::process::Child,
    reports: OwnedFd,
    signals: OwnedFd,
    seen: Seen,
}

impl Launch {
    /// What the command said, and what was reported. What does not end is killed, and says that it hung.
    fn finish(mut self) -> (String, Vec<Event>) {
        let (ended, wait) = std::sync::mpsc::channel::<()>();
        let pids = self.seen.pids.clone();
        let watchdog = std::thread::spawn(move || {
            let hung = wait.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout);
            for pid in pids.iter().filter(|_| hung) {
                let _ = kill(*pid, Signal::SIGKILL);
            }
            hung
        });
        let mut said = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        let mut bytes = Vec::new();
        File::from(self.reports).read_to_end(&mut bytes).unwrap();
        drop(self.signals);
        let _ = waitpid(pid(&self.child), None);
        let mut events = Vec::new();
        while let Some(event) = next_report(&mut bytes).unwrap() {
            events.push(event);
        }
        drop(ended);
        if watchdog.join().unwrap() {
            said.push_str("HUNG");
        }
        (said, events)
    }
}

/// The calls of a launch in which nothing fails.
fn calls(host: &Host) -> Vec<(Place, i64)> {
    let launch = host.launch((Who::Supervisor, usize::MAX), Act::Nothing);
    let mut places = Vec::new();
    for who in [Who::Supervisor, Who::Init, Who::Command] {
        let calls = launch.seen.calls[&who].iter().enumerate();
        places.extend(calls.map(|(number, call)| ((who, number), *call)));
    }
    assert!(launch.seen.executed);
    let (said, events) = launch.finish();
    assert_eq!(said, "HELD\n", "the control: {events:?}");
    places
}

/// Which places are taken: all where the environment says so, from the given one on, else some of them.
fn chosen<T: Copy>(all: &[T], name: &str) -> Vec<(usize, T)> {
    let numbered = all.iter().copied().enumerate();
    match state_file(name) {
        Some(file) => {
            let done = fs::read_to_string(file).unwrap_or_default();
            let done: usize = done.trim().parse().unwrap_or(0);
            numbered.skip(done).collect()
        }
        None => {
            let step = (all.len() / SAMPLE).max(1);
            numbered.step_by(step).collect()
        }
    }
}

/// Where it is written how many places are done, if all are to be taken.
fn state_file(name: &str) -> Option<PathBuf> {
    std::env::var_os("PORTCULLIS_PROOF").map(|folder| PathBuf::from(folder).join(name))
}

fn is_done(name: &str, number: usize) {
    if let Some(file) = state_file(name) {
        fs::write(file, (number + 1).to_string()).unwrap();
    }
}

#[test]
fn no_command_runs_in_half_a_sandbox_whatever_call_fails() {
    let host = Host::new();
    let places = calls(&host);
    // Linux frees a descriptor whatever `close` returns, so that one cannot fail and leave it open.
    let can_fail = |place: &&(Place, i64)| place.1 != libc::SYS_close;
    let all: Vec<(Place, i32)> = places
        .iter()
        .filter(can_fail)
        .map(|(place, _)| place)
        .flat_map(|place| FAILURES.map(|failure| (*place, failure)))
        .collect();
    let (mut reached, mut refused, mut held) = (0, 0, 0);
    let mut faults = Vec::new();
    let taken = chosen(&all, "failing-calls");
    let count = taken.len();
    for (number, (place, failure)) in taken {
        let launch = host.launch(place, Act::Fail(failure));
        let call = launch
            .seen
            .calls
            .get(&place.0)
            .and_then(|calls| calls.get(place.1))
            .copied();
        let (acted, executed) = (launch.seen.acted, launch.seen.executed);
        let (said, events) = launch.finish();
        reached += usize::from(acted);
        match said.as_str() {
            "" if !executed => refused += 1,
            "HELD\n" => held += 1,
            _ => faults.push(format!(
                "{place:?} call {call:?} fails with {failure}: {said:?} {events:?}"
            )),
        }
        if !host.is_untouched() {
            faults.push(format!(
                "{place:?} call {call:?} fails with {failure}: the host has changed"
            ));
        }
        is_done("failing-calls", number);
    }
    eprintln!(
        "{} calls of a launch, {count} failures: {reached} reached, {refused} refused, {held} held",
        places.len()
    );
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    assert!(
        refused > count / 3,
        "most failures are no reason to refuse: {refused} of {count}"
    );
}

/// A kernel without Landlock, as far as a launcher can tell: its first call of it fails as if there were none.
#[test]
fn without_landlock_a_command_runs_only_if_that_is_accepted_and_it_is_told() {
    let mut host = Host::new();
    let places = calls(&host);
    let first = |(_, call): &&(Place, i64)| *call == libc::SYS_landlock_create_ruleset;
    let place = places.iter().find(first).expect("Landlock is asked for").0;
    for (accepted, otherwise) in [(false, None), (true, None), (true, Some("hidden sockets: too many"))] {
        host.spec.accept_without_landlock = accepted;
        host.spec.missing = otherwise.into_iter().map(str::to_owned).collect();
        let launch = host.launch(place, Act::Fail(libc::EOPNOTSUPP));
        assert!(launch.seen.acted);
        let (said, events) = launch.finish();
        if accepted && otherwise.is_none() {
            assert_eq!(said, "HELD\n", "{events:?}");
            let Some(Event::Ready(enforcement)) = events.first() else {
                panic!("{events:?}")
            };
            assert_eq!(enforcement.tier(), SandboxTier::WithoutLandlock);
            assert_eq!(enforcement.status(), EnforcementStatus::Partial);
            assert!(enforcement.missing[0].starts_with("landlock: "), "{enforcement:?}");
        } else {
            assert!(
                matches!(events.as_slice(), [Event::Refused(refused)] if refused.step == "enforcement"),
                "{events:?}"
            );
            assert_eq!(said, "");
        }
    }
}

/// Waits until none of these lives. What is only not yet waited for by its parent has ended.
fn have_ended(pids: &[Pid]) -> bool {
    let lives = |pid: &Pid| {
        fs::read_to_string(format!("/proc/{pid}/stat"))
            .ok()
            .and_then(|stat| Some(stat.rsplit_once(") ")?.1.chars().next()? != 'Z'))
            .unwrap_or(false)
    };
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if !pids.iter().any(lives) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}

/// Every process in whose arguments this stands.
fn running(mark: &Path) -> Vec<Pid> {
    let mark = mark.as_os_str().as_bytes();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| {
            let number: i32 = entry.file_name().to_str()?.parse().ok()?;
            let words = fs::read(entry.path().join("cmdline")).ok()?;
            words
                .windows(mark.len())
                .any(|part| part == mark)
                .then(|| Pid::from_raw(number))
        })
        .collect()
}

#[test]
fn whoever_dies_at_whatever_call_nothing_is_left() {
    let mut host = Host::new();
    let places = calls(&host);
    // A command that would stay.
    host.spec.argv = vec![
        b"/bin/sh".to_vec(),
        b"-c".to_vec(),
        format!("sleep 1000 & sleep 1000; : {}", host.workspace.display()).into_bytes(),
    ];
    let all: Vec<(Place, bool)> = places
        .iter()
        .flat_map(|(place, _)| [(*place, false), (*place, true)])
        .collect();
    let taken = chosen(&all, "deaths");
    let (count, mut stopped) = (taken.len(), 0);
    for (number, (place, daemon)) in taken {
        let launch = host.launch(place, Act::Stop);
        stopped += usize::from(launch.seen.acted);
        let Launch {
            child,
            reports,
            signals,
            seen,
        } = launch;
        let first = pid(&child);
        if daemon {
            // As when the daemon is killed: all that it held is closed.
            drop((reports, signals, child));
        } else {
            kill(first, Signal::SIGKILL).unwrap();
        }
        let waiting = std::thread::spawn(move || waitpid(first, None));
        assert!(have_ended(&seen.pids), "{place:?}, daemon {daemon}: {:?}", seen.pids);
        waiting.join().unwrap().unwrap();
        // Also what the command has started meanwhile.
        assert!(have_ended(&running(&host.workspace)), "{place:?}, daemon {daemon}");
        is_done("deaths", number);
    }
    eprintln!(
        "{} calls of a launch, {count} deaths, {stopped} before the command ran",
        places.len()
    );
    assert!(
        stopped * 10 >= count * 9,
        "the deaths come before the command: {stopped} of {count}"
    );
}
