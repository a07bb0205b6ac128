//! `portcullis sandbox run`: a policy is tried, unjudged and on record; the team has the last word.

use std::fs;

use portcullis_tests::{
    Policy, Role, Run, Stack,
    requests::{decision, first_outcome, trail},
    v1::{self, outcome::End},
};
use serde_json::{Value, json};

fn trial(stack: &Stack, arguments: &[&str], line: &str) -> Run {
    stack
        .portcullis(["sandbox", "run"])
        .args(arguments)
        .args(["--", "sh", "-c", line])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_tried_unjudged_and_on_record_with_its_policy() {
    let stack = Stack::start();
    // Of everything that it could be judged by nothing counts.
    stack.push_team(&Policy::new().deny("Bash(sh *)"));
    let blocked = ["--blocked-patterns", "secret.txt"];
    fs::write(stack.project().join("secret.txt"), "TOPSECRET").unwrap();
    let output = trial(&stack, &blocked, "echo hello; cat secret.txt; exit 5")
        .output()
        .expect_code(5);
    assert_eq!(output.stdout, "hello\n", "{}", output.text());

    let auditor = stack.server_as(Role::Admin).await;
    let outcome = first_outcome(&auditor).await;
    assert_eq!(outcome.outcome.unwrap().end, Some(End::ExitCode(5)));
    let trail = trail(&auditor).await;
    let record = decision(&trail, &outcome.decision_id).expect("a decision comes before its outcome");
    assert_eq!(
        (record.effect(), record.decided_by()),
        (v1::Effect::Allow, v1::DecidedBy::Sandbox)
    );
    let input: Value = serde_json::from_str(&record.input_json).unwrap();
    assert_eq!(input["sandbox"]["denyRead"], json!(["secret.txt"]));
    assert!(input["command"].as_str().unwrap().contains("echo hello"), "{input}");
}

#[test]
fn options_and_file_say_what_may_be_done() {
    let stack = Stack::start();
    let outside = stack.outside();
    let there = outside.to_str().unwrap();
    let write = format!("echo x > {there}/written && echo done");
    let _ = trial(&stack, &[], &write).output().expect_code(2);
    assert!(!outside.join("written").exists());
    let _ = trial(&stack, &["--allow-paths", there], &write).output().expect_code(0);
    assert!(outside.join("written").exists(), "positive control");

    // As seen from where it is typed.
    fs::create_dir_all(stack.project().join("sub/keep")).unwrap();
    let keep = trial(
        &stack,
        &["--readonly-paths", "keep"],
        "touch keep/x 2>/dev/null; touch free; ls keep free",
    );
    let output = keep.cwd(&stack.project().join("sub")).output().expect_code(0);
    assert!(
        !output.stdout.contains('x') && output.stdout.contains("free"),
        "{}",
        output.text()
    );

    let file = stack.base().join("policy.json");
    fs::write(
        &file,
        "// tried\n{ \"type\": \"workspace_readonly\", \"denyRead\": [\"*.pem\"], }",
    )
    .unwrap();
    fs::write(stack.project().join("a.pem"), "TOPSECRET").unwrap();
    let policy = ["--policy", file.to_str().unwrap()];
    let output = trial(&stack, &policy, "cat a.pem; touch new 2>/dev/null || echo refused")
        .output()
        .expect_code(0);
    assert_eq!(output.stdout, "refused\n", "{}", output.text());
}

#[test]
fn the_team_forbids_trials_and_bounds_them() {
    let stack = Stack::start();
    stack.push_team(&Policy::new().sandbox(json!({"type": "workspace_readonly"})));
    let _ = trial(&stack, &[], "touch new").output().expect_code(1);
    assert!(!stack.project().join("new").exists());

    stack.push_team(&Policy::new().sandbox(json!({"allowTrials": false})));
    let output = trial(&stack, &[], "touch new").output().expect_code(126);
    assert!(output.stderr.contains("allowTrials"), "{}", output.stderr);
    assert!(!stack.project().join("new").exists());
    let denied = stack
        .portcullis(["audit", "query", "--effect", "deny"])
        .output()
        .expect_code(0);
    assert!(denied.stdout.contains("touch new"), "{}", denied.stdout);

    stack.push_team(&Policy::new());
    let _ = trial(&stack, &[], "touch new").output().expect_code(0);
    assert!(stack.project().join("new").exists(), "positive control");
}

#[test]
fn no_record_no_run() {
    let mut stack = Stack::start();
    stack.server().stop();
    let output = trial(&stack, &[], "touch new").output().expect_code(125);
    assert!(!output.stderr.is_empty() && !stack.project().join("new").exists());
}

#[test]
fn what_cannot_be_used_is_said_and_nothing_runs() {
    let stack = Stack::start();
    let file = stack.base().join("policy.json");
    for (text, words) in [
        ("{\n  \"typ\": 1 }", "policy.json:2"),
        ("{\"type\": \"insecure_none\"}", "insecure_none"),
        ("{\"networkPolicy\": {\"allow\": [\"a b\"]}}", "policy.json:1"),
    ] {
        fs::write(&file, text).unwrap();
        let policy = ["--policy", file.to_str().unwrap()];
        let output = trial(&stack, &policy, "touch new").output().expect_code(2);
        assert!(output.stderr.contains(words), "{words}: {}", output.stderr);
    }
    for arguments in [
        &["--policy", "absent.json"][..],
        &["--network", "a b"],
        &["--workspace", "absent"],
    ] {
        let output = trial(&stack, arguments, "touch new").output();
        assert!([1, 2, 125].contains(&output.code), "{arguments:?}: {}", output.text());
    }
    assert!(!stack.project().join("new").exists());
}

#[test]
fn debug_says_what_was_set_up_and_what_was_refused() {
    let stack = Stack::start();
    fs::write(stack.project().join(".env"), "X=1").unwrap();
    let arguments = ["--debug", "--network", "allowed.test", "--blocked-patterns", ".env"];
    let line = "python3 -c 'import urllib.request as u; u.urlopen(\"http://refused.test\")' 2>/dev/null; true";
    let output = trial(&stack, &arguments, line)
        .env("MY_TOKEN", "x")
        .output()
        .expect_code(0);
    let project = stack.project();
    for words in [
        "is on record".to_owned(),
        "allowed: allowed.test".to_owned(),
        "landlock".to_owned(),
        format!("writable   {}", project.display()),
        format!("protected  {}/.git/hooks", project.display()),
        format!("hidden     {}/.env", project.display()),
        "MY_TOKEN left out".to_owned(),
        "refused    refused.test:80".to_owned(),
    ] {
        assert!(output.stderr.contains(&words), "no `{words}` in:\n{}", output.stderr);
    }
    assert!(output.stdout.is_empty(), "{}", output.stdout);

    let arguments = ["--debug", "--format", "json"];
    let output = trial(&stack, &arguments, "exit 3").output().expect_code(3);
    let events: Vec<Value> = output
        .stderr
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let names: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names, ["permitted", "started", "ended"], "{}", output.stderr);
    assert_eq!(events[2]["end"], json!({"exit_code": 3}));
}

#[test]
fn what_the_host_does_not_limit_is_said() {
    let stack = Stack::start();
    let output = trial(&stack, &[], "true").output().expect_code(0);
    // The kernel counts the processes of ordinary users, not root's; a cgroup for it is not delegated to a test.
    if rustix::process::geteuid().is_root() {
        assert!(
            output.stderr.contains("not limited on this host: processes"),
            "{}",
            output.stderr
        );
    } else {
        assert!(!output.stderr.contains("not limited"), "{}", output.stderr);
    }
}
