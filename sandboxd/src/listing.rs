//! What lies in a folder, remembered until the folder changes.
//!
//! The writable folders are walked before each run, for what is protected and what is hidden, and again after it. Nearly all
//! folders are then what they were. Listing one costs system calls and a name for each entry; asking whether it has changed costs
//! one call, however much lies in it.
//!
//! The kernel writes down when a folder last changed (its ctime), and no program can set that time back. Two changes within one
//! tick of the clock leave the same time, so a listing is remembered only once the folder has been left alone for a while; and
//! only on file systems of this machine, for others may have another clock, or tell of changes late. A folder is looked at and
//! listed through one descriptor: by its path, another one may stand there in between, when a command exchanges folders above. The memory is one for the
//! process, bounded, and holds names and kinds only: what a file is or holds is never remembered.

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lru::LruCache;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, fstatfs, open, stat, statat};

/// How long a folder must have been left alone before its listing is remembered. The kernel's clock ticks every 10 ms or faster.
const SETTLED: Duration = Duration::from_secs(2);

/// Most bytes that are remembered, of all folders together: some two million names.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// What a remembered folder costs beside its names.
const FOLDER_BYTES: usize = 256;

/// Magic numbers of the file systems on which the ctime of a folder is exact and of this machine's clock: ext4, xfs, btrfs, tmpfs,
/// overlayfs, f2fs, bcachefs (statfs(2), `linux/magic.h`).
const EXACT: [i64; 7] = [
    0xEF53,
    0x5846_5342,
    0x9123_683E,
    0x0102_1994,
    0x794C_7630,
    0xF2F5_2010,
    0xCA45_1A4E,
];

/// What an entry of a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A unix socket.
    Socket,
    /// A file or anything else.
    Other,
    /// The kernel did not say.
    Unknown,
}

/// What lies in a folder.
#[derive(Debug, Default)]
pub struct Listing {
    names: Vec<u8>,
    /// Where each name ends, and what it is.
    entries: Vec<(u32, Kind)>,
    /// Whether these are all entries.
    pub complete: bool,
}

impl Listing {
    /// The entries, in the order of the file system.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, Kind)> {
        let mut from = 0;
        self.entries.iter().map(move |(to, kind)| {
            let to = *to as usize;
            let name = self.names.get(from..to).unwrap_or_default();
            from = to;
            (OsStr::from_bytes(name), *kind)
        })
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn bytes(&self) -> usize {
        self.names.capacity() + self.entries.capacity() * size_of::<(u32, Kind)>()
    }

    fn push(&mut self, name: &OsStr, kind: Kind) -> bool {
        self.names.extend_from_slice(name.as_bytes());
        let Ok(end) = u32::try_from(self.names.len()) else {
            return false;
        };
        self.entries.push((end, kind));
        true
    }
}

/// Which folder it is: device and inode.
type Identity = (u64, u64);

/// When it last changed: seconds and nanoseconds.
type Changed = (i64, i64);

#[derive(Debug)]
struct Remembered {
    changed: Changed,
    listing: Arc<Listing>,
}

#[derive(Debug)]
struct Memory {
    folders: LruCache<Identity, Remembered>,
    bytes: usize,
}

static MEMORY: LazyLock<Mutex<Memory>> = LazyLock::new(|| {
    Mutex::new(Memory {
        folders: LruCache::unbounded(),
        bytes: 0,
    })
});

fn memory() -> MutexGuard<'static, Memory> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memory {
    fn known(&mut self, (folder, changed): (Identity, Changed)) -> Option<Arc<Listing>> {
        let known = self.folders.get(&folder).filter(|known| known.changed == changed)?;
        Some(Arc::clone(&known.listing))
    }

    fn remember(&mut self, (folder, changed): (Identity, Changed), listing: &Arc<Listing>) {
        self.forget(folder);
        self.bytes += cost(listing);
        let listing = Arc::clone(listing);
        self.folders.put(folder, Remembered { changed, listing });
        while self.bytes > MAX_BYTES
            && let Some((_, oldest)) = self.folders.pop_lru()
        {
            self.bytes = self.bytes.saturating_sub(cost(&oldest.listing));
        }
    }

    fn forget(&mut self, folder: Identity) {
        if let Some(old) = self.folders.pop(&folder) {
            self.bytes = self.bytes.saturating_sub(cost(&old.listing));
        }
    }
}

fn cost(listing: &Listing) -> usize {
    FOLDER_BYTES + listing.bytes()
}

/// Lists a folder, but no more than `most` entries of it: what is over is missing, and [`Listing::complete`] says so.
///
/// # Errors
/// If it cannot be opened or is no folder.
pub fn list(folder: &Path, most: usize) -> io::Result<Arc<Listing>> {
    let found = state(&stat(folder)?);
    if let Some(known) = memory().known(found).filter(|known| known.len() <= most) {
        return Ok(known);
    }
    let opened = open(
        folder,
        OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let before = state(&fstat(&opened)?);
    let listing = Arc::new(read(&opened, most)?);
    let unchanged = fstat(&opened).is_ok_and(|after| state(&after) == before);
    if listing.complete && unchanged && is_settled(before.1) && is_exact(&opened) {
        memory().remember(before, &listing);
    } else {
        memory().forget(before.0);
    }
    Ok(listing)
}

fn read(folder: &OwnedFd, most: usize) -> io::Result<Listing> {
    let mut listing = Listing {
        complete: true,
        ..Listing::default()
    };
    for entry in Dir::read_from(folder)? {
        let Ok(entry) = entry else {
            listing.complete = false;
            break;
        };
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let kind = kind(folder, entry.file_name(), entry.file_type());
        if listing.len() == most || !listing.push(name, kind) {
            listing.complete = false;
            break;
        }
    }
    listing.names.shrink_to_fit();
    listing.entries.shrink_to_fit();
    Ok(listing)
}

fn kind(folder: &OwnedFd, name: &CStr, told: FileType) -> Kind {
    // Some file systems do not say.
    let told = match told {
        FileType::Unknown => statat(folder.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW)
            .map_or(FileType::Unknown, |found| FileType::from_raw_mode(found.st_mode)),
        told => told,
    };
    match told {
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        FileType::Socket => Kind::Socket,
        FileType::Unknown => Kind::Unknown,
        _ => Kind::Other,
    }
}

fn state(found: &Stat) -> (Identity, Changed) {
    let nanoseconds = i64::try_from(found.st_ctime_nsec).unwrap_or(i64::MAX);
    ((found.st_dev, found.st_ino), (found.st_ctime, nanoseconds))
}

fn is_settled((seconds, nanoseconds): Changed) -> bool {
    let changed = u64::try_from(seconds).ok().zip(u32::try_from(nanoseconds).ok());
    let changed =
        changed.and_then(|(seconds, nanoseconds)| UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds)));
    // A time that lies ahead is no time to go by.
    changed.is_some_and(|changed| {
        SystemTime::now()
            .duration_since(changed)
            .is_ok_and(|since| since > SETTLED)
    })
}

fn is_exact(folder: &OwnedFd) -> bool {
    fstatfs(folder).is_ok_and(|found| EXACT.contains(&found.f_type))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn opened(folder: &Path) -> OwnedFd {
        fs::File::open(folder).unwrap().into()
    }

    fn now(folder: &Path) -> Listing {
        read(&opened(folder), usize::MAX).unwrap()
    }

    fn state_of(folder: &Path) -> (Identity, Changed) {
        state(&stat(folder).unwrap())
    }

    fn names(listing: &Listing) -> Vec<(String, Kind)> {
        let mut names: Vec<_> = listing
            .iter()
            .map(|(name, kind)| (name.to_str().unwrap().to_owned(), kind))
            .collect();
        names.sort_by(|a, b| a.0.cmp(&b.0));
        names
    }

    fn is_known(folder: &Path) -> bool {
        memory().known(state_of(folder)).is_some()
    }

    /// As if it had been left alone.
    fn remember(folder: &Path) {
        memory().remember(state_of(folder), &Arc::new(now(folder)));
    }

    #[test]
    fn entries_have_their_names_and_kinds() {
        let keep = tempfile::tempdir().unwrap();
        fs::create_dir(keep.path().join("d")).unwrap();
        fs::write(keep.path().join("f"), "").unwrap();
        std::os::unix::fs::symlink("d", keep.path().join("l")).unwrap();
        let listing = list(keep.path(), 10).unwrap();
        let expected = [("d", Kind::Folder), ("f", Kind::Other), ("l", Kind::Link)];
        assert_eq!(names(&listing), expected.map(|(name, kind)| (name.to_owned(), kind)));
        assert!(listing.complete);
        for (name, kind) in expected {
            let name = std::ffi::CString::new(name).unwrap();
            assert_eq!(super::kind(&opened(keep.path()), &name, FileType::Unknown), kind);
        }
        let cut = list(keep.path(), 2).unwrap();
        assert!(cut.len() == 2 && !cut.complete);
        assert!(list(&keep.path().join("f"), 10).is_err());
        assert!(list(&keep.path().join("absent"), 10).is_err());
    }

    #[test]
    fn what_has_just_changed_is_not_remembered() {
        let keep = tempfile::tempdir().unwrap();
        list(keep.path(), 10).unwrap();
        assert!(!is_known(keep.path()));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let at = |time: Duration| (time.as_secs().cast_signed(), time.subsec_nanos().into());
        assert!(!is_settled(at(now)));
        assert!(!is_settled(at(now + Duration::from_secs(3600))));
        assert!(is_settled(at(now - 2 * SETTLED)));
    }

    #[test]
    fn what_has_been_left_alone_is_remembered() {
        // Part of every system, and nobody's to change.
        let folder = Path::new("/usr");
        let listing = list(folder, usize::MAX).unwrap();
        assert_eq!(is_known(folder), is_exact(&opened(folder)));
        assert_eq!(names(&list(folder, usize::MAX).unwrap()), names(&listing));
    }

    #[test]
    fn a_change_is_seen_whatever_was_remembered() {
        let keep = tempfile::tempdir().unwrap();
        let inner = keep.path().join("inner");
        fs::create_dir(&inner).unwrap();
        fs::write(inner.join("a"), "").unwrap();
        for change in [
            &(|| fs::write(inner.join("b"), "").unwrap()) as &dyn Fn(),
            &|| fs::rename(inner.join("b"), inner.join("c")).unwrap(),
            &|| fs::remove_file(inner.join("c")).unwrap(),
            &|| {
                fs::remove_file(inner.join("a")).unwrap();
                fs::create_dir(inner.join("a")).unwrap();
            },
            // Another folder at the same place.
            &|| {
                fs::rename(&inner, keep.path().join("old")).unwrap();
                fs::create_dir(&inner).unwrap();
            },
        ] {
            remember(&inner);
            assert!(is_known(&inner), "the positive control");
            let before = state_of(&inner);
            // The clock ticks on; else the change could have the time of the last one.
            let beside = keep.path().join("beside");
            while {
                fs::write(&beside, "x").unwrap();
                state_of(&beside).1 <= before.1
            } {}
            change();
            assert_ne!(state_of(&inner), before);
            assert_eq!(names(&list(&inner, 10).unwrap()), names(&now(&inner)));
        }
    }

    #[test]
    fn folders_that_are_exchanged_meanwhile_are_not_taken_for_each_other() {
        let keep = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| keep.path().join(name));
        for number in 0..20 {
            fs::create_dir_all(one.join(format!("{number}/held"))).unwrap();
            fs::create_dir_all(other.join(number.to_string())).unwrap();
        }
        // They have to be left alone before they may be remembered at all.
        let settled = || is_settled(state_of(&one.join("0")).1) && is_settled(state_of(&other.join("19")).1);
        while !settled() {
            std::thread::yield_now();
        }
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let flags = rustix::fs::RenameFlags::EXCHANGE;
                    rustix::fs::renameat_with(rustix::fs::CWD, &one, rustix::fs::CWD, &other, flags).unwrap();
                }
            });
            for _ in 0..500 {
                for number in 0..20 {
                    let folder = one.join(number.to_string());
                    list(&folder, 10).unwrap();
                    // Once more from anew.
                    memory().forget(state_of(&folder).0);
                }
                for number in 0..20 {
                    list(&one.join(number.to_string()), 10).unwrap();
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        for folder in [&one, &other] {
            for number in 0..20 {
                let folder = folder.join(number.to_string());
                assert_eq!(names(&list(&folder, 10).unwrap()), names(&now(&folder)));
            }
        }
    }

    #[test]
    fn the_memory_is_bounded() {
        let mut memory = Memory {
            folders: LruCache::unbounded(),
            bytes: 0,
        };
        let large = Arc::new(Listing {
            names: vec![b'x'; MAX_BYTES / 3],
            entries: Vec::new(),
            complete: true,
        });
        for inode in [1, 2, 3, 4, 4] {
            memory.remember(((0, inode), (3, 4)), &large);
            assert!(memory.bytes <= MAX_BYTES);
        }
        assert_eq!(memory.folders.len(), 2);
        assert!(memory.known(((0, 4), (3, 4))).is_some());
        assert!(memory.known(((0, 4), (3, 5))).is_none());
        assert!(memory.known(((0, 1), (3, 4))).is_none());
        for inode in [1, 2, 3, 4] {
            memory.forget((0, inode));
        }
        assert_eq!(memory.bytes, 0);
    }
}
