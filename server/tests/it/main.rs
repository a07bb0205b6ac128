#![forbid(unsafe_code)]
//! The server from outside: in this process, over a real connection on a free port of the loopback address.

mod auth;
mod decisions;
mod edge;
mod engine;
mod harness;
mod lifecycle;
mod policy;
mod program;
mod storage;
mod trail;
