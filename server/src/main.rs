#![forbid(unsafe_code)]
//! The program `portcullis-server`: arguments, configuration, then serve or show. All else is in the library.

use std::process::ExitCode;

use clap::Parser as _;
use portcullis_server::{
    cli::{Cli, Command, ConfigCommand},
    run, verify,
};

/// A decision makes and drops many small texts, which is what this one is fast at (`docs/decisions/0072-the-allocator.md`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Serve(settings) => run::serve(&run::sources(&settings.into())),
        Command::Verify(arguments) => match verify::run(arguments) {
            Ok(true) => Ok(()),
            Ok(false) => return ExitCode::FAILURE,
            Err(error) => Err(error),
        },
        Command::Config(ConfigCommand::Show(settings)) => run::show_config(&run::sources(&settings.into())),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}
