//! `portcullis-sandboxd exec`: one command in a sandbox, by hand.
//!
//! For trying out a profile and for running the sandbox's own cases. It needs no ticket because it grants nothing that the
//! shell it is typed into does not have: it only restricts.
//!
//! What is run in what is the same on every system ([`Wish`]); how, is the [`Launcher`]'s: namespaces here, Seatbelt in [`seatbelt`].

pub mod profile;
mod seatbelt;

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use portcullis_policy::request::Workspace;
use portcullis_policy::sandbox::{EffectiveSandbox, NetworkMode, Said, SandboxSettings, SandboxType, merge};
use portcullis_policy::{AbsPath, Layer};
use portcullis_proto::v1::{Enforcement, NetworkRules, SandboxProfile};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::caches;
use crate::hide::Person;
use crate::launch::mounts::PRIVATE_TMP;
use crate::launch::spec::{Event, Spec, next_report};
use crate::launch::supervise;
use crate::launcher::Launcher;
use crate::limits::{Facts, hold, kernel};
use crate::network::standalone::{receive_port, send_rules};
use crate::places::Places;
use crate::prepare::{Extras, prepare};
use crate::printable::printable;
use crate::protect::note::{Note, remove_ended};
use crate::protect::placeholders::Registry;
use crate::protect::{Plan, sweep};
use crate::refusals::{self, Complaints, Tree};
use crate::run::environment::{own_folders, with_network};
use crate::scrub;
use crate::sys::signals::SignalReader;

/// Largest policy file, in bytes.
const MAX_POLICY_BYTES: u64 = 256 * 1024;

/// This program, which is started once more for the network filter.
const PROGRAM: &str = "portcullis-sandboxd";

/// Signals that are passed on to the command.
const PASSED_ON: [i32; 7] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGWINCH,
];

/// Why a command was not run.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// The arguments are not understood.
    #[error("{0}; usage: portcullis-sandboxd exec [--policy FILE] --workspace DIR -- COMMAND…")]
    Usage(&'static str),
    /// The policy file cannot be used.
    #[error("cannot use the policy file `{}`", path.display())]
    Policy {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The policy file has faults.
    #[error("the policy file `{}` cannot be used:{faults}", path.display())]
    Faults {
        /// The file.
        path: PathBuf,
        /// One line each, with its place.
        faults: String,
    },
    /// The policy asks for something that is not done here.
    #[error("the policy file asks for {0}")]
    NotHere(String),
    /// Something about the process failed.
    #[error("cannot {0}")]
    Io(&'static str, #[source] io::Error),
    /// The profile does not fit this host.
    #[error(transparent)]
    Prepare(#[from] crate::prepare::Unpreparable),
    /// The profile cannot be written in the language of macOS.
    #[error("the sandbox's profile cannot be written")]
    Unwritable(#[from] crate::seatbelt::Unwritable),
    /// A step of the set-up failed.
    #[error("the sandbox could not be set up")]
    Step(#[from] crate::launch::StepFailed),
    /// A step inside failed.
    #[error("the sandbox could not be set up: {step}: {reason}")]
    Refused {
        /// Which.
        step: String,
        /// Why.
        reason: String,
    },
    /// The program cannot be executed.
    #[error("cannot execute `{0}`")]
    NotExecuted(String, #[source] io::Error),
    /// The sandbox was ended from outside.
    #[error("the sandbox was ended from outside")]
    Killed,
}

/// Arguments after `exec`.
#[derive(Debug, Default)]
struct Arguments {
    policy: Option<PathBuf>,
    workspace: Option<PathBuf>,
    report: bool,
    command: Vec<OsString>,
}

fn arguments(mut words: impl Iterator<Item = OsString>) -> Result<Arguments, ExecError> {
    let mut read = Arguments::default();
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--policy") => read.policy = words.next().map(PathBuf::from),
            Some("--workspace") => read.workspace = words.next().map(PathBuf::from),
            Some("--report") => read.report = true,
            Some("--") => {
                read.command = words.by_ref().collect();
            }
            _ => return Err(ExecError::Usage("unknown argument")),
        }
    }
    if read.workspace.is_none() || read.command.is_empty() {
        return Err(ExecError::Usage("a workspace and a command are needed"));
    }
    Ok(read)
}

/// What is to be run in what, on any system.
struct Wish {
    /// Where the command starts.
    cwd: PathBuf,
    policy: EffectiveSandbox,
    profile: SandboxProfile,
    extras: Extras,
    places: Option<Places>,
}

impl Wish {
    fn of(policy: Option<&Path>, workspace: PathBuf, places: Option<Places>) -> Result<Self, ExecError> {
        let cwd = std::env::current_dir().map_err(|error| ExecError::Io("find the working directory", error))?;
        let workspace = cwd.join(workspace);
        let workspace = workspace
            .canonicalize()
            .map_err(|source| crate::prepare::Unpreparable::Root {
                path: workspace,
                source,
            })?;
        let policy = self::policy(policy)?;
        let home = std::env::var("HOME").ok().and_then(|home| AbsPath::parse(&home).ok());
        let text = workspace.to_str().ok_or_else(|| {
            ExecError::NotHere(format!("a workspace that has no plain name: `{}`", workspace.display()))
        })?;
        let root = AbsPath::parse(text)
            .map_err(|error| ExecError::NotHere(format!("a workspace that has no plain name: {error}")))?;
        let place = Workspace {
            cwd: root.clone(),
            root,
            additional_roots: Vec::new(),
            home,
        };
        let profile = portcullis_proto::convert::profile(&place, &policy, &[], None);
        let person = Person {
            home: std::env::var_os("HOME")
                .map(PathBuf::from)
                .filter(|home| home.is_absolute()),
            other_home: None,
            cwd: Some(cwd.clone()),
            variables: Vec::new(),
        };
        let mut extras = Extras {
            person: person.with_variables(own_folders()),
            ..Extras::default()
        };
        if let Some(places) = &places {
            extras.masked = places.secret();
            // Where there never was a daemon, nothing is made for one.
            extras.own_folders = places.own_folders();
            extras.own_folders.retain(|folder| folder.is_dir());
        }
        Ok(Self {
            cwd,
            policy,
            profile,
            extras,
            places,
        })
    }
}

/// Runs a command as the arguments after `exec` say. Returns the exit status for the caller.
///
/// # Errors
/// Why nothing was run, or that it was ended from outside.
pub fn run(words: impl Iterator<Item = OsString>) -> Result<u8, ExecError> {
    run_with(words, Places::find(None, None).ok(), &Launcher::of_this_system())
}

/// The same by given means and with Portcullis at given places.
///
/// # Errors
/// The same.
pub fn run_with(
    words: impl Iterator<Item = OsString>,
    places: Option<Places>,
    launcher: &Launcher,
) -> Result<u8, ExecError> {
    let arguments = arguments(words)?;
    match launcher {
        Launcher::Namespaces => in_namespaces(arguments, places),
        Launcher::Seatbelt(programs) => seatbelt::run(arguments, places, programs),
    }
}

fn in_namespaces(arguments: Arguments, places: Option<Places>) -> Result<u8, ExecError> {
    let workspace = arguments.workspace.unwrap_or_default();
    let wish = Wish::of(arguments.policy.as_deref(), workspace, places)?;
    refuse_shared_cache(&wish.policy)?;
    let by_hand = wish.places.as_ref().and_then(notes_by_hand);
    if let Some(folder) = &by_hand {
        remove_ended(folder);
    }
    let (policy, profile, cwd) = (wish.policy, wish.profile, wish.cwd);
    let mut prepared = prepare(&profile, &wish.extras)?;
    prepared.layout.with_cache = true;
    let wanted = by_hand.filter(|_| !prepared.wanted.is_empty());
    let noted = wanted.and_then(|folder| {
        let name = uuid::Uuid::now_v7().to_string();
        Note::write(&folder, &name, &Plan::default(), &prepared.wanted).ok()
    });
    let (placeholders, told) = Registry::default().hold(&prepared.wanted);
    // Without a note a killed launcher leaves empty folders behind, which is no reason to run nothing.
    let noted = noted.filter(|noted| noted.add(&placeholders).is_ok());
    placeholders.say(&mut prepared);
    prepared.warnings.extend(told);
    let (environment, left_out) = environment(policy.disable_tmp_write, &profile.unix_sockets);
    let name = arguments
        .command
        .first()
        .map(|word| word.to_string_lossy().into_owned())
        .unwrap_or_default();
    let limits = hold(
        &profile.limits.unwrap_or_default(),
        Facts {
            delegated: Err("there is no cgroup for a command that is run by hand"),
            root: rustix::process::geteuid().is_root(),
            kernel: kernel(),
        },
    );
    let spec = Spec {
        argv: arguments.command.into_iter().map(OsStringExt::into_vec).collect(),
        cwd: cwd.as_os_str().as_bytes().to_vec(),
        environment: caches::redirected(
            with_network(environment, prepared.network.as_ref()),
            &prepared.layout.read_write,
            false,
        ),
        layout: Some(prepared.layout),
        accept_partial: false,
        accept_without_landlock: profile.accept_without_landlock,
        accept_without_namespaces: profile.accept_without_namespaces,
        needs_namespaces: std::mem::take(&mut prepared.needs_namespaces),
        own_terminal: false,
        missing: prepared.plan.missing.clone(),
        keep_ignored_signals: true,
        filtered_network: prepared.network.is_some(),
        limits: Some(limits.by_process),
        unheld_limits: limits.not,
        cgroup: Vec::new(),
    };
    for warning in prepared.warnings.iter().filter(|_| arguments.report) {
        note(warning);
    }
    let rules = profile.network_rules.as_ref();
    let program = std::env::current_exe().map_err(|error| ExecError::Io("find this program", error))?;
    let program = program.with_file_name(PROGRAM);
    let filter = rules.map(|rules| OwnFilter::start(&program, rules, &[])).transpose()?;
    let reports = supervise_run(&spec, filter.as_ref())?;
    if let Some(filter) = filter {
        filter.finish();
    }
    let swept = sweep::sweep(&prepared.plan);
    drop(placeholders);
    drop(noted);
    tell_swept(&swept);
    ended(reports, name, arguments.report.then_some(left_out.as_slice()))
}

fn tell_swept(swept: &sweep::Swept) {
    for path in &swept.put_aside {
        note(&format!(
            "put aside `{}`: protected names may not appear in the sandbox",
            path.display()
        ));
    }
    for failure in &swept.failures {
        note(failure);
    }
}

/// What the reports come to: the exit status. `report` = what is wanted to be told of the set-up, with the names of variables that
/// were left out.
fn ended(events: Vec<Event>, name: String, report: Option<&[String]>) -> Result<u8, ExecError> {
    let mut status = Err(ExecError::Killed);
    let mut calls = Vec::new();
    for event in events {
        match event {
            Event::Ready(enforcement) => {
                if let Some(left_out) = report {
                    print_report(&enforcement, left_out);
                }
            }
            Event::Running(_) => {}
            Event::RefusedCalls(refused) => calls = refused.calls,
            Event::Refused(refused) => {
                status = Err(ExecError::Refused {
                    step: refused.step,
                    reason: refused.reason,
                });
            }
            Event::NotExecuted(not) => {
                status = Err(ExecError::NotExecuted(
                    name.clone(),
                    io::Error::from_raw_os_error(not.errno),
                ));
            }
            Event::Exited(exited) if exited.signal != 0 => {
                status = Ok(u8::try_from(128 + exited.signal).unwrap_or(255))
            }
            Event::Exited(exited) => status = Ok(u8::try_from(exited.code).unwrap_or(255)),
        }
    }
    if !matches!(status, Ok(0)) {
        // What is said about files is not read here: the output goes to the terminal, past this program.
        let tally = calls.iter().map(|call| (call.number, call.times)).collect();
        let said = refusals::all(&[], &tally, &Complaints::default(), &Tree::default());
        for line in said.iter().filter_map(refusals::line) {
            let _ = io::stderr().write_all(line.as_bytes());
        }
    }
    status
}

/// Where the daemon of this user looks for notes of runs that are started here, in case this program is killed. `None` where
/// there never was a daemon.
fn notes_by_hand(places: &Places) -> Option<PathBuf> {
    let folder = places.notes_by_hand();
    let found = folder.symlink_metadata().ok()?;
    let own = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
    own.then_some(folder)
}

/// What the file says. Unlike a file that takes part in decisions it stands alone, so it opens the hosts that it names and
/// no others, unless it says so itself.
fn policy(path: Option<&Path>) -> Result<EffectiveSandbox, ExecError> {
    let mut settings = path.map(read_policy).transpose()?.unwrap_or_default();
    settings.network_mode.get_or_insert(NetworkMode::SandboxJsonOnly);
    let effective = merge(&[Said {
        layer: Layer::User,
        widens: true,
        folder: None,
        settings: &settings,
    }]);
    if effective.kind == SandboxType::InsecureNone {
        return Err(ExecError::NotHere(
            "no sandbox at all (`insecure_none`): run the command itself".to_owned(),
        ));
    }
    Ok(effective)
}

fn refuse_shared_cache(policy: &EffectiveSandbox) -> Result<(), ExecError> {
    if policy.shared_build_cache {
        return Err(ExecError::NotHere(
            "a shared cache (`enableSharedBuildCache`), which only the daemon has".to_owned(),
        ));
    }
    Ok(())
}

fn read_policy(path: &Path) -> Result<SandboxSettings, ExecError> {
    let failed = |source| ExecError::Policy {
        path: path.to_owned(),
        source,
    };
    let mut text = String::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_POLICY_BYTES).read_to_string(&mut text))
        .map_err(failed)?;
    SandboxSettings::parse(&text).map_err(|faults| ExecError::Faults {
        path: path.to_owned(),
        faults: faults
            .iter()
            .map(|fault| {
                let hint = fault.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
                format!("\n  {}:{}: {}{hint}", fault.line, fault.column, fault.message)
            })
            .collect(),
    })
}

/// What is passed on: a person's own variables are wanted, but for secrets and what means something outside only. Beside it
/// the names of what was left out.
fn environment(tmp_read_only: bool, sockets: &[String]) -> (Vec<Vec<u8>>, Vec<String>) {
    let tmp = if tmp_read_only { PRIVATE_TMP } else { "/tmp" };
    let left_out = |name: &str, value: &[u8]| {
        scrub::is_of_outside(name) || scrub::looks_secret(name) || scrub::holds_secret(name, value)
    };
    let (out, kept): (Vec<_>, Vec<_>) = std::env::vars_os().partition(|(name, value)| {
        let name = name.to_string_lossy();
        left_out(&name, value.as_bytes()) && !scrub::leads_to(&name, value.as_bytes(), sockets)
    });
    let kept = kept
        .iter()
        .map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat())
        .chain([format!("TMPDIR={tmp}").into_bytes()])
        .collect();
    let names: Vec<_> = out.iter().map(|(name, _)| name.to_string_lossy()).collect();
    (kept, scrub::told(names.iter().map(AsRef::as_ref)))
}

/// Starts the init, passes signals on while it lives, and returns what it reported.
fn supervise_run(spec: &Spec, filter: Option<&OwnFilter>) -> Result<Vec<Event>, ExecError> {
    let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(|error| ExecError::Io("make a pipe", error.into()));
    let ((reports, status), (control, signals_to)) = (pipe()?, pipe()?);
    let signals = SignalReader::new(&PASSED_ON).map_err(|error| ExecError::Io("take signals", error))?;
    let to_filter = filter.map(|filter| filter.socket.try_clone()).transpose();
    let to_filter = to_filter.map_err(|error| ExecError::Io("share a socket", error))?;
    let init = supervise::start(spec, status, control, to_filter.map(OwnedFd::from))?;
    let pidfd = rustix::process::pidfd_open(init.pid, rustix::process::PidfdFlags::empty())
        .map_err(|error| ExecError::Io("watch the sandbox", error.into()))?;
    loop {
        let mut polled = [PollFd::new(&signals, PollFlags::IN), PollFd::new(&pidfd, PollFlags::IN)];
        match poll(&mut polled, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(ExecError::Io("watch the sandbox", error.into())),
        }
        while let Some(number) = signals.next() {
            let _ = rustix::io::write(&signals_to, &[u8::try_from(number).unwrap_or(0)]);
        }
        if !polled[1].revents().is_empty() {
            break;
        }
    }
    supervise::wait(&init).map_err(|error| ExecError::Io("wait for the sandbox", error))?;
    collect(reports).map_err(|error| ExecError::Io("read the sandbox's report", error))
}

/// The network filter of this run, in a process of its own. It ends with its socket.
struct OwnFilter {
    socket: UnixStream,
    process: std::process::Child,
}

impl OwnFilter {
    /// The same on a socket of this host, with the port that it has.
    fn at_loopback(program: &Path, rules: &NetworkRules) -> Result<(Self, u16), ExecError> {
        let mut filter = Self::start(program, rules, &["--loopback"])?;
        let port = receive_port(&mut filter.socket);
        match port.map_err(|error| ExecError::Io("hear from the network filter", error)) {
            Ok(port) => Ok((filter, port)),
            Err(error) => {
                filter.finish();
                Err(error)
            }
        }
    }

    fn start(program: &Path, rules: &NetworkRules, options: &[&str]) -> Result<Self, ExecError> {
        let failed = |error| ExecError::Io("start the network filter (this program once more)", error);
        let (mut socket, theirs) = UnixStream::pair().map_err(failed)?;
        let process = std::process::Command::new(program)
            .arg("filter")
            .args(options)
            .stdin(OwnedFd::from(theirs))
            .stdout(std::process::Stdio::null())
            .spawn()
            .map_err(failed)?;
        send_rules(&mut socket, rules).map_err(failed)?;
        Ok(Self { socket, process })
    }

    /// Hears what it has to say about refused hosts, and its end.
    fn finish(mut self) {
        drop(self.socket);
        let _ = self.process.wait();
    }
}

/// All reports; the writer is gone, and they are smaller than a pipe.
fn collect(reports: OwnedFd) -> io::Result<Vec<Event>> {
    let mut bytes = Vec::new();
    std::fs::File::from(reports).read_to_end(&mut bytes)?;
    let mut events = Vec::new();
    while let Some(event) = next_report(&mut bytes)? {
        events.push(event);
    }
    Ok(events)
}

fn print_report(enforcement: &Enforcement, left_out: &[String]) {
    let landlock = match enforcement.landlock_abi {
        0 if enforcement.mechanisms.iter().any(|mechanism| mechanism == "seatbelt") => String::new(),
        version => format!(" · landlock {version}"),
    };
    note(&format!(
        "{}{landlock} · {}{}",
        enforcement.status().as_str_name(),
        enforcement.mechanisms.join(" "),
        enforcement
            .missing
            .iter()
            .map(|line| format!(" · missing: {line}"))
            .chain(
                enforcement
                    .unheld_limits
                    .iter()
                    .map(|line| format!(" · not limited: {line}"))
            )
            .collect::<String>(),
    ));
    if !left_out.is_empty() {
        note(&format!("variables left out: {}", left_out.join(" ")));
    }
}

/// One line for the person, beside the command's own output.
fn note(line: &str) {
    let _ = writeln!(io::stderr(), "portcullis-sandboxd: {}", printable(line));
}
