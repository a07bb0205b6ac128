//! Reads the lists of rules: each rule with what its object says besides, and its examples, which are tried at once.
//!
//! A rule whose condition is faulty is never read without it. What a rule's own text means is for [`crate::rule`].

use std::ops::Range;

use jsonc_parser::{
    ast::{Array, Object, Value},
    common::Ranged,
};

use super::{PolicyDocument, Reader, keys, kind, range};
use crate::{
    Effect, Mode,
    document::{Entry, examples},
    rule::{Condition, Matcher, RegexPattern, Spelling, TextPattern},
};

/// Most examples of a rule.
const MAX_EXAMPLES: usize = 50;
/// Most regular expressions of a document: each is tried on every call, and costs time with the length of its text.
const MAX_REGEXES: usize = 100;

/// What a rule object says besides its rule.
#[derive(Default)]
struct Details {
    name: Option<String>,
    advice: Option<String>,
    spelling: Spelling,
    when: Option<Box<Condition>>,
    command: Option<TextPattern>,
}

impl Reader<'_> {
    pub(super) fn rules(&mut self, array: &Array<'_>, effect: Effect) {
        self.list.begin(effect);
        for element in &array.elements {
            if self.list.document.rules.len() >= PolicyDocument::MAX_RULES {
                self.fault(
                    range(element),
                    format!("more than {} rules", PolicyDocument::MAX_RULES),
                    None,
                );
                return;
            }
            match element {
                Value::StringLit(_) => {
                    self.rule(element, Details::default());
                }
                Value::Object(object) => self.rule_object(object, effect),
                other => self.fault(
                    range(other),
                    format!("a rule: expected a string or an object, found {}", kind(other)),
                    Some("write `\"Tool(specifier)\"` or `{ \"rule\": \"Tool(specifier)\", \"advice\": \"…\" }`"),
                ),
            }
        }
    }

    /// Reads one rule; the answer is whether there is one to check examples against.
    fn rule(&mut self, literal: &Value<'_>, details: Details) -> bool {
        let Some(text) = self.string(literal, "rule") else {
            return false;
        };
        let (line, column) = self.lines.position(literal.start());
        let entry = Entry {
            text,
            spelling: details.spelling,
            when: details.when,
            command: details.command,
            name: details.name,
            advice: details.advice,
            line,
            column,
        };
        let looks_absolute = |matcher: &Matcher| match matcher {
            Matcher::Path {
                pattern: Some(pattern), ..
            } if pattern.looks_absolute() => Some(pattern.text().to_owned()),
            _ => None,
        };
        match self.list.add(entry) {
            Ok(rule) => {
                let absolute = rule.and_then(|rule| looks_absolute(&rule.matcher));
                let is_rule = rule.is_some();
                if let Some(pattern) = absolute {
                    let warning = self.note(
                        range(literal),
                        format!("`{pattern}` begins at the project, not at the root of the file system"),
                        Some(format!("write `/{pattern}` for the absolute path")),
                    );
                    self.list.document.warnings.push(warning);
                }
                is_rule
            }
            Err(fault) => {
                let span = self.inside(literal, text, &fault.span);
                self.fault(span, fault.message, fault.hint.as_deref());
                false
            }
        }
    }

    /// The bytes of the document for a span within a string; the whole string where escapes shift them.
    pub(super) fn inside(&self, literal: &Value<'_>, value: &str, span: &Range<usize>) -> Range<usize> {
        let whole = range(literal);
        let begin = whole.start + 1;
        if self.text.get(begin..whole.end.saturating_sub(1)) == Some(value) && !span.is_empty() {
            begin + span.start..begin + span.end
        } else {
            whole
        }
    }

    fn rule_object(&mut self, object: &Object<'_>, effect: Effect) {
        let (mut rule, mut details) = (None, Details::default());
        let mut sets: Vec<(bool, &Value<'_>)> = Vec::new();
        // A rule whose condition is faulty must not be read without it.
        let faults = self.faults.len();
        self.keys(object, &keys::RULE, |this, key, property| match key {
            "rule" => rule = Some(&property.value),
            "spelling" => this.spelling(&property.value, &mut details),
            "when" => this.when(&property.value, effect, &mut details),
            "name" => details.name = this.words(&property.value, key),
            "advice" => details.advice = this.words(&property.value, key),
            "match" => sets.push((true, &property.value)),
            _ => sets.push((false, &property.value)),
        });
        let Some(literal) = rule else {
            self.fault(
                range(object),
                "the rule is missing its `rule`",
                Some("write `\"rule\": \"Tool(specifier)\"`"),
            );
            return;
        };
        if effect == Effect::Allow && self.faults.len() > faults {
            return;
        }
        if !self.rule(literal, details) {
            return;
        }
        for (expected, value) in sets {
            self.examples(value, expected);
        }
    }

    fn spelling(&mut self, value: &Value<'_>, details: &mut Details) {
        let Some(word) = self.string(value, "spelling") else {
            return;
        };
        match Spelling::named(word) {
            Some(spelling) => details.spelling = spelling,
            None => self.fault(
                range(value),
                format!("unknown spelling `{word}`"),
                Some("known are native, cursor"),
            ),
        }
    }

    /// Reads a condition. One that is faulty counts as none: the document is refused for it, and what is kept of it
    /// denies and asks all the more.
    fn when(&mut self, value: &Value<'_>, effect: Effect, details: &mut Details) {
        let Some(object) = self.object(value, "when") else {
            return;
        };
        let mut when = Condition::default();
        self.keys(object, &keys::WHEN, |this, key, property| match key {
            "modes" => {
                let Some(array) = this.array(&property.value, key) else {
                    return;
                };
                let read: Vec<Option<Mode>> = array.elements.iter().map(|element| this.mode(element, key)).collect();
                if read.is_empty() {
                    this.fault(
                        range(array),
                        "the rule would hold in no mode",
                        Some("leave `modes` out for all"),
                    );
                } else {
                    when.modes = read.into_iter().collect();
                }
            }
            "input" => when.input = this.regex(&property.value, key, effect),
            _ => details.command = this.regex(&property.value, key, effect).map(TextPattern::regex),
        });
        if when != Condition::default() {
            details.when = Some(Box::new(when));
        }
    }

    fn regex(&mut self, value: &Value<'_>, key: &str, effect: Effect) -> Option<RegexPattern> {
        let text = self.string(value, key)?;
        self.regexes += 1;
        if self.regexes > MAX_REGEXES {
            self.fault(
                range(value),
                format!("more than {MAX_REGEXES} regular expressions"),
                Some("write rules with `*`, which are found by the program they name"),
            );
            return None;
        }
        match RegexPattern::parse(text, effect) {
            Ok(pattern) => Some(pattern),
            Err(message) => {
                let hint = "look-around and back-references are not known; an allow has to match the whole text";
                self.fault(range(value), message, Some(hint));
                None
            }
        }
    }

    /// Checks examples against the rule read last.
    fn examples(&mut self, value: &Value<'_>, expected: bool) {
        let key = if expected { "match" } else { "not_match" };
        let Some(array) = self.array(value, key) else {
            return;
        };
        if array.elements.len() > MAX_EXAMPLES {
            self.fault(range(array), format!("more than {MAX_EXAMPLES} examples"), None);
            return;
        }
        for element in &array.elements {
            let Some(example) = self.string(element, key) else {
                continue;
            };
            let Some(rule) = self.list.document.rules.last() else {
                return;
            };
            let text = rule.source.text.clone();
            match examples::covers(rule, example) {
                Some(covers) if covers == expected => {
                    if let Some(rule) = self.list.document.rules.last_mut() {
                        let written = rule.written.get_or_insert_default();
                        let list = if expected {
                            &mut written.examples
                        } else {
                            &mut written.counterexamples
                        };
                        list.push(example.to_owned());
                    }
                }
                Some(true) => {
                    self.fault(
                        range(element),
                        format!("`{text}` covers `{example}`, which it must not"),
                        Some("narrow the rule"),
                    );
                }
                Some(false) => self.fault(
                    range(element),
                    format!("`{text}` does not cover `{example}`"),
                    Some("correct the rule or the example"),
                ),
                None => {
                    self.fault(range(element), format!("`{text}` takes no examples of this form"), None);
                    return;
                }
            }
        }
    }
}
