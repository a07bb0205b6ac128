//! Ignore files as documents: `.cursorignore`, in the syntax of gitignore.
//!
//! Each line becomes deny rules on reading, so that everything that holds for a rule (commands, globs, links, searches)
//! holds for it too; the answer says "ignored by" and counts as a control. `.gitignore` and agents' built-in lists are no
//! such documents: they advise what is worth reading.

use super::{DocumentOrigin, Fault, PolicyDocument, RuleList, scan};
use crate::{
    Effect,
    path::ignore::{IgnoreBase, line},
    rule::{InvalidRule, Matcher, PathVerb, Rule, RuleRef},
};

/// Most `!lines` of one list: each is compared for every line before it.
const MAX_TAKEN_OUT: usize = 128;

impl PolicyDocument {
    /// The name of the ignore file that is read at the root of a project.
    pub const IGNORE_FILE: &str = ".cursorignore";

    /// Whether a document of this name is an ignore file.
    #[must_use]
    pub fn is_ignore_file(name: &str) -> bool {
        name.rsplit('/').next() == Some(Self::IGNORE_FILE)
    }

    /// Reads an ignore file. `origin.folder` is where its lines count from.
    ///
    /// A line that git would not understand ignores nothing there, and is a warning here. The faults are lines beyond what
    /// is read: whoever uses the document then knows that it may lack one, and allows nothing.
    #[must_use]
    pub fn parse_ignore_file(text: &str, origin: DocumentOrigin) -> (Self, Vec<Fault>) {
        let mut list = RuleList::new(origin);
        list.begin(Effect::Deny);
        let lines = scan::Lines::new(text);
        let mut faults = Vec::new();
        let mut at = 0;
        for (number, own) in text.split('\n').enumerate() {
            let line_number = u32::try_from(number + 1).unwrap_or(u32::MAX);
            let note = |message: String, hint: Option<String>| {
                let (line, column) = lines.position(at);
                Fault {
                    span: at..at + own.len(),
                    line,
                    column,
                    message,
                    hint,
                }
            };
            if list.document.rules.len() >= Self::MAX_RULES && !own.trim().is_empty() {
                let message = format!("more than {} lines", Self::MAX_RULES / 2);
                faults.push(note(message, Some("join some of them by a wildcard".to_owned())));
                break;
            }
            // A mark of the byte order at the beginning of the file is no part of a name.
            let line = own.strip_prefix('\u{feff}').filter(|_| number == 0).unwrap_or(own);
            if let Err(fault) = list.add_ignore(line, (line_number, 1), IgnoreBase::File) {
                list.document.warnings.push(note(fault.message, fault.hint));
            }
            at += own.len() + 1;
        }
        (list.finish(), faults)
    }
}

impl RuleList {
    /// Adds a line of an ignore list: two rules, or exceptions to those before it in the list.
    pub(super) fn add_ignore(
        &mut self,
        text: &str,
        (line_number, column): (u32, u32),
        base: IgnoreBase,
    ) -> Result<(), InvalidRule> {
        let Some(read) = line(text, base).map_err(|fault| InvalidRule {
            span: fault.span,
            message: fault.message,
            hint: fault.hint,
        })?
        else {
            return Ok(());
        };
        if read.negated {
            // The rules of a list stand in pairs: the thing itself, and what lies below it.
            let earlier = self.document.rules.get_mut(self.start..).unwrap_or_default();
            if earlier
                .first()
                .is_some_and(|rule| rule.exceptions.len() >= MAX_TAKEN_OUT)
            {
                return Err(InvalidRule {
                    span: 0..text.len(),
                    message: format!("more than {MAX_TAKEN_OUT} lines take something out again"),
                    hint: Some("join some of them by a wildcard".to_owned()),
                });
            }
            for pair in earlier.chunks_mut(2) {
                if let [exact, below] = pair {
                    exact.exceptions.push(read.exact.clone());
                    below.exceptions.push(read.below.clone());
                }
            }
            return Ok(());
        }
        for pattern in [read.exact, read.below] {
            self.document.rules.push(Rule {
                effect: Effect::Deny,
                matcher: Matcher::Path {
                    verb: PathVerb::Read,
                    pattern: Some(pattern),
                },
                exceptions: Vec::new(),
                when: None,
                source: RuleRef {
                    layer: self.document.origin.layer,
                    document: self.name.clone(),
                    line: line_number,
                    column,
                    text: text.trim_end().into(),
                    name: None,
                    effect: Effect::Deny,
                },
                advice: None,
                written: None,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
