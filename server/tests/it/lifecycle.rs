//! Starting again, starting twice, starting on something broken.

use portcullis_proto::v1;
use portcullis_server::{auth::Role, failure, hint, run::RunError, serve::ServeError};
use tonic::Code;

use crate::harness::{Credentials, Running, scripted, shell, start, start_on};

/// The error and what to do about it, as the program prints them.
fn text(error: ServeError) -> String {
    let text = failure::chain(&error);
    let hint = hint::hint(&RunError::Serve(error)).unwrap_or_default();
    format!("{text} help: {hint}")
}

async fn refused(data: &std::path::Path) -> String {
    match start_on(data, scripted(), &[]).await {
        Ok(_) => panic!("it started"),
        Err(error) => text(error),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_server_on_the_same_data_is_refused() {
    let server = start().await;
    let text = refused(&server.data).await;
    assert!(
        text.contains("already running") && text.contains("--data-dir"),
        "{text}"
    );
    server.agent().decide(shell("allow x")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn started_again_it_goes_on_with_its_tokens_and_its_trail() {
    let temp = tempfile::tempdir().unwrap();
    let server = start_on(temp.path(), scripted(), &[]).await.unwrap();
    let tokens = Role::ALL.map(|role| std::fs::read(temp.path().join(format!("tokens/{role}.token"))).ok());
    assert_eq!(tokens.iter().flatten().count(), 3, "admin, agent, host");
    let before = server
        .agent()
        .decide(shell("allow x"))
        .await
        .unwrap()
        .into_inner()
        .decision_id;
    server.server.stop().await.unwrap();
    assert!(!temp.path().join("server/address").exists());

    let server = start_on(temp.path(), scripted(), &[]).await.unwrap();
    assert_eq!(
        tokens,
        Role::ALL.map(|role| std::fs::read(temp.path().join(format!("tokens/{role}.token"))).ok())
    );
    let address = std::fs::read_to_string(temp.path().join("server/address")).unwrap();
    assert_eq!(address, format!("{}\n", server.server.url()));
    assert_eq!(server.decision_records().await[0].0.record_id, before);
    assert_eq!(
        server.records(Default::default()).await.len(),
        2,
        "the starter policy is pushed once"
    );
}

async fn restart(server: Running, change: impl FnOnce(&std::path::Path)) -> Running {
    let data = server.data.clone();
    server.server.stop().await.unwrap();
    change(&data);
    start_on(&data, scripted(), &[]).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_file_that_is_missing_is_made_anew_and_the_old_token_revoked() {
    let temp = tempfile::tempdir().unwrap();
    let server = start_on(temp.path(), scripted(), &[]).await.unwrap();
    let (old_agent, old_host) = (server.token(Role::Agent), server.token(Role::Host));
    let server = restart(server, |data| {
        std::fs::remove_file(data.join("tokens/agent.token")).unwrap()
    })
    .await;
    assert_ne!(server.token(Role::Agent), old_agent);
    assert_eq!(server.token(Role::Host), old_host);
    let status = server
        .decisions(Credentials::bearer(&old_agent))
        .decide(shell("allow x"))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::Unauthenticated);
    server.agent().decide(shell("allow x")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_file_of_another_database_is_replaced() {
    let temp = tempfile::tempdir().unwrap();
    let server = start_on(temp.path(), scripted(), &[]).await.unwrap();
    let old = server.token(Role::Admin);
    let server = restart(server, |data| {
        std::fs::remove_file(data.join("server/portcullis.db")).unwrap()
    })
    .await;
    assert_ne!(server.token(Role::Admin), old);
    server.policies().get(v1::GetRequest { version: 0 }).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_a_newer_version_is_left_alone() {
    use sqlx::{ConnectOptions as _, Connection as _};
    let temp = tempfile::tempdir().unwrap();
    start_on(temp.path(), scripted(), &[])
        .await
        .unwrap()
        .server
        .stop()
        .await
        .unwrap();
    let path = temp.path().join("server/portcullis.db");
    let mut connection = sqlx::sqlite::SqliteConnectOptions::new()
        .filename(&path)
        .connect()
        .await
        .unwrap();
    let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                 VALUES (9001, 'from the future', TRUE, x'00', 0)";
    sqlx::query(newer).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let text = refused(temp.path()).await;
    assert!(
        text.contains("newer version of portcullis-server") && text.contains("9001"),
        "{text}"
    );
    assert!(!text.contains('\n'), "one line: {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_no_database_is_left_alone() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::create_dir(temp.path().join("server")).unwrap();
    let path = temp.path().join("server/portcullis.db");
    std::fs::write(
        &path,
        "this is no database, and long enough to be looked at".repeat(100),
    )
    .unwrap();
    let before = std::fs::read(&path).unwrap();
    let text = refused(temp.path()).await;
    assert!(text.contains("damaged or no database"), "{text}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_directory_that_cannot_be_made_is_named() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("file");
    std::fs::write(&file, "").unwrap();
    let text = refused(&file.join("data")).await;
    assert!(
        text.contains("cannot make the folder") && text.contains("file/data"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_is_taken_is_named_and_leaves_no_database() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let temp = tempfile::tempdir().unwrap();
    let mut config = crate::harness::config(temp.path(), &[]);
    config.listen.address = address;
    let started = portcullis_server::serve::Server::start(&config, scripted()).await;
    let text = text(started.err().unwrap());
    assert!(
        text.contains(&address.to_string()) && text.contains("--listen"),
        "{text}"
    );
    assert_eq!(std::fs::read(temp.path().join("server/portcullis.db")).unwrap(), b"");
}
