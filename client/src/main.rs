//! The program `portcullis`: asks for decisions, answers agents' hooks, runs allowed commands, administers policy.
//!
//! Read [`cli`] for what can be asked on the command line. Nothing is decided here: the program asks, shows, and obeys.
#![forbid(unsafe_code)]

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(cli::main())
}
