//! Which unix sockets of this network namespace have a place in the file tree, from the kernel.
//!
//! `/proc/net/unix` has the names only, as they were given: relative ones begin nobody knows where, and a name with a newline is
//! cut. The kernel's `sock_diag` tells the inode beside it, which a socket keeps when it is renamed. Where that cannot be
//! asked, the table has to do.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with};

/// Largest table that is read, in bytes.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The kernel sends no larger message than it is given room for, from 32 KiB on.
const MESSAGE: usize = 64 * 1024;

/// It answers at once; this is for one that does not.
const PATIENCE: Duration = Duration::from_secs(2);

/// A socket with a place in the file tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    /// The name, as it was given when it was bound.
    pub(super) name: PathBuf,
    /// The low 32 bits of the number of its inode; `None` = not known.
    pub(super) inode: Option<u32>,
    /// Whose it is; `None` = not known.
    pub(super) owner: Option<u32>,
}

/// All that take connections or messages, or may do so later; and whether that is all of them.
pub(super) fn all() -> (Vec<Bound>, bool) {
    if let Ok(answer) = ask() {
        return answer;
    }
    let mut table = Vec::new();
    let most = MAX_BYTES as u64 + 1;
    // Without the table there are no unix sockets in this kernel.
    let read = File::open("/proc/net/unix").and_then(|file| file.take(most).read_to_end(&mut table));
    let complete = table.len() <= MAX_BYTES && (read.is_ok() || table.is_empty());
    (of_table(&table), complete)
}

// `linux/sock_diag.h`, `linux/unix_diag.h`, `linux/netlink.h`.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const REQUEST_AND_DUMP: u16 = 0x301;
const DONE: u16 = 3;
const ERROR: u16 = 2;
const SHOW_NAME_VFS_UID: u32 = 0x43;
const UNIX: u8 = 1;
const NAME: u16 = 0;
const VFS: u16 = 1;
const UID: u16 = 7;
/// Bytes of a message's header, and of what stands before the attributes in an answer.
const HEADER: usize = 16;
const FIXED: usize = 16;

/// A datagram socket, which takes messages in every state.
const DATAGRAM: u8 = 2;
/// Connected (`TCP_ESTABLISHED`): the other end of a connection has its listener's name, and nobody else gets to it.
const CONNECTED: u8 = 1;

fn ask() -> io::Result<(Vec<Bound>, bool)> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
    send(&socket, &request(), SendFlags::empty())?;
    let mut found = Vec::new();
    let mut buffer = vec![0; MESSAGE];
    let mut total = 0;
    loop {
        let (_, length) = recv(&socket, buffer.as_mut_slice(), RecvFlags::TRUNC)?;
        let bytes = buffer
            .get(..length)
            .filter(|bytes| !bytes.is_empty())
            .ok_or(io::ErrorKind::InvalidData)?;
        total += length;
        if messages(bytes, &mut found)? {
            return Ok((found, true));
        }
        if total > MAX_BYTES {
            return Ok((found, false));
        }
    }
}

/// Header (length, type, flags, sequence, port), then `struct unix_diag_req`: family, protocol, states, inode, what to show, cookie.
fn request() -> Vec<u8> {
    let all = u32::MAX.to_ne_bytes();
    let body = [
        vec![UNIX, 0, 0, 0],
        all.to_vec(),
        vec![0; 4],
        SHOW_NAME_VFS_UID.to_ne_bytes().to_vec(),
        vec![0; 8],
    ]
    .concat();
    let length = u32::try_from(HEADER + body.len()).unwrap_or_default();
    [
        length.to_ne_bytes().to_vec(),
        SOCK_DIAG_BY_FAMILY.to_ne_bytes().to_vec(),
        REQUEST_AND_DUMP.to_ne_bytes().to_vec(),
        vec![0; 8],
        body,
    ]
    .concat()
}

/// Takes the messages of one answer apart; whether the last one was among them.
fn messages(mut bytes: &[u8], found: &mut Vec<Bound>) -> io::Result<bool> {
    while let (Some(length), Some(kind)) = (u32_at(bytes, 0), u16_at(bytes, 4)) {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let message = bytes
            .get(..length)
            .filter(|message| message.len() >= HEADER)
            .ok_or(io::ErrorKind::InvalidData)?;
        match kind {
            DONE => return Ok(true),
            ERROR => return Err(io::ErrorKind::Unsupported.into()),
            SOCK_DIAG_BY_FAMILY => found.extend(bound(message.get(HEADER..).unwrap_or_default())),
            _ => {}
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// One socket: family, type, state, padding, number, cookie; then attributes.
fn bound(message: &[u8]) -> Option<Bound> {
    let (kind, state) = (*message.get(1)?, *message.get(2)?);
    if kind != DATAGRAM && state == CONNECTED {
        return None;
    }
    let (mut name, mut inode, mut owner) = (None, None, None);
    let mut rest = message.get(FIXED..)?;
    while let (Some(length), Some(kind)) = (u16_at(rest, 0), u16_at(rest, 2)) {
        let length = usize::from(length);
        let Some(value) = rest.get(4..length) else { break };
        match kind {
            NAME => name = value.split(|&byte| byte == 0).next(),
            VFS => inode = u32_at(value, 0),
            UID => owner = u32_at(value, 0),
            _ => {}
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    // An abstract name begins with a zero, and none has no inode.
    let name = name.filter(|name| !name.is_empty())?;
    Some(Bound {
        name: PathBuf::from(OsStr::from_bytes(name)),
        inode,
        owner,
    })
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let part = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_ne_bytes(*part))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let part = bytes.get(at..)?.first_chunk::<2>()?;
    Some(u16::from_ne_bytes(*part))
}

/// The state of a socket that is connected, as the table prints it (`SS_CONNECTED`), and the kind of one that takes messages all
/// the same.
const TABLE_CONNECTED: &[u8] = b"03";
const TABLE_DATAGRAM: &[u8] = b"0002";

/// The same from `/proc/net/unix`. Any user can put any bytes there; they cost that line only.
fn of_table(table: &[u8]) -> Vec<Bound> {
    let mut found = Vec::new();
    for line in table.split(|&byte| byte == b'\n') {
        // Seven columns, the last as wide as the number is long, then a blank and the name.
        let mut rest = line;
        let mut columns: Vec<&[u8]> = Vec::new();
        while columns.len() < 7 {
            rest = rest.trim_ascii_start();
            let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
            let (column, after) = rest.split_at(end);
            columns.push(column);
            rest = after;
        }
        let (kind, state) = (columns.get(4).copied(), columns.get(5).copied());
        let name = rest.get(1..).unwrap_or_default();
        let is_header = !columns.first().is_some_and(|column| column.ends_with(b":"));
        if is_header || name.is_empty() || name.starts_with(b"@") {
            continue;
        }
        if kind != Some(TABLE_DATAGRAM) && state == Some(TABLE_CONNECTED) {
            continue;
        }
        found.push(Bound {
            name: PathBuf::from(OsStr::from_bytes(name)),
            inode: None,
            owner: None,
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;
    use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};

    use super::*;

    #[test]
    fn a_strange_name_hides_no_other() {
        let table = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 1 /srv/a\xff\xfe\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 1 @/abstract\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 1 /srv/connected\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 1 /run/service\n\
            0000000000000000: 00000002 00000000 00010000 0005 01     1 /srv/b c /d\n\
            0000000000000000: 00000002 00000000 00010000 0005 01 1 ./relative /x\n\
            0000000000000000: 00000002 00000000 00010000 0005 01 1\n\
            cut\n\
            0000000000000000: 00000002 00000000 00000000 0002 01 1 /srv/log\n";
        let texts: Vec<_> = of_table(table)
            .into_iter()
            .map(|bound| bound.name.to_string_lossy().into_owned())
            .collect();
        assert_eq!(
            texts,
            [
                "/srv/a\u{fffd}\u{fffd}",
                "/run/service",
                "/srv/b c /d",
                "./relative /x",
                "/srv/log"
            ]
        );
    }

    #[test]
    fn the_kernel_tells_names_inodes_and_owners() {
        let keep = tempfile::tempdir_in("/var/tmp").unwrap();
        let [listens, takes, strange] = ["listens", "takes", "a\nb"].map(|name| keep.path().join(name));
        let listener = UnixListener::bind(&listens).unwrap();
        let _datagrams = UnixDatagram::bind(&takes).unwrap();
        let _strange = UnixListener::bind(&strange).unwrap();
        let _asks = UnixStream::connect(&listens).unwrap();
        let _accepted = listener.accept().unwrap();
        let (found, complete) = ask().unwrap();
        assert!(complete);
        for path in [&listens, &takes, &strange] {
            let inode = u32::try_from(path.symlink_metadata().unwrap().ino() & u64::from(u32::MAX)).unwrap();
            let of_it: Vec<_> = found.iter().filter(|bound| bound.name == *path).collect();
            assert_eq!(of_it.len(), 1, "{of_it:?}");
            assert_eq!(of_it[0].inode, Some(inode));
            let own = rustix::process::geteuid().as_raw();
            assert!(of_it[0].owner.is_none_or(|owner| owner == own));
        }
    }

    #[test]
    fn what_the_kernel_would_never_send_is_an_error_and_no_panic() {
        let mut message = [20u32.to_ne_bytes().to_vec(), vec![20, 0, 0, 0], vec![0; 12]].concat();
        for cut in 0..message.len() {
            let _ = messages(&message[..cut], &mut Vec::new());
        }
        message[0] = 3;
        assert!(messages(&message, &mut Vec::new()).is_err());
    }
}
