#![forbid(unsafe_code)]
#![doc = include_str!("../README.md")]

pub mod address;
pub mod convert;
mod redacted_debug;
pub mod streams;
pub mod ticket;
pub mod trail;

/// The wire types, as generated. They stop at the edge: see [`convert`].
pub mod v1 {
    #![allow(
        missing_docs,
        clippy::all,
        unreachable_pub,
        reason = "generated; the .proto files hold the documentation"
    )]
    tonic::include_proto!("portcullis.v1");
}

/// All descriptors, for the reflection service.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

/// Names of the request metadata that carry credentials.
pub mod metadata {
    /// `Bearer <token>` of the caller itself: an agent's or person's token, or a host's.
    pub const AUTHORIZATION: &str = "authorization";
    /// `Bearer <token>` of the agent for whom a host forwards a call. Only read beside a host's own token.
    pub const AGENT_AUTHORIZATION: &str = "portcullis-agent-authorization";
}

/// Largest request that a server or host reads, in bytes: the largest tool input (1 MiB), facts on 20,000 paths, and
/// 16 documents.
pub const MAX_REQUEST_BYTES: usize = 16 * 1024 * 1024;
