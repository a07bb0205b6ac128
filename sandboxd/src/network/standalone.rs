//! The filter as a process of its own, for `portcullis-sandboxd exec`, which has one thread and serves nothing.
//!
//! Everything comes over one socket, its standard input: first the rules, then the sockets of the sandbox. It ends when
//! the launcher closes its end, and says which hosts were refused. For a sandbox without a network of its own (macOS) it makes
//! its own socket, on loopback, and says which port that has.

use std::io::{self, Read as _, Write as _};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use portcullis_proto::v1;
use prost::Message as _;
use tokio::net::{TcpListener, UnixStream};

use super::{Filter, SystemLookup, refusal_line};
use crate::prepare;
use crate::refusals::{self, Complaints, Tree};

/// Largest rules, in bytes.
const MAX_RULES: usize = 4 * 1024 * 1024;

/// Sends the rules to a filter that is about to start.
///
/// # Errors
/// If they are too large or nobody takes them.
pub fn send_rules(to: &mut impl io::Write, rules: &v1::NetworkRules) -> io::Result<()> {
    let bytes = rules.encode_to_vec();
    let length = u32::try_from(bytes.len())
        .ok()
        .filter(|length| usize::try_from(*length).is_ok_and(|length| length <= MAX_RULES))
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the network rules are too large"))?;
    to.write_all(&[length.to_be_bytes().as_slice(), &bytes].concat())
}

fn receive_rules(from: &mut impl io::Read) -> io::Result<v1::NetworkRules> {
    let mut length = [0u8; 4];
    from.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    if length > MAX_RULES {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the network rules are too large",
        ));
    }
    let mut bytes = vec![0u8; length];
    from.read_exact(&mut bytes)?;
    v1::NetworkRules::decode(bytes.as_slice()).map_err(|fault| io::Error::new(io::ErrorKind::InvalidData, fault))
}

/// Hears from a filter at loopback which port it serves.
///
/// # Errors
/// If it ended instead, or says none.
pub fn receive_port(from: &mut std::os::unix::net::UnixStream) -> io::Result<u16> {
    let mut port = [0u8; 2];
    from.read_exact(&mut port)?;
    match u16::from_be_bytes(port) {
        0 => Err(io::Error::from(io::ErrorKind::InvalidData)),
        port => Ok(port),
    }
}

/// Serves one sandbox over standard input; `at_loopback` = on a socket of its own.
///
/// # Errors
/// If standard input is no such socket, or the rules cannot be read.
pub async fn serve(at_loopback: bool) -> io::Result<()> {
    let socket: OwnedFd = io::stdin().as_fd().try_clone_to_owned()?;
    let mut socket = std::os::unix::net::UnixStream::from(socket);
    let rules = receive_rules(&mut socket)?;
    let rules =
        prepare::network_rules(Some(&rules)).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    let filter = if at_loopback {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        // Whoever hears of the port can connect: the socket listens already.
        socket.write_all(&listener.local_addr()?.port().to_be_bytes())?;
        socket.set_nonblocking(true)?;
        Filter::at_loopback(UnixStream::from_std(socket)?, listener, rules, Arc::new(SystemLookup))
    } else {
        socket.set_nonblocking(true)?;
        Filter::start(UnixStream::from_std(socket)?, rules, Arc::new(SystemLookup))
    };
    filter.until_closed().await;
    let heard = filter.finish().await;
    let calls = refusals::all(&[], &heard.calls, &Complaints::default(), &Tree::default());
    let calls = calls.iter().filter_map(refusals::line);
    for line in heard.hosts.iter().filter_map(refusal_line).chain(calls) {
        let _ = io::stderr().write_all(line.as_bytes());
    }
    Ok(())
}
