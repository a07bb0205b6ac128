//! Asking a person at the terminal for a yes: for what no agent may do in their place.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
};

use super::failure::Failure;

/// Longest answer that is read from the terminal, in bytes.
const MAX_ANSWER: u64 = 64;

/// Asks on the terminal, never on standard input: that may be a pipe an agent writes to. `only` says who can answer.
pub(crate) fn confirmed(question: &str, only: &str) -> Result<bool, Failure> {
    let open = || fs::OpenOptions::new().read(true).write(true).open("/dev/tty");
    let terminal = open().map_err(|cause| {
        Failure::io("cannot ask for confirmation", cause).with_help(format!("run it in a terminal: {only}"))
    })?;
    let failed = |cause| Failure::io("cannot ask for confirmation", cause);
    (&terminal).write_all(question.as_bytes()).map_err(failed)?;
    let mut answer = String::new();
    let mut reader = BufReader::new(std::io::Read::take(&terminal, MAX_ANSWER));
    reader.read_line(&mut answer).map_err(failed)?;
    Ok(is_yes(&answer))
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::is_yes;

    #[test]
    fn only_yes_is_yes() {
        for (answer, expected) in [
            ("yes\n", true),
            ("Y\n", true),
            ("", false),
            ("\n", false),
            ("no\n", false),
            ("yesno", false),
        ] {
            assert_eq!(is_yes(answer), expected, "{answer:?}");
        }
    }
}
