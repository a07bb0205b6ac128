//! Regular expressions of `find -regex`, in the dialects that it knows.
//!
//! What matters is whether a path that ends in certain names can be matched: which folders stand in front of them is not known.
//! So the expression is run backwards over the names; where it can still go on, some path matches. What is not surely
//! understood could match anything: back-references, word boundaries, named classes, dialects that are not listed.

use regex_automata::{
    Anchored,
    hybrid::dfa::{Cache, DFA},
    nfa::thompson,
    util::{start, syntax},
};

/// Longest expression that is looked at, in bytes.
const LONGEST: usize = 1_000;
/// Most memory that running one may take, in bytes.
const MOST_MEMORY: usize = 1 << 20;

/// How a dialect writes its operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    /// `\(`, `\|`, and `+`, `?`: what GNU's find takes without being told.
    Emacs,
    /// `\(`, and `\+`, `\?`, `\|` where they are known: what other finds take.
    Basic,
    /// `(`, `|`, `+`, `?`, `{`.
    Extended,
}

/// An expression that can be asked; without any automaton it matches anything.
#[derive(Debug)]
pub(super) struct Expression {
    automata: Vec<DFA>,
}

impl Expression {
    /// Reads an expression. `kind` is what `-regextype` names.
    pub(super) fn read(text: &str, kind: Option<&str>, extended: bool) -> Self {
        let dialects: &[Dialect] = match kind {
            _ if extended => &[Dialect::Extended],
            None => &[Dialect::Emacs, Dialect::Basic],
            Some("emacs" | "findutils-default") => &[Dialect::Emacs],
            Some("posix-basic" | "ed" | "sed" | "grep") => &[Dialect::Basic],
            Some("posix-extended" | "egrep" | "posix-egrep") => &[Dialect::Extended],
            Some(_) => &[],
        };
        let automata: Option<Vec<DFA>> = dialects
            .iter()
            .map(|dialect| backwards(&translated(text, *dialect)?))
            .collect();
        Self {
            automata: automata.unwrap_or_default(),
        }
    }

    /// Whatever it is, it may match anything.
    pub(super) fn unknown() -> Self {
        Self { automata: Vec::new() }
    }

    /// Whether a path that ends in these names may match. A name that begins with `*` may begin with anything.
    pub(super) fn may_end_in(&self, path: &str) -> bool {
        let known = path.rsplit('*').next().unwrap_or_default();
        let ending = if known.len() == path.len() {
            format!("/{path}")
        } else {
            known.to_owned()
        };
        self.automata.is_empty() || self.automata.iter().any(|dfa| can_end_in(dfa, ending.as_bytes()))
    }
}

/// Whether an automaton that reads backwards can go on after an ending.
fn can_end_in(dfa: &DFA, ending: &[u8]) -> bool {
    let mut cache = Cache::new(dfa);
    let config = start::Config::new().anchored(Anchored::Yes);
    let Ok(mut state) = dfa.start_state(&mut cache, &config) else {
        return true;
    };
    for byte in ending.iter().rev() {
        match dfa.next_state(&mut cache, state, *byte) {
            Ok(next) if next.is_dead() => return false,
            Ok(next) => state = next,
            Err(_) => return true,
        }
    }
    true
}

fn backwards(pattern: &str) -> Option<DFA> {
    DFA::builder()
        .syntax(
            syntax::Config::new()
                .case_insensitive(true)
                .dot_matches_new_line(true)
                .unicode(false)
                .utf8(false)
                .nest_limit(50),
        )
        .thompson(
            thompson::Config::new()
                .reverse(true)
                .utf8(false)
                .nfa_size_limit(Some(MOST_MEMORY)),
        )
        .configure(
            DFA::config()
                .cache_capacity(MOST_MEMORY)
                .skip_cache_capacity_check(true),
        )
        .build(pattern)
        .ok()
}

/// The expression as our engine reads it; `None` if it is not surely understood.
fn translated(text: &str, dialect: Dialect) -> Option<String> {
    if text.len() > LONGEST || !text.is_ascii() {
        return None;
    }
    let extended = dialect == Dialect::Extended;
    let mut out = String::new();
    let mut begins = true;
    let mut chars = text.chars().peekable();
    let literal = |out: &mut String, c: char| out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
    while let Some(c) = chars.next() {
        let at_start = std::mem::take(&mut begins);
        match c {
            '\\' => match chars.next()? {
                c @ ('(' | '|') if !extended => {
                    out.push_str(if c == '(' { "(?:" } else { "|" });
                    begins = true;
                }
                ')' if !extended => out.push(')'),
                c @ ('+' | '?') if dialect == Dialect::Basic => {
                    if at_start {
                        return None;
                    }
                    out.push(c);
                }
                '{' | '}' if !extended => return None,
                c if c.is_ascii_punctuation() && !matches!(c, '<' | '>' | '`' | '\'') => literal(&mut out, c),
                _ => return None,
            },
            '[' => bracket(&mut chars, &mut out)?,
            '(' | '|' if extended => {
                out.push_str(if c == '(' { "(?:" } else { "|" });
                begins = true;
            }
            ')' if extended => out.push(')'),
            '{' | '}' if extended => return None,
            '*' | '+' | '?' if c == '*' || dialect != Dialect::Basic => {
                if at_start {
                    return None;
                }
                out.push(c);
            }
            // The whole path has to match, so they say nothing at the ends.
            '^' if at_start && out.is_empty() => begins = true,
            '$' if chars.peek().is_none() => {}
            '^' | '$' => return None,
            '.' => out.push('.'),
            other => literal(&mut out, other),
        }
    }
    Some(out)
}

/// A set of characters, in which a backslash is one.
fn bracket(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) -> Option<()> {
    out.push('[');
    if chars.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    let mut first = true;
    loop {
        match chars.next()? {
            ']' if !first => break,
            '[' if matches!(chars.peek(), Some(':' | '.' | '=')) => return None,
            // A range; two of them are an operator to our engine.
            '-' if chars.peek() == Some(&'-') => return None,
            '-' if !first && chars.peek() != Some(&']') => out.push('-'),
            c if c.is_ascii_alphanumeric() => out.push(c),
            c => out.push_str(&format!("\\x{:02x}", u32::from(c))),
        }
        first = false;
    }
    out.push(']');
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_read_to_its_end() {
        for (text, kind, path, expected) in [
            (r".*\.pyc", None, ".git/config", false),
            (r".*\.pyc?", None, "a.py", true),
            (r".*\.\(js\|ts\)$", None, ".git/config", false),
            (r".*\.\(js\|ts\)$", None, "x.ts", true),
            (r".*/config", None, ".git/config", true),
            (r".*/conf.*", None, ".git/config", true),
            (r"\./a/b/\.git/config", None, ".git/config", true),
            (r".*/[a-z]+", None, ".git/config", true),
            (r".*/[^a-z]+", None, ".git/config", false),
            (r".*/[c]o.*g", None, ".git/config", true),
            (r".*c[^/]*", None, ".git/config", true),
            (r".*/x[^/]*", None, ".git/config", false),
            (r".*\.(js|ts)", Some("posix-extended"), ".git/config", false),
            (r".*(fig|ts)", Some("posix-extended"), ".git/config", true),
            (r".*(fig|ts)", None, ".git/config", false),
            (r".*fig\+", Some("posix-basic"), ".git/config", true),
            (r".*\.ts", Some("no-dialect"), ".git/config", true),
            (r".*\w+\.ts", None, ".git/config", true),
            (r".*[[:alpha:]]\.ts", None, ".git/config", true),
            (r"\(a\)\1", None, ".git/config", true),
            (r".*/CONFIG", None, ".git/config", true),
            (r".*\.code-workspace", None, "*.code-workspace", true),
            (r".*\.ts", None, "*.code-workspace", false),
            (r".*x{2}", Some("egrep"), ".git/config", true),
            ("*", None, ".git/config", true),
        ] {
            let expression = Expression::read(text, kind, false);
            assert_eq!(expression.may_end_in(path), expected, "{text} {kind:?} {path}");
        }
        assert!(!Expression::read(r".*\.(js|ts)", None, true).may_end_in(".git/config"));
        assert!(Expression::unknown().may_end_in("a"));
        assert!(Expression::read(&"a".repeat(5_000), None, false).may_end_in("b"));
    }
}
