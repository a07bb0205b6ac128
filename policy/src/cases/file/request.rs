//! One `[[request]]`: the call in short or in an agent's own words, the setting it plays in, and what has to come out.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use serde_json::{Map, Value, json};
use toml::de::{DeTable, DeValue};

use super::{
    layers,
    reader::{self, Documents, Named, Placed, Reader},
};
use crate::{
    AbsPath, Mode, PolicyDocument, ToolCall,
    call::normalise,
    cases::{Case, Expectation, Setting},
    facts::{Repository, SandboxOffer},
    request::Interactivity,
};

/// Keys that say where a call plays. At the top of the file they hold for every request.
pub(super) const SETTING: &[&str] = &[
    "agent",
    "mode",
    "headless",
    "cwd",
    "root",
    "home",
    "trusted",
    "files",
    "links",
    "programs",
    "repository",
    "sandbox",
    "vouched",
    "failures",
];
/// Keys of a request that name the call in short.
const SHORT: &[&str] = &[
    "run",
    "read",
    "edit",
    "delete",
    "search",
    "fetch",
    "web_search",
    "mcp",
    "skill",
    "start_agent",
];
const OWN: &[&str] = &["about", "why", "tool", "input", "decision", "because"];
const KNOWN: [&[&str]; 3] = [OWN, SHORT, SETTING];

/// Where a test plays if it does not say.
const CWD: &str = "/home/dev/proj";
const HOME: &str = "/home/dev";

/// What a file or a request says about its setting; `None` and empty where it says nothing.
#[derive(Clone, Default)]
pub(super) struct Draft {
    agent: Option<String>,
    mode: Option<Mode>,
    headless: Option<bool>,
    cwd: Option<AbsPath>,
    root: Option<AbsPath>,
    home: Option<AbsPath>,
    trusted: Option<bool>,
    files: Vec<String>,
    links: Named<String>,
    programs: Named<Option<AbsPath>>,
    repository: Option<Quiet>,
    sandbox: Option<SandboxOffer>,
    vouched: Option<bool>,
    failures: Option<Vec<String>>,
}

/// What is known about the repository.
#[derive(Clone)]
enum Quiet {
    Unknown,
    None,
    /// Keys that run programs.
    Keys(Vec<String>),
}

impl Draft {
    /// Takes one key of [`SETTING`].
    pub(super) fn key(&mut self, reader: &mut Reader<'_>, key: &str, value: &Placed<'_>) {
        match key {
            "agent" => self.agent = reader.string(value, key).map(str::to_owned),
            "mode" => self.mode = reader.word(value, key),
            "headless" => self.headless = reader.boolean(value, key),
            "cwd" => self.cwd = path(reader, value, key),
            "root" => self.root = path(reader, value, key),
            "home" => self.home = path(reader, value, key),
            "trusted" => self.trusted = reader.boolean(value, key),
            "files" => self.files = reader.strings(value, key),
            "links" => {
                for (name, target) in named(reader, value, key) {
                    if let Some(target) = reader.string(target, "the target of a link") {
                        self.links.insert(name, target.to_owned());
                    }
                }
            }
            "programs" => {
                for (name, found) in named(reader, value, key) {
                    let found = match found.get_ref() {
                        DeValue::Boolean(false) => None,
                        DeValue::String(_) => match path(reader, found, &name) {
                            Some(path) => Some(path),
                            None => continue,
                        },
                        _ => {
                            let hint = "write the absolute path of what the name stands for, or `false`";
                            reader.fault(
                                found.span(),
                                "a program is a path, or `false` if there is none",
                                Some(hint),
                            );
                            continue;
                        }
                    };
                    self.programs.insert(name, found);
                }
            }
            "repository" => self.repository = repository(reader, value),
            "sandbox" => {
                self.sandbox = reader.string(value, key).and_then(|word| match word {
                    "full" => Some(SandboxOffer::Full),
                    "partial" => Some(SandboxOffer::Partial),
                    "none" => Some(SandboxOffer::None),
                    other => {
                        let message = format!("unknown sandbox `{other}`; known are full, partial, none");
                        reader.fault(value.span(), message, None);
                        None
                    }
                });
            }
            "vouched" => self.vouched = reader.boolean(value, key),
            "failures" => self.failures = Some(reader.strings(value, key)),
            _ => {}
        }
    }

    /// What a request says, and for the rest what the file says.
    fn over(self, common: &Self) -> Self {
        let mut links = common.links.clone();
        links.extend(self.links);
        let mut programs = common.programs.clone();
        programs.extend(self.programs);
        let common = common.clone();
        // A request that moves takes the project's root along, unless it says where that is.
        let root = self.root.or(if self.cwd.is_some() { None } else { common.root });
        Self {
            agent: self.agent.or(common.agent),
            mode: self.mode.or(common.mode),
            headless: self.headless.or(common.headless),
            cwd: self.cwd.or(common.cwd),
            root,
            home: self.home.or(common.home),
            trusted: self.trusted.or(common.trusted),
            files: common.files.into_iter().chain(self.files).collect(),
            links,
            programs,
            repository: self.repository.or(common.repository),
            sandbox: self.sandbox.or(common.sandbox),
            vouched: self.vouched.or(common.vouched),
            failures: self.failures.or(common.failures),
        }
    }

    fn cwd(&self) -> AbsPath {
        self.cwd.clone().unwrap_or_else(|| AbsPath::root().join(CWD))
    }

    pub(super) fn root(&self) -> AbsPath {
        self.root.clone().unwrap_or_else(|| self.cwd())
    }

    pub(super) fn home(&self) -> Option<AbsPath> {
        Some(self.home.clone().unwrap_or_else(|| AbsPath::root().join(HOME)))
    }

    fn setting(self) -> Setting {
        let (cwd, root, home) = (self.cwd(), self.root(), self.home());
        let place = |text: &str| match (text.strip_prefix("~/"), &home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => cwd.join(text),
        };
        let mut setting = Setting::ordinary(&cwd, home.as_ref(), self.mode.unwrap_or_default());
        setting.workspace.root = root.clone();
        setting.files = self.files.iter().map(|file| place(file)).collect();
        setting.links = self.links.into_iter().map(|(at, to)| (place(&at), to)).collect();
        setting.programs = self.programs;
        if let Some(agent) = self.agent {
            setting.agent = agent;
        }
        if self.headless == Some(true) {
            setting.interactivity = Interactivity::Headless;
        }
        let facts = &mut setting.facts;
        facts.project_trusted = self.trusted.unwrap_or(true);
        facts.vouched = self.vouched.unwrap_or(true);
        facts.sandbox = self.sandbox.unwrap_or_default();
        facts.failures = self.failures.unwrap_or_default();
        facts.repository = match self.repository {
            None => Repository::Known {
                root,
                executing_keys: Vec::new(),
            },
            Some(Quiet::Keys(executing_keys)) => Repository::Known { root, executing_keys },
            Some(Quiet::None) => Repository::None,
            Some(Quiet::Unknown) => Repository::Unknown,
        };
        setting
    }
}

fn path(reader: &mut Reader<'_>, value: &Placed<'_>, key: &str) -> Option<AbsPath> {
    let text = reader.string(value, key)?;
    let path = AbsPath::parse(text).ok();
    if path.is_none() {
        reader.fault(value.span(), format!("`{text}` is not an absolute path"), None);
    }
    path
}

fn named<'v, 't>(reader: &mut Reader<'_>, value: &'v Placed<'t>, key: &str) -> Vec<(String, &'v Placed<'t>)> {
    let entries = reader.table(value, key).into_iter().flat_map(|table| table.iter());
    entries
        .map(|(name, value)| (name.get_ref().to_string(), value))
        .collect()
}

fn repository(reader: &mut Reader<'_>, value: &Placed<'_>) -> Option<Quiet> {
    let hint = "write \"quiet\", \"none\", \"unknown\", or { executing_keys = [\"core.pager\"] }";
    match value.get_ref() {
        DeValue::String(word) => match word.as_ref() {
            "quiet" => Some(Quiet::Keys(Vec::new())),
            "none" => Some(Quiet::None),
            "unknown" => Some(Quiet::Unknown),
            other => {
                reader.fault(value.span(), format!("unknown repository `{other}`"), Some(hint));
                None
            }
        },
        DeValue::Table(table) => {
            let mut keys = None;
            reader.keys(table, "`repository`", &[&["executing_keys"]], |reader, key, value| {
                keys = Some(reader.strings(value, key));
            });
            keys.map(Quiet::Keys)
        }
        _ => {
            reader.fault(value.span(), "`repository` is a word or a table", Some(hint));
            None
        }
    }
}

/// Reads a request; `None` if it has faults, which are noted.
pub(super) fn case(
    reader: &mut Reader<'_>,
    span: Range<usize>,
    table: &DeTable<'_>,
    common: &Draft,
    documents: &Documents,
) -> Option<Case> {
    let before = reader.faults.len();
    let mut draft = Draft::default();
    let (mut about, mut why, mut tool, mut input) = (None, None, None, None);
    let (mut decision, mut because): (Option<Expectation>, Option<Vec<String>>) = (None, None);
    let mut decision_read = false;
    let mut calls: Vec<(&'static str, &Placed<'_>)> = Vec::new();
    reader.keys(table, "a request", &KNOWN, |reader, key, value| match key {
        "about" => about = reader.string(value, key).map(str::to_owned),
        "why" => why = reader.string(value, key).map(str::to_owned),
        "tool" => {
            tool = reader.string(value, key).map(str::to_owned);
            calls.push((key, value));
        }
        "input" => input = reader.table(value, key).map(|table| (table, value.span())),
        "decision" => {
            decision_read = true;
            decision = reader.word(value, key);
        }
        "because" => {
            because = Some(match value.get_ref() {
                DeValue::String(word) => vec![word.to_string()],
                _ => reader.strings(value, key),
            });
        }
        short if SHORT.contains(&short) => calls.push((short, value)),
        setting => draft.key(reader, setting, value),
    });
    // The header is enough to underline.
    let head = span.start
        ..span.start
            + reader
                .text
                .get(span.clone())
                .map_or(0, |text| text.find('\n').unwrap_or(text.len()));
    if !decision_read {
        let hint = "add `decision = \"allow\"`, \"ask\", \"deny\" or \"not_allow\"";
        reader.fault(
            head.clone(),
            "the request does not say which decision is right",
            Some(hint),
        );
    }
    let draft = draft.over(common);
    let agent = draft.agent.clone().unwrap_or_else(|| "claude".to_owned());
    let call = match calls.as_slice() {
        [("tool", value)] => in_own_words(reader, &agent, value, tool.as_deref(), input),
        [(key, value)] => {
            if let Some((_, span)) = input {
                reader.fault(span, format!("`input` goes with `tool`, not with `{key}`"), None);
            }
            short(reader, key, value)
        }
        [] => {
            let hint = format!("add one of {}, or `tool` and `input`", SHORT.join(", "));
            reader.fault(head, "the request names no call", Some(&hint));
            None
        }
        [_, (key, second), ..] => {
            reader.fault(
                second.span(),
                format!("a request is one call; `{key}` is a second one"),
                Some("write another `[[request]]`"),
            );
            None
        }
    };
    if reader.faults.len() > before {
        return None;
    }
    let call = call?;
    let (root, home) = (draft.root(), draft.home());
    let setting = draft.setting();
    let request = setting.request(call);
    Some(Case {
        name: about.unwrap_or_else(|| name(&calls)),
        line: reader.line(span.start),
        why: why.unwrap_or_default(),
        documents: documents
            .iter()
            .map(|document| placed(document, &root, home.as_ref()))
            .collect(),
        texts: reader.texts.clone(),
        left_out: Vec::new(),
        setting,
        request,
        expected: decision?,
        because,
    })
}

/// What a request is called that does not say: its call.
fn name(calls: &[(&'static str, &Placed<'_>)]) -> String {
    let texts = calls.iter().map(|(key, value)| match value.get_ref() {
        DeValue::String(text) => format!("{key} {text}"),
        _ => (*key).to_owned(),
    });
    texts.collect()
}

/// A document as it would stand in the project of a request that plays elsewhere.
fn placed(document: &Arc<PolicyDocument>, root: &AbsPath, home: Option<&AbsPath>) -> Arc<PolicyDocument> {
    let folder = layers::folder(document.origin.layer, root, home);
    if folder == document.origin.folder {
        return Arc::clone(document);
    }
    let mut moved = PolicyDocument::clone(document);
    moved.origin.folder = folder;
    Arc::new(moved)
}

/// A call as its agent would send it.
fn in_own_words(
    reader: &mut Reader<'_>,
    agent: &str,
    value: &Placed<'_>,
    tool: Option<&str>,
    input: Option<(&DeTable<'_>, Range<usize>)>,
) -> Option<ToolCall> {
    let input = match input {
        None => Map::new(),
        Some((table, span)) => match reader::object(table) {
            Some(input) => input,
            None => {
                reader.fault(
                    span,
                    "the input holds what JSON cannot: a date, or a number out of range",
                    None,
                );
                return None;
            }
        },
    };
    make(reader, value, agent, tool?, input)
}

fn make(
    reader: &mut Reader<'_>,
    value: &Placed<'_>,
    agent: &str,
    tool: &str,
    input: Map<String, Value>,
) -> Option<ToolCall> {
    match normalise(agent, tool, input) {
        Ok(call) => Some(call),
        Err(fault) => {
            reader.fault(value.span(), fault.to_string(), None);
            None
        }
    }
}

/// A call in one key.
fn short(reader: &mut Reader<'_>, key: &str, value: &Placed<'_>) -> Option<ToolCall> {
    let text = reader.string(value, key)?;
    if key == "mcp" {
        let mut words = text.strip_prefix("mcp__").unwrap_or_default().splitn(2, "__");
        if !(words.next().is_some_and(|server| !server.is_empty()) && words.next().is_some_and(|tool| !tool.is_empty()))
        {
            let hint = Some("write `mcp__<server>__<tool>`");
            reader.fault(value.span(), format!("`{text}` names no tool of an MCP server"), hint);
            return None;
        }
    }
    let (agent, tool, input) = match key {
        "run" => ("claude", "Bash", json!({ "command": text })),
        "read" => ("claude", "Read", json!({ "file_path": text })),
        "edit" => (
            "claude",
            "Edit",
            json!({ "file_path": text, "old_string": "a", "new_string": "b" }),
        ),
        // Claude Code has no tool of its own for this.
        "delete" => ("cursor", "Delete", json!({ "path": text })),
        "search" => ("claude", "Grep", json!({ "pattern": "x", "path": text })),
        "fetch" => ("claude", "WebFetch", json!({ "url": text, "prompt": "read it" })),
        "web_search" => ("claude", "WebSearch", json!({ "query": text })),
        "skill" => {
            let (name, arguments) = text.split_once(' ').unwrap_or((text, ""));
            ("claude", "Skill", json!({ "skill": name, "args": arguments }))
        }
        "start_agent" => (
            "claude",
            "Agent",
            json!({ "subagent_type": text, "description": "x", "prompt": "x" }),
        ),
        _ => ("claude", text, json!({})),
    };
    let input = match input {
        Value::Object(input) => input,
        _ => BTreeMap::<String, Value>::new().into_iter().collect(),
    };
    make(reader, value, agent, tool, input)
}
