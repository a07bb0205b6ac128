//! The program itself: what it prints, and how it ends.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
    process::{Child, Command, Output, Stdio},
};

fn program(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis-server"));
    command
        .env_clear()
        .env("HOME", data)
        .env("PORTCULLIS_DATA_DIR", data.join("data"));
    command
}

/// A child that does not outlive its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn serve(data: &Path) -> (Running, String) {
    let mut child = program(data)
        .args(["serve", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    (Running(child), line)
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill")
        .args([format!("-{name}"), child.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

fn text(output: &Output) -> (String, String) {
    (
        String::from_utf8(output.stdout.clone()).unwrap(),
        String::from_utf8(output.stderr.clone()).unwrap(),
    )
}

#[test]
fn it_says_where_it_listens_and_ends_well_on_a_signal() {
    for name in ["TERM", "INT"] {
        let temp = tempfile::tempdir().unwrap();
        let (mut server, line) = serve(temp.path());
        let url = line.strip_prefix("portcullis-server listening on ").unwrap().trim_end();
        assert!(url.starts_with("http://127.0.0.1:"), "{line}");
        let address = temp.path().join("data/server/address");
        assert_eq!(std::fs::read_to_string(&address).unwrap(), format!("{url}\n"));
        signal(&server.0, name);
        assert_eq!(server.0.wait().unwrap().code(), Some(0), "SIG{name}");
        assert!(!address.exists());
        let mut log = String::new();
        server.0.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        assert!(log.contains("stopped"), "{log}");
        assert!(!log.contains("pcl_"), "no token in the log: {log}");
    }
}

#[test]
fn a_killed_server_leaves_data_that_the_next_one_goes_on_with() {
    let temp = tempfile::tempdir().unwrap();
    let (server, first) = serve(temp.path());
    signal(&server.0, "KILL");
    drop(server);
    assert!(
        temp.path().join("data/server/address").exists(),
        "nobody could remove it"
    );
    let (_server, second) = serve(temp.path());
    assert!(second.starts_with("portcullis-server listening on"), "{first} {second}");
}

#[test]
fn all_faults_of_the_configuration_are_reported_at_once() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("server.toml");
    std::fs::write(&file, "listen = 7\nlistne = \"x\"\nmax_calls = 0\n").unwrap();
    let output = program(temp.path())
        .args(["serve", "--config"])
        .arg(&file)
        .env("PORTCULLIS_SERVER_LOG_FORMAT", "xml")
        .output()
        .unwrap();
    let (_, stderr) = text(&output);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    for part in [
        "server.toml:1: `listen`",
        "server.toml:2: unknown key `listne`; did you mean `listen`?",
        "server.toml:3: `max_calls` is `0`",
        "PORTCULLIS_SERVER_LOG_FORMAT: `log_format` is `xml`; accepted is text or json",
    ] {
        assert!(stderr.contains(part), "{part}\n{stderr}");
    }
    assert!(
        !temp.path().join("data").exists(),
        "a faulty configuration touches nothing"
    );
}

#[test]
fn config_show_works_on_a_faulty_configuration_and_names_each_origin() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("server.toml");
    std::fs::write(&file, "max_tails = 3\nmax_calls = 0\n").unwrap();
    let output = program(temp.path())
        .args(["config", "show", "--listen", "127.0.0.1:1", "--config"])
        .arg(&file)
        .env("PORTCULLIS_SERVER_LOG_FORMAT", "json")
        .output()
        .unwrap();
    let (stdout, stderr) = text(&output);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr.contains("server.toml:2: `max_calls`"), "{stderr}");
    let line = |key: &str| {
        stdout
            .lines()
            .find(|line| line.starts_with(key))
            .unwrap()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(line("listen"), r#"listen = "127.0.0.1:1" # --listen"#);
    assert_eq!(line("max_tails"), format!("max_tails = 3 # {}:1", file.display()));
    assert_eq!(
        line("log_format"),
        r#"log_format = "json" # environment variable PORTCULLIS_SERVER_LOG_FORMAT"#
    );
    assert_eq!(line("reflection"), "reflection = true # default");
    toml::from_str::<toml::Table>(&stdout).expect("what is shown can be used as a file");
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_logged_a_command_and_a_token_are_not() {
    use crate::harness::{Credentials, shell};
    use portcullis_proto::v1::decision_service_client::DecisionServiceClient;
    let temp = tempfile::tempdir().unwrap();
    let log = temp.path().join("log");
    let mut child = program(temp.path())
        .args(["serve", "--listen", "127.0.0.1:0"])
        .env("PORTCULLIS_SERVER_LOG_FILTER", "trace")
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let mut server = Running(child);
    let url = line.trim_end().rsplit(' ').next().unwrap().to_owned();
    let token = std::fs::read_to_string(temp.path().join("data/tokens/agent.token")).unwrap();
    let channel = tonic::transport::Endpoint::from_shared(url)
        .unwrap()
        .connect()
        .await
        .unwrap();
    let mut agent = DecisionServiceClient::with_interceptor(channel, Credentials::bearer(token.trim_end()));
    for command in [
        "echo MARKER-7431",
        "echo MARKER-7431 $(",
        "MARKER-7431=1 sh -c 'MARKER-7431'",
    ] {
        agent.decide(shell(command)).await.unwrap();
    }
    signal(&server.0, "TERM");
    server.0.wait().unwrap();
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("decided"), "the control: the log is on\n{log}");
    assert!(!log.contains("MARKER-7431"), "a command is in the log:\n{log}");
    assert!(
        !log.contains(token.trim_end()) && !log.contains("pcl_"),
        "a token is in the log"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_killed_under_load_loses_no_decision_that_was_answered() {
    use crate::harness::{Credentials, shell};
    use portcullis_proto::v1::{
        self, audit_service_client::AuditServiceClient, decision_service_client::DecisionServiceClient,
    };
    use tonic::transport::Endpoint;
    let temp = tempfile::tempdir().unwrap();
    let token = |role: &str| {
        let text = std::fs::read_to_string(temp.path().join(format!("data/tokens/{role}.token"))).unwrap();
        Credentials::bearer(text.trim_end())
    };
    let connect = async |line: &str| {
        let url = line.trim_end().rsplit(' ').next().unwrap().to_owned();
        Endpoint::from_shared(url).unwrap().connect().await.unwrap()
    };
    let (server, line) = serve(temp.path());
    let (answered, mut answers) = tokio::sync::mpsc::unbounded_channel();
    let mut clients = Vec::new();
    for _ in 0..6 {
        let mut agent = DecisionServiceClient::with_interceptor(connect(&line).await, token("agent"));
        let answered = answered.clone();
        clients.push(tokio::spawn(async move {
            while let Ok(answer) = agent.decide(shell("ls")).await {
                // On a slow disk an answer may come without a record, and then says so; it is no allow.
                let answer = answer.into_inner();
                if answer.decision_id.is_empty() {
                    assert_ne!(answer.effect(), v1::Effect::Allow);
                } else {
                    answered.send(answer.decision_id).unwrap();
                }
            }
        }));
    }
    drop(answered);
    let mut ids = Vec::new();
    while ids.len() < 100 {
        ids.push(answers.recv().await.unwrap());
    }
    signal(&server.0, "KILL");
    while let Some(id) = answers.recv().await {
        ids.push(id);
    }
    for client in clients {
        client.await.unwrap();
    }
    drop(server);

    let (_server, line) = serve(temp.path());
    let mut trail = AuditServiceClient::with_interceptor(connect(&line).await, token("admin"));
    let (mut recorded, mut sequences, mut before_sequence) = (Vec::new(), Vec::new(), 0);
    loop {
        let request = v1::QueryRequest {
            page_size: 1000,
            before_sequence,
            filter: None,
        };
        let page = trail.query(request).await.unwrap().into_inner();
        sequences.extend(page.records.iter().map(|record| record.sequence));
        recorded.extend(page.records.into_iter().map(|record| record.record_id));
        before_sequence = page.next_before_sequence;
        if before_sequence == 0 {
            break;
        }
    }
    for id in &ids {
        assert!(recorded.contains(id), "{id} was answered and is not on record");
    }
    assert_eq!(sequences, (1..=sequences.len() as u64).rev().collect::<Vec<_>>());
}
