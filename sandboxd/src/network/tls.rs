//! The name that a TLS client asks for.
//!
//! Behind an address stand many names; which one a client gets it says in its first message (SNI). So that name has to be the
//! one that was allowed. A client that hides it (ECH) shows another one, and is refused with it.

use std::io;

use rustls::server::Acceptor;

/// Longest first message, in bytes: several times what clients send. It is read anew with each piece that arrives, so it must
/// not be long.
const MAX_HELLO: usize = 16 * 1024;

/// The first byte of a TLS connection: the record type of a handshake (RFC 8446, 5.1).
pub(super) const FIRST_BYTE: u8 = 0x16;

/// What the first bytes of a connection say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Hello {
    /// Not enough yet.
    Incomplete,
    /// The name, in lower case; `None` if none is asked for.
    Complete(Option<String>),
    /// No TLS.
    Unreadable,
}

/// Reads what has arrived so far.
pub(super) fn read(bytes: &[u8]) -> Hello {
    if bytes.len() > MAX_HELLO {
        return Hello::Unreadable;
    }
    let mut acceptor = Acceptor::default();
    let mut rest = bytes;
    while !rest.is_empty() {
        match acceptor.read_tls(&mut rest as &mut dyn io::Read) {
            Ok(_) => {}
            Err(_) => return Hello::Unreadable,
        }
        match acceptor.accept() {
            Ok(Some(accepted)) => {
                let name = accepted.client_hello().server_name().map(str::to_ascii_lowercase);
                return Hello::Complete(name);
            }
            Ok(None) => {}
            Err(_) => return Hello::Unreadable,
        }
    }
    Hello::Incomplete
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A first message as clients send it, by RFC 8446 section 4.1.2.
    pub(in crate::network) fn hello(name: Option<&str>) -> Vec<u8> {
        let block = |bytes: Vec<u8>| [&u16::try_from(bytes.len()).unwrap().to_be_bytes()[..], &bytes].concat();
        let extension = |kind: u16, data: Vec<u8>| [&kind.to_be_bytes()[..], &block(data)].concat();
        let mut extensions = vec![
            extension(10, block([0u8, 29].to_vec())),      // Groups: x25519.
            extension(13, block([4u8, 3, 8, 4].to_vec())), // Signatures.
            extension(43, vec![2, 3, 4]),                  // Versions: 1.3.
            extension(51, block([&[0, 29, 0, 32][..], &[7; 32]].concat())), // A key.
        ];
        if let Some(name) = name {
            let entry = [&[0u8][..], &block(name.as_bytes().to_vec())].concat();
            extensions.push(extension(0, block(entry)));
        }
        let body = [
            &[3u8, 3][..],
            &[1; 32],
            &[0],
            &block(vec![0x13, 1]),
            &[1, 0],
            &block(extensions.concat()),
        ]
        .concat();
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        let message = [&[1u8][..], &length[1..], &body].concat();
        [&[FIRST_BYTE, 3, 1][..], &block(message)].concat()
    }

    #[test]
    fn the_name_is_found_however_the_bytes_arrive() {
        let bytes = hello(Some("Registry.Example"));
        for cut in 0..bytes.len() {
            assert_eq!(read(&bytes[..cut]), Hello::Incomplete, "{cut}");
        }
        assert_eq!(read(&bytes), Hello::Complete(Some("registry.example".to_owned())));
        assert_eq!(read(&hello(None)), Hello::Complete(None));
    }

    #[test]
    fn what_is_no_tls_is_said() {
        assert_eq!(read(b"GET / HTTP/1.1\r\n\r\n"), Hello::Unreadable);
        let mut endless = vec![FIRST_BYTE, 3, 1, 0x40, 0];
        endless.resize(MAX_HELLO + 1, 0);
        assert_eq!(read(&endless), Hello::Unreadable);
    }
}
