//! `cargo xtask fuzz`: gives random bytes to a target under `fuzz/`, for as long as one likes.
//!
//! What libFuzzer learns stays in `fuzz/corpus`, so a later run goes on where an earlier one stopped. It needs `cargo-fuzz`
//! and a nightly toolchain; that the targets compile and hold for their seeds, `cargo xtask test` checks without either.

use std::process::Command;

use crate::{
    failure::{Failure, Result},
    output, toolchain,
};

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Which target: a name under `fuzz/fuzz_targets`
    #[arg(long)]
    target: String,
    /// How long
    #[arg(long, default_value_t = 60)]
    minutes: u64,
}

/// Runs the task.
pub(crate) fn run(options: &Options) -> Result<()> {
    if !toolchain::answers("cargo", &["fuzz", "--version"]) {
        return Err(Failure::new("cargo-fuzz is not installed").help("install it with `cargo install cargo-fuzz`"));
    }
    let mut seeds = toolchain::cargo()?;
    seeds.args([
        "run",
        "--quiet",
        "--locked",
        "--manifest-path",
        MANIFEST,
        "--no-default-features",
        "--example",
        "seeds",
    ]);
    seeds.arg("--target-dir").arg(toolchain::target_directory()?);
    finish("collecting the seeds", &mut seeds)?;
    output::err(&format!("fuzzing `{}` for {} minutes", options.target, options.minutes));
    // Through the shim of rustup, because a nightly toolchain has to take the place of the one that built us.
    let mut run = Command::new("cargo");
    run.current_dir(toolchain::root()?);
    // Without a sanitizer: all of our code is free of `unsafe`, and twice as many inputs are tried.
    run.args(["+nightly", "fuzz", "run", "--sanitizer", "none", &options.target, "--"]);
    run.arg(format!("-max_total_time={}", options.minutes * 60));
    run.args(["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"]);
    finish("the fuzzer", &mut run)
}

/// The manifest of the targets, below the root.
pub(crate) const MANIFEST: &str = "fuzz/Cargo.toml";

fn finish(what: &str, command: &mut Command) -> Result<()> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::new(format!("{what} failed ({status})"))),
        Err(cause) => Err(Failure::io(format!("cannot start {what}"), &cause)),
    }
}
