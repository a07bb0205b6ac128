//! What an admin does: pushes policy, reads it back, follows the trail.

use portcullis_tests::{Policy, Role, Stack, v1};
use rustix::process::Signal;
use tonic::Code;

#[tokio::test(flavor = "multi_thread")]
async fn a_fresh_server_has_the_starter_policy_and_every_push_is_a_version() {
    let stack = Stack::start_server_only();
    let admin = stack.server_as(Role::Admin).await;
    let first = admin
        .policies()
        .get(v1::GetRequest::default())
        .await
        .unwrap()
        .into_inner();
    let version = first.version.unwrap();
    assert!(
        version.version == 1 && version.active && version.rule_count > 0,
        "{version:?}"
    );
    let starter = String::from_utf8(first.content).unwrap();

    let policy = Policy::new().deny("Bash(curl *)");
    stack.push_team(&policy);
    let shown = stack.portcullis(["policy", "get"]).output().expect_code(0);
    assert_eq!(shown.stdout, policy.text(), "the text as pushed, byte for byte");
    let shown = stack
        .portcullis(["policy", "get", "--version", "1"])
        .output()
        .expect_code(0);
    assert_eq!(shown.stdout, starter);
    let listed = admin
        .policies()
        .list(v1::ListRequest::default())
        .await
        .unwrap()
        .into_inner()
        .versions;
    let states: Vec<(u64, bool)> = listed.iter().map(|version| (version.version, version.active)).collect();
    assert_eq!(states, [(2, true), (1, false)]);
    let shown = stack.portcullis(["policy", "list"]).output().expect_code(0);
    assert!(shown.stdout.lines().count() >= 2, "{}", shown.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_who_started_from_the_same_version_one_is_refused() {
    let stack = Stack::start_server_only();
    let admin = stack.server_as(Role::Admin).await;
    let push = |rule: &str| v1::PushRequest {
        content: Policy::new().deny(rule).text().into_bytes(),
        file_name: "team.jsonc".into(),
        expected_version: Some(1),
        ..v1::PushRequest::default()
    };
    let (mut one, mut two) = (admin.policies(), admin.policies());
    let (one, two) = tokio::join!(one.push(push("Bash(a)")), two.push(push("Bash(b)")));
    let refused = match (one, two) {
        (Ok(_), Err(status)) | (Err(status), Ok(_)) => status,
        both => panic!("{both:?}"),
    };
    assert!(
        matches!(refused.code(), Code::FailedPrecondition | Code::Aborted),
        "{refused:?}"
    );
}

#[test]
fn the_schema_is_printed_here_and_served_there() {
    let stack = Stack::start_server_only();
    let own = stack.portcullis(["policy", "schema"]).output().expect_code(0).stdout;
    let served = stack
        .portcullis(["policy", "schema", "--from-server"])
        .output()
        .expect_code(0)
        .stdout;
    assert_eq!(own, served, "programs of one build read the same documents");
    let schema: serde_json::Value = serde_json::from_str(&served).unwrap();
    assert!(schema["properties"]["permissions"]["properties"]["deny"].is_object());
}

#[test]
fn a_dry_run_changes_nothing() {
    let stack = Stack::start_server_only();
    let file = stack.base().join("team.jsonc");
    std::fs::write(&file, Policy::new().deny("Bash(echo *)").text()).unwrap();
    let _ = stack
        .portcullis(["policy", "push", "--dry-run", "--team"])
        .args([&file])
        .output()
        .expect_code(0);
    let listed = stack
        .portcullis(["policy", "list", "--format", "json"])
        .output()
        .expect_code(0);
    assert_eq!(listed.stdout.lines().count(), 1, "{}", listed.stdout);
}

#[test]
fn a_tail_shows_a_decision_when_it_is_made_and_goes_on_after_a_restart() {
    let mut stack = Stack::start();
    stack.push_team(&Policy::new().deny("Bash(curl *)"));
    let mut tail = stack
        .portcullis(["audit", "tail", "--from-start", "--effect", "deny", "--format", "json"])
        .spawn("portcullis audit tail");
    let _ = stack
        .portcullis(["decide", "--", "curl", "https://first.example"])
        .output()
        .expect_code(4);
    assert!(tail.line_with("first.example").contains("\"sequence\""));
    // The port changes, so the command has to look the address up again.
    stack.restart_killed_server();
    let _ = stack
        .portcullis(["decide", "--", "curl", "https://second.example"])
        .output()
        .expect_code(4);
    tail.line_with("second.example");
    let log = tail.log();
    let sequences: Vec<&str> = log
        .lines()
        .filter_map(|line| {
            line.split_once("\"sequence\":")?
                .1
                .split_once(',')
                .map(|(number, _)| number)
        })
        .collect();
    assert_eq!(sequences, ["3", "4"], "each record once, in order:\n{log}");
    tail.signal(Signal::INT);
    assert!(tail.wait().success(), "{}", tail.log());
}
