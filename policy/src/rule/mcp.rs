//! Patterns over tools of MCP servers: `mcp__srv`, `mcp__srv__*`, `mcp__srv__tool`, `mcp__srv__get_*`.

use super::TextPattern;

/// Which MCP tools a rule covers.
///
/// The double underscore ends the server's name, but a server's name may hold one itself. An allow therefore compares the
/// whole configured name and the rest; a deny or ask also looks at the joined text, so that no way of splitting it evades.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpPattern {
    /// What follows `mcp__`.
    body: Box<str>,
}

impl McpPattern {
    /// Reads what follows `mcp__`.
    #[must_use]
    pub fn parse(body: &str) -> Self {
        Self { body: body.into() }
    }

    /// Whether an allow covers a tool.
    #[must_use]
    pub fn covers(&self, server: &str, tool: &str) -> bool {
        if *self.body == *server {
            return true;
        }
        self.body
            .strip_prefix(server)
            .and_then(|rest| rest.strip_prefix("__"))
            .is_some_and(|pattern| !pattern.is_empty() && matches(pattern, tool))
    }

    /// Whether a deny or ask covers a tool.
    #[must_use]
    pub fn touches(&self, server: &str, tool: &str) -> bool {
        let whole = format!("{server}__{tool}");
        self.covers(server, tool)
            || matches(&self.body, &whole)
            || matches(&self.body, server)
            // Agents replace what a tool's name cannot hold.
            || self.covers(&plain(server), &plain(tool))
            || matches(&self.body, &plain(&whole))
    }

    /// What follows `mcp__` in a rule.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.body
    }

    /// What it is indexed under.
    pub(crate) fn key(&self) -> McpKey<'_> {
        match self.server_key() {
            _ if !self.body.contains('*') => McpKey::Exact(&self.body),
            Some(server) => McpKey::Server(server),
            None => McpKey::Any,
        }
    }

    /// The first part of the server's name, if it holds no star.
    #[must_use]
    pub fn server_key(&self) -> Option<&str> {
        let server = self.body.split("__").next().unwrap_or_default();
        (!server.is_empty() && !server.contains('*')).then_some(server)
    }
}

/// A name as agents write it, who replace what a tool's name cannot hold.
pub(crate) fn plain(name: &str) -> String {
    name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-', "_")
}

fn matches(pattern: &str, text: &str) -> bool {
    TextPattern::parse(pattern).matches(text)
}

/// What an MCP rule is indexed under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum McpKey<'p> {
    /// The whole name of a server, or of one tool: `github`, `github__get_issue`.
    Exact(&'p str),
    /// The first part of the server's name.
    Server(&'p str),
    /// Nothing that every name has which it covers.
    Any,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allow_keeps_to_its_server() {
        for (pattern, server, tool, allow, deny) in [
            ("github", "github", "list_issues", true, true),
            ("git", "github", "list_issues", false, false),
            ("git__*", "github", "create_issue", false, false),
            ("github__list_issues", "github", "list_issues", true, true),
            ("github__list_issues", "github", "list_issues_private", false, false),
            ("my__srv__get_*", "my__srv", "get_x", true, true),
            ("my__*", "my__srv", "get_x", false, true),
            ("*", "github", "x", false, true),
            ("*__delete_*", "db", "delete_all", false, true),
            ("db__drop_*", "db", "drop_table", true, true),
            ("my_server__x", "my server", "x", false, true),
        ] {
            let pattern = McpPattern::parse(pattern);
            assert_eq!(
                pattern.covers(server, tool),
                allow,
                "{pattern:?} allow on {server} {tool}"
            );
            assert_eq!(
                pattern.touches(server, tool),
                deny,
                "{pattern:?} deny on {server} {tool}"
            );
        }
    }
}
