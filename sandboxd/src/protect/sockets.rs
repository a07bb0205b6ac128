//! Unix sockets that somebody outside listens on: a read-only mount does not stop a `connect`, so they are masked.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;

/// Most sockets that are masked.
const MAX_SOCKETS: usize = 256;

/// Largest table that is read, in bytes.
const MAX_TABLE_BYTES: u64 = 4 * 1024 * 1024;

/// The flag of a socket that listens, as the table prints it (`__SO_ACCEPTCON`).
const LISTENS: &str = "00010000";

/// Paths of all sockets that are listened on, outside of `/tmp` and `/run`, which are private anyway.
#[must_use]
pub fn listening() -> Vec<PathBuf> {
    let Ok(table) = File::open("/proc/net/unix") else {
        return Vec::new();
    };
    let mut sockets = Vec::new();
    for line in BufReader::new(table.take(MAX_TABLE_BYTES))
        .lines()
        .map_while(Result::ok)
    {
        let mut words = line.split_ascii_whitespace();
        let listens = words.nth(3) == Some(LISTENS);
        let Some((_, path)) = line.split_once(" /") else {
            continue;
        };
        let path = PathBuf::from(format!("/{path}"));
        if listens && !["/tmp", "/run", "/dev"].iter().any(|folder| path.starts_with(folder)) {
            sockets.extend(path.canonicalize());
        }
    }
    sockets.sort();
    sockets.dedup();
    sockets.truncate(MAX_SOCKETS);
    sockets
}
