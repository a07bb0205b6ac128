//! Whose word counts: team, local, project and user documents, as real files of a real project.

use portcullis_tests::{
    Policy, Stack,
    hook::{claude_bash, claude_says, cursor_says, cursor_shell},
};

fn claude(stack: &Stack, command: &str) -> String {
    claude_says(&stack.hook("claude", &claude_bash(stack, command)))
}

#[test]
fn a_pushed_team_deny_beats_a_user_allow_on_the_very_next_call() {
    let stack = Stack::start();
    stack.push_team(&Policy::new());
    stack.write_user_policy(&Policy::new().allow("Bash(make *)"));
    assert_eq!(
        claude(&stack, "make test"),
        "allow",
        "the user's own rule, before the push"
    );
    stack.push_team(&Policy::new().deny("Bash(make *)"));
    assert_eq!(claude(&stack, "make test"), "deny");
    stack.push_team(&Policy::new());
    assert_eq!(claude(&stack, "make test"), "allow", "and back");
}

#[test]
fn a_user_document_allows_asks_and_denies() {
    let stack = Stack::start();
    stack.push_team(&Policy::new());
    assert_eq!(claude(&stack, "make test"), "ask", "no rule yet");
    stack.write_user_policy(
        &Policy::new()
            .allow("Bash(make *)")
            .ask("Bash(make install)")
            .deny("Bash(make clean)"),
    );
    assert_eq!(claude(&stack, "make test"), "allow");
    assert_eq!(claude(&stack, "make install"), "ask");
    assert_eq!(claude(&stack, "make clean"), "deny");
}

#[test]
fn a_local_document_has_its_effect_in_its_project_only() {
    let stack = Stack::start();
    stack.push_team(&Policy::new());
    stack.trust_project();
    stack.write_local_policy(&Policy::new().allow("Bash(make *)").deny("Bash(make clean)"));
    assert_eq!(claude(&stack, "make test"), "allow");
    assert_eq!(claude(&stack, "make clean"), "deny");

    let mut elsewhere = claude_bash(&stack, "make test");
    elsewhere["cwd"] = stack.outside().to_str().unwrap().into();
    assert_eq!(claude_says(&stack.hook("claude", &elsewhere)), "ask");
}

#[test]
fn an_untrusted_project_can_deny_but_not_allow() {
    let stack = Stack::start();
    stack.push_team(&Policy::new());
    stack.write_project_policy(&Policy::new().allow("Bash(make *)").deny("Bash(make clean)"));
    assert_eq!(
        claude(&stack, "make test"),
        "ask",
        "an untrusted project allows nothing"
    );
    assert_eq!(claude(&stack, "make clean"), "deny", "but it may narrow");
    stack.trust_project();
    assert_eq!(
        claude(&stack, "make test"),
        "allow",
        "positive control: trusted, the same rule counts"
    );
    let _ = stack
        .portcullis(["trust", "--remove"])
        .args([stack.project()])
        .output()
        .expect_code(0);
    assert_eq!(claude(&stack, "make test"), "ask");
}

#[test]
fn a_lower_layer_turns_no_higher_deny_or_ask_into_allow() {
    let stack = Stack::start();
    stack.push_team(&Policy::new().deny("Bash(make clean)").ask("Bash(make install)"));
    stack.trust_project();
    let all = Policy::new().allow("Bash(make *)");
    stack.write_local_policy(&all);
    stack.write_project_policy(&all);
    stack.write_user_policy(&all);
    assert_eq!(claude(&stack, "make test"), "allow", "positive control");
    assert_eq!(claude(&stack, "make clean"), "deny");
    assert_eq!(claude(&stack, "make install"), "ask");
}

#[test]
fn a_broken_document_allows_nothing_and_is_named() {
    let stack = Stack::start();
    stack.push_team(&Policy::new().allow("Bash(echo *)"));
    stack.write_user_policy(&Policy::new().allow("Bash(make *)"));
    assert_eq!(claude(&stack, "make test"), "allow", "positive control");
    assert_eq!(claude(&stack, "echo hello"), "allow", "positive control");
    let file = stack.home().join(".config/portcullis/policy.jsonc");
    std::fs::write(
        &file,
        "{\"permissions\": {\"allow\": [\"Bash(make *)\"], \"deny\": [\"Bash(echo he",
    )
    .unwrap();
    for command in ["make test", "echo hello"] {
        let answer = stack.hook("claude", &claude_bash(&stack, command));
        assert_ne!(claude_says(&answer), "allow", "half a document may have lost a deny");
        assert!(answer.stdout.contains("policy.jsonc"), "{command}: {}", answer.stdout);
    }
}

#[test]
fn what_a_faulty_document_denies_stays_denied() {
    let stack = Stack::start();
    stack.push_team(&Policy::new().allow("Bash(make *)"));
    let file = stack.home().join(".config/portcullis/policy.jsonc");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, r#"{"permissions": {"deny": ["Bash(make clean)"]}}"#).unwrap();
    assert_eq!(claude(&stack, "make test"), "allow", "positive control");
    assert_eq!(claude(&stack, "make clean"), "deny", "positive control");
    std::fs::write(&file, r#"{"permissions": {"deny": ["Bash(make clean)", "bash(x)"]}}"#).unwrap();
    assert_eq!(claude(&stack, "make test"), "ask");
    assert_eq!(claude(&stack, "make clean"), "deny");
}

#[test]
fn the_documents_mode_counts_where_the_agent_names_none() {
    let stack = Stack::start();
    stack.push_team(&Policy::new());
    let cursor = |command: &str| cursor_says(&stack.hook("cursor", &cursor_shell(&stack, command)));
    assert_eq!(cursor("mkdir made"), "ask", "mode default asks");
    let file = stack.home().join(".config/portcullis/policy.jsonc");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, r#"{"permissions": {"defaultMode": "acceptEdits"}}"#).unwrap();
    assert_eq!(cursor("mkdir made"), "allow");
    assert_eq!(
        claude(&stack, "mkdir made"),
        "ask",
        "Claude Code says in which mode it is"
    );
}
