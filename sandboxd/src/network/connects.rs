//! Hears of every `connect` inside, and listens where it is about to go.
//!
//! The namespace has no way out, so this is a service and no wall: a program that changes the address after it was looked at
//! reaches a socket of its own namespace or nobody. What is judged is judged again where the connection arrives.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use portcullis_policy::network::{Target, canonical};
use tokio::io::unix::AsyncFd;

use super::{Shared, sockets, transparent};
use crate::launch::filter::{is_connect, refused};
use crate::launch::network::{SERVICE, listen_at};
use crate::sys::notify::{self, Answer, Call};

/// Longest address that is looked at: `struct sockaddr_in6`.
const MAX_ADDRESS: usize = 28;

/// Plain HTTP: there a refusal can be said in words, so the connection is taken.
const HTTP_PORT: u16 = 80;

/// Answers until the end of the run.
pub(super) async fn watch(shared: Arc<Shared>, listener: OwnedFd, mut spare: Vec<OwnedFd>) {
    let listener = match notify::watched(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%error, "connections of a sandbox cannot be watched"),
    };
    let mut served = HashSet::new();
    loop {
        let Ok(mut ready) = listener.readable().await else {
            return;
        };
        // The kernel tells of a change and not of each call: what waits is asked for until nothing does.
        if !notify::waits(listener.get_ref().as_fd()) {
            // Every process under the filter has ended: what is left says so for ever.
            if ready.ready().is_read_closed() {
                return;
            }
            ready.clear_ready();
            continue;
        }
        // Many calls are no reason to leave everything else of the daemon waiting.
        tokio::task::coop::consume_budget().await;
        let call = match notify::receive(listener.get_ref().as_fd()) {
            Ok(call) => call,
            // Its thread was killed meanwhile.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR | libc::EAGAIN)) => continue,
            Err(error) => return tracing::debug!(%error, "no connections can be watched any more"),
        };
        if !is_connect(call.number) {
            shared.calls().count(call.number);
            let errno = refused::of(call.number).errno;
            let _ = notify::answer(listener.get_ref().as_fd(), call.id, Answer::Fail(errno));
            continue;
        }
        let answer = match destination(&listener, &call) {
            Some(address) => expect(&shared, address, &mut served, &mut spare),
            None => Answer::Continue,
        };
        let _ = notify::answer(listener.get_ref().as_fd(), call.id, answer);
    }
}

/// Where a call is about to connect; `None` if that is nothing of ours.
fn destination(listener: &AsyncFd<OwnedFd>, call: &Call) -> Option<SocketAddr> {
    let [_, pointer, length, ..] = call.arguments;
    let length = usize::try_from(length).ok()?.min(MAX_ADDRESS);
    let memory = File::open(format!("/proc/{}/mem", call.thread)).ok()?;
    let mut bytes = [0u8; MAX_ADDRESS];
    let bytes = bytes.get_mut(..length)?;
    memory.read_exact_at(bytes, pointer).ok()?;
    // INVARIANT: the memory was that of the caller, and not of whoever got its number meanwhile.
    notify::still_waits(listener.get_ref().as_fd(), call.id).then(|| address(bytes))?
}

/// Reads a `struct sockaddr_in` or `sockaddr_in6`, see ip(7) and ipv6(7).
fn address(bytes: &[u8]) -> Option<SocketAddr> {
    let family = i32::from(u16::from_ne_bytes(*bytes.first_chunk()?));
    let port = u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?);
    let ip = match family {
        libc::AF_INET => IpAddr::V4(Ipv4Addr::from(*bytes.get(4..)?.first_chunk::<4>()?)),
        libc::AF_INET6 => canonical(IpAddr::V6(Ipv6Addr::from(*bytes.get(8..)?.first_chunk::<16>()?))),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// Makes sure that somebody listens there, if it is worth it.
fn expect(
    shared: &Arc<Shared>,
    address: SocketAddr,
    served: &mut HashSet<SocketAddr>,
    spare: &mut Vec<OwnedFd>,
) -> Answer {
    if address.port() == 0 || address.ip() == IpAddr::V4(SERVICE) || served.contains(&address) {
        return Answer::Continue;
    }
    let target = {
        let pool = shared.pool.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        target(address.ip(), |v4| pool.name_of(v4).map(str::to_owned))
    };
    let own = address.ip().is_loopback() || address.ip().is_unspecified();
    if let Err(refusal) = shared.gate.judge(&target) {
        // This machine, seen from inside, is the sandbox: its own servers are there.
        if own {
            return Answer::Continue;
        }
        if address.port() != HTTP_PORT {
            shared.gate.refuse(&target, address.port(), refusal);
            return Answer::Fail(libc::EACCES);
        }
    }
    let Some(socket) = spare.pop() else {
        shared.gate.refuse(
            &target,
            address.port(),
            "the command has connected to too many hosts and ports",
        );
        return Answer::Fail(libc::EAGAIN);
    };
    match listen_at(&socket, address) {
        Ok(()) => {}
        // A server of the command itself, which is nearer.
        Err(error) if error.raw_os_error() == Some(libc::EADDRINUSE) => {
            spare.push(socket);
            return Answer::Continue;
        }
        Err(error) => return failed(&error),
    }
    match sockets::listening(socket) {
        Ok(listener) => {
            served.insert(address);
            shared.spawn(transparent::serve(Arc::clone(shared), listener, target, address.port()));
            Answer::Continue
        }
        Err(error) => failed(&error),
    }
}

fn failed(error: &io::Error) -> Answer {
    Answer::Fail(error.raw_os_error().unwrap_or(libc::ENETUNREACH))
}

/// The host for which an address stands.
fn target(ip: IpAddr, name_of: impl Fn(Ipv4Addr) -> Option<String>) -> Target {
    match ip {
        IpAddr::V4(v4) => name_of(v4).map_or(Target::Address(ip), Target::Name),
        IpAddr::V6(_) => Target::Address(ip),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_the_kernel_reads_them() {
        let v4 = [&2u16.to_ne_bytes()[..], &443u16.to_be_bytes(), &[10, 1, 2, 3], &[0; 8]].concat();
        assert_eq!(address(&v4), Some("10.1.2.3:443".parse().unwrap()));
        let family = u16::try_from(libc::AF_INET6).unwrap().to_ne_bytes();
        let mapped = [
            &family[..],
            &80u16.to_be_bytes(),
            &[0; 4],
            &Ipv4Addr::new(10, 1, 2, 3).to_ipv6_mapped().octets(),
            &[0; 4],
        ]
        .concat();
        assert_eq!(address(&mapped), Some("10.1.2.3:80".parse().unwrap()));
        let local = [&1u16.to_ne_bytes()[..], b"/run/x\0"].concat();
        assert_eq!(address(&local), None);
        for cut in 0..8 {
            assert_eq!(address(&v4[..cut]), None, "{cut}");
        }
    }
}
