//! The note of a run that goes on: what the look back needs, so that the next daemon does it if this one is killed. It also
//! names the placeholders of the run, before they are made and again, with their identity, when they are.
//!
//! A note is written before the launch and removed after the look back. The launcher, which outlives a killed daemon for as
//! long as it takes to end the sandbox, holds the note's lock meanwhile and writes the time of the end at its end. With that
//! time, what a person made later under a protected name is told from what the command made, by when each was born. Notes
//! survive the daemon's death, not that of the machine: nothing waits for the disk.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use prost::Message as _;
use rustix::fs::OFlags;

use super::patterns::Pattern;
use super::placeholders::{self, Held, Wanted};
use super::scan::{Anchor, AnchorKind};
use super::sweep::{self, Swept};
use super::{Identity, Plan};

/// Largest note that is read, in bytes.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// Longest wait for the end of a sandbox whose daemon is gone. It is told to end by that.
const END_DEADLINE: Duration = Duration::from_secs(10);

/// Between two looks whether it has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A plan, as it is kept.
#[derive(Clone, PartialEq, prost::Message)]
struct Kept {
    #[prost(bytes = "vec", repeated, tag = "1")]
    roots: Vec<Vec<u8>>,
    #[prost(string, repeated, tag = "2")]
    patterns: Vec<String>,
    #[prost(message, repeated, tag = "3")]
    anchors: Vec<KeptAnchor>,
    #[prost(message, repeated, tag = "4")]
    existing: Vec<KeptPath>,
    #[prost(bytes = "vec", repeated, tag = "5")]
    absent: Vec<Vec<u8>>,
    /// In nanoseconds since 1970; 0 = not known. Appended by the launcher: messages that follow each other are one.
    #[prost(uint64, tag = "6")]
    ended_at: u64,
    /// Placeholders that are about to be made.
    #[prost(bytes = "vec", repeated, tag = "7")]
    wanted: Vec<Vec<u8>>,
    /// Those that were made, or shared. Appended when they are.
    #[prost(message, repeated, tag = "8")]
    placeholders: Vec<KeptPath>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct KeptAnchor {
    #[prost(bytes = "vec", tag = "1")]
    path: Vec<u8>,
    #[prost(uint32, tag = "2")]
    kind: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct KeptPath {
    #[prost(bytes = "vec", tag = "1")]
    path: Vec<u8>,
    #[prost(uint64, tag = "2")]
    device: u64,
    #[prost(uint64, tag = "3")]
    inode: u64,
}

/// The note of one run. When it is dropped it goes, unless a sandbox was launched with it: of a run that nobody launched there is
/// nothing to look back at.
#[derive(Debug)]
pub struct Note {
    path: PathBuf,
    file: File,
    launched: AtomicBool,
}

impl Note {
    /// Writes the note of a run, by the run's name.
    ///
    /// # Errors
    /// If it cannot be written. Nothing may be launched then.
    pub fn write(folder: &Path, name: &str, plan: &Plan, wanted: &[Wanted]) -> io::Result<Self> {
        let path = folder.join(name);
        let file = File::options().append(true).create_new(true).mode(0o600).open(&path)?;
        let launched = AtomicBool::new(false);
        let note = Self { path, file, launched };
        rustix::fs::flock(&note.file, rustix::fs::FlockOperation::NonBlockingLockExclusive)?;
        let mut kept = keep(plan);
        let absent = wanted.iter().filter(|place| !place.there);
        kept.wanted = absent.map(|place| bytes(&place.path)).collect();
        (&note.file).write_all(&kept.encode_to_vec())?;
        Ok(note)
    }

    /// Adds the placeholders that were made.
    ///
    /// # Errors
    /// As the operating system says. Nothing may be launched then.
    pub fn add(&self, held: &Held) -> io::Result<()> {
        let made = held.made().map(|(path, (device, inode))| KeptPath {
            path: bytes(path),
            device,
            inode,
        });
        let kept = Kept {
            placeholders: made.collect(),
            ..Kept::default()
        };
        (&self.file).write_all(&kept.encode_to_vec())
    }

    /// A second handle for the launcher, which holds the lock with it.
    ///
    /// # Errors
    /// As the operating system says.
    pub fn for_launcher(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// From now on there is something to look back at: only [`Self::done`] removes the note.
    pub fn launched(&self) {
        self.launched.store(true, Ordering::Relaxed);
    }

    /// Removes the note after the look back.
    pub fn done(self) {
        self.launched.store(false, Ordering::Relaxed);
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        if self.launched.load(Ordering::Relaxed) {
            return;
        }
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::error!(note = %self.path.display(), %error, "the note of a run that has ended cannot be removed");
        }
    }
}

/// Writes the time of the end into a note, which is open for appending.
///
/// # Errors
/// As the operating system says.
pub fn mark_ended(mut note: &File) -> io::Result<()> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let ended = Kept {
        ended_at: u64::try_from(since.as_nanos()).unwrap_or(0),
        ..Kept::default()
    };
    note.write_all(&ended.encode_to_vec())
}

/// Looks back at every run that an earlier daemon did not, and removes their notes. Blocking. A note that cannot be used
/// stays, and is told.
pub fn finish_all(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    // All placeholders go before the first look back: those of one run are new to another.
    let read: Vec<_> = entries
        .map(|entry| {
            let kept = read(&entry.path(), END_DEADLINE);
            if let Ok(kept) = &kept {
                remove_placeholders(kept);
            }
            (entry.path(), kept)
        })
        .collect();
    for (path, kept) in read {
        match kept.map(look_back) {
            Ok(swept) => {
                for aside in &swept.put_aside {
                    tracing::warn!(path = %aside.display(), "put aside after a run whose daemon was killed");
                }
                for failure in &swept.failures {
                    tracing::error!(%failure, "looking back at a run whose daemon was killed");
                }
                let _ = fs::remove_file(&path);
            }
            Err(error) => {
                tracing::error!(note = %path.display(), %error, "cannot look back at a run whose daemon was killed")
            }
        }
    }
}

/// Removes the placeholders of runs that were started by hand and killed, and their notes. There is no look back: nobody has
/// written down when they ended. Runs that go on are left alone.
pub fn remove_ended(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match read(&path, Duration::ZERO) {
            // Somebody begins to write it.
            Ok(kept) if kept == Kept::default() => {}
            Ok(kept) => {
                remove_placeholders(&kept);
                let _ = fs::remove_file(&path);
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::NotFound) => {}
            Err(error) => tracing::error!(note = %path.display(), %error, "a note cannot be read"),
        }
    }
}

/// Reads a note when its sandbox has ended.
fn read(path: &Path, patience: Duration) -> io::Result<Kept> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let started = Instant::now();
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no plain file"));
    }
    while rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_err() {
        if started.elapsed() >= patience {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "its sandbox does not end"));
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Kept::decode(bytes.as_slice()).map_err(|fault| io::Error::new(io::ErrorKind::InvalidData, fault))
}

fn look_back(kept: Kept) -> Swept {
    let ended_at = (kept.ended_at != 0).then(|| UNIX_EPOCH + Duration::from_nanos(kept.ended_at));
    sweep::sweep_until(&plan(kept), ended_at)
}

/// Removes the placeholders of a run, also those that it was killed while making.
fn remove_placeholders(kept: &Kept) {
    let known = |path: &Vec<u8>| kept.placeholders.iter().any(|made| made.path == *path);
    let half_made = kept.wanted.iter().filter(|path| !known(path)).map(|path| (path, None));
    let made = kept.placeholders.iter();
    let made = made.map(|made| (&made.path, Some((made.device, made.inode))));
    for (path, identity) in made.chain(half_made) {
        let path = Path::new(OsStr::from_bytes(path));
        if let Err(error) = placeholders::remove_left(path, identity) {
            tracing::error!(path = %path.display(), %error, "the placeholder of a run whose daemon was killed cannot be removed");
        }
    }
}

fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}

fn keep(plan: &Plan) -> Kept {
    let existing = plan.existing.iter().map(|(path, (device, inode))| KeptPath {
        path: bytes(path),
        device: *device,
        inode: *inode,
    });
    let anchors = plan.anchors.iter().map(|anchor| KeptAnchor {
        path: bytes(&anchor.path),
        kind: match anchor.kind {
            AnchorKind::Root => 0,
            AnchorKind::GitFolder => 1,
            AnchorKind::Pointer => 2,
        },
    });
    Kept {
        roots: plan.roots.iter().map(|path| bytes(path)).collect(),
        patterns: plan.patterns.iter().map(ToString::to_string).collect(),
        anchors: anchors.collect(),
        existing: existing.collect(),
        absent: plan.absent.iter().map(|path| bytes(path)).collect(),
        ..Kept::default()
    }
}

fn plan(kept: Kept) -> Plan {
    let path = |bytes: Vec<u8>| PathBuf::from(OsStr::from_bytes(&bytes));
    // A placeholder that a person has put something into stays.
    let known = kept.existing.into_iter().chain(kept.placeholders);
    let existing = known.map(|known| {
        let identity: Identity = (known.device, known.inode);
        (path(known.path), identity)
    });
    let anchors = kept.anchors.into_iter().map(|anchor| Anchor {
        path: path(anchor.path),
        kind: match anchor.kind {
            0 => AnchorKind::Root,
            1 => AnchorKind::GitFolder,
            _ => AnchorKind::Pointer,
        },
    });
    Plan {
        roots: kept.roots.into_iter().map(path).collect(),
        patterns: kept
            .patterns
            .iter()
            .filter_map(|text| Pattern::parse(text).ok())
            .collect(),
        anchors: anchors.collect(),
        existing: existing.collect(),
        absent: kept.absent.into_iter().map(path).collect(),
        ..Plan::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> (tempfile::TempDir, PathBuf, PathBuf, Plan) {
        let keep = tempfile::tempdir().unwrap();
        let root = keep.path().canonicalize().unwrap();
        let (workspace, notes) = (root.join("ws"), root.join("notes"));
        for folder in [workspace.join("\u{e9} known/.git/hooks"), notes.clone()] {
            fs::create_dir_all(folder).unwrap();
        }
        let patterns = [".vscode", ".mcp.json", ".git/hooks"].map(str::to_owned);
        let plan = super::super::plan(std::slice::from_ref(&workspace), &patterns);
        (keep, workspace, notes, plan)
    }

    fn is_empty(folder: &Path) -> bool {
        fs::read_dir(folder).unwrap().next().is_none()
    }

    #[test]
    fn a_plan_comes_back_as_it_was() {
        let (_keep, _, _, before) = workspace();
        let after = plan(keep(&before));
        assert_eq!((after.roots, after.patterns), (before.roots, before.patterns));
        assert_eq!((after.anchors, after.existing), (before.anchors, before.existing));
        assert_eq!(after.absent, before.absent);
    }

    #[test]
    fn what_the_command_made_is_put_aside_and_what_a_person_made_later_stays() {
        let (_keep, workspace, notes, plan) = workspace();
        let note = Note::write(&notes, "run", &plan, &[]).unwrap();
        note.launched();
        fs::create_dir(workspace.join(".vscode")).unwrap();
        mark_ended(&note.file).unwrap();
        drop(note);
        // The clock that files are stamped with ticks coarsely.
        let stamp = workspace.join("stamp");
        let ended = SystemTime::now();
        while fs::write(&stamp, "").is_ok() && fs::metadata(&stamp).unwrap().modified().unwrap() <= ended {}
        fs::write(workspace.join(".mcp.json"), "{}").unwrap();
        finish_all(&notes);
        assert!(!workspace.join(".vscode").exists() && workspace.join(".mcp.json").exists());
        assert!(workspace.join("\u{e9} known/.git/hooks").exists() && is_empty(&notes));
    }

    #[test]
    fn without_a_known_end_all_that_is_new_is_put_aside() {
        let (_keep, workspace, notes, plan) = workspace();
        Note::write(&notes, "run", &plan, &[]).unwrap().launched();
        fs::create_dir(workspace.join(".vscode")).unwrap();
        finish_all(&notes);
        assert!(!workspace.join(".vscode").exists() && is_empty(&notes));
    }

    #[test]
    fn a_finished_run_leaves_nothing_to_do() {
        let (_keep, workspace, notes, plan) = workspace();
        Note::write(&notes, "run", &plan, &[]).unwrap().done();
        fs::create_dir(workspace.join(".vscode")).unwrap();
        finish_all(&notes);
        assert!(workspace.join(".vscode").exists());
    }

    #[test]
    fn of_a_run_that_nobody_launched_no_note_stays() {
        let (_keep, workspace, notes, plan) = workspace();
        drop(Note::write(&notes, "run", &plan, &[]).unwrap());
        assert!(is_empty(&notes));
        fs::create_dir(workspace.join(".vscode")).unwrap();
        finish_all(&notes);
        assert!(workspace.join(".vscode").exists());
    }

    #[test]
    fn what_is_no_plain_file_is_not_waited_for() {
        let (_keep, _, notes, _) = workspace();
        let fifo = notes.join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        std::os::unix::fs::symlink("/etc/passwd", notes.join("link")).unwrap();
        fs::write(notes.join("begun"), "").unwrap();
        remove_ended(&notes);
        finish_all(&notes);
        assert!(fifo.exists() && notes.join("link").symlink_metadata().is_ok());
    }

    #[test]
    fn a_damaged_note_is_kept() {
        let (_keep, _, notes, _) = workspace();
        fs::write(notes.join("run"), b"\xff\xff").unwrap();
        finish_all(&notes);
        assert!(!is_empty(&notes));
    }
}
