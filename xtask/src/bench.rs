//! `cargo xtask bench`: what a decision, a hook and a sandboxed command cost on this machine.

use crate::failure::Result;

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Options {}

/// Runs the task.
pub(crate) fn run(_options: &Options) -> Result<()> {
    Ok(())
}
