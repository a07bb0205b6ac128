//! The main job: an agent's call is decided, recorded, run in the sandbox, and can be read back.

use portcullis_tests::{
    Policy, Role, Stack,
    hook::{claude_bash, claude_says, cursor_says, cursor_shell},
    requests::{decision, expect_gapless, first_outcome, trail},
    v1::{self, audit_record::Body, outcome::End},
};
use serde_json::Value;

/// `audit query --format json`: one record a line, or one array.
fn records(stack: &Stack, arguments: &[&str]) -> Vec<Value> {
    let output = stack
        .portcullis(["audit", "query", "--format", "json"])
        .args(arguments)
        .output()
        .expect_code(0);
    let mut records = Vec::new();
    for value in serde_json::Deserializer::from_str(&output.stdout).into_iter::<Value>() {
        match value.unwrap_or_else(|error| panic!("no JSON ({error}):\n{}", output.stdout)) {
            Value::Array(values) => records.extend(values),
            value => records.push(value),
        }
    }
    records
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_hooks_are_decided_a_command_runs_sandboxed_and_the_trail_links_decision_and_outcome() {
    let stack = Stack::start();
    stack.push_team(&Policy::new().allow("Bash(echo *)").deny("Bash(git push *)"));

    let answer = stack.hook("claude", &claude_bash(&stack, "echo from claude"));
    assert_eq!(claude_says(&answer), "allow");
    let answer = stack.hook("cursor", &cursor_shell(&stack, "echo from cursor"));
    assert_eq!(cursor_says(&answer), "allow");
    // As recorded, but for the folder.
    let answer = stack.hook("cursor", &cursor_shell(&stack, "git push origin main"));
    assert_eq!(cursor_says(&answer), "deny");

    let output = stack
        .portcullis(["run", "--", "echo", "from the sandbox"])
        .output()
        .expect_code(0);
    assert_eq!(output.stdout, "from the sandbox\n");

    let auditor = stack.server_as(Role::Admin).await;
    let outcome = first_outcome(&auditor).await;
    let trail = trail(&auditor).await;
    expect_gapless(&trail);
    let ran = decision(&trail, &outcome.decision_id).expect("the outcome's decision is in the trail");
    assert_eq!(ran.effect(), v1::Effect::Allow);
    assert!(ran.ticket_issued);
    let reported = outcome.outcome.as_ref().unwrap();
    assert_eq!(reported.end, Some(End::ExitCode(0)));
    let enforcement = reported.enforcement.as_ref().unwrap();
    assert_eq!(enforcement.status(), v1::EnforcementStatus::Full, "{enforcement:?}");
    for record in &trail {
        let by_a_host = !matches!(record.body, Some(Body::PolicyChange(_)));
        assert_eq!(!record.host_id.is_empty(), by_a_host, "{record:?}");
    }
    let agents: Vec<&str> = trail
        .iter()
        .filter_map(|record| match &record.body {
            Some(Body::Decision(decision)) => Some(decision.agent.as_ref().unwrap().name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(agents[..3], ["claude", "cursor", "cursor"]);

    // The same, as a person reads it.
    let shown = records(&stack, &[]);
    let text = shown.iter().map(Value::to_string).collect::<Vec<_>>();
    assert_eq!(shown.len(), trail.len(), "{text:#?}");
    let about = text
        .iter()
        .filter(|record| record.contains(&outcome.decision_id))
        .count();
    assert_eq!(about, 2, "decision and outcome share the decision id: {text:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn audit_query_filters_by_effect_and_time() {
    let stack = Stack::start();
    stack.push_team(&Policy::new().allow("Bash(echo *)").deny("Bash(git push *)"));
    let _ = stack
        .portcullis(["decide", "--", "echo", "fine"])
        .output()
        .expect_code(0);
    let _ = stack
        .portcullis(["decide", "--", "git", "push"])
        .output()
        .expect_code(4);

    let denied = records(&stack, &["--effect", "deny", "--since", "1h"]);
    assert_eq!(denied.len(), 1, "{denied:#?}");
    assert!(denied[0].to_string().contains("git push"));
    assert_eq!(records(&stack, &["--effect", "allow", "--since", "1h"]).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_keeps_streams_and_exit_status() {
    let stack = Stack::start();
    stack.push_team(&Policy::new().allow("Bash(sh ./script)").allow("Bash(cat)"));
    stack.write_project_file("script", "echo to stdout; echo to stderr >&2; exit 7\n");
    let output = stack.portcullis(["run", "--", "sh", "./script"]).output();
    assert_eq!(
        (output.code, output.stdout.as_str()),
        (7, "to stdout\n"),
        "{}",
        output.text()
    );
    assert!(output.stderr.contains("to stderr\n"), "{}", output.stderr);

    let input = "line\n".repeat(50_000);
    let output = stack
        .portcullis(["run", "--", "cat"])
        .input(input.clone())
        .output()
        .expect_code(0);
    assert!(
        output.stdout == input,
        "250 kB through stdin and stdout: {} bytes came back",
        output.stdout.len()
    );

    stack.write_project_file("script", "kill -TERM $$\n");
    let _ = stack
        .portcullis(["run", "--", "sh", "./script"])
        .output()
        .expect_code(128 + 15);
}

#[test]
fn decide_explains_itself_and_says_what_to_do() {
    let stack = Stack::start();
    stack.push_team(&Policy::new().allow("Bash(echo *)").deny("Bash(git push --force *)"));
    let output = stack
        .portcullis(["decide", "--", "git", "push", "--force", "origin"])
        .output()
        .expect_code(4);
    for words in ["deny", "Bash(git push --force *)", "team"] {
        assert!(output.stdout.contains(words), "`{words}` is not in:\n{}", output.text());
    }
    let _ = stack
        .portcullis(["decide", "--", "echo", "hello"])
        .output()
        .expect_code(0)
        .expect_words("allow");
    let _ = stack
        .portcullis(["decide", "--", "make", "install"])
        .output()
        .expect_code(3)
        .expect_words("ask");
}
