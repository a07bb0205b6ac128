//! The MCP servers that the person at this host has approved, each by a digest of what it starts.
//!
//! Kept in memory and in one file, as the trusted projects are (see [`crate::trust`]). A file that cannot be read is no
//! empty list: it is reported as a failure, and nothing is approved.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use portcullis_policy::facts::{Approval, ConfiguredIn, Launch};
use serde::{Deserialize, Serialize};

use crate::durable;
use crate::mcp::Definition;

/// Most approvals that are remembered.
const MAX_APPROVALS: usize = 10_000;

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    approvals: BTreeSet<Entry>,
}

/// One approval.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    /// The project in which it holds; empty = everywhere.
    scope: String,
    digest: String,
}

impl Entry {
    fn of(definition: &Definition) -> Self {
        Self {
            name: definition.name.clone(),
            scope: definition.scope.clone(),
            digest: definition.digest.clone(),
        }
    }
}

/// The approvals.
#[derive(Debug)]
pub struct Approvals {
    path: PathBuf,
    entries: Mutex<Result<BTreeSet<Entry>, String>>,
}

impl Approvals {
    /// Reads the file.
    #[must_use]
    pub fn open(path: PathBuf) -> Self {
        let fault = |error: &dyn std::fmt::Display| {
            format!(
                "the list of approved MCP servers `{}` cannot be read: {error}",
                path.display()
            )
        };
        let entries = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice::<Stored>(&bytes)
                .map(|stored| stored.approvals)
                .map_err(|error| fault(&error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
            Err(error) => Err(fault(&error)),
        };
        Self {
            path,
            entries: Mutex::new(entries),
        }
    }

    /// What the person said about a definition. `project_trusted`: a project that is not trusted brings no server.
    ///
    /// # Errors
    /// Why that cannot be told.
    pub fn of(&self, definition: &Definition, project_trusted: bool) -> Result<Approval, String> {
        if definition.approval == Approval::Disabled {
            return Ok(Approval::Disabled);
        }
        if definition.launch == Launch::Unknown {
            return Ok(Approval::None);
        }
        match definition.place {
            // Only root can write it.
            ConfiguredIn::Managed => return Ok(Approval::Given),
            ConfiguredIn::Project if !project_trusted => return Ok(Approval::None),
            ConfiguredIn::Project | ConfiguredIn::Local | ConfiguredIn::User => {}
        }
        let guard = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = guard.as_ref().map_err(Clone::clone)?;
        let own = Entry::of(definition);
        Ok(if entries.contains(&own) {
            Approval::Given
        } else if entries
            .iter()
            .any(|entry| entry.name == own.name && entry.scope == own.scope)
        {
            Approval::Changed
        } else {
            Approval::None
        })
    }

    /// Approves definitions. Waits for the disk.
    ///
    /// # Errors
    /// If it cannot be remembered; then nothing has changed.
    pub fn approve<'d>(&self, definitions: impl Iterator<Item = &'d Definition>) -> Result<(), String> {
        self.change(|entries| entries.extend(definitions.map(Entry::of)))
    }

    /// Takes all approvals of a name back; returns how many there were. Waits for the disk.
    ///
    /// # Errors
    /// If it cannot be remembered; then nothing has changed.
    pub fn revoke(&self, name: &str) -> Result<usize, String> {
        let mut revoked = 0;
        self.change(|entries| {
            let before = entries.len();
            entries.retain(|entry| entry.name != name);
            revoked = before - entries.len();
        })?;
        Ok(revoked)
    }

    fn change(&self, change: impl FnOnce(&mut BTreeSet<Entry>)) -> Result<(), String> {
        let mut guard = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let before = guard.as_ref().map_err(Clone::clone)?;
        let mut entries = before.clone();
        change(&mut entries);
        if entries.len() > MAX_APPROVALS {
            return Err(format!("more than {MAX_APPROVALS} MCP servers cannot be approved"));
        }
        if entries != *before {
            let stored = Stored {
                approvals: entries.clone(),
            };
            let text = serde_json::to_vec_pretty(&stored).map_err(|error| error.to_string())?;
            durable::replace(&self.path, &text)
                .map_err(|error| format!("cannot write `{}`: {error}", self.path.display()))?;
        }
        *guard = Ok(entries);
        Ok(())
    }
}
