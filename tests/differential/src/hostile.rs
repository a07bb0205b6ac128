//! How long the analysis and the decision take for lines that were written to make them slow.
//!
//! The bounds are counted in steps, and tests hold them; this says what the steps cost on a machine.

use std::time::Duration;

use portcullis_policy::{EffectiveRuleset, Request, Verdict, cases::rows, evaluate};

use crate::compare;

/// How long the lines are: the longest that is analysed, and shorter ones, which may end before the budget does.
const BYTES: [usize; 6] = [1 << 12, 1 << 14, 1 << 15, 1 << 16, 1 << 18, 1 << 20];

/// The rules beside which each line is decided: what teams deny, and what people allow.
const RULES: &str = r#"{"allow": ["Bash(npm run:*)", "Bash(cargo:*)", "Bash(git status:*)", "Read(src/**)"],
    "ask": ["Bash(git push:*)"], "deny": ["Read(.env)", "Read(**/secrets/**)", "Read(~/.ssh/**)", "Bash(curl:*)", "Bash(rm -rf:*)", "WebFetch(domain:evil.example)"]}"#;

/// One kind of line, in the length that takes longest to decide.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What it is.
    pub name: String,
    /// How long the line is, in bytes.
    pub bytes: usize,
    /// The shortest of three times of the analysis alone.
    pub analysed: Duration,
    /// The shortest of three times of the whole decision.
    pub decided: Duration,
    /// What was decided.
    pub verdict: Verdict,
    /// How many commands were found.
    pub commands: usize,
}

/// Measures all kinds, and hands each over as soon as it is known.
///
/// # Errors
/// If `kinds` is no list of names, beginnings and repeated parts.
pub fn measure(kinds: &str, mut shown: impl FnMut(Measured)) -> Result<(), String> {
    let kinds: Vec<(String, String, String)> =
        serde_json::from_str(kinds).map_err(|error| format!("the list of lines is broken: {error}"))?;
    for (name, head, part) in kinds {
        let lengths: Result<Vec<_>, String> = BYTES.iter().map(|bytes| one(&name, *bytes, &head, &part)).collect();
        if let Some(worst) = lengths?.into_iter().max_by_key(|measured| measured.decided) {
            shown(worst);
        }
    }
    Ok(())
}

fn one(name: &str, bytes: usize, head: &str, part: &str) -> Result<Measured, String> {
    let line = format!(
        "{head}{}",
        part.repeat(bytes.saturating_sub(head.len()) / part.len().max(1))
    );
    let (ruleset, request) = call(&line)?;
    let mut measured = Measured {
        name: name.to_owned(),
        bytes,
        analysed: Duration::MAX,
        decided: Duration::MAX,
        verdict: Verdict::Deny,
        commands: 0,
    };
    for _ in 0..3 {
        let begin = worked()?;
        measured.commands = compare::analysed(&line, "/w").commands.len();
        measured.analysed = measured.analysed.min(worked()?.saturating_sub(begin));
        let begin = worked()?;
        measured.verdict = evaluate(&ruleset, &request).verdict;
        measured.decided = measured.decided.min(worked()?.saturating_sub(begin));
    }
    Ok(measured)
}

/// How long this thread has worked, by the kernel's account: what else the machine does counts for nothing.
fn worked() -> Result<Duration, String> {
    let file = "/proc/thread-self/schedstat";
    let text = std::fs::read_to_string(file).map_err(|error| format!("cannot read `{file}`: {error}"))?;
    let first = text.split(' ').next().and_then(|nanoseconds| nanoseconds.parse().ok());
    first
        .map(Duration::from_nanos)
        .ok_or_else(|| format!("`{file}` says `{text}`, which is no time"))
}

/// The line as an agent's call, and the rules in force.
fn call(line: &str) -> Result<(EffectiveRuleset, Request), String> {
    let rules: serde_json::Value = serde_json::from_str(RULES).map_err(|error| format!("the rules: {error}"))?;
    let row = serde_json::json!({
        "id": "hostile", "source": "portcullis", "mode": "bypass", "rules": rules, "format": "claude",
        "cwd": "/home/dev/proj", "home": "/home/dev", "expect": "not_allow", "why": "",
        "call": {"tool": "Bash", "command": line},
    })
    .to_string();
    let row = rows::read(&row).into_iter().next().ok_or("no case came of a line")?;
    let case = row.case.map_err(|fault| fault.to_string())?;
    let trusted = case.request.facts.project_trusted;
    Ok((EffectiveRuleset::merge(&case.documents, trusted), case.request))
}
