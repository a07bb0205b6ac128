//! `portcullis sandbox`: trying a policy of the sandbox, and the person's choice whether it stands for questions.
//!
//! The choice counts as far as the team lets it, in every decision; here it is only made, and refused at once where it could have no
//! effect. Taking protection away is asked on the terminal. That is a hurdle and no wall, as a program can make a terminal of its own:
//! what keeps an agent from it is that its call is asked for.

mod profile;
mod trial;

use std::fmt::Write as _;

use clap::{Args, Subcommand};
use portcullis_client::{
    CallError, Host, HostOptions,
    host::{EnforcementStatus, SandboxChoice, SandboxState},
};

use super::{
    args::{Format, HostArgs, PlaceArgs},
    confirm::confirmed,
    failure::Failure,
    output::{self, printable},
};
pub(crate) use profile::ProfileArgs;
pub(crate) use trial::TrialArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    Run(Box<TrialArgs>),
    Profile(ProfileArgs),
    /// The sandbox stands for questions again, in the modes and policies that say so.
    #[command(after_help = "Exit codes: 0 done, 1 failed, 5 portcullis-sandboxd cannot be reached.")]
    Enable(ChoiceArgs),
    /// The sandbox stands for no question any more: what it would have stood for is asked (mode allowlist-sandbox is allowlist).
    ///
    /// Asks for confirmation on the terminal, and refuses where there is none. Commands of `portcullis run` and `exec` keep their
    /// sandbox. Refused where the team's policy sets `sandbox.type`.
    #[command(
        after_help = "Exit codes: 0 done, 1 refused or not confirmed, 5 portcullis-sandboxd or the server cannot be reached."
    )]
    Disable(ChoiceArgs),
    /// Takes the choice back: your documents and the team's count alone.
    ///
    /// Asks for confirmation on the terminal if the choice was to enable, or cannot be read.
    #[command(after_help = "Exit codes: 0 done, 1 failed or not confirmed, 5 portcullis-sandboxd cannot be reached.")]
    Reset(ChoiceArgs),
    /// Says what was chosen, and what holds in this project.
    #[command(
        after_help = "Exit codes: 0 the sandbox is on and fully enforced, 1 it is not (see the output), 5 portcullis-sandboxd cannot \
        be reached."
    )]
    Status(ChoiceArgs),
}

/// For which project, and in which form it is said.
#[derive(Debug, Args)]
pub(crate) struct ChoiceArgs {
    /// The project to look at [default: the repository around the working directory, else that directory].
    #[arg(long, value_name = "DIR")]
    workspace: Option<std::path::PathBuf>,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl ChoiceArgs {
    fn root(&self) -> Result<String, Failure> {
        let place = PlaceArgs {
            cwd: None,
            workspace: self.workspace.clone(),
        };
        Ok(place.find()?.root)
    }
}

pub(crate) async fn main(command: &SandboxCommand, host: &HostArgs) -> Result<u8, Failure> {
    match command {
        SandboxCommand::Run(command) => trial::main(command, host).await,
        SandboxCommand::Profile(command) => profile::main(command, host),
        SandboxCommand::Enable(arguments) => choose(Some(SandboxChoice::Enabled), arguments, host).await,
        SandboxCommand::Disable(arguments) => choose(Some(SandboxChoice::Disabled), arguments, host).await,
        SandboxCommand::Reset(arguments) => choose(None, arguments, host).await,
        SandboxCommand::Status(arguments) => {
            let root = arguments.root()?;
            let host = Host::connect(&host.options(HostOptions::DEADLINE)?).await?;
            let state = host.sandbox_state(&root).await?;
            show(&state, arguments.format)?;
            Ok(u8::from(!is_well(&state)))
        }
    }
}

async fn choose(choice: Option<SandboxChoice>, arguments: &ChoiceArgs, host: &HostArgs) -> Result<u8, Failure> {
    let root = arguments.root()?;
    let host = Host::connect(&host.options(HostOptions::DEADLINE)?).await?;
    if takes_away(choice, &host, &root).await? {
        let question = "Let the sandbox stand for no question any more, in all projects? [yes/no] ";
        let question = if choice.is_none() {
            "Take the choice back? Then your documents decide whether the sandbox stands for questions. [yes/no] "
        } else {
            question
        };
        if !confirmed(question, "only a person can take the sandbox away")? {
            return Err(Failure::text("nothing was changed: not confirmed"));
        }
    }
    let state = host.choose_sandbox(choice, &root).await.map_err(|error| match error {
        CallError::Refused { .. } => Failure::from(error).with_help("ask whoever writes the team's policy"),
        other => other.into(),
    })?;
    show(&state, arguments.format)?;
    if let (Some(SandboxChoice::Disabled), Some(kind)) = (choice, &state.r#type)
        && kind != NONE
    {
        super::attend::tell(&format!(
            "note: it has no effect in this project: a document of yours or of the project says `type`: `{kind}`, which goes before"
        ));
    }
    Ok(0)
}

/// The type that means that the sandbox stands for nothing.
const NONE: &str = "insecure_none";

/// Whether a choice may take protection away.
async fn takes_away(choice: Option<SandboxChoice>, host: &Host, root: &str) -> Result<bool, Failure> {
    Ok(match choice {
        Some(SandboxChoice::Enabled) => false,
        Some(SandboxChoice::Disabled) => true,
        None => reset_takes_away(&host.sandbox_state(root).await?),
    })
}

/// A choice that cannot be read may be anything, one that protects too.
fn reset_takes_away(state: &SandboxState) -> bool {
    state.choice == Some(SandboxChoice::Enabled) || (state.choice.is_none() && state.failure.is_some())
}

fn is_well(state: &SandboxState) -> bool {
    state.enforcement.status == EnforcementStatus::Full
        && state.failure.is_none()
        && state.r#type.as_deref().is_some_and(|kind| kind != NONE)
}

fn show(state: &SandboxState, format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => output::json(state)?,
        Format::Text => output::text(&text(state))?,
    };
    Ok(())
}

fn text(state: &SandboxState) -> String {
    let mut out = String::new();
    let choice = match state.choice {
        None => "none: your documents and the team's decide",
        Some(SandboxChoice::Enabled) => "enabled",
        Some(SandboxChoice::Disabled) => "disabled",
    };
    let _ = writeln!(out, "choice    {choice}");
    let kept = if state.choice.is_some() {
        "kept in"
    } else {
        "would be kept in"
    };
    let _ = writeln!(out, "          {kept} {}", printable(&state.file));
    let kind = match state.r#type.as_deref() {
        None => "not known".to_owned(),
        Some(NONE) => format!("off: it stands for no question (`type`: `{NONE}`)"),
        Some(kind) => format!(
            "on: it stands for questions where the mode says so (`type`: `{}`)",
            printable(kind)
        ),
    };
    let _ = writeln!(out, "here      {kind}");
    let team = match &state.team_type {
        None => "says nothing".to_owned(),
        Some(kind) => format!("says `type`: `{}`, and nobody goes beyond", printable(kind)),
    };
    let _ = writeln!(out, "team      {team}");
    let trials = match state.trials_allowed {
        None => "not known",
        Some(true) => "allowed",
        Some(false) => "forbidden by the team",
    };
    let _ = writeln!(out, "trials    {trials} (`portcullis sandbox run`)");
    let enforced = match state.enforcement.status {
        EnforcementStatus::Full => "in full",
        EnforcementStatus::Partial => "in part",
        EnforcementStatus::None => "not at all",
    };
    let _ = writeln!(out, "enforced  {enforced} (tier `{}`)", state.enforcement.tier);
    let enforcement = &state.enforcement;
    for missing in enforcement.missing.iter().chain(&enforcement.unheld_limits) {
        let _ = writeln!(out, "          missing: {}", printable(missing));
    }
    if let Some(failure) = &state.failure {
        let _ = writeln!(out, "note      {}", printable(failure));
    }
    out
}
