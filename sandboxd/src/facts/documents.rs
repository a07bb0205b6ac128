//! The policy documents of this host: the person's, the project's, and the person's for the project; and the permission
//! files of the agent that calls.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use portcullis_policy::{DocumentOrigin, PolicyDocument};
use portcullis_proto::v1::{Agent, DocumentFormat, HostDocument, Layer};

use super::agents::{self, Base, Place};
use crate::choice;
use crate::places::Places;

/// Most files of one folder of an agent's rules. Nobody keeps more by hand; reading thousands would delay every call.
const MAX_FILES: usize = 24;

/// Where a call comes from.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// The agent.
    pub agent: &'a Agent,
    /// The folder it was started in.
    pub start: &'a Path,
    /// Real path of the project's root.
    pub project: Option<&'a Path>,
}

/// Reads them. One that is missing is no failure; one that cannot be read is.
pub fn read(places: &Places, caller: Caller<'_>, failures: &mut Vec<String>) -> Vec<HostDocument> {
    use DocumentFormat::{Native, SandboxFile};
    let mut wanted = vec![
        (Layer::User, places.config.join("policy.jsonc"), None, Native),
        (Layer::User, places.config.join("sandbox.json"), None, SandboxFile),
        (Layer::User, choice::file(places), None, SandboxFile),
    ];
    if let Some(project) = caller.project {
        let folder = project.join(".portcullis");
        let within = Some(project);
        wanted.push((Layer::Project, folder.join("policy.jsonc"), within, Native));
        wanted.push((Layer::Local, folder.join("local.jsonc"), within, Native));
        wanted.push((Layer::Project, folder.join("sandbox.json"), within, SandboxFile));
    }
    for place in agents::places(caller.agent) {
        let within = caller.project.filter(|_| place.layer != Layer::User);
        for path in files(&place, places, caller, failures) {
            // Where the agent was started at the project's root, two places are one.
            if !wanted.iter().any(|(_, known, _, _)| *known == path) {
                wanted.push((place.layer, path, within, place.format));
            }
        }
    }
    let mut documents = Vec::new();
    for (layer, path, within, format) in wanted {
        one(layer, path, within, format, &mut documents, failures);
    }
    if let Some(project) = caller.project {
        let around = documents.iter().any(asks_for_ignore_files_around);
        let folders = project.ancestors().take(if around { MAX_FOLDERS } else { 1 });
        for folder in folders.collect::<Vec<_>>() {
            let path = folder.join(PolicyDocument::IGNORE_FILE);
            let format = DocumentFormat::IgnoreFile;
            one(Layer::Project, path, Some(folder), format, &mut documents, failures);
        }
    }
    documents
}

/// Most folders whose ignore files are read, the project's own included.
const MAX_FOLDERS: usize = 8;

/// Whether the user's document wants the ignore files of the folders around the project. What of it cannot be read is a
/// fault that rules out any allow, so nothing is lost by not reading them then.
fn asks_for_ignore_files_around(document: &HostDocument) -> bool {
    let origin = DocumentOrigin {
        layer: portcullis_policy::Layer::User,
        name: document.path.clone(),
        folder: None,
    };
    (document.layer(), document.format()) == (Layer::User, DocumentFormat::Native)
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
    format: DocumentFormat,
    documents: &mut Vec<HostDocument>,
    failures: &mut Vec<String>,
) {
    match read_one(&path, within) {
        Ok(None) => {}
        Ok(Some(content)) => match path.into_os_string().into_string() {
            Ok(path) => documents.push(HostDocument {
                layer: layer.into(),
                path,
                content,
                format: format.into(),
            }),
            Err(path) => failures.push(format!("the name of `{}` is not UTF-8", path.display())),
        },
        Err(error) => failures.push(format!("cannot read the policy document `{}`: {error}", path.display())),
    }
}

/// The files of a place, whether they are there or not.
fn files(place: &Place, places: &Places, caller: Caller<'_>, failures: &mut Vec<String>) -> Vec<PathBuf> {
    let start = caller.start.canonicalize().ok();
    let base = match place.base {
        Base::Home => places.home.as_deref(),
        Base::System => Some(places.system.as_path()),
        Base::Start => start.as_deref().filter(|start| {
            // A folder outside the project is not the project's, and nobody trusted it.
            caller.project.is_some_and(|project| start.starts_with(project))
        }),
        Base::Project => caller.project,
    };
    let Some(path) = base.map(|base| base.join(place.path)) else {
        return Vec::new();
    };
    let ending = path.file_name().and_then(|name| name.to_str()?.strip_prefix('*'));
    let (Some(ending), Some(folder)) = (ending, path.parent()) else {
        return vec![path];
    };
    match with_ending(folder, ending) {
        Ok(files) => files,
        Err(error) => {
            failures.push(format!("cannot read the rules in `{}`: {error}", folder.display()));
            Vec::new()
        }
    }
}

/// The files of a folder with an ending, by name.
fn with_ending(folder: &Path, ending: &str) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound && folder.symlink_metadata().is_err() => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let fits = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().ends_with(ending));
        if fits {
            files.push(path);
        }
        if files.len() > MAX_FILES {
            return Err(io::Error::other(format!(
                "it holds more than {MAX_FILES} files `*{ending}`"
            )));
        }
    }
    files.sort();
    Ok(files)
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

    struct Host {
        _folder: tempfile::TempDir,
        root: PathBuf,
        places: Places,
    }

    impl Host {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            let places = Places {
                data: root.join("data"),
                config: root.join("config"),
                home: Some(root.join("home")),
                system: root.join("etc"),
                programs: root.join("bin"),
            };
            Self {
                _folder: folder,
                root,
                places,
            }
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        /// Layer, path below the root, format of each document; and the failures.
        fn gather(&self, agent: &str, start: &str) -> (Vec<(Layer, String, DocumentFormat)>, Vec<String>) {
            let project = self.root.join("p");
            let agent = Agent {
                name: agent.to_owned(),
                version: "3.1".to_owned(),
            };
            let caller = Caller {
                agent: &agent,
                start: &self.root.join(start),
                project: Some(&project),
            };
            let mut failures = Vec::new();
            let found = read(&self.places, caller, &mut failures)
                .into_iter()
                .map(|document| {
                    let path = Path::new(&document.path).strip_prefix(&self.root).unwrap();
                    (document.layer(), path.to_str().unwrap().to_owned(), document.format())
                })
                .collect();
            (found, failures)
        }
    }

    #[test]
    fn missing_is_fine_unusable_is_a_failure() {
        let host = Host::new();
        fs::create_dir_all(host.root.join("p")).unwrap();
        let counts = || {
            let (documents, failures) = host.gather("my-agent", "p");
            (documents.len(), failures.len())
        };
        assert_eq!(counts(), (0, 0));
        host.write("p/.portcullis/policy.jsonc", "{}");
        assert_eq!(counts(), (1, 0));
        host.write("p/.portcullis/policy.jsonc", &" ".repeat(PolicyDocument::MAX_BYTES + 1));
        assert_eq!(counts(), (0, 1));
        fs::remove_file(host.root.join("p/.portcullis/policy.jsonc")).unwrap();
        fs::create_dir(host.root.join("p/.portcullis/policy.jsonc")).unwrap();
        assert_eq!(counts(), (0, 1));
        host.write("outside", "{}");
        std::os::unix::fs::symlink(host.root.join("outside"), host.root.join("p/.portcullis/local.jsonc")).unwrap();
        assert_eq!(counts(), (0, 2));
    }

    #[test]
    fn the_files_of_the_agent_that_calls_are_read_each_once() {
        let host = Host::new();
        for path in [
            "etc/claude-code/managed-settings.json",
            "etc/claude-code/managed-settings.d/10-a.json",
            "home/.claude/settings.json",
            "p/.claude/settings.json",
            "p/.claude/settings.local.json",
            "p/sub/.claude/settings.json",
            "home/.cursor/permissions.json",
            "home/.cursor/sandbox.json",
            "p/.cursor/sandbox.json",
            "home/.codex/rules/b.rules",
            "home/.codex/rules/a.rules",
            "home/.codex/rules/notes.txt",
        ] {
            host.write(path, "");
        }
        let claude = DocumentFormat::ClaudeSettings;
        let (found, failures) = host.gather("claude", "p");
        assert!(failures.is_empty(), "{failures:?}");
        let expected = [
            (Layer::User, "etc/claude-code/managed-settings.json", claude),
            (Layer::User, "etc/claude-code/managed-settings.d/10-a.json", claude),
            (Layer::User, "home/.claude/settings.json", claude),
            (Layer::Project, "p/.claude/settings.json", claude),
            (Layer::Local, "p/.claude/settings.local.json", claude),
        ];
        assert_eq!(
            found,
            expected.map(|(layer, path, format)| (layer, path.to_owned(), format))
        );

        let (found, _) = host.gather("claude", "p/sub");
        let of_the_project: Vec<_> = found.iter().filter(|(layer, ..)| *layer == Layer::Project).collect();
        assert_eq!(
            of_the_project,
            [&(Layer::Project, "p/sub/.claude/settings.json".to_owned(), claude)]
        );

        let (found, _) = host.gather("codex", "p");
        let names: Vec<&str> = found.iter().map(|(_, path, _)| path.as_str()).collect();
        assert_eq!(names, ["home/.codex/rules/a.rules", "home/.codex/rules/b.rules"]);
        assert_eq!(host.gather("my-agent", "p").0, []);

        // What the sandbox may do stands in our own files for every agent, and in Cursor's for Cursor.
        let sandbox = DocumentFormat::SandboxFile;
        let expected = [
            (
                Layer::User,
                "home/.cursor/permissions.json",
                DocumentFormat::CursorPermissions,
            ),
            (Layer::User, "home/.cursor/sandbox.json", sandbox),
            (Layer::Project, "p/.cursor/sandbox.json", sandbox),
        ];
        let named = |found: &[(Layer, &str, DocumentFormat)]| -> Vec<_> {
            found
                .iter()
                .map(|(layer, path, format)| (*layer, (*path).to_owned(), *format))
                .collect()
        };
        assert_eq!(host.gather("cursor", "p").0, named(&expected));
        host.write("config/sandbox.json", "");
        host.write("p/.portcullis/sandbox.json", "");
        let expected = [
            (Layer::User, "config/sandbox.json", sandbox),
            (Layer::Project, "p/.portcullis/sandbox.json", sandbox),
        ];
        assert_eq!(host.gather("my-agent", "p").0, named(&expected));
    }

    #[test]
    fn ignore_files_around_the_project_count_only_where_the_person_says_so() {
        let host = Host::new();
        host.write("p/.cursorignore", "own\n");
        // The folder around the project is the host's root here.
        host.write(".cursorignore", "around\n");
        let count = || {
            let (documents, failures) = host.gather("my-agent", "p");
            assert!(failures.is_empty(), "{failures:?}");
            let ignore = documents
                .iter()
                .filter(|(.., format)| *format == DocumentFormat::IgnoreFile);
            ignore.count()
        };
        assert_eq!(count(), 1);
        host.write("config/policy.jsonc", r#"{"ignore": {"hierarchical": true}}"#);
        assert_eq!(count(), 2);
    }

    #[test]
    fn a_folder_outside_the_project_is_not_read_as_the_projects() {
        let host = Host::new();
        fs::create_dir_all(host.root.join("p")).unwrap();
        host.write("elsewhere/.claude/settings.json", "");
        assert_eq!(host.gather("claude", "elsewhere").0, []);
    }

    #[test]
    fn a_folder_with_too_many_files_is_a_failure() {
        let host = Host::new();
        fs::create_dir_all(host.root.join("p")).unwrap();
        for number in 0..MAX_FILES {
            host.write(&format!("home/.codex/rules/{number}.rules"), "");
        }
        assert_eq!(host.gather("codex", "p").1, Vec::<String>::new());
        host.write("home/.codex/rules/more.rules", "");
        assert_eq!(host.gather("codex", "p").1.len(), 1);
    }
}
