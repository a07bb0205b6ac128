//! Team policy as an admin sees it: pushes, versions, faults.

use portcullis_proto::v1;
use serde::Serialize;

use crate::audit::time_text;

/// A team policy to be pushed.
#[derive(Clone, Debug, Default)]
pub struct Push {
    /// The text: JSON with comments; at most 256 KiB.
    pub content: Vec<u8>,
    /// Name of the file it came from; at most 1024 bytes.
    pub file_name: String,
    /// Why; at most 1024 bytes.
    pub comment: String,
    /// The version the author started from; `None` = push whatever is active.
    pub expected_version: Option<u64>,
    /// Only check.
    pub dry_run: bool,
}

impl Push {
    pub(crate) fn to_wire(&self) -> v1::PushRequest {
        v1::PushRequest {
            content: self.content.clone(),
            file_name: self.file_name.clone(),
            comment: self.comment.clone(),
            expected_version: self.expected_version,
            dry_run: self.dry_run,
        }
    }
}

/// What came of a push.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "result")]
pub enum Pushed {
    /// It is active (a trial: would be).
    Accepted {
        /// The version.
        version: Version,
        /// What is worth knowing.
        warnings: Vec<Fault>,
    },
    /// It has faults; nothing changed.
    Rejected {
        /// All of them, in the order of the text.
        faults: Vec<Fault>,
        /// What is worth knowing.
        warnings: Vec<Fault>,
    },
}

/// One thing wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Line, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
    /// First byte of the faulty words.
    pub start: u64,
    /// First byte after them.
    pub end: u64,
    /// What is wrong.
    pub message: String,
    /// What to write instead; empty if there is no good guess.
    pub hint: String,
}

impl From<v1::PolicyFault> for Fault {
    fn from(wire: v1::PolicyFault) -> Self {
        Self {
            line: wire.line,
            column: wire.column,
            start: wire.start,
            end: wire.end,
            message: wire.message,
            hint: wire.hint,
        }
    }
}

/// One version of the team policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Version {
    /// 1, 2, 3, …
    pub version: u64,
    /// SHA-256 of the text, 64 hexadecimal digits.
    pub digest: String,
    /// Who pushed it.
    pub author: String,
    /// When, as RFC 3339; empty if the server did not say.
    pub created_at: String,
    /// Why.
    pub comment: String,
    /// Name of the file it came from.
    pub file_name: String,
    /// Number of rules in it.
    pub rule_count: u32,
    /// Whether decisions are made under it now.
    pub active: bool,
}

impl From<v1::PolicyVersion> for Version {
    fn from(wire: v1::PolicyVersion) -> Self {
        Self {
            version: wire.version,
            digest: wire.digest,
            author: wire.author,
            created_at: time_text(wire.created_at),
            comment: wire.comment,
            file_name: wire.file_name,
            rule_count: wire.rule_count,
            active: wire.active,
        }
    }
}

/// A version with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// About it.
    pub version: Version,
    /// The text as pushed.
    pub content: Vec<u8>,
}
