//! Query and Tail.

use portcullis_proto::v1;
use portcullis_server::auth::Role;
use tonic::{Code, Streaming};

use crate::harness::{Running, scripted, shell, start, start_with};

async fn fill(server: &Running, count: usize) {
    for at in 0..count {
        let word = ["allow", "ask", "deny"][at % 3];
        server.agent().decide(shell(&format!("{word} {at}"))).await.unwrap();
    }
}

async fn next(stream: &mut Streaming<v1::TailResponse>) -> u64 {
    stream.message().await.unwrap().unwrap().record.unwrap().sequence
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_find_what_they_name_and_nothing_else() {
    let server = start().await;
    let mut other = shell("deny other");
    other.session_id = "another session".into();
    let decision = server.agent().decide(other).await.unwrap().into_inner();
    fill(&server, 6).await;
    let time = server.records(Default::default()).await[3].time;
    let found = |filter: v1::RecordFilter| {
        let server = &server;
        async move {
            server
                .records(filter)
                .await
                .iter()
                .map(|record| record.sequence)
                .collect::<Vec<_>>()
        }
    };
    let none = v1::RecordFilter::default;
    assert_eq!(found(none()).await, [8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(
        found(v1::RecordFilter {
            effect: v1::Effect::Deny.into(),
            ..none()
        })
        .await,
        [8, 5, 2]
    );
    assert_eq!(
        found(v1::RecordFilter {
            kind: v1::RecordKind::PolicyChange.into(),
            ..none()
        })
        .await,
        [1]
    );
    assert_eq!(
        found(v1::RecordFilter {
            kind: v1::RecordKind::Outcome.into(),
            ..none()
        })
        .await,
        [0_u64; 0]
    );
    assert_eq!(
        found(v1::RecordFilter {
            session_id: "another session".into(),
            ..none()
        })
        .await,
        [2]
    );
    assert_eq!(
        found(v1::RecordFilter {
            decision_id: decision.decision_id,
            ..none()
        })
        .await,
        [2]
    );
    assert_eq!(
        found(v1::RecordFilter {
            principal: "portcullis-server".into(),
            ..none()
        })
        .await,
        [1]
    );
    assert_eq!(
        found(v1::RecordFilter {
            tool_name: "Bash".into(),
            ..none()
        })
        .await,
        [8, 7, 6, 5, 4, 3, 2]
    );
    assert_eq!(
        found(v1::RecordFilter {
            tool_name: "bash".into(),
            ..none()
        })
        .await,
        [0_u64; 0]
    );
    assert_eq!(found(v1::RecordFilter { since: time, ..none() }).await, [8, 7, 6, 5]);
    assert_eq!(found(v1::RecordFilter { until: time, ..none() }).await, [4, 3, 2, 1]);
    let both = v1::RecordFilter {
        effect: v1::Effect::Deny.into(),
        since: time,
        ..none()
    };
    assert_eq!(found(both).await, [8, 5]);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_follow_one_another_without_gap_or_repetition() {
    let server = start().await;
    fill(&server, 10).await;
    let (mut seen, mut before) = (Vec::new(), 0);
    loop {
        let request = v1::QueryRequest {
            filter: None,
            page_size: 4,
            before_sequence: before,
        };
        let page = server.trail().query(request).await.unwrap().into_inner();
        seen.extend(page.records.iter().map(|record| record.sequence));
        before = page.next_before_sequence;
        if before == 0 {
            break;
        }
    }
    assert_eq!(seen, (1..=11).rev().collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_filter_is_refused_with_its_field() {
    let server = start().await;
    let filters = [
        (
            v1::RecordFilter {
                kind: 77,
                ..Default::default()
            },
            "filter.kind",
        ),
        (
            v1::RecordFilter {
                effect: 77,
                ..Default::default()
            },
            "filter.effect",
        ),
        (
            v1::RecordFilter {
                since: Some(prost_types::Timestamp {
                    seconds: i64::MAX,
                    nanos: 0,
                }),
                ..Default::default()
            },
            "filter.since",
        ),
    ];
    for (filter, field) in filters {
        let query = v1::QueryRequest {
            filter: Some(filter),
            ..Default::default()
        };
        let status = server.trail().query(query).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().contains(field), "{status}");
    }
    let query = v1::QueryRequest {
        page_size: 1001,
        ..Default::default()
    };
    assert_eq!(
        server.trail().query(query).await.unwrap_err().code(),
        Code::InvalidArgument
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tail_shows_what_is_committed_from_now_on_and_goes_on_where_told() {
    let server = start().await;
    fill(&server, 3).await;
    let mut live = server
        .trail()
        .tail(v1::TailRequest::default())
        .await
        .unwrap()
        .into_inner();
    fill(&server, 2).await;
    assert_eq!([next(&mut live).await, next(&mut live).await], [5, 6]);
    drop(live);
    fill(&server, 1).await;
    let mut resumed = server
        .trail()
        .tail(v1::TailRequest {
            after_sequence: Some(5),
            filter: None,
        })
        .await
        .unwrap()
        .into_inner();
    assert_eq!([next(&mut resumed).await, next(&mut resumed).await], [6, 7]);
    fill(&server, 1).await;
    assert_eq!(next(&mut resumed).await, 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filtered_tail_passes_over_the_rest() {
    let server = start().await;
    let filter = Some(v1::RecordFilter {
        effect: v1::Effect::Deny.into(),
        ..Default::default()
    });
    let mut denials = server
        .trail()
        .tail(v1::TailRequest {
            filter,
            after_sequence: Some(0),
        })
        .await
        .unwrap()
        .into_inner();
    fill(&server, 9).await;
    assert_eq!(
        [
            next(&mut denials).await,
            next(&mut denials).await,
            next(&mut denials).await
        ],
        [4, 7, 10]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_is_slow_loses_nothing() {
    let server = start().await;
    let mut slow = server
        .trail()
        .tail(v1::TailRequest {
            after_sequence: Some(0),
            filter: None,
        })
        .await
        .unwrap()
        .into_inner();
    // More than the stream buffers, before a single one is taken.
    let decisions = (0..400).map(|at| {
        let mut agent = server.agent();
        async move {
            agent
                .decide(shell(&format!("ask {at} {}", "x".repeat(2000))))
                .await
                .map(drop)
        }
    });
    futures_util::future::join_all(decisions)
        .await
        .into_iter()
        .for_each(drop);
    let head = server.records(Default::default()).await[0].sequence;
    assert!(head > 64);
    for expected in 1..=head {
        assert_eq!(next(&mut slow).await, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_are_bounded_and_leave_room_when_they_go() {
    let server = start_with(scripted(), &[("max_tails", "1")]).await;
    let first = server
        .trail()
        .tail(v1::TailRequest::default())
        .await
        .unwrap()
        .into_inner();
    let status = server.trail().tail(v1::TailRequest::default()).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    drop(first);
    // The server hears of it a moment later; each try is a round trip, so this ends as soon as it did.
    while server.trail().tail(v1::TailRequest::default()).await.is_err() {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tail_ends_when_the_server_stops() {
    let server = start().await;
    let mut tail = server
        .trail()
        .tail(v1::TailRequest::default())
        .await
        .unwrap()
        .into_inner();
    let (stopped, ended) = tokio::join!(server.server.stop(), tail.message());
    stopped.unwrap();
    assert_eq!(ended.unwrap_err().code(), Code::Unavailable);
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_not_in_the_trail_nor_in_the_database() {
    let server = start().await;
    let token = server.token(Role::Admin);
    server
        .agent()
        .decide(shell(&format!("ask curl -H 'Authorization: Bearer {token}'")))
        .await
        .unwrap();
    let (_, decision) = server.decision_records().await.remove(0);
    assert!(!decision.input_json.contains(&token), "{}", decision.input_json);
    assert!(!decision.trace[0].subject.contains(&token));
    let data = server.data.join("server");
    server.server.stop().await.unwrap();
    let database = std::fs::read(data.join("portcullis.db")).unwrap();
    assert!(!database.windows(token.len()).any(|window| window == token.as_bytes()));
    assert!(
        database.windows(4).any(|window| window == b"curl"),
        "the control: the rest is there"
    );
}
