//! The team policies in force, read and ready.
//!
//! A push swaps one pointer, so that the very next decision is made under the new version and none under half of it.
//! A stored policy that this version cannot read any more is kept as unusable: no call of that team is allowed until a
//! usable one is pushed.

use std::{collections::HashMap, sync::Arc};

use arc_swap::ArcSwap;
use portcullis_policy::{DocumentOrigin, Fault, Layer, PolicyDocument};

use crate::store::{Store, StoreError, StoredPolicy, TeamId};

/// A team's policy in force.
#[derive(Clone, Debug)]
pub struct TeamPolicy {
    /// Its version; 0 = none was ever pushed.
    pub version: u64,
    /// SHA-256 of its text; empty = none was ever pushed.
    pub digest: String,
    /// What it says; `None` = there is none.
    pub document: Result<Option<Arc<PolicyDocument>>, Unusable>,
}

/// A stored policy that cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "team policy v{version} cannot be read by this version of portcullis-server ({fault}); an admin has to push a new one"
)]
pub struct Unusable {
    version: u64,
    fault: String,
}

/// Reads a team's policy document.
///
/// # Errors
/// All its faults.
pub fn read(text: &str, version: u64) -> Result<PolicyDocument, Vec<Fault>> {
    let origin = DocumentOrigin {
        layer: Layer::Team,
        name: format!("team policy v{version}"),
        folder: None,
    };
    PolicyDocument::parse(text, origin)
}

impl TeamPolicy {
    fn of(stored: &StoredPolicy) -> Self {
        let version = stored.version.version;
        let text = std::str::from_utf8(&stored.content).map_err(|error| error.to_string());
        let document = text.and_then(|text| {
            read(text, version).map_err(|faults| {
                faults
                    .first()
                    .map_or_else(String::new, |fault| format!("line {}: {}", fault.line, fault.message))
            })
        });
        let document = document.map(|document| Some(Arc::new(document))).map_err(|fault| {
            let unusable = Unusable { version, fault };
            tracing::error!("{unusable}");
            unusable
        });
        Self {
            version,
            digest: stored.version.digest.clone(),
            document,
        }
    }
}

/// The policies of all teams.
#[derive(Debug, Default)]
pub struct ActivePolicies(ArcSwap<HashMap<TeamId, Arc<TeamPolicy>>>);

impl ActivePolicies {
    /// Reads the policies of all teams from the store.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn load(store: &dyn Store) -> Result<Self, StoreError> {
        let policies = Self::default();
        for team in store.teams().await? {
            policies.reload(store, &team).await?;
        }
        Ok(policies)
    }

    /// Reads one team's policy again.
    ///
    /// # Errors
    /// If the store cannot be read; then the old one stays in force.
    pub async fn reload(&self, store: &dyn Store, team: &TeamId) -> Result<(), StoreError> {
        if let Some(stored) = store.policy(team.clone(), 0).await? {
            self.put(team, stored).await;
        }
        Ok(())
    }

    /// Puts a stored policy in force. Cannot fail: one that cannot be read allows nothing.
    pub async fn put(&self, team: &TeamId, stored: StoredPolicy) {
        let (version, digest) = (stored.version.version, stored.version.digest.clone());
        // Reading a document costs time in proportion to its length, so not on a thread that serves.
        let read = tokio::task::spawn_blocking(move || TeamPolicy::of(&stored)).await;
        let policy = read.unwrap_or_else(|_| {
            let fault = "the server failed while it read it".to_owned();
            TeamPolicy {
                version,
                digest,
                document: Err(Unusable { version, fault }),
            }
        });
        let policy = Arc::new(policy);
        self.0.rcu(|all| {
            let mut all = HashMap::clone(all);
            all.insert(team.clone(), policy.clone());
            all
        });
    }

    /// The policy in force for a team.
    #[must_use]
    pub fn of(&self, team: &TeamId) -> Arc<TeamPolicy> {
        let none = || {
            Arc::new(TeamPolicy {
                version: 0,
                digest: String::new(),
                document: Ok(None),
            })
        };
        self.0.load().get(team).cloned().unwrap_or_else(none)
    }
}
