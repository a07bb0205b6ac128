//! Connections: to portcullis-sandboxd over its unix socket, to portcullis-server over TCP.
//!
//! A socket that somebody else owns is refused before a byte is sent: whoever listens there could answer allow. A token
//! leaves this host only over TLS. Every wait is bounded.

use std::{
    io,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use hyper_util::rt::TokioIo;
use portcullis_proto::{address::InvalidAddress, metadata};
use tokio::{net::UnixStream, time::timeout};
use tonic::{
    Request, Status,
    transport::{Channel, Endpoint},
};

use crate::{
    CallError, ConnectError, Token,
    error::{Cause, Target},
};

/// One connection with the token that is presented on it.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) channel: Channel,
    pub(crate) target: Target,
    token: Token,
    pub(crate) deadline: Duration,
}

impl Link {
    /// A request with token and deadline.
    pub(crate) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = self.unbounded_request(message);
        request.set_timeout(self.deadline);
        request
    }

    /// A request with token, for a stream that may last.
    pub(crate) fn unbounded_request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request
            .metadata_mut()
            .insert(metadata::AUTHORIZATION, self.token.header());
        request
    }

    /// Waits for an answer, not longer than the deadline: a peer that never answers is no reason to wait.
    pub(crate) async fn answer<T>(
        &self,
        call: impl Future<Output = Result<tonic::Response<T>, Status>>,
    ) -> Result<T, CallError> {
        match timeout(self.deadline, call).await {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => Err(self.error(&status)),
            Err(_) => Err(CallError::Late {
                target: self.target.clone(),
                after: self.deadline,
            }),
        }
    }

    pub(crate) fn error(&self, status: &Status) -> CallError {
        CallError::from_status(
            status,
            &self.target,
            self.token.file().map(Path::to_owned),
            self.deadline,
        )
    }

    pub(crate) fn unusable(&self, fault: impl Into<String>) -> CallError {
        CallError::Unusable {
            target: self.target.clone(),
            fault: fault.into(),
        }
    }
}

/// Who may own a socket, and listen there: this user or root.
pub(crate) struct Expected<'a> {
    socket: &'a Path,
    me: u32,
}

impl<'a> Expected<'a> {
    pub(crate) fn new(socket: &'a Path) -> Self {
        Self {
            socket,
            me: rustix::process::geteuid().as_raw(),
        }
    }

    /// Checks who it is.
    pub(crate) fn owner(&self, owner: u32) -> Result<(), ConnectError> {
        if owner == self.me || owner == 0 {
            return Ok(());
        }
        Err(ConnectError::ForeignSocket {
            socket: self.socket.to_owned(),
            owner,
            expected: self.me,
        })
    }

    /// Checks the file: that it is a socket, and whose.
    pub(crate) fn file(&self, file: &std::fs::Metadata, target: &Target) -> Result<(), ConnectError> {
        if !file.file_type().is_socket() {
            return Err(ConnectError::Unreachable {
                target: target.clone(),
                cause: Cause::io(&io::Error::other("it is not a socket")),
            });
        }
        self.owner(file.uid())
    }
}

/// Connects to a unix socket whose owner and listener are this user or root.
pub(crate) async fn unix(socket: &Path, token: Token, deadline: Duration) -> Result<Link, ConnectError> {
    let target = Target {
        name: "portcullis-sandboxd",
        address: format!("unix:{}", socket.display()),
    };
    let unreachable = |error: io::Error| ConnectError::Unreachable {
        target: target.clone(),
        cause: Cause::io(&error),
    };
    let late = || ConnectError::Late {
        target: target.clone(),
        after: deadline,
    };
    let expected = Expected::new(socket);
    // Two checks: the file says who may listen there, the peer's credentials who does.
    let file = tokio::fs::metadata(socket).await.map_err(unreachable)?;
    expected.file(&file, &target)?;
    let stream = timeout(deadline, UnixStream::connect(socket))
        .await
        .map_err(|_| late())?
        .map_err(unreachable)?;
    expected.owner(stream.peer_cred().map_err(unreachable)?.uid())?;

    // The channel gets this one checked stream. It never opens another, which nobody would have checked.
    let stream = Arc::new(Mutex::new(Some(stream)));
    let connector = tower::service_fn(move |_| {
        let stream = stream.lock().unwrap_or_else(PoisonError::into_inner).take();
        async move {
            stream
                .map(TokioIo::new)
                .ok_or_else(|| io::Error::new(io::ErrorKind::ConnectionReset, "the connection was closed"))
        }
    });
    let endpoint = Endpoint::from_static("http://sandboxd.invalid");
    let channel = timeout(deadline, endpoint.connect_with_connector(connector))
        .await
        .map_err(|_| late())?
        .map_err(|error| ConnectError::Unreachable {
            target: target.clone(),
            cause: Cause::innermost(&error),
        })?;
    Ok(Link {
        channel,
        target,
        token,
        deadline,
    })
}

/// Connects to a server. `ca` is a PEM file's text with the certificates to trust instead of the system's.
pub(crate) async fn tcp(
    address: &str,
    ca: Option<&str>,
    token: Token,
    deadline: Duration,
) -> Result<Link, ConnectError> {
    let target = Target {
        name: "portcullis-server",
        address: address.to_owned(),
    };
    let endpoint = portcullis_proto::address::endpoint(address, ca, deadline).map_err(|fault| match fault {
        InvalidAddress::Unprotected => ConnectError::Unprotected {
            address: address.to_owned(),
        },
        fault => ConnectError::InvalidAddress {
            address: address.to_owned(),
            fault: fault.to_string(),
        },
    })?;
    let channel = timeout(deadline, endpoint.connect())
        .await
        .map_err(|_| ConnectError::Late {
            target: target.clone(),
            after: deadline,
        })?
        .map_err(|error| ConnectError::Unreachable {
            target: target.clone(),
            cause: Cause::innermost(&error),
        })?;
    Ok(Link {
        channel,
        target,
        token,
        deadline,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_token_is_not_sent_unprotected_to_another_host() {
        let token = Token::new("t").unwrap();
        let refused = tcp("http://server.example.test:7451", None, token, Duration::from_secs(1)).await;
        assert!(matches!(refused, Err(ConnectError::Unprotected { .. })), "{refused:?}");
    }
}
