//! What a team controls beside rules, and who approved an MCP server, in the plainest code.

use portcullis_policy::{
    DecidedBy, Effect, Mode, Verdict,
    facts::{Approval, Launch, McpServer, Repositories},
    mode::ActionClass,
    rule::host_of,
};

use super::{
    documents::{Document, ListedServer},
    judge::{Judge, Part},
    matchers,
    rules::Rule,
};

impl ListedServer {
    /// Whether the team's entry is about a definition: by its command, word by word. What sets variables that change what
    /// runs is in no entry.
    fn covers(&self, definition: &McpServer) -> bool {
        let Launch::Command { words, environment } = &definition.launch else {
            return false;
        };
        let own: Vec<&str> = self.command.split(' ').collect();
        self.name.is_none_or(|name| name == definition.name)
            && environment.is_empty()
            && own.len() == words.len()
            && own.iter().zip(words).all(|(own, word)| matchers::stars(own, word))
    }
}

impl Judge<'_> {
    /// Whether the team lets nothing run in these repositories. What is not known is as bad as what is blocked.
    pub(crate) fn repository(&self) -> Option<Part> {
        let facts = &self.request.facts;
        let at = |remotes: &[String], place: &str| {
            let place = format!("{place}/");
            remotes.iter().any(|remote| remote.replace(':', "/").contains(&place))
        };
        let objects = |document: &Document| {
            let (blocked, known) = (document.says.blocked_repositories, document.says.known_repositories);
            if blocked.is_none() && known.is_none() {
                return false;
            }
            let Repositories::Known(all) = &facts.repositories else {
                return true;
            };
            all.iter().any(|repository| {
                blocked.is_some_and(|place| at(&repository.remotes, place))
                    || known.is_some_and(|place| !at(&repository.remotes, place))
            })
        };
        self.policy.controls().any(objects).then(|| {
            let verdict = if facts.vouched { Verdict::Deny } else { Verdict::Ask };
            Part::new(verdict, DecidedBy::Control)
        })
    }

    /// What the team says about an address that a browser is to open. The generator's ports are the schemes' own.
    pub(crate) fn origin(&self, url: &str) -> Option<Part> {
        let host = host_of(url);
        let covers = |pattern: &str| host.as_ref().is_some_and(|host| matchers::host(pattern, host));
        let blocks = |document: &Document| {
            let blocked = document.says.blocked_origin;
            blocked.is_some_and(|pattern| host.is_none() || covers(pattern))
        };
        if self.policy.controls().any(blocks) {
            return Some(Part::new(Verdict::Deny, DecidedBy::Control));
        }
        let unlisted = |document: &Document| document.says.origins.is_some_and(|pattern| !covers(pattern));
        (self.policy.controls().any(unlisted)).then(|| Part::new(Verdict::Ask, DecidedBy::Control))
    }

    /// The definitions that a tool's full name can stand for, each with the tool's name in it.
    fn definitions(&self, server: &str, tool: &str) -> Vec<(&McpServer, String)> {
        let whole = format!("{}__{}", matchers::plain(server), matchers::plain(tool));
        let mut out = Vec::new();
        for definition in &self.request.facts.mcp_servers {
            let rest = whole.strip_prefix(&matchers::plain(&definition.name));
            if let Some(rest) = rest.and_then(|rest| rest.strip_prefix("__")) {
                out.push((definition, rest.to_owned()));
            }
        }
        out
    }

    /// Whether the team denies a tool of one server, by any of the definitions that the name can stand for.
    fn team_denies(document: &Document, server: &str, tool: &str, definitions: &[&McpServer]) -> bool {
        let says = &document.says;
        let mut names = vec![server];
        names.extend(definitions.iter().map(|definition| definition.name.as_str()));
        let denied = says.denied_server.is_some_and(|pattern| {
            names
                .iter()
                .any(|name| matchers::stars(pattern, name) || matchers::stars(pattern, &matchers::plain(name)))
        });
        let listed = |definition: &McpServer| says.listed_servers.iter().any(|entry| entry.covers(definition));
        let unlisted = definitions.is_empty() || definitions.iter().any(|definition| !listed(definition));
        let tool_denied = definitions.iter().any(|definition| {
            let mut entries = says.listed_servers.iter().filter(|entry| entry.covers(definition));
            entries.any(|entry| entry.denied_tool == Some(tool))
        });
        denied || (says.only_listed && unlisted) || tool_denied
    }

    /// Denials of the team, the approval of the server, and what rules and mode say: the strictest counts.
    pub(crate) fn mcp(&self, server: &str, tool: &str) -> Vec<Part> {
        let found = self.definitions(server, tool);
        let definitions: Vec<&McpServer> = found.iter().map(|(definition, _)| *definition).collect();
        let mut parts = Vec::new();
        for document in self.policy.controls() {
            let as_called = Self::team_denies(document, server, tool, &definitions);
            let as_configured = found
                .iter()
                .any(|(definition, tool)| Self::team_denies(document, &definition.name, tool, &[definition]));
            if as_called || as_configured {
                parts.push(Part::new(Verdict::Deny, DecidedBy::Control));
            }
        }
        if !self.is_approved(&definitions) {
            parts.push(Part::new(Verdict::Ask, DecidedBy::Protection));
        }
        parts.push(self.mcp_tool(server, tool, &found));
        parts
    }

    /// One approval for each definition that the name can stand for, which all have one name: by the person, by the session
    /// for all that nobody switched off, or by the team. A server that is in no configuration is approved by the session
    /// alone. Without a host the session approves nothing.
    fn is_approved(&self, definitions: &[&McpServer]) -> bool {
        let by_session = self.request.facts.vouched && self.policy.approves_every_server();
        let approved = |definition: &&McpServer| {
            let by_team = self.policy.controls().any(|document| {
                let mut entries = document.says.listed_servers.iter();
                entries.any(|entry| entry.covers(definition))
            });
            let switched_off = definition.approval == Approval::Disabled;
            definition.approval == Approval::Given || (by_session && !switched_off) || by_team
        };
        match definitions.first() {
            None => by_session,
            Some(first) => {
                let one_name = definitions.iter().all(|definition| definition.name == first.name);
                one_name && definitions.iter().all(approved)
            }
        }
    }

    fn mcp_tool(&self, server: &str, tool: &str, found: &[(&McpServer, String)]) -> Part {
        let covers = |rule: &Rule| {
            if rule.effect != Effect::Allow {
                let mut found = found.iter();
                return rule.covers_mcp(server, tool)
                    || found.any(|(definition, tool)| rule.covers_mcp(&definition.name, tool));
            }
            // An allow has to mean each server that the call can be for: of those that are configured, else of all whose
            // name and whose tool's name the agent could have joined so.
            let as_called = rule.covers_mcp(server, tool);
            if found.is_empty() {
                let whole = format!("{}__{}", matchers::plain(server), matchers::plain(tool));
                let others = (0..whole.len()).filter_map(|at| {
                    let (name, rest) = whole.split_at(at);
                    let rest = rest.strip_prefix("__")?;
                    (!name.is_empty() && !rest.is_empty() && name != matchers::plain(server)).then_some((name, rest))
                });
                return as_called && others.into_iter().all(|(name, rest)| rule.covers_mcp(name, rest));
            }
            let meant = |(definition, own_tool): &(&McpServer, String)| {
                let name = matchers::plain(&definition.name);
                name == matchers::plain(server) || rule.covers_mcp(&name, own_tool)
            };
            as_called && found.iter().all(meant)
        };
        let reads_only = || {
            let reads = |(definition, tool): &(&McpServer, String)| {
                let by_team = self.policy.controls().any(|document| {
                    let mut entries = document
                        .says
                        .listed_servers
                        .iter()
                        .filter(|entry| entry.covers(definition));
                    entries.any(|entry| entry.read_only_tool == Some(tool.as_str()))
                });
                definition.read_only_tools.contains(tool) || by_team
            };
            !found.is_empty() && found.iter().all(reads)
        };
        match self.first(covers) {
            // Plan mode takes an allow of what only reads.
            Some(rule) if rule.effect == Effect::Allow && self.request.mode == Mode::Plan && !reads_only() => {
                self.mode(ActionClass::McpTool)
            }
            Some(rule) => Part::by_rule(&rule),
            None => self.mode(ActionClass::McpTool),
        }
    }
}
