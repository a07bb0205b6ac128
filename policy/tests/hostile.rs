//! Input that somebody made to break the engine: large, deep, or not known.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test program stops at the first surprise, and says what it did not decide"
)]

mod common;

use common::{bash, call, decide, path, request, rules};
use portcullis_policy::{DecidedBy, Layer, Mode, Verdict, facts_needed};
use serde_json::json;

#[test]
fn a_command_of_100_kb_is_decided() {
    let long = format!("echo {}", "a".repeat(100_000));
    let allow = [rules(Layer::User, &["Bash(echo *)"], &[], &[])];
    assert_eq!(
        decide(&allow, &request(bash(&long), Mode::Default)).verdict,
        Verdict::Allow
    );
    let hidden = format!("{long}; curl https://a.test");
    assert_eq!(
        decide(&allow, &request(bash(&hidden), Mode::Default)).verdict,
        Verdict::Ask
    );
    let stars = [rules(
        Layer::User,
        &["Bash(echo *a*a*a*a*a*a*a*a*a*b)"],
        &[],
        &["Bash(* *a*a*a*a*a*a*c*)"],
    )];
    assert_ne!(
        decide(&stars, &request(bash(&long), Mode::Default)).verdict,
        Verdict::Deny
    );
}

#[test]
fn ten_thousand_operands_are_judged_one_by_one() {
    let operands: Vec<String> = (0..10_000).map(|n| format!("src/f{n}")).collect();
    let clean = format!("cat {}", operands.join(" "));
    let request_clean = request(bash(&clean), Mode::Default);
    assert!(request_clean.facts.paths.len() >= 10_000);
    let decision = decide(&[], &request_clean);
    assert_eq!(decision.verdict, Verdict::Allow, "{}", decision.user_message);
    assert!(decision.trace.len() <= portcullis_policy::evaluate::MAX_TRACE);
    // The command itself and its operands.
    assert_eq!(decision.trace.len() + decision.left_out, 10_001);
    let one_bad = format!("{clean} .env");
    let denied = decide(
        &[rules(Layer::Team, &[], &[], &["Read(.env)"])],
        &request(bash(&one_bad), Mode::Default),
    );
    assert_eq!(denied.verdict, Verdict::Deny);
    assert!(denied.trace[0].subject.ends_with("/.env"));
}

#[test]
fn more_paths_than_are_looked_up_are_asked_for() {
    let operands: Vec<String> = (0..25_000).map(|n| format!("f{n}")).collect();
    let request = request(bash(&format!("cat {}", operands.join(" "))), Mode::Default);
    assert!(request.facts.paths.len() <= portcullis_policy::evaluate::MAX_PATHS);
    assert_ne!(decide(&[], &request).verdict, Verdict::Allow);
}

#[test]
fn an_unknown_tool_is_asked_for_in_every_mode_but_those_that_deny() {
    for mode in Mode::ALL {
        let decision = decide(&[], &request(call("Mystery", json!({ "x": [1, { "y": null }] })), mode));
        assert_ne!(decision.verdict, Verdict::Allow, "{mode}");
    }
    let named = [rules(Layer::User, &["Mystery"], &[], &[])];
    assert_eq!(
        decide(&named, &request(call("Mystery", json!({})), Mode::Default)).verdict,
        Verdict::Allow
    );
    assert_eq!(
        decide(&named, &request(call("Mystery2", json!({})), Mode::Default)).verdict,
        Verdict::Ask
    );
}

#[test]
fn facts_that_are_missing_or_failed_allow_nothing() {
    let mut asked = request(bash("ls src"), Mode::Default);
    assert_eq!(decide(&[], &asked).verdict, Verdict::Allow, "positive control");
    asked
        .facts
        .failures
        .push("cannot read `.portcullis/policy.jsonc`".to_owned());
    let decision = decide(&[], &asked);
    assert_eq!(
        (decision.verdict, decision.decided_by),
        (Verdict::Ask, DecidedBy::Failure)
    );

    for mode in [Mode::Default, Mode::AcceptEdits, Mode::Bypass] {
        let mut asked = request(common::edit("src/a.rs"), mode);
        asked.facts.paths.clear();
        assert_ne!(
            decide(&[rules(Layer::User, &["Edit(src/**)"], &[], &[])], &asked).verdict,
            Verdict::Allow,
            "{mode}"
        );
        let mut asked = request(bash("ls src"), mode);
        asked.facts.vouched = false;
        assert_ne!(
            decide(&[rules(Layer::User, &["Bash"], &[], &[])], &asked).verdict,
            Verdict::Allow,
            "{mode}"
        );
    }
}

#[test]
fn a_program_or_repository_of_the_workspace_is_not_the_known_one() {
    let mut asked = request(bash("ls src"), Mode::Default);
    asked
        .facts
        .programs
        .insert("ls".to_owned(), Some(path("/home/dev/proj/bin/ls")));
    assert_eq!(decide(&[], &asked).verdict, Verdict::Ask);
    assert_eq!(
        decide(&[rules(Layer::User, &["Bash(ls *)"], &[], &[])], &asked).verdict,
        Verdict::Ask
    );

    let mut asked = request(bash("git status"), Mode::Default);
    assert_eq!(decide(&[], &asked).verdict, Verdict::Allow, "positive control");
    asked.facts.repository = portcullis_policy::facts::Repository::Unknown;
    assert_eq!(decide(&[], &asked).verdict, Verdict::Ask);
    asked.facts.repository = portcullis_policy::facts::Repository::Known {
        root: path("/home/dev/proj"),
        executing_keys: vec!["core.fsmonitor".to_owned()],
    };
    assert_eq!(
        decide(&[], &asked).verdict,
        Verdict::Allow,
        "the person trusts what it names"
    );
    asked.facts.project_trusted = false;
    assert_eq!(decide(&[], &asked).verdict, Verdict::Ask);
    asked.facts.repository = portcullis_policy::facts::Repository::Known {
        root: path("/home/dev/proj"),
        executing_keys: Vec::new(),
    };
    assert_eq!(
        decide(&[], &asked).verdict,
        Verdict::Allow,
        "nothing runs, whoever trusts it"
    );
}

#[test]
fn facts_needed_is_bounded() {
    let operands: Vec<String> = (0..30_000).map(|n| format!("f{n}")).collect();
    let many = bash(&format!("cat {}", operands.join(" ")));
    assert!(facts_needed(&many.action, &common::workspace()).paths.len() <= portcullis_policy::evaluate::MAX_PATHS);
}

/// Behind a command that may have changed the folder, a name still says what it is.
#[test]
fn a_protected_name_in_an_unknown_folder_needs_a_person() {
    for line in ["$X y; echo x > .git/hooks/pre-commit", "$X y && rm .git/config"] {
        let decision = decide(&[], &request(bash(line), Mode::Bypass));
        assert_eq!(decision.verdict, Verdict::Ask, "{line}: {}", decision.user_message);
        assert_eq!(
            decision.decided_by,
            DecidedBy::Protection,
            "{line}: {}",
            decision.user_message
        );
    }
    let plain = decide(&[], &request(bash("$X y; echo x > notes"), Mode::Bypass));
    assert_eq!(plain.verdict, Verdict::Allow, "{}", plain.user_message);
}
