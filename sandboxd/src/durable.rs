//! Files that are whole after a crash: written beside, synchronised, renamed, and the folder synchronised.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Makes a folder (and its parents) of mode 0700. One that exists is closed to others.
///
/// # Errors
/// As the operating system says.
pub fn private_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}

/// Replaces a file as a whole, mode 0600. After it returns, a crash does not bring the old one back.
///
/// # Errors
/// As the operating system says; the old file is untouched then.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let mut file = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&beside)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    sync_folder(folder)
}

/// Makes what was created, renamed or removed in a folder last.
///
/// # Errors
/// As the operating system says.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
