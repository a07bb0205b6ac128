//! SOCKS version 5 (RFC 1928), for programs that are told to use it: connections only, without a password.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use portcullis_policy::network::{Target, canonical};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Shared;
use super::gate::Closed;
use super::relay::relay;

/// The first byte of every message.
pub(super) const VERSION: u8 = 5;

/// Longest wait for the client's wish.
const ASKED_WITHIN: Duration = Duration::from_secs(10);

/// The answers of section 6 that are given.
#[derive(Clone, Copy)]
enum Reply {
    Succeeded = 0,
    NotAllowed = 2,
    HostUnreachable = 4,
    Refused = 5,
    CommandNotSupported = 7,
    AddressNotSupported = 8,
}

/// Serves one client.
pub(super) async fn connection(shared: &Arc<Shared>, mut stream: TcpStream) {
    let asked = timeout(ASKED_WITHIN, ask(&mut stream)).await;
    let (target, port) = match asked {
        Ok(Ok(Ok(wish))) => wish,
        Ok(Ok(Err(reply))) => return drop(answer(&mut stream, reply).await),
        Ok(Err(_)) | Err(_) => return,
    };
    match shared.gate.dial(&target, port).await {
        Ok(open) => {
            if answer(&mut stream, Reply::Succeeded).await.is_ok() {
                relay(shared, target, port, stream, open).await;
            }
        }
        Err(closed) => {
            let reply = match closed {
                Closed::Refused(_) | Closed::TooMany => Reply::NotAllowed,
                Closed::NoSuchName(_) => Reply::HostUnreachable,
                Closed::Unreachable(_) => Reply::Refused,
            };
            let _ = answer(&mut stream, reply).await;
        }
    }
}

/// Hears what the client wants.
async fn ask(stream: &mut TcpStream) -> io::Result<Result<(Target, u16), Reply>> {
    let broken = || io::Error::from(io::ErrorKind::InvalidData);
    let [version, methods] = read(stream).await?;
    if version != VERSION {
        return Err(broken());
    }
    let mut offered = vec![0u8; usize::from(methods)];
    stream.read_exact(&mut offered).await?;
    if !offered.contains(&0) {
        stream.write_all(&[VERSION, 0xff]).await?;
        return Err(broken());
    }
    stream.write_all(&[VERSION, 0]).await?;
    let [version, command, _, kind] = read(stream).await?;
    if version != VERSION {
        return Err(broken());
    }
    let target = match kind {
        1 => Some(Target::Address(IpAddr::V4(Ipv4Addr::from(read::<4>(stream).await?)))),
        4 => Some(Target::Address(canonical(IpAddr::V6(Ipv6Addr::from(
            read::<16>(stream).await?,
        ))))),
        3 => {
            let [length] = read(stream).await?;
            let mut name = vec![0u8; usize::from(length)];
            stream.read_exact(&mut name).await?;
            std::str::from_utf8(&name).ok().and_then(Target::parse)
        }
        _ => None,
    };
    let Some(target) = target else {
        return Ok(Err(Reply::AddressNotSupported));
    };
    let port = u16::from_be_bytes(read(stream).await?);
    // Only CONNECT: a server for others, or datagrams, would go past the rules.
    Ok(if command == 1 {
        Ok((target, port))
    } else {
        Err(Reply::CommandNotSupported)
    })
}

async fn read<const N: usize>(stream: &mut TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}

async fn answer(stream: &mut TcpStream, reply: Reply) -> io::Result<()> {
    // The address that was dialled from is nobody's business inside.
    stream.write_all(&[VERSION, reply as u8, 0, 1, 0, 0, 0, 0, 0, 0]).await
}
