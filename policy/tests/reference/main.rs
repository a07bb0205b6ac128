//! The compiled engine against a naive one: the same rules and the same calls, 100,000 of them, must have the same answer
//! by the same rule.
//!
//! The naive evaluator ([`judge`]) is the specification in the plainest code. It shares neither index nor matchers nor
//! evaluator with the engine, so a rule that the index hides, or a step that an optimisation skips, shows here.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    reason = "a test program stops at the first surprise, and says what it met"
)]

mod commands;
mod generate;
mod judge;
mod matchers;
mod texts;

use std::collections::BTreeMap;

use generate::{Dice, Ruleset};
use portcullis_policy::{Decision, EffectiveRuleset, Request, evaluate};

/// Rule sets per test, and calls per rule set: four tests of 25,000 calls.
const RULESETS: u64 = 6_250;
const CALLS: usize = 4;

/// The answer in one line: verdict, who decided, and which rule.
fn ours(decision: &Decision) -> String {
    let rule = decision.rule.as_ref();
    let place = rule.map(|rule| format!(" {} {}:{}", rule.layer, rule.document, rule.line));
    format!(
        "{} by {}{}",
        decision.verdict,
        decision.decided_by,
        place.unwrap_or_default()
    )
}

fn naive(ruleset: &[judge::Rule], request: &Request) -> String {
    let parts = judge::judge(ruleset, request);
    let first = &parts[0];
    let rule = first.rule.as_ref();
    let place = rule.map(|rule| format!(" {} {}:{}", rule.layer, rule.document, rule.line));
    format!("{} by {}{}", first.verdict, first.by, place.unwrap_or_default())
}

fn report(ruleset: &Ruleset, request: &Request, ours: &str, naive: &str) -> String {
    format!(
        "the engine says:    {ours}\nthe naive one says: {naive}\ncall: {:?}\nmode {}, cwd {}, {:?}\nfacts: {:?}\n{}",
        request.call.action,
        request.mode,
        request.workspace.cwd,
        request.interactivity,
        request.facts,
        ruleset.texts.join("\n")
    )
}

fn compare(seeds: std::ops::Range<u64>) {
    let mut met: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for seed in seeds {
        let mut dice = Dice::new(seed);
        let ruleset = generate::ruleset(&mut dice);
        let compiled = [true, false].map(|trusted| EffectiveRuleset::merge(&ruleset.documents, trusted));
        for _ in 0..CALLS {
            let request = generate::request(&mut dice);
            let compiled = &compiled[usize::from(!request.facts.project_trusted)];
            let decision = evaluate(compiled, &request);
            let (ours, naive) = (ours(&decision), naive(&ruleset.rules, &request));
            *met.entry(format!("{} by {}", decision.verdict, decision.decided_by))
                .or_default() += 1;
            if ours != naive {
                wrong.push(format!("seed {seed}\n{}", report(&ruleset, &request, &ours, &naive)));
            }
        }
        if wrong.len() > 3 {
            break;
        }
    }
    println!("{met:#?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    // A generator that never meets a kind of answer proves nothing about it.
    let all: usize = met.values().sum();
    for kind in [
        "allow by rule",
        "allow by mode",
        "ask by rule",
        "ask by mode",
        "ask by protection",
        "ask by failure",
        "deny by rule",
        "deny by mode",
        "deny by protection",
        "deny by failure",
    ] {
        let share = met.get(kind).copied().unwrap_or_default();
        assert!(share * 200 > all, "only {share} of {all} answers were `{kind}`");
    }
}

#[test]
fn the_engine_agrees_with_the_naive_one_first_quarter() {
    compare(1..1 + RULESETS);
}

#[test]
fn the_engine_agrees_with_the_naive_one_second_quarter() {
    compare(100_001..100_001 + RULESETS);
}

#[test]
fn the_engine_agrees_with_the_naive_one_third_quarter() {
    compare(200_001..200_001 + RULESETS);
}

#[test]
fn the_engine_agrees_with_the_naive_one_fourth_quarter() {
    compare(300_001..300_001 + RULESETS);
}
