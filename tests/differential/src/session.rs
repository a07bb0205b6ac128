//! A run over many lines: makes, runs, compares, counts, and can go on where it was stopped.
//!
//! A line that the analysis calls opaque is not run: nothing that bash could do with it would be a failure.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use crate::{compare, generate, mutate, oracle::Oracle, random::Random, shrink};

/// What to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// What came out of the lines before, and how many those were.
    pub before: Report,
    /// Lines in all, those before included.
    pub count: u64,
    /// Which lines.
    pub seed: u64,
    /// Ends earlier if this time is over.
    pub within: Option<Duration>,
    /// Written every thousand lines: where to go on, and what came out so far.
    pub resume: Option<PathBuf>,
    /// Folder with the launcher and the stub.
    pub programs: PathBuf,
    /// The collected cases.
    pub cases: String,
    /// Print each opaque line with the first reason, to see what is asked about needlessly.
    pub show_opaque: bool,
    /// Failures after which it stops.
    pub most_failures: usize,
}

/// A line that did more than its analysis says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// Its number under the seed.
    pub number: u64,
    /// The line, cut down.
    pub line: String,
    /// What was not known of.
    pub missed: String,
}

/// What came out.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// Which lines.
    pub seed: u64,
    /// Seconds that it took.
    pub seconds: u64,
    /// Lines analysed, and run unless they are opaque.
    pub lines: u64,
    /// Lines that started at least one program or changed a file.
    pub effective: u64,
    /// Programs started.
    pub runs: u64,
    /// Files changed.
    pub files: u64,
    /// Lines called opaque.
    pub opaque: u64,
    /// Why they are opaque, by the first reason of each.
    pub reasons: BTreeMap<String, u64>,
    /// Lines that ended the sandbox; not compared.
    pub lost: u64,
    /// Lines that were ended because they took too long; compared up to there.
    pub late: u64,
    /// Of lines with a construct: how many, and how many of them opaque.
    pub constructs: BTreeMap<String, (u64, u64)>,
    /// What must not be.
    pub failures: Vec<Failure>,
}

/// Runs.
///
/// # Errors
/// Why lines cannot be run here.
pub fn run(options: &Options) -> Result<Report, String> {
    let mut oracle = Oracle::new(&options.programs)?;
    let folder = oracle.folder();
    let seeds = mutate::seeds(&options.cases);
    let begin = Instant::now();
    let mut report = options.before.clone();
    let earlier = report.seconds;
    report.seed = options.seed;
    let mut in_a_row = 0;
    for number in report.lines + report.lost..options.count {
        if options.within.is_some_and(|within| begin.elapsed() > within)
            || report.failures.len() >= options.most_failures
        {
            break;
        }
        if number % 1000 == 0 {
            report.seconds = earlier + begin.elapsed().as_secs();
            note(options.resume.as_deref(), &report)?;
        }
        let (line, tags) = make(options.seed, number, &seeds);
        let analysis = compare::analysed(&line, &folder);
        let opaque = u64::from(!analysis.opaque.is_empty());
        if opaque == 0 {
            let Some(happened) = oracle.run(&line) else {
                report.lost += 1;
                in_a_row += 1;
                if in_a_row > 20 {
                    return Err(format!(
                        "no line can be run any more: the sandbox ended 20 times in a row, up to line {number}"
                    ));
                }
                continue;
            };
            in_a_row = 0;
            report.effective += u64::from(!happened.runs.is_empty() || !happened.files.is_empty());
            report.runs += happened.runs.len() as u64;
            report.files += happened.files.len() as u64;
            report.late += u64::from(happened.late);
            if compare::missed(&analysis, &happened).is_some() {
                report.failures.push(failure(number, &line, &mut oracle, &folder));
            }
        }
        report.lines += 1;
        report.opaque += opaque;
        for reason in analysis.opaque.iter().take(1) {
            *report.reasons.entry(reason.reason.describe().to_owned()).or_default() += 1;
            if options.show_opaque {
                println!("{:?} {line:?}", reason.reason);
            }
        }
        for tag in tags {
            let counts = report.constructs.entry(tag.to_owned()).or_default();
            *counts = (counts.0 + 1, counts.1 + opaque);
        }
    }
    report.seconds = earlier + begin.elapsed().as_secs();
    note(options.resume.as_deref(), &report)?;
    Ok(report)
}

/// Cuts the line down to what still fails.
fn failure(number: u64, line: &str, oracle: &mut Oracle, folder: &str) -> Failure {
    let mut missed = |line: &str| {
        let happened = oracle.run(line)?;
        compare::missed(&compare::analysed(line, folder), &happened)
    };
    let line = shrink::shrink(line, |line| missed(line).is_some());
    let missed = missed(&line).unwrap_or_else(|| "not every time".to_owned());
    Failure { number, line, missed }
}

/// Two of three lines come from the grammar, the others from the collected cases.
fn make(seed: u64, number: u64, seeds: &[String]) -> (String, Vec<&'static str>) {
    let mut random = Random::new(seed, number);
    if number % 3 == 2 {
        return (mutate::line(&mut random, seeds), vec!["changed cases"]);
    }
    let made = generate::line(&mut random);
    let line: String = made.line.chars().filter(|c| *c != '\0').collect();
    let tags = if made.tags.is_empty() {
        vec!["plain"]
    } else {
        made.tags.into_iter().collect()
    };
    (line, tags)
}

fn note(file: Option<&Path>, report: &Report) -> Result<(), String> {
    let Some(file) = file else { return Ok(()) };
    let text = serde_json::to_string_pretty(report).map_err(|error| format!("cannot print the report: {error}"))?;
    // Renamed into place: a run that is stopped while it writes can still go on.
    let fresh = file.with_extension("new");
    fs::write(&fresh, text)
        .and_then(|()| fs::rename(&fresh, file))
        .map_err(|error| format!("cannot write `{}`: {error}", file.display()))
}

/// What an earlier run noted; `None` if there was none.
///
/// # Errors
/// The file cannot be read, or holds something else.
pub fn stopped_at(file: &Path) -> Result<Option<Report>, String> {
    match fs::read_to_string(file) {
        Ok(text) => serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| format!("`{}` is no report of an earlier run: {error}", file.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot read `{}`: {error}", file.display())),
    }
}
