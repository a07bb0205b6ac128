//! What a run gets from the host beside its file tree: its session's `/tmp`, a place for caches, and limits.

use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use portcullis_proto::v1::{SandboxProfile, TemporaryFolder, TicketClaims};
use tonic::Status;

use crate::caches;
use crate::daemon::Daemon;
use crate::durable;
use crate::launch::mounts::PRIVATE_TMP;
use crate::launch::spec::{Layout, Limits, Spec};
use crate::limits::{self, Facts, Held, cgroup::RunCgroup};
use crate::temporary::SessionFolder;
use crate::variables;

/// They are given back when this is dropped, which is to be done when no process of the run is left.
#[derive(Debug)]
pub(super) struct Belongings {
    /// The run's session keeps its folder.
    _session: Option<SessionFolder>,
    cgroup: Option<RunCgroup>,
    held: Held,
    shared_cache: bool,
    closed_tmp: bool,
    open_files_at_first: u64,
}

impl Belongings {
    /// Gets them, and puts the folders into the file tree. Blocking.
    ///
    /// # Errors
    /// `UNAVAILABLE` if something cannot be had.
    pub(super) fn get(
        daemon: &Daemon,
        claims: &TicketClaims,
        profile: &SandboxProfile,
        layout: &mut Layout,
    ) -> Result<Self, Status> {
        let unavailable =
            |what: &'static str| move |error: std::io::Error| Status::unavailable(format!("{what}: {error}"));
        let session = if claims.session_id.is_empty() {
            None
        } else {
            let taken = daemon.sessions.take(&claims.team, &claims.session_id);
            Some(taken.map_err(unavailable("the session's temporary folder cannot be had"))?)
        };
        let real = |path: PathBuf| path.canonicalize().map(|path| path.as_os_str().as_bytes().to_vec());
        if let Some(session) = &session {
            let found = unavailable("the session's temporary folder cannot be found");
            if profile.temporary_folder() == TemporaryFolder::Private {
                layout.tmp_folder = real(session.files()).map_err(&found)?;
            }
            layout.cache_folder = real(session.cache()).map_err(&found)?;
        }
        layout.with_cache = true;
        if profile.shared_build_cache {
            let roots: Vec<PathBuf> = profile
                .roots
                .iter()
                .map(|root| PathBuf::from(root).canonicalize())
                .collect::<Result<_, _>>()
                .map_err(unavailable("the project's cache cannot be told"))?;
            let folder = daemon.places.caches().join(caches::domain(&roots, &daemon.trust));
            let made = durable::private_folder(&folder).and_then(|()| real(folder));
            layout.cache_folder = made.map_err(unavailable("the project's cache cannot be had"))?;
        }
        let wanted = profile.limits.unwrap_or_default();
        let held = limits::hold(
            &wanted,
            Facts {
                delegated: daemon.cgroup.as_ref().map_err(String::as_str),
                root: rustix::process::geteuid().is_root(),
                kernel: limits::kernel(),
            },
        );
        let cgroup = match &daemon.cgroup {
            Ok(delegated) if !held.by_cgroup.is_empty() => {
                let made = delegated.make(&claims.decision_id, &held.by_cgroup);
                Some(made.map_err(unavailable("a cgroup for the run cannot be made"))?)
            }
            _ => None,
        };
        Ok(Self {
            _session: session,
            cgroup,
            held,
            shared_cache: profile.shared_build_cache,
            closed_tmp: profile.temporary_folder() == TemporaryFolder::Closed,
            open_files_at_first: daemon.open_files,
        })
    }

    /// Says all of it to the launcher and to the command.
    pub(super) fn say(&self, spec: &mut Spec) {
        let writable = spec.layout.as_ref().map(|layout| layout.read_write.as_slice());
        let environment = std::mem::take(&mut spec.environment);
        spec.environment = caches::redirected(environment, writable.unwrap_or_default(), self.shared_cache);
        if self.closed_tmp {
            variables::set(&mut spec.environment, "TMPDIR", PRIVATE_TMP);
        }
        spec.limits = Some(Limits {
            open_files_at_first: self.open_files_at_first,
            ..self.held.by_process
        });
        spec.unheld_limits.clone_from(&self.held.not);
        if let Some(cgroup) = &self.cgroup {
            spec.cgroup = cgroup.path().as_os_str().as_bytes().to_vec();
        }
    }

    /// What the limits have done, for the person.
    #[must_use]
    pub(super) fn events(&self) -> Vec<String> {
        self.cgroup.as_ref().map(RunCgroup::events).unwrap_or_default()
    }
}
