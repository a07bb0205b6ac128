//! Which rules the cases reached, and which nobody tested.

use std::collections::BTreeMap;

use crate::{Decision, PolicyDocument, RuleRef};

/// Counts the rules that decided a part of a call.
///
/// A rule that matches and is outranked by another decides nothing, so it counts as not reached: no case would fail if it
/// were taken away.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    rules: BTreeMap<Place, (RuleRef, bool)>,
}

/// Document, line and column.
type Place = (String, u32, u32);

fn place(rule: &RuleRef) -> Place {
    (rule.document.to_string(), rule.line, rule.column)
}

/// The rules of one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Covered {
    /// The document's name.
    pub document: String,
    /// How many rules it has.
    pub rules: usize,
    /// Those that no case reached, in the order of the text.
    pub not_reached: Vec<RuleRef>,
}

impl Coverage {
    /// Adds the rules of a document; one that was added before keeps what is known about it.
    pub fn add(&mut self, document: &PolicyDocument) {
        for rule in &document.rules {
            self.rules
                .entry(place(&rule.source))
                .or_insert_with(|| (rule.source.clone(), false));
        }
    }

    /// Notes what a decision rests on. Rules of documents that were not added are passed over.
    pub fn reach(&mut self, decision: &Decision) {
        for rule in decision.trace.iter().filter_map(|part| part.rule.as_ref()) {
            if let Some((_, reached)) = self.rules.get_mut(&place(rule)) {
                *reached = true;
            }
        }
    }

    /// What was covered, document by document.
    #[must_use]
    pub fn documents(&self) -> Vec<Covered> {
        let mut out: Vec<Covered> = Vec::new();
        for (rule, reached) in self.rules.values() {
            if out.last().is_none_or(|last| *last.document != *rule.document) {
                out.push(Covered {
                    document: rule.document.to_string(),
                    rules: 0,
                    not_reached: Vec::new(),
                });
            }
            if let Some(last) = out.last_mut() {
                last.rules += 1;
                if !*reached {
                    last.not_reached.push(rule.clone());
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::file;

    #[test]
    fn a_rule_counts_as_reached_if_it_decided_a_part() {
        let text = "[layers.team]\ndeny = [\"Bash(rm *)\", \"Bash(rm x)\"]\nallow = [\"Bash(make)\"]\n\
                    [[request]]\nrun = \"make; rm x\"\ndecision = \"deny\"\n";
        let file = file::read(text, "t.toml", &mut |_| Err(String::new())).unwrap();
        let mut coverage = Coverage::default();
        for document in &file.documents {
            coverage.add(document);
        }
        coverage.reach(&file.cases[0].decide());
        coverage.add(&file.documents[0]);
        let [covered] = <[Covered; 1]>::try_from(coverage.documents()).unwrap();
        let not_reached: Vec<&str> = covered.not_reached.iter().map(|rule| &*rule.text).collect();
        assert_eq!((covered.rules, not_reached), (3, vec!["Bash(rm x)"]));
    }
}
