//! Looks at policies for rules that do not do what their author thinks: that can never match, that another rule outranks or
//! contains, that cover far more than they seem to, that a higher layer contradicts, or that cannot be enforced.
//!
//! A fault makes a document unusable and is found when it is read; what is found here is usable and probably not meant. So
//! every finding is advice, with a stable code (`docs/lint.md`), the place, the reason and a way out. INVARIANT: no false
//! claim. "Never" and "already covered" are said only where it follows from the patterns themselves ([`contain`]);
//! properties in `policy/tests/lint_laws.rs` hold it to that. What is merely broad is said to be broad.
//!
//! It decides nothing and changes nothing.

mod broad;
mod code;
mod contain;
mod hollow;
mod index;
mod letters;
mod places;

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use crate::{
    AbsPath, Effect, Fault, Layer, PolicyDocument, Rule, RuleRef,
    document::Lines,
    protected,
    rule::{Matcher, PathVerb},
    shell::{self, Limits, ShellContext},
};

pub use code::Code;

/// Most findings that are given back; more would not be read.
pub const MAX_FINDINGS: usize = 500;

/// Something about a rule that is probably not meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind it is.
    pub code: Code,
    /// The document's name.
    pub document: String,
    /// The document's layer.
    pub layer: Layer,
    /// The words it is about, in bytes of the document's text.
    pub span: Range<usize>,
    /// Line of their beginning, counted from 1.
    pub line: u32,
    /// Column of their beginning in characters, counted from 1.
    pub column: u32,
    /// The rule as written; empty if it is about a setting.
    pub rule: String,
    /// What is the matter.
    pub reason: String,
    /// What to do.
    pub fix: String,
}

impl Finding {
    /// The finding as it is shown in a text, with its code.
    #[must_use]
    pub fn as_fault(&self) -> Fault {
        Fault {
            span: self.span.clone(),
            line: self.line,
            column: self.column,
            message: format!("{}: {}", self.code, self.reason),
            hint: Some(self.fix.clone()),
        }
    }
}

/// A document and the text that it was read from.
#[derive(Clone, Debug)]
pub struct Linted<'a> {
    /// The document.
    pub document: Arc<PolicyDocument>,
    /// Its text.
    pub text: &'a str,
}

/// Looks at documents of any layers, which are taken to be in force together. In the order of the documents and their texts.
#[must_use]
pub fn lint(documents: &[Linted<'_>]) -> Vec<Finding> {
    let mut linter = Linter {
        documents,
        findings: BTreeMap::new(),
    };
    let all: Vec<Placed<'_>> = documents
        .iter()
        .enumerate()
        .flat_map(|(index, linted)| {
            linted
                .document
                .rules
                .iter()
                .map(move |rule| Placed { document: index, rule })
        })
        .collect();
    for placed in &all {
        linter.hidden_letters(placed);
        linter.never_matches(placed);
        if placed.rule.effect == Effect::Allow {
            linter.too_broad(placed);
        }
    }
    linter.shadowed(&all);
    linter.not_enforced(&all);
    linter.settings();
    let findings = linter.findings.into_values().flatten();
    findings.take(MAX_FINDINGS).collect()
}

/// A rule and which document it stands in.
#[derive(Clone, Copy)]
struct Placed<'a> {
    document: usize,
    rule: &'a Rule,
}

struct Linter<'a> {
    documents: &'a [Linted<'a>],
    /// By document and place, so that they come out in the order of the texts.
    findings: BTreeMap<(usize, u32, u32), Vec<Finding>>,
}

impl Linter<'_> {
    fn add(&mut self, code: Code, at: &Placed<'_>, reason: impl Into<String>, fix: impl Into<String>) {
        let Some(linted) = self.documents.get(at.document) else {
            return;
        };
        let source = &at.rule.source;
        let finding = Finding {
            code,
            document: source.document.to_string(),
            layer: source.layer,
            span: span(linted.text, source),
            line: source.line,
            column: source.column,
            rule: source.text.to_string(),
            reason: reason.into(),
            fix: fix.into(),
        };
        self.findings
            .entry((at.document, source.line, source.column))
            .or_default()
            .push(finding);
    }

    /// Rules that match nothing, or that something stands before which no rule lifts.
    fn never_matches(&mut self, at: &Placed<'_>) {
        let rule = at.rule;
        if let Some(modes) = rule.when.as_ref().and_then(|when| when.modes.as_ref()) {
            let permitted = self.documents.iter().filter_map(|linted| {
                let team = linted.document.origin.layer >= Layer::Team;
                linted.document.settings.permitted_modes.as_ref().filter(|_| team)
            });
            for permitted in permitted {
                if !modes.iter().any(|mode| permitted.contains(mode)) {
                    let reason = "the rule never holds: the team permits none of the modes in its `when`";
                    self.add(
                        Code::NeverHolds,
                        at,
                        reason,
                        "name a mode that is permitted, or remove the rule",
                    );
                    break;
                }
            }
        }
        match &rule.matcher {
            Matcher::Shell(pattern) if rule.effect == Effect::Allow && pattern.is_exact() => {
                if let Some(words) = contain::words_of(rule).filter(|words| !is_a_command(words)) {
                    let reason = format!("the rule never matches: `{words}` is no single command as bash reads it");
                    self.add(
                        Code::NeverMatches,
                        at,
                        reason,
                        "write the command as it is run, with its quotes closed",
                    );
                }
            }
            Matcher::Path {
                verb: PathVerb::Edit | PathVerb::Delete,
                pattern: Some(pattern),
            } if rule.effect == Effect::Allow => {
                if let Some((path, entry)) = protected_path(pattern.text()) {
                    let reason = format!(
                        "changing `{path}` always needs a person, whatever a rule allows: {}",
                        entry.reason
                    );
                    self.add(
                        Code::Protected,
                        at,
                        reason,
                        "remove the rule, or name what is meant beside the protected path",
                    );
                }
            }
            _ => {}
        }
        if rule.effect == Effect::Allow && rule.source.layer < Layer::Team {
            let lock = self.documents.iter().find(|linted| {
                linted.document.origin.layer >= Layer::Team && linted.document.settings.managed_rules_only
            });
            if let Some(lock) = lock {
                let name = &lock.document.origin.name;
                let reason =
                    format!("the rule does not count: `locks.managedRulesOnly` of {name} drops allows of lower layers");
                self.add(
                    Code::Locked,
                    at,
                    reason,
                    "ask the team's admin for a rule in the team's policy",
                );
            }
        }
    }

    fn too_broad(&mut self, at: &Placed<'_>) {
        if let Some((code, reason, mut fix)) = broad::judge(at.rule) {
            let without_examples = at
                .rule
                .written
                .as_ref()
                .is_none_or(|written| written.examples.is_empty() && written.counterexamples.is_empty());
            if without_examples {
                // Whoever writes them down sees how far the rule reaches, and so does who reads it later.
                fix.push_str("; if it is meant as it is, show how far it reaches by examples: `match` and `not_match`");
            }
            self.add(code, at, reason, fix);
        }
    }

    /// Rules of which another one says all.
    fn shadowed(&mut self, all: &[Placed<'_>]) {
        let rank = |placed: &Placed<'_>| {
            let source = &placed.rule.source;
            (
                std::cmp::Reverse(source.layer),
                placed.document,
                source.line,
                source.column,
            )
        };
        let index = index::Index::build(all);
        for inner in all {
            let outer = index
                .candidates(inner)
                .into_iter()
                .filter_map(|number| all.get(number))
                .filter(|outer| !std::ptr::eq(outer.rule, inner.rule))
                .filter(|outer| contain::contains(outer.rule, inner.rule))
                // Of two that say the same, the one that ranks first stays.
                .filter(|outer| {
                    let same = outer.rule.effect == inner.rule.effect && contain::contains(inner.rule, outer.rule);
                    !same || rank(outer) < rank(inner)
                })
                .min_by_key(|outer| (std::cmp::Reverse(outer.rule.effect), rank(outer)));
            let Some(outer) = outer else { continue };
            let by = &outer.rule.source;
            let (effect, higher) = (inner.rule.effect, by.layer > inner.rule.source.layer);
            let (code, reason, fix) = if by.effect == effect {
                (
                    Code::Covered,
                    format!("the rule changes no decision: the {by} covers all that it covers"),
                    "remove one of the two".to_owned(),
                )
            } else if higher {
                (
                    Code::Contradicts,
                    format!("the rule never decides: the {by} of a higher layer covers all that it covers"),
                    format!(
                        "remove the rule; no {effect} of this layer lifts a {} of the {} layer",
                        by.effect, by.layer
                    ),
                )
            } else {
                (
                    Code::Outranked,
                    format!(
                        "the rule never decides: the {by} covers all that it covers, and {} goes before {effect}",
                        by.effect
                    ),
                    format!("narrow the {} rule, or remove this one", by.effect),
                )
            };
            self.add(code, inner, reason, fix);
        }
    }

    /// Settings that contradict each other.
    fn settings(&mut self) {
        let documents = self.documents;
        let permitted: Vec<_> = documents
            .iter()
            .filter(|linted| linted.document.origin.layer >= Layer::Team)
            .filter_map(|linted| linted.document.settings.permitted_modes.as_ref())
            .collect();
        for (number, linted) in documents.iter().enumerate() {
            let Some(mode) = linted.document.settings.default_mode else {
                continue;
            };
            if permitted.iter().all(|modes| modes.contains(&mode)) {
                continue;
            }
            let at = linted.text.find("\"defaultMode\"").unwrap_or_default();
            let (line, column) = Lines::new(linted.text).position(at);
            let finding = Finding {
                code: Code::ModeNotPermitted,
                document: linted.document.origin.name.clone(),
                layer: linted.document.origin.layer,
                span: at..at + "\"defaultMode\"".len().min(linted.text.len() - at),
                line,
                column,
                rule: String::new(),
                reason: format!("the team does not permit mode {mode}, so every call of a session in it is denied"),
                fix: "choose a mode of `modes.permitted`".to_owned(),
            };
            self.findings.entry((number, line, column)).or_default().push(finding);
        }
    }
}

/// Whether words can be the text of a command: they are found again when they are analysed alone.
fn is_a_command(words: &str) -> bool {
    let context = ShellContext {
        cwd: AbsPath::root(),
        home: None,
    };
    let analysis = shell::analyse(words, &context, Limits::default());
    let pattern = crate::rule::TextPattern::exact(words);
    analysis
        .commands
        .iter()
        .any(|command| crate::evaluate::matches_command(&pattern, command, Effect::Deny))
}

/// The protected path that a pattern without wildcards, or all below a folder, names.
fn protected_path(pattern: &str) -> Option<(&str, &'static protected::Protected)> {
    let fixed = pattern.strip_suffix("/**").unwrap_or(pattern);
    if fixed.contains(['*', '?', '[']) {
        return None;
    }
    let plain = fixed.trim_start_matches("./").trim_start_matches(['~', '/']);
    // Where it really lies does not matter: protected names are protected at any depth.
    let path = AbsPath::root().join("w/app").join(plain);
    // Only what is protected whatever the team has switched off: the policy of the team need not be among the documents.
    let switches = protected::Switches {
        agent_directories_off: true,
    };
    protected::protects(&path, switches).map(|entry| (fixed, entry))
}

/// The bytes of a rule's string in its text; empty where the text is another.
fn span(text: &str, source: &RuleRef) -> Range<usize> {
    let Some(start) = offset(text, source.line, source.column) else {
        return 0..0;
    };
    let rest = text.get(start..).unwrap_or_default();
    let mut escaped = false;
    let mut end = rest.len();
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => {
                end = at + 1;
                break;
            }
            '\n' => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    start..start + end
}

/// The byte at a line and column.
fn offset(text: &str, line: u32, column: u32) -> Option<usize> {
    let mut start = 0;
    let mut lines = text.split_inclusive('\n');
    for _ in 1..line {
        start += lines.next()?.len();
    }
    let (at, _) = lines
        .next()?
        .char_indices()
        .nth(usize::try_from(column).ok()?.checked_sub(1)?)?;
    Some(start + at)
}
