//! Finds the lines of a command's output that complain of what a sandbox may have refused.
//!
//! While the output passes, its beginning and its end are kept, [`EDGE`] bytes of each; they are read when the command has
//! ended. So it costs a copy, and is bounded whatever is printed. The messages are the C library's, and what node, Rust and
//! Python make of them, in English: another language is not understood.

/// How much of the beginning, and of the end, of a stream is looked at, in bytes.
const EDGE: usize = 64 * 1024;

/// Longest piece of a line that is looked at, in bytes.
const MAX_LINE: usize = 2048;

/// Most complaints that are kept of one stream.
const MAX_KEPT: usize = 64;

/// Lines before a complaint that may name what it is about ("failed to create `/x`", "Caused by:", "…").
const BEFORE: usize = 4;

/// What a complaint speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// "Read-only file system" (`EROFS`).
    ReadOnly,
    /// "Permission denied" (`EACCES`).
    Denied,
    /// "Device or resource busy" (`EBUSY`).
    Busy,
    /// No name could be looked up, or there was no way to a host.
    NoNetwork,
}

/// How each is worded, in lower case.
const WORDINGS: &[(Failure, &str)] = &[
    (Failure::ReadOnly, "read-only file system"),
    (Failure::ReadOnly, "erofs"),
    (Failure::Denied, "permission denied"),
    (Failure::Denied, "eacces"),
    (Failure::Busy, "device or resource busy"),
    (Failure::Busy, "resource busy or locked"),
    (Failure::NoNetwork, "could not resolve host"),
    (Failure::NoNetwork, "temporary failure in name resolution"),
    (Failure::NoNetwork, "name or service not known"),
    (Failure::NoNetwork, "getaddrinfo eai_again"),
    (Failure::NoNetwork, "getaddrinfo enotfound"),
    (Failure::NoNetwork, "network is unreachable"),
    (Failure::NoNetwork, "enetunreach"),
    (Failure::NoNetwork, "no such host"),
];

/// A line that complains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Of what.
    pub failure: Failure,
    /// The line.
    pub line: String,
    /// The lines before it, the nearest first.
    pub before: Vec<String>,
}

/// The complaints of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Complaints(pub Vec<Complaint>);

/// Looks at one stream of output.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    first: Vec<u8>,
    last: Vec<u8>,
    /// Something between the two was not kept.
    gap: bool,
}

impl Watch {
    /// Looks at the next piece.
    pub fn look(&mut self, piece: &[u8]) {
        let room = EDGE.saturating_sub(self.first.len()).min(piece.len());
        let (first, rest) = piece.split_at(room);
        self.first.extend_from_slice(first);
        self.last.extend_from_slice(rest);
        // Moved only when as much again has come, so that each byte is moved once.
        if self.last.len() > 2 * EDGE {
            self.last.drain(..self.last.len() - EDGE);
            self.gap = true;
        }
    }

    /// What was found.
    #[must_use]
    pub fn found(self) -> Vec<Complaint> {
        let Self { mut first, last, gap } = self;
        if !gap {
            first.extend(last);
            return complaints(&first);
        }
        let mut found = complaints(&first);
        // A line that was cut may name half a path.
        let whole = last
            .iter()
            .position(|&byte| byte == b'\n')
            .map_or(last.len(), |at| at + 1);
        found.extend(complaints(last.get(whole..).unwrap_or_default()));
        found.truncate(MAX_KEPT);
        found
    }
}

fn complaints(output: &[u8]) -> Vec<Complaint> {
    let mut kept = Vec::new();
    let mut before: Vec<String> = Vec::new();
    for line in output.split(|&byte| byte == b'\n' || byte == b'\r') {
        let line = line.get(..MAX_LINE).unwrap_or(line);
        let line = plain(&String::from_utf8_lossy(line));
        if line.trim().is_empty() {
            continue;
        }
        let lower = line.to_ascii_lowercase();
        if let Some((failure, _)) = WORDINGS.iter().find(|(_, wording)| lower.contains(wording)) {
            kept.push(Complaint {
                failure: *failure,
                line: line.clone(),
                before: before.clone(),
            });
            if kept.len() >= MAX_KEPT {
                break;
            }
        }
        before.insert(0, line);
        before.truncate(BEFORE);
    }
    kept
}

/// Without the sequences that colour a terminal (`ESC [ … letter`), and without other control characters.
fn plain(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            if characters.next_if_eq(&'[').is_some() {
                // To the letter that ends it.
                for inside in characters.by_ref() {
                    if ('@'..='~').contains(&inside) {
                        break;
                    }
                }
            }
        } else if character == '\t' {
            kept.push(' ');
        } else if !character.is_control() {
            kept.push(character);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(pieces: &[&[u8]]) -> Vec<Complaint> {
        let mut watch = Watch::default();
        for piece in pieces {
            watch.look(piece);
        }
        watch.found()
    }

    #[test]
    fn complaints_are_found_wherever_the_output_is_cut() {
        let text = b"ok\n\x1b[31mtouch: cannot touch '/etc/x': Read-only file system\x1b[0m\r\nfine\ncat: y: Permission denied";
        for cut in 0..text.len() {
            let (first, second) = text.split_at(cut);
            let found = watch(&[first, second]);
            let failures: Vec<_> = found.iter().map(|complaint| complaint.failure).collect();
            assert_eq!(failures, [Failure::ReadOnly, Failure::Denied], "{cut}");
            assert_eq!(found[0].line, "touch: cannot touch '/etc/x': Read-only file system");
        }
    }

    #[test]
    fn lines_before_a_complaint_are_kept_with_it() {
        let found =
            watch(&[b"a\nb\nc\nerror: failed to create `/x`\n\nCaused by:\n  Read-only file system (os error 30)\n"]);
        assert_eq!(
            found[0].before,
            ["Caused by:", "error: failed to create `/x`", "c", "b"]
        );
    }

    #[test]
    fn output_without_end_takes_no_memory_without_end_and_its_end_is_read() {
        let mut watch = Watch::default();
        for _ in 0..1000 {
            watch.look(&[b'x'; 4096]);
            watch.look(b"\nmiddle: Permission denied\n");
        }
        watch.look(&[b'y'; 8 * EDGE]);
        watch.look(b"\nend: Read-only file system\n");
        assert!(watch.first.len() <= EDGE && watch.last.len() <= 2 * EDGE);
        let found = watch.found();
        assert!(found.len() <= MAX_KEPT);
        assert_eq!(found.last().unwrap().line, "end: Read-only file system");
        let many = watch_all(&b"x: Permission denied\n".repeat(1000));
        assert_eq!(many.len(), MAX_KEPT);
    }

    fn watch_all(text: &[u8]) -> Vec<Complaint> {
        watch(&[text])
    }

    #[test]
    fn ordinary_output_is_no_complaint() {
        assert!(
            watch(&[
                b"12 passed\nerror: expected `;`\nNo such file or directory\n\x1b[",
                b"\xff\xfe\n"
            ])
            .is_empty()
        );
    }
}
