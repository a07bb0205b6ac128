//! `/dev/tcp/HOST/PORT` in a redirection: bash opens a connection, and no file.
//!
//! Only as the target of a redirection, after expansion, and only in exactly this spelling: `//dev/tcp/…` and an operand
//! (`cat /dev/tcp/…`) are ordinary files. Which shells do so besides bash (ksh does, dash does not) is not asked: where it
//! is a file, nothing is lost.

use super::expand::Field;

/// A connection that a redirection opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Socket {
    /// The name as the shell sees it, or the source of the word, if that is only known at run time.
    pub name: String,
    /// The host, if it is known; never empty.
    pub host: Option<String>,
    /// Its address as that of other commands stands in [`super::Command::urls`].
    pub url: String,
}

const PROTOCOLS: &[&str] = &["tcp", "udp"];

impl Socket {
    /// The connection that a redirection to this name opens.
    fn of_name(name: &str) -> Option<Self> {
        let (protocol, rest) = name.strip_prefix("/dev/")?.split_once('/')?;
        if !PROTOCOLS.contains(&protocol) {
            return None;
        }
        let (host, port) = rest.split_once('/')?;
        let known = !host.is_empty() && !host.contains(['@', '?', '#', '\\']) && !host.contains(char::is_whitespace);
        let shown = if host.contains(':') {
            format!("[{host}]")
        } else {
            host.to_owned()
        };
        // The port may be the name of a service.
        let number = !port.is_empty() && port.chars().all(|c| c.is_ascii_digit());
        let port = if number { format!(":{port}") } else { String::new() };
        Some(Self {
            name: name.to_owned(),
            host: known.then(|| shown.clone()),
            url: if known {
                format!("{protocol}://{shown}{port}")
            } else {
                name.to_owned()
            },
        })
    }

    /// The same for a word of which only the beginning is known: `/dev/tcp/$H/80`.
    fn of_source(source: &str) -> Option<Self> {
        let bare: String = source.chars().filter(|c| !matches!(c, '"' | '\'' | '\\')).collect();
        let known: String = bare.chars().take_while(|c| !matches!(c, '$' | '`')).collect();
        let socket = PROTOCOLS.iter().any(|protocol| {
            let place = format!("/dev/{protocol}/");
            known.starts_with(&place) || (known.len() > "/dev/".len() && place.starts_with(&known))
        });
        socket.then(|| Self {
            name: source.to_owned(),
            host: None,
            url: source.to_owned(),
        })
    }

    /// The connections that a redirection to a word can open, and whether it can be nothing else.
    pub(super) fn of_field(field: &Field) -> (Vec<Self>, bool) {
        let mut sockets = Vec::new();
        let mut only = field.exact;
        for candidate in field.single_candidates() {
            match Self::of_name(&candidate.text).filter(|_| !candidate.glob) {
                Some(socket) => sockets.push(socket),
                None => only = false,
            }
        }
        if !field.exact {
            sockets.extend(Self::of_source(&field.source));
        }
        (sockets, only)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_spelling_is_a_connection() {
        for (name, url, host) in [
            ("/dev/tcp/h.test/80", "tcp://h.test:80", Some("h.test")),
            ("/dev/udp/192.0.2.1/53", "udp://192.0.2.1:53", Some("192.0.2.1")),
            ("/dev/tcp/h/http", "tcp://h", Some("h")),
            ("/dev/tcp/::1/80", "tcp://[::1]:80", Some("[::1]")),
            ("/dev/tcp//80", "/dev/tcp//80", None),
            ("/dev/tcp/a@b/80", "/dev/tcp/a@b/80", None),
        ] {
            let socket = Socket::of_name(name).unwrap();
            assert_eq!((socket.url.as_str(), socket.host.as_deref()), (url, host), "{name}");
        }
        for name in [
            "/dev/tcp",
            "/dev/tcp/h",
            "//dev/tcp/h/80",
            "/dev/./tcp/h/80",
            "dev/tcp/h/80",
            "/dev/tcpx/h/80",
        ] {
            assert_eq!(Socket::of_name(name), None, "{name}");
        }
        for (source, is) in [
            ("/dev/tcp/$H/80", true),
            ("\"/dev/\"udp/$H/$P", true),
            ("/dev/tc$X/h/80", true),
            ("/dev/$X", false),
            ("/dev/sd$X", false),
            ("$X", false),
        ] {
            assert_eq!(Socket::of_source(source).is_some(), is, "{source}");
        }
    }
}
