//! Finds out what this host's sandbox enforces, by setting one up and trying to break out of it a little.
//!
//! The whole set-up is done, with the launcher that runs commands, around a canary that tries to write and read what it must not
//! and to reach this host. So a host has the tier that it has shown, not the one that its kernel's version promises. It is done
//! again when one of the [`Conditions`] has changed.

use std::fs::Metadata;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use portcullis_proto::v1::{Enforcement, NetworkAccess, SandboxProfile, SandboxTier, TemporaryFolder, WorkspaceAccess};

use crate::launch::spec::{Event, Spec};
use crate::places::Places;
use crate::prepare::{Extras, prepare};
use crate::process::launch;

/// What the canary's exit status says.
pub mod canary {
    /// It was called wrongly.
    pub const USAGE: u8 = 1;
    /// A file outside could be made, or its mode be changed.
    pub const WROTE: u8 = 2;
    /// A hidden file could be opened.
    pub const READ: u8 = 3;
    /// A server of the host could be reached.
    pub const REACHED: u8 = 4;
}

/// Settings of the kernel on which a sandbox depends.
const SETTINGS: [&str; 9] = [
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/version",
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/user/max_mnt_namespaces",
    "/proc/sys/user/max_net_namespaces",
    "/sys/kernel/security/lsm",
    "/proc/self/attr/current",
];

/// What a probe's result rests on. Another value: probe again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conditions {
    settings: Vec<Option<Vec<u8>>>,
    launcher: Option<(u64, u64, i64, u64)>,
}

impl Conditions {
    /// As they are now.
    #[must_use]
    pub fn now(places: &Places) -> Self {
        let identity = |found: Metadata| (found.dev(), found.ino(), found.mtime(), found.size());
        Self {
            settings: SETTINGS.map(|path| std::fs::read(path).ok()).to_vec(),
            launcher: places.launcher().metadata().ok().map(identity),
        }
    }
}

/// Sets a sandbox up around the launcher's canary: the whole one, and if there is none, the one without namespaces.
///
/// # Errors
/// Why there is no sandbox, in words.
pub async fn probe(places: &Places) -> Result<Enforcement, String> {
    let whole = match attempt(places, false).await {
        Ok(enforcement) => return Ok(enforcement),
        Err(reason) => reason,
    };
    // The launcher sees for itself whether there are namespaces, and makes them if so: nobody is content with less by this.
    match attempt(places, true).await {
        Ok(enforcement) if enforcement.tier() == SandboxTier::WithoutNamespaces => Ok(enforcement),
        Ok(_) => Err(whole),
        Err(reason) if reason == whole => Err(whole),
        Err(reason) => Err(format!("{whole}; without namespaces: {reason}")),
    }
}

async fn attempt(places: &Places, accept_without_namespaces: bool) -> Result<Enforcement, String> {
    let launcher = places.launcher();
    let outside = places.state().join("canary");
    let hidden = places.state().join("canary.hidden");
    let text = |error: std::io::Error| error.to_string();
    std::fs::write(&hidden, "the canary must not see this\n").map_err(text)?;
    let hidden = hidden.canonicalize().map_err(text)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(text)?;
    let port = listener.local_addr().map_err(text)?.port();
    let profile = SandboxProfile {
        workspace: WorkspaceAccess::ReadOnly.into(),
        network: NetworkAccess::None.into(),
        temporary_folder: TemporaryFolder::Private.into(),
        ..SandboxProfile::default()
    };
    // The canary must be able to see the folder that it must not be able to write to.
    let extras = Extras {
        read_only: vec![places.programs.clone(), places.state()],
        masked: vec![hidden.clone()],
        ..Extras::default()
    };
    let prepared = tokio::task::spawn_blocking(move || prepare(&profile, &extras))
        .await
        .map_err(|error| error.to_string())?
        .map_err(|error| error.to_string())?;
    let bytes = |path: &Path| path.to_string_lossy().into_owned().into_bytes();
    let spec = Spec {
        argv: vec![
            bytes(&launcher),
            b"canary".to_vec(),
            bytes(&outside),
            bytes(&hidden),
            port.to_string().into_bytes(),
        ],
        cwd: b"/".to_vec(),
        layout: Some(prepared.layout),
        accept_partial: true,
        accept_without_namespaces,
        needs_namespaces: prepared.needs_namespaces,
        ..Spec::default()
    };
    let mut launched = launch(&launcher, &spec, None, None, None)
        .map_err(|error| format!("cannot start `{}`: {error}", launcher.display()))?;
    let mut enforcement = None;
    while let Some(event) = launched.reports.next().await.map_err(|error| error.to_string())? {
        match event {
            Event::Ready(found) => enforcement = Some(found),
            Event::Running(_) | Event::RefusedCalls(_) => {}
            Event::Refused(refused) => return Err(format!("{}: {}", refused.step, refused.reason)),
            Event::NotExecuted(not) => {
                let cause = std::io::Error::from_raw_os_error(not.errno);
                return Err(format!(
                    "cannot execute `{}` in the sandbox: {cause}",
                    launcher.display()
                ));
            }
            Event::Exited(exited) if exited.code == 0 && exited.signal == 0 => {
                return enforcement.ok_or_else(|| "the sandbox did not say what it enforces".to_owned());
            }
            Event::Exited(exited) => return Err(format!("the sandbox does not hold: {}", broken(exited.code))),
        }
    }
    Err("the launcher ended without a report".to_owned())
}

fn broken(code: u32) -> &'static str {
    match u8::try_from(code) {
        Ok(canary::WROTE) => "a file outside could be changed",
        Ok(canary::READ) => "a hidden file could be read",
        Ok(canary::REACHED) => "a server of this host could be reached",
        _ => "the canary in it did not come to an end",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_launcher_or_kernel_is_another_condition() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places {
            data: folder.path().to_path_buf(),
            config: folder.path().to_path_buf(),
            home: None,
            system: folder.path().to_path_buf(),
            programs: folder.path().to_path_buf(),
        };
        let none = Conditions::now(&places);
        assert_eq!(none, Conditions::now(&places));
        assert!(
            none.settings.first().unwrap().is_some(),
            "the kernel's release is known"
        );
        std::fs::write(places.launcher(), "x").unwrap();
        let one = Conditions::now(&places);
        assert_ne!(none, one);
        let mut other_kernel = one.clone();
        other_kernel.settings = vec![None; SETTINGS.len()];
        assert_ne!(one, other_kernel);
    }
}
