//! One command under Seatbelt, by hand.
//!
//! ```text
//! filter at loopback → prepare → a folder of the run's own → profile in it → sandbox-exec → look back → the folder goes
//! ```
//!
//! The folder lies with the daemon's state, where no command can write, so that nobody changes the profile between its writing and
//! its reading. Placeholders are not made: the profile keeps protected names from appearing.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use portcullis_proto::v1::{SandboxLimits, SandboxProfile, TemporaryFolder};
use rustix::event::{PollFd, PollFlags, poll};

use super::{
    Arguments, ExecError, OwnFilter, PASSED_ON, PROGRAM, Wish, ended, environment, note, refuse_shared_cache,
    tell_swept,
};
use crate::caches;
use crate::durable;
use crate::launch::spec::{Event, Limits};
use crate::limits::{Facts, hold, kernel};
use crate::places::Places;
use crate::prepare::{Prepared, prepare};
use crate::protect::sweep;
use crate::seatbelt::command::{self, Call, Programs};
use crate::seatbelt::{self, Host, Policy, Unwritable, supervise};
use crate::sys::signals::SignalReader;
use crate::temporary::{SessionFolder, Sessions, remove_all};
use crate::variables;

/// The folders of runs have no team; their sessions are the runs.
const TEAM: &str = "by hand";

pub(super) fn run(arguments: Arguments, places: Option<Places>, programs: &Programs) -> Result<u8, ExecError> {
    let no_folder = |error| ExecError::Io("make a folder for the run", error);
    let places = places.ok_or_else(|| no_folder(io::Error::from(io::ErrorKind::NotFound)))?;
    // Before the look at what there is: what is not there cannot be protected and hidden.
    for folder in [&places.data, &places.state(), &places.folders_by_hand()] {
        durable::private_folder(folder).map_err(no_folder)?;
    }
    let (folders, this_program) = (places.folders_by_hand(), places.programs.join(PROGRAM));
    let workspace = arguments.workspace.unwrap_or_default();
    let wish = Wish::of(arguments.policy.as_deref(), workspace, Some(places))?;
    refuse_shared_cache(&wish.policy)?;
    let prepared = prepare(&wish.profile, &wish.extras)?;
    if !prepared.plan.missing.is_empty() {
        return Err(ExecError::Refused {
            step: "enforcement".to_owned(),
            reason: format!("only part can be enforced ({})", prepared.plan.missing.join("; ")),
        });
    }
    let folder = RunFolder::make(folders).map_err(no_folder)?;
    let temporary = programs
        .temporary_folder()
        .map_err(|error| ExecError::Io("find where this user's temporary files lie", error))?;
    let rules = wish
        .profile
        .network_rules
        .as_ref()
        .filter(|_| prepared.network.is_some());
    let (filter, port) = rules
        .map(|rules| OwnFilter::at_loopback(&this_program, rules))
        .transpose()?
        .unzip();
    let host = host(&wish.profile, vec![temporary], folder.taken()?, port.unwrap_or(0))?;
    let Described {
        policy,
        passed,
        left_out,
    } = described(&wish, &prepared, &host)?;
    let text = seatbelt::profile(&policy)?;
    let profile = command::write_profile(folder.taken()?.folder(), &text)
        .map_err(|error| ExecError::Io("write the profile", error))?;
    let name = arguments
        .command
        .first()
        .map(|word| word.to_string_lossy().into_owned());
    let (limits, unheld) = limits(&wish.profile);
    let call = Call {
        programs: programs.clone(),
        profile,
        argv: arguments.command,
        cwd: wish.cwd,
        environment: passed,
        keep_ignored_signals: true,
        limits,
    };
    for warning in prepared.warnings.iter().filter(|_| arguments.report) {
        note(warning);
    }
    let events = supervised(&call, filter.is_some(), unheld)?;
    if let Some(filter) = filter {
        filter.finish();
    }
    tell_swept(&sweep::sweep(&prepared.plan));
    drop(folder);
    let report = arguments.report.then_some(left_out.as_slice());
    ended(events, name.unwrap_or_default(), report)
}

/// What the host brings along.
fn host(
    profile: &SandboxProfile,
    temporary_folders: Vec<PathBuf>,
    folder: &SessionFolder,
    filter_port: u16,
) -> Result<Host, ExecError> {
    let real = |path: PathBuf| {
        path.canonicalize()
            .map_err(|error| ExecError::Io("find the run's folder", error))
    };
    let shared = profile.temporary_folder() == TemporaryFolder::Shared;
    Ok(Host {
        temporary_folders,
        own_tmp: if shared { None } else { Some(real(folder.files())?) },
        own_cache: Some(real(folder.cache())?),
        filter_port,
        terminal: None,
    })
}

/// What follows from wish and host.
pub(super) struct Described {
    pub(super) policy: Policy,
    /// The whole environment.
    pub(super) passed: Vec<Vec<u8>>,
    /// Names of variables that were left out.
    pub(super) left_out: Vec<String>,
}

/// Policy and environment of a run, and the names of the variables that were left out.
pub(super) fn described(wish: &Wish, prepared: &Prepared, host: &Host) -> Result<Described, ExecError> {
    let policy = Policy::of_run(prepared, &wish.profile, host)?;
    let (mut passed, left_out) = environment(false, &wish.profile.unix_sockets);
    for (name, value) in command::environment(&policy)? {
        variables::set(&mut passed, name, &value);
    }
    if let Some(cache) = &host.own_cache {
        let place = text_of(cache)?;
        let shared = wish.policy.shared_build_cache;
        passed = caches::redirected_to(place, passed, &prepared.layout.read_write, shared);
    }
    Ok(Described {
        policy,
        passed,
        left_out,
    })
}

fn text_of(path: &Path) -> Result<&str, Unwritable> {
    path.to_str().ok_or_else(|| Unwritable::Path(path.to_path_buf()))
}

/// What of the limits is held here, and what is not.
fn limits(profile: &SandboxProfile) -> (Limits, Vec<String>) {
    let wanted = profile.limits.unwrap_or_default();
    let none = "there is no cgroup on macOS";
    let facts = Facts {
        delegated: Err(none),
        root: rustix::process::geteuid().is_root(),
        kernel: kernel(),
    };
    // Those of a user are counted together, whatever sandbox they are in.
    let held = hold(&SandboxLimits { processes: 0, ..wanted }, facts);
    let mut not = held.not;
    if wanted.processes > 0 {
        not.push("processes: macOS counts all of a user's".to_owned());
    }
    (held.by_process, not)
}

/// The folder of one run, until it is dropped. What runs that were killed have left goes first.
struct RunFolder {
    all: Sessions,
    taken: Option<SessionFolder>,
}

impl RunFolder {
    fn make(folders: PathBuf) -> io::Result<Self> {
        let all = Sessions::new(folders);
        remove_all(&all.put_aside(Duration::ZERO));
        let taken = Some(all.take(TEAM, &uuid::Uuid::now_v7().to_string())?);
        Ok(Self { all, taken })
    }

    fn taken(&self) -> Result<&SessionFolder, ExecError> {
        let gone = || ExecError::Io("find the run's folder", io::Error::from(io::ErrorKind::NotFound));
        self.taken.as_ref().ok_or_else(gone)
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        self.taken = None;
        remove_all(&self.all.put_aside(Duration::ZERO));
    }
}

/// Runs it, and passes signals on while it lives.
fn supervised(call: &Call, filtered: bool, unheld: Vec<String>) -> Result<Vec<Event>, ExecError> {
    let pipe = || io::pipe().map_err(|error| ExecError::Io("make a pipe", error));
    let ((control, signals_to), (over, end)) = (pipe()?, pipe()?);
    // Before there is a second thread, which is to block the same.
    let signals = SignalReader::new(&PASSED_ON).map_err(|error| ExecError::Io("take signals", error))?;
    let passing = std::thread::spawn(move || pass_signals(&signals, &over.into(), &signals_to.into()));
    let mut events = Vec::new();
    supervise::run(call, filtered, unheld, control.as_fd(), &mut |event| events.push(event));
    drop(end);
    let _ = passing.join();
    Ok(events)
}

fn pass_signals(signals: &SignalReader, over: &OwnedFd, to: &OwnedFd) {
    loop {
        let mut polled = [PollFd::new(signals, PollFlags::IN), PollFd::new(over, PollFlags::IN)];
        match poll(&mut polled, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
        let [is_told, is_over] = polled.map(|fd| !fd.revents().is_empty());
        if is_over {
            return;
        }
        while let Some(number) = signals.next().filter(|_| is_told) {
            let _ = rustix::io::write(to, &[u8::try_from(number).unwrap_or(0)]);
        }
    }
}

/// The words behind `sandbox-exec`, for people.
pub(super) fn arguments_of(profile: &Path) -> Vec<String> {
    let command = [OsString::from("COMMAND…")];
    Call::arguments(profile, &command)
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}
