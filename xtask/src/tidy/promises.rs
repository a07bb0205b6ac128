//! `SPECIFICATION.md`: each promise names the test that holds it, and that test is there.
//!
//! A promise is an item of a list. It names tests as `path/to/file.rs::name_of_the_test`, or says that it is not tested or
//! not measured yet. Compared as text: that a function of this name stands in the file, not that it is a test, nor that it
//! tests the promise.

use super::Finding;

/// The document.
const DOCUMENT: &str = "SPECIFICATION.md";

/// What a promise without a test has to admit.
const ADMISSIONS: [&str; 2] = ["not tested yet", "not measured yet"];

/// Checks the document. `read` gives the text of a file of the workspace, `None` if it is not there.
pub(super) fn check(read: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    let Some(text) = read(DOCUMENT) else {
        return vec![finding(0, "is missing".to_owned())];
    };
    let mut findings = Vec::new();
    for Promise { line, text } in promises(&text) {
        let named = tests(&text);
        if named.is_empty() && !ADMISSIONS.iter().any(|words| text.contains(words)) {
            findings.push(finding(
                line,
                "names no test, and does not say `not tested yet`".to_owned(),
            ));
        }
        for (file, name) in named {
            match read(file) {
                None => findings.push(finding(line, format!("names `{file}`, which does not exist"))),
                Some(code) if !code.contains(&format!("fn {name}(")) => {
                    findings.push(finding(line, format!("names `{name}`, which is not in `{file}`")));
                }
                Some(_) => {}
            }
        }
    }
    findings
}

fn finding(line: usize, complaint: String) -> Finding {
    Finding {
        path: DOCUMENT.to_owned(),
        line,
        complaint,
    }
}

/// An item of a list, with the lines that continue it.
struct Promise {
    line: usize,
    text: String,
}

fn promises(document: &str) -> Vec<Promise> {
    let mut found: Vec<Promise> = Vec::new();
    let mut open = false;
    for (number, line) in (1..).zip(document.lines()) {
        if let Some(text) = line.strip_prefix("- ") {
            found.push(Promise {
                line: number,
                text: text.to_owned(),
            });
            open = true;
        } else if open && line.starts_with("  ") {
            if let Some(promise) = found.last_mut() {
                promise.text.push(' ');
                promise.text.push_str(line.trim());
            }
        } else {
            open = false;
        }
    }
    found
}

/// The tests that a promise names: file and function.
fn tests(promise: &str) -> Vec<(&str, &str)> {
    let spans = promise.split('`').skip(1).step_by(2);
    spans
        .filter_map(|span| span.split_once("::"))
        .filter(|(file, _)| file.ends_with(".rs"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(document: &str) -> Vec<(usize, String)> {
        let read = |path: &str| match path {
            DOCUMENT => Some(document.to_owned()),
            "a/b.rs" => Some("#[test]\nfn it_holds() {}\n".to_owned()),
            _ => None,
        };
        let found = check(read).into_iter();
        found.map(|finding| (finding.line, finding.complaint)).collect()
    }

    #[test]
    fn a_promise_with_its_test_is_fine() {
        assert_eq!(complaints("# x\n\n- it holds\n  `a/b.rs::it_holds`\n"), []);
        assert_eq!(complaints("- it may hold: not tested yet\n"), []);
        assert_eq!(complaints("no list, `portcullis::x`\n"), []);
    }

    #[test]
    fn an_invented_test_is_found() {
        let found = complaints("- a `a/b.rs::it_holds`\n- b\n  `a/b.rs::invented`\n- c `a/c.rs::it_holds`\n");
        let lines: Vec<usize> = found.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [2, 4]);
        // A name that only begins like one that is there.
        assert_eq!(complaints("- a `a/b.rs::it_hold`\n").len(), 1);
    }

    #[test]
    fn a_promise_without_a_test_has_to_say_so() {
        assert_eq!(complaints("- it holds, believe me\n\n  `a/b.rs`\n").len(), 1);
    }

    #[test]
    fn the_document_has_to_be_there() {
        assert_eq!(check(|_| None).len(), 1);
    }
}
