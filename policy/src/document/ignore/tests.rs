//! Ignore files against what git does with them, line by line.

use super::*;
use crate::{AbsPath, Effect, EffectiveRuleset, Layer};
use std::sync::Arc;

fn document(text: &str) -> PolicyDocument {
    let origin = DocumentOrigin {
        layer: Layer::Project,
        name: "/w/.cursorignore".to_owned(),
        folder: Some(AbsPath::parse("/w").unwrap()),
    };
    PolicyDocument::parse_ignore_file(text, origin).0
}

/// Whether a file at `/w/path` is ignored.
fn ignored(document: &PolicyDocument, path: &str) -> bool {
    let at = AbsPath::parse("/w").unwrap().join(path);
    let anchors = crate::path::Anchors {
        document: AbsPath::parse("/w").unwrap(),
        home: None,
        cwd: AbsPath::parse("/w").unwrap(),
        root: AbsPath::parse("/w").unwrap(),
    };
    document.rules.iter().any(|rule| {
        let Matcher::Path {
            pattern: Some(pattern), ..
        } = &rule.matcher
        else {
            return false;
        };
        // A file, so that lines for folders do not count.
        let folders = |pattern: &crate::path::PathPattern| pattern.ignore().is_some_and(|line| line.folders);
        assert_eq!(rule.effect, Effect::Deny);
        pattern.matches(&at, &anchors)
            && !folders(pattern)
            && !rule
                .exceptions
                .iter()
                .any(|pattern| pattern.matches(&at, &anchors) && !folders(pattern))
    })
}

#[test]
fn files_are_ignored_as_git_ignores_them() {
    for (text, path, expected) in [
        (".env", ".env", true),
        (".env", "a/b/.env", true),
        (".env", ".env.example", false),
        ("*.pem", "certs/a.pem", true),
        ("/secret.txt", "secret.txt", true),
        ("/secret.txt", "a/secret.txt", false),
        ("a/b", "a/b/c", true),
        ("a/b", "x/a/b/c", false),
        ("secrets/", "secrets/key", true),
        ("secrets/", "x/secrets/key", true),
        ("secrets/", "secrets", false),
        ("**/logs/*.log", "x/logs/a.log", true),
        ("logs/**", "logs/a/b", true),
        ("a/**/z", "a/z", true),
        ("a/**/z", "a/b/c/z", true),
        ("# .env", ".env", false),
        ("\\#x", "#x", true),
        ("x  ", "x", true),
        ("x\\ ", "x ", true),
        ("\u{feff}x", "x", true),
        ("x\r\ny\r", "y", true),
        ("f[ab].txt", "fa.txt", true),
        ("f[ab].txt", "fc.txt", false),
        ("/", "x", false),
        // Taken out again, and what stays in.
        ("*.txt\n!keep.txt", "keep.txt", false),
        ("*.txt\n!keep.txt", "a/keep.txt", false),
        ("!keep.txt\n*.txt", "keep.txt", true),
        ("*.txt\n!keep.txt\nkeep.txt", "keep.txt", true),
        ("secrets/\n!secrets/public.txt", "secrets/public.txt", true),
        ("secrets/*\n!secrets/public.txt", "secrets/public.txt", false),
        ("secrets/*\n!secrets/public.txt", "secrets/other.txt", true),
        ("build/\n!keep.txt", "build/keep.txt", true),
        ("/*\n!/src/", "src/a.rs", false),
        ("/*\n!/src/", "docs/a.md", true),
        ("*\n!*/\n!*.rs", "src/a.rs", false),
        ("*\n!*/\n!*.rs", "src/a.txt", true),
        ("*\n!*/\n!*.rs", "a.txt", true),
    ] {
        assert_eq!(ignored(&document(text), path), expected, "{text:?} {path}");
    }
}

#[test]
fn a_line_that_could_never_match_is_a_warning_and_the_others_count() {
    let document = document("../x\nsecret\n");
    let [warning] = document.warnings.as_slice() else {
        panic!("{:?}", document.warnings)
    };
    assert_eq!((warning.line, warning.column), (1, 1));
    assert!(ignored(&document, "secret"));
}

#[test]
fn many_lines_that_take_out_do_not_grow_without_bound() {
    let text = "a\n!b\n".repeat(300);
    let document = document(&text);
    let kept: usize = document.rules.iter().map(|rule| rule.exceptions.len()).sum();
    assert!(kept <= 2 * PolicyDocument::MAX_RULES * MAX_TAKEN_OUT, "{kept}");
    assert!(!document.warnings.is_empty());
    // A line that ignores and is left out is no warning but a fault.
    let origin = document.origin;
    let (_, faults) = PolicyDocument::parse_ignore_file(&"a\n".repeat(2501), origin.clone());
    assert_eq!(faults.first().map(|fault| fault.line), Some(2501));
    assert!(
        PolicyDocument::parse_ignore_file(&"a\n".repeat(2500), origin)
            .1
            .is_empty()
    );
}

#[test]
fn patterns_of_policy_count_everywhere_and_a_broken_one_is_a_fault() {
    let origin = || DocumentOrigin {
        layer: Layer::Team,
        name: "team".to_owned(),
        folder: None,
    };
    let text = r#"{"ignore": {"patterns": ["**/.env", "/private", "!**/sample/.env"]}}"#;
    let read = PolicyDocument::parse(text, origin()).unwrap();
    assert_eq!(read.rules.len(), 4);
    assert_eq!(EffectiveRuleset::merge(&[Arc::new(read)], true).len(), 4);
    let faults = PolicyDocument::parse(r#"{"ignore": {"patterns": ["a/../b"]}}"#, origin()).unwrap_err();
    assert!(
        faults
            .first()
            .is_some_and(|fault| fault.message.contains("never matches"))
    );
}
