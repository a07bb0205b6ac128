//! Retries outside of the sandbox: never an allow, and the evidence is the trail's.

use std::sync::Arc;

use portcullis_policy::{Decision, EffectiveRuleset, Request as Question, Verdict, decision::Obligation};
use portcullis_proto::{
    convert::{Vouching, question},
    v1::{self, RefusedKind, outcome::End},
};
use portcullis_server::{
    auth::{Role, Token},
    serve::Seams,
    store::{Identity, NewToken, Store as _, TeamId},
};
use tokio::time::Instant;
use tonic::Code;

use crate::harness::{
    Client, Credentials, Running, command, decision, execution, facts, headless, scripted, shell, start, start_on,
    start_with,
};

type Decisions = v1::decision_service_client::DecisionServiceClient<Client>;

/// A command that is allowed, as the host asks about it.
fn asked() -> v1::DecideRequest {
    execution(&["allow", "make"])
}

/// The same, to be run outside.
fn again(before: &str) -> v1::DecideRequest {
    v1::DecideRequest {
        execution: None,
        retry_of: before.to_owned(),
        ..asked()
    }
}

async fn decide(client: &mut Decisions, request: v1::DecideRequest) -> v1::DecideResponse {
    client.decide(request).await.unwrap().into_inner()
}

fn refusal(kind: RefusedKind, subject: &str, certain: bool) -> v1::SandboxRefusal {
    v1::SandboxRefusal {
        kind: kind.into(),
        subject: subject.to_owned(),
        reason: "it lies outside".to_owned(),
        remedy: "add it".to_owned(),
        certain,
        times: 1,
    }
}

/// An allowed run that is on record with its outcome.
async fn ran(client: &mut Decisions, end: End, refusals: Vec<v1::SandboxRefusal>) -> String {
    let allowed = decide(client, asked()).await;
    assert_eq!(allowed.effect(), v1::Effect::Allow, "positive control");
    assert!(allowed.ticket.is_some(), "positive control");
    let report = v1::ReportOutcomeRequest {
        decision_id: allowed.decision_id.clone(),
        outcome: Some(v1::Outcome {
            end: Some(end),
            refusals,
            ..Default::default()
        }),
    };
    client.report_outcome(report).await.unwrap();
    allowed.decision_id
}

/// The newest decision on record.
async fn newest(server: &Running) -> v1::DecisionRecord {
    server.decision_records().await.swap_remove(0).1
}

/// Fails unless the answer is an ask that says this, grants nothing, and is on record with this finding.
async fn expect_ask(
    server: &Running,
    answer: v1::DecideResponse,
    before: &str,
    words: &str,
    finding: v1::RetryFinding,
) {
    assert_eq!(answer.effect(), v1::Effect::Ask, "{answer:?}");
    assert!(answer.ticket.is_none() && answer.sandbox.is_none(), "{answer:?}");
    assert!(answer.suggested_rules.is_empty(), "{answer:?}");
    for text in [&answer.user_message, &answer.agent_message, &answer.trace[0].reason] {
        assert!(text.contains(words) && text.contains(before), "no `{words}` in: {text}");
        assert!(text.contains("outside of the sandbox"), "{text}");
    }
    let record = newest(server).await;
    assert_eq!((record.effect(), record.retry_of.as_str()), (v1::Effect::Ask, before));
    assert!(!record.ticket_issued && record.user_message == answer.user_message);
    assert_eq!(record.retry_evidence.unwrap().finding(), finding);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_asks_and_says_what_the_sandbox_refused() {
    let server = start().await;
    let mut host = server.host();
    let refused = vec![
        refusal(RefusedKind::Host, "a.test:443", true),
        refusal(RefusedKind::Call, "unshare", true),
        refusal(RefusedKind::Write, "/opt/x", false),
    ];
    let before = ran(&mut host, End::ExitCode(2), refused).await;
    let answer = decide(&mut host, again(&before)).await;
    assert_eq!(answer.decided_by(), v1::DecidedBy::Control);
    let words = "refused to reach `a.test:443`, the system call `unshare`, to write `/opt/x` (probably: the output says so), and the \
                 command ended with exit status 2";
    expect_ask(&server, answer, &before, words, v1::RetryFinding::Refused).await;
    let evidence = newest(&server).await.retry_evidence.unwrap();
    let subjects: Vec<_> = evidence
        .refusals
        .iter()
        .map(|refusal| refusal.subject.as_str())
        .collect();
    assert_eq!(subjects, ["a.test:443", "unshare", "/opt/x"]);
    assert_eq!(
        (evidence.left_out, evidence.detail.as_str()),
        (0, "ended with exit status 2")
    );
    // Also where it would run in the sandbox once more.
    let once_more = v1::DecideRequest {
        retry_of: before.to_uppercase(),
        ..asked()
    };
    let answer = decide(&mut host, once_more).await;
    expect_ask(&server, answer, &before, "to write `/opt/x`", v1::RetryFinding::Refused).await;
    // And the control: without the field the same call is allowed still, and its record says nothing of a retry.
    assert_eq!(decide(&mut host, again("")).await.effect(), v1::Effect::Allow);
    let record = newest(&server).await;
    assert_eq!((record.retry_of.as_str(), record.retry_evidence), ("", None));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_allow_rests_on_makes_no_difference() {
    // An allow because of the sandbox, and one that forgets what mode it is in.
    let evaluator = |_: &EffectiveRuleset, request: &Question| Decision {
        obligations: vec![Obligation::RunInSandbox],
        suggested_rules: vec!["Bash(x)".to_owned()],
        ..decision(Verdict::Allow, &command(request))
    };
    let seams = Seams {
        evaluator: Arc::new(evaluator),
        ..Default::default()
    };
    let server = start_with(seams, &[]).await;
    let mut host = server.host();
    let before = ran(
        &mut host,
        End::Signal(9),
        vec![refusal(RefusedKind::Write, "/opt/x", true)],
    )
    .await;
    let plain = decide(&mut host, again("")).await;
    assert!(
        plain.effect() == v1::Effect::Allow && plain.sandbox.is_some(),
        "positive control"
    );
    for mode in [
        v1::Mode::Default,
        v1::Mode::AcceptEdits,
        v1::Mode::Bypass,
        v1::Mode::AllowlistSandbox,
    ] {
        let request = v1::DecideRequest {
            mode: mode.into(),
            ..again(&before)
        };
        let answer = decide(&mut host, request).await;
        expect_ask(
            &server,
            answer,
            &before,
            "was killed by signal 9",
            v1::RetryFinding::Refused,
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_itself_in_bypass_mode_and_by_a_rule_asks_about_a_retry() {
    let server = start_with(Seams::default(), &[]).await;
    let mut host = server.host();
    let request = |mode: v1::Mode, allow: &[&str], retry_of: &str| v1::DecideRequest {
        mode: mode.into(),
        session_id: String::new(),
        session_rules: Some(v1::SessionRules {
            allow: allow.iter().map(ToString::to_string).collect(),
            ..Default::default()
        }),
        facts: Some(facts()),
        retry_of: retry_of.to_owned(),
        ..shell("make all")
    };
    for (mode, allow) in [(v1::Mode::Bypass, &[][..]), (v1::Mode::Default, &["Bash(make *)"])] {
        let plain = decide(&mut host, request(mode, allow, "")).await;
        assert_eq!(plain.effect(), v1::Effect::Allow, "positive control: {plain:?}");
        let answer = decide(&mut host, request(mode, allow, &plain.decision_id)).await;
        assert!(answer.rule.is_none(), "no rule decided that: {answer:?}");
        expect_ask(
            &server,
            answer,
            &plain.decision_id,
            "no outcome",
            v1::RetryFinding::NoOutcome,
        )
        .await;
        // The explanation says the same, and promises no change that would not help.
        let explain = v1::ExplainRequest {
            request: Some(request(mode, allow, &plain.decision_id)),
        };
        let explained = host.explain(explain).await.unwrap().into_inner();
        assert_eq!(explained.would_be(), v1::Effect::Ask);
        assert!(
            explained.changes.is_empty() && explained.no_change.contains("retry"),
            "{explained:?}"
        );
        assert_eq!(explained.parts.len(), explained.trace.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_stays_and_an_ask_keeps_its_reason() {
    let server = start().await;
    let mut host = server.host();
    let before = ran(&mut host, End::ExitCode(1), Vec::new()).await;
    let retry = |line: &str| v1::DecideRequest {
        facts: Some(facts()),
        retry_of: before.clone(),
        ..shell(line)
    };
    let denied = decide(&mut host, retry("deny x")).await;
    let plain = decide(
        &mut host,
        v1::DecideRequest {
            retry_of: String::new(),
            ..retry("deny x")
        },
    )
    .await;
    assert_eq!(denied.effect(), v1::Effect::Deny);
    assert_eq!(
        (&denied.user_message, &denied.trace),
        (&plain.user_message, &plain.trace)
    );
    let records = server.decision_records().await;
    assert_eq!(records[1].1.retry_of, before, "it is on record all the same");

    let answer = decide(&mut host, retry("ask x")).await;
    assert_eq!(answer.decided_by(), v1::DecidedBy::Mode);
    assert!(
        answer.user_message.contains("besides: scripted"),
        "{}",
        answer.user_message
    );
    expect_ask(
        &server,
        answer,
        &before,
        "its input differs",
        v1::RetryFinding::OtherCall,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_can_be_asked_it_is_a_denial() {
    let server = start().await;
    let mut host = server.host();
    let before = ran(
        &mut host,
        End::ExitCode(1),
        vec![refusal(RefusedKind::Read, "/opt/x", true)],
    )
    .await;
    let dont_ask = v1::DecideRequest {
        mode: v1::Mode::DontAsk.into(),
        ..again(&before)
    };
    let nobody = v1::DecideRequest {
        interactivity: headless("").interactivity,
        ..again(&before)
    };
    for request in [dont_ask, nobody] {
        let plain = v1::DecideRequest {
            retry_of: String::new(),
            ..request.clone()
        };
        assert_eq!(
            decide(&mut host, plain).await.effect(),
            v1::Effect::Allow,
            "positive control"
        );
        let answer = decide(&mut host, request).await;
        assert_eq!(answer.effect(), v1::Effect::Deny);
        assert!(
            answer.user_message.contains("nobody can be asked"),
            "{}",
            answer.user_message
        );
        assert!(answer.user_message.contains("/opt/x"), "{}", answer.user_message);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_trail_does_not_hold_is_said() {
    let server = start().await;
    let mut host = server.host();
    let nothing = ran(&mut host, End::ExitCode(1), Vec::new()).await;
    let answer = decide(&mut host, again(&nothing)).await;
    let words = "the sandbox refused nothing that it knows of";
    expect_ask(&server, answer, &nothing, words, v1::RetryFinding::NothingRefused).await;

    let running = decide(&mut host, asked()).await.decision_id;
    let answer = decide(&mut host, again(&running)).await;
    expect_ask(
        &server,
        answer,
        &running,
        "no outcome of it is on record yet",
        v1::RetryFinding::NoOutcome,
    )
    .await;

    let ask = v1::DecideRequest {
        facts: Some(facts()),
        ..shell("ask x")
    };
    let asked_about = decide(&mut host, ask).await.decision_id;
    let answer = decide(&mut host, again(&asked_about)).await;
    expect_ask(
        &server,
        answer,
        &asked_about,
        "was no allow",
        v1::RetryFinding::NotAllowed,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_evidence_of_another_command_is_not_shown() {
    let server = start().await;
    let mut host = server.host();
    let before = ran(
        &mut host,
        End::ExitCode(1),
        vec![refusal(RefusedKind::Write, "/opt/x", true)],
    )
    .await;
    let mut line = again(&before);
    line.call = shell("allow make install").call;
    let mut tool = again(&before);
    tool.call.as_mut().unwrap().tool_name = "bash".to_owned();
    let mut folder = again(&before);
    folder.workspace.as_mut().unwrap().cwd = "/w/sub".to_owned();
    let mut elsewhere = again(&before);
    elsewhere.facts.as_mut().unwrap().host_id = "cd".repeat(32);
    for (request, words) in [
        (line, "its input differs"),
        (tool, "another tool"),
        (folder, "working directory differs"),
        (elsewhere, "another host"),
    ] {
        let answer = decide(&mut host, request).await;
        assert!(!answer.user_message.contains("/opt/x"), "{}", answer.user_message);
        assert!(
            answer.user_message.contains("another command"),
            "{}",
            answer.user_message
        );
        expect_ask(&server, answer, &before, words, v1::RetryFinding::OtherCall).await;
        assert!(newest(&server).await.retry_evidence.unwrap().refusals.is_empty());
    }
}

/// A token that this server knows.
async fn token(server: &Running, team: &str, principal: &str, role: Role) -> String {
    let token = Token::generate(role).unwrap();
    let owner = Identity {
        team: TeamId::new(team),
        principal: principal.to_owned(),
        role,
    };
    let hash = token.hash();
    let deadline = Instant::now() + std::time::Duration::from_secs(5);
    server
        .server
        .sqlite()
        .replace_token(NewToken { hash, owner }, deadline)
        .await
        .unwrap();
    token.expose().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_elses_decision_is_not_known() {
    let server = start().await;
    let before = ran(
        &mut server.host(),
        End::ExitCode(1),
        vec![refusal(RefusedKind::Write, "/opt/x", true)],
    )
    .await;
    let colleague = token(&server, "default", "colleague", Role::Agent).await;
    let stranger = token(&server, "strangers", "local-agent", Role::Agent).await;
    let their_host = token(&server, "strangers", "local-host", Role::Host).await;
    let recorded = server.decision_records().await.len();
    let never = "0190b5a4-0000-7000-8000-000000000000";
    let mut answers = Vec::new();
    for (credentials, id) in [
        (
            Credentials::forwarding(&server.token(Role::Host), &colleague),
            before.as_str(),
        ),
        (Credentials::forwarding(&their_host, &stranger), before.as_str()),
        (
            Credentials::forwarding(&server.token(Role::Host), &server.token(Role::Agent)),
            never,
        ),
    ] {
        let mut client = server.decisions(credentials);
        let status = client.decide(again(id)).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
        assert!(status.message().starts_with("invalid `retry_of`:"), "{status}");
        answers.push(status.message().replace(id, "ID"));
        let explain = v1::ExplainRequest {
            request: Some(again(id)),
        };
        assert_eq!(client.explain(explain).await.unwrap_err().code(), Code::InvalidArgument);
        let plain = decide(&mut client, again("")).await;
        assert_eq!(plain.effect(), v1::Effect::Allow, "positive control");
    }
    assert!(
        answers.iter().all(|answer| *answer == answers[2]),
        "they tell apart: {answers:?}"
    );
    assert_eq!(
        server.decision_records().await.len(),
        recorded + 2,
        "the controls of this team only"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_id_is_refused_with_its_field() {
    let server = start().await;
    for id in [
        "x",
        "0190b5a400007000800000000000000000000",
        "{190b5a4-0000-7000-8000-00000000000}",
        " ",
    ] {
        let status = server.host().decide(again(id)).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{id}");
        assert!(status.message().contains("`retry_of`"), "{status}");
    }
    // A trial runs in the sandbox or not at all.
    let mut trial = asked();
    trial.execution.as_mut().unwrap().trial = true;
    trial.call.as_mut().unwrap().input_json = br#"{"command":"allow make","sandbox":{}}"#.to_vec();
    assert!(question(trial.clone(), Vouching::Host).is_ok(), "positive control");
    trial.retry_of = "0190b5a4-0000-7000-8000-000000000000".to_owned();
    let status = server.host().decide(trial).await.unwrap_err();
    assert!(status.message().contains("`retry_of`"), "{status}");
    assert_eq!(server.decision_records().await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_evidence_outlives_a_restart_and_secrets_stay_out_of_it() {
    let temp = tempfile::tempdir().unwrap();
    let data = temp.path().join("data");
    let before = {
        let server = start_on(&data, scripted(), &[]).await.unwrap();
        let secret = refusal(
            RefusedKind::Host,
            "token=ghp_0123456789abcdefghijABCDEFGHIJ012345.test",
            true,
        );
        let before = ran(&mut server.host(), End::ExitCode(1), vec![secret]).await;
        server.server.stop().await.unwrap();
        before
    };
    let server = start_on(&data, scripted(), &[]).await.unwrap();
    let answer = decide(&mut server.host(), again(&before)).await;
    assert!(answer.user_message.contains("[redacted:"), "{}", answer.user_message);
    let record = format!("{answer:?} {:?}", newest(&server).await);
    assert!(!record.contains("ghp_0123456789"), "{record}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_beside_a_retry_is_still_on_record_as_one() {
    let server = start().await;
    let mut host = server.host();
    let before = ran(&mut host, End::ExitCode(1), Vec::new()).await;
    let mut request = again(&before);
    request.call = shell("panic now").call;
    let answer = decide(&mut host, request).await;
    assert_eq!(
        (answer.effect(), answer.decided_by()),
        (v1::Effect::Ask, v1::DecidedBy::Failure)
    );
    assert_eq!(newest(&server).await.retry_of, before);
}
