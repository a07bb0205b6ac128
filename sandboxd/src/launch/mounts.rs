//! The file tree of the sandbox, built by mounts in a new mount namespace.
//!
//! Order, and why:
//! 1. Everything that stays writable is copied as a detached tree, and device nodes too, before the rest becomes read-only:
//!    a mount attribute, once set in a namespace of fewer rights, cannot be taken back there.
//! 2. The whole tree becomes read-only, recursively, in one call that fails as a whole.
//! 3. Ancestors of protected paths are bound on themselves ("pins"). The writable trees bury these mounts, so no lookup
//!    ever crosses them (no `EXDEV` inside the workspace), but renaming or removing such a folder gives `EBUSY`: otherwise
//!    `mv .git x; cp -r x .git` would yield a `.git` without protection.
//! 4. Private `/tmp`, `/run`, `/dev`, `/proc` come before the writable trees, which may lie below them.
//! 5. Writable trees are attached, then protected paths on top of them, then masks on top of everything.
//!
//! Every target is opened without following symlinks, so that what was checked is what is covered.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_set_string, fsmount, fsopen, mount_change, move_mount, open_tree,
};

use super::spec::Layout;
use super::{StepFailed, places};
use crate::sys::mount::{NO_DEV, NO_EXEC, NO_SUID, READ_ONLY, add_attributes};

pub(super) const STEP: &str = "mount_namespace";

/// Where temporary files go when `/tmp` is closed.
pub const PRIVATE_TMP: &str = "/run/portcullis-tmp";

/// Most folders that are pinned. Beyond it the set-up would take longer than people wait.
const MAX_PINS: usize = 8192;

/// Largest resolver configuration that is carried over, in bytes.
const MAX_RESOLV_CONF: u64 = 64 * 1024;

/// Device nodes of the minimal `/dev`.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Parts of `/proc` that act on the machine. Read-only whoever asks: for uid 0 the kernel looks at file modes, not at
/// capabilities, before it changes a sysctl.
const PROC_READ_ONLY: [&str; 8] = ["sys", "sysrq-trigger", "irq", "bus", "acpi", "scsi", "fs", "driver"];

/// Builds the tree. What may be written afterwards is returned, for the second wall.
///
/// # Errors
/// Names what could not be mounted. Nothing may be started then.
pub fn build(layout: &Layout) -> Result<Vec<PathBuf>, StepFailed> {
    let mut read_write = paths(&layout.read_write);
    // Outer folders first, so that an inner one lands on top.
    read_write.sort();
    read_write.dedup();
    for root in &read_write {
        refuse_special(root)?;
    }
    let mut visible = paths(&layout.visible);
    // A service that was restarted has no socket for a moment. Showing less only narrows.
    visible.retain(|path| path.symlink_metadata().is_ok());
    let mut protected = paths(&layout.protected);
    let masked = paths(&layout.masked);

    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|error| StepFailed::new(STEP, "making mounts private", error))?;

    // 1.
    let writable_trees = clone_all(&read_write)?;
    let visible_trees = clone_all(&visible)?;
    let own = places::take(layout)?;
    let devices = DEVICES
        .iter()
        .filter_map(|name| {
            clone_tree(&Path::new("/dev").join(name), false)
                .ok()
                .map(|tree| (*name, tree))
        })
        .collect::<Vec<_>>();
    let resolv_conf = resolver_configuration(&layout.name_server);

    // 2.
    let root = open_path(Path::new("/")).map_err(|error| StepFailed::new(STEP, "opening `/`", error))?;
    add_attributes(root.as_fd(), READ_ONLY | NO_SUID | NO_DEV, true)
        .map_err(|error| StepFailed::new(STEP, "making the file tree read-only", error))?;

    let made: BTreeSet<PathBuf> = paths(&layout.placeholders).into_iter().collect();
    // Somebody outside has removed it (`git clean -d`): the look back remains.
    protected.retain(|path| !made.contains(path) || path.symlink_metadata().is_ok());

    // 3.
    for ancestor in pins(&read_write, &protected)? {
        bind_on_itself(&ancestor, 0)?;
    }

    // 4.
    let shared_tmp = read_write.iter().any(|path| path == Path::new("/tmp"));
    let mut writable = read_write.clone();
    private_run(resolv_conf.as_ref())?;
    if layout.tmp_read_only {
        cover("/tmp", "1777", 0)?;
        mkdir(Path::new(PRIVATE_TMP), 0o700)?;
        cover(PRIVATE_TMP, "0700", 0)?;
        writable.push(PRIVATE_TMP.into());
    } else if !shared_tmp {
        own.at_tmp()?;
        writable.push("/tmp".into());
    }
    if layout.with_cache {
        own.at_cache()?;
        writable.push(places::CACHE.into());
    }
    private_dev(&devices)?;
    writable.push("/dev/shm".into());
    private_proc()?;

    // 5. Targets below private folders first have to exist there.
    for (path, tree) in visible.iter().zip(&visible_trees) {
        make_target(path, is_folder(tree))?;
        add_attributes(tree.as_fd(), READ_ONLY | NO_SUID | NO_DEV, true)
            .map_err(|error| StepFailed::new(STEP, format!("making `{}` read-only", path.display()), error))?;
        attach(tree, path)?;
    }
    for (path, tree) in read_write.iter().zip(&writable_trees) {
        make_target(path, is_folder(tree))?;
        add_attributes(tree.as_fd(), NO_SUID | NO_DEV, true)
            .map_err(|error| StepFailed::new(STEP, format!("restricting `{}`", path.display()), error))?;
        attach(tree, path)?;
    }
    for path in &protected {
        if made.contains(path) {
            places::at_placeholder(path)?;
        } else {
            bind_on_itself(path, READ_ONLY)?;
        }
    }
    mask_all(&places::not_in_own_tmp(layout, masked, &[read_write, visible].concat()))?;
    for closed in ["/run", "/dev"] {
        let fd = open_path(Path::new(closed))
            .map_err(|error| StepFailed::new(STEP, format!("opening `{closed}`"), error))?;
        add_attributes(fd.as_fd(), READ_ONLY, false)
            .map_err(|error| StepFailed::new(STEP, format!("closing `{closed}`"), error))?;
    }
    if layout.tmp_read_only {
        let fd = open_path(Path::new("/tmp")).map_err(|error| StepFailed::new(STEP, "opening `/tmp`", error))?;
        add_attributes(fd.as_fd(), READ_ONLY, false).map_err(|error| StepFailed::new(STEP, "closing `/tmp`", error))?;
    }
    Ok(writable)
}

/// Paths from their bytes.
pub(super) fn paths(list: &[Vec<u8>]) -> Vec<PathBuf> {
    list.iter()
        .map(|bytes| PathBuf::from(OsStr::from_bytes(bytes)))
        .collect()
}

/// Whether a folder is never writable as a whole, because what must be covered lies below it or it is the kernel's.
#[must_use]
pub fn is_special(path: &Path) -> bool {
    let kernels = ["/dev", "/proc", "/sys"];
    path == Path::new("/") || path == Path::new("/run") || kernels.iter().any(|folder| path.starts_with(folder))
}

fn refuse_special(path: &Path) -> Result<(), StepFailed> {
    if path.is_absolute() && !path.components().any(|part| part == Component::ParentDir) && !is_special(path) {
        return Ok(());
    }
    Err(StepFailed::new(
        STEP,
        format!("making `{}` writable", path.display()),
        io::Error::new(io::ErrorKind::InvalidInput, "it is too wide, or belongs to the kernel"),
    ))
}

/// Opens a path for use as a mount's source or target, refusing any symlink on the way.
pub(super) fn open_path(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve)?)
}

pub(super) fn clone_tree(path: &Path, recursive: bool) -> io::Result<OwnedFd> {
    let source = open_path(path)?;
    let mut flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    if recursive {
        flags |= OpenTreeFlags::AT_RECURSIVE;
    }
    Ok(open_tree(source.as_fd(), "", flags)?)
}

fn clone_all(paths: &[PathBuf]) -> Result<Vec<OwnedFd>, StepFailed> {
    paths
        .iter()
        .map(|path| {
            clone_tree(path, true).map_err(|error| StepFailed::new(STEP, format!("taking `{}`", path.display()), error))
        })
        .collect()
}

pub(super) fn attach(tree: &OwnedFd, path: &Path) -> Result<(), StepFailed> {
    let attached = open_path(path).and_then(|target| {
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        Ok(move_mount(tree.as_fd(), "", target.as_fd(), "", flags)?)
    });
    attached.map_err(|error| StepFailed::new(STEP, format!("mounting on `{}`", path.display()), error))
}

fn bind_on_itself(path: &Path, attributes: u64) -> Result<(), StepFailed> {
    let tree = clone_tree(path, attributes != 0)
        .map_err(|error| StepFailed::new(STEP, format!("taking `{}`", path.display()), error))?;
    if attributes != 0 {
        add_attributes(tree.as_fd(), attributes, true)
            .map_err(|error| StepFailed::new(STEP, format!("making `{}` read-only", path.display()), error))?;
    }
    attach(&tree, path)
}

/// Every folder strictly between a writable folder and a protected path below it, outer ones first.
fn pins(read_write: &[PathBuf], protected: &[PathBuf]) -> Result<BTreeSet<PathBuf>, StepFailed> {
    let mut pins = BTreeSet::new();
    for path in protected {
        for root in read_write.iter().filter(|root| path.starts_with(root)) {
            let between = path.ancestors().skip(1).take_while(|ancestor| ancestor != root);
            pins.extend(between.map(Path::to_path_buf));
        }
    }
    // A folder that is itself writable is a mount of its own already.
    pins.retain(|pin| !read_write.contains(pin));
    if pins.len() > MAX_PINS {
        return Err(StepFailed::new(
            STEP,
            format!("pinning {} folders", pins.len()),
            io::Error::new(io::ErrorKind::InvalidInput, "too many protected paths"),
        ));
    }
    Ok(pins)
}

fn new_filesystem(kind: &str, options: &[(&str, &str)], attributes: MountAttrFlags) -> io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        fsconfig_set_string(context.as_fd(), *key, *value)?;
    }
    fsconfig_create(context.as_fd())?;
    Ok(fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

fn tmpfs(mode: &str) -> io::Result<OwnedFd> {
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    new_filesystem("tmpfs", &[("mode", mode)], attributes)
}

/// Covers a folder with an empty one. A folder that the host does not have needs no cover.
pub(super) fn cover(path: &str, mode: &str, attributes: u64) -> Result<(), StepFailed> {
    let path = Path::new(path);
    match path.metadata() {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(StepFailed::new(STEP, format!("looking at `{}`", path.display()), error)),
    }
    let real = fs::canonicalize(path)
        .map_err(|error| StepFailed::new(STEP, format!("resolving `{}`", path.display()), error))?;
    let fs = tmpfs(mode).map_err(|error| StepFailed::new(STEP, "making a private folder", error))?;
    if attributes != 0 {
        add_attributes(fs.as_fd(), attributes, false)
            .map_err(|error| StepFailed::new(STEP, "restricting a private folder", error))?;
    }
    attach(&fs, &real)
}

pub(super) fn mkdir(path: &Path, mode: u32) -> Result<(), StepFailed> {
    let made = match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    };
    made.and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(mode)))
        .map_err(|error| StepFailed::new(STEP, format!("making `{}`", path.display()), error))
}

/// Below a private folder nothing exists yet: makes the folders that lead to a mount's target, and the target.
fn make_target(path: &Path, folder: bool) -> Result<(), StepFailed> {
    if open_path(path).is_ok() {
        return Ok(());
    }
    let private = ["/tmp", "/run"].iter().any(|folder| path.starts_with(folder));
    if !private {
        return Err(StepFailed::new(
            STEP,
            format!("finding `{}`", path.display()),
            io::Error::from(io::ErrorKind::NotFound),
        ));
    }
    places::make(path, folder).map_err(|error| StepFailed::new(STEP, format!("making `{}`", path.display()), error))
}

fn is_folder(tree: &OwnedFd) -> bool {
    rustix::fs::fstat(tree).is_ok_and(|found| rustix::fs::FileType::from_raw_mode(found.st_mode).is_dir())
}

/// The resolver configuration: one that names `name_server`, if there is one; else the host's, if `/etc/resolv.conf` leads into
/// `/run`, which is about to be covered. Without such a file programs ask this machine, where the filter listens too.
fn resolver_configuration(name_server: &str) -> Option<(PathBuf, Vec<u8>)> {
    let real = fs::canonicalize("/etc/resolv.conf").ok()?;
    if !name_server.is_empty() {
        return Some((real, format!("nameserver {name_server}\n").into_bytes()));
    }
    if !real.starts_with("/run") {
        return None;
    }
    let mut text = Vec::new();
    fs::File::open(&real)
        .ok()?
        .take(MAX_RESOLV_CONF)
        .read_to_end(&mut text)
        .ok()?;
    Some((real, text))
}

fn private_run(resolv_conf: Option<&(PathBuf, Vec<u8>)>) -> Result<(), StepFailed> {
    cover("/run", "0755", 0)?;
    let Some((path, text)) = resolv_conf else { return Ok(()) };
    let inside = path.starts_with("/run");
    let target = if inside {
        path.as_path()
    } else {
        Path::new("/run/.resolv.conf")
    };
    if let Some(folder) = target.parent() {
        make_target(folder, true)?;
    }
    fs::write(target, text).map_err(|error| StepFailed::new(STEP, format!("writing `{}`", target.display()), error))?;
    if !inside {
        let tree = clone_tree(target, false)
            .map_err(|error| StepFailed::new(STEP, "taking the resolver configuration", error))?;
        attach(&tree, path)?;
    }
    Ok(())
}

fn private_dev(devices: &[(&str, OwnedFd)]) -> Result<(), StepFailed> {
    let fault = |what: String| move |error: io::Error| StepFailed::new(STEP, what, error);
    cover("/dev", "0755", 0)?;
    for (name, tree) in devices {
        let path = Path::new("/dev").join(name);
        fs::write(&path, b"").map_err(fault(format!("making `{}`", path.display())))?;
        attach(tree, &path)?;
    }
    mkdir(Path::new("/dev/shm"), 0o1777)?;
    cover("/dev/shm", "1777", 0)?;
    mkdir(Path::new("/dev/pts"), 0o755)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let terminals = new_filesystem("devpts", &[("ptmxmode", "0666"), ("mode", "0620")], attributes)
        .map_err(fault("making private terminals".to_owned()))?;
    attach(&terminals, Path::new("/dev/pts"))?;
    for (name, target) in [
        ("ptmx", "pts/ptmx"),
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ] {
        let path = Path::new("/dev").join(name);
        std::os::unix::fs::symlink(target, &path).map_err(fault(format!("making `{}`", path.display())))?;
    }
    Ok(())
}

fn private_proc() -> Result<(), StepFailed> {
    let attributes =
        MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let proc = new_filesystem("proc", &[], attributes)
        .map_err(|error| StepFailed::new(STEP, "making a private `/proc`", error))?;
    attach(&proc, Path::new("/proc"))?;
    for name in PROC_READ_ONLY {
        let path = Path::new("/proc").join(name);
        match path.symlink_metadata() {
            Ok(found) if found.is_symlink() => {}
            Ok(_) => bind_on_itself(&path, READ_ONLY | NO_EXEC)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(StepFailed::new(STEP, format!("looking at `{}`", path.display()), error)),
        }
    }
    Ok(())
}

/// Hides what is at these paths: a folder becomes an empty one, a socket one at which nobody is (it stays one for who looks), anything
/// else an empty file that nobody can open.
fn mask_all(masked: &[PathBuf]) -> Result<(), StepFailed> {
    let (mut empty_file, mut dead_socket) = (None, None);
    for path in masked {
        let found = match path.symlink_metadata() {
            Ok(found) => found,
            // Nothing there, or nothing that this process, and so its command, could look at.
            Err(error) if unreachable(&error) => continue,
            Err(error) => return Err(StepFailed::new(STEP, format!("looking at `{}`", path.display()), error)),
        };
        if found.is_dir() {
            let empty = tmpfs("0000").map_err(|error| StepFailed::new(STEP, "making a mask", error))?;
            add_attributes(empty.as_fd(), READ_ONLY, false)
                .map_err(|error| StepFailed::new(STEP, "closing a mask", error))?;
            unless_gone(path, attach(&empty, path))?;
        } else if !found.is_symlink() {
            let is_socket = found.file_type().is_socket();
            let mask = if is_socket { &mut dead_socket } else { &mut empty_file };
            let source = match mask {
                Some(source) => source,
                None => mask.insert(mask_source(is_socket)?),
            };
            let tree = clone_tree(source, false).map_err(|error| StepFailed::new(STEP, "taking a mask", error))?;
            add_attributes(tree.as_fd(), READ_ONLY, false)
                .map_err(|error| StepFailed::new(STEP, "closing a mask", error))?;
            unless_gone(path, attach(&tree, path))?;
        }
    }
    Ok(())
}

/// A failure, unless the path has gone meanwhile: a socket of a program that has just ended needs no mask.
fn unless_gone(path: &Path, masked: Result<(), StepFailed>) -> Result<(), StepFailed> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        _ => masked,
    }
}

/// Whether nothing is at a path for a process of this user: a parent is missing, closed to it, or no folder.
fn unreachable(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR | libc::EACCES))
}

/// An empty file, or a socket that nobody has bound, without any permission, in the private `/run`.
fn mask_source(is_socket: bool) -> Result<PathBuf, StepFailed> {
    let path = PathBuf::from(if is_socket {
        "/run/.masked-socket"
    } else {
        "/run/.masked"
    });
    let made = if is_socket {
        let kind = rustix::fs::FileType::Socket;
        rustix::fs::mknodat(CWD, &path, kind, Mode::empty(), 0).map_err(io::Error::from)
    } else {
        fs::write(&path, b"")
    };
    made.and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o000)))
        .map_err(|error| StepFailed::new(STEP, "making a mask", error))?;
    Ok(path)
}
