//! Tokens and rights, over the wire.

use portcullis_proto::{
    metadata,
    v1::{
        self, audit_service_client::AuditServiceClient, decision_service_client::DecisionServiceClient,
        policy_service_client::PolicyServiceClient,
    },
};
use portcullis_server::{
    auth::{
        Method, Role, Token,
        table::{self, Right, TABLE},
    },
    store::{Identity, NewToken, Store as _, TeamId},
};
use tokio::time::Instant;
use tonic::{Code, Request};

use crate::harness::{Credentials, Running, facts, shell, start};

fn with(name: &'static str, value: &str) -> Request<v1::DecideRequest> {
    let mut request = Request::new(shell("allow x"));
    request.metadata_mut().insert(name, value.parse().unwrap());
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_has_no_valid_token_is_refused_without_a_record() {
    let server = start().await;
    let good = server.token(Role::Agent);
    let stranger = Token::generate(Role::Agent).unwrap();
    let mut nobody = DecisionServiceClient::new(server.channel.clone());
    let bad = [
        Request::new(shell("allow x")),
        with(metadata::AUTHORIZATION, ""),
        with(metadata::AUTHORIZATION, &good),
        with(metadata::AUTHORIZATION, &format!("Basic {good}")),
        with(metadata::AUTHORIZATION, &format!("Bearer {good}x")),
        with(metadata::AUTHORIZATION, &format!("Bearer {}", stranger.expose())),
        with(metadata::AGENT_AUTHORIZATION, &format!("Bearer {good}")),
    ];
    for request in bad {
        let status = nobody.decide(request).await.unwrap_err();
        assert_eq!(status.code(), Code::Unauthenticated, "{status}");
        assert!(!status.message().contains("pcl_"), "a status must not repeat a token");
    }
    let mut twice = with(metadata::AUTHORIZATION, &format!("Bearer {good}"));
    twice
        .metadata_mut()
        .append(metadata::AUTHORIZATION, format!("Bearer {good}").parse().unwrap());
    assert_eq!(nobody.decide(twice).await.unwrap_err().code(), Code::Unauthenticated);
    assert_eq!(server.decision_records().await.len(), 0);
    // The control.
    nobody
        .decide(with(metadata::AUTHORIZATION, &format!("Bearer {good}")))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_was_replaced_is_worth_nothing() {
    let server = start().await;
    let old = server.token(Role::Agent);
    let new = Token::generate(Role::Agent).unwrap();
    let owner = Identity {
        team: TeamId::new("default"),
        principal: "local-agent".into(),
        role: Role::Agent,
    };
    let deadline = Instant::now() + std::time::Duration::from_secs(10);
    server
        .server
        .sqlite()
        .replace_token(
            NewToken {
                hash: new.hash(),
                owner,
            },
            deadline,
        )
        .await
        .unwrap();
    let status = server
        .decisions(Credentials::bearer(&old))
        .decide(shell("allow x"))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::Unauthenticated);
    server
        .decisions(Credentials::bearer(new.expose()))
        .decide(shell("allow x"))
        .await
        .unwrap();
}

/// A token of any role; those that the server does not write to files are made here.
async fn token(server: &Running, role: Role, team: &str) -> String {
    let token = Token::generate(role).unwrap();
    let owner = Identity {
        team: TeamId::new(team),
        principal: format!("test-{role}"),
        role,
    };
    let deadline = Instant::now() + std::time::Duration::from_secs(10);
    server
        .server
        .sqlite()
        .replace_token(
            NewToken {
                hash: token.hash(),
                owner,
            },
            deadline,
        )
        .await
        .unwrap();
    token.expose().to_owned()
}

async fn call(server: &Running, credentials: Credentials, method: Method) -> Option<Code> {
    let channel = server.channel.clone();
    let mut decisions = DecisionServiceClient::with_interceptor(channel.clone(), credentials.clone());
    let mut policies = PolicyServiceClient::with_interceptor(channel.clone(), credentials.clone());
    let mut trail = AuditServiceClient::with_interceptor(channel, credentials);
    let done = match method {
        Method::Decide => {
            let request = v1::DecideRequest {
                facts: Some(facts()),
                ..shell("allow x")
            };
            decisions.decide(request).await.map(drop)
        }
        Method::Explain => decisions
            .explain(v1::ExplainRequest {
                request: Some(shell("x")),
            })
            .await
            .map(drop),
        Method::ReportOutcome => decisions
            .report_outcome(v1::ReportOutcomeRequest::default())
            .await
            .map(drop),
        Method::ListTicketKeys => decisions.list_ticket_keys(v1::ListTicketKeysRequest {}).await.map(drop),
        Method::PushPolicy => policies
            .push(v1::PushRequest {
                content: b"{}".to_vec(),
                dry_run: true,
                ..Default::default()
            })
            .await
            .map(drop),
        Method::GetPolicy => policies.get(v1::GetRequest { version: 0 }).await.map(drop),
        Method::ListPolicies => policies.list(v1::ListRequest::default()).await.map(drop),
        Method::GetPolicySchema => policies.get_schema(v1::GetSchemaRequest {}).await.map(drop),
        Method::QueryTrail => trail.query(v1::QueryRequest::default()).await.map(drop),
        Method::TailTrail => trail.tail(v1::TailRequest::default()).await.map(drop),
        Method::AnchorTrail => trail.anchor(v1::AnchorRequest::default()).await.map(drop),
        Method::ExportTrail => trail.export(v1::ExportRequest::default()).await.map(drop),
    };
    done.err().map(|status| status.code())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_cell_of_the_table_holds_on_the_wire() {
    let server = start().await;
    for role in Role::ALL {
        let token = token(&server, role, "default").await;
        for line in &TABLE {
            let alone = call(&server, Credentials::bearer(&token), line.method).await;
            let expected = match table::right(role, line.method) {
                Right::No => Some(Code::PermissionDenied),
                // The empty report gets as far as its handler, which says what is missing.
                Right::Own if line.method == Method::ReportOutcome => Some(Code::InvalidArgument),
                Right::Own => None,
                // Not for itself: it has to show for whom.
                Right::Forward => Some(Code::Unauthenticated),
            };
            assert_eq!(alone, expected, "{role} {}", line.path);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_forwards_only_for_those_who_may_ask_themselves_and_are_of_its_team() {
    let server = start().await;
    let host = server.token(Role::Host);
    for (role, expected) in [
        (Role::Admin, None),
        (Role::Agent, None),
        (Role::Auditor, Some(Code::PermissionDenied)),
        (Role::Host, Some(Code::PermissionDenied)),
    ] {
        let subject = token(&server, role, "default").await;
        let code = call(&server, Credentials::forwarding(&host, &subject), Method::Decide).await;
        assert_eq!(code, expected, "{role}");
    }
    let foreigner = token(&server, Role::Agent, "other").await;
    let code = call(&server, Credentials::forwarding(&host, &foreigner), Method::Decide).await;
    assert_eq!(code, Some(Code::PermissionDenied));
}

#[tokio::test(flavor = "multi_thread")]
async fn teams_never_meet() {
    let server = start().await;
    server.agent().decide(shell("allow x")).await.unwrap();
    let other = Credentials::bearer(&token(&server, Role::Admin, "other").await);
    let mut trail = AuditServiceClient::with_interceptor(server.channel.clone(), other.clone());
    assert_eq!(
        trail
            .query(v1::QueryRequest::default())
            .await
            .unwrap()
            .into_inner()
            .records,
        []
    );
    let mut policies = PolicyServiceClient::with_interceptor(server.channel.clone(), other);
    assert_eq!(
        policies.get(v1::GetRequest { version: 1 }).await.unwrap_err().code(),
        Code::NotFound
    );
    assert_eq!(
        policies
            .list(v1::ListRequest::default())
            .await
            .unwrap()
            .into_inner()
            .versions,
        []
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn health_is_open_to_everybody() {
    let server = start().await;
    let mut health = tonic_health::pb::health_client::HealthClient::new(server.channel.clone());
    for service in [
        "",
        "portcullis.v1.DecisionService",
        "portcullis.v1.PolicyService",
        "portcullis.v1.AuditService",
    ] {
        let request = tonic_health::pb::HealthCheckRequest {
            service: service.into(),
        };
        let status = health.check(request).await.unwrap().into_inner().status();
        assert_eq!(
            status,
            tonic_health::pb::health_check_response::ServingStatus::Serving,
            "{service}"
        );
    }
}
