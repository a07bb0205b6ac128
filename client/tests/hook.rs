//! Hooks, as agents call them: real payloads against a daemon that answers, and everything that can go wrong.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "helpers of tests may stop at the first surprise, as tests may"
)]

mod support;

use std::{
    io::Write as _,
    os::unix::net::UnixListener,
    process::Stdio,
    time::{Duration, Instant},
};

use portcullis_proto::v1::{self, Effect};
use serde_json::{Value, json};
use support::{Fake, Says, Told, answer, feed, fixture, fixtures, wait};

const GATES: [&str; 7] = [
    "preToolUse",
    "beforeShellExecution",
    "beforeMCPExecution",
    "beforeReadFile",
    "beforeTabFileRead",
    "subagentStart",
    "PreToolUse",
];

fn event_of(text: &str) -> String {
    let payload: Value = serde_json::from_str(text).unwrap();
    payload["hook_event_name"].as_str().unwrap().to_owned()
}

/// The word that decides, in whichever form.
fn permission(value: &Value) -> Option<&str> {
    value["permission"]
        .as_str()
        .or_else(|| value["hookSpecificOutput"]["permissionDecision"].as_str())
        .or_else(|| value["hookSpecificOutput"]["decision"]["behavior"].as_str())
}

/// Exactly one object in a form that the agent's event knows, with no field too many and no reason that is empty.
fn assert_well_formed(agent: &str, event: &str, value: &Value) {
    let fields = |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    let within = |value: &Value, known: &[&str]| {
        for field in fields(value) {
            assert!(
                known.contains(&field.as_str()),
                "{event}: foreign field `{field}` in {value}"
            );
            assert_ne!(
                value[&field].as_str(),
                Some(""),
                "{event}: `{field}` is empty in {value}"
            );
        }
    };
    match (agent, event) {
        ("claude", "PreToolUse" | "PreSkillShellCommand") => {
            within(value, &["hookSpecificOutput"]);
            let inner = &value["hookSpecificOutput"];
            within(
                inner,
                &["hookEventName", "permissionDecision", "permissionDecisionReason"],
            );
            assert_eq!(inner["hookEventName"], event);
            assert!(
                ["allow", "ask", "deny"].contains(&permission(value).unwrap()),
                "{value}"
            );
            assert!(inner["permissionDecisionReason"].as_str().is_some());
        }
        ("claude", "PermissionRequest") => {
            within(value, &["hookSpecificOutput"]);
            if let Some(inner) = value.get("hookSpecificOutput") {
                within(inner, &["hookEventName", "decision"]);
                assert_eq!(inner["hookEventName"], event);
                within(&inner["decision"], &["behavior", "message"]);
                assert!(["allow", "deny"].contains(&permission(value).unwrap()), "{value}");
            }
        }
        ("claude", _) => assert_eq!(*value, json!({}), "{event}"),
        (_, "beforeSubmitPrompt") => assert_eq!(*value, json!({"continue": true})),
        (_, "beforeReadFile") => within(value, &["permission", "user_message"]),
        (_, "beforeTabFileRead" | "subagentStart") => within(value, &["permission"]),
        (_, gate) if GATES.contains(&gate) => within(value, &["permission", "user_message", "agent_message"]),
        (_, _) => assert_eq!(*value, json!({}), "{event}"),
    }
    if agent == "cursor" && GATES.contains(&event) {
        assert!(
            ["allow", "ask", "deny"].contains(&permission(value).unwrap()),
            "{value}"
        );
    }
}

/// An answer that lets nothing through, whatever it is: no `allow` anywhere.
fn assert_not_allowed(agent: &str, told: &Told) -> Value {
    assert_eq!(told.code, Some(0), "{told:?}");
    assert_eq!(told.out.lines().count(), 1, "{told:?}");
    let value = told.json();
    assert_ne!(permission(&value), Some("allow"), "{agent}: {told:?}");
    assert!(!told.out.contains("\"allow\""), "{agent}: {told:?}");
    value
}

/// The same, and an explicit ask or deny.
fn assert_refused(agent: &str, told: &Told) -> Value {
    let value = assert_not_allowed(agent, told);
    assert!(
        ["ask", "deny"].contains(&permission(&value).unwrap_or("nothing")),
        "{agent}: {told:?}"
    );
    value
}

#[test]
fn every_recorded_payload_gets_the_daemons_answer_in_the_events_form() {
    for effect in [Effect::Allow, Effect::Ask, Effect::Deny] {
        let word = match effect {
            Effect::Allow => "allow",
            Effect::Ask => "ask",
            _ => "deny",
        };
        for agent in ["claude", "cursor"] {
            let fake = Fake::says(Says::effect(effect));
            for (file, text) in fixtures(agent) {
                let event = event_of(&text);
                let told = fake.run_with(&["hook", agent], text.as_bytes());
                assert_eq!((told.code, told.err.as_str()), (Some(0), ""), "{file}");
                let value = told.json();
                assert_well_formed(agent, &event, &value);
                let expected = match (agent, event.as_str(), effect) {
                    ("claude", "PreToolUse" | "PreSkillShellCommand", _) => Some(word),
                    ("claude", "PermissionRequest", Effect::Ask) => None,
                    ("claude", "PermissionRequest", _) => Some(word),
                    (_, "beforeMCPExecution", _) if file.contains("noserver") => Some("deny"),
                    (_, "beforeShellExecution" | "beforeMCPExecution", _) => Some(word),
                    (_, "preToolUse", _) if file.contains("Shell") || file.contains("MCP") => Some(word),
                    (_, gate, Effect::Ask) if GATES.contains(&gate) => Some("deny"),
                    (_, gate, _) if GATES.contains(&gate) => Some(word),
                    _ => None,
                };
                assert_eq!(permission(&value), expected, "{file} {value}");
            }
            // The other way round: events that permit nothing asked nobody.
            assert!(!fake.requests().is_empty());
        }
    }
}

#[test]
fn a_call_travels_in_the_agents_own_words() {
    let fake = Fake::says(Says::effect(Effect::Deny));
    let asked = |agent: &str, name: &str| {
        fake.run_with(&["hook", agent], fixture(agent, name).as_bytes());
        let request = fake.requests().pop().unwrap();
        let call = request.call.clone().unwrap();
        let input: Value = serde_json::from_slice(&call.input_json).unwrap();
        (request, call.tool_name, input)
    };
    let (request, tool, input) = asked("claude", "PreToolUse.Bash");
    assert_eq!((tool.as_str(), &input["command"]), ("Bash", &json!("git status")));
    assert_eq!(request.agent.unwrap().name, "claude");
    assert_eq!(request.mode, i32::from(v1::Mode::Default));
    assert_eq!(request.session_id, "5fa7e4fc-42fc-4231-a7ab-2ec476d5071d");
    assert_eq!(request.workspace.unwrap().cwd, "/home/dev/proj");
    assert_eq!(
        asked("cursor", "beforeShellExecution").2,
        json!({"command": "git push origin main"})
    );
    let (_, tool, input) = asked("cursor", "beforeMCPExecution.stdio");
    assert_eq!(
        (tool.as_str(), input),
        ("mcp__github__create_issue", json!({"title": "Port is wrong"}))
    );
    assert_eq!(asked("cursor", "preToolUse.MCP").1, "MCP:create_issue");
    let (request, tool, input) = asked("cursor", "beforeReadFile");
    assert_eq!(
        (tool.as_str(), input),
        ("Read", json!({"file_path": "/home/dev/proj/.env"}))
    );
    assert_eq!(request.workspace.unwrap().roots, ["/home/dev/proj"]);
    assert_eq!(asked("cursor", "subagentStart").1, "Task");
}

#[test]
fn flags_of_the_session_are_sent() {
    let fake = Fake::says(Says::effect(Effect::Deny));
    let arguments = [
        "hook",
        "claude",
        "--permission-mode",
        "dontAsk",
        "--allowedTools",
        "Bash(git log *),Read Edit(a b)",
        "--disallowedTools",
        "WebFetch",
        "--headless",
    ];
    fake.run_with(&arguments, fixture("claude", "PreToolUse.Bash").as_bytes());
    let request = fake.requests().pop().unwrap();
    let rules = request.session_rules.unwrap();
    assert_eq!(rules.allow, ["Bash(git log *)", "Read", "Edit(a b)"]);
    assert_eq!(rules.deny, ["WebFetch"]);
    assert_eq!(request.mode, i32::from(v1::Mode::DontAsk));
    assert_eq!(request.interactivity, i32::from(v1::Interactivity::Headless));
}

#[test]
fn a_flag_that_holds_no_rule_is_no_allow_and_is_named() {
    let fake = Fake::says(Says::effect(Effect::Allow));
    let told = fake.run_with(
        &["hook", "claude", "--allowedTools", "bash(ls *)"],
        fixture("claude", "PreToolUse.Bash").as_bytes(),
    );
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(!told.out.contains("\"allow\""), "{told:?}");
    for part in ["--allowedTools", "bash(ls *)", "write `Bash`"] {
        assert!(told.out.contains(part), "{part}: {told:?}");
    }
    assert!(fake.requests().is_empty());
}

#[test]
fn the_flags_of_cursors_command_line_and_the_plan_file_are_sent() {
    for (flags, mode, plan) in [
        (&["--force"][..], v1::Mode::RunEverything, ""),
        (&["--yolo"], v1::Mode::RunEverything, ""),
        (&["--permission-mode", "unrestricted"], v1::Mode::RunEverything, ""),
        (&["--permission-mode", "auto-review"], v1::Mode::AutoReview, ""),
        (&["--permission-mode", "allowlist"], v1::Mode::Allowlist, ""),
        (
            &["--plan-file", "/home/dev/.claude/plans/a.md"],
            v1::Mode::Default,
            "/home/dev/.claude/plans/a.md",
        ),
        (
            &["--plan-file", "plans/a.md"],
            v1::Mode::Default,
            "/home/dev/proj/plans/a.md",
        ),
    ] {
        let fake = Fake::says(Says::effect(Effect::Deny));
        let arguments: Vec<&str> = ["hook", "claude"].iter().chain(flags).copied().collect();
        fake.run_with(&arguments, fixture("claude", "PreToolUse.Bash").as_bytes());
        let request = fake.requests().pop().unwrap();
        assert_eq!((request.mode(), request.plan_file.as_str()), (mode, plan), "{flags:?}");
    }
    let both = Fake::absent().run(&["decide", "--force", "--permission-mode", "plan", "--", "ls"]);
    assert_eq!(both.code, Some(2), "{both:?}");
}

/// The gating payloads that failures are tried on.
fn gates() -> Vec<(&'static str, &'static str, &'static str)> {
    vec![
        ("claude", "PreToolUse.Bash", "ask"),
        ("claude", "PreSkillShellCommand", "ask"),
        ("cursor", "beforeShellExecution", "ask"),
        ("cursor", "beforeMCPExecution.http", "ask"),
        ("cursor", "preToolUse.Shell", "deny"),
        ("cursor", "preToolUse.Write", "deny"),
        ("cursor", "beforeReadFile", "deny"),
        ("cursor", "beforeTabFileRead", "deny"),
        ("cursor", "subagentStart", "deny"),
    ]
}

fn assert_all_refused(fake: &Fake, extra: &[&str]) {
    for (agent, name, expected) in gates() {
        let text = fixture(agent, name);
        let told = fake.run_with(&[&["hook", agent], extra].concat(), text.as_bytes());
        let value = assert_refused(agent, &told);
        assert_well_formed(agent, &event_of(&text), &value);
        assert_eq!(permission(&value), Some(expected), "{name}: {value}");
    }
    let told = fake.run_with(
        &[&["hook", "claude"], extra].concat(),
        fixture("claude", "PermissionRequest.Bash").as_bytes(),
    );
    assert_eq!(assert_not_allowed("claude", &told), json!({}));
}

#[test]
fn no_daemon() {
    assert_all_refused(&Fake::absent(), &[]);
}

#[test]
fn no_data_directory_at_all() {
    let fake = Fake::absent();
    let mut command = fake.program(&["hook", "claude"]);
    command.env_remove("PORTCULLIS_DATA_DIR").env_remove("HOME");
    let value = assert_refused(
        "claude",
        &feed(command, fixture("claude", "PreToolUse.Bash").as_bytes()),
    );
    assert_eq!(permission(&value), Some("ask"));
}

#[test]
fn a_daemon_that_errs() {
    for code in [
        tonic::Code::Unavailable,
        tonic::Code::Internal,
        tonic::Code::Unknown,
        tonic::Code::InvalidArgument,
        tonic::Code::Unauthenticated,
        tonic::Code::PermissionDenied,
        tonic::Code::ResourceExhausted,
        tonic::Code::DeadlineExceeded,
        tonic::Code::Ok,
    ] {
        let fake = Fake::says(Says::Status(code, "said so"));
        for (agent, name) in [("claude", "PreToolUse.Bash"), ("cursor", "beforeShellExecution")] {
            assert_refused(agent, &fake.run_with(&["hook", agent], fixture(agent, name).as_bytes()));
        }
    }
}

#[test]
fn a_daemon_that_hangs() {
    let begun = Instant::now();
    assert_all_refused(&Fake::says(Says::Hangs), &["--deadline-ms", "300"]);
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_daemon_that_does_not_even_speak() {
    let fake = Fake::absent();
    let _silent = UnixListener::bind(fake.socket()).unwrap();
    assert_all_refused(&fake, &["--deadline-ms", "300"]);
}

#[test]
fn a_daemon_killed_in_the_middle_of_an_answer() {
    use std::io::Read as _;
    let fake = Fake::absent();
    let listener = UnixListener::bind(fake.socket()).unwrap();
    let count = gates().len() + 1;
    let killed = std::thread::spawn(move || {
        for _ in 0..count {
            let (mut stream, _) = listener.accept().unwrap();
            let mut some = [0_u8; 64];
            let _ = stream.read(&mut some);
            // An empty SETTINGS frame, then half of a header.
            let _ = stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 9, 1]);
        }
    });
    assert_all_refused(&fake, &[]);
    killed.join().unwrap();
}

#[test]
fn answers_that_are_none() {
    type Change = fn(&mut v1::DecideResponse);
    let changes: [(&str, Change); 6] = [
        ("unspecified", |answer| answer.effect = 0),
        ("unknown", |answer| answer.effect = 17),
        ("nothing at all", |answer| *answer = v1::DecideResponse::default()),
        ("without a record", |answer| answer.decision_id.clear()),
        ("decided by nobody", |answer| answer.decided_by = 0),
        ("allowed by a failure", |answer| {
            answer.decided_by = v1::DecidedBy::Failure.into()
        }),
    ];
    for (name, change) in changes {
        let mut wrong = answer(Effect::Allow);
        change(&mut wrong);
        println!("{name}");
        assert_all_refused(&Fake::says(Says::Answer(Box::new(wrong))), &[]);
    }
}

#[test]
fn an_allow_that_holds_only_in_the_sandbox_asks() {
    let mut bound = answer(Effect::Allow);
    bound.sandbox = Some(v1::SandboxProfile::default());
    let fake = Fake::says(Says::Answer(Box::new(bound)));
    for (agent, name, _) in gates() {
        let text = fixture(agent, name);
        let value = assert_refused(agent, &fake.run_with(&["hook", agent], text.as_bytes()));
        assert_well_formed(agent, &event_of(&text), &value);
    }
}

#[test]
fn an_ask_because_the_server_is_out_of_reach() {
    let mut unrecorded = answer(Effect::Ask);
    unrecorded.decision_id.clear();
    unrecorded.decided_by = v1::DecidedBy::Failure.into();
    assert_all_refused(&Fake::says(Says::Answer(Box::new(unrecorded))), &[]);
}

#[test]
fn a_wrong_token_and_none() {
    // The fake checks the token, and allows whoever has it: the control is the first test of this file.
    let fake = Fake::says(Says::effect(Effect::Allow));
    let file = fake.data.path().join("tokens/agent.token");
    for text in ["pcl_agent_wrong\n", "", "two words\n"] {
        std::fs::write(&file, text).unwrap();
        assert_all_refused(&fake, &[]);
    }
    std::fs::remove_file(&file).unwrap();
    assert_all_refused(&fake, &[]);
}

#[test]
fn a_socket_of_somebody_else() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root can give a socket away");
        return;
    }
    let fake = Fake::says(Says::effect(Effect::Allow));
    let text = fixture("claude", "PreToolUse.Bash");
    let control = fake.run_with(&["hook", "claude"], text.as_bytes()).json();
    assert_eq!(permission(&control), Some("allow"));
    std::os::unix::fs::chown(fake.socket(), Some(12345), None).unwrap();
    assert_all_refused(&fake, &[]);
    let told = fake.run_with(&["hook", "claude"], text.as_bytes());
    assert!(told.out.contains("uid 12345"), "{told:?}");
}

#[test]
fn a_payload_cut_off_at_every_byte() {
    let fake = Fake::says(Says::effect(Effect::Allow));
    for (agent, name) in [("claude", "PreToolUse.Bash"), ("cursor", "beforeShellExecution")] {
        let whole: Value = serde_json::from_str(&fixture(agent, name)).unwrap();
        let text = whole.to_string();
        for end in 0..text.len() {
            let value = assert_refused(agent, &fake.run_with(&["hook", agent], &text.as_bytes()[..end]));
            assert!(permission(&value).is_some());
        }
        let control = fake.run_with(&["hook", agent], text.as_bytes()).json();
        assert_eq!(permission(&control), Some("allow"), "{agent}");
    }
    assert_eq!(fake.requests().len(), 2);
}

#[test]
fn payloads_that_are_none() {
    let fake = Fake::says(Says::effect(Effect::Allow));
    let deep = format!(
        r#"{{"hook_event_name":"PreToolUse","cwd":"/w","tool_name":"Bash","tool_input":{{"a":{}1{}}}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let cases: [(&str, &[u8]); 16] = [
        ("deep", deep.as_bytes()),
        ("empty", b""),
        ("blank", b"\n"),
        ("null", b"null"),
        ("array", b"[]"),
        ("text", b"hello"),
        ("no event", b"{}"),
        ("event is a number", br#"{"hook_event_name":1}"#),
        ("unknown event", br#"{"hook_event_name":"PreSomething","tool_name":"Bash","cwd":"/w","tool_input":{}}"#),
        ("two values", br#"{"hook_event_name":"Stop"}{"hook_event_name":"Stop"}x"#),
        ("twice", br#"{"hook_event_name":"Stop","hook_event_name":"PreToolUse"}"#),
        ("no tool", br#"{"hook_event_name":"PreToolUse","cwd":"/w","tool_input":{}}"#),
        ("no input", br#"{"hook_event_name":"PreToolUse","cwd":"/w","tool_name":"Bash"}"#),
        ("input is text", br#"{"hook_event_name":"PreToolUse","cwd":"/w","tool_name":"Bash","tool_input":"x"}"#),
        ("relative cwd", br#"{"hook_event_name":"PreToolUse","cwd":"w","tool_name":"Bash","tool_input":{}}"#),
        ("not UTF-8", b"{\"hook_event_name\":\"PreToolUse\",\"cwd\":\"/w\",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"\xff\"}}"),
    ];
    for (name, payload) in cases {
        for agent in ["claude", "cursor"] {
            let told = fake.run_with(&["hook", agent], payload);
            // What follows a first event that permits nothing cannot be told apart from it; nothing is allowed there.
            if agent == "claude" && ["two values", "twice"].contains(&name) {
                assert_not_allowed(agent, &told);
            } else {
                println!("{name}");
                assert_refused(agent, &told);
            }
        }
    }
    assert!(fake.requests().is_empty());
}

#[test]
fn an_mcp_server_that_could_pass_for_another_is_denied() {
    let fake = Fake::says(Says::effect(Effect::Allow));
    let mut payload: Value = serde_json::from_str(&fixture("cursor", "beforeMCPExecution.stdio")).unwrap();
    for server in ["", " ", "github__x", "_github", "github_"] {
        payload["mcp_server_name"] = server.into();
        let value = assert_refused(
            "cursor",
            &fake.run_with(&["hook", "cursor"], payload.to_string().as_bytes()),
        );
        assert_eq!(permission(&value), Some("deny"), "{server}");
    }
    for input in [json!("{"), json!("[1]"), json!(3), Value::Null] {
        payload["mcp_server_name"] = "github".into();
        payload["tool_input"] = input;
        let value = assert_refused(
            "cursor",
            &fake.run_with(&["hook", "cursor"], payload.to_string().as_bytes()),
        );
        assert_eq!(permission(&value), Some("ask"));
    }
}

#[test]
fn sixty_megabytes_of_content_are_read_and_stay_here() {
    let fake = Fake::says(Says::effect(Effect::Allow));
    let content = "x\\n".repeat(20_000_000);
    let cases = [
        (
            "cursor",
            format!(
                r#"{{"content":"{content}","hook_event_name":"beforeReadFile","file_path":"/w/a","workspace_roots":["/w"]}}"#
            ),
        ),
        (
            "claude",
            format!(
                r#"{{"hook_event_name":"PreToolUse","cwd":"/w","tool_name":"Write","tool_input":{{"file_path":"/w/a","content":"{content}"}}}}"#
            ),
        ),
    ];
    for (agent, payload) in cases {
        let told = fake.run_with(&["hook", agent, "--deadline-ms", "60000"], payload.as_bytes());
        assert_eq!(permission(&told.json()), Some("allow"), "{agent} {}", told.out);
        let call = fake.requests().pop().unwrap().call.unwrap();
        assert!(call.input_json.len() < 1000);
    }
    // More than is read.
    let told = fake.run_with(
        &["hook", "claude", "--deadline-ms", "60000"],
        format!(r#"{{"hook_event_name":"PreToolUse","a":"{}"}}"#, "x".repeat(65 << 20)).as_bytes(),
    );
    assert!(assert_refused("claude", &told).to_string().contains("64 MiB"));
}

#[test]
fn standard_input_that_never_ends() {
    let fake = Fake::says(Says::effect(Effect::Allow));
    for (agent, part, expected) in [
        ("claude", "{\"hook_event_name\":\"PreToolUse\",", "ask"),
        ("claude", "", "ask"),
        ("cursor", "{\"hook_event_name\":\"beforeShellExecution\",", "ask"),
        ("cursor", "", "deny"),
    ] {
        let mut command = fake.program(&["hook", agent, "--deadline-ms", "300"]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(part.as_bytes()).unwrap();
        let told = Told::from(child.wait_with_output().unwrap());
        assert_eq!(permission(&assert_refused(agent, &told)), Some(expected));
        drop(stdin);
    }
}

#[test]
fn a_standard_output_that_takes_nothing_is_exit_code_2() {
    let fake = Fake::says(Says::effect(Effect::Allow));
    let text = fixture("claude", "PreToolUse.Bash");
    // Full.
    let mut command = fake.program(&["hook", "claude"]);
    command.stdout(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    let told = feed(command, text.as_bytes());
    assert_eq!((told.code, told.err.is_empty()), (Some(2), false), "{told:?}");
    // Nobody reads.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = fake.program(&["hook", "claude"]);
    command.stdout(writer);
    let told = feed(command, text.as_bytes());
    assert_eq!((told.code, told.err.is_empty()), (Some(2), false), "{told:?}");
    // Closed.
    let mut shell = std::process::Command::new("sh");
    shell
        .args(["-c", "exec \"$0\" hook claude >&-", env!("CARGO_BIN_EXE_portcullis")])
        .env("PORTCULLIS_DATA_DIR", fake.data.path())
        .stderr(Stdio::piped());
    let told = feed(shell, text.as_bytes());
    assert_eq!((told.code, told.err.is_empty()), (Some(2), false), "{told:?}");
}

#[test]
fn wrong_usage_is_exit_code_2_with_a_reason() {
    let fake = Fake::absent();
    for arguments in [
        &["hook"][..],
        &["hook", "other"],
        &["hook", "claude", "--deadline-ms", "0"],
        &["hook", "claude", "--permission-mode", "x"],
    ] {
        let told = fake.run(arguments);
        assert_eq!(
            (told.code, told.out.as_str(), told.err.is_empty()),
            (Some(2), "", false),
            "{told:?}"
        );
    }
}

#[test]
fn nobody_to_ask_is_a_denial() {
    let fake = Fake::absent();
    for (agent, name) in [
        ("claude", "PreToolUse.Bash"),
        ("claude", "PermissionRequest.Bash"),
        ("cursor", "beforeShellExecution"),
    ] {
        let told = fake.run_with(&["hook", agent, "--headless"], fixture(agent, name).as_bytes());
        assert_eq!(permission(&assert_refused(agent, &told)), Some("deny"), "{name}");
    }
}

#[test]
fn a_session_that_never_asks_is_denied_when_nothing_can_be_decided() {
    let fake = Fake::absent();
    let text = fixture("claude", "PreToolUse.Bash").replace("\"default\"", "\"dontAsk\"");
    let told = fake.run_with(&["hook", "claude"], text.as_bytes());
    assert_eq!(permission(&assert_refused("claude", &told)), Some("deny"));
    let told = fake.run_with(&["hook", "claude", "--permission-mode", "dontAsk"], b"{");
    assert_eq!(permission(&assert_refused("claude", &told)), Some("deny"));
}

#[test]
fn an_ask_that_cursor_does_not_enforce_says_how_to_get_approval() {
    let mut asked = answer(Effect::Ask);
    asked.suggested_rules = vec!["Delete(/old.txt)".into()];
    let fake = Fake::says(Says::Answer(Box::new(asked)));
    let told = fake.run_with(&["hook", "cursor"], fixture("cursor", "preToolUse.Delete").as_bytes());
    let value = assert_refused("cursor", &told);
    assert_eq!(permission(&value), Some("deny"));
    assert!(
        value["agent_message"].as_str().unwrap().contains("`Delete(/old.txt)`"),
        "{value}"
    );
}

#[test]
fn the_process_ends_though_its_input_stays_open() {
    // An oversized payload is answered before it was read to its end.
    let fake = Fake::absent();
    let mut child = fake
        .program(&["hook", "claude", "--deadline-ms", "300"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take();
    assert_eq!(wait(child), Some(0));
    drop(stdin);
}
