//! Path patterns with gitignore semantics, anchored as the Claude format anchors them.

use super::AbsPath;

/// What the prefixes of a pattern stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchors {
    /// `/x`: the folder of the document's project; in team policy and session rules the workspace root.
    pub document: AbsPath,
    /// `~/x`.
    pub home: Option<AbsPath>,
    /// `x` and `./x`: the working directory.
    pub cwd: AbsPath,
}

/// Whether a pattern is to widen or to narrow: `src/**` is one place as allow and any depth as deny.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternSense {
    /// For an allow: the narrow reading.
    Narrow,
    /// For a deny or ask: the wide reading.
    Wide,
}

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct PathPattern {}
