//! Outcomes on their way to the server: one file each, kept until the server has them.
//!
//! Written before the caller learns how the run ended, so that no outcome is lost by a crash of this daemon or an outage of
//! the server. Delivered at least once; the server links them by decision id.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use portcullis_proto::v1::ReportOutcomeRequest;
use prost::Message as _;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::durable;
use crate::upstream::{Upstream, UpstreamError};

/// Most outcomes that wait. Beyond it nothing more is run, as it could not be recorded.
pub const MAX_WAITING: usize = 10_000;

/// First and longest pause after a failed delivery.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(30));

/// Largest outcome, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// The spool.
#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    arrived: Notify,
}

impl Spool {
    /// A spool in this folder, which must exist.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            arrived: Notify::new(),
        }
    }

    /// Keeps an outcome. Waits for the disk.
    ///
    /// # Errors
    /// If it cannot be made durable.
    pub fn put(&self, outcome: &ReportOutcomeRequest) -> io::Result<()> {
        // Ids of version 7 sort by time.
        let path = self.folder.join(format!("{}.outcome", Uuid::now_v7()));
        durable::replace(&path, &outcome.encode_to_vec())?;
        self.arrived.notify_one();
        Ok(())
    }

    /// The waiting ones, oldest first. Reads the folder.
    #[must_use]
    pub fn waiting(&self) -> Vec<PathBuf> {
        let mut waiting: Vec<PathBuf> = fs::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "outcome"))
            .take(MAX_WAITING * 2)
            .collect();
        waiting.sort();
        waiting
    }

    /// Delivers until told to stop; once more then.
    pub async fn deliver(self: Arc<Self>, upstream: Arc<Upstream>, stop: CancellationToken) {
        let mut pause = BACKOFF.0;
        loop {
            match self.deliver_all(&upstream).await {
                Ok(()) => {
                    pause = BACKOFF.0;
                    tokio::select! {
                        () = self.arrived.notified() => {}
                        () = stop.cancelled() => break,
                    }
                }
                Err(reason) => {
                    tracing::warn!(%reason, "outcomes wait for the server");
                    tokio::select! {
                        () = tokio::time::sleep(pause) => {}
                        () = stop.cancelled() => break,
                    }
                    pause = (pause * 2).min(BACKOFF.1);
                }
            }
        }
        let _ = self.deliver_all(&upstream).await;
    }

    async fn deliver_all(self: &Arc<Self>, upstream: &Upstream) -> Result<(), String> {
        let spool = Arc::clone(self);
        let waiting = blocking(move || spool.waiting()).await?;
        for path in waiting {
            let file = path.clone();
            let Some(outcome) = blocking(move || read(&file)).await? else {
                set_aside(path, "broken").await?;
                continue;
            };
            let delivered = upstream
                .call(outcome, None, |mut client, request| async move {
                    client.report_outcome(request).await
                })
                .await;
            match delivered {
                Ok(_) => blocking(move || fs::remove_file(&path))
                    .await?
                    .map_err(|error| error.to_string())?,
                // The server will never take it; keeping it would block all others.
                Err(UpstreamError::Caller(status)) if status.code() == tonic::Code::InvalidArgument => {
                    tracing::error!(message = status.message(), "the server refuses an outcome");
                    set_aside(path, "refused").await?;
                }
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    }
}

fn read(path: &Path) -> Option<ReportOutcomeRequest> {
    let file = File::open(path).ok()?;
    if file.metadata().ok()?.len() > MAX_BYTES {
        return None;
    }
    ReportOutcomeRequest::decode(fs::read(path).ok()?.as_slice()).ok()
}

async fn set_aside(path: PathBuf, why: &'static str) -> Result<(), String> {
    blocking(move || fs::rename(&path, path.with_extension(why)))
        .await?
        .map_err(|error| error.to_string())
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_read_back_oldest_first() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::new(folder.path().to_path_buf());
        for id in ["a", "b", "c"] {
            spool
                .put(&ReportOutcomeRequest {
                    decision_id: id.to_owned(),
                    outcome: None,
                })
                .unwrap();
        }
        let ids: Vec<String> = spool
            .waiting()
            .iter()
            .map(|path| read(path).unwrap().decision_id)
            .collect();
        assert_eq!(ids, ["a", "b", "c"]);
    }
}
