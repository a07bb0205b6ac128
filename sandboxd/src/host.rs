//! `HostService`: how this host is doing, and which projects its user trusts.

use std::path::Path;
use std::sync::Arc;

use portcullis_proto::v1::host_service_server::HostService;
use portcullis_proto::v1::{
    ListTicketKeysRequest, ListTrustedProjectsRequest, ListTrustedProjectsResponse, StatusRequest, StatusResponse,
    TrustProjectRequest, TrustProjectResponse, UntrustProjectRequest, UntrustProjectResponse,
};
use tonic::{Request, Response, Status};

use crate::daemon::{Daemon, MAX_RUNS, peer_uid};
use crate::facts::repository;

/// The service.
#[derive(Clone, Debug)]
pub struct Host(pub Arc<Daemon>);

#[tonic::async_trait]
impl HostService for Host {
    async fn status(&self, request: Request<StatusRequest>) -> Result<Response<StatusResponse>, Status> {
        peer_uid(&request)?;
        let daemon = &self.0;
        let server = daemon.upstream.address().await;
        let answers = daemon
            .upstream
            .call(ListTicketKeysRequest {}, None, |mut client, request| async move {
                client.list_ticket_keys(request).await
            })
            .await;
        let answers = match answers {
            Ok(_) => daemon.upstream.decides().await,
            Err(error) => Err(error),
        };
        let spool = Arc::clone(&daemon.spool);
        let waiting = blocking(move || spool.waiting().len()).await?;
        let running = MAX_RUNS.saturating_sub(daemon.runs.available_permits());
        Ok(Response::new(StatusResponse {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host_id: daemon.host_id.clone(),
            server: server.unwrap_or_default(),
            server_failure: answers.err().map(|error| error.to_string()).unwrap_or_default(),
            enforcement: Some(daemon.capability().await),
            running: u32::try_from(running).unwrap_or(u32::MAX),
            undelivered_outcomes: u32::try_from(waiting).unwrap_or(u32::MAX),
        }))
    }

    async fn trust_project(
        &self,
        request: Request<TrustProjectRequest>,
    ) -> Result<Response<TrustProjectResponse>, Status> {
        peer_uid(&request)?;
        let root = absolute(request.into_inner().root)?;
        let trust = Arc::clone(&self.0.trust);
        let real = blocking(move || {
            let real = Path::new(&root).canonicalize().map_err(|error| {
                Status::invalid_argument(format!("invalid `root`: cannot resolve `{root}`: {error}"))
            })?;
            if !real.is_dir() {
                return Err(Status::invalid_argument(format!(
                    "invalid `root`: `{root}` is not a folder"
                )));
            }
            // What is trusted is the project: the work tree around the folder, if there is one.
            let real = repository::project_root(&real).unwrap_or(real);
            let real = real
                .into_os_string()
                .into_string()
                .map_err(|_| Status::invalid_argument("invalid `root`: its real path is not UTF-8"))?;
            trust.set(&real, true).map_err(Status::internal)?;
            Ok(real)
        })
        .await??;
        Ok(Response::new(TrustProjectResponse { root: real }))
    }

    async fn untrust_project(
        &self,
        request: Request<UntrustProjectRequest>,
    ) -> Result<Response<UntrustProjectResponse>, Status> {
        peer_uid(&request)?;
        let root = absolute(request.into_inner().root)?;
        let trust = Arc::clone(&self.0.trust);
        let was_trusted = blocking(move || {
            // Both names: a project that is gone, or moved, must still be removable.
            let real =
                repository::project_root(Path::new(&root)).and_then(|real| real.into_os_string().into_string().ok());
            let by_name = trust.set(&root, false)?;
            let by_real = real.map_or(Ok(false), |real| trust.set(&real, false))?;
            Ok(by_name || by_real)
        })
        .await?
        .map_err(|failure: String| Status::internal(failure))?;
        Ok(Response::new(UntrustProjectResponse { was_trusted }))
    }

    async fn list_trusted_projects(
        &self,
        request: Request<ListTrustedProjectsRequest>,
    ) -> Result<Response<ListTrustedProjectsResponse>, Status> {
        peer_uid(&request)?;
        let roots = self.0.trust.all().map_err(Status::internal)?;
        Ok(Response::new(ListTrustedProjectsResponse { roots }))
    }
}

fn absolute(root: String) -> Result<String, Status> {
    if Path::new(&root).is_absolute() {
        Ok(root)
    } else {
        Err(Status::invalid_argument(format!(
            "invalid `root`: `{root}` is not an absolute path"
        )))
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Status> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| Status::internal("the work was interrupted"))
}
