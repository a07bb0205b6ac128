//! Where words go: results to standard output, all else to standard error.
//!
//! A closed terminal or pipe is no reason to die in the middle of stopping the programs, so write errors are dropped.

use std::io::Write as _;

/// Prints a line to standard output.
pub(crate) fn out(line: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

/// Prints a line to standard error.
pub(crate) fn err(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
