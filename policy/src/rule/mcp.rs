//! Patterns over tools of MCP servers: `mcp__srv`, `mcp__srv__*`, `mcp__srv__tool`, `mcp__srv__get_*`.

use super::{TextPattern, text::stars_match};
use crate::Effect;

/// Which MCP tools a rule covers.
///
/// The double underscore ends the server's name, but a server's name may hold one itself. An allow therefore compares the
/// whole configured name and the rest; a deny or ask also looks at the joined text, so that no way of splitting it evades.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpPattern(Form);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// `server__tool`, as Claude Code writes it.
    Joined {
        /// What follows `mcp__`.
        body: Box<str>,
    },
    /// `server:tool`, as Cursor writes it.
    Halves {
        server: Box<str>,
        tool: Box<str>,
        /// An allow, too, ignores the case.
        any_case: bool,
    },
}

impl McpPattern {
    /// Reads what follows `mcp__`.
    #[must_use]
    pub fn parse(body: &str) -> Self {
        Self(Form::Joined { body: body.into() })
    }

    /// A pattern of two halves, each with `*` for anything. A deny or ask ignores the case of both; an allow does where
    /// `any_case` says so.
    #[must_use]
    pub fn halves(server: &str, tool: &str, any_case: bool) -> Self {
        let folded = |text: &str| {
            if any_case {
                text.to_ascii_lowercase()
            } else {
                text.to_owned()
            }
        };
        Self(Form::Halves {
            server: folded(server).into(),
            tool: folded(tool).into(),
            any_case,
        })
    }

    /// Whether an allow covers a tool.
    #[must_use]
    pub fn covers(&self, server: &str, tool: &str) -> bool {
        match &self.0 {
            Form::Joined { body } => covers_joined(body, server, tool),
            // A server without a name is none that a person listed, whatever `*` stands for.
            Form::Halves { .. } if server.is_empty() => false,
            Form::Halves {
                server: own_server,
                tool: own_tool,
                any_case,
            } => {
                let folded = |text: &str| {
                    if *any_case {
                        text.to_ascii_lowercase()
                    } else {
                        text.to_owned()
                    }
                };
                stars_match(own_server, &folded(server)) && stars_match(own_tool, &folded(tool))
            }
        }
    }

    /// Whether a deny or ask covers a tool.
    #[must_use]
    pub fn touches(&self, server: &str, tool: &str) -> bool {
        match &self.0 {
            Form::Joined { body } => {
                let whole = format!("{server}__{tool}");
                covers_joined(body, server, tool)
                    || joined(body, &whole)
                    || joined(body, server)
                    // All tools of a server whose name holds the double underscore.
                    || whole.strip_prefix(&**body).is_some_and(|rest| rest.starts_with("__"))
                    || plain(&whole).strip_prefix(&**body).is_some_and(|rest| rest.starts_with("__"))
                    // Agents replace what a tool's name cannot hold.
                    || covers_joined(body, &plain(server), &plain(tool))
                    || joined(body, &plain(&whole))
            }
            Form::Halves {
                server: own_server,
                tool: own_tool,
                ..
            } => {
                // Where a name ends that holds the double underscore itself is not known, and agents replace what a
                // tool's name cannot hold: every way of splitting and both spellings count.
                let whole = format!("{server}__{tool}").to_ascii_lowercase();
                let (own_server, own_tool) = (own_server.to_ascii_lowercase(), own_tool.to_ascii_lowercase());
                [
                    (own_server.clone(), own_tool.clone(), whole.clone()),
                    (plain_pattern(&own_server), plain_pattern(&own_tool), plain(&whole)),
                ]
                .iter()
                .any(|(own_server, own_tool, whole)| {
                    whole.match_indices("__").any(|(at, separator)| {
                        let (server, rest) = whole.split_at(at);
                        let tool = rest.get(separator.len()..).unwrap_or_default();
                        stars_match(own_server, server) && stars_match(own_tool, tool)
                    })
                })
            }
        }
    }

    /// What a rule says about servers and tools, as it is written: without `mcp__`, or in two halves.
    #[must_use]
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        match &self.0 {
            Form::Joined { body } => std::borrow::Cow::Borrowed(body),
            Form::Halves { server, tool, .. } => std::borrow::Cow::Owned(format!("{server}:{tool}")),
        }
    }

    /// What it is indexed under, as a rule with this effect.
    pub(crate) fn key(&self, effect: Effect) -> McpKey<'_> {
        match &self.0 {
            Form::Joined { body } if !body.contains('*') => McpKey::Exact(body),
            // Where its server's name ends is not known.
            Form::Halves { .. } if effect != Effect::Allow => McpKey::Any,
            _ => self.server_key().map_or(McpKey::Any, McpKey::Server),
        }
    }

    /// The first part of the server's name, if it holds no star and its case counts: the key under which allows are
    /// indexed.
    #[must_use]
    pub fn server_key(&self) -> Option<&str> {
        let server = match &self.0 {
            Form::Joined { body, .. } => body,
            Form::Halves { any_case: true, .. } => return None,
            Form::Halves { server, .. } if server.contains('*') => return None,
            Form::Halves { server, .. } => server,
        };
        let key = server.split("__").next().unwrap_or_default();
        (!key.is_empty() && !key.contains('*')).then_some(key)
    }
}

fn covers_joined(body: &str, server: &str, tool: &str) -> bool {
    if body == server {
        return true;
    }
    body.strip_prefix(server)
        .and_then(|rest| rest.strip_prefix("__"))
        .is_some_and(|pattern| !pattern.is_empty() && TextPattern::parse(pattern).matches(tool))
}

/// A pattern as it reads once an agent has replaced what a tool's name cannot hold.
fn plain_pattern(text: &str) -> String {
    text.replace(
        |c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-' && c != '*',
        "_",
    )
}

/// A name as agents write it, who replace what a tool's name cannot hold.
pub(crate) fn plain(name: &str) -> String {
    name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-', "_")
}

fn joined(pattern: &str, text: &str) -> bool {
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

    #[test]
    fn halves_keep_to_their_server() {
        for (server, tool, named, called, allow, any_case, deny) in [
            ("datadog", "*", "datadog", "list_monitors", true, true, true),
            ("data", "*", "datadog", "list_monitors", false, false, false),
            ("*", "search", "wiki", "search", true, true, true),
            ("*", "search", "wiki", "search_all", false, false, false),
            ("linear", "list_*", "linear", "list_projects", true, true, true),
            ("linear", "list_*", "linear", "delete_list", false, false, false),
            ("GitHub", "*", "github", "x", false, true, true),
            ("*", "*", "", "x", false, false, true),
            ("my server", "*", "my_server", "x", false, false, true),
            ("a", "b", "a__b", "c", false, false, false),
            ("a", "b*", "a__b", "c", false, false, true),
        ] {
            let what = format!("{server}:{tool} on {named} {called}");
            assert_eq!(
                McpPattern::halves(server, tool, false).covers(named, called),
                allow,
                "allow {what}"
            );
            assert_eq!(
                McpPattern::halves(server, tool, true).covers(named, called),
                any_case,
                "allow in any case {what}"
            );
            assert_eq!(
                McpPattern::halves(server, tool, false).touches(named, called),
                deny,
                "deny {what}"
            );
        }
    }
}
