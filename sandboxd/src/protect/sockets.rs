//! Unix sockets that somebody outside is reached at: a read-only mount does not stop a `connect`, so they are masked, but for
//! those that policy names.
//!
//! In the workspace and the writable folders every socket counts, as the walk meets them: whatever name it was bound by, and in
//! whichever network namespace. Elsewhere the kernel's list does ([`bound`]), a name in it being looked for where it may begin,
//! and told by the inode. One at which nobody is reached any more is left alone: the kernel lets nobody bind it again, and
//! programs remove what is left of their last run.

mod bound;

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::fs::Metadata;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::listing::{self, Kind};
use bound::Bound;

/// Most sockets that are masked.
const MAX_SOCKETS: usize = 1024;

/// Most working directories at which a relative name is looked for.
const MAX_FOLDERS: usize = 4096;

/// Most entries of a folder in which a socket is looked for by its inode.
const MAX_ENTRIES: usize = 100_000;

/// Most names that are told.
const MAX_NAMED: usize = 4;

/// The magic number of overlayfs, where a file's number is not always that of the inode.
const OVERLAY: i64 = 0x794C_7630;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sockets {
    /// Real paths.
    pub paths: Vec<PathBuf>,
    /// Whether these are all.
    pub complete: bool,
    /// What a person should know, one line each.
    pub warnings: Vec<String>,
}

/// Folders that are private in a sandbox, but for what is shown or writable below them.
const PRIVATE: [&str; 3] = ["/tmp", "/run", "/dev"];

/// All sockets with a path that take connections or messages and that are there in a sandbox: those of `met` (real paths), and
/// outside of private folders, or in something of the host's that is `shown` below one.
#[must_use]
pub fn reachable(shown: &[&[PathBuf]], met: &[PathBuf]) -> Sockets {
    let is_shown = |path: &Path| shown.iter().any(|paths| super::is_within(path, paths));
    let (all, complete) = bound::all();
    let mut paths: BTreeSet<PathBuf> = met.iter().filter(|path| is_live(path)).cloned().collect();
    let known: BTreeSet<u32> = paths
        .iter()
        .filter_map(|path| path.symlink_metadata().ok())
        .map(|found| inode(&found))
        .collect();
    let folders = LazyCell::new(working_directories);
    let mut lost: BTreeSet<PathBuf> = BTreeSet::new();
    for bound in all {
        if bound.inode.is_some_and(|inode| known.contains(&inode)) && bound.name.is_relative() {
            continue;
        }
        let (places, found) = places(&bound, &folders);
        if !found && bound.name.is_relative() && is_own(&bound) {
            lost.insert(bound.name);
        }
        paths.extend(places.into_iter().filter(|path| !is_private(path) || is_shown(path)));
    }
    Sockets {
        complete: complete && paths.len() <= MAX_SOCKETS,
        paths: paths.into_iter().take(MAX_SOCKETS).collect(),
        warnings: told(&lost).into_iter().collect(),
    }
}

/// Where a socket of the kernel's list may be, real paths; and whether it is known to be there.
fn places(bound: &Bound, folders: &[PathBuf]) -> (Vec<PathBuf>, bool) {
    let candidates: Vec<PathBuf> = if bound.name.is_absolute() {
        vec![bound.name.clone()]
    } else {
        folders.iter().map(|folder| folder.join(&bound.name)).collect()
    };
    let (mut places, mut found) = (Vec::new(), false);
    let mut take = |path: &Path| -> bool {
        let metadata = path.metadata().ok().filter(|found| found.file_type().is_socket());
        let (Some(metadata), Ok(real)) = (metadata, path.canonicalize()) else {
            return true;
        };
        let is_it = bound.inode.is_some_and(|number| number == inode(&metadata));
        let is_only = is_it && metadata.nlink() == 1;
        // Without the inode, or where it says nothing, whoever is reached there may be this one.
        let may_be = !is_it && (bound.inode.is_none() || is_overlay(path)) && is_live(&real);
        if is_it || may_be || (bound.name.is_absolute() && is_live(&real)) {
            places.push(real);
        }
        found |= is_it || may_be;
        !(is_only || may_be)
    };
    let mut looked: BTreeSet<&Path> = BTreeSet::new();
    let mut elsewhere = Vec::new();
    for path in &candidates {
        let is_worth_it = bound.inode.is_some() && is_own(bound) && !is_private(path);
        if take(path) && is_worth_it {
            elsewhere.extend(path.parent().filter(|folder| looked.insert(folder)));
        }
    }
    // Renamed, or with a further name: most likely in the same folder.
    for folder in elsewhere {
        let Ok(listing) = listing::list(folder, MAX_ENTRIES) else {
            continue;
        };
        for (name, _) in listing.iter().filter(|(_, kind)| *kind == Kind::Socket) {
            let path = folder.join(name);
            if path.symlink_metadata().is_ok_and(|at| Some(inode(&at)) == bound.inode) {
                take(&path);
            }
        }
    }
    (places, found)
}

/// The working directories of those processes whose may be known, each once.
fn working_directories() -> Vec<PathBuf> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_process = |name: &std::ffi::OsStr| name.as_encoded_bytes().first().is_some_and(u8::is_ascii_digit);
    let folders: BTreeSet<PathBuf> = processes
        .filter(|entry| is_process(&entry.file_name()))
        .filter_map(|entry| std::fs::read_link(entry.path().join("cwd")).ok())
        .take(MAX_FOLDERS)
        .collect();
    folders.into_iter().collect()
}

fn is_private(path: &Path) -> bool {
    PRIVATE.iter().any(|folder| path.starts_with(folder))
}

/// The low half of the number, which is all that the kernel tells of a socket's.
fn inode(found: &Metadata) -> u32 {
    u32::try_from(found.ino() & u64::from(u32::MAX)).unwrap_or_default()
}

fn is_overlay(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|found| found.f_type == OVERLAY)
}

/// Whether somebody of this user's has it. Others' are told to nobody: a host has many of them (those of a mail server), and the
/// user who cannot see where their owner is can seldom connect.
fn is_own(bound: &Bound) -> bool {
    let own = rustix::process::geteuid();
    own.is_root() || bound.owner.is_none_or(|owner| owner == own.as_raw())
}

/// Whether somebody is reached at a socket, which is found out without reaching them: a datagram socket asks, and the kernel says
/// "wrong type" where somebody listens (or may come to), and "refused" where nobody is there any more.
fn is_live(path: &Path) -> bool {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let asked = || {
        let file = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
        let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        // By its descriptor: an address has room for a hundred letters only.
        connect(
            &socket,
            &SocketAddrUnix::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?,
        )
    };
    !matches!(asked(), Err(Errno::CONNREFUSED | Errno::NOENT | Errno::NOTDIR))
}

/// What is said of sockets whose place is not known.
fn told(lost: &BTreeSet<PathBuf>) -> Option<String> {
    let names: Vec<_> = lost
        .iter()
        .take(MAX_NAMED)
        .map(|name| format!("`{}`", name.display()))
        .collect();
    let more = if lost.len() > MAX_NAMED { ", …" } else { "" };
    (!names.is_empty()).then(|| {
        format!(
            "sockets of the outside: {}{more} (bound by a relative name) are not hidden, as it is not known where they lie; outside of the workspace \
             and the writable folders a command may reach them",
            names.join(", ")
        )
    })
}

/// Sockets that policy names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Real paths of those that are there.
    pub paths: Vec<PathBuf>,
    /// What a person should know of the others, one line each.
    pub warnings: Vec<String>,
}

/// Looks at the sockets that policy names. One that is not there is not a fault: its service does not run.
#[must_use]
pub fn allowed(named: &[String]) -> Allowed {
    let mut allowed = Allowed::default();
    for path in named {
        let Ok(real) = Path::new(path).canonicalize() else {
            continue;
        };
        if real.metadata().is_ok_and(|found| found.file_type().is_socket()) {
            allowed.paths.push(real);
        } else {
            allowed
                .warnings
                .push(format!("`{path}` of `allowUnixSockets` is no socket, and is left out"));
        }
    }
    allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_socket_is_found() {
        let keep = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = keep.path().join("log");
        let _socket = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
        let found = reachable(&[], &[]);
        assert!(found.complete && found.paths.contains(&path.canonicalize().unwrap()));
    }

    #[test]
    fn a_socket_in_a_private_folder_counts_where_that_is_shown() {
        let keep = tempfile::tempdir_in("/tmp").unwrap();
        let folder = keep.path().canonicalize().unwrap();
        let path = folder.join("s");
        let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(!reachable(&[], &[]).paths.contains(&path));
        assert!(reachable(&[&[], &[folder]], &[]).paths.contains(&path));
    }

    #[test]
    fn of_what_policy_names_the_sockets_that_are_there_count() {
        let keep = tempfile::tempdir().unwrap();
        let folder = keep.path().canonicalize().unwrap();
        let text = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        let _socket = std::os::unix::net::UnixListener::bind(folder.join("s")).unwrap();
        std::fs::write(folder.join("file"), "").unwrap();
        std::os::unix::fs::symlink("s", folder.join("link")).unwrap();
        let found = allowed(&[text("link"), text("file"), text("gone"), text("")]);
        assert_eq!(found.paths, [folder.join("s")]);
        assert_eq!(found.warnings.len(), 2, "{found:?}");
    }

    #[test]
    fn what_nobody_is_reached_at_is_told_from_the_rest_without_a_connection() {
        use std::os::unix::net::{UnixDatagram, UnixListener};
        let keep = tempfile::tempdir_in("/var/tmp").unwrap();
        let folder = keep.path().join("x".repeat(120));
        std::fs::create_dir(&folder).unwrap();
        let short = keep.path();
        let listener = UnixListener::bind(short.join("s")).unwrap();
        let datagrams = UnixDatagram::bind(short.join("d")).unwrap();
        std::fs::rename(short.join("s"), folder.join("s")).unwrap();
        assert!(is_live(&folder.join("s")) && is_live(&short.join("d")));
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err(), "somebody connected");
        drop((listener, datagrams));
        assert!(!is_live(&folder.join("s")) && !is_live(&short.join("d")) && !is_live(&short.join("gone")));
        assert!(folder.join("s").exists());
    }

    #[test]
    fn a_socket_is_found_by_what_it_is_and_not_by_the_name_it_was_bound_by() {
        use std::os::unix::net::UnixListener;
        let keep = tempfile::tempdir_in("/var/tmp").unwrap();
        let folder = keep.path().canonicalize().unwrap();
        let at = |name: &str| folder.join(name);
        let _renamed = UnixListener::bind(at("before")).unwrap();
        std::fs::rename(at("before"), at("renamed")).unwrap();
        let _linked = UnixListener::bind(at("linked")).unwrap();
        std::fs::hard_link(at("linked"), at("link")).unwrap();
        let _odd = UnixListener::bind(at("a\nb")).unwrap();
        let found = reachable(&[], &[]);
        for name in ["renamed", "linked", "link", "a\nb"] {
            assert!(found.paths.contains(&at(name)), "{name}");
        }
        // One whose name begins at somebody's working directory.
        let mut server = std::process::Command::new("python3")
            .args([
                "-c",
                "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.bind('rel')\ns.listen()\nsys.stdin.read()",
            ])
            .current_dir(&folder)
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        while !at("rel").exists() || !is_live(&at("rel")) {
            std::thread::yield_now();
        }
        let found = reachable(&[], &[]);
        assert!(found.paths.contains(&at("rel")));
        drop(server.stdin.take());
        server.wait().unwrap();
        assert!(
            !reachable(&[], &[at("rel")]).paths.contains(&at("rel")),
            "nobody is there any more"
        );
    }

    #[test]
    fn what_is_not_found_is_told() {
        let names = |count: usize| (0..count).map(|number| PathBuf::from(number.to_string())).collect();
        assert_eq!(told(&names(0)), None);
        assert!(told(&names(4)).is_some_and(|line| line.contains("`0`, `1`, `2`, `3` (")));
        assert!(told(&names(5)).is_some_and(|line| line.contains("`3`, … (")));
    }
}
