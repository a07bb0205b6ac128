//! Rust files: they say what they are for, are not too long, and renounce unsafe code at the head of their crate.

use super::Finding;

/// The length from which a file has to give a reason.
const MAX_LINES: usize = 700;

/// Files that may be longer, each with the reason. Length from one repeated form is fine; from mixed subjects it is not.
const LONG_FILES: &[(&str, &str)] = &[];

/// Crates whose head does not forbid unsafe code, because one module of theirs needs it (`sandboxd/src/sys`).
const UNSAFE_CRATES: [&str; 1] = ["sandboxd"];

/// Checks one file.
pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut complain = |complaint: &str| {
        findings.push(Finding {
            path: path.to_owned(),
            line: 0,
            complaint: complaint.to_owned(),
        });
    };
    let head = Head::of(text);
    // `foo/tests.rs` holds the tests of `foo.rs`; what it is for needs no saying.
    if !head.has_docs && !path.ends_with("/tests.rs") {
        complain("does not open with `//!`: what it is for, why it exists, what it does not do");
    }
    if is_crate_root(path) && !head.forbids_unsafe && !UNSAFE_CRATES.iter().any(|name| belongs_to(path, name)) {
        complain("does not open with `#![forbid(unsafe_code)]`");
    }
    let lines = text.lines().count();
    if lines > MAX_LINES && !LONG_FILES.iter().any(|(long, _)| *long == path) {
        complain(&format!(
            "has {lines} lines, more than {MAX_LINES}: split it by subject, or list it with a reason in xtask/src/tidy/rust.rs"
        ));
    }
    findings
}

/// Exemptions for files that are gone.
pub(super) fn unneeded_exemptions(paths: &[String]) -> Vec<Finding> {
    LONG_FILES
        .iter()
        .filter(|(path, _)| !paths.iter().any(|there| there == path))
        .map(|(path, _)| Finding {
            path: (*path).to_owned(),
            line: 0,
            complaint: "is exempt from the limit on length, but does not exist".to_owned(),
        })
        .collect()
}

/// What stands before the first line of code.
struct Head {
    has_docs: bool,
    forbids_unsafe: bool,
}

impl Head {
    fn of(text: &str) -> Self {
        let mut head = Self {
            has_docs: false,
            forbids_unsafe: false,
        };
        let mut depth = 0_usize;
        for line in text.lines().map(str::trim) {
            // Inside an attribute that spans lines.
            if depth > 0 {
                depth = (depth + line.matches('[').count()).saturating_sub(line.matches(']').count());
                continue;
            }
            if let Some(docs) = line.strip_prefix("//!") {
                head.has_docs |= !docs.trim().is_empty();
            } else if line.starts_with("#![") {
                head.forbids_unsafe |= line == "#![forbid(unsafe_code)]";
                head.has_docs |= line.starts_with("#![doc = include_str!(");
                depth = line.matches('[').count().saturating_sub(line.matches(']').count());
            } else if !line.is_empty() && !line.starts_with("//") {
                break;
            }
        }
        head
    }
}

fn belongs_to(path: &str, name: &str) -> bool {
    path.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether cargo compiles this file as the root of a crate that is shipped. Tests, examples and build scripts are held by
/// the workspace's lint alone.
fn is_crate_root(path: &str) -> bool {
    let Some((folder, file)) = path.rsplit_once('/') else {
        return false;
    };
    folder.ends_with("/src/bin") || (folder.ends_with("/src") && matches!(file, "lib.rs" | "main.rs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> Vec<String> {
        check(path, text).into_iter().map(|finding| finding.complaint).collect()
    }

    #[test]
    fn a_tidy_file_has_no_complaint() {
        assert_eq!(complaints("policy/src/a.rs", "//! Parses.\n\nfn a() {}\n"), [""; 0]);
        let root = "#![forbid(unsafe_code)]\n#![doc = include_str!(\"../README.md\")]\npub mod a;\n";
        assert_eq!(complaints("policy/src/lib.rs", root), [""; 0]);
        let spread = "#![allow(\n    clippy::unwrap_used,\n    reason = \"tests\"\n)]\n//! Docs.\nfn a() {}\n";
        assert_eq!(complaints("policy/src/a.rs", spread), [""; 0]);
    }

    #[test]
    fn docs_must_come_first_and_say_something() {
        for text in [
            "fn a() {}\n//! Late.\n",
            "//!\nfn a() {}\n",
            "// Not docs.\nfn a() {}\n",
            "",
        ] {
            assert_eq!(complaints("policy/src/a.rs", text).len(), 1, "{text:?}");
        }
    }

    #[test]
    fn the_tests_of_a_file_need_no_docs_of_their_own() {
        assert_eq!(complaints("policy/src/a/tests.rs", "use super::*;\n"), [""; 0]);
        assert_eq!(complaints("policy/src/a/my_tests.rs", "use super::*;\n").len(), 1);
    }

    #[test]
    fn every_crate_but_sandboxd_forbids_unsafe_code() {
        for root in [
            "server/src/lib.rs",
            "server/src/main.rs",
            "client/src/bin/portcullis.rs",
            "tests/src/lib.rs",
        ] {
            assert_eq!(complaints(root, "//! Docs.\n").len(), 1, "{root}");
            assert_eq!(
                complaints(root, "#![forbid(unsafe_code)]\n//! Docs.\n"),
                [""; 0],
                "{root}"
            );
        }
        for other in [
            "sandboxd/src/lib.rs",
            "sandboxd/src/bin/portcullis-launch.rs",
            "server/src/store.rs",
            "policy/src/evaluate/tests/laws.rs",
            "server/tests/audit.rs",
            "proto/build.rs",
        ] {
            assert_eq!(complaints(other, "//! Docs.\n"), [""; 0], "{other}");
        }
    }

    #[test]
    fn length_has_a_limit() {
        let lines = |count| format!("//! Docs.\n{}", "\n".repeat(count - 1));
        assert_eq!(complaints("policy/src/a.rs", &lines(MAX_LINES)), [""; 0]);
        assert_eq!(complaints("policy/src/a.rs", &lines(MAX_LINES + 1)).len(), 1);
    }
}
