//! Words that mean something only where the code was written: paths of a workplace, hosts of a package registry.
//!
//! A reader of a clone cannot follow them, so they are either noise or a mistake.

use super::Finding;

const REGISTRY: &str = "the host of a package registry";

/// What must not occur, and why. Put together from halves, so that this file does not accuse itself.
const FORBIDDEN: [(&str, &str); 10] = [
    (concat!("/wo", "rk/"), "a path of a workplace"),
    (concat!("../sha", "red/"), "a folder that no clone has"),
    (concat!("crates", ".io"), REGISTRY),
    (concat!("npm", "js.org"), REGISTRY),
    (concat!("npm", "js.com"), REGISTRY),
    (concat!("pypi", ".org"), REGISTRY),
    (concat!("python", "hosted.org"), REGISTRY),
    (concat!("ruby", "gems.org"), REGISTRY),
    (concat!("proxy.go", "lang.org"), REGISTRY),
    (concat!("static.rust", "-lang.org"), REGISTRY),
];

/// Files that cargo or a publisher writes, and the one list of hosts that a sandbox may reach.
const EXEMPT: [&str; 5] = [
    "Cargo.lock",
    "benches/Cargo.lock",
    "fuzz/Cargo.lock",
    "LICENSE",
    "policy/data/ecosystems.toml",
];

/// Checks one file.
pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    if EXEMPT.contains(&path) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let lower = line.to_lowercase();
        for (word, what) in FORBIDDEN {
            if lower.contains(word) {
                findings.push(Finding {
                    path: path.to_owned(),
                    line: number,
                    complaint: format!("names `{word}`, {what}"),
                });
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forbidden_word_is_found_where_it_stands() {
        let text = format!("fine\nsee {}notes.md\n", concat!("/wo", "rk/"));
        let findings = check("docs/a.md", &text);
        assert_eq!(findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn similar_words_are_fine() {
        assert_eq!(check("a.rs", "network/x, /workspace/x, shared/x, crate.io\n"), []);
    }

    #[test]
    fn files_that_others_write_are_not_read() {
        let line = format!("source = \"{}\"\n", concat!("crates", ".io"));
        assert_eq!(check("Cargo.lock", &line), []);
        assert_eq!(check("Cargo.toml", &line).len(), 1);
    }
}
