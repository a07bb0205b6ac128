//! A run over many lines: makes, runs, compares, counts, and can go on where it was stopped.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{compare, generate, mutate, oracle::Oracle, random::Random, shrink};

/// What to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// Number of the first line.
    pub first: u64,
    /// How many lines.
    pub count: u64,
    /// Which lines.
    pub seed: u64,
    /// Ends earlier if this time is over.
    pub within: Option<Duration>,
    /// Written every thousand lines: the number of the next line.
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
#[derive(Clone, Debug)]
pub struct Failure {
    /// Its number under the seed.
    pub number: u64,
    /// The line, cut down.
    pub line: String,
    /// What was not known of.
    pub missed: String,
}

/// What came out.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Lines run and compared.
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
    pub reasons: BTreeMap<&'static str, u64>,
    /// Lines that ended the sandbox; not compared.
    pub lost: u64,
    /// Lines that were ended because they took too long; compared up to there.
    pub late: u64,
    /// Of lines with a construct: how many, and how many of them opaque.
    pub constructs: BTreeMap<&'static str, (u64, u64)>,
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
    let mut report = Report::default();
    let mut in_a_row = 0;
    for number in options.first..options.first + options.count {
        if options.within.is_some_and(|within| begin.elapsed() > within)
            || report.failures.len() >= options.most_failures
        {
            break;
        }
        if number % 1000 == 0 {
            note(options.resume.as_deref(), options.seed, number)?;
        }
        let (line, tags) = make(options.seed, number, &seeds);
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
        let analysis = compare::analysed(&line, &folder);
        let opaque = u64::from(!analysis.opaque.is_empty());
        report.lines += 1;
        report.effective += u64::from(!happened.runs.is_empty() || !happened.files.is_empty());
        report.runs += happened.runs.len() as u64;
        report.files += happened.files.len() as u64;
        report.late += u64::from(happened.late);
        report.opaque += opaque;
        for reason in analysis.opaque.iter().take(1) {
            *report.reasons.entry(reason.reason.describe()).or_default() += 1;
            if options.show_opaque {
                println!("{:?} {line:?}", reason.reason);
            }
        }
        for tag in tags {
            let counts = report.constructs.entry(tag).or_default();
            *counts = (counts.0 + 1, counts.1 + opaque);
        }
        if compare::missed(&analysis, &happened).is_some() {
            let mut missed = |line: &str| {
                let happened = oracle.run(line)?;
                compare::missed(&compare::analysed(line, &folder), &happened)
            };
            let line = shrink::shrink(&line, |line| missed(line).is_some());
            let missed = missed(&line).unwrap_or_else(|| "not every time".to_owned());
            report.failures.push(Failure { number, line, missed });
        }
    }
    note(
        options.resume.as_deref(),
        options.seed,
        options.first + report.lines + report.lost,
    )?;
    Ok(report)
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

fn note(file: Option<&Path>, seed: u64, number: u64) -> Result<(), String> {
    match file {
        Some(file) => fs::write(file, format!("{seed} {number}\n"))
            .map_err(|error| format!("cannot write `{}`: {error}", file.display())),
        None => Ok(()),
    }
}

/// Where an earlier run stopped: its seed and the number of the next line.
#[must_use]
pub fn stopped_at(file: &Path) -> Option<(u64, u64)> {
    let text = fs::read_to_string(file).ok()?;
    let (seed, number) = text.trim().split_once(' ')?;
    Some((seed.parse().ok()?, number.parse().ok()?))
}
