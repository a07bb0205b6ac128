//! Path patterns with gitignore semantics, anchored as the Claude format anchors them.
//!
//! A pattern is read in one of two senses: an allow takes the narrow reading, a deny or ask the wide one, so that a text
//! that people read in two ways never allows more than either reading. It is matched as it is written (see `glob`): segment
//! by segment, against the beginning of a path, for a folder covers what lies below it. `plain` answers another question:
//! whether a pattern of the *shell* (`cat .e*`) can meet one of ours.
//!
//! It knows words only. Which path is looked at, as named or where it really leads, is the evaluator's business.

use std::ops::Range;

use super::{
    AbsPath,
    glob::{self, Brackets},
    plain,
};

mod cursor;
pub(crate) mod denial;
pub(crate) mod ignore;

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

/// What a pattern is compared below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Anchor {
    /// `//x`: the root of the file system.
    Root,
    /// `~/x`.
    Home,
    /// `/x`.
    Document,
    /// `x` and `./x`.
    Relative,
    /// `x` and `./x` in Cursor's words: the workspace root, whatever the working directory.
    Workspace,
}

/// What is special about a line of an ignore list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IgnoreKind {
    /// It ends with a slash: it speaks of folders only.
    pub(crate) folders: bool,
}

/// A pattern, ready to be matched. It holds its text and how to read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern {
    text: Box<str>,
    sense: PatternSense,
    anchor: Anchor,
    shape: Shape,
    /// Instead of the text: the globs that it stands for, where it is written in other words than ours.
    #[expect(
        clippy::box_collection,
        reason = "nearly no pattern has any, and each would pay for a longer pointer"
    )]
    globs: Option<Box<Vec<Box<str>>>>,
    /// It is a line of an ignore list.
    ignore: Option<IgnoreKind>,
}

/// How the segments of a text are compared with those of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    /// Where in the text the segments begin, behind what anchors them.
    begin: u8,
    /// Whether the segments may stand at any depth.
    any_depth: bool,
    /// Whether what they lead to is covered.
    itself: bool,
    /// Whether what lies below it is covered.
    below: bool,
    /// As which of these brackets count; both in the wide sense.
    classes: bool,
    literal_brackets: bool,
    /// A class that is in doubt covers.
    wide: bool,
    /// How many segments there are, without `**` at the end.
    segments: u16,
}

impl PathPattern {
    /// Longest pattern, in bytes: file systems take no longer path.
    pub const MAX_BYTES: usize = 4096;

    /// Reads a pattern.
    ///
    /// # Errors
    /// If it is empty, too long, or could never match a path.
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
        let (anchor, begin): (_, u8) = if text.starts_with("//") {
            (Anchor::Root, 2)
        } else if text == "~" {
            (Anchor::Home, 1)
        } else if text.starts_with("~/") {
            (Anchor::Home, 2)
        } else if text.starts_with('/') {
            (Anchor::Document, 1)
        } else {
            (Anchor::Relative, 0)
        };
        let dotted = text == "." || text.starts_with("./");
        let rest = text.get(usize::from(begin)..).unwrap_or_default();
        let folder_only = rest.ends_with('/');
        let mut segments: Vec<&str> = segments(rest).collect();
        if segments.contains(&"..") {
            return Err(invalid(
                "a pattern with `..` never matches: paths are compared after their dots are resolved",
                Some("write the folder itself, from `//`, `~/` or `/`".to_owned()),
            ));
        }
        segments.dedup_by(|a, b| *a == "**" && *b == "**");
        let wide = sense == PatternSense::Wide;
        let any_depth = anchor == Anchor::Relative
            && match segments.as_slice() {
                [one] => !dotted && *one != "**",
                // The agent takes `./src/**` of a deny for `src/**`.
                [folder, "**"] => wide && *folder != "**",
                _ => false,
            };
        let contents = segments.pop_if(|last| *last == "**").is_some();
        let itself = wide || segments.is_empty() || !(contents || folder_only);
        let brackets = segments
            .iter()
            .map(|segment| glob::brackets(segment))
            .fold(glob::Found::default(), glob::Found::and);
        let as_classes = !brackets.unsound && (wide || !brackets.doubtful);
        let as_written: Vec<&str> = self::segments(rest).collect();
        let count = as_written
            .iter()
            .rposition(|segment| *segment != "**")
            .map_or(0, |at| at + 1);
        Ok(Self {
            text: text.into(),
            sense,
            anchor,
            shape: Shape {
                begin,
                any_depth,
                itself,
                below: true,
                classes: as_classes,
                wide,
                literal_brackets: brackets.any && (wide || !as_classes),
                segments: u16::try_from(count).unwrap_or(u16::MAX),
            },
            globs: None,
            ignore: None,
        })
    }

    /// A pattern that is compared as each of these globs stands.
    fn of_globs(text: &str, sense: PatternSense, anchor: Anchor, globs: Vec<String>) -> Self {
        Self {
            text: text.into(),
            sense,
            anchor,
            shape: Shape::of_glob(text, sense == PatternSense::Wide),
            globs: Some(Box::new(globs.into_iter().map(String::into_boxed_str).collect())),
            ignore: None,
        }
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

    /// What is special about it, if it is a line of an ignore list.
    #[must_use]
    pub(crate) fn ignore(&self) -> Option<IgnoreKind> {
        self.ignore
    }

    /// Whether a path below a folder can be covered, when only these names stand there. See [`plain::can_lie_below`].
    pub(crate) fn can_lie_below(
        &self,
        folder: &AbsPath,
        anchors: &Anchors,
        mut is_there: impl FnMut(&[plain::Token], bool) -> bool,
    ) -> bool {
        let readings: Vec<_> = self.readings().flat_map(Reading::plain).collect();
        self.any_base(anchors, |base| {
            let base = plain::literal(base.segments());
            readings.iter().any(|ours| {
                let whole: Vec<&plain::Segment> = base.iter().chain(ours).collect();
                plain::can_lie_below(&whole, folder, &mut is_there)
            })
        })
    }

    /// Whether its own words name a place below a folder: where it is anchored, and its segments before the first wildcard.
    pub(crate) fn names_place_below(&self, folder: &AbsPath, anchors: &Anchors) -> bool {
        let named = |base: &AbsPath, reading: Reading<'_>| {
            let words = reading
                .segments()
                .take_while(|segment| !segment.contains(['*', '?', '[']));
            let place = words.fold(base.clone(), |place, name| place.join(&name.replace('\\', "")));
            place != *base && place != *folder && place.is_within(folder)
        };
        self.any_base(anchors, |base| self.readings().any(|reading| named(base, reading)))
    }

    /// The names with which it begins, behind a `**` for any depth, up to the first wildcard; nothing where there are none.
    pub(crate) fn first_names(&self) -> impl Iterator<Item = String> {
        let names = |reading: Reading<'_>| -> String {
            let words = reading.segments().skip_while(|segment| *segment == "**");
            let words = words.take_while(|segment| !segment.contains(['*', '?', '[']));
            words.map(|name| name.replace('\\', "")).collect::<Vec<_>>().join("/")
        };
        self.readings().map(names).filter(|names| !names.is_empty())
    }

    /// The names with which it ends; `None` where one of them is not certain.
    pub(crate) fn last_names(&self) -> Option<Vec<String>> {
        let name = |reading: Reading<'_>| {
            let last = reading.segments().last()?;
            (!last.contains(['*', '?', '[', '\\'])).then(|| last.to_owned())
        };
        self.readings().map(name).collect()
    }

    /// Whether it covers a path. A folder covers what lies below it.
    #[must_use]
    pub fn matches(&self, path: &AbsPath, anchors: &Anchors) -> bool {
        self.any_base(anchors, |base| {
            path.below(base)
                .is_some_and(|rest| self.readings().any(|reading| reading.covers(rest)))
        })
    }

    /// The texts that it is compared as.
    pub(crate) fn readings(&self) -> impl Iterator<Item = Reading<'_>> {
        let own = self.globs.is_none().then_some(Reading {
            text: &self.text,
            shape: self.shape,
        });
        let globs = self.globs.iter().flat_map(|globs| globs.iter());
        own.into_iter().chain(globs.map(|glob| Reading {
            text: glob,
            shape: Shape::of_glob(glob, self.sense == PatternSense::Wide),
        }))
    }

    /// What it is compared below.
    pub(crate) fn anchor(&self) -> Anchor {
        self.anchor
    }

    /// Whether it can cover one of the paths that a pattern of the shell stands for.
    #[must_use]
    pub fn meets(&self, shell_pattern: &str, anchors: &Anchors) -> bool {
        let theirs = plain::parse(shell_pattern);
        let readings: Vec<_> = self.readings().flat_map(Reading::plain).collect();
        self.any_base(anchors, |base| {
            let base = plain::literal(base.segments());
            readings.iter().any(|ours| {
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

impl Shape {
    /// How classes are read.
    fn brackets(self) -> Brackets {
        if self.wide { Brackets::Wide } else { Brackets::Class }
    }

    /// A glob is compared as it stands: `a/**` is what lies below `a`, `a` is `a` alone.
    fn of_glob(glob: &str, wide: bool) -> Self {
        let last = segments(glob)
            .enumerate()
            .filter(|(_, segment)| *segment != "**")
            .last();
        let count = last.map_or(0, |(at, _)| at + 1);
        let contents = segments(glob).last() == Some("**");
        Self {
            begin: 0,
            any_depth: false,
            itself: !contents || count == 0,
            below: contents,
            classes: true,
            literal_brackets: false,
            wide,
            segments: u16::try_from(count).unwrap_or(u16::MAX),
        }
    }
}

/// One of the texts that a pattern is compared as.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading<'p> {
    text: &'p str,
    shape: Shape,
}

impl<'p> Reading<'p> {
    /// Its segments, `**` among them, without `**` at the end.
    pub(crate) fn segments(self) -> impl Iterator<Item = &'p str> + Clone {
        let own = segments(self.text.get(usize::from(self.shape.begin)..).unwrap_or_default());
        let deep = self.shape.any_depth.then_some("**");
        deep.into_iter().chain(own.take(usize::from(self.shape.segments)))
    }

    /// Whether it covers what lies at `rest` below its anchor.
    fn covers(self, rest: &str) -> bool {
        (self.shape.classes && self.covers_as(rest, self.shape.brackets()))
            || (self.shape.literal_brackets && self.covers_as(rest, Brackets::Literal))
    }

    fn covers_as(self, rest: &str, brackets: Brackets) -> bool {
        let mut ours = self.segments();
        let mut theirs = rest.split('/').filter(|segment| !segment.is_empty());
        // Where to go on with one more segment under the last `**`: no earlier one need be tried again.
        let mut back = None;
        loop {
            match ours.next() {
                None => {
                    let lies_below = theirs.next().is_some();
                    if if lies_below {
                        self.shape.below
                    } else {
                        self.shape.itself
                    } {
                        return true;
                    }
                    if !lies_below {
                        return false;
                    }
                }
                Some("**") => {
                    back = Some((ours.clone(), theirs.clone()));
                    continue;
                }
                Some(own) => match theirs.next() {
                    None => return false,
                    Some(their) if glob::covers(own, their, brackets) => continue,
                    Some(_) => {}
                },
            }
            let Some((after, under)) = &mut back else {
                return false;
            };
            if under.next().is_none() {
                return false;
            }
            ours = after.clone();
            theirs = under.clone();
        }
    }

    /// The same as lists of segments.
    fn plain(self) -> impl Iterator<Item = Vec<plain::Segment>> {
        let as_lists = move |brackets| {
            let mut out: Vec<plain::Segment> = self
                .segments()
                .map(|segment| plain::segment(segment, brackets))
                .collect();
            if !self.shape.itself {
                out.push(plain::Segment::One(vec![plain::Token::Star]));
            }
            if self.shape.below {
                out.push(plain::Segment::Deep);
            }
            out
        };
        let classes = self.shape.classes.then(|| as_lists(Brackets::Class));
        let literal = self.shape.literal_brackets.then(|| as_lists(Brackets::Literal));
        classes.into_iter().chain(literal)
    }
}

/// The segments of a pattern behind its anchor. A backslash before a slash says nothing more than the slash.
fn segments(rest: &str) -> impl Iterator<Item = &str> + Clone {
    rest.split_inclusive('/')
        .map(|segment| match segment.strip_suffix('/') {
            Some(segment) => {
                let unescaped = segment.trim_end_matches('\\');
                let odd = (segment.len() - unescaped.len()) % 2 == 1;
                segment.strip_suffix('\\').filter(|_| odd).unwrap_or(segment)
            }
            None => segment,
        })
        .filter(|segment| !segment.is_empty() && *segment != ".")
}

#[cfg(test)]
mod tests;
