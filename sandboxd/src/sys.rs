//! System calls that no safe library offers, as safe functions. The only place in the workspace with `unsafe`.
//!
//! Each function does one thing and says in a SAFETY comment what its callee demands and why that holds. No policy and no
//! order of steps lives here: see [`crate::launch`].

pub mod fds;
pub mod mount;
pub mod net;
pub mod notify;
pub mod process;
pub mod seccomp;
pub mod signals;
