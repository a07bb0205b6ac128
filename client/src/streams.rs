//! Gives this program's standard streams to portcullis-sandboxd, for a command that is to have them as its own.
//!
//! The daemon closes what no run takes soon. Nothing is sent to a socket of somebody else.

use std::{
    io::{self, IoSlice, Read as _},
    os::{fd::AsFd as _, unix::net::UnixStream as Blocking},
    path::Path,
    time::Duration,
};

use portcullis_proto::streams::{TAKEN, socket_beside};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use tokio::net::UnixStream;

use crate::{
    ConnectError,
    connect::Expected,
    error::{Cause, Target},
};

/// Hands standard input, output and error over. Returns the name under which a run finds them.
pub(crate) async fn hand_over(socket: &Path, deadline: Duration) -> Result<Vec<u8>, ConnectError> {
    let socket = socket_beside(socket);
    let target = Target {
        name: "portcullis-sandboxd",
        address: format!("unix:{}", socket.display()),
    };
    let unreachable = |error: io::Error| ConnectError::Unreachable {
        target: target.clone(),
        cause: Cause::io(&error),
    };
    let expected = Expected::new(&socket);
    let found = tokio::fs::metadata(&socket).await.map_err(unreachable)?;
    expected.file(&found, &target)?;
    let stream = UnixStream::connect(&socket).await.map_err(unreachable)?;
    // Tokio's, since rustix fails where the daemon has no number in the process namespace of this program.
    expected.owner(stream.peer_cred().map_err(unreachable)?.uid())?;
    let stream = stream.into_std().map_err(unreachable)?;
    let sent = tokio::task::spawn_blocking(move || send(stream, deadline)).await;
    let sent = sent.unwrap_or_else(|_| Err(io::ErrorKind::Interrupted.into()));
    sent.map_err(unreachable)
}

fn send(stream: Blocking, deadline: Duration) -> io::Result<Vec<u8>> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(deadline))?;
    stream.set_write_timeout(Some(deadline))?;

    let name = uuid::Uuid::now_v7().into_bytes();
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let descriptors = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
    let rights = SendAncillaryMessage::ScmRights(&descriptors);
    let mut space = vec![std::mem::MaybeUninit::uninit(); rights.size()];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(rights) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    sendmsg(&stream, &[IoSlice::new(&name)], &mut control, SendFlags::NOSIGNAL)?;
    let mut word = [0_u8];
    (&stream).read_exact(&mut word)?;
    if word == [TAKEN] {
        Ok(name.to_vec())
    } else {
        Err(io::Error::other("it did not take the standard streams"))
    }
}
