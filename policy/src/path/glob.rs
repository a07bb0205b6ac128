//! One segment of a path against one segment of a pattern.
//!
//! Patterns are matched as they are written, without compiling them first: a ruleset holds many thousands, the index leaves
//! a few of them to be asked, and a compiled glob is a hundred times the size of its text. `\x` is the character `x`, `*`
//! any text, `?` any character, `[a-z]` and `[!a-z]` a class, with what POSIX lets stand in one (see [`super::bracket`]).
//! Nothing here knows `/` or `**`.

use std::str::Chars;

use super::bracket;

/// Whether brackets in a pattern are classes or characters like any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brackets {
    /// `[ab]` is `a` or `b`; where it is in doubt what a class covers, it does not.
    Class,
    /// The same; where it is in doubt, it covers.
    Wide,
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
        '[' if brackets != Brackets::Literal => {
            let wide = brackets == Brackets::Wide;
            match bracket::read(ours.as_str(), their, wide) {
                Some(read) => {
                    *ours = read.rest.chars();
                    read.covers
                }
                None => their == '[',
            }
        }
        _ => c == their,
    }
}

/// What is to know about the brackets of a pattern, but for those that are escaped.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Found {
    /// There is an opening one.
    pub(crate) any: bool,
    /// One of them begins no class.
    pub(crate) unsound: bool,
    /// Programs disagree about what a class covers: it names a slash, as `[+-9]` does, or holds what is no class, range or
    /// character that is known.
    pub(crate) doubtful: bool,
}

impl Found {
    /// What is to know of two patterns.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            any: self.any || other.any,
            unsound: self.unsound || other.unsound,
            doubtful: self.doubtful || other.doubtful,
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
                match bracket::read(chars.as_str(), '/', false) {
                    None => found.unsound = true,
                    Some(read) => {
                        found.doubtful |= read.doubtful || (read.covers && !negated);
                        chars = read.rest.chars();
                    }
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
            (".e[[:alpha:]]v", ".env", true),
            (".e[[:alpha:]]v", ".e1v", false),
            (".e[![:digit:]]v", ".env", true),
            (".e[]n]v", ".env", true),
            (".e[!]]v", ".env", true),
            ("[[.n.]]", "n", true),
            ("[[=n=]]", "n", true),
            ("[[:nonsense:]]", "n", false),
            (r"[\]n]", "]", true),
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
