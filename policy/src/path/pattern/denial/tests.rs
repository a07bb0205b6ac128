//! What denials cover, and where a search for it begins.

use super::*;

fn path(text: &str) -> AbsPath {
    AbsPath::parse(text).unwrap()
}

fn denial(reading: DenialReading, pattern: &str, exceptions: &[&str]) -> ReadDenial {
    let text = DenialText {
        reading,
        pattern: pattern.to_owned(),
        folder: Some(path("/w/p")),
        exceptions: exceptions.iter().map(ToString::to_string).collect(),
    };
    let anchors = Anchors {
        document: path("/"),
        home: Some(path("/home/ada")),
        cwd: path("/w/p"),
        root: path("/w/p"),
    };
    ReadDenial::parse(&text, &anchors).unwrap()
}

#[test]
fn each_text_covers_what_its_document_means_and_no_near_miss() {
    use DenialReading::{CursorRule, Entry, IgnoreFile, IgnoreList, Rule};
    for (reading, pattern, covered, free) in [
        (Rule, "*.pem", "/w/p/a/x.pem", "/w/q/x.pem"),
        (Rule, "/secrets/**", "/w/p/secrets/a/b", "/w/p/a/secrets/b"),
        (Rule, "//srv/keys", "/srv/keys/x", "/w/p/srv/keys"),
        (Rule, "~/.ssh/**", "/home/ada/.ssh", "/home/ada/.sshx"),
        (CursorRule, "/srv/*.key", "/srv/a.key", "/w/p/srv/a.key"),
        (IgnoreFile, "secret", "/w/p/a/secret/b", "/w/q/secret"),
        (IgnoreFile, "/secret", "/w/p/secret", "/w/p/a/secret"),
        (IgnoreList, "*.key", "/elsewhere/a.key", "/elsewhere/a.keys"),
        (Entry, "/srv/keys", "/srv/keys/x", "/w/p/srv/keys"),
        (Entry, ".env", "/w/p/a/.env", "/w/q/.env"),
        (Entry, "./.env", "/w/p/.env", "/w/p/a/.env"),
        (Entry, "../q/.env", "/w/q/.env", "/w/p/.env"),
        (Entry, "~/token", "/home/ada/token", "/w/p/token"),
        (Entry, "a/*.pem", "/w/p/a/x.pem", "/w/p/b/a/x.pem"),
    ] {
        let denial = denial(reading, pattern, &[]);
        assert!(denial.covers(&path(covered), false), "{reading:?} {pattern} {covered}");
        assert!(!denial.covers(&path(free), false), "{reading:?} {pattern} {free}");
        assert!(denial.covers_whole_folders());
    }
}

#[test]
fn exceptions_free_what_they_name() {
    let rule = denial(DenialReading::Rule, "*.pem", &["public.pem"]);
    assert!(rule.covers(&path("/w/p/a.pem"), false) && !rule.covers(&path("/w/p/public.pem"), false));
    assert!(!rule.covers_whole_folders());
    let lines = denial(DenialReading::IgnoreFile, "*.env", &["!sample.env"]);
    assert!(lines.covers(&path("/w/p/x.env"), false) && !lines.covers(&path("/w/p/a/sample.env"), false));
    let folders = denial(DenialReading::IgnoreFile, "build/", &[]);
    assert!(folders.covers(&path("/w/p/build"), true) && !folders.covers(&path("/w/p/build"), false));
    assert!(folders.covers(&path("/w/p/build/x"), false));
}

#[test]
fn a_search_begins_where_the_words_end() {
    let of = |reading, pattern| {
        let found = denial(reading, pattern, &[]).beginnings();
        found
            .into_iter()
            .map(|found| (found.path.to_string(), found.depth))
            .collect::<Vec<_>>()
    };
    let one = |path: &str, depth| vec![(path.to_owned(), depth)];
    assert_eq!(of(DenialReading::Rule, "~/.ssh/**"), one("/home/ada/.ssh", Some(0)));
    assert_eq!(of(DenialReading::Rule, "//srv/a/*.key"), one("/srv/a", Some(1)));
    assert_eq!(of(DenialReading::Rule, "//srv/*/a/*.key"), one("/srv", Some(3)));
    assert_eq!(of(DenialReading::Rule, "//**/*.key"), one("/", None));
    assert_eq!(of(DenialReading::Rule, "*.pem"), one("/w/p", None));
    assert_eq!(of(DenialReading::Entry, "/srv/keys"), one("/srv/keys", Some(0)));
    assert_eq!(of(DenialReading::Entry, "/srv/k*/**/x"), one("/srv", None));
}

#[test]
fn what_is_no_pattern_is_none() {
    let anchors = Anchors {
        document: path("/"),
        home: None,
        cwd: path("/w"),
        root: path("/w"),
    };
    for (reading, pattern) in [
        (DenialReading::Rule, ""),
        (DenialReading::Rule, "../x"),
        (DenialReading::Entry, "!x"),
        (DenialReading::IgnoreFile, "a/../b"),
    ] {
        let text = DenialText {
            reading,
            pattern: pattern.to_owned(),
            folder: None,
            exceptions: Vec::new(),
        };
        assert!(ReadDenial::parse(&text, &anchors).is_err(), "{pattern:?}");
    }
}
