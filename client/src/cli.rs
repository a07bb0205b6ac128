//! The command line: what can be asked, and which exit code says what.
//!
//! Each command has its file. Data goes to stdout, all else to stderr. The runtime has one thread: a hook starts in
//! milliseconds or it is switched off.

mod args;
mod attend;
mod audit;
mod confirm;
mod decide;
mod doctor;
mod exec;
mod explain;
mod failure;
mod faults;
mod files;
mod hook;
mod mcp;
mod output;
mod policy;
mod run;
mod sandbox;
mod session;
mod status;
mod trust;

use std::{io::Write as _, panic, process};

use clap::{CommandFactory as _, Parser as _};

use args::{Cli, Command};
use failure::Failure;
use sandbox::SandboxCommand;

/// Runs the program and returns its exit code.
pub(crate) fn main() -> u8 {
    panic::set_hook(Box::new(|info| {
        // What is told to the agent when everything else failed; writing it must not panic again.
        let _ = writeln!(
            std::io::stderr(),
            "portcullis: internal error, so this is not allowed: {info}"
        );
    }));
    // Known before the arguments are read, so that not even a fault there ends in a code that an agent reads as consent.
    let code_of_a_panic = match std::env::args_os().find(|word| word == "hook" || word == "run" || word == "exec") {
        Some(word) if word == "hook" => 2,
        Some(_) => 125,
        None => 1,
    };
    let code = guarded(code_of_a_panic, || match Cli::try_parse() {
        Ok(cli) => dispatch(cli),
        Err(error) => {
            let _ = error.print();
            u8::try_from(error.exit_code()).unwrap_or(2)
        }
    });
    // Threads that wait for standard input must not keep the process: the answer is out.
    process::exit(code.into())
}

/// The code of `work`, or the given one if it panics.
fn guarded(code_of_a_panic: u8, work: impl FnOnce() -> u8) -> u8 {
    panic::catch_unwind(panic::AssertUnwindSafe(work)).unwrap_or(code_of_a_panic)
}

fn dispatch(cli: Cli) -> u8 {
    let result = match cli.command {
        Command::Hook(command) => return hook::main(&command, &cli.host),
        Command::Run(command) => return of_a_run(in_runtime(run::main(&command, &cli.host))),
        Command::Exec(command) => return of_a_run(in_runtime(exec::main(&command, &cli.host))),
        Command::Sandbox(SandboxCommand::Run(command)) => {
            let command = SandboxCommand::Run(command);
            return of_a_run(in_runtime(sandbox::main(&command, &cli.host)));
        }
        Command::Sandbox(command) => in_runtime(sandbox::main(&command, &cli.host)),
        Command::Decide(command) => {
            let wish = match (command.explain, command.ticket) {
                (true, _) => decide::Wish::Explanation,
                (false, true) => decide::Wish::Ticket,
                (false, false) => decide::Wish::Decision,
            };
            in_runtime(decide::main(&command.call, wish, &cli.host))
        }
        Command::Explain(command) => in_runtime(decide::main(&command.call, decide::Wish::Explanation, &cli.host)),
        Command::Policy(command) => in_runtime(policy::main(&command, &cli.host)),
        Command::Audit(command) => in_runtime(audit::main(&command, &cli.host)),
        Command::Mcp(command) => in_runtime(mcp::main(&command, &cli.host)),
        Command::Trust(command) => in_runtime(trust::main(&command, &cli.host)),
        Command::Doctor(command) => in_runtime(doctor::main(&command, &cli.host)),
        Command::Status(command) => in_runtime(status::main(&command, &cli.host)),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "portcullis", &mut text);
            output::data(&text).map(|()| 0)
        }
    };
    result.unwrap_or_else(|failure| {
        failure.show();
        failure.code()
    })
}

/// The code of a command that runs another one. Failures of ours have codes that no command has by accident.
fn of_a_run(result: Result<u8, Failure>) -> u8 {
    result.unwrap_or_else(|failure| {
        failure.show();
        if failure.is_usage() { 2 } else { 125 }
    })
}

fn in_runtime<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|cause| Failure::io("cannot start the runtime", cause))?;
    let result = runtime.block_on(work);
    runtime.shutdown_background();
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_panic_is_an_exit_code() {
        assert_eq!(guarded(2, || panic!("on purpose")), 2);
        assert_eq!(guarded(2, || 7), 7);
    }
}
