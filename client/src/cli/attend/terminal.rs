//! Terminals: this program's own, and one that a command gets for itself.
//!
//! A command's own terminal lies in its sandbox. This program has the controlling side and connects it with its own standard
//! streams: bytes one way and the other, the size, and this terminal in raw mode meanwhile, so that what is typed is the command's
//! to interpret.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use portcullis_client::terminal::Coming;
use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::Errno,
    termios::{self, SpecialCodeIndex, Termios, Winsize},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::unix::pipe,
    sync::mpsc,
};

use crate::cli::failure::Failure;

/// The size of a terminal whose person has none: what programs assume.
const USUAL: Winsize = Winsize {
    ws_row: 24,
    ws_col: 80,
    ws_xpixel: 0,
    ws_ypixel: 0,
};

/// Bytes that are read at once.
const PART: usize = 16 * 1024;

/// Refuses to give a command a terminal that is not this program's to give: one in whose foreground it is not.
///
/// # Errors
/// What to do about it.
pub(crate) fn terminals_may_be_given() -> Result<(), Failure> {
    if has_terminals_to_itself() {
        return Ok(());
    }
    let text =
        "the command would have a terminal in whose foreground this program is not, and could read what is typed there";
    Err(Failure::text(text).with_help("bring it to the foreground, or redirect input and output"))
}

/// Whether this program is in the foreground of each terminal that is one of its standard streams.
pub(super) fn has_terminals_to_itself() -> bool {
    let ours = nix::unistd::getpgrp();
    let (input, output, errors) = (io::stdin(), io::stdout(), io::stderr());
    [input.as_fd(), output.as_fd(), errors.as_fd()]
        .into_iter()
        .filter(|stream| termios::isatty(stream))
        .all(|terminal| termios::tcgetpgrp(terminal).is_ok_and(|group| group.as_raw_nonzero().get() == ours.as_raw()))
}

/// Whether a stream is a terminal in whose foreground this program is not.
pub(super) fn is_behind(stream: impl AsFd) -> bool {
    let ours = nix::unistd::getpgrp();
    termios::tcgetpgrp(stream).is_ok_and(|group| group.as_raw_nonzero().get() != ours.as_raw())
}

/// How the terminal was before a command had it.
pub(super) struct Terminal(Option<Termios>);

impl Terminal {
    /// Looks at it, if all three standard streams are terminals: in a pipeline it may be another program, such as a pager, that
    /// changes it.
    pub(super) fn remember() -> Self {
        let (input, output, errors) = (io::stdin(), io::stdout(), io::stderr());
        let all = [input.as_fd(), output.as_fd(), errors.as_fd()]
            .iter()
            .all(termios::isatty);
        Self(all.then(|| termios::tcgetattr(&input).ok()).flatten())
    }
}

impl Drop for Terminal {
    /// Makes it what it was: a command that was killed, or wanted it so, leaves no terminal without echo. In the background it is
    /// somebody else's.
    fn drop(&mut self) {
        if let Some(before) = &self.0
            && has_terminals_to_itself()
        {
            let _ = termios::tcsetattr(io::stdin(), termios::OptionalActions::Now, before);
        }
    }
}

/// The controlling side of a command's terminal, shared by what copies and what hears signals.
#[derive(Debug)]
pub(super) struct Driven {
    held: Mutex<Held>,
    /// How this program's own terminal was, if its standard input is one.
    before: Option<Termios>,
}

#[derive(Debug, Default)]
struct Held {
    controlling: Option<Arc<OwnedFd>>,
    /// This program's own terminal is not touched any more.
    ended: bool,
}

/// Why a command's terminal is driven no more.
#[derive(Debug)]
pub(super) enum Undriven {
    /// None came, or it cannot be used.
    NotCome,
    /// What was written to it cannot be written out.
    Output(io::Error),
}

impl Driven {
    /// Nothing to drive yet. Looks at this program's own terminal.
    pub(super) fn new() -> Self {
        let input = io::stdin();
        let before = termios::isatty(&input)
            .then(|| termios::tcgetattr(&input).ok())
            .flatten();
        Self {
            held: Mutex::default(),
            before,
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the command's terminal as large as this one.
    pub(super) fn resize(&self) {
        if let Some(controlling) = &self.held().controlling {
            let _ = termios::tcsetwinsize(controlling, size());
        }
    }

    /// Has what is typed here reach the command as it is. Not from the background: the terminal is somebody else's then.
    pub(super) fn take_over(&self) {
        let held = self.held();
        if let (Some(before), false) = (&self.before, held.ended) {
            let mut raw = before.clone();
            raw.make_raw();
            set_own(&raw);
        }
    }

    /// Makes this program's own terminal what it was.
    pub(super) fn give_back(&self) {
        let _held = self.held();
        if let Some(before) = &self.before {
            set_own(before);
        }
    }

    /// The same for good.
    pub(super) fn end(&self) {
        self.held().ended = true;
        self.give_back();
    }

    /// Takes the terminal that comes, sets it up, and copies until it is no more. `input` is this program's standard input in parts;
    /// an empty part is its end.
    pub(super) async fn drive(&self, coming: Coming, input: mpsc::Receiver<Vec<u8>>) -> Result<(), Undriven> {
        let (reading, typing, controlling) = self.take(coming).await.map_err(|_| Undriven::NotCome)?;
        tokio::select! {
            written = write_out(reading) => written.map_err(Undriven::Output),
            () = type_in(typing, &controlling, input) => Ok(()),
        }
    }

    async fn take(&self, coming: Coming) -> io::Result<(pipe::Receiver, pipe::Sender, Arc<OwnedFd>)> {
        let (controlling, waiting) = coming.arrive().await?;
        let flags = fcntl_getfl(&controlling)?;
        fcntl_setfl(&controlling, flags | OFlags::NONBLOCK)?;
        // Tokio waits for any descriptor as it does for a pipe's.
        let reading = pipe::Receiver::from_owned_fd_unchecked(controlling.try_clone()?)?;
        let typing = pipe::Sender::from_owned_fd_unchecked(controlling.try_clone()?)?;
        let controlling = Arc::new(controlling);
        // Set from the controlling side, modes are those of the terminal.
        if let Some(before) = &self.before {
            termios::tcsetattr(&controlling, termios::OptionalActions::Now, before)?;
        }
        self.held().controlling = Some(Arc::clone(&controlling));
        self.resize();
        self.take_over();
        waiting.go().await?;
        Ok((reading, typing, controlling))
    }
}

/// Sets the modes of this program's own terminal, from its foreground only. At once: output that nobody takes holds nothing up.
fn set_own(modes: &Termios) {
    if has_terminals_to_itself() {
        let _ = termios::tcsetattr(io::stdin(), termios::OptionalActions::Now, modes);
    }
}

/// The size of this program's own terminal.
fn size() -> Winsize {
    let (input, output, errors) = (io::stdin(), io::stdout(), io::stderr());
    [output.as_fd(), input.as_fd(), errors.as_fd()]
        .into_iter()
        .find_map(|stream| termios::tcgetwinsize(stream).ok())
        .filter(|size| size.ws_row > 0 && size.ws_col > 0)
        .unwrap_or(USUAL)
}

/// What the command writes, to standard output, until its terminal is closed.
async fn write_out(mut reading: pipe::Receiver) -> io::Result<()> {
    let mut out = tokio::io::stdout();
    let mut buffer = vec![0_u8; PART];
    loop {
        let count = match reading.read(&mut buffer).await {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            // The kernel's word for a terminal that nobody has open any more.
            Err(error) if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => return Ok(()),
            Err(error) => return Err(error),
        };
        out.write_all(buffer.get(..count).unwrap_or_default()).await?;
        out.flush().await?;
    }
}

/// What comes on standard input, to the command's terminal; what that does not take any more is nobody's. Never returns: the
/// command's end is not here. An end of input is typed, as a person would.
async fn type_in(mut typing: pipe::Sender, side: &OwnedFd, mut input: mpsc::Receiver<Vec<u8>>) {
    let mut line_ended = true;
    while let Some(part) = input.recv().await {
        if part.is_empty() {
            break;
        }
        line_ended = part.ends_with(b"\n");
        let _ = typing.write_all(&part).await;
    }
    if let Ok(modes) = termios::tcgetattr(side) {
        let end = modes.special_codes[SpecialCodeIndex::VEOF];
        // In the middle of a line the first one only sends what there is of it.
        let times = if line_ended { 1 } else { 2 };
        let _ = typing.write_all(&vec![end; times]).await;
    }
    std::future::pending().await
}
