//! The sandbox's policy as a profile of Seatbelt, the sandbox of macOS.
//!
//! Pure: from a [`Policy`] to the text that `sandbox-exec -f` takes. Nothing is looked up here, so it is the same on every
//! system, and tested on Linux: the tests read the text again and ask it what may be written, read and reached. What only a
//! Mac can say (that its kernel reads a rule as we do) is not known; `docs/decisions/0066-seatbelt-profiles.md` says what
//! each form rests on.
//!
//! How a profile is written. It is closed by default. Makers of other sandboxes report three different orders of precedence
//! (the last rule that fits; the most exact operation; any denial), so no rule here leans on one: a denial takes out of
//! itself, by `require-not`, what it leaves free, and no allow names a part of an operation that a denial names as a group.
//! The tests hold this by evaluating every profile in all three orders.
//!
//! Writing the profile starts nothing, makes no file, and finds no path: paths come real from [`crate::prepare`]. Putting it to
//! use is apart: [`command`] is the call of `sandbox-exec`, [`supervise`] stays with it.

pub mod command;
mod names;
mod of_run;
pub mod supervise;
mod table;
mod text;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub use of_run::Host;
use table::{Known, MACH, SEMAPHORES, SHARED_MEMORY, SYSCTL_READ, SYSCTL_WRITE};
use text::{Filter, Text, written};

/// Largest profile, in bytes: all that can be hidden, with long names.
pub const MAX_BYTES: usize = 8 * 1024 * 1024;

/// Where macOS keeps temporary files of everybody.
pub const HOSTS_TMP: &str = "/private/tmp";

/// The socket of the service that looks names up for anybody.
const NAME_SERVICE: &str = "/private/var/run/mDNSResponder";

/// How the paths of sockets begin that launchd makes for agents of the person: ssh-agent's is one.
const LAUNCHDS: [&str; 2] = ["/private/tmp/com.apple.launchd.", "/private/var/run/com.apple.launchd."];

/// What a command may do, with every path real.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Folders and files that may be written.
    pub read_write: Vec<PathBuf>,
    /// Existing paths in them that stay read-only.
    pub protected: Vec<PathBuf>,
    /// Names in them that stay read-only whether they exist or not, in any letters.
    pub names: Vec<Name>,
    /// Paths that cannot be read, written or connected to.
    pub masked: Vec<PathBuf>,
    /// Paths that stay readable below a folder of temporary files that is not.
    pub visible: Vec<PathBuf>,
    /// What becomes of the host's temporary files.
    pub temporary: Temporary,
    /// Where they lie, besides [`HOSTS_TMP`]: the folder that macOS gives each user.
    pub temporary_folders: Vec<PathBuf>,
    /// Our folder that `TMPDIR` names; free even if it lies in a masked one.
    pub own_tmp: Option<PathBuf>,
    /// Our folder for caches of package managers; the same.
    pub own_cache: Option<PathBuf>,
    /// The network.
    pub network: Network,
    /// Sockets of the outside that may be connected to.
    pub sockets: Vec<PathBuf>,
    /// The terminal that was made for the command.
    pub terminal: Option<PathBuf>,
}

/// Names that stay read-only below a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// The folder, which exists.
    pub folder: PathBuf,
    /// Names on the way, with `*`, `?` and `**`.
    pub segments: Vec<String>,
}

/// What becomes of the host's temporary files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Temporary {
    /// They are not there; the command has a folder of its own.
    #[default]
    Private,
    /// They can be read, and written as far as they are among what may be written.
    Shared,
    /// They can be read.
    Closed,
}

/// What can be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// Nothing.
    #[default]
    None,
    /// What the filter at this port of loopback lets pass.
    Filtered(u16),
}

/// A policy that cannot be written down. Nothing runs then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unwritable {
    /// A rule on such a path would fit nothing, or something else.
    #[error("`{}` is no absolute path without `.` and `..`, or no text", .0.display())]
    Path(PathBuf),
    /// The whole file system.
    #[error("a rule on the whole file system")]
    Whole,
    /// A pattern without names.
    #[error("a protected name below `{}` is empty", .0.display())]
    Name(PathBuf),
    /// No port.
    #[error("the network filter has no port")]
    Port,
    /// Too many paths.
    #[error("the profile has {0} bytes, more than {MAX_BYTES}")]
    TooLong(usize),
}

/// Writes the profile.
///
/// # Errors
/// If part of the policy cannot be written down.
pub fn profile(policy: &Policy) -> Result<String, Unwritable> {
    let policy = &real_spellings(policy)?;
    let mut text = Text::default();
    text.plain("(version 1)");
    text.plain("; Made by Portcullis from the policy in force; changed by hand it protects nothing.");
    text.plain("(deny default)");
    processes(&mut text);
    services(&mut text);
    reading(&mut text, policy);
    devices(&mut text, policy);
    writing(&mut text, policy);
    protecting(&mut text, policy)?;
    hiding(&mut text, policy);
    network(&mut text, policy)?;
    let text = text.finish();
    if text.len() > MAX_BYTES {
        return Err(Unwritable::TooLong(text.len()));
    }
    Ok(text)
}

/// Checks every path and writes it as the kernel does, which resolves links before it asks.
fn real_spellings(policy: &Policy) -> Result<Policy, Unwritable> {
    let list = |paths: &[PathBuf]| -> Result<Vec<PathBuf>, Unwritable> {
        let mut paths = paths.iter().map(|path| written(path)).collect::<Result<Vec<_>, _>>()?;
        paths.sort();
        paths.dedup();
        Ok(paths)
    };
    let one = |path: &Option<PathBuf>| path.as_deref().map(written).transpose();
    let mut names = policy.names.clone();
    for name in &mut names {
        name.folder = written(&name.folder)?;
    }
    names.sort();
    names.dedup();
    Ok(Policy {
        read_write: list(&policy.read_write)?,
        protected: list(&policy.protected)?,
        names,
        masked: list(&policy.masked)?,
        visible: list(&policy.visible)?,
        temporary: policy.temporary,
        temporary_folders: list(&policy.temporary_folders)?,
        own_tmp: one(&policy.own_tmp)?,
        own_cache: one(&policy.own_cache)?,
        network: policy.network,
        sockets: list(&policy.sockets)?,
        terminal: one(&policy.terminal)?,
    })
}

impl Policy {
    /// Our folders for the command.
    fn own(&self) -> Vec<&Path> {
        self.own_tmp
            .iter()
            .chain(&self.own_cache)
            .map(PathBuf::as_path)
            .collect()
    }

    /// All that may be written.
    fn writable(&self) -> Vec<&Path> {
        self.read_write.iter().map(PathBuf::as_path).chain(self.own()).collect()
    }

    /// The host's folders of temporary files.
    fn all_temporary(&self) -> BTreeSet<&Path> {
        self.temporary_folders
            .iter()
            .map(PathBuf::as_path)
            .chain([Path::new(HOSTS_TMP)])
            .collect()
    }
}

fn processes(text: &mut Text) {
    text.section(
        "Processes: what the command starts has the same sandbox. Nobody else's is signalled, inspected or debugged.",
    );
    text.always("allow", &["process-exec*", "process-fork"]);
    let own = Filter::bare("(target same-sandbox)");
    for operation in ["signal", "process-info*", "mach-priv-task-port"] {
        text.rule("allow", &[operation], std::slice::from_ref(&own));
    }
}

/// Services of the system, its settings, and memory that is shared by name.
fn services(text: &mut Text) {
    text.section(
        "Services: only these, by name. Not among them: the keychain, the clipboard, Launch Services, name resolution.",
    );
    let named = |entries: &[Known], kind: &str| -> Vec<Filter> {
        let filter = |entry: &Known| Filter::named(kind, entry.name).because(entry.why);
        entries.iter().map(filter).collect()
    };
    text.rule("allow", &["mach-lookup"], &named(MACH, "global-name"));
    text.always("allow", &["user-preference-read"]);
    let settings: Vec<Filter> = SYSCTL_READ
        .iter()
        .map(|entry| match entry.name.strip_suffix('*') {
            Some(beginning) => Filter::named("sysctl-name-prefix", beginning).because(entry.why),
            None => Filter::named("sysctl-name", entry.name).because(entry.why),
        })
        .collect();
    text.rule("allow", &["sysctl-read"], &settings);
    text.rule("allow", &["sysctl-write"], &named(SYSCTL_WRITE, "sysctl-name"));
    text.rule("allow", &["ipc-posix-sem"], &named(SEMAPHORES, "ipc-posix-name-prefix"));
    text.rule(
        "allow",
        &["ipc-posix-shm*"],
        &named(SHARED_MEMORY, "ipc-posix-name-prefix"),
    );
    let shown = Filter::named("ipc-posix-name", "apple.shm.notification_center");
    text.rule("allow", &["ipc-posix-shm-read*"], &[shown]);
}

fn devices(text: &mut Text, policy: &Policy) {
    text.section("Devices: these, a terminal that was made for the command, and those that it makes itself.");
    let dev = |name: &str| Filter::literal(&Path::new("/dev").join(name));
    let made_inside = Filter::all(vec![
        Filter::regex("^/dev/ttys[0-9]+$"),
        Filter::bare("(extension \"com.apple.sandbox.pty\")"),
    ]);
    let fds = Filter::regex("^/dev/fd/[0-9]+$");
    let read_only = ["random", "urandom", "autofs_nowait", "dtracehelper"];
    let mut both: Vec<Filter> = ["null", "zero", "ptmx"].into_iter().map(dev).collect();
    both.extend([fds, made_inside]);
    // `/dev/tty` is whatever terminal the process was started from: the person's, whose next line could be typed ahead.
    if let Some(terminal) = policy.terminal.as_deref() {
        both.extend([Filter::literal(terminal), dev("tty")]);
    }
    text.always("allow", &["pseudo-tty"]);
    text.rule("allow", &["file-write-data", "file-ioctl"], &both);
    text.rule(
        "allow",
        &["file-ioctl"],
        &[dev("random"), dev("urandom"), dev("dtracehelper")],
    );
    // `/dev` and its folders can be listed.
    let mut left: Vec<Filter> = vec![Filter::below(Path::new("/dev"))];
    let free = both.into_iter().chain(read_only.into_iter().map(dev));
    left.extend(
        [
            Filter::literal(Path::new("/dev")),
            Filter::literal(Path::new("/dev/fd")),
        ]
        .into_iter()
        .map(Filter::not),
    );
    left.extend(free.map(Filter::not));
    text.rule("deny", &["file-read-data"], &[Filter::all(left)]);
}

fn reading(text: &mut Text, policy: &Policy) {
    text.section("Reading: everything but what is hidden below.");
    text.always("allow", &["file-read*", "file-map-executable"]);
    if policy.temporary == Temporary::Private {
        let shown: Vec<&Path> = policy
            .writable()
            .into_iter()
            .chain(policy.visible.iter().map(PathBuf::as_path))
            .collect();
        let folders: Vec<&Path> = policy
            .all_temporary()
            .into_iter()
            .filter(|folder| !shown.iter().any(|path| folder.starts_with(path)))
            .collect();
        text.section("Temporary files of everybody else are not there.");
        hide(text, &folders, &shown);
    }
}

fn writing(text: &mut Text, policy: &Policy) {
    let writable = whole(policy.writable());
    text.section("Writing: only here. A file gets another name only if it can be written under its own.");
    text.rule("allow", &["file-write*"], &writable);
    text.always("deny", &["file-write-setugid"]);
    text.rule("allow", &["file-link"], &writable);
}

/// What stays as it is in folders that can be written.
fn protecting(text: &mut Text, policy: &Policy) -> Result<(), Unwritable> {
    let inside = |path: &Path| policy.writable().iter().any(|root| path.starts_with(root));
    let protected: Vec<Filter> = policy
        .protected
        .iter()
        .filter(|path| inside(path))
        .flat_map(|path| without(path, &policy.own(), true))
        .collect();
    text.section("Protected: what exists, and names that may not come to be, in any letters.");
    text.rule("deny", &["file-write*", "file-link"], &protected);
    let mut expressions = Vec::new();
    for name in policy.names.iter().filter(|name| inside(&name.folder)) {
        expressions.extend(names::expressions(name)?.iter().map(|text| Filter::regex(text)));
    }
    text.rule("deny", &["file-write*", "file-link"], &expressions);
    let mut pinned: BTreeSet<&Path> = BTreeSet::new();
    let folders = policy.names.iter().map(|name| name.folder.as_path());
    let things = policy.protected.iter().chain(&policy.masked);
    for path in things.map(PathBuf::as_path).chain(folders) {
        pinned.extend(path.ancestors().filter(|folder| inside(folder)));
    }
    pinned.retain(|path| !policy.protected.iter().chain(&policy.masked).any(|own| own == path));
    text.section("The folders above these, and those above what is hidden, keep their names: a rule is on a path.");
    let pinned: Vec<Filter> = pinned.into_iter().map(Filter::literal).collect();
    text.rule("deny", &["file-write-unlink"], &pinned);
    Ok(())
}

fn hiding(text: &mut Text, policy: &Policy) {
    text.section("Hidden: contents cannot be read; that such a path exists can be seen.");
    let masked: Vec<&Path> = policy.masked.iter().map(PathBuf::as_path).collect();
    hide(text, &masked, &policy.own());
    let closed: Vec<Filter> = masked
        .iter()
        .flat_map(|path| without(path, &policy.own(), true))
        .collect();
    text.rule("deny", &["file-write*", "file-link"], &closed);
    text.section("The second name of the whole data volume, under which no rule above is written.");
    let alias = Path::new("/System/Volumes/Data");
    hide(text, &[alias], &[]);
    text.rule("deny", &["file-write*", "file-link"], &whole(vec![alias]));
}

/// Hides the contents of folders and files, but for what is `free` in them. What lies on the way to that can be looked up,
/// not listed.
fn hide(text: &mut Text, folders: &[&Path], free: &[&Path]) {
    let mut below = Vec::new();
    let mut named: BTreeSet<&Path> = BTreeSet::new();
    for folder in folders {
        below.extend(without(folder, free, false));
        named.insert(folder);
        named.extend(free.iter().flat_map(|path| passage(folder, path)));
    }
    text.rule("deny", &["file-read*"], &below);
    let named: Vec<Filter> = named.into_iter().map(Filter::literal).collect();
    text.rule("deny", &["file-read-data", "file-read-xattr"], &named);
}

/// The folders between a folder and something in it.
fn passage<'a>(folder: &Path, inner: &'a Path) -> Vec<&'a Path> {
    inner
        .ancestors()
        .skip(1)
        .filter(|path| path.starts_with(folder) && *path != folder)
        .collect()
}

/// What lies below a folder, without what is free in it; `itself` = and the folder.
fn without(folder: &Path, free: &[&Path], itself: bool) -> Vec<Filter> {
    let inner: Vec<&Path> = free.iter().copied().filter(|path| path.starts_with(folder)).collect();
    let mut left: Vec<Filter> = whole(inner.clone()).into_iter().map(Filter::not).collect();
    if itself {
        if left.is_empty() {
            return whole(vec![folder]);
        }
    } else {
        let on_the_way: BTreeSet<&Path> = inner.iter().flat_map(|path| passage(folder, path)).collect();
        left.insert(0, Filter::not(Filter::literal(folder)));
        left.extend(on_the_way.into_iter().map(|path| Filter::not(Filter::literal(path))));
    }
    left.insert(0, Filter::below(folder));
    vec![Filter::all(left)]
}

/// Paths with all below them. Both filters each: whether the second alone covers a plain file is not agreed on.
fn whole(paths: Vec<&Path>) -> Vec<Filter> {
    paths
        .into_iter()
        .flat_map(|path| [Filter::literal(path), Filter::below(path)])
        .collect()
}

fn network(text: &mut Text, policy: &Policy) -> Result<(), Unwritable> {
    text.section("Network: nothing but the filter. Names are looked up by nobody inside.");
    if let Network::Filtered(port) = policy.network {
        if port == 0 {
            return Err(Unwritable::Port);
        }
        let filter = Filter::bare(&format!("(remote tcp \"localhost:{port}\")"));
        text.rule("allow", &["network-outbound"], &[filter]);
    }
    text.section("Unix sockets: those that are made inside, and those that the policy names.");
    text.rule("allow", &["system-socket"], &[Filter::bare("(socket-domain AF_UNIX)")]);
    // In the host's folder of temporary files anybody's sockets lie.
    let temporary = policy.all_temporary();
    let mut reachable = policy.writable();
    reachable.retain(|path| !temporary.iter().any(|folder| folder.starts_with(path)));
    let inside: Vec<Filter> = reachable.iter().map(|path| Filter::below(path)).collect();
    let local: Vec<Filter> = inside.iter().map(|filter| filter.socket("local")).collect();
    let remote: Vec<Filter> = inside.iter().map(|filter| filter.socket("remote")).collect();
    text.rule("allow", &["network-bind", "network-inbound"], &local);
    text.rule("allow", &["network-outbound"], &remote);
    let allowed = |refused: &dyn Fn(&Path) -> bool, filter: Filter| {
        let named = policy.sockets.iter().filter(|path| refused(path));
        let free = named.map(|path| Filter::not(Filter::socket_literal(path)));
        Filter::all([filter].into_iter().chain(free).collect())
    };
    let names = Path::new(NAME_SERVICE);
    let mut refused: Vec<Filter> = vec![allowed(&|path| path == names, Filter::socket_literal(names))];
    let is_launchds = |path: &Path| LAUNCHDS.iter().any(|start| path.to_string_lossy().starts_with(start));
    for start in LAUNCHDS {
        let filter = Filter::socket_regex(&names::beginning(start));
        refused.push(allowed(&is_launchds, filter));
    }
    for hidden in policy
        .masked
        .iter()
        .filter(|path| reachable.iter().any(|folder| path.starts_with(folder)))
    {
        let own = policy.own().into_iter().filter(|path| path.starts_with(hidden));
        let own: Vec<Filter> = own
            .map(|path| Filter::not(Filter::below(path).socket("remote")))
            .collect();
        for filter in [Filter::socket_literal(hidden), Filter::below(hidden).socket("remote")] {
            let filter = Filter::all([filter].into_iter().chain(own.clone()).collect());
            refused.push(allowed(&|path| path.starts_with(hidden), filter));
        }
    }
    text.rule("deny", &["network-outbound"], &refused);
    let named: Vec<Filter> = policy.sockets.iter().map(|path| Filter::socket_literal(path)).collect();
    text.rule("allow", &["network-outbound"], &named);
    Ok(())
}
