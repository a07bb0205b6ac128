#![forbid(unsafe_code)]
#![doc = include_str!("../README.md")]

pub mod answer;
pub mod audit;
pub mod connect;
pub mod error;
pub mod host;
pub mod places;
pub mod policy;
pub mod question;
pub mod run;
pub mod server;
mod streams;
pub mod terminal;
pub mod token;

pub use answer::{Answer, DecidedBy, Permit, RuleRef, TraceEntry};
pub use error::{CallError, ConnectError, FailureClass};
pub use host::{Host, HostOptions};
pub use places::Places;
/// What a caller answers when nothing can be decided. It has no value for allow.
pub use portcullis_policy::decision::FailureVerdict as FailMode;
pub use portcullis_policy::{Layer, Mode, Verdict};
pub use question::{Interactivity, Question};
pub use run::{Event, Running};
pub use server::{Server, ServerOptions};
pub use token::Token;
