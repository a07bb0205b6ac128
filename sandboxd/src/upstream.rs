//! The way to the server: its address, the host's token, a connection, deadlines.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use portcullis_proto::MAX_REQUEST_BYTES;
use portcullis_proto::address::endpoint;
use portcullis_proto::metadata::{AGENT_AUTHORIZATION, AUTHORIZATION};
use portcullis_proto::v1::decision_service_client::DecisionServiceClient;
use portcullis_proto::v1::decision_service_server::SERVICE_NAME;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

/// Longest wait for an answer: a second less than the client waits, so that it gets ours.
pub const DEADLINE: Duration = Duration::from_secs(4);

/// Longest wait for a connection. The server is near or not there.
const CONNECT_DEADLINE: Duration = Duration::from_secs(2);

/// Largest address or token file, in bytes.
const MAX_SMALL_FILE: u64 = 4096;

/// Why the server gave no answer that can be passed on.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// There is no way to it.
    #[error("portcullis-server is out of reach: {0}")]
    OutOfReach(String),
    /// It answered that it cannot.
    #[error("portcullis-server is out of reach: {:?}: {}", .0.code(), .0.message())]
    Failing(Status),
    /// The caller is at fault: pass this on.
    #[error("{}", .0.message())]
    Caller(Status),
}

/// The server.
#[derive(Debug)]
pub struct Upstream {
    fixed: Option<String>,
    address_file: PathBuf,
    token_file: PathBuf,
    /// PEM text of the certificates to trust; `None` = the system's.
    ca: Option<String>,
    connection: Mutex<Option<(String, Channel)>>,
}

impl Upstream {
    /// A server at a fixed address, or at the one that it writes to `address_file`.
    #[must_use]
    pub fn new(fixed: Option<String>, address_file: PathBuf, token_file: PathBuf) -> Self {
        Self {
            fixed,
            address_file,
            token_file,
            ca: None,
            connection: Mutex::new(None),
        }
    }

    /// Trusts these certificates (PEM text) instead of the system's.
    #[must_use]
    pub fn trusting(self, ca: Option<String>) -> Self {
        Self { ca, ..self }
    }

    /// The address, for people; what is wrong if there is none.
    pub async fn address(&self) -> Result<String, String> {
        match &self.fixed {
            Some(address) => Ok(address.clone()),
            None => small_file(&self.address_file)
                .await
                .map_err(|error| format!("no server has written its address ({error})")),
        }
    }

    /// Calls the server as this host, on behalf of `agent` if given, and sorts its failures.
    ///
    /// # Errors
    /// Out of reach, too slow, failing; or the caller's own fault.
    pub async fn call<Q, A, F>(
        &self,
        message: Q,
        agent: Option<MetadataValue<Ascii>>,
        call: impl FnOnce(DecisionServiceClient<Channel>, Request<Q>) -> F,
    ) -> Result<A, UpstreamError>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        let client = self.client().await.map_err(UpstreamError::OutOfReach)?;
        let token = small_file(&self.token_file)
            .await
            .map_err(|error| UpstreamError::OutOfReach(format!("this host has no token ({error})")))?;
        let mut request = Request::new(message);
        request.set_timeout(DEADLINE);
        let bearer = format!("Bearer {token}")
            .parse()
            .map_err(|_| UpstreamError::OutOfReach("this host's token is not a text".to_owned()))?;
        request.metadata_mut().insert(AUTHORIZATION, bearer);
        if let Some(agent) = agent {
            request.metadata_mut().insert(AGENT_AUTHORIZATION, agent);
        }
        match tokio::time::timeout(DEADLINE, call(client, request)).await {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => Err(sort(status)),
            Err(_) => Err(late()),
        }
    }

    /// Whether the server says of itself that it decides: with a storage that has failed it still answers, and allows
    /// nothing.
    ///
    /// # Errors
    /// It does not, or does not say.
    pub async fn decides(&self) -> Result<(), UpstreamError> {
        let channel = self.channel().await.map_err(UpstreamError::OutOfReach)?;
        let question = HealthCheckRequest {
            service: SERVICE_NAME.to_owned(),
        };
        let mut client = HealthClient::new(channel);
        match tokio::time::timeout(DEADLINE, client.check(question)).await {
            Ok(Ok(answer)) if answer.get_ref().status() == ServingStatus::Serving => Ok(()),
            Ok(Ok(_)) => Err(UpstreamError::Failing(Status::unavailable(
                "it decides nothing any more; its log says why",
            ))),
            Ok(Err(status)) => Err(sort(status)),
            Err(_) => Err(late()),
        }
    }

    async fn client(&self) -> Result<DecisionServiceClient<Channel>, String> {
        Ok(DecisionServiceClient::new(self.channel().await?)
            .max_encoding_message_size(MAX_REQUEST_BYTES)
            .max_decoding_message_size(MAX_REQUEST_BYTES))
    }

    async fn channel(&self) -> Result<Channel, String> {
        let address = self.address().await?;
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let channel = match &*connection {
            Some((known, channel)) if *known == address => channel.clone(),
            _ => {
                let channel = endpoint(&address, self.ca.as_deref(), CONNECT_DEADLINE)
                    .map_err(|fault| format!("`{address}` cannot be used: {fault}"))?
                    .connect_lazy();
                *connection = Some((address, channel.clone()));
                channel
            }
        };
        Ok(channel)
    }
}

fn late() -> UpstreamError {
    UpstreamError::OutOfReach(format!("no answer within {} s", DEADLINE.as_secs()))
}

/// Only what the caller can mend is passed on; everything else becomes ask or deny here.
fn sort(status: Status) -> UpstreamError {
    match status.code() {
        Code::InvalidArgument | Code::Unauthenticated | Code::PermissionDenied => {
            UpstreamError::Caller(Status::new(status.code(), status.message()))
        }
        code => UpstreamError::Failing(Status::new(code, status.message())),
    }
}

async fn small_file(path: &Path) -> Result<String, String> {
    let path = path.to_path_buf();
    let read = tokio::task::spawn_blocking(move || {
        let mut text = String::new();
        std::fs::File::open(&path)
            .and_then(|file| file.take(MAX_SMALL_FILE).read_to_string(&mut text))
            .map_err(|error| format!("`{}`: {error}", path.display()))?;
        Ok(text.trim().to_owned())
    });
    read.await.unwrap_or_else(|error| Err(error.to_string()))
}
