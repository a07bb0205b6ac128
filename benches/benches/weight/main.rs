//! What a rule weighs in memory, and how long it takes to read and merge many.
//!
//! A bench of its own: an allocator that counts takes time for each allocation, which is a tenth of a simple decision.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench stops at the first surprise, and prints what it measured"
)]

#[path = "../engine/rules.rs"]
#[allow(dead_code, reason = "the other bench uses the rest")]
mod rules;

use std::{alloc::System, hint::black_box, time::Instant};

use portcullis_policy::EffectiveRuleset;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// How many rules are in force.
const SIZES: [usize; 5] = [10, 100, 1_000, 10_000, 100_000];

/// Documents as read and the ruleset made of them, and how long each takes.
fn main() {
    println!("rules    bytes per rule   of these the index   read           merged");
    for size in SIZES {
        let texts = rules::texts(size);
        let region = Region::new(GLOBAL);
        let begin = Instant::now();
        let documents = rules::documents(&texts);
        let (read, read_bytes) = (begin.elapsed(), held(&region));
        let begin = Instant::now();
        let ruleset = EffectiveRuleset::merge(&documents, true);
        let (merged, all_bytes) = (begin.elapsed(), held(&region));
        let count = ruleset.len();
        println!(
            "{count:<8} {:<16} {:<20} {:<14?} {merged:?}",
            all_bytes / count,
            (all_bytes - read_bytes) / count,
            read
        );
        black_box((documents, ruleset));
    }
}

fn held(region: &Region<'_, System>) -> usize {
    let change = region.change();
    // What was reallocated counts by how much it grew.
    let grown = change.bytes_allocated as isize - change.bytes_deallocated as isize;
    usize::try_from(grown).unwrap()
}
