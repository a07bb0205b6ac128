//! The controlling side of a terminal that a command gets inside its sandbox.
//!
//! The terminal is made inside, so that it has a name there and belongs to nobody else; its controlling side comes out over a
//! socket before the command starts. What is done with it is the caller's: this module copies nothing.

use std::{
    io::{self, IoSliceMut},
    mem::MaybeUninit,
    os::fd::OwnedFd,
};

use portcullis_proto::streams::{CONTROLLING_SIDE, READY};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType, recvmsg, socketpair,
};
use tokio::{
    io::{AsyncWriteExt as _, Interest},
    net::UnixStream,
};

/// A terminal that is to come.
#[derive(Debug)]
pub struct Coming(UnixStream);

/// The command waits for the word that its terminal is set up.
#[derive(Debug)]
pub struct Waiting(UnixStream);

impl Coming {
    /// The socket that it will come from, and the end to hand over.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        let ours = std::os::unix::net::UnixStream::from(ours);
        ours.set_nonblocking(true)?;
        Ok((Self(UnixStream::from_std(ours)?), theirs))
    }

    /// Waits for its controlling side.
    ///
    /// # Errors
    /// If none comes: the run ended before.
    pub async fn arrive(self) -> io::Result<(OwnedFd, Waiting)> {
        let received = self.0.async_io(Interest::READABLE, || receive(&self.0)).await?;
        Ok((received, Waiting(self.0)))
    }
}

fn receive(stream: &UnixStream) -> io::Result<OwnedFd> {
    let mut word = [0_u8];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(
        stream,
        &mut [IoSliceMut::new(&mut word)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT,
    )?;
    let mut descriptors = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(rights) => Some(rights),
        _ => None,
    });
    let controlling = descriptors.next().and_then(|mut rights| rights.next());
    match controlling {
        Some(controlling) if received.bytes == 1 && word == [CONTROLLING_SIDE] => Ok(controlling),
        _ => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "no terminal came")),
    }
}

impl Waiting {
    /// Lets the command start.
    ///
    /// # Errors
    /// If it no longer waits.
    pub async fn go(mut self) -> io::Result<()> {
        self.0.write_all(&[READY]).await
    }
}
