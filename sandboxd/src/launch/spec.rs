//! What the launcher is told, and what it tells back.
//!
//! Protobuf because daemon and launcher come from one build but need a bounded, exact encoding of arbitrary bytes: paths
//! and variables need not be UTF-8.

use std::io::{self, Read, Write};

use portcullis_proto::v1::Enforcement;
use prost::Message as _;

/// Largest specification that is read, in bytes: the kernel takes no more than 2 MiB of arguments and environment (at its
/// default stack limit), the rest is paths.
pub const MAX_SPEC_BYTES: usize = 8 * 1024 * 1024;

/// Largest report, in bytes.
pub const MAX_REPORT_BYTES: usize = 64 * 1024;

/// What to run, and in which file tree.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Spec {
    /// Program and arguments.
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub argv: Vec<Vec<u8>>,
    /// Absolute path of the working directory.
    #[prost(bytes = "vec", tag = "2")]
    pub cwd: Vec<u8>,
    /// The whole environment, as `NAME=value`.
    #[prost(bytes = "vec", repeated, tag = "3")]
    pub environment: Vec<Vec<u8>>,
    /// The file tree.
    #[prost(message, optional, tag = "4")]
    pub layout: Option<Layout>,
    /// Start even if only part can be enforced.
    #[prost(bool, tag = "5")]
    pub accept_partial: bool,
    /// What the daemon already knows to be missing, one line each.
    #[prost(string, repeated, tag = "6")]
    pub missing: Vec<String>,
    /// The command goes on ignoring the signals that the launcher was started with ignored.
    #[prost(bool, tag = "7")]
    pub keep_ignored_signals: bool,
    /// The network is filtered: a socket to the filter was inherited, see [`super::network`].
    #[prost(bool, tag = "8")]
    pub filtered_network: bool,
    /// What each process may use.
    #[prost(message, optional, tag = "9")]
    pub limits: Option<Limits>,
    /// Limits that are wanted and not held, one line each.
    #[prost(string, repeated, tag = "10")]
    pub unheld_limits: Vec<String>,
    /// The cgroup that the sandbox is to live in, if there is one for it.
    #[prost(bytes = "vec", tag = "11")]
    pub cgroup: Vec<u8>,
    /// Start without Landlock if the kernel has none, and nothing else is missing.
    #[prost(bool, tag = "12")]
    pub accept_without_landlock: bool,
    /// The command gets a terminal of its own, see [`super::terminal`].
    #[prost(bool, tag = "13")]
    pub own_terminal: bool,
    /// Start without namespaces if none can be made, see [`super::alone`].
    #[prost(bool, tag = "14")]
    pub accept_without_namespaces: bool,
    /// What of it takes namespaces, by the policy's words; empty = it can be enforced without.
    #[prost(string, repeated, tag = "15")]
    pub needs_namespaces: Vec<String>,
}

/// What the kernel bounds by process. 0 = as it was.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Limits {
    /// Processes and threads of the caller in the sandbox.
    #[prost(uint64, tag = "1")]
    pub processes: u64,
    /// Open files.
    #[prost(uint64, tag = "2")]
    pub open_files: u64,
    /// Size of a file that is written, in bytes.
    #[prost(uint64, tag = "3")]
    pub file_bytes: u64,
    /// Open files that a process begins with; it may raise that up to `open_files`.
    #[prost(uint64, tag = "4")]
    pub open_files_at_first: u64,
}

/// The file tree of a sandbox. Everything that is not named is readable and read-only. All paths are absolute and real
/// (no symlink in them); a path that has become something else since is refused, not followed.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Layout {
    /// Folders and files that may be written.
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub read_write: Vec<Vec<u8>>,
    /// Existing paths inside them that stay read-only.
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub protected: Vec<Vec<u8>>,
    /// Folders that must be visible (read-only) even below a private one such as `/tmp`.
    #[prost(bytes = "vec", repeated, tag = "3")]
    pub visible: Vec<Vec<u8>>,
    /// Paths whose contents are hidden.
    #[prost(bytes = "vec", repeated, tag = "4")]
    pub masked: Vec<Vec<u8>>,
    /// `/tmp` stays read-only; `TMPDIR` names a private folder elsewhere.
    #[prost(bool, tag = "5")]
    pub tmp_read_only: bool,
    /// The name server that programs find in `/etc/resolv.conf`, if not the host's.
    #[prost(string, tag = "6")]
    pub name_server: String,
    /// A folder of ours that stands at `/tmp`, if that is private; empty = a new one in memory.
    #[prost(bytes = "vec", tag = "7")]
    pub tmp_folder: Vec<u8>,
    /// A folder of ours that stands at [`super::places::CACHE`]; empty = a new one in memory.
    #[prost(bytes = "vec", tag = "8")]
    pub cache_folder: Vec<u8>,
    /// There is a folder for caches.
    #[prost(bool, tag = "9")]
    pub with_cache: bool,
    /// Those protected paths that are empty folders in a work tree, made for this run. Inside they hold a file that keeps git
    /// from taking them for something to clean or stash.
    #[prost(bytes = "vec", repeated, tag = "10")]
    pub placeholders: Vec<Vec<u8>>,
}

/// What the launcher tells back, in this order: `ready` or `refused`; after `ready`, `running` or `not_executed`; after
/// `running`, `refused_calls` if there were any, and `exited`. An end without `exited` means that the sandbox was killed.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Report {
    /// What happened.
    #[prost(oneof = "Event", tags = "1, 2, 3, 4, 5, 6")]
    pub event: Option<Event>,
}

/// What happened.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Event {
    /// The sandbox stands; the command is not yet executed.
    #[prost(message, tag = "1")]
    Ready(Enforcement),
    /// It does not; nothing was executed.
    #[prost(message, tag = "2")]
    Refused(Refused),
    /// The command was executed.
    #[prost(message, tag = "3")]
    Running(Running),
    /// It could not be: no such program, or not executable.
    #[prost(message, tag = "4")]
    NotExecuted(NotExecuted),
    /// It ended.
    #[prost(message, tag = "5")]
    Exited(Exited),
    /// What it was refused.
    #[prost(message, tag = "6")]
    RefusedCalls(RefusedCalls),
}

/// Why there is no sandbox.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Refused {
    /// The step, by the name of its mechanism.
    #[prost(string, tag = "1")]
    pub step: String,
    /// What was tried and why it failed.
    #[prost(string, tag = "2")]
    pub reason: String,
    /// The kernel's error number; 0 = none.
    #[prost(int32, tag = "3")]
    pub errno: i32,
}

/// The command was executed.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Running {}

/// The command could not be executed.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct NotExecuted {
    /// The kernel's error number.
    #[prost(int32, tag = "1")]
    pub errno: i32,
}

/// System calls that were refused, if that was heard of inside.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct RefusedCalls {
    /// Each once.
    #[prost(message, repeated, tag = "1")]
    pub calls: Vec<RefusedCall>,
}

/// A system call that was refused.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct RefusedCall {
    /// Its number on this machine.
    #[prost(int32, tag = "1")]
    pub number: i32,
    /// How often.
    #[prost(uint64, tag = "2")]
    pub times: u64,
}

/// How the command ended.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Exited {
    /// Its exit status.
    #[prost(uint32, tag = "1")]
    pub code: u32,
    /// The signal that killed it; 0 = none.
    #[prost(uint32, tag = "2")]
    pub signal: u32,
}

/// Reads a specification up to its end.
///
/// # Errors
/// If it is too large, cut off, or says nothing to run.
pub fn read_spec(from: impl Read) -> io::Result<Spec> {
    let mut bytes = Vec::new();
    from.take(MAX_SPEC_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_SPEC_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the specification is too large",
        ));
    }
    let spec = Spec::decode(bytes.as_slice()).map_err(|fault| io::Error::new(io::ErrorKind::InvalidData, fault))?;
    if spec.argv.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the specification names no program",
        ));
    }
    Ok(spec)
}

/// Writes one report: its length in four bytes, big endian, and its bytes.
///
/// # Errors
/// If nobody reads.
pub fn write_report(mut to: impl Write, event: Event) -> io::Result<()> {
    let bytes = Report { event: Some(event) }.encode_to_vec();
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    to.write_all(&[length.to_be_bytes().as_slice(), &bytes].concat())
}

/// Takes the next report off the front of `bytes`; `None` if it is not complete yet.
///
/// # Errors
/// If it is no report.
pub fn next_report(bytes: &mut Vec<u8>) -> io::Result<Option<Event>> {
    let Some(length) = bytes
        .first_chunk::<4>()
        .map(|length| u32::from_be_bytes(*length) as usize)
    else {
        return Ok(None);
    };
    if length > MAX_REPORT_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the report is too large"));
    }
    let Some(body) = bytes.get(4..4 + length) else {
        return Ok(None);
    };
    let report = Report::decode(body).map_err(|fault| io::Error::new(io::ErrorKind::InvalidData, fault))?;
    bytes.drain(..4 + length);
    match report.event {
        Some(event) => Ok(Some(event)),
        None => Err(io::Error::new(io::ErrorKind::InvalidData, "the report says nothing")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read_whole_or_not_at_all() {
        let mut stream = Vec::new();
        write_report(&mut stream, Event::Running(Running {})).unwrap();
        write_report(&mut stream, Event::Exited(Exited { code: 3, signal: 0 })).unwrap();
        let mut seen = Vec::new();
        let mut events = Vec::new();
        for byte in stream {
            seen.push(byte);
            while let Some(event) = next_report(&mut seen).unwrap() {
                events.push(event);
            }
        }
        assert_eq!(
            events,
            [Event::Running(Running {}), Event::Exited(Exited { code: 3, signal: 0 })]
        );
        assert!(seen.is_empty());
    }

    #[test]
    fn an_oversized_or_empty_specification_is_refused() {
        assert!(read_spec(io::repeat(1)).is_err());
        assert!(read_spec(io::empty()).is_err());
        assert!(next_report(&mut vec![0xff, 0xff, 0xff, 0xff]).is_err());
    }
}
