//! From a line to an [`Analysis`](super::Analysis).

use super::{Analysis, Limits, Opaque, OpaqueReason, ShellContext};

/// Analyses a line.
#[must_use]
pub fn analyse(line: &str, _context: &ShellContext, _limits: Limits) -> Analysis {
    Analysis {
        commands: Vec::new(),
        opaque: vec![Opaque {
            text: line.to_owned(),
            reason: OpaqueReason::Unparsable,
            seen_through: Vec::new(),
        }],
    }
}
