//! `portcullis audit`: reads the trail, page by page or as it grows; exports and verifies it (`evidence`).

use std::{fmt::Write as _, thread, time::Duration};

use portcullis_client::{
    CallError, ConnectError, FailureClass, Server, ServerOptions, Verdict,
    audit::{Body, Filter, Record, RefusalOf},
};
use tokio::{signal, sync::oneshot, task, time::sleep};

use super::{
    args::{AuditCommand, ExportFormat, FilterArgs, Format, HostArgs},
    decide::rule_text,
    failure::Failure,
    output::{self, printable, verdict},
};

/// Records asked for at once.
const PAGE: u64 = 500;

/// First wait before connecting again, doubled each time up to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// Longest wait before connecting again: a server that restarts is back within seconds.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

mod evidence;

pub(crate) async fn main(command: &AuditCommand, host: &HostArgs) -> Result<u8, Failure> {
    match command {
        AuditCommand::Query {
            filter,
            since,
            until,
            decision,
            limit,
            format,
            server,
        } => {
            let filter = Filter {
                since: *since,
                until: *until,
                decision_id: decision.clone(),
                ..filter.to_filter()
            };
            let server = Server::connect(&server.options(host)?).await?;
            query(&server, &filter, *limit, *format).await
        }
        AuditCommand::Export {
            out,
            format: ExportFormat::Ndjson,
            server,
        } => evidence::export(&Server::connect(&server.options(host)?).await?, out.as_deref()).await,
        AuditCommand::Anchor { out, server } => {
            evidence::anchor(&Server::connect(&server.options(host)?).await?, out.as_deref()).await
        }
        AuditCommand::Verify(arguments) => evidence::verify(arguments),
        AuditCommand::Tail {
            filter,
            from_start,
            after,
            format,
            server,
        } => {
            let after = if *from_start { Some(0) } else { *after };
            let filter = filter.to_filter();
            // Asked anew before each connection: a server that restarts may listen elsewhere.
            let options = || server.options(host);
            tokio::select! {
                result = tail(options, &filter, after, *format) => result,
                // Nobody reads any more; without this it would only be noticed at the next record.
                _ = reader_gone() => Ok(0),
                interrupt = signal::ctrl_c() => interrupt
                    .map(|()| 0)
                    .map_err(|cause| Failure::io("cannot listen to signals", cause)),
            }
        }
    }
}

/// Waits until the reader of standard output is gone. Never ends if that is a file or a terminal that stays.
async fn reader_gone() {
    use rustix::event::{PollFd, PollFlags, poll};
    let (gone, wait) = oneshot::channel();
    let watch = move || {
        let out = std::io::stdout();
        loop {
            // Errors and hang-ups are told without being asked for.
            let mut watched = [PollFd::new(&out, PollFlags::empty())];
            match poll(&mut watched, None) {
                Ok(_)
                    if watched
                        .iter()
                        .any(|out| out.revents().intersects(PollFlags::ERR | PollFlags::HUP)) =>
                {
                    break;
                }
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
        let _ = gone.send(());
    };
    if thread::Builder::new().spawn(watch).is_err() || wait.await.is_err() {
        std::future::pending::<()>().await;
    }
}

impl FilterArgs {
    fn to_filter(&self) -> Filter {
        Filter {
            kind: self.kind.map(Into::into),
            effect: self.effect.map(Verdict::from),
            session_id: self.session.clone(),
            principal: self.principal.clone(),
            tool_name: self.tool.clone(),
            ..Filter::default()
        }
    }
}

async fn query(server: &Server, filter: &Filter, limit: u64, format: Format) -> Result<u8, Failure> {
    let (mut left, mut before) = (limit, 0);
    while left > 0 {
        let size = u32::try_from(left.min(PAGE)).unwrap_or(u32::MAX);
        let page = server.records(filter, size, before).await?;
        for record in page.records.iter().take(size as usize) {
            if !show(record, format)? {
                return Ok(0);
            }
        }
        left = left.saturating_sub(page.records.len() as u64);
        match page.next_before {
            // A server that repeats itself must not keep this loop going.
            Some(next) if before == 0 || next < before => before = next,
            _ => break,
        }
    }
    Ok(0)
}

async fn tail(
    options: impl Fn() -> Result<ServerOptions, Failure>,
    filter: &Filter,
    after: Option<u64>,
    format: Format,
) -> Result<u8, Failure> {
    let mut server = Server::connect(&options()?).await?;
    // Where to go on is settled once, so that no record between two connections is missed.
    let mut last = match after {
        Some(after) => after,
        None => {
            let newest = server.records(&Filter::default(), 1, 0).await?;
            newest.records.first().map_or(0, |record| record.sequence)
        }
    };
    let mut told = false;
    let mut wait = FIRST_WAIT;
    loop {
        let broken = match follow(&server, filter, &mut last, &mut wait, &mut told, format).await {
            Ok(()) => return Ok(0),
            Err(Broken::Output(failure)) => return Err(failure),
            Err(Broken::Stream(error)) if error.class() == FailureClass::Rejected => return Err(error.into()),
            Err(Broken::Stream(error)) => Some(Failure::from(error)),
            Err(Broken::Ended) => None,
        };
        if !told {
            told = true;
            note(&format!(
                "{}; connecting again, to go on after record {last}",
                broken.map_or_else(|| "the server ended the stream".to_owned(), |failure| failure.line())
            ));
        }
        loop {
            sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
            // No address: it is about to start.
            let Ok(options) = options() else { continue };
            match Server::connect(&options).await {
                Ok(again) => {
                    server = again;
                    break;
                }
                Err(ConnectError::Unreachable { .. } | ConnectError::Late { .. }) => {}
                Err(other) => return Err(other.into()),
            }
        }
    }
}

/// Why a stream no longer brings records.
enum Broken {
    Stream(CallError),
    Ended,
    Output(Failure),
}

/// Shows records until the stream breaks; `Ok` when nobody reads them any more.
async fn follow(
    server: &Server,
    filter: &Filter,
    last: &mut u64,
    wait: &mut Duration,
    told: &mut bool,
    format: Format,
) -> Result<(), Broken> {
    let mut stream = server.tail(filter, Some(*last)).await.map_err(Broken::Stream)?;
    loop {
        let record = match stream.next().await {
            Ok(Some(record)) => record,
            Ok(None) => return Err(Broken::Ended),
            Err(error) => return Err(Broken::Stream(error)),
        };
        *wait = FIRST_WAIT;
        *told = false;
        // After a new connection the server may begin earlier than asked: nothing is shown twice.
        if record.sequence <= *last {
            continue;
        }
        *last = record.sequence;
        // Beside the runtime, so that Ctrl-C ends the program also while a pager does not read.
        let shown = task::spawn_blocking(move || show(&record, format)).await;
        let shown = shown.unwrap_or_else(|_| Err(Failure::text("internal error while writing")));
        if !shown.map_err(Broken::Output)? {
            return Ok(());
        }
    }
}

fn note(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(anstream::stderr(), "note: {}", printable(text));
}

fn show(record: &Record, format: Format) -> Result<bool, Failure> {
    match format {
        Format::Json => output::json(record),
        Format::Text => output::text(&line(record)),
    }
}

fn put_refusals(text: &mut String, refusals: &[RefusalOf]) {
    for refusal in refusals {
        let sure = if refusal.certain { "" } else { "probably " };
        let _ = write!(text, "  {sure}refused {} {}", refusal.kind, printable(&refusal.subject));
    }
}

/// One record on one line, columns two blanks apart.
fn line(record: &Record) -> String {
    let mut text = format!("{}  #{}  ", record.time, record.sequence);
    match &record.body {
        Body::Decision(decision) => {
            let _ = write!(
                text,
                "{}  {}  {}",
                verdict(decision.effect),
                printable(&decision.tool_name),
                printable(&decision.input_json)
            );
            if let Some(rule) = &decision.rule {
                let _ = write!(text, "  {}", printable(&rule_text(rule)));
            } else if let Some(by) = decision.decided_by {
                let _ = write!(text, "  by {by}");
            }
            let _ = write!(
                text,
                "  {} for {}  decision {}",
                printable(&decision.agent),
                printable(&record.principal),
                printable(&record.record_id)
            );
            if let Some(before) = &decision.retry_of {
                let _ = write!(text, "  retry of {}", printable(before));
            }
            if let Some(evidence) = &decision.retry_evidence {
                let _ = write!(text, "  evidence {}", evidence.finding);
                put_refusals(&mut text, &evidence.refusals);
                if evidence.left_out > 0 {
                    let _ = write!(text, "  and {} more", evidence.left_out);
                }
            }
        }
        Body::Outcome(outcome) => {
            match (outcome.exit_code, outcome.signal, &outcome.not_started) {
                (Some(code), _, _) => {
                    let _ = write!(text, "outcome  exit {code}");
                }
                (_, Some(number), _) => {
                    let _ = write!(text, "outcome  killed by signal {number}");
                }
                (_, _, why) => {
                    let why = why.as_deref().unwrap_or("unknown");
                    let _ = write!(text, "outcome  not started: {}", printable(why));
                }
            }
            if let Some(why) = &outcome.ended_by {
                let _ = write!(text, " ({})", printable(why));
            }
            let _ = write!(text, "  after {} ms", outcome.duration_ms);
            if !outcome.enforced().is_empty() {
                let _ = write!(text, "  enforcement {}", outcome.enforced());
            }
            put_refusals(&mut text, &outcome.refusals);
            let _ = write!(text, "  decision {}", printable(&outcome.decision_id));
        }
        Body::PolicyChange(change) => {
            let _ = write!(
                text,
                "policy  v{} after v{}  by {}",
                change.version,
                change.previous_version,
                printable(&record.principal)
            );
            if !change.comment.is_empty() {
                let _ = write!(text, "  {}", printable(&change.comment));
            }
        }
        Body::Unknown {} => text.push_str("a record of a later version"),
    }
    text.push('\n');
    text
}
