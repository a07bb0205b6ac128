//! What the sandbox makes unreadable: patterns as they travel to the host, and as the host compares them.
//!
//! The host does not judge calls here; it looks which of its files a pattern covers, to hide them. So a pattern says three
//! things: whether it covers a path, whether a folder that it covers can be hidden as a whole, and where outside of the
//! workspace a search for it has to begin. Looking at files is the host's business.

use super::{
    Anchor, Anchors, InvalidPattern, PathPattern, PatternSense, Reading,
    ignore::{IgnoreBase, line},
};
use crate::AbsPath;

/// How the text of a denial is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DenialReading {
    /// As a rule `Read(text)`.
    Rule,
    /// As a rule in Cursor's words.
    CursorRule,
    /// As a line of an ignore file.
    IgnoreFile,
    /// As a line of a policy's `ignore.patterns`.
    IgnoreList,
    /// As an entry of `denyRead`: a path, or a line as gitignore has them.
    Entry,
}

/// A denial as texts: what a document says, and what travels.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DenialText {
    /// How its texts are read.
    pub reading: DenialReading,
    /// The pattern.
    pub pattern: String,
    /// What `/x` in it starts at, and lines of an ignore file; `None` = the workspace's root.
    pub folder: Option<AbsPath>,
    /// Patterns of what it does not cover.
    pub exceptions: Vec<String>,
}

impl DenialText {
    /// Whether it names a place wherever the workspace lies: in the home folder, or from the root of the file system. Anything
    /// else is meant for what lies in the workspace.
    #[must_use]
    pub fn has_its_own_place(&self) -> bool {
        let root = match self.reading {
            DenialReading::Rule | DenialReading::CursorRule => "//",
            DenialReading::Entry => "/",
            DenialReading::IgnoreFile | DenialReading::IgnoreList => return false,
        };
        self.pattern.starts_with(root) || self.pattern.starts_with("~/")
    }
}

/// Where a search for what a denial covers begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// The folder, or the thing itself.
    pub path: AbsPath,
    /// How many folders deep it has to look below; 0 = the path is the thing itself, `None` = all.
    pub depth: Option<usize>,
}

/// A denial, ready to be compared with paths.
#[derive(Clone, Debug)]
pub struct ReadDenial {
    /// Patterns, each with what it does not cover.
    parts: Vec<(PathPattern, Vec<PathPattern>)>,
    anchors: Anchors,
    whole: bool,
}

impl ReadDenial {
    /// Reads a denial. `anchors.document` is put in from the denial's folder.
    ///
    /// # Errors
    /// If one of its texts is no pattern. Whoever hides files then does not know which.
    pub fn parse(text: &DenialText, anchors: &Anchors) -> Result<Self, InvalidPattern> {
        let mut anchors = anchors.clone();
        anchors.document = text.folder.clone().unwrap_or_else(|| anchors.root.clone());
        let rule = |parse: fn(&str, PatternSense) -> Result<PathPattern, InvalidPattern>| {
            let exceptions = text.exceptions.iter().map(|own| parse(own, PatternSense::Narrow));
            Ok(vec![(
                parse(&text.pattern, PatternSense::Wide)?,
                exceptions.collect::<Result<Vec<_>, _>>()?,
            )])
        };
        let parts = match text.reading {
            DenialReading::Rule => rule(PathPattern::parse)?,
            DenialReading::CursorRule => rule(PathPattern::parse_cursor)?,
            DenialReading::IgnoreFile => lines(&text.pattern, &text.exceptions, IgnoreBase::File)?,
            DenialReading::IgnoreList => lines(&text.pattern, &text.exceptions, IgnoreBase::Everywhere)?,
            DenialReading::Entry => entry(&text.pattern, &anchors.document)?,
        };
        let of_lines = matches!(text.reading, DenialReading::IgnoreFile | DenialReading::IgnoreList);
        Ok(Self {
            parts,
            anchors,
            whole: of_lines || text.exceptions.is_empty(),
        })
    }

    /// Whether a text can be an entry of `denyRead`.
    ///
    /// # Errors
    /// Why not.
    pub fn is_entry(text: &str) -> Result<(), InvalidPattern> {
        entry(text, &AbsPath::root()).map(|_| ())
    }

    /// Whether it covers a path.
    #[must_use]
    pub fn covers(&self, path: &AbsPath, is_folder: bool) -> bool {
        let fits = |pattern: &PathPattern| {
            let folders_only = pattern.ignore().is_some_and(|line| line.folders);
            (is_folder || !folders_only) && pattern.matches(path, &self.anchors)
        };
        self.parts
            .iter()
            .any(|(pattern, exceptions)| fits(pattern) && !exceptions.iter().any(fits))
    }

    /// Whether a folder that it covers is covered with everything in it: so for all but rules with exceptions, which may free
    /// a file of a covered folder. (Git takes nothing out of a folder that stays ignored.)
    #[must_use]
    pub fn covers_whole_folders(&self) -> bool {
        self.whole
    }

    /// Where what it covers lies: its literal beginnings.
    #[must_use]
    pub fn beginnings(&self) -> Vec<Beginning> {
        let mut found: Vec<Beginning> = Vec::new();
        for (pattern, _) in &self.parts {
            let mut add = |base: &AbsPath| {
                for reading in pattern.readings() {
                    let beginning = beginning(base, reading);
                    if !found.contains(&beginning) {
                        found.push(beginning);
                    }
                }
                false
            };
            pattern.any_base(&self.anchors, &mut add);
        }
        found
    }
}

fn beginning(base: &AbsPath, reading: Reading<'_>) -> Beginning {
    let segments: Vec<&str> = reading.segments().collect();
    let literal = |segment: &&&str| !segment.contains(['*', '?', '[', '\\']);
    let known = segments.iter().take_while(literal).count();
    let (known, rest) = segments.split_at(known);
    let path = known.iter().fold(base.clone(), |path, name| path.join(name));
    let depth = if !reading.shape.itself && rest.is_empty() {
        // What lies in a folder: the folder is not the thing, but nothing in it may be read.
        Some(0)
    } else {
        (!rest.contains(&"**")).then_some(rest.len())
    };
    Beginning { path, depth }
}

/// Lines of an ignore list: what each names, and what lies below that.
fn lines(
    pattern: &str,
    exceptions: &[String],
    base: IgnoreBase,
) -> Result<Vec<(PathPattern, Vec<PathPattern>)>, InvalidPattern> {
    let mut free = (Vec::new(), Vec::new());
    for text in exceptions {
        if let Some(read) = line(text, base)? {
            free.0.push(read.exact);
            free.1.push(read.below);
        }
    }
    Ok(line(pattern, base)?
        .map(|read| vec![(read.exact, free.0), (read.below, free.1)])
        .unwrap_or_default())
}

/// An entry of `denyRead`: absolute, in the home folder, by `..`, or a line as in an ignore file of `folder`.
fn entry(text: &str, folder: &AbsPath) -> Result<Vec<(PathPattern, Vec<PathPattern>)>, InvalidPattern> {
    let text = text.trim();
    let absolute = text.starts_with('/') || text.split('/').any(|segment| segment == "..");
    let home = text == "~" || text.starts_with("~/");
    if home {
        return Ok(vec![(PathPattern::parse(text, PatternSense::Wide)?, Vec::new())]);
    }
    if absolute {
        let path = folder.join(text);
        return Ok(vec![(
            PathPattern::parse(&format!("/{path}"), PatternSense::Wide)?,
            Vec::new(),
        )]);
    }
    if text.starts_with('!') {
        return Err(InvalidPattern {
            span: 0..text.len(),
            message: "nothing is taken out of `denyRead` again".to_owned(),
            hint: Some("write `\\!` for a name that begins so".to_owned()),
        });
    }
    // `./x` is how a shell names what lies in the folder itself.
    let line = match text.strip_prefix("./") {
        Some(rest) => format!("/{}", rest.trim_start_matches("./")),
        None => text.to_owned(),
    };
    lines(&line, &[], IgnoreBase::File)
}

impl PathPattern {
    /// The denial that a deny rule with this pattern is; the folder is put in by whoever knows it.
    pub(crate) fn as_denial(&self, exceptions: &[Self]) -> DenialText {
        let reading = match (self.ignore, self.anchor) {
            // Only Cursor's words are kept as the globs that they stand for.
            (None, _) if self.globs.is_some() => DenialReading::CursorRule,
            (None, _) => DenialReading::Rule,
            (Some(_), Anchor::Document) => DenialReading::IgnoreFile,
            (Some(_), _) => DenialReading::IgnoreList,
        };
        DenialText {
            reading,
            pattern: self.text.to_string(),
            folder: None,
            exceptions: exceptions.iter().map(|own| own.text.to_string()).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
