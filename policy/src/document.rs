//! Policy documents: JSON with comments, read with all their faults at once.
//!
//! A document says which rules hold and a few settings; which of them its layer may say is checked here, so that whoever
//! merges documents need not ask again. A document with one fault is refused whole: half a policy is no policy.

mod allowlists;
mod examples;
mod ignore;
pub(crate) mod keys;
pub(crate) mod print;
mod read;
pub(crate) mod scan;
mod schema;
pub(crate) mod tree;

pub(crate) use examples::covers;
pub(crate) use scan::Lines;

use std::{ops::Range, sync::Arc};

pub(crate) use allowlists::in_force;
pub use allowlists::{Allowlists, AutoRun};
pub use print::CannotPrint;
pub use schema::{SCHEMA_ID, schema};

use crate::{
    AbsPath, Effect, Layer, Mode,
    controls::Controls,
    mode::RunSettings,
    rule::{Condition, InvalidRule, Matcher, ParsedRule, Rule, RuleRef, Spelling, TextPattern, Written, widest},
    sandbox::SandboxSettings,
};

/// Where a document comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentOrigin {
    /// Its layer.
    pub layer: Layer,
    /// Its name for people: a path, or `team policy v3`.
    pub name: String,
    /// What `/x` in its path rules stands for: the folder of the file's project, the user's configuration folder; `None`
    /// for team policy and session rules, where it is the workspace root of the request.
    pub folder: Option<AbsPath>,
}

/// One thing wrong with a document, or worth knowing about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The faulty bytes.
    pub span: Range<usize>,
    /// Line of its beginning, counted from 1.
    pub line: u32,
    /// Column of its beginning in characters, counted from 1.
    pub column: u32,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
}

/// A document without faults.
#[derive(Clone, Debug)]
pub struct PolicyDocument {
    /// Where it comes from.
    pub origin: DocumentOrigin,
    /// Its rules.
    pub rules: Vec<Rule>,
    /// Its settings.
    pub settings: Settings,
    /// Its allowlists and instructions for Cursor's modes.
    pub allowlists: Allowlists,
    /// What is no fault but worth knowing.
    pub warnings: Vec<Fault>,
}

/// What a document says besides rules. What it does not say is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The mode that sessions start in. Never bypass in a project's documents.
    pub default_mode: Option<Mode>,
    /// Folders that belong to the workspace: absolute, `~/x`, or relative to the document's folder.
    pub additional_directories: Vec<String>,
    /// The modes that a session may be in (team only).
    pub permitted_modes: Option<Vec<Mode>>,
    /// Modes that no session may be in, said by an agent's own file of any layer. No document of ours says it.
    pub forbidden_modes: Vec<Mode>,
    /// Allow rules of lower layers do not count (team only).
    pub managed_rules_only: bool,
    /// It is a file that an enterprise installed for an agent. No document of ours says it, nor the next.
    pub installed: bool,
    /// Beside installed files no allow rule of the host's documents counts; heard from an installed one only.
    pub installed_rules_only: bool,
    /// Whether a command that runs in the sandbox needs no question. A `false` of any layer wins.
    pub auto_allow_if_sandboxed: Option<bool>,
    /// Whether the folders of agents are protected (team only). `true` of any document wins.
    pub protect_agent_directories: Option<bool>,
    /// Whether ignore files of the folders around the project count too. Said by the user's document to the host.
    pub hierarchical_ignore: Option<bool>,
    /// What is controlled beside rules (team only, but for the session's flag).
    pub controls: Controls,
    /// About run modes and the protections that go with them.
    pub run: RunSettings,
    /// What the sandbox may do. That of a project that nobody trusts only narrows; settled where documents are merged.
    pub sandbox: SandboxSettings,
}

/// Reads a `sandbox.json`: JSON with comments, the keys of `docs/sandbox.md`.
///
/// # Errors
/// All faults, in the order of the text; never empty.
pub(crate) fn sandbox_settings(text: &str) -> Result<SandboxSettings, Vec<Fault>> {
    read::sandbox(text)
}

impl PolicyDocument {
    /// Largest text that is read, in bytes.
    pub const MAX_BYTES: usize = 256 * 1024;
    /// Most rules of one document.
    pub const MAX_RULES: usize = 5_000;

    /// Reads a document.
    ///
    /// # Errors
    /// All faults, in the order of the text; never empty.
    pub fn parse(text: &str, origin: DocumentOrigin) -> Result<Self, Vec<Fault>> {
        read::document(text, origin)
    }

    /// Reads a `sandbox.json` as a document that says nothing else.
    ///
    /// # Errors
    /// All faults, in the order of the text; never empty.
    pub fn parse_sandbox_file(text: &str, origin: DocumentOrigin) -> Result<Self, Vec<Fault>> {
        let sandbox = sandbox_settings(text)?;
        let mut document = Self::of_rules(origin, Vec::new());
        document.settings.sandbox = sandbox;
        Ok(document)
    }

    /// A document that holds these rules and says nothing else.
    pub(crate) fn of_rules(origin: DocumentOrigin, rules: Vec<Rule>) -> Self {
        Self {
            origin,
            rules,
            settings: Settings::default(),
            allowlists: Allowlists::default(),
            warnings: Vec::new(),
        }
    }

    /// What a document with faults denies and asks for, as far as it can be read. It widens nothing: no allow rule, no
    /// exception, no further folder. Whoever uses it knows that it may lack a rule, and allows nothing.
    #[must_use]
    pub fn restrictions(text: &str, origin: DocumentOrigin) -> Self {
        read::restrictions(text, origin)
    }

    /// Takes rules from an agent's own permission file: an allow that is no rule, or that the agent would ignore, is left
    /// out; a deny or ask that is no rule covers every use of its tool, where one can be told. Each is reported.
    #[must_use]
    pub fn from_agent_rules(
        allow: &[String],
        ask: &[String],
        deny: &[String],
        origin: DocumentOrigin,
    ) -> (Self, Vec<Fault>) {
        let mut builder = RuleList::new(origin);
        let mut faults = Vec::new();
        for (effect, list) in [(Effect::Deny, deny), (Effect::Ask, ask), (Effect::Allow, allow)] {
            builder.begin(effect);
            for (index, text) in list.iter().enumerate() {
                let entry = Entry::plain(text, u32::try_from(index + 1).unwrap_or(u32::MAX));
                if let Err(fault) = builder.add(entry) {
                    let line = u32::try_from(index + 1).unwrap_or(u32::MAX);
                    let excepts = text.split_once('(').is_some_and(|(_, inner)| inner.starts_with('!'));
                    let wide = widest(text, effect)
                        .filter(|_| effect != Effect::Allow && !excepts)
                        .filter(|rule| builder.add(Entry::plain(rule, line)).is_ok());
                    let counts = wide.map_or("is left out".to_owned(), |rule| format!("counts as `{rule}`"));
                    faults.push(Fault {
                        span: fault.span,
                        line,
                        column: 1,
                        message: format!("{effect} rule `{text}` {counts}: {}", fault.message),
                        hint: fault.hint,
                    });
                }
            }
        }
        (builder.finish(), faults)
    }

    /// Takes rules from lists that stand elsewhere; those of one effect that follow each other are one list. What is no
    /// rule is left out and given back by its number.
    pub(crate) fn from_placed_rules(
        rules: Vec<PlacedRule>,
        origin: DocumentOrigin,
    ) -> (Self, Vec<(usize, InvalidRule)>) {
        let mut builder = RuleList::new(origin);
        let (mut faults, mut list) = (Vec::new(), None);
        for (index, rule) in rules.into_iter().enumerate() {
            if list.replace(rule.effect) != Some(rule.effect) {
                builder.begin(rule.effect);
            }
            let entry = Entry {
                name: rule.name,
                advice: rule.advice,
                column: rule.column,
                ..Entry::plain(&rule.text, rule.line)
            };
            if let Err(fault) = builder.add(entry) {
                faults.push((index, fault));
            }
        }
        (builder.finish(), faults)
    }
}

/// A rule with its place in a text that is no policy document, such as a file of tests.
#[derive(Clone, Debug)]
pub(crate) struct PlacedRule {
    pub(crate) effect: Effect,
    pub(crate) text: String,
    pub(crate) name: Option<String>,
    pub(crate) advice: Option<String>,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// One entry of a list of rules, as far as it was read.
struct Entry<'a> {
    text: &'a str,
    spelling: Spelling,
    when: Option<Box<Condition>>,
    /// Instead of the words of a rule for every command.
    command: Option<TextPattern>,
    name: Option<String>,
    advice: Option<String>,
    line: u32,
    column: u32,
}

impl<'a> Entry<'a> {
    fn plain(text: &'a str, line: u32) -> Self {
        Self {
            text,
            spelling: Spelling::Native,
            when: None,
            command: None,
            name: None,
            advice: None,
            line,
            column: 1,
        }
    }
}

/// Collects the rules of a document, list by list: exceptions (`!pattern`) count for earlier rules of their list.
struct RuleList {
    document: PolicyDocument,
    /// The document's name, which its rules share.
    name: Arc<str>,
    effect: Effect,
    /// Where the list that is being read begins in `document.rules`.
    start: usize,
}

impl RuleList {
    fn new(origin: DocumentOrigin) -> Self {
        Self {
            name: origin.name.as_str().into(),
            document: PolicyDocument {
                origin,
                rules: Vec::new(),
                settings: Settings::default(),
                allowlists: Allowlists::default(),
                warnings: Vec::new(),
            },
            effect: Effect::Deny,
            start: 0,
        }
    }

    fn begin(&mut self, effect: Effect) {
        self.effect = effect;
        self.start = self.document.rules.len();
    }

    /// Adds a rule and gives it back, or an exception (then `None`).
    fn add(&mut self, entry: Entry<'_>) -> Result<Option<&Rule>, InvalidRule> {
        match entry.spelling.parse(entry.text, self.effect)? {
            ParsedRule::Covers(matcher) => {
                let matcher = match (entry.command, matcher) {
                    (None, matcher) => matcher,
                    (Some(pattern), Matcher::Shell(words)) if words.is_everything() => Matcher::Shell(pattern),
                    (Some(_), _) => {
                        return Err(InvalidRule {
                            span: 0..entry.text.len(),
                            message: "`command` narrows a rule for every command, and no other".to_owned(),
                            hint: Some("write `\"rule\": \"Bash\"` beside it".to_owned()),
                        });
                    }
                };
                self.document.rules.push(Rule {
                    effect: self.effect,
                    matcher,
                    exceptions: Vec::new(),
                    when: entry.when,
                    source: RuleRef {
                        layer: self.document.origin.layer,
                        document: self.name.clone(),
                        line: entry.line,
                        column: entry.column,
                        text: entry.text.into(),
                        name: entry.name.map(Into::into),
                        effect: self.effect,
                    },
                    advice: entry.advice.map(Into::into),
                    written: Written::spelled(entry.spelling),
                });
                Ok(self.document.rules.last())
            }
            ParsedRule::Exception { verb, pattern } => {
                let mut found = false;
                if entry.when.is_some() || entry.command.is_some() {
                    return Err(InvalidRule {
                        span: 0..entry.text.len(),
                        message: "an exception holds always".to_owned(),
                        hint: Some("leave `when` out".to_owned()),
                    });
                }
                for rule in self.document.rules.get_mut(self.start..).unwrap_or_default() {
                    if matches!(rule.matcher, Matcher::Path { verb: own, .. } if own == verb) {
                        rule.exceptions.push(pattern.clone());
                        found = true;
                    }
                }
                if found {
                    Ok(None)
                } else {
                    Err(InvalidRule {
                        span: 0..entry.text.len(),
                        message: "an exception needs an earlier rule for the same tool in the same list".to_owned(),
                        hint: Some("write it after the rule that it makes an exception to".to_owned()),
                    })
                }
            }
        }
    }

    fn finish(mut self) -> PolicyDocument {
        self.document.rules.shrink_to_fit();
        self.document
    }
}

#[cfg(test)]
mod tests;
