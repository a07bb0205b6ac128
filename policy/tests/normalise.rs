//! What the calls of real agents mean: recorded payloads against the action each stands for.
//!
//! The payloads are the ones that hook programs get on their standard input; the expected actions stand beside them in
//! `actions.jsonl`. Taking a payload apart is the adapters' business and kept here as short as it can be.

#![allow(
    clippy::disallowed_methods,
    reason = "a test program reads its fixtures; the crate itself reads nothing"
)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of a test may stop at the first surprise, as tests may"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use portcullis_policy::{
    Action,
    call::{Search, normalise},
};
use serde_json::{Map, Value, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/hooks")
}

/// One line of `actions.jsonl`.
#[derive(serde::Deserialize)]
struct Expected {
    file: String,
    action: String,
}

#[test]
fn recorded_calls_mean_what_is_written_beside_them() {
    let expected = fs::read_to_string(folder().join("actions.jsonl")).unwrap();
    let expected: BTreeMap<String, String> = expected
        .lines()
        .map(|line| serde_json::from_str::<Expected>(line).unwrap())
        .map(|line| (line.file, line.action))
        .collect();
    let mut wrong = Vec::new();
    for (file, action) in &expected {
        let (agent, _) = file.split_once('/').unwrap();
        let payload = fs::read(folder().join(file)).unwrap();
        let (tool, input) = call(&serde_json::from_slice(&payload).unwrap());
        let got = describe(&normalise(agent, &tool, input).unwrap().action);
        if got != *action {
            wrong.push(format!("{file}: {tool} is `{got}`, not `{action}`"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let listed: BTreeSet<String> = expected.into_keys().collect();
    assert_eq!(recorded(), listed, "every payload has its line, every line its payload");
}

/// Every payload below the folder that is about a call.
fn recorded() -> BTreeSet<String> {
    let mut files = BTreeSet::new();
    let mut open = vec![folder()];
    while let Some(folder_now) = open.pop() {
        for entry in fs::read_dir(folder_now).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.file_name().unwrap().to_str().unwrap().to_lowercase();
            let about_a_call = ["pre", "before", "permissionrequest", "tool.execute.before"]
                .iter()
                .any(|event| name.starts_with(event));
            let about_the_session = ["precompact", "premodel", "precompress", "beforeagent", "beforesubmit"]
                .iter()
                .chain(&["beforemodel", "beforetoolselection", "pre_user"])
                .any(|event| name.starts_with(event));
            if name.ends_with(".in.json") && about_a_call && !about_the_session {
                files.insert(path.strip_prefix(folder()).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    files
}

/// Tool and input of a payload.
fn call(payload: &Value) -> (String, Map<String, Value>) {
    let event = &payload["hook_event_name"];
    if event == "beforeShellExecution" {
        return named("Shell", json!({ "command": payload["command"] }));
    }
    if event == "beforeReadFile" || event == "beforeTabFileRead" {
        return named("Read", json!({ "file_path": payload["file_path"] }));
    }
    if let Some(Value::String(input)) = payload.get("tool_input") {
        let tool = payload["tool_name"].as_str().unwrap();
        let name = match payload.get("mcp_server_name") {
            Some(server) => format!("mcp__{}__{tool}", server.as_str().unwrap()),
            None => format!("MCP:{tool}"),
        };
        return named(&name, serde_json::from_str(input).unwrap());
    }
    let places = [
        ("/tool_name", "/tool_input"),
        ("/toolName", "/toolArgs"),
        ("/toolName", "/toolInput"),
        ("/preToolUse/toolName", "/preToolUse/parameters"),
        ("/agent_action_name", "/tool_info"),
        ("/input/tool", "/output/args"),
    ];
    let found = places.iter().find_map(|(tool, input)| {
        let tool = payload.pointer(tool)?.as_str()?;
        Some(named(tool, payload.pointer(input)?.clone()))
    });
    found.unwrap_or_else(|| panic!("no call in {payload}"))
}

fn named(tool: &str, input: Value) -> (String, Map<String, Value>) {
    match input {
        Value::Object(input) => (tool.to_owned(), input),
        other => panic!("no object: {other}"),
    }
}

/// An action in one line.
fn describe(action: &Action) -> String {
    match action {
        Action::Shell { command } => format!("shell: {command}"),
        Action::Read { path } => format!("read: {path}"),
        Action::Edit { paths } => format!("edit: {}", paths.join(", ")),
        Action::Delete { paths } => format!("delete: {}", paths.join(", ")),
        Action::Fetch { urls } => format!("fetch: {}", urls.join(", ")),
        Action::Search(Search::Web { query }) => format!("search the web: {query}"),
        Action::Search(Search::Files { path, pattern }) => {
            let part = |part: &Option<String>| part.clone().unwrap_or_else(|| "-".to_owned());
            format!("search files: {} in {}", part(pattern), part(path))
        }
        Action::Mcp { server, tool } => format!("mcp: {tool} of {server}"),
        Action::Agent { kind } => format!("agent: {kind}"),
        Action::Skill { name, arguments } => format!("skill: {name} {arguments}"),
        Action::Browser { url } => format!("browser: {url:?}"),
        Action::LeavePlan => "leave plan".to_owned(),
        Action::Internal => "internal".to_owned(),
        Action::Other => "other".to_owned(),
    }
}
