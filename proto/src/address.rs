//! The address of a server: how it may be reached, and how not.
//!
//! A token in plain text on a network is a token given away. So whoever sends one goes through this module: `https` with
//! certificates that are checked, or `http` to this machine. There is no switch that weakens it.

use std::{net::IpAddr, time::Duration};

use tonic::transport::{Certificate, ClientTlsConfig, Endpoint};

/// Why an address is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAddress {
    /// Not of the right form.
    #[error("it is not of the form `https://host:port` or `http://127.0.0.1:port`")]
    Form,
    /// Plain text to another machine.
    #[error("the token would cross the network in plain text: use `https://`, or an address of this machine")]
    Unprotected,
    /// The certificates to trust cannot be used.
    #[error("the certificates to trust cannot be used: {0}")]
    Certificates(String),
}

/// The way to a server at `address`. `ca` is the text of a PEM file with the certificates to trust instead of the system's.
/// Connects to nothing yet.
///
/// # Errors
/// If the address is of another form or leads elsewhere without TLS, or `ca` holds no certificate.
pub fn endpoint(address: &str, ca: Option<&str>, connect_timeout: Duration) -> Result<Endpoint, InvalidAddress> {
    let endpoint = Endpoint::from_shared(address.to_owned()).map_err(|_| InvalidAddress::Form)?;
    let endpoint = match (endpoint.uri().scheme_str(), endpoint.uri().host()) {
        (Some("https"), Some(_)) => {
            let tls = match ca {
                // Of a text without any, nothing would be said before the first connection fails.
                Some(pem) if !pem.contains("-----BEGIN CERTIFICATE-----") => {
                    return Err(InvalidAddress::Certificates(
                        "the file holds none in PEM form".to_owned(),
                    ));
                }
                Some(pem) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem)),
                None => ClientTlsConfig::new().with_native_roots(),
            };
            let unusable = |error: tonic::transport::Error| InvalidAddress::Certificates(innermost(&error));
            endpoint.tls_config(tls).map_err(unusable)?
        }
        (Some("http"), Some(host)) if is_loopback(host) => endpoint,
        (Some("http"), Some(_)) => return Err(InvalidAddress::Unprotected),
        _ => return Err(InvalidAddress::Form),
    };
    Ok(endpoint.connect_timeout(connect_timeout).tcp_nodelay(true))
}

fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// Whether a host of a URL is this machine. Names other than `localhost` are not looked up: what they lead to can change.
fn is_loopback(host: &str) -> bool {
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    host == "localhost" || bare.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(address: &str) -> Result<(), InvalidAddress> {
        endpoint(address, None, Duration::from_secs(1)).map(|_| ())
    }

    #[test]
    fn plain_text_stays_on_this_machine() {
        for here in [
            "http://127.0.0.1:1",
            "http://127.9.9.9:1",
            "http://[::1]:1",
            "http://localhost:1",
        ] {
            assert_eq!(judged(here), Ok(()), "{here}");
        }
        for away in [
            "http://10.0.0.1:1",
            "http://example.test:1",
            "http://localhost.example.test:1",
            "http://127.0.0.1.example.test:1",
            "http://0.0.0.0:1",
            "http://[::]:1",
            "http://127.0.0.1@example.test:1",
        ] {
            assert_eq!(judged(away), Err(InvalidAddress::Unprotected), "{away}");
        }
    }

    #[test]
    fn tls_leads_anywhere_and_nonsense_nowhere() {
        assert_eq!(judged("https://pdp.example.test:7451"), Ok(()));
        for odd in ["", "127.0.0.1:1", "ftp://127.0.0.1:1", "/run/x.sock", "http://"] {
            assert_eq!(judged(odd), Err(InvalidAddress::Form), "{odd}");
        }
        let unusable = endpoint(
            "https://pdp.example.test",
            Some("no certificate"),
            Duration::from_secs(1),
        );
        assert!(matches!(unusable, Err(InvalidAddress::Certificates(_))));
    }
}
