//! Tickets: one run, of this command, here, now, signed by the server. Everything else is refused.

use std::time::{Duration, Instant};

use ed25519_dalek::SigningKey;
use portcullis_tests::{
    Policy, Role, Setup, Stack,
    grpc::Connection,
    runs::run,
    v1::{self, RunStart, outcome::End},
};
use prost::Message as _;
use tonic::Code;

async fn stack() -> (Stack, Connection) {
    let stack = Stack::start();
    stack.push_team(&Policy::new().allow("Bash(echo *)"));
    let agent = stack.sandboxd_as(Role::Agent).await;
    (stack, agent)
}

#[track_caller]
fn expect_refused(result: Result<portcullis_tests::runs::Finished, tonic::Status>, words: &[&str]) {
    let status = result.expect_err("the run was not refused");
    assert_eq!(status.code(), Code::FailedPrecondition, "{status:?}");
    let message = status.message().to_lowercase();
    assert!(
        words.iter().any(|word| message.contains(word)),
        "none of {words:?} in: {message}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_is_good_for_one_run() {
    let (stack, agent) = stack().await;
    let (_, start) = stack.allowed(&agent, &["echo", "once"]).await;
    let finished = run(&agent, start.clone()).await.unwrap();
    assert_eq!(
        (finished.stdout.as_slice(), finished.outcome.end),
        (b"once\n".as_slice(), Some(End::ExitCode(0)))
    );
    assert_eq!(finished.enforcement.unwrap().status(), v1::EnforcementStatus::Full);
    expect_refused(
        run(&agent, start).await,
        &["replay", "already", "used", "redeemed", "once"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn two_runs_at_the_same_time_with_one_ticket_are_one_run() {
    let (stack, agent) = stack().await;
    let (_, start) = stack.allowed(&agent, &["echo", "once"]).await;
    let other = stack.sandboxd_as(Role::Agent).await;
    let (one, two) = tokio::join!(run(&agent, start.clone()), run(&other, start));
    assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_used_ticket_stays_used_when_sandboxd_is_killed() {
    let (mut stack, agent) = stack().await;
    let (_, used) = stack.allowed(&agent, &["echo", "once"]).await;
    let (_, unused) = stack.allowed(&agent, &["echo", "never"]).await;
    run(&agent, used.clone()).await.unwrap();
    stack.restart_killed_sandboxd();
    let agent = stack.sandboxd_as(Role::Agent).await;
    for start in [used, unused] {
        let status = run(&agent, start).await.expect_err("a ticket outlived sandboxd");
        assert_eq!(status.code(), Code::FailedPrecondition, "{status:?}");
        assert!(!status.message().is_empty());
    }
    let (_, fresh) = stack.allowed(&agent, &["echo", "again"]).await;
    assert_eq!(run(&agent, fresh).await.unwrap().stdout, b"again\n", "positive control");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_is_for_its_command_and_its_folder() {
    let (stack, agent) = stack().await;
    let (_, start) = stack.allowed(&agent, &["echo", "a", "b"]).await;
    for argv in [
        &["echo", "a b"][..],
        &["echo", "a"],
        &["echo", "a", "b", ""],
        &["/bin/echo", "a", "b"],
        &[],
    ] {
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        let status = run(&agent, RunStart { argv, ..start.clone() })
            .await
            .expect_err("another command ran");
        assert!(
            matches!(status.code(), Code::FailedPrecondition | Code::InvalidArgument),
            "{status:?}"
        );
    }
    let elsewhere = RunStart {
        cwd: stack.outside().to_str().unwrap().into(),
        ..start.clone()
    };
    expect_refused(run(&agent, elsewhere).await, &["folder", "directory", "cwd"]);
    // Positive control: none of the attempts used it up.
    assert_eq!(run(&agent, start).await.unwrap().stdout, b"a b\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_or_home_made_ticket_is_refused() {
    let (stack, agent) = stack().await;
    let (_, start) = stack.allowed(&agent, &["echo", "mine"]).await;
    let ticket = start.ticket.clone().unwrap();
    let claims = v1::TicketClaims::decode(ticket.claims.as_slice()).unwrap();
    assert_eq!(
        claims.command_digest,
        portcullis_proto::ticket::command_digest(&["echo", "mine"]),
        "the ticket is bound to the words"
    );

    let with = |ticket| RunStart {
        ticket,
        ..start.clone()
    };
    let mut weaker = claims.clone();
    weaker.profile.as_mut().unwrap().masked_paths.clear();
    let mut reworded = ticket.clone();
    reworded.claims = weaker.encode_to_vec();
    let forged = portcullis_proto::ticket::sign(&SigningKey::from_bytes(&[7; 32]), weaker);
    let mut cut = ticket.clone();
    cut.signature.pop();
    for (what, ticket) in [
        ("no ticket", None),
        ("an empty ticket", Some(v1::SignedTicket::default())),
        ("changed claims", Some(reworded)),
        ("a key of one's own", Some(forged)),
        ("a cut signature", Some(cut)),
    ] {
        let status = run(&agent, with(ticket)).await.expect_err(what);
        assert!(
            matches!(status.code(), Code::FailedPrecondition | Code::InvalidArgument),
            "{what}: {status:?}"
        );
    }
    assert_eq!(run(&agent, start).await.unwrap().stdout, b"mine\n", "positive control");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_ticket_is_refused() {
    // The shortest that the server takes.
    let lifetime = Duration::from_secs(1);
    let stack = Stack::start_with(Setup {
        server_config: Some(format!("ticket_lifetime_ms = {}\n", lifetime.as_millis())),
        ..Setup::default()
    });
    stack.push_team(&Policy::new().allow("Bash(echo *)"));
    let agent = stack.sandboxd_as(Role::Agent).await;
    let (_, start) = stack.allowed(&agent, &["echo", "late"]).await;
    let answered = Instant::now();
    // Something else to do, until the clock says that the time is over; sandboxd saw the answer before we did.
    while answered.elapsed() <= lifetime {
        agent.sandbox().capabilities(v1::CapabilitiesRequest {}).await.unwrap();
    }
    expect_refused(run(&agent, start).await, &["expired", "too late"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn ask_and_deny_carry_no_ticket() {
    let (stack, agent) = stack().await;
    stack.push_team(&Policy::new().deny("Bash(curl *)").allow("Bash(echo *)"));
    for argv in [&["curl", "https://a.example"][..], &["make", "install"]] {
        let answer = agent
            .decisions()
            .decide(stack.execution(argv))
            .await
            .unwrap()
            .into_inner();
        assert_ne!(answer.effect(), v1::Effect::Allow);
        assert!(answer.ticket.is_none(), "{answer:?}");
    }
    let answer = agent
        .decisions()
        .decide(stack.bash("echo hello"))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(answer.effect(), v1::Effect::Allow);
    assert!(answer.ticket.is_none(), "nobody said that sandboxd should run it");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_words_to_run_must_be_the_command_that_was_judged() {
    let (stack, agent) = stack().await;
    let mut request = stack.execution(&["echo", "hello"]);
    request.execution.as_mut().unwrap().argv = vec!["rm".into(), "-rf".into(), "x".into()];
    let status = agent
        .decisions()
        .decide(request)
        .await
        .expect_err("another command was signed");
    assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
}
