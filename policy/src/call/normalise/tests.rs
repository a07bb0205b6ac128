//! Inputs that fit and inputs that do not. What real agents send is tested on their recorded payloads.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read(agent: &str, tool: &str, input: Value) -> Result<Action, String> {
    let Value::Object(input) = input else {
        panic!("an object")
    };
    normalise(agent, tool, input)
        .map(|call| call.action)
        .map_err(|invalid| invalid.fault)
}

fn fault(agent: &str, tool: &str, input: Value) -> String {
    read(agent, tool, input).expect_err("should be refused")
}

#[test]
fn every_agent_has_a_tool_for_shell_lines() {
    for agent in [
        "claude", "cusp", "cursor", "codex", "gemini", "qwen", "copilot", "opencode", "vscode", "cline", "windsurf",
        "kiro", "cli", "my-agent",
    ] {
        let action = read(agent, shell_tool(agent), json!({ "command": "ls" }));
        assert!(matches!(action, Ok(Action::Shell { .. })), "{agent}: {action:?}");
    }
}

#[test]
fn a_known_tool_needs_its_field() {
    for (agent, tool, field) in [
        ("claude", "Bash", "command"),
        ("claude", "Read", "file_path"),
        ("claude", "Write", "file_path"),
        ("claude", "NotebookEdit", "notebook_path"),
        ("claude", "WebFetch", "url"),
        ("claude", "WebSearch", "query"),
        ("claude", "Skill", "skill"),
        ("cursor", "Shell", "command"),
        ("cursor", "Delete", "file_path"),
        ("codex", "apply_patch", "command"),
        ("gemini", "web_fetch", "prompt"),
        ("gemini", "replace", "file_path"),
        ("copilot", "bash", "command"),
        ("copilot", "str_replace_editor", "file_path"),
        ("cline", "use_mcp_tool", "server_name"),
        ("vscode", "editFiles", "files"),
        ("windsurf", "pre_run_command", "command_line"),
        ("cli", "Bash", "command"),
    ] {
        assert!(
            fault(agent, tool, json!({})).contains(&format!("`{field}`")),
            "{agent} {tool}"
        );
        assert!(
            fault(agent, tool, json!({ field: null })).contains(&format!("`{field}`")),
            "{agent} {tool}"
        );
        assert!(
            fault(agent, tool, json!({ field: ["a", 1] })).contains(&format!("`{field}`")),
            "{agent} {tool}"
        );
        assert!(
            fault(agent, tool, json!({ field: 7 })).contains(&format!("`{field}`")),
            "{agent} {tool}"
        );
    }
}

#[test]
fn a_nul_or_a_blank_is_no_command_and_no_path() {
    assert!(fault("claude", "Bash", json!({"command": "ls\0x"})).contains("NUL"));
    assert!(fault("claude", "Bash", json!({"command": " \n"})).contains("blank"));
    assert!(fault("claude", "Read", json!({"file_path": "a\0b"})).contains("NUL"));
    assert!(fault("claude", "Glob", json!({"pattern": "*\0"})).contains("NUL"));
    assert!(fault("vscode", "editFiles", json!({"files": ["a", "b\0"]})).contains("NUL"));
    assert!(fault("vscode", "editFiles", json!({"files": []})).contains("empty"));
    assert!(fault("claude", "Write", json!({"file_path": ""})).contains("empty"));
}

#[test]
fn two_spellings_of_a_field_must_agree() {
    let differ = json!({"path": "/etc/passwd", "file_path": "a"});
    for (agent, tool) in [
        ("claude", "Read"),
        ("claude", "Edit"),
        ("cursor", "Delete"),
        ("copilot", "view"),
    ] {
        assert!(fault(agent, tool, differ.clone()).contains("differ"), "{agent} {tool}");
    }
    assert_eq!(
        read("claude", "Read", json!({"path": "a", "file_path": "a"})),
        Ok(Action::Read { path: "a".into() })
    );
    assert_eq!(
        read("claude", "Read", json!({"path": "a", "more": 1})),
        Ok(Action::Read { path: "a".into() })
    );
}

#[test]
fn names_are_case_sensitive_and_unknown_ones_are_other() {
    for (agent, tool) in [
        ("claude", "bash"),
        ("claude", "BASH"),
        ("claude", "Bash "),
        ("claude", "PowerShell"),
        ("claude", ""),
        ("claude", "run_shell_command"),
        ("codex", "write_stdin"),
        ("codex", "Read"),
        ("gemini", "Bash"),
        ("gemini", "save_memory"),
        ("copilot", "write_bash"),
        ("cline", "Bash"),
        ("cursor", "MCP:create_issue"),
    ] {
        assert_eq!(
            read(agent, tool, json!({"command": "ls"})),
            Ok(Action::Other),
            "{agent} {tool}"
        );
    }
    // Positive control: agents that nobody knows speak like Claude Code.
    let ls = Action::Shell { command: "ls".into() };
    assert_eq!(read("somebody", "Bash", json!({"command": "ls"})), Ok(ls));
}

#[test]
fn mcp_names_are_taken_apart_where_there_is_one_way_to() {
    let mcp = |server: &str, tool: &str| Action::Mcp {
        server: server.into(),
        tool: tool.into(),
    };
    for (agent, name, action) in [
        ("claude", "mcp__memo__get_note", mcp("memo", "get_note")),
        ("claude", "mcp__a__b__c", mcp("a", "b__c")),
        ("claude", "mcp__memo", Action::Other),
        ("claude", "mcp____x", Action::Other),
        ("claude", "mcp__x__", Action::Other),
        ("claude", "memo-get", Action::Other),
        ("gemini", "mcp_memo_search", mcp("memo", "search")),
        ("gemini", "mcp_memo_get_note", Action::Other),
        ("gemini", "mcp__memo__get_note", mcp("memo", "get_note")),
        ("copilot", "memo-get_note", mcp("memo", "get_note")),
        ("copilot", "github-mcp-server-list_issues", Action::Other),
        (
            "copilot",
            "github-mcp-server/list_issues",
            mcp("github-mcp-server", "list_issues"),
        ),
        ("copilot", "a/b/c", Action::Other),
        ("kiro", "@git/status", mcp("git", "status")),
        ("kiro", "@git", Action::Other),
        ("opencode", "memo_get_note", Action::Other),
    ] {
        assert_eq!(read(agent, name, json!({})), Ok(action), "{agent} {name}");
    }
}

#[test]
fn every_file_of_a_patch_is_found() {
    let patch = |text: &str| read("codex", "apply_patch", json!({ "command": text }));
    let edit = |paths: &[&str]| {
        Ok(Action::Edit {
            paths: paths.iter().map(ToString::to_string).collect(),
        })
    };
    let delete = |path: &str| {
        Ok(Action::Delete {
            paths: vec![path.into()],
        })
    };
    assert_eq!(
        patch("*** Begin Patch\n*** Update File: a\n*** Move to: ../b c\n@@\n-x\n+y\n*** End of File\n*** End Patch"),
        edit(&["a", "../b c"])
    );
    assert_eq!(
        patch("*** Begin Patch\r\n  *** Add File: a \r\n+x\r\n*** End Patch\r\n"),
        edit(&["a"])
    );
    assert_eq!(patch("*** Begin Patch\n*** Delete File: a\n*** End Patch"), delete("a"));
    assert_eq!(patch("*** Delete File: a\n*** Update File: b\n"), edit(&["a", "b"]));
    assert_eq!(patch("*** Add File:x\n"), edit(&["x"]));
    // What stands behind `+` is content.
    assert_eq!(patch("*** Add File: a\n+*** Add File: b\n"), edit(&["a"]));
    assert_eq!(
        patch("*** Begin Patch\n*** Rename File: a\n*** Update File: b\n"),
        Ok(Action::Other)
    );
    assert!(patch("hello").unwrap_err().contains("names no file"));
    assert!(patch("*** Add File: \n").unwrap_err().contains("without a file name"));
}

#[test]
fn every_address_of_a_prompt_is_found() {
    let fetch = |prompt: &str| read("gemini", "web_fetch", json!({ "prompt": prompt }));
    let urls = |urls: &[&str]| {
        Ok(Action::Fetch {
            urls: urls.iter().map(ToString::to_string).collect(),
        })
    };
    assert_eq!(
        fetch("Compare https://a.example/x?y=1, (HTTP://B.example) and https://a.example/x?y=1."),
        urls(&["https://a.example/x?y=1", "HTTP://B.example"])
    );
    assert_eq!(
        fetch("https://good.example,https://evil.example"),
        urls(&["https://good.example", "https://evil.example"])
    );
    assert_eq!(
        fetch("x=\"http://a.example\"\thttps://b.example\u{2028}c"),
        urls(&["http://a.example", "https://b.example"])
    );
    assert!(fetch("look at a.example").unwrap_err().contains("`prompt`"));
    let both = json!({"url": "https://a.example", "prompt": "https://b.example"});
    assert_eq!(
        read("gemini", "web_fetch", both),
        urls(&["https://a.example", "https://b.example"])
    );
}

#[test]
fn what_depends_on_a_field_is_read_from_it() {
    let path = || "a".to_owned();
    let editor = |command: &str| {
        read(
            "copilot",
            "str_replace_editor",
            json!({"command": command, "path": "a"}),
        )
    };
    assert_eq!(editor("view"), Ok(Action::Read { path: path() }));
    assert_eq!(editor("create"), Ok(Action::Edit { paths: vec![path()] }));
    assert_eq!(editor("something new"), Ok(Action::Edit { paths: vec![path()] }));
    let monitor = |input| read("claude", "Monitor", input);
    assert_eq!(
        monitor(json!({"command": "ls"})),
        Ok(Action::Shell { command: "ls".into() })
    );
    assert_eq!(monitor(json!({})), Ok(Action::Other));
    assert_eq!(read("cline", "attempt_completion", json!({})), Ok(Action::Internal));
    assert_eq!(
        read("cline", "attempt_completion", json!({"command": "rm x"})),
        Ok(Action::Shell { command: "rm x".into() })
    );
    let kiro = |operations: Value| read("kiro", "fs_read", json!({ "operations": operations }));
    assert_eq!(
        kiro(json!([{"mode": "Line", "path": "a"}])),
        Ok(Action::Read { path: path() })
    );
    assert_eq!(
        kiro(json!([{"mode": "Line", "path": "a"}, {"mode": "Line", "path": "b"}])),
        Ok(Action::Other)
    );
    assert_eq!(
        kiro(json!([{"mode": "Image", "image_paths": ["a"]}])),
        Ok(Action::Other)
    );
    assert!(kiro(json!("a")).is_err());
}

#[test]
fn the_folder_of_a_shell_call_is_found() {
    let folder = |agent: &str, tool: &str, input: Value| {
        let Value::Object(input) = input else {
            panic!("an object")
        };
        working_directory(agent, tool, &input).map(|folder| folder.map(str::to_owned))
    };
    assert_eq!(
        folder("cursor", "Shell", json!({"working_directory": "/x"})),
        Ok(Some("/x".into()))
    );
    assert_eq!(
        folder("gemini", "run_shell_command", json!({"dir_path": "x"})),
        Ok(Some("x".into()))
    );
    assert_eq!(folder("gemini", "run_shell_command", json!({})), Ok(None));
    assert_eq!(folder("claude", "Bash", json!({"working_directory": "/x"})), Ok(None));
    assert_eq!(folder("gemini", "read_file", json!({"dir_path": "x"})), Ok(None));
    assert!(folder("gemini", "run_shell_command", json!({"dir_path": 1})).is_err());
}

proptest! {
    #[test]
    fn odd_calls_are_read_or_refused(
        agent in prop_oneof![
            Just("claude"), Just("cursor"), Just("codex"), Just("gemini"), Just("copilot"), Just("kiro"), Just("cline"),
        ],
        tool in prop_oneof![
            Just("Bash".to_owned()), Just("Read".to_owned()), Just("apply_patch".to_owned()),
            Just("web_fetch".to_owned()), Just("fs_read".to_owned()), "(mcp__|mcp_|@)?[a-z_/-]{0,12}", "\\PC{0,8}",
        ],
        key in prop_oneof![Just("command"), Just("path"), Just("prompt"), Just("url"), Just("operations")],
        text in prop_oneof!["\\PC{0,40}", "(\\*\\*\\* (Add|Delete) File:? ?[a-z]{0,3}\n){0,4}", "(https?://|é|x| ){0,9}"],
    ) {
        let _ = read(agent, &tool, json!({ key: text.clone() }));
        let _ = read(agent, &tool, json!({ key: [{ "mode": text }] }));
    }
}
