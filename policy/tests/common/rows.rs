//! One row of the permission cases, and how it is decided: what several test programs share.
//!
//! It gathers the ordinary facts a row leaves out; it judges nothing itself.

#![allow(dead_code, reason = "each test program uses its own part")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test program stops at the first surprise"
)]

use std::{collections::BTreeMap, sync::Arc};

use portcullis_policy::{
    AbsPath, DocumentOrigin, EffectiveRuleset, Facts, Layer, Mode, PolicyDocument, Request, Verdict,
    call::normalise,
    evaluate,
    facts::{PathFact, PathKind, Repository, SandboxOffer},
    facts_needed,
    request::{Interactivity, Workspace},
};
use serde_json::{Map, Value, json};

/// One row.
pub(crate) struct Case(pub(crate) Value);

impl Case {
    /// A row of an oracle: what an agent did with a call, under the rules of its user's settings.
    pub(crate) fn oracle(row: &str) -> Self {
        let mut row: Value = serde_json::from_str(row).unwrap();
        let fields = row.as_object_mut().unwrap();
        for (key, value) in [
            ("cwd", "/home/dev/proj"),
            ("home", "/home/dev"),
            ("user_folder", "/home/dev/.claude"),
            ("format", "claude"),
        ] {
            fields.insert(key.to_owned(), json!(value));
        }
        Self(row)
    }

    pub(crate) fn text<'a>(&'a self, key: &str) -> &'a str {
        self.0[key].as_str().unwrap_or_default()
    }

    pub(crate) fn id(&self) -> &str {
        self.text("id")
    }

    /// Why the row is not decided yet, if it is not.
    pub(crate) fn not_yet(&self) -> Option<String> {
        match self.text("format") {
            "claude" => None,
            format => Some(format!("rules of format {format} are not read yet")),
        }
    }

    /// The rules in force: those of the case, or the settings files of an agent.
    fn documents(&self) -> Vec<Arc<PolicyDocument>> {
        let cwd = path(self.text("cwd"));
        let document = |layer: Layer, folder: AbsPath, rules: &Value| {
            let list = |effect: &str| -> Vec<String> {
                let list = rules[effect].as_array().into_iter().flatten();
                list.map(|rule| rule.as_str().unwrap().to_owned()).collect()
            };
            let origin = DocumentOrigin {
                layer,
                name: format!("{layer} rules of the case"),
                folder: Some(folder),
            };
            let (document, _left_out) =
                PolicyDocument::from_agent_rules(&list("allow"), &list("ask"), &list("deny"), origin);
            Arc::new(document)
        };
        let user_folder = self.0["user_folder"].as_str().map_or_else(|| cwd.clone(), path);
        let mut out = vec![document(Layer::User, user_folder.clone(), &self.0["rules"])];
        out.push(document(
            Layer::Project,
            cwd.clone(),
            &self.0["project_settings"]["permissions"],
        ));
        for (name, layer, folder) in [
            ("managed", Layer::Team, &cwd),
            ("local", Layer::Local, &cwd),
            ("project", Layer::Project, &cwd),
            ("user", Layer::User, &user_folder),
        ] {
            out.push(document(
                layer,
                folder.clone(),
                &self.0["settings"][name]["permissions"],
            ));
        }
        out
    }

    /// Tool and input as the agent would send them.
    fn call(&self) -> (String, Map<String, Value>) {
        if let (Some(tool), Some(input)) = (self.0["tool"].as_str(), self.0["input"].as_object()) {
            return (tool.to_owned(), input.clone());
        }
        let call = &self.0["call"];
        let (tool, input) = match call["tool"].as_str().unwrap() {
            "Bash" => ("Bash".to_owned(), json!({ "command": call["command"] })),
            "Read" => ("Read".to_owned(), json!({ "file_path": call["path"] })),
            "Edit" => (
                "Edit".to_owned(),
                json!({ "file_path": call["path"], "old_string": "a", "new_string": "b" }),
            ),
            "WebFetch" => (
                "WebFetch".to_owned(),
                json!({ "url": call["url"], "prompt": "read it" }),
            ),
            "Mcp" => {
                let (server, name) = (call["server"].as_str().unwrap(), call["name"].as_str().unwrap());
                (format!("mcp__{server}__{name}"), json!({}))
            }
            other => panic!("{}: unknown tool {other}", self.id()),
        };
        (tool, input.as_object().unwrap().clone())
    }

    fn files(&self) -> Files {
        let cwd = path(self.text("cwd"));
        let mut files = Files::default();
        for entry in self.0["fs"].as_array().into_iter().flatten() {
            let at = cwd.join(entry["path"].as_str().unwrap());
            match entry["symlink"].as_str() {
                Some(target) => drop(files.links.insert(at, target.to_owned())),
                None => files.files.push(at),
            }
        }
        files
    }

    pub(crate) fn decide(&self) -> portcullis_policy::Decision {
        let documents = self.documents();
        let trusted = self.0["settings"]["folder_trusted"].as_bool().unwrap_or(true);
        let ruleset = EffectiveRuleset::merge(&documents, trusted);
        let workspace = Workspace {
            root: path(self.text("cwd")),
            additional_roots: Vec::new(),
            cwd: path(self.text("cwd")),
            home: Some(path(self.text("home"))),
        };
        let (tool, input) = self.call();
        let call = normalise("claude", &tool, input).unwrap_or_else(|fault| panic!("{}: {fault}", self.id()));
        let files = self.files();
        let needed = facts_needed(&call.action, &workspace);
        let facts = Facts {
            vouched: true,
            paths: needed
                .paths
                .into_iter()
                .map(|named| {
                    let real = files.real(&named);
                    let kind = files.kind(&real);
                    (named, PathFact { real: Some(real), kind })
                })
                .collect(),
            programs: needed
                .programs
                .into_iter()
                .map(|name| {
                    let found = path("/usr/bin").join(&name);
                    (name, Some(found))
                })
                .collect(),
            repository: Repository::Known {
                root: workspace.root.clone(),
                executing_keys: Vec::new(),
            },
            project_trusted: trusted,
            sandbox: SandboxOffer::None,
            ..Facts::default()
        };
        let mode: Mode = self.text("mode").parse().unwrap();
        evaluate(
            &ruleset,
            &Request {
                agent: "claude".to_owned(),
                mode,
                interactivity: Interactivity::Interactive,
                workspace,
                call,
                facts,
                sandboxed_execution: false,
            },
        )
    }
}

/// What exists, as far as a case says.
#[derive(Default)]
struct Files {
    files: Vec<AbsPath>,
    links: BTreeMap<AbsPath, String>,
}

impl Files {
    /// Follows links, segment by segment.
    fn real(&self, named: &AbsPath) -> AbsPath {
        let mut real = AbsPath::root();
        for segment in named.segments() {
            real = real.join(segment);
            for _ in 0..8 {
                let Some(target) = self.links.get(&real) else { break };
                real = real.parent().unwrap().join(target);
            }
        }
        real
    }

    fn kind(&self, real: &AbsPath) -> PathKind {
        if self.files.contains(real) {
            PathKind::File
        } else if self.files.iter().any(|file| file.is_within(real)) {
            PathKind::Directory
        } else {
            PathKind::Absent
        }
    }
}

fn path(text: &str) -> AbsPath {
    AbsPath::parse(text).unwrap()
}

pub(crate) fn fits(expected: &str, verdict: Verdict) -> bool {
    match expected {
        "not_allow" => verdict != Verdict::Allow,
        other => other == verdict.to_string(),
    }
}
