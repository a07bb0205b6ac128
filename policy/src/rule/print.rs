//! Rules as text again: what is printed parses to the same rule.
//!
//! A rule's own text is in its [`super::RuleRef`]; this is for rules that nobody wrote, such as those that an importer or a
//! suggestion makes, and for the one spelling that two texts of the same meaning have.

use std::fmt;

use super::{Matcher, ParsedRule, PathVerb, SkillPattern};

impl fmt::Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EveryTool => f.write_str("*"),
            Self::Shell(pattern) if pattern.text() == "*" => f.write_str("Bash"),
            Self::Shell(pattern) => write!(f, "Bash({})", pattern.text()),
            Self::Path { verb, pattern: None } => verb.fmt(f),
            Self::Path {
                verb,
                pattern: Some(pattern),
            } => write!(f, "{verb}({})", pattern.text()),
            Self::Fetch(None) => f.write_str("WebFetch"),
            Self::Fetch(Some(host)) => write!(f, "WebFetch(domain:{})", host.text()),
            Self::WebSearch(None) => f.write_str("WebSearch"),
            Self::WebSearch(Some(words)) => write!(f, "WebSearch({words})"),
            Self::Mcp(pattern) => write!(f, "mcp__{}", pattern.text()),
            Self::Agent(None) => f.write_str("Agent"),
            Self::Agent(Some(kind)) => write!(f, "Agent({kind})"),
            Self::Skill(SkillPattern::Every) => f.write_str("Skill"),
            Self::Skill(SkillPattern::Name(name)) => write!(f, "Skill({name})"),
            Self::Skill(SkillPattern::Prefix(prefix)) => write!(f, "Skill({prefix}*)"),
            Self::Parameter(own) => write!(f, "{}({}:{})", own.tool, own.name, own.value.text()),
            Self::Tool(name) => f.write_str(name),
            Self::Tools(pattern) => f.write_str(pattern.text()),
        }
    }
}

impl fmt::Display for ParsedRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Covers(matcher) => matcher.fmt(f),
            Self::Exception { verb, pattern } => write!(f, "{verb}(!{})", pattern.text()),
        }
    }
}

impl fmt::Display for PathVerb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "Read",
            Self::Edit => "Edit",
            Self::Delete => "Delete",
        })
    }
}
