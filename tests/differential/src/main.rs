#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool for a terminal")]
//! `cargo xtask differential` runs this.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::Parser;
use portcullis_differential::session;

/// Compares the analysis of shell lines with what bash does.
#[derive(Parser)]
struct Arguments {
    /// How many lines in all, those of earlier runs included
    #[arg(long, default_value_t = 10_000)]
    count: u64,
    /// Which lines
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// File that says where an earlier run stopped; is kept up to date
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Stop after this many minutes
    #[arg(long)]
    minutes: Option<u64>,
    /// Stop after this many failures
    #[arg(long, default_value_t = 10)]
    failures: usize,
    /// Print each opaque line with the first reason
    #[arg(long)]
    opaque: bool,
    /// Run the lines of this file: a JSON list of texts
    #[arg(long, value_name = "FILE")]
    lines: Option<PathBuf>,
    /// Measure the analysis and the decision of hostile lines, and compare nothing
    #[arg(long)]
    hostile: bool,
    /// Run this line only, and show all
    #[arg(long)]
    line: Option<String>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<ExitCode, String> {
    if arguments.hostile {
        println!("   analysis     decision");
        portcullis_differential::hostile::measure(include_str!("../../cases/hostile-lines.json"), |kind| {
            println!(
                "{:>8.1} ms  {:>8.1} ms  {:<5}  {:>5} commands  {:>7} bytes  {}",
                kind.analysed.as_secs_f64() * 1e3,
                kind.decided.as_secs_f64() * 1e3,
                kind.verdict.to_string(),
                kind.commands,
                kind.bytes,
                kind.name
            );
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let own = std::env::current_exe().map_err(|error| format!("cannot find the own program: {error}"))?;
    let programs = own.parent().ok_or("the own program has no folder")?.to_path_buf();
    if let Some(file) = &arguments.lines {
        let mut oracle = portcullis_differential::oracle::Oracle::new(&programs)?;
        let text =
            std::fs::read_to_string(file).map_err(|error| format!("cannot read `{}`: {error}", file.display()))?;
        let lines: Vec<String> = serde_json::from_str(&text)
            .map_err(|error| format!("`{}` is no list of texts: {error}", file.display()))?;
        let mut missed = 0;
        for line in &lines {
            let analysis = portcullis_differential::compare::analysed(line, &oracle.folder());
            let found = oracle
                .run(line)
                .and_then(|happened| portcullis_differential::compare::missed(&analysis, &happened));
            if let Some(found) = found {
                missed += 1;
                println!("{line:?}\n  {found}");
            }
        }
        println!("{missed} of {} lines did more than their analysis says", lines.len());
        return Ok(if missed == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        });
    }
    if let Some(line) = &arguments.line {
        let mut oracle = portcullis_differential::oracle::Oracle::new(&programs)?;
        let happened = oracle.run(line);
        let analysis = portcullis_differential::compare::analysed(line, &oracle.folder());
        println!("{happened:#?}\n{analysis:#?}");
        if let Some(happened) = happened {
            println!(
                "missed: {:?}",
                portcullis_differential::compare::missed(&analysis, &happened)
            );
        }
        return Ok(ExitCode::SUCCESS);
    }
    let earlier = arguments
        .resume
        .as_deref()
        .map(session::stopped_at)
        .transpose()?
        .flatten();
    let seed = earlier.as_ref().map_or(arguments.seed, |report| report.seed);
    let options = session::Options {
        before: earlier.unwrap_or_default(),
        count: arguments.count,
        seed,
        within: arguments.minutes.map(|minutes| Duration::from_secs(60 * minutes)),
        resume: arguments.resume.clone(),
        programs,
        cases: include_str!("../../cases/permission-cases.jsonl").to_owned(),
        show_opaque: arguments.opaque,
        most_failures: arguments.failures,
    };
    let report = session::run(&options)?;
    println!(
        "seed {seed}: {} lines in {} s; of those that are not opaque {} did something ({} programs, {} files), {} took too long; \
         {} more ended the sandbox",
        report.lines, report.seconds, report.effective, report.runs, report.files, report.late, report.lost
    );
    let share = |part: u64, whole: u64| (100 * part).checked_div(whole).unwrap_or(0);
    println!("opaque: {} %", share(report.opaque, report.lines));
    for (reason, lines) in &report.reasons {
        println!("  {} %: {reason}", share(*lines, report.lines));
    }
    println!("by construct:");
    for (construct, (lines, opaque)) in &report.constructs {
        println!("  {construct}: {} % of {lines}", share(*opaque, *lines));
    }
    for failure in &report.failures {
        println!("\nline {}: {:?}\n  {}", failure.number, failure.line, failure.missed);
    }
    println!("\n{} failures", report.failures.len());
    Ok(if report.failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
