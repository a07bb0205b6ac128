//! The .proto files: everything in them is documented, and named as `buf lint` would have it.
//!
//! Reads one declaration per line, as the files are written; a line it cannot place is a complaint, so that a declaration
//! does not escape by its form.

use super::Finding;

/// Where a line stands.
#[derive(Clone, Debug)]
enum Block {
    Message,
    Oneof,
    Service,
    Enum { prefix: String, seen_zero: bool },
}

/// Checks one file.
pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut checker = Checker {
        path,
        line: 0,
        findings: Vec::new(),
        blocks: Vec::new(),
        documented: false,
    };
    for line in text.lines() {
        checker.line += 1;
        checker.read(line.trim());
    }
    if !checker.blocks.is_empty() {
        checker.complain("ends inside a block");
    }
    checker.findings
}

struct Checker<'a> {
    path: &'a str,
    line: usize,
    findings: Vec<Finding>,
    blocks: Vec<Block>,
    /// Whether the line above is a comment.
    documented: bool,
}

impl Checker<'_> {
    fn complain(&mut self, complaint: impl Into<String>) {
        self.findings.push(Finding {
            path: self.path.to_owned(),
            line: self.line,
            complaint: complaint.into(),
        });
    }

    fn read(&mut self, line: &str) {
        if line.is_empty() {
            self.documented = false;
            return;
        }
        if let Some(comment) = line.strip_prefix("//") {
            self.documented |= !comment.trim().is_empty();
            return;
        }
        if line == "}" {
            self.blocks.pop();
            self.documented = false;
            return;
        }
        let words: Vec<&str> = line
            .split(|c: char| c.is_whitespace() || "(){};=".contains(c))
            .filter(|word| !word.is_empty())
            .collect();
        let first = words.first().copied().unwrap_or_default();
        if self.blocks.is_empty() && matches!(first, "syntax" | "package" | "import" | "option") {
            self.documented = false;
            return;
        }
        if !self.documented && first != "reserved" {
            self.complain(format!("no comment above `{line}`"));
        }
        self.documented = false;
        self.declaration(line, &words);
    }

    fn declaration(&mut self, line: &str, words: &[&str]) {
        let opened = match (words, self.blocks.last()) {
            (["message", name, ..], None | Some(Block::Message)) => {
                self.expect(is_pascal(name), name, "a message in PascalCase");
                Block::Message
            }
            (["enum", name, ..], None | Some(Block::Message)) => {
                self.expect(is_pascal(name), name, "an enum in PascalCase");
                Block::Enum {
                    prefix: format!("{}_", upper_snake(name)),
                    seen_zero: false,
                }
            }
            (["service", name, ..], None) => {
                self.expect(
                    is_pascal(name) && name.ends_with("Service"),
                    name,
                    "a service in PascalCase that ends in `Service`",
                );
                Block::Service
            }
            (["oneof", name, ..], Some(Block::Message)) => {
                self.expect(is_snake(name), name, "a oneof in lower_snake_case");
                Block::Oneof
            }
            _ => return self.leaf(line, words),
        };
        if line.ends_with('{') {
            self.blocks.push(opened);
        } else if !line.ends_with("{}") {
            self.complain(format!("cannot read `{line}`: a block opens at the end of its line"));
        }
    }

    /// A declaration that opens no block.
    fn leaf(&mut self, line: &str, words: &[&str]) {
        if !line.ends_with(';') {
            return self.complain(format!("cannot read `{line}`: a declaration ends with its line"));
        }
        match (self.blocks.last().cloned(), words) {
            (Some(Block::Service), ["rpc", name, rest @ ..]) => {
                let types: Vec<&str> = rest
                    .iter()
                    .copied()
                    .filter(|word| !matches!(*word, "stream" | "returns"))
                    .collect();
                let wanted = [format!("{name}Request"), format!("{name}Response")];
                if !is_pascal(name) || types != wanted {
                    self.complain(format!(
                        "`{name}` should take `{}` and return `{}`",
                        wanted[0], wanted[1]
                    ));
                }
            }
            (Some(Block::Enum { prefix, seen_zero }), [name, number, ..]) => {
                if !name.starts_with(&prefix) || !is_upper_snake(name) {
                    self.complain(format!("`{name}` should be UPPER_SNAKE_CASE and begin with `{prefix}`"));
                }
                let zero = format!("{prefix}UNSPECIFIED");
                if !seen_zero && (*name != zero || *number != "0") {
                    self.complain(format!("the first value should be `{zero} = 0`"));
                }
                if let Some(Block::Enum { seen_zero, .. }) = self.blocks.last_mut() {
                    *seen_zero = true;
                }
            }
            (Some(Block::Message), ["reserved", ..]) => {}
            (
                Some(Block::Message | Block::Oneof),
                ["repeated" | "optional", _, name, _number, ..] | [_, name, _number, ..],
            ) => {
                let repeated = words.first() == Some(&"repeated");
                self.expect(is_snake(name), name, "a field in lower_snake_case");
                if repeated && !name.ends_with('s') && !PLURALS.contains(name) {
                    self.complain(format!("`{name}` is repeated, so its name should be a plural"));
                }
            }
            _ => self.complain(format!("cannot read `{line}`")),
        }
    }

    fn expect(&mut self, holds: bool, name: &str, what: &str) {
        if !holds {
            self.complain(format!("`{name}` should be {what}"));
        }
    }
}

/// Repeated fields whose name needs no plural `s`.
const PLURALS: [&str; 11] = [
    "advice",
    "allow",
    "argv",
    "ask",
    "content",
    "deny",
    "environment",
    "evidence",
    "missing",
    "seen_through",
    "trace",
];

fn is_pascal(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(|c| c.is_ascii_alphanumeric())
}

fn is_snake(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

fn is_upper_snake(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && name
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// `DecidedBy` becomes `DECIDED_BY`.
fn upper_snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_uppercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIDY: &str = r#"// About the file.
syntax = "proto3";

package portcullis.v1;

import "google/protobuf/duration.proto";

// A service.
service GateService {
  // Opens.
  rpc Open(OpenRequest) returns (OpenResponse);
  // Streams.
  rpc Watch(stream WatchRequest) returns (stream WatchResponse);
}

// Which.
enum DoorKind {
  // None.
  DOOR_KIND_UNSPECIFIED = 0;
  // Wide.
  DOOR_KIND_WIDE = 1;
}

// Empty.
message OpenResponse {}

// Asks.
message OpenRequest {
  reserved 9;
  // Words.
  repeated string words = 1;
  // One of.
  oneof body {
    // Bytes.
    bytes raw_text = 2;
  }
  // A number.
  optional uint64 after = 3 [deprecated = true];
}
"#;

    fn complaints(text: &str) -> Vec<(usize, String)> {
        check("a.proto", text)
            .into_iter()
            .map(|finding| (finding.line, finding.complaint))
            .collect()
    }

    #[test]
    fn a_tidy_file_has_no_complaint() {
        assert_eq!(complaints(TIDY), []);
    }

    #[test]
    fn each_missing_comment_is_found() {
        let comments = TIDY
            .lines()
            .enumerate()
            .filter(|(number, line)| *number > 0 && line.trim().starts_with("//"));
        for (number, comment) in comments {
            let without: String = TIDY
                .lines()
                .enumerate()
                .filter(|(other, _)| *other != number)
                .map(|(_, line)| format!("{line}\n"))
                .collect();
            let found = complaints(&without);
            assert_eq!(found.len(), 1, "without `{comment}`: {found:?}");
            assert_eq!(found[0].0, number + 1, "without `{comment}`");
        }
    }

    #[test]
    fn each_wrong_name_is_found() {
        for (right, wrong) in [
            ("service GateService", "service Gate"),
            ("rpc Open(OpenRequest)", "rpc Open(Ask)"),
            ("returns (OpenResponse)", "returns (OpenAnswer)"),
            ("enum DoorKind", "enum doorKind"),
            ("DOOR_KIND_UNSPECIFIED = 0", "DOOR_KIND_UNKNOWN = 0"),
            ("DOOR_KIND_WIDE", "WIDE"),
            ("bytes raw_text", "bytes rawText"),
            ("repeated string words", "repeated string word"),
            ("message OpenRequest", "message open_request"),
            ("oneof body", "oneof Body"),
        ] {
            assert!(TIDY.contains(right));
            assert!(!complaints(&TIDY.replace(right, wrong)).is_empty(), "{wrong}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_a_complaint() {
        for odd in [
            "message A { string b = 1; }",
            "message A\n{",
            "rpc Out(OutRequest) returns (OutResponse);",
        ] {
            assert!(!complaints(&format!("// Odd.\n{odd}\n")).is_empty(), "{odd}");
        }
    }
}
