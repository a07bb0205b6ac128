//! Programs that are killed in the middle: nothing that was answered is lost, nothing is allowed meanwhile.

use std::collections::HashSet;

use portcullis_tests::{
    Policy, Role, Stack,
    hook::{claude_bash, claude_says, cursor_says, cursor_shell},
    requests::{expect_gapless, trail},
    v1::{DecidedBy, Effect},
};
use tokio::sync::mpsc;

/// Clients at the same time.
const CLIENTS: usize = 8;

/// Answers to wait for before the kill: enough that commits of several callers are on their way at any moment.
const ANSWERS: usize = 400;

#[tokio::test(flavor = "multi_thread")]
async fn a_server_killed_under_load_has_every_decision_that_it_answered() {
    let mut stack = Stack::start_server_only();
    stack.push_team(&Policy::new().allow("Bash(echo *)").deny("Bash(curl *)"));
    let mut answered = HashSet::new();
    for _round in 0..2 {
        let (sender, mut answers) = mpsc::unbounded_channel();
        let mut clients = Vec::new();
        for client in 0..CLIENTS {
            let connection = stack.server_as(Role::Agent).await;
            let sender = sender.clone();
            let request = stack.bash(if client % 2 == 0 {
                "echo hello"
            } else {
                "curl https://a.example"
            });
            clients.push(tokio::spawn(async move {
                let mut decisions = connection.decisions();
                loop {
                    let mut request = request.clone();
                    request.request_id = uuid::Uuid::now_v7().to_string();
                    match decisions.decide(request).await {
                        Ok(answer) => {
                            let _ = sender.send(answer.into_inner().decision_id);
                        }
                        // The server is gone.
                        Err(_) => return,
                    }
                }
            }));
        }
        drop(sender);
        for _ in 0..ANSWERS {
            let id = tokio::time::timeout(portcullis_tests::PATIENCE, answers.recv()).await;
            assert!(answered.insert(id.expect("answers come in time").expect("clients go on")));
        }
        stack.restart_killed_server();
        for client in clients {
            tokio::time::timeout(portcullis_tests::PATIENCE, client)
                .await
                .unwrap()
                .unwrap();
        }
        while let Some(id) = answers.recv().await {
            assert!(answered.insert(id), "a decision id came twice");
        }
        let trail = trail(&stack.server_as(Role::Admin).await).await;
        expect_gapless(&trail);
        let recorded: HashSet<String> = trail.into_iter().map(|record| record.record_id).collect();
        let lost: Vec<&String> = answered.difference(&recorded).collect();
        assert!(
            lost.is_empty(),
            "{} of {} answered decisions are lost: {lost:?}",
            lost.len(),
            answered.len()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_server_is_down_nothing_is_allowed_and_afterwards_all_is_well() {
    let mut stack = Stack::start();
    stack.push_team(&Policy::new().allow("Bash(echo *)"));
    let agent = stack.sandboxd_as(Role::Agent).await;
    let answer = agent
        .decisions()
        .decide(stack.bash("echo hello"))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(answer.effect(), Effect::Allow, "positive control: {answer:?}");

    stack.server().kill();
    let answer = agent
        .decisions()
        .decide(stack.bash("echo hello"))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        (answer.effect(), answer.decided_by()),
        (Effect::Ask, DecidedBy::Failure),
        "{answer:?}"
    );
    assert!(answer.decision_id.is_empty() && answer.ticket.is_none(), "{answer:?}");
    assert_eq!(
        claude_says(&stack.hook("claude", &claude_bash(&stack, "echo hello"))),
        "ask"
    );
    assert_eq!(
        cursor_says(&stack.hook("cursor", &cursor_shell(&stack, "echo hello"))),
        "ask"
    );
    let output = stack.portcullis(["run", "--", "echo", "hello"]).output();
    assert!(matches!(output.code, 125 | 126), "{}: {}", output.code, output.text());
    assert_eq!(output.stdout, "");
    let output = stack.portcullis(["decide", "--", "echo", "hello"]).output();
    assert_eq!(output.code, 5, "{}", output.text());

    stack.start_server();
    let answer = agent
        .decisions()
        .decide(stack.bash("echo hello"))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        answer.effect(),
        Effect::Allow,
        "sandboxd finds the server again: {answer:?}"
    );
    let output = stack.portcullis(["run", "--", "echo", "hello"]).output().expect_code(0);
    assert_eq!(output.stdout, "hello\n");
}

#[test]
fn while_sandboxd_is_down_nothing_is_allowed() {
    let mut stack = Stack::start();
    stack.push_team(&Policy::new().allow("Bash(echo *)"));
    assert_eq!(
        claude_says(&stack.hook("claude", &claude_bash(&stack, "echo hello"))),
        "allow",
        "positive control"
    );

    stack.sandboxd().kill();
    let answer = stack.hook("claude", &claude_bash(&stack, "echo hello"));
    assert!(
        matches!(claude_says(&answer).as_str(), "ask" | "deny"),
        "{}",
        answer.stdout
    );
    let answer = stack.hook("cursor", &cursor_shell(&stack, "echo hello"));
    assert!(
        matches!(cursor_says(&answer).as_str(), "ask" | "deny"),
        "{}",
        answer.stdout
    );
    let output = stack.portcullis(["run", "--", "echo", "hello"]).output();
    assert!(matches!(output.code, 125 | 126), "{}: {}", output.code, output.text());
    assert_eq!(output.stdout, "");
    assert_eq!(stack.portcullis(["decide", "--", "echo", "hello"]).output().code, 5);

    stack.start_sandboxd();
    assert_eq!(
        claude_says(&stack.hook("claude", &claude_bash(&stack, "echo hello"))),
        "allow",
        "and again"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_server_drains_and_removes_its_address() {
    let mut stack = Stack::start();
    let address = stack.data().join("server/address");
    assert_eq!(
        std::fs::read_to_string(&address).unwrap().trim_end(),
        stack.server_address()
    );
    stack.server().stop();
    assert!(!address.exists(), "the address of a stopped server misleads");
    stack.sandboxd().stop();
}
