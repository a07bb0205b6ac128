//! `portcullis run`: decides, and runs what is allowed in the sandbox, as if it had been started here.
//!
//! Bytes pass through in both directions without being collected: a slow reader slows the command, a command that does not
//! read slows whoever writes to it.

use portcullis_client::{Host, HostOptions, Question, Running};

use super::{
    args::{HostArgs, RunArgs},
    attend::{self, Signals, Streams},
    decide,
    failure::Failure,
};

/// Exit code: the answer was ask or deny.
pub(super) const NOT_ALLOWED: u8 = 126;

/// Exit code: it could not be run.
pub(super) const FAILED: u8 = 125;

pub(crate) async fn main(command: &RunArgs, host: &HostArgs) -> Result<u8, Failure> {
    let argv = decide::words(&command.argv)?;
    let place = command.place.find()?;
    let shown = portcullis_policy::redact::text(&portcullis_policy::shell::quote(&argv));
    let mut question = Question::command("cli", &place.cwd, argv, command.timeout);
    question.roots = vec![place.root];
    command.session.apply(&mut question)?;
    let host = Host::connect(&host.options(HostOptions::DEADLINE)?).await?;
    let answer = host.decide(&question).await?;
    let permit = match answer.into_permit() {
        Ok(permit) => permit,
        Err(answer) => return Ok(refused(&answer, &shown)),
    };
    // Signals are caught before the command starts, so that none ends this program and leaves the command behind.
    let signals = Signals::new()?;
    let running: Running = host.run(permit, std::env::vars_os()).await?;
    let ended = attend::to_the_end(running, signals, Streams::AsMessages, |_| {}).await?;
    Ok(match ended {
        Ok(outcome) => attend::code(&outcome),
        Err(code) => code,
    })
}

/// Shows an answer that is no permission. Nobody decided, or somebody did not allow it: a script must be able to tell.
pub(super) fn refused(answer: &portcullis_client::Answer, shown: &str) -> u8 {
    use std::io::Write as _;
    let _ = anstream::stderr().write_all(decide::text(answer, shown).as_bytes());
    if decide::undecided(answer) { FAILED } else { NOT_ALLOWED }
}
