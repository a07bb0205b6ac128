//! What every backend has to keep, shown on this one: see the invariants in [`crate::store`].

use futures_util::future::join_all;
use portcullis_policy::Verdict;
use sqlx::AssertSqlSafe;

use super::*;
use crate::{
    auth::{Role, Token},
    store::{Identity, RecordKind, Reporter},
};

struct Fixture {
    store: SqliteStore,
    path: PathBuf,
    _temp: tempfile::TempDir,
}

fn key() -> SigningKey {
    SigningKey::from_bytes(&[1; 32])
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn team(name: &str) -> TeamId {
    TeamId::new(name)
}

async fn add_token(store: &SqliteStore, team: &str) -> Token {
    let token = Token::generate(Role::Agent).unwrap();
    let owner = Identity {
        team: TeamId::new(team),
        principal: "p".to_owned(),
        role: Role::Agent,
    };
    store
        .replace_token(
            NewToken {
                hash: token.hash(),
                owner,
            },
            soon(),
        )
        .await
        .unwrap();
    token
}

async fn fixture(options: SqliteOptions) -> Fixture {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("portcullis.db");
    let store = SqliteStore::open(&path, key(), options).await.unwrap();
    for name in ["a", "b"] {
        add_token(&store, name).await;
    }
    Fixture {
        store,
        path,
        _temp: temp,
    }
}

fn decision(team: &str, id: &str, verdict: Verdict) -> NewDecision {
    NewDecision {
        team: TeamId::new(team),
        decision_id: id.to_owned(),
        principal: "p".to_owned(),
        host_id: String::new(),
        host_principal: Some("h".to_owned()),
        verdict,
        session_id: String::new(),
        tool_name: "Bash".to_owned(),
        body: b"body".to_vec(),
    }
}

fn outcome(team: &str, id: &str, host: &str, body: &[u8]) -> NewOutcome {
    NewOutcome {
        team: TeamId::new(team),
        decision_id: id.to_owned(),
        reporter: Reporter::Host(host.to_owned()),
        record_id: format!("outcome of {id}"),
        body: body.to_vec(),
    }
}

/// On one thread the writer gets its turn only after all callers have queued, so the number of commits is certain.
#[tokio::test]
async fn what_waits_shares_one_commit() {
    let fixture = fixture(SqliteOptions {
        max_batch: 40,
        ..SqliteOptions::default()
    })
    .await;
    let before = (fixture.store.counters().commits(), fixture.store.counters().writes());
    let ids: Vec<String> = (0..100).map(|at| at.to_string()).collect();
    let appended = join_all(
        ids.iter()
            .map(|id| fixture.store.append_decision(decision("a", id, Verdict::Ask), soon())),
    )
    .await;
    let sequences: Vec<u64> = appended
        .into_iter()
        .map(|appended| appended.unwrap().sequence)
        .collect();
    assert_eq!(sequences, (1..=100).collect::<Vec<_>>());
    let counters = fixture.store.counters();
    assert_eq!((counters.commits() - before.0, counters.writes() - before.1), (3, 100));
}

#[tokio::test]
async fn each_team_has_its_own_sequence() {
    let fixture = fixture(SqliteOptions::default()).await;
    for (name, id, expected) in [("a", "1", 1), ("a", "2", 2), ("b", "3", 1), ("a", "4", 3)] {
        let appended = fixture
            .store
            .append_decision(decision(name, id, Verdict::Deny), soon())
            .await
            .unwrap();
        assert_eq!(appended.sequence, expected);
    }
    assert_eq!(fixture.store.head(team("b")).await.unwrap(), 1);
    let records = fixture
        .store
        .records(team("b"), Filter::default(), Page::Before(None), 10)
        .await
        .unwrap();
    assert_eq!(records.len(), 1);
    assert_eq!(
        (records[0].record_id.as_str(), records[0].kind),
        ("3", RecordKind::Decision)
    );
}

#[tokio::test]
async fn a_write_that_is_refused_leaves_no_gap_and_does_not_harm_its_neighbours() {
    let fixture = fixture(SqliteOptions::default()).await;
    let writes = ["1", "1", "2"].map(|id| fixture.store.append_decision(decision("a", id, Verdict::Ask), soon()));
    let results = join_all(writes).await;
    assert_eq!(results[0].as_ref().unwrap().sequence, 1);
    assert!(
        matches!(results[1], Err(StoreError::Failed { .. })),
        "the same decision twice"
    );
    assert_eq!(results[2].as_ref().unwrap().sequence, 2);
    assert!(fixture.store.failure().is_none());
}

#[tokio::test]
async fn a_full_queue_is_said_at_once() {
    let fixture = fixture(SqliteOptions {
        queue: 1,
        ..SqliteOptions::default()
    })
    .await;
    let writes = ["1", "2", "3"].map(|id| fixture.store.append_decision(decision("a", id, Verdict::Ask), soon()));
    let results = join_all(writes).await;
    assert!(results[0].is_ok());
    assert!(matches!(
        (&results[1], &results[2]),
        (Err(StoreError::Overloaded), Err(StoreError::Overloaded))
    ));
}

#[tokio::test]
async fn what_is_late_is_not_written() {
    let fixture = fixture(SqliteOptions::default()).await;
    let late = fixture
        .store
        .append_decision(decision("a", "1", Verdict::Allow), Instant::now())
        .await;
    assert!(matches!(late, Err(StoreError::Late)));
    assert_eq!(fixture.store.head(team("a")).await.unwrap(), 0);
}

#[tokio::test]
async fn after_a_commit_that_failed_nothing_is_written_but_all_can_be_read() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("portcullis.db");
    SqliteStore::open(&path, key(), SqliteOptions::default())
        .await
        .unwrap()
        .close()
        .await;
    // SQLite asks the hook before each commit; `false` makes the commit fail.
    let connect = SqliteConnectOptions::new().filename(&path);
    let fails = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let mut connection = connect.clone().connect().await.unwrap();
    let hook = fails.clone();
    connection
        .lock_handle()
        .await
        .unwrap()
        .set_commit_hook(move || !hook.load(Ordering::SeqCst));
    let readers = SqlitePoolOptions::new()
        .connect_with(connect.read_only(true))
        .await
        .unwrap();
    let chains = Chains::open(&mut connection, key()).await.unwrap();
    let store = SqliteStore::start(
        (connection, chains),
        readers.clone(),
        readers,
        Vec::new(),
        &SqliteOptions::default(),
    );
    add_token(&store, "a").await;
    store
        .append_decision(decision("a", "1", Verdict::Allow), soon())
        .await
        .unwrap();

    fails.store(true, Ordering::SeqCst);
    let failed = store.append_decision(decision("a", "2", Verdict::Allow), soon()).await;
    assert!(matches!(failed, Err(StoreError::Poisoned { .. })), "{failed:?}");
    // The disk is well again, but what it holds is not known.
    fails.store(false, Ordering::SeqCst);
    let after = store.append_decision(decision("a", "3", Verdict::Allow), soon()).await;
    assert!(matches!(after, Err(StoreError::Poisoned { .. })), "{after:?}");
    assert!(store.failure().is_some());
    assert_eq!(store.head(team("a")).await.unwrap(), 1);
    store.close().await;

    let store = SqliteStore::open(&path, key(), SqliteOptions::default()).await.unwrap();
    assert_eq!(
        store
            .append_decision(decision("a", "4", Verdict::Allow), soon())
            .await
            .unwrap()
            .sequence,
        2
    );
}

#[tokio::test]
async fn records_in_a_file_that_was_deleted_or_replaced_are_none() {
    for suffix in ["", "-wal"] {
        for replaced in [false, true] {
            let fixture = fixture(SqliteOptions::default()).await;
            let append = async |id| {
                let record = decision("a", id, Verdict::Allow);
                fixture.store.append_decision(record, soon()).await
            };
            append("1").await.unwrap();
            let mut path = fixture.path.clone().into_os_string();
            path.push(suffix);
            let aside = fixture.path.with_extension("aside");
            std::fs::rename(&path, &aside).unwrap();
            if replaced {
                std::fs::copy(&aside, &path).unwrap();
            }
            let lost = append("2").await;
            assert!(
                matches!(lost, Err(StoreError::Poisoned { .. })),
                "{suffix} {replaced}: {lost:?}"
            );
            assert!(fixture.store.failure().is_some());
        }
    }
}

#[tokio::test]
async fn a_database_that_is_held_by_somebody_else_is_a_failure_that_passes() {
    let fixture = fixture(SqliteOptions::default()).await;
    let mut other = SqliteConnectOptions::new()
        .filename(&fixture.path)
        .connect()
        .await
        .unwrap();
    let held = other.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let failed = fixture
        .store
        .append_decision(decision("a", "1", Verdict::Allow), soon())
        .await;
    assert!(matches!(failed, Err(StoreError::Failed { .. })), "{failed:?}");
    held.rollback().await.unwrap();
    fixture
        .store
        .append_decision(decision("a", "2", Verdict::Allow), soon())
        .await
        .unwrap();
}

#[tokio::test]
async fn the_trail_and_the_versions_cannot_be_changed_by_sql() {
    let fixture = fixture(SqliteOptions::default()).await;
    fixture
        .store
        .append_decision(decision("a", "1", Verdict::Allow), soon())
        .await
        .unwrap();
    fixture.store.push_policy(policy("a", None), soon()).await.unwrap();
    let mut other = SqliteConnectOptions::new()
        .filename(&fixture.path)
        .connect()
        .await
        .unwrap();
    for statement in [
        "UPDATE audit_records SET effect = 'deny'",
        "DELETE FROM audit_records",
        "UPDATE policy_versions SET content = x''",
        "DELETE FROM policy_versions",
    ] {
        let refused = sqlx::query(AssertSqlSafe(statement))
            .execute(&mut other)
            .await
            .unwrap_err();
        assert!(refused.to_string().contains("never"), "{statement}: {refused}");
    }
}

#[tokio::test]
async fn an_outcome_belongs_to_one_team_host_and_decision() {
    let fixture = fixture(SqliteOptions::default()).await;
    let store = &fixture.store;
    store
        .append_decision(decision("a", "1", Verdict::Allow), soon())
        .await
        .unwrap();
    store
        .append_decision(decision("a", "2", Verdict::Ask), soon())
        .await
        .unwrap();
    let report = |outcome| store.append_outcome(outcome, soon());
    assert!(matches!(
        report(outcome("b", "1", "h", b"x")).await,
        Err(OutcomeRefused::UnknownDecision(_))
    ));
    assert!(matches!(
        report(outcome("a", "1", "other", b"x")).await,
        Err(OutcomeRefused::UnknownDecision(_))
    ));
    assert!(matches!(
        report(outcome("a", "2", "h", b"x")).await,
        Err(OutcomeRefused::NotAllowed(_))
    ));
    assert_eq!(report(outcome("a", "1", "h", b"x")).await.unwrap().sequence, 3);
    assert_eq!(report(outcome("a", "1", "h", b"x")).await.unwrap().sequence, 3);
    assert!(matches!(
        report(outcome("a", "1", "h", b"y")).await,
        Err(OutcomeRefused::Contradiction(_))
    ));
    assert_eq!(store.head(team("a")).await.unwrap(), 3);
}

fn policy(name: &str, expected_version: Option<u64>) -> NewPolicy {
    NewPolicy {
        team: team(name),
        content: b"{}".to_vec(),
        digest: "0".repeat(64),
        author: "p".to_owned(),
        comment: String::new(),
        file_name: String::new(),
        rule_count: 0,
        expected_version,
        record_id: uuid::Uuid::now_v7().to_string(),
        record: Box::new(|version, previous| format!("{previous} to {version}").into_bytes()),
    }
}

#[tokio::test]
async fn of_two_pushes_from_the_same_version_one_is_refused_without_a_trace() {
    let fixture = fixture(SqliteOptions::default()).await;
    let pushes = join_all([0, 0].map(|from| fixture.store.push_policy(policy("a", Some(from)), soon()))).await;
    assert_eq!(pushes[0].as_ref().unwrap().version, 1);
    assert!(matches!(
        pushes[1],
        Err(PushRefused::Conflict { expected: 0, active: 1 })
    ));
    assert_eq!(fixture.store.policies(team("a"), 0, 10).await.unwrap().len(), 1);
    let records = fixture
        .store
        .records(team("a"), Filter::default(), Page::Before(None), 10)
        .await
        .unwrap();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].body, b"0 to 1");
}

#[tokio::test]
async fn a_push_whose_record_cannot_be_written_leaves_no_policy() {
    let fixture = fixture(SqliteOptions::default()).await;
    let broken = NewPolicy {
        digest: "short".to_owned(),
        ..policy("a", None)
    };
    let results = join_all([
        fixture.store.push_policy(broken, soon()),
        fixture.store.push_policy(policy("a", None), soon()),
    ])
    .await;
    assert!(matches!(results[0], Err(PushRefused::Store(StoreError::Failed { .. }))));
    assert_eq!(results[1].as_ref().unwrap().version, 1);
    assert_eq!(fixture.store.head(team("a")).await.unwrap(), 1);
}

#[tokio::test]
async fn what_waits_is_written_before_closing_and_nothing_after() {
    let fixture = fixture(SqliteOptions::default()).await;
    let writes = (0..10).map(|at| {
        fixture
            .store
            .append_decision(decision("a", &at.to_string(), Verdict::Ask), soon())
    });
    let (written, ()) = tokio::join!(join_all(writes), fixture.store.close());
    assert!(written.iter().all(Result::is_ok));
    let after = fixture
        .store
        .append_decision(decision("a", "x", Verdict::Ask), soon())
        .await;
    assert!(matches!(after, Err(StoreError::Closed)));
    let left: Vec<_> = fixture
        .path
        .parent()
        .unwrap()
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["portcullis.db"], "the WAL is folded into the database");
}

/// Every filter has an index: SQLite's own plan says so.
#[tokio::test]
async fn no_filter_reads_the_whole_trail() {
    let fixture = fixture(SqliteOptions::default()).await;
    let text = || Some("x".to_owned());
    let time = || Some(jiff::Timestamp::UNIX_EPOCH);
    let filters = [
        Filter {
            kind: Some(RecordKind::PolicyChange),
            ..Filter::default()
        },
        Filter {
            verdict: Some(Verdict::Deny),
            ..Filter::default()
        },
        Filter {
            session_id: text(),
            ..Filter::default()
        },
        Filter {
            principal: text(),
            ..Filter::default()
        },
        Filter {
            decision_id: text(),
            ..Filter::default()
        },
        Filter {
            tool_name: text(),
            ..Filter::default()
        },
        Filter {
            since: time(),
            until: time(),
            ..Filter::default()
        },
        Filter::default(),
    ];
    for filter in filters {
        let plan = read::plan(&fixture.store.readers, &team("a"), &filter).await;
        assert!(plan.starts_with("SEARCH"), "{filter:?}: {plan}");
    }
}
