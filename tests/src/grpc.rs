//! Speaks gRPC to the programs, under any name or none.

use std::path::PathBuf;

use hyper_util::rt::TokioIo;
use portcullis_proto::{
    metadata,
    v1::{
        audit_service_client::AuditServiceClient, decision_service_client::DecisionServiceClient,
        host_service_client::HostServiceClient, policy_service_client::PolicyServiceClient,
        sandbox_service_client::SandboxServiceClient,
    },
};
use tokio::net::UnixStream;
use tonic::{
    Request, Status,
    metadata::{Ascii, MetadataValue},
    service::{Interceptor, interceptor::InterceptedService},
    transport::{Channel, Endpoint, Uri},
};
use tower::service_fn;

use crate::PATIENCE;

/// Who calls.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    own: Option<MetadataValue<Ascii>>,
    agent: Option<MetadataValue<Ascii>>,
}

impl Credentials {
    /// Nobody.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// The bearer of a token.
    #[must_use]
    pub fn token(token: &str) -> Self {
        Self {
            own: Some(bearer(token)),
            agent: None,
        }
    }

    /// A host that forwards for the bearer of another token.
    #[must_use]
    pub fn host_for(host: &str, agent: &str) -> Self {
        Self {
            own: Some(bearer(host)),
            agent: Some(bearer(agent)),
        }
    }
}

fn bearer(token: &str) -> MetadataValue<Ascii> {
    format!("Bearer {token}").parse().unwrap()
}

impl Interceptor for Credentials {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(own) = &self.own {
            request.metadata_mut().insert(metadata::AUTHORIZATION, own.clone());
        }
        if let Some(agent) = &self.agent {
            request
                .metadata_mut()
                .insert(metadata::AGENT_AUTHORIZATION, agent.clone());
        }
        Ok(request)
    }
}

/// A channel with credentials.
pub type Authenticated = InterceptedService<Channel, Credentials>;

/// One connection, and who uses it.
#[derive(Clone)]
pub struct Connection {
    channel: Channel,
    credentials: Credentials,
}

impl Connection {
    /// Connects to a server: `http://127.0.0.1:PORT`.
    pub async fn to_server(address: &str, credentials: Credentials) -> Self {
        let channel = Endpoint::from_shared(address.to_owned())
            .unwrap()
            .timeout(PATIENCE)
            .connect()
            .await
            .unwrap_or_else(|error| panic!("cannot connect to {address}: {error}"));
        Self { channel, credentials }
    }

    /// Connects to a unix socket.
    pub async fn to_socket(path: PathBuf, credentials: Credentials) -> Self {
        let connector = service_fn(move |_: Uri| {
            let path = path.clone();
            async move { UnixStream::connect(path).await.map(TokioIo::new) }
        });
        let channel = Endpoint::from_static("http://localhost")
            .timeout(PATIENCE)
            .connect_with_connector(connector)
            .await
            .unwrap_or_else(|error| panic!("cannot connect to sandboxd: {error}"));
        Self { channel, credentials }
    }

    /// The same connection, used by somebody else.
    #[must_use]
    pub fn as_if(&self, credentials: Credentials) -> Self {
        Self {
            channel: self.channel.clone(),
            credentials,
        }
    }

    fn service(&self) -> Authenticated {
        InterceptedService::new(self.channel.clone(), self.credentials.clone())
    }

    /// Decisions.
    #[must_use]
    pub fn decisions(&self) -> DecisionServiceClient<Authenticated> {
        DecisionServiceClient::new(self.service())
    }

    /// Team policy.
    #[must_use]
    pub fn policies(&self) -> PolicyServiceClient<Authenticated> {
        PolicyServiceClient::new(self.service())
    }

    /// The trail.
    #[must_use]
    pub fn audit(&self) -> AuditServiceClient<Authenticated> {
        AuditServiceClient::new(self.service())
    }

    /// The sandbox (on the socket only).
    #[must_use]
    pub fn sandbox(&self) -> SandboxServiceClient<Authenticated> {
        SandboxServiceClient::new(self.service())
    }

    /// The host's own state (on the socket only).
    #[must_use]
    pub fn host(&self) -> HostServiceClient<Authenticated> {
        HostServiceClient::new(self.service())
    }
}
