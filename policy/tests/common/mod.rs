//! What several test programs need: requests with the ordinary facts.

#![allow(dead_code, reason = "each test program uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test program stops at the first surprise")]

use std::sync::Arc;

use portcullis_policy::{
    AbsPath, Decision, DocumentOrigin, EffectiveRuleset, Facts, Layer, Mode, PolicyDocument, Request, ToolCall,
    call::normalise,
    evaluate,
    facts::{Approval, ConfiguredIn, Launch, McpServer, PathFact, PathKind, Repository, Tree},
    facts_needed,
    mode::Session,
    request::{Interactivity, Workspace},
};
use serde_json::{Value, json};

pub(crate) fn path(text: &str) -> AbsPath {
    AbsPath::parse(text).unwrap()
}

pub(crate) fn workspace() -> Workspace {
    Workspace {
        root: path("/home/dev/proj"),
        additional_roots: Vec::new(),
        cwd: path("/home/dev/proj"),
        home: Some(path("/home/dev")),
    }
}

pub(crate) fn call(tool: &str, input: Value) -> ToolCall {
    normalise("claude", tool, input.as_object().unwrap().clone()).unwrap()
}

pub(crate) fn bash(command: &str) -> ToolCall {
    call("Bash", json!({ "command": command }))
}

pub(crate) fn read(file: &str) -> ToolCall {
    call("Read", json!({ "file_path": file }))
}

pub(crate) fn edit(file: &str) -> ToolCall {
    call(
        "Edit",
        json!({ "file_path": file, "old_string": "a", "new_string": "b" }),
    )
}

pub(crate) fn fetch(url: &str) -> ToolCall {
    call("WebFetch", json!({ "url": url, "prompt": "x" }))
}

/// A trusted project whose repository runs nothing, programs of the system, no links.
pub(crate) fn facts(call: &ToolCall, workspace: &Workspace) -> Facts {
    let needed = facts_needed(&call.action, workspace);
    Facts {
        vouched: true,
        paths: needed
            .paths
            .into_iter()
            .map(|named| {
                let fact = PathFact {
                    real: Some(named.clone()),
                    kind: PathKind::Unknown,
                };
                (named, fact)
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
        // The server that the agent means, approved.
        mcp_servers: needed
            .mcp_servers
            .first()
            .map(|name| server(name))
            .into_iter()
            .collect(),
        project_trusted: true,
        trees: needed
            .trees
            .into_iter()
            .map(|tree| {
                let empty = Tree {
                    complete: true,
                    ..Tree::default()
                };
                (tree.folder, empty)
            })
            .collect(),
        ..Facts::default()
    }
}

/// An approved MCP server of the person's own.
pub(crate) fn server(name: &str) -> McpServer {
    McpServer {
        name: name.to_owned(),
        launch: Launch::Command {
            words: vec![format!("mcp-{name}")],
            environment: Vec::new(),
        },
        place: ConfiguredIn::User,
        file: "/home/dev/.claude.json".to_owned(),
        read_only_tools: std::collections::BTreeSet::new(),
        approval: Approval::Given,
    }
}

pub(crate) fn request(call: ToolCall, mode: Mode) -> Request {
    let workspace = workspace();
    let facts = facts(&call, &workspace);
    Request {
        agent: "claude".to_owned(),
        mode,
        interactivity: Interactivity::Interactive,
        workspace,
        call,
        facts,
        session: Session::default(),
        sandboxed_execution: false,
    }
}

pub(crate) fn document(layer: Layer, json: &Value) -> Arc<PolicyDocument> {
    let origin = DocumentOrigin {
        layer,
        name: format!("{layer}.jsonc"),
        folder: None,
    };
    Arc::new(PolicyDocument::parse(&json.to_string(), origin).unwrap())
}

pub(crate) fn rules(layer: Layer, allow: &[&str], ask: &[&str], deny: &[&str]) -> Arc<PolicyDocument> {
    document(
        layer,
        &json!({ "permissions": { "allow": allow, "ask": ask, "deny": deny } }),
    )
}

pub(crate) fn merged(documents: &[Arc<PolicyDocument>]) -> EffectiveRuleset {
    EffectiveRuleset::merge(documents, true)
}

pub(crate) fn decide(documents: &[Arc<PolicyDocument>], request: &Request) -> Decision {
    evaluate(&merged(documents), request)
}
