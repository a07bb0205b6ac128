//! Absolute paths as text, and patterns over them.
//!
//! Lexical only: `..` is resolved by words. Where a path really leads is a fact of the host ([`crate::facts`]).

pub(crate) mod bracket;
pub(crate) mod glob;
mod pattern;
pub(crate) mod plain;

pub use pattern::denial::{Beginning, DenialReading, DenialText, ReadDenial};
pub(crate) use pattern::{Anchor, Reading, ignore};
pub use pattern::{Anchors, InvalidPattern, PathPattern, PatternSense};

use std::{fmt, sync::Arc};

/// An absolute path: begins with `/`, has no empty, `.` or `..` segment, no NUL, and no slash at its end (`/` excepted). Cheap to
/// clone: a decision keeps the same few folders in many places.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AbsPath(Arc<str>);

/// A text that is no absolute path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an absolute path")]
pub struct NotAbsolute(pub String);

impl AbsPath {
    /// Reads an absolute path and removes `.`, `..` and empty segments by words.
    ///
    /// # Errors
    /// If the text does not begin with `/` or holds a NUL.
    pub fn parse(text: &str) -> Result<Self, NotAbsolute> {
        if !text.starts_with('/') || text.contains('\0') {
            return Err(NotAbsolute(text.to_owned()));
        }
        if is_plain(text) {
            return Ok(Self(text.into()));
        }
        let mut kept = String::with_capacity(text.len());
        for segment in text.split('/') {
            match segment {
                "" | "." => {}
                ".." => kept.truncate(kept.rfind('/').unwrap_or_default()),
                other => {
                    kept.push('/');
                    kept.push_str(other);
                }
            }
        }
        if kept.is_empty() {
            kept.push('/');
        }
        Ok(Self(kept.into()))
    }

    /// The file system root.
    #[must_use]
    pub fn root() -> Self {
        Self("/".into())
    }

    /// What `text` means in this directory. A NUL ends it, as it would for the kernel.
    #[must_use]
    pub fn join(&self, text: &str) -> Self {
        let text = text.split('\0').next().unwrap_or_default();
        let whole = if text.starts_with('/') {
            text.to_owned()
        } else {
            format!("{}/{text}", self.0)
        };
        Self::parse(&whole).unwrap_or_else(|_| Self::root())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is `ancestor` or lies below it.
    #[must_use]
    pub fn is_within(&self, ancestor: &Self) -> bool {
        self.below(ancestor).is_some()
    }

    /// The rest below `ancestor`, without a leading slash (empty for the same path); `None` if it is not below.
    #[must_use]
    pub fn below(&self, ancestor: &Self) -> Option<&str> {
        if &*ancestor.0 == "/" {
            return self.0.strip_prefix('/');
        }
        let rest = self.0.strip_prefix(&*ancestor.0)?;
        if rest.is_empty() {
            Some(rest)
        } else {
            rest.strip_prefix('/')
        }
    }

    /// The directory it lies in; `None` for `/`.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let (before, last) = self.0.rsplit_once('/')?;
        match (before, last) {
            ("", "") => None,
            ("", _) => Some(Self::root()),
            _ => Some(Self(before.into())),
        }
    }

    /// Its segments, outermost first.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|segment| !segment.is_empty())
    }

    /// Its last segment; empty for `/`.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }
}

/// Whether nothing has to be taken out of an absolute path.
fn is_plain(text: &str) -> bool {
    text.get(1..)
        .is_some_and(|rest| rest.split('/').all(|segment| !matches!(segment, "" | "." | "..")))
}

impl fmt::Display for AbsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for AbsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(text: &str) -> AbsPath {
        AbsPath::parse(text).unwrap()
    }

    #[test]
    fn dots_and_empty_segments_go() {
        assert_eq!(p("/a//b/./../c/").as_str(), "/a/c");
        assert_eq!(p("/../..").as_str(), "/");
        assert!(AbsPath::parse("a").is_err() && AbsPath::parse("").is_err() && AbsPath::parse("/a\0b").is_err());
    }

    #[test]
    fn a_sibling_with_the_same_beginning_is_not_within() {
        assert!(p("/a/b").is_within(&p("/a")) && p("/a").is_within(&p("/a")) && p("/a").is_within(&p("/")));
        assert!(!p("/ab").is_within(&p("/a")));
        assert_eq!(p("/a/b/c").below(&p("/a")), Some("b/c"));
    }

    #[test]
    fn joining_takes_absolute_paths_as_they_are() {
        assert_eq!(p("/w").join("../x").as_str(), "/x");
        assert_eq!(p("/w").join("/etc/passwd").as_str(), "/etc/passwd");
        assert_eq!(p("/w").join("a\0b").as_str(), "/w/a");
        assert_eq!(p("/w").parent(), Some(AbsPath::root()));
        assert_eq!(AbsPath::root().parent(), None);
    }
}
