//! Whoever can write to the database file changes nothing of the trail unseen.

use std::path::Path;

use portcullis_policy::Verdict;
use portcullis_proto::trail::{Checkpoint, FindingKind, Report};
use sqlx::{AssertSqlSafe, ConnectOptions as _, migrate::Migrator, sqlite::SqliteConnectOptions};
use tokio::time::{Duration, Instant};

use super::*;
use crate::{
    auth::{Role, Token},
    store::{
        Identity, NewDecision, NewToken, Store as _, StoreError, TeamId,
        sqlite::{MIGRATIONS, OpenError, SqliteOptions, SqliteStore, VerifyError, verify},
    },
};

fn key() -> SigningKey {
    SigningKey::from_bytes(&[1; 32])
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

async fn open(path: &Path) -> SqliteStore {
    let store = SqliteStore::open(path, key(), SqliteOptions::default()).await.unwrap();
    for team in ["a", "b"] {
        let owner = Identity {
            team: TeamId::new(team),
            principal: "p".to_owned(),
            role: Role::Agent,
        };
        let hash = Token::generate(Role::Agent).unwrap().hash();
        store.replace_token(NewToken { hash, owner }, soon()).await.unwrap();
    }
    store
}

async fn append(store: &SqliteStore, team: &str) -> Result<u64, StoreError> {
    let decision = NewDecision {
        team: TeamId::new(team),
        decision_id: Uuid::now_v7().to_string(),
        principal: "p".to_owned(),
        host_id: String::new(),
        host_principal: Some("h".to_owned()),
        verdict: Verdict::Allow,
        session_id: "s".to_owned(),
        tool_name: "Bash".to_owned(),
        body: b"body".to_vec(),
    };
    store
        .append_decision(decision, soon())
        .await
        .map(|appended| appended.sequence)
}

/// A database that was closed, with six commits of three records in team a (records 1 to 18), and one in team b.
async fn written(path: &Path) {
    let store = open(path).await;
    for _ in 0..6 {
        let writes = futures_util::future::join_all([append(&store, "a"), append(&store, "a"), append(&store, "a")]);
        assert!(writes.await.iter().all(Result::is_ok));
    }
    append(&store, "b").await.unwrap();
    store.close().await;
}

async fn sql(path: &Path, statements: &str) {
    let mut connection = SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(false)
        .connect()
        .await
        .unwrap();
    let unprotected = "DROP TRIGGER IF EXISTS audit_records_never_change; DROP TRIGGER IF EXISTS audit_records_stay; \
                       DROP TRIGGER IF EXISTS trail_commits_never_change; DROP TRIGGER IF EXISTS trail_commits_stay; ";
    sqlx::raw_sql(AssertSqlSafe(format!("{unprotected}{statements}")))
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
}

fn trust(anchors: &[Checkpoint]) -> Trust {
    let mut trust = Trust::default();
    trust.add_key(key().verifying_key());
    anchors.iter().for_each(|anchor| trust.add_anchor(anchor.clone()));
    trust
}

async fn report(path: &Path, anchors: &[Checkpoint]) -> Report {
    verify(path, trust(anchors)).await.unwrap()
}

async fn anchors(path: &Path, team: &str) -> Vec<Checkpoint> {
    let mut connection = SqliteConnectOptions::new().filename(path).connect().await.unwrap();
    let found = heads(&mut connection, team).await.unwrap();
    connection.close().await.unwrap();
    found
}

#[tokio::test]
async fn what_is_written_is_intact_and_each_transaction_is_one_commit() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("portcullis.db");
    written(&path).await;
    let report = report(&path, &anchors(&path, "a").await).await;
    assert!(report.intact, "{report:?}");
    let counts: Vec<(&str, u64, u64, bool)> = report
        .teams
        .iter()
        .map(|team| (team.team.as_str(), team.records, team.chains[0].commits, team.anchored))
        .collect();
    assert_eq!(counts, [("a", 18, 6, true), ("b", 1, 1, false)]);
    // Started again, the chain goes on.
    let store = open(&path).await;
    append(&store, "a").await.unwrap();
    // And it can be verified while the server runs.
    let report = self::report(&path, &[]).await;
    assert!(report.intact, "{report:?}");
    assert_eq!(report.teams[0].chains[0].commits, 7);
}

#[tokio::test]
async fn every_change_of_the_database_is_found_at_its_place() {
    use FindingKind::{Changed, CutOff, Inserted, MissingChain, OtherKey, Removed, WrongSignature};
    let temp = tempfile::tempdir().unwrap();
    let original = temp.path().join("portcullis.db");
    written(&original).await;
    let anchor = anchors(&original, "a").await;
    let set = |column: &str, value: &str| {
        format!("UPDATE audit_records SET {column} = {value} WHERE team = 'a' AND sequence = 5")
    };
    let commit = |column: &str, value: &str| {
        format!("UPDATE trail_commits SET {column} = {value} WHERE team = 'a' AND number = 2")
    };
    let copy = "INSERT INTO audit_records SELECT team, 99, 'x', time_ns, kind, principal, host_id, host_principal, effect, \
                session_id, NULL, tool_name, body FROM audit_records WHERE team = 'a' AND sequence = 5";
    let cases: Vec<(String, FindingKind, Option<u64>)> = vec![
        (set("record_id", "'x'"), Changed, Some(5)),
        (set("time_ns", "time_ns + 1"), Changed, Some(5)),
        (set("kind", "'outcome'"), Changed, Some(5)),
        (set("principal", "'q'"), Changed, Some(5)),
        (set("host_id", "'x'"), Changed, Some(5)),
        (set("host_principal", "NULL"), Changed, Some(5)),
        (set("effect", "'deny'"), Changed, Some(5)),
        (set("session_id", "NULL"), Changed, Some(5)),
        (set("decision_id", "'x'"), Changed, Some(5)),
        (set("tool_name", "''"), Changed, Some(5)),
        (set("body", "x'00'"), Changed, Some(5)),
        (set("sequence", "1000"), Removed, Some(5)),
        (set("team", "'b'"), Removed, Some(5)),
        ("DELETE FROM audit_records WHERE team = 'a' AND sequence = 5".to_owned(), Removed, Some(5)),
        (copy.to_owned(), Inserted, Some(99)),
        (copy.replace("SELECT team", "SELECT 'c'"), Inserted, Some(99)),
        (
            "UPDATE audit_records SET sequence = 1000 + sequence WHERE team = 'a' AND sequence IN (5, 6); \
             UPDATE audit_records SET sequence = 1011 - sequence WHERE team = 'a' AND sequence > 1000"
                .to_owned(),
            Changed,
            Some(5),
        ),
        (commit("time_ns", "7"), WrongSignature, Some(4)),
        (commit("previous", "root"), WrongSignature, Some(4)),
        (commit("root", "previous"), Changed, Some(4)),
        (commit("signature", "zeroblob(64)"), WrongSignature, Some(4)),
        (commit("origin", "'adopted'"), WrongSignature, Some(4)),
        (commit("key_id", "'x'"), OtherKey, Some(4)),
        (commit("leaves", "zeroblob(96)"), Changed, Some(4)),
        (commit("number", "60"), WrongSignature, Some(4)),
        ("DELETE FROM trail_commits WHERE team = 'a' AND number = 2".to_owned(), Removed, Some(4)),
        (
            "DELETE FROM trail_commits WHERE team = 'a' AND number > 4; DELETE FROM audit_records WHERE team = 'a' AND sequence > 12"
                .to_owned(),
            CutOff,
            Some(13),
        ),
        (
            "DELETE FROM trail_commits WHERE team = 'a'; DELETE FROM audit_records WHERE team = 'a'".to_owned(),
            MissingChain,
            None,
        ),
    ];
    for (statements, kind, sequence) in cases {
        let path = temp.path().join("changed.db");
        std::fs::copy(&original, &path).unwrap();
        sql(&path, &format!("PRAGMA ignore_check_constraints = ON; {statements}")).await;
        let report = report(&path, &anchor).await;
        let found = report
            .findings
            .iter()
            .any(|finding| finding.kind == kind && finding.first_sequence == sequence);
        assert!(found, "{statements}: {:#?}", report.findings);
        assert!(!report.intact);
    }
}

/// What cannot be seen without an anchor is said, and seen with one.
#[tokio::test]
async fn a_chain_that_was_cut_off_or_begun_anew_takes_an_anchor() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("portcullis.db");
    written(&path).await;
    let anchor = anchors(&path, "a").await;
    sql(
        &path,
        "DELETE FROM trail_commits WHERE team = 'a' AND number = 6; DELETE FROM audit_records WHERE team = 'a' AND sequence > 15",
    )
    .await;
    let alone = report(&path, &[]).await;
    assert!(
        alone.intact
            && alone
                .lines()
                .iter()
                .any(|line| line.contains("not compared with an anchor"))
    );
    let anchored = report(&path, &anchor).await;
    assert_eq!(anchored.findings[0].kind, FindingKind::CutOff);
    assert_eq!(anchored.findings[0].first_sequence, Some(16));

    // Whoever removes the chain's tables' rows too makes the server begin a new one. It is another replica's.
    sql(&path, "DELETE FROM trail_commits; DELETE FROM trail_replicas").await;
    SqliteStore::open(&path, key(), SqliteOptions::default())
        .await
        .unwrap()
        .close()
        .await;
    let begun_anew = report(&path, &anchor).await;
    assert_eq!(begun_anew.findings[0].kind, FindingKind::MissingChain);
}

#[tokio::test]
async fn a_server_does_not_go_on_behind_a_broken_end() {
    let temp = tempfile::tempdir().unwrap();
    let original = temp.path().join("portcullis.db");
    written(&original).await;
    for statements in [
        "UPDATE audit_records SET effect = 'deny' WHERE team = 'a' AND sequence = 17",
        "DELETE FROM audit_records WHERE team = 'a' AND sequence = 18",
        "DELETE FROM trail_commits WHERE team = 'a' AND number = 6",
        "DELETE FROM trail_commits WHERE team = 'a'",
        "UPDATE trail_commits SET signature = zeroblob(64) WHERE team = 'b'",
    ] {
        let path = temp.path().join("changed.db");
        std::fs::copy(&original, &path).unwrap();
        sql(&path, statements).await;
        let refused = SqliteStore::open(&path, key(), SqliteOptions::default()).await;
        assert!(
            matches!(refused.as_ref().err(), Some(OpenError::BrokenTrail { .. })),
            "{statements}: {:?}",
            refused.err()
        );
    }
}

#[tokio::test]
async fn a_record_that_somebody_else_writes_meanwhile_stops_the_writer() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("portcullis.db");
    let store = open(&path).await;
    append(&store, "a").await.unwrap();
    sql(
        &path,
        "INSERT INTO audit_records SELECT team, 2, 'x', time_ns, kind, principal, host_id, host_principal, effect, session_id, \
         NULL, tool_name, body FROM audit_records WHERE team = 'a'",
    )
    .await;
    let refused = append(&store, "a").await;
    assert!(
        matches!(&refused, Err(StoreError::Poisoned { reason }) if reason.contains("portcullis-server verify")),
        "{refused:?}"
    );
    append(&store, "b").await.unwrap_err();
}

/// A database as the version before the chain left it, with records.
#[tokio::test]
async fn records_from_before_the_chain_are_adopted_once_and_said_to_be() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("portcullis.db");
    let before = Migrator {
        migrations: MIGRATIONS
            .iter()
            .filter(|migration| migration.version <= 3)
            .cloned()
            .collect::<Vec<_>>()
            .into(),
        ..Migrator::DEFAULT
    };
    let connect = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
    let mut connection = connect.connect().await.unwrap();
    before.run(&mut connection).await.unwrap();
    sqlx::raw_sql(
        "INSERT INTO teams VALUES ('a', 1), ('b', 1);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600)
         INSERT INTO audit_records SELECT 'a', i, 'r' || i, i, 'decision', 'p', '', NULL, 'allow', NULL, 'd' || i, 'Bash', x'01' FROM n",
    )
    .execute(&mut connection)
    .await
    .unwrap();
    connection.close().await.unwrap();
    assert!(matches!(verify(&path, trust(&[])).await, Err(VerifyError::NoChain(_))));

    let store = open(&path).await;
    assert_eq!(append(&store, "a").await.unwrap(), 601);
    store.close().await;
    let adopted = report(&path, &[]).await;
    assert!(adopted.intact, "{adopted:?}");
    assert_eq!((adopted.teams[0].records, adopted.teams[0].adopted), (601, 600));
    assert!(
        adopted
            .lines()
            .iter()
            .any(|line| line.contains("600 records are older than the chain"))
    );

    // From then on they are protected like all others.
    sql(&path, "UPDATE audit_records SET effect = 'deny' WHERE sequence = 17").await;
    let changed = report(&path, &[]).await;
    assert_eq!(changed.findings[0].first_sequence, Some(17));
}

#[tokio::test]
async fn another_key_goes_on_and_is_found_by_whoever_trusts_the_first_only() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("portcullis.db");
    written(&path).await;
    let other = SigningKey::from_bytes(&[2; 32]);
    let store = SqliteStore::open(&path, other.clone(), SqliteOptions::default())
        .await
        .unwrap();
    append(&store, "a").await.unwrap();
    store.close().await;
    assert!(verify(&path, Trust::default()).await.unwrap().intact);
    let found = report(&path, &[]).await;
    assert_eq!(
        (found.findings[0].kind, found.findings[0].commit),
        (FindingKind::OtherKey, Some(7))
    );
    let mut both = trust(&[]);
    both.add_key(other.verifying_key());
    assert!(verify(&path, both).await.unwrap().intact);
}

#[tokio::test]
async fn a_missing_database_is_no_intact_one() {
    let temp = tempfile::tempdir().unwrap();
    let missing = temp.path().join("portcullis.db");
    assert!(matches!(
        verify(&missing, trust(&[])).await,
        Err(VerifyError::Missing(_))
    ));
    std::fs::write(&missing, [7; 4096]).unwrap();
    assert!(matches!(
        verify(&missing, trust(&[])).await,
        Err(VerifyError::Corrupt { .. })
    ));
}
