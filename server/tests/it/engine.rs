//! With the real engine: pushed policy, host documents and the starter policy decide.

use portcullis_proto::v1;
use portcullis_server::serve::Seams;

use crate::harness::{Running, execution, facts, shell, start_with};

pub(crate) async fn start() -> Running {
    start_with(Seams::default(), &[]).await
}

pub(crate) async fn push(server: &Running, text: &str) {
    let request = v1::PushRequest {
        content: text.into(),
        ..Default::default()
    };
    let response = server.policies().push(request).await.unwrap().into_inner();
    assert!(
        matches!(response.result, Some(v1::push_response::Result::Accepted(_))),
        "{response:?}"
    );
}

fn with_user_rules(command: &str, text: &str) -> v1::DecideRequest {
    let document = v1::HostDocument {
        format: v1::DocumentFormat::Native.into(),
        layer: v1::Layer::User.into(),
        path: "/home/p/.config/portcullis/policy.jsonc".into(),
        content: text.into(),
    };
    v1::DecideRequest {
        facts: Some(v1::HostFacts {
            documents: vec![document],
            ..facts()
        }),
        ..shell(command)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pushed_team_deny_beats_a_user_allow_on_the_very_next_call() {
    let server = start().await;
    push(&server, "{}").await;
    let request = || {
        with_user_rules(
            "acme-deploy now",
            r#"{ "permissions": { "allow": ["Bash(acme-deploy *)"] } }"#,
        )
    };
    let before = server.host().decide(request()).await.unwrap().into_inner();
    assert_eq!(before.effect(), v1::Effect::Allow, "{before:?}");
    push(
        &server,
        "{\n  \"permissions\": {\n    \"deny\": [\"Bash(acme-deploy *)\"]\n  }\n}",
    )
    .await;
    let after = server.host().decide(request()).await.unwrap().into_inner();
    assert_eq!(
        (after.effect(), after.decided_by(), after.policy_version),
        (v1::Effect::Deny, v1::DecidedBy::Rule, 3)
    );
    let rule = after.rule.unwrap();
    assert_eq!(
        (rule.document.as_str(), rule.line, rule.layer()),
        ("team policy v3", 3, v1::Layer::Team)
    );
    let (_, recorded) = server.decision_records().await.remove(0);
    assert_eq!(recorded.rule.unwrap(), rule);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_host_the_users_documents_allow_nothing() {
    let server = start().await;
    push(&server, "{}").await;
    let request = with_user_rules(
        "acme-deploy now",
        r#"{ "permissions": { "allow": ["Bash(acme-deploy *)"] } }"#,
    );
    let direct = server.agent().decide(request.clone()).await.unwrap().into_inner();
    assert_ne!(direct.effect(), v1::Effect::Allow);
    let forwarded = server.host().decide(request).await.unwrap().into_inner();
    assert_eq!(forwarded.effect(), v1::Effect::Allow, "the control");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_host_made_up_facts_allow_nothing() {
    let server = start().await;
    push(&server, "{}").await;
    let read = v1::ToolCall {
        tool_name: "Read".into(),
        input_json: br#"{"file_path":"/w/a"}"#.into(),
        tool_use_id: "toolu_1".into(),
    };
    let asked = [
        (
            "a read",
            v1::DecideRequest {
                call: Some(read),
                ..shell("")
            },
        ),
        ("a command that reads", shell("cat a")),
        ("a command that looks", shell("ls")),
        ("a run", execution(&["cat", "a"])),
    ];
    for (what, mut request) in asked {
        // `a` may be a link to a key; only the host can say that it is not.
        let path = |path: &str, kind: v1::PathKind| v1::PathFact {
            path: path.into(),
            real_path: path.into(),
            kind: kind.into(),
        };
        let program = |name: &str| v1::ProgramFact {
            name: name.into(),
            path: format!("/usr/bin/{name}"),
        };
        request.facts = Some(v1::HostFacts {
            paths: vec![path("/w/a", v1::PathKind::File), path("/w", v1::PathKind::Directory)],
            programs: vec![program("cat"), program("ls")],
            project_trusted: true,
            ..facts()
        });
        let direct = server.agent().decide(request.clone()).await.unwrap().into_inner();
        assert_ne!(direct.effect(), v1::Effect::Allow, "{what}: {direct:?}");
        assert!(direct.ticket.is_none(), "{what}");
        let forwarded = server.host().decide(request).await.unwrap().into_inner();
        assert_eq!(
            forwarded.effect(),
            v1::Effect::Allow,
            "the control, {what}: {forwarded:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_starter_policy_is_in_force_on_a_fresh_server() {
    let server = start().await;
    let active = server
        .policies()
        .get(v1::GetRequest { version: 0 })
        .await
        .unwrap()
        .into_inner();
    assert_eq!(active.content, portcullis_policy::starter::TEAM.as_bytes());
    let version = active.version.unwrap();
    assert_eq!((version.version, version.author.as_str()), (1, "portcullis-server"));
    assert!(version.rule_count > 20);
    let forced = v1::DecideRequest {
        facts: Some(facts()),
        ..shell("git push --force origin main")
    };
    let forced = server.host().decide(forced).await.unwrap().into_inner();
    assert_ne!(forced.effect(), v1::Effect::Allow, "{forced:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_policy_that_cannot_be_read_any_more_allows_nothing() {
    use sqlx::{ConnectOptions as _, Connection as _};
    let temp = tempfile::tempdir().unwrap();
    let server = crate::harness::start_on(temp.path(), crate::harness::scripted(), &[])
        .await
        .unwrap();
    let allowed = server.agent().decide(shell("allow x")).await.unwrap().into_inner();
    assert_eq!(allowed.effect(), v1::Effect::Allow, "the control");
    server.server.stop().await.unwrap();
    let path = temp.path().join("server/portcullis.db");
    let mut connection = sqlx::sqlite::SqliteConnectOptions::new()
        .filename(path)
        .connect()
        .await
        .unwrap();
    // As a version with another idea of a policy would have written it.
    let stored = "INSERT INTO policy_versions SELECT team, 2, digest, author, created_at_ns, comment, file_name, rule_count, x'5b5d'
                  FROM policy_versions; UPDATE active_policies SET version = 2";
    sqlx::raw_sql(stored).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let server = crate::harness::start_on(temp.path(), crate::harness::scripted(), &[])
        .await
        .unwrap();
    let response = server.agent().decide(shell("allow x")).await.unwrap().into_inner();
    assert_eq!(
        (response.effect(), response.decided_by()),
        (v1::Effect::Ask, v1::DecidedBy::Failure)
    );
    assert!(
        response.user_message.contains("team policy v2 cannot be read"),
        "{}",
        response.user_message
    );
    push(&server, "{}").await;
    let repaired = server.agent().decide(shell("allow x")).await.unwrap().into_inner();
    assert_eq!(repaired.effect(), v1::Effect::Allow);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_or_nested_too_deep_is_judged_or_refused_but_never_allowed() {
    let server = start().await;
    let long = format!("echo {}", "a".repeat(100_000));
    let operands = format!("rm {}", (0..10_000).map(|at| format!("/x/{at} ")).collect::<String>());
    let deep = format!("{}{}", "$(".repeat(20_000), ")".repeat(20_000));
    let many = "true; ".repeat(100_000);
    let substitutions = format!("echo {}", "`".repeat(50_001));
    for command in [&long, &operands, &deep, &many, &substitutions] {
        let request = v1::DecideRequest {
            facts: Some(facts()),
            ..shell(command)
        };
        let response = server.host().decide(request).await.unwrap().into_inner();
        assert!(!response.decision_id.is_empty(), "it is on record");
        if command != &long && command != &many {
            assert_ne!(response.effect(), v1::Effect::Allow, "{response:?}");
        }
    }
    let records = server.decision_records().await;
    assert_eq!(records.len(), 5);
    assert!(
        records
            .iter()
            .all(|(_, decision)| decision.input_json.len() <= 16 * 1024)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_is_not_utf8_is_refused_with_its_field() {
    let server = start().await;
    let mut request = shell("x");
    request.call.as_mut().unwrap().input_json = b"{\"command\":\"ls \xff\"}".to_vec();
    let status = server.agent().decide(request).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::InvalidArgument);
    assert!(status.message().contains("call.input_json"), "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_tool_is_asked_for() {
    let server = start().await;
    let mut request = v1::DecideRequest {
        facts: Some(facts()),
        ..shell("x")
    };
    request.call.as_mut().unwrap().tool_name = "LaunchRocket".into();
    let response = server.host().decide(request).await.unwrap().into_inner();
    assert_eq!(response.effect(), v1::Effect::Ask);
}

#[tokio::test(flavor = "multi_thread")]
async fn session_rules_count_for_their_call_only() {
    let server = start().await;
    push(&server, "{}").await;
    let plain = || v1::DecideRequest {
        facts: Some(facts()),
        ..shell("acme-deploy now")
    };
    let with = |allow: &[&str], deny: &[&str]| {
        let list = |rules: &[&str]| rules.iter().map(ToString::to_string).collect();
        v1::DecideRequest {
            session_rules: Some(v1::SessionRules {
                allow: list(allow),
                deny: list(deny),
                ..Default::default()
            }),
            ..plain()
        }
    };
    let rule = "Bash(acme-deploy *)";
    for (request, expected) in [
        (plain(), v1::Effect::Ask),
        (with(&[rule], &[]), v1::Effect::Allow),
        (plain(), v1::Effect::Ask),
        (with(&[], &[rule]), v1::Effect::Deny),
        (with(&[rule], &[rule]), v1::Effect::Deny),
        (with(&[rule], &[]), v1::Effect::Allow),
    ] {
        let response = server.host().decide(request).await.unwrap().into_inner();
        assert_eq!(response.effect(), expected, "{response:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_document_counts_at_once_and_trust_is_no_accident_of_the_cache() {
    let server = start().await;
    push(&server, "{}").await;
    let rules = |effect: &str| format!(r#"{{ "permissions": {{ "{effect}": ["Bash(acme-deploy *)"] }} }}"#);
    let project = |text: String, project_trusted| {
        let document = v1::HostDocument {
            format: v1::DocumentFormat::Native.into(),
            layer: v1::Layer::Project.into(),
            path: "/w/.portcullis/policy.jsonc".into(),
            content: text.into_bytes(),
        };
        let facts = v1::HostFacts {
            documents: vec![document],
            project_trusted,
            ..facts()
        };
        v1::DecideRequest {
            facts: Some(facts),
            ..shell("acme-deploy now")
        }
    };
    for (text, trusted, expected) in [
        (rules("allow"), true, v1::Effect::Allow),
        (rules("allow"), false, v1::Effect::Ask),
        (rules("deny"), false, v1::Effect::Deny),
        (rules("deny"), true, v1::Effect::Deny),
        (rules("allow"), true, v1::Effect::Allow),
    ] {
        let response = server
            .host()
            .decide(project(text.clone(), trusted))
            .await
            .unwrap()
            .into_inner();
        assert_eq!(response.effect(), expected, "{text} trusted {trusted}: {response:?}");
    }
}

/// Claude Code heeds allow rules of no other file then, so we must not either.
#[tokio::test(flavor = "multi_thread")]
async fn allow_rules_beside_those_of_an_installed_file_count_only_if_it_lets_them() {
    let server = start().await;
    push(&server, "{}").await;
    let allow = r#"{ "permissions": { "allow": ["Bash(acme-deploy *)"] } }"#;
    let only = |on: bool, rule: &str| {
        format!(r#"{{ "allowManagedPermissionRulesOnly": {on}, "permissions": {{ "allow": ["Bash({rule})"] }} }}"#)
    };
    let claude = |layer: v1::Layer, path: &str, text: &str| v1::HostDocument {
        format: v1::DocumentFormat::ClaudeSettings.into(),
        layer: layer.into(),
        path: path.into(),
        content: text.into(),
    };
    let installed = |text: &str| claude(v1::Layer::User, "/etc/claude-code/managed-settings.json", text);
    let native = || v1::HostDocument {
        format: v1::DocumentFormat::Native.into(),
        layer: v1::Layer::User.into(),
        path: "/home/p/.config/portcullis/policy.jsonc".into(),
        content: allow.into(),
    };
    for others in [
        vec![claude(v1::Layer::User, "/home/p/.claude/settings.json", allow)],
        vec![claude(v1::Layer::Project, "/w/.claude/settings.json", allow)],
        vec![claude(v1::Layer::Local, "/w/.claude/settings.local.json", allow)],
        vec![native()],
        // Another one that is installed counts.
        vec![claude(
            v1::Layer::User,
            "/etc/claude-code/managed-settings.d/a.json",
            allow,
        )],
        // Its own rules count, and no file but an installed one locks.
        vec![claude(
            v1::Layer::User,
            "/home/p/.claude/settings.json",
            &only(true, "acme-deploy *"),
        )],
    ] {
        let by_itself = others.first().is_some_and(|other| other.path.starts_with("/etc/"));
        for (locked, expected) in [
            (false, v1::Effect::Allow),
            (true, if by_itself { v1::Effect::Allow } else { v1::Effect::Ask }),
        ] {
            let mut documents = others.clone();
            documents.push(installed(&only(locked, "acme-other *")));
            let request = v1::DecideRequest {
                facts: Some(v1::HostFacts {
                    documents,
                    project_trusted: true,
                    ..facts()
                }),
                ..shell("acme-deploy now")
            };
            let response = server.host().decide(request).await.unwrap().into_inner();
            assert_eq!(response.effect(), expected, "{} {locked}: {response:?}", others[0].path);
        }
    }
}

/// A weaker sandbox counts only where somebody who may widen has named it, and only for what it was named for.
#[tokio::test(flavor = "multi_thread")]
async fn a_hosts_ignore_file_and_the_names_below_a_folder_decide() {
    let server = start().await;
    push(&server, "{}").await;
    let request = |command: &str, lines: &str, names: &[&str]| {
        let mut request = shell(command);
        let cwd = request.workspace.as_ref().unwrap().cwd.clone();
        let fact = |path: &str| v1::PathFact {
            path: path.to_owned(),
            real_path: path.to_owned(),
            kind: v1::PathKind::Unspecified.into(),
        };
        request.facts = Some(v1::HostFacts {
            documents: vec![v1::HostDocument {
                format: v1::DocumentFormat::IgnoreFile.into(),
                layer: v1::Layer::Project.into(),
                path: format!("{cwd}/.cursorignore"),
                content: lines.into(),
            }],
            paths: vec![fact(&cwd), fact(&format!("{cwd}/a.key"))],
            programs: ["cat", "grep"]
                .map(|name| v1::ProgramFact {
                    name: name.to_owned(),
                    path: format!("/usr/bin/{name}"),
                })
                .into(),
            trees: vec![v1::TreeFact {
                folder: cwd.clone(),
                complete: true,
                files: names.iter().map(|name| (*name).to_owned()).collect(),
                ..Default::default()
            }],
            ..facts()
        });
        request
    };
    for (command, lines, names, effect, by) in [
        (
            "cat a.key",
            "*.key\n",
            &[][..],
            v1::Effect::Deny,
            v1::DecidedBy::Control,
        ),
        ("cat a.key", "*.pem\n", &[], v1::Effect::Allow, v1::DecidedBy::Mode),
        (
            "grep -r x .",
            "*.key\n",
            &["a.key"],
            v1::Effect::Ask,
            v1::DecidedBy::Rule,
        ),
        (
            "grep -r x .",
            "*.key\n",
            &["a.md"],
            v1::Effect::Allow,
            v1::DecidedBy::Mode,
        ),
    ] {
        let answer = server
            .host()
            .decide(request(command, lines, names))
            .await
            .unwrap()
            .into_inner();
        assert_eq!(
            (answer.effect(), answer.decided_by()),
            (effect, by),
            "{command} {lines:?}: {answer:?}"
        );
    }
}

/// A mode that a file of the agent forbids is refused live, whatever layer the file is of; sessions of other modes go on.
#[tokio::test(flavor = "multi_thread")]
async fn a_mode_that_a_settings_file_forbids_is_refused_for_its_agent() {
    let server = start().await;
    push(&server, "{}").await;
    let request = |format: v1::DocumentFormat, layer: v1::Layer, path: &str, text: &str, mode: v1::Mode| {
        let document = v1::HostDocument {
            format: format.into(),
            layer: layer.into(),
            path: path.into(),
            content: text.into(),
        };
        v1::DecideRequest {
            mode: mode.into(),
            session_id: uuid::Uuid::now_v7().to_string(),
            facts: Some(v1::HostFacts {
                documents: vec![document],
                ..facts()
            }),
            ..shell("acme-deploy now")
        }
    };
    let off = r#"{ "permissions": { "disableBypassPermissionsMode": "disable" } }"#;
    // A mode of another word does not switch it off: that is the control.
    let on = r#"{ "permissions": { "disableBypassPermissionsMode": "enable" } }"#;
    let codex_off = "allowed_approval_policies = [\"on-request\"]\n";
    let codex_on = "allowed_approval_policies = [\"on-request\", \"never\"]\n";
    use v1::{DocumentFormat as Format, Layer, Mode};
    for (format, layer, path, off, on) in [
        (
            Format::ClaudeSettings,
            Layer::User,
            "/etc/claude-code/managed-settings.json",
            off,
            on,
        ),
        (
            Format::ClaudeSettings,
            Layer::User,
            "/home/p/.claude/settings.json",
            off,
            on,
        ),
        (
            Format::ClaudeSettings,
            Layer::Project,
            "/w/.claude/settings.json",
            off,
            on,
        ),
        (
            Format::ClaudeSettings,
            Layer::Local,
            "/w/.claude/settings.local.json",
            off,
            on,
        ),
        (
            Format::CuspSettings,
            Layer::User,
            "/home/p/.cusp/settings.json",
            off,
            on,
        ),
        (
            Format::CodexRequirements,
            Layer::User,
            "/etc/codex/requirements.toml",
            codex_off,
            codex_on,
        ),
    ] {
        let decide = async |text: &str, mode: Mode| {
            let request = request(format, layer, path, text, mode);
            server.host().decide(request).await.unwrap().into_inner()
        };
        let free = decide(on, Mode::Bypass).await;
        assert_eq!(free.effect(), v1::Effect::Allow, "{path}: {free:?}");
        let refused = decide(off, Mode::Bypass).await;
        assert_eq!(
            (refused.effect(), refused.decided_by()),
            (v1::Effect::Deny, v1::DecidedBy::Control),
            "{path}: {refused:?}"
        );
        assert!(refused.user_message.contains(path), "{path}: {refused:?}");
        assert!(refused.ticket.is_none(), "{path}");
        let other = decide(off, Mode::Default).await;
        assert_eq!(other.effect(), v1::Effect::Ask, "{path}: {other:?}");
    }
    // Of the team's own policy the same is said by the modes that it permits.
    push(&server, r#"{ "modes": { "permitted": ["default", "plan"] } }"#).await;
    let request = request(
        Format::ClaudeSettings,
        Layer::User,
        "/home/p/.claude/settings.json",
        on,
        Mode::Bypass,
    );
    let refused = server.host().decide(request).await.unwrap().into_inner();
    assert_eq!(refused.effect(), v1::Effect::Deny, "{refused:?}");
}
