//! The Seatbelt profile that a command run by hand would get on macOS: to be read, on any system.
//!
//! Nothing is made or started for it. What a run makes, or a Mac only can say, is named in a way that shows that it is none: the
//! run's folder, the filter's port, the folder for temporary files.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use portcullis_proto::v1::TemporaryFolder;
use serde::Serialize;

use super::{ExecError, Wish, seatbelt::Described, seatbelt::arguments_of, seatbelt::described};
use crate::caches;
use crate::launch::network::PROXY_PORT;
use crate::places::Places;
use crate::prepare::prepare;
use crate::protect;
use crate::seatbelt::command::SANDBOX_EXEC;
use crate::seatbelt::{Host, profile};
use crate::trust::Trust;
use crate::variables;

/// Stands for the folder that macOS gives each user.
const TEMPORARY: &str = "/private/var/folders/xx/user/T";

/// Stands for a run.
const RUN: &str = "RUN";

/// A profile and how it would be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The variables that are set for the command, by name. What else it has is the caller's, but for secrets.
    pub environment: Vec<String>,
    /// The profile.
    pub profile: String,
    /// What of the policy could not be enforced, so that nothing would run.
    pub missing: Vec<String>,
}

/// The profile for a policy and a workspace.
///
/// # Errors
/// If the policy has faults, or there could be no such sandbox.
pub fn shown(policy: Option<&Path>, workspace: PathBuf, places: Places) -> Result<Shown, ExecError> {
    let run = places.folders_by_hand().join(RUN);
    let hidden = places.state();
    let (shared, trust) = (places.caches(), Trust::open(places.state().join("trust.json")));
    let wish = Wish::of(policy, workspace, Some(places))?;
    let prepared = prepare(&wish.profile, &wish.extras)?;
    let own_cache = if wish.policy.shared_build_cache {
        let roots: Vec<PathBuf> = wish.profile.roots.iter().map(PathBuf::from).collect();
        shared.join(caches::domain(&roots, &trust))
    } else {
        run.join("cache")
    };
    let private = wish.profile.temporary_folder() != TemporaryFolder::Shared;
    let host = Host {
        temporary_folders: vec![TEMPORARY.into()],
        own_tmp: private.then(|| run.join("files")),
        own_cache: Some(own_cache),
        filter_port: PROXY_PORT,
        terminal: None,
    };
    let Described {
        mut policy,
        passed: environment,
        ..
    } = described(&wish, &prepared, &host)?;
    // It exists when a command runs.
    if !protect::is_within(&hidden, &policy.masked) {
        policy.masked.push(hidden);
    }
    let mut environment: Vec<String> = environment
        .iter()
        .filter_map(|variable| variable.split(|&byte| byte == b'=').next())
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .filter(|name| variables::value_of(&environment, name) != own(name).as_deref())
        .collect();
    environment.sort();
    Ok(Shown {
        program: SANDBOX_EXEC.to_owned(),
        arguments: arguments_of(&run.join("profile.sb")),
        environment,
        profile: profile(&policy)?,
        missing: prepared.plan.missing,
    })
}

/// A variable of this process, which a command would only have inherited.
fn own(name: &str) -> Option<Vec<u8>> {
    std::env::var_os(name).map(OsString::into_vec)
}

impl Shown {
    /// For people, and for `sandbox-exec -f`: what is no part of the profile stands in remarks.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        let words = [std::slice::from_ref(&self.program), &self.arguments].concat();
        let _ = writeln!(text, "; On macOS: {}", words.join(" ").replace(char::is_control, " "));
        let _ = writeln!(
            text,
            "; Chosen when a command runs: {RUN}, the filter's port ({PROXY_PORT} stands for it), this user's folder for temporary\n\
             ; files ({TEMPORARY})."
        );
        for missing in &self.missing {
            let missing = missing.replace(char::is_control, " ");
            let _ = writeln!(text, "; Nothing would run: {missing}");
        }
        text.push_str(&self.profile);
        text
    }

    /// One JSON object.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).map_or_else(|_| String::new(), |text| text + "\n")
    }
}
