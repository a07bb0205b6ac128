//! `PolicyService`.

use std::sync::Arc;

use portcullis_policy::{Fault, PolicyDocument};
use portcullis_proto::v1::{self, policy_service_server::PolicyService};
use tonic::{Request, Response, Status};

use super::{audit::wire_time, store_status};
use crate::{
    auth::{AdminPermit, AuditorPermit, Caller},
    push::{Proposal, PushError, Pusher},
    store::{PolicyVersion, PushRefused, Store},
};

/// Longest comment and file name, in bytes.
const MAX_TEXT: usize = 1024;

/// Versions of a list, unless asked for another number, and at most.
const PAGE: (u32, u32) = (50, 500);

/// The service.
pub struct PolicyGrpc {
    pusher: Pusher,
    store: Arc<dyn Store>,
}

impl PolicyGrpc {
    /// Puts the parts together.
    #[must_use]
    pub fn new(pusher: Pusher, store: Arc<dyn Store>) -> Self {
        Self { pusher, store }
    }
}

fn proposal(message: v1::PushRequest) -> Result<Proposal, Status> {
    let v1::PushRequest {
        content,
        file_name,
        comment,
        expected_version,
        dry_run,
    } = message;
    let lengths = [
        ("content", content.len(), PolicyDocument::MAX_BYTES),
        ("file_name", file_name.len(), MAX_TEXT),
        ("comment", comment.len(), MAX_TEXT),
    ];
    for (field, length, max) in lengths {
        if length > max {
            return Err(Status::invalid_argument(format!(
                "invalid `{field}`: is {length} bytes long; at most {max} are taken"
            )));
        }
    }
    Ok(Proposal {
        content,
        file_name,
        comment,
        expected_version,
        dry_run,
    })
}

/// A page size: 0 stands for the usual one.
pub(super) fn page_size(wanted: u32, (usual, most): (u32, u32)) -> Result<u32, Status> {
    match wanted {
        0 => Ok(usual),
        wanted if wanted <= most => Ok(wanted),
        wanted => Err(Status::invalid_argument(format!(
            "invalid `page_size`: {wanted} is more than {most}"
        ))),
    }
}

fn fault_to_wire(fault: Fault) -> v1::PolicyFault {
    v1::PolicyFault {
        line: fault.line,
        column: fault.column,
        start: fault.span.start as u64,
        end: fault.span.end as u64,
        message: fault.message,
        hint: fault.hint.unwrap_or_default(),
    }
}

fn version_to_wire(version: PolicyVersion) -> v1::PolicyVersion {
    v1::PolicyVersion {
        version: version.version,
        digest: version.digest,
        author: version.author,
        created_at: Some(wire_time(version.created_at)),
        comment: version.comment,
        file_name: version.file_name,
        rule_count: version.rule_count,
        active: version.active,
    }
}

#[tonic::async_trait]
impl PolicyService for PolicyGrpc {
    async fn push(&self, request: Request<v1::PushRequest>) -> Result<Response<v1::PushResponse>, Status> {
        use v1::push_response::Result as Outcome;
        let permit = AdminPermit::of(request.extensions())?;
        let proposal = proposal(request.into_inner())?;
        let (result, warnings) = match self.pusher.push(permit, proposal).await {
            Ok(accepted) => (Outcome::Accepted(version_to_wire(accepted.version)), accepted.warnings),
            Err(PushError::Faults(faults)) => {
                let faults = faults.into_iter().map(fault_to_wire).collect();
                (Outcome::Rejected(v1::PolicyFaults { faults }), Vec::new())
            }
            Err(error @ PushError::NotUtf8(_)) => {
                return Err(Status::invalid_argument(format!("invalid `content`: {error}")));
            }
            // The author has to read what is in force now and decide anew: https://grpc.io/docs/guides/status-codes
            Err(PushError::Refused(error @ PushRefused::Conflict { .. })) => {
                return Err(Status::aborted(error.to_string()));
            }
            Err(PushError::Refused(PushRefused::Store(error))) => return Err(store_status(&error)),
        };
        let warnings = warnings.into_iter().map(fault_to_wire).collect();
        Ok(Response::new(v1::PushResponse {
            result: Some(result),
            warnings,
        }))
    }

    async fn get(&self, request: Request<v1::GetRequest>) -> Result<Response<v1::GetResponse>, Status> {
        let permit = AuditorPermit::of(request.extensions())?;
        let version = request.into_inner().version;
        let stored = self
            .store
            .policy(permit.team().clone(), version)
            .await
            .map_err(|error| store_status(&error))?;
        let missing = || match version {
            0 => Status::not_found("no team policy was ever pushed"),
            version => Status::not_found(format!("there is no team policy v{version}")),
        };
        let stored = stored.ok_or_else(missing)?;
        let response = v1::GetResponse {
            version: Some(version_to_wire(stored.version)),
            content: stored.content,
        };
        Ok(Response::new(response))
    }

    async fn list(&self, request: Request<v1::ListRequest>) -> Result<Response<v1::ListResponse>, Status> {
        let permit = AuditorPermit::of(request.extensions())?;
        let v1::ListRequest {
            page_size: wanted,
            before_version,
        } = request.into_inner();
        let page = page_size(wanted, PAGE)?;
        let listed = self
            .store
            .policies(permit.team().clone(), before_version, page + 1)
            .await;
        let mut versions: Vec<_> = listed
            .map_err(|error| store_status(&error))?
            .into_iter()
            .map(version_to_wire)
            .collect();
        let more = versions.len() > page as usize;
        versions.truncate(page as usize);
        Ok(Response::new(v1::ListResponse { versions, more }))
    }

    async fn get_schema(
        &self,
        request: Request<v1::GetSchemaRequest>,
    ) -> Result<Response<v1::GetSchemaResponse>, Status> {
        // Any role will do; that somebody was authenticated is still checked.
        request
            .extensions()
            .get::<Caller>()
            .ok_or_else(|| Status::unauthenticated("the call was not authenticated"))?;
        let schema = format!("{:#}\n", portcullis_policy::document::schema()).into_bytes();
        Ok(Response::new(v1::GetSchemaResponse { schema }))
    }
}
