//! Starts servers, and speaks to them as an agent, a host and an admin do.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use portcullis_policy::{Decision, EffectiveRuleset, Request as Question, TraceEntry, Verdict, decision::DecidedBy};
use portcullis_proto::{
    metadata,
    v1::{
        self, audit_service_client::AuditServiceClient, decision_service_client::DecisionServiceClient,
        policy_service_client::PolicyServiceClient,
    },
};
use portcullis_server::{
    auth::Role,
    config::{Config, Environment, Flags, Sources},
    decide::Evaluator,
    serve::{Seams, ServeError, Server},
};
use tonic::{
    Request, Status,
    metadata::AsciiMetadataKey,
    service::{Interceptor, interceptor::InterceptedService},
    transport::{Channel, Endpoint},
};

/// A server on a data directory of its own.
pub(crate) struct Running {
    pub(crate) server: Server,
    pub(crate) data: PathBuf,
    pub(crate) channel: Channel,
    _temp: Option<tempfile::TempDir>,
}

/// Credentials of a call.
#[derive(Clone, Default)]
pub(crate) struct Credentials(Vec<(&'static str, String)>);

impl Interceptor for Credentials {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        for (name, token) in &self.0 {
            let value = format!("Bearer {token}").parse().unwrap();
            request
                .metadata_mut()
                .insert(AsciiMetadataKey::from_static(name), value);
        }
        Ok(request)
    }
}

pub(crate) type Client = InterceptedService<Channel, Credentials>;

impl Credentials {
    pub(crate) fn bearer(token: &str) -> Self {
        Self(vec![(metadata::AUTHORIZATION, token.to_owned())])
    }

    pub(crate) fn forwarding(host: &str, agent: &str) -> Self {
        Self(vec![
            (metadata::AUTHORIZATION, host.to_owned()),
            (metadata::AGENT_AUTHORIZATION, agent.to_owned()),
        ])
    }
}

/// A configuration with free port, and what `settings` say as environment variables.
pub(crate) fn config(data: &Path, settings: &[(&str, &str)]) -> Config {
    let variable =
        |(key, value): &(&str, &str)| (format!("PORTCULLIS_SERVER_{}", key.to_uppercase()), (*value).to_owned());
    let environment = Environment {
        variables: settings.iter().map(variable).collect::<BTreeMap<_, _>>(),
        ..Default::default()
    };
    let flags = Flags {
        data_dir: Some(data.to_owned()),
        listen: Some("127.0.0.1:0".to_owned()),
        ..Default::default()
    };
    Config::check(&Sources::read(&flags, &environment)).unwrap()
}

/// A server whose answers the first word of the command settles: `allow`, `ask`, `deny`, `panic`.
pub(crate) async fn start() -> Running {
    start_with(scripted(), &[]).await
}

pub(crate) fn scripted() -> Seams {
    Seams {
        evaluator: evaluator(),
        ..Default::default()
    }
}

pub(crate) async fn start_with(seams: Seams, settings: &[(&str, &str)]) -> Running {
    let temp = tempfile::tempdir().unwrap();
    let data = temp.path().join("data");
    let mut running = start_on(&data, seams, settings).await.unwrap();
    running._temp = Some(temp);
    running
}

pub(crate) async fn start_on(data: &Path, seams: Seams, settings: &[(&str, &str)]) -> Result<Running, ServeError> {
    let server = Server::start(&config(data, settings), seams).await?;
    let channel = Endpoint::from_shared(server.url().to_owned())
        .unwrap()
        .connect()
        .await
        .unwrap();
    Ok(Running {
        server,
        data: data.to_owned(),
        channel,
        _temp: None,
    })
}

impl Running {
    pub(crate) fn token(&self, role: Role) -> String {
        let path = self.data.join("tokens").join(format!("{role}.token"));
        std::fs::read_to_string(path).unwrap().trim_end().to_owned()
    }

    pub(crate) fn decisions(&self, credentials: Credentials) -> DecisionServiceClient<Client> {
        DecisionServiceClient::with_interceptor(self.channel.clone(), credentials)
    }

    pub(crate) fn agent(&self) -> DecisionServiceClient<Client> {
        self.decisions(Credentials::bearer(&self.token(Role::Agent)))
    }

    pub(crate) fn host(&self) -> DecisionServiceClient<Client> {
        self.decisions(Credentials::forwarding(
            &self.token(Role::Host),
            &self.token(Role::Agent),
        ))
    }

    pub(crate) fn policies(&self) -> PolicyServiceClient<Client> {
        PolicyServiceClient::with_interceptor(self.channel.clone(), Credentials::bearer(&self.token(Role::Admin)))
    }

    pub(crate) fn trail(&self) -> AuditServiceClient<Client> {
        AuditServiceClient::with_interceptor(self.channel.clone(), Credentials::bearer(&self.token(Role::Admin)))
    }

    pub(crate) async fn records(&self, filter: v1::RecordFilter) -> Vec<v1::AuditRecord> {
        let request = v1::QueryRequest {
            filter: Some(filter),
            page_size: 1000,
            before_sequence: 0,
        };
        self.trail().query(request).await.unwrap().into_inner().records
    }

    pub(crate) async fn decision_records(&self) -> Vec<(v1::AuditRecord, v1::DecisionRecord)> {
        let filter = v1::RecordFilter {
            kind: v1::RecordKind::Decision.into(),
            ..Default::default()
        };
        let records = self.records(filter).await.into_iter();
        records
            .map(|record| match record.body.clone() {
                Some(v1::audit_record::Body::Decision(decision)) => (record, decision),
                other => panic!("asked for decisions, got {other:?}"),
            })
            .collect()
    }
}

/// A call of a shell command by Claude Code.
pub(crate) fn shell(command: &str) -> v1::DecideRequest {
    v1::DecideRequest {
        request_id: uuid::Uuid::now_v7().to_string(),
        agent: Some(v1::Agent {
            name: "claude".into(),
            version: "2.0.1".into(),
        }),
        session_id: "5d3c1b6e-8f53-4b8a-9d0e-0b6c2f1f2a11".into(),
        mode: v1::Mode::Default.into(),
        interactivity: v1::Interactivity::Interactive.into(),
        workspace: Some(v1::Workspace {
            roots: vec!["/w".into()],
            cwd: "/w".into(),
            home: "/home/p".into(),
        }),
        call: Some(v1::ToolCall {
            tool_name: "Bash".into(),
            input_json: serde_json::json!({ "command": command }).to_string().into_bytes(),
            tool_use_id: "toolu_1".into(),
        }),
        ..Default::default()
    }
}

pub(crate) fn headless(command: &str) -> v1::DecideRequest {
    v1::DecideRequest {
        interactivity: v1::Interactivity::Headless.into(),
        ..shell(command)
    }
}

/// The same with what a host adds, for execution.
pub(crate) fn execution(argv: &[&str]) -> v1::DecideRequest {
    let argv: Vec<String> = argv.iter().map(ToString::to_string).collect();
    v1::DecideRequest {
        execution: Some(v1::Execution {
            argv: argv.clone(),
            ..v1::Execution::default()
        }),
        facts: Some(facts()),
        ..shell(&portcullis_policy::shell::quote(&argv))
    }
}

pub(crate) fn facts() -> v1::HostFacts {
    v1::HostFacts {
        host_id: "ab".repeat(32),
        uid: 1000,
        repository: Some(v1::RepositoryFact {
            state: v1::RepositoryState::None.into(),
            ..Default::default()
        }),
        sandbox: Some(v1::Enforcement {
            status: v1::EnforcementStatus::Full.into(),
            ..Default::default()
        }),
        own_secret_paths: vec!["/home/p/.local/share/portcullis/tokens".into()],
        ..Default::default()
    }
}

/// Answers as the first word of the command says.
pub(crate) fn evaluator() -> Evaluator {
    Arc::new(|_: &EffectiveRuleset, request: &Question| {
        let command = command(request);
        let verdict = match command.split(' ').next().unwrap_or_default() {
            "allow" => Verdict::Allow,
            "deny" => Verdict::Deny,
            "panic" => panic!("as the test wants"),
            _ => Verdict::Ask,
        };
        decision(verdict, &command)
    })
}

pub(crate) fn command(request: &Question) -> String {
    request
        .call
        .input
        .get("command")
        .and_then(|command| command.as_str())
        .unwrap_or_default()
        .to_owned()
}

pub(crate) fn decision(verdict: Verdict, subject: &str) -> Decision {
    Decision {
        verdict,
        decided_by: DecidedBy::Mode,
        rule: None,
        trace: vec![TraceEntry {
            subject: subject.to_owned(),
            seen_through: Vec::new(),
            verdict,
            decided_by: DecidedBy::Mode,
            rule: None,
            reason: "scripted".to_owned(),
        }],
        left_out: 0,
        user_message: "scripted".to_owned(),
        agent_message: "scripted".to_owned(),
        obligations: Vec::new(),
        suggested_rules: Vec::new(),
    }
}
