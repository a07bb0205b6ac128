#![forbid(unsafe_code)]
#![doc = include_str!("../README.md")]

pub mod audit;
pub mod auth;
pub mod bootstrap;
pub mod classifier;
pub mod cli;
pub mod config;
pub mod datadir;
pub mod decide;
pub mod edge;
pub mod failure;
pub mod grpc;
pub mod hint;
mod incoming;
pub mod keys;
pub mod logging;
pub mod policies;
pub mod push;
pub mod run;
pub mod serve;
pub mod sessions;
pub mod store;
pub mod tally;
pub mod verify;
