//! The commands for people, against fakes: what they print, literally, and how they exit.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "helpers of tests may stop at the first surprise, as tests may"
)]

mod support;

use std::{
    io::{Read as _, Write as _},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
};

use portcullis_proto::v1::{
    self, Effect,
    audit_service_server::{AuditService, AuditServiceServer},
    policy_service_server::{PolicyService, PolicyServiceServer},
};
use prost::Message as _;
use serde_json::{Value, json};
use support::{Fake, Says, Told, answer, feed, golden, wait};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, transport::Server};

/// Exit code and both outputs, as one text to compare. Temporary paths are replaced.
fn shown(fake: &Fake, told: &Told) -> String {
    let data = fake.data.path().to_string_lossy().into_owned();
    let text = format!(
        "exit {:?}\n--- stdout\n{}--- stderr\n{}",
        told.code.unwrap(),
        told.out,
        told.err
    );
    text.replace(&data, "DATA")
}

fn part(subject: &str, through: &[&str], effect: Effect, reason: &str) -> v1::TraceEntry {
    v1::TraceEntry {
        subject: subject.into(),
        seen_through: through.iter().map(|word| (*word).to_owned()).collect(),
        effect: effect.into(),
        decided_by: v1::DecidedBy::Mode.into(),
        rule: None,
        reason: reason.into(),
    }
}

fn denied() -> v1::DecideResponse {
    let mut denied = answer(Effect::Deny);
    denied.user_message = "pushing over others' work is off in this team".into();
    denied.agent_message = "push with `--force-with-lease`, or open a pull request".into();
    denied.trace = vec![v1::TraceEntry {
        rule: denied.rule.clone(),
        decided_by: v1::DecidedBy::Rule.into(),
        ..part("git push --force", &[], Effect::Deny, "")
    }];
    denied
}

// decide

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
fn hints_say_what_to_do() {
    let fake = Fake::absent();
    golden("no-daemon.txt", &shown(&fake, &fake.run(&["decide", "--", "ls"])));
    let fake = Fake::says(Says::effect(Effect::Allow));
    std::fs::write(fake.data.path().join("tokens/agent.token"), "pcl_agent_wrong\n").unwrap();
    golden("wrong-token.txt", &shown(&fake, &fake.run(&["decide", "--", "ls"])));
    std::fs::remove_file(fake.data.path().join("tokens/agent.token")).unwrap();
    golden("no-token.txt", &shown(&fake, &fake.run(&["decide", "--", "ls"])));
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

// run

fn runner() -> Fake {
    let claims = v1::TicketClaims {
        profile: Some(v1::SandboxProfile {
            environment: vec!["PATH".into(), "LC_*".into()],
            ..Default::default()
        }),
        ..Default::default()
    };
    let mut allowed = answer(Effect::Allow);
    allowed.ticket = Some(v1::SignedTicket {
        claims: claims.encode_to_vec(),
        signature: vec![0; 64],
    });
    allowed.sandbox = Some(v1::SandboxProfile::default());
    Fake::says(Says::Answer(Box::new(allowed)))
}

#[test]
fn standard_streams_and_status_pass_through() {
    let fake = runner();
    let bytes: Vec<u8> = (0..=255).cycle().take(1_000_000).collect();
    let output = {
        let mut child = fake
            .program(&["run", "--", "echo-stdin"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let sent = bytes.clone();
        let writer = std::thread::spawn(move || stdin.write_all(&sent).unwrap());
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        output
    };
    assert_eq!(output.status.code(), Some(0));
    assert!(
        output.stdout == bytes,
        "{} bytes of {}",
        output.stdout.len(),
        bytes.len()
    );
    let told = fake.run_with(&["run", "--", "count-stdin"], b"12345");
    assert_eq!((told.code, told.out.as_str(), told.err.as_str()), (Some(0), "", "5\n"));
    for code in ["0", "1", "42", "255"] {
        assert_eq!(fake.run(&["run", "--", "exit", code]).code, code.parse().ok());
    }
    assert_eq!(fake.requests()[0].execution.as_ref().unwrap().argv, ["echo-stdin"]);
}

#[test]
fn only_the_environment_of_the_permit_is_sent() {
    let fake = runner();
    let mut command = fake.program(&["run", "--", "exit", "0"]);
    let told = Told::from(command.env("SECRET", "s").env("LC_ALL", "C").output().unwrap());
    assert_eq!(told.code, Some(0));
    let sent = fake.seen.lock().unwrap().run.clone();
    let names: Vec<_> = sent.iter().filter_map(|pair| pair.split('=').next()).collect();
    assert!(
        names.contains(&"LC_ALL") && names.contains(&"PATH") && names.len() == 2,
        "{names:?}"
    );
}

#[test]
fn an_open_standard_input_does_not_hold_up_the_end() {
    let fake = runner();
    let mut child = fake
        .program(&["run", "--", "exit", "7"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take();
    assert_eq!(wait(child), Some(7));
    drop(stdin);
}

#[test]
fn signals_are_passed_on() {
    let fake = runner();
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1), ("QUIT", 3), ("WINCH", 28)] {
        let mut child = fake.program(&["run", "--", "wait-for-signal"]).spawn().unwrap();
        let mut ready = [0_u8; 6];
        child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        let sent = Command::new("kill")
            .args(["-s", name, &child.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
        assert_eq!(wait(child), Some(128 + number), "{name}");
    }
}

#[test]
fn signals_get_through_while_nobody_reads_the_output() {
    let fake = runner();
    let mut child = fake.program(&["run", "--", "flood-until-signal"]).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut some = [0_u8; 1024];
    out.read_exact(&mut some).unwrap();
    let sent = Command::new("kill")
        .args(["-s", "TERM", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
    // The fake notes the signal while the pipe is full; only then is it read to its end.
    fake.until(|seen| seen.run.iter().any(|line| line == "signal 15"));
    std::io::copy(&mut out, &mut std::io::sink()).unwrap();
    assert_eq!(wait(child), Some(143));
}

#[test]
fn whoever_interrupts_again_and_again_does_not_wait_for_the_command() {
    let fake = runner();
    let mut child = fake.program(&["run", "--", "deaf"]).spawn().unwrap();
    let mut ready = [0_u8; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    for count in 1..=4 {
        Command::new("kill")
            .args(["-s", "INT", &child.id().to_string()])
            .status()
            .unwrap();
        if count < 4 {
            fake.until(|seen| seen.run.iter().filter(|line| *line == "signal 2").count() == count);
        }
    }
    assert_eq!(wait(child), Some(130));
}

#[test]
fn what_is_not_allowed_does_not_run() {
    for effect in [Effect::Ask, Effect::Deny] {
        let fake = Fake::says(Says::effect(effect));
        let told = fake.run(&["run", "--", "exit", "0"]);
        assert_eq!(
            (told.code, told.out.as_str(), told.err.is_empty()),
            (Some(126), "", false),
            "{told:?}"
        );
    }
    // Allowed, but nothing was signed.
    let told = Fake::says(Says::effect(Effect::Allow)).run(&["run", "--", "exit", "0"]);
    assert_eq!((told.code, told.out.as_str()), (Some(125), ""), "{told:?}");
    for says in [
        Says::effect(Effect::Unspecified),
        Says::Status(tonic::Code::Unavailable, "later"),
    ] {
        assert_eq!(Fake::says(says).run(&["run", "--", "exit", "0"]).code, Some(125));
    }
    assert_eq!(Fake::absent().run(&["run", "--", "exit", "0"]).code, Some(125));
}

#[test]
fn a_run_that_goes_wrong_is_125() {
    let fake = runner();
    golden("run-refused.txt", &shown(&fake, &fake.run(&["run", "--", "refused"])));
    let told = fake.run(&["run", "--", "vanish"]);
    assert_eq!((told.code, told.out.as_str()), (Some(125), "half"), "{told:?}");
    golden(
        "run-not-started.txt",
        &shown(&fake, &fake.run(&["run", "--", "not-started"])),
    );
}

#[test]
fn a_reader_who_goes_away_ends_the_run() {
    let fake = runner();
    let mut child = fake.program(&["run", "--", "flood"]).spawn().unwrap();
    let mut some = [0_u8; 1024];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    assert_eq!(wait(child), Some(141));
}

#[test]
fn words_that_are_no_text_are_wrong_usage() {
    use std::os::unix::ffi::OsStrExt as _;
    let fake = runner();
    for command in ["run", "decide"] {
        let mut program = fake.program(&[command, "--", "echo"]);
        let told = Told::from(program.arg(std::ffi::OsStr::from_bytes(b"\xff")).output().unwrap());
        assert_eq!(told.code, Some(2));
        assert!(told.err.contains("is not UTF-8"), "{told:?}");
    }
    assert!(fake.requests().is_empty());
}

// policy, audit

#[derive(Clone, Default)]
struct Central {
    pushes: Arc<Mutex<Vec<v1::PushRequest>>>,
    tails: Arc<Mutex<Vec<v1::TailRequest>>>,
    queries: Arc<Mutex<Vec<v1::QueryRequest>>>,
}

fn version(number: u64) -> v1::PolicyVersion {
    v1::PolicyVersion {
        version: number,
        digest: "00".repeat(32),
        author: "admin".into(),
        created_at: Some(prost_types::Timestamp {
            seconds: 1_700_000_000,
            nanos: 0,
        }),
        comment: "why".into(),
        file_name: "team.jsonc".into(),
        rule_count: 2,
        active: number == 3,
    }
}

fn fault(text: &str, words: &str, message: &str, hint: &str) -> v1::PolicyFault {
    let start = text.find(words).unwrap();
    v1::PolicyFault {
        line: 1,
        column: 1,
        start: start as u64,
        end: (start + words.len()) as u64,
        message: message.into(),
        hint: hint.into(),
    }
}

#[tonic::async_trait]
impl PolicyService for Central {
    async fn push(&self, request: Request<v1::PushRequest>) -> Result<Response<v1::PushResponse>, Status> {
        let request = request.into_inner();
        self.pushes.lock().unwrap().push(request.clone());
        if request.expected_version.is_some_and(|expected| expected != 3) {
            return Err(Status::failed_precondition("version 3 is active, not the expected one"));
        }
        let text = String::from_utf8_lossy(&request.content);
        let result = if text.contains("bash(") {
            v1::push_response::Result::Rejected(v1::PolicyFaults {
                faults: vec![
                    fault(&text, "bash(ls *)", "unknown tool `bash`", "write `Bash(ls *)`"),
                    fault(&text, "Bash()", "empty specifier", "write `Bash` for every command"),
                ],
            })
        } else {
            v1::push_response::Result::Accepted(version(4))
        };
        Ok(Response::new(v1::PushResponse {
            result: Some(result),
            warnings: Vec::new(),
        }))
    }

    async fn get(&self, request: Request<v1::GetRequest>) -> Result<Response<v1::GetResponse>, Status> {
        match request.into_inner().version {
            0 | 3 => Ok(Response::new(v1::GetResponse {
                version: Some(version(3)),
                content: b"{ /* text */ }\n".to_vec(),
            })),
            _ => Err(Status::not_found("there is no such version")),
        }
    }

    async fn list(&self, request: Request<v1::ListRequest>) -> Result<Response<v1::ListResponse>, Status> {
        let (versions, more) = match request.into_inner().before_version {
            0 => (vec![version(3), version(2)], true),
            _ => (vec![version(1)], false),
        };
        Ok(Response::new(v1::ListResponse { versions, more }))
    }
}

fn record(sequence: u64) -> v1::AuditRecord {
    use v1::audit_record::Body;
    let body = match sequence {
        3 => Body::PolicyChange(v1::PolicyChangeRecord {
            version: 2,
            previous_version: 1,
            digest: "00".repeat(32),
            comment: "why".into(),
        }),
        2 => Body::Outcome(v1::OutcomeRecord {
            decision_id: "d-1".into(),
            outcome: Some(v1::Outcome {
                end: Some(v1::outcome::End::ExitCode(0)),
                duration: Some(prost_types::Duration { seconds: 1, nanos: 0 }),
                enforcement: Some(v1::Enforcement {
                    status: v1::EnforcementStatus::Full.into(),
                    ..Default::default()
                }),
                ended_by: String::new(),
            }),
        }),
        _ => Body::Decision(v1::DecisionRecord {
            agent: Some(v1::Agent {
                name: "claude".into(),
                version: String::new(),
            }),
            tool_name: "Bash".into(),
            input_json: r#"{"command":"git push --force"}"#.into(),
            effect: Effect::Deny.into(),
            decided_by: v1::DecidedBy::Rule.into(),
            rule: denied().rule,
            ..Default::default()
        }),
    };
    v1::AuditRecord {
        record_id: format!("d-{sequence}"),
        sequence,
        time: Some(prost_types::Timestamp {
            seconds: 1_700_000_000,
            nanos: 0,
        }),
        team: "team".into(),
        principal: "dev".into(),
        host_id: String::new(),
        body: Some(body),
    }
}

#[tonic::async_trait]
impl AuditService for Central {
    type TailStream = tokio_stream::wrappers::ReceiverStream<Result<v1::TailResponse, Status>>;

    async fn query(&self, request: Request<v1::QueryRequest>) -> Result<Response<v1::QueryResponse>, Status> {
        let request = request.into_inner();
        let before = request.before_sequence;
        self.queries.lock().unwrap().push(request);
        Ok(Response::new(match before {
            0 => v1::QueryResponse {
                records: vec![record(3), record(2)],
                next_before_sequence: 2,
            },
            _ => v1::QueryResponse {
                records: vec![record(1)],
                next_before_sequence: 0,
            },
        }))
    }

    /// The first stream breaks off after two records; the second goes on and stays open.
    async fn tail(&self, request: Request<v1::TailRequest>) -> Result<Response<Self::TailStream>, Status> {
        let request = request.into_inner();
        let after = request.after_sequence.unwrap_or(u64::MAX);
        let first = {
            let mut tails = self.tails.lock().unwrap();
            tails.push(request);
            tails.len() == 1
        };
        let (sender, receiver) = tokio::sync::mpsc::channel(8);
        tokio::spawn(async move {
            let send = async |sequence| {
                let record = Some(record(sequence));
                sender.send(Ok(v1::TailResponse { record })).await
            };
            if first {
                let _ = send(after + 1).await;
                let _ = send(after + 2).await;
                let _ = sender.send(Err(Status::unavailable("shutting down"))).await;
            } else {
                // Once more what was seen, as a server may, then what is new.
                let _ = send(after).await;
                let _ = send(after + 1).await;
                sender.closed().await;
            }
        });
        Ok(Response::new(tokio_stream::wrappers::ReceiverStream::new(receiver)))
    }
}

fn central() -> (Fake, Central) {
    let (mut fake, central) = (Fake::absent(), Central::default());
    let (service, file) = (central.clone(), fake.data.path().join("server/address"));
    fake.serve(move || async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        std::fs::write(file, format!("http://{}\n", listener.local_addr().unwrap())).unwrap();
        move || async move {
            Server::builder()
                .add_service(PolicyServiceServer::new(service.clone()))
                .add_service(AuditServiceServer::new(service))
                .serve_with_incoming(TcpListenerStream::new(listener))
                .await
                .unwrap();
        }
    });
    (fake, central)
}

#[test]
fn faults_of_a_policy_are_shown_in_it_all_at_once() {
    let (fake, central) = central();
    let file = fake.data.path().join("team.jsonc");
    let file = file.to_str().unwrap();
    let bad = "{\n  \"permissions\": {\n    \"allow\": [\"bash(ls *)\", \"Bash()\"]\n  }\n}\n";
    std::fs::write(file, bad).unwrap();
    let told = fake.run(&["policy", "push", "--team", file]);
    golden("push-faults.txt", &shown(&fake, &told));
    let told = fake.run(&["policy", "push", "--team", file, "--format", "json"]);
    assert_eq!(
        (told.code, told.json()["faults"].as_array().unwrap().len()),
        (Some(2), 2)
    );
    std::fs::write(file, "{}").unwrap();
    let told = fake.run(&[
        "policy",
        "push",
        "--team",
        file,
        "--comment",
        "c",
        "--expect-version",
        "3",
    ]);
    golden("push-accepted.txt", &shown(&fake, &told));
    let told = fake.run(&["policy", "push", "--team", file, "--dry-run"]);
    assert_eq!((told.code, told.out.contains("nothing was changed")), (Some(0), true));
    let pushes = central.pushes.lock().unwrap();
    assert_eq!(
        (
            pushes[2].comment.as_str(),
            pushes[2].expected_version,
            pushes[3].dry_run
        ),
        ("c", Some(3), true)
    );
    drop(pushes);
    let told = fake.run(&["policy", "push", "--team", file, "--expect-version", "2"]);
    assert_eq!(told.code, Some(1), "{told:?}");
    std::fs::write(file, vec![b' '; 256 * 1024 + 1]).unwrap();
    assert_eq!(fake.run(&["policy", "push", "--team", file]).code, Some(2));
    assert_eq!(fake.run(&["policy", "push", "--team", "/does/not/exist"]).code, Some(1));
}

#[test]
fn versions_are_listed_over_all_pages() {
    let (fake, _central) = central();
    golden("policy-list.txt", &shown(&fake, &fake.run(&["policy", "list"])));
    let told = fake.run(&["policy", "list", "--limit", "1", "--format", "json"]);
    assert_eq!(told.json()["version"], 3);
    let told = fake.run(&["policy", "get"]);
    assert_eq!((told.code, told.out.as_str()), (Some(0), "{ /* text */ }\n"));
    assert_eq!(fake.run(&["policy", "get", "--version", "9"]).code, Some(1));
    let told = fake.run(&["policy", "get", "--format", "json"]);
    assert_eq!(told.json()["content"], "{ /* text */ }\n");
}

#[test]
fn no_server_is_exit_code_5() {
    let fake = Fake::absent();
    golden("no-server.txt", &shown(&fake, &fake.run(&["policy", "list"])));
    for command in [&["audit", "query"][..], &["audit", "tail"], &["policy", "get"]] {
        assert_eq!(fake.run(command).code, Some(5), "{command:?}");
        let plain = [command, &["--server", "http://server.example.test:1"]].concat();
        let told = fake.run(&plain);
        assert_eq!((told.code, told.err.contains("TLS")), (Some(1), true), "{told:?}");
    }
}

#[test]
fn a_query_follows_the_pages_and_keeps_the_limit() {
    let (fake, central) = central();
    golden("audit-query.txt", &shown(&fake, &fake.run(&["audit", "query"])));
    let told = fake.run(&["audit", "query", "--format", "json"]);
    golden("audit-query.jsonl", &told.out);
    assert_eq!(told.out.lines().count(), 3);
    let told = fake.run(&["audit", "query", "--limit", "1", "--format", "json"]);
    assert_eq!(told.out.lines().count(), 1);
    central.queries.lock().unwrap().clear();
    fake.run(&[
        "audit",
        "query",
        "--effect",
        "deny",
        "--kind",
        "decision",
        "--since",
        "2026-01-01T00:00:00Z",
        "--until",
        "2026-01-02T00:00:00Z",
        "--session",
        "s",
        "--principal",
        "p",
        "--tool",
        "Bash",
        "--decision",
        "d",
    ]);
    let filter = central.queries.lock().unwrap()[0].filter.clone().unwrap();
    assert_eq!(filter.effect, i32::from(Effect::Deny));
    assert_eq!(filter.kind, i32::from(v1::RecordKind::Decision));
    assert_eq!(
        (filter.since.unwrap().seconds, filter.until.unwrap().seconds),
        (1_767_225_600, 1_767_312_000)
    );
    assert_eq!(
        (
            filter.session_id,
            filter.principal,
            filter.tool_name,
            filter.decision_id
        ),
        ("s".into(), "p".into(), "Bash".into(), "d".into())
    );
    assert_eq!(fake.run(&["audit", "query", "--since", "soon"]).code, Some(2));
}

#[test]
fn a_tail_goes_on_where_it_was() {
    use std::io::BufRead as _;
    let (fake, central) = central();
    let mut child = fake.program(&["audit", "tail", "--format", "json"]).spawn().unwrap();
    let lines: Vec<u64> = std::io::BufReader::new(child.stdout.as_mut().unwrap())
        .lines()
        .take(3)
        .map(|line| {
            serde_json::from_str::<Value>(&line.unwrap()).unwrap()["sequence"]
                .as_u64()
                .unwrap()
        })
        .collect();
    // The newest record is 3; nothing is missed or shown twice when the stream breaks.
    assert_eq!(lines, [4, 5, 6]);
    let sent = Command::new("kill")
        .args(["-s", "INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
    assert_eq!(wait(child), Some(0));
    let tails = central.tails.lock().unwrap();
    assert_eq!(
        tails.iter().map(|tail| tail.after_sequence).collect::<Vec<_>>(),
        [Some(3), Some(5)]
    );
}

// trust, status, completions

#[test]
fn trust_takes_a_terminal() {
    let fake = Fake::with(|_| {});
    let project = fake.data.path().join("project");
    std::fs::create_dir(&project).unwrap();
    let project = project.to_str().unwrap();
    let program = env!("CARGO_BIN_EXE_portcullis");
    let with_data = |mut command: Command| {
        command
            .env("PORTCULLIS_DATA_DIR", fake.data.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    };
    let mut detached = Command::new("setsid");
    detached.args(["--wait", program, "trust", project]);
    let told = feed(with_data(detached), b"yes\n");
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(told.err.contains("help: run it in a terminal"), "{told:?}");
    assert!(fake.seen.lock().unwrap().trusted.is_empty());
    // The control: with a terminal, and a person who says yes; and one who says no.
    for (word, trusted) in [("no\n", 0), ("yes\n", 1)] {
        let mut terminal = Command::new("script");
        terminal.args(["-qec", &format!("{program} trust {project}"), "/dev/null"]);
        let told = feed(with_data(terminal), word.as_bytes());
        assert_eq!(fake.seen.lock().unwrap().trusted.len(), trusted, "{told:?}");
    }
    assert_eq!(fake.run(&["trust", "--list"]).out, format!("{project}\n"));
    let told = fake.run(&["trust", "--remove", project]);
    assert_eq!((told.code, told.out.contains("no longer")), (Some(0), true));
    assert!(fake.seen.lock().unwrap().trusted.is_empty());
}

fn status(failure: &str, enforcement: v1::EnforcementStatus) -> Fake {
    Fake::with(|service| {
        service.status = Arc::new(v1::StatusResponse {
            version: "0.1.0".into(),
            host_id: "ab".repeat(32),
            server: "http://127.0.0.1:7451".into(),
            server_failure: failure.into(),
            enforcement: Some(v1::Enforcement {
                status: enforcement.into(),
                mechanisms: vec!["mount_namespace".into(), "landlock".into()],
                missing: Vec::new(),
                landlock_abi: 6,
            }),
            running: 1,
            undelivered_outcomes: 0,
        });
    })
}

#[test]
fn status_is_zero_only_if_all_is_well() {
    let fake = status("", v1::EnforcementStatus::Full);
    golden("status.txt", &shown(&fake, &fake.run(&["status"])));
    let json = fake.run(&["status", "--format", "json"]).json();
    assert_eq!(json["enforcement"]["status"], "full");
    assert_eq!(
        status("connection refused", v1::EnforcementStatus::Full)
            .run(&["status"])
            .code,
        Some(1)
    );
    assert_eq!(
        status("", v1::EnforcementStatus::Partial).run(&["status"]).code,
        Some(1)
    );
    assert_eq!(
        status("", v1::EnforcementStatus::Unspecified).run(&["status"]).code,
        Some(1)
    );
    assert_eq!(Fake::absent().run(&["status"]).code, Some(5));
}

#[test]
fn help_and_completions_need_no_daemon() {
    let fake = Fake::absent();
    for shell in ["bash", "zsh", "fish"] {
        let told = fake.run(&["completions", shell]);
        assert_eq!((told.code, told.out.contains("portcullis")), (Some(0), true));
    }
    for command in [
        &["--help"][..],
        &["hook", "--help"],
        &["decide", "--help"],
        &["run", "--help"],
        &["policy", "push", "--help"],
    ] {
        let told = fake.run(command);
        assert_eq!(told.code, Some(0));
        assert!(told.out.contains("Exit codes"), "{told:?}");
    }
}
