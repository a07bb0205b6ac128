//! A command that fails because of the sandbox says so: to whoever started it, and in the outcome.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "only tests are here"
)]

mod support;

use portcullis_proto::v1::*;
use support::Host;

/// Of each refusal: what kind, of what, and whether it is known.
fn told(outcome: &Outcome) -> Vec<(RefusedKind, String, bool)> {
    let refusals = outcome.refusals.iter();
    refusals
        .map(|refusal| {
            assert!(!refusal.reason.is_empty() && !refusal.remedy.is_empty(), "{refusal:?}");
            (refusal.kind(), refusal.subject.clone(), refusal.certain)
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_that_could_not_be_written_is_told_with_what_can_be_done() {
    let host = Host::start().await;
    let outside = host.folder.path().canonicalize().unwrap().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let file = outside.join("x").display().to_string();
    let finished = host.bash(&format!("touch {file}")).await;
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert_eq!(
        told(&finished.outcome),
        [(RefusedKind::Write, file.clone(), false)],
        "{finished:?}"
    );
    let said = String::from_utf8_lossy(&finished.stderr).into_owned();
    assert!(
        said.contains("probably") && said.contains(&file) && said.contains("additionalReadwritePaths"),
        "{said}"
    );
    let reported = host.server.outcome(&finished.decision_id).await;
    assert_eq!(reported.refusals, finished.outcome.refusals);

    // A command that goes on without is not told, and one that fails by itself neither.
    let finished = host.bash(&format!("touch {file} 2>&1; true")).await;
    assert_eq!(told(&finished.outcome), []);
    let finished = host
        .bash("touch a; chmod 0 a; mkdir b; chmod 0 b; cat b/c; ls /nowhere; exit 1")
        .await;
    assert_eq!(told(&finished.outcome), [], "{finished:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_protected_path_a_hidden_one_and_a_pinned_one_are_told_apart() {
    let host = Host::start().await;
    let git = host.workspace.join(".git");
    std::fs::create_dir_all(git.join("hooks")).unwrap();
    std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    let secret = host.places.host_token().canonicalize().unwrap();
    let tokens = secret.parent().unwrap().display().to_string();
    for (line, kind, subject) in [
        (
            "touch .git/hooks/pre-commit",
            RefusedKind::Write,
            git.join("hooks/pre-commit").display().to_string(),
        ),
        ("mv .git x", RefusedKind::Write, git.display().to_string()),
        (&format!("ls {tokens}"), RefusedKind::Read, tokens.clone()),
    ] {
        let finished = host.bash(line).await;
        assert_ne!(finished.code(), Some(0), "{line}");
        assert_eq!(
            told(&finished.outcome),
            [(kind, subject, false)],
            "{line}: {finished:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_system_call_that_was_refused_is_known_with_and_without_a_network_filter() {
    let host = Host::start().await;
    for filtered in [false, true] {
        if filtered {
            host.server.script.lock().unwrap().profile = |profile| {
                profile.network = NetworkAccess::Filtered.into();
                profile.network_rules = Some(NetworkRules {
                    allow: vec!["allowed.test".to_owned()],
                    ..NetworkRules::default()
                });
            };
        }
        let finished = host.bash("unshare -U true; unshare -n true; exit 3").await;
        assert_eq!(finished.code(), Some(3), "{finished:?}");
        let call = (RefusedKind::Call, "unshare".to_owned(), true);
        assert_eq!(told(&finished.outcome), [call], "{filtered}: {finished:?}");
        assert_eq!(finished.outcome.refusals[0].times, 2);
        let said = String::from_utf8_lossy(&finished.stderr).into_owned();
        assert!(said.contains("refused the system call `unshare`"), "{said}");
        assert!(
            said.contains("Operation not permitted"),
            "the call fails as it always did: {said}"
        );
        // Known, if the command succeeds; not said to it.
        let finished = host.bash("unshare -U true 2>/dev/null || true").await;
        assert_eq!(told(&finished.outcome).len(), 1);
        assert!(finished.stderr.is_empty(), "{finished:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_is_known_where_there_is_a_filter_and_probable_where_there_is_no_network() {
    let host = Host::start().await;
    let line = "getent hosts refused.test; echo 'curl: (6) Could not resolve host: refused.test' >&2; exit 6";
    let finished = host.bash(line).await;
    let probable = (RefusedKind::Host, "refused.test".to_owned(), false);
    assert_eq!(told(&finished.outcome), [probable], "{finished:?}");

    host.server.script.lock().unwrap().profile = |profile| {
        profile.network = NetworkAccess::Filtered.into();
        profile.network_rules = Some(NetworkRules::default());
    };
    let line = "exec 3<>/dev/tcp/refused.test/443; exit 7";
    let finished = host.bash(line).await;
    let known = told(&finished.outcome);
    assert!(
        known.contains(&(RefusedKind::Host, "refused.test:443".to_owned(), true)),
        "{finished:?}"
    );
    assert!(known.iter().all(|(_, _, certain)| *certain), "{known:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_protected_file_with_a_second_name_is_told_with_the_outcome() {
    let host = Host::start().await;
    let git = host.workspace.join(".git");
    std::fs::create_dir_all(git.join("hooks")).unwrap();
    std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(git.join("hooks/pre-commit"), "#!/bin/sh\n").unwrap();
    assert_eq!(host.bash("true").await.outcome.warnings, [""; 0]);
    std::fs::hard_link(git.join("hooks/pre-commit"), host.workspace.join("other")).unwrap();
    let finished = host.bash("true").await;
    let warnings = &finished.outcome.warnings;
    assert!(
        matches!(warnings.as_slice(), [only] if only.contains("hooks/pre-commit` has 2 names")),
        "{warnings:?}"
    );
    assert_eq!(host.server.outcome(&finished.decision_id).await.warnings, *warnings);
}
