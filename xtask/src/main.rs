#![forbid(unsafe_code)]
//! `cargo xtask`: the few commands that everybody who works on Portcullis types, and that CI types too.
//!
//! Each task is a module. A task says what it does while it does it, stops at the first thing that fails, and exits
//! non-zero then. Nothing here is shipped: the programs never call it, and it knows them only by their command lines.

mod bench;
mod differential;
mod docs;
mod failure;
mod fuzz;
mod guard;
mod output;
mod proof;
mod stack;
mod steps;
mod tidy;
mod toolchain;
mod up;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand, error::ErrorKind};

/// Tasks of the Portcullis workspace.
#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    version,
    arg_required_else_help = true
)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build Portcullis and run it until Ctrl-C
    Up(up::Options),
    /// Run every check: format, lints, unit tests, end-to-end tests. CI runs exactly this
    Test(steps::Options),
    /// Check what neither the compiler nor clippy checks: module docs, file lengths, words, the .proto files,
    /// the tests that SPECIFICATION.md names
    Tidy,
    /// Write docs/cli.md from the programs' own --help
    Docs(docs::Options),
    /// Measure what a decision, a hook and a sandboxed command cost on this machine
    Bench(bench::Options),
    /// Compare the analysis of shell lines with what real bash does, in a sandbox
    Differential(differential::Options),
    /// Prove at length what the tests prove by samples: that a launch fails closed, that nothing is left
    Proof(proof::Options),
    /// Give random bytes to a fuzz target
    Fuzz(fuzz::Options),
    /// Become the given program, and die when the process that started it dies
    #[command(hide = true)]
    Guarded(guard::Options),
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    let result = match arguments.task {
        Task::Up(options) => up::run(&options),
        Task::Test(options) => steps::run(&options),
        Task::Tidy => tidy::run(),
        Task::Docs(options) => docs::run(&options),
        Task::Bench(options) => bench::run(&options),
        Task::Differential(options) => differential::run(&options),
        Task::Proof(options) => proof::run(&options),
        Task::Fuzz(options) => fuzz::run(&options),
        Task::Guarded(options) => guard::run(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            ExitCode::FAILURE
        }
    }
}

/// Prints clap's answer. Whoever names an unknown task also gets the list of those there are.
fn usage(error: &clap::Error) -> ExitCode {
    // Nothing is left to tell if the terminal is gone.
    let _ = error.print();
    if error.kind() == ErrorKind::InvalidSubcommand {
        output::err(&format!("\n{}", Arguments::command().render_help()));
    }
    if error.use_stderr() {
        ExitCode::from(2)
    } else {
        ExitCode::SUCCESS
    }
}
