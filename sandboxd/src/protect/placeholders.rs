//! Empty folders at protected names that do not exist, for as long as a command runs: nothing can be made where they are.
//!
//! Only folders, and only in repositories that have begun: git knows no empty folders, so that nobody sees them in `git
//! status`, while a folder that is to become a project may have to be empty for the tool that makes it. Everything else that
//! could appear under a protected name is left to the look back (see [`super::sweep`]), and so is what cannot be made.
//!
//! A placeholder has a mark (an extended attribute), which tells it from a person's own empty folder: a command can lock that
//! through its read-only mount, and cannot mark it. Whoever uses a placeholder holds a shared lock on it; in one process all
//! runs share one. The lock goes with its holder. Who gives it back last removes the folder if it is still the same one and still
//! empty. What a person has put in stays. Where a file system takes no marks, another process does not join, and has the look
//! back.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use portcullis_policy::protected::SANDBOX_FOLDERS;
use rustix::fs::{AtFlags, CWD, Dir, FlockOperation, Mode, OFlags, ResolveFlags, Stat, XattrFlags};
use rustix::io::Errno;

use super::patterns::{Pattern, name_matches};
use super::scan::AnchorKind;
use super::{Identity, Plan, gitconfig, is_within};
use crate::prepare::Prepared;

/// Most placeholders of one run. Each costs an open file and a mount.
const MAX: usize = 256;

/// How often, and how far apart, a lock is tried that somebody else tries at the same moment.
const TRIES: u32 = 5;
const TRY_AGAIN: Duration = Duration::from_millis(1);

/// The attribute that tells a placeholder from a person's own empty folder.
const MARK: &str = "user.portcullis.placeholder";

/// What the work tree of a repository that has not begun may hold. Tools that make a project want no more to be there.
const FIRST_FILES: [&str; 4] = [".git*", "README*", "LICENSE*", "LICENCE*"];

/// A place for a placeholder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wanted {
    /// Where. No link leads there.
    pub path: PathBuf,
    /// In a git folder, where git looks for nothing to add.
    pub in_git: bool,
    /// Something is there: an empty folder, which may be another run's placeholder.
    pub there: bool,
}

/// Where a plan could do with placeholders. Beside them whether there are more than are made.
#[must_use]
pub fn wanted(plan: &Plan) -> (Vec<Wanted>, bool) {
    let folders = SANDBOX_FOLDERS.iter().flat_map(|(folder, _)| Pattern::parse(folder));
    let folders: Vec<Pattern> = folders.filter(|folder| plan.patterns.contains(folder)).collect();
    let mut wanted = Vec::new();
    for anchor in &plan.anchors {
        let in_git = anchor.kind == AnchorKind::GitFolder;
        let fits = match anchor.kind {
            AnchorKind::Root => is_work_tree(&anchor.path) && has_begun(&anchor.path),
            AnchorKind::GitFolder => is_own_git_folder(&anchor.path),
            AnchorKind::Pointer => false,
        };
        if !fits {
            continue;
        }
        for folder in &folders {
            let Some([name]) = folder.below(anchor.kind) else {
                continue;
            };
            let path = anchor.path.join(name);
            let there = match path.symlink_metadata() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => false,
                Ok(found) if found.is_dir() && is_empty(&path) => true,
                _ => continue,
            };
            // They are sorted, and there may be thousands.
            let is_protected = |outer: &Path| plan.protected.binary_search_by(|own| own.as_path().cmp(outer)).is_ok();
            let covered = path.ancestors().skip(1).any(is_protected);
            if covered || plan.roots.contains(&path) || !is_within(&path, &plan.roots) {
                continue;
            }
            if wanted.len() >= MAX {
                return (wanted, false);
            }
            wanted.push(Wanted { path, in_git, there });
        }
    }
    (wanted, true)
}

/// Whether a folder is the root of a work tree, as git would say.
fn is_work_tree(folder: &Path) -> bool {
    let git = folder.join(".git");
    match git.symlink_metadata() {
        Ok(found) if found.is_dir() => git.join("HEAD").symlink_metadata().is_ok(),
        Ok(found) if found.is_file() => gitconfig::pointed_to(&git).is_some_and(|leads_to| leads_to.is_dir()),
        _ => false,
    }
}

/// Whether there is more in a work tree than what a new repository begins with.
fn has_begun(folder: &Path) -> bool {
    let is_first = |name: &OsStr| {
        let upper = name.as_bytes().to_ascii_uppercase();
        FIRST_FILES
            .iter()
            .any(|pattern| name_matches(pattern.to_ascii_uppercase().as_bytes(), &upper))
    };
    let own = |name: &OsStr| SANDBOX_FOLDERS.iter().any(|(folder, _)| OsStr::new(folder) == name);
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name())
        .any(|name| !is_first(&name) && !own(&name))
}

/// Whether a git folder is whole, and not a linked work tree's, whose hooks lie in the common one.
fn is_own_git_folder(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).symlink_metadata().is_ok();
    has("HEAD") && has("objects") && !has("commondir")
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// One placeholder, as long as this process uses it.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    identity: Identity,
    /// Holds the lock.
    lock: File,
}

/// A place, with its placeholder if this process uses one. Its lock is held while files are made and removed there: on a file
/// system that hangs, only those wait who want the same place.
type Place = Arc<Mutex<Weak<Folder>>>;

type Known = Mutex<BTreeMap<PathBuf, Place>>;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The placeholders of this process.
#[derive(Clone, Debug, Default)]
pub struct Registry(Arc<Known>);

/// The placeholders of one run. They are given back when this is dropped, which is to be done when no process of the run is
/// left.
#[derive(Debug)]
pub struct Held {
    known: Arc<Known>,
    folders: Vec<(Arc<Folder>, bool)>,
}

impl Registry {
    /// Makes the placeholders that are wanted, or joins their users. What cannot be made is left out, and told: one line each.
    #[must_use]
    pub fn hold(&self, wanted: &[Wanted]) -> (Held, Vec<String>) {
        let mut folders = Vec::new();
        let mut told = Vec::new();
        for Wanted { path, in_git, .. } in wanted {
            let place = Arc::clone(locked(&self.0).entry(path.clone()).or_default());
            let mut own = locked(&place);
            let shared = own.upgrade();
            let shared = shared.filter(|folder| identity_of(path).is_ok_and(|found| found == folder.identity));
            let folder = match shared {
                Some(folder) => Ok(Some(folder)),
                None => take(path).map(|taken| taken.map(Arc::new)),
            };
            match folder {
                Ok(Some(folder)) => {
                    *own = Arc::downgrade(&folder);
                    folders.push((folder, *in_git));
                }
                // A person's own.
                Ok(None) => {}
                Err(error) => told.push(format!(
                    "`{}` cannot be kept from appearing ({error}); it is looked for after the run",
                    path.display()
                )),
            }
        }
        let known = Arc::clone(&self.0);
        forget_unused(&known, wanted.iter().map(|wanted| &wanted.path));
        (Held { known, folders }, told)
    }
}

impl Held {
    /// Says them to the launcher and to the look back.
    pub fn say(&self, prepared: &mut Prepared) {
        for (folder, in_git) in &self.folders {
            let bytes = folder.path.as_os_str().as_bytes().to_vec();
            prepared.plan.existing.insert(folder.path.clone(), folder.identity);
            if !prepared.plan.protected.contains(&folder.path) {
                prepared.plan.protected.push(folder.path.clone());
            }
            if !prepared.layout.protected.contains(&bytes) {
                prepared.layout.protected.push(bytes.clone());
            }
            if !in_git {
                prepared.layout.placeholders.push(bytes);
            }
        }
    }

    /// Which they are, for the note of the run.
    pub fn made(&self) -> impl Iterator<Item = (&Path, Identity)> {
        self.folders
            .iter()
            .map(|(folder, _)| (folder.path.as_path(), folder.identity))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let folders = std::mem::take(&mut self.folders);
        let paths: Vec<PathBuf> = folders.iter().map(|(folder, _)| folder.path.clone()).collect();
        for (folder, _) in folders {
            let place = Arc::clone(locked(&self.known).entry(folder.path.clone()).or_default());
            let _own = locked(&place);
            // INVARIANT: users are counted up under the lock of the place only.
            let Some(folder) = Arc::into_inner(folder) else {
                continue;
            };
            if let Err(error) = give_back(&folder) {
                tracing::error!(path = %folder.path.display(), %error, "a placeholder cannot be removed");
            }
        }
        forget_unused(&self.known, paths.iter());
    }
}

/// Takes places out of the table that nobody uses or is about to use.
fn forget_unused<'a>(known: &Known, paths: impl Iterator<Item = &'a PathBuf>) {
    let mut known = locked(known);
    for path in paths {
        // Who has a place of its own has it from this table, under the lock that is held here.
        let unused = |place: &Place| Arc::strong_count(place) == 1 && locked(place).strong_count() == 0;
        if known.get(path).is_some_and(unused) {
            known.remove(path);
        }
    }
}

/// Removes what a run that did not end properly has made: what is known by its identity, and what it was about to make. Only
/// empty folders of this user that nobody uses.
///
/// # Errors
/// As the operating system says. That it is gone, somebody else's or no longer empty is none.
pub fn remove_left(path: &Path, identity: Option<Identity>) -> io::Result<()> {
    let Ok((folder, found)) = open(path) else { return Ok(()) };
    let same = identity.is_none_or(|identity| identity == identity_in(&found));
    if !same || !is_own(&found) || try_lock(&folder, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(());
    }
    remove(path, identity_in(&found))
}

/// Whether an empty folder that somebody uses as a placeholder is here.
#[must_use]
pub fn is_in_use(path: &Path) -> bool {
    let Ok((folder, _)) = open(path) else { return false };
    let locked = rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK);
    locked && holds_nothing(&folder).unwrap_or(false)
}

/// Makes a placeholder, or joins the users of one. `None` = what is there is none.
fn take(path: &Path) -> io::Result<Option<Folder>> {
    let (folder, name) = parent(path)?;
    if !is_own(&rustix::fs::fstat(&folder)?) {
        // What the person could not make here alone is not made here.
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the folder around it is another user's",
        ));
    }
    for _ in 0..TRIES {
        let taken = match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o755)) {
            Ok(()) => made(path).inspect_err(|_| {
                // Empty, so that nothing of anybody's goes.
                let _ = rustix::fs::unlinkat(&folder, name, AtFlags::REMOVEDIR);
            })?,
            Err(Errno::EXIST) => match join(path) {
                // Gone again.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                joined => joined?,
            },
            Err(error) => return Err(error.into()),
        };
        // Whoever used it before may have removed it meanwhile.
        match taken {
            Some(taken) if identity_of(path).ok() != Some(taken.identity) => {}
            taken => return Ok(taken),
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "it comes and goes"))
}

/// Marks and locks what was just made.
fn made(path: &Path) -> io::Result<Option<Folder>> {
    let (lock, found) = open(path)?;
    if !is_own(&found) || !holds_nothing(&lock)? {
        return Ok(None);
    }
    let _ = rustix::fs::fsetxattr(&lock, MARK, b"1", XattrFlags::CREATE);
    try_lock(&lock, FlockOperation::NonBlockingLockShared)?;
    Ok(Some(Folder::at(path, lock, &found)))
}

/// Joins the users of what is there, if it is a placeholder that somebody uses.
fn join(path: &Path) -> io::Result<Option<Folder>> {
    let (lock, found) = match open(path) {
        Err(error) if is_no_folder(&error) => return Ok(None),
        opened => opened?,
    };
    if !is_own(&found) || !is_marked(&lock) || !holds_nothing(&lock)? {
        return Ok(None);
    }
    // One that nobody uses was left by somebody who was killed, and is as good as one that was made here.
    try_lock(&lock, FlockOperation::NonBlockingLockShared)?;
    Ok(Some(Folder::at(path, lock, &found)))
}

/// Whether a link or a file is there instead.
fn is_no_folder(error: &io::Error) -> bool {
    let kinds = [Errno::LOOP, Errno::NOTDIR].map(Errno::raw_os_error);
    error.raw_os_error().is_some_and(|errno| kinds.contains(&errno))
}

fn is_marked(folder: &File) -> bool {
    let mut value = [0_u8; 8];
    rustix::fs::fgetxattr(folder, MARK, &mut value[..]).is_ok()
}

impl Folder {
    fn at(path: &Path, lock: File, found: &Stat) -> Self {
        Self {
            path: path.to_path_buf(),
            identity: identity_in(found),
            lock,
        }
    }
}

/// Removes a placeholder unless another process uses it.
fn give_back(folder: &Folder) -> io::Result<()> {
    match rustix::fs::flock(&folder.lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => remove(&folder.path, folder.identity),
        Err(Errno::WOULDBLOCK) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Removes a folder if it is the one, and empty. Its own folder is reached without links.
fn remove(path: &Path, identity: Identity) -> io::Result<()> {
    let Ok((folder, name)) = parent(path) else {
        return Ok(());
    };
    match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) if identity_in(&found) == identity => {}
        _ => return Ok(()),
    }
    match rustix::fs::unlinkat(&folder, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOENT | Errno::NOTDIR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn parent(path: &Path) -> io::Result<(File, &OsStr)> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let folder = rustix::fs::openat2(CWD, folder, flags, Mode::empty(), resolve)?;
    Ok((folder.into(), name))
}

/// Opens a folder, with no link on the way and none at its place.
fn open(path: &Path) -> io::Result<(File, Stat)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let folder: File = rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve)?.into();
    let found = rustix::fs::fstat(&folder)?;
    Ok((folder, found))
}

fn identity_of(path: &Path) -> io::Result<Identity> {
    open(path).map(|(_, found)| identity_in(&found))
}

fn identity_in(found: &Stat) -> Identity {
    (found.st_dev, found.st_ino)
}

fn is_own(found: &Stat) -> bool {
    found.st_uid == rustix::process::geteuid().as_raw()
}

fn holds_nothing(folder: &File) -> io::Result<bool> {
    for entry in Dir::read_from(folder)? {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A lock that others may try at the same moment, to see whether it is held.
fn try_lock(folder: &File, how: FlockOperation) -> io::Result<()> {
    for _ in 1..TRIES {
        match rustix::fs::flock(folder, how) {
            Err(Errno::WOULDBLOCK) => std::thread::sleep(TRY_AGAIN),
            other => return Ok(other?),
        }
    }
    Ok(rustix::fs::flock(folder, how)?)
}

#[cfg(test)]
mod tests;
