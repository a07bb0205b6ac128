//! The MCP servers that an agent's own configuration defines.
//!
//! A call says only a server's name. What runs under it stands in files of the agent: some the person's own, some the
//! project's, that is: of whoever writes to the project. They are read here, so that an approval can be for what really
//! runs. Nothing of them is kept but a digest: definitions hold tokens.
//!
//! Which of several definitions of one name an agent takes differs from agent to agent and from version to version, so all
//! of them are reported. A file that should be read and cannot is a failure, not an absence.

mod claude;
mod definition;
mod jsonc;
mod sources;

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use portcullis_policy::facts::{ConfiguredIn, plain_name};
use serde_json::Value;

pub use definition::Definition;
use sources::{Format, SOURCES, Source};

/// Largest configuration file, in bytes. Claude Code keeps its history in the same file.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Most folders above the working directory that are looked into.
const MAX_ANCESTORS: usize = 64;

/// Most definitions that are kept.
const MAX_DEFINITIONS: usize = 4096;

/// Where an agent works, for its configuration.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The person's home folder.
    pub home: Option<&'a Path>,
    /// The folders that the agent works in, the project's first.
    pub roots: &'a [PathBuf],
    /// Real path of the project around the first of them.
    pub project: Option<&'a Path>,
}

/// What was read.
#[derive(Debug, Default)]
pub struct Configured {
    /// All definitions.
    pub definitions: Vec<Definition>,
    /// What could not be read, one line each.
    pub failures: Vec<String>,
}

impl Configured {
    /// Those whose name may stand in a call as one of `names`.
    pub fn named<'a>(&'a self, names: &'a [String]) -> impl Iterator<Item = &'a Definition> {
        self.definitions
            .iter()
            .filter(|definition| names.contains(&plain_name(&definition.name)))
    }
}

/// Reads the configuration of an agent, of all agents if none is named.
#[must_use]
pub fn configured(agent: Option<&str>, place: &Place<'_>) -> Configured {
    let mut out = Configured::default();
    let known = agent.is_some_and(|agent| SOURCES.iter().any(|source| source.agents.contains(&agent)));
    // An agent that is not known here may use the files of any other.
    let concerned = |source: &&Source| !known || agent.is_some_and(|agent| source.agents.contains(&agent));
    for source in SOURCES.iter().filter(concerned) {
        for (path, within) in source.paths(place) {
            let text = match read_one(&path, within.as_deref()) {
                Ok(None) => continue,
                Ok(Some(text)) => text,
                Err(error) => {
                    out.fail(&path, &error.to_string());
                    continue;
                }
            };
            if source.place == ConfiguredIn::Managed && !is_managed(&path) {
                out.fail(&path, "it is not closed to everybody but root");
                continue;
            }
            match parse(&text, source.format) {
                Ok(value) => out.take(source, &path, within.as_deref(), &value, place),
                Err(fault) => out.fail(&path, &fault),
            }
        }
    }
    if agent.is_none_or(|agent| agent == "claude" || !known) {
        claude::switch_off(place, &mut out);
        claude::keep_managed(&mut out);
    }
    if out.definitions.len() > MAX_DEFINITIONS {
        out.failures
            .push(format!("more than {MAX_DEFINITIONS} MCP servers are configured"));
    }
    out
}

impl Configured {
    fn fail(&mut self, path: &Path, why: &str) {
        self.failures
            .push(format!("cannot read the MCP configuration `{}`: {why}", path.display()));
    }

    fn take(&mut self, source: &Source, path: &Path, within: Option<&Path>, value: &Value, place: &Place<'_>) {
        if source.key.is_empty() {
            claude::take(source, path, value, place, self);
            return;
        }
        let found = source.key.iter().try_fold(value, |value, key| value.get(key));
        self.servers(source, path, within, found, source.place);
    }

    /// Takes the servers of one object.
    fn servers(
        &mut self,
        source: &Source,
        path: &Path,
        project: Option<&Path>,
        servers: Option<&Value>,
        place: ConfiguredIn,
    ) {
        match servers {
            None | Some(Value::Null) => {}
            Some(Value::Object(servers)) => {
                for (name, value) in servers.iter().take(MAX_DEFINITIONS) {
                    self.definitions
                        .push(Definition::read(name, value, source.agents, place, path, project));
                }
            }
            Some(_) => self.fail(path, "what should list MCP servers is no object"),
        }
    }
}

/// Reads a file; `None` if there is none. `within`: the folder that it must really lie in.
fn read_one(path: &Path, within: Option<&Path>) -> io::Result<Option<String>> {
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.symlink_metadata().is_err() => return Ok(None),
        // A part of the way that is no folder: nothing can be there.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(None),
        Err(error) => return Err(error),
    };
    if let Some(folder) = within
        && !folder.canonicalize().is_ok_and(|folder| real.starts_with(folder))
    {
        return Err(io::Error::other("it leads out of its folder"));
    }
    let file = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW)
        .open(&real)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it is larger than {} MiB", MAX_BYTES >> 20)));
    }
    String::from_utf8(text)
        .map(Some)
        .map_err(|_| io::Error::other("it is not UTF-8"))
}

/// Whether only root can write a file and its folder.
fn is_managed(path: &Path) -> bool {
    [Some(path), path.parent()].into_iter().flatten().all(|path| {
        path.metadata()
            .is_ok_and(|found| found.uid() == 0 && found.mode() & 0o022 == 0)
    })
}

/// Reads a text. An empty file defines nothing.
fn parse(text: &str, format: Format) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    match format {
        Format::Json => serde_json::from_str(&jsonc::plain(text)).map_err(|error| format!("it is no JSON: {error}")),
        // Its error shows the line, which may hold a token.
        Format::Toml => toml::from_str(text).map_err(|error| format!("it is no TOML: {}", error.message())),
    }
}

#[cfg(test)]
mod tests;
