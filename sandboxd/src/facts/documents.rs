//! The policy documents of this host: the person's, the project's, and the person's for the project.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use portcullis_policy::{DocumentOrigin, PolicyDocument};
use portcullis_proto::v1::{HostDocument, Layer};

/// Reads them. One that is missing is no failure; one that cannot be read is.
pub fn read(config: &Path, project: Option<&Path>, failures: &mut Vec<String>) -> Vec<HostDocument> {
    let mut places = vec![(Layer::User, config.join("policy.jsonc"), None)];
    if let Some(project) = project {
        let folder = project.join(".portcullis");
        places.push((Layer::Project, folder.join("policy.jsonc"), Some(project)));
        places.push((Layer::Local, folder.join("local.jsonc"), Some(project)));
    }
    let mut documents = Vec::new();
    for (layer, path, within) in places {
        one(layer, path, within, &mut documents, failures);
    }
    if let Some(project) = project {
        let around = documents.iter().any(asks_for_ignore_files_around);
        let folders = project.ancestors().take(if around { MAX_FOLDERS } else { 1 });
        for folder in folders.collect::<Vec<_>>() {
            let path = folder.join(PolicyDocument::IGNORE_FILE);
            one(Layer::Project, path, Some(folder), &mut documents, failures);
        }
    }
    documents
}

/// Most folders whose ignore files are read, the project's own included: the wire takes sixteen documents.
const MAX_FOLDERS: usize = 8;

/// Whether the user's document wants the ignore files of the folders around the project. What of it cannot be read is a
/// fault that rules out any allow, so nothing is lost by not reading them then.
fn asks_for_ignore_files_around(document: &HostDocument) -> bool {
    let origin = DocumentOrigin {
        layer: portcullis_policy::Layer::User,
        name: document.path.clone(),
        folder: None,
    };
    document.layer() == Layer::User
        && std::str::from_utf8(&document.content)
            .ok()
            .and_then(|text| PolicyDocument::parse(text, origin).ok())
            .is_some_and(|document| document.settings.hierarchical_ignore == Some(true))
}

/// Reads one, if it is there.
fn one(
    layer: Layer,
    path: PathBuf,
    within: Option<&Path>,
    documents: &mut Vec<HostDocument>,
    failures: &mut Vec<String>,
) {
    {
        match read_one(&path, within) {
            Ok(None) => {}
            Ok(Some(content)) => match path.into_os_string().into_string() {
                Ok(path) => documents.push(HostDocument {
                    layer: layer.into(),
                    path,
                    content,
                }),
                Err(path) => failures.push(format!("the name of `{}` is not UTF-8", path.display())),
            },
            Err(error) => failures.push(format!("cannot read the policy document `{}`: {error}", path.display())),
        }
    }
}

/// `within`: the folder that the file must really lie in. Otherwise a project could present any file as its own.
fn read_one(path: &Path, within: Option<&Path>) -> io::Result<Option<Vec<u8>>> {
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.symlink_metadata().is_err() => return Ok(None),
        Err(error) => return Err(error),
    };
    if let Some(project) = within
        && !real.starts_with(project)
    {
        return Err(io::Error::other("it leads out of the project"));
    }
    let file = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW)
        .open(&real)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut content = Vec::new();
    file.take(PolicyDocument::MAX_BYTES as u64 + 1)
        .read_to_end(&mut content)?;
    if content.len() > PolicyDocument::MAX_BYTES {
        return Err(io::Error::other(format!(
            "it is larger than {} KiB",
            PolicyDocument::MAX_BYTES / 1024
        )));
    }
    Ok(Some(content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn ignore_files_around_the_project_count_only_where_the_person_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (project, config) = (root.join("a/p"), root.join("config"));
        fs::create_dir_all(&project).unwrap();
        fs::create_dir_all(&config).unwrap();
        fs::write(project.join(".cursorignore"), "own\n").unwrap();
        fs::write(root.join("a/.cursorignore"), "around\n").unwrap();
        let gather = || {
            let mut failures = Vec::new();
            let documents = read(&config, Some(&project), &mut failures);
            assert!(failures.is_empty(), "{failures:?}");
            let files = documents
                .iter()
                .filter(|document| document.path.ends_with(".cursorignore"));
            files.count()
        };
        assert_eq!(gather(), 1);
        fs::write(config.join("policy.jsonc"), r#"{"ignore": {"hierarchical": true}}"#).unwrap();
        assert_eq!(gather(), 2);
    }

    #[test]
    fn missing_is_fine_unusable_is_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let project = root.join("p");
        let own = project.join(".portcullis");
        fs::create_dir_all(&own).unwrap();
        let gather = || {
            let mut failures = Vec::new();
            let documents = read(&root.join("config"), Some(&project), &mut failures);
            (documents.len(), failures.len())
        };
        assert_eq!(gather(), (0, 0));
        fs::write(own.join("policy.jsonc"), "{}").unwrap();
        assert_eq!(gather(), (1, 0));
        fs::write(own.join("policy.jsonc"), vec![b' '; PolicyDocument::MAX_BYTES + 1]).unwrap();
        assert_eq!(gather(), (0, 1));
        fs::remove_file(own.join("policy.jsonc")).unwrap();
        fs::create_dir(own.join("policy.jsonc")).unwrap();
        assert_eq!(gather(), (0, 1));
        fs::write(root.join("outside"), "{}").unwrap();
        std::os::unix::fs::symlink(root.join("outside"), own.join("local.jsonc")).unwrap();
        assert_eq!(gather(), (0, 2));
    }
}
