#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test tool stops at the first surprise, and shows what it knows"
)]
//! Compares the analysis of shell lines with what bash really does.
//!
//! [`generate`] and [`mutate`] make lines from a seed, [`oracle`] runs them with bash in a sandbox where every program is
//! a stub that notes its name and words, and [`compare`] looks for what ran, or was written, that the analysis neither
//! lists nor calls opaque. [`shrink`] cuts such a line down. The same seed gives the same lines everywhere.
//!
//! It shows what bash did on this machine, with these stubs: not what other shells do, nor what programs do with files.

pub mod compare;
pub mod generate;
pub mod hostile;
pub mod mutate;
pub mod oracle;
pub mod random;
pub mod session;
pub mod shrink;
