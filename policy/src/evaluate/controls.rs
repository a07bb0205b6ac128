//! Judges a call by what the team controls beside rules, and an MCP server by who approved it.
//!
//! What is said here holds beside what rules and the mode say: the stricter answer counts. A server that nobody approved
//! asks in every mode, whatever rules say about its tools, because a rule knows a name and not what runs under it.

use crate::{
    DecidedBy, Effect, Mode, Verdict,
    controls::Controls,
    facts::{Approval, Launch, McpServer, plain_name},
    mode::ActionClass,
    rule::{Matcher, Rule},
};

use super::{part::Part, world::World};

/// Most names that an MCP tool's server may have: each double underscore could be the one that ends it.
const MAX_NAMES: usize = 16;

/// The ways to cut a tool's full name into server and tool, as plain names; the agent's own first.
pub(super) fn splits(server: &str, tool: &str) -> Vec<(String, String)> {
    let (server, tool) = (plain_name(server), plain_name(tool));
    let whole = format!("{server}__{tool}");
    let mut out = vec![(server.clone(), tool)];
    for (at, _) in whole.match_indices("__") {
        let (name, rest) = whole.split_at(at);
        let rest = rest.get(2..).unwrap_or_default();
        if !name.is_empty() && !rest.is_empty() && name != server && out.len() < MAX_NAMES {
            out.push((name.to_owned(), rest.to_owned()));
        }
    }
    out
}

impl World<'_> {
    fn controls(&self) -> &[Controls] {
        self.rules.controls()
    }

    /// Why nothing may be done in this repository, if the team controls repositories.
    pub(super) fn judge_repository(&self) -> Option<Part> {
        let facts = &self.request.facts;
        let objection = self
            .controls()
            .iter()
            .find_map(|controls| controls.repositories.objection(&facts.repositories))?;
        // Without a host nothing is known about any repository, and a person may know.
        let verdict = if facts.vouched { Verdict::Deny } else { Verdict::Ask };
        Some(Part::new(
            &self.request.call.tool_name,
            verdict,
            DecidedBy::Control,
            objection,
        ))
    }

    /// What the team says about an address that a browser is to open; `None` for an act on the page that is open.
    pub(super) fn judge_origin(&self, url: Option<&str>) -> Option<Part> {
        let subject = url.map_or_else(|| "acts on the open page".to_owned(), |url| format!("opens {url}"));
        let browser = || self.controls().iter().map(|controls| &controls.browser);
        let Some(url) = url else {
            return browser().any(|browser| browser.origins.is_some()).then(|| {
                let reason = "the team lists the origins that a browser may open, and which one is open is not known";
                Part::new(subject, Verdict::Ask, DecidedBy::Control, reason)
            });
        };
        if browser().any(|browser| browser.blocks(url)) {
            let reason = "the team blocks this origin, or it cannot be told which one it is";
            return Some(Part::new(subject, Verdict::Deny, DecidedBy::Control, reason));
        }
        browser().any(|browser| browser.lists(url) == Some(false)).then(|| {
            let reason = "it is not among the origins that the team lists for browsers";
            Part::new(subject, Verdict::Ask, DecidedBy::Control, reason)
        })
    }

    /// The definitions that a tool's full name can stand for, each with the tool's name in it.
    fn definitions(&self, server: &str, tool: &str) -> Vec<(&McpServer, String)> {
        let splits = splits(server, tool);
        let known = |definition: &McpServer| {
            let plain = plain_name(&definition.name);
            let (_, tool) = splits.iter().find(|(name, _)| *name == plain)?;
            Some(tool.clone())
        };
        self.request
            .facts
            .mcp_servers
            .iter()
            .filter_map(|definition| Some((definition, known(definition)?)))
            .collect()
    }

    pub(super) fn judge_mcp(&self, server: &str, tool: &str) -> Vec<Part> {
        let subject = format!("calls {tool} of MCP server {server}");
        let found = self.definitions(server, tool);
        let definitions: Vec<&McpServer> = found.iter().map(|(definition, _)| *definition).collect();
        let mut parts = Vec::new();
        for controls in self.controls() {
            // As the agent says it, and as each configured server's own tool.
            let objection = controls.mcp.objection(server, tool, &definitions).or_else(|| {
                found
                    .iter()
                    .find_map(|(definition, tool)| controls.mcp.objection(&definition.name, tool, &[definition]))
            });
            if let Some(objection) = objection {
                parts.push(Part::new(&subject, Verdict::Deny, DecidedBy::Control, objection));
            }
        }
        parts.extend(self.judge_server(server, &definitions));
        let hides = crate::shell::hides(server) || crate::shell::hides(tool);
        parts.push(
            self.judge_mcp_tool(server, tool, &found, subject)
                .unless_unknown(!hides, "its name holds characters that nobody sees"),
        );
        parts
    }

    /// Whether everything that the name can stand for is approved; if not, what a person can do.
    fn judge_server(&self, server: &str, definitions: &[&McpServer]) -> Option<Part> {
        let subject = format!("uses MCP server {server}");
        let ask = |reason: String| Some(Part::new(&subject, Verdict::Ask, DecidedBy::Protection, reason));
        if server.is_empty() {
            return ask("the call does not say which MCP server it is for".to_owned());
        }
        let by_flag = self.request.facts.vouched && self.controls().iter().any(|controls| controls.approve_mcp_servers);
        if by_flag && definitions.is_empty() {
            return None;
        }
        let Some(first) = definitions.first() else {
            return ask(format!(
                "MCP server `{server}` is not approved: it is in no configuration of the agent that was read"
            ));
        };
        if let Some(other) = definitions.iter().find(|other| other.name != first.name) {
            return ask(format!(
                "the call may be for MCP server `{}` or `{}`, whose names cannot be told apart here",
                first.name, other.name
            ));
        }
        let approved = |definition: &&&McpServer| {
            definition.approval == Approval::Given
                || (by_flag && definition.approval != Approval::Disabled)
                || self.controls().iter().any(|controls| controls.mcp.approves(definition))
        };
        let open = definitions.iter().find(|definition| !approved(definition))?;
        let (name, launch) = (&open.name, open.launch.shown());
        let place = format!("{launch}, {} configuration {}", open.place, open.file);
        ask(match (open.approval, &open.launch) {
            (Approval::Disabled, _) => format!("MCP server `{name}` is switched off in the agent's settings ({place})"),
            (_, Launch::Unknown) => {
                format!("MCP server `{name}` is not approved, and how it is started is not understood ({place})")
            }
            (Approval::Changed, _) => format!(
                "MCP server `{name}` is not approved as it is now ({place}): it was approved with another command or \
                 address. To approve it: `portcullis mcp approve {name}`"
            ),
            (Approval::None | Approval::Given, _) => {
                format!("MCP server `{name}` is not approved ({place}). To approve it: `portcullis mcp approve {name}`")
            }
        })
    }

    /// What rules and the mode say about the tool, once its server is approved.
    fn judge_mcp_tool(&self, server: &str, tool: &str, found: &[(&McpServer, String)], subject: String) -> Part {
        let index = self.rules.index();
        let names = found
            .iter()
            .map(|(definition, tool)| (definition.name.as_str(), tool.as_str()));
        let mut ids: Vec<crate::ruleset::RuleId> = std::iter::once((server, tool))
            .chain(names)
            .flat_map(|(server, tool)| index.mcp(server, tool))
            .collect();
        ids.sort_unstable();
        ids.dedup();
        let cuts = splits(server, tool);
        let covers = |rule: &Rule| match &rule.matcher {
            // Agents join both names by what a name may hold itself. So a rule has to mean each server that is configured
            // and that the call can be for; where none is known, each that there could be.
            Matcher::Mcp(pattern) if rule.effect == Effect::Allow && found.is_empty() => {
                pattern.covers(server, tool)
                    && cuts.len() < MAX_NAMES
                    && cuts.iter().skip(1).all(|(server, tool)| pattern.covers(server, tool))
            }
            Matcher::Mcp(pattern) if rule.effect == Effect::Allow => {
                let meant = |(definition, own_tool): &(&McpServer, String)| {
                    let name = plain_name(&definition.name);
                    name == plain_name(server) || pattern.covers(&name, own_tool)
                };
                pattern.covers(server, tool) && found.iter().all(meant)
            }
            Matcher::Mcp(pattern) => {
                pattern.touches(server, tool)
                    || found
                        .iter()
                        .any(|(definition, tool)| pattern.touches(&definition.name, tool))
            }
            _ => false,
        };
        let by_mode = |what: &str| Part::by_mode(self, ActionClass::McpTool, &subject, what);
        match self.first(&ids, covers) {
            // In plan mode an allow is not enough: the tool has to be known to read only.
            Some((_, Effect::Allow)) if self.request.mode == Mode::Plan && !self.reads_only(found) => {
                by_mode("an MCP tool that is not known to read only")
            }
            Some((id, _)) => Part::by_rule(self, id, subject),
            None => by_mode("an MCP tool").suggest(super::tools::tool_suggestion(&format!("mcp__{server}__{tool}"))),
        }
    }

    /// Whether a tool is known to read only, by whatever definition of its server the agent takes.
    fn reads_only(&self, found: &[(&McpServer, String)]) -> bool {
        !found.is_empty()
            && found.iter().all(|(definition, tool)| {
                definition.read_only_tools.contains(tool)
                    || self
                        .controls()
                        .iter()
                        .any(|controls| controls.mcp.reads_only(definition, tool))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::splits;

    #[test]
    fn a_name_is_cut_in_every_way_it_may_have_been_joined() {
        let cut = |server: &str, tool: &str| -> Vec<String> {
            splits(server, tool)
                .into_iter()
                .map(|(name, tool)| format!("{name}|{tool}"))
                .collect()
        };
        assert_eq!(cut("github", "list"), ["github|list"]);
        assert_eq!(cut("my", "srv__get"), ["my|srv__get", "my__srv|get"]);
        assert_eq!(cut("my server", "get.x"), ["my_server|get_x"]);
        assert!(cut("a", &"__b".repeat(100)).len() <= 16);
    }
}
