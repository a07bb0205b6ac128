//! Putting a team policy in force: check, store, record, swap.
//!
//! A push that was committed is in force before its author hears of it, even if the author hangs up meanwhile: commit
//! and swap happen in a task of their own. Pushes follow one another, so that the swaps do too.

use std::{sync::Arc, time::Duration};

use portcullis_policy::{
    Fault, PolicyDocument,
    lint::{Finding, Linted, lint},
};
use tokio::{sync::Mutex, task::spawn_blocking, time::Instant};
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::{
    audit,
    auth::AdminPermit,
    policies::{self, ActivePolicies},
    store::{NewPolicy, PolicyVersion, PushRefused, Store, StoreError, StoredPolicy},
};

/// A policy that somebody wants in force.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The text.
    pub content: Vec<u8>,
    /// The file it came from.
    pub file_name: String,
    /// Why.
    pub comment: String,
    /// The version its author started from.
    pub expected_version: Option<u64>,
    /// Only check.
    pub dry_run: bool,
}

/// A policy in force, or one that would be.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// About it.
    pub version: PolicyVersion,
    /// What is worth knowing about it.
    pub warnings: Vec<Fault>,
}

/// A policy that is not in force.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// It has faults.
    #[error("the policy has {} fault{}", .0.len(), if .0.len() == 1 { "" } else { "s" })]
    Faults(Vec<Fault>),
    /// It is no text.
    #[error("the policy is not UTF-8: byte {0} begins no character")]
    NotUtf8(usize),
    /// Storage refused it, or another version is in force than expected.
    #[error(transparent)]
    Refused(#[from] PushRefused),
}

/// Most warnings of a policy; more would not be read.
const MAX_WARNINGS: usize = 100;

/// What is worth knowing about a policy that has no fault: what was noticed when it was read, and what lint finds.
fn warnings(content: &[u8], document: &PolicyDocument) -> Vec<Fault> {
    let text = String::from_utf8_lossy(content);
    let linted = Linted {
        document: Arc::new(document.clone()),
        text: &text,
    };
    let found = lint(&[linted]);
    let mut warnings = document.warnings.clone();
    warnings.extend(found.iter().map(Finding::as_fault));
    warnings.truncate(MAX_WARNINGS);
    warnings
}

/// Puts policies in force.
#[derive(Clone)]
pub struct Pusher {
    store: Arc<dyn Store>,
    policies: Arc<ActivePolicies>,
    one_at_a_time: Arc<Mutex<()>>,
    write_limit: Duration,
    tasks: TaskTracker,
}

impl Pusher {
    /// Puts the parts together. `write_limit`: how long a policy may wait for its turn to be written.
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        policies: Arc<ActivePolicies>,
        write_limit: Duration,
        tasks: TaskTracker,
    ) -> Self {
        Self {
            store,
            policies,
            one_at_a_time: Arc::default(),
            write_limit,
            tasks,
        }
    }

    /// Checks a policy and, unless that is all that is wanted, puts it in force.
    ///
    /// # Errors
    /// If it has faults, another version is in force than expected, or storage fails.
    pub async fn push(&self, permit: AdminPermit, proposal: Proposal) -> Result<Accepted, PushError> {
        let this = self.clone();
        let pushed = self.tasks.spawn(async move { this.run(&permit, proposal).await }).await;
        pushed.unwrap_or_else(|cause| Err(lost(cause)))
    }

    async fn run(&self, permit: &AdminPermit, proposal: Proposal) -> Result<Accepted, PushError> {
        let _turn = self.one_at_a_time.lock().await;
        let checked = spawn_blocking(move || {
            check(&proposal.content).map(|document| {
                let warnings = warnings(&proposal.content, &document);
                (proposal, document, warnings)
            })
        })
        .await;
        let (proposal, document, warnings) = checked.map_err(lost)??;
        let rule_count = u32::try_from(document.rules.len()).unwrap_or(u32::MAX);
        let digest = audit::digest(&proposal.content);
        if proposal.dry_run {
            let version = self.would_be(permit, proposal, digest, rule_count).await?;
            return Ok(Accepted { version, warnings });
        }
        let (record_digest, comment) = (digest.clone(), proposal.comment.clone());
        let policy = NewPolicy {
            team: permit.team().clone(),
            content: proposal.content,
            digest,
            author: permit.principal().to_owned(),
            comment: proposal.comment,
            file_name: proposal.file_name,
            rule_count,
            expected_version: proposal.expected_version,
            record_id: Uuid::now_v7().to_string(),
            record: Box::new(move |version, previous| audit::policy_change(version, previous, record_digest, &comment)),
        };
        let content = policy.content.clone();
        let pushed = self.store.push_policy(policy, Instant::now() + self.write_limit).await;
        let version = match pushed {
            Ok(version) => version,
            Err(error) => {
                // It should not be in force. If it is all the same, it shall be here too, so that all see one policy.
                if let Err(error) = self.policies.reload(&*self.store, permit.team()).await {
                    tracing::error!(error = %error.with_causes(), "cannot read the policy in force after a push that failed");
                }
                return Err(error.into());
            }
        };
        self.policies
            .put(
                permit.team(),
                StoredPolicy {
                    version: version.clone(),
                    content,
                },
            )
            .await;
        tracing::info!(team = %permit.team(), version = version.version, author = %version.author, "team policy in force");
        Ok(Accepted { version, warnings })
    }

    async fn would_be(
        &self,
        permit: &AdminPermit,
        proposal: Proposal,
        digest: String,
        rule_count: u32,
    ) -> Result<PolicyVersion, PushError> {
        let newest = self
            .store
            .policies(permit.team().clone(), 0, 1)
            .await
            .map_err(PushRefused::Store)?;
        let active = self.policies.of(permit.team()).version;
        if let Some(expected) = proposal.expected_version.filter(|expected| *expected != active) {
            return Err(PushRefused::Conflict { expected, active }.into());
        }
        Ok(PolicyVersion {
            version: newest.first().map_or(1, |newest| newest.version + 1),
            digest,
            author: permit.principal().to_owned(),
            created_at: jiff::Timestamp::now(),
            comment: proposal.comment,
            file_name: proposal.file_name,
            rule_count,
            active: false,
        })
    }
}

fn check(content: &[u8]) -> Result<PolicyDocument, PushError> {
    let text = std::str::from_utf8(content).map_err(|error| PushError::NotUtf8(error.valid_up_to()))?;
    // The version is not known yet, and is named only once the policy is in force.
    policies::read(text, 0).map_err(PushError::Faults)
}

fn lost(cause: tokio::task::JoinError) -> PushError {
    PushRefused::Store(StoreError::Failed {
        attempt: "put a policy in force",
        cause: Arc::new(cause),
    })
    .into()
}
