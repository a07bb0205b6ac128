//! Documents as text again: what is printed is read as the same document.
//!
//! The printed form is the one form of all texts of the same meaning: the keys in the order of the table that the reader
//! and the schema use too, and nothing that holds anyway. Rules keep their author's words and their order within a list,
//! which matters to exceptions. Comments are no part of a document, so they are not printed.
//!
//! What is printed is read again before it is given out: a document that the format cannot say (an ignore file, what is
//! left of a faulty text) is refused, never printed as something else.

mod sandbox;

use super::{
    AutoRun, PolicyDocument,
    keys::{self, Section},
    tree::Node,
};
use crate::{
    Effect, Mode,
    controls::{CommandPattern, LaunchPattern, McpEntry, McpSelector, ToolLists},
    mode::Guard,
    path::PathPattern,
    rule::{Matcher, PathVerb, Rule, Spelling, TextPattern},
};

/// Why a document has no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotPrint {
    /// It holds what the format of policies cannot say.
    #[error("the document holds what the format of policies cannot say")]
    NotNative,
    /// Its text would be larger than a document may be.
    #[error("the document would be larger than {} KiB", PolicyDocument::MAX_BYTES / 1024)]
    TooLarge,
}

/// What the object of a rule says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RuleWords<'a> {
    pub(crate) rule: &'a str,
    pub(crate) spelling: Spelling,
    pub(crate) modes: Option<&'a [Mode]>,
    pub(crate) input: Option<&'a str>,
    pub(crate) command: Option<&'a str>,
    pub(crate) name: Option<&'a str>,
    pub(crate) advice: Option<&'a str>,
    pub(crate) examples: &'a [String],
    pub(crate) counterexamples: &'a [String],
}

impl<'a> RuleWords<'a> {
    /// A text where that says all, else an object.
    pub(crate) fn node(&self) -> Node {
        let texts = |texts: &[String]| Node::texts(false, texts).unless_empty();
        let text = |text: Option<&str>| text.map(Node::text);
        let object = Node::section(&keys::RULE, false, |key| match key.name {
            "rule" => Some(Node::text(self.rule)),
            "spelling" if self.spelling != Spelling::default() => Some(Node::text(self.spelling.word())),
            "when" => Node::section(&keys::WHEN, false, |key| match key.name {
                "modes" => self.modes.map(modes),
                "input" => text(self.input),
                "command" => text(self.command),
                _ => None,
            })
            .unless_empty(),
            "name" => text(self.name),
            "advice" => text(self.advice),
            "match" => texts(self.examples),
            "not_match" => texts(self.counterexamples),
            _ => None,
        });
        match object {
            Node::Object { entries, .. } if entries.len() == 1 => Node::text(self.rule),
            object => object,
        }
    }

    fn of(rule: &'a Rule) -> Self {
        let when = rule.when.as_deref();
        let written = rule.written.as_deref();
        Self {
            rule: rule.native_text(),
            spelling: written.map(|written| written.spelling).unwrap_or_default(),
            modes: when.and_then(|when| when.modes.as_deref()),
            input: when.and_then(|when| when.input.as_ref()).map(|regex| regex.text()),
            command: match &rule.matcher {
                Matcher::Shell(pattern) => pattern.as_regex().map(|regex| regex.text()),
                _ => None,
            },
            name: rule.source.name.as_deref(),
            advice: rule.advice.as_deref(),
            examples: written.map_or(&[], |written| &written.examples),
            counterexamples: written.map_or(&[], |written| &written.counterexamples),
        }
    }
}

/// A list of run modes.
pub(crate) fn modes(modes: &[Mode]) -> Node {
    Node::texts(false, modes.iter().map(Mode::to_string))
}

/// `autoRun`.
pub(crate) fn auto_run(own: &AutoRun) -> Node {
    Node::section(&keys::AUTO_RUN, true, |key| match key.name {
        "allow_instructions" => Node::texts(true, &own.allow_instructions).unless_empty(),
        "block_instructions" => Node::texts(true, &own.block_instructions).unless_empty(),
        _ => None,
    })
}

/// A section that says this one thing; `None` where it says nothing.
pub(crate) fn single(section: &'static Section, name: &str, value: Option<Node>) -> Option<Node> {
    Node::section(section, true, |key| value.clone().filter(|_| key.name == name)).unless_empty()
}

impl PolicyDocument {
    /// The document as text: read again, it is the same document. Comments and `$schema` are no part of it.
    ///
    /// # Errors
    /// If no text of a policy says what the document says, or only one that is too large to be read.
    pub fn print(&self) -> Result<String, CannotPrint> {
        let tree = self.tree();
        let (mut text, _) = tree.render(None);
        if text.len() > Self::MAX_BYTES {
            text = tree.inline();
            text.push('\n');
        }
        if text.len() > Self::MAX_BYTES {
            return Err(CannotPrint::TooLarge);
        }
        match Self::parse(&text, self.origin.clone()) {
            Ok(again) if again.says_the_same_as(self) => Ok(text),
            Ok(_) | Err(_) => Err(CannotPrint::NotNative),
        }
    }

    /// Whether both say the same, whatever their names, and wherever in their texts it stands.
    #[must_use]
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        let same_lists = LISTS.into_iter().all(|list| {
            let (mut ours, mut theirs) = (self.listed(list), other.listed(list));
            loop {
                match (ours.next(), theirs.next()) {
                    (None, None) => return true,
                    (Some(our), Some(their)) if same_rule(our, their) => {}
                    _ => return false,
                }
            }
        });
        let (ours, theirs) = (&self.allowlists, &other.allowlists);
        same_lists
            && self.settings == other.settings
            && same_entries(ours.terminal.as_deref(), theirs.terminal.as_deref())
            && same_entries(ours.mcp.as_deref(), theirs.mcp.as_deref())
            && ours.auto_run == theirs.auto_run
    }

    /// The rules of one list, in order.
    fn listed(&self, list: List) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |rule| match list {
            List::Ignore => rule.is_ignore_line(),
            List::Rules(effect) => rule.effect == effect && !rule.is_ignore_line(),
        })
    }

    fn tree(&self) -> Node {
        let (settings, lists) = (&self.settings, &self.allowlists);
        Node::section(&keys::DOCUMENT, true, |key| match key.name {
            "version" => Some(Node::Scalar("1".to_owned())),
            "permissions" => self.permissions().unless_empty(),
            "modes" => Node::section(&keys::MODES, true, |key| match key.name {
                "permitted" => settings.permitted_modes.as_deref().map(modes),
                "auto" => settings.run.auto.map(Node::boolean),
                _ => None,
            })
            .unless_empty(),
            "locks" => {
                let locked = settings.managed_rules_only.then(|| Node::boolean(true));
                single(&keys::LOCKS, "managedRulesOnly", locked)
            }
            "sandbox" => Node::section(&keys::SANDBOX, true, |key| match key.name {
                "autoAllowIfSandboxed" => settings.auto_allow_if_sandboxed.map(Node::boolean),
                "always" => settings.run.sandbox_always.then(|| Node::boolean(true)),
                "allowTrials" => settings.run.trials_forbidden.then(|| Node::boolean(false)),
                name => sandbox::key(&settings.sandbox, name),
            })
            .unless_empty(),
            "ignore" => Node::section(&keys::IGNORE, true, |key| match key.name {
                "patterns" => Node::texts(true, self.ignore_lines()).unless_empty(),
                "hierarchical" => settings.hierarchical_ignore.map(Node::boolean),
                _ => None,
            })
            .unless_empty(),
            "protections" => self.protections().unless_empty(),
            "terminalAllowlist" => lists.terminal.as_deref().map(|rules| entries(key.name, rules)),
            "mcpAllowlist" => lists.mcp.as_deref().map(|rules| entries(key.name, rules)),
            "autoRun" => lists.auto_run.as_ref().map(auto_run),
            "mcp" => self.mcp().unless_empty(),
            "repositories" => self.repositories().unless_empty(),
            "browser" => self.browser().unless_empty(),
            "models" => self.models().unless_empty(),
            // `$schema` says nothing.
            _ => None,
        })
    }

    fn permissions(&self) -> Node {
        Node::section(&keys::PERMISSIONS, true, |key| match key.name {
            "deny" => self.rule_list(Effect::Deny).unless_empty(),
            "ask" => self.rule_list(Effect::Ask).unless_empty(),
            "allow" => self.rule_list(Effect::Allow).unless_empty(),
            "defaultMode" => self.settings.default_mode.map(|mode| Node::text(&mode.to_string())),
            "additionalDirectories" => Node::texts(true, &self.settings.additional_directories).unless_empty(),
            _ => None,
        })
    }

    fn rule_list(&self, effect: Effect) -> Node {
        let rules = self.listed(List::Rules(effect));
        let items = with_exceptions(rules, |rule| match &rule.matcher {
            Matcher::Path { verb, .. } => Some(*verb),
            _ => None,
        });
        Node::list(
            true,
            items.into_iter().map(|item| match item {
                Item::Rule(rule) => RuleWords::of(rule).node(),
                Item::Exception(verb, pattern) => Node::text(&format!("{verb}(!{})", pattern.text())),
            }),
        )
    }

    fn ignore_lines(&self) -> Vec<&str> {
        // A line is two rules; the second has the exceptions of the first, in other words.
        let firsts = self.listed(List::Ignore).step_by(2);
        with_exceptions(firsts, |_| Some(PathVerb::Read))
            .into_iter()
            .filter_map(|item| match item {
                Item::Exception(_, pattern) => Some(pattern.text()),
                Item::Rule(rule) => match &rule.matcher {
                    Matcher::Path { pattern, .. } => pattern.as_ref().map(PathPattern::text),
                    _ => None,
                },
            })
            .collect()
    }

    fn protections(&self) -> Node {
        Node::section(&keys::PROTECTIONS, true, |key| {
            let guard = Guard::ALL.into_iter().find(|guard| guard.key() == key.name);
            match guard {
                Some(guard) => self.settings.run.protection(guard),
                None if key.name == "agentDirectories" => self.settings.protect_agent_directories,
                None => None,
            }
            .map(Node::boolean)
        })
    }

    fn mcp(&self) -> Node {
        let own = &self.settings.controls.mcp;
        Node::section(&keys::MCP, true, |key| match key.name {
            "servers" => Node::list(true, own.servers.iter().map(server)).unless_empty(),
            "onlyListed" => own.only_listed.then(|| Node::boolean(true)),
            "deny" => Node::list(true, own.deny.iter().map(denied_server)).unless_empty(),
            _ => None,
        })
    }

    fn repositories(&self) -> Node {
        let own = &self.settings.controls.repositories;
        let texts = |list: &[crate::controls::RepositoryPattern]| {
            Node::texts(true, list.iter().map(|pattern| pattern.text())).unless_empty()
        };
        Node::section(&keys::REPOSITORIES, true, |key| match key.name {
            "blocked" => texts(&own.blocked),
            "known" => texts(&own.known),
            "requireKnown" => own.require_known.then(|| Node::boolean(true)),
            _ => None,
        })
    }

    fn browser(&self) -> Node {
        let own = &self.settings.controls.browser;
        let texts =
            |list: &[crate::controls::OriginPattern]| Node::texts(true, list.iter().map(|pattern| pattern.text()));
        Node::section(&keys::BROWSER, true, |key| match key.name {
            "origins" => own.origins.as_deref().map(texts),
            "blocked" => texts(&own.blocked).unless_empty(),
            _ => None,
        })
    }

    fn models(&self) -> Node {
        let own = &self.settings.controls.models;
        Node::section(&keys::MODELS, true, |key| match key.name {
            "allowed" => own.allowed.as_deref().map(|list| patterns(true, list)),
            "blocked" => patterns(true, &own.blocked).unless_empty(),
            _ => None,
        })
    }
}

/// A list of rules of a document.
#[derive(Clone, Copy)]
enum List {
    Rules(Effect),
    Ignore,
}

const LISTS: [List; 4] = [
    List::Rules(Effect::Deny),
    List::Rules(Effect::Ask),
    List::Rules(Effect::Allow),
    List::Ignore,
];

fn same_rule(a: &Rule, b: &Rule) -> bool {
    let examples = |rule: &Rule| {
        rule.written
            .as_ref()
            .map(|written| (written.examples.clone(), written.counterexamples.clone()))
            .unwrap_or_default()
    };
    a.effect == b.effect
        && a.matcher == b.matcher
        && a.exceptions == b.exceptions
        && a.when == b.when
        && a.advice == b.advice
        && a.source.name == b.source.name
        && a.native_text() == b.native_text()
        && examples(a) == examples(b)
}

fn same_entries(a: Option<&[Rule]>, b: Option<&[Rule]>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_rule(a, b)),
        _ => false,
    }
}

/// An entry of a list of rules.
enum Item<'a> {
    Rule(&'a Rule),
    Exception(PathVerb, &'a PathPattern),
}

/// Puts the exceptions of rules between them again. One that stands behind a rule is an exception to all rules of its verb
/// before it, so each rule has the exceptions of the next of its verb at the end of its own; the rest stood between the two.
fn with_exceptions<'a>(
    rules: impl Iterator<Item = &'a Rule>,
    verb: impl Fn(&Rule) -> Option<PathVerb>,
) -> Vec<Item<'a>> {
    let rules: Vec<&Rule> = rules.collect();
    let mut backwards = Vec::with_capacity(rules.len());
    let mut later: Vec<(PathVerb, usize)> = Vec::new();
    for rule in rules.into_iter().rev() {
        if let Some(verb) = verb(rule) {
            let all = rule.exceptions.len();
            let of_next = match later.iter_mut().find(|(own, _)| *own == verb) {
                Some((_, count)) => std::mem::replace(count, all),
                None => {
                    later.push((verb, all));
                    0
                }
            };
            let own = rule.exceptions.iter().take(all.saturating_sub(of_next));
            backwards.extend(own.rev().map(|pattern| Item::Exception(verb, pattern)));
        }
        backwards.push(Item::Rule(rule));
    }
    backwards.reverse();
    backwards
}

/// The entries of an allowlist; in front of their texts stands the key of their list.
fn entries(key: &str, rules: &[Rule]) -> Node {
    let entry = |rule: &Rule| {
        let text = rule.native_text();
        let bare = text.strip_prefix(key).and_then(|rest| rest.strip_prefix(": "));
        Node::text(bare.unwrap_or(text))
    };
    Node::list(true, rules.iter().map(entry))
}

fn patterns(tall: bool, list: &[TextPattern]) -> Node {
    Node::texts(tall, list.iter().map(|pattern| pattern.text()))
}

fn server(entry: &McpEntry) -> Node {
    Node::section(&keys::MCP_SERVER, false, |key| match key.name {
        "name" => entry.name.as_deref().map(Node::text),
        "command" | "url" => launch(key.name, Some(&entry.launch)),
        "tools" => tools(&entry.tools).unless_empty(),
        "networkMode" => entry.network.map(|mode| Node::text(mode.word())),
        _ => None,
    })
}

fn tools(lists: &ToolLists) -> Node {
    Node::section(&keys::MCP_TOOLS, false, |key| match key.name {
        "allow" => lists.allow.as_deref().map(|list| patterns(false, list)),
        "deny" => patterns(false, &lists.deny).unless_empty(),
        "readOnly" => patterns(false, &lists.read_only).unless_empty(),
        _ => None,
    })
}

fn denied_server(selector: &McpSelector) -> Node {
    let name = selector.name.as_ref().map(|name| Node::text(name.text()));
    match (name, &selector.launch) {
        (Some(name), None) => name,
        (name, own) => Node::section(&keys::MCP_DENIED, false, |key| match key.name {
            "name" => name.clone(),
            _ => launch(key.name, own.as_ref()),
        }),
    }
}

/// What stands under `command` or `url`.
fn launch(key: &str, pattern: Option<&LaunchPattern>) -> Option<Node> {
    match (key, pattern?) {
        ("command", LaunchPattern::Command(command)) => Some(command_words(command)),
        ("url", LaunchPattern::Url(url)) => Some(Node::text(url.text())),
        _ => None,
    }
}

/// One text where its words are told apart in it, else a list.
fn command_words(command: &CommandPattern) -> Node {
    let words = command.written();
    let joined = words.join(" ");
    if joined.len() <= keys::MAX_WORDS && joined.split_whitespace().eq(words.iter().map(|word| &**word)) {
        Node::text(&joined)
    } else {
        Node::texts(false, words)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{super::keys::Shape, *};
    use crate::{DocumentOrigin, Layer};

    /// Says something under every key, and nothing that holds anyway.
    const WHOLE: &str = r#"{
        "permissions": {
            "deny": [{ "rule": "Bash", "when": { "modes": ["plan"], "input": "a", "command": "b" }, "name": "n", "advice": "a" }],
            "ask": [{ "rule": "Shell(git:*)", "spelling": "cursor", "match": ["git x"], "not_match": ["gitx"] }],
            "allow": ["Read"],
            "defaultMode": "plan",
            "additionalDirectories": ["/srv"]
        },
        "modes": { "permitted": ["plan"], "auto": false },
        "locks": { "managedRulesOnly": true },
        "sandbox": {
            "autoAllowIfSandboxed": false, "always": true, "allowTrials": false, "type": "workspace_readonly",
            "additionalReadwritePaths": ["a"], "additionalReadonlyPaths": ["b"], "denyRead": ["c"],
            "disableTmpWrite": true, "shareTmp": false, "enableSharedBuildCache": true, "allowRootOwner": false,
            "acceptWithoutLandlock": true, "acceptWithoutNamespaces": true, "allowUnixSockets": [],
            "networkMode": "allow_all", "networkPolicy": { "default": "deny", "allow": [], "deny": ["10.0.0.0/8"] }
        },
        "ignore": { "patterns": ["x"], "hierarchical": false },
        "protections": { "deletion": false, "externalFiles": true, "browser": false, "agentDirectories": true },
        "terminalAllowlist": [],
        "mcpAllowlist": ["a:b"],
        "autoRun": { "allow_instructions": ["a"], "block_instructions": ["b"] },
        "mcp": {
            "servers": [
                { "name": "a", "command": ["a b", "*"], "tools": { "allow": [], "deny": ["x"], "readOnly": ["y"] } },
                { "url": "https://a.test/x", "networkMode": "allow_all" }
            ],
            "onlyListed": true,
            "deny": ["a", { "name": "b", "command": "c" }, { "url": "https://b.test" }]
        },
        "repositories": { "blocked": ["a.test/x"], "known": ["b.test"], "requireKnown": true },
        "browser": { "origins": [], "blocked": ["c.test"] },
        "models": { "allowed": [], "blocked": ["m"] }
    }"#;

    /// The keys of a section and of those in it, each with its section's name.
    fn of_table(section: &'static Section, out: &mut BTreeSet<(&'static str, &'static str)>) {
        for key in section.keys {
            out.insert((section.place, key.name));
            match &key.shape {
                Shape::Section(inner) | Shape::Sections(inner) | Shape::TextsOrSections(inner) => of_table(inner, out),
                Shape::Rules => of_table(&keys::RULE, out),
                _ => {}
            }
        }
    }

    fn of_text(section: &'static Section, value: &serde_json::Value, out: &mut BTreeSet<(&'static str, &'static str)>) {
        let Some(object) = value.as_object() else { return };
        for key in section.keys {
            let Some(value) = object.get(key.name) else { continue };
            out.insert((section.place, key.name));
            let inner = match &key.shape {
                Shape::Section(inner) | Shape::Sections(inner) | Shape::TextsOrSections(inner) => inner,
                Shape::Rules => &keys::RULE,
                _ => continue,
            };
            match value.as_array() {
                Some(items) => items.iter().for_each(|item| of_text(inner, item, out)),
                None => of_text(inner, value, out),
            }
        }
    }

    #[test]
    fn every_key_of_the_table_is_printed() {
        let origin = DocumentOrigin {
            layer: Layer::Team,
            name: "whole".to_owned(),
            folder: None,
        };
        let document = PolicyDocument::parse(WHOLE, origin).unwrap_or_else(|faults| panic!("{faults:#?}"));
        let printed = document.print().unwrap();
        let (mut known, mut found) = (BTreeSet::new(), BTreeSet::new());
        of_table(&keys::DOCUMENT, &mut known);
        of_text(&keys::DOCUMENT, &serde_json::from_str(&printed).unwrap(), &mut found);
        known.remove(&(keys::DOCUMENT.place, "$schema"));
        let missing: Vec<_> = known.difference(&found).collect();
        assert!(missing.is_empty(), "{missing:?} is in the table and not in\n{printed}");
    }
}
