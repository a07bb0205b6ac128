//! Taking over the sockets that the launcher made inside.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use tokio::io::Interest;
use tokio::net::{TcpListener, UdpSocket, UnixStream};

use crate::launch::network::{FIXED, SPARE_SOCKETS};

/// The sockets of one sandbox.
#[derive(Debug)]
pub(super) struct Handed {
    pub(super) listener: OwnedFd,
    pub(super) proxy: TcpListener,
    pub(super) names_udp: UdpSocket,
    pub(super) names_tcp: TcpListener,
    pub(super) spare: Vec<OwnedFd>,
}

/// Waits for them. `None` if the launcher ended before.
pub(super) async fn take(launcher: &UnixStream) -> io::Result<Option<Handed>> {
    let descriptors = launcher.async_io(Interest::READABLE, || receive(launcher)).await?;
    if descriptors.is_empty() {
        return Ok(None);
    }
    let mut rest = descriptors.into_iter();
    let mut next = || rest.next().ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof));
    let (listener, proxy, names_udp, names_tcp) = (next()?, next()?, next()?, next()?);
    Ok(Some(Handed {
        listener,
        proxy: listening(proxy)?,
        names_udp: {
            let socket = std::net::UdpSocket::from(names_udp);
            socket.set_nonblocking(true)?;
            UdpSocket::from_std(socket)?
        },
        names_tcp: listening(names_tcp)?,
        spare: rest.collect(),
    }))
}

/// A socket that listens, as one of the runtime.
pub(super) fn listening(socket: OwnedFd) -> io::Result<TcpListener> {
    let socket = std::net::TcpListener::from(socket);
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket)
}

/// Says that they are served.
pub(super) async fn ready(launcher: &UnixStream) -> io::Result<()> {
    launcher
        .async_io(Interest::WRITABLE, || launcher.try_write(b"r"))
        .await
        .map(drop)
}

/// Waits for the end of the other side. Nothing more comes from there.
pub(super) async fn closed(launcher: &UnixStream) {
    let mut nothing = [0u8; 16];
    loop {
        if launcher.readable().await.is_err() {
            return;
        }
        match launcher.try_read(&mut nothing) {
            Ok(0) => return,
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return,
            _ => {}
        }
    }
}

fn receive(launcher: &UnixStream) -> io::Result<Vec<OwnedFd>> {
    let mut byte = [0u8];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FIXED + SPARE_SOCKETS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    recvmsg(
        launcher,
        &mut [IoSliceMut::new(&mut byte)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    Ok(descriptors)
}
