//! Reading files that a person names: what is no file, or larger than it may be, is said at once instead of being waited for.
//!
//! A pipe without a writer would be waited for for ever and a device may never end, so only regular files are read by their
//! names; whoever has a pipe names `-`, standard input. What the text means is the business of whoever reads it.

use std::{
    fs,
    io::{self, Read as _},
    path::Path,
};

/// Whether a name stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// The bytes of a file, or of standard input for `-`; `None` if there are more than `most`.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let reader: Box<dyn io::Read> = if is_stdin(path) {
        Box::new(io::stdin().lock())
    } else {
        // Before it is opened: opening a pipe waits for whoever writes to it.
        let found = fs::metadata(path)?;
        if !found.is_file() {
            return Err(io::Error::other(if found.is_dir() {
                "it is a directory, not a file"
            } else {
                "it is no regular file; name `-` to read standard input"
            }));
        }
        if found.len() > most {
            return Ok(None);
        }
        Box::new(fs::File::open(path)?)
    };
    let mut content = Vec::new();
    reader.take(most.saturating_add(1)).read_to_end(&mut content)?;
    Ok((content.len() as u64 <= most).then_some(content))
}

/// A folder by its real path.
pub(crate) fn folder(path: &Path) -> io::Result<std::path::PathBuf> {
    let real = fs::canonicalize(path)?;
    if real.is_dir() {
        Ok(real)
    } else {
        Err(io::Error::other("it is a file, not a directory"))
    }
}

/// A number of bytes for people.
pub(crate) fn size(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    if bytes >= MIB && bytes.is_multiple_of(MIB) {
        format!("{} MiB", bytes / MIB)
    } else {
        format!("{} KiB", bytes / 1024)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_a_bounded_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        fs::write(&file, "12345").unwrap();
        assert_eq!(read(&file, 5).unwrap().unwrap(), b"12345");
        assert!(read(&file, 4).unwrap().is_none());
        let said = |path: &Path| read(path, 5).unwrap_err().to_string();
        assert!(said(folder.path()).contains("is a directory"));
        assert!(said(Path::new("/dev/zero")).contains("no regular file"));
        assert!(read(&folder.path().join("absent"), 5).is_err());
        assert!(super::folder(&file).is_err() && super::folder(folder.path()).is_ok());
    }

    #[test]
    fn sizes_are_said_in_the_larger_unit() {
        assert_eq!(
            [size(256 * 1024), size(1 << 20), size(256 << 20)],
            ["256 KiB", "1 MiB", "256 MiB"]
        );
    }
}
