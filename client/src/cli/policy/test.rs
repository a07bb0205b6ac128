//! `portcullis policy test`: runs tests of a policy through the engine that the server uses.
//!
//! Needs no server and no data directory. What cannot be read counts as failed and says why, and what cannot be sent to a
//! server is counted and named; nothing is passed over in silence.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::Write as _,
    path::{Path, PathBuf},
};

use annotate_snippets::Level;
use clap::Args;
use portcullis_policy::{
    Action, Decision, PolicyDocument, RuleRef, TraceEntry,
    cases::{
        Case, Coverage,
        file::{self, PolicyFile},
        rows,
    },
    redact,
};
use serde::Serialize;

use super::through::{Through, missing_program};
use crate::cli::{
    args::{Format, HostArgs},
    failure::Failure,
    faults::render,
    files,
    output::{self, printable},
};

/// Tests a policy: runs calls with their right decisions through the engine that the server uses.
///
/// A FILE is a test file in TOML, or JSON Lines with one case a line; `-` is stdin. Each case that comes out otherwise is
/// shown with the parts of the call and what decided them. A case that cannot be read, or whose format this version does not
/// know, counts as failed. Neither a server nor a data directory is needed.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 all passed, 1 a case failed, 2 a file cannot be read, has faults or holds no case. \
    With --server also 3: none failed, but one was not sent; and 5: portcullis-sandboxd or the server cannot be reached."
)]
pub(crate) struct TestArgs {
    /// Files with tests; `-` = stdin.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Send each case through portcullis-sandboxd and the server instead of judging it here, below a temporary folder; they
    /// must agree. Each is recorded, and the policies of the team and of this person are in force, too. A case that states
    /// facts of a host (programs, repository, sandbox, failures) or rules of the team is not sent, which is counted and said.
    #[arg(long)]
    server: bool,
    /// Print nothing but the summary.
    #[arg(long)]
    quiet: bool,
    /// Form of the output: with json, one object for each case and one for the summary, one a line.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Largest file of rows, in bytes.
const MAX_ROWS: u64 = 256 * 1024 * 1024;

pub(crate) async fn main(command: &TestArgs, host: &HostArgs) -> Result<u8, Failure> {
    let through = if command.server {
        Some(Through::connect(host).await?)
    } else {
        None
    };
    let mut run = Run::new(command, through);
    let mut result = Ok(());
    for path in &command.files {
        result = run.file(path).await;
        if result.is_err() {
            break;
        }
    }
    // Whatever happened, nothing stays behind.
    if let Some(through) = run.through.take() {
        result = result.and(through.finish().await);
    }
    result?;
    run.finish()
}

struct Run<'a> {
    command: &'a TestArgs,
    passed: usize,
    failed: usize,
    /// Not to be made real for a server.
    not_sent: usize,
    /// A file that cannot be read.
    unreadable: bool,
    coverage: Coverage,
    /// Instead of judging here.
    through: Option<Through>,
}

/// One case in JSON: a stable contract.
#[derive(Serialize)]
struct CaseLine<'a> {
    kind: &'static str,
    file: &'a str,
    line: u32,
    name: &'a str,
    passed: bool,
    mismatches: &'a [String],
    why: &'a str,
    /// Why the case was not sent to the server; absent if it was, and without `--server`.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_sent: Option<&'a str>,
    /// `None` for a case that could not be run.
    #[serde(flatten)]
    decided: Option<DecidedLine<'a>>,
}

impl<'a> CaseLine<'a> {
    /// A case of which nothing is known yet but where it stands: it did not pass.
    fn at(file: &'a str, line: u32, name: &'a str) -> Self {
        Self {
            kind: "case",
            file,
            line,
            name,
            passed: false,
            mismatches: &[],
            why: "",
            not_sent: None,
            decided: None,
        }
    }
}

/// What came out of a case.
#[derive(Serialize)]
struct DecidedLine<'a> {
    expected: String,
    decision: String,
    decided_by: String,
    rule: Option<RuleLine<'a>>,
    trace: Vec<PartLine<'a>>,
    left_out: &'a [String],
}

#[derive(Serialize)]
struct SummaryLine {
    kind: &'static str,
    passed: usize,
    failed: usize,
    /// Absent without `--server`.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_sent: Option<usize>,
    unreadable_files: bool,
    coverage: Vec<CoverageLine>,
}

#[derive(Serialize)]
struct PartLine<'a> {
    verdict: String,
    subject: String,
    seen_through: Vec<String>,
    decided_by: String,
    rule: Option<RuleLine<'a>>,
    reason: String,
}

#[derive(Serialize)]
struct RuleLine<'a> {
    layer: String,
    document: &'a str,
    line: u32,
    column: u32,
    text: &'a str,
    name: Option<&'a str>,
    effect: String,
}

#[derive(Serialize)]
struct CoverageLine {
    document: String,
    rules: usize,
    not_reached: Vec<String>,
}

impl<'a> From<&'a RuleRef> for RuleLine<'a> {
    fn from(rule: &'a RuleRef) -> Self {
        Self {
            layer: rule.layer.to_string(),
            document: &rule.document,
            line: rule.line,
            column: rule.column,
            text: &rule.text,
            name: rule.name.as_deref(),
            effect: rule.effect.to_string(),
        }
    }
}

impl<'a> From<&'a TraceEntry> for PartLine<'a> {
    fn from(part: &'a TraceEntry) -> Self {
        Self {
            verdict: part.verdict.to_string(),
            subject: redact::text(&part.subject),
            seen_through: part.seen_through.iter().map(|label| redact::text(label)).collect(),
            decided_by: part.decided_by.to_string(),
            rule: part.rule.as_ref().map(RuleLine::from),
            reason: redact::text(&part.reason),
        }
    }
}

impl<'a> Run<'a> {
    fn new(command: &'a TestArgs, through: Option<Through>) -> Self {
        Self {
            command,
            passed: 0,
            failed: 0,
            not_sent: 0,
            unreadable: false,
            coverage: Coverage::default(),
            through,
        }
    }

    async fn file(&mut self, path: &Path) -> Result<(), Failure> {
        let name = path.to_string_lossy().into_owned();
        let text = match read(path, MAX_ROWS) {
            Ok(text) => text,
            Err(failure) => {
                failure.show();
                self.unreadable = true;
                return Ok(());
            }
        };
        if is_rows(path, &text) {
            self.rows(&name, &text).await
        } else if text.len() > file::MAX_BYTES {
            // Said here: a fault within the text would show it.
            let most = files::size(file::MAX_BYTES as u64);
            Failure::usage_text(format!("the tests `{name}` are larger than {most}")).show();
            self.unreadable = true;
            Ok(())
        } else {
            self.toml(path, &name, &text).await
        }
    }

    async fn rows(&mut self, name: &str, text: &str) -> Result<(), Failure> {
        let rows = rows::read(text);
        if rows.is_empty() {
            Failure::usage_text(format!("the file `{name}` holds no case")).show();
            self.unreadable = true;
        }
        for row in &rows {
            match &row.case {
                Ok(case) => self.case(name, case).await?,
                Err(fault) => {
                    let id = row.id.as_deref().unwrap_or("(without an id)");
                    self.cannot_run(name, row.line, id, &fault.to_string())?;
                }
            }
        }
        Ok(())
    }

    async fn toml(&mut self, path: &Path, name: &str, text: &str) -> Result<(), Failure> {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let mut policies: BTreeMap<String, String> = BTreeMap::new();
        let mut files = |named: &str| {
            let path = folder.join(named);
            let text = read(&path, PolicyDocument::MAX_BYTES as u64).map_err(|failure| failure.line())?;
            let name = path.to_string_lossy().into_owned();
            policies.insert(name.clone(), text.clone());
            Ok(PolicyFile { name, text })
        };
        let tests = match file::read(text, name, &mut files) {
            Ok(tests) => tests,
            Err(faults) => {
                self.unreadable = true;
                let mut report = String::new();
                for fault in &faults {
                    let (text, name) = match &fault.document {
                        Some(named) => (policies.get(named).map_or("", String::as_str), named.as_str()),
                        None => (text, name),
                    };
                    let _ = writeln!(report, "{}\n", render(&fault.fault, Level::ERROR, text, name));
                }
                let count = super::plural(faults.len() as u64, "fault");
                let _ = writeln!(
                    report,
                    "error: the tests `{}` have {count}; none of them was run",
                    printable(name)
                );
                let _ = anstream::stderr().write_all(report.as_bytes());
                return Ok(());
            }
        };
        for document in &tests.documents {
            self.coverage.add(document);
        }
        for case in &tests.cases {
            self.case(name, case).await?;
        }
        Ok(())
    }

    async fn case(&mut self, file: &str, case: &Case) -> Result<(), Failure> {
        let here = case.decide();
        self.coverage.reach(&here);
        let (decision, mismatches) = match &mut self.through {
            None => {
                let mismatches = case.mismatches(&here);
                (here, mismatches)
            }
            Some(through) => {
                let there = match through.decide(case).await? {
                    Ok(there) => there,
                    Err(why) => return self.leave_out(file, case, &why),
                };
                // The case takes a program for granted that is not here, so it was not made real; only what is stricter for
                // it is excused.
                if there.verdict > here.verdict
                    && let Some(program) = missing_program(case)
                {
                    let why = format!("this host has no program `{program}`, which the case takes for granted");
                    return self.leave_out(file, case, &why);
                }
                let mut mismatches = case.mismatches(&there);
                if here.verdict != there.verdict {
                    mismatches.push(format!(
                        "the server says {}, the engine here {}",
                        there.verdict, here.verdict
                    ));
                }
                (there, mismatches)
            }
        };
        let passed = mismatches.is_empty();
        if passed {
            self.passed += 1;
        } else {
            self.failed += 1;
        }
        let name = redact::text(&case.name);
        let line = || CaseLine {
            passed,
            mismatches: &mismatches,
            why: &case.why,
            decided: Some(DecidedLine {
                expected: case.expected.to_string(),
                decision: decision.verdict.to_string(),
                decided_by: decision.decided_by.to_string(),
                rule: decision.rule.as_ref().map(RuleLine::from),
                trace: decision.trace.iter().map(PartLine::from).collect(),
                left_out: &case.left_out,
            }),
            ..CaseLine::at(file, case.line, &name)
        };
        self.say(line, || (!passed).then(|| shown(file, case, &decision, &mismatches)))
    }

    /// Shows what became of a case, in the form that is wanted.
    fn say<'l>(
        &self,
        line: impl FnOnce() -> CaseLine<'l>,
        text: impl FnOnce() -> Option<String>,
    ) -> Result<(), Failure> {
        match self.command.format {
            _ if self.command.quiet => {}
            Format::Json => {
                output::json(&line())?;
            }
            Format::Text => {
                if let Some(text) = text() {
                    output::text(&text)?;
                }
            }
        }
        Ok(())
    }

    /// A case that is none: it counts as failed, and says why.
    fn cannot_run(&mut self, file: &str, line: u32, name: &str, fault: &str) -> Result<(), Failure> {
        self.failed += 1;
        let why = [format!("cannot be run: {fault}")];
        let told = || CaseLine {
            mismatches: &why,
            ..CaseLine::at(file, line, name)
        };
        self.say(told, || {
            let (head, name, fault) = (head(file, line), printable(name), printable(fault));
            Some(format!("{head} {name}\n      cannot be run: {fault}\n"))
        })
    }

    /// A case that no server was asked about: it counts neither as passed nor as failed, and says why.
    fn leave_out(&mut self, file: &str, case: &Case, why: &str) -> Result<(), Failure> {
        self.not_sent += 1;
        let name = redact::text(&case.name);
        let line = || CaseLine {
            why: &case.why,
            not_sent: Some(why),
            ..CaseLine::at(file, case.line, &name)
        };
        self.say(line, || {
            let (file, name, why) = (printable(file), printable(&name), printable(why));
            Some(format!("not sent {file}:{} {name}\n      {why}\n", case.line))
        })
    }

    fn finish(self) -> Result<u8, Failure> {
        let covered = self.coverage.documents();
        match self.command.format {
            Format::Json => {
                let coverage = covered.iter().map(|document| CoverageLine {
                    document: document.document.clone(),
                    rules: document.rules,
                    not_reached: document.not_reached.iter().map(place).collect(),
                });
                output::json(&SummaryLine {
                    kind: "summary",
                    passed: self.passed,
                    failed: self.failed,
                    not_sent: self.command.server.then_some(self.not_sent),
                    unreadable_files: self.unreadable,
                    coverage: coverage.collect(),
                })?;
            }
            Format::Text => {
                let not_sent = match self.not_sent {
                    0 => String::new(),
                    count => format!(", {count} not sent"),
                };
                let mut text = format!("{} passed, {} failed{not_sent}\n", self.passed, self.failed);
                for document in covered.iter().filter(|_| !self.command.quiet) {
                    let reached = document.rules - document.not_reached.len();
                    let _ = writeln!(
                        text,
                        "coverage of {}: {reached} of {} decided something",
                        printable(&document.document),
                        super::plural(document.rules as u64, "rule")
                    );
                    for rule in &document.not_reached {
                        let _ = writeln!(text, "      not reached: {}", printable(&place(rule)));
                    }
                }
                output::text(&text)?;
            }
        }
        Ok(match (self.unreadable, self.failed, self.not_sent) {
            (true, ..) => 2,
            (false, 0, 0) => 0,
            (false, 0, _) => 3,
            (false, ..) => 1,
        })
    }
}

/// Where a case stands.
fn head(file: &str, line: u32) -> String {
    format!("failed {}:{line}", printable(file))
}

/// A rule and where it stands in its document.
fn place(rule: &RuleRef) -> String {
    let name = rule.name.as_ref().map(|name| format!("`{name}` ")).unwrap_or_default();
    format!("{}:{} {} {name}`{}`", rule.document, rule.line, rule.effect, rule.text)
}

/// The call in a few words.
fn call(case: &Case) -> String {
    let call = &case.request.call;
    let text = match &call.action {
        Action::Shell { command } => command.clone(),
        Action::Read { path } => path.clone(),
        Action::Edit { paths } | Action::Delete { paths } => paths.join(", "),
        Action::Fetch { urls } => urls.join(", "),
        _ => String::new(),
    };
    redact::text(format!("{} {text}", call.tool_name).trim_end())
}

fn shown(file: &str, case: &Case, decision: &Decision, mismatches: &[String]) -> String {
    let mut out = format!("{} {}\n", head(file, case.line), printable(&redact::text(&case.name)));
    for mismatch in mismatches {
        let _ = writeln!(out, "      {}", printable(mismatch));
    }
    let request = &case.request;
    let _ = writeln!(out, "      call: {} (mode {})", printable(&call(case)), request.mode);
    for part in &decision.trace {
        let word = part.verdict.to_string();
        let gap = 7_usize.saturating_sub(word.len());
        let subject = redact::text(&part.subject);
        let _ = writeln!(
            out,
            "      {}{:gap$}{}",
            output::verdict(Some(part.verdict)),
            "",
            printable(&subject)
        );
        if !part.seen_through.is_empty() {
            let seen = redact::text(&part.seen_through.join(" > "));
            let _ = writeln!(out, "             seen through: {}", printable(&seen));
        }
        // A rule that decided is the whole reason, unless it only might be about the part.
        let _ = writeln!(out, "             {}", printable(&redact::text(&part.reason)));
    }
    if decision.left_out > 0 {
        let _ = writeln!(out, "      and {} further parts", decision.left_out);
    }
    for line in &case.left_out {
        let _ = writeln!(out, "      note: {}", printable(line));
    }
    if !case.why.is_empty() {
        let _ = writeln!(out, "      why:  {}", printable(&case.why));
    }
    out
}

/// Whether a file holds rows: by its name, else by how it begins.
fn is_rows(path: &Path, text: &str) -> bool {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => false,
        Some("jsonl" | "ndjson" | "json") => true,
        _ => text.trim_start().starts_with('{'),
    }
}

/// The text of a file, or of stdin for `-`.
pub(super) fn read(path: &Path, most: u64) -> Result<String, Failure> {
    let content = files::read(path, most)
        .map_err(|cause| Failure::usage_io(format!("cannot read `{}`", path.display()), cause))?
        .ok_or_else(|| {
            Failure::usage_text(format!(
                "the file `{}` is larger than {}",
                path.display(),
                files::size(most)
            ))
        })?;
    String::from_utf8(content).map_err(|_| Failure::usage_text(format!("the file `{}` is not UTF-8", path.display())))
}
