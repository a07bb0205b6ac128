//! `portcullis decide` against a fake daemon: what it prints, literally, and how it exits.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "helpers of tests may stop at the first surprise, as tests may"
)]

mod support;

use std::sync::Arc;

use portcullis_proto::v1::{self, Effect};
use serde_json::json;
use support::{Fake, Says, Told, answer, denied, golden, part, shown};

#[test]
fn a_denied_command_shows_rule_place_and_way_out() {
    let fake = Fake::says(Says::Answer(Box::new(denied())));
    let told = fake.run(&["decide", "--", "git", "push", "--force"]);
    golden("decide-deny.txt", &shown(&fake, &told));
    let told = fake.run(&["decide", "--format", "json", "--", "git", "push", "--force"]);
    assert_eq!(told.code, Some(4));
    golden("decide-deny.json", &told.out);
}

#[test]
fn a_line_of_several_parts_shows_each() {
    let mut asked = answer(Effect::Ask);
    asked.rule = None;
    asked.decided_by = v1::DecidedBy::Mode.into();
    asked.user_message = "no rule allows `rm -rf /srv/data`".into();
    asked.agent_message.clone_from(&asked.user_message);
    asked.suggested_rules = vec!["Bash(rm -rf /srv/data)".into()];
    asked.trace = vec![
        part(
            "rm -rf /srv/data",
            &["env X=1", "sh -c"],
            Effect::Ask,
            "other command in mode default",
        ),
        part("ls", &[], Effect::Allow, "read-only"),
    ];
    let fake = Fake::says(Says::Answer(Box::new(asked)));
    let line = "ls; env X=1 sh -c 'rm -rf /srv/data'";
    golden("decide-parts.txt", &shown(&fake, &fake.run(&["decide", "--", line])));
    // A single word with blanks is a shell line, words are quoted.
    let input = |at: usize| String::from_utf8(fake.requests()[at].call.clone().unwrap().input_json).unwrap();
    assert_eq!(input(0), json!({ "command": line }).to_string());
    fake.run(&["decide", "--", "rm", "a b"]);
    assert_eq!(input(1), r#"{"command":"rm 'a b'"}"#);
}

#[test]
fn exit_codes_tell_the_answers_apart() {
    for (effect, code) in [(Effect::Allow, 0), (Effect::Ask, 3), (Effect::Deny, 4)] {
        let fake = Fake::says(Says::effect(effect));
        assert_eq!(fake.run(&["decide", "--", "true"]).code, Some(code));
        let told = fake.run(&["decide", "--tool", "Read", "--input", r#"{"file_path":"/a"}"#]);
        assert_eq!(told.code, Some(code));
        assert_eq!(fake.requests()[1].call.as_ref().unwrap().tool_name, "Read");
    }
    let mut undecided = answer(Effect::Ask);
    undecided.decided_by = v1::DecidedBy::Failure.into();
    // Recorded: the call was not understood, and that is the answer.
    assert_eq!(
        Fake::says(Says::Answer(Box::new(undecided.clone())))
            .run(&["decide", "--", "true"])
            .code,
        Some(3)
    );
    // Not recorded: the server is out of reach.
    undecided.decision_id.clear();
    let fake = Fake::says(Says::Answer(Box::new(undecided)));
    let told = fake.run(&["decide", "--", "true"]);
    assert_eq!(told.code, Some(5));
    assert!(told.out.contains("not recorded"), "{told:?}");
    for (says, code) in [
        (Says::Status(tonic::Code::Unavailable, "later"), 5),
        (Says::Status(tonic::Code::InvalidArgument, "invalid `call`"), 2),
        (Says::Status(tonic::Code::PermissionDenied, "no"), 1),
        (Says::effect(Effect::Unspecified), 5),
    ] {
        let told = Fake::says(says).run(&["decide", "--", "true"]);
        assert_eq!((told.code, told.out.as_str()), (Some(code), ""), "{told:?}");
    }
    for arguments in [
        &["decide"][..],
        &["decide", "--tool", "Read"],
        &["decide", "--tool", "Read", "--input", "[]"],
        &["decide", "--tool", "Read", "--input", "{}", "--", "x"],
        &["decide", "--cwd", "/does/not/exist", "--", "x"],
    ] {
        let code = if arguments.contains(&"/does/not/exist") { 1 } else { 2 };
        assert_eq!(Fake::absent().run(arguments).code, Some(code), "{arguments:?}");
    }
}

#[test]
fn an_explanation_shows_rules_part_by_part_and_what_would_turn_the_answer() {
    let rule = |layer: v1::Layer, effect: Effect, text: &str| v1::RuleRef {
        layer: layer.into(),
        document: "policy.jsonc".into(),
        line: 3,
        column: 5,
        text: text.into(),
        name: String::new(),
        effect: effect.into(),
    };
    let fake = Fake::with(|service| {
        let deny = rule(v1::Layer::Team, Effect::Deny, "Bash(git push --force *)");
        service.explanation = Arc::new(v1::ExplainResponse {
            would_be: Effect::Deny.into(),
            decided_by: v1::DecidedBy::Rule.into(),
            rule: Some(deny.clone()),
            user_message:
                "denied: `git push --force origin main` (seen inside sh -c): a reason that is long enough to be \
                           wrapped, because it goes on and on beyond the width of a line"
                    .into(),
            trace: vec![
                part("git push --force origin main", &["sh -c"], Effect::Deny, "a rule"),
                part(
                    "npm run lint",
                    &[],
                    Effect::Ask,
                    "no rule allows it, and mode default asks",
                ),
            ],
            parts: vec![
                v1::PartExplanation {
                    standing: v1::Standing::Forbidden.into(),
                    rules: vec![
                        v1::MatchingRule {
                            rule: Some(deny),
                            decided: true,
                        },
                        v1::MatchingRule {
                            rule: Some(rule(v1::Layer::User, Effect::Allow, "Bash(git push *)")),
                            decided: false,
                        },
                    ],
                },
                v1::PartExplanation {
                    standing: v1::Standing::NothingMatched.into(),
                    rules: Vec::new(),
                },
            ],
            changes: vec![v1::Change {
                steps: vec![
                    v1::ChangeStep {
                        text: "remove the deny rule".into(),
                        added_rule: String::new(),
                    },
                    v1::ChangeStep {
                        text: "add `Bash(npm run lint:*)` to allow in the local layer".into(),
                        added_rule: "Bash(npm run lint:*)".into(),
                    },
                ],
                would_be: Effect::Allow.into(),
            }],
            ..Default::default()
        });
    });
    let line = "sh -c 'git push --force origin main'; npm run lint";
    let told = fake.run(&["explain", "--", line]);
    golden("explain.txt", &shown(&fake, &told));
    assert!(told.out.lines().all(|line| line.chars().count() <= 100), "{}", told.out);
    assert_eq!(fake.run(&["decide", "--explain", "--", line]).out, told.out);
    let json = fake.run(&["explain", "--format", "json", "--", line]).json();
    assert_eq!(json["explanation"]["parts"][0]["standing"], "forbidden");
}

#[test]
fn an_explanation_asks_for_no_record() {
    let fake = Fake::with(|service| {
        service.explanation = Arc::new(v1::ExplainResponse {
            would_be: Effect::Allow.into(),
            decided_by: v1::DecidedBy::Mode.into(),
            user_message: "read-only".into(),
            ..Default::default()
        });
    });
    let told = fake.run(&["decide", "--explain", "--", "ls"]);
    golden("decide-explain.txt", &shown(&fake, &told));
    let nothing = Fake::with(|_| {});
    assert_eq!(nothing.run(&["decide", "--explain", "--", "ls"]).code, Some(5));
}

#[test]
fn what_an_agent_wrote_cannot_drive_the_terminal() {
    let mut answer = answer(Effect::Deny);
    answer.user_message = "a\u{1b}]0;title\u{7}\nb".into();
    let fake = Fake::says(Says::Answer(Box::new(answer)));
    let told = fake.run(&["decide", "--", "printf '\u{1b}[2J'"]);
    assert!(!told.out.contains('\u{1b}') && !told.out.contains('\u{7}'), "{told:?}");
}

#[test]
fn the_callers_own_line_is_shown_redacted() {
    let fake = Fake::with(|service| {
        service.says = Says::effect(Effect::Deny);
        service.explanation = Arc::new(v1::ExplainResponse {
            would_be: Effect::Deny.into(),
            decided_by: v1::DecidedBy::Rule.into(),
            user_message: "told to the person".into(),
            ..Default::default()
        });
    });
    let secret = "hunter2hunter2";
    let line = format!("curl -H 'Authorization: Bearer {secret}' https://a.example");
    let input = serde_json::json!({ "command": line, "password": secret }).to_string();
    for arguments in [
        &["decide", "--", &line][..],
        &["explain", "--", &line],
        &["decide", "--tool", "Mystery", "--input", &input],
        &["explain", "--tool", "Mystery", "--input", &input],
    ] {
        let told = fake.run(arguments);
        assert!(told.out.contains("a.example"), "{told:?}");
        assert!(
            !told.out.contains(secret) && !told.err.contains(secret),
            "{arguments:?}: {told:?}"
        );
    }
    // The control: what is no secret is shown.
    assert!(fake.run(&["explain", "--", "make hunter2hunter2"]).out.contains(secret));
}

#[test]
fn a_flag_that_holds_no_rule_is_named_with_the_word_and_the_way_out() {
    let fake = Fake::says(Says::effect(Effect::Allow));
    for (arguments, parts) in [
        (
            &["--allowedTools", "Read,bash(ls *)"][..],
            ["--allowedTools", "`bash(ls *)`", "write `Bash`"],
        ),
        (
            &["--disallowedTools", "Bash(x"],
            ["--disallowedTools", "`Bash(x`", "close the bracket"],
        ),
        (
            &["--permission-mode", "yolo"],
            ["--permission-mode", "yolo", "acceptEdits"],
        ),
    ] {
        for command in ["decide", "explain"] {
            let arguments = [&[command], arguments, &["--", "ls"]].concat();
            let told = fake.run(&arguments);
            assert_eq!(told.code, Some(2), "{told:?}");
            for part in parts {
                assert!(told.err.contains(part), "{part}: {told:?}");
            }
        }
    }
    assert!(fake.seen.lock().unwrap().requests.is_empty(), "nothing was asked");
    let told = fake.run(&["decide", "--allowedTools", "Read,Bash(ls *)", "--", "ls"]);
    assert_eq!(told.code, Some(0), "{told:?}");
}

#[test]
fn folders_that_are_none_are_said_to_be_none() {
    let fake = Fake::says(Says::effect(Effect::Allow));
    let file = fake.data.path().join("a-file");
    std::fs::write(&file, "").unwrap();
    let file = file.to_str().unwrap();
    for arguments in [
        &["decide", "--cwd", file, "--", "ls"][..],
        &["decide", "--workspace", file, "--", "ls"],
        &["mcp", "list", "--project", file],
        &["trust", file],
    ] {
        let told = fake.run(arguments);
        assert_eq!(told.code, Some(1), "{told:?}");
        assert!(told.err.contains("it is a file, not a directory"), "{told:?}");
    }
}

#[test]
fn hints_say_what_to_do() {
    let fake = Fake::absent();
    golden("no-daemon.txt", &shown(&fake, &fake.run(&["decide", "--", "ls"])));
    let fake = Fake::says(Says::effect(Effect::Allow));
    std::fs::write(fake.data.path().join("tokens/agent.token"), "pcl_agent_wrong\n").unwrap();
    golden("wrong-token.txt", &shown(&fake, &fake.run(&["decide", "--", "ls"])));
    std::fs::remove_file(fake.data.path().join("tokens/agent.token")).unwrap();
    golden("no-token.txt", &shown(&fake, &fake.run(&["decide", "--", "ls"])));
    for arguments in [&["explain", "--", "ls"][..], &["mcp", "list"], &["status"]] {
        assert_eq!(fake.run(arguments).code, Some(5), "{arguments:?}");
    }
}

#[test]
fn a_reader_who_goes_away_changes_no_exit_code() {
    let fake = Fake::says(Says::effect(Effect::Deny));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = fake.program(&["decide", "--", "ls"]);
    let told = Told::from(command.stdout(writer).output().unwrap());
    assert_eq!((told.code, told.err.as_str()), (Some(4), ""));
    let mut command = fake.program(&["decide", "--", "ls"]);
    command.stdout(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    let told = Told::from(command.output().unwrap());
    assert_eq!(told.code, Some(1), "{told:?}");
}
