//! The server's public keys, with which tickets are verified.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ed25519_dalek::VerifyingKey;
use portcullis_proto::ticket::{self, InvalidTicket};
use portcullis_proto::v1::{ListTicketKeysRequest, SignedTicket, TicketClaims};

use crate::upstream::{Upstream, UpstreamError};

/// Shortest time between two questions for keys, so that forged tickets do not become requests to the server.
const REFRESH_INTERVAL: Duration = Duration::from_secs(2);

/// Most keys that are kept.
const MAX_KEYS: usize = 64;

/// Why a ticket is not known to be genuine.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// It is not.
    #[error(transparent)]
    Invalid(#[from] InvalidTicket),
    /// The keys cannot be had.
    #[error("the keys to verify it cannot be had")]
    NoKeys(#[source] UpstreamError),
}

#[derive(Debug, Default)]
struct Cached {
    keys: Arc<[VerifyingKey]>,
    asked: Option<Instant>,
}

/// The keys.
#[derive(Debug)]
pub struct TicketKeys {
    upstream: Arc<Upstream>,
    cached: Mutex<Cached>,
}

impl TicketKeys {
    /// None yet.
    #[must_use]
    pub fn new(upstream: Arc<Upstream>) -> Self {
        Self {
            upstream,
            cached: Mutex::default(),
        }
    }

    /// Verifies a ticket's signature, asking for new keys if it names an unknown one.
    ///
    /// # Errors
    /// If it is not genuine, or that cannot be found out.
    pub async fn verify(&self, signed: &SignedTicket) -> Result<TicketClaims, VerifyError> {
        match ticket::verify(signed, &self.known()) {
            Err(InvalidTicket::UnknownKey(_)) if self.may_ask() => {
                self.refresh().await.map_err(VerifyError::NoKeys)?;
                Ok(ticket::verify(signed, &self.known())?)
            }
            other => Ok(other?),
        }
    }

    fn known(&self) -> Arc<[VerifyingKey]> {
        Arc::clone(&self.cached.lock().unwrap_or_else(PoisonError::into_inner).keys)
    }

    fn may_ask(&self) -> bool {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let may = cached.keys.is_empty() || cached.asked.is_none_or(|at| at.elapsed() >= REFRESH_INTERVAL);
        if may {
            cached.asked = Some(Instant::now());
        }
        may
    }

    async fn refresh(&self) -> Result<(), UpstreamError> {
        let answer = self
            .upstream
            .call(ListTicketKeysRequest {}, None, |mut client, request| async move {
                client.list_ticket_keys(request).await
            })
            .await?;
        let keys = answer
            .keys
            .iter()
            .take(MAX_KEYS)
            .filter_map(|key| VerifyingKey::from_bytes(key.public_key.as_slice().try_into().ok()?).ok())
            .collect();
        self.cached.lock().unwrap_or_else(PoisonError::into_inner).keys = keys;
        Ok(())
    }
}
