//! Lines of an ignore file, exactly as gitignore means them.
//!
//! A rule's pattern covers a folder and what lies in it by one text. In an ignore file the two differ as soon as a later
//! line begins with `!`: what is re-included is the thing itself, and nothing can be re-included below a folder that stays
//! ignored. So each line becomes two patterns: one for the thing, one for what lies below it. A later `!line` excepts the
//! first from the first and the second from the second.

use super::{Anchor, InvalidPattern, PathPattern, PatternSense};

/// Where the lines of a list count from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IgnoreBase {
    /// An ignore file: its own folder.
    File,
    /// A list of policy: names at any depth count everywhere, other lines from the workspace's root.
    Everywhere,
}

/// One line.
#[derive(Clone, Debug)]
pub(crate) struct IgnoreLine {
    /// It begins with `!`.
    pub(crate) negated: bool,
    /// The thing that it names.
    pub(crate) exact: PathPattern,
    /// What lies below that.
    pub(crate) below: PathPattern,
}

/// Reads a line; `None` for one that says nothing: empty, a comment, a lone slash.
pub(crate) fn line(text: &str, base: IgnoreBase) -> Result<Option<IgnoreLine>, InvalidPattern> {
    let text = text.strip_suffix('\r').unwrap_or(text);
    let body = without_blanks(text);
    if body.is_empty() || body.starts_with('#') {
        return Ok(None);
    }
    let (negated, body) = match body.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, body),
    };
    let folders = body.ends_with('/');
    let body = body.trim_end_matches('/');
    if body.is_empty() {
        return Ok(None);
    }
    let invalid = |message: &str, hint: &str| InvalidPattern {
        span: 0..text.len(),
        message: message.to_owned(),
        hint: Some(hint.to_owned()),
    };
    if body.len() > PathPattern::MAX_BYTES || body.contains('\0') {
        return Err(invalid(
            "the pattern is longer than a path can be, or holds a NUL",
            "shorten it",
        ));
    }
    if body.split('/').any(|segment| segment == ".." || segment == ".") {
        return Err(invalid(
            "a pattern with `.` or `..` as a name never matches",
            "write the path from the folder of the ignore file",
        ));
    }
    let placed = body.contains('/');
    let body = body.trim_start_matches('/');
    let body = if placed { body.to_owned() } else { format!("**/{body}") };
    let anchor = match base {
        IgnoreBase::File => Anchor::Document,
        IgnoreBase::Everywhere if body.starts_with("**/") => Anchor::Root,
        IgnoreBase::Everywhere => Anchor::Workspace,
    };
    let make = |reading: String, below: bool| {
        let sense = if negated {
            PatternSense::Narrow
        } else {
            PatternSense::Wide
        };
        PathPattern {
            ignore: Some(super::IgnoreKind {
                folders: folders && !below,
            }),
            ..PathPattern::of_globs(text, sense, anchor, vec![reading])
        }
    };
    Ok(Some(IgnoreLine {
        negated,
        below: make(format!("{body}/**"), true),
        exact: make(body, false),
    }))
}

/// Blanks at the end do not count, unless a backslash stands before them.
fn without_blanks(text: &str) -> &str {
    let mut end = text.len();
    while let Some(before) = text.get(..end).and_then(|text| text.strip_suffix(' ')) {
        if before.ends_with('\\') {
            break;
        }
        end = before.len();
    }
    text.get(..end).unwrap_or(text)
}
