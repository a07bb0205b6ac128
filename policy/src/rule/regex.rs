//! Regular expressions in rules: over a command's text, or over the input of a call.
//!
//! They exist because other agents' policies have them. The engine behind them is linear in the text and knows neither
//! look-around nor back-references; what it cannot compile is a fault, never a rule that silently never matches. An allow
//! has to match the whole text, a deny or ask any part of it: whoever forgets an anchor narrows an allow and widens a deny.

use crate::Effect;

/// Most memory that one compiled expression may take, in bytes.
const MAX_COMPILED: usize = 256 * 1024;
/// Longest expression, in bytes.
const MAX_BYTES: usize = 2048;

/// A compiled regular expression.
#[derive(Clone, Debug)]
pub struct RegexPattern {
    /// As written.
    text: String,
    compiled: ::regex::Regex,
}

impl RegexPattern {
    /// Compiles an expression for a rule with this effect.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(text: &str, effect: Effect) -> Result<Self, String> {
        if text.is_empty() {
            return Err("the regular expression is empty".to_owned());
        }
        if text.len() > MAX_BYTES {
            return Err(format!("the regular expression is longer than {MAX_BYTES} bytes"));
        }
        let compile = |text: &str| {
            ::regex::RegexBuilder::new(text)
                .size_limit(MAX_COMPILED)
                .dfa_size_limit(MAX_COMPILED)
                .nest_limit(50)
                .build()
        };
        // Alone first: a bracket too many would otherwise close the group that anchors it.
        let compiled = compile(text).and_then(|alone| match effect {
            Effect::Allow => compile(&format!(r"\A(?:{text})\z")),
            Effect::Ask | Effect::Deny => Ok(alone),
        });
        match compiled {
            Ok(compiled) => Ok(Self {
                text: text.to_owned(),
                compiled,
            }),
            Err(fault) => Err(reason(&fault)),
        }
    }

    /// As written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it seems to be about a program, by the words that it is written with: `npm (publish|x)` and `np[mx] publish`
    /// are about `npm`; `.*publish` is about none. Read too widely rather than too narrowly.
    #[must_use]
    pub fn concerns(&self, program: &str) -> bool {
        let program = program.to_lowercase();
        let text = self.text.to_lowercase();
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let mut before = None;
        let mut rest = text.as_str();
        while let Some(c) = rest.chars().next() {
            // `\b`, `\s`: no letter of a word.
            if c == '\\' {
                let mut chars = rest.chars();
                before = chars.by_ref().nth(1).filter(|c| !c.is_alphanumeric());
                rest = chars.as_str();
                continue;
            }
            let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            let (run, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
            let next = after.chars().next();
            // The word goes on in a way that is not its own letters.
            let open = |c: Option<char>| c.is_some_and(|c| "[](){}.*+?\\".contains(c));
            let begins = open(next) && program.starts_with(run);
            let ends = open(before) && program.ends_with(run);
            if !run.is_empty() && (run == program || begins || ends) {
                return true;
            }
            before = next.or(before);
            rest = after
                .get(next.filter(|c| *c != '\\').map_or(0, char::len_utf8)..)
                .unwrap_or_default();
        }
        false
    }

    /// The words of an expression that is nothing but words, and whether the text ends with them.
    pub(super) fn plain_words(&self) -> Option<(&str, bool)> {
        let text = self.text.strip_prefix('^').unwrap_or(&self.text);
        let words = text.strip_suffix('$').unwrap_or(text);
        let plain = !words.contains(['\\', '.', '+', '*', '?', '(', ')', '|', '[', ']', '{', '}', '^', '$']);
        plain.then_some((words, words.len() < text.len()))
    }

    /// Whether it matches. Linear in the text.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        self.compiled.is_match(text)
    }
}

impl PartialEq for RegexPattern {
    fn eq(&self, other: &Self) -> bool {
        self.compiled.as_str() == other.compiled.as_str()
    }
}

impl Eq for RegexPattern {}

/// The last line of what the compiler says; those before it draw the expression.
fn reason(fault: &::regex::Error) -> String {
    match fault {
        ::regex::Error::CompiledTooBig(limit) => {
            format!("the regular expression needs more than {limit} bytes once compiled")
        }
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default();
            format!(
                "the regular expression cannot be used: {}",
                last.trim_start_matches("error: ")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allow_matches_whole_texts_and_a_deny_parts_of_them() {
        for (text, subject, allow, deny) in [
            ("npm run (build|test)", "npm run test", true, true),
            ("npm run (build|test)", "npm run test; rm x", false, true),
            ("npm run (build|test)", "sudo npm run test", false, true),
            ("a|b", "ab", false, true),
            ("a|b", "xax", false, true),
            ("^rm", "ls rm", false, false),
            (".*", "a\nb", false, true),
            ("(?s).*", "a\nb", true, true),
        ] {
            let matches = |effect| RegexPattern::parse(text, effect).unwrap().matches(subject);
            assert_eq!(matches(Effect::Allow), allow, "allow `{text}` on `{subject}`");
            assert_eq!(matches(Effect::Deny), deny, "deny `{text}` on `{subject}`");
        }
    }

    #[test]
    fn what_cannot_be_compiled_is_said() {
        for (text, part) in [
            ("", "empty"),
            ("(", "unclosed"),
            ("a)|(b", "unopened"),
            ("(?=x)", "look-around"),
            (r"(a)\1", "backreferences"),
            ("(?:a{1000}){1000}", "bytes"),
        ] {
            let said = RegexPattern::parse(text, Effect::Allow).unwrap_err();
            assert!(said.contains(part), "`{text}`: {said}");
            assert!(RegexPattern::parse(text, Effect::Deny).is_err());
        }
        let long = "a".repeat(MAX_BYTES + 1);
        assert!(RegexPattern::parse(&long, Effect::Deny).is_err());
    }
}
