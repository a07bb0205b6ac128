//! Calls by hook, in each agent's own format: allowed, asked, denied, and undecidable.

use portcullis_tests::{
    Policy, Stack,
    hook::{claude_bash, claude_says, cursor_says, cursor_shell},
};

fn policy() -> Policy {
    Policy::new()
        .allow("Bash(echo *)")
        .ask("Bash(make *)")
        .deny("Bash(curl *)")
}

#[test]
fn claude_is_told_allow_ask_and_deny() {
    let stack = Stack::start();
    stack.push_team(&policy());
    for (command, effect) in [
        ("echo hello", "allow"),
        ("make install", "ask"),
        ("curl https://a.example", "deny"),
        // The worst part decides.
        ("echo hello && curl https://a.example", "deny"),
        ("bash -c 'echo hello; make install'", "ask"),
        // No rule: the mode asks.
        ("./unknown-program", "ask"),
        // Not understood: never allow.
        ("echo 'unterminated", "ask"),
    ] {
        let answer = stack.hook("claude", &claude_bash(&stack, command));
        assert_eq!(claude_says(&answer), effect, "{command}: {}", answer.stdout);
    }
}

#[test]
fn cursor_is_told_allow_ask_and_deny() {
    let stack = Stack::start();
    stack.push_team(&policy());
    for (command, effect) in [
        ("echo hello", "allow"),
        ("make install", "ask"),
        ("curl https://a.example", "deny"),
        ("echo $(curl https://a.example)", "deny"),
    ] {
        let answer = stack.hook("cursor", &cursor_shell(&stack, command));
        assert_eq!(cursor_says(&answer), effect, "{command}: {}", answer.stdout);
    }
}

#[test]
fn a_denied_agent_is_told_why() {
    let stack = Stack::start();
    stack.push_team(&policy());
    let answer = stack.hook("claude", &claude_bash(&stack, "curl https://a.example"));
    let reason = answer.json()["hookSpecificOutput"]["permissionDecisionReason"].to_string();
    assert!(reason.contains("Bash(curl *)"), "{reason}");
    let answer = stack
        .hook("cursor", &cursor_shell(&stack, "curl https://a.example"))
        .json();
    let messages = format!(
        "{}{}{}{}",
        answer["agentMessage"], answer["userMessage"], answer["agent_message"], answer["user_message"]
    );
    assert!(messages.contains("Bash(curl *)"), "{answer}");
}

#[test]
fn without_any_server_a_hook_never_allows() {
    let stack = Stack::prepare(portcullis_tests::Setup::default());
    for (agent, payload) in [
        ("claude", claude_bash(&stack, "echo hello")),
        ("cursor", cursor_shell(&stack, "echo hello")),
    ] {
        let answer = stack.hook(agent, &payload);
        assert!(matches!(answer.code, 0 | 2), "{agent}: {}", answer.text());
        if answer.code == 0 {
            let said = if agent == "claude" {
                claude_says(&answer)
            } else {
                cursor_says(&answer)
            };
            assert!(matches!(said.as_str(), "ask" | "deny"), "{agent}: {}", answer.stdout);
        } else {
            assert!(!answer.stderr.is_empty(), "{agent} is told nothing");
        }
    }
}

#[test]
fn a_payload_that_is_no_payload_is_never_allowed() {
    let stack = Stack::start();
    stack.push_team(&Policy::new().allow("Bash"));
    let whole = claude_bash(&stack, "echo hello").to_string();
    let payloads: [&[u8]; 6] = [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff\xfe{}",
        // Cut off in the middle.
        &whole.as_bytes()[..whole.len() / 2],
    ];
    for payload in payloads {
        for agent in ["claude", "cursor"] {
            let shown = String::from_utf8_lossy(payload);
            let answer = stack.portcullis(["hook", agent]).input(payload).output();
            assert!(
                matches!(answer.code, 0 | 2),
                "{agent} {shown}: exit {}: {}",
                answer.code,
                answer.text()
            );
            assert!(!answer.stdout.contains("allow"), "{agent} {shown}: {}", answer.stdout);
            assert!(
                !answer.text().contains("panicked"),
                "{agent} {shown}: {}",
                answer.text()
            );
            if answer.code == 2 {
                assert!(
                    !answer.stderr.trim().is_empty(),
                    "{agent} {shown}: refused without a reason"
                );
            }
        }
    }
}
