//! Reads the text of a rule.

use std::ops::Range;

/// A text that is no rule, or a rule that could never match.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InvalidRule {
    /// The faulty bytes of the text.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
}

/// Reads a rule.
///
/// # Errors
/// With the span of the faulty words.
pub fn parse(_text: &str) -> Result<(), InvalidRule> {
    Ok(())
}
