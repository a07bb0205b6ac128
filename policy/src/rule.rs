//! One statement of a policy: `Tool` or `Tool(specifier)`, in the spelling of Claude Code.
//!
//! A rule's text is parsed once into a closed [`Matcher`]; from then on nobody handles strings. What a matcher covers is
//! said here; which matchers are asked, and in which order, is the evaluator's business.

mod condition;
mod cursor;
mod host;
mod mcp;
mod options;
mod parse;
mod print;
mod regex;
mod text;

use std::{fmt, sync::Arc};

use crate::{Effect, Layer, path::PathPattern};

pub use condition::{Condition, input_text};
pub use cursor::{mcp_entry, terminal_entry};
pub(crate) use host::percent_decoded;
pub use host::{HostPattern, file_of, host_of, is_deceptive};
pub use mcp::McpPattern;
pub(crate) use mcp::{McpKey, plain as plain_mcp_name};
pub(crate) use parse::widest;
pub use parse::{InvalidRule, ParsedRule, parse};
pub use regex::RegexPattern;
pub use text::TextPattern;

/// Whose words a rule is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Spelling {
    /// Those of Claude Code, which are ours: `Bash(git push *)`, `/x` is the folder of the document's project.
    #[default]
    Native,
    /// Those of Cursor's command line: `Shell(git:push*)`, `/x` is the file system root.
    Cursor,
}

impl Spelling {
    /// Reads a rule in this spelling that is to carry `effect`.
    ///
    /// # Errors
    /// With the span of the faulty words.
    pub fn parse(self, text: &str, effect: Effect) -> Result<ParsedRule, InvalidRule> {
        match self {
            Self::Native => parse(text, effect),
            Self::Cursor => cursor::parse(text, effect).map(ParsedRule::Covers),
        }
    }

    /// The word for it in a document.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Cursor => "cursor",
        }
    }

    /// The spelling that a word of a document names.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        [Self::Native, Self::Cursor]
            .into_iter()
            .find(|spelling| spelling.word() == word)
    }
}

/// A rule, ready to be matched.
#[derive(Clone, Debug)]
pub struct Rule {
    /// What it carries.
    pub effect: Effect,
    /// What it covers.
    pub matcher: Matcher,
    /// `!pattern` entries that stand after it in the same list of the same document: paths it does not cover.
    pub exceptions: Vec<PathPattern>,
    /// When it holds at all; `None` = always.
    pub when: Option<Box<Condition>>,
    /// Where it stands.
    pub source: RuleRef,
    /// For the agent: what to do instead. From the document's `advice`.
    pub advice: Option<Arc<str>>,
    /// What its document says about it and no decision needs.
    pub(crate) written: Option<Box<Written>>,
}

/// What a document says about a rule that no decision needs: kept so that the document can be printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    /// Its text in the native document, where its source has another.
    pub(crate) text: Option<Arc<str>>,
    /// Whose words it is written in.
    pub(crate) spelling: Spelling,
    /// Examples that it has to cover.
    pub(crate) examples: Vec<String>,
    /// Examples that it must not cover.
    pub(crate) counterexamples: Vec<String>,
}

impl Written {
    /// Says how a rule is spelled; `None` for our own words.
    pub(crate) fn spelled(spelling: Spelling) -> Option<Box<Self>> {
        (spelling != Spelling::default()).then(|| {
            Box::new(Self {
                spelling,
                ..Self::default()
            })
        })
    }
}

impl Rule {
    /// Its text as a document of ours has it.
    pub(crate) fn native_text(&self) -> &str {
        let own = self.written.as_ref().and_then(|written| written.text.as_deref());
        own.unwrap_or(&self.source.text)
    }

    /// Whether it is a line of an ignore list.
    pub(crate) fn is_ignore_line(&self) -> bool {
        let line = |pattern: &PathPattern| pattern.ignore().is_some();
        matches!(&self.matcher, Matcher::Path { pattern: Some(pattern), .. } if line(pattern))
    }
}

/// What a rule covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Matcher {
    /// Every tool: `*`, in deny and ask only.
    EveryTool,
    /// Shell commands, part by part: `Bash(…)`.
    Shell(TextPattern),
    /// Files: `Read(…)`, `Edit(…)`, `Delete(…)`; without a pattern all of them.
    Path {
        /// What is done to them.
        verb: PathVerb,
        /// Which; `None` = all.
        pattern: Option<PathPattern>,
    },
    /// Hosts: `WebFetch(domain:…)`; without a pattern all of them.
    Fetch(Option<HostPattern>),
    /// Searches on the web: `WebSearch`, or these words, with `*` for anything.
    WebSearch(Option<TextPattern>),
    /// Tools of MCP servers.
    Mcp(McpPattern),
    /// Other agents, by type; without one all of them.
    Agent(Option<String>),
    /// Skills.
    Skill(SkillPattern),
    /// A top-level scalar field of a tool's input, in deny and ask only: `Agent(model:opus)`.
    Parameter(Box<ParameterPattern>),
    /// Another tool, by its exact name.
    Tool(String),
    /// Other tools, by a name with `*`, in deny and ask only.
    Tools(TextPattern),
}

/// Which values of a field of a tool's input a rule covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterPattern {
    /// The tool.
    pub tool: String,
    /// The field.
    pub name: String,
    /// Its value.
    pub value: TextPattern,
}

/// What a path rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathVerb {
    /// Reading, searching in, listing. As deny or ask it covers changes and deletions too.
    Read,
    /// Creating and changing. As deny or ask it covers deletions too.
    Edit,
    /// Deleting.
    Delete,
}

/// Which skills a rule covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillPattern {
    /// All.
    Every,
    /// This one, with and without arguments.
    Name(String),
    /// Those whose name begins so, such as `ops:`.
    Prefix(String),
}

impl SkillPattern {
    /// Whether it covers a skill.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Every => true,
            Self::Name(own) => name == own,
            Self::Prefix(prefix) => name.starts_with(prefix.as_str()),
        }
    }
}

/// Where a rule stands, for people. A copy shares its texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleRef {
    /// The layer.
    pub layer: Layer,
    /// The document: a path, `team policy v3`, `--allowedTools`, `built in`.
    pub document: Arc<str>,
    /// Line, counted from 1; 0 if there is none.
    pub line: u32,
    /// Column in characters, counted from 1; 0 if there is none.
    pub column: u32,
    /// The rule as written.
    pub text: Arc<str>,
    /// Its author's name for it.
    pub name: Option<Arc<str>>,
    /// What it carries.
    pub effect: Effect,
}

impl RuleRef {
    /// As it is displayed. Every decision by a rule says so, hence piece by piece into a text that is large enough.
    pub(crate) fn in_words(&self) -> String {
        let mut text = String::with_capacity(self.text.len() + self.document.len() + 48);
        let pieces = [
            self.effect.as_str(),
            " rule `",
            &self.text,
            "` (",
            self.layer.as_str(),
            ": ",
            &self.document,
        ];
        pieces.iter().for_each(|piece| text.push_str(piece));
        if self.line > 0 {
            text.push(':');
            text.push_str(&self.line.to_string());
        }
        text.push(')');
        text
    }

    /// The text and where it stands, without the effect.
    pub(crate) fn place(&self) -> String {
        let line = if self.line > 0 {
            format!(":{}", self.line)
        } else {
            String::new()
        };
        format!("`{}` ({}: {}{line})", self.text, self.layer, self.document)
    }
}

impl fmt::Display for RuleRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_words())
    }
}
