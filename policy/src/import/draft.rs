//! The native document that an importer writes, entry by entry, and the report beside it.
//!
//! The document that is evaluated is read back from the native text, so that the two cannot differ; only the places of its
//! rules are set to where the entries stand in the file itself.

use std::{collections::BTreeMap, ops::Range};

use serde_json::{Value, json};

use super::{Format, Imported, Note, Outcome};
use crate::{
    DocumentOrigin, Effect, Mode, PolicyDocument,
    document::scan::Lines,
    rule::{InvalidRule, Matcher, ParsedRule, PathVerb, RegexPattern, Rule, Spelling, mcp_entry, terminal_entry},
};

/// Longest text of an entry in the report, in characters.
const MAX_SHOWN: usize = 200;
/// Most notes of a report.
const MAX_NOTES: usize = 20_000;

/// A rule of the native document.
#[derive(Clone, Debug, Default)]
pub(super) struct NativeRule {
    pub(super) text: String,
    pub(super) spelling: Spelling,
    /// Only in these modes.
    pub(super) modes: Option<Vec<Mode>>,
    /// Only if this matches the input.
    pub(super) input: Option<String>,
    /// Only commands that this matches.
    pub(super) command: Option<String>,
    pub(super) advice: Option<String>,
}

impl NativeRule {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    pub(super) fn cursor(text: impl Into<String>) -> Self {
        Self {
            spelling: Spelling::Cursor,
            ..Self::new(text)
        }
    }

    /// Whether the native reader will take it, and as what.
    fn check(&self, effect: Effect) -> Result<ParsedRule, InvalidRule> {
        let parsed = self.spelling.parse(&self.text, effect)?;
        for pattern in self.input.iter().chain(&self.command) {
            RegexPattern::parse(pattern, effect).map_err(|message| InvalidRule {
                span: 0..self.text.len(),
                message,
                hint: None,
            })?;
        }
        Ok(parsed)
    }

    fn json(&self) -> Value {
        let plain = self.spelling == Spelling::Native
            && self.modes.is_none()
            && self.input.is_none()
            && self.command.is_none()
            && self.advice.is_none();
        if plain {
            return json!(self.text);
        }
        let mut object = serde_json::Map::new();
        object.insert("rule".to_owned(), json!(self.text));
        if self.spelling != Spelling::Native {
            object.insert("spelling".to_owned(), json!(self.spelling.word()));
        }
        let mut when = serde_json::Map::new();
        if let Some(modes) = &self.modes {
            let words: Vec<String> = modes.iter().map(Mode::to_string).collect();
            when.insert("modes".to_owned(), json!(words));
        }
        for (key, pattern) in [("input", &self.input), ("command", &self.command)] {
            if let Some(pattern) = pattern {
                when.insert(key.to_owned(), json!(pattern));
            }
        }
        if !when.is_empty() {
            object.insert("when".to_owned(), Value::Object(when));
        }
        if let Some(advice) = &self.advice {
            object.insert("advice".to_owned(), json!(advice));
        }
        Value::Object(object)
    }
}

/// One line of a list, and the entry it stands for.
#[derive(Clone, Debug)]
struct Item {
    json: Value,
    place: (u32, u32),
    source: String,
}

/// A native document in the making.
pub(super) struct Draft<'a> {
    pub(super) format: Format,
    pub(super) text: &'a str,
    pub(super) origin: DocumentOrigin,
    lines: Lines<'a>,
    rules: BTreeMap<Effect, Vec<Item>>,
    /// Verbs that an exception may follow, per list.
    verbs: Vec<(Effect, PathVerb)>,
    terminal: Option<Vec<Item>>,
    mcp: Option<Vec<Item>>,
    auto_run: Option<[Vec<String>; 2]>,
    mode: Option<Mode>,
    directories: Vec<String>,
    permitted_modes: Option<Vec<Mode>>,
    managed_rules_only: bool,
    auto_allow_if_sandboxed: Option<bool>,
    report: Vec<Note>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(format: Format, text: &'a str, origin: DocumentOrigin) -> Self {
        Self {
            format,
            text,
            origin,
            lines: Lines::new(text),
            rules: BTreeMap::new(),
            verbs: Vec::new(),
            terminal: None,
            mcp: None,
            auto_run: None,
            mode: None,
            directories: Vec::new(),
            permitted_modes: None,
            managed_rules_only: false,
            auto_allow_if_sandboxed: None,
            report: Vec::new(),
        }
    }

    fn note(&mut self, span: Range<usize>, text: &str, outcome: Outcome) {
        if self.report.len() >= MAX_NOTES {
            return;
        }
        let (line, column) = self.lines.position(span.start);
        let mut shown: String = text.chars().take(MAX_SHOWN).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        self.report.push(Note {
            span,
            line,
            column,
            text: shown,
            outcome,
        });
    }

    pub(super) fn kept(&mut self, span: Range<usize>, text: &str) {
        self.note(span, text, Outcome::Kept);
    }

    pub(super) fn translated(&mut self, span: Range<usize>, text: &str, how: impl Into<String>) {
        self.note(span, text, Outcome::Translated { how: how.into() });
    }

    pub(super) fn not_expressible(&mut self, span: Range<usize>, text: &str, why: impl Into<String>) {
        self.note(span, text, Outcome::NotExpressible { why: why.into() });
    }

    pub(super) fn fault(&mut self, span: Range<usize>, text: &str, why: impl Into<String>) {
        self.note(span, text, Outcome::Fault { why: why.into() });
    }

    /// Adds a rule that stands for the entry `source` at `span`.
    ///
    /// # Errors
    /// If it is no rule; then nothing was added.
    pub(super) fn rule(
        &mut self,
        effect: Effect,
        rule: &NativeRule,
        span: &Range<usize>,
        source: &str,
    ) -> Result<(), InvalidRule> {
        match rule.check(effect)? {
            ParsedRule::Covers(Matcher::Path { verb, .. }) => {
                if !self.verbs.contains(&(effect, verb)) {
                    self.verbs.push((effect, verb));
                }
            }
            ParsedRule::Covers(_) => {}
            ParsedRule::Exception { verb, .. } if self.verbs.contains(&(effect, verb)) => {}
            ParsedRule::Exception { .. } => {
                return Err(InvalidRule {
                    span: 0..rule.text.len(),
                    message: "an exception needs an earlier rule for the same tool in the same list".to_owned(),
                    hint: None,
                });
            }
        }
        let item = self.item(rule.json(), span, source);
        self.rules.entry(effect).or_default().push(item);
        Ok(())
    }

    /// Adds an entry of the terminal allowlist.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn terminal_entry(&mut self, text: &str, span: &Range<usize>) -> Result<(), String> {
        terminal_entry(text).map_err(|(message, hint)| format!("{message}; {hint}"))?;
        let item = self.item(json!(text), span, &format!("terminalAllowlist: {text}"));
        self.terminal.get_or_insert_default().push(item);
        Ok(())
    }

    /// Adds an entry of the MCP allowlist.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn mcp_entry(&mut self, text: &str, span: &Range<usize>) -> Result<(), String> {
        mcp_entry(text).map_err(|(message, hint)| format!("{message}; {hint}"))?;
        let item = self.item(json!(text), span, &format!("mcpAllowlist: {text}"));
        self.mcp.get_or_insert_default().push(item);
        Ok(())
    }

    /// Says that the file has a terminal allowlist, be it empty.
    pub(super) fn has_terminal_allowlist(&mut self) {
        self.terminal.get_or_insert_default();
    }

    /// Says that the file has an MCP allowlist, be it empty.
    pub(super) fn has_mcp_allowlist(&mut self) {
        self.mcp.get_or_insert_default();
    }

    /// Says that the file has instructions for the classifier, and adds a sentence to one of the two lists.
    pub(super) fn instruction(&mut self, allows: bool, sentence: Option<&str>) {
        let [allow, block] = self.auto_run.get_or_insert_default();
        if let Some(sentence) = sentence {
            if allows { allow } else { block }.push(sentence.to_owned());
        }
    }

    /// Says which mode the file selects for its agent.
    pub(super) fn set_mode(&mut self, mode: Mode, span: Range<usize>, text: &str) {
        self.mode = Some(mode);
        let why = format!(
            "it is the mode {mode} of this agent's sessions; `defaultMode` would hold for every agent that names none"
        );
        self.not_expressible(span, text, why);
    }

    pub(super) fn set_permitted_modes(&mut self, modes: Vec<Mode>) {
        self.permitted_modes = Some(modes);
    }

    pub(super) fn lock_to_managed_rules(&mut self) {
        self.managed_rules_only = true;
    }

    pub(super) fn set_auto_allow_if_sandboxed(&mut self, allowed: bool) {
        self.auto_allow_if_sandboxed = Some(allowed);
    }

    pub(super) fn add_directory(&mut self, folder: &str) {
        self.directories.push(folder.to_owned());
    }

    fn item(&self, json: Value, span: &Range<usize>, source: &str) -> Item {
        Item {
            json,
            place: self.lines.position(span.start),
            source: source.to_owned(),
        }
    }

    pub(super) fn finish(mut self) -> Imported {
        let (native, places) = self.print();
        let document = match PolicyDocument::parse(&native, self.origin.clone()) {
            Ok(document) => document,
            Err(faults) => {
                // More than a document may hold. What it denies and asks for still counts, as far as it was read.
                let why = faults.first().map_or_else(String::new, |fault| fault.message.clone());
                self.fault(0..0, "", format!("the file says more than a document can: {why}"));
                PolicyDocument::restrictions(&native, self.origin.clone())
            }
        };
        self.report
            .sort_by_key(|note| (note.span.start, std::cmp::Reverse(note.span.end)));
        Imported {
            document: at_their_places(document, &places),
            native,
            mode: self.mode,
            report: self.report,
        }
    }

    /// The text, and for its lines the entries they stand for.
    fn print(&self) -> (String, BTreeMap<u32, (u32, u32, String)>) {
        let mut out = Printer::default();
        // A name may hold what would end a comment.
        let name: String = self.origin.name.chars().filter(|c| !c.is_control()).collect();
        out.line(0, "{");
        out.line(
            1,
            &format!("// What {name} means, read as a file of {}.", self.format.owner()),
        );
        out.line(1, "\"version\": 1,");
        let mut permissions: Vec<(&str, Section<'_>)> = Vec::new();
        if !self.directories.is_empty() {
            permissions.push(("additionalDirectories", Section::Value(json!(self.directories))));
        }
        for (key, effect) in [("deny", Effect::Deny), ("ask", Effect::Ask), ("allow", Effect::Allow)] {
            if let Some(items) = self.rules.get(&effect) {
                permissions.push((key, Section::Items(items)));
            }
        }
        let mut sections: Vec<(&str, Section<'_>)> = vec![("permissions", Section::Object(permissions))];
        if let Some(modes) = &self.permitted_modes {
            let words: Vec<String> = modes.iter().map(Mode::to_string).collect();
            sections.push(("modes", Section::Value(json!({ "permitted": words }))));
        }
        if self.managed_rules_only {
            sections.push(("locks", Section::Value(json!({ "managedRulesOnly": true }))));
        }
        if let Some(allowed) = self.auto_allow_if_sandboxed {
            sections.push(("sandbox", Section::Value(json!({ "autoAllowIfSandboxed": allowed }))));
        }
        for (key, items) in [("terminalAllowlist", &self.terminal), ("mcpAllowlist", &self.mcp)] {
            if let Some(items) = items {
                sections.push((key, Section::Items(items)));
            }
        }
        if let Some([allow, block]) = &self.auto_run {
            let value = json!({ "allow_instructions": allow, "block_instructions": block });
            sections.push(("autoRun", Section::Value(value)));
        }
        out.sections(1, &sections);
        out.line(0, "}");
        (out.text, out.places)
    }
}

enum Section<'a> {
    Value(Value),
    Items(&'a [Item]),
    Object(Vec<(&'a str, Section<'a>)>),
}

#[derive(Default)]
struct Printer {
    text: String,
    lines: u32,
    places: BTreeMap<u32, (u32, u32, String)>,
}

impl Printer {
    fn line(&mut self, depth: usize, text: &str) {
        self.lines += 1;
        self.text.push_str(&"  ".repeat(depth));
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn sections(&mut self, depth: usize, sections: &[(&str, Section<'_>)]) {
        for (index, (key, section)) in sections.iter().enumerate() {
            let comma = if index + 1 < sections.len() { "," } else { "" };
            match section {
                Section::Value(value) => self.line(depth, &format!("\"{key}\": {value}{comma}")),
                Section::Items([]) => self.line(depth, &format!("\"{key}\": []{comma}")),
                Section::Items(items) => {
                    self.line(depth, &format!("\"{key}\": ["));
                    for (index, item) in items.iter().enumerate() {
                        let comma = if index + 1 < items.len() { "," } else { "" };
                        self.line(depth + 1, &format!("{}{comma}", item.json));
                        let (line, column) = item.place;
                        self.places.insert(self.lines, (line, column, item.source.clone()));
                    }
                    self.line(depth, &format!("]{comma}"));
                }
                Section::Object(inner) if inner.is_empty() => self.line(depth, &format!("\"{key}\": {{}}{comma}")),
                Section::Object(inner) => {
                    self.line(depth, &format!("\"{key}\": {{"));
                    self.sections(depth + 1, inner);
                    self.line(depth, &format!("}}{comma}"));
                }
            }
        }
    }
}

/// Sets the places of rules to those of the entries they stand for.
fn at_their_places(mut document: PolicyDocument, places: &BTreeMap<u32, (u32, u32, String)>) -> PolicyDocument {
    let place = |rule: &mut Rule| {
        if let Some((line, column, text)) = places.get(&rule.source.line) {
            rule.source.line = *line;
            rule.source.column = *column;
            rule.source.text = text.as_str().into();
        }
    };
    document.rules.iter_mut().for_each(place);
    let lists = &mut document.allowlists;
    for list in [&mut lists.terminal, &mut lists.mcp].into_iter().flatten() {
        list.iter_mut().for_each(place);
    }
    // Their places are those of the native text; what they say stands in the report.
    document.warnings.clear();
    document
}
