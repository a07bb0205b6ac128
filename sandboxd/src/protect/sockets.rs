//! Unix sockets that somebody outside is reached at: a read-only mount does not stop a `connect`, so they are masked.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

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

/// All sockets with a path that take connections or messages, outside of `/tmp` and `/run`, which are private anyway.
#[must_use]
pub fn reachable() -> Sockets {
    let mut table = Vec::new();
    // Without the table there are no unix sockets in this kernel.
    let read = File::open("/proc/net/unix").and_then(|file| file.take(MAX_TABLE_BYTES + 1).read_to_end(&mut table));
    let mut paths: Vec<PathBuf> = named(&table)
        .into_iter()
        .filter_map(|path| path.canonicalize().ok())
        .collect();
    paths.sort();
    paths.dedup();
    let complete =
        paths.len() <= MAX_SOCKETS && table.len() as u64 <= MAX_TABLE_BYTES && (read.is_ok() || table.is_empty());
    paths.truncate(MAX_SOCKETS);
    Sockets { paths, complete }
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
        if reachable && !["/tmp", "/run", "/dev"].iter().any(|folder| path.starts_with(folder)) {
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
            0000000000000000: 00000002 00000000 00010000 0001 01 1 /run/private\n\
            0000000000000000: 00000002 00000000 00010000 0005 01 1 /srv/b c /d\n\
            0000000000000000: 00000002 00000000 00000000 0002 01 1 /srv/log\n";
        let found = named(table);
        let texts: Vec<_> = found.iter().map(|path| path.to_string_lossy()).collect();
        assert_eq!(texts, ["/srv/a\u{fffd}\u{fffd}", "/srv/b c /d", "/srv/log"]);
    }

    #[test]
    fn a_datagram_socket_is_found() {
        let keep = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = keep.path().join("log");
        let _socket = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
        let found = reachable();
        assert!(found.complete && found.paths.contains(&path.canonicalize().unwrap()));
    }
}
