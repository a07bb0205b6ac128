//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::config::Flags;

/// Decides, for every tool call of a coding agent, whether it may run, and records that first.
#[derive(Debug, Parser)]
#[command(name = "portcullis-server", version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve until SIGTERM or SIGINT; a second signal ends it at once.
    Serve(Settings),
    /// Verify the audit trail in the database, of all teams: whether the server runs or not, and without changing anything.
    #[command(
        after_help = "Exit codes: 0 intact, 1 something is wrong with the trail, 2 wrong usage, or the database cannot be read."
    )]
    Verify(VerifyArgs),
    /// Look at the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
}

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print every key, its value, and where that came from; faults go to stderr.
    Show(Settings),
}

/// Settings that also stand in the configuration file, and the place of that file.
#[derive(Args, Debug)]
pub struct Settings {
    /// Folder for database, keys and tokens [env: PORTCULLIS_DATA_DIR] [default: $XDG_DATA_HOME/portcullis].
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Configuration file [env: PORTCULLIS_SERVER_CONFIG] [default: $XDG_CONFIG_HOME/portcullis/server.toml, if there is one].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Address and port; port 0 takes a free one [env: PORTCULLIS_SERVER_LISTEN] [default: 127.0.0.1:7451].
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<String>,
}

impl From<Settings> for Flags {
    fn from(settings: Settings) -> Self {
        Self {
            config: settings.config,
            data_dir: settings.data_dir,
            listen: settings.listen,
        }
    }
}

/// What to verify, and by what.
#[derive(Args, Debug)]
pub struct VerifyArgs {
    /// Where the database is.
    #[command(flatten)]
    pub settings: Settings,
    /// File with anchors that were kept outside, as `portcullis audit anchor` prints them; may be given several times.
    #[arg(long, value_name = "FILE")]
    pub anchor: Vec<PathBuf>,
    /// A public key to trust, 64 hexadecimal digits; may be given several times.
    #[arg(long, value_name = "KEY")]
    pub key: Vec<String>,
    /// Form of the report.
    #[arg(long, value_enum, default_value_t)]
    pub format: ReportFormat,
}

/// Form of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ReportFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object.
    Json,
}
