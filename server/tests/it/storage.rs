//! Storage that fails, hangs, is full or is slow: never an allow, never silence.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{FutureExt as _, future::BoxFuture};
use portcullis_proto::{
    trail::{Checkpoint, Item},
    v1,
};
use portcullis_server::{
    auth::TokenHash,
    serve::Seams,
    store::{
        Appended, Filter, KnownToken, NewDecision, NewOutcome, NewPolicy, NewToken, OutcomeRefused, Page,
        PolicyVersion, PushRefused, Store, StoreError, StoreFuture, StoredPolicy, StoredRecord, TeamId,
    },
};
use tokio::{
    sync::{Notify, mpsc, watch},
    time::Instant,
};

use crate::harness::{Running, facts, headless, scripted, shell, start_on, start_with};

/// What happens to the next records.
#[derive(Clone)]
enum Fault {
    Nothing,
    Fails(StoreError),
    /// Committed only once notified.
    Waits(Arc<Notify>),
    /// What is on record cannot be read.
    Unreadable(StoreError),
    /// Nor is that ever said.
    Silent,
}

/// A store with a fault in front.
struct Faulty {
    inner: Arc<dyn Store>,
    fault: Arc<Mutex<Fault>>,
}

impl Store for Faulty {
    fn append_decision(&self, decision: NewDecision, deadline: Instant) -> StoreFuture<'_, Appended> {
        let fault = self.fault.lock().unwrap().clone();
        async move {
            match fault {
                Fault::Nothing | Fault::Unreadable(_) | Fault::Silent => {
                    self.inner.append_decision(decision, deadline).await
                }
                Fault::Fails(error) => Err(error),
                Fault::Waits(gate) => {
                    gate.notified().await;
                    self.inner
                        .append_decision(decision, Instant::now() + Duration::from_secs(60))
                        .await
                }
            }
        }
        .boxed()
    }

    fn append_outcome(&self, outcome: NewOutcome, deadline: Instant) -> StoreFuture<'_, Appended, OutcomeRefused> {
        self.inner.append_outcome(outcome, deadline)
    }

    fn push_policy(&self, policy: NewPolicy, deadline: Instant) -> StoreFuture<'_, PolicyVersion, PushRefused> {
        self.inner.push_policy(policy, deadline)
    }

    fn replace_token(&self, token: NewToken, deadline: Instant) -> StoreFuture<'_, ()> {
        self.inner.replace_token(token, deadline)
    }

    fn token(&self, hash: TokenHash) -> StoreFuture<'_, KnownToken> {
        self.inner.token(hash)
    }

    fn teams(&self) -> StoreFuture<'_, Vec<TeamId>> {
        self.inner.teams()
    }

    fn policy(&self, team: TeamId, version: u64) -> StoreFuture<'_, Option<StoredPolicy>> {
        self.inner.policy(team, version)
    }

    fn policies(&self, team: TeamId, before: u64, limit: u32) -> StoreFuture<'_, Vec<PolicyVersion>> {
        self.inner.policies(team, before, limit)
    }

    fn records(&self, team: TeamId, filter: Filter, page: Page, limit: u32) -> StoreFuture<'_, Vec<StoredRecord>> {
        match self.fault.lock().unwrap().clone() {
            Fault::Unreadable(error) => async { Err(error) }.boxed(),
            Fault::Silent => std::future::pending().boxed(),
            _ => self.inner.records(team, filter, page, limit),
        }
    }

    fn head(&self, team: TeamId) -> StoreFuture<'_, u64> {
        self.inner.head(team)
    }

    fn checkpoints(&self, team: TeamId) -> StoreFuture<'_, Vec<Checkpoint>> {
        self.inner.checkpoints(team)
    }

    fn walk(&self, team: TeamId, until: u64, to: mpsc::Sender<Item>) -> StoreFuture<'_, ()> {
        self.inner.walk(team, until, to)
    }

    fn commits(&self) -> watch::Receiver<u64> {
        self.inner.commits()
    }

    fn failure(&self) -> Option<Arc<str>> {
        self.inner.failure()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.inner.close()
    }
}

async fn faulty(settings: &[(&str, &str)]) -> (Running, Arc<Mutex<Fault>>) {
    let fault = Arc::new(Mutex::new(Fault::Nothing));
    let shared = fault.clone();
    let wrap_store = Box::new(move |inner| Arc::new(Faulty { inner, fault: shared }) as Arc<dyn Store>);
    (
        start_with(
            Seams {
                wrap_store,
                ..scripted()
            },
            settings,
        )
        .await,
        fault,
    )
}

fn set(fault: &Mutex<Fault>, value: Fault) {
    *fault.lock().unwrap() = value;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_recorded_is_not_allowed_and_says_so() {
    let (server, fault) = faulty(&[]).await;
    let errors = [
        StoreError::Failed {
            attempt: "write to the database",
            cause: Arc::new(std::io::Error::other("disk full")),
        },
        StoreError::Poisoned {
            reason: "disk full".into(),
        },
        StoreError::Overloaded,
        StoreError::Late,
        StoreError::Closed,
    ];
    for error in errors {
        set(&fault, Fault::Fails(error.clone()));
        for (request, expected) in [
            (shell("allow x"), v1::Effect::Ask),
            (headless("allow x"), v1::Effect::Deny),
        ] {
            let response = server.agent().decide(request).await.unwrap().into_inner();
            assert_eq!(
                (response.effect(), response.decided_by()),
                (expected, v1::DecidedBy::Failure),
                "{error}"
            );
            assert_eq!(
                (response.decision_id.as_str(), &response.ticket, &response.sandbox),
                ("", &None, &None)
            );
            assert!(
                response.user_message.contains(&error.with_causes()),
                "{}",
                response.user_message
            );
        }
        for (command, expected) in [("ask x", v1::Effect::Ask), ("deny x", v1::Effect::Deny)] {
            let response = server.agent().decide(shell(command)).await.unwrap().into_inner();
            assert_eq!((response.effect(), response.decision_id.as_str()), (expected, ""));
            assert!(
                response.user_message.contains("not recorded"),
                "{}",
                response.user_message
            );
        }
    }
    set(&fault, Fault::Nothing);
    let response = server.agent().decide(shell("allow x")).await.unwrap().into_inner();
    assert_eq!(response.effect(), v1::Effect::Allow, "the control");
}

#[tokio::test(flavor = "multi_thread")]
async fn storage_that_is_too_slow_is_no_allow_and_a_late_commit_gets_an_outcome_that_says_so() {
    let (server, fault) = faulty(&[("decide_deadline_ms", "2000")]).await;
    let gate = Arc::new(Notify::new());
    set(&fault, Fault::Waits(gate.clone()));
    let response = server.agent().decide(shell("allow x")).await.unwrap().into_inner();
    assert_eq!(
        (response.effect(), response.decided_by()),
        (v1::Effect::Ask, v1::DecidedBy::Failure)
    );
    assert_eq!(server.decision_records().await.len(), 0);

    let mut tail = server
        .trail()
        .tail(v1::TailRequest {
            filter: None,
            after_sequence: Some(1),
        })
        .await
        .unwrap()
        .into_inner();
    gate.notify_one();
    let mut next = async || tail.message().await.unwrap().unwrap().record.unwrap();
    let (decision, outcome) = (next().await, next().await);
    let Some(v1::audit_record::Body::Outcome(outcome_record)) = outcome.body else {
        panic!("{outcome:?}")
    };
    assert_eq!(outcome_record.decision_id, decision.record_id);
    assert_eq!(outcome.principal, "portcullis-server");
    let end = outcome_record.outcome.unwrap().end;
    assert!(matches!(end, Some(v1::outcome::End::NotStarted(reason)) if reason.contains("too late")));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_full_disk_nothing_is_allowed_until_a_restart() {
    let temp = tempfile::tempdir().unwrap();
    // 60 pages of 4 KiB: enough to start, soon full.
    let seams = Seams {
        max_pages: Some(80),
        ..scripted()
    };
    let server = start_on(temp.path(), seams, &[]).await.unwrap();
    let mut health = tonic_health::pb::health_client::HealthClient::new(server.channel.clone());
    let request = tonic_health::pb::HealthCheckRequest {
        service: "portcullis.v1.DecisionService".into(),
    };
    let mut health = health.watch(request).await.unwrap().into_inner();
    let serving = health.message().await.unwrap().unwrap().status();
    assert_eq!(serving, tonic_health::pb::health_check_response::ServingStatus::Serving);
    let padding = "x".repeat(8000);
    let mut recorded = 1;
    let failed = loop {
        let response = server
            .agent()
            .decide(shell(&format!("allow {padding}")))
            .await
            .unwrap()
            .into_inner();
        if response.effect() != v1::Effect::Allow {
            break response;
        }
        recorded += 1;
        assert!(recorded < 100, "the disk never fills");
    };
    assert!(recorded > 1, "it worked before");
    assert_eq!(
        (failed.effect(), failed.decided_by()),
        (v1::Effect::Ask, v1::DecidedBy::Failure)
    );
    assert!(failed.user_message.contains("full"), "{}", failed.user_message);
    // A small record would fit, but what is on the disk is not known any more.
    let small = server.agent().decide(shell("allow x")).await.unwrap().into_inner();
    assert_eq!(small.effect(), v1::Effect::Ask);
    assert!(small.user_message.contains("restart"), "{}", small.user_message);
    assert!(server.server.sqlite().failure().is_some());
    let serving = health.message().await.unwrap().unwrap().status();
    assert_eq!(
        serving,
        tonic_health::pb::health_check_response::ServingStatus::NotServing
    );
    drop(health);
    server.server.stop().await.unwrap();

    let server = start_on(temp.path(), scripted(), &[]).await.unwrap();
    let response = server.agent().decide(shell("allow x")).await.unwrap().into_inner();
    assert_eq!(response.effect(), v1::Effect::Allow);
    let sequences: Vec<_> = server
        .records(Default::default())
        .await
        .iter()
        .map(|record| record.sequence)
        .collect();
    assert_eq!(
        sequences,
        (1..=recorded + 1).rev().collect::<Vec<_>>(),
        "what was answered is there, without a gap"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_ask_at_once_share_commits() {
    let server = start_with(scripted(), &[]).await;
    let before = (
        server.server.sqlite().counters().commits(),
        server.server.sqlite().counters().writes(),
    );
    let mut asking = Vec::new();
    for client in 0..8 {
        let mut agent = server.agent();
        asking.push(tokio::spawn(async move {
            let calls = (0..12).map(|at| {
                let mut agent = agent.clone();
                async move {
                    agent
                        .decide(shell(&format!("allow {client} {at}")))
                        .await
                        .unwrap()
                        .into_inner()
                }
            });
            let answers = futures_util::future::join_all(calls).await;
            agent.decide(shell("allow last")).await.unwrap();
            answers
        }));
    }
    let mut ids = Vec::new();
    for answers in asking {
        ids.extend(
            answers
                .await
                .unwrap()
                .into_iter()
                .map(|answer| (answer.effect(), answer.decision_id)),
        );
    }
    assert!(
        ids.iter()
            .all(|(effect, id)| *effect == v1::Effect::Allow && !id.is_empty())
    );
    let counters = server.server.sqlite().counters();
    let (commits, writes) = (counters.commits() - before.0, counters.writes() - before.1);
    assert_eq!(writes, 8 * 13);
    assert!(commits < writes, "{commits} commits for {writes} records");
    let records = server.decision_records().await;
    assert_eq!(records.len(), 8 * 13);
    for (_, id) in ids {
        assert!(
            records.iter().any(|(record, _)| record.record_id == id),
            "an answer without a record"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_of_what_cannot_be_read_is_no_allow_and_says_so() {
    let (server, fault) = faulty(&[]).await;
    let mut host = server.host();
    let retry = |of: &str, line: &str| v1::DecideRequest {
        facts: Some(facts()),
        retry_of: of.to_owned(),
        ..shell(line)
    };
    let before = host.decide(retry("", "allow x")).await.unwrap().into_inner();
    assert_eq!(before.effect(), v1::Effect::Allow, "positive control");
    let unreadable = StoreError::Failed {
        attempt: "read the trail",
        cause: Arc::new(std::io::Error::other("disk gone")),
    };
    for (broken, words) in [
        (Fault::Unreadable(unreadable), "disk gone"),
        (Fault::Silent, "not read in time"),
    ] {
        set(&fault, broken);
        let answer = host
            .decide(retry(&before.decision_id, "allow x"))
            .await
            .unwrap()
            .into_inner();
        assert_eq!(
            (answer.effect(), answer.decided_by()),
            (v1::Effect::Ask, v1::DecidedBy::Failure)
        );
        assert!(answer.user_message.contains(words), "{}", answer.user_message);
        let denied = host
            .decide(retry(&before.decision_id, "deny x"))
            .await
            .unwrap()
            .into_inner();
        assert_eq!(denied.effect(), v1::Effect::Deny);
        set(&fault, Fault::Nothing);
        let record = server.decision_records().await.swap_remove(1).1;
        assert_eq!(record.retry_of, before.decision_id);
        assert_eq!(record.retry_evidence.unwrap().finding(), v1::RetryFinding::NotRead);
    }
}
