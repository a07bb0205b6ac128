//! A terminal for the command alone, made inside and driven from outside.
//!
//! It belongs to the sandbox's own `devpts`, so that it has a name there, and it is the command's controlling one: `/dev/tty` and job
//! control work, and what the command puts into it reaches no terminal of the person's. Whoever started the command gets the
//! controlling side, over the socket that stands in the place of the standard streams, gives it size and modes, and says that the
//! command may start.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;

use portcullis_proto::streams::{CONTROLLING_SIDE, READY};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::StepFailed;

const STEP: &str = "terminal";

/// Longest wait for the answer of whoever gets the controlling side.
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// Makes the terminal, sends its controlling side away, waits for the answer, and makes the terminal the standard streams. To be
/// called when the file tree stands. `alive` is readable when everything is to end. What comes back is to be kept until then: while
/// somebody has the terminal open the other side does not take it for closed, whatever the command does with its streams.
///
/// # Errors
/// If a terminal cannot be made, standard input is no socket, or no answer comes.
pub fn give(alive: impl AsFd) -> Result<OwnedFd, StepFailed> {
    let fault = |what: &'static str| move |error: io::Error| StepFailed::new(STEP, what, error);
    let (controlling, terminal) = make().map_err(fault("making a terminal"))?;
    let input = io::stdin();
    send(input.as_fd(), controlling.as_fd()).map_err(fault("sending its controlling side"))?;
    drop(controlling);
    wait(input.as_fd(), alive.as_fd()).map_err(fault("waiting until it is set up"))?;
    rustix::stdio::dup2_stdin(&terminal)
        .and_then(|()| rustix::stdio::dup2_stdout(&terminal))
        .and_then(|()| rustix::stdio::dup2_stderr(&terminal))
        .map_err(|error| fault("taking it for the standard streams")(error.into()))?;
    Ok(terminal.into())
}

fn make() -> io::Result<(File, File)> {
    let open = |path: &std::path::Path| {
        let flags = OFlags::NOCTTY.bits().cast_signed();
        OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)
    };
    let controlling = open(std::path::Path::new("/dev/pts/ptmx"))?;
    rustix::pty::unlockpt(&controlling)?;
    let name = rustix::pty::ptsname(&controlling, Vec::new())?;
    let terminal = open(std::path::Path::new(std::ffi::OsStr::from_bytes(name.as_bytes())))?;
    Ok((controlling, terminal))
}

fn send(socket: BorrowedFd<'_>, controlling: BorrowedFd<'_>) -> io::Result<()> {
    let descriptors = [controlling];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    sendmsg(
        socket,
        &[IoSlice::new(&[CONTROLLING_SIDE])],
        &mut control,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}

fn wait(socket: BorrowedFd<'_>, alive: BorrowedFd<'_>) -> io::Result<()> {
    let mut polled = [PollFd::new(&socket, PollFlags::IN), PollFd::new(&alive, PollFlags::IN)];
    loop {
        match poll(&mut polled, Some(&PATIENCE)) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => break,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if !polled[1].revents().is_empty() {
        return Err(io::ErrorKind::Interrupted.into());
    }
    let mut answer = [0_u8];
    match rustix::io::read(socket, &mut answer)? {
        1 if answer == [READY] => Ok(()),
        _ => Err(io::Error::other("whoever started the command did not take it")),
    }
}
