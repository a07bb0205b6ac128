//! The temporary folders of sessions: what stands at `/tmp` in the sandboxes of one session, kept between its commands.
//!
//! ```text
//! D/sandboxd/tmp/<hash of team and session>/lock     held by every run of the session; its time is that of the last use
//!                                           files/   stands at `/tmp`
//!                                           cache/   stands at the place of caches, see `caches`
//!                /.gone-<id>/                    what is being removed
//! ```
//!
//! The daemon's state is hidden in every sandbox, so that no session sees another one's folder. What is in there is hostile:
//! [`removal`] removes it without following anything. Nothing bounds how much a session keeps; it lies on the disk.

pub mod removal;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::durable;

/// A session's folder that no run has used for so long is removed.
pub const KEPT_UNUSED: Duration = Duration::from_secs(24 * 60 * 60);

/// Between two looks for folders that are not used any more.
pub const LOOK_AGAIN: Duration = Duration::from_secs(60 * 60);

/// What is being removed is called so, and something that no hash begins with.
const GONE: &str = ".gone-";

/// The folders of all sessions.
#[derive(Debug)]
pub struct Sessions {
    folder: PathBuf,
    /// Held while a folder is taken into use or put out of it.
    changing: Mutex<()>,
}

/// The folder of a session, for one run. As long as it is held nobody removes it.
#[derive(Debug)]
pub struct SessionFolder {
    folder: PathBuf,
    lock: File,
}

impl SessionFolder {
    /// What stands at `/tmp`.
    #[must_use]
    pub fn files(&self) -> PathBuf {
        self.folder.join("files")
    }

    /// The folder itself, with what is ours in it: out of reach of every command.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What stands where caches are.
    #[must_use]
    pub fn cache(&self) -> PathBuf {
        self.folder.join("cache")
    }
}

impl Drop for SessionFolder {
    fn drop(&mut self) {
        let _ = self.lock.set_modified(SystemTime::now());
    }
}

impl Sessions {
    /// The sessions whose folders lie in `folder`. Touches nothing.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            changing: Mutex::new(()),
        }
    }

    /// Takes the folder of a session into use; makes it at the session's first command. Blocking.
    ///
    /// # Errors
    /// As the operating system says. No command may run then: it would find another `/tmp` than the one it left.
    pub fn take(&self, team: &str, session: &str) -> io::Result<SessionFolder> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = self.folder.join(name_of(team, session));
        durable::private_folder(&folder)?;
        let lock = open_lock(&folder)?;
        flock(&lock, FlockOperation::NonBlockingLockShared)?;
        lock.set_modified(SystemTime::now())?;
        let taken = SessionFolder { folder, lock };
        // As `/tmp` is: programs ask for that.
        make(&taken.files(), 0o1777)?;
        make(&taken.cache(), 0o700)?;
        Ok(taken)
    }

    /// Puts aside the folders that no run has used for `unused`, and returns what is to be removed, also what earlier removals
    /// have left. Quick; [`remove_all`] then takes its time.
    #[must_use]
    pub fn put_aside(&self, unused: Duration) -> Vec<PathBuf> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut gone = Vec::new();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_name().as_encoded_bytes().starts_with(GONE.as_bytes()) {
                gone.push(path);
                continue;
            }
            match is_unused(&path, unused).and_then(|unused| unused.then(|| self.aside(&path)).transpose()) {
                Ok(aside) => gone.extend(aside),
                Err(error) => {
                    tracing::error!(folder = %path.display(), %error, "the temporary folder of a session cannot be put aside")
                }
            }
        }
        gone
    }

    fn aside(&self, path: &Path) -> io::Result<PathBuf> {
        let gone = self.folder.join(format!("{GONE}{}", Uuid::now_v7().simple()));
        durable::private_folder(&gone)?;
        fs::rename(path, gone.join("session"))?;
        Ok(gone)
    }
}

/// Removes what was put aside. Blocking, and for as long as there is something to remove.
pub fn remove_all(gone: &[PathBuf]) {
    for folder in gone {
        if let Err(error) = removal::remove(folder) {
            tracing::error!(folder = %folder.display(), %error, "the temporary folder of a session cannot be removed");
        }
    }
}

/// A name that says nothing and cannot be chosen to be another session's.
fn name_of(team: &str, session: &str) -> String {
    let mut hash = Sha256::new();
    hash.update((team.len() as u64).to_be_bytes());
    hash.update(team);
    hash.update(session);
    let digest = hash.finalize();
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn open_lock(folder: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(false).mode(0o600);
    options.open(folder.join("lock"))
}

/// Its mode is set only once: a command may change it.
fn make(folder: &Path, mode: u32) -> io::Result<()> {
    match fs::create_dir(folder) {
        Ok(()) => fs::set_permissions(folder, fs::Permissions::from_mode(mode)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether no run holds a session's folder and none has for `unused`.
fn is_unused(folder: &Path, unused: Duration) -> io::Result<bool> {
    let lock = open_lock(folder)?;
    if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(false);
    }
    let used = lock.metadata()?.modified()?;
    // A time that lies ahead (somebody has set the clock back) counts as now, so that the folder does not stay for ever.
    match SystemTime::now().duration_since(used) {
        Ok(since) => Ok(since >= unused),
        Err(_) => {
            lock.set_modified(SystemTime::now())?;
            Ok(unused.is_zero())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions() -> (tempfile::TempDir, Sessions) {
        let keep = tempfile::tempdir().unwrap();
        let sessions = Sessions::new(keep.path().join("tmp"));
        (keep, sessions)
    }

    #[test]
    fn a_session_finds_its_folder_again_and_no_other_one() {
        let (_keep, sessions) = sessions();
        let first = sessions.take("team", "a").unwrap();
        fs::write(first.files().join("f"), "x").unwrap();
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode(first.files()), mode(first.folder.clone())), (0o1777, 0o700));
        let again = sessions.take("team", "a").unwrap();
        assert!(again.files().join("f").exists());
        for (team, session) in [("team", "b"), ("tea", "ma"), ("other", "a")] {
            let other = sessions.take(team, session).unwrap();
            assert!(!other.files().join("f").exists(), "{team} {session}");
        }
    }

    #[test]
    fn what_is_in_use_stays_and_what_is_not_goes() {
        let (_keep, sessions) = sessions();
        let held = sessions.take("team", "held").unwrap();
        let fresh = sessions.take("team", "fresh").unwrap().folder.clone();
        let old = sessions.take("team", "old").unwrap().folder.clone();
        let ago = SystemTime::now() - KEPT_UNUSED - Duration::from_secs(1);
        open_lock(&old).unwrap().set_modified(ago).unwrap();
        open_lock(&held.folder).unwrap().set_modified(ago).unwrap();
        let gone = sessions.put_aside(KEPT_UNUSED);
        assert_eq!(gone.len(), 1);
        assert!(held.files().exists() && fresh.exists() && !old.exists());
        // A removal that was interrupted is taken up again.
        assert_eq!(sessions.put_aside(KEPT_UNUSED), gone);
        remove_all(&gone);
        assert!(!gone[0].exists());
        // At the daemon's start: everything that is not held.
        remove_all(&sessions.put_aside(Duration::ZERO));
        assert!(held.files().exists() && !fresh.exists());
    }

    #[test]
    fn a_last_use_that_lies_ahead_does_not_keep_a_folder_for_ever() {
        let (_keep, sessions) = sessions();
        let folder = sessions.take("team", "s").unwrap().folder.clone();
        let ahead = SystemTime::now() + KEPT_UNUSED * 1000;
        open_lock(&folder).unwrap().set_modified(ahead).unwrap();
        assert!(sessions.put_aside(KEPT_UNUSED).is_empty());
        assert!(fs::metadata(folder.join("lock")).unwrap().modified().unwrap() <= SystemTime::now());
    }
}
