//! Reads the text of a profile again, and answers what it lets happen. Knows nothing of the generator.
//!
//! Strings are read as the reader of SBPL does (TinyScheme): a backslash stands before a quote, a backslash, `n`, `t`, `r` or
//! `x` with two digits, and before anything else for that itself. Operations, filters and the syntax of expressions are those
//! that stand in profiles in use; anything else fails the test, for a Mac would refuse the profile.

use std::collections::BTreeMap;

/// A piece of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Word(String),
    Text(String),
    Expression(String),
    List(Vec<Piece>),
}

/// Reads a whole text.
///
/// # Errors
/// What is wrong, and where.
pub(crate) fn read(text: &str) -> Result<Vec<Piece>, String> {
    let chars: Vec<char> = text.chars().collect();
    let mut at = 0;
    let mut open: Vec<Vec<Piece>> = vec![Vec::new()];
    while let Some(&c) = chars.get(at) {
        at += 1;
        let piece = match c {
            ';' => {
                while chars.get(at).is_some_and(|c| *c != '\n') {
                    at += 1;
                }
                continue;
            }
            _ if c.is_ascii_whitespace() => continue,
            '(' => {
                open.push(Vec::new());
                continue;
            }
            ')' => {
                let inner = open.pop().filter(|_| !open.is_empty());
                Piece::List(inner.ok_or_else(|| format!("a parenthesis too much at {at}"))?)
            }
            '"' => Piece::Text(string(&chars, &mut at)?),
            '#' if chars.get(at) == Some(&'"') => {
                let begin = at + 1;
                let length = chars
                    .iter()
                    .skip(begin)
                    .position(|c| *c == '"')
                    .ok_or("an open expression")?;
                at = begin + length + 1;
                Piece::Expression(chars[begin..begin + length].iter().collect())
            }
            _ => {
                let begin = at - 1;
                while chars
                    .get(at)
                    .is_some_and(|c| !c.is_whitespace() && !"()\";".contains(*c))
                {
                    at += 1;
                }
                Piece::Word(chars[begin..at].iter().collect())
            }
        };
        open.last_mut().ok_or("nothing open")?.push(piece);
    }
    match (open.pop(), open.is_empty()) {
        (Some(all), true) => Ok(all),
        _ => Err("an open parenthesis".to_owned()),
    }
}

fn string(chars: &[char], at: &mut usize) -> Result<String, String> {
    let mut text = String::new();
    loop {
        let c = *chars.get(*at).ok_or("an open string")?;
        *at += 1;
        match c {
            '"' => return Ok(text),
            '\\' => {
                let escaped = *chars.get(*at).ok_or("an open string")?;
                *at += 1;
                text.push(match escaped {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'x' => return Err("a number for a character".to_owned()),
                    other => other,
                });
            }
            c => text.push(c),
        }
    }
}

/// Every operation that a profile may name, with the groups that it belongs to.
const OPERATIONS: &[(&str, &[&str])] = &[
    ("file-read-data", &["file-read*"]),
    ("file-read-metadata", &["file-read*"]),
    ("file-read-xattr", &["file-read*"]),
    ("file-write-create", &["file-write*"]),
    ("file-write-data", &["file-write*"]),
    ("file-write-flags", &["file-write*"]),
    ("file-write-mode", &["file-write*"]),
    ("file-write-owner", &["file-write*"]),
    ("file-write-times", &["file-write*"]),
    ("file-write-unlink", &["file-write*"]),
    ("file-write-xattr", &["file-write*"]),
    ("file-write-setugid", &[]),
    ("file-link", &[]),
    ("file-ioctl", &[]),
    ("file-map-executable", &[]),
    ("process-exec", &["process-exec*"]),
    ("process-fork", &[]),
    ("process-info-pidinfo", &["process-info*"]),
    ("signal", &[]),
    ("mach-lookup", &[]),
    ("mach-priv-task-port", &[]),
    ("sysctl-read", &[]),
    ("sysctl-write", &[]),
    ("ipc-posix-sem", &[]),
    ("ipc-posix-shm-read-data", &["ipc-posix-shm-read*", "ipc-posix-shm*"]),
    ("ipc-posix-shm-write-create", &["ipc-posix-shm*"]),
    ("user-preference-read", &[]),
    ("user-preference-write", &[]),
    ("pseudo-tty", &[]),
    ("network-outbound", &[]),
    ("network-inbound", &[]),
    ("network-bind", &[]),
    ("system-socket", &[]),
    ("appleevent-send", &[]),
    ("job-creation", &[]),
    ("file-mount", &[]),
    ("iokit-open", &[]),
];

/// What a rule is asked about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Object<'a> {
    /// A file. `inside` = a pty that was made in the sandbox.
    Path { path: &'a str, inside: bool },
    /// A unix socket.
    Socket(&'a str),
    /// A host and port by TCP or UDP.
    Net { protocol: &'a str, address: &'a str },
    /// A name: of a service, a setting, memory.
    Name(&'a str),
    /// A process of this sandbox, or of nobody here.
    Process { same: bool },
    /// Nothing in particular.
    Nothing,
}

/// In which order rules count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The last rule that fits.
    LastFits,
    /// The last that names the operation itself, before those that name its group.
    ExactFirst,
    /// Any denial.
    DenialWins,
}

#[derive(Clone, Debug)]
struct Rule {
    allows: bool,
    operations: Vec<String>,
    filters: Vec<Piece>,
}

/// A profile that was read.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    rules: Vec<Rule>,
    /// What each expression means.
    expressions: BTreeMap<String, regex::bytes::Regex>,
}

impl Profile {
    /// Reads and checks a profile.
    ///
    /// # Errors
    /// What in it a Mac would not take.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = read(text)?.into_iter();
        let word = |text: &str| Piece::Word(text.to_owned());
        if pieces.next() != Some(Piece::List(vec![word("version"), word("1")])) {
            return Err("no version".to_owned());
        }
        if pieces.next() != Some(Piece::List(vec![word("deny"), word("default")])) {
            return Err("not closed by default".to_owned());
        }
        let mut profile = Self {
            rules: Vec::new(),
            expressions: BTreeMap::new(),
        };
        for piece in pieces {
            let Piece::List(inner) = piece else {
                return Err(format!("no rule: {piece:?}"));
            };
            let mut inner = inner.into_iter().peekable();
            let allows = match inner.next() {
                Some(Piece::Word(verdict)) if verdict == "allow" => true,
                Some(Piece::Word(verdict)) if verdict == "deny" => false,
                other => return Err(format!("no verdict: {other:?}")),
            };
            let mut operations = Vec::new();
            while let Some(Piece::Word(operation)) = inner.next_if(|piece| matches!(piece, Piece::Word(_))) {
                let known = OPERATIONS
                    .iter()
                    .any(|(name, groups)| *name == operation || groups.contains(&operation.as_str()));
                if !known {
                    return Err(format!("no operation: {operation}"));
                }
                operations.push(operation);
            }
            let filters: Vec<Piece> = inner.collect();
            if operations.is_empty() {
                return Err("a rule without operations".to_owned());
            }
            for filter in &filters {
                profile.check(filter)?;
            }
            profile.rules.push(Rule {
                allows,
                operations,
                filters,
            });
        }
        Ok(profile)
    }

    fn check(&mut self, filter: &Piece) -> Result<(), String> {
        let Piece::List(parts) = filter else {
            return Err(format!("no filter: {filter:?}"));
        };
        let wrong = || Err(format!("no filter: {filter:?}"));
        let Some((Piece::Word(kind), rest)) = parts.split_first() else {
            return wrong();
        };
        match (kind.as_str(), rest) {
            ("require-all", [_, _, ..]) | ("require-not", [_]) => rest.iter().try_for_each(|part| self.check(part)),
            ("local" | "remote", [Piece::Word(unix), path]) if unix == "unix-socket" => self.check(path),
            ("remote", [Piece::Word(tcp), Piece::Text(host)]) if tcp == "tcp" => {
                // The kernel takes `*` and `localhost` only.
                let port = host
                    .strip_prefix("localhost:")
                    .and_then(|port| port.parse::<u16>().ok());
                if port.is_some_and(|port| port > 0) {
                    Ok(())
                } else {
                    wrong()
                }
            }
            ("literal" | "subpath" | "path-literal", [Piece::Text(path)]) => {
                let links = ["/tmp", "/var", "/etc"];
                let behind_link = links
                    .iter()
                    .any(|link| path == link || path.starts_with(&format!("{link}/")));
                let plain = path.starts_with('/') && path != "/" && !path.ends_with('/') && !path.contains("//");
                if plain && !behind_link { Ok(()) } else { wrong() }
            }
            ("regex" | "path-regex", [Piece::Expression(text)]) => {
                let plain =
                    text.starts_with('^') && text.chars().all(|c| matches!(c, ' '..='~')) && !text.contains("(?");
                let read = regex::bytes::RegexBuilder::new(text).unicode(false).build();
                match read {
                    Ok(read) if plain => {
                        self.expressions.insert(text.clone(), read);
                        Ok(())
                    }
                    _ => wrong(),
                }
            }
            (
                "global-name"
                | "sysctl-name"
                | "sysctl-name-prefix"
                | "ipc-posix-name"
                | "ipc-posix-name-prefix"
                | "extension",
                [Piece::Text(_)],
            ) => Ok(()),
            ("target", [Piece::Word(whom)]) if whom == "same-sandbox" => Ok(()),
            ("socket-domain", [Piece::Word(domain)]) if domain == "AF_UNIX" => Ok(()),
            _ => wrong(),
        }
    }

    fn fits(&self, filter: &Piece, object: Object<'_>) -> bool {
        let Piece::List(parts) = filter else { return false };
        let Some((Piece::Word(kind), rest)) = parts.split_first() else {
            return false;
        };
        let below = |path: &str, folder: &str| {
            path == folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        };
        match (kind.as_str(), rest, object) {
            ("require-all", parts, _) => parts.iter().all(|part| self.fits(part, object)),
            ("require-not", [part], _) => !self.fits(part, object),
            ("remote" | "local", [_, filter], Object::Socket(path)) => {
                self.fits(filter, Object::Path { path, inside: false })
            }
            ("remote", [Piece::Word(wanted), Piece::Text(host)], Object::Net { protocol, address }) => {
                wanted == protocol && host == address
            }
            ("literal" | "path-literal", [Piece::Text(own)], Object::Path { path, .. }) => own == path,
            ("subpath", [Piece::Text(own)], Object::Path { path, .. }) => below(path, own),
            ("regex" | "path-regex", [Piece::Expression(text)], Object::Path { path, .. }) => self
                .expressions
                .get(text)
                .is_some_and(|read| read.is_match(path.as_bytes())),
            ("extension", _, Object::Path { inside, .. }) => inside,
            ("global-name" | "sysctl-name" | "ipc-posix-name", [Piece::Text(own)], Object::Name(name)) => own == name,
            ("sysctl-name-prefix" | "ipc-posix-name-prefix", [Piece::Text(own)], Object::Name(name)) => {
                name.starts_with(own.as_str())
            }
            ("target", _, Object::Process { same }) => same,
            ("socket-domain", _, Object::Name(name)) => name == "AF_UNIX",
            _ => false,
        }
    }

    /// Whether an operation may be done, in one order of rules.
    pub(crate) fn allows_in(&self, order: Order, operation: &str, object: Object<'_>) -> bool {
        let (_, groups) = OPERATIONS
            .iter()
            .find(|(name, _)| *name == operation)
            .unwrap_or_else(|| panic!("`{operation}` is a group, or nothing"));
        let named = |rule: &&Rule, exact: bool| {
            rule.operations.iter().any(|own| {
                if exact {
                    own == operation
                } else {
                    groups.contains(&own.as_str())
                }
            })
        };
        let fit = |rule: &&Rule| rule.filters.is_empty() || rule.filters.iter().any(|filter| self.fits(filter, object));
        let all: Vec<&Rule> = self
            .rules
            .iter()
            .filter(|rule| named(rule, true) || named(rule, false))
            .filter(fit)
            .collect();
        let last = |exact: Option<bool>| {
            let mut fitting = all
                .iter()
                .rev()
                .filter(|rule| exact.is_none_or(|exact| named(rule, exact)));
            fitting.next().map(|rule| rule.allows)
        };
        match order {
            Order::LastFits => last(None).unwrap_or(false),
            Order::ExactFirst => last(Some(true)).or_else(|| last(Some(false))).unwrap_or(false),
            Order::DenialWins => !all.is_empty() && all.iter().all(|rule| rule.allows),
        }
    }

    /// Whether an operation may be done.
    ///
    /// # Panics
    /// If the answer hangs on the order of rules.
    pub(crate) fn allows(&self, operation: &str, object: Object<'_>) -> bool {
        let answers = [Order::LastFits, Order::ExactFirst, Order::DenialWins]
            .map(|order| self.allows_in(order, operation, object));
        assert!(
            answers.iter().all(|own| *own == answers[0]),
            "{operation} on {object:?}: {answers:?} by order"
        );
        answers[0]
    }

    /// The same of a file.
    pub(crate) fn file(&self, operation: &str, path: &str) -> bool {
        self.allows(operation, Object::Path { path, inside: false })
    }

    /// Whether a file can be read.
    pub(crate) fn reads(&self, path: &str) -> bool {
        self.file("file-read-data", path)
    }

    /// Whether a file can be changed, made, replaced and removed; all or nothing of it.
    pub(crate) fn writes(&self, path: &str) -> bool {
        let ways = [
            "file-write-data",
            "file-write-create",
            "file-write-mode",
            "file-write-xattr",
            "file-write-unlink",
            "file-link",
        ];
        let answers = ways.map(|way| self.file(way, path));
        assert!(
            answers.iter().all(|own| *own == answers[0]),
            "{path}: {answers:?} of {ways:?}"
        );
        answers[0]
    }

    /// Whether a socket can be connected to.
    pub(crate) fn connects(&self, path: &str) -> bool {
        self.allows("network-outbound", Object::Socket(path))
    }
}
