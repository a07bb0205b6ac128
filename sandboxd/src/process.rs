//! The launcher as a child of the daemon: starting it, hearing its reports, telling it to end.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use prost::Message as _;

use crate::launch::spec::{Event, MAX_REPORT_BYTES, Spec, next_report};
use crate::streams::Streams;
use crate::sys::process::inherit;

/// A launcher that was started.
#[derive(Debug)]
pub struct Launched {
    /// The launcher itself. It ends when its sandbox has ended, and kills it when killed.
    pub child: Child,
    /// What it reports.
    pub reports: Reports,
    /// The way to signal the command, and to end it.
    pub control: Control,
    /// The command's standard input.
    pub stdin: Option<ChildStdin>,
    /// The command's standard output.
    pub stdout: Option<ChildStdout>,
    /// The command's standard error.
    pub stderr: Option<ChildStderr>,
}

/// Reports, as they arrive.
#[derive(Debug)]
pub struct Reports {
    pipe: pipe::Receiver,
    bytes: Vec<u8>,
}

impl Reports {
    /// The next report; `None` when the launcher and its sandbox have ended.
    ///
    /// # Errors
    /// If what arrives is no report.
    pub async fn next(&mut self) -> io::Result<Option<Event>> {
        loop {
            if let Some(event) = next_report(&mut self.bytes)? {
                return Ok(Some(event));
            }
            if self.bytes.len() > MAX_REPORT_BYTES + 4 {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the report is too large"));
            }
            if self.pipe.read_buf(&mut self.bytes).await? == 0 {
                return Ok(None);
            }
        }
    }
}

/// The lifeline: while it is open the sandbox may live.
#[derive(Debug)]
pub struct Control(Option<pipe::Sender>);

impl Control {
    /// Sends a signal to the command.
    pub async fn signal(&mut self, number: u8) {
        if let Some(pipe) = &mut self.0 {
            let _ = pipe.write_all(&[number]).await;
        }
    }

    /// Ends the sandbox and every process in it.
    pub fn end(&mut self) {
        self.0 = None;
    }
}

/// Starts the launcher. It holds the run's note, if there is one, until its sandbox has ended. `filter` is its end of the
/// socket to the network filter, which a specification with a filtered network needs. The command gets `streams`, or pipes to
/// this process without any.
///
/// # Errors
/// If it cannot be started.
pub fn launch(
    launcher: &Path,
    spec: &Spec,
    filter: Option<OwnedFd>,
    note: Option<File>,
    streams: Option<Streams>,
) -> io::Result<Launched> {
    let spec_fd = memfd_create("portcullis-spec", MemfdFlags::CLOEXEC)?;
    let mut file = File::from(spec_fd);
    file.write_all(&spec.encode_to_vec())?;
    file.rewind()?;
    let (reports, status) = pipe_with(PipeFlags::CLOEXEC)?;
    let (control, signals) = pipe_with(PipeFlags::CLOEXEC)?;
    let mut command = std::process::Command::new(launcher);
    command.arg("run").env_clear().current_dir("/");
    match streams {
        Some(Streams { stdin, stdout, stderr }) => command.stdin(stdin).stdout(stdout).stderr(stderr),
        None => command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped()),
    };
    let mut descriptors = vec![OwnedFd::from(file), status, control];
    descriptors.extend(filter);
    descriptors.extend(note.map(OwnedFd::from));
    inherit(&mut command, descriptors);
    let mut command = Command::from(command);
    command.kill_on_drop(true);
    let mut child = command.spawn()?;
    // The child has its own copies; ours would keep the reports, and the caller's streams, from ending.
    drop(command);
    Ok(Launched {
        reports: Reports {
            pipe: pipe::Receiver::from_owned_fd(reports)?,
            bytes: Vec::new(),
        },
        control: Control(Some(pipe::Sender::from_owned_fd(signals)?)),
        stdin: child.stdin.take(),
        stdout: child.stdout.take(),
        stderr: child.stderr.take(),
        child,
    })
}
