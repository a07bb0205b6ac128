//! `AuditService`.

use std::{pin::Pin, sync::Arc, time::SystemTime};

use futures_util::Stream;
use jiff::Timestamp;
use portcullis_policy::Verdict;
use portcullis_proto::{
    convert,
    trail::{
        Anchor, Item,
        file::{End, Header, Line, VERSION},
    },
    v1::{self, audit_record::Body, audit_service_server::AuditService},
};
use prost::Message as _;
use tokio::sync::{Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic::{Request, Response, Status};

use super::{policy::page_size, store_status};
use crate::{
    audit,
    auth::AuditorPermit,
    store::{Filter, Page, RecordKind, Store, StoredRecord, TeamId},
};

/// Records of a page, unless asked for another number, and at most.
const PAGE: (u32, u32) = (100, 1000);

/// A page ends early once it is this long, in bytes: clients take 4 MiB unless told otherwise.
const MAX_PAGE_BYTES: usize = 3 * 1024 * 1024;

/// Records read at once for a tail, and buffered for its reader. A slow reader costs this much memory and no more:
/// what it has not taken yet stays in the database and is read from there.
const TAIL_BATCH: u32 = 64;

/// Lines of an export travel together until they are this long, in bytes; one line may be longer.
const EXPORT_BYTES: usize = 64 * 1024;

/// Pieces of the trail between the store and its reader.
const EXPORT_ITEMS: usize = 64;

/// The service.
pub struct AuditGrpc {
    store: Arc<dyn Store>,
    tails: Arc<Semaphore>,
    shutdown: CancellationToken,
    tasks: TaskTracker,
}

impl AuditGrpc {
    /// At most `max_tails` streams; all end when `shutdown` is cancelled.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, max_tails: usize, shutdown: CancellationToken, tasks: TaskTracker) -> Self {
        let tails = Arc::new(Semaphore::new(max_tails.min(Semaphore::MAX_PERMITS)));
        Self {
            store,
            tails,
            shutdown,
            tasks,
        }
    }
}

/// A time on the wire.
pub(super) fn wire_time(time: Timestamp) -> prost_types::Timestamp {
    // Out of range is nothing that this server's clock wrote.
    convert::timestamp_of(SystemTime::try_from(time).unwrap_or(SystemTime::UNIX_EPOCH))
}

fn time(field: &str, time: Option<prost_types::Timestamp>) -> Result<Option<Timestamp>, Status> {
    let Some(time) = time else { return Ok(None) };
    let moment = convert::moment_from_wire(field, &time)?;
    Timestamp::try_from(moment)
        .map(Some)
        .map_err(|_| Status::invalid_argument(format!("invalid `{field}`: is out of range")))
}

fn filter(message: Option<v1::RecordFilter>) -> Result<Filter, Status> {
    let v1::RecordFilter {
        kind,
        effect,
        since,
        until,
        session_id,
        principal,
        decision_id,
        tool_name,
    } = message.unwrap_or_default();
    let kind = match v1::RecordKind::try_from(kind) {
        Ok(v1::RecordKind::Unspecified) => None,
        Ok(v1::RecordKind::Decision) => Some(RecordKind::Decision),
        Ok(v1::RecordKind::Outcome) => Some(RecordKind::Outcome),
        Ok(v1::RecordKind::PolicyChange) => Some(RecordKind::PolicyChange),
        Err(_) => {
            return Err(Status::invalid_argument(format!(
                "invalid `filter.kind`: {kind} is no kind"
            )));
        }
    };
    let verdict = match v1::Effect::try_from(effect) {
        Ok(v1::Effect::Unspecified) => None,
        Ok(v1::Effect::Allow) => Some(Verdict::Allow),
        Ok(v1::Effect::Ask) => Some(Verdict::Ask),
        Ok(v1::Effect::Deny) => Some(Verdict::Deny),
        Err(_) => {
            return Err(Status::invalid_argument(format!(
                "invalid `filter.effect`: {effect} is no effect"
            )));
        }
    };
    let given = |text: String| Some(text).filter(|text| !text.is_empty());
    Ok(Filter {
        kind,
        verdict,
        since: time("filter.since", since)?,
        until: time("filter.until", until)?,
        // What is stored went through the same function, so what was redacted there is found too.
        session_id: given(session_id).map(|id| audit::identifier(&id)),
        principal: given(principal),
        decision_id: given(decision_id),
        tool_name: given(tool_name).map(|name| audit::name(&name)),
    })
}

fn record_to_wire(team: &TeamId, record: StoredRecord) -> Result<v1::AuditRecord, Status> {
    let StoredRecord {
        sequence,
        record_id,
        time,
        kind,
        principal,
        host_id,
        body,
    } = record;
    let body = match kind {
        RecordKind::Decision => v1::DecisionRecord::decode(&*body).map(Body::Decision),
        RecordKind::Outcome => v1::OutcomeRecord::decode(&*body).map(Body::Outcome),
        RecordKind::PolicyChange => v1::PolicyChangeRecord::decode(&*body).map(Body::PolicyChange),
    };
    let body = body.map_err(|_| Status::data_loss(format!("record {sequence} of the trail is damaged")))?;
    Ok(v1::AuditRecord {
        record_id,
        sequence,
        time: Some(wire_time(time)),
        team: team.as_str().to_owned(),
        principal,
        host_id,
        body: Some(body),
    })
}

#[tonic::async_trait]
impl AuditService for AuditGrpc {
    type TailStream = Pin<Box<dyn Stream<Item = Result<v1::TailResponse, Status>> + Send>>;
    type ExportStream = Pin<Box<dyn Stream<Item = Result<v1::ExportResponse, Status>> + Send>>;

    async fn query(&self, request: Request<v1::QueryRequest>) -> Result<Response<v1::QueryResponse>, Status> {
        let permit = AuditorPermit::of(request.extensions())?;
        let v1::QueryRequest {
            filter: wanted,
            page_size: size,
            before_sequence,
        } = request.into_inner();
        let size = page_size(size, PAGE)?;
        let page = Page::Before(Some(before_sequence).filter(|before| *before > 0));
        let team = permit.team();
        let found = self.store.records(team.clone(), filter(wanted)?, page, size + 1).await;
        let found = found.map_err(|error| store_status(&error))?;
        let (mut records, mut bytes, mut more) = (Vec::new(), 0, false);
        for record in found {
            bytes += record.body.len();
            if records.len() == size as usize || (bytes > MAX_PAGE_BYTES && !records.is_empty()) {
                more = true;
                break;
            }
            records.push(record_to_wire(team, record)?);
        }
        let next_before_sequence = records.last().filter(|_| more).map_or(0, |last| last.sequence);
        Ok(Response::new(v1::QueryResponse {
            records,
            next_before_sequence,
        }))
    }

    async fn tail(&self, request: Request<v1::TailRequest>) -> Result<Response<Self::TailStream>, Status> {
        let permit = AuditorPermit::of(request.extensions())?;
        let v1::TailRequest {
            filter: wanted,
            after_sequence,
        } = request.into_inner();
        let filter = filter(wanted)?;
        let slot = self.tails.clone().try_acquire_owned();
        let slot = slot.map_err(|_| Status::resource_exhausted("too many readers follow the trail already"))?;
        let team = permit.team().clone();
        let after = match after_sequence {
            Some(sequence) => sequence,
            None => self
                .store
                .head(team.clone())
                .await
                .map_err(|error| store_status(&error))?,
        };
        let (sender, receiver) = mpsc::channel(TAIL_BATCH as usize);
        let (store, shutdown) = (self.store.clone(), self.shutdown.clone());
        self.tasks.spawn(async move {
            let following = follow(&*store, &team, filter, after, &sender);
            let end = tokio::select! {
                () = shutdown.cancelled() => Some(Status::unavailable("the server is shutting down; go on after the last sequence number")),
                () = sender.closed() => None,
                status = following => status,
            };
            if let Some(status) = end {
                // Whoever does not read has gone or will see the connection end.
                drop(sender.try_send(Err(status)));
            }
            drop(slot);
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn anchor(&self, request: Request<v1::AnchorRequest>) -> Result<Response<v1::AnchorResponse>, Status> {
        let permit = AuditorPermit::of(request.extensions())?;
        let team = permit.team();
        let checkpoints = self.store.checkpoints(team.clone()).await;
        let checkpoints = checkpoints.map_err(|error| store_status(&error))?;
        let anchor = Anchor::new(team.as_str(), checkpoints);
        let line = serde_json::to_string(&anchor).map_err(|_| Status::internal("the anchor cannot be written"))?;
        Ok(Response::new(v1::AnchorResponse { line }))
    }

    async fn export(&self, request: Request<v1::ExportRequest>) -> Result<Response<Self::ExportStream>, Status> {
        let permit = AuditorPermit::of(request.extensions())?;
        let slot = self.tails.clone().try_acquire_owned();
        let slot = slot.map_err(|_| Status::resource_exhausted("too many readers follow the trail already"))?;
        let (store, team, shutdown) = (self.store.clone(), permit.team().clone(), self.shutdown.clone());
        let (sender, receiver) = mpsc::channel(2);
        self.tasks.spawn(async move {
            let end = tokio::select! {
                () = shutdown.cancelled() => Err(Status::unavailable("the server is shutting down")),
                end = export(&*store, team, &sender) => end,
            };
            if let Err(status) = end {
                // Whoever does not read any more sees that there is no end line.
                drop(sender.send(Err(status)).await);
            }
            drop(slot);
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }
}

type ExportSender = mpsc::Sender<Result<v1::ExportResponse, Status>>;

/// Sends the trail as it stands now: what is committed from now on is not in it.
async fn export(store: &dyn Store, team: TeamId, sender: &ExportSender) -> Result<(), Status> {
    let failed = |error| store_status(&error);
    let manifest = store.checkpoints(team.clone()).await.map_err(failed)?;
    let until = manifest
        .iter()
        .map(|checkpoint| checkpoint.last_sequence)
        .max()
        .unwrap_or(0);
    let header = Line::Trail(Header {
        version: VERSION,
        team: team.as_str().to_owned(),
        manifest,
    });
    let mut lines = text_of(&header)?;
    let mut end = End { records: 0, commits: 0 };
    let (to, mut items) = mpsc::channel(EXPORT_ITEMS);
    let send = async |lines: &mut String| {
        let lines = std::mem::take(lines);
        // Nobody reads any more: the walk ends with this function.
        sender.send(Ok(v1::ExportResponse { lines })).await.is_ok()
    };
    let take = async {
        while let Some(item) = items.recv().await {
            let line = match item {
                Item::Commit(commit) => {
                    end.commits += 1;
                    Line::Commit(commit)
                }
                Item::Record(record) => {
                    end.records += 1;
                    Line::Record(record)
                }
            };
            lines.push_str(&text_of(&line)?);
            if lines.len() >= EXPORT_BYTES && !send(&mut lines).await {
                items.close();
            }
        }
        Ok::<_, Status>(())
    };
    let walk = async { store.walk(team, until, to).await.map_err(failed) };
    tokio::try_join!(walk, take)?;
    lines.push_str(&text_of(&Line::End(end))?);
    send(&mut lines).await;
    Ok(())
}

fn text_of(line: &Line) -> Result<String, Status> {
    line.to_text()
        .map_err(|_| Status::internal("a line of the trail cannot be written"))
}

type TailSender = mpsc::Sender<Result<v1::TailResponse, Status>>;

/// Sends every record after `cursor` as it is committed. Returns why it cannot go on; `None` = the reader has gone.
async fn follow(
    store: &dyn Store,
    team: &TeamId,
    filter: Filter,
    mut cursor: u64,
    sender: &TailSender,
) -> Option<Status> {
    let mut commits = store.commits();
    loop {
        // Seen before the head is read: a commit in between wakes the loop once for nothing, never too rarely.
        commits.borrow_and_update();
        let head = match store.head(team.clone()).await {
            Ok(head) => head,
            Err(error) => return Some(store_status(&error)),
        };
        while cursor < head {
            let page = Page::Between(cursor, head);
            let found = match store.records(team.clone(), filter.clone(), page, TAIL_BATCH).await {
                Ok(found) => found,
                Err(error) => return Some(store_status(&error)),
            };
            let last_page = found.len() < TAIL_BATCH as usize;
            for record in found {
                cursor = record.sequence;
                let message = match record_to_wire(team, record) {
                    Ok(record) => v1::TailResponse { record: Some(record) },
                    Err(status) => return Some(status),
                };
                if sender.send(Ok(message)).await.is_err() {
                    return None;
                }
            }
            if last_page {
                cursor = head;
            }
        }
        if commits.changed().await.is_err() {
            return Some(Status::unavailable(
                "the server is shutting down; go on after the last sequence number",
            ));
        }
    }
}
