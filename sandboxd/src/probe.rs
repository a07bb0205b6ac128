//! Finds out what this host's sandbox enforces, by setting one up and trying to break out of it a little.

use std::path::Path;

use portcullis_proto::v1::{Enforcement, NetworkAccess, SandboxProfile, TemporaryFolder, WorkspaceAccess};

use crate::launch::spec::{Event, Spec};
use crate::places::Places;
use crate::prepare::{Extras, prepare};
use crate::process::launch;

/// Sets a sandbox up around the launcher's canary.
///
/// # Errors
/// Why there is no sandbox, in words.
pub async fn probe(places: &Places) -> Result<Enforcement, String> {
    let launcher = places.launcher();
    let outside = places.state().join("canary");
    let profile = SandboxProfile {
        workspace: WorkspaceAccess::ReadOnly.into(),
        network: NetworkAccess::None.into(),
        temporary_folder: TemporaryFolder::Private.into(),
        ..SandboxProfile::default()
    };
    // The canary must be able to see the folder that it must not be able to write to.
    let extras = Extras {
        read_only: vec![places.programs.clone(), places.state()],
        ..Extras::default()
    };
    let prepared = tokio::task::spawn_blocking(move || prepare(&profile, &extras))
        .await
        .map_err(|error| error.to_string())?
        .map_err(|error| error.to_string())?;
    let bytes = |path: &Path| path.to_string_lossy().into_owned().into_bytes();
    let spec = Spec {
        argv: vec![bytes(&launcher), b"canary".to_vec(), bytes(&outside)],
        cwd: b"/".to_vec(),
        layout: Some(prepared.layout),
        accept_partial: true,
        ..Spec::default()
    };
    let mut launched = launch(&launcher, &spec, None, None)
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
            Event::Exited(_) => return Err("the sandbox does not hold: a file outside could be written".to_owned()),
        }
    }
    Err("the launcher ended without a report".to_owned())
}
