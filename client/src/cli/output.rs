//! Writing data to stdout: a reader who goes away is no error, control characters never reach a terminal.

use std::{
    borrow::Cow,
    fmt::Write as _,
    io::{self, Write as _},
};

use anstyle::{AnsiColor, Style};
use portcullis_policy::Verdict;
use serde::Serialize;

use super::failure::Failure;

/// Writes bytes as they are. A reader who went away is no error: whoever pipes into `head` has seen enough.
pub(crate) fn data(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    finish(out.write_all(bytes).and_then(|()| out.flush())).map(|_| ())
}

/// Writes text that may hold styles, which are left out where nobody sees them. Returns whether somebody still reads.
pub(crate) fn text(text: &str) -> Result<bool, Failure> {
    let mut out = anstream::stdout().lock();
    finish(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Writes one JSON value on one line. Returns whether somebody still reads.
pub(crate) fn json(value: &impl Serialize) -> Result<bool, Failure> {
    let mut line = serde_json::to_vec(value).map_err(|error| Failure::text(format!("cannot write JSON: {error}")))?;
    line.push(b'\n');
    let mut out = io::stdout().lock();
    finish(out.write_all(&line).and_then(|()| out.flush()))
}

fn finish(written: io::Result<()>) -> Result<bool, Failure> {
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::io("cannot write to standard output", error)),
    }
}

/// The text with control characters written out, so that what an agent or a stranger wrote cannot drive a terminal.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    // Bidirectional overrides reorder what a person reads; they are no control characters to Rust.
    let harmful = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.contains(harmful) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("\\n"),
            '\t' => safe.push_str("\\t"),
            c if harmful(c) => {
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// The verdict in its colour.
pub(crate) fn verdict(verdict: Option<Verdict>) -> String {
    let (word, colour) = match verdict {
        Some(Verdict::Allow) => ("allow", AnsiColor::Green),
        Some(Verdict::Ask) => ("ask", AnsiColor::Yellow),
        Some(Verdict::Deny) => ("deny", AnsiColor::Red),
        None => ("?", AnsiColor::Red),
    };
    let style = Style::new().bold().fg_color(Some(colour.into()));
    format!("{style}{word}{style:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_drives_the_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb\nc\u{202e}"), "a\\u{1b}[2Jb\\nc\\u{202e}");
        assert!(matches!(printable("plain ä"), Cow::Borrowed(_)));
    }
}
