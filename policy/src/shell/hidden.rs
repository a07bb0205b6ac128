//! Characters that make a line look like another one.
//!
//! A person who is asked sees text, the shell sees characters. A character that is not seen, that turns the text around or
//! that looks like another one is a way to be asked about one command and to run a second. Which characters count, and why
//! ordinary text in other scripts and emoji do not, stands in `docs/decisions/0034-hidden-characters.md`.
//!
//! It looks at characters only; what a line means is not known here.

use std::borrow::Cow;

/// Whether a line holds a character that no honest line needs, or a joining one where there is nothing to join.
pub(crate) fn hides(line: &str) -> bool {
    if line.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n')) {
        return false;
    }
    let mut before = ' ';
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        if is_hidden(c) || (is_joiner(c) && !joins(before, c, next)) {
            return true;
        }
        before = c;
    }
    false
}

/// The line without what hides in it: for rules that deny.
pub(super) fn cleaned(line: &str) -> String {
    line.chars()
        .filter(|c| !(is_hidden(*c) || is_joiner(*c) || is_blank(*c)))
        .collect()
}

/// The text as people should see it: what is not seen, or not seen as what it is, in escapes such as `\u{202e}`.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    let harmful = |c: char| is_hidden(c) || is_joiner(c) || is_blank(c);
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    if !text.chars().any(harmful) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if harmful(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// The text with every character outside ASCII in escapes.
pub(super) fn spelled_out(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars() {
        if c.is_ascii_graphic() || c == ' ' {
            shown.push(c);
        } else {
            shown.extend(c.escape_unicode());
        }
    }
    shown
}

/// A blank that is none for the shell.
pub(super) fn is_blank(c: char) -> bool {
    matches!(
        c,
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

/// Seen by nobody, or turns the text around.
fn is_hidden(c: char) -> bool {
    matches!(c,
        // Control characters. A carriage return overwrites on a terminal what stands before it.
        '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        // Soft hyphen, grapheme joiner, fillers, separators of another kind, the Mongolian ones.
        | '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{3164}' | '\u{ffa0}' | '\u{2028}' | '\u{2029}'
        // Zero width, invisible operators, byte order mark, annotations.
        | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        // Directions: embeddings, overrides, isolates.
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        // Tags and the selectors behind them: a second text nobody sees.
        | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Joins or separates the letters of some scripts and the parts of an emoji; anywhere else it hides.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{61c}' | '\u{fe00}'..='\u{fe0f}')
}

fn joins(before: char, c: char, next: Option<char>) -> bool {
    // A keycap: `1`, a selector, the cap.
    let keycap = c == '\u{fe0f}' && next == Some('\u{20e3}');
    // Directional marks stand at the edge of a word in a script from right to left.
    let mark = matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}');
    let other_script = |c: char| !c.is_ascii() && !is_hidden(c) && !is_blank(c);
    keycap || other_script(before) || (mark && next.is_some_and(other_script))
}

/// Whether a program's name could be taken for another one: it holds a character that is no letter people write names
/// with, or one of an alphabet whose letters look like Latin ones.
///
/// Names in Latin letters with accents and in scripts that look like nothing else (Chinese, Japanese, Korean, Arabic,
/// Hebrew, Thai, those of India) are what they are.
pub(crate) fn is_confusable(name: &str) -> bool {
    let distinct = |c: char| {
        c.is_ascii()
            || matches!(c,
                'À'..='Ö' | 'Ø'..='ö' | 'ø'..='ÿ' | 'Ā'..='İ' | 'Ĳ'..='ž'
                // Hebrew to Tibetan, Japanese, Chinese, Korean.
                | '\u{5d0}'..='\u{5ea}' | '\u{620}'..='\u{64a}' | '\u{900}'..='\u{eff}' | '\u{3041}'..='\u{30ff}'
                | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{20000}'..='\u{323af}')
    };
    !name.chars().all(distinct)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_hides_nothing() {
        for line in [
            "git commit -m 'fix: Größe, naïve, 日本語, привет'",
            "echo '👩‍💻 ❤️ 1️⃣ 🏳️‍🌈'",
            "echo 'می‌خواهم'",
            "echo 'שלום\u{200f} abc'",
            "ls\t-l\nls",
            "echo 'a\u{a0}b'",
        ] {
            assert!(!hides(line), "{line:?}");
        }
    }

    #[test]
    fn what_nobody_sees_is_seen() {
        for line in [
            "git\u{200b} status",
            "g\u{200d}it status",
            "echo '\u{202e}abc'",
            "ls\r",
            "ls \u{1b}[2K",
            "echo a\u{fe0f}b",
            "echo \u{e0072}\u{e006d}",
            "\u{feff}ls",
            "ls\u{8}",
            "ls \u{85}",
        ] {
            assert!(hides(line), "{line:?}");
            assert!(visible(line).contains("\\u{"), "{line:?}");
        }
        assert_eq!(cleaned("g\u{200b}it \u{a0}status"), "git status");
        assert!(matches!(visible("ls -l äöü"), Cow::Borrowed(_)));
    }

    #[test]
    fn look_alikes_are_told_from_other_scripts() {
        for name in [
            "сurl",
            "ｒｍ",
            "gıt",
            "саt",
            "ѕѕһ",
            "g\u{200b}it",
            "ls\u{a0}-l",
            "𝐠𝐢𝐭",
            "νim",
        ] {
            assert!(is_confusable(name), "{name}");
        }
        for name in ["ls", "größe.sh", "日本", "작업", ""] {
            assert!(!is_confusable(name), "{name}");
        }
    }
}
