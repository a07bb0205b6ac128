//! Rules as text again: what is printed parses to the same rule.
//!
//! A rule's own text is in its [`super::RuleRef`]; this is the one spelling that two texts of the same meaning have (`Bash(*)`
//! and `Bash`, `x:*` and `x *`). It holds for rules in our own words; one in Cursor's has its words in its `RuleRef` only.

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
            Self::WebSearch(Some(words)) => write!(f, "WebSearch({})", words.text()),
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

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::select};

    use crate::{Effect, rule::parse};

    const TOOLS: &[&str] = &[
        "Bash",
        "Read",
        "Edit",
        "Write",
        "Grep",
        "Delete",
        "WebFetch",
        "WebSearch",
        "Agent",
        "Task",
        "Skill",
        "Mystery",
    ];
    const INNER: &[&str] = &[
        "*",
        "**",
        "git log *",
        "git log:*",
        "a*b",
        "x",
        ".env",
        "!.env",
        "!!x",
        "//etc/**",
        "~/x/",
        "./a",
        "[ab].rs",
        r"a\*",
        "domain:a.test",
        "domain:*.A.Test.",
        "cats",
        "ops:*",
        "deploy *",
        "model:opus",
        "field:a:*",
        "field:v*",
        "run_in_background:true",
        "timeout:5*",
        "Explore",
        "  x",
        "x ",
        "a:b:*",
    ];
    const BARE: &[&str] = &[
        "*",
        "My*",
        "Mystery",
        "mcp__a",
        "mcp__a__b",
        "mcp__a__*",
        "mcp__*",
        "mcp__a__x:*",
    ];

    fn comes_back(text: &str, effect: Effect) -> Result<bool, TestCaseError> {
        let Ok(rule) = parse(text, effect) else {
            return Ok(false);
        };
        let printed = rule.to_string();
        prop_assert_eq!(parse(&printed, effect), Ok(rule), "`{}` printed as `{}`", text, printed);
        Ok(true)
    }

    #[test]
    fn every_combination_is_printed_as_it_is_read() {
        let inside = TOOLS
            .iter()
            .flat_map(|tool| INNER.iter().map(move |inner| format!("{tool}({inner})")));
        let texts: Vec<String> = inside
            .chain(TOOLS.iter().chain(BARE).map(|text| (*text).to_owned()))
            .collect();
        for effect in [Effect::Allow, Effect::Ask, Effect::Deny] {
            let read = texts.iter().filter(|text| comes_back(text, effect).unwrap()).count();
            assert!(read > 90, "only {read} of {} texts are rules", texts.len());
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_parses_to_the_same_rule(
            tool in select(TOOLS), inner in "[a-c*:!/.~ ]{1,8}", effect in select(&[Effect::Allow, Effect::Ask, Effect::Deny][..]),
        ) {
            comes_back(&format!("{tool}({inner})"), effect)?;
        }
    }
}
