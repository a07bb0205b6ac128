//! Secrets that are known by what stands before them: `DB_PASSWORD=`, `"token":`, `--secret`, `Authorization: Bearer`,
//! `mysql -p`.
//!
//! A regular expression finds the beginning, `value` the end, so that a name which turns out to be harmless costs
//! no look at its value, and the whole stays linear.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{
    keys::{is_plural, kind_of},
    lower::Lower,
    spans::Span,
    value::{Before, is_no_reference, is_secret_at, looks_random, value_at},
};

/// Arguments of a command up to the one in question, quoted ones included.
const ARGUMENTS: &str = r#"(?:[^|;&\n'"]|'[^'\n]*'|"[^"\n]*")*?"#;

/// Compiles a form. Forms are constants; a test shows that all of them compile.
fn form(form: &str) -> Option<Regex> {
    Regex::new(form).ok()
}

/// Words in the names of secrets, as [`ASSIGNMENT`] and [`OPTION`] look for them.
const NAMES: &[&str] = &["pass", "pwd", "secret", "token", "key", "credential", "_auth"];
/// Commands of which [`SETTING`] finds one.
const SETTERS: &[&str] = &["config", "setx"];
/// Programs of which [`PROGRAM`] finds one.
const PROGRAMS: &[&str] = &[
    "7z",
    "az",
    "bcp",
    "buildah",
    "cqlsh",
    "crane",
    "docker",
    "helm",
    "ldap",
    "mariadb",
    "mongo",
    "mysql",
    "nerdctl",
    "openssl",
    "oras",
    "podman",
    "redis-cli",
    "secret",
    "skopeo",
    "sqlcmd",
    "ssh-keygen",
    "sshpass",
    "vault",
    "zip",
];
/// Programs of which [`USER`] finds one.
const CALLERS: &[&str] = &["curl", "http", "lftp", "smbclient", "xh"];

/// Everything that follows a tell-tale beginning. A form is not even compiled for a text that it cannot find anything in.
pub(super) fn find(text: &str, lower: &Lower<'_>) -> Vec<Span> {
    let layout = Layout::of(text);
    let mut found = Vec::new();
    if lower.may_hold(NAMES) {
        each(&ASSIGNMENT, text, |captures| {
            assignment(text, &layout, captures, &mut found)
        });
        each(&OPTION, text, |captures| option(text, &layout, captures, &mut found));
    }
    if lower.may_hold(SETTERS) {
        each(&SETTING, text, |captures| option(text, &layout, captures, &mut found));
    }
    if lower.may_hold(&["authorization"]) {
        each(&HEADER, text, |captures| header(text, captures, &mut found));
    }
    if lower.may_hold(&["bearer"]) {
        each(&BEARER, text, |captures| bearer(captures, &mut found));
    }
    if lower.may_hold(&["cookie"]) {
        each(&COOKIE, text, |captures| cookie(captures, &mut found));
    }
    if lower.may_hold(PROGRAMS) {
        each(&PROGRAM, text, |captures| program(text, &layout, captures, &mut found));
    }
    if lower.may_hold(CALLERS) {
        each(&USER, text, |captures| user(text, &layout, captures, &mut found));
    }
    found
}

/// Calls `visit` for each beginning; it answers where to go on.
fn each(form: &LazyLock<Option<Regex>>, text: &str, mut visit: impl FnMut(&Captures<'_>) -> usize) {
    let Some(form) = &**form else {
        return;
    };
    let mut at = 0;
    while let Some(captures) = form.captures_at(text, at) {
        let mut next = visit(&captures).max(at.saturating_add(1));
        while next < text.len() && !text.is_char_boundary(next) {
            next += 1;
        }
        if next >= text.len() {
            return;
        }
        at = next;
    }
}

/// `name=`, `"name":`, `name = `, `--name=`, with a secret's word somewhere in the name.
static ASSIGNMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    form(
        r#"(?i)(?P<k>[a-z0-9_.-]*(?:pass|pwd|secret|token|key|credential|_auth)[a-z0-9_.-]*)(?P<q>\\{0,2}["'`]?\]?)(?P<b>[ \t]{0,8})(?P<s>:=|=>|[:=])(?P<a>[ \t]{0,8})"#,
    )
});

fn assignment(text: &str, layout: &Layout, captures: &Captures<'_>, found: &mut Vec<Span>) -> usize {
    let (Some(key), Some(whole)) = (captures.name("k"), captures.get(0)) else {
        return text.len();
    };
    let go_on = key.end();
    // The last segment of a path is the name of a place: `/etc/passwd: not found`. (`?`, `&` and `=` begin a name anew.)
    let entry = captures.name("s").is_some_and(|sign| sign.as_str() == ":");
    if entry && text.get(..key.start()).is_some_and(|before| before.ends_with('/')) {
        return go_on;
    }
    let name = key.as_str().trim_matches(['-', '.']);
    let kind = match name.to_ascii_lowercase().as_str() {
        "_auth" => Some("authorization"),
        _ => kind_of(name),
    };
    let Some(kind) = kind else {
        return go_on;
    };
    let group = |group: &str| captures.name(group).map_or("", |found| found.as_str());
    let start = whole.end();
    let next = text.get(start..).unwrap_or_default();
    // Comparisons, paths of a language, addresses.
    let tight = group("b").is_empty() && group("a").is_empty();
    if tight
        && next.starts_with(['=', ':', '/'])
        && (next.starts_with('=') || next.starts_with(':') || next.starts_with("//"))
    {
        return go_on;
    }
    if next.starts_with("= ") || next.starts_with("==") {
        return go_on;
    }
    let before = if tight && group("s") == "=" {
        Before::Word
    } else {
        Before::Entry
    };
    // A quoted name has a quoted value, whatever an apostrophe further left makes of the quotes.
    let outer = layout.open_at(start).filter(|_| group("q").is_empty());
    let mut range = value_at(text, start, before, outer);
    if before == Before::Word {
        let line = layout.rest_of_line(text, key.start(), start);
        let alone = outer.is_none()
            && line.is_some_and(|line| !line.contains(char::is_whitespace) && !line.starts_with(['"', '\'']));
        if alone {
            // A line of a file of settings, where `&` and `;` are only characters.
            range = start..start + line.map_or(0, str::len);
        } else if let Some(quote) = outer
            && is_whole_argument(text, key.start(), quote)
        {
            let length = next.find(quote).unwrap_or(next.len());
            range = start..range.end.max(start + length);
        }
    }
    let value = text.get(range.clone()).unwrap_or_default();
    let quoted = range.start > start;
    // A line of YAML and its kin.
    let whole_line = layout.rest_of_line(text, key.start(), start) == Some(value);
    if value.is_empty() || !is_secret_at(text, &range) || !is_value(name, kind, value, before, quoted, whole_line) {
        return go_on;
    }
    let end = range.end;
    found.push((range, kind));
    end
}

/// Whether an assigned value is the secret that its name promises.
fn is_value(name: &str, kind: &str, value: &str, before: Before, quoted: bool, whole_line: bool) -> bool {
    let number = value.bytes().all(|byte| byte.is_ascii_digit());
    let word = ["true", "false", "null", "none", "nil", "undefined", "yes", "no"];
    if !quoted && word.contains(&value.to_ascii_lowercase().trim_end_matches([',', ';'])) {
        return false;
    }
    if number && is_plural(name) {
        return false;
    }
    match name {
        // Results of tests and passes of compilers are counted.
        "pass" if number || before == Before::Entry => return false,
        "pwd" | "Pwd" if value.starts_with(['/', '~', '.', '`']) => return false,
        _ => {}
    }
    if before == Before::Entry && !quoted {
        // Prose and code: `token: a short text`, `let token = lexer.next()`, `password: &str`.
        let code = value.contains(['(', '&', '<', '[']) && !value.contains(char::is_numeric);
        let types = [
            "str", "string", "bool", "number", "bytes", "required", "optional", "any",
        ];
        if code || types.contains(&value.to_ascii_lowercase().trim_end_matches(['?', ',', ';', '.'])) {
            return false;
        }
        // Names of several words are names of headers and settings.
        return kind == "password" || name.contains(['-', '_']) || whole_line || looks_random(value);
    }
    true
}

/// Whether the quoted argument that begins right before `at` is one assignment as a whole, as behind `docker run -e`.
fn is_whole_argument(text: &str, at: usize, quote: char) -> bool {
    static LEAD: LazyLock<Option<Regex>> = LazyLock::new(|| {
        form(
            r"(?:\s|^)(?:-e|-D|--env|--build-arg|--from-literal|--set|--set-string|--set-env-vars|env|export|-var)[= ]+$",
        )
    });
    let head = text.get(..at).and_then(|head| head.strip_suffix(quote));
    let Some((head, lead)) = head.zip(LEAD.as_ref()) else {
        return false;
    };
    let mut from = head.len().saturating_sub(24);
    while !head.is_char_boundary(from) {
        from += 1;
    }
    head.get(from..).is_some_and(|tail| lead.is_match(tail))
}

/// `--name value`, and `--name", "value` as in a printed list.
static OPTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    form(
        r#"(?i)(?:^|[\s'"(\[,=])(?P<k>--?[a-z0-9_-]*(?:pass|pwd|secret|token|key|credential)[a-z0-9_-]*)(?P<a>[ \t]+|\\?["'][ \t]*,[ \t]*)"#,
    )
});

/// `aws configure set name value` and its kin.
static SETTING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    form(
        r"(?i)\b(?:config(?:ure)?[ \t]+set|config(?:[ \t]+--(?:global|local|add))*|setx)[ \t]+(?P<k>[^\s='\x22-][^\s='\x22]*)[ \t]+",
    )
});

fn option(text: &str, layout: &Layout, captures: &Captures<'_>, found: &mut Vec<Span>) -> usize {
    let (Some(key), Some(whole)) = (captures.name("k"), captures.get(0)) else {
        return text.len();
    };
    let name = key.as_str().trim_start_matches('-');
    let Some(kind) = kind_of(name.rsplit([':', '/', '.']).next().unwrap_or(name)) else {
        return key.end();
    };
    let mut range = value_at(text, whole.end(), Before::Word, layout.open_at(whole.end()));
    if range.is_empty() {
        // What seemed to close a quote opens one.
        range = value_at(text, whole.end(), Before::Word, None);
    }
    let value = text.get(range.clone()).unwrap_or_default();
    let quoted = range.start > whole.end();
    let place = kind != "password" && (value.starts_with(['/', '.', '~']) || value.starts_with("id="));
    // Words about an option rather than behind it.
    let prose = [
        "to",
        "flag",
        "option",
        "is",
        "and",
        "or",
        "in",
        "for",
        "with",
        "argument",
        "parameter",
        "as",
        "from",
        "=",
    ];
    if value.is_empty()
        || value.starts_with('-') && !quoted
        || place && !quoted
        || prose.contains(&value) && !quoted
        || !is_secret_at(text, &range)
    {
        return key.end();
    }
    let end = range.end;
    found.push((range, kind));
    end
}

/// `Authorization:` and, where it is a known one, the scheme.
static HEADER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    form(
        r#"(?i)authorization\\{0,2}["']?[ \t]*[:=][ \t]*\\{0,2}["']?[ \t]*(?P<scheme>(?:bearer|basic|token|apikey|negotiate|splunk|bot)[ \t]+)?"#,
    )
});

fn header(text: &str, captures: &Captures<'_>, found: &mut Vec<Span>) -> usize {
    let Some(whole) = captures.get(0) else {
        return text.len();
    };
    let start = whole.end();
    let rest = text.get(start..).unwrap_or_default();
    let known = captures.name("scheme").is_some();
    let until = |part: &str| {
        let ends = |c: char| match known {
            true => c.is_whitespace() || "'\"\\,;".contains(c),
            false => "'\"\\\r\n".contains(c),
        };
        let length = part.find(ends).unwrap_or(part.len());
        part.get(..length).map_or(0, |value| value.trim_end().len())
    };
    // Looked at in vain for each of many such headers in a line, a long one would not be linear.
    let head = if known { rest } else { up_to(rest, 256) };
    let value = head.get(..until(head)).unwrap_or_default();
    let secret = match known {
        true => !value.is_empty(),
        false => value.split_whitespace().any(looks_random),
    };
    if !secret || !is_no_reference(value) {
        return start;
    }
    let end = start + until(rest);
    found.push((start..end, "authorization"));
    end
}

/// The longest beginning of at most `max` bytes that ends between characters.
fn up_to(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// `Bearer` by itself.
static BEARER: LazyLock<Option<Regex>> = LazyLock::new(|| form(r"(?i)\bbearer[ \t]+(?P<s>[A-Za-z0-9._~+/=-]{16,})"));

fn bearer(captures: &Captures<'_>, found: &mut Vec<Span>) -> usize {
    let Some(secret) = captures.name("s") else {
        return usize::MAX;
    };
    if secret.as_str().bytes().any(|byte| byte.is_ascii_digit()) {
        found.push((secret.range(), "authorization"));
    }
    secret.end()
}

/// A header with cookies.
static COOKIE: LazyLock<Option<Regex>> =
    LazyLock::new(|| form(r#"(?i)\b(?:set-)?cookie\\{0,2}["']?:[ \t]*\\{0,2}["']?(?P<s>[^\s'"=;\\]+=[^'"\r\n\\]+)"#));

fn cookie(captures: &Captures<'_>, found: &mut Vec<Span>) -> usize {
    let Some(secret) = captures.name("s") else {
        return usize::MAX;
    };
    found.push((secret.range(), "cookie"));
    secret.end()
}

/// Programs with a short option for a password: attached (`mysql -pX`), or as the next word as well.
static PROGRAM: LazyLock<Option<Regex>> = LazyLock::new(|| {
    form(&format!(
        r"(?x)
        \b(?:
            (?P<attached>(?:mysql|mariadb)[a-z-]*|7z[ar]?)\b{ARGUMENTS}\s-p
          | (?:sshpass|mongo[a-z]*|cqlsh|(?:docker|podman|nerdctl|helm|oras|crane|skopeo|buildah|az)\b{ARGUMENTS}\slogin)\b
            {ARGUMENTS}\s-p
          | (?:sqlcmd|bcp|unzip|zip)\b{ARGUMENTS}\s-P
          | openssl\b{ARGUMENTS}\s-[kK][\x20\t]
          | ssh-keygen\b{ARGUMENTS}\s-[NP]
          | secrets?\s+set\b{ARGUMENTS}\s(?:--body|-b)
          | vault\s+login
          | redis-cli\b{ARGUMENTS}\s-a
          | ldap[a-z]+\b{ARGUMENTS}\s-w
        )"
    ))
});

fn program(text: &str, layout: &Layout, captures: &Captures<'_>, found: &mut Vec<Span>) -> usize {
    let Some(whole) = captures.get(0) else {
        return text.len();
    };
    let attached = captures.name("attached").is_some();
    let rest = text.get(whole.end()..).unwrap_or_default();
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let start = whole.end()
        + if attached {
            0
        } else {
            blanks + usize::from(rest.get(blanks..).is_some_and(|r| r.starts_with('=')))
        };
    let range = value_at(text, start, Before::Word, layout.open_at(whole.end()));
    let value = text.get(range.clone()).unwrap_or_default();
    if value.is_empty() || value.starts_with('-') && range.start == start || !is_secret_at(text, &range) {
        return whole.end();
    }
    let end = range.end;
    found.push((range, "password"));
    end
}

/// `curl -u user:password` and its kin: the password only.
static USER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    form(&format!(
        r"(?x)
        \b(?:
            curl\b{ARGUMENTS}\s(?:-[A-Za-z\#]*[uU]|--user|--proxy-user)
          | (?:https?|xh|xhs)\b{ARGUMENTS}\s(?:-a|--auth)
          | lftp\b{ARGUMENTS}\s-u
          | smbclient\b{ARGUMENTS}\s-U
        )[\x20\t=]*"
    ))
});

fn user(text: &str, layout: &Layout, captures: &Captures<'_>, found: &mut Vec<Span>) -> usize {
    let Some(whole) = captures.get(0) else {
        return text.len();
    };
    let range = value_at(text, whole.end(), Before::Word, layout.open_at(whole.end()));
    let value = text.get(range.clone()).unwrap_or_default();
    let Some((name, password)) = value.split_once([':', '%', ',']) else {
        return whole.end();
    };
    let password = password.trim_end_matches(['"', '\'']);
    let start = range.start + name.len() + 1;
    if name.contains('/') || password.is_empty() || !is_no_reference(password) {
        return whole.end();
    }
    found.push((start..start + password.len(), "password"));
    range.end
}

/// Where lines begin, and which quote is open at a place, by bash's rules. Each line is read anew: an apostrophe in one
/// line of prose must not change the meaning of the next.
struct Layout {
    /// From this byte on, this quote is open.
    quotes: Vec<(usize, Option<char>)>,
    /// Bytes after which a line begins.
    line_ends: Vec<usize>,
}

impl Layout {
    /// Reads a text.
    fn of(text: &str) -> Self {
        let (mut quotes, mut line_ends) = (Vec::new(), Vec::new());
        let mut open: Option<char> = None;
        let mut escaped = false;
        for (at, c) in text.char_indices() {
            let before = open;
            if c == '\n' {
                line_ends.push(at);
                open = None;
                escaped = false;
            } else {
                match (open, c) {
                    _ if escaped => escaped = false,
                    (None | Some('"'), '\\') => escaped = true,
                    (None, '\'' | '"') => open = Some(c),
                    (Some(quote), _) if c == quote => open = None,
                    _ => {}
                }
            }
            if open != before {
                quotes.push((at + 1, open));
            }
        }
        Self { quotes, line_ends }
    }

    /// The quote that is open before the byte `at`.
    fn open_at(&self, at: usize) -> Option<char> {
        let after = self.quotes.partition_point(|(from, _)| *from <= at);
        after
            .checked_sub(1)
            .and_then(|last| self.quotes.get(last))
            .and_then(|(_, open)| *open)
    }

    /// What follows `start` in its line, if the text has several and the name at `key` is the first word of this one.
    fn rest_of_line<'a>(&self, text: &'a str, key: usize, start: usize) -> Option<&'a str> {
        if self.line_ends.is_empty() {
            return None;
        }
        let next = self.line_ends.partition_point(|end| *end < key);
        let begin = next
            .checked_sub(1)
            .and_then(|last| self.line_ends.get(last))
            .map_or(0, |end| end + 1);
        let end = self.line_ends.get(next).copied().unwrap_or(text.len());
        // A long head is no indentation, and looking at it for each name of the line would not be linear.
        let head = text.get(begin..key).filter(|head| head.len() < 64)?.trim();
        let first = head.is_empty() || head == "export";
        let line = text.get(start..end).filter(|_| first)?;
        Some(line.trim_end_matches('\r'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_compiles() {
        for form in [
            &ASSIGNMENT,
            &OPTION,
            &SETTING,
            &HEADER,
            &BEARER,
            &COOKIE,
            &PROGRAM,
            &USER,
        ] {
            assert!(form.is_some());
        }
    }

    #[test]
    fn what_a_form_finds_holds_one_of_the_words_that_it_needs() {
        type Sample = (
            &'static LazyLock<Option<Regex>>,
            &'static [&'static str],
            &'static [&'static str],
        );
        let samples: [Sample; 5] = [
            (
                &ASSIGNMENT,
                NAMES,
                &[
                    "PASSWORD=",
                    "pwd: ",
                    "aSecretx=",
                    "TOKEN=",
                    "my.key=",
                    "credentials:",
                    "x_auth=",
                ],
            ),
            (
                &OPTION,
                NAMES,
                &[
                    "--pass x",
                    "-pwd x",
                    "--SECRET x",
                    "--token x",
                    "--api-key x",
                    "--credential x",
                ],
            ),
            (&SETTING, SETTERS, &["configure set a b", "config a b", "setx a b"]),
            (
                &PROGRAM,
                PROGRAMS,
                &[
                    "mysql -p",
                    "mariadb -p",
                    "7z -p",
                    "7za -p",
                    "sshpass -p",
                    "mongosh -p",
                    "cqlsh -p",
                    "docker login -p",
                    "podman login -p",
                    "nerdctl login -p",
                    "helm login -p",
                    "oras login -p",
                    "crane login -p",
                    "skopeo login -p",
                    "buildah login -p",
                    "az login -p",
                    "sqlcmd -P",
                    "bcp -P",
                    "unzip -P",
                    "zip -P",
                    "openssl x -k ",
                    "ssh-keygen -N",
                    "secret set x --body",
                    "vault login",
                    "redis-cli -a",
                    "ldapsearch -w",
                ],
            ),
            (
                &USER,
                CALLERS,
                &[
                    "curl -u",
                    "http -a",
                    "https --auth",
                    "xh -a",
                    "xhs -a",
                    "lftp -u",
                    "smbclient -U",
                ],
            ),
        ];
        for (form, needs, samples) in samples {
            for sample in samples {
                assert!(form.as_ref().unwrap().is_match(sample), "{sample}");
                assert!(Lower::of(sample).may_hold(needs), "{sample}");
            }
        }
    }

    #[test]
    fn quotes_are_known_at_each_place() {
        let text = "a 'b\" c' \"d'e\\\"f\" don't\nx";
        let layout = Layout::of(text);
        let open = |part: &str| layout.open_at(text.find(part).unwrap());
        assert_eq!(
            (open("a"), open("b"), open("d"), open("f\""), open("x")),
            (None, Some('\''), Some('"'), Some('"'), None)
        );
    }
}
