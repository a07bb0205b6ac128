//! `portcullis-sandboxd`: the host's daemon.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use portcullis_sandboxd::by_hand::{self, ExecError};
use portcullis_sandboxd::network::standalone;
use portcullis_sandboxd::places::Places;
use portcullis_sandboxd::printable::printable;
use portcullis_sandboxd::serve::{Options, ServeError, bind};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

/// Looks up facts for decisions on this host, and runs allowed commands in a sandbox.
#[derive(Debug, Parser)]
#[command(name = "portcullis-sandboxd", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serves until SIGTERM or SIGINT.
    Serve(Serve),
    /// Runs one command in a sandbox by hand, for work on the sandbox itself: no server, no record. `portcullis sandbox run` is for
    /// everything else.
    Exec {
        /// [--policy FILE] [--report] --workspace DIR -- COMMAND…
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        arguments: Vec<OsString>,
    },
    /// Prints the Seatbelt profile that a command run by hand would get on macOS, on any system; `portcullis sandbox profile`.
    Profile(Profile),
    /// Serves the network of one sandbox; started by `exec`.
    #[command(hide = true)]
    Filter {
        /// On a socket of its own on loopback, for a sandbox without a network of its own.
        #[arg(long)]
        loopback: bool,
    },
}

#[derive(Debug, Args)]
struct Profile {
    /// Policy file, with the keys of sandbox.json.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Root of the workspace [default: the working directory].
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Data directory [default: $XDG_DATA_HOME/portcullis].
    #[arg(long, env = "PORTCULLIS_DATA_DIR", value_name = "D")]
    data_dir: Option<PathBuf>,
    /// Print one JSON object, with the arguments of sandbox-exec and the names of the variables that are set, too.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Serve {
    /// Data directory [default: $XDG_DATA_HOME/portcullis].
    #[arg(long, env = "PORTCULLIS_DATA_DIR", value_name = "D")]
    data_dir: Option<PathBuf>,
    /// Socket to listen on [default: D/run/sandboxd.sock].
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Address of portcullis-server [default: what it wrote to D/server/address].
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// PEM file with the certificates to trust for an https server [default: the system's].
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Stands in for $XDG_CONFIG_HOME, below which the user's `portcullis/policy.jsonc` lies.
    #[arg(long, value_name = "DIR")]
    config_home: Option<PathBuf>,
}

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    // Before there is a second thread. It reads its words itself: those behind `--` are another program's.
    if let [first, rest @ ..] = words.as_slice()
        && first == "exec"
        && !rest.first().is_some_and(|word| word == "--help" || word == "-h")
    {
        return exec(rest.iter().cloned());
    }
    let Arguments { command } = Arguments::parse();
    if let Command::Profile(arguments) = command {
        return profile(arguments);
    }
    let quiet = if matches!(command, Command::Filter { .. }) {
        "error"
    } else {
        "info"
    };
    let filter = EnvFilter::try_from_env("PORTCULLIS_LOG").unwrap_or_else(|_| EnvFilter::new(quiet));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(false)
        .init();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return complain(&error),
    };
    let result = runtime.block_on(async {
        match command {
            Command::Serve(arguments) => serve(arguments).await.map_err(Into::into),
            Command::Exec { .. } | Command::Profile(_) => Ok(()),
            Command::Filter { loopback } => standalone::serve(loopback)
                .await
                .map_err(Into::<Box<dyn std::error::Error>>::into),
        }
    });
    let status = match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&*error),
    };
    // Threads that still look something up are not waited for.
    runtime.shutdown_background();
    status
}

fn exec(words: impl Iterator<Item = OsString>) -> ExitCode {
    match by_hand::run(words) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            complain(&error);
            ExitCode::from(match &error {
                ExecError::NotExecuted(_, cause) if cause.kind() == io::ErrorKind::NotFound => 127,
                ExecError::NotExecuted(..) => 126,
                _ => 125,
            })
        }
    }
}

/// Exit status of wrong usage and invalid input.
const USAGE: u8 = 2;

fn profile(arguments: Profile) -> ExitCode {
    let shown = Places::find(arguments.data_dir, None)
        .map_err(Into::<Box<dyn std::error::Error>>::into)
        .and_then(|places| {
            let workspace = arguments.workspace.unwrap_or_default();
            let shown = by_hand::profile::shown(arguments.policy.as_deref(), workspace, places)?;
            let text = if arguments.json { shown.json() } else { shown.text() };
            Ok(io::stdout().write_all(text.as_bytes())?)
        });
    match shown {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let status = complain(&*error);
            match error.downcast_ref() {
                Some(ExecError::Faults { .. } | ExecError::Policy { .. } | ExecError::NotHere(_)) => {
                    ExitCode::from(USAGE)
                }
                _ => status,
            }
        }
    }
}

async fn serve(arguments: Serve) -> Result<(), ServeError> {
    let places = Places::find(arguments.data_dir, arguments.config_home)?;
    let bound = bind(Options {
        places,
        socket: arguments.socket,
        server: arguments.server,
        ca_file: arguments.ca_file,
    })
    .await?;
    let stop = bound.daemon.stop.clone();
    let failed = |source| ServeError::Socket {
        path: "signals".into(),
        source,
    };
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        stop.cancel();
    });
    let _ = writeln!(
        io::stdout(),
        "portcullis-sandboxd listening on unix:{}",
        bound.socket.display()
    );
    bound.serve().await
}

fn complain(error: &dyn std::error::Error) -> ExitCode {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line.push_str(": ");
        line.push_str(&error.to_string());
        cause = error.source();
    }
    let _ = writeln!(io::stderr(), "portcullis-sandboxd: {}", printable(&line));
    ExitCode::FAILURE
}
