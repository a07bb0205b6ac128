//! `DecisionService`.

use std::{sync::Arc, time::Duration};

use portcullis_proto::{
    convert,
    v1::{self, decision_service_server::DecisionService},
};
use tokio::time::Instant;
use tonic::{Request, Response, Status};
use uuid::Uuid;

use super::store_status;
use crate::{
    audit,
    auth::{DecidePermit, HostPermit},
    decide::Decider,
    store::{OutcomeRefused, Reporter, Store},
};

/// The service.
pub struct DecisionGrpc {
    decider: Arc<Decider>,
    store: Arc<dyn Store>,
    write_limit: Duration,
}

impl DecisionGrpc {
    /// Puts the parts together. `write_limit`: how long an outcome may wait for its turn to be written.
    #[must_use]
    pub fn new(decider: Arc<Decider>, store: Arc<dyn Store>, write_limit: Duration) -> Self {
        Self {
            decider,
            store,
            write_limit,
        }
    }
}

#[tonic::async_trait]
impl DecisionService for DecisionGrpc {
    async fn decide(&self, request: Request<v1::DecideRequest>) -> Result<Response<v1::DecideResponse>, Status> {
        let permit = DecidePermit::of(request.extensions())?;
        self.decider
            .decide(permit, request.into_inner())
            .await
            .map(Response::new)
    }

    async fn explain(&self, request: Request<v1::ExplainRequest>) -> Result<Response<v1::ExplainResponse>, Status> {
        let permit = DecidePermit::of(request.extensions())?;
        let question = request
            .into_inner()
            .request
            .ok_or_else(|| Status::invalid_argument("invalid `request`: is missing"))?;
        self.decider.explain(permit, question).await.map(Response::new)
    }

    async fn report_outcome(
        &self,
        request: Request<v1::ReportOutcomeRequest>,
    ) -> Result<Response<v1::ReportOutcomeResponse>, Status> {
        let permit = HostPermit::of(request.extensions())?;
        let v1::ReportOutcomeRequest { decision_id, outcome } = request.into_inner();
        Uuid::try_parse(&decision_id).map_err(|_| Status::invalid_argument("invalid `decision_id`: is no UUID"))?;
        let outcome = outcome.ok_or_else(|| Status::invalid_argument("invalid `outcome`: is missing"))?;
        convert::outcome_from_wire(&outcome)?;
        let reporter = Reporter::Host(permit.principal().to_owned());
        let outcome = audit::outcome(permit.team(), reporter, &decision_id, outcome);
        let recorded = self
            .store
            .append_outcome(outcome, Instant::now() + self.write_limit)
            .await;
        let appended = recorded.map_err(|error| match error {
            OutcomeRefused::UnknownDecision(_) => Status::not_found(error.to_string()),
            OutcomeRefused::NotAllowed(_) => Status::failed_precondition(error.to_string()),
            OutcomeRefused::Contradiction(_) => Status::already_exists(error.to_string()),
            OutcomeRefused::Store(error) => store_status(&error),
        })?;
        Ok(Response::new(v1::ReportOutcomeResponse {
            sequence: appended.sequence,
        }))
    }

    async fn list_ticket_keys(
        &self,
        request: Request<v1::ListTicketKeysRequest>,
    ) -> Result<Response<v1::ListTicketKeysResponse>, Status> {
        HostPermit::of(request.extensions())?;
        Ok(Response::new(v1::ListTicketKeysResponse {
            keys: self.decider.ticket_keys(),
        }))
    }
}
