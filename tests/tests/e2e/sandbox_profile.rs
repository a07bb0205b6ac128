//! `portcullis sandbox profile`: the sandbox of macOS as a text, on any system, with nothing running.

use std::fs;

use portcullis_tests::{Setup, Stack};
use serde_json::Value;

#[test]
fn the_profile_of_a_policy_is_printed_without_a_daemon_and_nothing_is_made() {
    let stack = Stack::prepare(Setup::default());
    let project = stack.project();
    fs::write(project.join("key \"1\".pem"), "").unwrap();
    let policy = stack.base().join("sandbox.json");
    fs::write(
        &policy,
        r#"{ "type": "workspace_readonly", "denyRead": ["*.pem"], "networkMode": "sandbox_json_only", }"#,
    )
    .unwrap();
    let profile = |more: &[&str]| stack.portcullis(["sandbox", "profile"]).args(more).output();

    // Without a policy file: the repository around the working directory, and no network.
    let plain = profile(&[]).expect_code(0).stdout;
    let real = fs::canonicalize(&project).unwrap();
    // As the kernel of a Mac names what lies there.
    let linked = ["/tmp/", "/var/", "/etc/"]
        .iter()
        .any(|folder| real.starts_with(folder));
    let real = format!("{}{}", if linked { "/private" } else { "" }, real.display());
    assert!(
        plain.contains("(version 1)\n") && plain.contains("(deny default)\n"),
        "{plain}"
    );
    assert!(
        plain.contains(&format!("(allow file-write*\n  (literal \"{real}\")")),
        "{plain}"
    );
    assert!(
        !plain.contains("localhost") && plain.contains("; On macOS: /usr/bin/sandbox-exec -f "),
        "{plain}"
    );

    let file = policy.to_str().unwrap();
    let narrow = profile(&["--policy", file]).expect_code(0).stdout;
    assert!(
        !narrow.contains(&format!("(allow file-write*\n  (literal \"{real}\")")),
        "{narrow}"
    );
    assert!(
        narrow.contains(&format!("(literal \"{real}/key \\\"1\\\".pem\")")),
        "{narrow}"
    );

    fs::write(&policy, r#"{"networkPolicy": {"allow": ["example.com"]}}"#).unwrap();
    let json = profile(&["--policy", file, "--format", "json"]).expect_code(0).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["program"], "/usr/bin/sandbox-exec");
    assert_eq!(
        (&json["arguments"][0], &json["arguments"][2]),
        (&"-f".into(), &"--".into())
    );
    let named = |name: &str| json["environment"].as_array().unwrap().iter().any(|own| own == name);
    assert!(named("https_proxy") && named("TMPDIR"), "{json}");
    assert!(json["profile"].as_str().unwrap().contains("(remote tcp \"localhost:"));
    // The host is the filter's to know.
    assert!(!json["profile"].as_str().unwrap().contains("example.com"));

    assert!(!stack.data().join("sandboxd").exists(), "nothing is made for it");
}

#[test]
fn faults_of_the_policy_are_told_with_their_place_and_nothing_is_printed() {
    let stack = Stack::prepare(Setup::default());
    let policy = stack.base().join("sandbox.json");
    fs::write(&policy, "{\n  \"denyReed\": []\n}").unwrap();
    let profile = |more: &[&str]| stack.portcullis(["sandbox", "profile", "--policy"]).args(more).output();
    let output = profile(&[policy.to_str().unwrap()]).expect_code(2);
    assert!(
        output.stderr.contains("  2:3: unknown key `denyReed`") && output.stdout.is_empty(),
        "{}",
        output.text()
    );
    fs::write(&policy, r#"{"type": "insecure_none"}"#).unwrap();
    let output = profile(&[policy.to_str().unwrap()]).expect_code(2);
    assert!(
        output.stderr.contains("no sandbox at all") && output.stdout.is_empty(),
        "{}",
        output.text()
    );
    fs::write(&policy, "{}").unwrap();
    let output = profile(&[policy.to_str().unwrap(), "--workspace", "/"]).expect_code(1);
    assert!(output.stdout.is_empty(), "{}", output.text());
}
