//! The trail as evidence: exported, anchored, verified where no server is, and tampered with by somebody who can write its files.

use std::{fs, path::Path};

use portcullis_tests::{Policy, Run, Stack, program};
use sqlx::{AssertSqlSafe, Connection as _, SqliteConnection};

/// A stack with a few decisions on record.
fn stack() -> Stack {
    let stack = Stack::start();
    stack.push_team(&Policy::new().allow("Bash(ls *)").deny("Bash(curl *)"));
    for _ in 0..3 {
        stack.portcullis(["decide", "--", "ls", "-a"]).output().expect_code(0);
    }
    stack
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

async fn tamper(data: &Path, statement: &str) {
    let path = data.join("server/portcullis.db");
    let mut database = SqliteConnection::connect(path.to_str().unwrap()).await.unwrap();
    let unprotected = "DROP TRIGGER IF EXISTS audit_records_never_change; DROP TRIGGER IF EXISTS audit_records_stay;";
    sqlx::raw_sql(AssertSqlSafe(format!("{unprotected} {statement}")))
        .execute(&mut database)
        .await
        .unwrap();
    database.close().await.unwrap();
}

#[test]
fn an_exported_trail_is_verified_offline_and_any_change_of_it_is_found() {
    let stack = stack();
    let (file, anchor) = (stack.base().join("trail.ndjson"), stack.base().join("anchors"));
    let (file_text, anchor_text) = (text(&file), text(&anchor));
    let early = ["audit", "anchor", "--out", &anchor_text];
    stack.portcullis(early).output().expect_code(0);
    stack.portcullis(["decide", "--", "ls", "-l"]).output().expect_code(0);
    stack.portcullis(early).output().expect_code(0);
    assert_eq!(fs::read_to_string(&anchor).unwrap().lines().count(), 2);
    stack
        .portcullis(["audit", "export", "--out", &file_text])
        .output()
        .expect_code(0);
    let exported = fs::read_to_string(&file).unwrap();
    assert_eq!(stack.portcullis(["audit", "export"]).output().stdout, exported);
    let verify = || {
        stack
            .portcullis(["audit", "verify", &file_text, "--anchor", &anchor_text])
            .env("PORTCULLIS_SERVER", "http://127.0.0.1:1")
            .output()
    };
    let intact = verify().expect_code(0);
    assert!(intact.stdout.ends_with("intact\n"), "{}", intact.stdout);

    let lines: Vec<&str> = exported.lines().collect();
    let at = lines
        .iter()
        .position(|line| line.contains(r#""effect":"allow""#))
        .unwrap();
    let forged = exported.replacen(r#""effect":"allow""#, r#""effect":"deny""#, 1);
    fs::write(&file, forged).unwrap();
    let found = verify().expect_code(1).expect_words("changed  team");
    assert!(found.stdout.contains(&format!("line {}", at + 1)), "{}", found.stdout);
    let json = stack
        .portcullis(["audit", "verify", &file_text, "--format", "json"])
        .output()
        .expect_code(1)
        .json();
    assert_eq!(json["intact"], false);
    assert_eq!(json["findings"][0]["kind"], "changed");

    let mut cut = lines.clone();
    cut.truncate(lines.len() - 2);
    fs::write(&file, cut.join("\n") + "\n").unwrap();
    verify().expect_code(1).expect_words("cut-off");
    fs::write(&file, "no trail\n").unwrap();
    verify().expect_code(2).expect_words("is no exported trail");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_somebody_changed_is_found_out_and_not_gone_on_with() {
    let mut stack = stack();
    let anchor = text(&stack.base().join("anchors"));
    stack
        .portcullis(["audit", "anchor", "--out", &anchor])
        .output()
        .expect_code(0);
    let data = text(&stack.data());
    let verify = ["audit", "verify", "--database", &data, "--anchor", &anchor];
    // Beside the server that runs.
    stack.portcullis(verify).output().expect_code(0).expect_words("intact");
    tamper(
        &stack.data(),
        "UPDATE audit_records SET effect = 'deny' WHERE sequence = 3",
    )
    .await;
    stack
        .portcullis(verify)
        .output()
        .expect_code(1)
        .expect_words("record 3  commit");
    stack.server().stop();
    let refused = Run::new(program("portcullis-server"))
        .args(["serve", "--data-dir", &data, "--listen", "127.0.0.1:0"])
        .output()
        .expect_code(1);
    assert!(
        refused.stderr.contains("was tampered with") && refused.stderr.contains("portcullis-server verify"),
        "{}",
        refused.stderr
    );
}
