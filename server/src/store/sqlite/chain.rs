//! The writer's side of the chain: seals what a transaction wrote, and finds out at the start where each chain stands.
//!
//! A commit of the chain is part of the transaction that writes its records: neither is ever there without the other. At the
//! start the end of each chain is verified, as much as [`TAIL_RECORDS`] allows: a server must not go on signing behind a
//! trail that somebody has changed. All of it is verified by [`super::verify`], which takes as long as the trail is.

use std::collections::BTreeMap;

use ed25519_dalek::{SigningKey, VerifyingKey};
use jiff::Timestamp;
use portcullis_proto::{
    ticket::key_id,
    trail::{self, Finding, Hash, Head, Item, Origin, Record, Trust, Verifier},
};
use sqlx::{Connection as _, SqliteConnection};
use uuid::Uuid;

use super::walk::{self, Walk};

/// Records of one adopted commit: few enough that a finding in one says something.
const ADOPTED_RECORDS: usize = 256;

/// Commits whose records are verified at the start, at most; and it is enough once they have so many records.
const TAIL_COMMITS: u32 = 64;
const TAIL_RECORDS: u64 = 1000;

/// The chains of a database, as far as the writer has to know them.
pub(super) struct Chains {
    replica: String,
    key: SigningKey,
    heads: BTreeMap<String, Head>,
}

/// The leaves of what a transaction has written so far, by team.
#[derive(Default)]
pub(super) struct Leaves {
    records: Vec<(String, u64, Hash)>,
}

impl Leaves {
    pub(super) fn add(&mut self, record: &Record) {
        self.records.push((record.team.clone(), record.sequence, record.leaf()));
    }

    /// How many there are, to come back to when a write is taken back.
    pub(super) fn mark(&self) -> usize {
        self.records.len()
    }

    pub(super) fn back_to(&mut self, mark: usize) {
        self.records.truncate(mark);
    }

    fn by_team(self) -> BTreeMap<String, Vec<(u64, Hash)>> {
        let mut teams = BTreeMap::<_, Vec<_>>::new();
        for (team, sequence, leaf) in self.records {
            teams.entry(team).or_default().push((sequence, leaf));
        }
        teams
    }
}

/// Where the chains will stand once a transaction is committed.
pub(super) struct Advanced(Vec<(String, Head)>);

impl Chains {
    pub(super) fn replica(&self) -> &str {
        &self.replica
    }

    /// Seals what a transaction has written, in that transaction.
    pub(super) async fn seal(
        &self,
        connection: &mut SqliteConnection,
        leaves: Leaves,
        now_ns: i64,
    ) -> Result<Advanced, sqlx::Error> {
        let mut advanced = Vec::new();
        for (team, records) in leaves.by_team() {
            let head = self.heads.get(&team).copied().unwrap_or_default();
            let expected = head.last_sequence + 1;
            let in_order = records.iter().map(|(sequence, _)| *sequence).zip(expected..);
            if let Some((found, expected)) = in_order.into_iter().find(|(found, expected)| found != expected) {
                // Somebody else has written: a signature must not cover that.
                return Err(sqlx::Error::Protocol(format!(
                    "the trail of team `{team}` was changed by another program: record {found} follows where {expected} should; \
                     `portcullis-server verify` says what is wrong with it"
                )));
            }
            let leaves = records.into_iter().map(|(_, leaf)| leaf).collect();
            let commit = trail::seal(
                (&team, &self.replica),
                &head,
                expected,
                leaves,
                now_ns,
                Origin::Written,
                &self.key,
            );
            walk::insert_commit(connection, &commit).await?;
            advanced.push((team, commit.head()));
        }
        Ok(Advanced(advanced))
    }

    /// The transaction is committed.
    pub(super) fn advance(&mut self, advanced: Advanced) {
        self.heads.extend(advanced.0);
    }

    /// Finds out where each chain stands, begins them in a database that has none, and verifies their ends.
    pub(super) async fn open(connection: &mut SqliteConnection, key: SigningKey) -> Result<Self, ChainError> {
        let mut tx = connection.begin_with("BEGIN IMMEDIATE").await?;
        let now_ns = Timestamp::now().as_nanosecond().try_into().unwrap_or(i64::MAX);
        let known: Option<String> =
            sqlx::query_scalar("SELECT replica FROM trail_replicas ORDER BY made_at_ns LIMIT 1")
                .fetch_optional(&mut *tx)
                .await?;
        let replica = match known {
            Some(replica) => replica,
            None => begin(&mut tx, &key, now_ns).await?,
        };
        let public = key.verifying_key();
        register(&mut tx, &public, now_ns).await?;
        tx.commit().await?;
        let trust = keys(connection).await?;
        let mut heads = BTreeMap::new();
        for team in walk::teams(connection).await? {
            if let Some(head) = tail(connection, &team, &replica, &trust).await? {
                heads.insert(team, head);
            }
        }
        Ok(Self { replica, key, heads })
    }
}

/// The chains cannot be gone on with.
#[derive(Debug, thiserror::Error)]
pub(super) enum ChainError {
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error("{0}")]
    Broken(Box<Finding>),
}

/// Makes the replica's name, and chains what is there already.
async fn begin(connection: &mut SqliteConnection, key: &SigningKey, now_ns: i64) -> Result<String, sqlx::Error> {
    let replica = Uuid::now_v7().to_string();
    sqlx::query("INSERT INTO trail_replicas (replica, made_at_ns) VALUES (?1, ?2)")
        .bind(&replica)
        .bind(now_ns)
        .execute(&mut *connection)
        .await?;
    for team in walk::teams(connection).await? {
        let mut head = Head::default();
        let mut adopted = 0_u64;
        loop {
            let after = i64::try_from(head.last_sequence).unwrap_or(i64::MAX);
            let records = walk::records(connection, &team, &replica, (after, i64::MAX), ADOPTED_RECORDS).await?;
            let Some(first) = records.first() else { break };
            let leaves: Vec<Hash> = records.iter().map(Record::leaf).collect();
            adopted += leaves.len() as u64;
            let commit = trail::seal(
                (&team, &replica),
                &head,
                first.sequence,
                leaves,
                now_ns,
                Origin::Adopted,
                key,
            );
            walk::insert_commit(connection, &commit).await?;
            head = commit.head();
        }
        if adopted > 0 {
            tracing::info!(
                %team, records = adopted,
                "the trail has a hash chain from now on; it covers the records that were there, and says nothing of the time before"
            );
        }
    }
    Ok(replica)
}

/// Notes the key that signs from now on.
async fn register(connection: &mut SqliteConnection, key: &VerifyingKey, now_ns: i64) -> Result<(), sqlx::Error> {
    let others: i64 = sqlx::query_scalar("SELECT count(*) FROM trail_keys WHERE key_id <> ?1")
        .bind(key_id(key))
        .fetch_one(&mut *connection)
        .await?;
    let added = sqlx::query(
        "INSERT INTO trail_keys (key_id, public_key, added_at_ns) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
    )
    .bind(key_id(key))
    .bind(key.as_bytes().as_slice())
    .bind(now_ns)
    .execute(&mut *connection)
    .await?;
    if others > 0 && added.rows_affected() > 0 {
        tracing::warn!(key_id = %key_id(key), "another key than before signs the trail from now on");
    }
    Ok(())
}

/// The keys that the database names.
pub(super) async fn keys(connection: &mut SqliteConnection) -> Result<Trust, sqlx::Error> {
    let mut trust = Trust::default();
    let rows: Vec<Vec<u8>> = sqlx::query_scalar("SELECT public_key FROM trail_keys")
        .fetch_all(connection)
        .await?;
    for bytes in rows {
        let key = Hash::from_slice(&bytes).and_then(|bytes| VerifyingKey::from_bytes(&bytes.0).ok());
        let key = key.ok_or_else(|| sqlx::Error::Decode("a key of the trail is none".into()))?;
        trust.add_key(key);
    }
    Ok(trust)
}

/// Verifies the end of a team's chain. `None` = there is none yet.
async fn tail(
    connection: &mut SqliteConnection,
    team: &str,
    replica: &str,
    trust: &Trust,
) -> Result<Option<Head>, ChainError> {
    let rows = sqlx::query(include_str!("../queries/trail_head.sql"))
        .bind(team)
        .bind(replica)
        .bind(TAIL_COMMITS)
        .fetch_all(&mut *connection)
        .await?;
    let (mut oldest, mut newest, mut records) = (None, None, 0);
    for row in &rows {
        let commit = walk::commit(row)?;
        records += commit.leaves.len() as u64;
        newest = newest.or_else(|| Some(commit.head()));
        oldest = Some(commit);
        if records >= TAIL_RECORDS {
            break;
        }
    }
    let start = oldest.map_or_else(Head::default, |commit| Head {
        number: commit.number.saturating_sub(1),
        hash: commit.previous,
        last_sequence: commit.first_sequence.saturating_sub(1),
    });
    let mut verifier = Verifier::resume(team, replica, start, trust);
    let after = if newest.is_some() {
        i64::try_from(start.last_sequence).unwrap_or(i64::MAX)
    } else {
        i64::MIN
    };
    let mut walk = Walk::new(team, replica, (after, i64::MAX));
    // Enough for the records and commits that are to be looked at, and for one that should not be there.
    let mut left = records + rows.len() as u64 + 1;
    while left > 0
        && let Some(item) = walk.next(connection).await?
    {
        // Of other replicas' chains only their own server knows the end.
        if !matches!(&item, Item::Commit(commit) if commit.replica != replica) {
            verifier.item(item);
        }
        left -= 1;
    }
    match verifier.finish().findings.into_iter().next() {
        Some(finding) => Err(ChainError::Broken(Box::new(finding))),
        None => Ok(newest),
    }
}

/// The newest commit of each chain of a team, for checkpoints.
pub(super) async fn heads(
    connection: &mut SqliteConnection,
    team: &str,
) -> Result<Vec<trail::Checkpoint>, sqlx::Error> {
    let replicas: Vec<String> = sqlx::query_scalar("SELECT replica FROM trail_replicas ORDER BY replica")
        .fetch_all(&mut *connection)
        .await?;
    let mut checkpoints = Vec::new();
    for replica in replicas {
        let row = sqlx::query(include_str!("../queries/trail_head.sql"))
            .bind(team)
            .bind(&replica)
            .bind(1)
            .fetch_optional(&mut *connection)
            .await?;
        let Some(row) = row else { continue };
        let commit = walk::commit(&row)?;
        let key: Option<Vec<u8>> = sqlx::query_scalar("SELECT public_key FROM trail_keys WHERE key_id = ?1")
            .bind(&commit.key_id)
            .fetch_optional(&mut *connection)
            .await?;
        let key = key
            .and_then(|bytes| Hash::from_slice(&bytes))
            .and_then(|bytes| VerifyingKey::from_bytes(&bytes.0).ok())
            .ok_or_else(|| sqlx::Error::Decode("the key of a commit is not in the database".into()))?;
        checkpoints.push(commit.checkpoint(&key));
    }
    Ok(checkpoints)
}

#[cfg(test)]
mod tests;
