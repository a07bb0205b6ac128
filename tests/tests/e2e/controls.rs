//! What stands around a call: MCP servers that need an approval, repositories that the team blocks.

use std::fs;

use portcullis_tests::{
    Policy, Role, Stack,
    hook::{claude_bash, claude_says},
    v1,
};
use serde_json::json;

fn write(path: &std::path::Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The person's own configuration of Claude Code, with one server.
fn configure(stack: &Stack, command: &str) {
    let text = json!({"mcpServers": {"github": {"command": command, "env": {"TOKEN": "hunter2hunter2"}}}});
    write(&stack.home().join(".claude.json"), &text.to_string());
}

/// Claude Code is about to call a tool of an MCP server; what it is told, and the whole answer.
fn call(stack: &Stack, tool: &str, flags: &[&str]) -> (String, String) {
    let mut payload = claude_bash(stack, "");
    payload["tool_name"] = tool.into();
    payload["tool_input"] = json!({"title": "x"});
    let words = ["hook", "claude"].into_iter().chain(flags.iter().copied());
    let answer = stack.portcullis(words).input(payload.to_string()).output();
    let text = answer.text();
    (claude_says(&answer), text)
}

/// What a person does at a terminal, without the terminal: everything of this name is approved as it is listed.
fn approve(stack: &Stack, name: &str) -> Result<(), tonic::Status> {
    let root = stack.project().to_str().unwrap().to_owned();
    let work = async {
        let connection = stack.sandboxd_as(Role::Agent).await;
        let mut host = connection.host();
        let listed = host
            .list_mcp_servers(v1::ListMcpServersRequest { root: root.clone() })
            .await?
            .into_inner();
        let named = listed.servers.into_iter().filter(|server| server.name == name);
        let digests: Vec<String> = named.map(|server| server.digest).collect();
        assert!(!digests.is_empty(), "{name} is not configured");
        host.approve_mcp_servers(v1::ApproveMcpServersRequest { root, digests })
            .await
            .map(|_| ())
    };
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(work)
}

fn push(stack: &Stack, policy: &serde_json::Value) {
    let file = stack.base().join("team.jsonc");
    fs::write(&file, policy.to_string()).unwrap();
    let _ = stack
        .portcullis(["policy", "push", "--team"])
        .args([file])
        .output()
        .expect_code(0);
}

const TOOL: &str = "mcp__github__create_issue";

#[test]
fn an_mcp_server_is_approved_once_and_asks_again_when_its_command_changes() {
    let stack = Stack::start();
    stack.push_team(&Policy::new());
    stack.write_user_policy(&Policy::new().allow("mcp__github"));
    assert_eq!(call(&stack, TOOL, &[]).0, "ask", "in no configuration");
    configure(&stack, "mcp-github");
    let (said, text) = call(&stack, TOOL, &[]);
    assert_eq!(said, "ask", "configured, not approved");
    assert!(
        text.contains("portcullis mcp approve github") && text.contains("mcp-github"),
        "{text}"
    );
    assert!(!text.contains("hunter2"), "{text}");
    approve(&stack, "github").unwrap();
    assert_eq!(call(&stack, TOOL, &[]).0, "allow");
    configure(&stack, "mcp-evil");
    let (said, text) = call(&stack, TOOL, &[]);
    assert_eq!(said, "ask", "another command under the same name");
    assert!(text.contains("approved with another command"), "{text}");
    configure(&stack, "mcp-github");
    assert_eq!(call(&stack, TOOL, &[]).0, "allow", "as it was approved");
    let listed = stack
        .portcullis(["mcp", "list"])
        .cwd(&stack.project())
        .output()
        .expect_code(0);
    assert!(
        listed.text().contains("approved") && !listed.text().contains("hunter2"),
        "{}",
        listed.text()
    );
    let _ = stack.portcullis(["mcp", "revoke", "github"]).output().expect_code(0);
    assert_eq!(call(&stack, TOOL, &[]).0, "ask");
}

#[test]
fn the_flag_approves_for_the_session_and_no_rule_is_needed_to_deny() {
    let stack = Stack::start();
    stack.push_team(&Policy::new());
    stack.write_user_policy(&Policy::new().allow("mcp__github").deny("mcp__github__delete_repo"));
    configure(&stack, "mcp-github");
    assert_eq!(call(&stack, TOOL, &[]).0, "ask");
    assert_eq!(call(&stack, TOOL, &["--approve-mcps"]).0, "allow");
    assert_eq!(call(&stack, "mcp__github__delete_repo", &["--approve-mcps"]).0, "deny");
    assert_eq!(
        call(&stack, "mcp__linear__x", &["--approve-mcps"]).0,
        "ask",
        "no rule names it"
    );
}

#[test]
fn a_project_brings_no_server_that_a_person_did_not_approve() {
    let stack = Stack::start();
    stack.push_team(&Policy::new());
    stack.write_user_policy(&Policy::new().allow("mcp__github"));
    let own = json!({"mcpServers": {"github": {"command": "./server.sh"}}});
    stack.write_project_file(".mcp.json", &own.to_string());
    let consent = json!({"enableAllProjectMcpServers": true, "enabledMcpjsonServers": ["github"]});
    stack.write_project_file(".claude/settings.json", &consent.to_string());
    assert_eq!(call(&stack, TOOL, &[]).0, "ask", "the project's own consent");
    let refused = approve(&stack, "github").unwrap_err();
    assert!(refused.message().contains("portcullis trust"), "{refused}");
    stack.trust_project();
    assert_eq!(call(&stack, TOOL, &[]).0, "ask", "trusted, not approved");
    approve(&stack, "github").unwrap();
    assert_eq!(call(&stack, TOOL, &[]).0, "allow");
    // A second definition of the name, which the agent may take instead.
    configure(&stack, "mcp-github");
    assert_eq!(call(&stack, TOOL, &[]).0, "ask");
}

#[test]
fn a_configuration_that_cannot_be_read_allows_nothing_and_is_said() {
    let stack = Stack::start();
    stack.push_team(&Policy::new());
    stack.write_user_policy(&Policy::new().allow("mcp__github"));
    configure(&stack, "mcp-github");
    approve(&stack, "github").unwrap();
    stack.write_project_file(".mcp.json", "{\"mcpServers\": ");
    let (said, text) = call(&stack, TOOL, &[]);
    assert_eq!(said, "ask");
    assert!(text.contains(".mcp.json") && text.contains("no JSON"), "{text}");
}

#[test]
fn the_team_approves_by_command_and_denies_what_it_does_not_list() {
    let stack = Stack::start();
    configure(&stack, "mcp-github");
    push(
        &stack,
        &json!({"permissions": {"allow": ["mcp__github"]},
            "mcp": {"servers": [{"command": "mcp-github", "tools": {"deny": ["delete_*"]}}], "onlyListed": true}}),
    );
    assert_eq!(call(&stack, TOOL, &[]).0, "allow");
    assert_eq!(call(&stack, "mcp__github__delete_repo", &[]).0, "deny");
    configure(&stack, "mcp-evil");
    assert_eq!(call(&stack, TOOL, &["--approve-mcps"]).0, "deny");
}

#[test]
fn nothing_runs_in_a_repository_that_the_team_blocks() {
    let stack = Stack::start();
    let says = |command: &str| claude_says(&stack.hook("claude", &claude_bash(&stack, command)));
    push(
        &stack,
        &json!({"repositories": {"blocked": ["github.com/acme/secret"]}}),
    );
    assert_eq!(says("ls"), "allow", "no remote yet");
    let _ = stack.git(&["remote", "add", "mirror", "https://example.com/x.git"]);
    assert_eq!(says("ls"), "allow", "another repository");
    let _ = stack.git(&["remote", "add", "origin", "git@GitHub.com:Acme/Secret.git"]);
    assert_eq!(says("ls"), "deny");
    let _ = stack.git(&["remote", "set-url", "origin", "gh:acme/secret"]);
    assert_eq!(says("ls"), "allow", "nobody knows what gh: stands for");
    write(
        &stack.home().join(".gitconfig"),
        "[url \"https://github.com/\"]\n\tinsteadOf = gh:\n",
    );
    assert_eq!(says("ls"), "deny", "now git knows");
}

#[test]
fn git_in_another_folder_asks_only_where_its_repository_may_run_something() {
    let stack = Stack::start();
    stack.push_team(&Policy::new());
    fs::create_dir_all(stack.project().join("packages/a")).unwrap();
    for words in [
        &["init", "-q"][..],
        &["init", "-q", "quiet"],
        &["init", "-q", "loud"],
        &["-C", "loud", "config", "core.fsmonitor", "./watch"],
        // Whoever can write files can make a repository without a work tree.
        &["init", "-q", "--bare", "packages/bare"],
    ] {
        let _ = stack.git(words);
    }
    std::os::unix::fs::symlink(stack.outside(), stack.project().join("away")).unwrap();
    std::os::unix::fs::symlink(stack.project().join("loud"), stack.project().join("packages/link")).unwrap();
    let says = |line: &str| claude_says(&stack.hook("claude", &claude_bash(&stack, line)));
    for line in [
        "git status",
        "cd packages/a && git status",
        "(cd packages/a && git diff)",
        "git -C packages/a log -1",
        "cd packages/a && git -C .. status",
        "cd quiet && git status",
        "git -C quiet show HEAD:x",
    ] {
        assert_eq!(says(line), "allow", "{line}");
    }
    for line in [
        "cd loud && git status",
        "git -C loud status",
        "git -C packages/link status",
        "git -C packages/bare log",
        "git -C packages/absent status",
        "git -C away status",
        "cd packages/link && git -C .. status",
        "git -C packages/link/.. status",
        "cd packages/a && git show HEAD:.env",
        "cd packages/a && mv ../../loud ../a && git status",
    ] {
        assert_eq!(says(line), "ask", "{line}");
    }
    // Trust is in the project, and not in what lies below it.
    stack.trust_project();
    assert_eq!(says("cd loud && git status"), "ask");
}
