#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "tests stop at the first surprise, and say what they skip"
)]
//! End-to-end scenarios: what a person, an agent, or somebody hostile does, against the real programs.
//!
//! One program for all of them, because each further one would link everything again.

mod administration;
mod agents_files;
mod bad_input;
mod cases;
mod controls;
mod crashes;
mod credentials;
mod evidence;
mod exec;
mod hooks;
mod layers;
mod library;
mod main_job;
mod retries;
mod sandbox;
mod sandbox_cases;
mod sandbox_choice;
mod sandbox_profile;
mod secrets;
mod terminals;
mod tickets;
mod tls;
mod trials;
mod up;
