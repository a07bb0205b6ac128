//! Which rules can be about a call, without looking at the others.
//!
//! A decision must not become slower with each rule somebody adds: rules on commands are found by the program they name,
//! hosts by their name, MCP tools by their server, other tools by theirs.

use std::collections::HashMap;

use super::{RuleInForce, narrows_commands};
use crate::{
    Effect,
    rule::{Matcher, PathVerb},
};

/// A rule's place in its ruleset: smaller is stricter, then of a higher layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RuleId(pub(super) usize);

/// The index of a ruleset.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    shell_by_program: HashMap<String, Vec<RuleId>>,
    shell_others: Vec<RuleId>,
    paths: HashMap<(PathVerb, Effect), Vec<RuleId>>,
    hosts: HashMap<String, Vec<RuleId>>,
    hosts_others: Vec<RuleId>,
    mcp: Vec<RuleId>,
    mcp_by_server: HashMap<String, Vec<RuleId>>,
    web_search: Vec<RuleId>,
    agents: Vec<RuleId>,
    skills: Vec<RuleId>,
    tools: HashMap<String, Vec<RuleId>>,
    tools_others: Vec<RuleId>,
    parameters: Vec<RuleId>,
    pub(super) has_scoped_shell_rule: bool,
}

const NONE: &[RuleId] = &[];

impl Index {
    pub(super) fn build(rules: &[RuleInForce]) -> Self {
        let mut index = Self::default();
        for (position, item) in rules.iter().enumerate() {
            let id = RuleId(position);
            index.has_scoped_shell_rule |= narrows_commands(&item.rule);
            match &item.rule.matcher {
                Matcher::EveryTool | Matcher::Tools(_) => index.tools_others.push(id),
                Matcher::Shell(pattern) => match pattern.program() {
                    Some(program) => index.shell_by_program.entry(program.to_owned()).or_default().push(id),
                    None => index.shell_others.push(id),
                },
                Matcher::Path { verb, .. } => index.paths.entry((*verb, item.rule.effect)).or_default().push(id),
                Matcher::Fetch(pattern) => match pattern.as_ref().and_then(crate::rule::HostPattern::exact) {
                    Some(host) => index.hosts.entry(host).or_default().push(id),
                    None => index.hosts_others.push(id),
                },
                Matcher::Mcp(pattern) => match pattern.server_key().filter(|_| item.rule.effect == Effect::Allow) {
                    Some(server) => index.mcp_by_server.entry(server.to_owned()).or_default().push(id),
                    None => index.mcp.push(id),
                },
                Matcher::WebSearch(_) => index.web_search.push(id),
                Matcher::Agent(_) => index.agents.push(id),
                Matcher::Skill(_) => index.skills.push(id),
                Matcher::Parameter { .. } => index.parameters.push(id),
                Matcher::Tool(name) => index.tools.entry(name.clone()).or_default().push(id),
            }
        }
        index
    }

    /// Rules on commands whose text may begin with one of these programs, in order.
    pub(crate) fn shell<'a>(&self, programs: impl Iterator<Item = &'a str>) -> Vec<RuleId> {
        let named = programs.flat_map(|program| self.shell_by_program.get(program).map_or(NONE, Vec::as_slice));
        sorted(named.chain(&self.shell_others))
    }

    /// Rules on files.
    pub(crate) fn paths(&self, verb: PathVerb, effect: Effect) -> &[RuleId] {
        self.paths.get(&(verb, effect)).map_or(NONE, Vec::as_slice)
    }

    /// Rules on a host; those with wildcards alone where it is not known.
    pub(crate) fn hosts(&self, host: Option<&str>) -> Vec<RuleId> {
        let named = host.and_then(|host| self.hosts.get(host)).map_or(NONE, Vec::as_slice);
        sorted(named.iter().chain(&self.hosts_others))
    }

    /// Whether any rule names a host.
    pub(crate) fn names_hosts(&self) -> bool {
        !self.hosts.is_empty() || !self.hosts_others.is_empty()
    }

    /// Rules on tools of an MCP server.
    pub(crate) fn mcp(&self, server: &str) -> Vec<RuleId> {
        // A server's own name may hold the double underscore that ends a name in a rule.
        let key = server.split("__").next().unwrap_or_default();
        let named = self.mcp_by_server.get(key).map_or(NONE, Vec::as_slice);
        sorted(named.iter().chain(&self.mcp))
    }

    /// Rules on searches of the web.
    pub(crate) fn web_search(&self) -> &[RuleId] {
        &self.web_search
    }

    /// Rules on other agents.
    pub(crate) fn agents(&self) -> &[RuleId] {
        &self.agents
    }

    /// Rules on skills.
    pub(crate) fn skills(&self) -> &[RuleId] {
        &self.skills
    }

    /// Rules on a tool's name.
    pub(crate) fn tools(&self, name: &str) -> Vec<RuleId> {
        let named = self.tools.get(name).map_or(NONE, Vec::as_slice);
        sorted(named.iter().chain(&self.tools_others))
    }

    /// Rules on fields of an input.
    pub(crate) fn parameters(&self) -> &[RuleId] {
        &self.parameters
    }
}

fn sorted<'a>(ids: impl Iterator<Item = &'a RuleId>) -> Vec<RuleId> {
    let mut all: Vec<RuleId> = ids.copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}
