//! Conversions between the wire and the domain, all of them.
//!
//! Handlers convert, call one function, and convert back; nothing computes on generated types. What is wrong with a
//! message is an [`InvalidMessage`] that names the field.

mod call;
mod decision;
mod facts;
mod profile;

pub use call::{Execution, Question, Vouching, question};
pub use decision::{decision_to_wire, effect_of, explanation_to_wire, verdict_from_wire};
pub use facts::{HostClaims, facts_needed};
pub use profile::default_profile;

/// A message that cannot be used, with the field that is at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid `{field}`: {fault}")]
pub struct InvalidMessage {
    /// Path of the field, such as `call.input_json`.
    pub field: String,
    /// What is wrong with it, and what would be right.
    pub fault: String,
}

impl InvalidMessage {
    /// Names a field and its fault.
    pub fn new(field: impl Into<String>, fault: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            fault: fault.into(),
        }
    }
}

impl From<InvalidMessage> for tonic::Status {
    fn from(invalid: InvalidMessage) -> Self {
        Self::invalid_argument(invalid.to_string())
    }
}
