//! Push, Get and List.

use portcullis_proto::v1::{self, push_response::Result as Outcome};
use tonic::Code;

use crate::harness::{scripted, shell, start, start_on};

fn push(content: &str) -> v1::PushRequest {
    v1::PushRequest {
        content: content.into(),
        file_name: "team.jsonc".into(),
        comment: "why".into(),
        ..Default::default()
    }
}

fn accepted(response: v1::PushResponse) -> v1::PolicyVersion {
    match response.result {
        Some(Outcome::Accepted(version)) => version,
        other => panic!("not accepted: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_very_next_decision_is_made_under_the_pushed_version() {
    let server = start().await;
    for expected in 2..12 {
        let version = accepted(server.policies().push(push("{}")).await.unwrap().into_inner());
        assert_eq!((version.version, version.active), (expected, true));
        let response = server.agent().decide(shell("allow x")).await.unwrap().into_inner();
        assert_eq!(response.policy_version, expected);
    }
    let change = v1::RecordFilter {
        kind: v1::RecordKind::PolicyChange.into(),
        ..Default::default()
    };
    let records = server.records(change).await;
    assert_eq!(records.len(), 11);
    let Some(v1::audit_record::Body::PolicyChange(newest)) = &records[0].body else {
        panic!("{:?}", records[0])
    };
    assert_eq!(
        (newest.version, newest.previous_version, newest.comment.as_str()),
        (11, 10, "why")
    );
    assert_eq!(records[0].principal, "local-admin");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_ten_faults_of_a_document_come_back_and_nothing_is_stored() {
    let server = start().await;
    let rules: Vec<String> = (0..10).map(|at| format!("      \"Bash({at}\"")).collect();
    let text = format!(
        "{{\n  \"permissions\": {{\n    \"deny\": [\n{}\n    ]\n  }}\n}}\n",
        rules.join(",\n")
    );
    let response = server.policies().push(push(&text)).await.unwrap().into_inner();
    let Some(Outcome::Rejected(rejected)) = response.result else {
        panic!("accepted: {response:?}")
    };
    let lines: Vec<u32> = rejected.faults.iter().map(|fault| fault.line).collect();
    assert_eq!(lines, (4..14).collect::<Vec<_>>());
    assert!(
        rejected
            .faults
            .iter()
            .all(|fault| fault.column > 0 && !fault.message.is_empty())
    );
    assert_eq!(
        server
            .policies()
            .list(v1::ListRequest::default())
            .await
            .unwrap()
            .into_inner()
            .versions
            .len(),
        1
    );
    // The control: the same document without its faults.
    accepted(
        server
            .policies()
            .push(push(&text.replace("Bash(", "Bash(x)\", \"Bash")))
            .await
            .unwrap()
            .into_inner(),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_from_a_version_that_is_not_in_force_is_refused() {
    let server = start().await;
    let from = |version| v1::PushRequest {
        expected_version: Some(version),
        ..push("{}")
    };
    for (version, dry_run) in [(0, false), (2, false), (2, true)] {
        let status = server
            .policies()
            .push(v1::PushRequest {
                dry_run,
                ..from(version)
            })
            .await
            .unwrap_err();
        assert_eq!(status.code(), Code::Aborted);
        assert!(status.message().contains("version 1 is in force"), "{status}");
    }
    accepted(server.policies().push(from(1)).await.unwrap().into_inner());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_changes_nothing() {
    let server = start().await;
    let would_be = accepted(
        server
            .policies()
            .push(v1::PushRequest {
                dry_run: true,
                ..push("{}")
            })
            .await
            .unwrap()
            .into_inner(),
    );
    assert_eq!((would_be.version, would_be.active), (2, false));
    let listed = server
        .policies()
        .list(v1::ListRequest::default())
        .await
        .unwrap()
        .into_inner()
        .versions;
    assert_eq!(listed.len(), 1);
    assert_eq!(server.records(Default::default()).await.len(), 1, "the starter policy");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_long_or_no_text_is_refused_with_its_field() {
    let server = start().await;
    let cases = [
        (push(&" ".repeat(256 * 1024 + 1)), "content"),
        (
            v1::PushRequest {
                content: vec![b'{', 0xff, b'}'],
                ..push("")
            },
            "content",
        ),
        (
            v1::PushRequest {
                file_name: "x".repeat(1025),
                ..push("{}")
            },
            "file_name",
        ),
        (
            v1::PushRequest {
                comment: "x".repeat(1025),
                ..push("{}")
            },
            "comment",
        ),
    ];
    for (request, field) in cases {
        let status = server.policies().push(request).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().contains(field), "{status}");
    }
    let status = server
        .policies()
        .list(v1::ListRequest {
            page_size: 501,
            before_version: 0,
        })
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_are_kept_as_pushed_and_listed_newest_first() {
    let server = start().await;
    for at in 2..=5 {
        accepted(
            server
                .policies()
                .push(push(&format!("{{}} // {at}")))
                .await
                .unwrap()
                .into_inner(),
        );
    }
    let mut policies = server.policies();
    let old = policies.get(v1::GetRequest { version: 3 }).await.unwrap().into_inner();
    assert_eq!(
        (old.content.as_slice(), old.version.unwrap().active),
        (&b"{} // 3"[..], false)
    );
    let active = policies
        .get(v1::GetRequest { version: 0 })
        .await
        .unwrap()
        .into_inner()
        .version
        .unwrap();
    assert_eq!((active.version, active.active, active.digest.len()), (5, true, 64));
    assert_eq!(
        policies.get(v1::GetRequest { version: 6 }).await.unwrap_err().code(),
        Code::NotFound
    );
    let page = policies
        .list(v1::ListRequest {
            page_size: 2,
            before_version: 5,
        })
        .await
        .unwrap()
        .into_inner();
    let versions: Vec<_> = page
        .versions
        .iter()
        .map(|version| (version.version, version.active))
        .collect();
    assert_eq!((versions, page.more), (vec![(4, false), (3, false)], true));
    let rest = policies
        .list(v1::ListRequest {
            page_size: 2,
            before_version: 3,
        })
        .await
        .unwrap()
        .into_inner();
    assert_eq!((rest.versions.len(), rest.more), (2, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_policy_in_force_survives_a_restart() {
    let temp = tempfile::tempdir().unwrap();
    let server = start_on(temp.path(), scripted(), &[]).await.unwrap();
    accepted(server.policies().push(push("{}")).await.unwrap().into_inner());
    server.server.stop().await.unwrap();
    let server = start_on(temp.path(), scripted(), &[]).await.unwrap();
    assert_eq!(
        server
            .agent()
            .decide(shell("allow x"))
            .await
            .unwrap()
            .into_inner()
            .policy_version,
        2
    );
}
