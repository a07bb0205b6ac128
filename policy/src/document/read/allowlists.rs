//! Reads `terminalAllowlist`, `mcpAllowlist` and `autoRun`.
//!
//! In a document of ours an entry that could never match is a fault, with one exception that the format itself makes: an
//! entry of `mcpAllowlist` without `:` is ignored with a warning.

use jsonc_parser::{
    ast::{Array, Value},
    common::Ranged,
};

use super::{MAX_WORDS, PolicyDocument, Reader, keys, kind, range};
use crate::{
    Effect,
    document::{Allowlists, AutoRun},
    rule::{Condition, Matcher, Rule, RuleRef, mcp_entry, terminal_entry},
};

/// Most sentences of one kind.
const MAX_INSTRUCTIONS: usize = 100;

impl Reader<'_> {
    pub(super) fn terminal_allowlist(&mut self, value: &Value<'_>) {
        let Some(array) = self.array(value, "terminalAllowlist") else {
            // Whatever it was meant to be, it is there, and an empty list allows nothing.
            self.list.document.allowlists.terminal = Some(Vec::new());
            return;
        };
        let rules = self.entries(array, "terminalAllowlist", |text| {
            terminal_entry(text).map(Matcher::Shell)
        });
        self.list.document.allowlists.terminal = Some(rules);
    }

    pub(super) fn mcp_allowlist(&mut self, value: &Value<'_>) {
        let Some(array) = self.array(value, "mcpAllowlist") else {
            self.list.document.allowlists.mcp = Some(Vec::new());
            return;
        };
        let rules = self.entries(array, "mcpAllowlist", |text| mcp_entry(text).map(Matcher::Mcp));
        self.list.document.allowlists.mcp = Some(rules);
    }

    fn entries(
        &mut self,
        array: &Array<'_>,
        key: &str,
        read: impl Fn(&str) -> Result<Matcher, (String, String)>,
    ) -> Vec<Rule> {
        let mut rules = Vec::new();
        for element in &array.elements {
            if self.list.document.rules.len() + rules.len() >= PolicyDocument::MAX_RULES {
                self.fault(
                    range(element),
                    format!("more than {} rules", PolicyDocument::MAX_RULES),
                    None,
                );
                break;
            }
            let Some(text) = self.string(element, key) else {
                continue;
            };
            match read(text) {
                Ok(matcher) => {
                    let (line, column) = self.lines.position(element.start());
                    let origin = &self.list.document.origin;
                    rules.push(Rule {
                        effect: Effect::Allow,
                        matcher,
                        exceptions: Vec::new(),
                        when: Some(Box::new(Condition {
                            modes: Some(Allowlists::modes()),
                            input: None,
                        })),
                        source: RuleRef {
                            layer: origin.layer,
                            document: origin.name.as_str().into(),
                            line,
                            column,
                            text: format!("{key}: {text}").into(),
                            name: None,
                            effect: Effect::Allow,
                        },
                        advice: None,
                        written: None,
                    });
                }
                Err((message, hint)) if key == "mcpAllowlist" && !text.contains(':') => {
                    let warning = self.note(range(element), message, Some(hint));
                    self.list.document.warnings.push(warning);
                }
                Err((message, hint)) => self.fault(range(element), message, Some(&hint)),
            }
        }
        rules
    }

    pub(super) fn auto_run(&mut self, value: &Value<'_>) {
        let mut auto_run = AutoRun::default();
        if let Some(object) = self.object(value, "autoRun") {
            self.keys(object, &keys::AUTO_RUN, |this, key, property| {
                let sentences = this.sentences(&property.value, key);
                if key == "allow_instructions" {
                    auto_run.allow_instructions = sentences;
                } else {
                    auto_run.block_instructions = sentences;
                }
            });
        }
        self.list.document.allowlists.auto_run = Some(auto_run);
    }

    fn sentences(&mut self, value: &Value<'_>, key: &str) -> Vec<String> {
        let Some(array) = self.array(value, key) else {
            return Vec::new();
        };
        if array.elements.len() > MAX_INSTRUCTIONS {
            self.fault(
                range(array),
                format!("more than {MAX_INSTRUCTIONS} sentences"),
                Some("join those that say the same"),
            );
            return Vec::new();
        }
        let mut out = Vec::new();
        for element in &array.elements {
            match element.as_string_lit().map(|literal| literal.value.trim()) {
                Some(text) if (1..=MAX_WORDS).contains(&text.len()) => out.push(text.to_owned()),
                Some(_) => self.fault(
                    range(element),
                    format!("a sentence holds between 1 and {MAX_WORDS} bytes"),
                    None,
                ),
                None => self.fault(
                    range(element),
                    format!("a sentence: expected a string, found {}", kind(element)),
                    None,
                ),
            }
        }
        out
    }
}
