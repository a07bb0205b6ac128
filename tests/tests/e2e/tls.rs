//! A server behind TLS: who can talk to it, and that whoever cannot is never allowed anything.

use std::fs;

use portcullis_tests::{Setup, Stack};
use tempfile::TempDir;

/// A stack whose server has a certificate that no system trusts, and the file with that certificate.
fn stack() -> (Stack, TempDir, String) {
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
    });
    (stack, folder, certificate)
}

#[test]
fn admin_commands_speak_tls_to_a_server_whose_certificate_they_are_told_to_trust() {
    let (stack, _folder, certificate) = stack();
    let listed = stack
        .portcullis(["policy", "list", "--ca-file", &certificate])
        .output()
        .expect_code(0);
    assert!(listed.stdout.starts_with("v1 (active)"), "{}", listed.stdout);
    let stranger = stack.portcullis(["policy", "list"]).output().expect_code(5);
    assert!(stranger.stderr.contains("certificate"), "{}", stranger.stderr);
}

#[test]
fn a_daemon_that_cannot_speak_to_the_server_allows_nothing_and_says_why() {
    let (stack, _folder, _) = stack();
    let asked = stack.portcullis(["decide", "--", "ls"]).output().expect_code(5);
    assert!(asked.stdout.starts_with("ask "), "{}", asked.stdout);
    assert!(asked.stdout.contains("TLS"), "{}", asked.stdout);
    stack.portcullis(["run", "--", "ls"]).output().expect_code(126);
}
