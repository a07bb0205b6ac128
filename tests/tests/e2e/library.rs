//! The client library as the author of an agent uses it.

use std::time::Duration;

use portcullis_client::{FailMode, Host, HostOptions, Places, Question, Verdict, run::End, run::Event};
use portcullis_tests::{Policy, Stack};
use tokio::time::timeout;

fn question(stack: &Stack, words: &[&str]) -> Question {
    let argv = words.iter().map(|word| (*word).to_owned()).collect();
    Question::command("my-agent", stack.project().to_str().unwrap(), argv, None)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_decides_and_runs() {
    let stack = Stack::start();
    stack.push_team(&Policy::new().allow("Bash(cat)").deny("Bash(curl *)"));
    let host = Host::connect(&HostOptions::new(&Places::at(stack.data())))
        .await
        .unwrap();

    let answer = host.decide(&question(&stack, &["cat"])).await.unwrap();
    assert_eq!(answer.verdict(), Verdict::Allow);
    assert!(answer.decision_id.is_some());
    let permit = answer.into_permit().expect("an allowed command may be run");
    let mut running = host.run(permit, std::iter::empty()).await.unwrap();
    let input = running.input();
    input.write(b"through the sandbox").await.unwrap();
    input.close().await.unwrap();
    let mut stdout = Vec::new();
    let outcome = loop {
        match running.next().await.unwrap().expect("the run ends with an outcome") {
            Event::Stdout(bytes) => stdout.extend(bytes),
            Event::Ended(outcome) => break outcome,
            Event::Started(_) | Event::Stderr(_) => {}
        }
    };
    assert_eq!(
        (stdout.as_slice(), outcome.end),
        (b"through the sandbox".as_slice(), End::ExitCode(0))
    );

    let answer = host
        .decide(&question(&stack, &["curl", "https://a.example"]))
        .await
        .unwrap();
    assert_eq!(answer.verdict(), Verdict::Deny);
    assert!(answer.into_permit().is_err(), "a denied command has no permit");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_is_never_behind_input_that_nobody_reads() {
    let stack = Stack::start();
    stack.push_team(&Policy::new().allow("Bash(sleep *)"));
    let host = Host::connect(&HostOptions::new(&Places::at(stack.data())))
        .await
        .unwrap();
    let answer = host.decide(&question(&stack, &["sleep", "600"])).await.unwrap();
    let mut running = host
        .run(answer.into_permit().unwrap(), std::iter::empty())
        .await
        .unwrap();
    let input = running.input();
    let ended = tokio::spawn(async move {
        loop {
            if let Event::Ended(outcome) = running.next().await.unwrap().expect("the run ends with an outcome") {
                break outcome;
            }
        }
    });
    // Until every buffer on the way is full.
    let part = vec![0; portcullis_client::run::MAX_INPUT_BYTES];
    while let Ok(written) = timeout(Duration::from_millis(500), input.write(&part)).await {
        written.expect("the command runs");
    }
    input.signal(15).await.unwrap();
    let outcome = timeout(Duration::from_secs(60), ended)
        .await
        .expect("the signal arrives")
        .unwrap();
    assert_eq!(outcome.end, End::Signal(15));
    assert!(input.write(&part).await.is_err(), "nobody waits for a run that is over");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_run_ends_and_a_lost_daemon_is_never_an_allow() {
    let mut stack = Stack::start();
    stack.push_team(&Policy::new().allow("Bash(cat)"));
    let host = Host::connect(&HostOptions::new(&Places::at(stack.data())))
        .await
        .unwrap();
    let permit = host
        .decide(&question(&stack, &["cat"]))
        .await
        .unwrap()
        .into_permit()
        .unwrap();
    let mut running = host.run(permit, std::iter::empty()).await.unwrap();
    assert!(matches!(running.next().await.unwrap(), Some(Event::Started(_))));

    stack.sandboxd().kill();
    let end = loop {
        match running.next().await {
            Ok(Some(Event::Ended(outcome))) => panic!("nobody was there to say so: {outcome:?}"),
            Ok(Some(_)) => {}
            Ok(None) => panic!("the stream ended as if all were well"),
            Err(error) => break error,
        }
    };
    assert!(!end.to_string().is_empty());
    assert!(host.decide(&question(&stack, &["cat"])).await.is_err());
    for (mode, verdict) in [(FailMode::Ask, Verdict::Ask), (FailMode::Deny, Verdict::Deny)] {
        let answer = host.decide_or(&question(&stack, &["cat"]), mode).await;
        assert_eq!(answer.verdict(), verdict);
        assert!(answer.decision_id.is_none() && answer.into_permit().is_err());
    }
}
