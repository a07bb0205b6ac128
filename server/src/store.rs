//! The seam to durable storage: what the server asks of it, whichever database answers.
//!
//! The trait is made for a second backend: it speaks of records, tokens and policy versions, never of SQL, and it takes
//! a record's body as bytes, so that no backend knows the wire types. What every backend has to keep:
//!
//! - INVARIANT: a write returns only after it is committed to durable storage. What returned an error may or may not
//!   have been committed; the caller answers as if it was not, and never allow.
//! - INVARIANT: after a commit that failed, nothing is written any more ([`StoreError::Poisoned`]) until the process is
//!   started again and has read what is really there.
//! - INVARIANT: every read and write names its team; there is none across teams.
//!
//! It does not redact: what comes in here is stored as it is (see [`crate::audit`]).

pub mod sqlite;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use portcullis_policy::Verdict;
use portcullis_proto::trail::{Checkpoint, Item};
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

use crate::auth::{Role, TokenHash};

/// The name of a team: whose policy, whose tokens, whose trail.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TeamId(Arc<str>);

impl TeamId {
    /// Names a team.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for TeamId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordKind {
    /// A decision.
    Decision,
    /// What became of an allowed call.
    Outcome,
    /// A push of team policy.
    PolicyChange,
}

impl RecordKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Decision, Self::Outcome, Self::PolicyChange];

    /// The word in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Decision => "decision",
            Self::Outcome => "outcome",
            Self::PolicyChange => "policy_change",
        }
    }
}

/// A decision to be recorded. Redacted already.
#[derive(Clone, Debug)]
pub struct NewDecision {
    /// Whose trail.
    pub team: TeamId,
    /// UUIDv7 of the decision and of its record.
    pub decision_id: String,
    /// Who asked.
    pub principal: String,
    /// Fingerprint of the vouching host's key; empty if none vouched.
    pub host_id: String,
    /// The principal of the vouching host's token.
    pub host_principal: Option<String>,
    /// What was decided.
    pub verdict: Verdict,
    /// The agent's session; empty if none.
    pub session_id: String,
    /// The tool.
    pub tool_name: String,
    /// The record, encoded.
    pub body: Vec<u8>,
}

/// An outcome to be recorded. Redacted already.
#[derive(Clone, Debug)]
pub struct NewOutcome {
    /// Whose trail.
    pub team: TeamId,
    /// The decision it is the outcome of.
    pub decision_id: String,
    /// Who reports it.
    pub reporter: Reporter,
    /// UUIDv7 of the record, if it becomes one.
    pub record_id: String,
    /// The record, encoded. Equal outcomes have equal bytes.
    pub body: Vec<u8>,
}

/// Who reports an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reporter {
    /// A host, by its token's principal: only of decisions that it vouched for.
    Host(String),
    /// The server itself, of an allow that it withheld.
    Server,
}

/// The principal in records that the server writes on its own account.
pub const SERVER_PRINCIPAL: &str = "portcullis-server";

/// A record that was committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Its position in the team's trail: 1, 2, 3, … without gaps.
    pub sequence: u64,
}

/// A record that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    /// Its position in the team's trail.
    pub sequence: u64,
    /// UUIDv7.
    pub record_id: String,
    /// When it was written.
    pub time: Timestamp,
    /// What it is about.
    pub kind: RecordKind,
    /// Who acted.
    pub principal: String,
    /// Fingerprint of the host's key; empty if none.
    pub host_id: String,
    /// The record, encoded.
    pub body: Vec<u8>,
}

/// Which records are wanted. `None` means any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this kind.
    pub kind: Option<RecordKind>,
    /// Decisions with this verdict.
    pub verdict: Option<Verdict>,
    /// At or after this time.
    pub since: Option<Timestamp>,
    /// Before this time.
    pub until: Option<Timestamp>,
    /// Of this session.
    pub session_id: Option<String>,
    /// Of this principal.
    pub principal: Option<String>,
    /// This decision and its outcome.
    pub decision_id: Option<String>,
    /// Of this tool.
    pub tool_name: Option<String>,
}

/// Which part of the matching records, and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// The newest below this sequence number, newest first; `None` = from the newest.
    Before(Option<u64>),
    /// The oldest above the first number and not above the second, oldest first.
    Between(u64, u64),
}

/// A token's owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its team.
    pub team: TeamId,
    /// Its name.
    pub principal: String,
    /// Its role.
    pub role: Role,
}

/// What the store knows of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnownToken {
    /// Nothing.
    Unknown,
    /// It was taken back.
    Revoked,
    /// It speaks for somebody.
    InForce(Identity),
}

/// A version of a team's policy, without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyVersion {
    /// 1, 2, 3, …
    pub version: u64,
    /// SHA-256 of the text, 64 lower-case hexadecimal digits.
    pub digest: String,
    /// Who pushed it.
    pub author: String,
    /// When.
    pub created_at: Timestamp,
    /// Why.
    pub comment: String,
    /// The file it came from.
    pub file_name: String,
    /// Number of rules.
    pub rule_count: u32,
    /// Whether it is in force.
    pub active: bool,
}

/// A version with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPolicy {
    /// About it.
    pub version: PolicyVersion,
    /// The text as pushed.
    pub content: Vec<u8>,
}

/// Makes the audit record of a push once its version and the one before it are known.
pub type PolicyRecord = Box<dyn FnOnce(u64, u64) -> Vec<u8> + Send>;

/// A policy to be stored and put in force.
pub struct NewPolicy {
    /// Whose.
    pub team: TeamId,
    /// The text, free of faults.
    pub content: Vec<u8>,
    /// Its SHA-256, 64 lower-case hexadecimal digits.
    pub digest: String,
    /// Who pushes it.
    pub author: String,
    /// Why.
    pub comment: String,
    /// The file it came from.
    pub file_name: String,
    /// Number of rules.
    pub rule_count: u32,
    /// The version that has to be in force, 0 = none; absent = whichever is.
    pub expected_version: Option<u64>,
    /// UUIDv7 of the audit record.
    pub record_id: String,
    /// Makes that record from the new version and the one before.
    pub record: PolicyRecord,
}

impl std::fmt::Debug for NewPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewPolicy")
            .field("team", &self.team)
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}

/// A token to be put in force instead of the principal's old one.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// Its hash.
    pub hash: TokenHash,
    /// Whom it will speak for.
    pub owner: Identity,
}

/// Storage did not do what it was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// A commit failed earlier; nothing is written until the server is started again.
    #[error("storage failed earlier ({reason}) and takes nothing more until the server is restarted")]
    Poisoned {
        /// What failed.
        reason: Arc<str>,
    },
    /// Too many writes wait already.
    #[error("storage is overloaded: too many records wait to be written")]
    Overloaded,
    /// The caller's deadline passed before it was its turn.
    #[error("storage is too slow: the deadline passed before the record was written")]
    Late,
    /// The server is shutting down.
    #[error("storage is closed: the server is shutting down")]
    Closed,
    /// The database reported a failure.
    #[error("cannot {attempt}")]
    Failed {
        /// What was tried.
        attempt: &'static str,
        /// Why it failed.
        #[source]
        cause: Arc<dyn std::error::Error + Send + Sync>,
    },
}

impl StoreError {
    /// The text with its causes, for a message in one line.
    #[must_use]
    pub fn with_causes(&self) -> String {
        crate::failure::chain(self)
    }
}

/// An outcome that is not recorded.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OutcomeRefused {
    /// The team has no such decision, or another host vouched for it.
    #[error("no decision `{0}` of this host is on record")]
    UnknownDecision(String),
    /// Only an allowed call can have an outcome.
    #[error("decision `{0}` is no allow, so nothing can have come of it")]
    NotAllowed(String),
    /// Another outcome of it is on record.
    #[error("another outcome of decision `{0}` is on record already")]
    Contradiction(String),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A policy that is not put in force.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PushRefused {
    /// Another version is in force than the author started from.
    #[error("version {active} is in force, not version {expected}")]
    Conflict {
        /// What the author started from.
        expected: u64,
        /// What is in force; 0 = none.
        active: u64,
    },
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a method of a store returns.
pub type StoreFuture<'a, T, E = StoreError> = BoxFuture<'a, Result<T, E>>;

/// Durable storage.
///
/// `deadline`: a write whose turn comes later than that is not attempted ([`StoreError::Late`]). A write that has begun
/// is not broken off; a caller who stops waiting has to treat it as not done.
pub trait Store: Send + Sync + 'static {
    /// Records a decision.
    fn append_decision(&self, decision: NewDecision, deadline: Instant) -> StoreFuture<'_, Appended>;

    /// Records an outcome, in the same transaction in which its decision is looked up. The same outcome reported again
    /// returns the record of the first time.
    fn append_outcome(&self, outcome: NewOutcome, deadline: Instant) -> StoreFuture<'_, Appended, OutcomeRefused>;

    /// Stores a policy, puts it in force and records that, in one transaction.
    fn push_policy(&self, policy: NewPolicy, deadline: Instant) -> StoreFuture<'_, PolicyVersion, PushRefused>;

    /// Puts a token in force and revokes the principal's old one, in one transaction. Makes the team if it is new.
    fn replace_token(&self, token: NewToken, deadline: Instant) -> StoreFuture<'_, ()>;

    /// Looks up a token.
    fn token(&self, hash: TokenHash) -> StoreFuture<'_, KnownToken>;

    /// All teams.
    fn teams(&self) -> StoreFuture<'_, Vec<TeamId>>;

    /// One version, or (0) the one in force.
    fn policy(&self, team: TeamId, version: u64) -> StoreFuture<'_, Option<StoredPolicy>>;

    /// At most `limit` versions below `before` (0 = from the newest), newest first.
    fn policies(&self, team: TeamId, before: u64, limit: u32) -> StoreFuture<'_, Vec<PolicyVersion>>;

    /// At most `limit` records.
    fn records(&self, team: TeamId, filter: Filter, page: Page, limit: u32) -> StoreFuture<'_, Vec<StoredRecord>>;

    /// Sequence number of the team's newest record; 0 = none.
    fn head(&self, team: TeamId) -> StoreFuture<'_, u64>;

    /// The newest checkpoint of every chain of a team.
    fn checkpoints(&self, team: TeamId) -> StoreFuture<'_, Vec<Checkpoint>>;

    /// Sends a team's trail up to a sequence number, commits before their records, until all is sent or nobody takes it.
    fn walk(&self, team: TeamId, until: u64, to: mpsc::Sender<Item>) -> StoreFuture<'_, ()>;

    /// Changes after each commit that added records.
    fn commits(&self) -> watch::Receiver<u64>;

    /// Why nothing is written any more; `None` = all is well.
    fn failure(&self) -> Option<Arc<str>>;

    /// Writes what waits, then closes. Later writes are refused.
    fn close(&self) -> BoxFuture<'_, ()>;
}
