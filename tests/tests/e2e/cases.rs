//! The permission cases once more, through files, socket, server and database: what the engine decides alone, and what the
//! whole says, must be the same. `portcullis policy test --server` makes each case real and asks.

use std::{fs, path::Path};

use portcullis_tests::{Policy, Stack};
use serde_json::{Value, json};

/// Cases about a program that may be missing: then the host cannot say that the name stands for it, and asks.
const PROGRAMS: [(&str, &str); 2] = [("fp-quote-rg-regex", "rg"), ("fp-redir-tee-edit-rule", "rg")];

/// The cases that cannot be made real on this host, for want of a program.
fn not_to_be_sent() -> Vec<&'static str> {
    let is_there = |program: &str| {
        ["/usr/bin", "/bin"]
            .iter()
            .any(|folder| Path::new(folder).join(program).exists())
    };
    PROGRAMS
        .iter()
        .filter(|(_, program)| !is_there(program))
        .map(|(id, _)| *id)
        .collect()
}

#[test]
fn the_permission_cases_hold_through_the_real_programs() {
    let stack = Stack::start();
    stack.push_team(&Policy::new());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/permission-cases.jsonl");
    let text = fs::read_to_string(path).unwrap();
    let rows = text.lines().count();
    assert!(rows > 480, "only {rows} cases were read");
    let file = stack.base().join("cases.jsonl");
    fs::write(&file, &text).unwrap();
    let told = stack
        .portcullis(["policy", "test", "--server", file.to_str().unwrap()])
        .env("TMPDIR", stack.base())
        .output();
    let expected = not_to_be_sent();
    expected
        .iter()
        .for_each(|id| eprintln!("SKIPPED {id}: its program is not installed"));
    let named: Vec<&str> = told
        .stdout
        .lines()
        .filter(|line| line.starts_with("not sent "))
        .filter_map(|line| line.rsplit(' ').next())
        .collect();
    assert_eq!(named, expected, "{}\n{}", told.stdout, told.stderr);
    let (code, tail) = match expected.len() {
        0 => (0, String::new()),
        count => (3, format!(", {count} not sent")),
    };
    let summary = format!("{} passed, 0 failed{tail}\n", rows - expected.len());
    assert!(told.stdout.ends_with(&summary), "{}\n{}", told.stdout, told.stderr);
    assert_eq!(told.code, code);
    let left: Vec<_> = fs::read_dir(stack.base())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().starts_with("portcullis-test-"))
        .collect();
    assert!(left.is_empty(), "{left:?} stayed behind");
}

#[test]
fn a_case_that_is_wrong_fails_and_one_that_cannot_be_made_real_is_named() {
    let stack = Stack::start();
    stack.push_team(&Policy::new().deny("Bash(make install)"));
    let file = stack.base().join("t.toml");
    let tests = r#"
[layers.local]
allow = ["Bash(make *)"]
[[request]]
run = "make"
decision = "allow"
[[request]]
run = "make install"
decision = "allow"
[[request]]
run = "make"
sandbox = "full"
decision = "allow"
"#;
    fs::write(&file, tests).unwrap();
    let told = stack
        .portcullis(["policy", "test", "--server", "--format", "json", file.to_str().unwrap()])
        .env("TMPDIR", stack.base())
        .output();
    let lines: Vec<Value> = told
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(told.code, 1, "{}\n{}", told.stdout, told.stderr);
    let passed: Vec<&Value> = lines.iter().map(|line| &line["passed"]).collect();
    assert_eq!(passed, [&json!(true), &json!(false), &json!(false), &json!(1)]);
    assert_eq!((&lines[3]["failed"], &lines[3]["not_sent"]), (&json!(1), &json!(1)));
    // The team's policy is in force as well: the engine here knows nothing of it.
    assert_eq!(
        lines[1]["mismatches"],
        json!([
            "expected allow, got deny",
            "the server says deny, the engine here allow"
        ])
    );
    assert!(
        lines[2]["not_sent"].as_str().unwrap().contains("states facts"),
        "{}",
        lines[2]
    );
}

#[test]
fn an_explanation_names_the_rules_and_what_would_turn_the_answer() {
    let stack = Stack::start();
    stack.push_team(&Policy::new().deny("Bash(make install)"));
    stack.write_user_policy(&Policy::new().allow("Bash(make *)"));
    let explained = stack
        .portcullis([
            "explain",
            "--format",
            "json",
            "--",
            "make install && npm run lint -- --fix",
        ])
        .cwd(&stack.project())
        .output();
    assert_eq!(explained.code, 4, "{}\n{}", explained.stdout, explained.stderr);
    let answer: Value = serde_json::from_str(&explained.stdout).unwrap();
    let parts = &answer["explanation"]["parts"];
    assert_eq!(
        (&parts[0]["standing"], &parts[1]["standing"]),
        (&json!("forbidden"), &json!("nothing_matched"))
    );
    let layers: Vec<&Value> = parts[0]["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| &rule["rule"]["layer"])
        .collect();
    assert_eq!(layers, [&json!("team"), &json!("user")]);
    let change = &answer["explanation"]["changes"][0];
    assert_eq!(change["would_be"], "allow", "{change}");
    let text = change["steps"].to_string();
    assert!(
        text.contains("only an admin") && text.contains("npm run lint"),
        "{text}"
    );
    let shown = stack
        .portcullis(["decide", "--explain", "--", "npm run lint"])
        .cwd(&stack.project())
        .output();
    assert!(
        shown.stdout.contains("nothing was recorded") && shown.stdout.contains("matches: `npm run lint`"),
        "{}",
        shown.stdout
    );
}
