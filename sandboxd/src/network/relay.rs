//! Passing bytes between a command and the host that it was allowed to reach, after a look at the first ones.

use std::io;
use std::time::Duration;

use portcullis_policy::network::Target;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional_with_sizes};
use tokio::time::timeout;

use super::gate::{Gate, Open};
use super::tls::{self, Hello};

/// Bytes that one direction holds.
const BUFFER: usize = 64 * 1024;

/// Longest wait for the rest of a client's first message.
const HELLO_WITHIN: Duration = Duration::from_secs(10);

/// Ports at which clients speak TLS from the first byte (IANA: https, smtps, nntps, ldaps, dns, ftps, imaps, pop3s).
const TLS_PORTS: [u16; 8] = [443, 465, 563, 636, 853, 990, 993, 995];

/// Passes bytes until both sides have ended. For a host by name a TLS client has to ask for that name: `first` are bytes
/// that it has sent already.
pub(super) async fn relay<S>(gate: &Gate, target: &Target, port: u16, first: Vec<u8>, client: S, open: Open)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let result = match target {
        Target::Name(name) => checked(name, port, first, client, open).await,
        Target::Address(_) => unchecked(first, client, open).await,
    };
    match result {
        Ok(()) => {}
        Err(Broken::Refused(reason)) => gate.refuse(target, port, reason),
        Err(Broken::Io(error)) => tracing::debug!(%error, %target, port, "a connection ended early"),
    }
}

enum Broken {
    Refused(String),
    Io(io::Error),
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

async fn unchecked<S>(first: Vec<u8>, mut client: S, mut open: Open) -> Result<(), Broken>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    open.stream.write_all(&first).await?;
    copy_bidirectional_with_sizes(&mut client, &mut open.stream, BUFFER, BUFFER).await?;
    Ok(())
}

/// Nothing of the client goes out before its first bytes were looked at; what the host says first is passed on meanwhile.
async fn checked<S>(name: &str, port: u16, mut first: Vec<u8>, mut client: S, mut open: Open) -> Result<(), Broken>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut greeting = vec![0u8; BUFFER];
    while first.is_empty() {
        tokio::select! {
            read = client.read_buf(&mut first) => if read? == 0 {
                break; // It has ended its side: the host may still speak.
            },
            read = open.stream.read(&mut greeting) => {
                let read = read?;
                if read == 0 {
                    return Ok(client.shutdown().await?);
                }
                client.write_all(greeting.get(..read).unwrap_or_default()).await?;
            }
        }
    }
    if first.first() == Some(&tls::FIRST_BYTE) {
        loop {
            match tls::read(&first) {
                Hello::Incomplete => {
                    let read = timeout(HELLO_WITHIN, client.read_buf(&mut first))
                        .await
                        .map_err(io::Error::from)?;
                    if read? == 0 {
                        return Ok(());
                    }
                }
                Hello::Complete(Some(asked)) if asked == name => break,
                Hello::Complete(Some(asked)) => {
                    return Err(Broken::Refused(format!(
                        "the TLS client asks for another name, `{asked}`"
                    )));
                }
                Hello::Complete(None) => return Err(Broken::Refused("the TLS client names no host".to_owned())),
                Hello::Unreadable => return Err(Broken::Refused("this is no TLS that can be read".to_owned())),
            }
        }
    } else if TLS_PORTS.contains(&port) && !first.is_empty() && !first.starts_with(b"SSH-") {
        return Err(Broken::Refused("this is no TLS, at a port for it".to_owned()));
    }
    open.stream.write_all(&first).await?;
    if first.is_empty() {
        open.stream.shutdown().await?;
    }
    copy_bidirectional_with_sizes(&mut client, &mut open.stream, BUFFER, BUFFER).await?;
    Ok(())
}
