//! Which origins an agent's browser may open.
//!
//! An origin is scheme, host and port, as the web means it: `http://a.test` is another one than `https://a.test`.

use std::ops::Range;

use crate::rule::{HostPattern, host_of};

/// The origins that a team lists or blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrowserControls {
    /// What is in none of these asks; `None` = no list.
    pub origins: Option<Vec<OriginPattern>>,
    /// What is in one of these is denied.
    pub blocked: Vec<OriginPattern>,
}

/// A pattern over origins: `https://*.a.test:8443`. Without a scheme: both; without a port: the scheme's own in a list of
/// what may be opened, every one in a list of what may not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginPattern {
    https: Option<bool>,
    /// As written.
    text: Box<str>,
    host: HostPattern,
    port: Option<u16>,
}

impl OriginPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// With the span of the fault, what it is, and a hint.
    pub fn parse(text: &str) -> Result<Self, (Range<usize>, String, Option<String>)> {
        let all = 0..text.len();
        let (https, rest) = match text.split_once("://") {
            None => (None, text),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (Some(true), rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (Some(false), rest),
            Some((scheme, _)) => {
                let message = format!("`{scheme}` is no scheme of an origin");
                return Err((
                    0..scheme.len(),
                    message,
                    Some("write `https://…` or `http://…`".to_owned()),
                ));
            }
        };
        let start = text.len() - rest.len();
        if let Some(at) = rest.find(['/', '?', '#', '@']) {
            let hint = rest
                .get(..at)
                .map(|origin| format!("write `{}{origin}`", text.get(..start).unwrap_or_default()));
            return Err((
                start + at..text.len(),
                "an origin ends with host and port".to_owned(),
                hint,
            ));
        }
        let (host, port) = split_port(rest).ok_or((all, "the port is no number".to_owned(), None))?;
        let host = HostPattern::parse(host)
            .map_err(|(span, message, hint)| (start + span.start..start + span.end, message, hint))?;
        Ok(Self {
            https,
            text: text.into(),
            host,
            port,
        })
    }

    /// As written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn names(&self, https: bool, host: &str) -> bool {
        self.https.is_none_or(|own| own == https) && self.host.matches(host)
    }
}

/// Host and port of `a.test:80`, `[::1]:80`, `a.test`. `None` if what stands for a port is none.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let in_brackets = text
        .strip_prefix('[')
        .and_then(|rest| rest.find(']'))
        .map_or(0, |at| at + 2);
    match text.get(in_brackets..)?.rfind(':') {
        None => Some((text, None)),
        Some(at) => {
            let at = in_brackets + at;
            let port = text.get(at + 1..)?;
            let plain = !port.is_empty() && port.chars().all(|c| c.is_ascii_digit());
            Some((text.get(..at)?, Some(port.parse().ok().filter(|_| plain)?)))
        }
    }
}

/// Scheme, host and port of an address; `None` where nobody can say which origin it is.
fn origin_of(url: &str) -> Option<(bool, String, u16)> {
    let host = host_of(url)?;
    let (scheme, rest) = url.split_once("://")?;
    let https = scheme.eq_ignore_ascii_case("https");
    let authority = rest.split(['/', '?', '#']).next()?;
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let authority = authority.strip_suffix(':').unwrap_or(authority);
    let (_, port) = split_port(authority)?;
    Some((https, host, port.unwrap_or(if https { 443 } else { 80 })))
}

impl BrowserControls {
    /// Whether an address is blocked. One whose origin cannot be told is, where any origin is.
    #[must_use]
    pub fn blocks(&self, url: &str) -> bool {
        if self.blocked.is_empty() || is_blank(url) {
            return false;
        }
        origin_of(url).is_none_or(|(https, host, port)| {
            self.blocked
                .iter()
                .any(|pattern| pattern.names(https, &host) && pattern.port.is_none_or(|own| own == port))
        })
    }

    /// Whether an address is on the list; `None` if there is no list.
    #[must_use]
    pub fn lists(&self, url: &str) -> Option<bool> {
        let list = self.origins.as_ref()?;
        let listed = origin_of(url).is_some_and(|(https, host, port)| {
            let own = if https { 443 } else { 80 };
            list.iter()
                .any(|pattern| pattern.names(https, &host) && port == pattern.port.unwrap_or(own))
        });
        Some(listed || is_blank(url))
    }
}

/// The empty page, which is of no origin and shows nothing.
fn is_blank(url: &str) -> bool {
    url.eq_ignore_ascii_case("about:blank")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn controls(origins: Option<&[&str]>, blocked: &[&str]) -> BrowserControls {
        let read = |list: &[&str]| {
            list.iter()
                .map(|text| OriginPattern::parse(text).unwrap())
                .collect::<Vec<_>>()
        };
        BrowserControls {
            origins: origins.map(read),
            blocked: read(blocked),
        }
    }

    #[test]
    fn a_list_names_scheme_host_and_port() {
        let list = controls(
            Some(&[
                "https://*.a.test",
                "http://localhost:3000",
                "b.test",
                "https://[::1]:8443",
            ]),
            &[],
        );
        for (url, expected) in [
            ("https://x.a.test/y", true),
            ("https://x.a.test:443/", true),
            ("https://x.a.test:8443/", false),
            ("http://x.a.test/", false),
            ("https://a.test/", false),
            ("http://localhost:3000/x", true),
            ("http://localhost/", false),
            ("https://localhost:3000/", false),
            ("http://b.test", true),
            ("https://b.test", true),
            ("https://b.test@evil.test/", false),
            ("https://evil.test/#https://b.test", false),
            ("https://[0::1]:8443/", true),
            ("https://[0::1]/", false),
            ("about:blank", true),
            ("about:config", false),
            ("file:///etc/passwd", false),
            ("data:text/html,x", false),
            ("view-source:https://b.test", false),
            ("b.test", false),
        ] {
            assert_eq!(list.lists(url), Some(expected), "{url}");
        }
        assert_eq!(controls(None, &["a.test"]).lists("https://b.test"), None);
    }

    #[test]
    fn what_is_blocked_is_blocked_on_every_port_and_so_is_what_cannot_be_told() {
        let blocked = controls(None, &["*.evil.test", "http://plain.test", "http://localhost:9222"]);
        for (url, expected) in [
            ("https://a.evil.test:8443/", true),
            ("https://evil.test/", false),
            ("http://plain.test:8080/", true),
            ("https://plain.test/", false),
            ("http://localhost:9222/json", true),
            ("http://localhost:3000/", false),
            ("https://good.test\\@a.evil.test/", true),
            ("javascript:alert(1)", true),
            ("about:blank", false),
            ("https://good.test/", false),
        ] {
            assert_eq!(blocked.blocks(url), expected, "{url}");
        }
        assert!(!controls(None, &[]).blocks("javascript:alert(1)"));
    }

    #[test]
    fn what_is_no_origin_is_refused() {
        for text in [
            "",
            "ftp://a.test",
            "https://a.test/x",
            "https://u@a.test",
            "a.test:x",
            "a.test:99999",
            "a..test",
        ] {
            assert!(OriginPattern::parse(text).is_err(), "{text}");
        }
    }
}
