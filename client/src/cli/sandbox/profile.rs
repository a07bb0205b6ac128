//! `portcullis sandbox profile`: the sandbox of macOS as a text, for people who want to read what it would say.
//!
//! `portcullis-sandboxd` writes it, as for a run; this becomes that program.

use std::{ffi::OsString, os::unix::process::CommandExt as _, path::PathBuf, process::Command};

use clap::Args;

use super::super::{
    args::{Format, HostArgs, PlaceArgs},
    failure::Failure,
};

/// Prints the Seatbelt profile that a command would get on macOS with this policy in this workspace.
///
/// It can be read on any system, and is used on macOS only. Nothing is run, asked or recorded, and the team's policy is not looked
/// at: without a policy file the workspace is writable but for protected paths, and there is no network. Which hosts may be reached
/// does not stand in the profile: it lets nothing be reached but Portcullis' filter, which knows them.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: portcullis sandbox profile --policy sandbox.json > profile.sb\n\nExit codes: 0 printed, 1 there could be no such \
    sandbox, 2 wrong usage or faults in the policy file."
)]
pub(crate) struct ProfileArgs {
    /// Policy file, with the keys of sandbox.json.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Root of the workspace [default: the repository around the working directory, else that directory].
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Form of the output: with json one object, which holds the profile, the arguments of sandbox-exec and the names of the variables
    /// that are set, too.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn main(command: &ProfileArgs, host: &HostArgs) -> Result<u8, Failure> {
    let place = PlaceArgs {
        cwd: None,
        workspace: command.workspace.clone(),
    };
    let place = place.find()?;
    let beside = std::env::current_exe().and_then(|program| program.canonicalize());
    let program = beside
        .map_err(|cause| Failure::io("cannot tell where this program is", cause))?
        .with_file_name("portcullis-sandboxd");
    let mut words: Vec<OsString> = vec!["profile".into(), "--workspace".into(), place.root.into()];
    words.extend(["--data-dir".into(), host.places()?.data().into()]);
    if let Some(policy) = &command.policy {
        words.extend(["--policy".into(), policy.into()]);
    }
    if command.format == Format::Json {
        words.push("--json".into());
    }
    let cause = Command::new(&program).args(words).exec();
    Err(Failure::io(format!("cannot execute `{}`", program.display()), cause))
}
