//! What holds for every call: TLS, bounds, reflection.

use std::sync::{Arc, Mutex, mpsc};

use portcullis_policy::{EffectiveRuleset, Request as Question, Verdict};
use portcullis_proto::v1;
use portcullis_server::{
    auth::Role,
    config::Tls,
    failure,
    serve::{Seams, Server},
};
use tokio::sync::mpsc::unbounded_channel;
use tonic::{
    Code,
    transport::{Certificate, ClientTlsConfig, Endpoint},
};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use crate::harness::{config, decision, scripted, shell, start, start_with};

#[tokio::test(flavor = "multi_thread")]
async fn with_a_certificate_it_speaks_tls_and_nothing_else() {
    let temp = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let tls = Tls {
        certificate: temp.path().join("tls.pem"),
        key: temp.path().join("tls.key"),
    };
    std::fs::write(&tls.certificate, made.cert.pem()).unwrap();
    std::fs::write(&tls.key, made.signing_key.serialize_pem()).unwrap();
    let mut config = config(&temp.path().join("data"), &[]);
    config.listen.tls = Some(tls);
    let server = Server::start(&config, scripted()).await.unwrap();
    assert!(server.url().starts_with("https://127.0.0.1:"));

    let trusting = ClientTlsConfig::new()
        .domain_name("localhost")
        .ca_certificate(Certificate::from_pem(made.cert.pem()));
    let endpoint = Endpoint::from_shared(server.url().to_owned())
        .unwrap()
        .tls_config(trusting)
        .unwrap();
    let request = || HealthCheckRequest { service: String::new() };
    HealthClient::new(endpoint.connect().await.unwrap())
        .check(request())
        .await
        .unwrap();

    let stranger = ClientTlsConfig::new().domain_name("localhost");
    let endpoint = Endpoint::from_shared(server.url().to_owned())
        .unwrap()
        .tls_config(stranger)
        .unwrap();
    assert!(
        endpoint.connect().await.is_err(),
        "a client that does not know the certificate"
    );
    let plain = Endpoint::from_shared(format!("http://{}", server.address()))
        .unwrap()
        .connect_lazy();
    assert!(
        HealthClient::new(plain).check(request()).await.is_err(),
        "a client without TLS"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_no_certificate_are_named() {
    let temp = tempfile::tempdir().unwrap();
    let tls = Tls {
        certificate: temp.path().join("tls.pem"),
        key: temp.path().join("tls.key"),
    };
    let mut config = config(&temp.path().join("data"), &[]);
    config.listen.tls = Some(tls.clone());
    let text = failure::chain(&Server::start(&config, scripted()).await.err().unwrap());
    assert!(text.contains("tls.pem") && text.contains("No such file"), "{text}");
    std::fs::write(&tls.certificate, "x").unwrap();
    std::fs::write(&tls.key, "x").unwrap();
    let text = failure::chain(&Server::start(&config, scripted()).await.err().unwrap());
    assert!(text.contains("tls.pem") && text.contains("tls.key"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn more_calls_than_the_limit_are_refused_and_health_still_answers() {
    let (entered, mut inside) = unbounded_channel();
    let (release, blocked) = mpsc::channel::<()>();
    let blocked = Mutex::new(blocked);
    let evaluator = move |_: &EffectiveRuleset, _: &Question| {
        entered.send(()).unwrap();
        blocked.lock().unwrap().recv().unwrap();
        decision(Verdict::Allow, "x")
    };
    let seams = Seams {
        evaluator: Arc::new(evaluator),
        ..Default::default()
    };
    let settings = [
        ("max_calls", "1"),
        ("decide_deadline_ms", "60000"),
        ("call_timeout_ms", "60000"),
    ];
    let server = start_with(seams, &settings).await;
    let mut agent = server.agent();
    let first = tokio::spawn(async move { agent.decide(shell("x")).await });
    inside.recv().await.unwrap();

    let status = server.agent().decide(shell("x")).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    let request = HealthCheckRequest { service: String::new() };
    HealthClient::new(server.channel.clone()).check(request).await.unwrap();

    release.send(()).unwrap();
    assert_eq!(first.await.unwrap().unwrap().into_inner().effect(), v1::Effect::Allow);
    release.send(()).unwrap();
    let after = server.agent().decide(shell("x")).await.unwrap().into_inner();
    assert_eq!(after.effect(), v1::Effect::Allow, "there is room again");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_beyond_the_limit_wait_until_one_ends() {
    let server = start_with(scripted(), &[("max_connections", "1")]).await;
    let endpoint = Endpoint::from_shared(server.server.url().to_owned()).unwrap();
    let request = || HealthCheckRequest { service: String::new() };
    // The harness holds the only connection.
    let mut waiting = Box::pin(async {
        let channel = endpoint.connect().await.unwrap();
        HealthClient::new(channel).check(request()).await.unwrap();
    });
    let mut held = HealthClient::new(server.channel.clone());
    for _ in 0..20 {
        tokio::select! {
            biased;
            () = &mut waiting => panic!("two connections at a time"),
            answer = held.check(request()) => drop(answer.unwrap()),
        }
    }
    drop(held);
    let crate::harness::Running { server, channel, .. } = server;
    drop(channel);
    waiting.await;
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_at_work_end_before_the_server_does() {
    let (entered, mut inside) = unbounded_channel();
    let (release, blocked) = mpsc::channel::<()>();
    let blocked = Mutex::new(blocked);
    let evaluator = move |_: &EffectiveRuleset, _: &Question| {
        entered.send(()).unwrap();
        blocked.lock().unwrap().recv().unwrap();
        decision(Verdict::Allow, "x")
    };
    let seams = Seams {
        evaluator: Arc::new(evaluator),
        ..Default::default()
    };
    let temp = tempfile::tempdir().unwrap();
    let server = crate::harness::start_on(temp.path(), seams, &[]).await.unwrap();
    let mut agent = server.agent();
    let asked = tokio::spawn(async move { agent.decide(shell("x")).await });
    inside.recv().await.unwrap();
    let stopping = tokio::spawn(server.server.stop());
    release.send(()).unwrap();
    let answer = asked.await.unwrap().unwrap().into_inner();
    assert_eq!(answer.effect(), v1::Effect::Allow);
    stopping.await.unwrap().unwrap();
    let server = crate::harness::start_on(temp.path(), scripted(), &[]).await.unwrap();
    assert_eq!(server.decision_records().await[0].0.record_id, answer.decision_id);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_method_is_closed() {
    let server = start().await;
    let mut client = tonic::client::Grpc::new(server.channel.clone());
    for path in [
        "/portcullis.v1.DecisionService/Grant",
        "/portcullis.v1.SandboxService/Capabilities",
        "/x",
    ] {
        client.ready().await.unwrap();
        let codec = tonic_prost::ProstCodec::<v1::ListTicketKeysRequest, v1::ListTicketKeysResponse>::default();
        let mut request = tonic::Request::new(v1::ListTicketKeysRequest {});
        let bearer = format!("Bearer {}", server.token(Role::Admin));
        request.metadata_mut().insert("authorization", bearer.parse().unwrap());
        let status = client.unary(request, path.parse().unwrap(), codec).await.unwrap_err();
        assert_eq!(status.code(), Code::Unimplemented, "{path}");
    }
}

async fn reflected(server: &crate::harness::Running) -> Result<Vec<String>, tonic::Status> {
    use tonic_reflection::pb::v1::{
        ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
        server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
    };
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut client = ServerReflectionClient::new(server.channel.clone());
    let mut answers = client
        .server_reflection_info(futures_util::stream::iter([request]))
        .await?
        .into_inner();
    match answers.message().await?.unwrap().message_response {
        Some(MessageResponse::ListServicesResponse(list)) => {
            Ok(list.service.into_iter().map(|service| service.name).collect())
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reflection_names_the_services_unless_it_is_switched_off() {
    let names = reflected(&start().await).await.unwrap();
    for service in [
        "portcullis.v1.DecisionService",
        "portcullis.v1.PolicyService",
        "portcullis.v1.AuditService",
    ] {
        assert!(names.iter().any(|name| name == service), "{service} in {names:?}");
    }
    let server = start_with(scripted(), &[("reflection", "false")]).await;
    assert_eq!(reflected(&server).await.unwrap_err().code(), Code::Unimplemented);
}
