//! One statement of a policy: `Tool` or `Tool(specifier)`, in the spelling of Claude Code.

mod parse;

use std::fmt;

use crate::{Effect, Layer};

pub use parse::{InvalidRule, parse};

/// A rule, ready to be matched.
#[derive(Clone, Debug)]
pub struct Rule {
    /// What it carries.
    pub effect: Effect,
    /// Where it stands.
    pub source: RuleRef,
    /// For the agent: what to do instead. From the document's `advice`.
    pub advice: Option<String>,
}

/// Where a rule stands, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleRef {
    /// The layer.
    pub layer: Layer,
    /// The document: a path, `team policy v3`, `--allowedTools`, `built in`.
    pub document: String,
    /// Line, counted from 1; 0 if there is none.
    pub line: u32,
    /// Column in characters, counted from 1; 0 if there is none.
    pub column: u32,
    /// The rule as written.
    pub text: String,
    /// Its author's name for it.
    pub name: Option<String>,
    /// What it carries.
    pub effect: Effect,
}

impl fmt::Display for RuleRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} rule `{}` ({}: {}",
            self.effect, self.text, self.layer, self.document
        )?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        f.write_str(")")
    }
}
