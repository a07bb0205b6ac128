//! The one place where errors become text for people: what failed, why, what to do next, and which exit code says it.

use std::{error::Error, fmt::Write as _, io, io::Write as _};

use portcullis_client::{CallError, ConnectError, FailureClass, host::RunError, token::TokenError};

use super::output::printable;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    error: Box<dyn Error + Send + Sync>,
    kind: Kind,
    help: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Usage,
    CannotDecide,
    Other,
}

/// A sentence of ours, with a cause.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct Said {
    text: String,
    #[source]
    cause: Option<io::Error>,
}

impl Failure {
    /// Wrong usage or invalid input.
    pub(crate) fn usage(error: impl Error + Send + Sync + 'static) -> Self {
        Self {
            error: Box::new(error),
            kind: Kind::Usage,
            help: None,
        }
    }

    /// Wrong usage or invalid input, in words.
    pub(crate) fn usage_text(text: impl Into<String>) -> Self {
        Self::usage(Said {
            text: text.into(),
            cause: None,
        })
    }

    /// A file that was named as input cannot be read.
    pub(crate) fn usage_io(text: impl Into<String>, cause: io::Error) -> Self {
        Self::usage(Said {
            text: text.into(),
            cause: Some(cause),
        })
    }

    /// Any other failure, in words.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self {
            error: Box::new(Said {
                text: text.into(),
                cause: None,
            }),
            kind: Kind::Other,
            help: None,
        }
    }

    /// Something on this host could not be read or written.
    pub(crate) fn io(text: impl Into<String>, cause: io::Error) -> Self {
        Self {
            error: Box::new(Said {
                text: text.into(),
                cause: Some(cause),
            }),
            kind: Kind::Other,
            help: None,
        }
    }

    /// Says what to do.
    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn is_usage(&self) -> bool {
        self.kind == Kind::Usage
    }

    /// The exit code of most commands.
    pub(crate) fn code(&self) -> u8 {
        match self.kind {
            Kind::Usage => 2,
            Kind::CannotDecide => 5,
            Kind::Other => 1,
        }
    }

    /// The error with its causes in one line, for where there is no room for more.
    pub(crate) fn line(&self) -> String {
        let mut text = self.chain().join(": ");
        if let Some(help) = self.help() {
            let _ = write!(text, "; {help}");
        }
        text
    }

    /// Writes it to stderr.
    pub(crate) fn show(&self) {
        let mut text = String::new();
        let mut chain = self.chain().into_iter();
        let _ = writeln!(text, "error: {}", printable(&chain.next().unwrap_or_default()));
        for cause in chain {
            let _ = writeln!(text, "  because: {}", printable(&cause));
        }
        if let Some(help) = self.help() {
            let _ = writeln!(text, "help: {}", printable(&help));
        }
        // Nobody is left to tell if this fails; the exit code still says it.
        let _ = anstream::stderr().write_all(text.as_bytes());
    }

    fn chain(&self) -> Vec<String> {
        let mut texts = vec![self.error.to_string()];
        let mut error: &dyn Error = self.error.as_ref();
        while let Some(cause) = error.source() {
            texts.push(cause.to_string());
            error = cause;
        }
        texts
    }

    fn help(&self) -> Option<String> {
        if self.help.is_some() {
            return self.help.clone();
        }
        let error: &(dyn Error + 'static) = self.error.as_ref();
        if let Some(error) = error.downcast_ref::<ConnectError>() {
            return help_connecting(error);
        }
        error.downcast_ref::<CallError>().and_then(help_calling)
    }
}

fn help_connecting(error: &ConnectError) -> Option<String> {
    Some(match error {
        ConnectError::Token(TokenError::Unreadable { .. }) => {
            "the server writes the token files when it first starts; start it with `cargo xtask up`, or name another data \
             directory with `--data-dir`"
                .to_owned()
        }
        ConnectError::Token(TokenError::Malformed { .. }) => {
            "a token file holds one line `pcl_…`; name another one with `--token-file`".to_owned()
        }
        ConnectError::Unreachable { .. } | ConnectError::NoAddress { .. } => {
            "start it with `cargo xtask up`, or say where it runs with `--data-dir`".to_owned()
        }
        ConnectError::Late { .. } => "it hangs or is overloaded; look at its log, or restart it".to_owned(),
        ConnectError::ForeignSocket { .. } => {
            "somebody else may have put it there; use a data directory of your own with `--data-dir`".to_owned()
        }
        ConnectError::Unprotected { .. } => "use its `https://` address".to_owned(),
        _ => return None,
    })
}

fn help_calling(error: &CallError) -> Option<String> {
    let file = |file: &Option<std::path::PathBuf>| {
        file.as_ref().map_or_else(
            || "the token".to_owned(),
            |file| format!("the token in `{}`", file.display()),
        )
    };
    Some(match error {
        CallError::Unauthenticated { token_file, .. } => format!(
            "{} is not one of this server's; take it from the data directory of the server that is running",
            file(token_file)
        ),
        CallError::Forbidden { token_file, .. } => {
            format!("{} has another role; choose one with `--token-file`", file(token_file))
        }
        CallError::Lost { .. } => "start it again with `cargo xtask up`".to_owned(),
        CallError::Late { .. } | CallError::Unable { .. } => {
            "try again; if it stays so, look at the server's log".to_owned()
        }
        CallError::Unusable { .. } => {
            "client and server may be of different versions: see `portcullis --version`".to_owned()
        }
        _ => return None,
    })
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        Self {
            kind: kind(error.class()),
            error: Box::new(error),
            help: None,
        }
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        let kind = match &error {
            CallError::Invalid { .. } => Kind::Usage,
            other => kind(other.class()),
        };
        Self {
            kind,
            error: Box::new(error),
            help: None,
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Connect(error) => error.into(),
            RunError::Call(error) => error.into(),
            RunError::Terminal(cause) => Self::io("cannot make a socket for the command's terminal", cause),
        }
    }
}

fn kind(class: FailureClass) -> Kind {
    match class {
        FailureClass::CannotReach | FailureClass::CannotDecide => Kind::CannotDecide,
        FailureClass::Rejected => Kind::Other,
    }
}
