//! Reads: each on a connection of the pool, which cannot write.

use jiff::Timestamp;
use portcullis_policy::Verdict;
use portcullis_proto::trail::{Checkpoint, Item};
use sqlx::{QueryBuilder, Row as _, Sqlite, SqlitePool, sqlite::SqliteRow};
use tokio::sync::mpsc;

use super::super::{
    Filter, Identity, KnownToken, Page, PolicyVersion, RecordKind, StoreError, StoredPolicy, StoredRecord, TeamId,
};
use super::{chain, walk::Walk};
use crate::auth::{Role, TokenHash};

fn failed(attempt: &'static str) -> impl FnOnce(sqlx::Error) -> StoreError {
    move |cause| StoreError::Failed {
        attempt,
        cause: std::sync::Arc::new(cause),
    }
}

/// A value in the database that this version does not know. It fails the read; nothing is guessed.
fn unknown(column: &'static str, value: impl std::fmt::Display) -> sqlx::Error {
    sqlx::Error::Decode(format!("unknown `{column}`: `{value}`").into())
}

pub(super) fn timestamp(nanoseconds: i64) -> Result<Timestamp, sqlx::Error> {
    Timestamp::from_nanosecond(nanoseconds.into()).map_err(|cause| sqlx::Error::Decode(Box::new(cause)))
}

fn nanoseconds(time: Timestamp) -> i64 {
    time.as_nanosecond()
        .clamp(i64::MIN.into(), i64::MAX.into())
        .try_into()
        .unwrap_or(i64::MAX)
}

fn signed(number: u64) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

pub(super) async fn token(pool: &SqlitePool, hash: TokenHash) -> Result<KnownToken, StoreError> {
    let row = sqlx::query(include_str!("../queries/token_identity.sql"))
        .bind(hash.as_bytes().as_slice())
        .fetch_optional(pool)
        .await
        .map_err(failed("look up a token"))?;
    let read = |row: SqliteRow| {
        if row.try_get::<bool, _>("revoked")? {
            return Ok(KnownToken::Revoked);
        }
        let role: String = row.try_get("role")?;
        Ok(KnownToken::InForce(Identity {
            team: TeamId::new(row.try_get("team")?),
            principal: row.try_get("principal")?,
            role: Role::from_word(&role).ok_or_else(|| unknown("role", role))?,
        }))
    };
    row.map_or(Ok(KnownToken::Unknown), read)
        .map_err(failed("look up a token"))
}

pub(super) async fn teams(pool: &SqlitePool) -> Result<Vec<TeamId>, StoreError> {
    let names: Vec<String> = sqlx::query_scalar(include_str!("../queries/teams.sql"))
        .fetch_all(pool)
        .await
        .map_err(failed("list the teams"))?;
    Ok(names.iter().map(|name| TeamId::new(name)).collect())
}

fn policy_version(row: &SqliteRow) -> Result<PolicyVersion, sqlx::Error> {
    Ok(PolicyVersion {
        version: row.try_get::<i64, _>("version")?.unsigned_abs(),
        digest: row.try_get("digest")?,
        author: row.try_get("author")?,
        created_at: timestamp(row.try_get("created_at_ns")?)?,
        comment: row.try_get("comment")?,
        file_name: row.try_get("file_name")?,
        rule_count: row.try_get("rule_count")?,
        active: row.try_get("active")?,
    })
}

pub(super) async fn policy(pool: &SqlitePool, team: TeamId, version: u64) -> Result<Option<StoredPolicy>, StoreError> {
    let row = sqlx::query(include_str!("../queries/policy_get.sql"))
        .bind(team.as_str())
        .bind(signed(version))
        .fetch_optional(pool)
        .await
        .map_err(failed("read a policy"))?;
    let read = |row: SqliteRow| {
        Ok(StoredPolicy {
            version: policy_version(&row)?,
            content: row.try_get("content")?,
        })
    };
    row.map(read).transpose().map_err(failed("read a policy"))
}

pub(super) async fn policies(
    pool: &SqlitePool,
    team: TeamId,
    before: u64,
    limit: u32,
) -> Result<Vec<PolicyVersion>, StoreError> {
    let rows = sqlx::query(include_str!("../queries/policy_list.sql"))
        .bind(team.as_str())
        .bind(signed(before))
        .bind(limit)
        .fetch_all(pool)
        .await
        .map_err(failed("list the policies"))?;
    rows.iter()
        .map(policy_version)
        .collect::<Result<_, _>>()
        .map_err(failed("list the policies"))
}

pub(super) async fn head(pool: &SqlitePool, team: TeamId) -> Result<u64, StoreError> {
    let head: i64 = sqlx::query_scalar(include_str!("../queries/audit_head.sql"))
        .bind(team.as_str())
        .fetch_one(pool)
        .await
        .map_err(failed("read the head of the trail"))?;
    Ok(head.unsigned_abs())
}

fn record(row: &SqliteRow) -> Result<StoredRecord, sqlx::Error> {
    let kind: String = row.try_get("kind")?;
    Ok(StoredRecord {
        sequence: row.try_get::<i64, _>("sequence")?.unsigned_abs(),
        record_id: row.try_get("record_id")?,
        time: timestamp(row.try_get("time_ns")?)?,
        kind: RecordKind::ALL
            .into_iter()
            .find(|known| known.as_str() == kind)
            .ok_or_else(|| unknown("kind", kind))?,
        principal: row.try_get("principal")?,
        host_id: row.try_get("host_id")?,
        body: row.try_get("body")?,
    })
}

pub(super) async fn records(
    pool: &SqlitePool,
    team: TeamId,
    filter: Filter,
    page: Page,
    limit: u32,
) -> Result<Vec<StoredRecord>, StoreError> {
    let mut query = query(&team, &filter, page, limit);
    let rows = query.build().fetch_all(pool).await.map_err(failed("read the trail"))?;
    rows.iter()
        .map(record)
        .collect::<Result<_, _>>()
        .map_err(failed("read the trail"))
}

/// The query with the conditions that the filter really has, so that SQLite can choose the index for them. Values are
/// bound, never written into the text.
fn query(team: &TeamId, filter: &Filter, page: Page, limit: u32) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new(include_str!("../queries/audit_select.sql").trim_end());
    query.push(" ").push_bind(team.as_str().to_owned());
    if let Some(kind) = filter.kind {
        // Written out: the index on it is partial, and SQLite uses it only if it can see the value.
        query.push(" AND kind = '").push(kind.as_str()).push("'");
    }
    if let Some(verdict) = filter.verdict {
        query.push(" AND effect = ").push_bind(effect(verdict));
    }
    if let Some(since) = filter.since {
        query.push(" AND time_ns >= ").push_bind(nanoseconds(since));
    }
    if let Some(until) = filter.until {
        query.push(" AND time_ns < ").push_bind(nanoseconds(until));
    }
    let texts = [
        (" AND session_id = ", &filter.session_id),
        (" AND principal = ", &filter.principal),
        (" AND decision_id = ", &filter.decision_id),
        (" AND tool_name = ", &filter.tool_name),
    ];
    for (condition, value) in texts {
        if let Some(value) = value {
            query.push(condition).push_bind(value.clone());
        }
    }
    match page {
        Page::Before(None) => query.push(" ORDER BY sequence DESC"),
        Page::Before(Some(before)) => query
            .push(" AND sequence < ")
            .push_bind(signed(before))
            .push(" ORDER BY sequence DESC"),
        Page::Between(after, last) => query
            .push(" AND sequence > ")
            .push_bind(signed(after))
            .push(" AND sequence <= ")
            .push_bind(signed(last))
            .push(" ORDER BY sequence"),
    };
    query.push(" LIMIT ").push_bind(limit);
    query
}

fn effect(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny => "deny",
    }
}

pub(super) async fn checkpoints(pool: &SqlitePool, team: TeamId) -> Result<Vec<Checkpoint>, StoreError> {
    let read = async {
        let mut connection = pool.acquire().await?;
        chain::heads(&mut connection, team.as_str()).await
    };
    read.await.map_err(failed("read the chain of the trail"))
}

/// Pieces of the trail that are read on one connection before it is given back.
const WALK: usize = 256;

pub(super) async fn walk(
    pool: &SqlitePool,
    team: TeamId,
    until: u64,
    to: mpsc::Sender<Item>,
) -> Result<(), StoreError> {
    let mut walk = Walk::new(team.as_str(), "", (i64::MIN, signed(until)));
    loop {
        let mut items = Vec::with_capacity(WALK);
        let read = async {
            // Not held while a slow reader takes what was read: the other readers need it.
            let mut connection = pool.acquire().await?;
            while items.len() < WALK
                && let Some(item) = walk.next(&mut connection).await?
            {
                items.push(item);
            }
            Ok(())
        };
        read.await.map_err(failed("read the trail"))?;
        if items.is_empty() {
            return Ok(());
        }
        for item in items {
            if to.send(item).await.is_err() {
                return Ok(());
            }
        }
    }
}

/// How SQLite would look for the newest records.
#[cfg(test)]
pub(super) async fn plan(pool: &SqlitePool, team: &TeamId, filter: &Filter) -> String {
    let sql = query(team, filter, Page::Before(None), 100).into_string();
    let mut explain = QueryBuilder::<Sqlite>::new("EXPLAIN QUERY PLAN ");
    explain.push(sql);
    let rows = explain.build().fetch_all(pool).await.unwrap();
    rows.iter()
        .map(|row| row.get::<String, _>("detail"))
        .collect::<Vec<_>>()
        .join("; ")
}
