//! A record as it is stored, and its leaf in the tree.

use serde::{Deserialize, Serialize};

use super::bytes::{Fields, Hash, base64_text, decimal};

/// What the leaf of a record begins with: the prefix of leaves in RFC 6962, and our domain.
const DOMAIN: &[u8] = b"\0portcullis trail record v1\n";

/// A record of the trail, with every column that a reader is shown or that records are searched by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Whose trail.
    pub team: String,
    /// The replica that wrote it.
    pub replica: String,
    /// Position in the team's trail.
    pub sequence: u64,
    /// UUIDv7 of the record.
    pub record_id: String,
    /// When it was written, in nanoseconds since 1970.
    #[serde(with = "decimal")]
    pub time_ns: i64,
    /// The word of the kind in the database.
    pub kind: String,
    /// Who acted.
    pub principal: String,
    /// Fingerprint of the vouching host's key; empty if none vouched.
    pub host_id: String,
    /// Principal of the vouching host's token.
    pub host_principal: Option<String>,
    /// What was decided.
    pub effect: Option<String>,
    /// The agent's session.
    pub session_id: Option<String>,
    /// The decision, or the one that this is an outcome of.
    pub decision_id: Option<String>,
    /// The tool.
    pub tool_name: Option<String>,
    /// The record itself, as the protobuf message of its kind.
    #[serde(with = "base64_text")]
    pub body: Vec<u8>,
}

impl Record {
    /// The hash of its canonical bytes: every field, in this order, with its length.
    #[must_use]
    pub fn leaf(&self) -> Hash {
        let Self {
            team,
            replica,
            sequence,
            record_id,
            time_ns,
            kind,
            principal,
            host_id,
            host_principal,
            effect,
            session_id,
            decision_id,
            tool_name,
            body,
        } = self;
        Fields::new(DOMAIN)
            .text(team)
            .text(replica)
            .number(*sequence)
            .text(record_id)
            .time(*time_ns)
            .text(kind)
            .text(principal)
            .text(host_id)
            .optional(host_principal.as_deref())
            .optional(effect.as_deref())
            .optional(session_id.as_deref())
            .optional(decision_id.as_deref())
            .optional(tool_name.as_deref())
            .bytes(body)
            .hash()
    }
}
