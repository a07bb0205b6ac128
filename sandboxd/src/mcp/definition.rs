//! One definition of a server: what it starts, and the digest under which it is approved.
//!
//! The digest covers everything that changes what runs: command, arguments, working directory, address, the names of all
//! variables, and the values of those that change what runs. Values of others (a token) do not count, or renewing one would
//! ask again. Of a server that a project starts it covers the project too: `node server.js` is another program elsewhere.

use std::path::Path;

use portcullis_policy::facts::{Approval, ConfiguredIn, Launch};
use portcullis_policy::shell::changes_what_runs;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Keys of a definition that make the agent run something else beside, or take variables from elsewhere.
const HELPERS: [&str; 3] = ["headersHelper", "envFile", "auth_command"];

/// One definition.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The configured name.
    pub name: String,
    /// The agents that read it.
    pub agents: &'static [&'static str],
    /// How it is started or reached.
    pub launch: Launch,
    /// Who configured it.
    pub place: ConfiguredIn,
    /// The file.
    pub file: String,
    /// Where an approval holds: the project, or everywhere (empty).
    pub scope: String,
    /// What is approved: 64 lower-case hexadecimal digits.
    pub digest: String,
    /// [`Approval::Disabled`] if the agent's settings switch it off.
    pub approval: Approval,
}

impl Definition {
    /// Reads a definition. One that is not understood has an unknown launch, which nobody can approve.
    pub(super) fn read(
        name: &str,
        value: &Value,
        agents: &'static [&'static str],
        place: ConfiguredIn,
        file: &Path,
        project: Option<&Path>,
    ) -> Self {
        let (launch, detail) = launch(value).unwrap_or((Launch::Unknown, Value::Null));
        let of_project = matches!(place, ConfiguredIn::Project | ConfiguredIn::Local);
        let folder = match (&launch, project) {
            (Launch::Command { .. } | Launch::Unknown, Some(project)) if of_project => {
                project.to_string_lossy().into_owned()
            }
            _ => String::new(),
        };
        let what = json!({"name": name, "launch": detail, "folder": folder}).to_string();
        let digest = Sha256::digest(what.as_bytes());
        let off =
            value.get("enabled") == Some(&Value::Bool(false)) || value.get("disabled") == Some(&Value::Bool(true));
        Self {
            name: name.to_owned(),
            agents,
            launch,
            place,
            file: file.display().to_string(),
            scope: folder,
            digest: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            approval: if off { Approval::Disabled } else { Approval::None },
        }
    }
}

/// How a server is started, and all that an approval is for. `None` if that is not certain.
fn launch(value: &Value) -> Option<(Launch, Value)> {
    let present = |key: &&str| value.get(*key).is_some_and(|value| !value.is_null());
    let urls: Vec<&str> = ["url", "httpUrl", "serverUrl"]
        .into_iter()
        .filter(|key| present(key))
        .collect();
    let helpers: Vec<&str> = HELPERS.into_iter().filter(|key| present(key)).collect();
    let helper_values: Vec<&Value> = helpers.iter().filter_map(|key| value.get(*key)).collect();
    match (present(&"command"), urls.as_slice()) {
        (false, [key]) => {
            let url = value.get(*key)?.as_str().filter(|url| !url.trim().is_empty())?;
            let launch = if helpers.is_empty() {
                Launch::Url(url.to_owned())
            } else {
                // A program of this host runs as well, of which the address says nothing: it is approved as a command.
                let mut words = vec![url.to_owned()];
                words.extend(helper_values.iter().map(|value| text_of(value)));
                Launch::Command {
                    words,
                    environment: helpers.iter().map(|key| (*key).to_owned()).collect(),
                }
            };
            Some((launch, json!({"url": url, "helpers": helper_values})))
        }
        (true, []) => {
            let words = words(value)?;
            let mut names = Vec::new();
            let mut values = Vec::new();
            for key in ["env", "environment"].into_iter().filter(present) {
                for (name, value) in value.get(key)?.as_object()? {
                    names.push(name.clone());
                    if changes_what_runs(name) {
                        values.push((name.clone(), text_of(value)));
                    }
                }
            }
            names.sort();
            values.sort();
            let cwd = value.get("cwd").filter(|cwd| !cwd.is_null());
            let mut environment: Vec<String> = values.iter().map(|(name, _)| name.clone()).collect();
            environment.extend(helpers.iter().map(|key| (*key).to_owned()));
            environment.extend(cwd.map(|_| "cwd".to_owned()));
            let detail =
                json!({"words": words, "names": names, "values": values, "cwd": cwd, "helpers": helper_values});
            Some((Launch::Command { words, environment }, detail))
        }
        _ => None,
    }
}

/// Program and arguments: `command` and `args`, or a list as `command`.
fn words(value: &Value) -> Option<Vec<String>> {
    let list = |value: &Value| -> Option<Vec<String>> {
        value
            .as_array()?
            .iter()
            .map(|word| word.as_str().map(str::to_owned))
            .collect()
    };
    let mut words = match value.get("command")? {
        Value::String(program) => vec![program.clone()],
        other => list(other)?,
    };
    if let Some(arguments) = value.get("args").filter(|arguments| !arguments.is_null()) {
        words.extend(list(arguments)?);
    }
    words
        .first()
        .is_some_and(|program| !program.trim().is_empty())
        .then_some(words)
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
