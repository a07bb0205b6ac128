//! Runs the permission cases: calls, the rules and mode in force, and the right decision.
//!
//! The cases are data in `tests/cases`, described there. Facts that a case leaves out are the ordinary ones: the project
//! is trusted, its repository runs nothing, programs are the system's, a person can be asked, and of files only those
//! named exist. Rows that this engine does not decide yet are counted and named, never passed in silence.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test program stops at the first surprise, and says what it did not decide"
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
struct Case(Value);

impl Case {
    fn text<'a>(&'a self, key: &str) -> &'a str {
        self.0[key].as_str().unwrap_or_default()
    }

    fn id(&self) -> &str {
        self.text("id")
    }

    fn rules(&self, effect: &str) -> Vec<String> {
        let list = self.0["rules"][effect].as_array();
        list.into_iter()
            .flatten()
            .map(|rule| rule.as_str().unwrap().to_owned())
            .collect()
    }

    /// Why the row is not decided yet, if it is not.
    fn not_yet(&self) -> Option<String> {
        match (self.text("format"), self.text("mode")) {
            ("claude", "auto") => Some("mode auto needs the classifier".to_owned()),
            ("claude", _) => None,
            (format, _) => Some(format!("rules of format {format} are not read yet")),
        }
    }

    /// Tool and input as the agent would send them.
    fn call(&self) -> (String, Map<String, Value>) {
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

    fn decide(&self) -> portcullis_policy::Decision {
        let origin = DocumentOrigin {
            layer: Layer::User,
            name: "rules of the case".to_owned(),
            folder: Some(path(self.text("cwd"))),
        };
        let (document, _left_out) =
            PolicyDocument::from_agent_rules(&self.rules("allow"), &self.rules("ask"), &self.rules("deny"), origin);
        let ruleset = EffectiveRuleset::merge(&[Arc::new(document)], true);
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
            project_trusted: true,
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

fn cases() -> Vec<Case> {
    include_str!("../../tests/cases/permission-cases.jsonl")
        .lines()
        .map(|line| Case(serde_json::from_str(line).unwrap()))
        .collect()
}

fn fits(expected: &str, verdict: Verdict) -> bool {
    match expected {
        "not_allow" => verdict != Verdict::Allow,
        other => other == verdict.to_string(),
    }
}

#[test]
fn every_row_is_decided_as_it_should_be() {
    let cases = cases();
    assert!(cases.len() > 400, "the cases are missing");
    let (mut wrong, mut right, mut not_yet) = (Vec::new(), 0, BTreeMap::<String, Vec<&str>>::new());
    for case in &cases {
        if let Some(why) = case.not_yet() {
            not_yet.entry(why).or_default().push(case.id());
            continue;
        }
        let decision = case.decide();
        if fits(case.text("expect"), decision.verdict) {
            right += 1;
        } else {
            wrong.push(format!(
                "{}: expected {}, got {}\n    call: {}\n    said: {}\n    why: {}",
                case.id(),
                case.text("expect"),
                decision.verdict,
                case.0["call"],
                decision.user_message,
                case.text("why")
            ));
        }
    }
    println!("{right} rows right, {} wrong", wrong.len());
    for (why, ids) in &not_yet {
        println!("NOT YET DECIDED ({} rows, {why}): {}", ids.len(), ids.join(" "));
    }
    assert!(
        wrong.is_empty(),
        "{} rows are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(right + not_yet.values().map(Vec::len).sum::<usize>(), cases.len());
}

#[test]
fn the_runner_notices_a_wrong_answer() {
    let case = |rules: Value| {
        Case(json!({
            "id": "control", "mode": "default", "rules": rules, "format": "claude", "cwd": "/home/dev/proj",
            "home": "/home/dev", "call": {"tool": "Edit", "path": "a.txt"}, "expect": "allow", "why": "control",
        }))
    };
    assert!(fits("allow", case(json!({"allow": ["Edit(a.txt)"]})).decide().verdict));
    assert!(!fits("allow", case(json!({"allow": []})).decide().verdict));
}
