//! What the tests in an expression of `find` say about the names that it prints, or acts on.
//!
//! Only tests are understood that every such name surely passes. What is not understood says nothing: then any name may come.

use crate::{
    path::plain::{self, Token},
    shell::Word,
};

use super::Fits;

/// Tests of `find` with one value.
const WITH_VALUE: &[&str] = &[
    "-amin",
    "-anewer",
    "-atime",
    "-cmin",
    "-cnewer",
    "-ctime",
    "-fstype",
    "-gid",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-iwholename",
    "-links",
    "-lname",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-newer",
    "-path",
    "-perm",
    "-regex",
    "-regextype",
    "-samefile",
    "-size",
    "-type",
    "-uid",
    "-user",
    "-wholename",
    "-xtype",
];
/// Tests and options of `find` without a value.
const ALONE: &[&str] = &[
    "-daystart",
    "-depth",
    "-empty",
    "-executable",
    "-false",
    "-mount",
    "-nogroup",
    "-noleaf",
    "-nouser",
    "-readable",
    "-true",
    "-writable",
    "-xdev",
];
/// What a part of an expression of `find` between two `-o` says.
#[derive(Default)]
struct Branch {
    /// What names fit that reach the first action, or the end.
    fits: Fits,
    prints: bool,
}

/// Reads an expression of `find`, front to back.
pub(super) struct Expression<'w> {
    pub(super) words: &'w [Word],
    pub(super) at: usize,
    /// What is acted on is sought, by `-exec` or `-delete`, rather than what is printed.
    pub(super) acts: bool,
}

/// The pattern of a test on names.
pub(super) fn pattern(value: &str, any_case: bool) -> Fits {
    // What these mean to each program is not looked at.
    if value.contains(['[', ']', '\\', '/']) {
        return None;
    }
    let plain::Segment::One(tokens) = plain::segment(value, crate::path::glob::Brackets::Class) else {
        return None;
    };
    let wide = tokens.into_iter().map(|token| match token {
        Token::Char(c) if any_case && c.is_alphabetic() => Token::Any,
        other => other,
    });
    Some(vec![wide.collect()])
}

/// Names that fit one or the other.
fn either(one: Fits, other: Fits) -> Fits {
    one.zip(other).map(|(mut fits, more)| {
        fits.extend(more);
        fits
    })
}

impl Expression<'_> {
    fn next(&mut self) -> Option<String> {
        let word = self.words.get(self.at).and_then(Word::literal)?.to_owned();
        self.at += 1;
        Some(word)
    }

    fn ends(&self) -> bool {
        self.at >= self.words.len()
    }

    /// The names that the whole expression prints. `None`: any, or it is not understood.
    pub(super) fn printed(mut self) -> Fits {
        let mut branches = vec![Branch::default()];
        while !self.ends() {
            let word = self.next()?;
            let branch = branches.last_mut()?;
            match word.as_str() {
                "-o" | "-or" => branches.push(Branch::default()),
                "-a" | "-and" => {}
                "-print" | "-print0" => branch.prints |= !self.acts,
                "-delete" if self.acts => branch.prints = true,
                "-exec" | "-execdir" | "-ok" | "-okdir" if self.acts => {
                    branch.prints = true;
                    self.skip_command()?;
                }
                // It holds, prints nothing, and takes nothing away from what is printed without it.
                "-prune" => {}
                // What does not hold says nothing about the name.
                "!" | "-not" => {
                    let inner = self.next()?;
                    match inner.as_str() {
                        "(" => drop(self.group()?),
                        inner => drop(self.test(inner)?),
                    }
                }
                word => {
                    let fits = match word {
                        "(" => self.group()?,
                        word => self.test(word)?,
                    };
                    // What stands behind an action is not asked before it.
                    if !branch.prints && branch.fits.is_none() {
                        branch.fits = fits;
                    }
                }
            }
        }
        // Where some part prints, what holds without printing is not printed.
        let told = branches.iter().any(|branch| branch.prints);
        let mut counting = branches.into_iter().filter(|branch| branch.prints || !told);
        let first = counting.next()?.fits;
        counting.fold(first, |fits, branch| either(fits, branch.fits))
    }

    /// Goes behind the command of `-exec`.
    fn skip_command(&mut self) -> Option<()> {
        let mut before = String::new();
        loop {
            let word = self.next()?;
            if word == ";" || (word == "+" && before == "{}") {
                return Some(());
            }
            before = word;
        }
    }

    /// A group of tests alone, up to its bracket; the outer `None`: it is something else.
    fn group(&mut self) -> Option<Fits> {
        let mut whole: Option<Fits> = None;
        let mut fits: Fits = None;
        loop {
            let word = self.next()?;
            match word.as_str() {
                "-a" | "-and" => {}
                "-o" | "-or" | ")" => {
                    let own = fits.take();
                    let joined = match whole {
                        None => own,
                        Some(before) => either(before, own),
                    };
                    if word == ")" {
                        return Some(joined);
                    }
                    whole = Some(joined);
                }
                word => {
                    let own = self.test(word)?;
                    fits = fits.or(own);
                }
            }
        }
    }

    /// One test; the outer `None`: it is something else.
    fn test(&mut self, word: &str) -> Option<Fits> {
        match word {
            "-name" | "-iname" => {
                let value = self.next()?;
                Some(pattern(&value, word == "-iname"))
            }
            word if WITH_VALUE.contains(&word) => {
                self.next()?;
                Some(None)
            }
            word if ALONE.contains(&word) => Some(None),
            _ => None,
        }
    }
}
