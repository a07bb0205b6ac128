//! Which MCP servers, and which of their tools, a team permits.
//!
//! Entries are about the command or address that the host read from configuration; a name is what anybody writes. An entry
//! that fits a server's definition approves it for everybody. What is denied may be denied by name alone.

use crate::{
    facts::{Launch, McpServer, plain_name},
    rule::{HostPattern, TextPattern},
};

/// A team's controls on MCP servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpControls {
    /// Servers that the team knows.
    pub servers: Vec<McpEntry>,
    /// All others are denied.
    pub only_listed: bool,
    /// These are denied.
    pub deny: Vec<McpSelector>,
}

/// A server that the team knows, and what it may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpEntry {
    /// Only under this configured name; `None` = under any.
    pub name: Option<String>,
    /// The command or address.
    pub launch: LaunchPattern,
    /// Whether it counts as approved.
    pub approves: bool,
    /// Its tools.
    pub tools: ToolLists,
    /// What network it may have. Carried here for whoever starts servers in a sandbox; nothing enforces it yet.
    pub network: Option<NetworkMode>,
}

/// Tools of one server, by patterns over their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolLists {
    /// Only these; `None` = all that are not denied.
    pub allow: Option<Vec<TextPattern>>,
    /// Not these.
    pub deny: Vec<TextPattern>,
    /// These only read: the team vouches for it.
    pub read_only: Vec<TextPattern>,
}

/// What network an MCP server may have, in Cursor's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkMode {
    /// What the sandbox's own lists name.
    SandboxJsonOnly,
    /// The same and the usual sources of packages.
    SandboxJsonPlusDefaults,
    /// Every host.
    AllowAll,
}

impl NetworkMode {
    /// All.
    pub const ALL: [Self; 3] = [Self::SandboxJsonOnly, Self::SandboxJsonPlusDefaults, Self::AllowAll];

    /// Its word in a document.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::SandboxJsonOnly => "sandbox_json_only",
            Self::SandboxJsonPlusDefaults => "sandbox_json_plus_defaults",
            Self::AllowAll => "allow_all",
        }
    }
}

/// What a server is denied by; at least one of both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpSelector {
    /// Its name, in any case of letters.
    pub name: Option<TextPattern>,
    /// Its command or address.
    pub launch: Option<LaunchPattern>,
}

/// A pattern over how a server is started or reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchPattern {
    /// A command.
    Command(CommandPattern),
    /// An address.
    Url(UrlPattern),
}

/// A pattern over a command, word by word: `npx -y @corp/*`. A `*` stays within its word; one that is the last word
/// stands for all further words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandPattern {
    /// As written, word by word.
    written: Box<[Box<str>]>,
    words: Vec<TextPattern>,
    open: bool,
    /// The whole as a text, for a deny.
    joined: TextPattern,
}

/// A pattern over an address: `https://*.corp.example/mcp/*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlPattern {
    /// As written.
    text: Box<str>,
    scheme: String,
    host: HostPattern,
    port: Option<String>,
    path: TextPattern,
}

impl CommandPattern {
    /// Reads a pattern; `None` if it names no program.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::from_words(text.split_whitespace())
    }

    /// Takes the words of a pattern; `None` if they name no program.
    #[must_use]
    pub fn from_words<'w>(words: impl Iterator<Item = &'w str>) -> Option<Self> {
        let mut words: Vec<&str> = words.collect();
        let joined = TextPattern::parse(&words.join(" "));
        let written = words.iter().map(|word| Box::from(*word)).collect();
        let open = words.len() > 1 && words.last() == Some(&"*");
        if open {
            words.pop();
        }
        // A pattern for every program would approve whatever anybody configures.
        let first = words.first()?;
        if first.is_empty() || first.chars().all(|c| c == '*') {
            return None;
        }
        Some(Self {
            written,
            words: words.iter().map(|word| TextPattern::parse(word)).collect(),
            open,
            joined,
        })
    }

    /// Its words as written.
    pub(crate) fn written(&self) -> &[Box<str>] {
        &self.written
    }

    /// Whether it covers a command, word by word.
    fn covers(&self, words: &[String]) -> bool {
        (words.len() == self.words.len() || (self.open && words.len() > self.words.len()))
            && self.words.iter().zip(words).all(|(own, word)| own.matches(word))
    }

    /// Whether a deny is about a command: also with the program's folder left out, or the words run together.
    fn touches(&self, words: &[String]) -> bool {
        let mut bare = words.to_vec();
        if let Some(first) = bare.first_mut() {
            *first = first.rsplit('/').next().unwrap_or_default().to_owned();
        }
        [words, &bare]
            .into_iter()
            .any(|words| self.covers(words) || self.joined.matches(&words.join(" ")))
    }
}

impl UrlPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (scheme, rest) = text
            .split_once("://")
            .ok_or("an address begins with its scheme: `https://…`")?;
        let scheme = scheme.to_ascii_lowercase();
        if scheme != "https" && scheme != "http" {
            return Err(format!("`{scheme}` is no scheme of an MCP server's address"));
        }
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.is_empty() && port.chars().all(|c| c.is_ascii_digit()) => {
                (host, Some(port.to_owned()))
            }
            _ => (authority, None),
        };
        let host = HostPattern::parse(host).map_err(|(_, message, _)| message)?;
        Ok(Self {
            text: text.into(),
            scheme,
            host,
            port,
            path: TextPattern::parse(if path.is_empty() { "/" } else { path }),
        })
    }

    /// As written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it covers an address. One that could be read in several ways is covered by none.
    fn covers(&self, url: &str) -> bool {
        let Some((scheme, host, port, path)) = parts(url) else {
            return false;
        };
        // What climbs out of the path that a pattern names is not in it.
        let climbs = path.split('/').any(|segment| {
            let plain = segment.to_ascii_lowercase().replace("%2e", ".");
            plain == ".." || plain.contains("%2f") || plain.contains("%5c")
        });
        let own = if self.scheme == "https" { "443" } else { "80" };
        scheme == self.scheme
            && self.host.matches(&host)
            && port.unwrap_or(own) == self.port.as_deref().unwrap_or(own)
            && !climbs
            && self.path.matches(path)
    }

    /// Whether a deny is about an address: whatever its scheme and port, and below the path too.
    fn touches(&self, url: &str) -> bool {
        let Some((_, host, _, path)) = parts(url) else {
            return true;
        };
        self.host.matches(&host)
            && (self.path.matches("/") || self.path.matches(path) || self.path.matches(path.trim_end_matches('/')))
    }
}

/// Scheme, host, port and path; `None` for an address with a user in it, or one that can be read in several ways.
fn parts(url: &str) -> Option<(String, String, Option<&str>, &str)> {
    let host = crate::rule::host_of(url)?;
    let (scheme, rest) = url.split_once("://")?;
    let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if authority.contains('@') {
        return None;
    }
    let port = authority
        .rsplit_once(':')
        .map(|(_, port)| port)
        .filter(|port| !port.is_empty() && port.chars().all(|c| c.is_ascii_digit()));
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    Some((
        scheme.to_ascii_lowercase(),
        host,
        port,
        if path.is_empty() { "/" } else { path },
    ))
}

impl LaunchPattern {
    /// Whether it covers a definition. One that sets variables which change what runs is covered by none.
    fn covers(&self, launch: &Launch) -> bool {
        match (self, launch) {
            (Self::Command(pattern), Launch::Command { words, environment }) => {
                environment.is_empty() && pattern.covers(words)
            }
            (Self::Url(pattern), Launch::Url(url)) => pattern.covers(url),
            _ => false,
        }
    }

    fn touches(&self, launch: &Launch) -> bool {
        match (self, launch) {
            (Self::Command(pattern), Launch::Command { words, .. }) => pattern.touches(words),
            (Self::Url(pattern), Launch::Url(url)) => pattern.touches(url),
            _ => false,
        }
    }
}

impl McpEntry {
    /// Whether it is about a definition.
    #[must_use]
    pub fn covers(&self, server: &McpServer) -> bool {
        self.name.as_ref().is_none_or(|name| *name == server.name) && self.launch.covers(&server.launch)
    }
}

impl McpSelector {
    /// Whether it is about a definition. A name that is not in any configuration can still be denied by its name.
    fn touches(&self, name: &str, definition: Option<&McpServer>) -> bool {
        let names = [name, definition.map_or(name, |server| server.name.as_str())];
        let by_name = self.name.as_ref().map(|pattern| {
            names.iter().any(|name| {
                let name = name.to_lowercase();
                pattern.matches(&name) || pattern.matches(&plain_name(&name))
            })
        });
        let by_launch = self
            .launch
            .as_ref()
            .map(|pattern| definition.is_some_and(|server| pattern.touches(&server.launch)));
        (by_name.is_some() || by_launch.is_some()) && by_name.unwrap_or(true) && by_launch.unwrap_or(true)
    }
}

impl ToolLists {
    fn permits(&self, tool: &str) -> bool {
        !self.deny.iter().any(|pattern| pattern.matches(tool))
            && self
                .allow
                .as_ref()
                .is_none_or(|allow| allow.iter().any(|pattern| pattern.matches(tool)))
    }
}

impl McpControls {
    /// Why a tool of a server is denied; `None` if it is not. `definitions` are all that its name may stand for.
    #[must_use]
    pub fn objection(&self, name: &str, tool: &str, definitions: &[&McpServer]) -> Option<String> {
        let denied = self.deny.iter().any(|selector| {
            selector.touches(name, None) || definitions.iter().any(|server| selector.touches(name, Some(server)))
        });
        if denied {
            return Some(format!("the team denies the MCP server `{name}`"));
        }
        if self.only_listed {
            let listed = |server: &&McpServer| self.servers.iter().any(|entry| entry.covers(server));
            if definitions.is_empty() || !definitions.iter().all(listed) {
                let what = definitions.iter().find(|server| !listed(server));
                let launch = what.map_or_else(
                    || "it is in no configuration that was read".to_owned(),
                    |s| s.launch.shown(),
                );
                return Some(format!(
                    "the team permits listed MCP servers only, and `{name}` is not one of them ({launch})"
                ));
            }
        }
        let entries = definitions
            .iter()
            .flat_map(|server| self.servers.iter().filter(|entry| entry.covers(server)));
        for entry in entries {
            if !entry.tools.permits(tool) {
                return Some(format!(
                    "the team does not permit the tool `{tool}` of the MCP server `{name}`"
                ));
            }
        }
        None
    }

    /// Whether the team approves a definition for everybody.
    #[must_use]
    pub fn approves(&self, server: &McpServer) -> bool {
        self.servers.iter().any(|entry| entry.approves && entry.covers(server))
    }

    /// Whether the team vouches that a tool only reads.
    #[must_use]
    pub fn reads_only(&self, server: &McpServer, tool: &str) -> bool {
        self.servers
            .iter()
            .filter(|entry| entry.covers(server))
            .any(|entry| entry.tools.read_only.iter().any(|pattern| pattern.matches(tool)))
    }
}

#[cfg(test)]
mod tests;
