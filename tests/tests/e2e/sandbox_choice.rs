//! `portcullis sandbox enable`, `disable`, `reset`, `status`: the person's choice, within what the team allows.

use std::{fs, path::Path};

use portcullis_tests::{Output, Policy, Stack, stack::program};
use serde_json::{Value, json};

/// A command that no rule allows, in a mode in which the sandbox stands for the question.
const QUESTION: [&str; 5] = ["decide", "--mode", "allowlist-sandbox", "--", "touch"];

fn stack(sandbox: Value) -> Stack {
    let stack = Stack::start();
    stack.push_team(&Policy::new().sandbox(sandbox));
    stack
}

fn answer(stack: &Stack) -> i32 {
    stack.portcullis(QUESTION).args(["x"]).output().code
}

fn state(stack: &Stack) -> Value {
    stack
        .portcullis(["sandbox", "status", "--format", "json"])
        .output()
        .json()
}

/// Types an answer at a terminal.
fn at_terminal(stack: &Stack, arguments: &str, answer: &str) -> Output {
    let line = format!("exec {} {arguments}", program("portcullis").display());
    stack
        .run_program(Path::new("script"))
        .args(["-qec", &line, "/dev/null"])
        .input(format!("{answer}\n"))
        .output()
}

#[test]
fn a_person_switches_the_sandbox_off_and_on_again() {
    let stack = stack(json!({}));
    // `run` says that it would be run there; a mere question is allowed with that obligation.
    let run = |stack: &Stack| {
        stack
            .portcullis(["run", "--mode", "allowlist-sandbox", "--", "touch", "x"])
            .output()
            .code
    };
    assert_eq!(run(&stack), 0, "positive control");
    assert_eq!(state(&stack)["choice"], Value::Null);

    let refused = at_terminal(&stack, "sandbox disable", "no");
    assert_eq!(refused.code, 1, "{}", refused.text());
    assert_eq!(run(&stack), 0);

    let done = at_terminal(&stack, "sandbox disable", "yes");
    assert_eq!(done.code, 0, "{}", done.text());
    assert_eq!(state(&stack)["choice"], "disabled");
    assert_eq!(state(&stack)["type"], "insecure_none");
    let status = stack.portcullis(["sandbox", "status"]).output().expect_code(1);
    assert!(status.stdout.contains("off"), "{}", status.stdout);
    assert_eq!(run(&stack), 126, "it is asked instead");
    assert_eq!(answer(&stack), 3);

    let _ = stack.portcullis(["sandbox", "enable"]).output().expect_code(0);
    assert_eq!(state(&stack)["choice"], "enabled");
    assert_eq!(run(&stack), 0);

    let done = at_terminal(&stack, "sandbox reset", "yes");
    assert_eq!(done.code, 0, "{}", done.text());
    assert_eq!(state(&stack)["choice"], Value::Null);
    assert!(!stack.home().join(".config/portcullis/sandbox-choice.json").exists());
}

#[test]
fn nobody_but_a_person_switches_it_off() {
    let stack = stack(json!({}));
    let output = stack
        .portcullis(["sandbox", "disable"])
        .input("yes\n")
        .output()
        .expect_code(1);
    assert!(output.stderr.contains("terminal"), "{}", output.stderr);
    assert_eq!(state(&stack)["choice"], Value::Null);
}

#[test]
fn the_team_keeps_it_on() {
    let stack = stack(json!({"type": "workspace_readwrite"}));
    let output = at_terminal(&stack, "sandbox disable", "yes");
    assert_eq!(output.code, 1, "{}", output.text());
    assert!(
        output.text().contains("the team's policy keeps the sandbox on"),
        "{}",
        output.text()
    );
    assert_eq!(state(&stack)["choice"], Value::Null);

    // A choice from before the team said so has no effect, whoever wrote it.
    let config = stack.home().join(".config/portcullis");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("sandbox-choice.json"), r#"{"type": "insecure_none"}"#).unwrap();
    let state = state(&stack);
    assert_eq!(
        (&state["choice"], &state["type"]),
        (&json!("disabled"), &json!("workspace_readwrite"))
    );
    assert_eq!(state["team_type"], "workspace_readwrite");
}

#[test]
fn a_choice_without_effect_says_so_and_a_broken_one_is_named() {
    let stack = stack(json!({}));
    let config = stack.home().join(".config/portcullis");
    fs::create_dir_all(&config).unwrap();
    fs::write(
        config.join("sandbox.json"),
        "// mine\n{\"type\": \"workspace_readonly\"}\n",
    )
    .unwrap();
    let done = at_terminal(&stack, "sandbox disable", "yes");
    assert_eq!(done.code, 0, "{}", done.text());
    assert!(done.text().contains("no effect in this project"), "{}", done.text());
    let mine = fs::read_to_string(config.join("sandbox.json")).unwrap();
    assert!(
        mine.starts_with("// mine"),
        "what a person wrote stays as it was: {mine}"
    );

    fs::write(config.join("sandbox-choice.json"), "{").unwrap();
    let status = stack.portcullis(["sandbox", "status"]).output().expect_code(1);
    assert!(status.stdout.contains("sandbox-choice.json"), "{}", status.stdout);
    assert_ne!(answer(&stack), 0, "what it narrows is not known, so nothing is allowed");
    // It may have been one that protects.
    let _ = stack.portcullis(["sandbox", "reset"]).output().expect_code(1);
    assert!(config.join("sandbox-choice.json").exists());
    let done = at_terminal(&stack, "sandbox reset", "yes");
    assert_eq!(done.code, 0, "{}", done.text());
    assert_eq!(state(&stack)["choice"], Value::Null);
}
