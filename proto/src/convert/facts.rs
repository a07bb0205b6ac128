//! What a host says about itself and about a call.

use std::sync::Arc;

use portcullis_policy::facts::FactsNeeded;

use super::InvalidMessage;
use crate::v1;

/// What the host said, beside the facts that go to the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostClaims {
    /// Fingerprint of the host's key: 64 lower-case hexadecimal digits.
    pub host_id: String,
    /// The user who asked.
    pub uid: u32,
    /// Policy documents of the host's layers, as text.
    pub documents: Vec<HostDocument>,
    /// Portcullis' own secret places on that host, to be masked in the sandbox.
    pub masked_paths: Vec<String>,
}

/// A policy document of the host.
#[derive(Clone, PartialEq, Eq)]
pub struct HostDocument {
    /// Where it comes from.
    pub origin: portcullis_policy::DocumentOrigin,
    /// The text.
    pub text: Arc<str>,
    /// SHA-256 of the text.
    pub digest: [u8; 32],
}

impl std::fmt::Debug for HostDocument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostDocument")
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

/// Which facts the host has to look up for a request that it is about to forward.
///
/// # Errors
/// If the request cannot be understood; the server would refuse it too.
pub fn facts_needed(_message: &v1::DecideRequest) -> Result<FactsNeeded, InvalidMessage> {
    Ok(FactsNeeded::default())
}
