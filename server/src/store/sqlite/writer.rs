//! The one task that writes: all that waits becomes one transaction.
//!
//! A commit costs a flush of the disk, whatever it holds. While one is under way the next writes queue up, and then
//! share the next one; so under load the cost per record falls by itself, and without load nobody waits for company.
//! A caller gets its answer only after the commit that holds its record.

use std::{
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
};

use jiff::Timestamp;
use portcullis_proto::trail::Record;
use sqlx::{Connection as _, Row as _, Sqlite, SqliteConnection, Transaction};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::Instant,
};

use super::{
    super::{
        Appended, NewDecision, NewOutcome, NewPolicy, NewToken, OutcomeRefused, PolicyVersion, PushRefused, RecordKind,
        Reporter, SERVER_PRINCIPAL, StoreError,
    },
    Shared,
    chain::{Advanced, Chains, Leaves},
};

/// Something to write, and who waits for it.
pub(super) struct Job {
    pub(super) work: Work,
    pub(super) deadline: Instant,
    pub(super) reply: oneshot::Sender<Result<Done, StoreError>>,
}

/// Something to write.
pub(super) enum Work {
    Decision(NewDecision),
    Outcome(NewOutcome),
    Policy(NewPolicy),
    Token(NewToken),
}

/// What came of it.
pub(super) enum Done {
    Nothing,
    Appended(Appended),
    OutcomeRefused(OutcomeRefused),
    Pushed(PolicyVersion),
    PushRefused(PushRefused),
}

/// What a failure of SQLite means for what else is written.
enum Severity {
    /// This one write was refused (a constraint); SQLite took back its statement.
    OneWrite,
    /// Nothing was written because somebody else holds the file; the next try may succeed.
    Busy,
    /// What is on the disk is not known any more.
    Poison,
}

/// A file's name, and which file that is. SQLite goes on writing into a file that was deleted or replaced, and says that
/// all is well; the records are gone when it closes it.
pub(super) struct Place {
    path: PathBuf,
    identity: (u64, u64),
}

impl Place {
    /// What is there now; `None` if nothing is.
    pub(super) async fn find(path: PathBuf) -> Option<Self> {
        let identity = identity(&path).await.ok()?;
        Some(Self { path, identity })
    }

    /// Whether it is still there; otherwise why not.
    async fn check(&self) -> io::Result<()> {
        let fault = match identity(&self.path).await {
            Ok(found) if found == self.identity => return Ok(()),
            Ok(_) => "it is another file now".to_owned(),
            Err(error) => error.to_string(),
        };
        let path = self.path.display();
        Err(io::Error::other(format!(
            "`{path}` was replaced under the server: {fault}"
        )))
    }
}

async fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let found = tokio::fs::metadata(path).await?;
    Ok((found.dev(), found.ino()))
}

pub(super) struct Writer {
    connection: SqliteConnection,
    chains: Chains,
    queue: mpsc::Receiver<Job>,
    max_batch: usize,
    shared: Arc<Shared>,
    committed: watch::Sender<u64>,
    /// Where the records are, as found when they were opened.
    files: Vec<Place>,
    /// Time of the last record: the clock may be set back, the trail's times are not.
    last_time_ns: i64,
}

impl Writer {
    pub(super) fn new(
        (connection, chains): (SqliteConnection, Chains),
        queue: mpsc::Receiver<Job>,
        max_batch: usize,
        shared: Arc<Shared>,
        committed: watch::Sender<u64>,
        files: Vec<Place>,
    ) -> Self {
        Self {
            connection,
            chains,
            queue,
            max_batch,
            shared,
            committed,
            files,
            last_time_ns: 0,
        }
    }

    pub(super) async fn run(mut self) {
        let mut batch = Vec::with_capacity(self.max_batch);
        while self.queue.recv_many(&mut batch, self.max_batch).await > 0 {
            self.write(std::mem::take(&mut batch)).await;
        }
        super::close(self.connection).await;
    }

    /// Writes a batch and answers everybody in it.
    async fn write(&mut self, batch: Vec<Job>) {
        if let Some(reason) = self.shared.poison.get() {
            let error = StoreError::Poisoned { reason: reason.clone() };
            return batch.into_iter().for_each(|job| answer(job.reply, Err(error.clone())));
        }
        let now = Instant::now();
        let (on_time, late): (Vec<Job>, Vec<Job>) = batch.into_iter().partition(|job| job.deadline > now);
        late.into_iter()
            .for_each(|job| answer(job.reply, Err(StoreError::Late)));
        let (work, replies): (Vec<Work>, Vec<_>) = on_time.into_iter().map(|job| (job.work, job.reply)).unzip();
        if work.is_empty() {
            return;
        }
        let writes = work.len() as u64;
        match self.transaction(work).await {
            Ok(results) => {
                self.shared.counters.commits.fetch_add(1, Ordering::Relaxed);
                self.shared.counters.writes.fetch_add(writes, Ordering::Relaxed);
                replies
                    .into_iter()
                    .zip(results)
                    .for_each(|(reply, result)| answer(reply, result));
                self.committed.send_modify(|count| *count += 1);
            }
            Err(error) => {
                let error = self.failed(error);
                replies.into_iter().for_each(|reply| answer(reply, Err(error.clone())));
            }
        }
    }

    async fn transaction(&mut self, work: Vec<Work>) -> Result<Vec<Result<Done, StoreError>>, sqlx::Error> {
        let now = Timestamp::now().as_nanosecond().try_into().unwrap_or(i64::MAX);
        self.last_time_ns = self.last_time_ns.max(now);
        let mut tx = self.connection.begin_with("BEGIN IMMEDIATE").await?;
        let mut results = Vec::with_capacity(work.len());
        let mut pen = Pen {
            replica: self.chains.replica(),
            now_ns: self.last_time_ns,
            leaves: Leaves::default(),
        };
        for item in work {
            let mark = pen.leaves.mark();
            match perform(&mut tx, item, &mut pen).await {
                Ok(done) => results.push(Ok(done)),
                Err(cause) if matches!(severity(&cause), Severity::OneWrite) => {
                    pen.leaves.back_to(mark);
                    results.push(Err(failed("write to the database", cause)));
                }
                Err(cause) => return Err(cause),
            }
        }
        let leaves = pen.leaves;
        let advanced: Advanced = self.chains.seal(&mut tx, leaves, self.last_time_ns).await?;
        tx.commit().await?;
        self.chains.advance(advanced);
        for file in &self.files {
            file.check().await?;
        }
        Ok(results)
    }

    /// A whole transaction failed: says whether the store can go on.
    fn failed(&self, cause: sqlx::Error) -> StoreError {
        if matches!(severity(&cause), Severity::Busy) {
            tracing::warn!(error = %cause, "the database is held by another program; nothing was written");
            return failed("write to the database", cause);
        }
        let reason: Arc<str> = crate::failure::chain(&cause).into();
        tracing::error!(%reason, "storage failed: no call is allowed until the server is restarted");
        StoreError::Poisoned {
            reason: self.shared.poison.get_or_init(|| reason).clone(),
        }
    }
}

fn answer(reply: oneshot::Sender<Result<Done, StoreError>>, result: Result<Done, StoreError>) {
    // Whoever no longer waits has answered its own caller with ask or deny; see `decide`.
    drop(reply.send(result));
}

fn failed(attempt: &'static str, cause: sqlx::Error) -> StoreError {
    StoreError::Failed {
        attempt,
        cause: Arc::new(cause),
    }
}

fn severity(error: &sqlx::Error) -> Severity {
    let code = error
        .as_database_error()
        .and_then(|error| error.code())
        .and_then(|code| code.parse::<i32>().ok());
    match code {
        // A commit hook's refusal is an extended code of CONSTRAINT, but it concerns the whole transaction.
        Some(531) => Severity::Poison,
        // SQLITE_CONSTRAINT (19), SQLITE_TOOBIG (18)
        Some(code) if matches!(code & 0xff, 18 | 19) => Severity::OneWrite,
        // SQLITE_BUSY (5), SQLITE_LOCKED (6)
        Some(code) if matches!(code & 0xff, 5 | 6) => Severity::Busy,
        _ => Severity::Poison,
    }
}

/// What every record of a transaction is written with.
struct Pen<'a> {
    replica: &'a str,
    now_ns: i64,
    leaves: Leaves,
}

async fn perform(tx: &mut Transaction<'_, Sqlite>, work: Work, pen: &mut Pen<'_>) -> Result<Done, sqlx::Error> {
    match work {
        Work::Decision(decision) => append(tx, Row::decision(decision), pen).await.map(Done::Appended),
        Work::Outcome(outcome) => append_outcome(tx, outcome, pen).await,
        // Several statements that hold together or not at all, so each in a savepoint of its own.
        Work::Policy(policy) => {
            let mut inner = tx.begin().await?;
            let done = push(&mut inner, policy, pen).await?;
            inner.commit().await?;
            Ok(done)
        }
        Work::Token(token) => {
            let mut inner = tx.begin().await?;
            replace_token(&mut inner, token, pen.now_ns).await?;
            inner.commit().await?;
            Ok(Done::Nothing)
        }
    }
}

/// A record but for its sequence number, time and replica.
struct Row {
    team: String,
    record_id: String,
    kind: RecordKind,
    principal: String,
    host_id: String,
    host_principal: Option<String>,
    effect: Option<String>,
    session_id: Option<String>,
    decision_id: Option<String>,
    tool_name: Option<String>,
    body: Vec<u8>,
}

impl Row {
    fn decision(decision: NewDecision) -> Self {
        Self {
            team: decision.team.as_str().to_owned(),
            record_id: decision.decision_id.clone(),
            kind: RecordKind::Decision,
            principal: decision.principal,
            host_id: decision.host_id,
            host_principal: decision.host_principal,
            effect: Some(decision.verdict.to_string()),
            session_id: Some(decision.session_id).filter(|id| !id.is_empty()),
            decision_id: Some(decision.decision_id),
            tool_name: Some(decision.tool_name),
            body: decision.body,
        }
    }
}

/// Writes a record, and its leaf down for the commit that will seal it.
async fn append(connection: &mut SqliteConnection, row: Row, pen: &mut Pen<'_>) -> Result<Appended, sqlx::Error> {
    let sequence: i64 = sqlx::query_scalar(include_str!("../queries/audit_append.sql"))
        .bind(&row.team)
        .bind(&row.record_id)
        .bind(pen.now_ns)
        .bind(row.kind.as_str())
        .bind(&row.principal)
        .bind(&row.host_id)
        .bind(&row.host_principal)
        .bind(&row.effect)
        .bind(&row.session_id)
        .bind(&row.decision_id)
        .bind(&row.tool_name)
        .bind(&row.body)
        .fetch_one(connection)
        .await?;
    let sequence = sequence.unsigned_abs();
    pen.leaves.add(&Record {
        team: row.team,
        replica: pen.replica.to_owned(),
        sequence,
        record_id: row.record_id,
        time_ns: pen.now_ns,
        kind: row.kind.as_str().to_owned(),
        principal: row.principal,
        host_id: row.host_id,
        host_principal: row.host_principal,
        effect: row.effect,
        session_id: row.session_id,
        decision_id: row.decision_id,
        tool_name: row.tool_name,
        body: row.body,
    });
    Ok(Appended { sequence })
}

async fn append_outcome(
    connection: &mut SqliteConnection,
    outcome: NewOutcome,
    pen: &mut Pen<'_>,
) -> Result<Done, sqlx::Error> {
    let team = outcome.team.as_str();
    let decision = sqlx::query(include_str!("../queries/audit_decision.sql"))
        .bind(team)
        .bind(&outcome.decision_id)
        .fetch_optional(&mut *connection)
        .await?;
    let unknown = || Done::OutcomeRefused(OutcomeRefused::UnknownDecision(outcome.decision_id.clone()));
    let Some(decision) = decision else { return Ok(unknown()) };
    let host_principal: Option<String> = decision.try_get("host_principal")?;
    let principal = match &outcome.reporter {
        Reporter::Server => SERVER_PRINCIPAL.to_owned(),
        Reporter::Host(host) if host_principal.as_ref() == Some(host) => host.clone(),
        Reporter::Host(_) => return Ok(unknown()),
    };
    if decision.try_get::<Option<String>, _>("effect")?.as_deref() != Some("allow") {
        return Ok(Done::OutcomeRefused(OutcomeRefused::NotAllowed(outcome.decision_id)));
    }
    let earlier = sqlx::query(include_str!("../queries/audit_outcome.sql"))
        .bind(team)
        .bind(&outcome.decision_id)
        .fetch_optional(&mut *connection)
        .await?;
    if let Some(earlier) = earlier {
        let same = earlier.try_get::<Vec<u8>, _>("body")? == outcome.body;
        let sequence = earlier.try_get::<i64, _>("sequence")?.unsigned_abs();
        return Ok(if same {
            Done::Appended(Appended { sequence })
        } else {
            Done::OutcomeRefused(OutcomeRefused::Contradiction(outcome.decision_id))
        });
    }
    let row = Row {
        team: team.to_owned(),
        record_id: outcome.record_id,
        kind: RecordKind::Outcome,
        principal,
        host_id: decision.try_get("host_id")?,
        host_principal,
        effect: None,
        session_id: decision.try_get("session_id")?,
        decision_id: Some(outcome.decision_id),
        tool_name: decision.try_get("tool_name")?,
        body: outcome.body,
    };
    append(connection, row, pen).await.map(Done::Appended)
}

async fn push(connection: &mut SqliteConnection, policy: NewPolicy, pen: &mut Pen<'_>) -> Result<Done, sqlx::Error> {
    let now_ns = pen.now_ns;
    let team = policy.team.as_str();
    sqlx::query(include_str!("../queries/team_ensure.sql"))
        .bind(team)
        .bind(now_ns)
        .execute(&mut *connection)
        .await?;
    let active: Option<i64> = sqlx::query_scalar(include_str!("../queries/policy_active_version.sql"))
        .bind(team)
        .fetch_optional(&mut *connection)
        .await?;
    let previous = active.unwrap_or(0).unsigned_abs();
    if let Some(expected) = policy.expected_version.filter(|expected| *expected != previous) {
        return Ok(Done::PushRefused(PushRefused::Conflict {
            expected,
            active: previous,
        }));
    }
    let version: i64 = sqlx::query_scalar(include_str!("../queries/policy_insert.sql"))
        .bind(team)
        .bind(&policy.digest)
        .bind(&policy.author)
        .bind(now_ns)
        .bind(&policy.comment)
        .bind(&policy.file_name)
        .bind(policy.rule_count)
        .bind(&policy.content)
        .fetch_one(&mut *connection)
        .await?;
    sqlx::query(include_str!("../queries/policy_activate.sql"))
        .bind(team)
        .bind(version)
        .execute(&mut *connection)
        .await?;
    let version = version.unsigned_abs();
    let body = (policy.record)(version, previous);
    let row = Row {
        team: team.to_owned(),
        record_id: policy.record_id,
        kind: RecordKind::PolicyChange,
        principal: policy.author.clone(),
        host_id: String::new(),
        host_principal: None,
        effect: None,
        session_id: None,
        decision_id: None,
        tool_name: None,
        body,
    };
    append(connection, row, pen).await?;
    Ok(Done::Pushed(PolicyVersion {
        version,
        digest: policy.digest,
        author: policy.author,
        created_at: super::read::timestamp(now_ns)?,
        comment: policy.comment,
        file_name: policy.file_name,
        rule_count: policy.rule_count,
        active: true,
    }))
}

async fn replace_token(connection: &mut SqliteConnection, token: NewToken, now_ns: i64) -> Result<(), sqlx::Error> {
    let team = token.owner.team.as_str();
    sqlx::query(include_str!("../queries/team_ensure.sql"))
        .bind(team)
        .bind(now_ns)
        .execute(&mut *connection)
        .await?;
    sqlx::query(include_str!("../queries/token_revoke.sql"))
        .bind(team)
        .bind(&token.owner.principal)
        .bind(now_ns)
        .execute(&mut *connection)
        .await?;
    sqlx::query(include_str!("../queries/token_insert.sql"))
        .bind(token.hash.as_bytes().as_slice())
        .bind(team)
        .bind(&token.owner.principal)
        .bind(token.owner.role.as_str())
        .bind(now_ns)
        .execute(&mut *connection)
        .await?;
    Ok(())
}
