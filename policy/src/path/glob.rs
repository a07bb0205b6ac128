//! One segment of a path against one segment of a pattern.
//!
//! Patterns are matched as they are written, without compiling them first: a ruleset holds many thousands, the index leaves
//! a few of them to be asked, and a compiled glob is a hundred times the size of its text. `\x` is the character `x`, `*`
//! any text, `?` any character, `[a-z]` and `[!a-z]` a class. Nothing here knows `/` or `**`.

use std::str::Chars;

/// Whether brackets in a pattern are classes or characters like any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brackets {
    /// `[ab]` is `a` or `b`.
    Class,
    /// `[slug]` is these six characters.
    Literal,
}

/// Whether a pattern covers a name. Takes at most the product of both lengths in steps.
pub(crate) fn covers(pattern: &str, name: &str, brackets: Brackets) -> bool {
    let (mut ours, mut theirs) = (pattern.chars(), name.chars());
    // Where to go on with one more character under the last star: no earlier star need be tried again.
    let mut back: Option<(Chars<'_>, Chars<'_>)> = None;
    loop {
        let matched = match ours.next() {
            Some('*') => {
                back = Some((ours.clone(), theirs.clone()));
                continue;
            }
            None => match theirs.next() {
                None => return true,
                Some(_) => false,
            },
            Some(c) => match theirs.next() {
                // The rest of the pattern wants more characters than there are.
                None => return false,
                Some(their) => one(c, &mut ours, their, brackets),
            },
        };
        if !matched {
            let Some((after_star, under_star)) = &mut back else {
                return false;
            };
            if under_star.next().is_none() {
                return false;
            }
            ours = after_star.clone();
            theirs = under_star.clone();
        }
    }
}

/// Whether the element of a pattern that begins with `c` covers a character; moves behind the element.
fn one(c: char, ours: &mut Chars<'_>, their: char, brackets: Brackets) -> bool {
    match c {
        '?' => true,
        // A backslash at the end is one more ordinary character.
        '\\' => ours.next().unwrap_or('\\') == their,
        '[' if brackets == Brackets::Class => class(ours, Some(their)).unwrap_or(their == '['),
        _ => c == their,
    }
}

/// Reads a class behind its `[` and says whether a character belongs to it; `None` if it is no class.
fn class(ours: &mut Chars<'_>, their: Option<char>) -> Option<bool> {
    let mut rest = ours.clone();
    let negated = rest.as_str().starts_with(['!', '^']);
    if negated {
        rest.next();
    }
    let mut within = false;
    let mut first = true;
    loop {
        let low = rest.next()?;
        // A bracket right at the beginning belongs to the class.
        if low == ']' && !first {
            break;
        }
        first = false;
        let mut ahead = rest.clone();
        let high = match (ahead.next(), ahead.next()) {
            (Some('-'), Some(high)) if high != ']' => {
                rest = ahead;
                high
            }
            _ => low,
        };
        if low > high {
            return None;
        }
        within |= their.is_some_and(|their| (low..=high).contains(&their));
    }
    *ours = rest;
    Some(within != negated)
}

/// What is to know about the brackets of a pattern, but for those that are escaped.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Found {
    /// There is an opening one.
    pub(crate) any: bool,
    /// One of them begins no class.
    pub(crate) unsound: bool,
    /// A class names a slash, as `[+-9]` does. Programs disagree about what it covers.
    pub(crate) slash: bool,
}

impl Found {
    /// What is to know of two patterns.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            any: self.any || other.any,
            unsound: self.unsound || other.unsound,
            slash: self.slash || other.slash,
        }
    }
}

/// Looks at the brackets of a pattern.
pub(crate) fn brackets(pattern: &str) -> Found {
    let mut found = Found::default();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '[' => {
                found.any = true;
                let negated = chars.as_str().starts_with(['!', '^']);
                match class(&mut chars, Some('/')) {
                    None => found.unsound = true,
                    Some(covered) => found.slash |= covered && !negated,
                }
            }
            _ => {}
        }
    }
    found
}

/// Whether a pattern stands for one name only, its own text.
pub(crate) fn is_literal(pattern: &str) -> bool {
    !pattern.contains(['*', '?', '[', '\\'])
}

#[cfg(test)]
mod tests {
    use globset::GlobBuilder;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn matches_and_near_misses() {
        for (pattern, name, expected) in [
            ("a*b", "axxb", true),
            ("a*b", "axxbc", false),
            ("*.pem", "a.b.pem", true),
            ("*", "x", true),
            ("a*b*c", "abbc", true),
            ("*ab", "aab", true),
            ("?", "é", true),
            ("[]a]", "]", true),
            ("[!a]", "b", true),
            ("[^a]", "a", false),
            ("[a-c]x", "bx", true),
            ("[a-]", "-", true),
            (r"\*", "*", true),
            (r"\*", "a", false),
            ("[a", "[a", true),
            ("x\\", "x\\", true),
        ] {
            assert_eq!(
                covers(pattern, name, Brackets::Class),
                expected,
                "`{pattern}` on {name}"
            );
        }
        assert!(covers("[ab]", "[ab]", Brackets::Literal) && !covers("[ab]", "a", Brackets::Literal));
    }

    #[test]
    fn many_stars_take_no_longer_than_the_product_of_the_lengths() {
        let pattern = format!("{}b", "a*".repeat(500));
        assert!(!covers(&pattern, &"a".repeat(900), Brackets::Class));
    }

    proptest! {
        /// Another program's globs are the specification.
        #[test]
        fn it_agrees_with_globset(pattern in r"[ab*?\[\]!\-]{0,8}", name in r"[ab\]\-!]{1,6}") {
            let glob = GlobBuilder::new(&pattern).literal_separator(true).backslash_escape(true).build();
            let Ok(glob) = glob else { return Ok(()) };
            prop_assume!(pattern != "**");
            prop_assert_eq!(covers(&pattern, &name, Brackets::Class), glob.compile_matcher().is_match(&name));
        }
    }
}
