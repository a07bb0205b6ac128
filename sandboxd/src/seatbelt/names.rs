//! Protected names as expressions, so that they hold before they exist and in any letters.
//!
//! The file systems of macOS take `.GIT/Hooks` for `.git/hooks`, and fold more than ASCII: a long s is an s, a ligature `fi`
//! is an f and an i, and HFS+ overlooks some characters that nobody sees. A name that does not exist yet comes to the kernel
//! as the command spells it. So each letter stands for both its cases and for any character beyond ASCII, and between any two
//! characters such characters may stand. What this covers too much has letters in a row like `.git` with foreign ones
//! in it.
//!
//! Expressions hold printable ASCII without a quote only: what else a folder's name holds is written as "something else than
//! ASCII", which covers a little more and in a denial is the safe side. Only what every description of Apple's expressions has is used: no classes by name, no
//! groups that do not count, no bounds in braces.

use super::{Name, Unwritable};

/// Any character that is not printable ASCII; of a longer one, each byte.
const FOREIGN: &str = "[^ -~]";

/// A quote, which would end the expression, with its neighbours.
const QUOTE: &str = "[!-#]";

/// The expressions for a name itself, and for what lies below it.
///
/// # Errors
/// If it says nothing.
pub(super) fn expressions(name: &Name) -> Result<Vec<String>, Unwritable> {
    let empty = || Unwritable::Name(name.folder.clone());
    if name.segments.is_empty() || name.segments.iter().any(String::is_empty) {
        return Err(empty());
    }
    let mut text = format!("^{}", exactly(&name.folder.to_string_lossy()));
    let mut after_any = false;
    for (at, segment) in name.segments.iter().enumerate() {
        if !after_any {
            text.push('/');
        }
        after_any = segment == "**";
        if !after_any {
            text.push_str(&in_any_letters(segment));
        } else if at + 1 < name.segments.len() {
            text.push_str("([^/]*/)*");
        }
    }
    if after_any {
        return Ok(vec![text]);
    }
    Ok(vec![format!("{text}$"), format!("{text}/")])
}

/// The expression for whatever begins so.
pub(super) fn beginning(text: &str) -> String {
    format!("^{}", exactly(text))
}

/// A folder that exists, as it is called.
fn exactly(path: &str) -> String {
    let mut text = String::new();
    let mut after_foreign = false;
    for c in path.chars() {
        let foreign = !matches!(c, ' '..='~');
        if !foreign {
            push_plain(&mut text, c);
        } else if !after_foreign {
            text.push_str(FOREIGN);
            text.push('+');
        }
        after_foreign = foreign;
    }
    text
}

fn in_any_letters(segment: &str) -> String {
    let mut text = format!("{FOREIGN}*");
    for c in segment.chars() {
        match c {
            '*' => text.push_str("[^/]*"),
            '?' => text.push_str(&format!("[^/]{FOREIGN}*")),
            _ if c.is_ascii_alphabetic() => {
                let (small, large) = (c.to_ascii_lowercase(), c.to_ascii_uppercase());
                text.push_str(&format!("([{small}{large}]|{FOREIGN}){FOREIGN}*"));
            }
            _ if !matches!(c, ' '..='~') => {
                text.push_str(FOREIGN);
                text.push('+');
            }
            _ => {
                push_plain(&mut text, c);
                text.push_str(&format!("{FOREIGN}*"));
            }
        }
    }
    text
}

fn push_plain(text: &mut String, c: char) {
    if c == '"' {
        text.push_str(QUOTE);
        return;
    }
    if ".^$*+?()[]{}|\\".contains(c) {
        text.push('\\');
    }
    text.push(c);
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn fits(folder: &str, pattern: &str, path: &str) -> bool {
        let name = Name {
            folder: PathBuf::from(folder),
            segments: pattern.split('/').map(str::to_owned).collect(),
        };
        expressions(&name).unwrap().iter().any(|text| {
            assert!(text.chars().all(|c| matches!(c, ' '..='~') && c != '"'), "{text}");
            let read = regex::bytes::RegexBuilder::new(text).unicode(false).build().unwrap();
            read.is_match(path.as_bytes())
        })
    }

    #[test]
    fn a_name_holds_in_any_letters_and_no_other_name_does() {
        for (pattern, path, expected) in [
            (".git/hooks", "/w/.git/hooks", true),
            (".git/hooks", "/w/.GIT/Hooks/pre-commit", true),
            (".git/hooks", "/w/.git/hook\u{17f}", true),
            (".git/config", "/w/.git/con\u{fb01}g", true),
            (".git/hooks", "/w/.g\u{200c}it/hooks", true),
            (".git/hooks", "/w/.git/\u{feff}hooks", true),
            (".git/hooks", "/w/.git/hooks.d", false),
            (".git/hooks", "/w/.git/hoks", false),
            (".git/hooks", "/w/.github/hooks", false),
            (".git/hooks", "/w/sub/.git/hooks", false),
            (".git/hooks", "/w2/.git/hooks", false),
            ("*.code-workspace", "/w/a b.Code-Workspace", true),
            ("*.code-workspace", "/w/a/b.code-workspace", false),
            (".claude/**/*.json", "/w/.claude/x.json", true),
            (".claude/**/*.json", "/w/.claude/a\n/b/x.JSON", true),
            (".claude/**/*.json", "/w/.claude/x.jsonl", false),
            (".claude/**", "/w/.claude/x", true),
            ("a?c", "/w/aéc", true),
            ("a+c", "/w/aac", false),
            ("a+c", "/w/a+c", true),
        ] {
            assert_eq!(fits("/w", pattern, path), expected, "{pattern} {path:?}");
        }
    }

    #[test]
    fn a_folder_with_any_name_is_found_again() {
        for folder in ["/w/a b", "/w/é\"x\"\n", "/w/(a|b)[c]{1}$^.*+?\\", "/w/日本"] {
            assert!(
                fits(folder, ".vscode", &format!("{folder}/.vscode/tasks.json")),
                "{folder:?}"
            );
            assert!(!fits(folder, ".vscode", "/w/other/.vscode"), "{folder:?}");
        }
    }

    #[test]
    fn an_empty_name_is_refused() {
        for segments in [vec![], vec![String::new()], vec!["a".to_owned(), String::new()]] {
            let name = Name {
                folder: PathBuf::from("/w"),
                segments,
            };
            assert!(expressions(&name).is_err());
        }
    }
}
