//! Reads a command's output as it passes, and keeps the lines that complain of what a sandbox may have refused.
//!
//! Bounded whatever is printed: a line counts up to [`MAX_LINE`] bytes, and a run keeps [`MAX_KEPT`] complaints. The messages
//! are the C library's, and what node, Rust and Python make of them, in English: another language is not understood.

/// Longest piece of a line that is looked at, in bytes.
const MAX_LINE: usize = 2048;

/// Most complaints that are kept of one stream. The first ones: what comes after is often their consequence.
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
    line: Vec<u8>,
    before: Vec<String>,
    kept: Vec<Complaint>,
}

impl Watch {
    /// Looks at the next piece.
    pub fn look(&mut self, piece: &[u8]) {
        if self.kept.len() >= MAX_KEPT {
            return;
        }
        for part in piece.split_inclusive(|&byte| byte == b'\n' || byte == b'\r') {
            let (text, ended) = match part.split_last() {
                Some((b'\n' | b'\r', text)) => (text, true),
                _ => (part, false),
            };
            let room = MAX_LINE.saturating_sub(self.line.len()).min(text.len());
            self.line.extend(text.iter().take(room));
            if ended {
                self.end_of_line();
            }
        }
    }

    fn end_of_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = plain(&String::from_utf8_lossy(&line));
        if line.trim().is_empty() {
            return;
        }
        let lower = line.to_ascii_lowercase();
        let found = WORDINGS.iter().find(|(_, wording)| lower.contains(wording));
        if let Some((failure, _)) = found
            && self.kept.len() < MAX_KEPT
        {
            self.kept.push(Complaint {
                failure: *failure,
                line: line.clone(),
                before: self.before.clone(),
            });
        }
        self.before.insert(0, line);
        self.before.truncate(BEFORE);
    }

    /// What was found.
    #[must_use]
    pub fn found(mut self) -> Vec<Complaint> {
        self.end_of_line();
        self.kept
    }
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
    fn output_without_end_takes_no_memory_without_end() {
        let mut watch = Watch::default();
        for _ in 0..1000 {
            watch.look(&[b'x'; 4096]);
        }
        assert!(watch.line.len() <= MAX_LINE);
        for _ in 0..1000 {
            watch.look(b"\nx: Permission denied\n");
        }
        assert_eq!(watch.found().len(), MAX_KEPT);
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
