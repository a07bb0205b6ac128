//! How long a decision takes as rules are added, beside Cedar and Rego on the same rules.
//!
//! `cargo xtask bench --engine` runs it, and `weight` before it. How the rules are translated stands in [`others`]; figures that were measured stand
//! in `docs/measurements.md`, with the command and the machine.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a bench stops at the first surprise, and prints what it measured"
)]

#[cfg(feature = "others")]
mod others;
mod rules;

use std::hint::black_box;

use divan::Bencher;
use portcullis_policy::{EffectiveRuleset, Verdict, evaluate};

/// The server's; the other engines have it, too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many rules are in force.
const SIZES: [usize; 5] = [10, 100, 1_000, 10_000, 100_000];

fn main() {
    divan::main();
}

fn decide(bencher: Bencher<'_, '_>, size: usize, command: &str, expected: Verdict) {
    let ruleset = rules::ruleset(size);
    let request = rules::request(command);
    assert_eq!(evaluate(&ruleset, &request).verdict, expected, "{command:.80}");
    bencher.bench_local(|| evaluate(black_box(&ruleset), black_box(&request)));
}

/// `git status`, allowed by a rule.
#[divan::bench(args = SIZES)]
fn simple_command(bencher: Bencher<'_, '_>, size: usize) {
    decide(bencher, size, rules::SIMPLE, Verdict::Allow);
}

/// Twenty commands in one line, some with files, one with a redirection.
#[divan::bench(args = SIZES)]
fn twenty_parts(bencher: Bencher<'_, '_>, size: usize) {
    decide(bencher, size, &rules::twenty_parts(), Verdict::Ask);
}

/// One command with 100 kB of words.
#[divan::bench(args = SIZES, sample_count = 20)]
fn hundred_kilobytes(bencher: Bencher<'_, '_>, size: usize) {
    decide(bencher, size, &rules::hundred_kilobytes(), Verdict::Allow);
}

/// All documents into what is in force.
#[divan::bench(args = SIZES, sample_count = 10)]
fn merge(bencher: Bencher<'_, '_>, size: usize) {
    let documents = rules::documents(&rules::texts(size));
    bencher.bench_local(|| EffectiveRuleset::merge(black_box(&documents), true));
}

/// The two other engines, on the same rules and the commands of the same lines.
#[cfg(feature = "others")]
mod beside {
    use super::*;
    use crate::others::{Cedar, Keys, Rego};

    /// A long line over 100,000 rules takes them seconds, and says nothing that 10,000 do not.
    const FEWER: [usize; 4] = [10, 100, 1_000, 10_000];
    /// The same for many decisions at a time.
    const FEWEST: [usize; 3] = [10, 100, 1_000];

    fn cedar(bencher: Bencher<'_, '_>, size: usize, commands: &[String], allowed: usize) {
        let mut cedar = Cedar::new(&rules::list(size), commands);
        assert_eq!(cedar.allowed(), allowed);
        bencher.bench_local(|| black_box(cedar.allowed()));
    }

    fn rego(bencher: Bencher<'_, '_>, size: usize, commands: &[String], keys: Keys, allowed: usize) {
        let mut rego = Rego::new(&rules::list(size), commands, keys);
        assert_eq!(rego.allowed(), allowed);
        bencher.bench_local(|| black_box(rego.allowed()));
    }

    fn simple() -> [String; 1] {
        [rules::SIMPLE.to_owned()]
    }

    #[divan::bench(args = SIZES, sample_count = 10)]
    fn simple_command_cedar(bencher: Bencher<'_, '_>, size: usize) {
        cedar(bencher, size, &simple(), 1);
    }

    #[divan::bench(args = SIZES, sample_count = 10)]
    fn simple_command_rego(bencher: Bencher<'_, '_>, size: usize) {
        rego(bencher, size, &simple(), Keys::Kind, 1);
    }

    #[divan::bench(args = SIZES, sample_count = 10)]
    fn simple_command_rego_by_program(bencher: Bencher<'_, '_>, size: usize) {
        rego(bencher, size, &simple(), Keys::Program, 1);
    }

    #[divan::bench(args = FEWEST, sample_count = 10)]
    fn twenty_parts_cedar(bencher: Bencher<'_, '_>, size: usize) {
        cedar(bencher, size, &rules::parts(), rules::parts_allowed(size));
    }

    #[divan::bench(args = FEWER, sample_count = 10)]
    fn twenty_parts_rego_by_program(bencher: Bencher<'_, '_>, size: usize) {
        rego(
            bencher,
            size,
            &rules::parts(),
            Keys::Program,
            rules::parts_allowed(size),
        );
    }

    #[divan::bench(args = FEWER, sample_count = 10)]
    fn hundred_kilobytes_cedar(bencher: Bencher<'_, '_>, size: usize) {
        cedar(bencher, size, &[rules::hundred_kilobytes()], 1);
    }

    #[divan::bench(args = FEWER, sample_count = 10)]
    fn hundred_kilobytes_rego_by_program(bencher: Bencher<'_, '_>, size: usize) {
        rego(bencher, size, &[rules::hundred_kilobytes()], Keys::Program, 1);
    }
}
