//! The question on the wire to the question in the domain.

use portcullis_policy::{PolicyDocument, Request};
use uuid::Uuid;

use super::{InvalidMessage, facts::HostClaims};
use crate::v1;

/// A request for a decision after all of its fields were checked.
#[derive(Debug)]
pub struct Question {
    /// What the engine is asked.
    pub request: Request,
    /// The caller's id of the request.
    pub request_id: Uuid,
    /// The agent's version; may be empty.
    pub agent_version: String,
    /// The agent's session; may be empty.
    pub session_id: String,
    /// The agent's id of the call; may be empty.
    pub tool_use_id: String,
    /// The raw tool input, for the fingerprint. Never stored.
    pub raw_input: Vec<u8>,
    /// Rules from the session's flags, read; `None` if there are none.
    pub session_document: Option<PolicyDocument>,
    /// The command the host is to run; `None` if the caller only asks.
    pub execution: Option<Execution>,
    /// What the host said about itself; `None` if no host vouched for the call.
    pub host: Option<HostClaims>,
}

/// The command that the host is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// Program and arguments; never empty. `portcullis_policy::shell::quote` of it is the call's command.
    pub argv: Vec<String>,
    /// The caller's own limit.
    pub timeout: Option<std::time::Duration>,
}

/// Whether the sender of a request is a host whose facts count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vouching {
    /// The caller presented a host's token.
    Host,
    /// It did not: facts can only narrow, documents of the host only deny and ask.
    Nobody,
}

/// Checks a request.
///
/// # Errors
/// Names the first field that is missing, too long, or of the wrong form.
pub fn question(_message: v1::DecideRequest, _vouching: Vouching) -> Result<Question, InvalidMessage> {
    Err(InvalidMessage::new("request", "not read yet"))
}
