//! `portcullis-launch`: builds a sandbox around one command. See `portcullis_sandboxd::launch`.
//!
//! `run` (for the daemon) takes everything from inherited descriptors: 3 the specification, 4 reports, 5 control, then, where
//! there are some, the socket to the network filter and the note of the run. It is as small as it can be: it holds nothing but
//! what builds a sandbox.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use portcullis_sandboxd::launch::{StepFailed, spec, supervise};
use portcullis_sandboxd::probe::canary;
use portcullis_sandboxd::protect::note;
use portcullis_sandboxd::sys::fds::take_inherited;

/// Portcullis itself failed, as opposed to the command.
const FAILED: u8 = 125;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let mode = arguments.next();
    match mode.as_deref().and_then(|mode| mode.to_str()) {
        Some("run") => run(),
        Some("canary") => canary(arguments),
        Some("exec") => by_hand(arguments),
        _ => {
            let _ = writeln!(io::stderr(), "portcullis-launch is started by portcullis-sandboxd");
            ExitCode::from(2)
        }
    }
}

/// Runs what the daemon asks for. The daemon reads the outcome from the reports, not from the exit status.
fn run() -> ExitCode {
    let inherited = take_inherited(3).and_then(|spec| Ok((spec, take_inherited(4)?, take_inherited(5)?)));
    let Ok((spec_file, status, control)) = inherited else {
        let _ = writeln!(io::stderr(), "portcullis-launch is started by portcullis-sandboxd");
        return ExitCode::from(2);
    };
    let optional = (take_inherited(6).ok(), take_inherited(7).ok());
    let Ok(to_daemon) = status.try_clone() else {
        return ExitCode::from(FAILED);
    };
    let mut note = None;
    let started = spec::read_spec(File::from(spec_file))
        .map_err(|error| StepFailed::new("launcher", "reading the specification", error))
        .and_then(|spec| {
            let (filter, last) = match optional {
                (first, second) if spec.filtered_network => (first, second),
                (first, _) => (None, first),
            };
            note = last.map(File::from);
            supervise::start(&spec, status, control, filter)
        });
    match started {
        Ok(init) => {
            drop(to_daemon);
            let ended = supervise::wait(&init);
            // For a daemon that comes after one that was killed; without it that one counts everything as the run's.
            let marked = note.as_ref().map_or(Ok(()), note::mark_ended);
            match ended.and(marked) {
                Ok(()) => ExitCode::SUCCESS,
                Err(_) => ExitCode::from(FAILED),
            }
        }
        Err(failed) => {
            let _ = spec::write_report(File::from(to_daemon), spec::Event::Refused(failed.to_report()));
            ExitCode::from(FAILED)
        }
    }
}

/// Becomes `portcullis-sandboxd exec`: what a person needs at a terminal (policies, walks, a network filter) is no part of the
/// program that builds sandboxes.
fn by_hand(arguments: impl Iterator<Item = std::ffi::OsString>) -> ExitCode {
    let mut program = std::env::current_exe().unwrap_or_default();
    program.set_file_name("portcullis-sandboxd");
    let error = Command::new(&program).arg("exec").args(arguments).exec();
    let _ = writeln!(
        io::stderr(),
        "portcullis-launch: cannot execute `{}`, which has `exec`: {error}",
        program.display()
    );
    ExitCode::from(FAILED)
}

/// Runs inside a sandbox that the daemon sets up to see whether it holds: tries to make a file outside, to read a hidden one, and
/// to reach a server of the host on loopback. The exit status says what was possible; see `probe`.
fn canary(mut arguments: impl Iterator<Item = std::ffi::OsString>) -> ExitCode {
    let (Some(outside), Some(hidden), Some(port)) = (arguments.next(), arguments.next(), arguments.next()) else {
        return ExitCode::from(canary::USAGE);
    };
    let port = port.to_str().and_then(|port| port.parse::<u16>().ok());
    let is_refused = |error: &io::Error| matches!(error.raw_os_error(), Some(libc::EROFS | libc::EACCES | libc::EPERM));
    if !File::create_new(outside).is_err_and(|error| is_refused(&error)) {
        return ExitCode::from(canary::WROTE);
    }
    // No file needs to be opened for this.
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    if !std::fs::set_permissions(&hidden, private).is_err_and(|error| is_refused(&error)) {
        return ExitCode::from(canary::WROTE);
    }
    if !File::open(hidden).is_err_and(|error| is_refused(&error)) {
        return ExitCode::from(canary::READ);
    }
    let reached = port.is_none_or(|port| std::net::TcpStream::connect((std::net::Ipv4Addr::LOCALHOST, port)).is_ok());
    if reached {
        return ExitCode::from(canary::REACHED);
    }
    ExitCode::SUCCESS
}
