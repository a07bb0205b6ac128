//! A command that the sandbox broke, asked about once more: a person decides, with what the sandbox refused in front of them.

use std::fs;

use portcullis_tests::{
    Output, Policy, Role, Run, Stack,
    requests::{decision, first_outcome, trail},
    v1,
};
use serde_json::Value;

const SCRIPT: [&str; 2] = ["sh", "./script"];

/// A stack on which the script may run, and where the script writes to outside of its workspace.
fn stack() -> (Stack, String) {
    let stack = Stack::start();
    stack.push_team(&Policy::new().allow("Bash(sh ./script)").allow("Bash(sh ./calm)"));
    let target = stack.outside().join("result").to_str().unwrap().to_owned();
    stack.write_project_file("script", &format!("echo x > {target}\n"));
    stack.write_project_file("calm", "exit 3\n");
    (stack, target)
}

fn run(stack: &Stack, words: &[&str]) -> Output {
    stack.portcullis(["run", "--"]).args(words).output()
}

fn decide(stack: &Stack, before: &str, words: &[&str]) -> Run {
    stack
        .portcullis(["decide", "--format", "json", "--retry-of", before, "--"])
        .args(words)
}

/// The command line that the run's hint names.
fn hinted(output: &Output) -> Vec<String> {
    let line = output
        .stderr
        .lines()
        .find(|line| line.contains("--retry-of"))
        .expect(&output.stderr);
    let asking = line.split('`').nth(1).expect(line);
    asking.split(' ').map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_asks_with_the_evidence_of_the_run_that_failed() {
    let (stack, target) = stack();
    let failed = run(&stack, &SCRIPT);
    assert!(failed.code != 0 && !fs::exists(&target).unwrap(), "{}", failed.text());
    let auditor = stack.server_as(Role::Admin).await;
    let before = first_outcome(&auditor).await.decision_id;

    // What is told to type is typed.
    let words = hinted(&failed);
    assert_eq!(words[..4], ["portcullis", "decide", "--retry-of", before.as_str()]);
    let asked = stack.portcullis(&words[1..]).output().expect_code(3);
    assert!(
        asked.stdout.contains("ask") && asked.stdout.contains(&target),
        "{}",
        asked.stdout
    );

    let asked = decide(&stack, &before, &SCRIPT).output().expect_code(3);
    let answer: Value = serde_json::from_str(&asked.stdout).unwrap();
    let why = answer["user_message"].as_str().unwrap();
    assert!(
        why.contains(&before) && why.contains(&format!("to write `{target}`")),
        "{why}"
    );
    // The control: the same words without the option are allowed.
    let plain = stack.portcullis(["decide", "--"]).args(SCRIPT).output().expect_code(0);
    assert!(!plain.stdout.contains(&target), "{}", plain.stdout);

    // All of it is on record.
    let id = answer["decision_id"].as_str().unwrap();
    let trail = trail(&auditor).await;
    let record = decision(&trail, id).unwrap();
    assert_eq!(
        (record.effect(), record.retry_of.as_str()),
        (v1::Effect::Ask, before.as_str())
    );
    let evidence = record.retry_evidence.as_ref().unwrap();
    assert_eq!(evidence.finding(), v1::RetryFinding::Refused);
    assert_eq!(
        (evidence.refusals[0].kind(), evidence.refusals[0].subject.as_str()),
        (v1::RefusedKind::Write, target.as_str())
    );
    let query = ["audit", "query", "--decision", id];
    let shown = stack.portcullis(query).output().expect_code(0);
    for words in [format!("retry of {before}"), format!("refused write {target}")] {
        assert!(shown.stdout.contains(&words), "no `{words}` in {}", shown.stdout);
    }
    let shown = stack
        .portcullis(query)
        .args(["--format", "json"])
        .output()
        .expect_code(0);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["retry_of"], before.as_str());
    assert_eq!(shown["retry_evidence"]["finding"], "refused");
    assert_eq!(shown["retry_evidence"]["refusals"][0]["subject"], target.as_str());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_evidence_it_asks_and_says_so() {
    let (stack, target) = stack();
    let failed = run(&stack, &["sh", "./calm"]).expect_code(3);
    assert!(
        !failed.stderr.contains("--retry-of"),
        "nothing was refused: {}",
        failed.stderr
    );
    let before = first_outcome(&stack.server_as(Role::Admin).await).await.decision_id;
    let asked = decide(&stack, &before, &["sh", "./calm"]).output().expect_code(3);
    assert!(
        asked.stdout.contains("refused nothing that it knows of"),
        "{}",
        asked.stdout
    );
    // Another command is not covered by what became of this one.
    let asked = decide(&stack, &before, &SCRIPT).output().expect_code(3);
    assert!(
        asked.stdout.contains("another command") && !asked.stdout.contains(&target),
        "{}",
        asked.stdout
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_is_not_ones_own_is_an_error_that_says_what_to_do() {
    let (stack, _) = stack();
    // A decision of the same team, made by another principal.
    let admin = stack.server_as(Role::Admin).await;
    let theirs = admin
        .decisions()
        .decide(stack.bash("sh ./script"))
        .await
        .unwrap()
        .into_inner();
    assert!(!theirs.decision_id.is_empty());
    for id in [theirs.decision_id.as_str(), "0190b5a4-0000-7000-8000-000000000000"] {
        let refused = decide(&stack, id, &SCRIPT).output().expect_code(2);
        for words in ["retry_of", "of yours", "leave it out"] {
            assert!(refused.stderr.contains(words), "no `{words}` in {}", refused.stderr);
        }
        assert!(refused.stdout.is_empty(), "{}", refused.stdout);
    }
    let refused = decide(&stack, "wrong", &SCRIPT).output().expect_code(2);
    assert!(
        refused.stderr.contains("retry_of") && refused.stderr.contains("UUID"),
        "{}",
        refused.stderr
    );
}
