//! Path patterns with gitignore semantics, anchored as the Claude format anchors them.
//!
//! A pattern is read in one of two senses: an allow takes the narrow reading, a deny or ask the wide one, so that a text
//! that people read in two ways never allows more than either reading. Matching is done by `globset`; `plain` holds the
//! same patterns as lists of segments, which answers a question globset cannot: whether a pattern of the *shell*
//! (`cat .e*`) can meet one of ours.
//!
//! It knows words only. Which path is looked at, as named or where it really leads, is the evaluator's business.

use std::ops::Range;

use globset::{GlobBuilder, GlobMatcher};

use super::{AbsPath, plain};

mod cursor;

/// What the prefixes of a pattern stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchors {
    /// `/x`: the folder of the document's project; in team policy and session rules the workspace root.
    pub document: AbsPath,
    /// `~/x`.
    pub home: Option<AbsPath>,
    /// `x` and `./x`: the working directory.
    pub cwd: AbsPath,
    /// The workspace root: where `x` of a deny or ask counts too, so that changing the directory does not lift it.
    pub root: AbsPath,
}

/// Whether a pattern is to widen or to narrow: `src/**` is one place as allow and any depth as deny.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternSense {
    /// For an allow: the narrow reading.
    Narrow,
    /// For a deny or ask: the wide reading.
    Wide,
}

impl PatternSense {
    /// The other one, for an exception to a rule.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Narrow => Self::Wide,
            Self::Wide => Self::Narrow,
        }
    }
}

/// A text that is no path pattern, or one that could never match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidPattern {
    /// The faulty bytes of the text.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anchor {
    Root,
    Home,
    Document,
    /// `x` and `./x`.
    Relative,
    /// `x` and `./x` in Cursor's words: the workspace root, whatever the working directory.
    Workspace,
}

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct PathPattern {
    text: String,
    sense: PatternSense,
    anchor: Anchor,
    globs: Vec<GlobMatcher>,
    plain: Vec<Vec<plain::Segment>>,
}

impl PathPattern {
    /// Longest pattern, in bytes: file systems take no longer path.
    pub const MAX_BYTES: usize = 4096;

    /// Reads a pattern.
    ///
    /// # Errors
    /// If it is empty, too long, not a glob, or could never match a path.
    pub fn parse(text: &str, sense: PatternSense) -> Result<Self, InvalidPattern> {
        let invalid = |message: &str, hint: Option<String>| InvalidPattern {
            span: 0..text.len(),
            message: message.to_owned(),
            hint,
        };
        if text.is_empty() {
            return Err(invalid(
                "the path pattern is empty",
                Some("write `**` for every path".to_owned()),
            ));
        }
        if text.len() > Self::MAX_BYTES {
            return Err(invalid("the path pattern is longer than a path can be", None));
        }
        if text.contains('\0') {
            return Err(invalid("a path holds no NUL byte", None));
        }
        if let [letter, b':', b'\\' | b'/', ..] = text.as_bytes()
            && letter.is_ascii_alphabetic()
        {
            let rest = text.get(3..).unwrap_or_default().replace('\\', "/");
            let drive = letter.to_ascii_lowercase() as char;
            return Err(invalid(
                "a drive letter is not part of a path here",
                Some(format!("write `//{drive}/{rest}`")),
            ));
        }
        let (anchor, rest, dotted) = if let Some(rest) = text.strip_prefix("//") {
            (Anchor::Root, rest, false)
        } else if text == "~" {
            (Anchor::Home, "", false)
        } else if let Some(rest) = text.strip_prefix("~/") {
            (Anchor::Home, rest, false)
        } else if let Some(rest) = text.strip_prefix('/') {
            (Anchor::Document, rest, false)
        } else if let Some(rest) = text.strip_prefix("./") {
            (Anchor::Relative, rest, true)
        } else if text == "." {
            (Anchor::Relative, "", true)
        } else {
            (Anchor::Relative, text, false)
        };
        let folder_only = rest.ends_with('/');
        let mut segments: Vec<&str> = rest.split('/').filter(|s| !s.is_empty() && *s != ".").collect();
        segments.dedup_by(|a, b| *a == "**" && *b == "**");
        if segments.contains(&"..") {
            return Err(invalid(
                "a pattern with `..` never matches: paths are compared after their dots are resolved",
                Some("write the folder itself, from `//`, `~/` or `/`".to_owned()),
            ));
        }
        let any_depth = anchor == Anchor::Relative
            && match segments.as_slice() {
                [one] => !dotted && *one != "**",
                // The agent takes `./src/**` of a deny for `src/**`.
                [folder, "**"] => sense == PatternSense::Wide && *folder != "**",
                _ => false,
            };
        let mut body = segments.join("/");
        if any_depth {
            body = format!("**/{body}");
        }
        Self::compile(text, sense, anchor, readings(&body, sense, folder_only))
    }

    fn compile(text: &str, sense: PatternSense, anchor: Anchor, readings: Vec<String>) -> Result<Self, InvalidPattern> {
        let mut pattern = Self {
            text: text.to_owned(),
            sense,
            anchor,
            globs: Vec::new(),
            plain: Vec::new(),
        };
        for reading in readings {
            let mut segments = plain::parse(&reading);
            if reading.ends_with("/**") {
                // What lies inside, not the folder itself.
                segments.insert(
                    segments.len().saturating_sub(1),
                    plain::Segment::One(vec![plain::Token::Star]),
                );
            }
            pattern.plain.push(segments);
            let glob = GlobBuilder::new(&without_slashes(&reading))
                .literal_separator(true)
                .backslash_escape(true)
                .build()
                .map_err(|fault| InvalidPattern {
                    span: 0..text.len(),
                    message: "the path pattern is no glob".to_owned(),
                    hint: Some(fault.kind().to_string()),
                })?;
            pattern.globs.push(glob.compile_matcher());
        }
        Ok(pattern)
    }

    /// Reads a pattern in Cursor's words: relative to the workspace root, `/x` from the file system root, `*` and `?`
    /// within a segment, `**` across. As allow it covers what it matches and no more; as deny also what lies below.
    ///
    /// # Errors
    /// If it is empty, too long, or could never match a path.
    pub fn parse_cursor(text: &str, sense: PatternSense) -> Result<Self, InvalidPattern> {
        cursor::parse(text, sense)
    }

    /// As written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it covers a path. A folder covers what lies below it.
    #[must_use]
    pub fn matches(&self, path: &AbsPath, anchors: &Anchors) -> bool {
        self.any_base(anchors, |base| {
            path.below(base).is_some_and(|rest| {
                if rest.is_empty() {
                    // `*` of a glob takes the empty text, but the folder itself has no name that a `*` could stand for.
                    let nothing = |reading: &Vec<plain::Segment>| reading.iter().all(|s| *s == plain::Segment::Deep);
                    self.plain.iter().any(nothing)
                } else {
                    self.globs.iter().any(|glob| glob.is_match(rest))
                }
            })
        })
    }

    /// Whether it can cover one of the paths that a pattern of the shell stands for.
    #[must_use]
    pub fn meets(&self, shell_pattern: &str, anchors: &Anchors) -> bool {
        let theirs = plain::parse(shell_pattern);
        self.any_base(anchors, |base| {
            let base = plain::literal(base.segments());
            self.plain.iter().any(|ours| {
                let whole: Vec<&plain::Segment> = base.iter().chain(ours).collect();
                plain::meet(&whole, &theirs)
            })
        })
    }

    /// Whether one of the folders it may be anchored at passes a test.
    fn any_base(&self, anchors: &Anchors, mut test: impl FnMut(&AbsPath) -> bool) -> bool {
        match self.anchor {
            Anchor::Root => test(&AbsPath::root()),
            Anchor::Home => anchors.home.as_ref().is_some_and(test),
            Anchor::Document => test(&anchors.document),
            Anchor::Workspace => test(&anchors.root),
            Anchor::Relative => {
                test(&anchors.cwd)
                    || (self.sense == PatternSense::Wide && anchors.root != anchors.cwd && test(&anchors.root))
            }
        }
    }

    /// Whether `/x` was written although `//x` is likely meant, as in `/etc/passwd`.
    #[must_use]
    pub fn looks_absolute(&self) -> bool {
        const TOP: [&str; 14] = [
            "bin", "boot", "dev", "etc", "home", "opt", "private", "proc", "root", "sys", "tmp", "usr", "var", "Users",
        ];
        self.anchor == Anchor::Document
            && self
                .text
                .split('/')
                .nth(1)
                .is_some_and(|first| TOP.contains(&first) && self.text.matches('/').count() > 1)
    }
}

/// The globs that a body stands for: itself, what lies below it, and in the wide sense the folder of `folder/**` and the
/// words of `[slug]` as they stand, which people mean as often as the character class.
fn readings(body: &str, sense: PatternSense, folder_only: bool) -> Vec<String> {
    let wide = sense == PatternSense::Wide;
    let classes = escape(body, Brackets::Classes);
    let mut bodies = vec![classes.clone()];
    if body.contains('[') {
        if wide || GlobBuilder::new(&classes).build().is_err() {
            bodies.push(escape(body, Brackets::Literal));
        }
        bodies.retain(|body| GlobBuilder::new(body).backslash_escape(true).build().is_ok());
    }
    let mut all = Vec::new();
    for body in bodies {
        if body.is_empty() {
            all.push(String::new());
            all.push("**".to_owned());
        } else if body == "**" {
            all.push(body);
        } else if let Some(folder) = body.strip_suffix("/**") {
            if wide && !folder.is_empty() {
                all.push(folder.to_owned());
            }
            all.push(body);
        } else {
            all.push(format!("{body}/**"));
            if wide || !folder_only {
                all.push(body);
            }
        }
    }
    all
}

/// What brackets in a body are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Brackets {
    /// Ordinary characters.
    Literal,
    /// Classes, where they close within their segment.
    Classes,
}

/// The class that `text`, what follows its opening bracket, begins with, up to its closing bracket; `None` if it does not
/// close within its segment: then the bracket is an ordinary character.
fn class(text: &str) -> Option<&str> {
    let segment = text.split('/').next().unwrap_or_default();
    // `[]a]` and `[!]a]`: a bracket right at the beginning belongs to the class.
    let skip = usize::from(segment.starts_with(['!', '^']));
    let first = segment.get(skip..)?.chars().next()?.len_utf8();
    let close = segment.get(skip + first..)?.find(']')?;
    segment.get(..skip + first + close)
}

/// A reading for globset: no class matches a slash, as negated ones and ranges such as `[+-9]` would there.
fn without_slashes(reading: &str) -> String {
    let mut out = String::with_capacity(reading.len());
    let mut chars = reading.chars();
    while let Some(c) = chars.next() {
        out.push(c);
        match c {
            '\\' => out.extend(chars.next()),
            '[' => {
                let Some(class) = class(chars.as_str()) else { continue };
                chars = chars.as_str().get(class.len() + 1..).unwrap_or_default().chars();
                match class.strip_prefix(['!', '^']) {
                    Some(rest) if rest.starts_with(']') => out.extend(["!", rest, "/"]),
                    Some(rest) => out.extend(["!/", rest]),
                    None => out.push_str(&split_at_slash(class)),
                }
                out.push(']');
            }
            _ => {}
        }
    }
    out
}

/// The class with each range that takes the slash in cut in two around it.
fn split_at_slash(class: &str) -> String {
    let mut out = String::new();
    let mut rest = class;
    while let Some(from) = rest.chars().next() {
        let after = rest.get(from.len_utf8()..).unwrap_or_default();
        let range = after
            .strip_prefix('-')
            .and_then(|after| Some((after.chars().next()?, after)));
        let Some((to, behind)) = range else {
            out.push(from);
            rest = after;
            continue;
        };
        rest = behind.get(to.len_utf8()..).unwrap_or_default();
        if from <= '/' && '/' <= to {
            if from < '/' {
                out.extend([from, '-', '.']);
            }
            if '/' < to {
                out.extend(['0', '-', to]);
            }
        } else {
            out.extend([from, '-', to]);
        }
    }
    out
}

/// Braces are ordinary characters in gitignore and groups in globset.
fn escape(body: &str, brackets: Brackets) -> String {
    let mut out = String::with_capacity(body.len());
    let mut chars = body.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                out.push(c);
                // A backslash at the end is one more ordinary character.
                out.push(chars.next().unwrap_or('\\'));
            }
            '{' | '}' => {
                out.push('\\');
                out.push(c);
            }
            '[' => match class(chars.as_str()).filter(|_| brackets == Brackets::Classes) {
                Some(class) => {
                    out.extend(["[", class, "]"]);
                    chars = chars.as_str().get(class.len() + 1..).unwrap_or_default().chars();
                }
                None => out.push_str("\\["),
            },
            ']' => out.push_str("\\]"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
