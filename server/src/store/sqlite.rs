//! The SQLite backend: one file, one writer task, several readers.
//!
//! WAL mode, so that reads never wait for the writer; `synchronous=FULL`, so that a commit is on disk when it returns.
//! Everything that is written goes through the one `writer` task, which makes one transaction of all that waits. The
//! server's lock file keeps other servers away; `busy_timeout` is only for a person with a `sqlite3` shell.

mod chain;
mod read;
mod verify;
mod walk;
mod writer;

pub use verify::{VerifyError, verify};

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ed25519_dalek::SigningKey;
use futures_util::{FutureExt as _, future::BoxFuture};
use sqlx::{
    ConnectOptions as _, Connection as _, SqliteConnection, SqlitePool,
    migrate::{MigrateError, Migrator},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use tokio::{
    sync::{Mutex, mpsc, oneshot, watch},
    task::JoinHandle,
    time::Instant,
};

use super::{
    Appended, Filter, KnownToken, NewDecision, NewOutcome, NewPolicy, NewToken, OutcomeRefused, Page, PolicyVersion,
    PushRefused, Store, StoreError, StoreFuture, StoredPolicy, StoredRecord, TeamId,
};
use crate::auth::TokenHash;
use chain::{ChainError, Chains};
use portcullis_proto::trail::{Checkpoint, Finding, Item};
use writer::{Done, Job, Work};

/// Connections for looking up tokens: a look-up takes microseconds, so a few serve thousands of calls a second.
const LOOKUPS: u32 = 4;

static MIGRATIONS: Migrator = sqlx::migrate!("../migrations/sqlite");

/// How the database is opened.
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    /// Records that may wait to be written; more are refused.
    pub queue: usize,
    /// Records in one transaction, at most.
    pub max_batch: usize,
    /// Connections for reading.
    pub readers: u32,
    /// Most pages (of 4 KiB) that the database may have; `None` = as many as the disk takes.
    pub max_pages: Option<u32>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            queue: 1024,
            max_batch: 256,
            readers: 4,
            max_pages: None,
        }
    }
}

/// The database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It was made by a newer version.
    #[error(
        "the database `{path}` comes from a newer version of portcullis-server: it has migration {found}, this version \
         knows up to {known}"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The unknown migration.
        found: i64,
        /// The newest known one.
        known: i64,
    },
    /// It is no database, or a damaged one.
    #[error("the database `{path}` is damaged or no database")]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        #[source]
        cause: sqlx::Error,
    },
    /// Its schema was changed by somebody else.
    #[error("the database `{path}` cannot be brought up to date")]
    Migrate {
        /// The file.
        path: PathBuf,
        /// What failed.
        #[source]
        cause: Box<MigrateError>,
    },
    /// Somebody has changed the trail.
    #[error("the audit trail in `{path}` was tampered with: {finding}")]
    BrokenTrail {
        /// The file.
        path: PathBuf,
        /// The first thing that is wrong at the end of its chain.
        finding: Box<Finding>,
    },
    /// It cannot be opened.
    #[error("cannot open the database `{path}`")]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: sqlx::Error,
    },
}

/// What the writer has done so far.
#[derive(Debug, Default)]
pub struct Counters {
    commits: AtomicU64,
    writes: AtomicU64,
}

impl Counters {
    /// Transactions committed.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Writes in them.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }
}

/// What the writer task and the store share.
#[derive(Debug, Default)]
struct Shared {
    counters: Counters,
    poison: OnceLock<Arc<str>>,
}

/// A store in one SQLite file.
pub struct SqliteStore {
    readers: SqlitePool,
    /// For tokens only: a long search of the trail must not keep calls from being authenticated.
    lookups: SqlitePool,
    queue: Mutex<Option<mpsc::Sender<Job>>>,
    sender: mpsc::WeakSender<Job>,
    shared: Arc<Shared>,
    commits: watch::Receiver<u64>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl SqliteStore {
    /// Opens the database, makes it if there is none, brings its schema up to date, and verifies the end of its trail, which
    /// `key` signs from now on.
    ///
    /// # Errors
    /// If the file cannot be used; see [`OpenError`].
    pub async fn open(path: &Path, key: SigningKey, options: SqliteOptions) -> Result<Self, OpenError> {
        let connect = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(Duration::from_millis(500))
            .disable_statement_logging();
        let mut connection = connect.connect().await.map_err(|cause| open_error(path, cause))?;
        MIGRATIONS
            .run(&mut connection)
            .await
            .map_err(|cause| migrate_error(path, cause))?;
        if let Some(pages) = options.max_pages {
            let pragma = sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"));
            sqlx::query(pragma)
                .execute(&mut connection)
                .await
                .map_err(|cause| open_error(path, cause))?;
        }
        let chains = Chains::open(&mut connection, key).await.map_err(|error| match error {
            ChainError::Database(cause) => open_error(path, cause),
            ChainError::Broken(finding) => OpenError::BrokenTrail {
                path: path.to_owned(),
                finding,
            },
        })?;
        let reading = connect.create_if_missing(false).read_only(true);
        let pool = async |connections: u32| {
            let options = SqlitePoolOptions::new()
                .max_connections(connections)
                .acquire_timeout(Duration::from_secs(2));
            options
                .connect_with(reading.clone())
                .await
                .map_err(|cause| open_error(path, cause))
        };
        let (readers, lookups) = (pool(options.readers).await?, pool(LOOKUPS).await?);
        let mut files = Vec::new();
        for suffix in ["", "-wal"] {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            files.extend(writer::Place::find(name.into()).await);
        }
        Ok(Self::start((connection, chains), readers, lookups, files, &options))
    }

    fn start(
        writing: (SqliteConnection, Chains),
        readers: SqlitePool,
        lookups: SqlitePool,
        files: Vec<writer::Place>,
        options: &SqliteOptions,
    ) -> Self {
        let (sender, receiver) = mpsc::channel(options.queue.max(1));
        let (committed, commits) = watch::channel(0);
        let shared = Arc::new(Shared::default());
        let writer = writer::Writer::new(
            writing,
            receiver,
            options.max_batch.max(1),
            shared.clone(),
            committed,
            files,
        );
        Self {
            readers,
            lookups,
            sender: sender.downgrade(),
            queue: Mutex::new(Some(sender)),
            shared,
            commits,
            writer: Mutex::new(Some(tokio::spawn(writer.run()))),
        }
    }

    /// What the writer has done so far.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    async fn write(&self, work: Work, deadline: Instant) -> Result<Done, StoreError> {
        if let Some(reason) = self.shared.poison.get() {
            return Err(StoreError::Poisoned { reason: reason.clone() });
        }
        let (reply, answer) = oneshot::channel();
        let sender = self.sender.upgrade().ok_or(StoreError::Closed)?;
        sender
            .try_send(Job { work, deadline, reply })
            .map_err(|error| match error {
                mpsc::error::TrySendError::Full(_) => StoreError::Overloaded,
                mpsc::error::TrySendError::Closed(_) => StoreError::Closed,
            })?;
        drop(sender);
        answer.await.unwrap_or(Err(StoreError::Closed))
    }
}

/// The writer answered something else than what it was asked. Cannot happen, and must not become an allow if it does.
fn mixed_up(attempt: &'static str) -> StoreError {
    let cause = Arc::new(std::io::Error::other("the writer mixed up its answers"));
    StoreError::Failed { attempt, cause }
}

impl Store for SqliteStore {
    fn append_decision(&self, decision: NewDecision, deadline: Instant) -> StoreFuture<'_, Appended> {
        async move {
            match self.write(Work::Decision(decision), deadline).await? {
                Done::Appended(appended) => Ok(appended),
                _ => Err(mixed_up("record a decision")),
            }
        }
        .boxed()
    }

    fn append_outcome(&self, outcome: NewOutcome, deadline: Instant) -> StoreFuture<'_, Appended, OutcomeRefused> {
        async move {
            match self.write(Work::Outcome(outcome), deadline).await? {
                Done::Appended(appended) => Ok(appended),
                Done::OutcomeRefused(refused) => Err(refused),
                _ => Err(mixed_up("record an outcome").into()),
            }
        }
        .boxed()
    }

    fn push_policy(&self, policy: NewPolicy, deadline: Instant) -> StoreFuture<'_, PolicyVersion, PushRefused> {
        async move {
            match self.write(Work::Policy(policy), deadline).await? {
                Done::Pushed(version) => Ok(version),
                Done::PushRefused(refused) => Err(refused),
                _ => Err(mixed_up("store a policy").into()),
            }
        }
        .boxed()
    }

    fn replace_token(&self, token: NewToken, deadline: Instant) -> StoreFuture<'_, ()> {
        async move {
            match self.write(Work::Token(token), deadline).await? {
                Done::Nothing => Ok(()),
                _ => Err(mixed_up("store a token")),
            }
        }
        .boxed()
    }

    fn token(&self, hash: TokenHash) -> StoreFuture<'_, KnownToken> {
        read::token(&self.lookups, hash).boxed()
    }

    fn teams(&self) -> StoreFuture<'_, Vec<TeamId>> {
        read::teams(&self.readers).boxed()
    }

    fn policy(&self, team: TeamId, version: u64) -> StoreFuture<'_, Option<StoredPolicy>> {
        read::policy(&self.readers, team, version).boxed()
    }

    fn policies(&self, team: TeamId, before: u64, limit: u32) -> StoreFuture<'_, Vec<PolicyVersion>> {
        read::policies(&self.readers, team, before, limit).boxed()
    }

    fn records(&self, team: TeamId, filter: Filter, page: Page, limit: u32) -> StoreFuture<'_, Vec<StoredRecord>> {
        read::records(&self.readers, team, filter, page, limit).boxed()
    }

    fn head(&self, team: TeamId) -> StoreFuture<'_, u64> {
        read::head(&self.readers, team).boxed()
    }

    fn checkpoints(&self, team: TeamId) -> StoreFuture<'_, Vec<Checkpoint>> {
        read::checkpoints(&self.readers, team).boxed()
    }

    fn walk(&self, team: TeamId, until: u64, to: mpsc::Sender<Item>) -> StoreFuture<'_, ()> {
        read::walk(&self.readers, team, until, to).boxed()
    }

    fn commits(&self) -> watch::Receiver<u64> {
        self.commits.clone()
    }

    fn failure(&self) -> Option<Arc<str>> {
        let ended = || {
            let sender = self.sender.upgrade();
            sender
                .is_none_or(|sender| sender.is_closed())
                .then(|| Arc::from("the writer task has ended"))
        };
        self.shared.poison.get().cloned().or_else(ended)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        async move {
            // Readers first: the last connection to close folds the WAL into the database file, and only the writer can.
            self.readers.close().await;
            self.lookups.close().await;
            // The writer ends once the last sender is gone and the queue is empty.
            drop(self.queue.lock().await.take());
            if let Some(writer) = self.writer.lock().await.take()
                && let Err(error) = writer.await
            {
                tracing::error!(%error, "the writer task ended badly");
            }
        }
        .boxed()
    }
}

/// Whether SQLite says that the file itself is no (sound) database.
fn is_corrupt(error: &sqlx::Error) -> bool {
    let code = error
        .as_database_error()
        .and_then(|error| error.code())
        .and_then(|code| code.parse::<i32>().ok());
    // SQLITE_CORRUPT and SQLITE_NOTADB, with or without an extended code in the upper bits: https://www.sqlite.org/rescode.html
    matches!(code.map(|code| code & 0xff), Some(11 | 26))
}

fn open_error(path: &Path, cause: sqlx::Error) -> OpenError {
    let path = path.to_owned();
    if is_corrupt(&cause) {
        OpenError::Corrupt { path, cause }
    } else {
        OpenError::Open { path, cause }
    }
}

fn migrate_error(path: &Path, cause: MigrateError) -> OpenError {
    match cause {
        MigrateError::VersionMissing(found) => {
            let known = MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or(0);
            OpenError::Newer {
                path: path.to_owned(),
                found,
                known,
            }
        }
        MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _) if is_corrupt(&cause) => {
            OpenError::Corrupt {
                path: path.to_owned(),
                cause,
            }
        }
        cause => OpenError::Migrate {
            path: path.to_owned(),
            cause: Box::new(cause),
        },
    }
}

/// Closes a connection so that the WAL is folded into the database file.
async fn close(connection: SqliteConnection) {
    if let Err(error) = connection.close().await {
        tracing::error!(%error, "cannot close the database");
    }
}

#[cfg(test)]
mod tests;
