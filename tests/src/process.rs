//! A program that runs beside the test, with its log and its end.

use std::{
    io::{BufRead as _, BufReader, Read},
    os::{fd::OwnedFd, unix::process::ExitStatusExt as _},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};

use crate::PATIENCE;

/// A running program. Killed when dropped.
pub struct Process {
    name: String,
    child: Child,
    pidfd: OwnedFd,
    readers: Vec<JoinHandle<()>>,
    lines: Receiver<String>,
    log: Arc<Mutex<String>>,
    said: Arc<Mutex<String>>,
    ended: Option<ExitStatus>,
}

impl Process {
    /// Starts a program with no standard input.
    pub fn spawn(name: &str, command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {name}: {error}"));
        let log = Arc::new(Mutex::new(String::new()));
        let said = Arc::new(Mutex::new(String::new()));
        let (sender, lines) = channel();
        let readers = vec![
            read_lines(
                child.stdout.take().unwrap(),
                vec![Arc::clone(&log), Arc::clone(&said)],
                sender.clone(),
            ),
            read_lines(child.stderr.take().unwrap(), vec![Arc::clone(&log)], sender),
        ];
        Self {
            name: name.to_owned(),
            pidfd: pidfd(&child),
            child,
            readers,
            lines,
            log,
            said,
            ended: None,
        }
    }

    /// Waits for a line of output that contains `words`, and returns it. Skips the lines before it.
    ///
    /// # Panics
    /// If the program ends without it, or it does not come in time.
    pub fn line_with(&self, words: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self
                .lines
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(line) if line.contains(words) => return line,
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => panic!("{} did not say `{words}`:\n{}", self.name, self.log()),
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("{} ended without saying `{words}`:\n{}", self.name, self.log())
                }
            }
        }
    }

    /// What it has written to standard output so far. In [`Self::log`] lines of standard error may stand in between.
    #[must_use]
    pub fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Everything it has written so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        // Its having ended meanwhile is for `wait` to find.
        let _ = pidfd_send_signal(&self.pidfd, signal);
    }

    /// SIGKILL, and waits for the end.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.wait();
    }

    /// SIGTERM, and waits for the end, which has to be a success.
    pub fn stop(&mut self) {
        self.signal(Signal::TERM);
        let status = self.wait();
        assert!(
            status.success(),
            "{} did not stop cleanly ({status}):\n{}",
            self.name,
            self.log()
        );
    }

    /// Waits for its end and for the last of its output.
    pub fn wait(&mut self) -> ExitStatus {
        if let Some(status) = self.ended {
            return status;
        }
        assert!(
            ends_within(&self.pidfd, PATIENCE),
            "{} did not end:\n{}",
            self.name,
            self.log()
        );
        let status = self.child.wait().unwrap();
        self.ended = Some(status);
        for reader in self.readers.drain(..) {
            reader.join().unwrap();
        }
        status
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.ended.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        if thread::panicking() {
            eprintln!("---- {} wrote ----\n{}", self.name, self.log());
        }
    }
}

/// Runs a program to its end, feeding it `input`.
///
/// # Panics
/// If it does not end in time.
pub fn run(command: &mut Command, input: &[u8]) -> (ExitStatus, Vec<u8>, Vec<u8>) {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    let stdout = read_all(child.stdout.take().unwrap());
    let stderr = read_all(child.stderr.take().unwrap());
    let input = input.to_vec();
    // A program that does not read its input closes the pipe; that is its right.
    let writer = thread::spawn(move || drop(std::io::Write::write_all(&mut stdin, &input)));
    if !ends_within(&pidfd(&child), PATIENCE) {
        let _ = child.kill();
        let _ = child.wait();
        panic!(
            "{command:?} did not end in time:\n{}{}",
            String::from_utf8_lossy(&stdout.join().unwrap()),
            String::from_utf8_lossy(&stderr.join().unwrap())
        );
    }
    let status = child.wait().unwrap();
    writer.join().unwrap();
    (status, stdout.join().unwrap(), stderr.join().unwrap())
}

/// The exit status as a shell would give it: 128 and the signal's number for a killed program.
#[must_use]
pub fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap())
}

/// A process that somebody else has started.
pub struct Watched(OwnedFd);

impl Watched {
    /// Watches a living process.
    #[must_use]
    pub fn new(pid: Pid) -> Self {
        Self(pidfd_open(pid, PidfdFlags::empty()).unwrap())
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.0, signal);
    }

    /// Waits for its end, whether or not somebody reaps it; `false` if it does not come in time.
    #[must_use]
    pub fn ends(&self) -> bool {
        ends_within(&self.0, PATIENCE)
    }
}

fn pidfd(child: &Child) -> OwnedFd {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    pidfd_open(pid, PidfdFlags::empty()).unwrap()
}

fn ends_within(pidfd: &OwnedFd, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    loop {
        let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).unwrap();
        match poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&left)) {
            Ok(ready) => return ready > 0,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => panic!("cannot wait for a process: {error}"),
        }
    }
}

fn read_all(mut stream: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        bytes
    })
}

fn read_lines(
    stream: impl Read + Send + 'static,
    logs: Vec<Arc<Mutex<String>>>,
    sender: Sender<String>,
) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        while stream.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let text = String::from_utf8_lossy(&line).into_owned();
            for log in &logs {
                log.lock().unwrap().push_str(&text);
            }
            // Nobody has to listen.
            let _ = sender.send(text.trim_end().to_owned());
            line.clear();
        }
    })
}
