//! Denials hold as far in every format that is read: what a deny of Claude Code's covers (other spellings of a command, the
//! shell's ways to read a file), a deny of the same meaning from Codex, Gemini, Cursor, a document of ours and the command
//! line covers, too.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test program stops at the first surprise"
)]

mod common;

use std::sync::Arc;

use common::{bash, decide, edit, read, request};
use portcullis_policy::{
    AbsPath, DocumentOrigin, Layer, Mode, PolicyDocument, ToolCall, Verdict,
    import::{Format, import},
};
use serde_json::json;

fn origin() -> DocumentOrigin {
    DocumentOrigin {
        layer: Layer::User,
        name: "a file".to_owned(),
        folder: AbsPath::parse("/home/dev/.config/x").ok(),
    }
}

fn imported(format: Format, text: &str) -> Arc<PolicyDocument> {
    let imported = import(format, text, origin());
    assert!(!imported.is_broken(), "{format:?} {text}: {:#?}", imported.report);
    Arc::new(imported.document)
}

fn claude(deny: &str) -> Arc<PolicyDocument> {
    imported(
        Format::ClaudeSettings,
        &json!({ "permissions": { "deny": [deny] } }).to_string(),
    )
}

/// The same denial in our own document and on the command line.
fn ours(deny: &str) -> [(&'static str, Arc<PolicyDocument>); 2] {
    let text = json!({ "permissions": { "deny": [deny] } }).to_string();
    let (flags, faults) = PolicyDocument::from_agent_rules(&[], &[], &[deny.to_owned()], origin());
    assert!(faults.is_empty(), "{faults:?}");
    [
        ("native", Arc::new(PolicyDocument::parse(&text, origin()).unwrap())),
        ("--disallowedTools", Arc::new(flags)),
    ]
}

fn gemini(fields: &str) -> Arc<PolicyDocument> {
    imported(
        Format::GeminiPolicy,
        &format!("[[rule]]\n{fields}\ndecision = \"deny\"\npriority = 100\n"),
    )
}

fn cursor(deny: &str) -> Arc<PolicyDocument> {
    imported(
        Format::CursorCli,
        &json!({ "permissions": { "deny": [deny] } }).to_string(),
    )
}

/// In bypass mode nothing but a rule, or a protection, keeps a call from running.
fn verdict(document: &Arc<PolicyDocument>, call: &ToolCall) -> Verdict {
    decide(&[Arc::clone(document)], &request(call.clone(), Mode::Bypass)).verdict
}

fn check(base: &Arc<PolicyDocument>, others: &[(&str, Arc<PolicyDocument>)], calls: &[(ToolCall, bool)]) {
    for (call, denied) in calls {
        let expected = verdict(base, call);
        assert_eq!(
            expected > Verdict::Allow,
            *denied,
            "Claude Code's own: {:?}",
            call.input
        );
        for (name, document) in others {
            let own = verdict(document, call);
            assert!(
                own >= expected,
                "{name}: {own} for {:?}, where {expected} is meant",
                call.input
            );
            assert!(own == Verdict::Allow || *denied, "{name}: {own} for {:?}", call.input);
        }
    }
}

#[test]
fn a_denied_command_is_denied_in_other_spellings() {
    let mut others = vec![
        (
            "codex rules",
            imported(
                Format::CodexRules,
                "prefix_rule(pattern=['acme', 'drop'], decision='forbidden')",
            ),
        ),
        (
            "codex requirements",
            imported(
                Format::CodexRequirements,
                "[rules]\nprefix_rules = [{pattern=[{token=\"acme\"},{any_of=[\"drop\"]}], decision=\"forbidden\"}]",
            ),
        ),
        (
            "gemini prefix",
            gemini("toolName = \"run_shell_command\"\ncommandPrefix = \"acme drop\""),
        ),
        (
            "gemini regex",
            gemini("toolName = \"run_shell_command\"\ncommandRegex = 'acme drop(\\s|$)'"),
        ),
        ("cursor", cursor("Shell(acme drop)")),
    ];
    others.extend(ours("Bash(acme drop *)"));
    let yes = [
        "acme drop",
        "acme drop x",
        "acme  drop\tx",
        "/usr/bin/acme drop x",
        "\\acme drop x",
        "'ac'me drop x",
        "A=1 acme drop x",
        "env -i A=1 acme drop x",
        "sudo -u root acme drop x",
        "timeout 5 nice -n 3 acme drop x",
        "bash -c 'acme drop x'",
        "sh -lc \"acme drop x\"",
        "eval acme drop x",
        "echo y | xargs -n1 acme drop",
        "find . -name a -exec acme drop {} ';'",
        "true && acme drop x",
        "x=$(acme drop x)",
        "( acme drop x ) > o",
        "f() { acme drop x; }; f",
        "bash <<E\nacme drop x\nE\n",
        "p=acme; $p drop x",
        "{ac,}me drop x; acme drop x",
    ];
    let no = ["acme list", "acme dropped", "acmex drop", "echo acme; ls drop"];
    let calls: Vec<(ToolCall, bool)> = yes
        .iter()
        .map(|line| (bash(line), true))
        .chain(no.iter().map(|line| (bash(line), false)))
        .collect();
    check(&claude("Bash(acme drop *)"), &others, &calls);
    // A star behind the letters covers what goes on with them.
    let mut open: Vec<(ToolCall, bool)> = calls.into_iter().filter(|(_, denied)| *denied).collect();
    open.extend([(bash("acme dropped"), true), (bash("acme list"), false)]);
    let cursor = [("cursor with arguments", cursor("Shell(acme:drop*)"))];
    check(&claude("Bash(acme drop*)"), &cursor, &open);
}

#[test]
fn a_file_that_must_not_be_read_is_read_by_no_command() {
    let mut others = vec![
        ("cursor", cursor("Read(**/.env)")),
        ("cursor by its name", cursor("Read(.env)")),
        (
            "gemini",
            gemini("toolName = \"read_file\"\nargsPattern = '\"file_path\":\".*\\.env\"'"),
        ),
        (
            "gemini within the value",
            gemini("toolName = [\"read_file\", \"replace\"]\nargsPattern = '\"file_path\":\"[^\"]*\\.env'"),
        ),
    ];
    others.extend(ours("Read(.env)"));
    let calls = [
        (read("/home/dev/proj/.env"), true),
        (bash("cat .env"), true),
        (bash("cat ./.env"), true),
        (bash("cat '.env'"), true),
        (bash("head -n 3 .env | wc"), true),
        (bash("grep -n key .env"), true),
        (bash("cp .env o"), true),
        (bash("bash -c 'cat .env'"), true),
        (bash("sudo cat .env"), true),
        (bash("base64 .env"), true),
        (bash("wc < .env"), true),
        (read("/home/dev/proj/src/a.rs"), false),
        (bash("cat src/a.rs"), false),
        (bash("ls src"), false),
    ];
    check(&claude("Read(.env)"), &others, &calls);
}

#[test]
fn a_file_that_must_not_be_changed_is_changed_by_no_command() {
    let mut others = vec![
        ("cursor", cursor("Write(conf/**)")),
        (
            "gemini",
            gemini("toolName = [\"write_file\", \"replace\"]\nargsPattern = '\"file_path\":\".*conf/'"),
        ),
    ];
    others.extend(ours("Edit(conf/**)"));
    let calls = [
        (edit("/home/dev/proj/conf/a"), true),
        (bash("echo x > conf/a"), true),
        (bash("tee conf/a"), true),
        (bash("sed -i s/a/b/ conf/a"), true),
        (bash("cp a conf/a"), true),
        (bash("rm conf/a"), true),
        (bash("bash -c 'echo x >> conf/a'"), true),
        (edit("/home/dev/proj/src/a"), false),
        (bash("echo x > src/a"), false),
    ];
    check(&claude("Edit(conf/**)"), &others, &calls);
}

#[test]
fn a_tool_of_a_server_that_is_denied_under_an_old_name_is_denied() {
    let document = gemini("toolName = \"db__drop\"");
    let call = common::call("mcp__db__drop", json!({}));
    assert_eq!(verdict(&document, &call), Verdict::Deny);
    let other = common::call("mcp__db__list", json!({}));
    assert_eq!(verdict(&document, &other), Verdict::Allow);
}
