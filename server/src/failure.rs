//! Prints failures: the one place where an error's chain of causes becomes text.
//!
//! Libraries keep causes in `source()` and do not repeat them; whoever prints walks the chain.

use std::error::Error;

/// The error and its causes in one line, each after a colon. A cause that the line ends with already is not repeated.
#[must_use]
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut line = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !line.ends_with(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        next = cause.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot open `{0}`")]
    struct Outer(&'static str, #[source] std::io::Error);

    #[test]
    fn causes_follow_after_colons() {
        let error = Outer("x", std::io::Error::other("disk on fire"));
        assert_eq!(chain(&error), "cannot open `x`: disk on fire");
    }
}
