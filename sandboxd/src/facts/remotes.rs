//! Which repositories a call is made in: the remotes of each, read from git's configuration files.
//!
//! git itself is not run. Every file that git would read is read here, included ones too, whatever their condition; what
//! cannot be read leaves it unknown which repository it is. The root commit would tell more, but finding it means walking
//! the whole history, so it is not looked for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use portcullis_proto::v1::{RepositoryIdentities, RepositoryIdentity};

use super::repository::{Search, common_folder, search};
use crate::protect::gitconfig;

/// Most configuration files that are read for one repository.
const MAX_FILES: usize = 64;

/// Most remotes that are told; the wire takes no more.
const MAX_REMOTES: usize = 1024;

/// Longest address of a remote, in bytes; the wire takes no longer one.
const MAX_REMOTE: usize = 4096;

/// The repositories around these folders; `None` if that cannot be found out for one of them.
pub(super) fn repositories(
    folders: impl Iterator<Item = PathBuf>,
    home: Option<&Path>,
) -> Option<RepositoryIdentities> {
    let mut repositories: Vec<RepositoryIdentity> = Vec::new();
    let mut seen = BTreeSet::new();
    for folder in folders {
        let (root, remotes) = match search(&folder) {
            Search::Unknown => return None,
            Search::None => (folder.canonicalize().ok()?, None),
            Search::Found(found) => (found.root, Some(found.git_folder)),
        };
        if !seen.insert(root.clone()) {
            continue;
        }
        repositories.push(RepositoryIdentity {
            root: root.into_os_string().into_string().ok()?,
            remotes: match remotes {
                Some(git_folder) => remotes_of(&git_folder, home)?,
                None => Vec::new(),
            },
        });
    }
    Some(RepositoryIdentities { repositories })
}

/// What the configuration says, file by file.
#[derive(Default)]
struct Found {
    files: usize,
    urls: Vec<String>,
    /// `url.<base>.insteadOf = <prefix>`.
    rewrites: Vec<(String, String)>,
}

fn remotes_of(git_folder: &Path, home: Option<&Path>) -> Option<Vec<String>> {
    let common = common_folder(git_folder)?;
    let mut found = Found::default();
    let mut files = vec![
        common.join("config"),
        git_folder.join("config.worktree"),
        "/etc/gitconfig".into(),
    ];
    if let Some(home) = home {
        files.push(home.join(".gitconfig"));
        files.push(home.join(".config/git/config"));
    }
    for file in files {
        found.read(&file, home)?;
    }
    // Two older places for remotes, each a folder of files: nobody writes them any more.
    for older in ["remotes", "branches"] {
        match common.join(older).read_dir() {
            Ok(entries) => {
                if entries.count() > 0 {
                    return None;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(_) => return None,
        }
    }
    found.addresses()
}

impl Found {
    /// Reads a file and those it includes. `None` if that is not possible; git does without a file that is not there.
    fn read(&mut self, file: &Path, home: Option<&Path>) -> Option<()> {
        let real = match file.canonicalize() {
            Ok(real) => real,
            Err(_) if file.symlink_metadata().is_err() => return Some(()),
            Err(_) => return None,
        };
        self.files += 1;
        if self.files > MAX_FILES {
            return None;
        }
        let text = gitconfig::read_bounded(&real)?;
        for setting in gitconfig::settings(&text) {
            let name = setting.name.as_str();
            let (section, rest) = name.split_once('.').unwrap_or((name, ""));
            let key = rest.rsplit('.').next().unwrap_or_default();
            match (section, key) {
                (gitconfig::UNREADABLE, _) => return None,
                ("include" | "includeif", "path") => {
                    let included = match setting.value.strip_prefix("~/") {
                        Some(rest) => home?.join(rest),
                        None => real.parent()?.join(&setting.value),
                    };
                    self.read(&included, home)?;
                }
                ("remote", "url" | "pushurl") => self.urls.push(setting.value),
                // The name of a remote, or an address.
                ("branch", "remote" | "pushremote") | ("remote", "pushdefault")
                    if setting.value.contains([':', '/']) =>
                {
                    self.urls.push(setting.value);
                }
                ("url", "insteadof" | "pushinsteadof") => {
                    let base = rest.get(..rest.len().saturating_sub(key.len() + 1)).unwrap_or_default();
                    self.rewrites.push((base.to_owned(), setting.value));
                }
                _ => {}
            }
        }
        Some(())
    }

    /// Each address as it is written, and as git would rewrite it; without user and password.
    fn addresses(self) -> Option<Vec<String>> {
        let mut all = BTreeSet::new();
        for url in &self.urls {
            let rewritten = self.rewrites.iter().filter(|(_, prefix)| !prefix.is_empty());
            let rewritten =
                rewritten.filter_map(|(base, prefix)| Some(format!("{base}{}", url.strip_prefix(prefix.as_str())?)));
            all.extend(rewritten.chain([url.clone()]).map(|url| without_user(&url)));
            if all.len() > MAX_REMOTES {
                return None;
            }
        }
        all.iter()
            .all(|url| url.len() <= MAX_REMOTE)
            .then(|| all.into_iter().collect())
    }
}

/// `https://user:token@host/path` without what may be a secret.
fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn told(config: &str, global: &str) -> Option<Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (work, home) = (root.join("w"), root.join("home"));
        fs::create_dir_all(work.join(".git/branches")).unwrap();
        fs::create_dir_all(&home).unwrap();
        fs::write(work.join(".git/config"), config).unwrap();
        fs::write(work.join(".git/more"), "[remote \"m\"]\nurl = https://more.example/x\n").unwrap();
        fs::write(home.join(".gitconfig"), global).unwrap();
        let all = repositories([work.clone(), work.clone()].into_iter(), Some(&home))?;
        assert_eq!(all.repositories.len(), 1);
        let repository = all.repositories.into_iter().next().unwrap();
        assert_eq!(Path::new(&repository.root), work);
        Some(repository.remotes)
    }

    #[test]
    fn all_remotes_are_told_and_no_secret() {
        let config = "[remote \"origin\"]\nurl = https://me:token@github.com/acme/site.git\npushurl = git@github.com:acme/site\n\
            [remote \"other\"]\n\turl = gh:acme/secret\n[branch \"main\"]\nremote = origin\n\
            [branch \"x\"]\nremote = https://branch.example/y\n[include]\npath = more\n[include]\npath = not-there\n";
        let global = "[url \"https://u:p@github.com/\"]\ninsteadOf = gh:\n";
        assert_eq!(
            told(config, global).unwrap(),
            [
                "gh:acme/secret",
                "git@github.com:acme/site",
                "https://branch.example/y",
                "https://github.com/acme/secret",
                "https://github.com/acme/site.git",
                "https://more.example/x",
            ]
        );
        assert_eq!(told("", ""), Some(Vec::new()));
    }

    #[test]
    fn what_cannot_be_read_leaves_it_unknown() {
        assert_eq!(told("[core", ""), None);
        assert_eq!(told("", "x y z ["), None);
        // A file that includes itself.
        assert_eq!(told("[include]\npath = config\n", ""), None);
        let many: String = (0..=MAX_REMOTES)
            .map(|n| format!("[remote \"r{n}\"]\nurl = https://a.example/{n}\n"))
            .collect();
        assert_eq!(told(&many, ""), None);
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join(".git/remotes")).unwrap();
        let here = || repositories([folder.path().to_owned()].into_iter(), None);
        assert!(here().is_some());
        fs::write(folder.path().join(".git/remotes/origin"), "URL: x").unwrap();
        assert_eq!(here(), None);
        assert_eq!(repositories([folder.path().join("gone")].into_iter(), None), None);
    }

    #[test]
    fn a_linked_work_tree_has_the_remotes_of_its_repository_and_a_plain_folder_none() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let git = root.join("main/.git");
        fs::create_dir_all(git.join("worktrees/w")).unwrap();
        fs::create_dir_all(root.join("w")).unwrap();
        fs::create_dir_all(root.join("plain")).unwrap();
        fs::write(git.join("config"), "[remote \"origin\"]\nurl = https://a.example/b\n").unwrap();
        fs::write(git.join("worktrees/w/commondir"), "../..\n").unwrap();
        fs::write(
            root.join("w/.git"),
            format!("gitdir: {}\n", git.join("worktrees/w").display()),
        )
        .unwrap();
        let all = repositories([root.join("w"), root.join("plain")].into_iter(), None).unwrap();
        let remotes: Vec<_> = all.repositories.iter().map(|one| one.remotes.clone()).collect();
        assert_eq!(remotes, [vec!["https://a.example/b".to_owned()], Vec::new()]);
    }
}
