#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test stops at the first surprise"
)]
//! Twenty thousand lines under real bash at each test run; `cargo xtask differential` runs as many as one likes.

use std::{path::Path, process::Command};

use portcullis_differential::{
    compare,
    oracle::Oracle,
    session::{self, Options, Report},
};

/// Whether this host lets anybody make the namespaces that a sandbox needs.
fn namespaces() -> bool {
    Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "--net", "true"])
        .status()
        .is_ok_and(|status| status.success())
}

fn programs() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_portcullis-differential-stub"))
        .parent()
        .unwrap()
}

/// Twenty thousand lines, in four parts that the test runner spreads over the cores.
fn generated(seed: u64) {
    if !namespaces() {
        eprintln!("SKIPPED: this host allows no namespaces, and generated lines are not run without a sandbox");
        return;
    }
    let report = session::run(&Options {
        before: Report::default(),
        count: LINES,
        seed,
        within: None,
        resume: None,
        programs: programs().to_owned(),
        cases: include_str!("../../cases/permission-cases.jsonl").to_owned(),
        show_opaque: false,
        most_failures: 5,
    })
    .unwrap_or_else(|error| panic!("{error}; build everything with `cargo build --workspace --bins`"));
    assert!(report.failures.is_empty(), "{:#?}", report.failures);
    assert!(report.lines + report.lost == LINES && report.lost < 10, "{report:?}");
    assert!(
        report.effective > report.lines / 3,
        "the lines do too little: {report:?}"
    );
    assert!(report.opaque < report.lines / 2, "too much is opaque: {report:?}");
}

/// Lines of each part.
const LINES: u64 = 5_000;

#[test]
fn bash_does_nothing_that_the_analysis_does_not_know_1() {
    generated(20_260_101);
}

#[test]
fn bash_does_nothing_that_the_analysis_does_not_know_2() {
    generated(20_260_102);
}

#[test]
fn bash_does_nothing_that_the_analysis_does_not_know_3() {
    generated(20_260_103);
}

#[test]
fn bash_does_nothing_that_the_analysis_does_not_know_4() {
    generated(20_260_104);
}

#[test]
fn a_program_that_is_not_listed_is_noticed() {
    if !namespaces() {
        eprintln!("SKIPPED: this host allows no namespaces, and generated lines are not run without a sandbox");
        return;
    }
    let mut oracle = Oracle::new(programs()).unwrap();
    let happened = oracle.run("ls a; rm b > made").unwrap();
    let folder = oracle.folder();
    assert_eq!(
        compare::missed(&compare::analysed("ls a; rm b > made", &folder), &happened),
        None
    );
    assert!(compare::missed(&compare::analysed("ls a; rm c > made", &folder), &happened).is_some());
    assert!(compare::missed(&compare::analysed("ls a; rm b > other", &folder), &happened).is_some());
}

#[test]
fn bash_does_nothing_unknown_with_lines_written_by_hand() {
    if !namespaces() {
        eprintln!("SKIPPED: this host allows no namespaces, and these lines are not run without a sandbox");
        return;
    }
    let lines: Vec<String> = serde_json::from_str(include_str!("../lines.json")).unwrap();
    let mut oracle = Oracle::new(programs()).unwrap();
    let folder = oracle.folder();
    let mut compared = 0;
    for line in &lines {
        // A line may end its sandbox; then there is nothing to compare.
        let Some(happened) = oracle.run(line) else { continue };
        compared += 1;
        let missed = compare::missed(&compare::analysed(line, &folder), &happened);
        assert_eq!(missed, None, "{line:?}");
    }
    assert!(compared > lines.len() * 9 / 10, "{compared}");
}
