//! Whether a ticket permits exactly this command, here, now, once.

use std::path::{Path, PathBuf};

use portcullis_proto::ticket::command_digest;
use portcullis_proto::v1::{RunStart, TicketClaims};
use tonic::Status;
use uuid::Uuid;

use crate::daemon::Daemon;
use crate::keys::VerifyError;
use crate::seen::Seen;

/// Why a ticket does not permit what is asked.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Not genuine.
    #[error("{0}")]
    NotGenuine(#[source] VerifyError),
    /// A claim cannot be read.
    #[error("its `{0}` cannot be read")]
    Claim(&'static str),
    /// Used before.
    #[error("it was redeemed before: each ticket permits one run (replayed)")]
    Replayed,
    /// This process did not see it.
    #[error("it is unknown here: portcullis-sandboxd was restarted since the decision, or did not carry it")]
    Unknown,
    /// A handle that nothing is known about.
    #[error(
        "its handle is not known here: it is altered or another host's, or portcullis-sandboxd was restarted since"
    )]
    UnknownHandle,
    /// Too late.
    #[error("it has expired")]
    Expired,
    /// For somebody else's host.
    #[error("it is made out to another host")]
    OtherHost,
    /// For somebody else.
    #[error("it is made out to user {0}, not to the caller")]
    OtherUser(u32),
    /// For another command.
    #[error("it was signed for another command")]
    OtherCommand,
    /// For another place.
    #[error("it was signed for the working directory `{0}`")]
    OtherDirectory(String),
    /// A folder leads elsewhere now.
    #[error("`{0}` leads somewhere else than when the call was decided")]
    Moved(String),
    /// The sandbox cannot be had as signed.
    #[error("its sandbox cannot be set up: {0}")]
    Profile(String),
}

impl From<VerifyError> for Refusal {
    fn from(error: VerifyError) -> Self {
        Self::NotGenuine(error)
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        match &refusal {
            Refusal::NotGenuine(VerifyError::NoKeys(cause)) => {
                Self::unavailable(format!("the ticket cannot be verified: {cause}"))
            }
            _ => Self::failed_precondition(format!("the ticket was refused: {refusal}; ask for a new decision")),
        }
    }
}

/// A ticket that fits.
#[derive(Debug)]
pub struct Checked {
    /// Under which it is used up.
    pub id: Uuid,
    /// What it rests on.
    pub seen: Seen,
}

/// Compares the claims (whose signature is verified) with the caller's wish.
///
/// # Errors
/// The first check that fails.
pub fn check(daemon: &Daemon, claims: &TicketClaims, start: &RunStart, uid: u32) -> Result<Checked, Refusal> {
    let id: Uuid = claims.decision_id.parse().map_err(|_| Refusal::Claim("decision_id"))?;
    if claims.host_id != daemon.host_id {
        return Err(Refusal::OtherHost);
    }
    if claims.uid != uid {
        return Err(Refusal::OtherUser(claims.uid));
    }
    if claims.command_digest != command_digest(&start.argv) || start.argv.is_empty() {
        return Err(Refusal::OtherCommand);
    }
    if claims.cwd != start.cwd {
        return Err(Refusal::OtherDirectory(claims.cwd.clone()));
    }
    if claims.profile.is_none() {
        return Err(Refusal::Claim("profile"));
    }
    if daemon.ledger.is_used(id) {
        return Err(Refusal::Replayed);
    }
    let seen = daemon.seen.get(id).ok_or(Refusal::Unknown)?;
    let valid_for = claims
        .valid_for
        .and_then(|valid| std::time::Duration::try_from(valid).ok());
    if seen.at.elapsed() >= valid_for.ok_or(Refusal::Claim("valid_for"))? {
        return Err(Refusal::Expired);
    }
    Ok(Checked { id, seen })
}

/// A caller that only has a handle knows where it is, and not how the decision named that folder. The same folder under another
/// name is the same: from here on the name of the decision counts, whose way is followed again before anything runs.
///
/// # Errors
/// If it is another folder.
pub async fn name_the_same_folder(daemon: &Daemon, claims: &TicketClaims, start: &mut RunStart) -> Result<(), Refusal> {
    let id: Uuid = claims.decision_id.parse().map_err(|_| Refusal::Claim("decision_id"))?;
    if daemon.ledger.is_used(id) {
        return Err(Refusal::Replayed);
    }
    let seen = daemon.seen.get(id).ok_or(Refusal::Unknown)?;
    match tokio::fs::canonicalize(&start.cwd).await {
        Ok(real) if real == seen.cwd => {
            start.cwd.clone_from(&claims.cwd);
            Ok(())
        }
        _ => Err(Refusal::OtherDirectory(claims.cwd.clone())),
    }
}

/// Whether the working directory and the workspace's folders still lead where they led. Follows links: blocking.
///
/// # Errors
/// The first that does not.
pub fn unmoved(seen: &Seen, cwd: &str, roots: &[String]) -> Result<(), Refusal> {
    let leads_to = |path: &str, before: &PathBuf| Path::new(path).canonicalize().is_ok_and(|now| now == *before);
    if !leads_to(cwd, &seen.cwd) {
        return Err(Refusal::Moved(cwd.to_owned()));
    }
    for root in roots {
        // The server may order or extend the list; each folder must be one that the decision rested on.
        if !seen.roots.iter().any(|before| leads_to(root, before)) {
            return Err(Refusal::Moved(root.clone()));
        }
    }
    Ok(())
}
