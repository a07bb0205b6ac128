//! A server behind TLS: who can talk to it, and that whoever cannot is never allowed anything.

use std::fs;

use portcullis_tests::{Setup, Stack};
use tempfile::TempDir;

/// A stack whose server has a certificate that no system trusts, and the file with that certificate. `told`: whether the
/// daemon is told to trust it.
fn stack(told: bool) -> (Stack, TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let file = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let certificate = file("tls.pem", made.cert.pem());
    let key = file("tls.key", made.signing_key.serialize_pem());
    let stack = Stack::start_with(Setup {
        server_config: Some(format!("tls_certificate = '{certificate}'\ntls_key = '{key}'\n")),
        sandboxd_arguments: if told {
            vec!["--ca-file".to_owned(), certificate.clone()]
        } else {
            Vec::new()
        },
    });
    (stack, folder, certificate)
}

#[test]
fn admin_commands_speak_tls_to_a_server_whose_certificate_they_are_told_to_trust() {
    let (stack, _folder, certificate) = stack(false);
    let listed = stack
        .portcullis(["policy", "list", "--ca-file", &certificate])
        .output()
        .expect_code(0);
    assert!(listed.stdout.starts_with("v1 (active)"), "{}", listed.stdout);
    let stranger = stack.portcullis(["policy", "list"]).output().expect_code(5);
    assert!(stranger.stderr.contains("certificate"), "{}", stranger.stderr);
}

#[test]
fn the_daemon_speaks_tls_to_a_server_whose_certificate_it_is_told_to_trust() {
    let (stack, _folder, _) = stack(true);
    stack.portcullis(["decide", "--", "ls"]).output().expect_code(0);
    let ran = stack.portcullis(["run", "--", "ls", "-a"]).output().expect_code(0);
    assert!(ran.stdout.contains(".git"), "{}", ran.stdout);
}

#[test]
fn a_daemon_that_does_not_trust_the_server_allows_nothing_and_says_why() {
    let (stack, _folder, _) = stack(false);
    let asked = stack.portcullis(["decide", "--", "ls"]).output().expect_code(5);
    assert!(asked.stdout.starts_with("ask "), "{}", asked.stdout);
    assert!(asked.stdout.contains("certificate"), "{}", asked.stdout);
    stack.portcullis(["run", "--", "ls"]).output().expect_code(125);
}

#[test]
fn no_daemon_starts_that_would_send_tokens_over_a_network_in_plain_text() {
    let mut command = std::process::Command::new(portcullis_tests::program("portcullis-sandboxd"));
    let data = tempfile::tempdir().unwrap();
    command
        .args(["serve", "--server", "http://192.0.2.1:7451", "--data-dir"])
        .arg(data.path());
    let refused = command.output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("plain text") && said.contains("https://"), "{said}");
}
