//! With the real engine: pushed policy, host documents and the starter policy decide.

use portcullis_proto::v1;
use portcullis_server::serve::Seams;

use crate::harness::{Running, facts, shell, start_with};

async fn start() -> Running {
    start_with(Seams::default(), &[]).await
}

async fn push(server: &Running, text: &str) {
    let request = v1::PushRequest {
        content: text.into(),
        ..Default::default()
    };
    let response = server.policies().push(request).await.unwrap().into_inner();
    assert!(
        matches!(response.result, Some(v1::push_response::Result::Accepted(_))),
        "{response:?}"
    );
}

fn with_user_rules(command: &str, text: &str) -> v1::DecideRequest {
    let document = v1::HostDocument {
        layer: v1::Layer::User.into(),
        path: "/home/p/.config/portcullis/policy.jsonc".into(),
        content: text.into(),
    };
    v1::DecideRequest {
        facts: Some(v1::HostFacts {
            documents: vec![document],
            ..facts()
        }),
        ..shell(command)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pushed_team_deny_beats_a_user_allow_on_the_very_next_call() {
    let server = start().await;
    push(&server, "{}").await;
    let request = || {
        with_user_rules(
            "acme-deploy now",
            r#"{ "permissions": { "allow": ["Bash(acme-deploy *)"] } }"#,
        )
    };
    let before = server.host().decide(request()).await.unwrap().into_inner();
    assert_eq!(before.effect(), v1::Effect::Allow, "{before:?}");
    push(
        &server,
        "{\n  \"permissions\": {\n    \"deny\": [\"Bash(acme-deploy *)\"]\n  }\n}",
    )
    .await;
    let after = server.host().decide(request()).await.unwrap().into_inner();
    assert_eq!(
        (after.effect(), after.decided_by(), after.policy_version),
        (v1::Effect::Deny, v1::DecidedBy::Rule, 3)
    );
    let rule = after.rule.unwrap();
    assert_eq!(
        (rule.document.as_str(), rule.line, rule.layer()),
        ("team policy v3", 3, v1::Layer::Team)
    );
    let (_, recorded) = server.decision_records().await.remove(0);
    assert_eq!(recorded.rule.unwrap(), rule);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_host_the_users_documents_allow_nothing() {
    let server = start().await;
    push(&server, "{}").await;
    let request = with_user_rules(
        "acme-deploy now",
        r#"{ "permissions": { "allow": ["Bash(acme-deploy *)"] } }"#,
    );
    let direct = server.agent().decide(request.clone()).await.unwrap().into_inner();
    assert_ne!(direct.effect(), v1::Effect::Allow);
    let forwarded = server.host().decide(request).await.unwrap().into_inner();
    assert_eq!(forwarded.effect(), v1::Effect::Allow, "the control");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_starter_policy_is_in_force_on_a_fresh_server() {
    let server = start().await;
    let active = server
        .policies()
        .get(v1::GetRequest { version: 0 })
        .await
        .unwrap()
        .into_inner();
    assert_eq!(active.content, portcullis_policy::starter::TEAM.as_bytes());
    let version = active.version.unwrap();
    assert_eq!((version.version, version.author.as_str()), (1, "portcullis-server"));
    assert!(version.rule_count > 20);
    let forced = v1::DecideRequest {
        facts: Some(facts()),
        ..shell("git push --force origin main")
    };
    let forced = server.host().decide(forced).await.unwrap().into_inner();
    assert_ne!(forced.effect(), v1::Effect::Allow, "{forced:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_policy_that_cannot_be_read_any_more_allows_nothing() {
    use sqlx::{ConnectOptions as _, Connection as _};
    let temp = tempfile::tempdir().unwrap();
    let server = crate::harness::start_on(temp.path(), crate::harness::scripted(), &[])
        .await
        .unwrap();
    let allowed = server.agent().decide(shell("allow x")).await.unwrap().into_inner();
    assert_eq!(allowed.effect(), v1::Effect::Allow, "the control");
    server.server.stop().await.unwrap();
    let path = temp.path().join("server/portcullis.db");
    let mut connection = sqlx::sqlite::SqliteConnectOptions::new()
        .filename(path)
        .connect()
        .await
        .unwrap();
    // As a version with another idea of a policy would have written it.
    let stored = "INSERT INTO policy_versions SELECT team, 2, digest, author, created_at_ns, comment, file_name, rule_count, x'5b5d'
                  FROM policy_versions; UPDATE active_policies SET version = 2";
    sqlx::raw_sql(stored).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let server = crate::harness::start_on(temp.path(), crate::harness::scripted(), &[])
        .await
        .unwrap();
    let response = server.agent().decide(shell("allow x")).await.unwrap().into_inner();
    assert_eq!(
        (response.effect(), response.decided_by()),
        (v1::Effect::Ask, v1::DecidedBy::Failure)
    );
    assert!(
        response.user_message.contains("team policy v2 cannot be read"),
        "{}",
        response.user_message
    );
    push(&server, "{}").await;
    let repaired = server.agent().decide(shell("allow x")).await.unwrap().into_inner();
    assert_eq!(repaired.effect(), v1::Effect::Allow);
}
