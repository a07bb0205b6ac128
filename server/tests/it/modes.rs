//! The modes with memory: the classifier of the automatic modes, and the mode that a session began in.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_util::future::BoxFuture;
use portcullis_policy::mode::ClassifierVerdict;
use portcullis_proto::{convert::Question, v1};
use portcullis_server::{
    classifier::{Classifier, ClassifierFailure},
    serve::Seams,
};

use crate::harness::{Running, facts, shell, start_on, start_with};

/// Answers as the first word of the command says, and counts how often it is asked.
#[derive(Default)]
struct Scripted {
    asked: AtomicUsize,
}

impl Classifier for Scripted {
    fn is_configured(&self) -> bool {
        true
    }

    fn classify(&self, question: Arc<Question>) -> BoxFuture<'static, Result<ClassifierVerdict, ClassifierFailure>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let command = crate::harness::command(&question.request);
        Box::pin(async move {
            match command.split(' ').next().unwrap_or_default() {
                "acme-good" => Ok(ClassifierVerdict::Allow),
                "acme-bad" => Ok(ClassifierVerdict::Deny {
                    advice: "use the staging server".to_owned(),
                }),
                "acme-late" => std::future::pending().await,
                _ => Err(ClassifierFailure("the model is out of reach".to_owned())),
            }
        })
    }
}

async fn with_classifier() -> (Running, Arc<Scripted>) {
    let classifier = Arc::new(Scripted::default());
    let seams = Seams {
        classifier: classifier.clone(),
        starter: r#"{ "modes": { "auto": true } }"#,
        ..Default::default()
    };
    (start_with(seams, &[]).await, classifier)
}

fn call(command: &str, mode: v1::Mode, session: &str) -> v1::DecideRequest {
    v1::DecideRequest {
        mode: mode.into(),
        session_id: session.into(),
        facts: Some(facts()),
        ..shell(command)
    }
}

async fn decide(server: &Running, request: v1::DecideRequest) -> v1::DecideResponse {
    server.host().decide(request).await.unwrap().into_inner()
}

async fn auto(server: &Running, command: &str, session: &str) -> v1::DecideResponse {
    decide(server, call(command, v1::Mode::Auto, session)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_classifier_decides_blocks_are_counted_and_the_mode_pauses() {
    let (server, classifier) = with_classifier().await;
    let asked = || classifier.asked.load(Ordering::SeqCst);

    let good = auto(&server, "acme-good 1", "s1").await;
    assert_eq!(
        (good.effect(), good.decided_by()),
        (v1::Effect::Allow, v1::DecidedBy::Classifier)
    );
    // What it cannot decide it is not asked about.
    let before = asked();
    assert_eq!(auto(&server, "rm -rf /", "s1").await.effect(), v1::Effect::Ask);
    assert_eq!(
        auto(&server, "echo x > .git/config", "s1").await.effect(),
        v1::Effect::Ask
    );
    assert_eq!(asked(), before);

    let bad = auto(&server, "acme-bad 1", "s1").await;
    assert_eq!(
        (bad.effect(), bad.decided_by()),
        (v1::Effect::Deny, v1::DecidedBy::Classifier)
    );
    assert!(
        bad.agent_message.contains("use the staging server"),
        "{}",
        bad.agent_message
    );
    // The same call again goes to the person, and not to the classifier.
    let before = asked();
    let again = auto(&server, "acme-bad 1", "s1").await;
    assert_eq!(again.effect(), v1::Effect::Ask);
    assert!(
        again.user_message.contains("blocked the same call before"),
        "{}",
        again.user_message
    );
    assert_eq!(asked(), before);

    // Two more in a row pause the mode, and it says so.
    assert_eq!(auto(&server, "acme-bad 2", "s1").await.effect(), v1::Effect::Deny);
    assert_eq!(auto(&server, "acme-bad 3", "s1").await.effect(), v1::Effect::Deny);
    let paused = auto(&server, "acme-good 2", "s1").await;
    assert_eq!(paused.effect(), v1::Effect::Ask);
    assert!(paused.user_message.contains("is paused"), "{}", paused.user_message);
    // Another session is not.
    assert_eq!(auto(&server, "acme-good 2", "s2").await.effect(), v1::Effect::Allow);

    // An allow in between begins the row anew; twenty in all are too many.
    for n in 0..20 {
        assert_eq!(
            auto(&server, &format!("acme-bad {n}"), "s3").await.effect(),
            v1::Effect::Deny,
            "{n}"
        );
        let good = auto(&server, &format!("acme-good {n}"), "s3").await;
        let expected = if n < 19 { v1::Effect::Allow } else { v1::Effect::Ask };
        assert_eq!(good.effect(), expected, "{n}: {}", good.user_message);
    }
    let records = server.decision_records().await;
    let by_it = records
        .iter()
        .filter(|(_, record)| record.decided_by() == v1::DecidedBy::Classifier);
    assert!(by_it.count() > 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_classifier_that_fails_or_is_late_is_a_question() {
    let classifier = Arc::new(Scripted::default());
    let seams = Seams {
        classifier,
        starter: r#"{ "modes": { "auto": true } }"#,
        ..Default::default()
    };
    let server = start_with(seams, &[("decide_deadline_ms", "2000")]).await;
    for (command, words) in [("acme-broken", "out of reach"), ("acme-late", "took too long")] {
        let answer = auto(&server, command, "s1").await;
        assert_eq!(
            (answer.effect(), answer.decided_by()),
            (v1::Effect::Ask, v1::DecidedBy::Failure),
            "{answer:?}"
        );
        assert!(answer.user_message.contains(words), "{}", answer.user_message);
        let nobody = v1::DecideRequest {
            interactivity: v1::Interactivity::Headless.into(),
            ..call(command, v1::Mode::Auto, "s1")
        };
        assert_eq!(decide(&server, nobody).await.effect(), v1::Effect::Deny);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn explaining_counts_no_block() {
    let (server, _) = with_classifier().await;
    for _ in 0..5 {
        let request = v1::ExplainRequest {
            request: Some(call("acme-bad 1", v1::Mode::Auto, "s1")),
        };
        let said = server.host().explain(request).await.unwrap().into_inner();
        assert_eq!(said.would_be(), v1::Effect::Deny, "{}", said.user_message);
    }
    assert_eq!(auto(&server, "acme-bad 1", "s1").await.effect(), v1::Effect::Deny);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_classifier_auto_asks_and_says_why() {
    let seams = Seams {
        starter: r#"{ "modes": { "auto": true } }"#,
        ..Default::default()
    };
    let server = start_with(seams, &[]).await;
    let answer = auto(&server, "acme-good 1", "s1").await;
    assert_eq!(answer.effect(), v1::Effect::Ask);
    assert!(
        answer.user_message.contains("none is configured"),
        "{}",
        answer.user_message
    );
}

/// A server whose team says nothing.
async fn silent(data: &Path) -> Running {
    let seams = Seams {
        starter: "{}",
        ..Default::default()
    };
    start_on(data, seams, &[]).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_in_bypass_only_if_it_started_so_and_a_restart_forgets_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let data = temp.path().join("data");
    let server = silent(&data).await;
    let in_mode = async |server: &Running, mode, session: &str| {
        let answer = decide(server, call("acme-deploy", mode, session)).await;
        (answer.effect(), answer.user_message.contains("started in"))
    };
    let (allowed, asked) = ((v1::Effect::Allow, false), (v1::Effect::Ask, true));
    // One that began so may leave it and come back.
    let began = "7d3c1b6e-8f53-4b8a-9d0e-0b6c2f1f2a01";
    assert_eq!(in_mode(&server, v1::Mode::Bypass, began).await, allowed);
    assert_eq!(
        in_mode(&server, v1::Mode::Default, began).await,
        (v1::Effect::Ask, false)
    );
    assert_eq!(in_mode(&server, v1::Mode::Bypass, began).await, allowed);
    // One that did not may not come to it.
    let other = "7d3c1b6e-8f53-4b8a-9d0e-0b6c2f1f2a02";
    assert_eq!(
        in_mode(&server, v1::Mode::Default, other).await,
        (v1::Effect::Ask, false)
    );
    assert_eq!(in_mode(&server, v1::Mode::Bypass, other).await, asked);
    assert_eq!(in_mode(&server, v1::Mode::RunEverything, other).await, asked);
    // The id is bound to the agent: another one's session of the same id is its own.
    let mut cursor = call("acme-deploy", v1::Mode::RunEverything, other);
    cursor.agent.as_mut().unwrap().name = "cursor".into();
    cursor.call.as_mut().unwrap().tool_name = "Shell".into();
    let answer = decide(&server, cursor).await;
    assert_eq!(answer.effect(), v1::Effect::Allow, "{}", answer.user_message);
    server.server.stop().await.unwrap();

    let server = silent(&data).await;
    assert_eq!(in_mode(&server, v1::Mode::Bypass, other).await, asked);
    assert_eq!(
        in_mode(&server, v1::Mode::Default, began).await,
        (v1::Effect::Ask, false)
    );
    assert_eq!(in_mode(&server, v1::Mode::Bypass, began).await, allowed);
}
