//! Unix sockets that somebody outside is reached at: a read-only mount does not stop a `connect`, so they are masked, but for
//! those that policy names.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// Most sockets that are masked.
const MAX_SOCKETS: usize = 1024;

/// Largest table that is read, in bytes.
const MAX_TABLE_BYTES: u64 = 4 * 1024 * 1024;

/// The flag of a socket that listens, as the table prints it (`__SO_ACCEPTCON`).
const LISTENS: &[u8] = b"00010000";

/// The kind of a socket that takes messages without listening (`SOCK_DGRAM`).
const DATAGRAM: &[u8] = b"0002";

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sockets {
    /// Real paths.
    pub paths: Vec<PathBuf>,
    /// Whether these are all.
    pub complete: bool,
}

/// Folders that are private in a sandbox, but for what is shown or writable below them.
const PRIVATE: [&str; 3] = ["/tmp", "/run", "/dev"];

/// All sockets with a path that take connections or messages and that are there in a sandbox: outside of private folders, or
/// in something of the host's that is `shown` below one.
#[must_use]
pub fn reachable(shown: &[&[PathBuf]]) -> Sockets {
    let is_shown = |path: &Path| shown.iter().any(|paths| super::is_within(path, paths));
    let is_private = |path: &Path| PRIVATE.iter().any(|folder| path.starts_with(folder));
    let mut table = Vec::new();
    // Without the table there are no unix sockets in this kernel.
    let read = File::open("/proc/net/unix").and_then(|file| file.take(MAX_TABLE_BYTES + 1).read_to_end(&mut table));
    let mut paths: Vec<PathBuf> = named(&table)
        .into_iter()
        .filter_map(|path| path.canonicalize().ok())
        .filter(|path| !is_private(path) || is_shown(path))
        .collect();
    paths.sort();
    paths.dedup();
    let complete =
        paths.len() <= MAX_SOCKETS && table.len() as u64 <= MAX_TABLE_BYTES && (read.is_ok() || table.is_empty());
    paths.truncate(MAX_SOCKETS);
    Sockets { paths, complete }
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

/// The paths in a table. Any user can put any bytes there; they cost that line only.
fn named(table: &[u8]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for line in table.split(|&byte| byte == b'\n') {
        let mut words = line
            .split(|byte| byte.is_ascii_whitespace())
            .filter(|word| !word.is_empty());
        let (flags, kind) = (words.nth(3), words.next());
        let Some(at) = line.windows(2).position(|pair| pair == b" /") else {
            continue;
        };
        let path = PathBuf::from(OsStr::from_bytes(line.get(at + 1..).unwrap_or_default()));
        let reachable = flags == Some(LISTENS) || kind == Some(DATAGRAM);
        if reachable {
            found.push(path);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strange_name_hides_no_other() {
        let table = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 1 /srv/a\xff\xfe\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 1 @/abstract\n\
            0000000000000000: 00000002 00000000 00000000 0001 03 1 /srv/connected\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 1 /run/service\n\
            0000000000000000: 00000002 00000000 00010000 0005 01 1 /srv/b c /d\n\
            0000000000000000: 00000002 00000000 00000000 0002 01 1 /srv/log\n";
        let found = named(table);
        let texts: Vec<_> = found.iter().map(|path| path.to_string_lossy()).collect();
        assert_eq!(
            texts,
            ["/srv/a\u{fffd}\u{fffd}", "/run/service", "/srv/b c /d", "/srv/log"]
        );
    }

    #[test]
    fn a_datagram_socket_is_found() {
        let keep = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = keep.path().join("log");
        let _socket = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
        let found = reachable(&[]);
        assert!(found.complete && found.paths.contains(&path.canonicalize().unwrap()));
    }

    #[test]
    fn a_socket_in_a_private_folder_counts_where_that_is_shown() {
        let keep = tempfile::tempdir_in("/tmp").unwrap();
        let folder = keep.path().canonicalize().unwrap();
        let path = folder.join("s");
        let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(!reachable(&[]).paths.contains(&path));
        assert!(reachable(&[&[], &[folder]]).paths.contains(&path));
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
}
