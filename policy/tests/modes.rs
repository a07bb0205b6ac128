//! What the modes do beyond the table of `mode_matrix.txt`: a table per rule, with near misses and positive controls.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test program stops at the first surprise"
)]

mod common;

use common::{bash, call, decide, edit, fetch, read, request, rules};
use portcullis_policy::{Layer, Mode, ToolCall, Verdict};
use serde_json::json;

fn without_rules(call: ToolCall, mode: Mode) -> Verdict {
    decide(&[], &request(call, mode)).verdict
}

#[test]
fn in_the_allowlist_modes_every_command_needs_an_entry() {
    for line in [
        "ls",
        "git status",
        "cd src",
        "cd src && ls",
        "mkdir x",
        "npm test",
        "export A=b",
    ] {
        for mode in [Mode::Allowlist, Mode::AllowlistSandbox] {
            assert_eq!(without_rules(bash(line), mode), Verdict::Ask, "{mode}: {line}");
        }
    }
    // A wrapper hides nothing and adds nothing; a line that runs nothing needs no entry; tools need none.
    for (call, expected) in [
        (bash("bash -c ls"), Verdict::Ask),
        (bash("# nothing"), Verdict::Allow),
        (bash("A=1"), Verdict::Allow),
        (read("src/a.rs"), Verdict::Allow),
        (read("/usr/include/stdio.h"), Verdict::Allow),
        (edit("src/a.rs"), Verdict::Allow),
        (call("Grep", json!({"pattern": "x"})), Verdict::Allow),
        (call("WebSearch", json!({"query": "x"})), Verdict::Allow),
        (fetch("https://a.test"), Verdict::Ask),
        (call("mcp__a__b", json!({})), Verdict::Ask),
    ] {
        let name = format!("{call:?}");
        assert_eq!(without_rules(call, Mode::Allowlist), expected, "{name}");
    }
    let entry = [rules(Layer::User, &["Bash(ls *)", "Bash(npm test)"], &[], &[])];
    for (line, expected) in [
        ("ls src", Verdict::Allow),
        ("ls src && npm test", Verdict::Allow),
        ("ls src && cat a", Verdict::Ask),
        ("timeout 5 npm test", Verdict::Allow),
        ("npm test > src/out.txt", Verdict::Allow),
        ("ls ~/.aws/credentials", Verdict::Ask),
    ] {
        assert_eq!(
            decide(&entry, &request(bash(line), Mode::Allowlist)).verdict,
            expected,
            "{line}"
        );
    }
}

#[test]
fn credential_files_outside_the_workspace_ask_in_the_modes_of_cursor() {
    for mode in [
        Mode::AutoReview,
        Mode::Allowlist,
        Mode::AllowlistSandbox,
        Mode::RunEverything,
    ] {
        for (file, expected) in [
            ("/home/dev/.ssh/id_ed25519", Verdict::Ask),
            ("/home/dev/.ssh/config", Verdict::Allow),
            ("/home/dev/.aws/credentials", Verdict::Ask),
            ("/home/dev/.netrc", Verdict::Ask),
            ("/srv/tls/server.key", Verdict::Ask),
            ("/srv/tls/readme.txt", Verdict::Allow),
            ("server.key", Verdict::Allow),
        ] {
            assert_eq!(without_rules(read(file), mode), expected, "{mode}: {file}");
        }
    }
    for (line, expected) in [
        ("cat ~/.ssh/id_rsa", Verdict::Ask),
        ("cat ~/.ssh/*", Verdict::Ask),
        ("cat \"$X\"", Verdict::Ask),
        ("cat ~/notes.txt", Verdict::Allow),
        ("head < ~/.netrc", Verdict::Ask),
    ] {
        assert_eq!(without_rules(bash(line), Mode::AutoReview), expected, "{line}");
        assert_eq!(without_rules(bash(line), Mode::RunEverything), expected, "{line}");
    }
    // In the other modes the table has one row for all that lies outside.
    assert_eq!(without_rules(read("/home/dev/.netrc"), Mode::Bypass), Verdict::Allow);
    // A rule that names it is a person's word.
    let named = [rules(Layer::User, &["Read(~/.netrc)"], &[], &[])];
    assert_eq!(
        decide(&named, &request(read("/home/dev/.netrc"), Mode::AutoReview)).verdict,
        Verdict::Allow
    );
}
