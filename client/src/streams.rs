//! Gives this program's standard streams to portcullis-sandboxd, for a command that is to have them as its own.
//!
//! The daemon closes what no run takes soon. Nothing is sent to a socket of somebody else.

use std::{
    io::{self, IoSlice, Read as _},
    os::{fd::AsFd as _, unix::net::UnixStream},
    path::{Path, PathBuf},
    time::Duration,
};

use portcullis_proto::streams::{TAKEN, socket_beside};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

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
    let interrupted = ConnectError::Unreachable {
        target: target.clone(),
        cause: Cause::io(&io::Error::from(io::ErrorKind::Interrupted)),
    };
    tokio::task::spawn_blocking(move || send(socket, &target, deadline))
        .await
        .unwrap_or(Err(interrupted))
}

fn send(socket: PathBuf, target: &Target, deadline: Duration) -> Result<Vec<u8>, ConnectError> {
    let unreachable = |error: io::Error| ConnectError::Unreachable {
        target: target.clone(),
        cause: Cause::io(&error),
    };
    let expected = Expected::new(&socket);
    let found = std::fs::metadata(&socket).map_err(unreachable)?;
    expected.file(&found, target)?;
    let stream = UnixStream::connect(&socket).map_err(unreachable)?;
    let peer = rustix::net::sockopt::socket_peercred(&stream).map_err(|error| unreachable(error.into()))?;
    expected.owner(peer.uid.as_raw())?;
    stream.set_read_timeout(Some(deadline)).map_err(unreachable)?;
    stream.set_write_timeout(Some(deadline)).map_err(unreachable)?;

    let name = uuid::Uuid::now_v7().into_bytes();
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let descriptors = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
    let rights = SendAncillaryMessage::ScmRights(&descriptors);
    let mut space = vec![std::mem::MaybeUninit::uninit(); rights.size()];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(rights) {
        return Err(unreachable(io::Error::from(io::ErrorKind::OutOfMemory)));
    }
    sendmsg(&stream, &[IoSlice::new(&name)], &mut control, SendFlags::NOSIGNAL)
        .map_err(|error| unreachable(error.into()))?;
    let mut word = [0_u8];
    (&stream).read_exact(&mut word).map_err(unreachable)?;
    if word == [TAKEN] {
        Ok(name.to_vec())
    } else {
        Err(unreachable(io::Error::other("it did not take the standard streams")))
    }
}
