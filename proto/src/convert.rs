//! Conversions between the wire and the domain, all of them.
//!
//! Handlers convert, call one function, and convert back; nothing computes on generated types. What is wrong with a
//! message is an [`InvalidMessage`] that names the field.

mod call;
mod check;
mod decision;
mod facts;
mod outcome;
mod profile;
mod text;
mod time;
mod words;

pub use call::{Execution, Question, Vouching, question};
pub use decision::{add_reasons, decision_to_wire, explanation_to_wire, rule_to_wire};
pub use facts::{DocumentFormat, HostClaims, HostDocument, LACKS_NAMESPACES, facts_needed};
pub use outcome::{Ended, exit_status, outcome_from_wire};
pub use profile::{profile, read_denial};
pub use time::{duration_from_wire, duration_of, moment_from_wire, timestamp_of};
pub use words::{
    decided_by_from_wire, decided_by_of, effect_of, interactivity_from_wire, interactivity_of, layer_from_wire,
    layer_of, mode_from_wire, mode_of, path_kind_from_wire, path_kind_of, sandbox_offer_from_wire, verdict_from_wire,
};

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
