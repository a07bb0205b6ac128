//! Whose word counts more: the layers a policy document can come from, and their rank.

use std::fmt;

/// Where a rule comes from.
///
/// INVARIANT: the order of the variants is the rank; a later one stands above an earlier one. A lower layer never turns a
/// higher layer's deny, ask or lock into allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// This person everywhere.
    User,
    /// Shared in the project.
    Project,
    /// This person in this project.
    Local,
    /// Flags of this session.
    Session,
    /// The team's admin.
    Team,
    /// Built into this version of Portcullis.
    Builtin,
}

impl Layer {
    /// All layers, lowest first.
    pub const ALL: [Self; 6] = [
        Self::User,
        Self::Project,
        Self::Local,
        Self::Session,
        Self::Team,
        Self::Builtin,
    ];

    /// Whether documents of this layer lie inside the project, so that whoever writes to the project writes them.
    #[must_use]
    pub fn is_inside_project(self) -> bool {
        matches!(self, Self::Project | Self::Local)
    }
}

impl Layer {
    /// As it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
            Self::Session => "session",
            Self::Team => "team",
            Self::Builtin => "builtin",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
