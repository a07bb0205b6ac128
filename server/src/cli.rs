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
