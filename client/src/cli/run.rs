//! `portcullis run`: decides, and runs what is allowed in the sandbox, as if it had been started here.
//!
//! Bytes pass through in both directions without being collected: a slow reader slows the command, a command that does not
//! read slows whoever writes to it.

use portcullis_client::{Host, HostOptions, Question, Running, run::Here};
use portcullis_policy::{redact, shell};

use super::{
    args::{HostArgs, PlaceArgs, RunArgs},
    attend::{self, Signals, Streams},
    decide,
    failure::Failure,
    output::printable,
};

/// Exit code: the answer was ask or deny.
pub(super) const NOT_ALLOWED: u8 = 126;

/// Exit code: it could not be run.
pub(super) const FAILED: u8 = 125;

pub(crate) async fn main(command: &RunArgs, host: &HostArgs) -> Result<u8, Failure> {
    let argv = decide::words(&command.argv)?;
    let place = command.place.find()?;
    let shown = redact::text(&shell::quote(&argv));
    let words = argv.clone();
    let mut question = Question::command("cli", &place.cwd, argv, command.timeout);
    question.roots = vec![place.root];
    command.session.apply(&mut question)?;
    let host = Host::connect(&host.options(HostOptions::DEADLINE)?).await?;
    let answer = host.decide(&question).await?;
    let decision_id = answer.decision_id.clone();
    let permit = match answer.into_permit() {
        Ok(permit) => permit,
        Err(answer) => return Ok(refused(&answer, &shown)),
    };
    // Signals are caught before the command starts, so that none ends this program and leaves the command behind.
    let signals = Signals::new()?;
    let (running, streams): (Running, Streams) = if command.tty {
        let running = host
            .run_here(permit, std::env::vars_os(), false, Here::OwnTerminal)
            .await?;
        (running, Streams::OwnTerminal)
    } else {
        (host.run(permit, std::env::vars_os()).await?, Streams::AsMessages)
    };
    let ended = attend::to_the_end(running, signals, streams, |_| {}).await?;
    Ok(match ended {
        Ok(outcome) => {
            let code = attend::code(&outcome);
            if let (Some(id), false, true) = (&decision_id, outcome.refusals.is_empty(), code != 0) {
                attend::tell(&retry_hint(id, &command.place, &words));
            }
            code
        }
        Err(code) => code,
    })
}

/// How to ask about the same command outside of the sandbox. The same place and words, for else it is another command.
fn retry_hint(decision_id: &str, place: &PlaceArgs, words: &[String]) -> String {
    let mut asking: Vec<String> = ["portcullis", "decide", "--retry-of", decision_id]
        .map(str::to_owned)
        .into();
    for (option, folder) in [("--cwd", &place.cwd), ("--workspace", &place.workspace)] {
        if let Some(folder) = folder {
            asking.extend([option.to_owned(), folder.to_string_lossy().into_owned()]);
        }
    }
    let line = shell::quote(words);
    // What is shown may be copied elsewhere, and a mark in the place of a secret or of a newline would make another command of it.
    let rest = if redact::text(&line) != line || printable(&line) != line {
        "…` with the same words".to_owned()
    } else {
        // A single word with blanks would be taken as a shell line.
        match words {
            [word] if word.contains(char::is_whitespace) => format!("{}`", shell::quote(&[line])),
            _ => format!("{line}`"),
        }
    };
    format!(
        "to ask about it outside of the sandbox, with this run as the evidence: `{} -- {rest}",
        shell::quote(&asking)
    )
}

/// Shows an answer that is no permission. Nobody decided, or somebody did not allow it: a script must be able to tell.
pub(super) fn refused(answer: &portcullis_client::Answer, shown: &str) -> u8 {
    use std::io::Write as _;
    let _ = anstream::stderr().write_all(decide::text(answer, shown).as_bytes());
    if decide::undecided(answer) { FAILED } else { NOT_ALLOWED }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(words: &[&str], cwd: Option<&str>) -> String {
        let words: Vec<_> = words.iter().map(ToString::to_string).collect();
        let place = PlaceArgs {
            cwd: cwd.map(Into::into),
            workspace: None,
        };
        retry_hint("ID", &place, &words)
    }

    #[test]
    fn the_hint_asks_about_the_same_command() {
        let told = hint(&["sh", "-c", "echo x > /y"], Some("/a b"));
        assert!(
            told.ends_with("`portcullis decide --retry-of ID --cwd '/a b' -- sh -c 'echo x > /y'`"),
            "{told}"
        );
        // As `decide` reads it: one word with blanks is a line, and this line is the one word.
        let told = hint(&["a b"], None);
        assert!(
            told.ends_with(&format!("-- {}`", shell::quote(&[shell::quote(&["a b"])]))),
            "{told}"
        );
    }

    #[test]
    fn what_cannot_be_shown_is_not_shown_wrong() {
        for words in [
            &["curl", "-H", "Authorization: Bearer abcdefghijklmnop1234"][..],
            &["echo", "a\nb"],
        ] {
            let told = hint(words, None);
            assert!(told.ends_with("-- …` with the same words"), "{told}");
        }
    }
}
