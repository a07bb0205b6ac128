//! Which rules can be about a call, without looking at the others.
//!
//! A decision must not become slower with each rule somebody adds. Every rule is filed under one [`Key`]: something that a
//! call must have for the rule to cover it, such as the first words of a command, the leading folders of a path, the end of
//! a host's name. A call has few such keys, and a lookup gives the rules under them: too many at times (keys are numbers
//! that can collide, and upper and lower case count as one), never too few. Whether a rule covers the call is asked of the
//! rule afterwards.
//!
//! INVARIANT: what a matcher covers has its key among those that are looked up for it. `tests/reference` holds the whole to
//! an evaluator without any index.

mod key;
mod paths;

use std::collections::HashMap;

use super::InForce;
use crate::{
    Effect,
    rule::{Matcher, McpKey, PathVerb, SkillPattern, TextPattern, plain_mcp_name},
};

use key::{Key, Kind, Mixed};
pub(crate) use paths::Bases;

/// Most names that an MCP tool's server may have: each double underscore could be the one that ends it.
const MAX_MCP_NAMES: usize = 16;

/// A rule's place in its ruleset: smaller is stricter, then of a higher layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RuleId(pub(super) u32);

/// Most words of a command that a key takes in: rules that share so many are told apart one by one.
const MAX_WORDS: usize = 8;
/// Longest text that a rule without wildcards can be equal to, in bytes: no rule is longer.
const MAX_TEXT: usize = 4096;
/// Most bytes of a word that is not whole that a key takes in.
const MAX_BYTES: usize = 4;

/// The index of a ruleset.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    /// Where in `ids` the rules of a key stand.
    places: HashMap<u64, Place, Mixed>,
    /// Ids by key, ascending within each.
    ids: Box<[RuleId]>,
    /// The first ids that are no deny, and that are neither deny nor ask.
    first_ask: RuleId,
    first_allow: RuleId,
    names_hosts: bool,
    paths: paths::Shape,
    /// Whether a deny or ask on commands says less than "every command" and holds always; and those that hold sometimes.
    scoped_shell: bool,
    scoped_shell_on_condition: Vec<RuleId>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    begin: u32,
    end: u32,
}

/// Collects what is filed under which key.
#[derive(Default)]
struct Builder {
    filed: Vec<(u64, RuleId)>,
    paths: paths::Shape,
}

impl Builder {
    fn file(&mut self, key: Key, id: RuleId) {
        self.filed.push((key.number(), id));
    }
}

impl Index {
    /// Files the rules of a ruleset, which come in the order of their ids.
    pub(super) fn build<'r>(rules: impl Iterator<Item = InForce<'r>>) -> Self {
        let mut index = Self::default();
        let mut builder = Builder::default();
        for (position, InForce { rule, .. }) in rules.enumerate() {
            // INVARIANT: documents bound their rules, so a ruleset has far fewer than four thousand million.
            let id = RuleId(u32::try_from(position).unwrap_or(u32::MAX));
            let next = RuleId(id.0.saturating_add(1));
            match rule.effect {
                Effect::Deny => (index.first_ask, index.first_allow) = (next, next),
                Effect::Ask => index.first_allow = next,
                Effect::Allow => {}
            }
            match &rule.matcher {
                Matcher::EveryTool | Matcher::Tools(_) => builder.file(Key::new(Kind::AnyTool), id),
                Matcher::Tool(name) => builder.file(Key::new(Kind::Tool).text(name), id),
                Matcher::Shell(pattern) => {
                    if rule.effect != Effect::Allow && !pattern.is_everything() {
                        if rule.when.is_some() {
                            index.scoped_shell_on_condition.push(id);
                        } else {
                            index.scoped_shell = true;
                        }
                    }
                    if pattern.is_everything() {
                        builder.file(Key::new(Kind::EveryCommand).effect(rule.effect), id);
                    }
                    builder.file(shell_key(pattern), id);
                    if let Some(program) = pattern.program().filter(|_| rule.effect != Effect::Allow) {
                        builder.file(Key::new(Kind::Program).text(program), id);
                        if pattern.option_set().is_some() {
                            builder.file(Key::new(Kind::OptionSet).text(program), id);
                        }
                    }
                }
                Matcher::Path { verb, pattern } => {
                    builder.file(Key::new(Kind::Verb).verb(*verb, rule.effect), id);
                    builder.file_path(pattern.as_ref(), id);
                }
                Matcher::Fetch(pattern) => {
                    index.names_hosts = true;
                    let ending = pattern.as_ref().map_or("", |pattern| pattern.ending());
                    let exact = pattern.as_ref().and_then(|pattern| pattern.exact());
                    builder.file(
                        match exact {
                            Some(host) => Key::new(Kind::Host).text(host),
                            None => Key::new(Kind::HostEnding).text(ending),
                        },
                        id,
                    );
                }
                Matcher::WebSearch(None) => builder.file(Key::new(Kind::AnyWebSearch), id),
                Matcher::WebSearch(Some(words)) if words.is_exact() => {
                    builder.file(Key::new(Kind::WebSearch).text(words.text()), id);
                }
                Matcher::WebSearch(Some(_)) => builder.file(Key::new(Kind::AnyWebSearch), id),
                Matcher::Mcp(pattern) => builder.file(
                    match pattern.key(rule.effect) {
                        McpKey::Exact(name) => Key::new(Kind::McpExact).text(name),
                        McpKey::Server(server) => Key::new(Kind::McpServer).text(server),
                        McpKey::Any => Key::new(Kind::AnyMcp),
                    },
                    id,
                ),
                Matcher::Agent(None) => builder.file(Key::new(Kind::AnyAgent), id),
                Matcher::Agent(Some(kind)) => builder.file(Key::new(Kind::Agent).text(kind), id),
                Matcher::Skill(SkillPattern::Every) => builder.file(Key::new(Kind::AnySkill), id),
                Matcher::Skill(SkillPattern::Name(name)) => builder.file(Key::new(Kind::Skill).text(name), id),
                Matcher::Skill(SkillPattern::Prefix(prefix)) => {
                    builder.file(Key::new(Kind::SkillGroup).text(prefix), id);
                }
                Matcher::Parameter(own) => builder.file(Key::new(Kind::Parameter).text(&own.name), id),
            }
        }
        index.paths = builder.paths;
        index.fill(builder.filed);
        index
    }

    fn fill(&mut self, mut filed: Vec<(u64, RuleId)>) {
        filed.sort_unstable();
        filed.dedup();
        let mut ids = Vec::with_capacity(filed.len());
        let mut groups = Vec::new();
        for group in filed.chunk_by(|(one, _), (other, _)| one == other) {
            let begin = ids.len();
            ids.extend(group.iter().map(|(_, id)| *id));
            if let Some((key, _)) = group.first() {
                let number = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
                groups.push((
                    *key,
                    Place {
                        begin: number(begin),
                        end: number(ids.len()),
                    },
                ));
            }
        }
        self.places = HashMap::with_capacity_and_hasher(groups.len(), Mixed::default());
        self.places.extend(groups);
        self.ids = ids.into_boxed_slice();
    }

    fn under(&self, key: Key) -> &[RuleId] {
        self.places
            .get(&key.number())
            .and_then(|place| self.ids.get(place.begin as usize..place.end as usize))
            .unwrap_or_default()
    }

    /// Of ascending ids those whose rules have an effect.
    pub(crate) fn with_effect<'i>(&self, ids: &'i [RuleId], effect: Effect) -> &'i [RuleId] {
        let asks = ids.partition_point(|id| *id < self.first_ask);
        let allows = ids.partition_point(|id| *id < self.first_allow);
        match effect {
            Effect::Deny => ids.get(..asks),
            Effect::Ask => ids.get(asks..allows),
            Effect::Allow => ids.get(allows..),
        }
        .unwrap_or_default()
    }

    /// Rules for every command, with an effect.
    pub(crate) fn every_command(&self, effect: Effect) -> &[RuleId] {
        self.under(Key::new(Kind::EveryCommand).effect(effect))
    }

    /// Rules on commands that can cover one of these texts, in order.
    pub(crate) fn commands<'a>(&self, texts: impl Iterator<Item = &'a str>) -> Vec<RuleId> {
        let mut found = self.under(Key::new(Kind::AnyCommand)).to_vec();
        for text in texts {
            shell_keys(text, |key| found.extend_from_slice(self.under(key)));
        }
        sorted(found)
    }

    /// Whether a deny or ask on commands says less than "every command"; `holds` says so of a rule with a condition.
    pub(crate) fn has_scoped_shell_rule(&self, holds: impl Fn(RuleId) -> bool) -> bool {
        self.scoped_shell || self.scoped_shell_on_condition.iter().any(|id| holds(*id))
    }

    /// Deny and ask rules on commands that name this program.
    pub(crate) fn commands_of_program(&self, program: &str) -> &[RuleId] {
        self.under(Key::new(Kind::Program).text(program))
    }

    /// Deny and ask rules on commands that name this program and options, which count in any order.
    pub(crate) fn option_sets(&self, program: &str) -> &[RuleId] {
        self.under(Key::new(Kind::OptionSet).text(program))
    }

    /// All rules on files for a verb, with an effect.
    pub(crate) fn paths(&self, verb: PathVerb, effect: Effect) -> &[RuleId] {
        self.under(Key::new(Kind::Verb).verb(verb, effect))
    }

    /// Rules on a host; those for every host alone where it is not known.
    pub(crate) fn hosts(&self, host: Option<&str>) -> Vec<RuleId> {
        let mut found = self.under(Key::new(Kind::HostEnding)).to_vec();
        if let Some(host) = host {
            found.extend_from_slice(self.under(Key::new(Kind::Host).text(host)));
            let endings = std::iter::once(host).chain(host.match_indices('.').filter_map(|(at, _)| host.get(at + 1..)));
            for ending in endings {
                found.extend_from_slice(self.under(Key::new(Kind::HostEnding).text(ending)));
            }
        }
        sorted(found)
    }

    /// Whether any rule names a host.
    pub(crate) fn names_hosts(&self) -> bool {
        self.names_hosts
    }

    /// Rules on a tool of an MCP server.
    pub(crate) fn mcp(&self, server: &str, tool: &str) -> Vec<RuleId> {
        let whole = format!("{server}__{tool}");
        let mut found = self.under(Key::new(Kind::AnyMcp)).to_vec();
        // A deny or ask also sees the names as agents write them.
        for (server, whole) in [
            (server, whole.as_str()),
            (&plain_mcp_name(server), &plain_mcp_name(&whole)),
        ] {
            // A server's own name may hold the double underscore that ends a name in a rule.
            let first = whole.split("__").next().unwrap_or_default();
            found.extend_from_slice(self.under(Key::new(Kind::McpServer).text(first)));
            found.extend_from_slice(self.under(Key::new(Kind::McpExact).text(server)));
            found.extend_from_slice(self.under(Key::new(Kind::McpExact).text(whole)));
            for (at, _) in whole.match_indices("__").take(MAX_MCP_NAMES) {
                let server = whole.get(..at).unwrap_or_default();
                found.extend_from_slice(self.under(Key::new(Kind::McpExact).text(server)));
            }
        }
        sorted(found)
    }

    /// Rules on a search of the web.
    pub(crate) fn web_search(&self, words: &str) -> Vec<RuleId> {
        self.either(Key::new(Kind::AnyWebSearch), Key::new(Kind::WebSearch).text(words))
    }

    /// Rules on another agent.
    pub(crate) fn agents(&self, kind: &str) -> Vec<RuleId> {
        self.either(Key::new(Kind::AnyAgent), Key::new(Kind::Agent).text(kind))
    }

    /// Rules on a skill.
    pub(crate) fn skills(&self, name: &str) -> Vec<RuleId> {
        let mut found = self.either(Key::new(Kind::AnySkill), Key::new(Kind::Skill).text(name));
        for (at, _) in name.match_indices(':') {
            let group = name.get(..=at).unwrap_or_default();
            found.extend_from_slice(self.under(Key::new(Kind::SkillGroup).text(group)));
        }
        sorted(found)
    }

    /// Rules on a tool's name.
    pub(crate) fn tools(&self, name: &str) -> Vec<RuleId> {
        self.either(Key::new(Kind::AnyTool), Key::new(Kind::Tool).text(name))
    }

    /// Rules on a field of an input.
    pub(crate) fn parameters(&self, field: &str) -> &[RuleId] {
        self.under(Key::new(Kind::Parameter).text(field))
    }

    fn either(&self, one: Key, other: Key) -> Vec<RuleId> {
        sorted([self.under(one), self.under(other)].concat())
    }
}

/// What a rule on commands is filed under: its whole text, else its leading whole words, else its first bytes.
fn shell_key(pattern: &TextPattern) -> Key {
    let beginning = pattern.beginning();
    if pattern.is_exact() {
        return Key::new(Kind::Command).text(beginning);
    }
    match pattern.leading_words(MAX_WORDS) {
        Some(words) => Key::new(Kind::CommandWords).text(words),
        None if beginning.is_empty() => Key::new(Kind::AnyCommand),
        None => Key::new(Kind::CommandBytes).first_bytes(beginning, MAX_BYTES),
    }
}

/// The keys of all rules on commands that can cover a text.
fn shell_keys(text: &str, mut each: impl FnMut(Key)) {
    if text.len() <= MAX_TEXT {
        each(Key::new(Kind::Command).text(text));
    }
    let mut key = Key::new(Kind::CommandWords);
    let mut boundaries = 0;
    for byte in text.bytes() {
        if matches!(byte, b' ' | b'\t') {
            each(key);
            boundaries += 1;
            if boundaries == MAX_WORDS {
                break;
            }
        }
        key = key.byte(byte);
    }
    // `git log *` covers `git log` too.
    if boundaries < MAX_WORDS {
        each(key);
    }
    let mut key = Key::new(Kind::CommandBytes);
    for byte in text.bytes().take(MAX_BYTES) {
        key = key.byte(byte);
        each(key);
    }
}

fn sorted(mut ids: Vec<RuleId>) -> Vec<RuleId> {
    ids.sort_unstable();
    ids.dedup();
    ids
}
