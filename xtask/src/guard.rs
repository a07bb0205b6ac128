//! Ties the life of a program to that of the task that started it.
//!
//! `cargo xtask up` may be killed in a way it cannot answer (SIGKILL, out of memory). The programs must not go on then:
//! they would hold the port and the database. The kernel's parent-death signal does that, but it has to be set in the
//! child between fork and exec, which needs unsafe code. Instead the child is this program once more: it sets the signal
//! on itself, where that is safe, and then becomes the real program. The setting survives the exec.
//!
//! Linux only. Elsewhere the program is executed without it.

use std::{ffi::OsString, os::unix::process::CommandExt as _, path::Path, process::Command};

use crate::failure::{Failure, Result};

/// Options of the hidden task `guarded`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Process id of the one whose end is ours
    #[arg(long)]
    parent: u32,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// The command that runs `program` under guard.
///
/// The kernel watches the thread that starts it, not the process: start it from the main thread.
pub(crate) fn command(program: &Path) -> Result<Command> {
    let own = std::env::current_exe().map_err(|cause| Failure::io("cannot find my own program", &cause))?;
    let mut command = Command::new(own);
    command
        .arg("guarded")
        .arg(format!("--parent={}", std::process::id()))
        .arg("--")
        .arg(program)
        // Its own group: Ctrl-C reaches only the task, which then stops its programs in order.
        .process_group(0);
    Ok(command)
}

/// Becomes the program.
pub(crate) fn run(options: &Options) -> Result<()> {
    die_with(options.parent)?;
    let (program, arguments) = options
        .command
        .split_first()
        .ok_or_else(|| Failure::new("no program was named"))?;
    let cause = Command::new(program).args(arguments).exec();
    Err(Failure::io(
        format!("cannot execute `{}`", program.to_string_lossy()),
        &cause,
    ))
}

#[cfg(target_os = "linux")]
fn die_with(parent: u32) -> Result<()> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};

    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|cause| Failure::io("cannot tie the program to its task", &cause.into()))?;
    // The parent may have died before the signal was set; then nobody will ever send it.
    let now = getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    if now == Some(parent) {
        Ok(())
    } else {
        Err(Failure::new("the task that started this program is gone"))
    }
}

#[cfg(not(target_os = "linux"))]
fn die_with(_parent: u32) -> Result<()> {
    Ok(())
}
