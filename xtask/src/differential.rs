//! `cargo xtask differential`: compares the analysis of shell lines with real bash, for as long as one likes.
//!
//! Builds the programs and hands over. The lines run in Portcullis' own sandbox; see `tests/differential`.

use std::{ffi::OsString, process::Command};

use crate::{
    failure::{Failure, Result},
    toolchain,
};

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Options for the program: `--count N`, `--seed S`, `--minutes M`, `--resume FILE`, `--line TEXT`; see its `--help`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<OsString>,
}

/// Runs the task.
pub(crate) fn run(options: &Options) -> Result<()> {
    toolchain::require_compilers()?;
    let mut build = toolchain::cargo()?;
    build.args([
        "build",
        "--locked",
        "-p",
        "portcullis-sandboxd",
        "-p",
        "portcullis-differential",
        "--bins",
    ]);
    finish("cargo build", &mut build)?;
    let mut run = toolchain::cargo()?;
    run.args([
        "run",
        "--quiet",
        "--locked",
        "-p",
        "portcullis-differential",
        "--bin",
        "portcullis-differential",
        "--",
    ])
    .args(&options.rest);
    finish("the comparison with bash", &mut run)
}

fn finish(what: &str, command: &mut Command) -> Result<()> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::new(format!("{what} failed ({status})"))),
        Err(cause) => Err(Failure::io(format!("cannot start {what}"), &cause)),
    }
}
