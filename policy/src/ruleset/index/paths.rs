//! Keys of rules on files.
//!
//! A pattern with leading folders in words (`src/gen/**`) is filed under them and what they are below; one that may stand at
//! any depth (`.env`, `**/*.pem`) under the name, or the end or beginning of a name, that a path must hold for it. A path is
//! looked up from each place that patterns can be anchored at, with each of its folders, and by each of its segments.
//!
//! Case is folded in all keys, so that it is the pattern alone that says whether case counts.

use crate::{
    AbsPath,
    path::{Anchor, PathPattern, Reading, glob},
};

use super::{Builder, Index, Key, Kind, RuleId, sorted};

/// Most bytes of a name's beginning or end that a key takes in.
const MAX_BYTES: usize = 4;

/// Which kinds of key there are at all, so that no others are looked up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    anchors: [bool; 5],
    segments: bool,
    /// By length in bytes.
    beginnings: [bool; MAX_BYTES + 1],
    endings: [bool; MAX_BYTES + 1],
}

/// The places that patterns of a request can be anchored at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bases(Vec<(Anchor, AbsPath)>);

impl Bases {
    /// Adds a place.
    pub(crate) fn add(&mut self, anchor: Anchor, place: &AbsPath) {
        if !self.0.iter().any(|(own, known)| *own == anchor && known == place) {
            self.0.push((anchor, place.clone()));
        }
    }
}

fn flag(flags: &mut [bool], at: usize) {
    if let Some(flag) = flags.get_mut(at) {
        *flag = true;
    }
}

fn folders(anchor: Anchor) -> Key {
    Key::new(Kind::Folders).byte(anchor as u8)
}

impl Builder {
    pub(super) fn file_path(&mut self, pattern: Option<&PathPattern>, id: RuleId) {
        let Some(pattern) = pattern else {
            return self.file(Key::new(Kind::AnyPath), id);
        };
        for reading in pattern.readings() {
            let key = self.path_key(pattern.anchor(), reading);
            self.file(key, id);
        }
    }

    fn path_key(&mut self, anchor: Anchor, pattern: Reading<'_>) -> Key {
        let mut segments = pattern.segments().peekable();
        if segments.peek().is_none_or(|first| glob::is_literal(first)) {
            flag(&mut self.paths.anchors, anchor as usize);
            return segments
                .take_while(|segment| glob::is_literal(segment))
                .fold(folders(anchor), |key, segment| key.byte(b'/').folded(segment));
        }
        // Any of its segments will do; a whole name tells most.
        if let Some(name) = pattern.segments().find(|segment| glob::is_literal(segment)) {
            self.paths.segments = true;
            return Key::new(Kind::Segment).folded(name);
        }
        let ends = pattern.segments().map(|segment| {
            let end = segment.rsplit(['*', '?', ']']).next().unwrap_or_default();
            // The characters of a backslash and the case of letters beyond ASCII are left to the pattern.
            let plain = end.is_ascii() && !segment.contains('\\');
            if plain { end } else { "" }
        });
        let end = ends.max_by_key(|end| end.len()).unwrap_or_default();
        if !end.is_empty() {
            let end = end.get(end.len().saturating_sub(MAX_BYTES)..).unwrap_or_default();
            flag(&mut self.paths.endings, end.len());
            return Key::new(Kind::SegmentEnding).folded(end);
        }
        let beginnings = pattern.segments().map(|segment| {
            let beginning = segment.split(['*', '?', '[', '\\']).next().unwrap_or_default();
            if beginning.is_ascii() { beginning } else { "" }
        });
        let beginning = beginnings.max_by_key(|beginning| beginning.len()).unwrap_or_default();
        if !beginning.is_empty() {
            let beginning = beginning.get(..beginning.len().min(MAX_BYTES)).unwrap_or_default();
            flag(&mut self.paths.beginnings, beginning.len());
            return Key::new(Kind::SegmentBeginning).folded(beginning);
        }
        Key::new(Kind::AnyPath)
    }
}

impl Index {
    /// Rules on files, for any verb and effect, that can cover one of these paths.
    pub(crate) fn files<'p>(&self, paths: impl Iterator<Item = &'p AbsPath>, bases: &Bases) -> Vec<RuleId> {
        let mut found = self.under(Key::new(Kind::AnyPath)).to_vec();
        for path in paths {
            for (anchor, base) in &bases.0 {
                let known = self.paths.anchors.get(*anchor as usize).copied().unwrap_or(true);
                if let Some(rest) = path.below(base).filter(|_| known) {
                    let mut key = folders(*anchor);
                    found.extend_from_slice(self.under(key));
                    for segment in rest.split('/').filter(|segment| !segment.is_empty()) {
                        key = key.byte(b'/').folded(segment);
                        found.extend_from_slice(self.under(key));
                    }
                }
            }
            self.by_segments(path, &mut found);
        }
        sorted(found)
    }

    fn by_segments(&self, path: &AbsPath, found: &mut Vec<RuleId>) {
        let lengths = |flags: &[bool]| {
            let at: Vec<usize> = (1..flags.len()).filter(|at| flags.get(*at) == Some(&true)).collect();
            at
        };
        let (beginnings, endings) = (lengths(&self.paths.beginnings), lengths(&self.paths.endings));
        if !self.paths.segments && beginnings.is_empty() && endings.is_empty() {
            return;
        }
        for segment in path.segments() {
            let lower = (!segment.is_ascii()).then(|| segment.to_lowercase());
            let segment = lower.as_deref().unwrap_or(segment);
            if self.paths.segments {
                found.extend_from_slice(self.under(Key::new(Kind::Segment).folded(segment)));
            }
            // Where letters of several bytes are cut in two, no key of ASCII is there to be found.
            for length in &endings {
                if let Some(end) = segment.len().checked_sub(*length).and_then(|at| segment.get(at..)) {
                    found.extend_from_slice(self.under(Key::new(Kind::SegmentEnding).folded(end)));
                }
            }
            for length in &beginnings {
                if let Some(beginning) = segment.get(..*length) {
                    found.extend_from_slice(self.under(Key::new(Kind::SegmentBeginning).folded(beginning)));
                }
            }
        }
    }
}
