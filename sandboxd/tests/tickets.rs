//! A ticket permits one run of one command, here, now; everything else is refused with the check that failed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "only tests are here"
)]

mod support;

use std::time::{Duration, Instant};

use ed25519_dalek::SigningKey;
use portcullis_proto::ticket::sign;
use portcullis_proto::v1::*;
use prost::Message as _;
use support::Host;
use tonic::{Code, Status};

async fn refusal(host: &Host, start: RunStart) -> Status {
    match host.launch(start).await {
        Err(status) => status,
        Ok(mut running) => panic!("it ran: {:?}", running.finish().await),
    }
}

async fn refused_because(host: &Host, start: RunStart, why: &str) {
    let status = refusal(host, start).await;
    assert_eq!(status.code(), Code::FailedPrecondition, "{status:?}");
    assert!(status.message().contains(why), "`{}` lacks `{why}`", status.message());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_is_redeemed_once_also_after_a_restart() {
    let mut host = Host::start().await;
    let (_, start) = host.start_for(&["true"]).await;
    assert_eq!(host.launch(start.clone()).await.unwrap().finish().await.code(), Some(0));
    refused_because(&host, start.clone(), "replayed").await;
    let (_, unused) = host.start_for(&["true"]).await;
    host.restart().await;
    refused_because(&host, start, "replayed").await;
    refused_because(&host, unused, "restarted").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_redemptions_at_once_one_succeeds() {
    let host = Host::start().await;
    let (_, start) = host.start_for(&["true"]).await;
    let tries = (0..8).map(|_| async {
        match host.launch(start.clone()).await {
            Ok(mut running) => running.finish().await.code() == Some(0),
            Err(_) => false,
        }
    });
    let won = futures_util::future::join_all(tries).await;
    assert_eq!(won.into_iter().filter(|won| *won).count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_expires_on_our_clock() {
    let host = Host::start().await;
    host.script(|script| script.valid_for = Duration::from_millis(1));
    let before = Instant::now();
    let (_, start) = host.start_for(&["true"]).await;
    while before.elapsed() < Duration::from_millis(5) {
        tokio::task::yield_now().await;
    }
    refused_because(&host, start, "expired").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_is_for_one_command_and_directory() {
    let host = Host::start().await;
    let (_, start) = host.start_for(&["echo", "a"]).await;
    for argv in [&["echo", "b"][..], &["echo a"], &["echo", "a", ""], &[]] {
        let argv = argv.iter().map(ToString::to_string).collect();
        refused_because(&host, RunStart { argv, ..start.clone() }, "another command").await;
    }
    refused_because(
        &host,
        RunStart {
            cwd: "/".to_owned(),
            ..start.clone()
        },
        "directory",
    )
    .await;
    // Refused tries have not used it up.
    assert_eq!(host.launch(start).await.unwrap().finish().await.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_is_for_one_host_and_user() {
    let host = Host::start().await;
    host.script(|script| script.claims = |claims| claims.host_id = "0".repeat(64));
    let (_, start) = host.start_for(&["true"]).await;
    refused_because(&host, start, "another host").await;
    host.script(|script| script.claims = |claims| claims.uid ^= 1);
    let (_, start) = host.start_for(&["true"]).await;
    refused_because(&host, start, "user").await;
    host.script(|script| script.claims = |claims| claims.profile = None);
    let (_, start) = host.start_for(&["true"]).await;
    refused_because(&host, start, "profile").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forged_ticket_is_refused() {
    let host = Host::start().await;
    let (_, start) = host.start_for(&["true"]).await;
    let ticket = start.ticket.clone().unwrap();
    let claims = TicketClaims::decode(ticket.claims.as_slice()).unwrap();
    let by_a_stranger = sign(&SigningKey::from_bytes(&[9; 32]), claims.clone());
    refused_because(
        &host,
        RunStart {
            ticket: Some(by_a_stranger),
            ..start.clone()
        },
        "unknown key",
    )
    .await;
    let changed = TicketClaims {
        decision_id: uuid::Uuid::now_v7().to_string(),
        ..claims
    };
    let forged = SignedTicket {
        claims: changed.encode_to_vec(),
        signature: ticket.signature,
    };
    refused_because(
        &host,
        RunStart {
            ticket: Some(forged),
            ..start.clone()
        },
        "signature",
    )
    .await;
    let status = refusal(
        &host,
        RunStart {
            ticket: None,
            ..start.clone()
        },
    )
    .await;
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(host.launch(start).await.unwrap().finish().await.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workspace_that_leads_elsewhere_since_the_decision_is_refused() {
    let mut host = Host::start().await;
    let real = host.workspace.clone();
    let link = real.with_file_name("link");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    host.workspace = link.clone();
    // Through a link that stays the same it runs.
    assert_eq!(host.run(&["true"]).await.code(), Some(0));
    let (_, start) = host.start_for(&["true"]).await;
    let elsewhere = real.with_file_name("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
    refused_because(&host, start, "leads somewhere else").await;
}
