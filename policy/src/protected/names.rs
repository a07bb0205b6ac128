//! Spellings of a name that some file system takes for the same name.
//!
//! HFS+ ignores zero-width characters (CVE-2014-9390), NTFS drops dots and blanks at the end and knows short names and
//! streams, APFS ignores case by Unicode's rules, ZFS can fold compatibility forms. A protected name has to be met in all
//! of them, on every host: the workspace may be a mount, a share or an archive that is unpacked elsewhere. All names of
//! the table are ASCII, so only what folds into ASCII matters; anything else stays another name.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;

/// Characters that a file system ignores, or that show as nothing: marks of width, joining and direction, selectors, tags.
fn is_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// A text without what is ignored, compatibility forms and case folded. What stands between two names stays.
pub(super) fn folded_text(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars()
        .filter(|c| !is_ignorable(*c))
        .nfkc()
        // Up and down again: `ſ` has no lower case of its own, and is an `s` in upper case.
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .filter(|c| !is_ignorable(*c))
        .collect()
}

/// One segment of a path: folded, and without a stream's name and what is dropped at the end.
pub(super) fn folded(segment: &str) -> Cow<'_, str> {
    // Most names are what they fold to.
    let settled = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase() && byte != b':';
    if segment.bytes().all(settled) && !segment.ends_with(['.', ' ']) {
        return Cow::Borrowed(segment);
    }
    let mut text = folded_text(segment);
    // `.git::$INDEX_ALLOCATION` is the folder `.git` itself.
    if let Some(colon) = text.find(':').filter(|at| *at > 0) {
        text.truncate(colon);
    }
    text.truncate(text.trim_end_matches(['.', ' ']).len());
    Cow::Owned(text)
}

/// Whether a segment is the short name that NTFS and FAT make of a protected name: `GIT~1` of `.git`, `MCP~1.JSO` of
/// `.mcp.json`. Only of names with a dot at the beginning: others have a usual name that nobody would avoid so.
pub(super) fn is_short_name_of(segment: &str, name: &str) -> bool {
    let Some((base, rest)) = segment.split_once('~') else {
        return false;
    };
    let Some(long) = name.strip_prefix('.') else {
        return false;
    };
    let rest = rest.trim_end_matches([' ', '.']);
    let (number, ending) = rest.split_once('.').unwrap_or((rest, ""));
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let (stem, long_ending) = long.rsplit_once('.').unwrap_or((long, ""));
    let stem: String = stem.chars().filter(|c| *c != '.').take(6).collect();
    let long_ending: String = long_ending.chars().take(3).collect();
    base.eq_ignore_ascii_case(&stem) && ending.eq_ignore_ascii_case(&long_ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_some_file_system_equates_is_equal() {
        for (spelled, name) in [
            (".GIT", ".git"),
            (".g\u{200c}it", ".git"),
            ("\u{feff}.git", ".git"),
            (".git. .", ".git"),
            (".git::$INDEX_ALLOCATION", ".git"),
            ("\u{ff0e}git", ".git"),
            (".\u{1d420}it", ".git"),
            (".\u{17f}\u{17f}h", ".ssh"),
            (".\u{212a}ube", ".kube"),
            ("...", ""),
        ] {
            assert_eq!(folded(spelled), name, "{spelled:?}");
        }
        for (spelled, other) in [
            (".g\u{e9}t", ".get"),
            (".gi\u{307}t", ".git"),
            (".g-it", ".git"),
            ("git", ".git"),
        ] {
            assert_ne!(folded(spelled), other, "{spelled:?}");
        }
    }

    #[test]
    fn short_names_are_those_of_the_long_name_alone() {
        for (segment, name, expected) in [
            ("git~1", ".git", true),
            ("GIT~12", ".git", true),
            ("git~1.", ".git", true),
            ("CLAUDE~1", ".claude", true),
            ("MCP~1.JSO", ".mcp.json", true),
            ("bash_p~1", ".bash_profile", true),
            ("git~", ".git", false),
            ("git~x", ".git", false),
            ("git~1.txt", ".git", false),
            ("gitlab~1", ".git", false),
            ("backup~1", ".git", false),
            ("leftho~1.yml", "lefthook.yml", false),
        ] {
            assert_eq!(is_short_name_of(segment, name), expected, "{segment} {name}");
        }
    }
}
