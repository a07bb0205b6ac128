//! Who may do what: every call without a token, with a wrong one, and with one of too little power.

use portcullis_tests::{
    Policy, Role, Stack,
    grpc::{Connection, Credentials},
    v1,
};
use tonic::Code;

/// A token of the right form that no server has made.
const STRANGER: &str = "pcl_admin_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// What every call answers to this caller.
async fn answers(stack: &Stack, caller: &Connection) -> Vec<(&'static str, Result<(), Code>)> {
    fn code<T>(answer: Result<T, tonic::Status>) -> Result<(), Code> {
        answer.map(drop).map_err(|status| status.code())
    }
    let push = v1::PushRequest {
        content: Policy::new().text().into_bytes(),
        file_name: "team.jsonc".into(),
        ..v1::PushRequest::default()
    };
    let explain = v1::ExplainRequest {
        request: Some(stack.bash("echo hello")),
    };
    let outcome = v1::ReportOutcomeRequest {
        decision_id: uuid::Uuid::now_v7().to_string(),
        outcome: Some(v1::Outcome::default()),
    };
    vec![
        (
            "Decide",
            code(caller.decisions().decide(stack.bash("echo hello")).await),
        ),
        ("Explain", code(caller.decisions().explain(explain).await)),
        ("ReportOutcome", code(caller.decisions().report_outcome(outcome).await)),
        (
            "ListTicketKeys",
            code(caller.decisions().list_ticket_keys(v1::ListTicketKeysRequest {}).await),
        ),
        ("Push", code(caller.policies().push(push).await)),
        ("Get", code(caller.policies().get(v1::GetRequest::default()).await)),
        ("List", code(caller.policies().list(v1::ListRequest::default()).await)),
        ("Query", code(caller.audit().query(v1::QueryRequest::default()).await)),
        ("Tail", code(caller.audit().tail(v1::TailRequest::default()).await)),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_right_token_every_call_is_refused() {
    let stack = Stack::start_server_only();
    let admin = stack.server_as(Role::Admin).await;
    let mut cut = stack.token(Role::Admin);
    cut.pop();
    for (what, credentials) in [
        ("no token", Credentials::none()),
        ("an unknown token", Credentials::token(STRANGER)),
        ("a cut token", Credentials::token(&cut)),
        ("an empty token", Credentials::token("")),
    ] {
        for (call, answer) in answers(&stack, &admin.as_if(credentials)).await {
            assert_eq!(answer, Err(Code::Unauthenticated), "{call} with {what}");
        }
    }
    // Positive control: the same calls with the right one. What only a host may is not the admin's.
    for (call, answer) in answers(&stack, &admin).await {
        let host_only = matches!(call, "ReportOutcome" | "ListTicketKeys");
        assert_eq!(
            answer,
            if host_only { Err(Code::PermissionDenied) } else { Ok(()) },
            "{call} as admin"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_may_decide_and_nothing_else() {
    let stack = Stack::start_server_only();
    let agent = stack.server_as(Role::Agent).await;
    for (call, answer) in answers(&stack, &agent).await {
        let may = matches!(call, "Decide" | "Explain");
        assert_eq!(
            answer,
            if may { Ok(()) } else { Err(Code::PermissionDenied) },
            "{call} as agent"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_speaks_only_for_an_agent_it_can_name() {
    let stack = Stack::start_server_only();
    let connection = stack.server_as(Role::Host).await;
    let host = stack.token(Role::Host);
    let mut request = stack.bash("echo hello");
    request.facts = Some(v1::HostFacts {
        host_id: "ab".repeat(32),
        ..v1::HostFacts::default()
    });
    let decide = async |credentials| {
        let mut decisions = connection.as_if(credentials).decisions();
        let answer = decisions.decide(request.clone()).await;
        answer.map(drop).map_err(|status| status.code())
    };
    let agent = stack.token(Role::Agent);
    assert_eq!(
        decide(Credentials::host_for(&host, &agent)).await,
        Ok(()),
        "positive control"
    );
    assert_eq!(
        decide(Credentials::host_for(&host, STRANGER)).await,
        Err(Code::Unauthenticated)
    );
    assert!(
        decide(Credentials::host_for(&host, &host)).await.is_err(),
        "a host is no agent"
    );
    assert!(
        decide(Credentials::token(&host)).await.is_err(),
        "a host has no calls of its own"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn sandboxd_passes_the_refusal_on() {
    let stack = Stack::start();
    let agent = stack.sandboxd_as(Role::Agent).await;
    assert!(
        agent.decisions().decide(stack.bash("echo hello")).await.is_ok(),
        "positive control"
    );
    for credentials in [Credentials::none(), Credentials::token(STRANGER)] {
        let answer = agent
            .as_if(credentials)
            .decisions()
            .decide(stack.bash("echo hello"))
            .await;
        assert_eq!(answer.unwrap_err().code(), Code::Unauthenticated);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn facts_from_an_agent_do_not_widen() {
    let stack = Stack::start();
    stack.push_team(&Policy::new());
    let agent = stack.server_as(Role::Agent).await;
    let mut request = stack.bash("make test");
    let document = v1::HostDocument {
        format: v1::DocumentFormat::Native.into(),
        layer: v1::Layer::User.into(),
        path: stack
            .home()
            .join(".config/portcullis/policy.jsonc")
            .to_str()
            .unwrap()
            .into(),
        content: Policy::new().allow("Bash(make *)").text().into_bytes(),
    };
    request.facts = Some(v1::HostFacts {
        host_id: "0".repeat(64),
        project_trusted: true,
        documents: vec![document],
        ..v1::HostFacts::default()
    });
    let answer = agent.decisions().decide(request.clone()).await;
    assert!(
        answer
            .as_ref()
            .map_or(true, |answer| answer.get_ref().effect() != v1::Effect::Allow),
        "straight to the server: {answer:?}"
    );
    let agent = stack.sandboxd_as(Role::Agent).await;
    let answer = agent.decisions().decide(request).await.unwrap().into_inner();
    assert_eq!(
        answer.effect(),
        v1::Effect::Ask,
        "through sandboxd, which has its own: {answer:?}"
    );
    // Positive control: the same document, where sandboxd finds it.
    stack.write_user_policy(&Policy::new().allow("Bash(make *)"));
    let answer = agent
        .decisions()
        .decide(stack.bash("make test"))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(answer.effect(), v1::Effect::Allow, "{answer:?}");
}

#[test]
fn the_programs_say_which_token_was_refused() {
    let stack = Stack::start_server_only();
    let file = stack.base().join("stranger.token");
    std::fs::write(&file, format!("{STRANGER}\n")).unwrap();
    let output = stack
        .portcullis(["policy", "list", "--token-file"])
        .args([&file])
        .output();
    assert!(
        output.code != 0 && output.stderr.contains("token"),
        "{}: {}",
        output.code,
        output.text()
    );
    assert!(!output.text().contains(STRANGER), "a token was printed");
    let _ = stack.portcullis(["policy", "list"]).output().expect_code(0);
}
