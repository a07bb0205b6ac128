//! `portcullis policy` and `portcullis audit` against a fake server.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "helpers of tests may stop at the first surprise, as tests may"
)]

mod support;

use std::{
    io::Read as _,
    process::Command,
    sync::{Arc, Mutex},
};

use portcullis_proto::v1::{
    self, Effect,
    audit_service_server::{AuditService, AuditServiceServer},
    policy_service_server::{PolicyService, PolicyServiceServer},
};
use serde_json::Value;
use support::{Fake, denied, golden, shown, wait};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, transport::Server};

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

    async fn get_schema(&self, _: Request<v1::GetSchemaRequest>) -> Result<Response<v1::GetSchemaResponse>, Status> {
        let schema = b"{}".to_vec();
        Ok(Response::new(v1::GetSchemaResponse { schema }))
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
                hosts: Vec::new(),
                ended_by: String::new(),
                dropped_stdout: 0,
                dropped_stderr: 0,
                errno: 0,
                refusals: Vec::new(),
                warnings: Vec::new(),
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
    type ExportStream = tokio_stream::Once<Result<v1::ExportResponse, Status>>;

    /// An anchor that nobody signed.
    async fn anchor(&self, _: Request<v1::AnchorRequest>) -> Result<Response<v1::AnchorResponse>, Status> {
        let line = r#"{"portcullis_trail_anchor":1,"team":"team","checkpoints":[]}"#.to_owned();
        Ok(Response::new(v1::AnchorResponse { line }))
    }

    /// A trail that breaks off before its first line.
    async fn export(&self, _: Request<v1::ExportRequest>) -> Result<Response<Self::ExportStream>, Status> {
        let broken = Err(Status::unavailable("shutting down"));
        Ok(Response::new(tokio_stream::once(broken)))
    }

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
    let told = fake.run(&["policy", "get", "--canonical"]);
    assert_eq!((told.code, told.out.as_str()), (Some(0), "{\n  \"version\": 1\n}\n"));
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

#[test]
fn a_tail_ends_when_nobody_reads_it() {
    let (fake, _central) = central();
    let mut child = fake.program(&["audit", "tail", "--from-start"]).spawn().unwrap();
    let mut some = [0_u8; 16];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    assert_eq!(wait(child), Some(0));
}
