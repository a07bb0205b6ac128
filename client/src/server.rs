//! portcullis-server, for those who administer policy or read the trail.

use std::{fs, path::PathBuf, time::Duration};

use portcullis_proto::{
    MAX_REQUEST_BYTES,
    v1::{self, audit_service_client::AuditServiceClient, policy_service_client::PolicyServiceClient, push_response},
};
use tonic::{Streaming, transport::Channel};

use crate::{
    CallError, ConnectError, Places, Token,
    audit::{Filter, Record},
    connect::{self, Link},
    policy::{Document, Push, Pushed, Version},
    token::TokenError,
};

/// How to reach portcullis-server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Its address, `https://host:port` or, on this host, `http://127.0.0.1:port`.
    pub address: String,
    /// The file with the token.
    pub token_file: PathBuf,
    /// A PEM file with the certificates to trust instead of the system's; `None` = the system's.
    pub ca_file: Option<PathBuf>,
    /// Longest wait for the connection, and for each answer.
    pub deadline: Duration,
}

impl ServerOptions {
    /// 10 seconds: a push compiles the policy before it is answered.
    pub const DEADLINE: Duration = Duration::from_secs(10);

    /// The server that runs on this host, with the admin's token.
    ///
    /// # Errors
    /// If no server runs on this host.
    pub fn local(places: &Places) -> Result<Self, ConnectError> {
        let address = places.server_address().ok_or_else(|| ConnectError::NoAddress {
            address_file: places.server_address_file(),
        })?;
        Ok(Self {
            address,
            token_file: places.admin_token(),
            ca_file: None,
            deadline: Self::DEADLINE,
        })
    }
}

/// A connection to portcullis-server.
#[derive(Clone, Debug)]
pub struct Server {
    link: Link,
}

/// Records as they are committed.
#[derive(Debug)]
pub struct Tail {
    stream: Streaming<v1::TailResponse>,
    link: Link,
}

/// An exported trail.
#[derive(Debug)]
pub struct Export {
    stream: Streaming<v1::ExportResponse>,
    link: Link,
}

impl Export {
    /// Waits for the next lines; `None` after the last.
    ///
    /// # Errors
    /// If the stream breaks. Then the trail is not complete.
    pub async fn next(&mut self) -> Result<Option<String>, CallError> {
        match self.stream.message().await {
            Ok(piece) => Ok(piece.map(|v1::ExportResponse { lines }| lines)),
            Err(status) => Err(self.link.error(&status)),
        }
    }
}

impl Tail {
    /// Waits for the next record; `None` when the server ends the stream. Safe to cancel.
    ///
    /// # Errors
    /// If the stream breaks.
    pub async fn next(&mut self) -> Result<Option<Record>, CallError> {
        loop {
            match self.stream.message().await {
                Ok(Some(v1::TailResponse { record: Some(record) })) => return Ok(Some(record.into())),
                Ok(Some(v1::TailResponse { record: None })) => {}
                Ok(None) => return Ok(None),
                Err(status) => return Err(self.link.error(&status)),
            }
        }
    }
}

/// One page of records, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// The records.
    pub records: Vec<Record>,
    /// Where the next page begins; `None` = there is none.
    pub next_before: Option<u64>,
}

impl Server {
    /// Connects.
    ///
    /// # Errors
    /// If there is no token, nobody listens, or the token would travel unprotected.
    pub async fn connect(options: &ServerOptions) -> Result<Self, ConnectError> {
        let token = Token::read(&options.token_file)?;
        let ca = options
            .ca_file
            .as_ref()
            .map(|file| {
                fs::read_to_string(file).map_err(|cause| TokenError::Unreadable {
                    file: file.clone(),
                    cause,
                })
            })
            .transpose()?;
        let link = connect::tcp(&options.address, ca.as_deref(), token, options.deadline).await?;
        Ok(Self { link })
    }

    /// Checks a team policy and, unless it is only a trial, makes it active.
    ///
    /// # Errors
    /// If there is no usable answer, or another version is active than was expected. Faults of the text are an answer.
    pub async fn push(&self, push: &Push) -> Result<Pushed, CallError> {
        let request = self.link.request(push.to_wire());
        let wire = self.link.answer(async { self.policies().push(request).await }).await?;
        let warnings = wire.warnings.into_iter().map(Into::into).collect();
        match wire.result {
            Some(push_response::Result::Accepted(version)) => Ok(Pushed::Accepted {
                version: version.into(),
                warnings,
            }),
            Some(push_response::Result::Rejected(rejected)) => Ok(Pushed::Rejected {
                faults: rejected.faults.into_iter().map(Into::into).collect(),
                warnings,
            }),
            None => Err(self.link.unusable("it does not say what came of the push")),
        }
    }

    /// One version of the team policy; 0 = the active one.
    ///
    /// # Errors
    /// If there is no such version or no usable answer.
    pub async fn policy(&self, version: u64) -> Result<Document, CallError> {
        let request = self.link.request(v1::GetRequest { version });
        let wire = self.link.answer(async { self.policies().get(request).await }).await?;
        let version = wire.version.ok_or_else(|| self.link.unusable("it names no version"))?;
        Ok(Document {
            version: version.into(),
            content: wire.content,
        })
    }

    /// Versions of the team policy, newest first, below `before` (0 = from the newest), and whether older ones follow.
    ///
    /// # Errors
    /// If there is no usable answer.
    pub async fn policies_before(&self, before: u64) -> Result<(Vec<Version>, bool), CallError> {
        let request = self.link.request(v1::ListRequest {
            page_size: 0,
            before_version: before,
        });
        let wire = self.link.answer(async { self.policies().list(request).await }).await?;
        Ok((wire.versions.into_iter().map(Into::into).collect(), wire.more))
    }

    /// The JSON Schema of the documents that the server reads.
    ///
    /// # Errors
    /// If there is no usable answer.
    pub async fn schema(&self) -> Result<Vec<u8>, CallError> {
        let request = self.link.request(v1::GetSchemaRequest {});
        let wire = self
            .link
            .answer(async { self.policies().get_schema(request).await })
            .await?;
        if wire.schema.is_empty() {
            return Err(self.link.unusable("it holds no schema"));
        }
        Ok(wire.schema)
    }

    /// One page of at most `size` records (1 to 1,000) below the sequence number `before` (0 = from the newest).
    ///
    /// # Errors
    /// If there is no usable answer.
    pub async fn records(&self, filter: &Filter, size: u32, before: u64) -> Result<Page, CallError> {
        let request = self.link.request(v1::QueryRequest {
            filter: Some(filter.to_wire()),
            page_size: size,
            before_sequence: before,
        });
        let wire = self.link.answer(async { self.trail().query(request).await }).await?;
        Ok(Page {
            records: wire.records.into_iter().map(Into::into).collect(),
            next_before: Some(wire.next_before_sequence).filter(|next| *next != 0),
        })
    }

    /// Streams records after a sequence number; `None` = what is committed from now on.
    ///
    /// # Errors
    /// If the server does not begin in time.
    pub async fn tail(&self, filter: &Filter, after: Option<u64>) -> Result<Tail, CallError> {
        let request = self.link.unbounded_request(v1::TailRequest {
            filter: Some(filter.to_wire()),
            after_sequence: after,
        });
        let stream = self.link.answer(async { self.trail().tail(request).await }).await?;
        Ok(Tail {
            stream,
            link: self.link.clone(),
        })
    }

    /// The newest checkpoint of every chain of the team, as one line that is to be kept as it is.
    ///
    /// # Errors
    /// If there is no usable answer.
    pub async fn anchor(&self) -> Result<String, CallError> {
        let request = self.link.request(v1::AnchorRequest {});
        let v1::AnchorResponse { line } = self.link.answer(async { self.trail().anchor(request).await }).await?;
        Ok(line)
    }

    /// Streams the team's trail with its chain, in the form that [`portcullis_proto::trail::file`] verifies.
    ///
    /// # Errors
    /// If the server does not begin in time.
    pub async fn export(&self) -> Result<Export, CallError> {
        let request = self.link.unbounded_request(v1::ExportRequest {});
        let stream = self.link.answer(async { self.trail().export(request).await }).await?;
        Ok(Export {
            stream,
            link: self.link.clone(),
        })
    }

    fn policies(&self) -> PolicyServiceClient<Channel> {
        PolicyServiceClient::new(self.link.channel.clone()).max_decoding_message_size(MAX_REQUEST_BYTES)
    }

    fn trail(&self) -> AuditServiceClient<Channel> {
        AuditServiceClient::new(self.link.channel.clone()).max_decoding_message_size(4 * MAX_REQUEST_BYTES)
    }
}
