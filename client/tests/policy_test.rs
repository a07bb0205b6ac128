//! `portcullis policy test`: what it prints, and which exit code says what. It runs without server, data directory and
//! environment.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may stop at the first surprise, as tests may"
)]

mod support;

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use support::golden;

struct Told {
    code: Option<i32>,
    out: String,
    err: String,
}

/// Runs the program in a folder, with nothing in its environment.
fn run(folder: &Path, args: &[&str], stdin: &str) -> Told {
    use std::io::Write as _;
    let mut child = Command::new(env!("CARGO_BIN_EXE_portcullis"))
        .args(["policy", "test"])
        .args(args)
        .current_dir(folder)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    Told {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn shown(told: &Told) -> String {
    format!(
        "exit {:?}\n--- stdout\n{}--- stderr\n{}",
        told.code.unwrap(),
        told.out,
        told.err
    )
}

const POLICY: &str = r#"{
    "permissions": {
        "deny": [{ "rule": "Bash(curl *)", "name": "no-curl" }, "Bash(wget *)"],
        "allow": ["Bash(make *)"],
    },
}
"#;

const TESTS: &str = r#"about = "no downloads"
rules = "team.jsonc"

[[request]]
about    = "seen behind sh -c"
run      = "sh -c 'make && curl https://a.example'"
decision = "deny"
because  = ["no-curl"]

[[request]]
run      = "make && ./x --token=ghp_0123456789abcdefghijklmnopqrstuvwxyz"
decision = "allow"
why      = "made to fail"
"#;

const ROW: &str = r#"{"id":"x","mode":"default","rules":{"allow":["Bash(make)"]},"format":"claude","cwd":"/w","home":"/h","call":{"tool":"Bash","command":"make"},"expect":"allow","why":"w"}"#;

#[test]
fn a_mismatch_is_shown_with_what_decided_and_with_what_nobody_tested() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("team.jsonc"), POLICY).unwrap();
    fs::write(folder.path().join("t.toml"), TESTS).unwrap();
    let told = run(folder.path(), &["t.toml"], "");
    assert!(!told.out.contains("ghp_"), "a secret is shown: {}", told.out);
    golden("policy-test-mismatch.txt", &shown(&told));
    let right = TESTS.replace("decision = \"allow\"", "decision = \"ask\"");
    fs::write(folder.path().join("t.toml"), right).unwrap();
    let told = run(folder.path(), &["t.toml"], "");
    assert_eq!(
        (told.code, told.out.lines().next()),
        (Some(0), Some("2 passed, 0 failed"))
    );
    let told = run(folder.path(), &["--quiet", "t.toml"], "");
    assert_eq!((told.code, told.out.as_str()), (Some(0), "2 passed, 0 failed\n"));
}

#[test]
fn all_faults_of_a_file_are_shown_in_it_and_none_of_its_tests_runs() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("team.jsonc"),
        POLICY.replace("Bash(make *)", "bash(make *)"),
    )
    .unwrap();
    fs::write(
        folder.path().join("t.toml"),
        TESTS.replace("decision = \"deny\"", "decison = \"deny\""),
    )
    .unwrap();
    let told = run(folder.path(), &["t.toml"], "");
    golden("policy-test-faults.txt", &shown(&told));
}

#[test]
fn rows_are_read_from_stdin_and_what_cannot_be_run_counts_as_failed() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [
        ROW.to_owned(),
        ROW.replace("\"format\":\"claude\"", "\"format\":\"vim\""),
        ROW.replace("\"why\"", "\"network\""),
        "no json".to_owned(),
    ];
    let told = run(folder.path(), &["-"], &rows.join("\n"));
    golden("policy-test-rows.txt", &shown(&told));
    assert_eq!(run(folder.path(), &["-"], ROW).code, Some(0));
}

#[test]
fn what_cannot_be_read_is_exit_code_2_and_the_rest_runs() {
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("rows.jsonl");
    fs::write(&rows, ROW).unwrap();
    fs::write(folder.path().join("empty.jsonl"), "\n").unwrap();
    fs::write(folder.path().join("bytes.jsonl"), b"\xff").unwrap();
    for bad in ["gone.toml", "empty.jsonl", "bytes.jsonl", "."] {
        let told = run(folder.path(), &[bad, "rows.jsonl"], "");
        assert_eq!(
            (told.code, told.out.as_str()),
            (Some(2), "1 passed, 0 failed\n"),
            "{bad}"
        );
        assert!(told.err.contains(bad), "{}", told.err);
    }
    assert_eq!(run(folder.path(), &[], "").code, Some(2), "no file is wrong usage");
}

#[test]
fn json_is_one_object_for_each_case_and_one_for_the_summary() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("team.jsonc"), POLICY).unwrap();
    fs::write(folder.path().join("t.toml"), TESTS).unwrap();
    let told = run(folder.path(), &["--format", "json", "t.toml"], "");
    let lines: Vec<serde_json::Value> = told
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let [first, second, summary] = lines.as_slice() else {
        panic!("{}", told.out)
    };
    assert_eq!((&first["passed"], &first["decision"]), (&true.into(), &"deny".into()));
    assert_eq!(
        (&first["rule"]["line"], &first["rule"]["document"]),
        (&3.into(), &"team.jsonc".into())
    );
    assert_eq!(
        (&second["passed"], &second["mismatches"][0]),
        (&false.into(), &"expected allow, got ask".into())
    );
    assert_eq!((&summary["kind"], &summary["failed"]), (&"summary".into(), &1.into()));
    assert_eq!(
        summary["coverage"][0]["not_reached"][0],
        "team.jsonc:3 deny `Bash(wget *)`"
    );
}

/// Runs any command of the program in a folder, with nothing in its environment and nothing to read.
fn any(folder: &Path, args: &[&str]) -> Told {
    let output = Command::new(env!("CARGO_BIN_EXE_portcullis"))
        .args(args)
        .current_dir(folder)
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Told {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn what_is_no_file_to_read_is_said_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let made = Command::new("mkfifo").arg(at("pipe")).status().unwrap();
    assert!(made.success());
    fs::create_dir(at("folder")).unwrap();
    fs::write(at("latin"), b"{ \"a\": \"\xff\" }").unwrap();
    fs::write(at("empty"), "").unwrap();
    fs::write(at("marked"), "\u{feff}{}").unwrap();
    fs::write(at("crlf"), "{\r\n  \"version\": 1,\r\n}\r\n").unwrap();
    fs::File::create(at("huge")).unwrap().set_len(64 << 20).unwrap();
    let commands: [&[&str]; 4] = [
        &["policy", "test"],
        &["policy", "lint"],
        &["policy", "import", "--from", "cursor-desktop"],
        &["policy", "push", "--team"],
    ];
    for command in commands {
        for (file, part) in [
            ("pipe", "no regular file; name `-`"),
            ("/dev/zero", "no regular file; name `-`"),
            ("folder", "is a directory"),
            ("latin", "UTF-8"),
            ("absent", "No such file"),
            ("huge", "larger than"),
        ] {
            let told = any(folder.path(), &[command, &[file]].concat());
            assert!(matches!(told.code, Some(1 | 2)), "{command:?} {file}: {}", shown(&told));
            assert!(told.err.contains(part), "{command:?} {file}: {}", shown(&told));
            assert!(
                told.err.lines().count() < 12 && told.err.len() < 2000 && told.err.contains(file),
                "{}",
                shown(&told)
            );
        }
    }
    for (command, file, code, part) in [
        ("test", "empty", 2, "tests nothing"),
        ("lint", "empty", 2, "the document is empty"),
        ("lint", "marked", 2, "byte order mark"),
        ("lint", "crlf", 0, ""),
    ] {
        let told = any(folder.path(), &["policy", command, file]);
        assert_eq!(told.code, Some(code), "{command} {file}: {}", shown(&told));
        assert!(told.err.contains(part), "{command} {file}: {}", shown(&told));
    }
    let told = any(folder.path(), &["policy", "import", "--from", "cursor-desktop", "crlf"]);
    assert!(told.err.contains("0 faults"), "{}", shown(&told));
    let told = any(
        folder.path(),
        &["policy", "import", "--from", "cursor-desktop", "empty"],
    );
    assert!(
        told.code == Some(2) && told.err.contains("1 fault\n"),
        "{}",
        shown(&told)
    );
}
