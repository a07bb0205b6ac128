//! Standard streams that clients hand over, until a run takes them (see `portcullis_proto::streams`).
//!
//! A command that gets its caller's own streams has the caller's terminal, files and pipes, at their speed, and nothing stands
//! between. The descriptors are given to the launcher and to nothing else; this process reads and writes none of them.

use std::collections::VecDeque;
use std::io::{self, IoSliceMut, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Blocking;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use portcullis_proto::streams::{COUNT, NAME_BYTES, TAKEN};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Longest wait for a client that has connected, and for the run after it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Most streams that wait for their runs, and most clients that are listened to at once.
const MAX_WAITING: usize = crate::daemon::MAX_RUNS;

/// How often streams are looked for that no run has taken.
const LOOK: Duration = Duration::from_secs(1);

/// Pause after a failure to accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The name that a client gave.
pub type Name = [u8; NAME_BYTES];

/// Standard input, output and error of a caller.
#[derive(Debug)]
pub struct Streams {
    /// Standard input.
    pub stdin: OwnedFd,
    /// Standard output.
    pub stdout: OwnedFd,
    /// Standard error.
    pub stderr: OwnedFd,
}

#[derive(Debug)]
struct Waiting {
    name: Name,
    since: Instant,
    streams: Streams,
}

/// Streams that wait for their runs.
#[derive(Debug, Default)]
pub struct HandedOver(Mutex<VecDeque<Waiting>>);

impl HandedOver {
    /// Takes the streams of a name. Each can be taken once.
    #[must_use]
    pub fn take(&self, name: &[u8]) -> Option<Streams> {
        let mut waiting = self.lock();
        forget_old(&mut waiting);
        let at = waiting.iter().position(|entry| entry.name == name)?;
        waiting.remove(at).map(|entry| entry.streams)
    }

    fn keep(&self, name: Name, streams: Streams) -> io::Result<()> {
        let mut waiting = self.lock();
        forget_old(&mut waiting);
        if waiting.len() >= MAX_WAITING {
            return Err(io::Error::other("too many streams wait for their runs"));
        }
        if waiting.iter().any(|entry| entry.name == name) {
            return Err(io::Error::other("the name is taken"));
        }
        waiting.push_back(Waiting {
            name,
            since: Instant::now(),
            streams,
        });
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes what no run has taken. To be called now and then: a pipe that is held here does not end.
    pub fn close_old(&self) {
        forget_old(&mut self.lock());
    }
}

fn forget_old(waiting: &mut VecDeque<Waiting>) {
    waiting.retain(|entry| entry.since.elapsed() < PATIENCE);
}

/// Takes streams from clients of this user until the daemon ends.
pub async fn receive(listener: UnixListener, handed_over: Arc<HandedOver>, stop: CancellationToken) {
    let own = rustix::process::geteuid().as_raw();
    let at_once = Arc::new(Semaphore::new(MAX_WAITING));
    let mut look = tokio::time::interval(LOOK);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = look.tick() => {
                handed_over.close_old();
                continue;
            }
            () = stop.cancelled() => return,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection for streams");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        if !stream.peer_cred().is_ok_and(|peer| peer.uid() == own) {
            continue; // Closed: whoever it is, it is not for them.
        }
        let Ok(permit) = Arc::clone(&at_once).try_acquire_owned() else {
            continue;
        };
        let handed_over = Arc::clone(&handed_over);
        tokio::task::spawn_blocking(move || {
            if let Err(error) = take(stream, &handed_over) {
                tracing::warn!(%error, "streams were not taken");
            }
            drop(permit);
        });
    }
}

/// Takes the streams of one client and says so. Waits for a bounded time.
fn take(stream: UnixStream, handed_over: &HandedOver) -> io::Result<()> {
    let stream = stream.into_std()?;
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (name, streams) = read(&stream)?;
    handed_over.keep(name, streams)?;
    (&stream).write_all(&[TAKEN])
}

fn read(stream: &Blocking) -> io::Result<(Name, Streams)> {
    let unusable = |what| io::Error::new(io::ErrorKind::InvalidData, what);
    let mut name = [0u8; NAME_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(COUNT))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(
        stream,
        &mut [IoSliceMut::new(&mut name)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    if received.bytes != NAME_BYTES || received.flags.intersects(ReturnFlags::CTRUNC | ReturnFlags::TRUNC) {
        return Err(unusable("a client's message is not whole"));
    }
    let [stdin, stdout, stderr]: [OwnedFd; COUNT] = descriptors
        .try_into()
        .map_err(|_| unusable("a client's message does not hold three descriptors"))?;
    Ok((name, Streams { stdin, stdout, stderr }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streams() -> Streams {
        let null = || OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        Streams {
            stdin: null(),
            stdout: null(),
            stderr: null(),
        }
    }

    #[test]
    fn streams_are_taken_once_and_by_their_name() {
        let handed_over = HandedOver::default();
        handed_over.keep([1; NAME_BYTES], streams()).unwrap();
        assert!(handed_over.keep([1; NAME_BYTES], streams()).is_err());
        assert!(handed_over.take(&[2; NAME_BYTES]).is_none());
        assert!(handed_over.take(b"").is_none());
        assert!(handed_over.take(&[1; NAME_BYTES]).is_some());
        assert!(handed_over.take(&[1; NAME_BYTES]).is_none());
    }

    #[test]
    fn no_more_wait_than_may() {
        let handed_over = HandedOver::default();
        for number in 0..MAX_WAITING {
            let mut name = [0; NAME_BYTES];
            name[..8].copy_from_slice(&number.to_ne_bytes());
            handed_over.keep(name, streams()).unwrap();
        }
        assert!(handed_over.keep([255; NAME_BYTES], streams()).is_err());
    }

    #[test]
    fn a_message_without_three_descriptors_is_refused() {
        let (ours, theirs) = Blocking::pair().unwrap();
        (&theirs).write_all(&[1; NAME_BYTES]).unwrap();
        assert!(read(&ours).is_err());
        (&theirs).write_all(&[1]).unwrap();
        assert!(read(&ours).is_err());
        drop(theirs);
        assert!(read(&ours).is_err());
    }
}
