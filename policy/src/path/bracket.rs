//! Bracket expressions of patterns, as POSIX has them: what follows a `[`.
//!
//! A `]` right at the beginning is a character, `!` or `^` in front of everything negates, a backslash takes the meaning from
//! what follows it, and `[:alpha:]`, `[.x.]` and `[=x=]` stand for several characters or one. Where an expression ends and
//! what it covers is decided here alone: the patterns of rules and those of the shell must not differ about it.
//!
//! What is in doubt (a class that nobody knows, letters that a locale takes for equal, a range that ends before it begins)
//! covers every character for whoever asks widely, and none for others. Nothing here knows `/`.

/// A bracket expression, held against one character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Read<'p> {
    /// Whether it covers the character.
    pub(crate) covers: bool,
    /// Whether programs may disagree about what it covers.
    pub(crate) doubtful: bool,
    /// What stands behind it.
    pub(crate) rest: &'p str,
}

/// What one member of an expression stands for.
enum Member<'p> {
    One(char),
    /// A letter and what a locale may take for the same.
    Alike(char),
    Class(&'p str),
    Unknown,
}

impl Member<'_> {
    fn is_doubtful(&self) -> bool {
        match self {
            Self::One(_) => false,
            Self::Alike(_) | Self::Unknown => true,
            Self::Class(name) => !CLASSES.contains(name),
        }
    }
}

/// The classes of POSIX.
const CLASSES: [&str; 12] = [
    "alpha", "digit", "alnum", "upper", "lower", "space", "blank", "punct", "print", "graph", "cntrl", "xdigit",
];

/// Reads the expression that stands behind its `[`, and says whether it covers a character; `None` if it is none.
pub(crate) fn read(text: &str, their: char, wide: bool) -> Option<Read<'_>> {
    let negated = text.starts_with(['!', '^']);
    let mut rest = text.get(usize::from(negated)..)?;
    // A negated class is wide if what it leaves out is narrow.
    let generous = wide != negated;
    let (mut within, mut doubtful, mut first) = (false, false, true);
    loop {
        if let Some(behind) = rest.strip_prefix(']').filter(|_| !first) {
            rest = behind;
            break;
        }
        first = false;
        let (low, behind) = member(rest)?;
        rest = behind;
        let range = rest.strip_prefix('-').filter(|behind| !behind.starts_with(']'));
        let Some(behind) = range else {
            let (sure, maybe) = covered(&low, their);
            doubtful |= low.is_doubtful();
            within |= if generous { maybe } else { sure };
            continue;
        };
        let (high, behind) = member(behind)?;
        rest = behind;
        match (low, high) {
            (Member::One(low), Member::One(high)) if low <= high => within |= (low..=high).contains(&their),
            _ => {
                doubtful = true;
                within |= generous;
            }
        }
    }
    Some(Read {
        covers: within != negated,
        doubtful,
        rest,
    })
}

/// Where the expression behind a `[` ends: what stands behind its `]`.
pub(crate) fn behind(text: &str) -> Option<&str> {
    read(text, ']', true).map(|read| read.rest)
}

/// One member of an expression, and what stands behind it.
fn member(text: &str) -> Option<(Member<'_>, &str)> {
    for mark in [":", ".", "="] {
        let Some(inner) = text.strip_prefix('[').and_then(|text| text.strip_prefix(mark)) else {
            continue;
        };
        // Without its end it is a `[` among the characters.
        let Some((name, rest)) = inner.split_once(&format!("{mark}]")) else {
            continue;
        };
        let mut chars = name.chars();
        let single = chars.next().filter(|_| chars.next().is_none());
        let member = match (mark, single) {
            (":", _) => Member::Class(name),
            (".", Some(c)) => Member::One(c),
            ("=", Some(c)) => Member::Alike(c),
            _ => Member::Unknown,
        };
        return Some((member, rest));
    }
    let mut chars = text.chars();
    let c = match chars.next()? {
        '\\' => chars.next()?,
        c => c,
    };
    Some((Member::One(c), chars.as_str()))
}

/// Whether a member covers a character: for sure, and perhaps.
fn covered(member: &Member<'_>, their: char) -> (bool, bool) {
    let name = match member {
        Member::One(c) => return (*c == their, *c == their),
        // Letters with marks may count as the same.
        Member::Alike(c) => return (*c == their, true),
        Member::Unknown => return (false, true),
        Member::Class(name) => *name,
    };
    let sure = match name {
        "alpha" => their.is_ascii_alphabetic(),
        "digit" => their.is_ascii_digit(),
        "alnum" => their.is_ascii_alphanumeric(),
        "upper" => their.is_ascii_uppercase(),
        "lower" => their.is_ascii_lowercase(),
        "space" => their.is_ascii_whitespace() || their == '\u{b}',
        "blank" => matches!(their, ' ' | '\t'),
        "punct" => their.is_ascii_punctuation(),
        "print" => their.is_ascii_graphic() || their == ' ',
        "graph" => their.is_ascii_graphic(),
        "cntrl" => their.is_ascii_control(),
        "xdigit" => their.is_ascii_hexdigit(),
        // `word` of bash, and whatever else a program may know.
        _ => return (false, true),
    };
    // What a class holds beyond ASCII depends on the locale, and the case of letters on the file system.
    let letter = matches!(name, "upper" | "lower") && their.is_ascii_alphabetic();
    (sure, sure || letter || !their.is_ascii())
}
