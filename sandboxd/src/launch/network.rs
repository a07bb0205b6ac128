//! The network of a sandbox that is filtered by name: made here, inside, and served from outside.
//!
//! The namespace holds nothing but `lo`. Two routes make every address a local one, so that whatever a program connects to,
//! it reaches a socket of this namespace or nobody: there is no way out for a packet. The sockets made here are handed to
//! the filter outside, which listens on them, sees what was meant, judges it, and dials by itself:
//! - the proxy's and the name server's, on an address of their own;
//! - spare ones, which the filter binds to what a program is about to connect to (see `crate::network::connects`);
//! - the listener of the system-call filter, by which it hears of that.
//!
//! What is decided about a host is not decided here.

use std::io::{self, IoSlice};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, bind,
    listen, recv, sendmsg, sendto, socket_with, sockopt,
};

use super::StepFailed;

const STEP: &str = "network_filter";

/// The address of the proxy and the name server: in the range for benchmarks, which no host on the internet has.
pub const SERVICE: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);

/// The proxy's port: HTTP and SOCKS5.
pub const PROXY_PORT: u16 = 3128;

/// The name server's port. It answers at every address of the namespace, so that a server that a program has fixed is
/// answered for as well.
const NAME_PORT: u16 = 53;

/// Pairs of address and port to which a run can connect beside the proxy. More are refused and said.
pub const SPARE_SOCKETS: usize = 96;

/// Connections that wait to be taken, per socket.
const BACKLOG: i32 = 128;

/// How many descriptors come before the spare ones: listener, proxy, names over UDP, names over TCP.
pub const FIXED: usize = 4;

/// Sockets that the filter outside is to serve, in the order in which they are handed over.
#[derive(Debug)]
pub struct Sockets {
    proxy: OwnedFd,
    names_udp: OwnedFd,
    names_tcp: OwnedFd,
    spare: Vec<OwnedFd>,
}

/// Makes routes and sockets. Needs the rights over the namespace.
///
/// # Errors
/// Names what could not be made.
pub fn prepare() -> Result<Sockets, StepFailed> {
    let failed = |what: &'static str| move |error: io::Error| StepFailed::new(STEP, what, error);
    everything_is_local().map_err(failed("making every address a local one"))?;
    Ok(Sockets {
        proxy: stream_at(SocketAddrV4::new(SERVICE, PROXY_PORT)).map_err(failed("listening for the proxy"))?,
        names_udp: names_over_udp().map_err(failed("listening for names over UDP"))?,
        names_tcp: stream_at(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, NAME_PORT))
            .map_err(failed("listening for names over TCP"))?,
        spare: (0..SPARE_SOCKETS)
            .map(|_| spare())
            .collect::<io::Result<_>>()
            .map_err(failed("making spare sockets"))?,
    })
}

/// Hands the sockets, and the listener of the system-call filter, to whoever holds the other end of `outside`.
///
/// # Errors
/// If nobody takes them. The command must not start then: it would hang.
pub fn hand_over(outside: BorrowedFd<'_>, listener: &OwnedFd, sockets: &Sockets) -> Result<(), StepFailed> {
    let mut descriptors = vec![
        listener.as_fd(),
        sockets.proxy.as_fd(),
        sockets.names_udp.as_fd(),
        sockets.names_tcp.as_fd(),
    ];
    descriptors.extend(sockets.spare.iter().map(OwnedFd::as_fd));
    let rights = SendAncillaryMessage::ScmRights(&descriptors);
    let mut space = vec![std::mem::MaybeUninit::uninit(); rights.size()];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let failed = |error: io::Error| StepFailed::new(STEP, "handing the sockets to the filter", error);
    if !control.push(rights) {
        return Err(failed(io::Error::from_raw_os_error(libc::EMSGSIZE)));
    }
    let sent = sendmsg(outside, &[IoSlice::new(b"n")], &mut control, SendFlags::NOSIGNAL);
    sent.map_err(|error| failed(error.into()))?;
    // The filter says when it serves: a command that starts before would find nobody.
    let mut word = [0u8];
    match recv(outside, word.as_mut_slice(), RecvFlags::empty()) {
        Ok((1, _)) => Ok(()),
        Ok(_) => Err(failed(io::Error::from(io::ErrorKind::UnexpectedEof))),
        Err(error) => Err(failed(error.into())),
    }
}

fn stream_at(address: SocketAddrV4) -> io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &address)?;
    listen(&socket, BACKLOG)?;
    Ok(socket)
}

fn names_over_udp() -> io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, NAME_PORT))?;
    Ok(socket)
}

/// A socket for either family, or for IPv4 alone where the kernel has no other.
fn spare() -> io::Result<OwnedFd> {
    match socket_with(AddressFamily::INET6, SocketType::STREAM, SocketFlags::CLOEXEC, None) {
        Ok(socket) => {
            sockopt::set_ipv6_v6only(&socket, false)?;
            Ok(socket)
        }
        Err(_) => Ok(socket_with(
            AddressFamily::INET,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )?),
    }
}

/// What `ip route add local 0.0.0.0/0 dev lo` does, for both families.
fn everything_is_local() -> io::Result<()> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None, // Protocol 0: routes.
    )?;
    add_local_route(&socket, libc::AF_INET as u8)?;
    // A kernel without IPv6 needs no route for it.
    match add_local_route(&socket, libc::AF_INET6 as u8) {
        Err(error) if !matches!(error.raw_os_error(), Some(libc::EAFNOSUPPORT | libc::EOPNOTSUPP)) => Err(error),
        _ => Ok(()),
    }
}

/// Index of `lo`, which is the first device of every namespace.
const LO: u32 = 1;

/// Adds the route "all of this family, local, over `lo`" to the table of local routes, and waits for the answer.
fn add_local_route(socket: &OwnedFd, family: u8) -> io::Result<()> {
    // `struct nlmsghdr` of 16 bytes, `struct rtmsg` of 12, one attribute RTA_OIF of 8; see rtnetlink(7).
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_REPLACE) as u16;
    let mut message = Vec::with_capacity(36);
    message.extend(36u32.to_ne_bytes());
    message.extend(libc::RTM_NEWROUTE.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend(1u32.to_ne_bytes()); // Our number for it.
    message.extend(0u32.to_ne_bytes()); // To the kernel.
    message.extend([
        family,
        0, // Length of the destination's prefix: all.
        0, // Of the source's.
        0, // Type of service.
        libc::RT_TABLE_LOCAL,
        libc::RTPROT_BOOT,
        libc::RT_SCOPE_HOST,
        libc::RTN_LOCAL,
    ]);
    message.extend(0u32.to_ne_bytes());
    message.extend(8u16.to_ne_bytes());
    message.extend(libc::RTA_OIF.to_ne_bytes());
    message.extend(LO.to_ne_bytes());
    sendto(socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0u8; 512];
    let (length, _) = recv(socket, answer.as_mut_slice(), RecvFlags::empty())?;
    // `struct nlmsgerr` behind the header: an error number, 0 for success.
    let number = answer
        .get(16..20)
        .filter(|_| length >= 20)
        .and_then(|bytes| <[u8; 4]>::try_from(bytes).ok())
        .map(i32::from_ne_bytes);
    match number {
        Some(0) => Ok(()),
        Some(number) => Err(io::Error::from_raw_os_error(-number)),
        None => Err(io::Error::from(io::ErrorKind::InvalidData)),
    }
}

/// Where to listen for connections to `address`, as a socket from [`Sockets`] takes it.
///
/// # Errors
/// `EADDRINUSE` if somebody inside listens there.
pub fn listen_at(spare: &OwnedFd, address: std::net::SocketAddr) -> io::Result<()> {
    use std::net::SocketAddr;
    match (address, sockopt::socket_domain(spare)?) {
        (SocketAddr::V4(v4), AddressFamily::INET) => bind(spare, &v4)?,
        (SocketAddr::V4(v4), _) => {
            let mapped: Ipv6Addr = v4.ip().to_ipv6_mapped();
            bind(spare, &SocketAddrV6::new(mapped, v4.port(), 0, 0))?;
        }
        (SocketAddr::V6(v6), AddressFamily::INET6) => bind(spare, &v6)?,
        (SocketAddr::V6(_), _) => return Err(io::Error::from_raw_os_error(libc::EAFNOSUPPORT)),
    }
    Ok(listen(spare, BACKLOG)?)
}
