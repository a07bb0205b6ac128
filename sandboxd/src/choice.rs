//! What the person has chosen about the sandbox (`portcullis sandbox enable`, `disable`, `reset`).
//!
//! The choice is a `sandbox.json` of its own beside the person's, in their configuration folder, and is read with every call as a
//! document of theirs. So it counts exactly as far as anything the person says: the team's word bounds it in every decision, and no
//! decision depends on what was allowed when it was made. Nobody else writes this file, and the one that the person writes by hand
//! stays as they wrote it.

use std::io;
use std::path::{Path, PathBuf};

use portcullis_policy::PolicyDocument;
use portcullis_policy::sandbox::{SandboxSettings, SandboxType};
use portcullis_proto::v1::{DocumentFormat, HostDocument, Layer, SandboxChoice};

use crate::durable;
use crate::places::Places;

/// Its name in the configuration folder.
pub const FILE: &str = "sandbox-choice.json";

/// The file.
#[must_use]
pub fn file(places: &Places) -> PathBuf {
    places.config.join(FILE)
}

/// What was chosen.
///
/// # Errors
/// If the file cannot be read, or says something that is no choice: somebody else has written it.
pub fn read(places: &Places) -> Result<SandboxChoice, String> {
    let path = file(places);
    let failed = |why: String| format!("the choice in `{}` cannot be read: {why}", path.display());
    let text = match text(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(SandboxChoice::Unspecified),
        Err(error) => return Err(failed(error.to_string())),
    };
    let settings = SandboxSettings::parse(&text).map_err(|faults| {
        let first = faults.first();
        failed(first.map_or_else(|| "it has faults".to_owned(), |fault| fault.message.clone()))
    })?;
    match settings.kind {
        Some(SandboxType::InsecureNone) => Ok(SandboxChoice::Disabled),
        Some(SandboxType::WorkspaceReadwrite) => Ok(SandboxChoice::Enabled),
        _ => Err(failed("it says something else than a choice".to_owned())),
    }
}

fn text(path: &Path) -> io::Result<String> {
    use std::io::Read as _;
    let mut text = String::new();
    let most = PolicyDocument::MAX_BYTES as u64;
    std::fs::File::open(path)?.take(most).read_to_string(&mut text)?;
    Ok(text)
}

/// Keeps a choice; without one the file goes. Durable when it returns.
///
/// # Errors
/// If it cannot be written.
pub fn keep(places: &Places, choice: SandboxChoice) -> io::Result<()> {
    let path = file(places);
    match content(choice) {
        Some(text) => {
            if !places.config.exists() {
                durable::private_folder(&places.config)?;
            }
            durable::replace(&path, text.as_bytes())
        }
        None => match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
    }
}

/// Puts a choice among documents in the place of the one that is kept.
pub fn suppose(places: &Places, choice: SandboxChoice, documents: &mut Vec<HostDocument>) {
    let path = file(places).to_string_lossy().into_owned();
    documents.retain(|document| document.path != path);
    documents.extend(content(choice).map(|text| HostDocument {
        layer: Layer::User.into(),
        path,
        content: text.into_bytes(),
        format: DocumentFormat::SandboxFile.into(),
    }));
}

/// The text of the file.
fn content(choice: SandboxChoice) -> Option<String> {
    let kind = match choice {
        SandboxChoice::Unspecified => return None,
        SandboxChoice::Enabled => SandboxType::WorkspaceReadwrite,
        SandboxChoice::Disabled => SandboxType::InsecureNone,
    };
    Some(format!(
        "// Written by `portcullis sandbox enable` and `disable`; `portcullis sandbox reset` removes it.\n{{ \"type\": \"{}\" }}\n",
        kind.word()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(root: &Path) -> Places {
        Places {
            data: root.join("data"),
            config: root.join("config/portcullis"),
            home: None,
            system: root.join("etc"),
            programs: root.join("bin"),
        }
    }

    #[test]
    fn a_choice_is_kept_and_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let places = places(folder.path());
        std::fs::create_dir(folder.path().join("config")).unwrap();
        assert_eq!(read(&places), Ok(SandboxChoice::Unspecified));
        for choice in [
            SandboxChoice::Disabled,
            SandboxChoice::Enabled,
            SandboxChoice::Unspecified,
            SandboxChoice::Unspecified,
        ] {
            keep(&places, choice).unwrap();
            assert_eq!(read(&places), Ok(choice));
        }
        assert!(!file(&places).exists());
    }

    #[test]
    fn what_is_no_choice_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let places = places(folder.path());
        std::fs::create_dir_all(&places.config).unwrap();
        for text in ["{", "{}", r#"{"type": "workspace_readonly"}"#, r#"{"x": 1}"#] {
            std::fs::write(file(&places), text).unwrap();
            assert!(read(&places).is_err(), "{text}");
        }
    }

    #[test]
    fn a_supposed_choice_takes_the_place_of_the_kept_one() {
        let places = places(Path::new("/r"));
        let mut documents = Vec::new();
        suppose(&places, SandboxChoice::Disabled, &mut documents);
        suppose(&places, SandboxChoice::Enabled, &mut documents);
        assert_eq!(documents.len(), 1);
        assert!(String::from_utf8_lossy(&documents[0].content).contains("workspace_readwrite"));
        suppose(&places, SandboxChoice::Unspecified, &mut documents);
        assert!(documents.is_empty());
    }
}
