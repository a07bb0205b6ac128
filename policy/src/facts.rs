//! What the host found out about the world for one call.
//!
//! The engine reads no file; the host's daemon looks up what [`crate::facts_needed`] names. What is missing here is the
//! worst case: an unknown path may lead anywhere, an unknown repository runs programs.

mod mcp;
mod remotes;

use std::collections::{BTreeMap, BTreeSet};

use crate::AbsPath;

pub use mcp::{Approval, ConfiguredIn, Launch, McpServer, plain_name};
pub use remotes::{Repositories, RepositoryIdentity};

/// Facts about one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Whether a host vouches for these facts. Without a host they only narrow, and nothing of the host's is allowed.
    pub vouched: bool,
    /// Where paths really lead.
    pub paths: BTreeMap<AbsPath, PathFact>,
    /// What program names resolve to; `None` = nothing found.
    pub programs: BTreeMap<String, Option<AbsPath>>,
    /// The repository around the working directory.
    pub repository: Repository,
    /// The repositories around further folders that git looks at: `cd sub && git log`. One that is missing is not known.
    pub git_folders: BTreeMap<AbsPath, Repository>,
    /// Which repositories the call is made in, by their remotes.
    pub repositories: Repositories,
    /// The definitions of the MCP server that the call names, from the agent's configuration.
    pub mcp_servers: Vec<McpServer>,
    /// Whether the person trusts the project on this host.
    pub project_trusted: bool,
    /// Whether the enforcement point will run the command in its sandbox, and how well that holds.
    pub sandbox: SandboxOffer,
    /// What the host failed to read, one line each. Not empty means: no allow.
    pub failures: Vec<String>,
    /// Portcullis' own programs, configuration and state: changing them needs a person.
    pub own_paths: Vec<AbsPath>,
    /// Those of them that hold secrets or sockets: reading them is denied.
    pub own_secret_paths: Vec<AbsPath>,
    /// What lies in folders that a command reads as a whole. One that is missing can hold anything.
    pub trees: BTreeMap<AbsPath, Tree>,
}

/// The names that stand below a folder, links not followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Whether all of it was looked through.
    pub complete: bool,
    /// Names of files, links and others, each once, wherever they lie.
    pub files: BTreeSet<String>,
    /// Names of folders, each once.
    pub folders: BTreeSet<String>,
    /// Links, and where they really lead.
    pub links: BTreeMap<AbsPath, AbsPath>,
}

/// One path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathFact {
    /// Where it leads once symlinks are followed; `None` if that could not be found out.
    pub real: Option<AbsPath>,
    /// What stands there.
    pub kind: PathKind,
}

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// Not known.
    Unknown,
    /// Nothing.
    Absent,
    /// A regular file.
    File,
    /// A folder.
    Directory,
    /// A device, socket, pipe or other.
    Other,
}

/// The git repository around a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Repository {
    /// Not known: as bad as one that runs programs.
    #[default]
    Unknown,
    /// There is none.
    None,
    /// There is one.
    Known {
        /// Real path of the work tree.
        root: AbsPath,
        /// Keys of its configuration that make git run a program.
        executing_keys: Vec<String>,
    },
}

/// Whether the enforcement point will run the command in its sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SandboxOffer {
    /// It will not, or does not say.
    #[default]
    None,
    /// It will, and enforces only part of the profile.
    Partial,
    /// It will, and enforces all of it.
    Full,
}

/// What the host should look up for a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FactsNeeded {
    /// Paths to resolve.
    pub paths: Vec<AbsPath>,
    /// Program names to resolve.
    pub programs: Vec<String>,
    /// Folders to look through.
    pub trees: Vec<TreeNeeded>,
    /// Folders whose repository is to be found out, beside that of the working directory.
    pub git_folders: Vec<AbsPath>,
    /// Names that the MCP server of the call may have, as they stand in a tool's name (see [`plain_name`]).
    pub mcp_servers: Vec<String>,
}

/// A folder to look through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeNeeded {
    /// Which.
    pub folder: AbsPath,
    /// With all that lies below, rather than only what lies directly in it.
    pub deep: bool,
}
