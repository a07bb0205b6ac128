//! Limits and bad input: each has a clear error, none ends a program, none is an allow.

use portcullis_tests::{
    Policy, Role, Stack,
    hook::{claude_bash, claude_says},
    v1::{self, DecidedBy, Effect},
};
use serde_json::json;
use tonic::Code;

/// Decides something harmless, to show that everything is still there.
async fn expect_alive(stack: &Stack) {
    let agent = stack.sandboxd_as(Role::Agent).await;
    let answer = agent
        .decisions()
        .decide(stack.bash("echo hello"))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(answer.effect(), Effect::Allow, "{answer:?}");
    assert!(!stack.logs().contains("panic"), "{}", stack.logs());
}

fn stack() -> Stack {
    let stack = Stack::start();
    stack.push_team(&Policy::new().allow("Bash(echo *)").deny("Bash(curl *)"));
    stack
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_over_the_limit_is_refused() {
    let stack = stack();
    for connection in [stack.server_as(Role::Agent).await, stack.sandboxd_as(Role::Agent).await] {
        for (megabytes, codes) in [
            (2, &[Code::InvalidArgument][..]),
            (17, &[Code::OutOfRange, Code::ResourceExhausted, Code::InvalidArgument]),
        ] {
            let request = stack.bash(&format!("echo {}", "x".repeat(megabytes * 1024 * 1024)));
            let status = connection.decisions().decide(request).await.expect_err("too large");
            assert!(codes.contains(&status.code()), "{megabytes} MiB: {status:?}");
            assert!(!status.message().is_empty());
        }
    }
    expect_alive(&stack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_messages_name_the_field() {
    let stack = stack();
    let good = stack.bash("echo hello");
    let call = |tool: &str, input: &[u8]| {
        let mut request = good.clone();
        request.call = Some(v1::ToolCall {
            tool_name: tool.into(),
            input_json: input.to_vec(),
            tool_use_id: String::new(),
        });
        request
    };
    let changed = |change: fn(&mut v1::DecideRequest)| {
        let mut request = good.clone();
        change(&mut request);
        request
    };
    let cases = [
        ("call.input_json", call("Bash", b"{\"command\": \"echo \xff\"}")),
        ("call.input_json", call("Bash", b"{\"command\": \"echo")),
        ("call.input_json", call("Bash", b"[]")),
        ("call.input_json", call("Bash", b"")),
        ("call.tool_name", call("", b"{}")),
        ("call.tool_name", call(&"T".repeat(257), b"{}")),
        ("call", changed(|request| request.call = None)),
        ("agent", changed(|request| request.agent = None)),
        ("workspace", changed(|request| request.workspace = None)),
        (
            "workspace.cwd",
            changed(|request| request.workspace.as_mut().unwrap().cwd = "relative".into()),
        ),
        (
            "workspace.roots",
            changed(|request| request.workspace.as_mut().unwrap().roots.clear()),
        ),
        ("session_id", changed(|request| request.session_id = "s".repeat(257))),
        ("mode", changed(|request| request.mode = 99)),
    ];
    for connection in [stack.server_as(Role::Agent).await, stack.sandboxd_as(Role::Agent).await] {
        for (field, request) in &cases {
            let status = connection.decisions().decide(request.clone()).await.expect_err(field);
            assert_eq!(status.code(), Code::InvalidArgument, "{field}: {status:?}");
            assert!(
                status.message().contains(field),
                "`{field}` is not in: {}",
                status.message()
            );
        }
        assert!(
            connection.decisions().decide(good.clone()).await.is_ok(),
            "positive control"
        );
    }
    expect_alive(&stack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_tool_and_nonsense_for_a_known_one_are_asked_about() {
    let stack = stack();
    let agent = stack.sandboxd_as(Role::Agent).await;
    for (tool, input) in [
        ("TotallyNewTool", json!({"what": "ever"})),
        ("Bash", json!({})),
        ("Bash", json!({"command": 7})),
        ("Bash", json!({"command": ""})),
        ("Bash", json!({"command": "echo \u{0}"})),
        ("Read", json!({"file_path": ["a"]})),
        ("Write", json!({"file_path": "../../../etc/passwd\n"})),
        ("mcp__", json!({})),
    ] {
        let mut request = stack.call(tool, &input);
        let answer = agent.decisions().decide(request.clone()).await;
        match &answer {
            Ok(answer) => assert_eq!(answer.get_ref().effect(), Effect::Ask, "{tool} {input}: {answer:?}"),
            Err(status) => assert_eq!(status.code(), Code::InvalidArgument, "{tool} {input}: {status:?}"),
        }
        request.interactivity = v1::Interactivity::Headless.into();
        if let Ok(answer) = agent.decisions().decide(request).await {
            assert_eq!(
                answer.get_ref().effect(),
                Effect::Deny,
                "{tool} {input}, headless: {answer:?}"
            );
        }
    }
    expect_alive(&stack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_100_kb_is_read_to_its_end() {
    let stack = stack();
    let agent = stack.sandboxd_as(Role::Agent).await;
    let long = "x".repeat(100_000);
    let answer = agent
        .decisions()
        .decide(stack.bash(&format!("echo {long}")))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(answer.effect(), Effect::Allow, "{answer:?}");
    let many = "echo hello; ".repeat(8_000);
    for command in [
        format!("echo {long}; curl https://a.example"),
        format!("{many} curl https://a.example"),
    ] {
        let answer = agent
            .decisions()
            .decide(stack.bash(&command))
            .await
            .unwrap()
            .into_inner();
        assert_ne!(answer.effect(), Effect::Allow, "the end of the command was not read");
        assert!(
            answer.effect() == Effect::Deny || answer.decided_by() == DecidedBy::Failure,
            "{:?} by {:?}",
            answer.effect(),
            answer.decided_by()
        );
        let said = claude_says(&stack.hook("claude", &claude_bash(&stack, &command)));
        assert_ne!(said, "allow");
    }
    expect_alive(&stack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_path_operands_are_all_looked_at() {
    let stack = stack();
    stack.push_team(
        &Policy::new()
            .allow("Bash(echo *)")
            .allow("Bash(cat *)")
            .deny("Read(./f09999)"),
    );
    let agent = stack.sandboxd_as(Role::Agent).await;
    let operands = |from: u32, to: u32| {
        let names: Vec<String> = (from..to).map(|number| format!("f{number:05}")).collect();
        format!("cat {}", names.join(" "))
    };
    let answer = agent
        .decisions()
        .decide(stack.bash(&operands(10_000, 20_000)))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        answer.effect(),
        Effect::Allow,
        "{:?} {}",
        answer.decided_by(),
        answer.user_message
    );
    // The command itself and its operands, those that the trace leaves out too.
    let (last, kept) = answer.trace.split_last().unwrap();
    assert_eq!(last.subject, format!("… {} further parts", 10_001 - kept.len()));
    let answer = agent
        .decisions()
        .decide(stack.bash(&operands(0, 10_000)))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        answer.effect(),
        Effect::Deny,
        "{:?} {}",
        answer.decided_by(),
        answer.user_message
    );
    expect_alive(&stack).await;
}

/// Each line with a number has one fault.
const TEN_FAULTS: &str = r#"{
  // A policy with ten mistakes.
  "permissions": {
    "allow": [
      "Bash(echo *",
      "Bash)echo(",
      "",
      7,
      "Read(",
      "Ba sh(x)"
    ],
    "deny": [
      "Bash(curl *",
      null
    ],
    "ask": "Bash(make *)",
    "permit": []
  }
}
"#;

/// Where the ten stand.
const FAULT_LINES: [u32; 10] = [5, 6, 7, 8, 9, 10, 13, 14, 16, 17];

#[test]
fn all_faults_of_a_policy_are_reported_at_once_with_line_and_column() {
    let stack = stack();
    let file = stack.base().join("broken.jsonc");
    std::fs::write(&file, TEN_FAULTS).unwrap();
    let output = stack
        .portcullis(["policy", "push", "--team"])
        .args([&file])
        .output()
        .expect_code(2);
    for line in FAULT_LINES {
        let place = format!("broken.jsonc:{line}:");
        let after = output.text();
        let after = after
            .split(&place)
            .nth(1)
            .unwrap_or_else(|| panic!("no `{place}` in:\n{}", output.text()));
        let column: String = after.chars().take_while(char::is_ascii_digit).collect();
        assert!(
            column.parse::<u32>().is_ok_and(|column| column > 1),
            "no column after `{place}`:\n{}",
            output.text()
        );
    }
    let listed = stack.portcullis(["policy", "get"]).output().expect_code(0);
    assert!(
        listed.stdout.contains("Bash(curl *)"),
        "the policy before is still in force:\n{}",
        listed.stdout
    );
}

#[test]
fn a_policy_that_is_no_json_is_rejected_at_its_place() {
    let stack = stack();
    for (text, place) in [
        ("{\n  \"permissions\": {\n    oops\n", "broken.jsonc:3:"),
        ("", "broken.jsonc:1:"),
        ("[]", "broken.jsonc:1:1"),
    ] {
        let file = stack.base().join("broken.jsonc");
        std::fs::write(&file, text).unwrap();
        let _ = stack
            .portcullis(["policy", "push", "--team"])
            .args([&file])
            .output()
            .expect_code(2)
            .expect_words(place);
    }
    let file = stack.base().join("binary.jsonc");
    std::fs::write(&file, b"{\"permissions\": {}}\xff").unwrap();
    let _ = stack
        .portcullis(["policy", "push", "--team"])
        .args([&file])
        .output()
        .expect_code(2);
    let _ = stack
        .portcullis(["policy", "push", "--team", "no-such-file"])
        .output()
        .expect_words("no-such-file");
}

#[test]
fn a_rule_that_can_never_match_is_rejected_with_a_hint() {
    let stack = stack();
    for rule in ["bash(echo *)", "Bash(echo hello && ls)"] {
        let file = stack.base().join("never.jsonc");
        std::fs::write(&file, Policy::new().deny(rule).text()).unwrap();
        let output = stack.portcullis(["policy", "push", "--team"]).args([&file]).output();
        assert_eq!(output.code, 2, "`{rule}`: {}", output.text());
        assert!(output.text().contains("help: "), "`{rule}`: {}", output.text());
    }
}
