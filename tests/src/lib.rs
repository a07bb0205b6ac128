#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test harness stops at the first surprise, and shows what it knows"
)]
//! The harness of the end-to-end tests: real programs, real sockets, temporary directories.
//!
//! A test starts a [`Stack`]: `portcullis-server` on a free port and `portcullis-sandboxd` on a socket of its own, with a
//! home folder and a git project that belong to the test alone. It acts through [`Stack::portcullis`], as a person or an
//! agent does, or through [`grpc`], as a home-made agent does, and reads the audit trail back.
//!
//! Every wait is for an event (a line, a message, the end of a process) and has a limit; nothing sleeps. When a test
//! fails, the logs of its programs are printed. The harness knows the programs by their documented interfaces only: it
//! links the wire types, none of their code.

pub mod cli;
pub mod grpc;
pub mod hook;
pub mod policy;
pub mod process;
pub mod requests;
pub mod runs;
pub mod stack;

pub use cli::{Output, Run};
pub use policy::Policy;
pub use stack::{Role, Setup, Stack, program};

/// The wire types.
pub use portcullis_proto::v1;

/// How long anything may take before the test gives up. Far more than anything does take, because test machines are busy.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);
