//! Measures `Decide` on one connection, one call after the other, as an agent sees it.
//!
//! ```text
//! cargo run --release -p portcullis-server --example decide_latency -- [CALLS]
//! cargo run --release -p portcullis-server --example decide_latency -- [CALLS] --data-dir DIR
//! ```
//!
//! Without `--data-dir` it starts a server of its own on a temporary folder; with it, it asks the server that runs on that
//! data directory. Every call is recorded, so what is measured holds a flush of the disk.
#![expect(clippy::print_stdout, reason = "a program that prints figures")]

use std::{error::Error, path::PathBuf, time::Instant};

use portcullis_proto::{
    metadata,
    v1::{self, decision_service_client::DecisionServiceClient},
};
use portcullis_server::{
    config::{Config, Environment, Flags, Sources},
    run,
    serve::{Seams, Server},
};
use tonic::{Request, metadata::AsciiMetadataValue, transport::Endpoint};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (mut calls, mut data_dir) = (2000_usize, None);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--data-dir" => data_dir = arguments.next().map(PathBuf::from),
            number => calls = number.parse()?,
        }
    }
    run::runtime()?.block_on(async {
        let temp = tempfile::tempdir()?;
        let (data, server) = match data_dir {
            Some(data) => (data, None),
            None => {
                let data = temp.path().join("data");
                let flags = Flags {
                    data_dir: Some(data.clone()),
                    listen: Some("127.0.0.1:0".to_owned()),
                    ..Flags::default()
                };
                let config = Config::check(&Sources::read(&flags, &Environment::default()));
                let config = config.map_err(|faults| format!("{faults:?}"))?;
                (data, Some(Server::start(&config, Seams::default()).await?))
            }
        };
        let read = |name: &str| std::fs::read_to_string(data.join(name)).map(|text| text.trim_end().to_owned());
        let url = read("server/address")?;
        let host: AsciiMetadataValue = format!("Bearer {}", read("tokens/host.token")?).parse()?;
        let agent: AsciiMetadataValue = format!("Bearer {}", read("tokens/agent.token")?).parse()?;
        let channel = Endpoint::from_shared(url)?.connect().await?;
        let mut client = DecisionServiceClient::new(channel);
        let mut times = Vec::with_capacity(calls);
        let mut effects = [0_usize; 4];
        // The first hundred fill the caches and are not counted.
        for at in 0..calls + 100 {
            let mut request = Request::new(request());
            request.metadata_mut().insert(metadata::AUTHORIZATION, host.clone());
            request
                .metadata_mut()
                .insert(metadata::AGENT_AUTHORIZATION, agent.clone());
            let begin = Instant::now();
            let answer = client.decide(request).await?.into_inner();
            if at >= 100 {
                times.push(begin.elapsed());
                if let Some(count) = usize::try_from(answer.effect)
                    .ok()
                    .and_then(|effect| effects.get_mut(effect))
                {
                    *count += 1;
                }
            }
        }
        times.sort_unstable();
        let at = |share: usize| times.get((times.len() * share / 100).min(times.len().saturating_sub(1)));
        let [_, allowed, asked, denied] = effects;
        println!("{calls} calls on one connection: {allowed} allow, {asked} ask, {denied} deny");
        for share in [50, 90, 99, 100] {
            println!("p{share:<3} {:>10.3?}", at(share).copied().unwrap_or_default());
        }
        if let Some(server) = server {
            server.stop().await?;
        }
        Ok(())
    })
}

/// A command that reads, in a project with a document of its own.
fn request() -> v1::DecideRequest {
    let document = v1::HostDocument {
        format: v1::DocumentFormat::Native.into(),
        layer: v1::Layer::User.into(),
        path: "/home/p/.config/portcullis/policy.jsonc".to_owned(),
        content: br#"{ "permissions": { "allow": ["Bash(cargo test *)", "Bash(git log *)"] } }"#.to_vec(),
    };
    v1::DecideRequest {
        request_id: uuid::Uuid::now_v7().to_string(),
        agent: Some(v1::Agent {
            name: "claude".to_owned(),
            version: "2.0.1".to_owned(),
        }),
        mode: v1::Mode::Default.into(),
        interactivity: v1::Interactivity::Interactive.into(),
        workspace: Some(v1::Workspace {
            roots: vec!["/w".to_owned()],
            cwd: "/w".to_owned(),
            home: "/home/p".to_owned(),
        }),
        call: Some(v1::ToolCall {
            tool_name: "Bash".to_owned(),
            input_json: br#"{"command":"git log --oneline | head -20"}"#.to_vec(),
            tool_use_id: String::new(),
        }),
        facts: Some(v1::HostFacts {
            host_id: "ab".repeat(32),
            repository: Some(v1::RepositoryFact {
                state: v1::RepositoryState::None.into(),
                ..Default::default()
            }),
            programs: ["git", "head"]
                .map(|name| v1::ProgramFact {
                    name: name.to_owned(),
                    path: format!("/usr/bin/{name}"),
                })
                .into(),
            documents: vec![document],
            ..Default::default()
        }),
        ..Default::default()
    }
}
