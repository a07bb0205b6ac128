//! Requests field by field, and requests of random bytes.

use portcullis_policy::{Mode, request::Interactivity};
use proptest::prelude::*;
use prost::Message as _;

use super::*;

/// A request that is right.
pub(in crate::convert) fn valid() -> v1::DecideRequest {
    v1::DecideRequest {
        request_id: "01890a5d-ac96-774b-bcce-b302099a8057".into(),
        agent: Some(v1::Agent {
            name: "cli".into(),
            version: "1".into(),
        }),
        session_id: "s".into(),
        workspace: Some(v1::Workspace {
            roots: vec!["/w".into(), "/x/../y".into()],
            cwd: "/w/a".into(),
            home: "/home/dev".into(),
        }),
        call: Some(v1::ToolCall {
            tool_name: "Bash".into(),
            input_json: br#"{"command":"ls -l"}"#.to_vec(),
            tool_use_id: "t\n1".into(),
        }),
        ..Default::default()
    }
}

/// What a host adds.
pub(in crate::convert) fn valid_facts() -> v1::HostFacts {
    v1::HostFacts {
        host_id: "0123456789abcdef".repeat(4),
        uid: 7,
        project_trusted: true,
        ..Default::default()
    }
}

fn fault(change: impl FnOnce(&mut v1::DecideRequest)) -> String {
    let mut message = valid();
    change(&mut message);
    question(message, Vouching::Nobody)
        .expect_err("should be refused")
        .field
}

fn call(message: &mut v1::DecideRequest) -> &mut v1::ToolCall {
    message.call.as_mut().unwrap()
}

fn workspace_of(message: &mut v1::DecideRequest) -> &mut v1::Workspace {
    message.workspace.as_mut().unwrap()
}

#[test]
fn a_right_request_is_read() {
    let question = question(valid(), Vouching::Nobody).unwrap();
    let request = &question.request;
    assert_eq!((request.agent.as_str(), request.mode), ("cli", Mode::Default));
    assert_eq!(request.interactivity, Interactivity::Interactive);
    assert_eq!(request.workspace.root.as_str(), "/w");
    assert_eq!(request.workspace.additional_roots.first().unwrap().as_str(), "/y");
    assert_eq!(request.workspace.home.as_ref().unwrap().as_str(), "/home/dev");
    assert!(!request.sandboxed_execution && !request.facts.vouched && question.host.is_none());
    assert_eq!(question.raw_input, br#"{"command":"ls -l"}"#);
    assert_eq!(question.tool_use_id, "t\n1");
    assert!(question.session_document.is_none());
}

#[test]
fn each_fault_names_its_field() {
    let long = |n: usize| "x".repeat(n);
    assert_eq!(fault(|m| m.request_id.clear()), "request_id");
    assert_eq!(
        fault(|m| m.request_id = "01890a5dac96774bbcceb302099a8057".into()),
        "request_id"
    );
    assert_eq!(fault(|m| m.request_id = long(36)), "request_id");
    assert_eq!(fault(|m| m.agent = None), "agent");
    assert_eq!(fault(|m| m.agent.as_mut().unwrap().name.clear()), "agent.name");
    assert_eq!(
        fault(|m| m.agent.as_mut().unwrap().name = "Claude".into()),
        "agent.name"
    );
    assert_eq!(fault(|m| m.agent.as_mut().unwrap().name = long(65)), "agent.name");
    assert_eq!(fault(|m| m.agent.as_mut().unwrap().version = long(65)), "agent.version");
    assert_eq!(fault(|m| m.session_id = long(257)), "session_id");
    assert_eq!(fault(|m| m.mode = 77), "mode");
    assert_eq!(fault(|m| m.interactivity = -1), "interactivity");
    assert_eq!(fault(|m| m.workspace = None), "workspace");
    assert_eq!(fault(|m| workspace_of(m).roots.clear()), "workspace.roots");
    assert_eq!(
        fault(|m| workspace_of(m).roots = vec!["/w".into(); 65]),
        "workspace.roots"
    );
    assert_eq!(fault(|m| workspace_of(m).roots[1] = "w".into()), "workspace.roots[1]");
    assert_eq!(fault(|m| workspace_of(m).cwd.clear()), "workspace.cwd");
    assert_eq!(fault(|m| workspace_of(m).cwd = "/a\0b".into()), "workspace.cwd");
    assert_eq!(
        fault(|m| workspace_of(m).cwd = format!("/{}", long(4096))),
        "workspace.cwd"
    );
    assert_eq!(fault(|m| workspace_of(m).home = "~".into()), "workspace.home");
    assert_eq!(fault(|m| m.call = None), "call");
    assert_eq!(fault(|m| call(m).tool_name.clear()), "call.tool_name");
    assert_eq!(fault(|m| call(m).tool_name = long(257)), "call.tool_name");
    assert_eq!(fault(|m| call(m).tool_name = "a\nb".into()), "call.tool_name");
    assert_eq!(fault(|m| call(m).tool_use_id = long(257)), "call.tool_use_id");
    assert_eq!(fault(|m| call(m).input_json.clear()), "call.input_json");
    assert_eq!(fault(|m| call(m).input_json = b"[]".to_vec()), "call.input_json");
    assert_eq!(
        fault(|m| call(m).input_json = vec![b' '; MAX_INPUT + 1]),
        "call.input_json"
    );
    assert_eq!(
        fault(|m| call(m).input_json = br#"{"command":"a","command":"b"}"#.to_vec()),
        "call.input_json"
    );
}

fn rules(allow: &[&str], deny: &[&str]) -> Option<v1::SessionRules> {
    let texts = |list: &[&str]| list.iter().map(ToString::to_string).collect();
    Some(v1::SessionRules {
        allow: texts(allow),
        deny: texts(deny),
        ..Default::default()
    })
}

#[test]
fn session_rules_are_bounded_and_may_be_empty() {
    assert_eq!(
        fault(|m| m.session_rules = rules(&["Bash"; 257], &[])),
        "session_rules.allow"
    );
    let long = "x".repeat(MAX_RULE + 1);
    assert_eq!(
        fault(|m| m.session_rules = rules(&[], &[&long])),
        "session_rules.deny[0]"
    );
    let mut message = valid();
    message.session_rules = rules(&[], &[]);
    assert!(question(message, Vouching::Nobody).unwrap().session_document.is_none());
}

#[test]
fn a_rule_that_cannot_be_read_is_a_fault_of_the_session_rules() {
    let field = fault(|m| m.session_rules = rules(&["Bash(ls *)", "Bash(ls"], &[]));
    assert!(field.starts_with("session_rules"), "{field}");
    let field = fault(|m| m.session_rules = rules(&[], &["Bash(ls"]));
    assert!(field.starts_with("session_rules"), "{field}");
}

fn execution(argv: &[&str], command: &str) -> v1::DecideRequest {
    let mut message = valid();
    call(&mut message).input_json = serde_json::json!({ "command": command }).to_string().into_bytes();
    message.execution = Some(v1::Execution {
        argv: argv.iter().map(ToString::to_string).collect(),
        ..v1::Execution::default()
    });
    message
}

#[test]
fn only_the_command_that_is_judged_can_be_run() {
    let read = |argv: &[&str], command: &str| question(execution(argv, command), Vouching::Nobody);
    let question = read(&["ls", "a b"], "ls 'a b'").unwrap();
    assert!(question.request.sandboxed_execution);
    assert_eq!(question.execution.unwrap().argv, ["ls", "a b"]);
    for (argv, command, field) in [
        (&["ls", "a", "b"][..], "ls 'a b'", "execution.argv"),
        (&["rm", "-rf", "/"], "ls", "execution.argv"),
        (&["ls"], "ls ", "execution.argv"),
        (&[], "ls", "execution.argv"),
        (&[""], "''", "execution.argv[0]"),
        (&["ls", "a\0b"], "ls", "execution.argv[1]"),
        (&["x"; MAX_WORDS + 1], "x", "execution.argv"),
    ] {
        assert_eq!(read(argv, command).unwrap_err().field, field, "{command}");
    }
}

#[test]
fn what_is_no_command_cannot_be_run() {
    let mut message = execution(&["ls"], "ls");
    call(&mut message).tool_name = "NoSuchTool".into();
    assert_eq!(question(message, Vouching::Nobody).unwrap_err().field, "execution");
}

#[test]
fn limits_on_runs_are_positive_and_sane() {
    let read = |seconds, nanos| {
        let mut message = execution(&["ls"], "ls");
        message.execution.as_mut().unwrap().timeout = Some(prost_types::Duration { seconds, nanos });
        question(message, Vouching::Nobody).map(|question| question.execution.unwrap().timeout)
    };
    assert_eq!(
        read(5, 1),
        Ok(Some(Duration::new(5, 1))).map_err(|fault: InvalidMessage| fault)
    );
    for (seconds, nanos) in [
        (0, 0),
        (-1, 0),
        (1, -1),
        (i64::MAX, 0),
        (0, i32::MAX),
        (7 * 24 * 3600, 1),
    ] {
        assert_eq!(read(seconds, nanos).unwrap_err().field, "execution.timeout");
    }
}

#[test]
fn a_call_that_runs_elsewhere_is_never_taken_to_run_here() {
    let failures = |folder: &str, cwd: &str| {
        let mut message = valid();
        message.agent.as_mut().unwrap().name = "gemini".into();
        workspace_of(&mut message).cwd = cwd.into();
        call(&mut message).tool_name = "run_shell_command".into();
        let input = serde_json::json!({ "command": "rm x", "dir_path": folder });
        call(&mut message).input_json = input.to_string().into_bytes();
        question(message, Vouching::Nobody)
            .unwrap()
            .request
            .facts
            .failures
            .len()
    };
    for (folder, cwd) in [
        ("/w/a", "/w/a"),
        ("a", "/w/a"),
        (".", "/w/a"),
        ("", "/w/a"),
        ("b/c/", "/w/a/b/c"),
        ("../z", "/z"),
    ] {
        assert_eq!(failures(folder, cwd), 0, "{folder} {cwd}");
    }
    for (folder, cwd) in [
        ("/etc", "/w/a"),
        ("a", "/w/ba"),
        ("b", "/w/a"),
        ("../../etc", "/w/etc"),
        ("a", "/w"),
    ] {
        assert_eq!(failures(folder, cwd), 1, "{folder} {cwd}");
    }
}

#[test]
fn nothing_raw_is_printed() {
    let mut message = execution(&["echo", "hunter2"], "echo hunter2");
    message.facts = Some(valid_facts());
    let question = question(message, Vouching::Host).unwrap();
    let printed = format!("{question:?} {:?}", question.execution);
    assert!(!printed.contains("hunter2"), "{printed}");
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "\\PC{0,8}", "/[a-z./\0]{0,8}", "[0-9a-f]{64}"]
}

prop_compose! {
    fn odd_facts()(
        host_id in text(), path in text(), real in text(), kind: i32, layer in -1..8_i32, status: i32, state in -1..4_i32,
        content in proptest::collection::vec(any::<u8>(), 0..20), trusted: bool,
    ) -> v1::HostFacts {
        v1::HostFacts {
            host_id,
            paths: vec![v1::PathFact { path: path.clone(), real_path: real.clone(), kind }],
            programs: vec![v1::ProgramFact { name: real.clone(), path: path.clone() }],
            repository: Some(v1::RepositoryFact { state, root: real, executing_keys: vec![path.clone()] }),
            project_trusted: trusted,
            documents: vec![v1::HostDocument { layer, path: path.clone(), content, format: layer.abs() }],
            sandbox: Some(v1::Enforcement { status, ..Default::default() }),
            own_paths: vec![path],
            ..Default::default()
        }
    }
}

prop_compose! {
    fn odd_request()(
        id in text(), name in text(), mode: i32, interactivity: i32, root in text(), cwd in text(), tool in text(),
        input in prop_oneof![Just(br#"{"command":"ls"}"#.to_vec()), proptest::collection::vec(any::<u8>(), 0..40)],
        rule in text(), argv in proptest::collection::vec(text(), 0..3), seconds: i64, nanos: i32,
        facts in proptest::option::of(odd_facts()), right in proptest::bits::u16::ANY,
    ) -> v1::DecideRequest {
        let mut message = valid();
        // Each field is right or odd, so that the checks behind an early one are met, too.
        if right & 1 == 0 { message.request_id = id; }
        if right & 2 == 0 { message.agent.as_mut().unwrap().name = name; }
        if right & 4 == 0 { message.mode = mode; }
        if right & 8 == 0 { message.interactivity = interactivity; }
        if right & 16 == 0 { message.workspace.as_mut().unwrap().roots.push(root); }
        if right & 32 == 0 { message.workspace.as_mut().unwrap().cwd = cwd; }
        if right & 64 == 0 { message.call.as_mut().unwrap().tool_name = tool; }
        if right & 128 == 0 { message.call.as_mut().unwrap().input_json = input; }
        if right & 256 == 0 { message.session_rules = Some(v1::SessionRules { allow: vec![rule], deny: vec![], approve_mcp_servers: right & 1 == 0 }); }
        if right & 512 == 0 {
            message.execution = Some(v1::Execution { argv, timeout: Some(prost_types::Duration { seconds, nanos }), ..v1::Execution::default() });
        }
        message.facts = facts;
        message
    }
}

proptest! {
    #[test]
    fn odd_requests_never_panic_and_never_vouch_for_themselves(message in odd_request()) {
        let _ = crate::convert::facts_needed(&message);
        let _ = question(message.clone(), Vouching::Host);
        if let Ok(question) = question(message, Vouching::Nobody) {
            let facts = question.request.facts;
            prop_assert!(!facts.vouched && !facts.project_trusted && question.host.is_none());
        }
    }

    #[test]
    fn bytes_from_the_wire_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(message) = v1::DecideRequest::decode(bytes.as_slice()) {
            let _ = question(message.clone(), Vouching::Host);
            let _ = question(message, Vouching::Nobody);
        }
    }

    #[test]
    fn whatever_words_are_run_are_the_words_that_are_judged(argv in proptest::collection::vec("\\PC{0,6}", 1..5)) {
        let words: Vec<&str> = argv.iter().map(String::as_str).collect();
        if let Ok(question) = question(execution(&words, &shell::quote(&argv)), Vouching::Nobody) {
            prop_assert_eq!(question.execution.unwrap().argv, argv);
        } else {
            prop_assert!(argv.first().is_none_or(String::is_empty) || argv.iter().any(|word| word.contains('\0')));
        }
    }
}

#[test]
fn a_policy_is_tried_only_if_the_input_holds_one_that_can_be_read() {
    let trial = |sandbox: Option<serde_json::Value>| {
        let mut message = execution(&["ls"], "ls");
        let mut input = serde_json::json!({ "command": "ls" });
        if let Some(sandbox) = sandbox {
            input["sandbox"] = sandbox;
        }
        call(&mut message).input_json = input.to_string().into_bytes();
        message.execution.as_mut().unwrap().trial = true;
        question(message, Vouching::Nobody)
    };
    let read = trial(Some(serde_json::json!({ "denyRead": ["*.pem"] }))).unwrap();
    assert_eq!(read.trial.unwrap().settings.sandbox.deny_read, ["*.pem"]);
    for (sandbox, words) in [
        (None, "is missing"),
        (Some(serde_json::json!([])), "sandbox"),
        (Some(serde_json::json!("x")), "sandbox"),
        (Some(serde_json::json!({ "typ": 1 })), "typ"),
        (Some(serde_json::json!({ "type": "insecure_none" })), "insecure_none"),
    ] {
        let fault = trial(sandbox).err().map(|fault| fault.to_string()).unwrap_or_default();
        assert!(fault.contains(words), "{words}: {fault}");
    }
    // Without the wish to try it, it is an input like any other.
    let mut message = execution(&["ls"], "ls");
    call(&mut message).input_json = br#"{"command":"ls","sandbox":{"typ":1}}"#.to_vec();
    assert!(question(message, Vouching::Nobody).unwrap().trial.is_none());
}
