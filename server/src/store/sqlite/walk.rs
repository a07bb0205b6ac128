//! Reads a team's trail in its order, commits before their records, a page at a time.

use std::collections::VecDeque;

use portcullis_proto::trail::{Commit, Hash, Item, Origin, Record, Signed};
use sqlx::{Row as _, SqliteConnection, sqlite::SqliteRow};

/// Commits read at once: each lists up to 65,536 leaves, 2 MiB.
const COMMITS: usize = 16;

/// Records read at once.
const RECORDS: usize = 256;

/// A walk along a team's trail.
pub(super) struct Walk {
    team: String,
    /// The replica of the records that no commit covers, for want of a better one.
    replica: String,
    until: i64,
    commits: VecDeque<Commit>,
    records: VecDeque<Record>,
    /// What was read last; `None` = there is nothing more.
    commits_after: Option<i64>,
    records_after: Option<i64>,
}

impl Walk {
    /// Everything after the first sequence number and not above the second.
    pub(super) fn new(team: &str, replica: &str, (after, until): (i64, i64)) -> Self {
        Self {
            team: team.to_owned(),
            replica: replica.to_owned(),
            until,
            commits: VecDeque::new(),
            records: VecDeque::new(),
            commits_after: Some(after),
            records_after: Some(after),
        }
    }

    /// The next piece; `None` after the last.
    pub(super) async fn next(&mut self, connection: &mut SqliteConnection) -> Result<Option<Item>, sqlx::Error> {
        if self.commits.is_empty()
            && let Some(after) = self.commits_after
        {
            let rows = sqlx::query(include_str!("../queries/trail_commits_select.sql"))
                .bind(&self.team)
                .bind(after)
                .bind(self.until)
                .bind(i64::try_from(COMMITS).unwrap_or(i64::MAX))
                .fetch_all(&mut *connection)
                .await?;
            self.commits = rows.iter().map(commit).collect::<Result<_, _>>()?;
            let last = rows.last().filter(|_| rows.len() == COMMITS);
            self.commits_after = last.map(|row| row.try_get("first_sequence")).transpose()?;
        }
        if self.records.is_empty()
            && let Some(after) = self.records_after
        {
            let range = (after, self.until);
            let read = records(connection, &self.team, &self.replica, range, RECORDS).await?;
            let last = read.last().filter(|_| read.len() == RECORDS);
            self.records_after = last.map(|record| signed(record.sequence));
            self.records = read.into();
        }
        let first = self.commits.front().map(|commit| commit.first_sequence);
        let record = self.records.front().map(|record| record.sequence);
        if let (Some(first), record) = (first, record)
            && record.is_none_or(|record| first <= record)
            && let Some(commit) = self.commits.pop_front()
        {
            self.replica.clone_from(&commit.replica);
            return Ok(Some(Item::Commit(commit)));
        }
        let record = self.records.pop_front().map(|record| Record {
            replica: self.replica.clone(),
            ..record
        });
        Ok(record.map(Item::Record))
    }
}

fn signed(number: u64) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

/// Negative numbers are none of ours, and no record or commit is expected at 0.
fn unsigned(row: &SqliteRow, column: &str) -> Result<u64, sqlx::Error> {
    Ok(u64::try_from(row.try_get::<i64, _>(column)?).unwrap_or(0))
}

fn hash(row: &SqliteRow, column: &str) -> Result<Hash, sqlx::Error> {
    let bytes: Vec<u8> = row.try_get(column)?;
    Hash::from_slice(&bytes).ok_or_else(|| sqlx::Error::Decode(format!("`{column}` is no hash").into()))
}

/// Teams that have, or should have, a trail.
pub(super) async fn teams(connection: &mut SqliteConnection) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar(include_str!("../queries/trail_teams.sql"))
        .fetch_all(connection)
        .await
}

/// A commit as it is stored.
pub(super) fn commit(row: &SqliteRow) -> Result<Commit, sqlx::Error> {
    let origin: String = row.try_get("origin")?;
    let signature: Vec<u8> = row.try_get("signature")?;
    let leaves: Vec<u8> = row.try_get("leaves")?;
    let (leaves, rest) = leaves.as_chunks::<32>();
    let unusable = |what: &str| sqlx::Error::Decode(format!("a commit of the trail has an unusable {what}").into());
    if !rest.is_empty() {
        return Err(unusable("list of leaves"));
    }
    Ok(Commit {
        team: row.try_get("team")?,
        replica: row.try_get("replica")?,
        number: unsigned(row, "number")?,
        first_sequence: unsigned(row, "first_sequence")?,
        last_sequence: unsigned(row, "last_sequence")?,
        time_ns: row.try_get("time_ns")?,
        origin: Origin::ALL
            .into_iter()
            .find(|known| known.as_str() == origin)
            .ok_or_else(|| unusable("origin"))?,
        previous: hash(row, "previous")?,
        root: hash(row, "root")?,
        key_id: row.try_get("key_id")?,
        signature: Signed::from_slice(&signature).ok_or_else(|| unusable("signature"))?,
        leaves: leaves.iter().copied().map(Hash).collect(),
    })
}

/// Records after the first sequence number and not above the second, at most `limit`.
pub(super) async fn records(
    connection: &mut SqliteConnection,
    team: &str,
    replica: &str,
    (after, until): (i64, i64),
    limit: usize,
) -> Result<Vec<Record>, sqlx::Error> {
    let rows = sqlx::query(include_str!("../queries/trail_records.sql"))
        .bind(team)
        .bind(after)
        .bind(until)
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(connection)
        .await?;
    let record = |row: &SqliteRow| {
        Ok(Record {
            team: row.try_get("team")?,
            replica: replica.to_owned(),
            sequence: unsigned(row, "sequence")?,
            record_id: row.try_get("record_id")?,
            time_ns: row.try_get("time_ns")?,
            kind: row.try_get("kind")?,
            principal: row.try_get("principal")?,
            host_id: row.try_get("host_id")?,
            host_principal: row.try_get("host_principal")?,
            effect: row.try_get("effect")?,
            session_id: row.try_get("session_id")?,
            decision_id: row.try_get("decision_id")?,
            tool_name: row.try_get("tool_name")?,
            body: row.try_get("body")?,
        })
    };
    rows.iter().map(record).collect()
}

/// Writes a commit.
pub(super) async fn insert_commit(connection: &mut SqliteConnection, commit: &Commit) -> Result<(), sqlx::Error> {
    let leaves: Vec<u8> = commit.leaves.iter().flat_map(|leaf| leaf.0).collect();
    sqlx::query(include_str!("../queries/trail_commit_insert.sql"))
        .bind(&commit.team)
        .bind(&commit.replica)
        .bind(signed(commit.number))
        .bind(signed(commit.first_sequence))
        .bind(signed(commit.last_sequence))
        .bind(commit.time_ns)
        .bind(commit.origin.as_str())
        .bind(commit.previous.0.as_slice())
        .bind(commit.root.0.as_slice())
        .bind(&commit.key_id)
        .bind(commit.signature.0.as_slice())
        .bind(leaves)
        .execute(connection)
        .await?;
    Ok(())
}
