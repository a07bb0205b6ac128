//! `portcullis exec`: redeems a ticket and becomes the command that it is for.
//!
//! For hooks: a call that was allowed is rewritten into this, so that what was approved is what runs, in the sandbox that was
//! approved. Nothing is asked here. The ticket says which words, in which folder, for whom, until when and once; the daemon checks
//! all of it, and whatever does not fit is refused before anything runs.

use std::ffi::OsString;

use clap::Args;
use portcullis_client::{CallError, Host, HostOptions, host::RunError};

use super::{
    args::HostArgs,
    attend::{self, Signals},
    decide,
    failure::Failure,
    run::{FAILED, NOT_ALLOWED},
    session,
};

/// Becomes the command that a ticket was issued for, in its sandbox.
///
/// Nothing is decided: the decision was made when the ticket was issued (`portcullis decide --ticket`). Command and working directory
/// must be those of the ticket, and it is good for one run. The command has this program's standard streams as they are, the
/// terminal included; signals are passed on, and this program ends as the command ends.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: that of the command, or death by the same signal; 127 no such program, 126 the ticket is refused (used, \
    expired, unknown, for another command or folder) or the program cannot be executed, 125 portcullis itself failed, 2 wrong usage."
)]
pub(crate) struct ExecArgs {
    /// Give the command a terminal of its own, connected with these streams: for programs that want one where there is none, and
    /// for shells inside, which then have job control.
    #[arg(short, long)]
    tty: bool,
    /// The ticket's handle, as `portcullis decide --ticket` or a hook gives it: `pt_…`.
    #[arg(long, value_name = "TICKET")]
    ticket: String,
    /// The command, word for word as it was decided.
    #[arg(last = true, value_name = "COMMAND", required = true)]
    argv: Vec<OsString>,
}

pub(crate) async fn main(command: &ExecArgs, host: &HostArgs) -> Result<u8, Failure> {
    let argv = decide::words(&command.argv)?;
    let here = match attend::here(command.tty) {
        Ok(here) => here,
        Err(failure) => {
            failure.show();
            return Ok(FAILED);
        }
    };
    let cwd =
        std::env::current_dir().map_err(|cause| Failure::io("cannot tell what the current directory is", cause))?;
    let cwd = session::text(cwd)?;
    let host = Host::connect(&host.options(HostOptions::DEADLINE)?).await?;
    // Signals are caught before the command starts, so that none ends this program and leaves the command behind.
    let signals = Signals::new()?;
    let running = host
        .redeem(command.ticket.clone(), argv, cwd, std::env::vars_os(), here)
        .await;
    let running = match running {
        Ok(running) => running,
        Err(RunError::Call(error @ (CallError::Refused { .. } | CallError::Invalid { .. }))) => {
            Failure::from(error).show();
            return Ok(NOT_ALLOWED);
        }
        Err(error) => {
            Failure::from(error).show();
            return Ok(FAILED);
        }
    };
    let ended = attend::to_the_end(running, signals, here.into(), |_| {}).await?;
    Ok(match ended {
        Ok(outcome) => attend::end_as(&outcome),
        Err(code) => code,
    })
}
