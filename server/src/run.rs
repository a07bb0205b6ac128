//! What the program does with its command: the part between arguments and exit status.

use std::{
    io::{self, Write as _},
    process::ExitCode,
    time::Duration,
};

use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{SignalKind, signal},
};

use crate::{
    config::{self, Config, Environment, Fault, Flags, Sources},
    failure, hint, logging,
    serve::{Seams, ServeError, Server},
    verify::VerifyFailed,
};

/// Stack of each thread, in bytes: the shell parser and nested input recurse.
const STACK: usize = 8 * 1024 * 1024;

/// Threads for blocking work: evaluations are bounded by `max_evaluations` (1024 at most), files need a few more.
const BLOCKING_THREADS: usize = 1088;

/// How long threads may go on after everything is stopped.
const LINGER: Duration = Duration::from_secs(1);

/// A command that did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The configuration has faults. Exit status 2.
    #[error("the configuration has faults:{}", list(.0))]
    Config(Vec<Fault>),
    /// The runtime cannot be started.
    #[error("cannot start the threads of the server")]
    Runtime(#[source] io::Error),
    /// Signals cannot be received.
    #[error("cannot receive signals")]
    Signals(#[source] io::Error),
    /// Standard output cannot be written.
    #[error("cannot write to standard output")]
    Output(#[source] io::Error),
    /// The trail cannot be verified. Exit status 2.
    #[error(transparent)]
    Verify(#[from] VerifyFailed),
    /// The server cannot start, or did not end well.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

fn list(faults: &[Fault]) -> String {
    faults.iter().map(|fault| format!("\n  {fault}")).collect()
}

impl RunError {
    /// Says on stderr what went wrong.
    #[must_use]
    pub fn report(&self) -> ExitCode {
        let mut text = format!("portcullis-server: {}\n", failure::chain(self));
        if let Some(hint) = hint::hint(self) {
            text.push_str(&format!("help: {hint}\n"));
        }
        // Nothing is left to be done if even this cannot be written.
        drop(io::stderr().write_all(text.as_bytes()));
        match self {
            Self::Config(_) | Self::Verify(_) => ExitCode::from(2),
            _ => ExitCode::FAILURE,
        }
    }
}

/// Reads the configuration from all its sources.
#[must_use]
pub fn sources(flags: &Flags) -> Sources {
    Sources::read(flags, &Environment::of_process())
}

/// Prints the configuration; then says what is wrong with it.
///
/// # Errors
/// If it has faults.
pub fn show_config(sources: &Sources) -> Result<(), RunError> {
    say(&config::show(sources))?;
    Config::check(sources).map(drop).map_err(RunError::Config)
}

/// The threads that the server runs on.
///
/// # Errors
/// If the system gives none.
pub fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK)
        .max_blocking_threads(BLOCKING_THREADS)
        .build()
}

/// Serves until a signal says stop.
///
/// # Errors
/// If the configuration has faults, the server cannot start, or it does not end well.
pub fn serve(sources: &Sources) -> Result<(), RunError> {
    let config = Config::check(sources).map_err(RunError::Config)?;
    logging::start(&config.log);
    let runtime = runtime().map_err(RunError::Runtime)?;
    let served = runtime.block_on(serve_until_signal(&config));
    // An evaluation that nobody waits for any more must not keep the process: its answer was given long ago.
    runtime.shutdown_timeout(LINGER);
    served
}

async fn serve_until_signal(config: &Config) -> Result<(), RunError> {
    let mut terminate = signal(SignalKind::terminate()).map_err(RunError::Signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(RunError::Signals)?;
    let mut server = Server::start(config, Seams::default()).await?;
    say(&format!("portcullis-server listening on {}\n", server.url()))?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        error = server.failed() => return Err(error.into()),
    }
    tracing::info!("stopping: no new calls; a second signal ends the server at once");
    tokio::select! {
        stopped = server.stop() => stopped?,
        // What waits to be written was not answered yet, so nothing that somebody relies on is lost.
        _ = terminate.recv() => std::process::exit(1),
        _ = interrupt.recv() => std::process::exit(1),
    }
    tracing::info!("stopped");
    Ok(())
}

/// Writes to standard output.
///
/// # Errors
/// If nobody can read it.
pub(crate) fn say(text: &str) -> Result<(), RunError> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(RunError::Output)
}
