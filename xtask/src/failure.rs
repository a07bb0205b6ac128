//! How a task fails: one sentence for the person, and a hint where there is one.

use std::{fmt, io};

use crate::output;

/// Why a task did not succeed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What was tried, on what, and why it failed.
    message: String,
    help: Option<String>,
}

/// What a task comes to.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// A failure with its sentence.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: None,
        }
    }

    /// A failure of the operating system: `what` was tried.
    pub(crate) fn io(what: impl fmt::Display, cause: &io::Error) -> Self {
        Self::new(format!("{what}: {cause}"))
    }

    /// Adds what to do next.
    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Prints it to standard error.
    pub(crate) fn print(&self) {
        output::err(&format!("error: {}", self.message));
        if let Some(help) = &self.help {
            output::err(&format!("help: {help}"));
        }
    }
}
