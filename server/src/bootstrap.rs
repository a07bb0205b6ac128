//! The first start, and every start after one that was cut short.
//!
//! Each step is safe to repeat: tokens that are missing or that the database does not know are made anew, a policy is
//! put in force only if there was never one. A new token is committed to the database before its file is written: a
//! crash in between leaves a token that nobody has, and the next start replaces it.

use std::{path::PathBuf, sync::Arc, time::Duration};

use tokio::{task::spawn_blocking, time::Instant};

use crate::{
    auth::{AdminPermit, Role, Token},
    datadir::{self, DataDir, DataDirError},
    policies::ActivePolicies,
    push::{Proposal, PushError, Pusher},
    store::{Identity, KnownToken, NewToken, Store, StoreError, TeamId},
};

/// The one team of a fresh database.
pub const TEAM: &str = "default";

/// Whose tokens are written to files at the first start.
const LOCAL_ROLES: [Role; 3] = [Role::Admin, Role::Agent, Role::Host];

/// How long one write may take before the start is given up.
const LIMIT: Duration = Duration::from_secs(30);

/// The server cannot be made ready.
#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    /// A token file cannot be read or written.
    #[error(transparent)]
    File(#[from] DataDirError),
    /// Storage failed.
    #[error("cannot make the database ready")]
    Store(#[from] StoreError),
    /// The starter policy cannot be put in force.
    #[error("cannot put the starter policy in force")]
    Starter(#[source] PushError),
    /// The system has no random numbers.
    #[error("cannot make a token: the system gives no random numbers")]
    Random(#[source] getrandom::Error),
    /// A token file is what it should not be.
    #[error("`{path}` holds the token of another role or team than `{role}`")]
    WrongToken {
        /// The file.
        path: PathBuf,
        /// What it should be.
        role: Role,
    },
    /// A step of the start did not end well.
    #[error("a step of the start was broken off")]
    BrokenOff(#[from] tokio::task::JoinError),
}

/// Makes what a fresh server needs, and repairs what a start that was cut short left undone.
///
/// # Errors
/// If files or storage fail.
pub async fn run(
    data: &Arc<DataDir>,
    store: &dyn Store,
    policies: &ActivePolicies,
    pusher: &Pusher,
    starter: &str,
) -> Result<(), BootstrapError> {
    let team = TeamId::new(TEAM);
    for role in LOCAL_ROLES {
        token(data, store, &team, role).await?;
    }
    if policies.of(&team).version == 0 {
        let proposal = Proposal {
            content: starter.as_bytes().to_vec(),
            file_name: "starter/team.jsonc".to_owned(),
            comment: "the starter policy that portcullis-server brings along".to_owned(),
            // Another start on a copy of this database cannot have pushed one meanwhile: the lock keeps it out.
            expected_version: Some(0),
            dry_run: false,
        };
        pusher
            .push(AdminPermit::server(team), proposal)
            .await
            .map_err(BootstrapError::Starter)?;
    }
    Ok(())
}

/// Sees to it that the role's token file holds a token in force.
async fn token(data: &Arc<DataDir>, store: &dyn Store, team: &TeamId, role: Role) -> Result<(), BootstrapError> {
    let path = data.token_file(role);
    let read = {
        let path = path.clone();
        spawn_blocking(move || datadir::read_private(&path)).await??
    };
    let found = read.as_deref().map(|text| Token::parse(text.trim_end()).ok());
    match &found {
        Some(Some(token)) => match store.token(token.hash()).await? {
            KnownToken::InForce(owner) if owner.role == role && owner.team == *team => return Ok(()),
            KnownToken::InForce(_) => return Err(BootstrapError::WrongToken { path, role }),
            KnownToken::Revoked => tracing::warn!(path = %path.display(), "the token in this file was revoked"),
            KnownToken::Unknown => {
                tracing::warn!(path = %path.display(), "the database does not know the token in this file")
            }
        },
        Some(None) => tracing::warn!(path = %path.display(), "this file holds no token"),
        None => {}
    }
    let token = Token::generate(role).map_err(BootstrapError::Random)?;
    let owner = Identity {
        team: team.clone(),
        principal: format!("local-{role}"),
        role,
    };
    store
        .replace_token(
            NewToken {
                hash: token.hash(),
                owner,
            },
            Instant::now() + LIMIT,
        )
        .await?;
    tracing::info!(path = %path.display(), "made a new {role} token; an earlier one, if there was one, is revoked");
    spawn_blocking(move || datadir::write_private(&path, format!("{}\n", token.expose()).as_bytes())).await??;
    Ok(())
}
