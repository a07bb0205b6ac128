//! Decide, Explain, ReportOutcome and ListTicketKeys.

use std::sync::{Arc, Mutex, mpsc};

use ed25519_dalek::VerifyingKey;
use portcullis_policy::{EffectiveRuleset, Request as Question, Verdict};
use portcullis_proto::{ticket, v1};
use portcullis_server::{auth::Role, serve::Seams};
use tonic::Code;

use crate::harness::{Credentials, Running, decision, execution, facts, headless, scripted, shell, start, start_with};

fn effect(response: &v1::DecideResponse) -> v1::Effect {
    response.effect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_is_on_record_before_it_is_given() {
    let server = start().await;
    let mut ids = Vec::new();
    for (command, expected) in [
        ("allow ls", v1::Effect::Allow),
        ("ask ls", v1::Effect::Ask),
        ("deny ls", v1::Effect::Deny),
    ] {
        let response = server.agent().decide(shell(command)).await.unwrap().into_inner();
        assert_eq!(effect(&response), expected);
        assert_eq!(response.policy_version, 1);
        ids.push(response.decision_id);
    }
    let records = server.decision_records().await;
    let recorded: Vec<_> = records
        .iter()
        .rev()
        .map(|(record, _)| record.record_id.clone())
        .collect();
    assert_eq!(recorded, ids, "in the order in which they were given");
    let sequences: Vec<_> = server
        .records(Default::default())
        .await
        .iter()
        .map(|record| record.sequence)
        .collect();
    assert_eq!(sequences, [4, 3, 2, 1], "without gaps; 1 is the starter policy");
    let (record, first) = records.last().unwrap();
    assert_eq!(
        (record.team.as_str(), record.principal.as_str(), record.host_id.as_str()),
        ("default", "local-agent", "")
    );
    assert_eq!((first.tool_name.as_str(), first.cwd.as_str()), ("Bash", "/w"));
    assert_eq!(first.input_json, r#"{"command":"allow ls"}"#);
    assert_eq!(first.input_fingerprint.len(), 64);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_is_an_ask_or_a_deny_on_record_and_the_server_goes_on() {
    let server = start().await;
    for (request, expected) in [
        (shell("panic now"), v1::Effect::Ask),
        (headless("panic now"), v1::Effect::Deny),
    ] {
        let response = server.agent().decide(request).await.unwrap().into_inner();
        assert_eq!(
            (effect(&response), response.decided_by()),
            (expected, v1::DecidedBy::Failure)
        );
        assert!(response.user_message.contains("bug"), "{}", response.user_message);
    }
    let dont_ask = v1::DecideRequest {
        mode: v1::Mode::DontAsk.into(),
        ..shell("panic now")
    };
    assert_eq!(
        effect(&server.agent().decide(dont_ask).await.unwrap().into_inner()),
        v1::Effect::Deny
    );
    assert_eq!(
        effect(&server.agent().decide(shell("allow ls")).await.unwrap().into_inner()),
        v1::Effect::Allow
    );
    let records = server.decision_records().await;
    assert_eq!(records.len(), 4);
    assert!(
        !records[1].1.input_json.contains("panic now"),
        "an input that made us fail is not read again"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_evaluation_that_takes_too_long_is_no_allow() {
    let (release, blocked) = mpsc::channel::<()>();
    let blocked = Mutex::new(blocked);
    let evaluator = move |_: &EffectiveRuleset, _: &Question| {
        // It ends with an error once the test is over.
        assert!(blocked.lock().unwrap().recv().is_err());
        decision(Verdict::Allow, "late")
    };
    let seams = Seams {
        evaluator: Arc::new(evaluator),
        ..Default::default()
    };
    let server = start_with(seams, &[("decide_deadline_ms", "2000")]).await;
    let response = server.agent().decide(shell("ls")).await.unwrap().into_inner();
    assert_eq!(
        (effect(&response), response.decided_by()),
        (v1::Effect::Ask, v1::DecidedBy::Failure)
    );
    assert!(
        response.user_message.contains("longer than 1500 ms"),
        "{}",
        response.user_message
    );
    assert_eq!(server.decision_records().await.len(), 1);
    drop(release);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_explanation_leaves_no_record_and_grants_nothing() {
    let server = start().await;
    let request = v1::ExplainRequest {
        request: Some(shell("allow ls")),
    };
    let response = server.agent().explain(request).await.unwrap().into_inner();
    assert_eq!(response.would_be(), v1::Effect::Allow);
    assert_eq!(response.policy_version, 1);
    assert_eq!(server.decision_records().await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_message_is_refused_with_its_field() {
    let server = start().await;
    let mut bad = shell("allow ls");
    bad.call.as_mut().unwrap().input_json = b"{".to_vec();
    let status = server.agent().decide(bad).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("call.input_json"), "{}", status.message());
    assert_eq!(server.decision_records().await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_over_the_limit_is_refused_and_the_next_one_served() {
    let server = start().await;
    let mut big = shell("allow ls");
    big.call.as_mut().unwrap().input_json = vec![b' '; portcullis_proto::MAX_REQUEST_BYTES];
    let status = server
        .agent()
        .max_encoding_message_size(usize::MAX)
        .decide(big)
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::OutOfRange, "{status}");
    assert_eq!(
        effect(&server.agent().decide(shell("allow ls")).await.unwrap().into_inner()),
        v1::Effect::Allow
    );
}

async fn keys(server: &Running) -> Vec<VerifyingKey> {
    let mut host = server.decisions(Credentials::bearer(&server.token(Role::Host)));
    let keys = host
        .list_ticket_keys(v1::ListTicketKeysRequest {})
        .await
        .unwrap()
        .into_inner()
        .keys;
    keys.iter()
        .map(|key| VerifyingKey::from_bytes(key.public_key.as_slice().try_into().unwrap()).unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_execution_gets_a_ticket_for_exactly_it() {
    let server = start().await;
    let argv = ["allow", "a b"];
    let response = server.host().decide(execution(&argv)).await.unwrap().into_inner();
    assert_eq!(effect(&response), v1::Effect::Allow, "{}", response.user_message);
    let claims = ticket::verify(&response.ticket.unwrap(), &keys(&server).await).unwrap();
    assert_eq!(claims.command_digest, ticket::command_digest(&argv));
    assert_eq!(
        (claims.decision_id, claims.host_id),
        (response.decision_id.clone(), "ab".repeat(32))
    );
    assert_eq!(
        (claims.uid, claims.cwd.as_str(), claims.team.as_str()),
        (1000, "/w", "default")
    );
    assert_eq!((claims.profile, claims.policy_version), (response.sandbox, 1));
    assert_eq!(claims.valid_for.unwrap().seconds, 60);
    let (record, decision) = server.decision_records().await.remove(0);
    assert!(decision.ticket_issued);
    assert_eq!(
        (record.principal.as_str(), record.host_id),
        ("local-agent", "ab".repeat(32))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_ticket_without_allow_or_without_host() {
    let server = start().await;
    let asked = server
        .host()
        .decide(execution(&["ask", "x"]))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        (effect(&asked), asked.ticket, asked.sandbox),
        (v1::Effect::Ask, None, None)
    );
    let direct = server
        .agent()
        .decide(execution(&["allow", "x"]))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(direct.ticket, None);
    assert!(
        server
            .decision_records()
            .await
            .iter()
            .all(|(_, decision)| !decision.ticket_issued)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_faulty_host_document_means_no_allow_and_is_named() {
    let server = start_with(scripted(), &[]).await;
    let mut request = shell("allow ls");
    let document = v1::HostDocument {
        format: v1::DocumentFormat::Native.into(),
        layer: v1::Layer::Project.into(),
        path: "/w/.portcullis/policy.jsonc".into(),
        content: b"{\n  \"permissions\": 7\n}".to_vec(),
    };
    request.facts = Some(v1::HostFacts {
        documents: vec![document],
        ..facts()
    });
    let response = server.host().decide(request.clone()).await.unwrap().into_inner();
    assert_eq!(
        (effect(&response), response.decided_by()),
        (v1::Effect::Ask, v1::DecidedBy::Failure)
    );
    assert!(
        response.user_message.contains("/w/.portcullis/policy.jsonc:2:"),
        "{}",
        response.user_message
    );
    // The control: without the fault it is allowed.
    request.facts.as_mut().unwrap().documents[0].content = b"{}".to_vec();
    assert_eq!(
        effect(&server.host().decide(request).await.unwrap().into_inner()),
        v1::Effect::Allow
    );
}

fn exited(code: u32) -> Option<v1::Outcome> {
    Some(v1::Outcome {
        end: Some(v1::outcome::End::ExitCode(code)),
        ..Default::default()
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_is_recorded_once_and_only_for_an_allow_of_this_host() {
    let server = start().await;
    let mut host = server.host();
    let allowed = host
        .decide(v1::DecideRequest {
            facts: Some(facts()),
            ..shell("allow x")
        })
        .await
        .unwrap()
        .into_inner();
    let denied = host
        .decide(v1::DecideRequest {
            facts: Some(facts()),
            ..shell("deny x")
        })
        .await
        .unwrap()
        .into_inner();
    let direct = server.agent().decide(shell("allow x")).await.unwrap().into_inner();
    let report = |decision_id: &str, code| v1::ReportOutcomeRequest {
        decision_id: decision_id.into(),
        outcome: exited(code),
    };

    let first = host
        .report_outcome(report(&allowed.decision_id, 3))
        .await
        .unwrap()
        .into_inner()
        .sequence;
    let again = host
        .report_outcome(report(&allowed.decision_id, 3))
        .await
        .unwrap()
        .into_inner()
        .sequence;
    assert_eq!(first, again);
    let refused = [
        (report(&allowed.decision_id, 4), Code::AlreadyExists),
        (report(&denied.decision_id, 0), Code::FailedPrecondition),
        (report(&direct.decision_id, 0), Code::NotFound),
        (report("0190b5a4-0000-7000-8000-000000000000", 0), Code::NotFound),
        (report("x", 0), Code::InvalidArgument),
        (
            v1::ReportOutcomeRequest {
                decision_id: direct.decision_id.clone(),
                outcome: None,
            },
            Code::InvalidArgument,
        ),
        (report(&direct.decision_id, 256), Code::InvalidArgument),
    ];
    for (report, code) in refused {
        let status = host.report_outcome(report.clone()).await.unwrap_err();
        assert_eq!(status.code(), code, "{report:?}: {status}");
    }
    let filter = v1::RecordFilter {
        decision_id: allowed.decision_id.clone(),
        ..Default::default()
    };
    let linked = server.records(filter).await;
    assert_eq!(linked.len(), 2, "the decision and its one outcome");
    assert_eq!(
        (linked[0].sequence, linked[0].principal.as_str()),
        (first, "local-host")
    );
    assert_eq!(linked[0].host_id, "ab".repeat(32));
    let by_session = v1::RecordFilter {
        session_id: shell("").session_id,
        ..Default::default()
    };
    assert_eq!(
        server.records(by_session).await.len(),
        4,
        "an outcome belongs to its decision's session"
    );
}
