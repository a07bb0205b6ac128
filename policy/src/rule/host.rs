//! Hosts of addresses, and patterns over them.
//!
//! An address that two parsers read in two ways is the classic way around an allow-list (`https://good.example\@evil`), so
//! [`host_of`] reads only addresses that nobody reads differently and says nothing about the others.

use std::ops::Range;

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
        let lower = text.to_ascii_lowercase();
        let trimmed = lower.strip_suffix('.').unwrap_or(&lower);
        for (at, c) in text.char_indices() {
            if !(c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.' || c == '*') {
                let span = at..at + c.len_utf8();
                let hint = if matches!(c, '/' | ':' | '?' | '#') {
                    format!("write `domain:{}`: scheme, port and path do not count", host_only(text))
                } else {
                    "write the name in ASCII letters (`xn--…`), digits, `-`, `.` and `*`".to_owned()
                };
                return Err((span, format!("`{c}` cannot stand in a host name"), Some(hint)));
            }
        }
        if trimmed.split('.').any(str::is_empty) {
            return Err((0..text.len(), "a label of the host name is empty".to_owned(), None));
        }
        Ok(Self { text: trimmed.into() })
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

/// The host of an `http` or `https` address: in lower case, without user, port and final dot. `None` if the address could
/// be read in more than one way.
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
        let hex = |c: char| c.is_ascii_hexdigit() || c == ':' || c == '.';
        return (port_fine && !address.is_empty() && address.chars().all(hex)).then(|| address.to_ascii_lowercase());
    } else {
        match host_and_port.split_once(':') {
            Some((host, port)) if is_port(port) => host,
            Some(_) => return None,
            None => host_and_port,
        }
    };
    let host = host.strip_suffix('.').unwrap_or(host);
    let fine = !host.is_empty()
        && host
            .split('.')
            .all(|label| !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_'));
    fine.then(|| host.to_ascii_lowercase())
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
            ("https://bücher.example/", None),
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
        ] {
            assert_eq!(
                HostPattern::parse(pattern).unwrap().matches(host),
                expected,
                "`{pattern}` on {host}"
            );
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
            "bücher.example",
        ] {
            assert!(HostPattern::parse(text).is_err(), "{text}");
        }
        let (_, _, hint) = HostPattern::parse("https://a.test:80/x").unwrap_err();
        assert_eq!(hint.as_deref(), Some("write `domain:a.test`"));
    }
}
