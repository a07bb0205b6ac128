//! The sections with the team's controls: `mcp`, `repositories`, `browser`, `models`.

use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp, Value};

use super::{Reader, keys, range};
use crate::{
    controls::{
        CommandPattern, LaunchPattern, McpEntry, McpSelector, ModelControls, NetworkMode, OriginPattern,
        RepositoryPattern, ToolLists, UrlPattern,
    },
    rule::TextPattern,
};

/// Most entries of one list.
const MAX_ENTRIES: usize = 2_000;

/// What a pattern is refused with: the span within its text, what is wrong, and a hint.
type Refused = (Range<usize>, String, Option<String>);

impl Reader<'_> {
    pub(super) fn mcp(&mut self, object: &Object<'_>) {
        self.keys(object, &keys::MCP, |this, key, property| match key {
            "servers" => {
                let entries = this.list_of(&property.value, key, Self::server);
                this.list.document.settings.controls.mcp.servers = entries;
            }
            "deny" => {
                let entries = this.list_of(&property.value, key, Self::denied_server);
                this.list.document.settings.controls.mcp.deny = entries;
            }
            _ => {
                if let Some(value) = this.boolean(&property.value, key) {
                    this.list.document.settings.controls.mcp.only_listed = value;
                }
            }
        });
    }

    /// An entry of `mcp.servers`.
    fn server(&mut self, value: &Value<'_>) -> Option<McpEntry> {
        let object = self.object(value, "servers")?;
        let (mut name, mut launch, mut tools, mut network) = (None, None, ToolLists::default(), None);
        self.keys(object, &keys::MCP_SERVER, |this, key, property| match key {
            "name" => name = this.words(&property.value, key),
            "tools" => tools = this.tools(&property.value),
            "networkMode" => network = this.network_mode(&property.value),
            _ => this.launch(key, property, &mut launch),
        });
        if launch.is_none() {
            self.fault(
                range(value),
                "an entry of `mcp.servers` needs the command or address that it is about",
                Some("write `\"command\": \"npx -y @corp/server\"` or `\"url\": \"https://mcp.corp.example/*\"`: a name alone says nothing about what runs under it"),
            );
        }
        Some(McpEntry {
            name,
            launch: launch?,
            approves: true,
            tools,
            network,
        })
    }

    /// An entry of `mcp.deny`: a name, or an object.
    fn denied_server(&mut self, value: &Value<'_>) -> Option<McpSelector> {
        let name_pattern = |text: &str| TextPattern::parse(&text.to_lowercase());
        if matches!(value, Value::StringLit(_)) {
            return Some(McpSelector {
                name: Some(name_pattern(&self.words(value, "deny")?)),
                launch: None,
            });
        }
        let object = self.object(value, "deny")?;
        let mut selector = McpSelector {
            name: None,
            launch: None,
        };
        self.keys(object, &keys::MCP_DENIED, |this, key, property| match key {
            "name" => selector.name = this.words(&property.value, key).map(|text| name_pattern(&text)),
            _ => this.launch(key, property, &mut selector.launch),
        });
        if selector.name.is_none() && selector.launch.is_none() {
            self.fault(
                range(value),
                "an entry of `mcp.deny` names a server",
                Some("write `name`, `command` or `url`"),
            );
            return None;
        }
        Some(selector)
    }

    /// `command` or `url` of a server, of which an entry has one.
    fn launch(&mut self, key: &'static str, property: &ObjectProp<'_>, launch: &mut Option<LaunchPattern>) {
        let value = &property.value;
        let read = match (key, value) {
            ("command", Value::Array(array)) => {
                let words: Option<Vec<&str>> = array.elements.iter().map(|word| self.string(word, key)).collect();
                words.map(|words| CommandPattern::from_words(words.into_iter()))
            }
            ("command", _) => self.words(value, key).map(|text| CommandPattern::parse(&text)),
            _ => {
                let Some(text) = self.words(value, key) else {
                    return;
                };
                match UrlPattern::parse(&text) {
                    Ok(pattern) => return self.one_launch(property, launch, LaunchPattern::Url(pattern)),
                    Err(message) => {
                        return self.fault(range(value), message, Some("write `https://mcp.corp.example/*`"));
                    }
                }
            }
        };
        match read {
            None => {}
            Some(Some(pattern)) => self.one_launch(property, launch, LaunchPattern::Command(pattern)),
            Some(None) => self.fault(
                range(value),
                "the command names no program: its first word may not be a lone `*`",
                Some("write the words of the command, such as `npx -y @corp/*`"),
            ),
        }
    }

    fn one_launch(&mut self, property: &ObjectProp<'_>, launch: &mut Option<LaunchPattern>, pattern: LaunchPattern) {
        if launch.is_some() {
            self.fault(
                range(&property.name),
                "a server has a command or an address, not both",
                Some("write two entries"),
            );
        }
        *launch = Some(pattern);
    }

    fn tools(&mut self, value: &Value<'_>) -> ToolLists {
        let mut tools = ToolLists::default();
        if let Some(object) = self.object(value, "tools") {
            self.keys(object, &keys::MCP_TOOLS, |this, key, property| {
                let list = this.patterns(&property.value, key, |text| Ok(TextPattern::parse(text)));
                match key {
                    "allow" => tools.allow = Some(list),
                    "deny" => tools.deny = list,
                    _ => tools.read_only = list,
                }
            });
        }
        tools
    }

    fn network_mode(&mut self, value: &Value<'_>) -> Option<NetworkMode> {
        let word = self.string(value, "networkMode")?;
        let Some(mode) = NetworkMode::ALL.into_iter().find(|mode| mode.word() == word) else {
            let known = NetworkMode::ALL.map(NetworkMode::word).join(", ");
            self.fault(
                range(value),
                format!("`{word}` is no network mode"),
                Some(&format!("known are {known}")),
            );
            return None;
        };
        let warning = self.note(
            range(value),
            "`networkMode` is kept but not enforced yet: this version starts no MCP server",
            None,
        );
        self.list.document.warnings.push(warning);
        Some(mode)
    }

    pub(super) fn repositories(&mut self, object: &Object<'_>) {
        let mut require = None;
        self.keys(object, &keys::REPOSITORIES, |this, key, property| match key {
            "requireKnown" => {
                require = this
                    .boolean(&property.value, key)
                    .map(|value| (value, range(&property.name)));
            }
            _ => {
                let list = this.patterns(&property.value, key, RepositoryPattern::parse);
                let controls = &mut this.list.document.settings.controls.repositories;
                if key == "known" {
                    controls.known = list;
                } else {
                    controls.blocked = list;
                }
            }
        });
        let controls = &mut self.list.document.settings.controls.repositories;
        controls.require_known = require.as_ref().is_some_and(|(value, _)| *value);
        if controls.require_known && controls.known.is_empty() && self.faults.is_empty() {
            self.fault(
                require.map_or(0..0, |(_, span)| span),
                "no repository is known: every call would be denied",
                Some("name repositories in `known`"),
            );
        }
    }

    pub(super) fn browser(&mut self, object: &Object<'_>) {
        self.keys(object, &keys::BROWSER, |this, key, property| {
            let list = this.patterns(&property.value, key, OriginPattern::parse);
            let controls = &mut this.list.document.settings.controls.browser;
            if key == "origins" {
                controls.origins = Some(list);
            } else {
                controls.blocked = list;
            }
        });
    }

    pub(super) fn models(&mut self, object: &Object<'_>) {
        self.keys(object, &keys::MODELS, |this, key, property| {
            let list = this.patterns(&property.value, key, |text| Ok(ModelControls::pattern(text)));
            let controls = &mut this.list.document.settings.controls.models;
            if key == "allowed" {
                controls.allowed = Some(list);
            } else {
                controls.blocked = list;
            }
        });
    }

    /// A list of patterns; each fault names its place in the text.
    fn patterns<T>(
        &mut self,
        value: &Value<'_>,
        key: &'static str,
        parse: impl Fn(&str) -> Result<T, Refused>,
    ) -> Vec<T> {
        self.list_of(value, key, |this, element| {
            let text = this.words(element, key)?;
            match parse(&text) {
                Ok(pattern) => Some(pattern),
                Err((span, message, hint)) => {
                    // Within the quotes, if the text holds no escapes; else all of it.
                    let whole = range(element);
                    let plain = whole.len() == text.len() + 2;
                    let span = if plain {
                        whole.start + 1 + span.start..whole.start + 1 + span.end
                    } else {
                        whole
                    };
                    this.fault(span, message, hint.as_deref());
                    None
                }
            }
        })
    }

    /// Reads each element of a list that is not too long.
    fn list_of<T>(
        &mut self,
        value: &Value<'_>,
        key: &'static str,
        mut read: impl FnMut(&mut Self, &Value<'_>) -> Option<T>,
    ) -> Vec<T> {
        let Some(array) = self.array(value, key) else {
            return Vec::new();
        };
        if array.elements.len() > MAX_ENTRIES {
            let message = format!("`{key}` has more than {MAX_ENTRIES} entries");
            self.fault(range(array), message, Some("join those that a `*` can cover"));
            return Vec::new();
        }
        array
            .elements
            .iter()
            .filter_map(|element| read(self, element))
            .collect()
    }
}
