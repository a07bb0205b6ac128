//! The native document that an importer writes, entry by entry, and the report beside it.
//!
//! The document that is evaluated is read back from the native text, so that the two cannot differ; only the places of its
//! rules are set to where the entries stand in the file itself.

use std::{collections::BTreeMap, ops::Range};

use super::{Format, Imported, Note, Outcome};
use crate::{
    DocumentOrigin, Effect, Mode, PolicyDocument,
    document::{
        AutoRun, keys,
        print::{self, RuleWords},
        scan::Lines,
        tree::Node,
    },
    rule::{InvalidRule, Matcher, ParsedRule, PathVerb, RegexPattern, Rule, Spelling, mcp_entry, terminal_entry},
};

/// Longest text of an entry in the report, in characters.
const MAX_SHOWN: usize = 200;
/// Most notes of a report; one more says that there are more.
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

    fn node(&self) -> Node {
        RuleWords {
            rule: &self.text,
            spelling: self.spelling,
            modes: self.modes.as_deref(),
            input: self.input.as_deref(),
            command: self.command.as_deref(),
            advice: self.advice.as_deref(),
            ..RuleWords::default()
        }
        .node()
    }
}

/// One line of a list, and the entry it stands for.
#[derive(Clone, Debug)]
struct Item {
    node: Node,
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
    auto_run: Option<AutoRun>,
    mode: Option<Mode>,
    directories: Vec<String>,
    permitted_modes: Option<Vec<Mode>>,
    forbidden_modes: Vec<Mode>,
    managed_rules_only: bool,
    installed_rules_only: bool,
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
            forbidden_modes: Vec::new(),
            managed_rules_only: false,
            installed_rules_only: false,
            auto_allow_if_sandboxed: None,
            report: Vec::new(),
        }
    }

    fn note(&mut self, span: Range<usize>, text: &str, outcome: Outcome) {
        if self.report.len() > MAX_NOTES {
            return;
        }
        // What does not fit is not passed over in silence: it may be a denial that could not be read.
        let (text, outcome) = if self.report.len() == MAX_NOTES {
            let why = format!(
                "the file has more than {MAX_NOTES} entries: what becomes of this one and all after it is not told"
            );
            ("", Outcome::Fault { why })
        } else {
            (text, outcome)
        };
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

    /// Whether nothing was said about the file so far.
    pub(super) fn report_is_empty(&self) -> bool {
        self.report.is_empty()
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
        let item = self.item(rule.node(), span, source);
        self.rules.entry(effect).or_default().push(item);
        Ok(())
    }

    /// Adds an entry of the terminal allowlist.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn terminal_entry(&mut self, text: &str, span: &Range<usize>) -> Result<(), String> {
        terminal_entry(text).map_err(|(message, hint)| format!("{message}; {hint}"))?;
        let item = self.item(Node::text(text), span, &format!("terminalAllowlist: {text}"));
        self.terminal.get_or_insert_default().push(item);
        Ok(())
    }

    /// Adds an entry of the MCP allowlist.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn mcp_entry(&mut self, text: &str, span: &Range<usize>) -> Result<(), String> {
        mcp_entry(text).map_err(|(message, hint)| format!("{message}; {hint}"))?;
        let item = self.item(Node::text(text), span, &format!("mcpAllowlist: {text}"));
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
        let own = self.auto_run.get_or_insert_default();
        let list = if allows {
            &mut own.allow_instructions
        } else {
            &mut own.block_instructions
        };
        list.extend(sentence.map(str::to_owned));
    }

    /// Says which mode the file selects for its agent. `sound`: whether its owner surely reads it; where that is in doubt,
    /// only a mode counts that lets nothing run which the ordinary one would ask for.
    pub(super) fn set_mode(&mut self, mode: Mode, sound: bool, span: Range<usize>, text: &str) {
        if !sound && !matches!(mode, Mode::Default | Mode::Plan | Mode::DontAsk) {
            let why = format!("the mode {mode} of a part that the file's owner may not read is left out");
            return self.not_expressible(span, text, why);
        }
        self.mode = Some(mode);
        let why = format!(
            "it is the mode {mode} of this agent's sessions; `defaultMode` would hold for every agent that names none"
        );
        self.not_expressible(span, text, why);
    }

    pub(super) fn set_permitted_modes(&mut self, modes: Vec<Mode>) {
        self.permitted_modes = Some(modes);
    }

    /// Says that no session of the file's agent is in a mode, whatever its layer.
    pub(super) fn forbid_mode(&mut self, mode: Mode) {
        let with = Mode::ALL
            .into_iter()
            .filter(|other| *other == mode || other.goes_with(mode));
        self.forbidden_modes.extend(with);
    }

    /// Says that, if an enterprise installed the file, allow rules of no other count.
    pub(super) fn lock_to_installed_rules(&mut self) {
        self.installed_rules_only = true;
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

    fn item(&self, node: Node, span: &Range<usize>, source: &str) -> Item {
        Item {
            node,
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
            forbidden_modes: self.forbidden_modes,
            installed_rules_only: self.installed_rules_only,
            report: self.report,
        }
    }

    /// The text, and for its lines the entries they stand for.
    fn print(&self) -> (String, BTreeMap<u32, Item>) {
        // A name may hold what would end a comment.
        let name: String = self.origin.name.chars().filter(|c| !c.is_control()).collect();
        let comment = format!("What {name} means, read as a file of {}.", self.format.owner());
        let mut marked: Vec<&Item> = Vec::new();
        let (text, marks) = self.tree(&mut marked).render(Some(&comment));
        let places = marks
            .into_iter()
            .filter_map(|(line, number)| marked.get(number).map(|item| (line, (*item).clone())))
            .collect();
        (text, places)
    }

    /// The document, its entries marked by their numbers in `marked`.
    fn tree<'d>(&'d self, marked: &mut Vec<&'d Item>) -> Node {
        let mut list = |items: &'d [Item]| {
            let nodes: Vec<Node> = items
                .iter()
                .map(|item| {
                    marked.push(item);
                    Node::Marked(marked.len() - 1, Box::new(item.node.clone()))
                })
                .collect();
            Node::list(true, nodes)
        };
        Node::section(&keys::DOCUMENT, true, |key| match key.name {
            "version" => Some(Node::Scalar("1".to_owned())),
            "permissions" => Node::section(&keys::PERMISSIONS, true, |key| {
                let effect = match key.name {
                    "deny" => Effect::Deny,
                    "ask" => Effect::Ask,
                    "allow" => Effect::Allow,
                    "additionalDirectories" => return Node::texts(true, &self.directories).unless_empty(),
                    _ => return None,
                };
                self.rules.get(&effect).map(|items| list(items))
            })
            .unless_empty(),
            "modes" => {
                let permitted = self.permitted_modes.as_deref().map(print::modes);
                print::single(&keys::MODES, "permitted", permitted)
            }
            "locks" => {
                let locked = self.managed_rules_only.then(|| Node::boolean(true));
                print::single(&keys::LOCKS, "managedRulesOnly", locked)
            }
            "sandbox" => {
                let allowed = self.auto_allow_if_sandboxed.map(Node::boolean);
                print::single(&keys::SANDBOX, "autoAllowIfSandboxed", allowed)
            }
            "terminalAllowlist" => self.terminal.as_deref().map(&mut list),
            "mcpAllowlist" => self.mcp.as_deref().map(&mut list),
            "autoRun" => self.auto_run.as_ref().map(print::auto_run),
            // No other agent's file says more.
            _ => None,
        })
    }
}

/// Sets the places of rules to those of the entries they stand for.
fn at_their_places(mut document: PolicyDocument, places: &BTreeMap<u32, Item>) -> PolicyDocument {
    let place = |rule: &mut Rule| {
        let Some(item) = places.get(&rule.source.line) else {
            return;
        };
        (rule.source.line, rule.source.column) = item.place;
        if *rule.source.text != *item.source {
            let native = std::mem::replace(&mut rule.source.text, item.source.as_str().into());
            rule.written.get_or_insert_default().text = Some(native);
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
