use proptest::prelude::*;

use super::*;
use crate::path::plain;

fn p(text: &str) -> AbsPath {
    AbsPath::parse(text).unwrap()
}

fn anchors() -> Anchors {
    Anchors {
        document: p("/w"),
        home: Some(p("/home/dev")),
        cwd: p("/w/app"),
        root: p("/w"),
    }
}

fn covers(pattern: &str, sense: PatternSense, path: &str) -> bool {
    PathPattern::parse(pattern, sense)
        .unwrap()
        .matches(&p(path), &anchors())
}

/// Pattern, path, covered as allow, covered as deny or ask. The working directory is `/w/app`, the project `/w`.
const TABLE: &[(&str, &str, bool, bool)] = &[
    (".env", "/w/app/.env", true, true),
    (".env", "/w/app/a/b/.env", true, true),
    (".env", "/w/app/.env/below", true, true),
    (".env", "/w/.env", false, true),
    (".env", "/w/app/.env.example", false, false),
    (".env", "/w/app/x.env", false, false),
    (".env", "/elsewhere/.env", false, false),
    ("*.md", "/w/app/README.md", true, true),
    ("*.md", "/w/app/docs/api/x.md", true, true),
    ("*.md", "/w/app/README.mdx", false, false),
    ("*appsettings*", "/w/app/x/appsettings.json", true, true),
    ("src/**", "/w/app/src/a/b.rs", true, true),
    ("src/**", "/w/app/lib/src/b.rs", false, true),
    ("src/**", "/w/app/src", false, true),
    ("src/**", "/w/app/src2/b.rs", false, false),
    ("./src/**", "/w/app/lib/src/b.rs", false, true),
    ("docs", "/w/app/docs/x", true, true),
    ("docs", "/w/app/a/docs/x", true, true),
    ("build/", "/w/app/build/x", true, true),
    ("build/", "/w/app/a/build/x", true, true),
    ("build/", "/w/app/build", false, true),
    ("src/secret/**", "/w/app/src/secret/x", true, true),
    ("src/secret/**", "/w/app/a/src/secret/x", false, false),
    ("m/*/c.txt", "/w/app/m/b/c.txt", true, true),
    ("m/*/c.txt", "/w/app/m/a/b/c.txt", false, false),
    ("d1/d2", "/w/app/d1/d2/x", true, true),
    ("d1/d2", "/w/app/x/d1/d2", false, false),
    ("**/src/**", "/w/app/x/src/y", true, true),
    ("**/src/**", "/w/app/src/y", true, true),
    ("one/*", "/w/app/one/two/three", true, true),
    ("one/*", "/w/app/one", false, false),
    // No class takes a slash in, and one that is cut by a slash is none.
    ("x[!a]y", "/w/app/xby", true, true),
    ("x[!a]y", "/w/app/x/y", false, false),
    ("x[^]a]y", "/w/app/x/y", false, false),
    ("d/[a/b]/c", "/w/app/d/[a/b]/c", true, true),
    ("d/[a/b]c", "/w/app/d/ac", false, false),
    // A class that spans the slash is read in two ways, so it allows nothing.
    ("d/[+-9]x", "/w/app/d/1x", false, true),
    ("d[+-9]x", "/w/app/d/x", false, false),
    ("docs/*.md", "/w/app/docs/a.md", true, true),
    ("docs/*.md", "/w/app/docs/api/x.md", false, false),
    ("**", "/w/app/x/y", true, true),
    ("**", "/w/x", false, true),
    ("./**", "/w/app/x/y", true, true),
    ("./*", "/w/app", false, true),
    ("/docs/**", "/w/docs/a.md", true, true),
    ("/docs/**", "/w/packages/docs/a.md", false, false),
    ("/docs", "/w/app/docs/a.md", false, false),
    ("/etc/hosts", "/etc/hosts", false, false),
    ("//etc/hosts", "/etc/hosts", true, true),
    ("//etc/hosts", "/etc/hostname", false, false),
    ("//**/.env", "/home/dev/other/.env", true, true),
    ("//**/.env", "/.env", true, true),
    ("//tmp/**", "/tmp/x", true, true),
    ("//", "/anything", true, true),
    ("~/.ssh/**", "/home/dev/.ssh/id_rsa", true, true),
    ("~/.ssh/**", "/home/other/.ssh/id_rsa", false, false),
    ("~", "/home/dev/x", true, true),
    ("app/(auth)/**", "/w/app/app/(auth)/login.tsx", true, true),
    ("a{b,c}", "/w/app/a{b,c}", true, true),
    ("a{b,c}", "/w/app/ab", false, false),
    ("a?c", "/w/app/abc", true, true),
    ("a?c", "/w/app/a/c", false, false),
    (r"a\*c", "/w/app/a*c", true, true),
    (r"a\*c", "/w/app/abc", false, false),
    ("x/[ab].rs", "/w/app/x/a.rs", true, true),
    ("x/[ab].rs", "/w/app/x/[ab].rs", false, true),
    ("x/[slug]/**", "/w/app/x/[slug]/page.tsx", false, true),
    ("x/[slug", "/w/app/x/[slug", true, true),
    ("Docs/a", "/w/app/docs/a", false, false),
    ("a**b/c", "/w/app/axyb/c", true, true),
    ("a**b/c", "/w/app/ax/yb/c", false, false),
];

#[test]
fn matches_and_near_misses() {
    let mut wrong = Vec::new();
    for (pattern, path, narrow, wide) in TABLE {
        for (sense, expected) in [(PatternSense::Narrow, narrow), (PatternSense::Wide, wide)] {
            if covers(pattern, sense, path) != *expected {
                wrong.push(format!("`{pattern}` {sense:?} on {path}: expected {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_could_never_match_is_refused() {
    for text in ["", "../x", "a/../b", r"C:\x", "a\0b"] {
        assert!(PathPattern::parse(text, PatternSense::Wide).is_err(), "{text:?}");
    }
    let long = "a".repeat(PathPattern::MAX_BYTES + 1);
    assert!(PathPattern::parse(&long, PatternSense::Wide).is_err());
}

#[test]
fn without_a_home_nothing_below_it_is_covered() {
    let anchors = Anchors {
        home: None,
        ..anchors()
    };
    let pattern = PathPattern::parse("~/x", PatternSense::Wide).unwrap();
    assert!(!pattern.matches(&p("/home/dev/x"), &anchors));
}

#[test]
fn a_pattern_of_the_shell_meets_what_it_could_expand_to() {
    let meets = |rule: &str, shell: &str| {
        PathPattern::parse(rule, PatternSense::Wide)
            .unwrap()
            .meets(shell, &anchors())
    };
    assert!(meets(".env", "/w/app/.en*"));
    assert!(meets(".env", "/w/app/.?nv"));
    assert!(meets(".env", "/w/app/**/.env"));
    assert!(meets(".env", "/w/app/*/.env"));
    assert!(meets("secrets/**", "/w/app/s*/key"));
    assert!(meets("//etc/shadow", "/etc/*"));
    assert!(meets("src/[ab].rs", "/w/app/src/[a-c].rs"));
    assert!(meets("src/x[!a]y.rs", "/w/app/src/x*y.rs"));
    // A wildcard of the shell does not stand for a dot at the beginning.
    assert!(!meets(".env", "/w/app/*"));
    assert!(!meets(".env", "/w/app/?env"));
    assert!(!meets(".env", "/w/app/*.md"));
    assert!(!meets("//etc/shadow", "/w/app/*"));
}

fn pattern_text() -> impl Strategy<Value = String> {
    let segment = prop_oneof![
        3 => "[ab.]{1,3}",
        2 => "[ab]?\\*[ab]?",
        1 => "[ab]?\\?",
        2 => Just("**".to_owned()),
    ];
    (
        prop_oneof!["", "/", "//", "\\./", "~/"],
        prop::collection::vec(segment, 1..4),
    )
        .prop_map(|(anchor, segments)| format!("{anchor}{}", segments.join("/")))
}

fn path_text() -> impl Strategy<Value = String> {
    (
        prop_oneof![Just("/w/app"), Just("/w"), Just("/home/dev"), Just("")],
        prop::collection::vec("[ab.]{1,3}", 1..5),
    )
        .prop_map(|(base, segments)| format!("{base}/{}", segments.join("/")))
}

proptest! {
    /// Matching as it is written agrees with the slow plain matcher.
    #[test]
    fn it_agrees_with_the_plain_matcher(pattern in pattern_text(), path in path_text()) {
        let path = p(&path);
        for sense in [PatternSense::Narrow, PatternSense::Wide] {
            let Ok(pattern) = PathPattern::parse(&pattern, sense) else { continue };
            let literal = plain::literal(path.segments());
            let slow = pattern.any_base(&anchors(), |base| {
                path.is_within(base) && {
                    let base = plain::literal(base.segments());
                    pattern.readings().flat_map(Reading::plain).any(|ours| {
                        let whole: Vec<&plain::Segment> = base.iter().chain(&ours).collect();
                        plain::meet(&whole, &literal)
                    })
                }
            });
            prop_assert_eq!(pattern.matches(&path, &anchors()), slow, "{:?} {:?} on {}", pattern.text(), sense, path);
        }
    }

    /// What an allow covers, the same words as a deny cover too.
    #[test]
    fn the_narrow_sense_is_within_the_wide_one(pattern in pattern_text(), path in path_text()) {
        if let Ok(narrow) = PathPattern::parse(&pattern, PatternSense::Narrow)
            && narrow.matches(&p(&path), &anchors())
        {
            prop_assert!(covers(&pattern, PatternSense::Wide, &path));
        }
    }

    #[test]
    fn no_text_panics(text in ".{0,40}", path in path_text()) {
        for sense in [PatternSense::Narrow, PatternSense::Wide] {
            if let Ok(pattern) = PathPattern::parse(&text, sense) {
                let _ = (pattern.matches(&p(&path), &anchors()), pattern.meets(&text, &anchors()));
            }
        }
    }
}
