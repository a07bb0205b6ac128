//! Outcomes on their way to the server: one file each, kept until the server has them.
//!
//! Written before the caller learns how the run ended, so that no outcome is lost by a crash of this daemon or an outage of
//! the server. Delivered at least once; the server links them by decision id.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use portcullis_proto::v1::{ReportOutcomeRequest, outcome};
use prost::Message as _;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tonic::Code;
use uuid::Uuid;

use crate::durable;
use crate::upstream::{Upstream, UpstreamError};

/// Most outcomes that wait. Beyond it nothing more is run, as it could not be recorded.
pub const MAX_WAITING: usize = 10_000;

/// First and longest pause after a failed delivery.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(30));

/// Largest outcome, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// Most lines of an enforcement's list, and longest line, in bytes, that a server takes.
const MAX_LINES: usize = 64;
const MAX_LINE: usize = 1024;

/// Longest reason why a command did not start, in bytes.
const MAX_REASON: usize = 4096;

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

    /// Keeps an outcome, shortened to what a server takes. Waits for the disk.
    ///
    /// # Errors
    /// If it cannot be made durable.
    pub fn put(&self, outcome: &ReportOutcomeRequest) -> io::Result<()> {
        // Ids of version 7 sort by time.
        let path = self.folder.join(format!("{}.outcome", Uuid::now_v7()));
        let mut outcome = outcome.clone();
        shorten(&mut outcome);
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
                Err(UpstreamError::Caller(status) | UpstreamError::Failing(status)) if is_final(status.code()) => {
                    tracing::error!(message = status.message(), "the server refuses an outcome");
                    set_aside(path, "refused").await?;
                }
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    }
}

/// What is too long would make the server refuse the whole outcome, and names in a workspace, which are part of it, may
/// be of any length and number.
fn shorten(report: &mut ReportOutcomeRequest) {
    let Some(outcome) = &mut report.outcome else { return };
    if let Some(outcome::End::NotStarted(why)) = &mut outcome.end {
        cut(why, MAX_REASON);
    }
    outcome.refusals.truncate(MAX_LINES);
    for refusal in &mut outcome.refusals {
        for text in [&mut refusal.subject, &mut refusal.reason, &mut refusal.remedy] {
            cut(text, MAX_LINE);
        }
    }
    for lines in outcome
        .enforcement
        .iter_mut()
        .flat_map(|enforcement| {
            [
                &mut enforcement.mechanisms,
                &mut enforcement.missing,
                &mut enforcement.unheld_limits,
            ]
        })
        .chain([&mut outcome.warnings])
    {
        if lines.len() > MAX_LINES {
            let more = lines.len() - (MAX_LINES - 1);
            lines.truncate(MAX_LINES - 1);
            lines.push(format!("and {more} more"));
        }
        for line in lines {
            cut(line, MAX_LINE);
        }
    }
}

/// Cuts a text to at most this many bytes, with a mark where it was cut.
fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        let mut end = most.saturating_sub('…'.len_utf8());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push('…');
    }
}

/// Whether an outcome that was refused so will be refused for ever: it is malformed, or its decision is not one that this
/// server has on record as allowed (a database that was restored or begun anew), or has another outcome already.
fn is_final(code: Code) -> bool {
    matches!(
        code,
        Code::InvalidArgument | Code::NotFound | Code::FailedPrecondition | Code::AlreadyExists
    )
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
    fn an_outcome_of_any_size_is_one_that_the_server_takes() {
        use portcullis_proto::v1::{Enforcement, EnforcementStatus, Outcome};
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::new(folder.path().to_path_buf());
        let outcome = Outcome {
            end: Some(outcome::End::NotStarted("ä".repeat(5000))),
            enforcement: Some(Enforcement {
                status: EnforcementStatus::Partial.into(),
                missing: vec!["x".repeat(4000); 100],
                ..Enforcement::default()
            }),
            warnings: vec!["y".repeat(4000); 100],
            refusals: vec![
                portcullis_proto::v1::SandboxRefusal {
                    subject: "z".repeat(4000),
                    ..Default::default()
                };
                100
            ],
            ..Outcome::default()
        };
        assert!(portcullis_proto::convert::outcome_from_wire(&outcome).is_err());
        let report = ReportOutcomeRequest {
            decision_id: "a".to_owned(),
            outcome: Some(outcome),
        };
        spool.put(&report).unwrap();
        let kept = read(spool.waiting().first().unwrap()).unwrap().outcome.unwrap();
        portcullis_proto::convert::outcome_from_wire(&kept).unwrap();
        assert_eq!(kept.enforcement.unwrap().missing.last().unwrap(), "and 37 more");
    }

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
