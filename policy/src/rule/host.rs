//! Hosts of addresses, and patterns over them.
//!
//! An address that two parsers read in two ways is the classic way around an allow-list (`https://good.example\@evil`), so
//! [`host_of`] reads only addresses that nobody reads differently and says nothing about the others. Hosts and patterns are
//! compared in one spelling (see [`name`]): a rule may be written in any.

mod name;

use std::{borrow::Cow, ops::Range};

/// A pattern over host names: `a.test` exactly, `*.a.test` at any depth below, `*` inside for one label, `*` for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    /// In lower case, without a final dot; a leading label `*` stands for one or more.
    text: Box<str>,
}

impl HostPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// With the span of what no host name can hold, and a hint.
    pub fn parse(text: &str) -> Result<Self, (Range<usize>, String, Option<String>)> {
        if text.is_empty() {
            return Err((
                0..0,
                "the host is missing".to_owned(),
                Some("write `domain:example.com`".to_owned()),
            ));
        }
        let host_only = |text: &str| text.split(['/', ':', '?', '#']).next().unwrap_or_default().to_owned();
        if let Some((_, rest)) = text.split_once("://") {
            let hint = format!("write `domain:{}`", host_only(rest));
            return Err((
                0..text.len(),
                "a host pattern holds no scheme, it covers all of them".to_owned(),
                Some(hint),
            ));
        }
        let bare = text
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(text);
        if let Some(address) = name::canonical_v6(bare) {
            return Ok(Self { text: address.into() });
        }
        for (at, c) in text.char_indices() {
            let fine = c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '*');
            if !fine && (c.is_ascii() || c.is_control()) {
                let span = at..at + c.len_utf8();
                let hint = if matches!(c, '/' | ':' | '?' | '#') {
                    format!("write `domain:{}`: scheme, port and path do not count", host_only(text))
                } else {
                    "write the name in letters, digits, `-`, `.` and `*`".to_owned()
                };
                return Err((span, format!("`{c}` cannot stand in a host name"), Some(hint)));
            }
        }
        let trimmed = text.strip_suffix('.').unwrap_or(text);
        if trimmed.split('.').any(str::is_empty) {
            return Err((0..text.len(), "a label of the host name is empty".to_owned(), None));
        }
        let unreadable = || {
            let message = "programs read this name in different ways, so it names no host";
            let hint = "write it as `xn--…`, and a label with `*` in ASCII letters";
            (0..text.len(), message.to_owned(), Some(hint.to_owned()))
        };
        let whole = if trimmed.contains('*') {
            let label = |label: &str| {
                if label.is_ascii() {
                    Some(label.to_ascii_lowercase())
                } else {
                    name::canonical(label).filter(|_| !label.contains('*'))
                }
            };
            let labels: Option<Vec<String>> = trimmed.split('.').map(label).collect();
            labels.ok_or_else(unreadable)?.join(".")
        } else if trimmed.is_ascii() {
            name::canonical(trimmed).unwrap_or_else(|| trimmed.to_ascii_lowercase())
        } else {
            name::canonical(trimmed).ok_or_else(unreadable)?
        };
        Ok(Self { text: whole.into() })
    }

    /// Whether it covers a host, as [`host_of`] gives it.
    #[must_use]
    pub fn matches(&self, host: &str) -> bool {
        if *self.text == *"*" {
            return true;
        }
        let (below, ours) = match self.text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, &*self.text),
        };
        let mut theirs = host.rsplit('.');
        let tail = ours
            .rsplit('.')
            .all(|own| theirs.next().is_some_and(|their| super::text::stars_match(own, their)));
        tail && theirs.next().is_some() == below
    }

    /// The pattern as it is written in a rule.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The host it stands for, if it holds no star.
    #[must_use]
    pub fn exact(&self) -> Option<&str> {
        (!self.text.contains('*')).then_some(&*self.text)
    }

    /// The last labels that every host has which it covers: `a.test` of `*.a.test`. Empty where the last holds a star.
    pub(crate) fn ending(&self) -> &str {
        match self.text.rsplit_once('*') {
            Some((_, rest)) => rest.split_once('.').map_or("", |(_, labels)| labels),
            None => &self.text,
        }
    }
}

/// The host of an `http` or `https` address, in the spelling that patterns are compared in: lower case, without user, port
/// and final dot, other scripts as `xn--…`, IPv4 as four decimal numbers. `None` if the address could be read in more than
/// one way.
#[must_use]
pub fn host_of(url: &str) -> Option<String> {
    if url.chars().any(|c| c.is_control() || c == '\\' || c == ' ') {
        return None;
    }
    let (scheme, rest) = url.split_once("://")?;
    if !(scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")) {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    let host_and_port = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = if let Some(inner) = host_and_port.strip_prefix('[') {
        let (address, port) = inner.split_once(']')?;
        let port_fine = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
        return name::canonical_v6(address).filter(|_| port_fine);
    } else {
        match host_and_port.split_once(':') {
            Some((host, port)) if is_port(port) => host,
            Some(_) => return None,
            None => host_and_port,
        }
    };
    name::canonical(host)
}

/// Whether a host, as [`host_of`] gives it, could be taken for another one by who reads it. No allow covers such a one: who
/// wrote the rule, or says yes, may have seen another name.
#[must_use]
pub fn is_deceptive(host: &str) -> bool {
    name::is_deceptive(host)
}

/// The path that a `file:` address stands for; `None` for other addresses.
#[must_use]
pub fn file_of(url: &str) -> Option<Cow<'_, str>> {
    let (scheme, rest) = url.trim().split_once(':')?;
    // What a browser shows the source of, it reads.
    let rest = if scheme.eq_ignore_ascii_case("view-source") {
        return file_of(rest);
    } else if scheme.eq_ignore_ascii_case("file") {
        rest
    } else {
        return None;
    };
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/"),
        None => rest,
    };
    let path = path.split(['?', '#']).next().unwrap_or(path);
    Some(percent_decoded(path))
}

/// A text with `%41` read as `A`. What is no UTF-8 then stays as it is written.
pub(crate) fn percent_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|_| *first == b'%');
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte {
            Some(byte) => {
                out.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                out.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8(out).map_or(Cow::Borrowed(text), Cow::Owned)
}

fn is_port(text: &str) -> bool {
    text.len() <= 5 && text.chars().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_that_nobody_reads_differently_have_a_host() {
        for (url, host) in [
            (
                "https://docs.python.org/3/x?y=https://evil.example",
                Some("docs.python.org"),
            ),
            ("HTTPS://Docs.Python.ORG.:443", Some("docs.python.org")),
            ("https://user@github.com/acme", Some("github.com")),
            ("https://docs.python.org:443@example.net/x", Some("example.net")),
            ("https://docs.python.org/@latest/x", Some("docs.python.org")),
            ("http://[::1]:80/x", Some("::1")),
            ("https://docs.python.org%2eexample.net/", None),
            ("https://docs.python.org\t.example.net/", None),
            ("https://good.example\\@evil.example/", None),
            ("https://good.example:80x/", None),
            ("https:good.example", None),
            ("file:///etc/passwd", None),
            ("ftp://good.example", None),
            ("https://bücher.example/", Some("xn--bcher-kva.example")),
            ("http://2130706433/", Some("127.0.0.1")),
            ("http://0177.0.0.1/", None),
            ("http://[::ffff:7f00:1]/", Some("127.0.0.1")),
            ("http://[::1%25eth0]/", None),
            ("http://[::1/", None),
            ("data:text/html,x", None),
            ("view-source:https://a.test/", None),
            ("https:///x", None),
            ("", None),
        ] {
            assert_eq!(host_of(url).as_deref(), host, "{url}");
        }
    }

    #[test]
    fn matches_and_near_misses() {
        for (pattern, host, expected) in [
            ("a.test", "a.test", true),
            ("a.test", "x.a.test", false),
            ("A.Test.", "a.test", true),
            ("*.a.test", "x.a.test", true),
            ("*.a.test", "x.y.a.test", true),
            ("*.a.test", "a.test", false),
            ("*.a.test", "eviLa.test", false),
            ("*", "anything.example", true),
            ("*.edu", "www.mit.edu", true),
            ("example.*", "example.org", true),
            ("example.*", "example.co.uk", false),
            ("api-*.a.test", "api-1.a.test", true),
            ("api-*.a.test", "api-1.x.a.test", false),
            ("bücher.example", "xn--bcher-kva.example", true),
            ("*.bücher.example", "a.xn--bcher-kva.example", true),
            ("xn--bcher-kva.example", "xn--bcher-kva.example", true),
            ("2130706433", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.1", true),
            ("[0:0::1]", "::1", true),
            ("::1", "::1", true),
            ("apple.com", "xn--pple-43d.com", false),
        ] {
            assert_eq!(
                HostPattern::parse(pattern).unwrap().matches(host),
                expected,
                "`{pattern}` on {host}"
            );
        }
    }

    #[test]
    fn an_address_of_a_file_is_told_whatever_its_spelling() {
        for (url, path) in [
            ("file:///etc/passwd", Some("/etc/passwd")),
            ("FILE://localhost/etc/pass%77d?x#y", Some("/etc/passwd")),
            ("file:/etc/hosts", Some("/etc/hosts")),
            ("view-source:file:///etc/hosts", Some("/etc/hosts")),
            ("file:///a%2", Some("/a%2")),
            ("https://a.test/file:///etc/passwd", None),
            ("data:text/html,x", None),
            ("x", None),
        ] {
            assert_eq!(file_of(url).as_deref(), path, "{url}");
        }
    }

    #[test]
    fn what_no_host_holds_is_refused_with_a_hint() {
        for text in [
            "",
            "https://a.test",
            "a.test/x",
            "a.test:80",
            "a..test",
            "b*ü.example",
            "ｅxample.com",
            "faß.de",
        ] {
            assert!(HostPattern::parse(text).is_err(), "{text}");
        }
        let (_, _, hint) = HostPattern::parse("https://a.test:80/x").unwrap_err();
        assert_eq!(hint.as_deref(), Some("write `domain:a.test`"));
    }
}
