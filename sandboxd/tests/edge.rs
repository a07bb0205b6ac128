//! The edge: facts are the host's, failures are never an allow, caller's faults are passed on.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "only tests are here"
)]

mod support;

use portcullis_proto::v1::decision_service_server::DecisionServiceServer;
use portcullis_proto::v1::*;
use support::{Host, with_token};
use tonic::{Code, Status};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clients_facts_are_dropped_and_the_hosts_are_added() {
    let host = Host::start().await;
    std::fs::create_dir_all(host.workspace.join(".git/objects")).unwrap();
    std::fs::write(host.workspace.join(".git/HEAD"), "x").unwrap();
    std::fs::write(host.workspace.join(".git/config"), "[core]\nfsmonitor = x\n").unwrap();
    std::fs::create_dir_all(host.workspace.join(".portcullis")).unwrap();
    std::fs::write(host.workspace.join(".portcullis/policy.jsonc"), "{}").unwrap();
    let mut question = host.question(&["git", "status"]);
    question.facts = Some(HostFacts {
        project_trusted: true,
        host_id: "f".repeat(64),
        ..HostFacts::default()
    });
    host.decide(question).await.unwrap();
    let (asked, metadata) = host.server.asked.lock().unwrap().pop().unwrap();
    let facts = asked.facts.unwrap();
    assert_eq!(facts.host_id, host.daemon.host_id);
    assert!(
        !facts.project_trusted && facts.failures.is_empty(),
        "{:?}",
        facts.failures
    );
    assert_eq!(facts.uid, rustix::process::getuid().as_raw());
    let repository = facts.repository.unwrap();
    assert_eq!(
        (repository.state(), repository.executing_keys.as_slice()),
        (RepositoryState::Read, &["core.fsmonitor".to_owned()][..])
    );
    assert_eq!(facts.documents.len(), 1);
    assert_eq!(facts.sandbox.unwrap().status(), EnforcementStatus::Full);
    assert!(facts.own_secret_paths.iter().any(|path| path.ends_with("/tokens")));
    assert_eq!(metadata.get("authorization").unwrap(), "Bearer host");
    assert_eq!(
        metadata.get("portcullis-agent-authorization").unwrap(),
        support::AGENT_TOKEN
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_is_passed_on_as_the_client_says_it() {
    let host = Host::start().await;
    let before = "0190b5a4-0000-7000-8000-000000000000";
    for said in [before, ""] {
        let mut question = host.question(&["true"]);
        question.retry_of = said.to_owned();
        host.decide(question).await.unwrap();
        let (asked, _) = host.server.asked.lock().unwrap().pop().unwrap();
        assert_eq!(asked.retry_of, said);
        assert!(asked.facts.is_some());
    }
    // What is wrong with it is the server's to say, and reaches the caller.
    let mut question = host.question(&["true"]);
    question.retry_of = "x".to_owned();
    let status = host.decide(question).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("`retry_of`"), "{status}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trust_is_the_persons_and_survives_a_restart() {
    let mut host = Host::start().await;
    std::fs::create_dir(host.workspace.join(".git")).unwrap();
    let root = host.workspace.to_str().unwrap().to_owned();
    let trusted = host
        .host()
        .trust_project(TrustProjectRequest { root: root.clone() })
        .await
        .unwrap()
        .into_inner();
    assert_eq!(trusted.root, root);
    host.restart().await;
    host.decide(host.question(&["true"])).await.unwrap();
    assert!(
        host.server
            .asked
            .lock()
            .unwrap()
            .pop()
            .unwrap()
            .0
            .facts
            .unwrap()
            .project_trusted
    );
    let listed = host
        .host()
        .list_trusted_projects(ListTrustedProjectsRequest {})
        .await
        .unwrap()
        .into_inner();
    assert_eq!(listed.roots, std::slice::from_ref(&root));
    let taken = host
        .host()
        .untrust_project(UntrustProjectRequest { root })
        .await
        .unwrap()
        .into_inner();
    assert!(taken.was_trusted);
    host.decide(host.question(&["true"])).await.unwrap();
    assert!(
        !host
            .server
            .asked
            .lock()
            .unwrap()
            .pop()
            .unwrap()
            .0
            .facts
            .unwrap()
            .project_trusted
    );
    for root in ["relative", "/nowhere/at/all"] {
        let refused = host
            .host()
            .trust_project(TrustProjectRequest { root: root.to_owned() })
            .await
            .unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_server_the_answer_is_ask_or_deny() {
    let host = Host::start().await;
    host.server_stop.cancel();
    let check = async |change: fn(&mut DecideRequest), wanted: Effect| {
        let mut question = host.question(&["true"]);
        change(&mut question);
        let answer = host.decide(question).await.unwrap();
        assert_eq!((answer.effect(), answer.decided_by()), (wanted, DecidedBy::Failure));
        assert!(answer.decision_id.is_empty() && answer.ticket.is_none());
        assert!(answer.user_message.contains("not recorded"), "{}", answer.user_message);
    };
    check(|_| {}, Effect::Ask).await;
    check(
        |question| question.interactivity = Interactivity::Headless.into(),
        Effect::Deny,
    )
    .await;
    check(|question| question.mode = Mode::DontAsk.into(), Effect::Deny).await;
    check(|question| question.mode = Mode::Bypass.into(), Effect::Ask).await;
    std::fs::remove_file(host.places.server_address()).unwrap();
    check(|_| {}, Effect::Ask).await;
    let mut decisions = host.decisions();
    let explained = decisions.explain(with_token(ExplainRequest {
        request: Some(host.question(&["true"])),
    }));
    assert_eq!(explained.await.unwrap_err().code(), Code::Unavailable);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_answers_and_decides_nothing_is_not_well() {
    let host = Host::start().await;
    let status = host.host().status(StatusRequest {}).await.unwrap().into_inner();
    assert_eq!(status.server_failure, "");
    let health = host.server.health.lock().unwrap().clone().unwrap();
    health.set_not_serving::<DecisionServiceServer<support::Handle>>().await;
    let status = host.host().status(StatusRequest {}).await.unwrap().into_inner();
    assert!(status.server_failure.contains("decides nothing"), "{status:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_callers_own_faults_are_passed_on() {
    let host = Host::start().await;
    for code in [Code::InvalidArgument, Code::Unauthenticated, Code::PermissionDenied] {
        host.script(|script| script.refuse = Some(Status::new(code, "because")));
        let status = host.decide(host.question(&["true"])).await.unwrap_err();
        assert_eq!((status.code(), status.message()), (code, "because"));
    }
    for code in [
        Code::Internal,
        Code::Unavailable,
        Code::ResourceExhausted,
        Code::Unknown,
        Code::NotFound,
    ] {
        host.script(|script| script.refuse = Some(Status::new(code, "because")));
        let answer = host.decide(host.question(&["true"])).await.unwrap();
        assert_eq!(
            (answer.effect(), answer.decided_by()),
            (Effect::Ask, DecidedBy::Failure),
            "{code:?}"
        );
    }
    let without_token = host.decisions().decide(host.question(&["true"])).await.unwrap_err();
    assert_eq!(without_token.code(), Code::Unauthenticated);
    let mut broken = host.question(&["true"]);
    broken.call = None;
    assert_eq!(host.decide(broken).await.unwrap_err().code(), Code::InvalidArgument);
    let outcome = host
        .decisions()
        .report_outcome(with_token(ReportOutcomeRequest::default()))
        .await
        .unwrap_err();
    assert_eq!(outcome.code(), Code::Unimplemented);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explaining_carries_the_hosts_facts() {
    let host = Host::start().await;
    let request = ExplainRequest {
        request: Some(host.question(&["true"])),
    };
    let answer = host
        .decisions()
        .explain(with_token(request))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(answer.user_message, host.daemon.host_id);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_daemon_is_refused_and_a_dead_ones_socket_replaced() {
    use portcullis_sandboxd::serve::{Options, bind};
    let mut host = Host::start().await;
    let options = || Options {
        ca_file: None,
        places: host.places.clone(),
        socket: None,
        server: None,
    };
    let error = bind(options()).await.expect_err("a refusal").to_string();
    assert!(error.contains("another portcullis-sandboxd"), "{error}");
    let options = options();
    host.stop().await;
    // A socket that nobody listens on any more.
    drop(std::os::unix::net::UnixListener::bind(host.places.socket()).unwrap());
    assert!(host.places.socket().exists());
    drop(bind(options.clone()).await.unwrap());
    // One that somebody else listens on stays.
    std::fs::remove_file(host.places.socket()).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(host.places.socket()).unwrap();
    let error = bind(options).await.expect_err("a refusal").to_string();
    assert!(error.contains("cannot listen"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paths_and_programs_of_a_call_are_looked_up() {
    let host = Host::start().await;
    std::fs::create_dir(host.workspace.join("d")).unwrap();
    std::os::unix::fs::symlink("/nowhere/at/all", host.workspace.join("link")).unwrap();
    host.decide(host.question(&["cat", "d/../link", "new"])).await.unwrap();
    let facts = host.server.asked.lock().unwrap().pop().unwrap().0.facts.unwrap();
    let real = |name: &str| {
        let path = host.workspace.join(name).to_str().unwrap().to_owned();
        let fact = facts
            .paths
            .iter()
            .find(|fact| fact.path == path)
            .unwrap_or_else(|| panic!("{name}: {facts:?}"));
        (fact.real_path.clone(), fact.kind())
    };
    assert_eq!(real("link"), ("/nowhere/at/all".to_owned(), PathKind::Absent));
    assert_eq!(
        real("new"),
        (
            host.workspace.join("new").to_str().unwrap().to_owned(),
            PathKind::Absent
        )
    );
    let cat = facts.programs.iter().find(|program| program.name == "cat").unwrap();
    assert!(
        cat.path.starts_with('/') && cat.path.ends_with("cat") || cat.path.contains("coreutils"),
        "{cat:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_paths_are_looked_up_in_time() {
    let host = Host::start().await;
    let names: Vec<String> = (0..10_000).map(|at| format!("f{at}")).collect();
    let argv: Vec<&str> = std::iter::once("cat").chain(names.iter().map(String::as_str)).collect();
    let answer = host.decide(host.question(&argv)).await.unwrap();
    assert_eq!(answer.effect(), Effect::Allow);
    let facts = host.server.asked.lock().unwrap().pop().unwrap().0.facts.unwrap();
    assert!(
        facts.paths.len() >= 10_000 && facts.failures.is_empty(),
        "{} {:?}",
        facts.paths.len(),
        facts.failures
    );
}
