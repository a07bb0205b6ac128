//! The permission cases once more, through files, socket, server and database: what the engine decides alone, and what the
//! whole says, must be the same.
//!
//! Each case's rules stand in the local layer of a trusted project, its files really exist, and sandboxd finds the facts.

use std::{fs, path::Path};

use portcullis_tests::{
    Role, Stack,
    v1::{self, Effect},
};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Case {
    id: String,
    mode: String,
    rules: Value,
    format: String,
    cwd: String,
    call: Value,
    #[serde(default)]
    fs: Vec<Entry>,
    expect: String,
    why: String,
}

#[derive(Deserialize)]
struct Entry {
    path: String,
    symlink: Option<String>,
}

/// Cases about a program that may be missing: then the host cannot say that the name stands for it, and asks.
const PROGRAMS: [(&str, &str); 2] = [("fp-quote-rg-regex", "rg"), ("fp-redir-tee-edit-rule", "rg")];

/// Whether the system has what the case is about.
fn can_be_decided(case: &Case) -> bool {
    let missing = PROGRAMS.iter().find(|(id, program)| {
        *id == case.id
            && !["/usr/bin", "/bin"]
                .iter()
                .any(|folder| Path::new(folder).join(program).exists())
    });
    if let Some((id, program)) = missing {
        eprintln!("SKIPPED {id}: `{program}` is not installed");
    }
    missing.is_none()
}

/// The cases that this version decides, moved into the stack's home.
fn cases(stack: &Stack) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/permission-cases.jsonl");
    let text = fs::read_to_string(path)
        .unwrap()
        .replace("/home/dev", stack.home().to_str().unwrap());
    text.lines()
        .map(|line| serde_json::from_str::<Case>(line).unwrap())
        // Other spellings come later.
        .filter(|case| case.format == "claude")
        .collect()
}

fn mode(name: &str) -> v1::Mode {
    match name {
        "default" => v1::Mode::Default,
        "acceptEdits" => v1::Mode::AcceptEdits,
        "plan" => v1::Mode::Plan,
        "dontAsk" => v1::Mode::DontAsk,
        "bypass" => v1::Mode::Bypass,
        "auto" => v1::Mode::Auto,
        other => panic!("no such mode: {other}"),
    }
}

fn request(stack: &Stack, case: &Case) -> v1::DecideRequest {
    let word = |name: &str| {
        case.call[name]
            .as_str()
            .unwrap_or_else(|| panic!("{}: no `{name}`", case.id))
    };
    let mut request = match word("tool") {
        "Bash" => stack.bash(word("command")),
        "Read" => stack.call("Read", &json!({"file_path": word("path")})),
        "Edit" => stack.call(
            "Edit",
            &json!({"file_path": word("path"), "old_string": "a", "new_string": "b"}),
        ),
        "WebFetch" => stack.call("WebFetch", &json!({"url": word("url"), "prompt": "read"})),
        "Mcp" => stack.call(&format!("mcp__{}__{}", word("server"), word("name")), &json!({})),
        other => panic!("{}: no such tool: {other}", case.id),
    };
    request.mode = mode(&case.mode).into();
    let workspace = request.workspace.as_mut().unwrap();
    workspace.cwd.clone_from(&case.cwd);
    workspace.roots = vec![case.cwd.clone()];
    request
}

fn make_files(case: &Case) {
    for entry in &case.fs {
        let path = Path::new(&case.cwd).join(&entry.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match &entry.symlink {
            Some(target) => std::os::unix::fs::symlink(target, path).unwrap(),
            None => fs::write(path, "").unwrap(),
        }
    }
}

fn remove_files(case: &Case) {
    for entry in &case.fs {
        fs::remove_file(Path::new(&case.cwd).join(&entry.path)).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_permission_cases_hold_through_the_real_programs() {
    let stack = Stack::start();
    stack.push_team(&portcullis_tests::Policy::new());
    let agent = stack.sandboxd_as(Role::Agent).await;
    let root = stack.project().to_str().unwrap().to_owned();
    agent
        .host()
        .trust_project(v1::TrustProjectRequest { root })
        .await
        .unwrap();
    let mut decisions = agent.decisions();
    let mut wrong = Vec::new();
    let mut count = 0;
    for case in cases(&stack).into_iter().filter(can_be_decided) {
        make_files(&case);
        let document = json!({"permissions": case.rules});
        stack.write_project_file(".portcullis/local.jsonc", &document.to_string());
        let answer = decisions.decide(request(&stack, &case)).await;
        remove_files(&case);
        count += 1;
        let said = answer
            .as_ref()
            .map(|answer| answer.get_ref().effect())
            .map_err(tonic::Status::code);
        let right = match case.expect.as_str() {
            "allow" => matches!(said, Ok(Effect::Allow)),
            "ask" => matches!(said, Ok(Effect::Ask)),
            "deny" => matches!(said, Ok(Effect::Deny)),
            "not_allow" => matches!(said, Ok(Effect::Ask | Effect::Deny)),
            other => panic!("{}: no such expectation: {other}", case.id),
        };
        if !right {
            let reason = answer.map_or_else(|status| status.to_string(), |answer| answer.into_inner().user_message);
            wrong.push(format!(
                "{}: wanted {} in {}, got {said:?} for {}\n    said: {reason}\n    why:  {}",
                case.id, case.expect, case.mode, case.call, case.why
            ));
        }
    }
    assert!(count > 400, "only {count} cases were read");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}
