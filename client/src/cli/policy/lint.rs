//! `portcullis policy lint`: shows rules that do not do what their author thinks, where they stand.
//!
//! Needs no server and no data directory. Several layers are looked at together, as they would be in force.

use std::{
    fmt::Write as _,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use annotate_snippets::Level;
use clap::Args;
use portcullis_policy::{
    AbsPath, DocumentOrigin, Fault, Layer, PolicyDocument,
    lint::{Finding, Linted, lint},
};
use serde::Serialize;

use super::plural;
use crate::cli::{
    args::Format,
    failure::Failure,
    faults::render,
    output::{self, printable},
};

/// Looks for rules that do not do what their author thinks.
///
/// Finds rules that can never match or decide, that another rule covers, that are far broader than they seem, that a higher
/// layer contradicts, or that cannot be enforced. Each finding has a code, which docs/lint.md explains. Files of several
/// layers are looked at together. Neither a server nor a data directory is needed.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 nothing was found, 1 something was found, 2 a file cannot be read or has faults."
)]
pub(crate) struct LintArgs {
    /// Policies of the team; `-` = stdin.
    #[arg(value_name = "FILE", required_unless_present_any = ["team", "project", "local", "user"])]
    files: Vec<PathBuf>,
    /// A policy of the team, as FILE.
    #[arg(long, value_name = "FILE")]
    team: Vec<PathBuf>,
    /// A policy of the project.
    #[arg(long, value_name = "FILE")]
    project: Vec<PathBuf>,
    /// A policy of this person for this project.
    #[arg(long, value_name = "FILE")]
    local: Vec<PathBuf>,
    /// A policy of this person.
    #[arg(long, value_name = "FILE")]
    user: Vec<PathBuf>,
    /// Form of the output: with json, one object for each finding, one a line.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// One finding or fault in JSON: a stable contract.
#[derive(Serialize)]
struct FindingLine<'a> {
    file: &'a str,
    layer: String,
    line: u32,
    column: u32,
    /// Bytes of the words it is about.
    start: usize,
    end: usize,
    /// Absent for a fault, which makes the file unusable, and for what was noticed when the file was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    rule: &'a str,
    reason: &'a str,
    fix: &'a str,
}

struct Read {
    name: String,
    text: String,
    document: Arc<PolicyDocument>,
}

pub(crate) fn main(command: &LintArgs) -> Result<u8, Failure> {
    let layers = [
        (Layer::Team, &command.files),
        (Layer::Team, &command.team),
        (Layer::Project, &command.project),
        (Layer::Local, &command.local),
        (Layer::User, &command.user),
    ];
    let (mut read, mut unreadable) = (Vec::new(), false);
    for (layer, paths) in layers {
        for path in paths {
            match document(path, layer, command.format)? {
                Some(document) => read.push(document),
                None => unreadable = true,
            }
        }
    }
    let linted: Vec<Linted<'_>> = read
        .iter()
        .map(|read| Linted {
            document: Arc::clone(&read.document),
            text: &read.text,
        })
        .collect();
    let findings = lint(&linted);
    let mut report = String::new();
    for finding in &findings {
        let text = read
            .iter()
            .find(|read| read.name == finding.document)
            .map_or("", |read| &read.text);
        show(finding, text, command.format, &mut report)?;
    }
    let mut noticed = 0;
    for read in &read {
        noticed += read.document.warnings.len();
        for warning in &read.document.warnings {
            let place = (read.name.as_str(), read.text.as_str(), read.document.origin.layer);
            show_fault(warning, Level::WARNING, place, command.format, &mut report)?;
        }
    }
    if command.format == Format::Text {
        output::text(&report)?;
        let count = plural((findings.len() + noticed) as u64, "finding");
        let files = plural(read.len() as u64, "file");
        output::text(&format!("{count} in {files}\n"))?;
    }
    Ok(match (unreadable, findings.is_empty() && noticed == 0) {
        (true, _) => 2,
        (false, true) => 0,
        (false, false) => 1,
    })
}

fn show(finding: &Finding, text: &str, format: Format, report: &mut String) -> Result<(), Failure> {
    match format {
        Format::Json => {
            output::json(&FindingLine {
                file: &finding.document,
                layer: finding.layer.to_string(),
                line: finding.line,
                column: finding.column,
                start: finding.span.start,
                end: finding.span.end,
                code: Some(finding.code.to_string()),
                rule: &finding.rule,
                reason: &finding.reason,
                fix: &finding.fix,
            })?;
        }
        Format::Text => {
            let fault = finding.as_fault();
            let _ = writeln!(report, "{}\n", render(&fault, Level::WARNING, text, &finding.document));
        }
    }
    Ok(())
}

/// A fault, or what was noticed when the document was read: it has no code.
fn show_fault(
    fault: &Fault,
    level: Level<'static>,
    (name, text, layer): (&str, &str, Layer),
    format: Format,
    report: &mut String,
) -> Result<(), Failure> {
    match format {
        Format::Json => {
            output::json(&FindingLine {
                file: name,
                layer: layer.to_string(),
                line: fault.line,
                column: fault.column,
                start: fault.span.start,
                end: fault.span.end,
                code: None,
                rule: "",
                reason: &fault.message,
                fix: fault.hint.as_deref().unwrap_or_default(),
            })?;
        }
        Format::Text => {
            let _ = writeln!(report, "{}\n", render(fault, level, text, name));
        }
    }
    Ok(())
}

/// Reads a policy; `None` if that is not possible, which was said.
fn document(path: &Path, layer: Layer, format: Format) -> Result<Option<Read>, Failure> {
    let name = path.to_string_lossy().into_owned();
    let text = match super::test::read(path, PolicyDocument::MAX_BYTES as u64) {
        Ok(text) => text,
        Err(failure) => {
            failure.show();
            return Ok(None);
        }
    };
    let origin = DocumentOrigin {
        layer,
        name: name.clone(),
        // What `/x` stands for matters only within one document, so any folder does.
        folder: layer.is_inside_project().then(AbsPath::root),
    };
    let faults = match PolicyDocument::parse(&text, origin) {
        Ok(document) => {
            let document = Arc::new(document);
            return Ok(Some(Read { name, text, document }));
        }
        Err(faults) => faults,
    };
    let mut report = String::new();
    for fault in &faults {
        show_fault(fault, Level::ERROR, (&name, &text, layer), format, &mut report)?;
    }
    let count = plural(faults.len() as u64, "fault");
    let _ = writeln!(report, "error: the policy `{}` has {count}", printable(&name));
    let _ = anstream::stderr().write_all(report.as_bytes());
    Ok(None)
}
