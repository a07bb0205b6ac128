//! `portcullis decide`: shows a decision as a person reads it, what was seen inside the call included.

use std::{ffi::OsString, fmt::Write as _};

use portcullis_client::{Answer, DecidedBy, Host, HostOptions, Question, RuleRef, TraceEntry, Verdict};
use portcullis_policy::{redact, shell};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    args::{CallArgs, Format, HostArgs},
    explain,
    failure::Failure,
    output::{self, printable, verdict},
};

/// Column at which the reason of a line begins, counted from the verdict.
const COLUMN: usize = 34;

/// What is wanted of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// The decision.
    Decision,
    /// The decision, and a ticket with it.
    Ticket,
    /// What it would be, and why.
    Explanation,
}

pub(crate) async fn main(command: &CallArgs, wish: Wish, host: &HostArgs) -> Result<u8, Failure> {
    let explain = wish == Wish::Explanation;
    let place = command.place.find()?;
    let (mut question, shown) = match (&command.tool, &command.input) {
        (Some(tool), Some(text)) => {
            let input: Map<String, Value> = serde_json::from_str(text)
                .map_err(|error| Failure::usage_text(format!("`--input` is not a JSON object: {error}")))?;
            let shown = format!("{tool} {}", redact::json(&Value::Object(input.clone())));
            (Question::tool(&command.agent, &place.cwd, tool, input), shown)
        }
        _ if wish == Wish::Ticket => {
            let argv = words(&command.argv)?;
            let shown = redact::text(&shell::quote(&argv));
            (Question::command(&command.agent, &place.cwd, argv, None), shown)
        }
        _ => {
            let line = line(&command.argv)?;
            // What is shown may be copied elsewhere, and what the server answers is redacted, too.
            (Question::shell(&command.agent, &place.cwd, &line), redact::text(&line))
        }
    };
    question.roots = vec![place.root];
    if let Some(before) = &command.retry_of {
        question = question.retrying(before);
    }
    command.session.apply(&mut question)?;
    let host = Host::connect(&host.options(HostOptions::DEADLINE)?).await?;
    let answer = if explain {
        host.explain(&question).await?
    } else {
        host.decide(&question).await?
    };
    let handle = answer.permit().map(portcullis_client::Permit::handle);
    match command.format {
        Format::Json => output::json(&WithTicket {
            answer: &answer,
            ticket: handle.as_deref(),
        })?,
        Format::Text => match &answer.explanation {
            Some(explanation) => output::text(&explain::text(&answer, explanation, &shown))?,
            None => {
                let ticket = handle.map(|handle| format!("      ticket: {handle}\n"));
                output::text(&(text(&answer, &shown) + &ticket.unwrap_or_default()))?
            }
        },
    };
    Ok(code(&answer, explain))
}

/// An answer with the handle of its ticket.
#[derive(Serialize)]
struct WithTicket<'a> {
    #[serde(flatten)]
    answer: &'a Answer,
    #[serde(skip_serializing_if = "Option::is_none")]
    ticket: Option<&'a str>,
}

/// The words of a command, or a shell line where a single word holds blanks.
fn line(argv: &[OsString]) -> Result<String, Failure> {
    let words = words(argv)?;
    Ok(match words.as_slice() {
        [line] if line.contains(char::is_whitespace) => line.clone(),
        words => shell::quote(words),
    })
}

/// The words as text, which is how they travel.
pub(crate) fn words(argv: &[OsString]) -> Result<Vec<String>, Failure> {
    argv.iter()
        .map(|word| match word.to_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(
                Failure::usage_text(format!("the argument `{}` is not UTF-8", word.to_string_lossy()))
                    .with_help("a decision is about text; put such words into a script file and run that"),
            ),
        })
        .collect()
}

/// Whether an answer is no decision at all: it comes out of a failure and is not on record.
pub(super) fn undecided(answer: &Answer) -> bool {
    answer.decided_by == DecidedBy::Failure && answer.decision_id.is_none()
}

/// The exit code of a decision. An answer that is neither recorded nor an explanation came about because nothing could be
/// decided.
fn code(answer: &Answer, explained: bool) -> u8 {
    let undecided = undecided(answer) && !explained;
    match answer.verdict() {
        _ if undecided => 5,
        Verdict::Allow => 0,
        Verdict::Ask => 3,
        Verdict::Deny => 4,
    }
}

/// The decision for people. `asked` is the call as it was asked about.
pub(crate) fn text(answer: &Answer, asked: &str) -> String {
    let mut out = String::new();
    let deciding = answer.trace.first();
    let subject = deciding.map_or(asked, |entry| &entry.subject);
    let subject = if subject.is_empty() { asked } else { subject };
    let because = match (&answer.rule, answer.decided_by) {
        (Some(rule), _) => rule_text(rule),
        (None, by) => format!("by {by}"),
    };
    put(&mut out, "", 2, Some(answer.verdict()), subject, &because);
    if subject != asked {
        let _ = writeln!(out, "      seen inside: {}", printable(asked));
    }
    if let Some(entry) = deciding.filter(|entry| !entry.seen_through.is_empty()) {
        let _ = writeln!(out, "      by way of: {}", printable(&entry.seen_through.join(" > ")));
    }
    if !answer.user_message.is_empty() {
        let _ = writeln!(out, "      why: {}", printable(&answer.user_message));
    }
    if answer.trace.len() > 1 {
        let _ = writeln!(out, "      parts:");
        for entry in &answer.trace {
            let width = entry.verdict.map_or(1, |verdict| verdict.to_string().len());
            let gap = 7_usize.saturating_sub(width);
            put(
                &mut out,
                "        ",
                gap,
                entry.verdict,
                &entry.subject,
                &part_text(entry),
            );
        }
    }
    if answer.verdict() != Verdict::Allow {
        // The agent's message often begins with the person's, which is shown already.
        let rest = answer.agent_message.strip_prefix(&answer.user_message);
        let help = rest
            .unwrap_or(&answer.agent_message)
            .trim_start_matches(['.', ':', ';', ' ']);
        if !help.is_empty() {
            let _ = writeln!(out, "      help: {}", printable(help));
        }
        if let Some(rule) = answer.suggested_rules.first() {
            let _ = writeln!(
                out,
                "      help: to allow it from now on, add the rule `{}` to .portcullis/local.jsonc",
                printable(rule)
            );
            explain::put_examples(&mut out, "            ", rule);
        }
    }
    if answer.decision_id.is_none() && answer.decided_by == DecidedBy::Failure {
        let _ = writeln!(out, "      note: this is not recorded");
    }
    out
}

/// One line: the verdict, `gap` blanks, the subject, the reason in its column.
pub(super) fn put(out: &mut String, indent: &str, gap: usize, of: Option<Verdict>, subject: &str, because: &str) {
    let subject = printable(subject);
    let word = verdict(of);
    let fill = COLUMN.saturating_sub(6 + subject.chars().count()).max(2);
    let _ = writeln!(
        out,
        "{indent}{word}{:gap$}{subject}{:fill$}{}",
        "",
        "",
        printable(because)
    );
}

fn part_text(entry: &TraceEntry) -> String {
    match (&entry.rule, entry.decided_by) {
        (Some(rule), _) => rule_text(rule),
        (None, _) if !entry.reason.is_empty() => entry.reason.clone(),
        (None, Some(by)) => format!("by {by}"),
        (None, None) => String::new(),
    }
}

/// A rule with the place where a person finds it.
pub(crate) fn rule_text(rule: &RuleRef) -> String {
    let mut text = String::from("rule ");
    if !rule.name.is_empty() {
        let _ = write!(text, "`{}` ", rule.name);
    }
    let _ = write!(text, "`{}` (", rule.text);
    match rule.layer {
        Some(layer) => {
            let _ = write!(text, "{layer}");
        }
        None => text.push_str("unknown layer"),
    }
    if !rule.document.is_empty() {
        let _ = write!(text, ", {}", rule.document);
    }
    if rule.line > 0 {
        let _ = write!(text, ":{}", rule.line);
    }
    text.push(')');
    text
}
