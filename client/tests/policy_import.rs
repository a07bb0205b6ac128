//! `portcullis policy import`, on the samples of every format.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "helpers of tests may stop at the first surprise, as tests may"
)]

mod support;

use std::{path::PathBuf, process::Command};

use serde_json::Value;
use support::golden;

fn sample(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/fixtures/settings")
        .join(path)
}

struct Told {
    code: Option<i32>,
    out: String,
    said: String,
}

fn import(arguments: &[&str]) -> Told {
    let output = Command::new(env!("CARGO_BIN_EXE_portcullis"))
        .args(["policy", "import"])
        .args(arguments)
        .env_clear()
        .env("HOME", "/home/dev")
        .output()
        .unwrap();
    Told {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        said: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn each_entry_is_named_and_the_draft_is_a_policy() {
    for (format, path, code) in [
        ("claude", "claude/settings.json", 3),
        ("claude", "claude/settings.local.json", 0),
        // A denial that cannot be read is a fault: what is kept of it is wider than what is written.
        ("claude", "claude/settings-bad.json", 2),
        ("cusp", "cusp/settings.json", 3),
        ("cursor-cli", "cursor/cli.json", 0),
        ("cursor-desktop", "cursor/permissions.json", 3),
        ("codex-rules", "codex/default.rules", 0),
        ("codex-requirements", "codex/requirements.toml", 3),
        ("gemini-policy", "gemini/policies/team.toml", 3),
    ] {
        let file = sample(path);
        let told = import(&["--from", format, "--format", "json", file.to_str().unwrap()]);
        assert_eq!(told.code, Some(code), "{path}: {}", told.said);
        let object: Value = serde_json::from_str(&told.out).unwrap();
        assert_eq!(object["format"], format);
        assert!(!object["report"].as_array().unwrap().is_empty(), "{path}");
        let draft = tempfile::NamedTempFile::with_suffix(".jsonc").unwrap();
        std::fs::write(draft.path(), object["native"].as_str().unwrap()).unwrap();
        let origin = portcullis_policy::DocumentOrigin {
            layer: portcullis_policy::Layer::Team,
            name: path.to_owned(),
            folder: None,
        };
        let text = std::fs::read_to_string(draft.path()).unwrap();
        assert!(
            portcullis_policy::PolicyDocument::parse(&text, origin).is_ok(),
            "{path}"
        );
    }
}

#[test]
fn the_report_is_a_table_and_the_draft_goes_where_it_is_wanted() {
    let file = sample("cursor/permissions.json");
    let told = import(&["--from", "cursor-desktop", file.to_str().unwrap()]);
    golden(
        "policy-import.txt",
        &format!(
            "{}{}",
            told.said.replace(file.to_str().unwrap(), "permissions.json"),
            told.out.lines().skip(2).collect::<Vec<_>>().join("\n")
        ),
    );
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("team.jsonc");
    let arguments = [
        "--from",
        "cursor-desktop",
        file.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
    ];
    let told = import(&arguments);
    assert_eq!((told.code, told.out.as_str()), (Some(3), ""));
    let written = std::fs::read_to_string(&out).unwrap();
    assert!(written.contains("\"terminalAllowlist\""));
    let again = import(&arguments);
    assert_eq!(
        again.code,
        Some(1),
        "a file that exists is not overwritten: {}",
        again.said
    );
    assert_eq!(std::fs::read_to_string(&out).unwrap(), written);
}

#[test]
fn what_cannot_be_read_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("some.json");
    std::fs::write(&file, "{ \"permissions\": [").unwrap();
    let unknown = import(&[file.to_str().unwrap()]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.said.contains("--from"), "{}", unknown.said);
    let broken = import(&["--from", "claude", file.to_str().unwrap()]);
    assert_eq!(broken.code, Some(2), "{}", broken.said);
    assert!(broken.said.contains("fault"), "{}", broken.said);
    let absent = import(&["--from", "claude", folder.path().join("no.json").to_str().unwrap()]);
    assert_eq!(absent.code, Some(1), "{}", absent.said);
}
