//! The policy documents of this host: the person's, the project's, and the person's for the project.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use portcullis_policy::PolicyDocument;
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
    documents
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
