//! What this host finds out about a call before it is decided.
//!
//! A fact that cannot be had is left out or said to be a failure; the engine takes the worst case then. Nothing here runs a
//! program or writes a file. Bounded in steps and in time; blocking, so it runs on a thread of its own.

mod agents;
pub mod documents;
pub mod mcp;
pub mod programs;
pub mod remotes;
pub mod repository;
pub mod resolve;
pub mod trees;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use portcullis_proto::convert::{InvalidMessage, facts_needed};
use portcullis_proto::v1::{self, GitFolderFact, HostFacts, PathFact, PathKind, ProgramFact};

use crate::approvals::Approvals;
use crate::places::Places;
use crate::trust::Trust;

/// Longest time that is spent on the paths of one call. Two seconds are left for the server.
const TIME: Duration = Duration::from_millis(1500);

/// Most paths that are looked up; the wire takes no more.
const MAX_PATHS: usize = 20_000;

/// What is known beside the call itself.
#[derive(Debug)]
pub struct Host<'a> {
    /// Where things are.
    pub places: &'a Places,
    /// Trusted projects.
    pub trust: &'a Trust,
    /// Approved MCP servers.
    pub approvals: &'a Approvals,
    /// Fingerprint of the host's key.
    pub host_id: &'a str,
    /// The user who asks.
    pub uid: u32,
    /// What the sandbox enforces.
    pub sandbox: v1::Enforcement,
    /// Where programs are looked for.
    pub search_path: &'a str,
}

/// What was found, and what has to be remembered for the launch.
#[derive(Debug)]
pub struct Gathered {
    /// For the server.
    pub facts: HostFacts,
    /// Where the working directory leads.
    pub cwd: Option<PathBuf>,
    /// Where the workspace's folders lead; `None` if one leads nowhere.
    pub roots: Option<Vec<PathBuf>>,
}

/// Gathers the facts.
///
/// # Errors
/// If the message cannot be understood; the server would refuse it too.
pub fn gather(message: &v1::DecideRequest, host: &Host<'_>) -> Result<Gathered, InvalidMessage> {
    let needed = facts_needed(message)?;
    let workspace = message.workspace.clone().unwrap_or_default();
    let until = Instant::now() + TIME;
    let mut failures = Vec::new();

    let mut paths = Vec::new();
    for path in needed.paths.iter().take(MAX_PATHS) {
        if Instant::now() > until {
            failures.push(format!(
                "{} of {} paths were not looked up in time",
                needed.paths.len() - paths.len(),
                needed.paths.len()
            ));
            break;
        }
        paths.push(path_fact(path.as_str()));
    }
    if needed.paths.len() > MAX_PATHS {
        failures.push(format!("the call names more than {MAX_PATHS} paths"));
    }
    let cwd = Path::new(&workspace.cwd);
    let programs = needed
        .programs
        .iter()
        .take(MAX_PATHS)
        .map(|name| ProgramFact {
            name: name.clone(),
            path: programs::find(name, cwd, host.search_path).unwrap_or_default(),
        })
        .collect();

    let root = Path::new(workspace.roots.first().map_or("", String::as_str));
    let project = repository::project_root(root);
    let project_trusted = match project.as_deref().map(|project| host.trust.contains(project)) {
        Some(Ok(trusted)) => trusted,
        Some(Err(failure)) => {
            failures.push(failure);
            false
        }
        None => false,
    };
    let mcp_servers = if needed.mcp_servers.is_empty() {
        Vec::new()
    } else {
        mcp::servers(
            &needed.mcp_servers,
            message,
            project.as_deref(),
            project_trusted,
            host,
            &mut failures,
        )
    };
    let folders = workspace.roots.iter().map(PathBuf::from).chain([cwd.to_path_buf()]);
    let repositories = remotes::repositories(folders, host.places.home.as_deref());
    let agent = message.agent.clone().unwrap_or_default();
    let caller = documents::Caller {
        agent: &agent,
        start: root,
        project: project.as_deref(),
    };
    let documents = documents::read(host.places, caller, &mut failures);
    Ok(Gathered {
        facts: HostFacts {
            host_id: host.host_id.to_owned(),
            uid: host.uid,
            paths,
            programs,
            repository: Some(repository::repository(cwd)),
            repositories,
            mcp_servers,
            project_trusted,
            documents,
            sandbox: Some(host.sandbox.clone()),
            failures,
            own_paths: texts(&host.places.own()),
            own_secret_paths: texts(&host.places.secret()),
            git_folders: needed
                .git_folders
                .iter()
                .take_while(|_| Instant::now() <= until)
                .map(|folder| GitFolderFact {
                    folder: folder.to_string(),
                    repository: Some(repository::repository_below(Path::new(folder.as_str()))),
                })
                .collect(),
            trees: trees::look_through(&needed.trees, until),
        },
        cwd: cwd.canonicalize().ok(),
        roots: workspace
            .roots
            .iter()
            .map(|root| Path::new(root).canonicalize().ok())
            .collect(),
    })
}

fn path_fact(path: &str) -> PathFact {
    let (real_path, kind) = match resolve::resolve(Path::new(path)) {
        Some(found) => match found.path.into_os_string().into_string() {
            Ok(real) => (real, found.kind),
            Err(_) => (String::new(), PathKind::Unspecified),
        },
        None => (String::new(), PathKind::Unspecified),
    };
    PathFact {
        path: path.to_owned(),
        real_path,
        kind: kind.into(),
    }
}

/// Real paths where they exist, else as they are named: what does not exist yet is ours too.
fn texts(paths: &[PathBuf]) -> Vec<String> {
    let mut texts: Vec<String> = paths
        .iter()
        .flat_map(|path| [path.canonicalize().ok(), Some(path.clone())])
        .flatten()
        .filter_map(|path| path.into_os_string().into_string().ok())
        .collect();
    texts.sort();
    texts.dedup();
    texts
}
