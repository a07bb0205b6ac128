//! Tamper evidence of the audit trail: what is hashed and signed, and how a trail is verified.
//!
//! ```text
//! record ── canonical bytes ──► leaf ┐
//! record ── canonical bytes ──► leaf ┼─► root ─► commit ─► hash ──► next commit of the chain
//! record ── canonical bytes ──► leaf ┘             └─► checkpoint, signed
//! ```
//!
//! There is one chain per replica and team, so that a team's trail can be verified alone and shows nothing of other teams.
//! All records of a team that one transaction wrote make one [`Commit`]. It lists their leaves, so that a verifier names the
//! record that was changed and not just the commit; their Merkle root (RFC 6962) is what is signed, so that one record can be
//! shown to be in a signed commit without showing the others.
//!
//! Pure: no files, no clock, no database. Begin with [`Verifier`]; [`file`] is the form in which a trail leaves the server.
//! What it cannot show by itself: whoever holds the signing key can write another trail from the beginning. Only a
//! [`Checkpoint`] that was kept elsewhere (an [`Anchor`]) tells the two apart.

pub mod bytes;
mod commit;
pub mod file;
mod finding;
mod merkle;
mod outside;
mod record;
mod verify;

pub use bytes::{Hash, Signed};
pub use commit::{Anchor, Checkpoint, Commit, Head, InvalidCheckpoint, Origin, seal};
pub use finding::{ChainSummary, Finding, FindingKind, Report, Summary};
pub use merkle::root;
pub use outside::InvalidTrust;
pub use record::Record;
pub use verify::{Item, Trust, Verifier};

#[cfg(test)]
mod tests;
