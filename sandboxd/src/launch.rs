//! The launcher: builds a sandbox around one command and says what it really enforces.
//!
//! ```text
//! supervisor ── clone into all namespaces ──► init (pid 1 inside)                       command
//!   writes the uid map, waits                    mounts → lo → capabilities → Landlock      │
//!   (stays outside, unconfined)                  → close descriptors → seccomp → report ──► exec
//! ```
//!
//! The order is the protection. Everything that needs a right comes before the right is dropped; seccomp is last because
//! it forbids what the others need; the report leaves before the command starts; and if any step fails nothing starts.
//! The init dies with either of two pipes, the daemon's and the supervisor's, and takes every process inside with it.
//!
//! Where no namespaces can be made, what only reads can run with less, if policy accepts that: see [`alone`].
//!
//! One thread, no helper programs, no parsing of user data beyond one bounded message.

pub mod alone;
pub mod filter;
pub mod identity;
pub mod init;
pub mod landlock;
pub mod limits;
pub mod mounts;
pub mod network;
pub mod places;
pub mod reading;
pub mod spec;
pub mod streams;
pub mod supervise;
pub mod terminal;

use std::io;

/// A step that failed, so that the command was not started.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {what}")]
pub struct StepFailed {
    /// The step, by the name of its mechanism.
    pub step: &'static str,
    /// What was tried, on what.
    pub what: String,
    /// What the kernel said.
    #[source]
    pub source: io::Error,
}

impl StepFailed {
    /// Names the step and what was tried.
    pub fn new(step: &'static str, what: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self {
            step,
            what: what.into(),
            source: source.into(),
        }
    }

    /// The same as a message for the daemon.
    #[must_use]
    pub fn to_report(&self) -> spec::Refused {
        spec::Refused {
            step: self.step.to_owned(),
            reason: format!("{}: {}", self.what, self.source),
            errno: self.source.raw_os_error().unwrap_or(0),
        }
    }
}
