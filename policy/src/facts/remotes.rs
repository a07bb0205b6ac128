//! Which repositories a call is made in, by the remotes that their configuration names.

use crate::AbsPath;

/// The repositories around the working directory and the workspace's folders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Repositories {
    /// Not known: as bad as one that the team blocks.
    #[default]
    Unknown,
    /// All of them.
    Known(Vec<RepositoryIdentity>),
}

/// What is known about one repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryIdentity {
    /// Real path of its work tree; of a folder in no repository, the folder itself.
    pub root: AbsPath,
    /// The addresses of all its remotes, as configured and as git would rewrite them; empty if there are none.
    pub remotes: Vec<String>,
}
