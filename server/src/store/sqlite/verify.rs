//! Verifies the trails of a whole database, read-only, beside a server that runs or without one.

use std::path::{Path, PathBuf};

use portcullis_proto::trail::{Finding, FindingKind, Report, Trust, Verifier};
use sqlx::{
    ConnectOptions as _, Connection as _, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode},
};

use super::{
    chain, is_corrupt,
    walk::{self, Walk},
};

/// A database cannot be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// There is none.
    #[error("there is no database `{0}`")]
    Missing(PathBuf),
    /// It has no chain yet.
    #[error("the trail in `{0}` has no hash chain: the database is from a version before it, and was not opened since")]
    NoChain(PathBuf),
    /// The database is damaged or none.
    #[error("the database `{path}` is damaged or no database")]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        #[source]
        cause: sqlx::Error,
    },
    /// It cannot be read.
    #[error("cannot read the trail in `{path}`")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: sqlx::Error,
    },
}

/// Verifies every trail in a database. Without a key in `trust` those that the database names are believed.
///
/// # Errors
/// If it cannot be read. What is wrong with a trail is a finding.
pub async fn verify(path: &Path, trust: Trust) -> Result<Report, VerifyError> {
    if !path.is_file() {
        return Err(VerifyError::Missing(path.to_owned()));
    }
    let failed = |cause: sqlx::Error| {
        let path = path.to_owned();
        if is_corrupt(&cause) {
            VerifyError::Corrupt { path, cause }
        } else {
            VerifyError::Read { path, cause }
        }
    };
    let mut connection = connect(path).await.map_err(failed)?;
    let table = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'trail_replicas'";
    let known: i64 = sqlx::query_scalar(table)
        .fetch_one(&mut connection)
        .await
        .map_err(failed)?;
    if known == 0 {
        return Err(VerifyError::NoChain(path.to_owned()));
    }
    // One snapshot for all of it: what is committed meanwhile is not looked at.
    let mut tx = connection.begin().await.map_err(failed)?;
    let report = teams(&mut tx, trust).await.map_err(failed)?;
    tx.rollback().await.map_err(failed)?;
    Ok(report)
}

/// Opens the database for reading. A copy on a disk that cannot be written is opened as one that nobody writes to, if there
/// is no log beside it that would then be missed.
async fn connect(path: &Path) -> Result<SqliteConnection, sqlx::Error> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .read_only(true)
        .busy_timeout(std::time::Duration::from_secs(5))
        .disable_statement_logging();
    let opened = async {
        let mut connection = options.clone().connect().await?;
        sqlx::query("SELECT count(*) FROM sqlite_schema")
            .fetch_one(&mut connection)
            .await?;
        Ok(connection)
    };
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    match opened.await {
        Err(_) if !Path::new(&log).exists() => {
            let frozen = options.immutable(true).journal_mode(SqliteJournalMode::Off);
            frozen.connect().await
        }
        opened => opened,
    }
}

async fn teams(connection: &mut SqliteConnection, trust: Trust) -> Result<Report, sqlx::Error> {
    let mut report = Report::default();
    let trust = if trust.has_keys() {
        trust
    } else {
        report.notes.push(
            "neither an anchor nor a key was given: the signatures were checked with the keys in the database itself"
                .to_owned(),
        );
        let mut named = chain::keys(connection).await?;
        trust.anchors().for_each(|anchor| named.add_anchor(anchor.clone()));
        named
    };
    let teams = walk::teams(connection).await?;
    let replica: Option<String> = sqlx::query_scalar("SELECT replica FROM trail_replicas ORDER BY made_at_ns LIMIT 1")
        .fetch_optional(&mut *connection)
        .await?;
    for team in &teams {
        let mut verifier = Verifier::new(team, &trust);
        let mut walk = Walk::new(team, replica.as_deref().unwrap_or_default(), (i64::MIN, i64::MAX));
        while let Some(item) = walk.next(connection).await? {
            verifier.item(item);
        }
        // Rows that share a sequence number are read once; only a schema that somebody changed lets them in.
        let stored: i64 = sqlx::query_scalar("SELECT count(*) FROM audit_records WHERE team = ?1")
            .bind(team)
            .fetch_one(&mut *connection)
            .await?;
        let (read, _) = verifier.counts();
        if u64::try_from(stored).unwrap_or(0) != read {
            let detail =
                format!("the database has {stored} records, of which {read} have a sequence number of their own");
            verifier.add(Finding::new(FindingKind::Inserted, team, detail));
        }
        report.join(verifier.finish());
    }
    for anchor in trust.anchors().filter(|anchor| !teams.contains(&anchor.team)) {
        let detail = format!(
            "the anchor knows its trail up to record {}, and there is none",
            anchor.last_sequence
        );
        let finding = Finding::new(FindingKind::MissingChain, &anchor.team, detail);
        report.add(finding.in_commit(&anchor.replica, anchor.number));
    }
    Ok(report.concluded())
}
