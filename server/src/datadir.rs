//! The data directory: who may enter, who owns it, and how files get there.
//!
//! ```text
//! D/tokens/{admin,agent,host}.token      D/server/portcullis.db          D/server/lock
//! D/server/ticket.key                    D/server/fingerprint.key        D/server/address
//! D/server/trail.key
//! ```
//!
//! Folders have mode 0700, files 0600. One server owns the directory at a time, by a lock that the kernel gives back
//! when the process ends, however it ends. Files appear whole or not at all: written under another name, flushed, renamed.
//!
//! Blocking; used before the server takes calls, or on a thread for blocking work.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

/// The data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// It, or something in it, cannot be made, read or written.
    #[error("cannot {attempt} `{path}`")]
    Io {
        /// What was tried.
        attempt: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        #[source]
        cause: io::Error,
    },
    /// Another server runs on it.
    #[error("a portcullis-server is already running on `{0}`")]
    AlreadyRunning(PathBuf),
    /// Others may write to it.
    #[error("`{path}` has mode {mode:03o}, so others may write to it")]
    Writable {
        /// The folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Others may read a secret.
    #[error("`{path}` has mode {mode:03o}, so others may read it")]
    TooOpen {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
}

fn io_error(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> DataDirError {
    let path = path.to_owned();
    move |cause| DataDirError::Io { attempt, path, cause }
}

/// The data directory, held by this process.
#[derive(Debug)]
pub struct DataDir {
    root: PathBuf,
    /// Keeps the lock: it goes with the file handle.
    _lock: File,
}

impl DataDir {
    /// Makes the directory if there is none, and takes possession of it.
    ///
    /// # Errors
    /// If it cannot be written, or another server holds it.
    pub fn open(root: &Path) -> Result<Self, DataDirError> {
        root_folder(root)?;
        private_folder(&root.join("server"))?;
        private_folder(&root.join("tokens"))?;
        let path = root.join("server").join("lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(io_error("open the lock file", &path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                root: root.to_owned(),
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(DataDirError::AlreadyRunning(root.to_owned())),
            Err(TryLockError::Error(cause)) => Err(io_error("lock", &path)(cause)),
        }
    }

    /// A file of the server's own.
    #[must_use]
    pub fn server_file(&self, name: &str) -> PathBuf {
        self.root.join("server").join(name)
    }

    /// The file that says where the server listens.
    #[must_use]
    pub fn address_file(&self) -> PathBuf {
        self.server_file("address")
    }

    /// Removes that file, if there is one.
    ///
    /// # Errors
    /// If it is there and cannot be removed.
    pub fn remove_address(&self) -> Result<(), DataDirError> {
        let path = self.address_file();
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error("remove", &path)(error)),
            _ => Ok(()),
        }
    }

    /// The file with the token of a role.
    #[must_use]
    pub fn token_file(&self, role: crate::auth::Role) -> PathBuf {
        self.root.join("tokens").join(format!("{role}.token"))
    }

    /// Makes the database file private before SQLite makes it with the process' umask; its side files take its mode.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn database(&self) -> Result<PathBuf, DataDirError> {
        let path = self.server_file("portcullis.db");
        OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&path)
            .map_err(io_error("open the database", &path))?;
        Ok(path)
    }
}

/// Makes the folder if there is none. One that was there before is left as it is, unless others may write to it: they
/// could put their own files in the place of ours.
fn root_folder(path: &Path) -> Result<(), DataDirError> {
    make_folder(path)?;
    let mode = mode_of(path)?;
    if mode & 0o022 != 0 {
        return Err(DataDirError::Writable {
            path: path.to_owned(),
            mode,
        });
    }
    Ok(())
}

/// Makes a folder that is ours alone.
fn private_folder(path: &Path) -> Result<(), DataDirError> {
    make_folder(path)?;
    if mode_of(path)? & 0o077 != 0 {
        let private = fs::Permissions::from_mode(0o700);
        fs::set_permissions(path, private).map_err(io_error("make the folder private", path))?;
    }
    Ok(())
}

fn make_folder(path: &Path) -> Result<(), DataDirError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(io_error("make the folder", path))
}

fn mode_of(path: &Path) -> Result<u32, DataDirError> {
    let metadata = fs::metadata(path).map_err(io_error("look at the folder", path))?;
    Ok(metadata.permissions().mode() & 0o777)
}

/// Writes a private file whole: under another name that nobody had, flushed, then renamed; the folder is flushed too.
///
/// # Errors
/// If any of it fails; then the file is as it was.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<(), DataDirError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.{}", uuid::Uuid::now_v7()));
    let written = (|| {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        File::open(folder)?.sync_all()
    })();
    written.map_err(|cause| {
        // The failure is reported below; a leftover with a random name harms nobody.
        drop(fs::remove_file(&temporary));
        io_error("write", path)(cause)
    })
}

/// Reads a private file of at most 4 KiB. `None` = there is none.
///
/// # Errors
/// If it cannot be read, or others may read it too.
pub fn read_private(path: &Path) -> Result<Option<String>, DataDirError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error("open", path)(error)),
    };
    let mode = file.metadata().map_err(io_error("look at", path))?.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(DataDirError::TooOpen {
            path: path.to_owned(),
            mode,
        });
    }
    let mut text = String::new();
    file.take(4096)
        .read_to_string(&mut text)
        .map_err(io_error("read", path))?;
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_servers_cannot_share_a_directory_but_follow_each_other() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("data");
        let first = DataDir::open(&root).unwrap();
        assert!(matches!(DataDir::open(&root), Err(DataDirError::AlreadyRunning(_))));
        drop(first);
        DataDir::open(&root).unwrap();
    }

    fn mode(path: &Path) -> u32 {
        mode_of(path).unwrap()
    }

    #[test]
    fn folders_and_files_are_private() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("data");
        let data = DataDir::open(&root).unwrap();
        let secret = data.server_file("x.key");
        write_private(&secret, b"s").unwrap();
        let database = data.database().unwrap();
        assert_eq!(
            (mode(&root), mode(&root.join("server")), mode(&root.join("tokens"))),
            (0o700, 0o700, 0o700)
        );
        assert_eq!((mode(&secret), mode(&database)), (0o600, 0o600));
    }

    #[test]
    fn a_folder_that_was_there_keeps_its_mode_but_ours_in_it_are_private() {
        let temp = tempfile::tempdir().unwrap();
        let (root, server) = (temp.path().join("data"), temp.path().join("data/server"));
        fs::create_dir_all(&server).unwrap();
        fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).unwrap();
        DataDir::open(&root).unwrap();
        assert_eq!((mode(&root), mode(&server)), (0o755, 0o700));
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        fs::set_permissions(temp.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(
            DataDir::open(temp.path()),
            Err(DataDirError::Writable { mode: 0o777, .. })
        ));
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0, "nothing was put into it");
    }

    #[test]
    fn a_secret_that_others_may_read_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("x.key");
        assert_eq!(read_private(&path).unwrap(), None);
        write_private(&path, b"s").unwrap();
        assert_eq!(read_private(&path).unwrap().as_deref(), Some("s"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(
            read_private(&path),
            Err(DataDirError::TooOpen { mode: 0o640, .. })
        ));
    }

    #[test]
    fn a_file_is_replaced_whole() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("x");
        write_private(&path, b"old").unwrap();
        write_private(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1, "nothing is left behind");
    }
}
