//! The services on the wire. A handler takes its permit, converts, calls one function, converts back.

mod audit;
mod decision;
mod policy;

pub use audit::AuditGrpc;
pub use decision::DecisionGrpc;
pub use policy::PolicyGrpc;

use tonic::Status;

use crate::store::StoreError;

/// The one place where a failure of storage becomes a gRPC status.
fn store_status(error: &StoreError) -> Status {
    let text = error.with_causes();
    tracing::error!(error = %text, "storage failed");
    match error {
        StoreError::Overloaded => Status::resource_exhausted(text),
        StoreError::Late => Status::deadline_exceeded(text),
        // What SQLite says in detail is for the log.
        StoreError::Failed { .. } => Status::unavailable(format!("{error}; the server's log says why")),
        StoreError::Poisoned { .. } | StoreError::Closed => Status::unavailable(text),
    }
}
