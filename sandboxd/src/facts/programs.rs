//! Which file a program's name stands for, by the daemon's own PATH: the one that a sandboxed command gets too.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Real path of what would run; `None` if nothing would.
#[must_use]
pub fn find(name: &str, cwd: &Path, search_path: &str) -> Option<String> {
    let real = |path: &Path| {
        let found = path.metadata().ok()?;
        let runs = found.is_file() && found.permissions().mode() & 0o111 != 0;
        runs.then(|| path.canonicalize().ok())??
            .into_os_string()
            .into_string()
            .ok()
    };
    if name.is_empty() {
        return None;
    }
    if name.contains('/') {
        return real(&cwd.join(name));
    }
    search_path
        .split(':')
        .filter(|folder| folder.starts_with('/'))
        .find_map(|folder| real(&Path::new(folder).join(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_executable_on_the_path_wins() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for (name, mode) in [("a/p", 0o644), ("b/p", 0o755), ("c/p", 0o755)] {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let search = format!("relative:{0}/a:{0}/b:{0}/c", root.display());
        let wanted = root.join("b/p").to_str().map(str::to_owned);
        assert_eq!(find("p", &root, &search), wanted);
        assert_eq!(find("./b/p", &root, ""), wanted);
        assert_eq!(find("q", &root, &search), None);
    }
}
