//! Rows of an agent's oracle as cases: what several settings files of an agent say, and a call in its own words.
//!
//! The world around the call is the one of `policy::cases`; this adds what only recordings have.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test program stops at the first surprise"
)]

use std::sync::Arc;

use portcullis_policy::{
    AbsPath, Decision, DocumentOrigin, EffectiveRuleset, Layer, PolicyDocument, call::normalise, cases::Setting,
    evaluate,
};
use serde_json::Value;

/// One row: what an agent did with a call, under the rules of its settings files.
pub(crate) struct Recording(Value);

impl Recording {
    pub(crate) fn read(row: &str) -> Self {
        Self(serde_json::from_str(row).unwrap())
    }

    pub(crate) fn text<'a>(&'a self, key: &str) -> &'a str {
        self.0[key].as_str().unwrap_or_default()
    }

    pub(crate) fn id(&self) -> &str {
        self.text("id")
    }

    /// The call's input, for messages.
    pub(crate) fn input(&self) -> &Value {
        &self.0["input"]
    }

    /// The rules of the row, and those of the settings files.
    fn documents(&self, project: &AbsPath, user: &AbsPath) -> Vec<Arc<PolicyDocument>> {
        let document = |layer: Layer, folder: &AbsPath, rules: &Value| {
            let list = |effect: &str| -> Vec<String> {
                let list = rules[effect].as_array().into_iter().flatten();
                list.map(|rule| rule.as_str().unwrap().to_owned()).collect()
            };
            let origin = DocumentOrigin {
                layer,
                name: format!("{layer} rules of the case"),
                folder: Some(folder.clone()),
            };
            let (document, _left_out) =
                PolicyDocument::from_agent_rules(&list("allow"), &list("ask"), &list("deny"), origin);
            Arc::new(document)
        };
        let settings = |name: &str| &self.0["settings"][name]["permissions"];
        vec![
            document(Layer::User, user, &self.0["rules"]),
            document(Layer::Project, project, &self.0["project_settings"]["permissions"]),
            document(Layer::Team, project, settings("managed")),
            document(Layer::Local, project, settings("local")),
            document(Layer::Project, project, settings("project")),
            document(Layer::User, user, settings("user")),
        ]
    }

    pub(crate) fn decide(&self) -> Decision {
        let (cwd, home) = (path("/home/dev/proj"), path("/home/dev"));
        let documents = self.documents(&cwd, &path("/home/dev/.claude"));
        let mut setting = Setting::ordinary(&cwd, Some(&home), self.text("mode").parse().unwrap());
        setting.facts.project_trusted = self.0["settings"]["folder_trusted"].as_bool().unwrap_or(true);
        for entry in self.0["fs"].as_array().into_iter().flatten() {
            let at = cwd.join(entry["path"].as_str().unwrap());
            match entry["symlink"].as_str() {
                Some(target) => drop(setting.links.insert(at, target.to_owned())),
                None => drop(setting.files.insert(at)),
            }
        }
        let input = self.input().as_object().unwrap().clone();
        let call = normalise("claude", self.text("tool"), input).unwrap();
        let ruleset = EffectiveRuleset::merge(&documents, setting.facts.project_trusted);
        evaluate(&ruleset, &setting.request(call))
    }
}

fn path(text: &str) -> AbsPath {
    AbsPath::parse(text).unwrap()
}
