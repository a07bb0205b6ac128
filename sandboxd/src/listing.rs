//! What lies in a folder, remembered until the folder changes.
//!
//! The writable folders are walked before each run, for what is protected and what is hidden, and again after it. Nearly all
//! folders are then what they were. Listing one costs system calls and a name for each entry; asking whether it has changed costs
//! one call, however much lies in it.
//!
//! The kernel writes down when a folder last changed (its ctime), and no program can set that time back. Two changes within one
//! tick of the clock leave the same time, so a listing is remembered only once the folder has been left alone for a while; and
//! only on file systems of this machine, for others may have another clock, or tell of changes late. The memory is one for the
//! process, bounded, and holds names and kinds only: what a file is or holds is never remembered.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lru::LruCache;

/// How long a folder must have been left alone before its listing is remembered. The kernel's clock ticks every 10 ms or faster.
const SETTLED: Duration = Duration::from_secs(2);

/// Most bytes that are remembered, of all folders together: some two million names.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// What a remembered folder costs beside its names and its path.
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

/// Which folder it is, and when it last changed.
type State = (u64, u64, i64, i64);

#[derive(Debug)]
struct Remembered {
    state: State,
    listing: Arc<Listing>,
}

#[derive(Debug)]
struct Memory {
    folders: LruCache<PathBuf, Remembered>,
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
    fn known(&mut self, folder: &Path, state: State) -> Option<Arc<Listing>> {
        let known = self.folders.get(folder).filter(|known| known.state == state)?;
        Some(Arc::clone(&known.listing))
    }

    fn remember(&mut self, folder: &Path, state: State, listing: &Arc<Listing>) {
        self.forget(folder);
        self.bytes += cost(folder, listing);
        let listing = Arc::clone(listing);
        self.folders.put(folder.to_path_buf(), Remembered { state, listing });
        while self.bytes > MAX_BYTES
            && let Some((folder, oldest)) = self.folders.pop_lru()
        {
            self.bytes = self.bytes.saturating_sub(cost(&folder, &oldest.listing));
        }
    }

    fn forget(&mut self, folder: &Path) {
        if let Some(old) = self.folders.pop(folder) {
            self.bytes = self.bytes.saturating_sub(cost(folder, &old.listing));
        }
    }
}

fn cost(folder: &Path, listing: &Listing) -> usize {
    FOLDER_BYTES + folder.as_os_str().len() + listing.bytes()
}

/// Lists a folder, but no more than `most` entries of it: what is over is missing, and [`Listing::complete`] says so.
///
/// # Errors
/// If it cannot be opened or is no folder.
pub fn list(folder: &Path, most: usize) -> io::Result<Arc<Listing>> {
    let before = state(&fs::metadata(folder)?);
    if let Some(known) = memory().known(folder, before).filter(|known| known.len() <= most) {
        return Ok(known);
    }
    let listing = Arc::new(read(folder, most)?);
    let unchanged = fs::metadata(folder).is_ok_and(|after| state(&after) == before);
    if listing.complete && unchanged && is_settled(before) && is_exact(folder) {
        memory().remember(folder, before, &listing);
    } else {
        memory().forget(folder);
    }
    Ok(listing)
}

fn read(folder: &Path, most: usize) -> io::Result<Listing> {
    let mut listing = Listing {
        complete: true,
        ..Listing::default()
    };
    for entry in fs::read_dir(folder)? {
        let Ok(entry) = entry else {
            listing.complete = false;
            continue;
        };
        let kind = match entry.file_type() {
            Ok(kind) if kind.is_dir() => Kind::Folder,
            Ok(kind) if kind.is_symlink() => Kind::Link,
            Ok(_) => Kind::Other,
            Err(_) => Kind::Unknown,
        };
        if listing.len() == most || !listing.push(&entry.file_name(), kind) {
            listing.complete = false;
            break;
        }
    }
    listing.names.shrink_to_fit();
    listing.entries.shrink_to_fit();
    Ok(listing)
}

fn state(found: &fs::Metadata) -> State {
    (found.dev(), found.ino(), found.ctime(), found.ctime_nsec())
}

fn is_settled((_, _, seconds, nanoseconds): State) -> bool {
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

fn is_exact(folder: &Path) -> bool {
    rustix::fs::statfs(folder).is_ok_and(|found| EXACT.contains(&found.f_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(listing: &Listing) -> Vec<(String, Kind)> {
        let mut names: Vec<_> = listing
            .iter()
            .map(|(name, kind)| (name.to_str().unwrap().to_owned(), kind))
            .collect();
        names.sort_by(|a, b| a.0.cmp(&b.0));
        names
    }

    fn is_known(folder: &Path) -> bool {
        let state = state(&fs::metadata(folder).unwrap());
        memory().known(folder, state).is_some()
    }

    /// As if it had been left alone.
    fn remember(folder: &Path) {
        let listing = Arc::new(read(folder, usize::MAX).unwrap());
        memory().remember(folder, state(&fs::metadata(folder).unwrap()), &listing);
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
        let at = |time: Duration| (0, 0, time.as_secs().cast_signed(), time.subsec_nanos().into());
        assert!(!is_settled(at(now)));
        assert!(!is_settled(at(now + Duration::from_secs(3600))));
        assert!(is_settled(at(now - 2 * SETTLED)));
    }

    #[test]
    fn what_has_been_left_alone_is_remembered() {
        // Part of every system, and nobody's to change.
        let folder = Path::new("/usr");
        let listing = list(folder, usize::MAX).unwrap();
        assert_eq!(is_known(folder), is_exact(folder));
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
            let before = state(&fs::metadata(&inner).unwrap());
            let at = |found: &State| (found.2, found.3);
            // The clock ticks on; else the change could have the time of the last one.
            let beside = keep.path().join("beside");
            while {
                fs::write(&beside, "x").unwrap();
                at(&state(&fs::metadata(&beside).unwrap())) <= at(&before)
            } {}
            change();
            assert_ne!(state(&fs::metadata(&inner).unwrap()), before);
            assert_eq!(names(&list(&inner, 10).unwrap()), names(&read(&inner, 10).unwrap()));
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
        for name in ["/a", "/b", "/c", "/d", "/d"] {
            memory.remember(Path::new(name), (1, 2, 3, 4), &large);
            assert!(memory.bytes <= MAX_BYTES);
        }
        assert_eq!(memory.folders.len(), 2);
        assert!(memory.known(Path::new("/d"), (1, 2, 3, 4)).is_some());
        assert!(memory.known(Path::new("/d"), (1, 2, 3, 5)).is_none());
        assert!(memory.known(Path::new("/a"), (1, 2, 3, 4)).is_none());
        for name in ["/a", "/b", "/c", "/d"] {
            memory.forget(Path::new(name));
        }
        assert_eq!(memory.bytes, 0);
    }
}
