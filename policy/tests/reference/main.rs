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

mod alphabet;
mod below;
mod commands;
mod controls;
mod dice;
mod documents;
mod files;
mod generate;
mod judge;
mod matchers;
mod mentions;
mod outside;
mod policy;
mod rules;
mod texts;

use std::collections::BTreeMap;

use dice::Dice;
use documents::Ruleset;
use judge::Judged;
use portcullis_policy::{Decision, EffectiveRuleset, Mode, Obligation, Request, evaluate};

/// Rule sets per test, and calls per rule set: four tests of 25,000 calls.
const RULESETS: u64 = 6_250;
const CALLS: usize = 4;

/// The answer in one line: verdict, who decided, and which rule.
fn ours(decision: &Decision) -> String {
    let rule = decision.rule.as_ref();
    let place = rule.map(|rule| format!(" {} {}:{}", rule.layer, rule.document, rule.line));
    let sandbox = if decision.obligations.contains(&Obligation::RunInSandbox) {
        " in the sandbox"
    } else {
        ""
    };
    format!(
        "{} by {}{}{sandbox}",
        decision.verdict,
        decision.decided_by,
        place.unwrap_or_default()
    )
}

fn naive(judged: &Judged) -> String {
    let first = &judged.parts[0];
    let rule = first.rule.as_ref();
    let place = rule.map(|rule| format!(" {} {}:{}", rule.layer, rule.document, rule.line));
    let sandbox = if judged.in_sandbox { " in the sandbox" } else { "" };
    format!(
        "{} by {}{}{sandbox}",
        first.verdict,
        first.by,
        place.unwrap_or_default()
    )
}

fn report(ruleset: &Ruleset, request: &Request, ours: &str, naive: &str) -> String {
    format!(
        "the engine says:    {ours}\nthe naive one says: {naive}\ncall: {:?}\nmode {}, cwd {}, {:?}\nfacts: {:?}\n{}",
        request.call.action,
        request.mode,
        request.workspace.cwd,
        (request.interactivity, &request.session, request.sandboxed_execution),
        request.facts,
        ruleset.texts.join("\n")
    )
}

/// What an answer is counted as: its verdict and who decided; and of the rule that decided, what is special about it.
fn kinds(decision: &Decision, judged: &Judged, request: &Request) -> Vec<String> {
    let mut kinds = vec![
        format!("{} by {}", decision.verdict, decision.decided_by),
        format!("mode {}", request.mode),
    ];
    kinds.extend(judged.in_sandbox.then(|| "in the sandbox".to_owned()));
    if let Some(rule) = &judged.parts[0].rule {
        kinds.push(format!("rule {:?} {}", rule.spelling, rule.effect));
        kinds.extend(rule.modes.as_ref().map(|_| "rule on a condition".to_owned()));
        kinds.extend((!rule.exceptions.is_empty()).then(|| "rule with exceptions".to_owned()));
    }
    // What is asked because of a word that may be run, contacted or read.
    for (words, kind) in MENTIONS {
        kinds.extend(decision.user_message.contains(words).then(|| (*kind).to_owned()));
    }
    let action = format!("{:?}", request.call.action);
    let action = action.split([' ', '(']).next().unwrap_or_default();
    kinds.push(format!("{action} {}", decision.verdict));
    kinds
}

/// How messages say that a word is what the question is about.
const MENTIONS: &[(&str, &str)] = &[
    ("may run one of its words", "a word may be run"),
    ("may contact this host", "a host may be contacted"),
    ("a text of it names this file", "a text may be read from"),
];

/// Of 10,000 answers at least so many have to be of these kinds: a generator that never meets a kind of answer proves
/// nothing about it.
const EXPECTED: &[(&str, usize)] = &[
    ("a word may be run", 10),
    ("a host may be contacted", 2),
    ("a text may be read from", 2),
    ("allow by classifier", 25),
    ("allow by mode", 500),
    ("allow by rule", 300),
    ("allow by sandbox", 25),
    ("ask by classifier", 25),
    ("ask by control", 20),
    ("ask by failure", 200),
    ("ask by mode", 500),
    ("ask by protection", 300),
    ("ask by rule", 200),
    ("deny by classifier", 25),
    ("deny by control", 100),
    ("deny by failure", 50),
    ("deny by mode", 300),
    ("deny by protection", 200),
    ("deny by rule", 300),
    ("in the sandbox", 50),
    ("rule Native deny", 300),
    ("rule Native ask", 100),
    ("rule Native allow", 200),
    ("rule Cursor deny", 50),
    ("rule Cursor ask", 20),
    ("rule Cursor allow", 20),
    ("rule Terminal allow", 2),
    ("rule McpList allow", 2),
    ("rule Ignore deny", 15),
    ("rule on a condition", 40),
    ("rule with exceptions", 15),
    ("Shell allow", 500),
    ("Shell ask", 500),
    ("Shell deny", 300),
    ("Read allow", 100),
    ("Edit allow", 100),
    ("Delete allow", 20),
    ("Delete ask", 50),
    ("Delete deny", 50),
    ("Mcp allow", 50),
    ("Mcp ask", 100),
    ("Browser allow", 20),
    ("Browser ask", 50),
    ("Search allow", 50),
    ("Fetch allow", 30),
    ("Skill allow", 50),
];

fn compare(seeds: std::ops::Range<u64>) {
    let mut met: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut calls = 0;
    for seed in seeds {
        let mut dice = Dice::new(seed);
        let ruleset = documents::ruleset(&mut dice);
        let compiled = [true, false].map(|trusted| EffectiveRuleset::merge(&ruleset.documents, trusted));
        for _ in 0..CALLS {
            let request = generate::request(&mut dice);
            let compiled = &compiled[usize::from(!request.facts.project_trusted)];
            let decision = evaluate(compiled, &request);
            let judged = judge::judge(&ruleset.plain, &request);
            let (ours, naive) = (ours(&decision), naive(&judged));
            if ours != naive {
                let report = report(&ruleset, &request, &ours, &naive);
                wrong.push(format!("seed {seed}\n{report}\n{:#?}", decision.trace));
            }
            calls += 1;
            for kind in kinds(&decision, &judged, &request) {
                *met.entry(kind).or_default() += 1;
            }
        }
        if wrong.len() > 3 {
            break;
        }
    }
    println!("{met:#?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let modes: Vec<String> = Mode::ALL.iter().map(|mode| format!("mode {mode}")).collect();
    let modes = modes.iter().map(|mode| (mode.as_str(), 500));
    let rare: Vec<String> = (EXPECTED.iter().copied().chain(modes))
        .map(|(kind, least)| (kind, least, met.get(kind).copied().unwrap_or_default() * 10_000 / calls))
        .filter(|(_, least, share)| share < least)
        .map(|(kind, least, share)| format!("{share} of 10,000 answers are `{kind}`, and {least} should be"))
        .collect();
    assert!(rare.is_empty(), "{rare:#?}");
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
