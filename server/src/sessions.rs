//! What the server remembers of sessions: the mode a session began in, and what a classifier blocked in it.
//!
//! The first mode stands in the trail, so it outlives a restart; the counts are kept in memory only. Sessions that were
//! not heard of for longest are forgotten first: then a count begins anew. What an agent calls its session is its own
//! claim; it is bound to principal, host and agent, so that nobody speaks for the session of another.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use lru::LruCache;
use portcullis_policy::{
    Mode,
    mode::{BlockCount, BlockEvent, Pause},
};
use portcullis_proto::{
    convert::{Question, mode_from_wire},
    v1,
};
use prost::Message as _;
use sha2::{Digest as _, Sha256};
use tokio::time::timeout;

use crate::{
    audit,
    auth::DecidePermit,
    store::{Filter, Page, RecordKind, Store, TeamId},
};

/// Sessions that are remembered.
const MAX_SESSIONS: usize = 10_000;
/// Blocked calls that are remembered per session: more than are blocked before the mode pauses for good.
const MAX_BLOCKED: usize = 64;
/// Records of a session among which its first one is sought: other agents may use the same id.
const MAX_FIRST: u32 = 64;
/// How long the trail is searched for a session's first record.
const SEARCH_LIMIT: Duration = Duration::from_secs(1);

/// Whose session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionKey {
    team: TeamId,
    principal: String,
    host: String,
    agent: String,
    session: String,
}

impl SessionKey {
    /// The session that a question belongs to. Calls of one agent that name none share one.
    #[must_use]
    pub fn of(permit: &DecidePermit, question: &Question) -> Self {
        Self {
            team: permit.team().clone(),
            principal: permit.principal().to_owned(),
            host: question
                .host
                .as_ref()
                .map(|host| host.host_id.clone())
                .unwrap_or_default(),
            agent: question.request.agent.clone(),
            session: question.session_id.clone(),
        }
    }
}

/// A call, for telling whether the same one comes again: tool, input and where it happens.
pub type CallDigest = [u8; 32];

/// The digest of a question's call.
#[must_use]
pub fn call_digest(question: &Question) -> CallDigest {
    let mut hash = Sha256::new();
    let cwd = question.request.workspace.cwd.as_str().as_bytes();
    for part in [question.request.call.tool_name.as_bytes(), cwd, &question.raw_input] {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// What is remembered of one session.
#[derive(Clone, Debug, Default)]
struct Memory {
    /// The mode of the first call that was seen; the trail may know an earlier one.
    seen: Option<Mode>,
    /// The mode that the session began in, once that is certain.
    start: Option<Mode>,
    blocks: BlockCount,
    blocked: Vec<CallDigest>,
}

/// The memory of sessions.
pub struct Sessions {
    known: Mutex<LruCache<SessionKey, Memory>>,
    store: Arc<dyn Store>,
}

impl Sessions {
    /// Begins with what the trail knows.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        let sessions = NonZeroUsize::new(MAX_SESSIONS).unwrap_or(NonZeroUsize::MIN);
        Self {
            known: Mutex::new(LruCache::new(sessions)),
            store,
        }
    }

    fn with<T>(&self, key: &SessionKey, act: impl FnOnce(&mut Memory) -> T) -> T {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        act(known.get_or_insert_mut(key.clone(), Memory::default))
    }

    /// The mode that a session began in, as far as it matters for a call in `mode`. `None`: it begins with this call, or it
    /// does not matter. `begins`: whether the call counts, so that a session can begin with it.
    pub async fn start(&self, key: &SessionKey, mode: Mode, begins: bool) -> Option<Mode> {
        if key.session.is_empty() {
            return None;
        }
        let (seen, start) = self.with(key, |memory| {
            let seen = memory.seen;
            if begins {
                memory.seen.get_or_insert(mode);
            }
            (seen, memory.start)
        });
        if !mode.lets_everything_run() {
            return None;
        }
        if start.is_some() {
            return start;
        }
        let first = match self.first_recorded(key).await {
            Ok(recorded) => recorded.or(seen).unwrap_or(mode),
            Err(reason) => {
                // It cannot be shown that the session began so, and only then may everything run.
                tracing::warn!(%reason, "cannot tell in which mode a session began");
                return Some(Mode::Default);
            }
        };
        if begins {
            self.with(key, |memory| memory.start = Some(first));
        }
        Some(first)
    }

    /// The mode of the session's first decision on record.
    async fn first_recorded(&self, key: &SessionKey) -> Result<Option<Mode>, String> {
        if audit::identifier(&key.session) != key.session {
            // The trail does not keep such an id as it is, so another's session could be taken for this one.
            return Ok(None);
        }
        let filter = Filter {
            kind: Some(RecordKind::Decision),
            session_id: Some(key.session.clone()),
            principal: Some(key.principal.clone()),
            ..Filter::default()
        };
        let page = Page::Between(0, u64::MAX);
        let records = timeout(
            SEARCH_LIMIT,
            self.store.records(key.team.clone(), filter, page, MAX_FIRST),
        )
        .await
        .map_err(|_| "the trail was not read in time".to_owned())?
        .map_err(|error| error.with_causes())?;
        let all = records.len();
        for record in records {
            let decision = v1::DecisionRecord::decode(record.body.as_slice()).map_err(|error| error.to_string())?;
            let agent = decision.agent.as_ref().map(|agent| agent.name.as_str());
            if record.host_id == key.host && agent == Some(key.agent.as_str()) {
                return mode_from_wire(decision.mode)
                    .map(Some)
                    .map_err(|error| error.to_string());
            }
        }
        if all >= usize::try_from(MAX_FIRST).unwrap_or(usize::MAX) {
            return Err("too many agents use the same session id".to_owned());
        }
        Ok(None)
    }

    /// Whether the automatic mode pauses in a session.
    #[must_use]
    pub fn pause(&self, key: &SessionKey) -> Option<Pause> {
        self.with(key, |memory| memory.blocks.pause())
    }

    /// Whether the classifier blocked the same call before.
    #[must_use]
    pub fn blocked_before(&self, key: &SessionKey, call: &CallDigest) -> bool {
        self.with(key, |memory| memory.blocked.contains(call))
    }

    /// Notes that the classifier allowed a call.
    pub fn allowed(&self, key: &SessionKey) {
        self.with(key, |memory| memory.blocks = memory.blocks.after(BlockEvent::Allowed));
    }

    /// Notes that the classifier blocked a call.
    pub fn blocked(&self, key: &SessionKey, call: CallDigest) {
        self.with(key, |memory| {
            memory.blocks = memory.blocks.after(BlockEvent::Blocked);
            if memory.blocked.len() < MAX_BLOCKED && !memory.blocked.contains(&call) {
                memory.blocked.push(call);
            }
        });
    }
}
