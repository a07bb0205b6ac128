//! `cargo xtask proof`: proofs that take longer than a test run, and go on where they were interrupted.
//!
//! The tests of every day take a sample of the same; see `sandboxd/tests/faults` and `sandboxd/tests/soak.rs`.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::{
    failure::{Failure, Result},
    toolchain,
};

/// What is proved.
#[derive(Clone, Copy, ValueEnum)]
enum What {
    /// Each system call of a launch fails in turn, and each process of it dies at each of them
    Faults,
    /// Thousands of commands in a row leave nothing behind
    Soak,
}

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// What is proved
    what: What,
    /// Folder that keeps how far it has come; a later call with it goes on there [default: a new one in the target directory]
    #[arg(long, value_name = "FOLDER")]
    resume: Option<PathBuf>,
    /// Commands, for `soak`, in all
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    commands: usize,
}

/// Runs the task.
pub(crate) fn run(options: &Options) -> Result<()> {
    toolchain::require_compilers()?;
    let target = toolchain::target_directory()?;
    let folder = options
        .resume
        .clone()
        .unwrap_or_else(|| target.join("proof").join(std::process::id().to_string()));
    let failed = |cause: &std::io::Error| Failure::io(format!("cannot make `{}`", folder.display()), cause);
    std::fs::create_dir_all(&folder).map_err(|cause| failed(&cause))?;
    let folder = folder.canonicalize().map_err(|cause| failed(&cause))?;
    let test = match options.what {
        What::Faults => "faults",
        What::Soak => "soak",
    };
    let mut command = toolchain::cargo()?;
    command
        .args(["test", "--locked", "-p", "portcullis-sandboxd", "--test", test, "--"])
        .args(["--nocapture", "--test-threads", "1"])
        .env("PORTCULLIS_PROOF", &folder)
        .env("PORTCULLIS_PROOF_COMMANDS", options.commands.to_string());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::new(format!("the proof failed ({status})"))),
        Err(cause) => Err(Failure::io("cannot start the proof", &cause)),
    }
}
