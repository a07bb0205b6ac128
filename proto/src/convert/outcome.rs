//! How a run ended, checked: a host's report, or the last message of a run.
//!
//! It does not say whether the run was right.

use super::{InvalidMessage, check, time::duration_from_wire, words::sandbox_offer_from_wire};
use crate::v1;

/// Most mechanisms, and most missing ones, that an enforcement lists; most refusals and warnings of an outcome.
const MAX_LINES: usize = 64;

/// Longest of their texts, in bytes.
const MAX_LINE: usize = 1024;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The program ended by itself with this status.
    ExitCode(u8),
    /// A signal killed it: 1 to 64.
    Signal(u8),
    /// It never started: why.
    NotStarted(String),
}

/// Checks an outcome.
///
/// # Errors
/// Names the first field that is missing, too long, or of the wrong form.
pub fn outcome_from_wire(outcome: &v1::Outcome) -> Result<Ended, InvalidMessage> {
    use v1::outcome::End;
    let ended = match check::present("outcome.end", outcome.end.as_ref())? {
        End::ExitCode(code) => {
            let code = u8::try_from(*code);
            Ended::ExitCode(code.map_err(|_| InvalidMessage::new("outcome.exit_code", "is above 255"))?)
        }
        End::Signal(number) => {
            let number = u8::try_from(*number).ok().filter(|number| (1..=64).contains(number));
            Ended::Signal(number.ok_or_else(|| InvalidMessage::new("outcome.signal", "is no signal: 1 to 64"))?)
        }
        End::NotStarted(why) => {
            check::length("outcome.not_started", why, 4096)?;
            Ended::NotStarted(why.clone())
        }
    };
    if let Some(duration) = &outcome.duration {
        duration_from_wire("outcome.duration", duration)?;
    }
    if let Some(enforcement) = &outcome.enforcement {
        sandbox_offer_from_wire(enforcement.status).map_err(|invalid| invalid.at("outcome.enforcement.status"))?;
        for (field, lines) in [
            ("outcome.enforcement.mechanisms", &enforcement.mechanisms),
            ("outcome.enforcement.missing", &enforcement.missing),
            ("outcome.enforcement.unheld_limits", &enforcement.unheld_limits),
        ] {
            check::count(field, lines, MAX_LINES)?;
            for (at, line) in lines.iter().enumerate() {
                check::length(&format!("{field}[{at}]"), line, MAX_LINE)?;
            }
        }
    }
    check::count("outcome.refusals", &outcome.refusals, MAX_LINES)?;
    for (at, refusal) in outcome.refusals.iter().enumerate() {
        for (field, text) in [
            ("subject", &refusal.subject),
            ("reason", &refusal.reason),
            ("remedy", &refusal.remedy),
        ] {
            check::length(&format!("outcome.refusals[{at}].{field}"), text, MAX_LINE)?;
        }
    }
    check::count("outcome.warnings", &outcome.warnings, MAX_LINES)?;
    for (at, line) in outcome.warnings.iter().enumerate() {
        check::length(&format!("outcome.warnings[{at}]"), line, MAX_LINE)?;
    }
    if !["", "timeout", "disconnect", "shutdown", "crash"].contains(&outcome.ended_by.as_str()) {
        let fault = "is not timeout, disconnect, shutdown, crash or empty";
        return Err(InvalidMessage::new("outcome.ended_by", fault));
    }
    Ok(ended)
}

/// The exit status that stands for an end, as a shell gives it: the program's own, 128 and the signal, or 125 for a
/// program that never started.
#[must_use]
pub fn exit_status(ended: &Ended) -> u8 {
    match ended {
        Ended::ExitCode(code) => *code,
        Ended::Signal(number) => 128_u8.saturating_add(*number),
        Ended::NotStarted(_) => 125,
    }
}

#[cfg(test)]
mod tests {
    use super::{v1::outcome::End, *};

    fn read(end: Option<End>) -> Result<Ended, InvalidMessage> {
        outcome_from_wire(&v1::Outcome {
            end,
            ..Default::default()
        })
    }

    #[test]
    fn ends_are_read_and_have_a_status() {
        for (end, status) in [
            (End::ExitCode(0), 0),
            (End::ExitCode(255), 255),
            (End::Signal(9), 137),
            (End::NotStarted("no such program".into()), 125),
        ] {
            assert_eq!(exit_status(&read(Some(end)).unwrap()), status);
        }
    }

    #[test]
    fn what_is_no_end_is_refused() {
        assert_eq!(read(None).unwrap_err().field, "outcome.end");
        assert_eq!(read(Some(End::ExitCode(256))).unwrap_err().field, "outcome.exit_code");
        for number in [0, 65, u32::MAX] {
            assert_eq!(read(Some(End::Signal(number))).unwrap_err().field, "outcome.signal");
        }
        let long = read(Some(End::NotStarted("x".repeat(5000))));
        assert_eq!(long.unwrap_err().field, "outcome.not_started");
        let lengthy = v1::Outcome {
            end: Some(End::ExitCode(1)),
            refusals: vec![v1::SandboxRefusal {
                subject: "x".repeat(1025),
                ..Default::default()
            }],
            ..Default::default()
        };
        let fault = outcome_from_wire(&lengthy).unwrap_err();
        assert_eq!(fault.field, "outcome.refusals[0].subject");
        let many = v1::Outcome {
            end: Some(End::ExitCode(1)),
            warnings: vec!["x".to_owned(); 65],
            ..Default::default()
        };
        assert_eq!(outcome_from_wire(&many).unwrap_err().field, "outcome.warnings");
        let odd = v1::Outcome {
            end: Some(End::ExitCode(0)),
            ended_by: "magic".into(),
            ..Default::default()
        };
        assert_eq!(outcome_from_wire(&odd).unwrap_err().field, "outcome.ended_by");
    }
}
