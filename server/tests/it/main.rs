#![forbid(unsafe_code)]
//! The server from outside: in this process, over a real connection on a free port of the loopback address.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests stop at the first surprise; clippy.toml says so for test functions, and this for what they share"
)]

mod auth;
mod decisions;
mod edge;
mod engine;
mod harness;
mod lifecycle;
mod modes;
mod policy;
mod program;
mod retries;
mod sandbox;
mod storage;
mod trail;
