//! What can go wrong between a client and what it talks to.
//!
//! "Denied" is not here: it is an answer. Everything here means that there is no answer, and [`FailureClass`] says whether
//! the other side was not there, could not decide, or found the caller at fault. None of them is ever an allow.

use std::{error::Error as _, fmt, io, path::PathBuf, time::Duration};

use tonic::{Code, Status};

use crate::token::TokenError;

/// An error with all its causes on one line, for where there is no room for more.
#[must_use]
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

/// Who is talked to, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// `portcullis-sandboxd` or `portcullis-server`.
    pub name: &'static str,
    /// `unix:/…` or a URL.
    pub address: String,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at `{}`", self.name, self.address)
    }
}

/// Why there is no answer, by what the caller can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureClass {
    /// Nobody is there, or not who it should be.
    CannotReach,
    /// Somebody is there but cannot answer, or not in time.
    CannotDecide,
    /// The caller is at fault: its token, its rights, or what it sent.
    Rejected,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// There is no token to present.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// Nobody listens.
    #[error("cannot reach {target}")]
    Unreachable {
        /// Who.
        target: Target,
        /// Why.
        #[source]
        cause: Cause,
    },
    /// It did not accept the connection in time.
    #[error("{target} did not accept the connection within {} ms", after.as_millis())]
    Late {
        /// Who.
        target: Target,
        /// The time allowed.
        after: Duration,
    },
    /// The socket belongs to somebody else, who could answer whatever they like.
    #[error("the socket `{}` belongs to uid {owner}, not to uid {expected} or root", socket.display())]
    ForeignSocket {
        /// The socket.
        socket: PathBuf,
        /// Who it belongs to, or who listens.
        owner: u32,
        /// Who runs this program.
        expected: u32,
    },
    /// The address is none.
    #[error("`{address}` is not the address of a server: {fault}")]
    InvalidAddress {
        /// As given.
        address: String,
        /// What is wrong with it.
        fault: String,
    },
    /// No address is known.
    #[error("no server is known: `{}` is not there", address_file.display())]
    NoAddress {
        /// Where the address of a server on this host would stand.
        address_file: PathBuf,
    },
    /// The token would travel unprotected.
    #[error("`{address}` is neither on this host nor protected by TLS, so the token is not sent there")]
    Unprotected {
        /// As given.
        address: String,
    },
}

impl ConnectError {
    /// What it means for the caller.
    #[must_use]
    pub fn class(&self) -> FailureClass {
        match self {
            // Without a token file no server has been started here: nobody is there.
            Self::Token(TokenError::Unreadable { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {
                FailureClass::CannotReach
            }
            Self::Token(_) | Self::InvalidAddress { .. } | Self::Unprotected { .. } => FailureClass::Rejected,
            _ => FailureClass::CannotReach,
        }
    }
}

/// The innermost reason of a failure in the transport, in words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Cause(String);

impl Cause {
    pub(crate) fn io(error: &io::Error) -> Self {
        Self(error.to_string())
    }

    /// The innermost cause: the layers around it only say "transport error".
    pub(crate) fn innermost(error: &(dyn std::error::Error + 'static)) -> Self {
        let mut inner = error;
        while let Some(next) = inner.source() {
            inner = next;
        }
        Self(inner.to_string())
    }
}

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The connection is not there any more.
    #[error("lost the connection to {target}")]
    Lost {
        /// Who.
        target: Target,
        /// Why.
        #[source]
        cause: Cause,
    },
    /// No answer in time.
    #[error("{target} did not answer within {} ms", after.as_millis())]
    Late {
        /// Who.
        target: Target,
        /// The time allowed.
        after: Duration,
    },
    /// It cannot decide, or cannot serve the call, for now.
    #[error("{target} cannot answer: {message}")]
    Unable {
        /// Who.
        target: Target,
        /// What it said.
        message: String,
    },
    /// The answer is not one.
    #[error("{target} sent an answer that cannot be used: {fault}")]
    Unusable {
        /// Who.
        target: Target,
        /// What is wrong with it.
        fault: String,
    },
    /// The token is missing or wrong.
    #[error("{target} does not accept the token: {message}")]
    Unauthenticated {
        /// Who.
        target: Target,
        /// The file the token came from.
        token_file: Option<PathBuf>,
        /// What it said.
        message: String,
    },
    /// The token's role lacks the right.
    #[error("{target} does not permit this: {message}")]
    Forbidden {
        /// Who.
        target: Target,
        /// The file the token came from.
        token_file: Option<PathBuf>,
        /// What it said.
        message: String,
    },
    /// The request is malformed.
    #[error("{target} does not understand the request: {message}")]
    Invalid {
        /// Who.
        target: Target,
        /// What it said, naming the field.
        message: String,
    },
    /// The request is well-formed, but does not fit the state of things: a used ticket, another active version.
    #[error("{target} refuses: {message}")]
    Refused {
        /// Who.
        target: Target,
        /// What it said.
        message: String,
    },
}

impl CallError {
    /// What it means for the caller.
    #[must_use]
    pub fn class(&self) -> FailureClass {
        match self {
            Self::Lost { .. } => FailureClass::CannotReach,
            Self::Late { .. } | Self::Unable { .. } | Self::Unusable { .. } => FailureClass::CannotDecide,
            Self::Unauthenticated { .. } | Self::Forbidden { .. } | Self::Invalid { .. } | Self::Refused { .. } => {
                FailureClass::Rejected
            }
        }
    }

    /// Sorts a gRPC status.
    pub(crate) fn from_status(status: &Status, target: &Target, token_file: Option<PathBuf>, after: Duration) -> Self {
        let target = target.clone();
        let message = if status.message().is_empty() {
            status.code().description().to_owned()
        } else {
            status.message().to_owned()
        };
        match status.code() {
            Code::Unauthenticated => Self::Unauthenticated {
                target,
                token_file,
                message,
            },
            Code::PermissionDenied => Self::Forbidden {
                target,
                token_file,
                message,
            },
            Code::InvalidArgument | Code::OutOfRange => Self::Invalid { target, message },
            Code::FailedPrecondition | Code::Aborted | Code::NotFound | Code::AlreadyExists => {
                Self::Refused { target, message }
            }
            Code::DeadlineExceeded => Self::Late { target, after },
            Code::Unimplemented => Self::Unusable { target, fault: message },
            // A status that the other side sent has no source; one that the transport made up has.
            _ => match status.source() {
                Some(source) => Self::Lost {
                    target,
                    cause: Cause::innermost(source),
                },
                None => Self::Unable { target, message },
            },
        }
    }
}
