//! Starts the server and sandboxd, waits until both are ready, watches them, and stops them.
//!
//! Everything that happens arrives as an [`Event`] on one channel, so nothing is polled. The kernel kills the programs if
//! this process is killed (see [`crate::guard`]); otherwise they end here: asked first, killed if they do not listen.

use std::{
    io::{BufRead as _, BufReader, Read},
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Child, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::{
    failure::{Failure, Result},
    guard, output,
    toolchain::Programs,
};

/// How long a program may take to get ready: the first start of the server migrates and writes a database on what may be
/// a slow disk.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// How long a program may take to end when asked: more than the server's own limit for draining.
const ENDS_WITHIN: Duration = Duration::from_secs(15);

/// How long the last words of an ended program may be on their way.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(1);

/// Something happened.
enum Event {
    /// A program wrote a line to standard output.
    Said(&'static str, String),
    /// A program wrote a line to standard error.
    Logged(&'static str, String),
    /// One of a program's two streams is at its end.
    Silent(&'static str),
    /// A program has ended; it waits to be reaped.
    Ended(&'static str),
    /// A person or a supervisor wants us to stop.
    StopAsked,
}

/// How to start.
pub(crate) struct Options<'a> {
    /// Passed on as `--data-dir`; the programs choose if there is none.
    pub(crate) data_dir: Option<&'a Path>,
    /// Passed on to the server as `--listen`.
    pub(crate) listen: Option<&'a str>,
    /// Whether to pass on what the programs log.
    pub(crate) show_logs: bool,
    /// Whether Ctrl-C is an event for [`Stack::wait`]; otherwise it ends this process, and the kernel the programs.
    pub(crate) stop_on_signals: bool,
}

/// The two programs, running.
pub(crate) struct Stack {
    events: Receiver<Event>,
    sender: Sender<Event>,
    parts: Vec<Part>,
    show_logs: bool,
    /// What the server says it listens on: `http://127.0.0.1:PORT`.
    pub(crate) server_address: String,
    /// What sandboxd says it listens on: `unix:PATH`.
    pub(crate) sandboxd_address: String,
}

struct Part {
    name: &'static str,
    child: Child,
    /// Set once it is reaped.
    ended: Option<ExitStatus>,
    open_streams: u8,
    /// Whether it has said that it listens.
    ready: bool,
    /// What it wrote before that: shown once it is ready. If it never is, only its reason counts.
    held: Vec<String>,
}

impl Stack {
    /// Starts both, the server first, and returns when both are ready.
    ///
    /// # Errors
    /// If one cannot be started, ends, or is not ready in time. Nothing runs then.
    pub(crate) fn start(programs: &Programs, options: &Options<'_>) -> Result<Self> {
        let (sender, events) = channel();
        let mut stack = Self {
            events,
            sender,
            parts: Vec::new(),
            show_logs: options.show_logs,
            server_address: String::new(),
            sandboxd_address: String::new(),
        };
        if options.stop_on_signals {
            stack.listen_for_stop()?;
        }
        let mut server: Vec<&str> = Vec::new();
        if let Some(listen) = options.listen {
            server.extend(["--listen", listen]);
        }
        stack.server_address = stack.start_part("server", &programs.server, &server, options.data_dir)?;
        stack.sandboxd_address = stack.start_part("sandboxd", &programs.sandboxd, &[], options.data_dir)?;
        Ok(stack)
    }

    /// Waits until somebody asks to stop, or a program ends by itself.
    ///
    /// # Errors
    /// In the second case.
    pub(crate) fn wait(&mut self) -> Result<()> {
        loop {
            match self.next(None)? {
                Event::StopAsked => return Ok(()),
                Event::Ended(name) => {
                    let status = self.last_words(name)?;
                    return Err(Failure::new(format!("{name} ended by itself ({})", describe(status)))
                        .help("its last log lines stand above"));
                }
                Event::Said(..) | Event::Logged(..) | Event::Silent(_) => {}
            }
        }
    }

    /// Stops both: sandboxd first, because the outcomes of what it ends go to the server. Asks, then kills.
    pub(crate) fn stop(&mut self) {
        for name in ["sandboxd", "server"] {
            if let Err(failure) = self.stop_part(name) {
                failure.print();
            }
        }
    }

    fn start_part(
        &mut self,
        name: &'static str,
        program: &Path,
        arguments: &[&str],
        data_dir: Option<&Path>,
    ) -> Result<String> {
        let mut command = guard::command(program)?;
        command
            .arg("serve")
            .args(data_dir.into_iter().flat_map(|dir| [Path::new("--data-dir"), dir]))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(|cause| Failure::io(format!("cannot start `{}`", program.display()), &cause))?;
        self.read(name, child.stdout.take(), Event::Said);
        self.read(name, child.stderr.take(), Event::Logged);
        let id = pid(&child)?;
        let sender = self.sender.clone();
        thread::spawn(move || {
            // Leaves it to be reaped by the main thread, so that its process id cannot be somebody else's meanwhile.
            while let Err(rustix::io::Errno::INTR) =
                waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
            {}
            let _ = sender.send(Event::Ended(name));
        });
        self.parts.push(Part {
            name,
            child,
            ended: None,
            open_streams: 2,
            ready: false,
            held: Vec::new(),
        });
        self.wait_until_ready(name)
    }

    fn wait_until_ready(&mut self, name: &'static str) -> Result<String> {
        let deadline = Instant::now() + READY_WITHIN;
        loop {
            match self.next(Some(deadline)) {
                Ok(Event::Said(_, line)) => {
                    if let Some((_, address)) = line.split_once(" listening on ") {
                        self.release(name);
                        return Ok(address.trim().to_owned());
                    }
                }
                Ok(Event::Ended(ended)) => {
                    let status = self.last_words(ended)?;
                    let reason = self.part(ended).and_then(|part| reason(&part.held));
                    return Err(Failure::new(reason.unwrap_or_else(|| {
                        format!("{ended} ended before it was ready ({})", describe(status))
                    })));
                }
                Ok(Event::StopAsked) => return Err(Failure::new("stopped before everything was ready")),
                Ok(Event::Logged(..) | Event::Silent(_)) => {}
                Err(_) => {
                    self.release(name);
                    let seconds = READY_WITHIN.as_secs();
                    return Err(Failure::new(format!("{name} was not ready within {seconds} seconds")));
                }
            }
        }
    }

    fn stop_part(&mut self, name: &'static str) -> Result<()> {
        let Some(part) = self.part(name) else { return Ok(()) };
        if part.ended.is_some() {
            return Ok(());
        }
        part.signal(Signal::TERM);
        let deadline = Instant::now() + ENDS_WITHIN;
        loop {
            match self.next(Some(deadline)) {
                Ok(Event::Ended(ended)) => {
                    let status = self.last_words(ended)?;
                    if ended == name {
                        return if status.success() {
                            Ok(())
                        } else {
                            Err(Failure::new(format!(
                                "{name} did not end cleanly ({})",
                                describe(status)
                            )))
                        };
                    }
                }
                Ok(Event::Said(..) | Event::Logged(..) | Event::Silent(_)) => {}
                // Asked a second time, or out of patience.
                Ok(Event::StopAsked) | Err(_) => {
                    if let Some(part) = self.part(name) {
                        part.kill();
                    }
                    return Err(Failure::new(format!("{name} had to be killed")));
                }
            }
        }
    }

    /// The next event; log lines are passed on here. Fails at the deadline.
    fn next(&mut self, deadline: Option<Instant>) -> Result<Event> {
        let event = match deadline {
            None => self.events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(deadline) => self
                .events
                .recv_timeout(deadline.saturating_duration_since(Instant::now())),
        }
        .map_err(|_| Failure::new("nothing happened in time"))?;
        match &event {
            Event::Said(name, line) | Event::Logged(name, line) => self.show(name, line),
            Event::Silent(name) => {
                if let Some(part) = self.part(name) {
                    part.open_streams = part.open_streams.saturating_sub(1);
                }
            }
            Event::Ended(_) | Event::StopAsked => {}
        }
        Ok(event)
    }

    fn show(&mut self, name: &'static str, line: &str) {
        let show = self.show_logs;
        match self.part(name) {
            Some(part) if !part.ready => part.held.push(line.to_owned()),
            _ if show => output::err(&format!("{name:<8} | {line}")),
            _ => {}
        }
    }

    /// Shows what was held back, and from now on all at once.
    fn release(&mut self, name: &'static str) {
        let Some(part) = self.part(name) else { return };
        part.ready = true;
        for line in std::mem::take(&mut part.held) {
            self.show(name, &line);
        }
    }

    /// Reaps an ended program, after what it wrote last has come through.
    fn last_words(&mut self, name: &'static str) -> Result<ExitStatus> {
        let deadline = Instant::now() + LAST_WORDS_WITHIN;
        // A stream may stay open if something it started still holds it, so there is a limit.
        while self.part(name).is_some_and(|part| part.open_streams > 0) && self.next(Some(deadline)).is_ok() {}
        let part = self
            .part(name)
            .ok_or_else(|| Failure::new(format!("{name} was never started")))?;
        let status = part
            .child
            .wait()
            .map_err(|cause| Failure::io(format!("cannot learn how {name} ended"), &cause))?;
        part.ended = Some(status);
        Ok(status)
    }

    fn part(&mut self, name: &str) -> Option<&mut Part> {
        self.parts.iter_mut().find(|part| part.name == name)
    }

    fn read(
        &self,
        name: &'static str,
        stream: Option<impl Read + Send + 'static>,
        event: fn(&'static str, String) -> Event,
    ) {
        let sender = self.sender.clone();
        thread::spawn(move || {
            if let Some(stream) = stream {
                let mut stream = BufReader::new(stream);
                let mut line = Vec::new();
                while stream.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                    let text = String::from_utf8_lossy(&line).trim_end().to_owned();
                    if sender.send(event(name, text)).is_err() {
                        return;
                    }
                    line.clear();
                }
            }
            let _ = sender.send(Event::Silent(name));
        });
    }

    fn listen_for_stop(&self) -> Result<()> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

        let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])
            .map_err(|cause| Failure::io("cannot listen for Ctrl-C", &cause))?;
        let sender = self.sender.clone();
        thread::spawn(move || {
            for _ in signals.forever() {
                if sender.send(Event::StopAsked).is_err() {
                    return;
                }
            }
        });
        Ok(())
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // Whatever `stop` did not end, or where it never came to that.
        for part in &mut self.parts {
            if part.ended.is_none() {
                part.kill();
            }
        }
    }
}

impl Part {
    fn signal(&self, signal: Signal) {
        // It is not reaped yet, so the id is its own; it may have ended by itself, which is what we want.
        if let Ok(id) = pid(&self.child) {
            let _ = kill_process(id, signal);
        }
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        self.ended = self.child.wait().ok();
    }
}

/// Why a program did not start, out of what it wrote: its last report, which begins with its name, without the log lines
/// before; everything, if there is none; `None` if it wrote nothing.
fn reason(lines: &[String]) -> Option<String> {
    let begin = lines
        .iter()
        .rposition(|line| line.starts_with("portcullis-") || line.starts_with("error: "))
        .unwrap_or(0);
    let report = lines.get(begin..).unwrap_or_default().join("\n");
    let report = report.trim_end();
    let report = report.strip_prefix("error: ").unwrap_or(report);
    (!report.is_empty()).then(|| report.to_owned())
}

fn pid(child: &Child) -> Result<Pid> {
    i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| Failure::new("the system gave a process no id"))
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// The data directory that the programs will use: as given, else as their own rule says.
pub(crate) fn data_dir(given: Option<&Path>) -> Option<PathBuf> {
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    given
        .map(Path::to_path_buf)
        .or_else(|| variable("PORTCULLIS_DATA_DIR"))
        .or_else(|| {
            variable("XDG_DATA_HOME")
                .filter(|path| path.is_absolute())
                .map(|path| path.join("portcullis"))
        })
        .or_else(|| variable("HOME").map(|home| home.join(".local/share/portcullis")))
}

#[cfg(test)]
mod tests {
    use super::reason;

    fn of(lines: &[&str]) -> Option<String> {
        reason(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_failed_start_is_told_without_the_log_before_it() {
        let said = "portcullis-server: cannot listen on `x`: taken";
        assert_eq!(of(&["2026 INFO opening", said]).as_deref(), Some(said));
        assert_eq!(of(&[said, "  because: y"]).unwrap(), format!("{said}\n  because: y"));
        assert_eq!(of(&["error: no such option"]).as_deref(), Some("no such option"));
        assert_eq!(
            of(&["thread panicked", "note"]).as_deref(),
            Some("thread panicked\nnote")
        );
        assert_eq!(of(&[]), None);
    }
}
