//! Tickets that were redeemed, so that none is redeemed twice, not even after a crash.
//!
//! An id is on the disk before the command is launched. The file only grows while the daemon runs and is rewritten at its
//! start without what is too old to matter. A line that a crash cut off is dropped then: its command was not launched,
//! as the launch waits for the whole line. A second line says that the run has ended and its outcome is kept; where it is
//! missing at the start, the daemon died during the run, and says so to the server.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use uuid::Uuid;

use crate::durable;

/// How long ids are kept. Far beyond every ticket's life, and a restart makes all older tickets void anyway.
const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);

/// Largest file that is read, in bytes: more than 100,000 ids.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// What follows the id of a run whose outcome is kept.
const DONE: &str = " done";

/// Why a ticket cannot be redeemed.
#[derive(Debug, thiserror::Error)]
pub enum RedeemError {
    /// It was already.
    #[error("it was redeemed before")]
    Replayed,
    /// That cannot be written down.
    #[error("its use cannot be written down")]
    Storage(#[source] io::Error),
}

#[derive(Debug)]
struct State {
    file: File,
    used: HashMap<Uuid, u64>,
    /// Used, and the outcome is not kept yet.
    open: HashSet<Uuid>,
    /// A write failed: what the disk holds is not known any more.
    poisoned: bool,
}

/// The redeemed tickets.
#[derive(Debug)]
pub struct Ledger(Mutex<State>);

impl Ledger {
    /// Reads and compacts the file.
    ///
    /// # Errors
    /// If it cannot be read or rewritten.
    pub fn open(path: &Path) -> io::Result<Self> {
        let text = match std::fs::metadata(path) {
            Ok(found) if found.len() > MAX_BYTES => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the list of used tickets is too large",
                ));
            }
            Ok(_) => String::from_utf8_lossy(&std::fs::read(path)?).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let oldest = now().saturating_sub(KEPT.as_secs());
        let whole = text.rfind('\n').map_or("", |end| text.get(..end).unwrap_or_default());
        let used: HashMap<Uuid, u64> = whole
            .lines()
            .filter_map(|line| {
                let (id, at) = line.split_once(' ')?;
                Some((id.parse().ok()?, at.parse().ok()?))
            })
            .filter(|&(_, at): &(Uuid, u64)| at >= oldest)
            .collect();
        let done: HashSet<Uuid> = whole
            .lines()
            .filter_map(|line| line.strip_suffix(DONE)?.parse().ok())
            .collect();
        let open: HashSet<Uuid> = used.keys().filter(|id| !done.contains(id)).copied().collect();
        let compacted: String = used
            .iter()
            .map(|(id, at)| {
                line(*id, *at)
                    + &if open.contains(id) {
                        String::new()
                    } else {
                        done_line(*id)
                    }
            })
            .collect();
        durable::replace(path, compacted.as_bytes())?;
        let file = File::options().append(true).mode(0o600).open(path)?;
        Ok(Self(Mutex::new(State {
            file,
            used,
            open,
            poisoned: false,
        })))
    }

    /// Marks a ticket as used. Waits for the disk.
    ///
    /// # Errors
    /// If it was used before or that cannot be made durable; then nothing may be launched.
    pub fn redeem(&self, id: Uuid) -> Result<(), RedeemError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.used.contains_key(&id) {
            return Err(RedeemError::Replayed);
        }
        if state.poisoned {
            return Err(RedeemError::Storage(io::Error::other(
                "an earlier write failed; restart portcullis-sandboxd",
            )));
        }
        let at = now();
        let written = state
            .file
            .write_all(line(id, at).as_bytes())
            .and_then(|()| state.file.sync_data());
        if let Err(error) = written {
            state.poisoned = true;
            return Err(RedeemError::Storage(error));
        }
        state.used.insert(id, at);
        state.open.insert(id);
        Ok(())
    }

    /// Notes that the outcome of a run is kept. Does not wait for the disk: forgotten, it is told twice, and the server
    /// keeps the first.
    pub fn finish(&self, id: Uuid) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.open.remove(&id) && !state.poisoned && state.file.write_all(done_line(id).as_bytes()).is_err() {
            state.poisoned = true;
        }
    }

    /// The runs without a kept outcome. Directly after [`Self::open`]: those that an earlier daemon did not survive.
    #[must_use]
    pub fn unfinished(&self) -> Vec<Uuid> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.open.iter().copied().collect()
    }

    /// Whether a ticket was used.
    #[must_use]
    pub fn is_used(&self, id: Uuid) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .used
            .contains_key(&id)
    }
}

fn line(id: Uuid, at: u64) -> String {
    format!("{id} {at}\n")
}

fn done_line(id: Uuid) -> String {
    format!("{id}{DONE}\n")
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_a_kept_outcome_is_found_at_the_next_start() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("redeemed");
        let (ended, died) = (Uuid::now_v7(), Uuid::now_v7());
        let ledger = Ledger::open(&path).unwrap();
        ledger.redeem(ended).unwrap();
        ledger.redeem(died).unwrap();
        ledger.finish(ended);
        for _ in 0..2 {
            let ledger = Ledger::open(&path).unwrap();
            assert_eq!(ledger.unfinished(), [died]);
            assert!(ledger.is_used(ended) && ledger.is_used(died));
        }
        Ledger::open(&path).unwrap().finish(died);
        let ledger = Ledger::open(&path).unwrap();
        assert!(ledger.unfinished().is_empty() && ledger.is_used(died));
    }

    #[test]
    fn a_used_ticket_stays_used_after_a_restart_and_a_torn_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("redeemed");
        let (first, second) = (Uuid::now_v7(), Uuid::now_v7());
        let ledger = Ledger::open(&path).unwrap();
        ledger.redeem(first).unwrap();
        assert!(matches!(ledger.redeem(first), Err(RedeemError::Replayed)));
        drop(ledger);
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(second.to_string().get(..20).unwrap().as_bytes())
            .unwrap();
        drop(file);
        let ledger = Ledger::open(&path).unwrap();
        assert!(matches!(ledger.redeem(first), Err(RedeemError::Replayed)));
        ledger.redeem(second).unwrap();
        drop(ledger);
        assert!(Ledger::open(&path).unwrap().is_used(second));
    }
}
