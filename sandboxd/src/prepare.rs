//! From a profile, as the server signed it, to the file tree that the launcher builds.
//!
//! Everything is resolved here, once, on the host as it is now: the launcher only mounts real paths and refuses those that
//! have changed since.

mod links;
mod namespaces;

use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use portcullis_policy::network::{HostRule, NetworkRules};
use portcullis_proto::v1::{self, NetworkAccess, SandboxProfile, TemporaryFolder, WorkspaceAccess};

use crate::durable;
use crate::hide::{self, Person};
use crate::launch::network::SERVICE;
use crate::launch::spec::Layout;
use crate::protect::placeholders::{self, Wanted};
use crate::protect::{self, Plan, sockets};

/// A profile that cannot be turned into a sandbox on this host.
#[derive(Debug, thiserror::Error)]
pub enum Unpreparable {
    /// A field says nothing we know. Never guessed.
    #[error("the profile's `{0}` is not one that this host knows")]
    Unknown(&'static str),
    /// The caller is root, and policy does not want that.
    #[error("policy does not let root run commands in the sandbox (`allowRootOwner`); work as an ordinary user")]
    RootOwner,
    /// A folder of the workspace cannot be resolved.
    #[error("cannot resolve the workspace folder `{}`", path.display())]
    Root {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A folder that is never writable as a whole.
    #[error("`{}` is too wide, or belongs to the kernel", .0.display())]
    TooWide(PathBuf),
    /// A writable folder that is Portcullis' own.
    #[error("`{}` belongs to Portcullis, so no command may write there", .0.display())]
    Own(PathBuf),
    /// A folder of Portcullis that does not exist, in a writable folder, and cannot be made: a command could make it.
    #[error("cannot make `{}`, which has to be there to be protected", path.display())]
    Unmade {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A path that a command could make lead elsewhere.
    #[error("`{}` is reached through the link `{}`, which a command can replace; name the place that it leads to", path.display(), link.display())]
    Replaceable {
        /// The path, as a document names it.
        path: PathBuf,
        /// The link.
        link: PathBuf,
    },
    /// A hidden path contains the workspace.
    #[error("the hidden path `{}` contains the workspace", .0.display())]
    HiddenWorkspace(PathBuf),
}

/// What a run needs: the tree, and what to look for afterwards.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// For the launcher.
    pub layout: Layout,
    /// For the look back after the run.
    pub plan: Plan,
    /// Which hosts may be reached; `None` = none.
    pub network: Option<NetworkRules>,
    /// Sockets of the outside that may be connected to, real paths.
    pub sockets: Vec<PathBuf>,
    /// What a person should know, one line each.
    pub warnings: Vec<String>,
    /// Where placeholders are to be made before the launch.
    pub wanted: Vec<Wanted>,
    /// What of it takes namespaces; empty = it can be enforced without.
    pub needs_namespaces: Vec<String>,
}

/// What belongs to a run beside the profile.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// Paths that are hidden whatever the profile says: this daemon's own secrets.
    pub masked: Vec<PathBuf>,
    /// Folders of Portcullis: inside a writable folder they stay read-only and where they are. Made if they do not exist, as
    /// what is not there cannot be protected.
    pub own_folders: Vec<PathBuf>,
    /// Files of Portcullis: the same, but those that do not exist are left out.
    pub own_files: Vec<PathBuf>,
    /// Paths that stay read-only even in a writable folder.
    pub read_only: Vec<PathBuf>,
    /// Whose credentials are hidden, and what `~` and names without a folder start at.
    pub person: Person,
}

/// Prepares a run. Walks the workspace: not for the async runtime.
///
/// # Errors
/// If the profile is not understood or does not fit the host any more.
pub fn prepare(profile: &SandboxProfile, extras: &Extras) -> Result<Prepared, Unpreparable> {
    let network = match profile.network() {
        NetworkAccess::None => None,
        NetworkAccess::Filtered => Some(network_rules(profile.network_rules.as_ref())?),
        NetworkAccess::Unspecified => return Err(Unpreparable::Unknown("network")),
    };
    let mut roots = Vec::new();
    for root in &profile.roots {
        let path = PathBuf::from(root);
        let real = path.canonicalize().map_err(|source| Unpreparable::Root {
            path: path.clone(),
            source,
        })?;
        roots.push(real);
    }
    let temporary = match profile.temporary_folder() {
        TemporaryFolder::Unspecified => return Err(Unpreparable::Unknown("temporary_folder")),
        known => known,
    };
    if profile.refuse_root && rustix::process::geteuid().is_root() {
        return Err(Unpreparable::RootOwner);
    }
    let mut visible: Vec<PathBuf> = extras
        .read_only
        .iter()
        .filter_map(|path| path.canonicalize().ok())
        .collect();
    let mut read_write: Vec<PathBuf> = match profile.workspace() {
        WorkspaceAccess::ReadWrite => {
            let elsewhere = roots.iter().flat_map(|root| protect::worktree::folders_of(root));
            roots.iter().cloned().chain(elsewhere).collect()
        }
        WorkspaceAccess::ReadOnly => {
            visible.extend(roots.iter().cloned());
            Vec::new()
        }
        WorkspaceAccess::Unspecified => return Err(Unpreparable::Unknown("workspace")),
    };
    // A folder that does not exist cannot be written; leaving it out only narrows.
    read_write.extend(
        profile
            .read_write_paths
            .iter()
            .filter_map(|path| Path::new(path).canonicalize().ok()),
    );
    if temporary == TemporaryFolder::Shared {
        read_write.extend(Path::new("/tmp").canonicalize());
    }
    read_write.sort();
    read_write.dedup();
    let changeable: Vec<PathBuf> = roots.iter().chain(&read_write).cloned().collect();
    let read_only = profile.read_only_paths.iter();
    let named = profile.read_write_paths.iter().chain(read_only.clone());
    for path in named.chain(&profile.unix_sockets).map(Path::new) {
        if let Some(link) = links::replaceable(path, &changeable) {
            return Err(Unpreparable::Replaceable {
                path: path.to_path_buf(),
                link,
            });
        }
    }
    for path in read_only {
        let Ok(real) = Path::new(path).canonicalize() else {
            continue;
        };
        // Outside of what is writable it would only show what is private otherwise, and that is for those to say who may widen.
        if protect::is_within(&real, &read_write) || profile.revealed_paths.contains(path) {
            visible.push(real);
        }
    }

    let allowed = sockets::allowed(&profile.unix_sockets);
    // One in a writable folder is there already.
    let elsewhere = allowed
        .paths
        .iter()
        .filter(|path| !protect::is_within(path, &read_write));
    visible.extend(elsewhere.cloned());
    for path in roots.iter().chain(&read_write) {
        if crate::launch::mounts::is_special(path) {
            return Err(Unpreparable::TooWide(path.clone()));
        }
    }

    let mut plan = protect::plan(&read_write, &profile.read_only_patterns);
    let (inside, outside): (Vec<_>, Vec<_>) = visible
        .into_iter()
        .partition(|path| protect::is_within(path, &read_write) && !read_write.contains(path));
    plan.protected.extend(inside);
    protect_own(extras, &read_write, &mut plan)?;
    plan.protected.sort();
    plan.protected.dedup();

    let hidden_files = hide::hidden(profile, &extras.person, &roots, &read_write, &allowed.paths)?;
    plan.missing.extend(hidden_files.missing);
    let hidden = profile
        .masked_paths
        .iter()
        .map(PathBuf::from)
        .chain(extras.masked.iter().cloned());
    let mut masked: Vec<PathBuf> = hidden.filter_map(|path| path.canonicalize().ok()).collect();
    for path in &masked {
        if roots.iter().chain(&read_write).any(|root| root.starts_with(path)) {
            return Err(Unpreparable::HiddenWorkspace(path.clone()));
        }
    }
    let looked_at: Vec<PathBuf> = roots
        .iter()
        .filter(|root| !protect::is_within(root, &read_write))
        .cloned()
        .collect();
    let read_only = protect::scan::scan(&looked_at);
    let met = [plan.sockets.as_slice(), &read_only.sockets].concat();
    let reachable = sockets::reachable(&[&read_write, &outside], &met);
    if !reachable.complete {
        plan.missing
            .push("hidden sockets: there are more on this host than can be hidden".to_owned());
    }
    masked.extend(hidden_files.masked);
    masked.extend(reachable.paths.into_iter().filter(|path| !allowed.paths.contains(path)));
    masked.sort();
    masked.dedup();

    let bytes = |paths: &[PathBuf]| paths.iter().map(|path| path.as_os_str().as_bytes().to_vec()).collect();
    let layout = Layout {
        read_write: bytes(&read_write),
        protected: bytes(&plan.protected),
        visible: bytes(&outside),
        masked: bytes(&masked),
        tmp_read_only: temporary == TemporaryFolder::Closed,
        name_server: network.as_ref().map(|_| SERVICE.to_string()).unwrap_or_default(),
        ..Layout::default()
    };
    let mut warnings = protect::hardlinks::warnings(&plan.protected);
    warnings.extend(allowed.warnings);
    warnings.extend(reachable.warnings);
    if !read_only.complete {
        warnings.push("sockets of the outside: the workspace is too large to find all that lie in it".to_owned());
    }
    let needs_namespaces = namespaces::needed(profile, &roots, &masked);
    let (wanted, all) = placeholders::wanted(&plan);
    if !all {
        warnings.push(
            "protected folders that do not exist: there are too many repositories to keep all from appearing; those are looked for after the run"
                .to_owned(),
        );
    }
    Ok(Prepared {
        layout,
        plan,
        network,
        sockets: allowed.paths,
        warnings,
        wanted,
        needs_namespaces,
    })
}

/// Reads the rules for hosts. An entry that is not understood lets nothing run.
///
/// # Errors
/// If they are missing, or an entry is not understood.
pub fn network_rules(rules: Option<&v1::NetworkRules>) -> Result<NetworkRules, Unpreparable> {
    let rules = rules.ok_or(Unpreparable::Unknown("network_rules"))?;
    let read = |list: &[String]| {
        let entries = list.iter().map(|entry| HostRule::parse(entry));
        entries
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| Unpreparable::Unknown("network_rules"))
    };
    Ok(NetworkRules {
        default_allow: rules.default_allow,
        allow: read(&rules.allow)?,
        deny: read(&rules.deny)?,
    })
}

/// Adds what of Portcullis' own lies in a writable folder. Whoever could replace the data directory or the person's policy
/// would choose what is decided next, and by whom.
fn protect_own(extras: &Extras, read_write: &[PathBuf], plan: &mut Plan) -> Result<(), Unpreparable> {
    for path in &extras.own_folders {
        if !path.exists() && protect::is_within(&real_as_far_as_it_exists(path), read_write) {
            durable::private_folder(path).map_err(|source| Unpreparable::Unmade {
                path: path.clone(),
                source,
            })?;
        }
    }
    for path in extras.own_folders.iter().chain(&extras.own_files) {
        let links = path.ancestors().filter(|part| part.is_symlink());
        for link in links.filter(|link| protect::is_within(&real_as_far_as_it_exists(&parent(link)), read_write)) {
            plan.missing.push(format!(
                "own files: `{}` is a link in a writable folder, which a command can replace",
                link.display()
            ));
        }
        let Ok(real) = path.canonicalize() else { continue };
        if let Some(root) = read_write.iter().find(|root| root.starts_with(&real)) {
            return Err(Unpreparable::Own(root.clone()));
        }
        if protect::is_within(&real, read_write) {
            plan.protected.push(real);
        }
    }
    Ok(())
}

fn parent(path: &Path) -> PathBuf {
    path.parent().unwrap_or(path).to_path_buf()
}

/// The real path of the nearest ancestor that exists, with the rest as it is named.
fn real_as_far_as_it_exists(path: &Path) -> PathBuf {
    let nearest = path
        .ancestors()
        .find_map(|ancestor| Some((ancestor.canonicalize().ok()?, path.strip_prefix(ancestor).ok()?)));
    nearest.map_or_else(|| path.to_path_buf(), |(real, rest)| real.join(rest))
}
