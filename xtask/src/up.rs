//! `cargo xtask up`: from a clone to a running Portcullis with one command.
//!
//! Builds the programs, runs server and sandboxd on the person's own data, says where everything is and what to try, and
//! stays until Ctrl-C. It sets up nothing itself: tokens, database and starter policy are the server's to make, so that
//! an installed Portcullis starts the same way.

use std::path::{Path, PathBuf};

use crate::{
    failure::{Failure, Result},
    output,
    stack::{self, Stack},
    toolchain::{self, Profile, Programs},
};

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Folder for database, tokens and keys [default: $PORTCULLIS_DATA_DIR, else portcullis in $XDG_DATA_HOME]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Where the server listens [default: 127.0.0.1:7451]
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<String>,
    /// Build with optimisation
    #[arg(long)]
    release: bool,
    /// Run what was built before
    #[arg(long)]
    no_build: bool,
}

/// Runs the task.
pub(crate) fn run(options: &Options) -> Result<()> {
    let profile = Profile::from_release_flag(options.release);
    let programs = if options.no_build {
        Programs::find(profile)?
    } else {
        toolchain::build(profile)?
    };
    // Relative to where the person is; the commands printed below must work from any folder.
    let given = options
        .data_dir
        .as_deref()
        .map(|dir| {
            std::path::absolute(dir)
                .map_err(|cause| Failure::io(format!("cannot make `{}` an absolute path", dir.display()), &cause))
        })
        .transpose()?;
    let mut stack = Stack::start(
        &programs,
        &stack::Options {
            data_dir: given.as_deref(),
            listen: options.listen.as_deref(),
            show_logs: true,
            stop_on_signals: true,
        },
    )?;
    output::out(&summary(&stack, &programs.client, given.as_deref()));
    let result = stack.wait();
    output::err("stopping …");
    stack.stop();
    result
}

fn summary(stack: &Stack, client: &Path, given: Option<&Path>) -> String {
    let data = stack::data_dir(given).map_or_else(|| "?".to_owned(), |dir| dir.display().to_string());
    let mut client = quote(&client.display().to_string());
    if let Some(dir) = given {
        client.push_str(" --data-dir ");
        client.push_str(&quote(&dir.display().to_string()));
    }
    format!(
        "
Portcullis is up.
  server     {server}
  sandboxd   {sandboxd}
  data       {data}
  tokens     {data}/tokens/{{admin,agent,host}}.token

Try next, in another terminal:
  {client} decide -- git push --force
  {client} run -- cargo --version
  {client} audit query --since 1h

Ctrl-C stops it; the data stays.
",
        server = stack.server_address,
        sandboxd = stack.sandboxd_address,
    )
}

/// Quotes a word for a shell, if it needs that.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn commands_to_try_survive_blanks_and_quotes_in_paths() {
        assert_eq!(quote("/a/b-c.d"), "/a/b-c.d");
        assert_eq!(quote("/a b"), "'/a b'");
        assert_eq!(quote("/it's"), r"'/it'\''s'");
        assert_eq!(quote(""), "''");
    }
}
