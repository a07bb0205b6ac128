//! Paths whose loss takes more along than anybody means: the root and what lies directly in it, home folders, mount
//! points, the workspace and what holds it, and devices that hold disks.
//!
//! Known by their words; what is mounted where is not a fact the host supplies, so the places where mounts usually stand
//! count.

use crate::{AbsPath, path::plain, request::Workspace};

/// Folders whose children are other disks or other people's homes, as segments; `*` is any one name.
const MOUNTS: &[&[&str]] = &[
    &["home", "*"],
    &["Users", "*"],
    &["mnt", "*"],
    &["Volumes", "*"],
    &["media", "*"],
    &["media", "*", "*"],
    &["run", "media", "*"],
    &["run", "media", "*", "*"],
];

/// Devices that hold disks, memory or the machine's controls, as beginnings of the path below `/dev`.
const RAW: &[&str] = &[
    "bcache", "block/", "bus/", "dasd", "disk", "dm-", "drbd", "fd0", "hd", "kmem", "mapper/", "md", "mem", "mmcblk",
    "mtd", "nbd", "nvme", "pmem", "port", "rdisk", "root", "sd", "sg", "sr", "st0", "ubi", "vd", "vg", "watchdog",
    "xvd", "zd", "zvol/",
];

/// Whether the deletion of a path would take more with it than anybody means: the root and what lies directly in it, a
/// home folder, a mount point, the folders of the workspace, the working directory, and all parents of these.
#[must_use]
pub fn is_critical(path: &AbsPath, workspace: &Workspace) -> bool {
    let top = path.parent().is_none_or(|parent| parent == AbsPath::root());
    let around = |inner: &AbsPath| inner.is_within(path);
    top || is_mount(path)
        || workspace.home.as_ref().is_some_and(around)
        || around(&workspace.cwd)
        || workspace.roots().any(around)
}

fn is_mount(path: &AbsPath) -> bool {
    MOUNTS.iter().any(|place| {
        let mut place = place.iter();
        path.segments()
            .all(|segment| place.next().is_some_and(|name| *name == "*" || *name == segment))
            && place.next().is_none()
    })
}

/// The same for what holds more than the workspace: `chmod -R` on the workspace itself is a usual thing, on what lies
/// around it is not.
pub(crate) fn holds_more_than_the_workspace(path: &AbsPath, workspace: &Workspace) -> bool {
    is_critical(path, workspace) && (!workspace.contains(path) || workspace.home.as_ref() == Some(path))
}

/// The same for a pattern of the shell: everything directly in such a folder (`~/*`, `/*`, `*`).
#[must_use]
pub fn is_critical_pattern(folder: &AbsPath, pattern: &str, workspace: &Workspace) -> bool {
    let pattern = plain::written(pattern);
    let rest = pattern
        .strip_prefix(folder.as_str())
        .unwrap_or(&pattern)
        .trim_matches('/');
    let all = |segment: &str| segment.chars().all(|c| matches!(c, '*' | '.' | '?' | '{' | '}' | ','));
    let everything = !rest.is_empty() && rest.split('/').all(all);
    let shallow = rest.matches('/').count();
    // `/tmp/*` is a usual thing to clean; what lies directly in `/` is not, and where mounts stand every name is one.
    let critical = is_critical(folder, workspace) && folder.as_str() != "/tmp";
    let holds_mounts = is_mount(&folder.join("x"));
    let near = (*folder == AbsPath::root() && shallow < 2) || (holds_mounts && shallow == 0);
    critical && (everything || near)
}

/// Whether a path is a device that holds a disk, memory, or the machine's controls.
#[must_use]
pub fn is_raw_device(path: &AbsPath) -> bool {
    let text = path.as_str();
    matches!(text, "/proc/sysrq-trigger" | "/proc/kcore")
        || text
            .strip_prefix("/dev/")
            .is_some_and(|name| RAW.iter().any(|raw| name.starts_with(raw)))
}

/// Whether words that are only known at run time can be such a device: `/dev/$D`, `/dev/sd$X`, `/dev/sd*`.
pub(crate) fn may_be_raw_device(source: &str) -> bool {
    let text: String = source.chars().filter(|c| !matches!(c, '"' | '\'' | '\\')).collect();
    let Some(rest) = text.strip_prefix("/dev/") else {
        return false;
    };
    let known: String = rest.chars().take_while(|c| !"$`*?[{".contains(*c)).collect();
    known.len() < rest.len()
        && RAW
            .iter()
            .any(|raw| raw.starts_with(known.as_str()) || known.starts_with(raw))
}
