//! From a run as it was prepared to the policy that a profile is written of.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use portcullis_proto::v1::{SandboxProfile, TemporaryFolder};

use super::{Name, Network, Policy, Temporary, Unwritable};
use crate::prepare::Prepared;
use crate::protect::Plan;
use crate::protect::scan::AnchorKind;

/// What the host brings along for a run.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// Where this user's temporary files lie, besides [`super::HOSTS_TMP`].
    pub temporary_folders: Vec<PathBuf>,
    /// The session's own folder for temporary files.
    pub own_tmp: Option<PathBuf>,
    /// The folder for caches of package managers.
    pub own_cache: Option<PathBuf>,
    /// The filter's port on loopback; 0 = it serves nobody.
    pub filter_port: u16,
    /// The terminal that was made for the command.
    pub terminal: Option<PathBuf>,
}

impl Policy {
    /// The policy of a run.
    ///
    /// # Errors
    /// If a path is no text, or the network is to be filtered and nothing filters it.
    pub fn of_run(prepared: &Prepared, profile: &SandboxProfile, host: &Host) -> Result<Self, Unwritable> {
        let layout = &prepared.layout;
        let temporary = match profile.temporary_folder() {
            TemporaryFolder::Shared => Temporary::Shared,
            TemporaryFolder::Closed => Temporary::Closed,
            TemporaryFolder::Private | TemporaryFolder::Unspecified => Temporary::Private,
        };
        let mut read_write = paths(&layout.read_write);
        if temporary == Temporary::Shared {
            read_write.extend(host.temporary_folders.iter().cloned());
        }
        let network = match &prepared.network {
            None => Network::None,
            Some(_) if host.filter_port == 0 => return Err(Unwritable::Port),
            Some(_) => Network::Filtered(host.filter_port),
        };
        let mut protected = paths(&layout.protected);
        // As they are named, too: a link is not what it leads to.
        protected.extend(prepared.plan.existing.keys().cloned());
        Ok(Self {
            names: names(&prepared.plan)?,
            read_write,
            protected,
            masked: paths(&layout.masked),
            visible: paths(&layout.visible),
            temporary,
            temporary_folders: host.temporary_folders.clone(),
            own_tmp: host.own_tmp.clone(),
            own_cache: host.own_cache.clone(),
            network,
            sockets: prepared.sockets.clone(),
            terminal: host.terminal.clone(),
        })
    }
}

fn paths(list: &[Vec<u8>]) -> Vec<PathBuf> {
    list.iter()
        .map(|bytes| PathBuf::from(OsStr::from_bytes(bytes)))
        .collect()
}

/// The protected names, below everything that the patterns count for.
fn names(plan: &Plan) -> Result<Vec<Name>, Unwritable> {
    let mut found = Vec::new();
    for anchor in &plan.anchors {
        for pattern in &plan.patterns {
            let Some(segments) = pattern.below(anchor.kind) else {
                continue;
            };
            // What is in a git folder counts for git folders that are there. Where there is none, `git init` makes one with
            // hooks and a configuration, which the look back after the run judges.
            if anchor.kind == AnchorKind::Root && segments.first().is_some_and(|first| first == ".git") {
                continue;
            }
            found.push(Name {
                folder: anchor.path.clone(),
                segments: segments.to_vec(),
            });
        }
    }
    for path in &plan.absent {
        let outermost = plan.roots.iter().filter(|root| path.starts_with(root)).min();
        let Some(folder) = outermost else { continue };
        found.push(Name {
            folder: folder.clone(),
            segments: segments(path, folder)?,
        });
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn segments(path: &Path, folder: &Path) -> Result<Vec<String>, Unwritable> {
    let unwritable = || Unwritable::Path(path.to_path_buf());
    let below = path.strip_prefix(folder).map_err(|_| unwritable())?;
    let names = below
        .components()
        .map(|part| part.as_os_str().to_str().map(str::to_owned));
    names.collect::<Option<Vec<_>>>().ok_or_else(unwritable)
}
