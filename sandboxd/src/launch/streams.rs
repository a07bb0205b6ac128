//! The command's standard streams, where a person's shell opened them outside.
//!
//! A descriptor carries the mount it was opened through. `/proc/self/fd/0` leads back there, past the read-only mounts of
//! this sandbox: a folder gives everything below it, and a file that was opened for reading can be opened for writing.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{AccessFs, BitFlags};
use rustix::fs::{FileType, OFlags};
use rustix::net::SocketType;

use super::StepFailed;

const STEP: &str = "standard_streams";

/// Takes from the streams what leads past the mounts. To be called when the file tree stands. What a person's shell opened
/// for writing stays as it is: that file was given to the command.
///
/// # Errors
/// If a stream is a folder, or a file below `writable` (what of the host may be written) that is not the same inside.
pub fn confine(writable: &[PathBuf]) -> Result<(), StepFailed> {
    let streams = [
        ("standard input", io::stdin().as_fd().try_clone_to_owned()),
        ("standard output", io::stdout().as_fd().try_clone_to_owned()),
        ("standard error", io::stderr().as_fd().try_clone_to_owned()),
    ];
    for (number, (name, stream)) in streams.into_iter().enumerate() {
        let fault = |what: &str, source: io::Error| StepFailed::new(STEP, format!("{what} the {name}"), source);
        let stream = match stream {
            Ok(stream) => stream,
            // A stream that is closed leads nowhere.
            Err(error) if error.raw_os_error() == Some(libc::EBADF) => continue,
            Err(error) => return Err(fault("looking at", error)),
        };
        let inside = same_inside(stream.as_fd(), number, writable).map_err(|error| fault("confining", error))?;
        if let Some(inside) = inside {
            let replaced = match number {
                0 => rustix::stdio::dup2_stdin(&inside),
                1 => rustix::stdio::dup2_stdout(&inside),
                _ => rustix::stdio::dup2_stderr(&inside),
            };
            replaced.map_err(|error| fault("replacing", error.into()))?;
        }
    }
    Ok(())
}

/// Refuses streams by which something can be sent to whom one names. Without a network of its own that is anybody.
///
/// # Errors
/// If a stream is a socket for datagrams.
pub fn refuse_datagrams() -> Result<(), StepFailed> {
    let (input, output, error) = (io::stdin(), io::stdout(), io::stderr());
    for stream in [input.as_fd(), output.as_fd(), error.as_fd()] {
        let kind = rustix::net::sockopt::socket_type(stream);
        if kind.is_ok_and(|kind| kind != SocketType::STREAM && kind != SocketType::SEQPACKET) {
            let cause = io::Error::new(io::ErrorKind::InvalidInput, "it is a socket for datagrams");
            return Err(StepFailed::new(STEP, "looking at the standard streams", cause));
        }
    }
    Ok(())
}

/// What Landlock is to permit on the terminals and files behind the streams, for programs that open `/dev/stderr`: what the
/// descriptor does, and no more. What was opened to append to is not emptied. To be called when the streams are confined.
pub(super) fn opened_again() -> Vec<(OwnedFd, BitFlags<AccessFs>)> {
    let (input, output, error) = (io::stdin(), io::stdout(), io::stderr());
    let streams = [input.as_fd(), output.as_fd(), error.as_fd()].into_iter();
    streams
        .filter_map(|stream| Some((stream.try_clone_to_owned().ok()?, access_of(stream)?)))
        .collect()
}

fn access_of(stream: BorrowedFd<'_>) -> Option<BitFlags<AccessFs>> {
    let kind = FileType::from_raw_mode(rustix::fs::fstat(stream).ok()?.st_mode);
    let terminal = kind == FileType::CharacterDevice && rustix::termios::isatty(stream);
    if kind != FileType::RegularFile && !terminal {
        return None;
    }
    let flags = rustix::fs::fcntl_getfl(stream).ok()?;
    let mode = flags & OFlags::RWMODE;
    let mut access = BitFlags::empty();
    if flags.contains(OFlags::PATH) {
        return None;
    }
    if mode != OFlags::WRONLY {
        access |= AccessFs::ReadFile;
    }
    if mode != OFlags::RDONLY {
        access |= AccessFs::WriteFile;
        if !flags.contains(OFlags::APPEND) {
            access |= AccessFs::Truncate;
        }
    }
    if terminal {
        access |= AccessFs::IoctlDev;
    }
    Some(access)
}

/// The same file, opened through this sandbox's mounts at the same place; `None` if the stream can stay.
fn same_inside(stream: BorrowedFd<'_>, number: usize, writable: &[PathBuf]) -> io::Result<Option<File>> {
    let found = rustix::fs::fstat(stream)?;
    let flags = rustix::fs::fcntl_getfl(stream)?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory | FileType::BlockDevice => {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a folder or a disk"));
        }
        FileType::RegularFile if flags.contains(OFlags::PATH) => {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is not open for reading",
            ));
        }
        // Nobody else has one without a name, such as a here-document.
        FileType::RegularFile if found.st_nlink > 0 && flags & OFlags::RWMODE == OFlags::RDONLY => {}
        _ => return Ok(None),
    }
    let path = std::fs::read_link(Path::new("/proc/self/fd").join(number.to_string()))?;
    let open = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = rustix::fs::open(&path, open, rustix::fs::Mode::empty()).map_err(io::Error::from);
    let same = opened.and_then(|opened| {
        let inside = rustix::fs::fstat(&opened)?;
        Ok((inside.st_dev, inside.st_ino) == (found.st_dev, found.st_ino)).map(|same| same.then_some(opened))
    });
    match same {
        Ok(Some(opened)) => {
            let mut inside = File::from(opened);
            inside.seek(SeekFrom::Start(rustix::fs::tell(stream)?))?;
            Ok(Some(inside))
        }
        // Elsewhere the second wall keeps it from being opened for writing.
        Ok(None) | Err(_) if !writable.iter().any(|root| path.starts_with(root)) => Ok(None),
        Ok(None) => Err(io::Error::other(format!("`{}` is another file inside", path.display()))),
        Err(error) => Err(error),
    }
}
