//! What the first bytes of a client's connection are the beginning of.
//!
//! Behind one address stand many hosts, and a client says in its first bytes which it means: in TLS by SNI, in HTTP by a header.
//! So whatever brought a connection here, and however slowly its bytes come, it has to be told whether they are one of the two.
//! In doubt they count as HTTP: the reader of requests is stricter than servers are, and refuses what it cannot read.

use super::tls;

/// Longest first line, in bytes. Servers take some 8 KiB.
const MAX_LINE: usize = 64 * 1024;

/// Longest run of blanks in front of it, and longest word that is still taken for a method, in bytes.
const MAX_BLANKS: usize = 4096;
/// See [`MAX_BLANKS`].
const MAX_METHOD: usize = 256;

/// What a connection begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    /// Not enough to tell.
    Unclear,
    /// TLS.
    Tls,
    /// A request of HTTP/1.
    Http,
    /// HTTP/2 without TLS.
    Http2,
    /// Neither, whatever follows.
    Other,
    /// It might be a request, and goes on for longer than any server reads.
    TooLong,
}

/// Looks at what has arrived so far.
pub(super) fn read(bytes: &[u8]) -> Beginning {
    if bytes.first() == Some(&tls::FIRST_BYTE) {
        return Beginning::Tls;
    }
    // Servers pass over empty lines in front of a request (RFC 9112 section 2.2), some over other blanks.
    let blanks = bytes
        .iter()
        .take_while(|byte| is_blank(**byte) || **byte == b'\n')
        .count();
    let line = bytes.get(blanks..).unwrap_or_default();
    if line.is_empty() {
        return match blanks > MAX_BLANKS {
            true => Beginning::TooLong,
            false => Beginning::Unclear,
        };
    }
    let method = line.iter().take_while(|byte| is_token(**byte)).count();
    let behind = line.get(method).copied();
    if method == 0 || method > MAX_METHOD || behind.is_some_and(|byte| !is_blank(byte)) {
        return Beginning::Other;
    }
    let end = line.iter().position(|byte| *byte == b'\n');
    let text = line.get(..end.unwrap_or(line.len())).unwrap_or_default();
    // No server takes one in a request (RFC 9110 section 5.5).
    if text.contains(&0) {
        return Beginning::Other;
    }
    if end.is_none() {
        return match text.len() > MAX_LINE {
            true => Beginning::TooLong,
            false => Beginning::Unclear,
        };
    }
    let mut words = text.split(|byte| is_blank(*byte)).filter(|word| !word.is_empty());
    let method = words.next();
    let is_version = |word: &[u8]| word.get(..5).is_some_and(|begin| begin.eq_ignore_ascii_case(b"HTTP/"));
    match words.find(|word| is_version(word)) {
        Some(version) if method == Some(b"PRI") && version.get(5) == Some(&b'2') => Beginning::Http2,
        Some(_) => Beginning::Http,
        None => Beginning::Other,
    }
}

/// What a lenient server takes for a blank in a request line (RFC 9112 section 3).
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0b | 0x0c | b'\r')
}

/// What words of HTTP, such as methods, are made of (RFC 9110 section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn requests_are_recognised_in_every_dress() {
        for request in [
            "GET / HTTP/1.1\r\n",
            "PROPFIND /x HTTP/1.1\r\nHost: a\r\n\r\n",
            "CONNECT a:1 HTTP/1.1\n",
            "\r\nGET / HTTP/1.1\r\n",
            "\n\n \t GET / HTTP/1.0\n",
            "get\t/\thttp/1.1\r\n",
            "GET / HTTP/1.1 \r\n",
            "GET / x HTTP/1.1\r\n",
            "M-SEARCH * HTTP/1.1\r\n",
        ] {
            assert_eq!(read(request.as_bytes()), Beginning::Http, "{request:?}");
        }
        assert_eq!(read(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Beginning::Http2);
        assert_eq!(read(b"\x16\x03\x01"), Beginning::Tls);
    }

    #[test]
    fn other_protocols_are_told_from_requests() {
        for other in [
            &b"SSH-2.0-OpenSSH_9.2\r\n"[..],
            b"EHLO example.test\r\n",
            b"{\"jsonrpc\": \"2.0\"",
            b"\x00\x00\x00\x08\x04\xd2\x16\x2f",
            b"0032git-upload-pack /p.git\0host=a\0",
            b"*1\r\n$4\r\nPING\r\n",
            b"a1 LOGIN x y\r\n",
            b"GET /\r\n",
        ] {
            assert_eq!(read(other), Beginning::Other, "{:?}", String::from_utf8_lossy(other));
        }
        for unclear in ["", "\r\n", "GET", "SSH-2.0-Open", "GET / HTTP/1.1", "JDWP-Handshake"] {
            assert_eq!(read(unclear.as_bytes()), Beginning::Unclear, "{unclear:?}");
        }
        let long = format!("GET /{}", "a".repeat(MAX_LINE));
        assert_eq!(read(long.as_bytes()), Beginning::TooLong);
        assert_eq!(read(&[b' '; MAX_BLANKS + 1]), Beginning::TooLong);
    }

    proptest! {
        /// What is held back is never let go as something else before its line is whole.
        #[test]
        fn a_request_is_unclear_until_its_line_is_whole(
            blanks in "[\r\n \t]{0,4}", method in "[A-Za-z-]{1,12}", path in "[!-~]{1,20}", at in 0usize..80,
        ) {
            let request = format!("{blanks}{method} {path} HTTP/1.1\r\n");
            let at = at.min(request.len() - 1);
            prop_assert_eq!(read(&request.as_bytes()[..at]), Beginning::Unclear);
            prop_assert_eq!(read(request.as_bytes()), Beginning::Http);
        }
    }
}
