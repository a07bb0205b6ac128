//! Requests as an agent would send them, and questions to the trail.

use prost_types::Timestamp;
use serde_json::json;

use crate::{
    PATIENCE, Stack,
    grpc::Connection,
    v1::{self, AuditRecord, DecideRequest, audit_record::Body},
};

impl Stack {
    /// Asks whether `tool` may be called with `input`, interactively, in the default mode, in the project.
    #[must_use]
    pub fn call(&self, tool: &str, input: &serde_json::Value) -> DecideRequest {
        let project = self.project().to_str().unwrap().to_owned();
        DecideRequest {
            request_id: uuid::Uuid::now_v7().to_string(),
            agent: Some(v1::Agent {
                name: "tester".into(),
                version: "1".into(),
            }),
            session_id: "session-1".into(),
            mode: v1::Mode::Default.into(),
            interactivity: v1::Interactivity::Interactive.into(),
            workspace: Some(v1::Workspace {
                roots: vec![project.clone()],
                cwd: project,
                home: self.home().to_str().unwrap().into(),
            }),
            call: Some(v1::ToolCall {
                tool_name: tool.into(),
                input_json: input.to_string().into_bytes(),
                tool_use_id: String::new(),
            }),
            ..DecideRequest::default()
        }
    }

    /// Asks whether a shell command may run.
    #[must_use]
    pub fn bash(&self, command: &str) -> DecideRequest {
        self.call("Bash", &json!({ "command": command }))
    }

    /// Asks whether sandboxd may run a program. The words need no quoting.
    #[must_use]
    pub fn execution(&self, argv: &[&str]) -> DecideRequest {
        let mut request = self.bash(&portcullis_policy::shell::quote(argv));
        request.execution = Some(v1::Execution {
            argv: argv.iter().map(|word| (*word).to_owned()).collect(),
            ..v1::Execution::default()
        });
        request
    }
}

/// The whole trail, oldest first.
pub async fn trail(auditor: &Connection) -> Vec<AuditRecord> {
    let mut records = Vec::new();
    let mut before_sequence = 0;
    loop {
        let page = auditor
            .audit()
            .query(v1::QueryRequest {
                filter: None,
                page_size: 1000,
                before_sequence,
            })
            .await
            .unwrap()
            .into_inner();
        records.extend(page.records);
        before_sequence = page.next_before_sequence;
        if before_sequence == 0 {
            break;
        }
    }
    records.reverse();
    records
}

/// Fails the test unless the records are numbered 1, 2, 3, … in order of time.
#[track_caller]
pub fn expect_gapless(records: &[AuditRecord]) {
    for (wanted, record) in (1..).zip(records) {
        assert_eq!(record.sequence, wanted, "a gap in the trail before {record:?}");
    }
    let times: Vec<Timestamp> = records.iter().map(|record| record.time.unwrap()).collect();
    assert!(
        times
            .windows(2)
            .all(|pair| (pair[0].seconds, pair[0].nanos) <= (pair[1].seconds, pair[1].nanos)),
        "time runs backwards in the trail"
    );
}

/// The decision under this id.
#[must_use]
pub fn decision<'a>(records: &'a [AuditRecord], id: &str) -> Option<&'a v1::DecisionRecord> {
    records.iter().find_map(|record| match &record.body {
        Some(Body::Decision(decision)) if record.record_id == id => Some(decision),
        _ => None,
    })
}

/// The first outcome of the trail, as soon as it is there: sandboxd delivers it after the command's end.
pub async fn first_outcome(auditor: &Connection) -> v1::OutcomeRecord {
    let outcomes = v1::RecordFilter {
        kind: v1::RecordKind::Outcome.into(),
        ..v1::RecordFilter::default()
    };
    let request = v1::TailRequest {
        filter: Some(outcomes),
        after_sequence: Some(0),
    };
    let mut tail = auditor.audit().tail(request).await.unwrap().into_inner();
    let record = tokio::time::timeout(PATIENCE, tail.message())
        .await
        .expect("an outcome is recorded in time")
        .unwrap()
        .and_then(|answer| answer.record)
        .expect("a tail has no end");
    match record.body {
        Some(Body::Outcome(outcome)) => outcome,
        other => panic!("no outcome: {other:?}"),
    }
}
