//! Answers a hook: one payload in, one JSON object out, whatever happens.
//!
//! All work is done on a second thread while the first watches the clock: a standard input that never ends, a daemon that
//! hangs and a payload that takes long to read end in the same explicit ask or deny, in the form of the event as far as it
//! is known by then. If even that cannot be written, exit code 2 with a reason on stderr is what all agents take as a
//! denial. There is no path from a failure to allow: failures go through `claude::failure` and `cursor::failure`, and
//! neither has a word for it.

mod claude;
mod cursor;
mod payload;

use std::{
    io::{self, Read as _, Write as _},
    panic,
    sync::{Arc, OnceLock, mpsc},
    thread,
    time::{Duration, Instant},
};

use portcullis_client::{Answer, Host, HostOptions, Mode, Question, question::Interactivity};
use serde_json::Value;

use super::{
    args::{AgentKind, HookArgs, HostArgs, SessionArgs},
    failure::Failure,
    output::printable,
};

/// Largest payload that is read, in bytes: contents of whole files travel in it.
const MAX_PAYLOAD_BYTES: usize = 64 * 1024 * 1024;

/// Bytes of a payload in which the event's name is looked for while it is still being read.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// Longest reason that is told, in characters.
const MAX_REASON: usize = 4000;

/// What a payload calls for.
enum Step {
    /// This answer: the event permits nothing.
    Answer(Value),
    /// A decision, to be told in this form.
    Decide(Box<Question>, Form),
    /// Nothing can be decided: why.
    Fail(String),
}

/// The form in which an agent wants an answer.
enum Form {
    Claude(claude::Form),
    Cursor(cursor::Form),
}

impl Form {
    fn render(&self, answer: &Answer) -> Value {
        match self {
            Self::Claude(form) => form.render(answer),
            Self::Cursor(form) => form.render(answer),
        }
    }
}

impl AgentKind {
    fn read(self, text: &str) -> Step {
        match self {
            Self::Claude => claude::read(text),
            Self::Cursor => cursor::read(text),
        }
    }

    /// The answer when nothing could be decided: ask or deny, never allow.
    fn failure(self, event: Option<&str>, asking: Asking, reason: &str) -> Value {
        let reason = shortened(&format!("Portcullis cannot decide: {reason}"));
        match self {
            Self::Claude => claude::failure(event, asking, &reason),
            Self::Cursor => cursor::failure(event, asking, &reason),
        }
    }
}

/// Whether a person can be asked, as far as it is known when something fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asking {
    Possible,
    Impossible,
}

impl Asking {
    fn in_session(session: &SessionArgs) -> Self {
        if session.headless || session.permission_mode == Some(Mode::DontAsk) {
            Self::Impossible
        } else {
            Self::Possible
        }
    }

    fn about(question: &Question) -> Self {
        if question.interactivity == Interactivity::Headless || question.mode == Some(Mode::DontAsk) {
            Self::Impossible
        } else {
            Self::Possible
        }
    }
}

/// Answers, and returns the exit code: 0, or 2 if no answer could be given.
pub(crate) fn main(hook: &HookArgs, host: &HostArgs) -> u8 {
    let limit = Duration::from_millis(hook.deadline_ms);
    let begun = Instant::now();
    if stdout_was_closed() {
        return refuse("standard output is closed, so there is no way to answer");
    }
    let options = host.options(limit);
    let event = Arc::new(OnceLock::new());
    let (done, result) = mpsc::sync_channel(1);
    let work = {
        let (agent, session, event) = (hook.agent, hook.session.clone(), Arc::clone(&event));
        move || answer(agent, &session, options, &event, begun + limit)
    };
    let worker = thread::Builder::new().spawn(move || {
        let _ = done.send(panic::catch_unwind(panic::AssertUnwindSafe(work)));
    });
    if let Err(error) = worker {
        return refuse(&format!("cannot start a thread: {error}"));
    }
    let value = match result.recv_timeout(limit.saturating_sub(begun.elapsed())) {
        Ok(Ok(value)) => value,
        Ok(Err(_)) | Err(mpsc::RecvTimeoutError::Disconnected) => return refuse("internal error"),
        Err(mpsc::RecvTimeoutError::Timeout) => {
            let reason = format!("no decision within {} ms", hook.deadline_ms);
            hook.agent.failure(
                event.get().map(String::as_str),
                Asking::in_session(&hook.session),
                &reason,
            )
        }
    };
    match write(&value) {
        Ok(()) => 0,
        Err(error) => refuse(&format!("cannot write the answer to standard output: {error}")),
    }
}

fn answer(
    agent: AgentKind,
    session: &SessionArgs,
    options: Result<HostOptions, Failure>,
    event: &OnceLock<String>,
    deadline: Instant,
) -> Value {
    let step = read_stdin(event).and_then(|bytes| {
        let text = String::from_utf8(bytes).map_err(|_| "the payload is not UTF-8".to_owned())?;
        Ok(agent.read(text.strip_prefix('\u{feff}').unwrap_or(&text)))
    });
    let failed = |asking, reason: &str| agent.failure(event.get().map(String::as_str), asking, reason);
    match step {
        Ok(Step::Answer(value)) => value,
        Ok(Step::Decide(mut question, form)) => {
            if let Err(failure) = session.apply(&mut question) {
                return failed(Asking::about(&question), &failure.line());
            }
            match decide(&question, options, deadline) {
                Ok(answer) => form.render(&answer),
                Err(failure) => failed(Asking::about(&question), &failure.line()),
            }
        }
        Ok(Step::Fail(reason)) | Err(reason) => failed(Asking::in_session(session), &reason),
    }
}

fn decide(question: &Question, options: Result<HostOptions, Failure>, deadline: Instant) -> Result<Answer, Failure> {
    let mut options = options?;
    options.deadline = deadline.saturating_duration_since(Instant::now());
    super::in_runtime(async {
        let host = Host::connect(&options).await?;
        Ok(host.decide(question).await?)
    })
}

/// Reads standard input to its end. Notes the event's name as soon as it can be seen.
fn read_stdin(event: &OnceLock<String>) -> Result<Vec<u8>, String> {
    let mut payload = Vec::new();
    let mut input = io::stdin().lock();
    let mut part = vec![0_u8; 256 * 1024];
    loop {
        let count = match input.read(&mut part) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(format!("cannot read standard input: {error}")),
        };
        let first = payload.len() < MAX_HEAD_BYTES;
        payload.extend_from_slice(part.get(..count).unwrap_or_default());
        if event.get().is_none()
            && (first || count == 0)
            && let Some(name) = payload::event_name(payload.get(..MAX_HEAD_BYTES).unwrap_or(&payload))
        {
            let _ = event.set(name);
        }
        if count == 0 {
            return Ok(payload);
        }
        if payload.len() > MAX_PAYLOAD_BYTES {
            return Err(format!("the payload is larger than {} MiB", MAX_PAYLOAD_BYTES >> 20));
        }
    }
}

fn write(value: &Value) -> io::Result<()> {
    let mut line = value.to_string().into_bytes();
    line.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&line)?;
    out.flush()
}

/// The last resort: a reason on stderr and exit code 2.
fn refuse(reason: &str) -> u8 {
    let _ = writeln!(io::stderr(), "portcullis: not allowed: {}", printable(reason));
    2
}

/// Whether this process was started with a closed standard output. Rust's runtime then opens `/dev/null` in its place,
/// for reading and writing, and an answer written there would be lost without an error.
fn stdout_was_closed() -> bool {
    let out = io::stdout();
    let read_write =
        rustix::fs::fcntl_getfl(&out).is_ok_and(|flags| flags & rustix::fs::OFlags::RWMODE == rustix::fs::OFlags::RDWR);
    let null = rustix::fs::stat("/dev/null");
    let same = match (rustix::fs::fstat(&out), null) {
        (Ok(out), Ok(null)) => (out.st_dev, out.st_ino) == (null.st_dev, null.st_ino),
        (Err(_), _) => true,
        (Ok(_), Err(_)) => false,
    };
    same && read_write
}

/// The reason without what a terminal would act on, and not longer than an agent should have to read.
fn shortened(reason: &str) -> String {
    let mut text: String = reason
        .chars()
        .filter(|c| !c.is_control() || *c == '\n')
        .take(MAX_REASON)
        .collect();
    if reason.chars().nth(MAX_REASON).is_some() {
        text.push('…');
    }
    text
}

/// The first text that is not blank; an agent ignores an answer with an empty reason.
fn first_of(texts: &[&str]) -> String {
    let found = texts.iter().find(|text| !text.trim().is_empty()).copied();
    shortened(found.unwrap_or("Portcullis gave no reason"))
}
