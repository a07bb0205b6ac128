//! Removes a folder whose contents somebody hostile has made.
//!
//! No link is followed, nothing outside the folder is touched, and neither memory, stack nor descriptors grow with what is in
//! it: a folder that is found is moved up to the top under a new name before anybody looks into it, so that there is never
//! more than one level. Folders that are closed to their owner are opened first. Nothing else may work in the folder
//! meanwhile; what runs in a sandbox has ended by then.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, chmodat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

/// Removes a folder of ours, named by a path that nobody else can change, with everything in it.
///
/// # Errors
/// As the operating system says; the rest stays then, and another attempt can go on with it.
pub fn remove(folder: &Path) -> io::Result<()> {
    let top = open_folder(CWD, folder)?;
    let mut next = 0u64;
    // One level: what is below comes up into it.
    while !sweep(top.as_fd(), |name| empty(top.as_fd(), name, &mut next))? {}
    std::fs::remove_dir(folder)
}

/// Goes through a folder's entries: removes all but folders, which `take` gets. Whether there were none.
fn sweep(folder: BorrowedFd<'_>, mut take: impl FnMut(&CStr) -> io::Result<()>) -> io::Result<bool> {
    let mut none = true;
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        none = false;
        match kind(folder, name) {
            Ok(FileType::Directory) => take(name)?,
            Ok(_) => ignore_missing(unlinkat(folder, name, AtFlags::empty()))?,
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(none)
}

/// Empties and removes a folder in `top`; the folders in it move up.
fn empty(top: BorrowedFd<'_>, name: &CStr, next: &mut u64) -> io::Result<()> {
    open_up(top, name)?;
    let folder = open_folder(top, name)?;
    let folder = folder.as_fd();
    let mut up = |child: &CStr| -> io::Result<()> {
        if unlinkat(folder, child, AtFlags::REMOVEDIR).is_ok() {
            return Ok(());
        }
        // A folder can be moved only by who may write to it.
        open_up(folder, child)?;
        loop {
            *next += 1;
            let up = CString::new(format!("up-{next}"))?;
            // One of an earlier attempt may be there: not to be overwritten, though it could be.
            match kind(top, &up) {
                Ok(_) => {}
                Err(Errno::NOENT) => return Ok(renameat(folder, child, top, &up)?),
                Err(error) => return Err(error.into()),
            }
        }
    };
    while !sweep(folder, &mut up)? {}
    Ok(unlinkat(top, name, AtFlags::REMOVEDIR)?)
}

fn kind(folder: BorrowedFd<'_>, name: &CStr) -> Result<FileType, Errno> {
    let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(found.st_mode))
}

/// Opens a folder to its owner. It is a folder, as was just seen, and nobody is there to put a link in its place.
fn open_up(parent: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    Ok(chmodat(parent, name, Mode::RWXU, AtFlags::empty())?)
}

fn open_folder(parent: BorrowedFd<'_>, name: impl rustix::path::Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(parent, name, flags, Mode::empty())?)
}

fn ignore_missing(result: Result<(), Errno>) -> io::Result<()> {
    match result {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// Deeper than any path can name, and than there are descriptors.
    const DEEP: usize = 6000;

    fn deep(folder: &Path) {
        let mut here = open_folder(CWD, folder).unwrap();
        for _ in 0..DEEP {
            rustix::fs::mkdirat(&here, "deeper", Mode::RWXU).unwrap();
            here = open_folder(here.as_fd(), "deeper").unwrap();
        }
        openat(&here, "bottom", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap();
    }

    #[test]
    fn hostile_contents_go_and_nothing_else_does() {
        let keep = tempfile::tempdir().unwrap();
        let (gone, outside) = (keep.path().join("gone"), keep.path().join("outside"));
        for folder in ["session/files/closed/inner", "session/files/deep", "up-1/x"] {
            fs::create_dir_all(gone.join(folder)).unwrap();
        }
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "x").unwrap();
        let files = gone.join("session/files");
        symlink(&outside, files.join("link")).unwrap();
        symlink("../../..", files.join("up-2")).unwrap();
        symlink(outside.join("kept"), files.join("closed/link")).unwrap();
        fs::hard_link(outside.join("kept"), files.join("hard")).unwrap();
        for number in 0..3000 {
            fs::create_dir_all(files.join(format!("many-{number}/x"))).unwrap();
        }
        deep(&files.join("deep"));
        assert!(rustix::fs::mknodat(CWD, files.join("pipe"), FileType::Fifo, Mode::RUSR, 0).is_ok());
        for closed in ["closed/inner", "closed"] {
            fs::set_permissions(files.join(closed), fs::Permissions::from_mode(0o000)).unwrap();
        }
        remove(&gone).unwrap();
        assert!(!gone.exists());
        assert_eq!(fs::read(outside.join("kept")).unwrap(), b"x");
        assert_eq!(fs::metadata(&outside).unwrap().permissions().mode() & 0o700, 0o700);
    }

    #[test]
    fn a_link_in_place_of_the_folder_is_refused() {
        let keep = tempfile::tempdir().unwrap();
        fs::create_dir(keep.path().join("outside")).unwrap();
        fs::write(keep.path().join("outside/kept"), "x").unwrap();
        symlink("outside", keep.path().join("gone")).unwrap();
        assert!(remove(&keep.path().join("gone")).is_err());
        assert!(keep.path().join("outside/kept").exists());
    }
}
